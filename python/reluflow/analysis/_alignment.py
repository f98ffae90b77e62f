"""Alignment of the neurons with the extreme points of the dual, and when it happens ([WP] Theorem 1)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from .._validation import FloatArray, IntArray, PatternArray, invalid, optional_module, real, truth
from ..flow import MultiClassSolution
from ..losses import early_duals
from ._classes import class_table
from ._inputs import check_run, numbers
from ._kernels import cosines, drive, slopes_of
from ._states import Source, States, states

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

    from ..flow import Solution

# The time of alignment is wanted to this relative accuracy: that of the run itself.
_TIME_TOL = 1e-9
# A bracket is cut at its middle, at the secant's zero, and at this part of its width on both sides of that: smooth
# cosines need three rounds, and one with a jump no more than as many halvings.
_SECANT_WIDTH = 1e-3
_MAX_ROUNDS = 60
# Numbers in the states that are held at a time: 160 MB.
_MAX_NUMBERS = 20_000_000


def alignment(
    source: Source,
    times: npt.ArrayLike | None = None,
    *,
    projected: bool = False,
) -> xr.DataArray:
    """Return cos∠(w_j, ± Xᵀ D(w_j) y) of each neuron, with the sign of a_j ([WP] Theorem 1).

    D(w) holds the slopes of the activation: 1 where x_i·w > 0, the leak where it is negative, 0 on the boundary.

    Parameters
    ----------
    source : Solution or States
    times : array_like, shape (k,), optional
    projected : bool, optional
        True takes the part of Xᵀ D y along the boundaries that hold the neuron, the pull of [PL] (31). The
        theorem as printed fails on data with sliding (x₁ = (1, 1), y₁ = 1; x₂ = (0, 3), y₂ = -1); this form does not.

    Returns
    -------
    xarray.DataArray
        Dimensions time and neuron; nan where the pull or the neuron is zero.

    Examples
    --------
    >>> import reluflow as rf
    >>> data = rf.datasets.wang_pilanci("obtuse")
    >>> sol = rf.integrate(data, rf.Network.init(10, 2, seed=1), until=1e4)
    >>> rf.analysis.alignment(sol)[-1].dropna("neuron").min().round(6).item()
    0.999999
    """
    xarray = optional_module("xarray", "analysis")
    truth(projected, "projected")
    run = states(source, times)
    coords = {"time": run.t, "log_t": ("time", run.log_t), "sign": ("neuron", run.signs)}
    array: xr.DataArray = xarray.DataArray(
        _cosines(run, projected), dims=("time", "neuron"), coords=coords, name="alignment"
    )
    array.attrs["units"] = "1"
    array["time"].attrs["units"] = "time"
    return array


def alignment_times(
    solution: Solution | MultiClassSolution,
    *,
    delta: float = 0.1,
    projected: bool = False,
    times: npt.ArrayLike | None = None,
) -> pd.DataFrame:
    """Find when each neuron's alignment first exceeds 1 - δ, beside the bound T* of [WP] (26).

    The first of the sampled times that exceeds 1 - δ is refined in dense output.

    Parameters
    ----------
    solution : Solution or MultiClassSolution
    delta : float, optional
        δ in (0, 1).
    projected : bool, optional
        As in `alignment`.
    times : array_like, optional
        Sampling times; without it the times of the solution.

    Returns
    -------
    pandas.DataFrame
        One row a neuron: ``neuron``, ``sign``; ``condition`` whether sign(λ₀ᵀφ(X w)) = sign(a) at the start ([WP]
        (9); the paper's y in place of λ₀ counts no weights of samples); ``start`` and ``end`` cosines; ``time`` (nan
        if it does at none of the sampled times: an excess that begins and ends between two is not seen); ``bound`` T*
        with R = (1 - δ/4)^½; ``bound_printed`` with the printed R = (1 - δ/8)^½; ``limit_time`` (atanh(1-δ) -
        atanh(start))/|g|, exact for vanishing initialisation; ``n_switches`` of the neuron before that time. Bounds
        and limit time hold for a neuron that stays in its first sector.

    Examples
    --------
    >>> import reluflow as rf
    >>> data = rf.datasets.wang_pilanci("obtuse")
    >>> sol = rf.integrate(data, rf.Network.init(10, 2, seed=1), until=1e4)
    >>> table = rf.analysis.alignment_times(sol, delta=0.1)
    >>> table.loc[table["condition"], ["neuron", "time", "bound"]].round(3).head(2).to_dict("records")
    [{'neuron': 0, 'time': 0.542, 'bound': 0.881}, {'neuron': 1, 'time': 1.073, 'bound': 1.152}]
    """
    truth(projected, "projected")
    if isinstance(solution, MultiClassSolution):
        return class_table(solution, lambda one: alignment_times(one, delta=delta, projected=projected, times=times))
    check_run(solution)
    pandas = optional_module("pandas", "analysis")
    target = 1.0 - _delta(delta)
    run = states(solution, times)
    values = _cosines(run, projected)
    found = _first_above(solution, run, values, target, projected)
    pull = np.linalg.norm(_early_pull(run, 0, projected), axis=1)
    start = values[0]
    scores = _scores(run)
    table: pd.DataFrame = pandas.DataFrame(
        {
            "neuron": np.arange(run.width),
            "sign": run.signs.astype(int),
            "condition": np.sign(scores) == run.signs,
            "start": start,
            "end": values[-1],
            "time": found,
            "bound": alignment_bound(start, pull, delta=delta),
            "bound_printed": alignment_bound(start, pull, delta=delta, printed=True),
            "limit_time": limit_time(start, pull, delta=delta),
            "n_switches": _switches_before(solution, found),
        }
    )
    return table


def alignment_bound(start: npt.ArrayLike, pull: npt.ArrayLike, *, delta: float, printed: bool = False) -> FloatArray:
    """Return the bound T* of [WP] (26) on the time to reach a cosine of 1 - δ inside one sector.

    Parameters
    ----------
    start : array_like
        Cosine at the start, in (-1, 1).
    pull : array_like
        |g(σ₀, λ₀)| with λ₀ = -ℓ'(0) y, that is y/2 for the logistic loss.
    delta : float
    printed : bool, optional
        True uses R = (1 - δ/8)^½ as printed; the paper's own ODE (92) gives R = (1 - δ/4)^½.

    Examples
    --------
    The first row of the catalogue: δ = 0.1, |g| = |x₁|/2 and a start at -60 degrees.

    >>> import numpy as np
    >>> from reluflow.analysis import alignment_bound
    >>> x, u = np.array([1.65, -0.47]), np.array([0.5, -np.sqrt(0.75)])
    >>> size = np.linalg.norm(x)
    >>> print(alignment_bound(x @ u / size, size / 2, delta=0.1).round(4))
    0.724
    """
    R = np.sqrt(1.0 - _delta(delta) / (8.0 if truth(printed, "printed") else 4.0))
    cosine, rate = _starts_and_pulls(start, pull)
    with np.errstate(divide="ignore", invalid="ignore"):
        time = (np.arctanh((1.0 - delta) / R) - np.arctanh(cosine / R)) / (rate * R)
    return np.where(cosine >= 1.0 - delta, 0.0, time)


def limit_time(start: npt.ArrayLike, pull: npt.ArrayLike, *, delta: float) -> FloatArray:
    """Return (atanh(1-δ) - atanh(start))/|g|, the exact time inside one sector for vanishing initialisation.

    Examples
    --------
    >>> from reluflow.analysis import limit_time
    >>> limit_time([0.0, 0.5, 0.99], 1.0, delta=0.1).round(4)
    array([1.4722, 0.9229, 0.    ])
    """
    cosine, rate = _starts_and_pulls(start, pull)
    with np.errstate(divide="ignore", invalid="ignore"):
        time = (np.arctanh(1.0 - _delta(delta)) - np.arctanh(cosine)) / rate
    return np.where(cosine >= 1.0 - delta, 0.0, time)


def _starts_and_pulls(start: npt.ArrayLike, pull: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
    cosine, rate = numbers(start, "start"), numbers(pull, "pull")
    try:
        shape = np.broadcast_shapes(cosine.shape, rate.shape)
    except ValueError:
        expected = f"have the shape of start, {cosine.shape}, or one that numpy broadcasts with it"
        raise invalid("pull", expected, f"the shape {rate.shape}") from None
    if (rate < 0).any():
        raise invalid("pull", "hold norms of at least 0", f"{rate[rate < 0][0]:g}")
    return np.broadcast_to(cosine, shape), np.broadcast_to(rate, shape)


def _delta(value: float) -> float:
    number = real(value, "delta", "lie in (0, 1)")
    if not 0.0 < number < 1.0:
        raise invalid("delta", "lie in (0, 1)", repr(number))
    return number


def _early_pull(run: States, k: int, projected: bool) -> FloatArray:
    """g(σ_j, λ₀) of each neuron at time number k, shape (m, d)."""
    return _pull(run, run.pattern[k], projected)


def _pull(run: States, pattern: PatternArray, projected: bool) -> FloatArray:
    """g(σ, λ₀) of each row of a pattern."""
    weights = early_duals(run.data, run.loss, run.reduction)
    if projected:
        return drive(run.data.X, weights, pattern, run.leak)
    return np.asarray((slopes_of(pattern, run.leak) * weights) @ run.data.X)


def _cosines(run: States, projected: bool) -> FloatArray:
    rows = [cosines(run.W[k], np.sign(run.a[k])[:, None] * _early_pull(run, k, projected)) for k in range(len(run))]
    return np.array(rows)


def _cosines_of(solution: Solution, neurons: IntArray, times: FloatArray, projected: bool) -> FloatArray:
    """Cosine of each neuron at times of its own, shape (p, k)."""
    grid, where = np.unique(times, return_inverse=True)
    first = solution.initial
    at_once = max(1, _MAX_NUMBERS // (first.width * (first.dim + solution.data.n)))
    found = np.empty(times.shape)
    for begin in range(0, len(grid), at_once):
        run = states(solution, grid[begin : begin + at_once])
        pair, time = np.nonzero((where >= begin).reshape(times.shape) & (where < begin + at_once).reshape(times.shape))
        row, neuron = where.reshape(times.shape)[pair, time] - begin, neurons[pair]
        pull = _pull(run, run.pattern[row, neuron], projected)
        found[pair, time] = cosines(run.W[row, neuron], np.sign(run.a[row, neuron])[:, None] * pull)
    return found


def _scores(run: States) -> FloatArray:
    """λ₀ᵀφ(X w_j) at the first time, shape (m,); of samples without weights it has the sign of yᵀφ(X w_j)."""
    Z = run.W[0] @ run.data.X.T
    weights = early_duals(run.data, run.loss, run.reduction)
    return np.asarray((np.maximum(Z, run.leak * Z) * np.sign(np.abs(run.pattern[0]))) @ weights)


def _first_above(solution: Solution, run: States, values: FloatArray, target: float, projected: bool) -> FloatArray:
    """First time with a cosine of at least `target`, per neuron; nan if there is none."""
    above = values >= target
    index = np.argmax(above, axis=0)
    ever = above.any(axis=0)
    found = np.where(ever, run.t[index], np.nan)
    open_ = ever & (index > 0) & np.isfinite(found)
    before = np.maximum(index - 1, 0)
    columns = np.arange(run.width)
    time = np.column_stack((np.where(open_, run.t[before], found), found))
    value = np.column_stack((values[before, columns], values[index, columns])) - target
    sought = np.flatnonzero(open_)  # the others may be at infinity
    for _ in range(_MAX_ROUNDS):
        wide = sought[time[sought, 1] - time[sought, 0] > _TIME_TOL * time[sought, 1]]
        if not len(wide):
            break
        cuts = _cuts(time[wide], value[wide])
        inside = _cosines_of(solution, wide, cuts, projected) - target
        times = np.column_stack((time[wide, :1], cuts, time[wide, 1:]))
        heights = np.column_stack((value[wide, :1], inside, value[wide, 1:]))
        last = np.argmax(heights[:, 1:] >= 0, axis=1) + 1
        rows = np.arange(len(wide))
        time[wide] = np.column_stack((times[rows, last - 1], times[rows, last]))
        value[wide] = np.column_stack((heights[rows, last - 1], heights[rows, last]))
    return time[:, 1]


def _cuts(time: FloatArray, value: FloatArray) -> FloatArray:
    """Return increasing times inside each bracket (p, 2), where the values at its ends have different signs."""
    low, width = time[:, 0], time[:, 1] - time[:, 0]
    rise = value[:, 1] - value[:, 0]
    share = np.divide(-value[:, 0], rise, out=np.full(len(low), 0.5), where=np.isfinite(rise) & (rise > 0))
    near = share[:, None] + _SECANT_WIDTH * np.array([-1.0, 0.0, 1.0])
    shares = np.sort(np.clip(np.column_stack((near, np.full(len(low), 0.5))), _SECANT_WIDTH, 1.0 - _SECANT_WIDTH))
    return np.asarray(low[:, None] + width[:, None] * shares)


def _switches_before(solution: Solution, when: FloatArray) -> npt.NDArray[np.int64]:
    events = solution.events
    neuron = np.asarray(events.neuron)
    limit = np.where(np.isnan(when), np.inf, when)
    return np.bincount(neuron[np.asarray(events.t) <= limit[neuron]], minlength=len(when))
