"""How far a run has gone from linear learning: its sign patterns and its tangent kernel against those of another time.

While the pattern is constant the outputs follow df_i/dt = Σ_k K_ik λ_k with the tangent kernel

    K_ik = Σ_j [ φ(z_ji) φ(z_jk) + a_j² (P_j s_ji x_i)·(P_j s_jk x_k) ],

where P_j projects to the boundaries that neuron j slides along and the slope s of a sample it slides on is left out.
With K outputs it is K_(ic)(kd) = Σ_j [ δ_cd φ(z_ji) φ(z_jk) + a_jc a_jd (P_j s_ji x_i)·(P_j s_jk x_k) ], with rates
(η_w, η_a) the first term times η_a and the second times η_w. With layers K_(ic)(kd) = ∇f_ic · P ∇f_kd, by all
parameters, where P projects to the boundaries on which units slide.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import numpy.typing as npt

from .._validation import FloatArray, instance, invalid, optional_module
from ..descent import DescentResult
from ..flow import Solution, TwoLayerSolution
from ..layered import DeepSolution
from ._kernels import off_span, slopes_of
from ._layered_states import LayeredStates, layered_states
from ._output_states import AnySource, AnyStates, OutputStates, any_states
from ._series import sector_keys
from ._states import States

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

AnyRun: TypeAlias = "AnySource | DeepSolution | LayeredStates"
AnyRunStates: TypeAlias = "AnyStates | LayeredStates"


def pattern_distance(
    source: AnyRun, times: npt.ArrayLike | None = None, *, other: AnyRun | None = None
) -> pd.DataFrame:
    """Tabulate how many signs of the pre-activations differ from those of the first time, or of another run.

    Parameters
    ----------
    source : Solution, TwoLayerSolution, DeepSolution, States, OutputStates, LayeredStates or DescentResult
    times : array_like, shape (k,), optional
        Where to look, by dense output; without it the times of the solution.
    other : of the same kinds, optional
        Another run of as many neurons on as many samples, looked at at the same times; without it the first time of
        `source` itself.

    Returns
    -------
    pandas.DataFrame
        Columns: ``t``, ``log_t``; ``n_pairs`` pairs of neuron and sample whose signs -1, 0, +1 differ, ``share`` of
        all pairs; ``n_neurons`` neurons with such a pair. With layers neurons are the units of all layers that are not
        linear, and the sign is 0 also where nothing live reaches one.

    Raises
    ------
    ValueError
        Another run with other sizes, or States or a descent at other times.
    ImportError
        pandas is not installed (extra ``analysis``).

    Examples
    --------
    >>> import reluflow as rf
    >>> data = rf.datasets.wang_pilanci("obtuse")
    >>> sol = rf.integrate(data, rf.Network.init(10, 2, seed=1), until=1e4)
    >>> rf.analysis.pattern_distance(sol, [0.0, 1e4]).n_pairs.tolist()
    [0, 5]
    """
    pandas = optional_module("pandas", "analysis")
    run = _states(source, times)
    against = np.repeat(run.pattern[:1], len(run), axis=0) if other is None else _other(run, other).pattern
    differs = run.pattern != against
    pairs = differs.sum(axis=(1, 2))
    table: pd.DataFrame = pandas.DataFrame(
        {
            "t": run.t,
            "log_t": run.log_t,
            "n_pairs": pairs,
            "share": pairs / differs[0].size,
            "n_neurons": differs.any(axis=2).sum(axis=1),
        }
    )
    return table


def tangent_kernel(source: AnyRun, times: npt.ArrayLike | None = None) -> xr.DataArray:
    """Return the tangent kernel K of the flow on the samples, df_i/dt = Σ_k K_ik λ_k.

    Parameters
    ----------
    source : Solution, TwoLayerSolution, DeepSolution, States, OutputStates, LayeredStates or DescentResult
    times : array_like, shape (k,), optional
        Where to look, by dense output; without it the times of the solution. Each takes n² numbers, or (n K)².

    Returns
    -------
    xarray.DataArray
        Dimensions time, sample and other, with K outputs time, sample, output, other and other_output; symmetric and
        positive semidefinite.

    Raises
    ------
    ImportError
        xarray is not installed (extra ``analysis``).

    Examples
    --------
    >>> import reluflow as rf
    >>> data = rf.Dataset([[1.0, 0.0], [1.0, 1.0]], [1, -1])
    >>> one = rf.analysis.state_of(data, rf.Network([[2.0, 0.0]], [3.0]))
    >>> rf.analysis.tangent_kernel(one)[0].to_numpy()
    array([[13., 13.],
           [13., 22.]])
    """
    xarray = optional_module("xarray", "analysis")
    run = _states(source, times)
    values = np.array([_kernel(run, k) for k in range(len(run))])
    coords = {"time": run.t, "log_t": ("time", run.log_t)}
    dims: tuple[str, ...] = ("time", "sample", "other")
    if not isinstance(run, States) and run.K > 1:
        n = len(run.X)
        values = values.reshape(len(run), n, run.K, n, run.K)
        dims = ("time", "sample", "output", "other", "other_output")
    found: xr.DataArray = xarray.DataArray(values, dims=dims, coords=coords, name="kernel")
    return found


def kernel_distance(source: AnyRun, times: npt.ArrayLike | None = None, *, other: AnyRun | None = None) -> pd.DataFrame:
    """Tabulate how far the tangent kernel is from that of the first time, or of another run.

    Parameters
    ----------
    source : Solution, TwoLayerSolution, DeepSolution, States, OutputStates, LayeredStates or DescentResult
    times : array_like, shape (k,), optional
        Where to look, by dense output; without it the times of the solution.
    other : of the same kinds, optional
        Another run on as many samples, looked at at the same times; without it the first time of `source` itself.

    Returns
    -------
    pandas.DataFrame
        Columns: ``t``, ``log_t``; ``distance`` |K - K'|/|K'| in the Frobenius norm, ``cosine`` ⟨K, K'⟩/(|K||K'|), which
        does not see the size; ``target_alignment`` yᵀKy/(|K||y|²), for cross-entropy with y = one-hot - 1/K. nan where
        a kernel or y is zero.

    Raises
    ------
    ValueError
        Another run on another number of samples, or States or a descent at other times.
    ImportError
        pandas is not installed (extra ``analysis``).

    Examples
    --------
    Large weights learn with a kernel that hardly changes, small ones do not:

    >>> import reluflow as rf
    >>> data = rf.Dataset([[1.0, 0.2], [-0.3, 1.0], [0.5, -0.9]], [0.5, -1.0, 1.0])
    >>> for scale in (1e-3, 3.0):
    ...     net = rf.Network.init(200, 2, scale=scale, antisymmetric=True, seed=1)
    ...     sol = rf.integrate(data, net, until=rf.Stop(mean_loss=1e-4), loss="squared")
    ...     end = rf.analysis.kernel_distance(sol, [0.0, sol.t_end]).iloc[1]
    ...     print(bool(end.cosine > 0.99))
    False
    True
    """
    pandas = optional_module("pandas", "analysis")
    run = _states(source, times)
    against = None if other is None else _other(run, other)
    first, rows = _kernel(run, 0), []
    for k in range(len(run)):
        kernel = _kernel(run, k)
        rows.append(_compared(kernel, first if against is None else _kernel(against, k), _targets(run)))
    columns = {"t": run.t, "log_t": run.log_t}
    names = ("distance", "cosine", "target_alignment")
    table: pd.DataFrame = pandas.DataFrame({**columns, **dict(zip(names, np.array(rows).T, strict=True))})
    return table


def _states(
    source: AnyRun, times: npt.ArrayLike | None = None, *, log_times: npt.ArrayLike | None = None
) -> AnyRunStates:
    run: AnyRunStates
    if isinstance(source, LayeredStates):
        if times is not None or log_times is not None:
            raise invalid("times", "be left out, for LayeredStates carry their times", "times")
        run = source
    elif isinstance(source, DeepSolution):
        run = layered_states(source, times, log_times)
    else:
        run = any_states(source, times, log_times=log_times)
    if not len(run):
        raise invalid("times", "hold one time at least", "none")
    return run


def _targets(run: AnyRunStates) -> FloatArray:
    """Return the direction in which outputs at zero move, of all samples and outputs."""
    if isinstance(run, States):
        return run.data.y
    return (run.targets - 1.0 / run.K if run.loss == "cross_entropy" else run.targets).ravel()


def _compared(kernel: FloatArray, against: FloatArray, y: FloatArray) -> tuple[float, float, float]:
    size, base, target = (float(np.linalg.norm(value)) for value in (kernel, against, y))
    with np.errstate(divide="ignore", invalid="ignore"):
        distance = np.divide(np.linalg.norm(kernel - against), base) if base > 0 else np.nan
        cosine = np.vdot(kernel / size, against / base) if size > 0 and base > 0 else np.nan
        alignment = (y / target) @ (kernel / size) @ (y / target) if size > 0 and target > 0 else np.nan
    return float(distance), float(cosine), float(alignment)


def _other(run: AnyRunStates, other: AnyRun) -> AnyRunStates:
    """Return the other run at the same times."""
    kinds = (Solution, TwoLayerSolution, DeepSolution, States, OutputStates, LayeredStates, DescentResult)
    names = "a Solution, TwoLayerSolution, DeepSolution, States, OutputStates, LayeredStates or DescentResult"
    instance(other, "other", kinds, names)
    if not isinstance(other, (Solution, TwoLayerSolution, DeepSolution)):
        found = _states(other)
    elif np.isfinite(run.t).all():
        found = _states(other, run.t)
    else:
        found = _states(other, log_times=run.log_t)
    if found.pattern.shape[1:] != run.pattern.shape[1:]:
        m, n = run.pattern.shape[1:]
        expected = f"have {m} neurons and {n} samples, as source"
        raise invalid("other", expected, f"{found.pattern.shape[1]} and {found.pattern.shape[2]}")
    mine, theirs = (1 if isinstance(one, States) else one.K for one in (run, found))
    if mine != theirs:
        raise invalid("other", f"have as many outputs as source, {mine}", str(theirs))
    if not np.array_equal(found.t, run.t):
        raise invalid("other", "be seen at the times of source", f"{len(found)} other times")
    return found


def _kernel(run: AnyRunStates, index: int) -> FloatArray:
    """Return the tangent kernel at one time, shape (n K, n K); neurons with one pattern are taken together."""
    if isinstance(run, LayeredStates):
        return run.kernel(index)
    X, rates = (run.data.X, (1.0, 1.0)) if isinstance(run, States) else (run.X, run.rates)
    W, pattern = run.W[index], run.pattern[index]
    a = run.a[index] if run.a.ndim == 3 else run.a[index][:, None]
    slopes = slopes_of(pattern, run.leak)
    features = slopes * (W @ X.T)
    kernel = rates[1] * np.kron(features.T @ features, np.eye(a.shape[1]))
    _, sector = np.unique(sector_keys(pattern), return_inverse=True)
    for rows in (np.flatnonzero(sector == k) for k in range(int(sector.max()) + 1)):
        pulled = slopes[rows[0], :, None] * X
        held = pattern[rows[0]] == 0
        if held.any():
            pulled = off_span(pulled, X[held])
        kernel += rates[0] * np.kron(pulled @ pulled.T, a[rows].T @ a[rows])
    return np.asarray(kernel)
