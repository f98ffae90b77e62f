"""A run of layers as a page to drag through: what it hands to `reluflow.explorer`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import numpy as np

from .._validation import FloatArray, integer
from ..explorer import Explorer, Film, explorer
from ..explorer._times import frames
from ._graph import degree_of
from ._network import DeepNetwork

if TYPE_CHECKING:
    from ._solution import DeepSolution


def explore_layers(solution: DeepSolution, path: str | os.PathLike[str] | None, n_times: int) -> Explorer:
    """Make the page and write it, unless `path` is None."""
    return explorer(film_of_layers(solution, integer(n_times, "n_times", least=2)), _title(solution), path)


def film_of_layers(solution: DeepSolution, n_times: int) -> Film:
    """Return the states on a grid that is dense where much happens, with the start and the end."""
    t, log_t, networks = frames(solution, n_times)
    events, problem, nodes = solution.events, solution._problem, solution.initial.nodes
    above = np.cumsum([0, *(node.size for node in nodes[1:])])
    shown = [number for number, node in enumerate(nodes[1:]) if node.leak is not None]  # linear layers have no events
    return Film(
        X=problem.X,
        targets=problem.targets,
        counts=np.ones(len(problem.X)) if problem.counts is None else problem.counts,
        loss=solution.loss,
        reduction=solution.reduction,
        t=t,
        log_t=log_t,
        networks=networks,
        rows=first_rows,
        a=None,
        degree=degree_of(nodes)[0],
        event_log_t=events.log_t,
        event_place=np.column_stack((events.layer, events.unit, events.sample)),
        places=("layer", "unit", "sample"),
        event_row=above[events.layer - 1] + events.unit,
        event_first=np.where(events.layer == 1, events.unit, -1),
        n_rows=int(above[shown[-1] + 1]) if shown else 1,
        first_rows=tuple(int(row) for row in above[: shown[-1] + 1]) if shown else (),
        event_kind=events.kind.tolist(),
    )


def first_rows(net: DeepNetwork) -> FloatArray:
    """Return the rows of the first layer on the inputs; one of biases alone has zeros."""
    return net.matrix(1) if net.nodes[1].edges else np.zeros((net.nodes[1].size, net.dim))


def _title(solution: DeepSolution) -> str:
    n, d = solution._problem.X.shape
    name = getattr(solution.data, "name", "") or f"{n} samples in {d} dimensions"
    sizes = "-".join(str(node.size) for node in solution.initial.nodes)
    return f"{name}, layers {sizes}, {len(solution.events):,} events"
