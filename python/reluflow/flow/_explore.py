"""A run of two layers as a page to drag through: what it hands to `reluflow.explorer`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, TypeAlias, Union

import numpy as np

from .._validation import integer
from ..explorer import Explorer, Film, explorer
from ..explorer._times import frames
from ..layered._several import pair_of

if TYPE_CHECKING:
    from ._solution import Solution
    from ._two_layer_solution import TwoLayerSolution

Run: TypeAlias = Union["Solution", "TwoLayerSolution"]


def explore(solution: Run, path: str | os.PathLike[str] | None, n_times: int) -> Explorer:
    """Make the page and write it, unless `path` is None."""
    return explorer(film(solution, integer(n_times, "n_times", least=2)), _title(solution), path)


def film(solution: Run, n_times: int) -> Film:
    """Return the states on a grid that is dense where much happens, with the start and the end."""
    t, log_t, networks = frames(solution, n_times)
    events, pair = solution.events, pair_of(solution.data, solution.initial, solution.loss)
    return Film(
        X=pair.X,
        targets=pair.target_rows,
        counts=pair.each,
        loss=solution.loss,
        reduction=solution.reduction,
        t=t,
        log_t=log_t,
        networks=networks,
        rows=lambda net: net.W,
        a=np.array([net.a.reshape(net.width, -1) for net in networks]),
        degree=2,
        event_log_t=events.log_t,
        event_place=np.column_stack((events.neuron, events.sample)),
        places=("neuron", "sample"),
        event_row=events.neuron,
        event_first=events.neuron,
        n_rows=solution.initial.width,
        first_rows=(),
        event_kind=events.kind.tolist(),
    )


def _title(solution: Run) -> str:
    n, d = (solution.data[0] if isinstance(solution.data, tuple) else solution.data.X).shape
    name = getattr(solution.data, "name", "") or f"{n} samples in {d} dimensions"
    return f"{name}, {solution.initial.width} neurons, {len(solution.events):,} events"
