"""A run as a page to drag through: which times it shows, and what it hands to `reluflow.explorer`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, TypeAlias, Union

import numpy as np

from .._files import atomic_write
from .._validation import FloatArray, integer
from ..explorer import Explorer, Film, explorer
from ..layered._several import pair_of
from ._times import plain_times, spread

if TYPE_CHECKING:
    from ._solution import Solution
    from ._two_layer_solution import TwoLayerSolution

Run: TypeAlias = Union["Solution", "TwoLayerSolution"]


def explore(solution: Run, path: str | os.PathLike[str] | None, n_times: int) -> Explorer:
    """Make the page and write it, unless `path` is None."""
    page = explorer(film(solution, integer(n_times, "n_times", least=2)), _title(solution))
    if path is not None:
        with atomic_write(path) as file:
            file.write(page.html.encode())
    return page


def film(solution: Run, n_times: int) -> Film:
    """Return the states on a grid that is dense where much happens, with the start and the end."""
    t, log_t, W, a = _states(solution, spread(solution, n_times))
    events, pair = solution.events, pair_of(solution.data, solution.initial, solution.loss)
    return Film(
        X=pair.X,
        targets=pair.target_rows,
        counts=pair.each,
        leak=solution.leak,
        loss=solution.loss,
        reduction=solution.reduction,
        t=t,
        log_t=log_t,
        W=W,
        a=a if a.ndim == 3 else a[:, :, None],
        event_log_t=events.log_t,
        event_neuron=events.neuron,
        event_sample=events.sample,
        event_kind=events.kind.tolist(),
    )


def _states(solution: Run, log_t: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    if np.isfinite(solution.t_end):
        t = plain_times(solution, log_t)
        with np.errstate(divide="ignore"):
            return t, np.log(t), *solution.states(t)
    nets = [solution.at(log_t=float(one)) for one in log_t]
    W, a = np.array([net.W for net in nets]), np.array([net.a for net in nets])
    with np.errstate(over="ignore"):
        t = np.exp(log_t)
    if solution.t_start > 0:
        return t, log_t, W, a
    start = solution.initial
    W, a = np.concatenate((start.W[None], W)), np.concatenate((start.a[None], a))
    return np.append(0.0, t), np.append(-np.inf, log_t), W, a


def _title(solution: Run) -> str:
    n, d = (solution.data[0] if isinstance(solution.data, tuple) else solution.data.X).shape
    name = getattr(solution.data, "name", "") or f"{n} samples in {d} dimensions"
    return f"{name}, {solution.initial.width} neurons, {len(solution.events):,} events"
