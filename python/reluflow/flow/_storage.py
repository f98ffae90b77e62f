"""One solution, one .npz file: arrays as they are, everything else as JSON; no pickle."""

from __future__ import annotations

import errno
import json
import os
from typing import Any

import numpy as np

from .._validation import freeze, invalid
from ..datasets import Dataset, MultiClassDataset
from ..networks import Network
from ._content import LATER, check_arrays, check_record
from ._files import atomic_write, checked_path
from ._multiclass import MultiClassSolution
from ._reading import DamagedError, read
from ._settings import Settings
from ._solution import Solution
from ._stop import Stop

FORMAT = "reluflow solution"
CLASSES = "reluflow solution of several classes"
SCHEMA = 1  # raise it when the names or meanings below change

_STATES = ("t", "log_t", "W", "a", "log_loss")
_CHECKPOINTS = tuple("checkpoint_" + name for name in ("t", "log_t", "W", "a"))
_EVENTS = tuple("event_" + name for name in ("t", "log_t", "neuron", "sample", "kind", "tie"))
_RAW_ARRAYS = (*_STATES, *_CHECKPOINTS, *_EVENTS, *LATER, "final_W", "final_a", "final_pattern", "pattern0")
_RAW_VALUES = ("final_t", "final_log_t", "final_log_loss", "status", "message", "success", "stats", "branchings")
_TIMES = ("save_at", "save_at_log")


def write(solution: Solution, path: str | os.PathLike[str]) -> None:
    """Write a solution to `path`; see `Solution.save`."""
    meta = {"format": FORMAT, "schema": SCHEMA, **_meta(solution)}
    _write({**_data_arrays(solution), **_arrays(solution)}, meta, path)


def write_classes(solution: MultiClassSolution, path: str | os.PathLike[str]) -> None:
    """Write the solutions of all classes to `path`; see `MultiClassSolution.save`. The inputs are written once."""
    data = solution.data
    arrays: dict[str, Any] = {"X": data.X, "labels": data.labels}
    for k, one in enumerate(solution):
        arrays.update({f"{k}/{name}": array for name, array in _arrays(one).items()})
    meta = {
        "format": CLASSES,
        "schema": SCHEMA,
        "classes": data.classes,
        "data_name": data.name,
        "feature_names": data.feature_names,
        "seconds": solution.seconds,
        "solutions": [_meta(one) for one in solution],
    }
    _write(arrays, meta, path)


def _write(arrays: dict[str, Any], meta: dict[str, Any], path: str | os.PathLike[str]) -> None:
    meta["arrays"] = sorted(arrays)
    with atomic_write(path) as file:
        np.savez(file, meta=np.array(json.dumps(meta, default=_plain)), **arrays)


def _data_arrays(solution: Solution) -> dict[str, Any]:
    return {"X": solution.data.X, "y": solution.data.y}


def _arrays(solution: Solution) -> dict[str, Any]:
    raw = solution._raw
    arrays = {name: raw[name] for name in _RAW_ARRAYS if name in raw and not _is_repeated(raw, name)}
    settings = solution.settings.as_dict()
    arrays.update({name: settings[name] for name in _TIMES if settings[name] is not None})
    return {**arrays, "W0": solution.initial.W, "a0": solution.initial.a}


def _is_repeated(raw: dict[str, Any], name: str) -> bool:
    """Tell whether a checkpoint array is the array of kept states itself."""
    return name in _CHECKPOINTS and raw[name] is raw[name.removeprefix("checkpoint_")]


def _meta(solution: Solution) -> dict[str, Any]:
    settings = {name: value for name, value in solution.settings.as_dict().items() if name not in _TIMES}
    return {
        "settings": {**settings, "until": solution.settings.until.as_dict()},
        "leak": solution.leak,
        "data_name": solution.data.name,
        "feature_names": solution.data.feature_names,
        **{name: solution._raw[name] for name in _RAW_VALUES},
    }


def _plain(value: object) -> object:
    """JSON for numpy's numbers."""
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{type(value).__name__} has no place in a solution file")


def load(path: str | os.PathLike[str]) -> Solution | MultiClassSolution:
    """Read a solution that `Solution.save` or `MultiClassSolution.save` wrote: the same bits, with dense output.

    Parameters
    ----------
    path : str or path-like
        The file.

    Returns
    -------
    Solution or MultiClassSolution
        What was written.

    Raises
    ------
    FileNotFoundError
        There is no such file.
    ValueError
        The file is no reluflow solution, is damaged, or has a schema of another version; the message names the path
        and what is wrong.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import reluflow as rf
    >>> sol = rf.integrate(rf.Dataset([[1.0]], [1]), rf.Network([[0.1]], [0.1]), until=1.0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder) / "run.npz"
    ...     sol.save(file)
    ...     rf.load(file).final == sol.final
    True
    """
    file = checked_path(path)
    if not file.exists():
        raise FileNotFoundError(errno.ENOENT, "path must be a file that exists", str(file))
    if not file.is_file():
        raise invalid("path", "be a file", repr(str(file)))
    content, meta = read(file)
    if meta.get("format") not in (FORMAT, CLASSES):
        raise invalid("path", "hold a reluflow solution", repr(str(file)))
    if meta.get("schema") != SCHEMA:
        raise invalid("path", f"hold a solution of schema {SCHEMA}", f"schema {meta.get('schema')} in {str(file)!r}")
    try:
        _check_names(content, meta)
        return _solutions(content, meta) if meta["format"] == CLASSES else _solution(content, meta)
    except Exception as error:  # whatever the wrong kind of value in a record leads to
        reason = str(error) or type(error).__name__
        raise invalid("path", "hold a whole reluflow solution", f"{str(file)!r}, damaged: {reason}") from error


def _check_names(content: dict[str, Any], meta: dict[str, Any]) -> None:
    """Compare the arrays that are there with those that were written; files of older versions do not list them."""
    written = meta.get("arrays")
    if written is not None and sorted(content) != written:
        raise DamagedError("the file does not hold the arrays that were written")


def _solutions(content: dict[str, Any], meta: dict[str, Any]) -> MultiClassSolution:
    if content["labels"].size and content["labels"].min() < 0:
        raise DamagedError("labels holds a number below 0")
    labels = [meta["classes"][code] for code in content["labels"]]
    names = meta["feature_names"]
    data = MultiClassDataset(content["X"], labels, name=meta["data_name"], feature_names=names)
    solutions = []
    for k, part in enumerate(meta["solutions"]):
        arrays = {name.partition("/")[2]: array for name, array in content.items() if name.startswith(f"{k}/")}
        problem = data.binary(k)
        solutions.append(_solution({"X": problem.X, "y": problem.y, **arrays}, part))
    return MultiClassSolution(data, tuple(solutions), meta["seconds"])


def _solution(content: dict[str, Any], meta: dict[str, Any]) -> Solution:
    for array in content.values():
        freeze(array)
    for name in _CHECKPOINTS:
        content.setdefault(name, content[name.removeprefix("checkpoint_")])
    there = [name for name in _RAW_ARRAYS if name in content or name not in LATER]
    raw = {name: content[name] for name in there} | {name: meta[name] for name in _RAW_VALUES}
    check_arrays(content)
    check_record(raw)
    names = meta["feature_names"]
    data = Dataset(content["X"], content["y"], name=meta["data_name"], feature_names=names)
    initial = Network(content["W0"], content["a0"], leak=meta["leak"], pattern=content["pattern0"])
    until = Stop(**meta["settings"]["until"])
    times = {name: content.get(name) for name in _TIMES}
    settings = Settings(**{**meta["settings"], "until": until, **times})
    return Solution(data, initial, settings, raw)
