"""Paths in files: one .npz with the arrays of all stages and the solutions of all orbits; no pickle."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from .._files import read_archive, write_archive
from .._validation import freeze_all, invalid
from ..datasets import Dataset
from ..datasets._bias import stored_columns
from ..flow import Solution, TwoLayerSolution
from ..flow._events import EventTable
from ..flow._load import read_solution
from ..flow._writing import data_arrays, solution_arrays, solution_meta
from ..layered._several import data_of, stored
from ..limits import Escape, Limit, Residuals
from ..networks import Network
from ._stage import Stage

if TYPE_CHECKING:
    from ._path import SaddlePath

FORMAT, SCHEMA = "reluflow path of saddles", 1

_STAGE_ARRAYS = ("duals", "status", "direction", "sector", "rate", "power")
_STAGE_VALUES = ("number", "begins", "ends", "loss", "kind", "index", "freedom", "lead", "offset", "departs")
_EVENTS = {
    "t": np.float64,
    "log_t": np.float64,
    "neuron": np.int32,
    "sample": np.int32,
    "code": np.uint8,
    "tie": np.int64,
}
_PATH_VALUES = ("leak", "loss", "reduction", "rtol", "status", "message")
_LIMIT_PARTS = ("network", "residuals", "escape")

Arrays = dict[str, Any]


def write_path(path: SaddlePath, file: str | os.PathLike[str]) -> None:
    """Write a path; see `SaddlePath.save`."""
    arrays: Arrays = {"directions": path.directions, "signs": path.signs}
    meta: dict[str, Any] = {"format": FORMAT, "schema": SCHEMA, "stages": [], "horizon": None}
    meta |= {name: getattr(path, name) for name in _PATH_VALUES}
    if path.signs.ndim > 1:
        own, meta["data"] = stored(path.data)
        arrays |= {f"data/{name}": array for name, array in own.items()}
    else:
        arrays |= data_arrays(path.data)
        meta |= {"data_name": path.data.name, "feature_names": path.data.feature_names}
        meta["bias_input"] = path.data.bias_input
    for stage in path.stages:
        meta["stages"].append(_write_stage(stage, f"{stage.number}/", arrays))
    if path.horizon is not None:
        meta["horizon"] = _write_solution(path.horizon, "horizon/", arrays)
    write_archive(file, arrays, meta)


def read_path(file: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the fields of the path in a file; see `SaddlePath.load`."""
    arrays, meta = read_archive(file, (FORMAT,), SCHEMA)
    try:
        return _path(arrays, meta)
    except Exception as error:  # whatever the wrong kind of value in a damaged file leads to
        reason = str(error) or type(error).__name__
        raise invalid("path", f"hold a whole {FORMAT}", f"{os.fspath(file)!r}, damaged: {reason}") from error


def _path(arrays: Arrays, meta: dict[str, Any]) -> dict[str, Any]:
    data = _data(arrays, meta)
    stages = [_stage(arrays, f"{k}/", part, data, meta["leak"]) for k, part in enumerate(meta["stages"])]
    horizon = None if meta["horizon"] is None else _solution(arrays, "horizon/", meta["horizon"], data)
    found = {name: meta[name] for name in _PATH_VALUES}
    found |= {"data": data, "directions": arrays["directions"], "signs": arrays["signs"]}
    found |= {"stages": tuple(stages), "horizon": horizon}
    freeze_all(found)
    return found


def _data(arrays: Arrays, meta: dict[str, Any]) -> Any:
    if "data" not in meta:
        return Dataset(y=arrays["y"], weights=arrays.get("weights"), **stored_columns(arrays["X"], meta))
    own = {name.removeprefix("data/"): array for name, array in arrays.items() if name.startswith("data/")}
    freeze_all(own)
    return data_of(own, meta["data"])


def _write_stage(stage: Stage, prefix: str, arrays: Arrays) -> dict[str, Any]:
    """Add the arrays of a stage, and return what else it is."""
    for name in _STAGE_ARRAYS:
        arrays[prefix + name] = getattr(stage, name)
    if stage.output is not None:
        arrays[prefix + "output"] = stage.output
    for name in _EVENTS:
        arrays[f"{prefix}event_{name}"] = getattr(stage.events, name)
        arrays[f"{prefix}carried_{name}"] = getattr(stage.carried, name)
    for k, rows in enumerate(stage.rows):
        arrays[f"{prefix}rows_{k}"] = rows
    for k, wake in enumerate(stage.wakes):
        arrays[f"{prefix}wake_{k}"] = wake
    _write_network(stage.network, prefix, arrays)
    record = {name: getattr(stage, name) for name in _STAGE_VALUES}
    record |= {"notes": stage.notes, "wakes": len(stage.wakes), "limit": None, "at_infinity": stage.at_infinity}
    if stage.limit is not None:
        record["limit"] = _write_limit(stage.limit, prefix + "limit/", arrays)
    legs: Sequence[Solution | TwoLayerSolution] = stage.legs
    record["legs"] = [_write_solution(leg, f"{prefix}leg_{k}/", arrays) for k, leg in enumerate(legs)]
    return record


def _stage(arrays: Arrays, prefix: str, record: dict[str, Any], data: Any, leak: float) -> Stage:
    legs = [_solution(arrays, f"{prefix}leg_{k}/", part, data) for k, part in enumerate(record["legs"])]
    everyone = np.arange(len(arrays[prefix + "status"]))  # in files of an older version, which have no other legs
    carried = EventTable(
        *(arrays.get(f"{prefix}carried_{name}", np.empty(0, dtype)) for name, dtype in _EVENTS.items())
    )
    limit = None if record["limit"] is None else _limit(arrays, prefix + "limit/", record["limit"], leak)
    return Stage(
        **{name: arrays[prefix + name] for name in _STAGE_ARRAYS},
        **{name: record[name] for name in _STAGE_VALUES},
        output=arrays.get(prefix + "output"),
        network=_network(arrays, prefix, leak),
        limit=limit,
        events=EventTable(*(arrays[f"{prefix}event_{name}"] for name in _EVENTS)),
        wakes=tuple(arrays[f"{prefix}wake_{k}"] for k in range(record["wakes"])),
        legs=tuple(legs),
        rows=tuple(arrays.get(f"{prefix}rows_{k}", everyone) for k in range(len(legs))),
        carried=carried,
        notes=tuple(record["notes"]),
        at_infinity=record.get("at_infinity", False),  # which no stage of an older version is
    )


def _write_limit(limit: Limit, prefix: str, arrays: Arrays) -> dict[str, Any]:
    record: dict[str, Any] = {}
    for field in fields(limit):
        value = getattr(limit, field.name)
        if isinstance(value, np.ndarray):
            arrays[prefix + field.name] = value
        elif field.name not in _LIMIT_PARTS:
            record[field.name] = value
    _write_network(limit.network, prefix, arrays)
    record["residuals"] = {field.name: getattr(limit.residuals, field.name) for field in fields(limit.residuals)}
    record["escape"] = None
    if limit.escape is not None:
        arrays[prefix + "escape"], a = limit.escape.w, limit.escape.a
        record["escape"] = {name: getattr(limit.escape, name) for name in ("neuron", "order")}
        if isinstance(a, np.ndarray):  # with K outputs
            arrays[prefix + "escape_a"] = a
        else:
            record["escape"]["a"] = a
    return record


def _limit(arrays: Arrays, prefix: str, record: dict[str, Any], leak: float) -> Limit:
    values = {name: value for name, value in record.items() if name not in _LIMIT_PARTS}
    values |= {name: arrays[prefix + name] for name in ("duals", "support", "held")}
    escape = None
    if record["escape"]:
        known = {"a": arrays.get(prefix + "escape_a"), **record["escape"]}
        escape = Escape(w=arrays[prefix + "escape"], **known)
    network = _network(arrays, prefix, leak)
    return Limit(**values, network=network, residuals=Residuals(**record["residuals"]), escape=escape)


def _write_network(net: Network, prefix: str, arrays: Arrays) -> None:
    arrays[prefix + "W"], arrays[prefix + "a"] = net.W, net.a
    if net.pattern is not None:
        arrays[prefix + "pattern"] = net.pattern


def _network(arrays: Arrays, prefix: str, leak: float) -> Network:
    return Network(arrays[prefix + "W"], arrays[prefix + "a"], leak=leak, pattern=arrays.get(prefix + "pattern"))


def _write_solution(solution: Solution | TwoLayerSolution, prefix: str, arrays: Arrays) -> dict[str, Any]:
    if isinstance(solution, TwoLayerSolution):
        own, record = solution._content()
    else:
        own, record = solution_arrays(solution), solution_meta(solution)
    arrays.update({prefix + name: array for name, array in own.items()})
    return record


def _solution(arrays: Arrays, prefix: str, record: dict[str, Any], data: Any) -> Any:
    own = {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}
    if "network" in record:
        solution = TwoLayerSolution._restored(own, record)
        solution.data = data
        return solution
    return replace(read_solution({**data_arrays(data), **own}, record), data=data)
