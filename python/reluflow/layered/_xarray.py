"""The solution of a layered network as one xarray dataset."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from .. import _xarray
from .._validation import FloatArray, PatternArray
from . import _gradient
from ._events import LAYERED_KINDS
from ._graph import EMPTY, Node

if TYPE_CHECKING:
    import xarray as xr

    from ._model import Problem
    from ._solution import DeepSolution

# The side of a pre-activation behind an event of each kind; one without a live input is zero, whatever it is next.
_SIDES = {"cross": 1, "leave": 1, "wake": 1, "start": 1, "slide": 0, "void": 0}
_SIDE_AFTER = {
    kind: _SIDES[kind.split("_")[0]] * (-1 if kind.endswith("down") else 0 if kind.endswith("slide") else 1)
    for kind in LAYERED_KINDS
    if kind != "branch"
}


def dataset_of_layers(
    solution: DeepSolution, t: FloatArray, log_t: FloatArray, theta: FloatArray, log_loss: FloatArray
) -> xr.Dataset:
    """Return the states at some times, the data, the events and the settings of a solution as a dataset."""
    nodes, problem = solution.initial.nodes, solution._problem
    names = ["input", *(f"unit_{number}" for number in range(1, len(nodes) - 1)), "output"]
    variables: dict[str, _xarray.Variable] = {}
    for number, node in enumerate(nodes[1:], start=1):
        variables |= _of_layer(node, number, names, theta)
    variables["log_loss"] = (("time",), log_loss, "log of the loss, with the reduction of the run")
    patterns = patterns_of_layers(solution, t, log_t)
    for number, node in enumerate(nodes[1:], start=1):
        if node.leak is not None:
            dims, text = ("time", names[number], "sample"), f"sign of the pre-activations of layer {number}"
            variables[f"pattern{number}"] = (
                dims,
                patterns[number - 1],
                f"{text}, 0 on a boundary or without live input",
            )
    answers = problem.targets.argmax(axis=1) if problem.loss == "cross_entropy" else problem.targets
    answers = answers[:, 0] if answers.ndim == 2 and answers.shape[1] == 1 else answers
    variables |= _xarray.data_variables(problem.X, answers, problem.counts)
    leaks = {node.leak for node in nodes[1:] if node.leak is not None}
    about = _xarray.about_run(solution, solution.settings, leaks.pop() if len(leaks) == 1 else np.nan, _until(solution))
    return _xarray.dataset(variables, solution.events, t, log_t, about)


def _of_layer(node: Node, number: int, names: list[str], theta: FloatArray) -> dict[str, _xarray.Variable]:
    """Return the matrix of a layer whose entries are all parameters, else its free parameters; and its biases."""
    found: dict[str, _xarray.Variable] = {}
    edges, unit = node.edges, names[number]
    if len(edges) == 1 and edges[0].const is None and (edges[0].idx >= 0).all():
        found[f"W{number}"] = (
            ("time", unit, names[edges[0].src]),
            theta[:, edges[0].idx],
            f"weights of layer {number}",
        )
    elif used := sorted({index for edge in edges for index in np.unique(edge.idx).tolist() if index >= 0}):
        found[f"u{number}"] = (
            ("time", f"parameter_{number}"),
            theta[:, used],
            f"free parameters of layer {number}, each once",
        )
    if node.bias is not None:
        bias = np.where(node.bias >= 0, theta[:, node.bias], 0.0)
        found[f"b{number}"] = (("time", unit), bias, f"biases of layer {number}")
    return found


def log_losses(problem: Problem, theta: FloatArray) -> FloatArray:
    """Return the logarithm of the loss at parameters (k, P), without weight decay."""
    each = (problem.net._with(np.array(row))(problem.X).reshape(problem.targets.shape) for row in theta)
    how = problem.targets, problem.loss, problem.counts
    return np.asarray([_gradient.log_loss(f, *how) for f in each]) + math.log(problem.factor)


def patterns_of_layers(solution: DeepSolution, t: FloatArray, log_t: FloatArray) -> list[PatternArray]:
    """Replay the events up to each time: signs (k, size, n) of each layer, 0 on a boundary or without live input."""
    start, events = solution._raw["checkpoints"][0], solution.events
    now = [
        np.where(mode == EMPTY, 0, side).T.astype(np.int8)
        for side, mode in zip(start["sides"], start["modes"], strict=True)
    ]
    found = [np.empty((len(t), *sides.shape), dtype=np.int8) for sides in now]
    places = list(
        zip(events.layer.tolist(), events.unit.tolist(), events.sample.tolist(), events.kind.tolist(), strict=True)
    )
    done = 0
    for k, end in enumerate(events._number_until(t, log_t).tolist()):
        for layer, unit, sample, kind in places[done:end]:
            if kind in _SIDE_AFTER:
                now[layer][unit, sample] = _SIDE_AFTER[kind]
        done = max(done, end)
        for kept, sides in zip(found, now, strict=True):
            kept[k] = sides
    return found[1:]


def _until(solution: DeepSolution) -> str:
    """Return the criteria of the run's stop as text."""
    known = ("time", "log_time", "log_loss", "log_norm", "events", "gradient", "steps", "seconds", "limit")
    return ", ".join(f"{name}={solution.settings[name]!r}" for name in known if name in solution.settings)
