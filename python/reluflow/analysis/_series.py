"""Scalars along a run: loss, margins, norms and the counts of sectors, held pairs and dead neurons."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from .._validation import FloatArray, IntArray, PatternArray, optional_module, truth
from ..flow import MultiClassSolution, TwoLayerSolution
from ..kinks._boundaries import acts
from ..losses import inverse_total, is_of_margins
from ._classes import class_array, class_table
from ._kernels import lengths
from ._layered_outputs import LAYERED_RUNS, LayeredRun
from ._layered_series import Margins, layered_margins, layered_series
from ._states import Source, States, states

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

# Unit of each column of `series`; times are those of the flow dθ/dt = -∂L, all else is a pure number.
SERIES_UNITS = {"t": "time", "log_t": "log(time)", "norm2_per_log_t": "1/log(time)"}


def series(
    source: Source | MultiClassSolution | TwoLayerSolution | LayeredRun, times: npt.ArrayLike | None = None
) -> pd.DataFrame:
    """Tabulate what the papers plot against time, one row a time.

    Parameters
    ----------
    source : Solution, MultiClassSolution, TwoLayerSolution, DeepSolution, States, LayeredStates, or a descent
        Of K classes one against the rest the rows stand class by class, with the label in the first column ``class``.
        Layers and several outputs have a part of the columns, with the norm of each layer, ``norm_1``, ``norm_2``, ...,
        and |θ|^L in the place of |θ|² where f(c θ) = c^L f(θ); of classes a margin is that to the next class, of
        several targets an error is the length of f(x_i) - y_i.
    times : array_like, shape (k,), optional
        Where to look, by dense output; without it the times of the solution.

    Returns
    -------
    pandas.DataFrame
        Columns: ``t``, ``log_t``; ``log_loss`` and ``loss`` (with the reduction of the run); ``norm`` |θ|, ``norm_W``,
        ``norm_a``; ``norm2_per_log_t`` |θ|²/log t (nan for t <= 1); ``min_margin`` min_i q_i over the samples that
        count, whose weight is not 0; ``normalised_margin`` min_i q_i/|θ|²; ``smoothed_margin`` ℓ⁻¹(Σℓ)/|θ|² ([LLWA,
        Sec. 3]), which never falls once the loss separates the data; ``balance_drift`` max_j |a_j² - |w_j|² - its
        first value|/|θ_j|²; ``n_wrong`` samples that count with q_i <= 0 (these four for labels only, the smoothed
        margin is nan for a loss of errors); for a loss of errors ``rmse``, the root of the weighted mean of
        (f(x_i) - y_i)², and ``largest_error`` of the samples that count; ``n_sectors`` different sign patterns among
        the neurons; ``n_held`` pairs on their boundary; ``n_dead`` neurons that no sample can move any more. Units are
        in ``.attrs["units"]``.

    Raises
    ------
    ImportError
        pandas is not installed (extra ``analysis``).

    Examples
    --------
    >>> import reluflow as rf
    >>> data = rf.Dataset([[1.0, 0.0], [0.0, 1.0]], [1, -1])
    >>> table = rf.analysis.series(rf.analysis.state_of(data, rf.Network([[2.0, 0.0], [0.0, 2.0]], [2.0, -2.0])))
    >>> table[["normalised_margin", "n_sectors", "n_held"]].to_dict("records")
    [{'normalised_margin': 0.25, 'n_sectors': 2, 'n_held': 2}]
    """
    if isinstance(source, MultiClassSolution):
        return class_table(source, lambda one: series(one, times))
    pandas = optional_module("pandas", "analysis")
    if isinstance(source, (TwoLayerSolution, *LAYERED_RUNS)):
        of_layers, degree = layered_series(source, times)
        layered: pd.DataFrame = pandas.DataFrame(of_layers)
        layered.attrs.update(units={name: SERIES_UNITS.get(name, "1") for name in of_layers}, degree=degree)
        return layered
    run = states(source, times)
    with np.errstate(over="ignore"):
        loss = np.exp(run.log_loss)
    columns = {
        "t": run.t,
        "log_t": run.log_t,
        "log_loss": run.log_loss,
        "loss": loss,
        **_norms(run),
        **_margin_columns(run),
        **_counts(run),
    }
    table: pd.DataFrame = pandas.DataFrame(columns)
    table.attrs["units"] = {name: SERIES_UNITS.get(name, "1") for name in columns}
    return table


def margins(
    source: Source | MultiClassSolution | TwoLayerSolution | LayeredRun,
    times: npt.ArrayLike | None = None,
    *,
    normalised: bool = False,
) -> xr.DataArray:
    """Return the margins q_i = y_i f(x_i), or q_i/|θ|², with the dimensions time and sample (before them class).

    Layers have q_i/|θ|^L with f(c θ) = c^L f(θ). With cross-entropy q_i is the output of the sample's class less the
    largest of the others.

    Raises
    ------
    ImportError
        xarray is not installed (extra ``analysis``).
    ValueError
        Classes with states at different times, and no `times`; a run without margins, or none over a power of |θ|.

    Examples
    --------
    >>> import reluflow as rf
    >>> data = rf.datasets.wang_pilanci("obtuse")
    >>> sol = rf.integrate(data, rf.Network.init(10, 2, seed=1), until=1e4)
    >>> rf.analysis.margins(sol)[-1].round(2).to_numpy()
    array([12.91, 12.71])
    """
    truth(normalised, "normalised")
    if isinstance(source, MultiClassSolution):
        return class_array(source, lambda one: margins(one, times, normalised=normalised))
    xarray = optional_module("xarray", "analysis")
    found = _margins(source, times, normalised)
    values, name = found.values, "normalised_margin" if normalised else "margin"
    coords = {"time": found.t, "log_t": ("time", found.log_t), "y": ("sample", found.y)}
    array: xr.DataArray = xarray.DataArray(values, dims=("time", "sample"), coords=coords, name=name)
    array.attrs.update(units="1", degree=found.degree)
    array["time"].attrs["units"] = "time"
    return array


def _margins(source: Any, times: npt.ArrayLike | None, normalised: bool) -> Margins:
    if isinstance(source, (TwoLayerSolution, *LAYERED_RUNS)):
        return layered_margins(source, times, normalised=normalised)
    run = states(source, times)
    values = run.normalised_margins if normalised else run.margins
    return Margins(run.t, run.log_t, values, run.data.y, 2)


def count_sectors(pattern: PatternArray) -> int:
    """Count the different rows of one sign pattern (m, n)."""
    return len(np.unique(sector_keys(pattern)))


def sector_keys(pattern: PatternArray) -> npt.NDArray[np.void]:
    """Return each row of a sign pattern as one opaque value, equal exactly where the sectors are equal."""
    packed = np.concatenate([np.packbits(pattern > 0, axis=-1), np.packbits(pattern == 0, axis=-1)], axis=-1)
    rows = np.ascontiguousarray(packed)
    return rows.view(np.dtype((np.void, rows.shape[-1])))[..., 0]


def dead(pattern: PatternArray, leak: float) -> npt.NDArray[np.bool_]:
    """Tell which neurons are inactive on every sample (ReLU only), over the last axis of a pattern."""
    return ~acts(pattern, leak)


def _norms(run: States) -> dict[str, FloatArray]:
    norm2 = run.norm**2
    late = run.log_t > 0
    per_log = np.divide(norm2, run.log_t, out=np.full(len(run), np.nan), where=late)
    row = lengths(run.W)
    return {
        "norm": run.norm,
        "norm_W": lengths(row),
        "norm_a": lengths(run.a),
        "norm2_per_log_t": per_log,
        "balance_drift": _balance_drift(row, np.abs(run.a), run.sizes),
    }


def _balance_drift(row: FloatArray, size: FloatArray, whole: FloatArray) -> FloatArray:
    """Return max_j |a_j² - |w_j|² - its first value|/|θ_j|², taken at neurons of size about 1."""
    exponent = -np.frexp(whole)[1]
    inner, outer = np.ldexp(row, exponent), np.ldexp(size, exponent)
    balance = (outer - inner) * (outer + inner)
    scale = np.maximum(np.ldexp(whole, exponent) ** 2, np.finfo(float).tiny)
    with np.errstate(over="ignore"):  # beside what weight decay has left the first value can be infinitely large
        first = np.ldexp(balance[0], 2 * (exponent - exponent[0]))
        return np.asarray((np.abs(balance - first) / scale).max(axis=1))


def _margin_columns(run: States) -> dict[str, FloatArray | IntArray]:
    of_errors: dict[str, FloatArray | IntArray] = {}
    smoothed, used = np.full(len(run), np.nan), run.data.counts > 0  # a weight of 0 leaves the sample out
    if is_of_margins(run.loss):
        smoothed = inverse_total(run.log_loss_sum, run.loss)
    else:
        errors, counts = run.loss_arguments, run.data.counts
        of_errors["rmse"] = np.asarray(np.sqrt(errors**2 @ counts / counts.sum()))
        of_errors["largest_error"] = np.asarray(np.abs(errors[:, used]).max(axis=1))
    if not run.data.has_labels:
        return of_errors
    norm, margins = np.where(run.norm > 0, run.norm, np.nan), run.margins[:, used]
    with np.errstate(over="ignore"):  # of a loss that does not separate the data yet it is -inf at tiny weights
        smoothed = smoothed / norm / norm
    return {
        "min_margin": margins.min(axis=1),
        "normalised_margin": run.normalised_margins[:, used].min(axis=1),
        "smoothed_margin": smoothed,
        "n_wrong": np.count_nonzero(margins <= 0, axis=1),
        **of_errors,
    }


def _counts(run: States) -> dict[str, IntArray]:
    return {
        "n_sectors": np.array([count_sectors(pattern) for pattern in run.pattern]),
        "n_held": np.array([np.count_nonzero(pattern == 0) for pattern in run.pattern]),
        "n_dead": dead(run.pattern, run.leak).sum(axis=1),
    }
