"""A run as a page to drag through: which times it shows, and what it hands to `reluflow.explorer`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import numpy as np

from .._files import atomic_write
from .._validation import FloatArray, integer
from ..explorer import Explorer, Film, explorer
from ..losses import require_labels
from ._times import plain_times, spread

if TYPE_CHECKING:
    from ._solution import Solution


def explore(solution: Solution, path: str | os.PathLike[str] | None, n_times: int) -> Explorer:
    """Make the page and write it, unless `path` is None.

    Raises
    ------
    ValueError
        A target of the data is neither +1 nor -1: the page shows margins.
    """
    require_labels(solution.data)
    page = explorer(film(solution, integer(n_times, "n_times", least=2)), _title(solution))
    if path is not None:
        with atomic_write(path) as file:
            file.write(page.html.encode())
    return page


def film(solution: Solution, n_times: int) -> Film:
    """Return the states on a grid that is dense where much happens, with the start and the end."""
    t, log_t, W, a = _states(solution, spread(solution, n_times))
    events = solution.events
    return Film(
        data=solution.data,
        leak=solution.leak,
        loss=solution.loss,
        reduction=solution.reduction,
        t=t,
        log_t=log_t,
        W=W,
        a=a,
        event_log_t=events.log_t,
        event_neuron=events.neuron,
        event_sample=events.sample,
        event_kind=events.kind.tolist(),
    )


def _states(solution: Solution, log_t: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    if np.isfinite(solution.t_end):
        t = plain_times(solution, log_t)
        with np.errstate(divide="ignore"):
            return t, np.log(t), *solution.states(t)
    W, a = solution.states(log_times=log_t)
    with np.errstate(over="ignore"):
        t = np.exp(log_t)
    if solution.t_start > 0:
        return t, log_t, W, a
    start = solution.initial
    W, a = np.concatenate((start.W[None], W)), np.concatenate((start.a[None], a))
    return np.append(0.0, t), np.append(-np.inf, log_t), W, a


def _title(solution: Solution) -> str:
    data = solution.data
    name = data.name or f"{data.n} samples in {data.d} dimensions"
    return f"{name}, {solution.initial.width} neurons, {len(solution.events):,} events"
