"""Solutions of layered networks in one .npz file."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

from .._files import write_archive
from .._validation import invalid
from ..datasets import Dataset, MultiClassDataset
from ._model import Problem
from ._network import DeepNetwork

if TYPE_CHECKING:
    from ._solution import DeepSolution

LAYERED_FORMAT = "reluflow layered solution"
SCHEMA = 1
_EVENTS = ("t", "log_t", "layer", "unit", "sample", "kind", "event_set")
_STATES = ("t", "log_t", "log_loss", "theta")
_VALUES = ("status", "success", "message", "branchings", "log_loss", "log_gradient_norm", "n_steps", "order_sum")
_PARTS = ("counts", "decay")
_COUNTS = ("n_event_sets", "seconds")
_BEYOND = ("log_norm", "n_events")


def write(solution: DeepSolution, path: str | os.PathLike[str]) -> None:
    """Write a solution to one file, whole or not at all.

    Raises
    ------
    FileNotFoundError, PermissionError
        The folder does not exist or may not be written to.
    """
    write_archive(path, *content_of(solution))


def content_of(solution: DeepSolution) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the arrays of a solution and what else it is."""
    raw = solution._raw
    arrays: dict[str, Any] = {f"events/{name}": raw["events"][name] for name in _EVENTS}
    for group in ("saved", "steps"):
        arrays |= {f"{group}/{name}": raw[group][name] for name in _STATES}
    checkpoints = []
    for number, state in enumerate(raw["checkpoints"]):
        arrays[f"state{number}/theta"] = state["theta"]
        for node, (side, mode) in enumerate(zip(state["sides"], state["modes"], strict=True)):
            arrays[f"state{number}/side{node}"], arrays[f"state{number}/mode{node}"] = side, mode
        if "balance" in state:
            arrays[f"state{number}/balance"] = state["balance"]
        checkpoints.append({name: state[name] for name in ("t", "log_t", "sliding", "zeros")})
    beyond = raw.get("beyond")
    if beyond is not None:
        arrays["beyond/theta"] = beyond["theta"]
        if "weights" in beyond:
            arrays["beyond/weights"] = beyond["weights"]
        for node, (side, mode) in enumerate(zip(beyond["sides"], beyond["modes"], strict=True)):
            arrays[f"beyond/side{node}"], arrays[f"beyond/mode{node}"] = side, mode
    problem = solution._problem
    arrays |= {"X": problem.X, "targets": problem.targets, "theta0": solution.initial.theta}
    arrays |= {name: getattr(problem, name) for name in _PARTS if getattr(problem, name) is not None}
    settings = dict(solution.settings)
    if "save_at" in settings:
        arrays["save_at"] = settings.pop("save_at")
    meta = {
        "format": LAYERED_FORMAT,
        "schema": SCHEMA,
        "spec": solution.initial.spec,
        "settings": settings,
        "factor": problem.factor,
        "checkpoints": checkpoints,
        **{name: raw[name] for name in (*_VALUES, *_COUNTS)},
    }
    if beyond is not None:
        meta["beyond"] = {name: beyond[name] for name in _BEYOND}
    return arrays, meta


def restored(
    arrays: dict[str, Any], meta: dict[str, Any]
) -> tuple[Problem, DeepNetwork, dict[str, Any], dict[str, Any]]:
    """Return what a DeepSolution is made of, from the arrays of a file and its record.

    Raises
    ------
    ValueError
        The file has another schema, or something is missing.
    """
    if meta.get("schema") != SCHEMA:
        raise invalid("path", f"hold a layered solution of schema {SCHEMA}", f"schema {meta.get('schema')}")
    try:
        return _content(arrays, meta)
    except (KeyError, TypeError) as error:
        raise invalid("path", "hold a whole layered solution", f"a file that is damaged: {error}") from error


def _content(
    arrays: dict[str, Any], meta: dict[str, Any]
) -> tuple[Problem, DeepNetwork, dict[str, Any], dict[str, Any]]:
    net = DeepNetwork.from_nodes(meta["spec"], arrays["theta0"])
    settings = meta["settings"]
    if "save_at" in arrays:
        settings["save_at"] = arrays["save_at"]
    raw: dict[str, Any] = {name: meta[name] for name in (*_VALUES, *_COUNTS)}
    raw["branchings"] = [_branching(point) for point in raw["branchings"]]
    raw["events"] = {name: arrays[f"events/{name}"] for name in _EVENTS}
    for group in ("saved", "steps"):
        raw[group] = {name: arrays[f"{group}/{name}"] for name in _STATES}
    raw["checkpoints"] = [
        {
            "t": float(state["t"]),
            "log_t": float(state["log_t"]),
            "theta": arrays[f"state{number}/theta"],
            "sides": [arrays[f"state{number}/side{node}"] for node in range(len(net.nodes))],
            "modes": [arrays[f"state{number}/mode{node}"] for node in range(len(net.nodes))],
            "sliding": [_boundary(item) for item in state["sliding"]],
            "zeros": [tuple(zero) for zero in state["zeros"]],
            **_balance(arrays, number),
        }
        for number, state in enumerate(meta["checkpoints"])
    ]
    if "beyond" in meta:
        raw["beyond"] = {
            "theta": arrays["beyond/theta"],
            "sides": [arrays[f"beyond/side{node}"] for node in range(len(net.nodes))],
            "modes": [arrays[f"beyond/mode{node}"] for node in range(len(net.nodes))],
            **{name: meta["beyond"][name] for name in _BEYOND},
        }
        if "beyond/weights" in arrays:
            raw["beyond"]["weights"] = arrays["beyond/weights"]
    X, targets = arrays["X"], arrays["targets"]
    counts, decay = (arrays.get(name) for name in _PARTS)
    settings.setdefault("weight_decay", 0.0)
    data = _data(X, targets, settings["loss"], counts)
    return Problem(data, net, X, targets, settings["loss"], meta["factor"], counts, decay), net, settings, raw


def _balance(arrays: dict[str, Any], number: int) -> dict[str, Any]:
    """Return the balance of the units at a state; files of earlier versions have none."""
    name = f"state{number}/balance"
    return {"balance": arrays[name]} if name in arrays else {}


def _branching(point: dict[str, Any]) -> dict[str, Any]:
    """Return a branch point as the core gives it: a record in JSON has no tuples."""
    return {**point, **{name: [tuple(row) for row in point[name]] for name in ("places", "options")}}


def _boundary(item: list[Any]) -> tuple[Any, ...]:
    parameter, constant, members, inputs = item
    return parameter, constant, [tuple(member) for member in members], [tuple(entry) for entry in inputs]


def _data(X: Any, targets: Any, loss: str, counts: Any) -> Any:
    """Return data of the kind that the loss takes; arrays where these hold what no dataset takes, as a row of zeros."""
    more = () if counts is None else (counts,)
    if loss == "squared":
        return X, (targets[:, 0] if targets.shape[1] == 1 else targets), *more
    labels = targets.argmax(axis=1) if loss == "cross_entropy" else targets[:, 0]
    try:
        if loss != "cross_entropy":
            return Dataset(X, labels, weights=counts)
        if len(np.unique(labels)) == targets.shape[1]:
            return MultiClassDataset(X, labels, weights=counts)
    except ValueError:
        pass
    return X, labels, *more
