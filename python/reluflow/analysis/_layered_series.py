"""Loss, norms and margins of a layered run over time, under the names that those of two layers have."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .._validation import FloatArray, invalid
from ..flow import TwoLayerSolution
from ..layered._balance import balance_weights
from ..layered._graph import degree_of, norm_of
from ..layered._margins import margins_of
from ..layered._xarray import log_losses
from ..losses import inverse_total, is_of_margins
from ._inputs import ONE_OUTPUT
from ._layered_outputs import LAYERED_RUNS, LayeredRun, outputs_of, path_of


class Margins(NamedTuple):
    """Times, margins (k, n), labels or numbers of classes (n,), and L of the |θ|^L that they are divided by."""

    t: FloatArray
    log_t: FloatArray
    values: FloatArray
    y: FloatArray
    degree: int


def as_layered(source: LayeredRun | TwoLayerSolution) -> LayeredRun:
    """Return the run of layers that a run of several outputs is.

    Raises
    ------
    ValueError
        Its weights and times are other ones there, or not all of its weights move.
    """
    if isinstance(source, LAYERED_RUNS):
        return source
    if source._reader.train != "both" or source._reader.rates != (1.0, 1.0):
        raise invalid("source", ONE_OUTPUT, "one of part of the weights, or of two rates")
    return source.layered


def layered_margins(given: LayeredRun | TwoLayerSolution, times: npt.ArrayLike | None, *, normalised: bool) -> Margins:
    """Return y f, or the output of a sample's class less the largest of the others, at each time.

    Raises
    ------
    ValueError
        The squared loss, which has none; or `normalised` of a network without a degree.
    """
    source = as_layered(given)
    if source.loss == "squared":
        raise invalid("source", "be a run on labels or classes (real targets have no margins)", "one of squared loss")
    t, log_t, path = path_of(source, times)
    degree, reason = degree_of(source.initial.nodes)
    if normalised and not degree:
        raise invalid("normalised", "be False for a network that is not homogeneous", f"True: {reason}")
    problem = source._problem
    values = np.array([margins_of(f, problem.targets) for f in outputs_of(source, path, problem.X)])
    if normalised:
        size = np.linalg.norm(path, axis=1, keepdims=True) ** degree
        values = np.divide(values, size, out=np.zeros_like(values), where=size > 0)
    rows = problem.targets
    return Margins(t, log_t, values, rows[:, 0] if rows.shape[1] == 1 else rows.argmax(axis=1) * 1.0, degree)


def layered_series(
    given: LayeredRun | TwoLayerSolution, times: npt.ArrayLike | None
) -> tuple[dict[str, npt.NDArray[Any]], int]:
    """Return the columns of `series`, and L of the |θ|^L that margins are divided by, 0 for none."""
    source = as_layered(given)
    t, log_t, path = path_of(source, times)
    problem, nodes = source._problem, source.initial.nodes
    log_loss = source.log_loss if times is None else log_losses(problem, path)
    norm = np.linalg.norm(path, axis=1)
    with np.errstate(over="ignore"):
        columns: dict[str, npt.NDArray[Any]] = {"t": t, "log_t": log_t, "log_loss": log_loss, "loss": np.exp(log_loss)}
    columns["norm"] = norm
    for number, node in enumerate(nodes[1:], start=1):
        columns[f"norm_{number}"] = np.array([norm_of(node, theta) for theta in path])
    kept = path**2 @ balance_weights(nodes, source.initial.n_parameters).T
    drift = np.abs(kept - kept[0]).max(axis=1, initial=0.0)
    columns["balance_drift"] = np.divide(drift, norm**2, out=np.zeros_like(norm), where=norm > 0)
    if source.loss == "squared":
        return columns | _of_errors(source, path), 0
    degree = degree_of(nodes)[0]
    return columns | _of_margins(source, times, norm, log_loss, degree), degree


def _of_errors(source: LayeredRun, path: FloatArray) -> dict[str, FloatArray]:
    problem = source._problem
    counts = np.ones(len(problem.X)) if problem.counts is None else problem.counts
    square = ((outputs_of(source, path, problem.X) - problem.targets) ** 2).sum(axis=2)
    largest = np.sqrt(square[:, counts > 0].max(axis=1))
    return {"rmse": np.asarray(np.sqrt(square @ counts / counts.sum())), "largest_error": np.asarray(largest)}


def _of_margins(
    source: LayeredRun, times: npt.ArrayLike | None, norm: FloatArray, log_loss: FloatArray, degree: int
) -> dict[str, npt.NDArray[Any]]:
    problem = source._problem
    used = np.ones(len(problem.X), dtype=bool) if problem.counts is None else problem.counts > 0
    margins = layered_margins(source, times, normalised=False).values[:, used]
    found: dict[str, npt.NDArray[Any]] = {"min_margin": margins.min(axis=1)}
    if degree:
        power = np.where(norm > 0, norm, np.nan) ** degree
        found["normalised_margin"] = found["min_margin"] / power
        if is_of_margins(source.loss):
            found["smoothed_margin"] = inverse_total(log_loss - np.log(problem.factor), source.loss) / power
    return {**found, "n_wrong": np.count_nonzero(margins <= 0, axis=1)}
