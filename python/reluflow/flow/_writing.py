"""Writing a solution, or those of several classes, to one file."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from .._files import write_archive
from ._schema import CHECKPOINTS, CLASSES, FORMAT, RAW_ARRAYS, RAW_VALUES, SCHEMA, TIMES

if TYPE_CHECKING:
    from ..datasets import Dataset
    from ._multiclass import MultiClassSolution
    from ._solution import Solution


def write(solution: Solution, path: str | os.PathLike[str]) -> None:
    """Write a solution to `path`; see `Solution.save`."""
    meta = {"format": FORMAT, "schema": SCHEMA, **solution_meta(solution)}
    write_archive(path, {**data_arrays(solution.data), **solution_arrays(solution)}, meta)


def write_classes(solution: MultiClassSolution, path: str | os.PathLike[str]) -> None:
    """Write the solutions of all classes to `path`; see `MultiClassSolution.save`. The inputs are written once."""
    data = solution.data
    weights = {} if data.weights is None else {"weights": data.weights}
    arrays: dict[str, Any] = {"X": data.X, "labels": data.labels, **weights}
    for k, one in enumerate(solution):
        arrays.update({f"{k}/{name}": array for name, array in solution_arrays(one).items()})
    meta = {
        "format": CLASSES,
        "schema": SCHEMA,
        "classes": data.classes,
        "data_name": data.name,
        "feature_names": data.feature_names,
        "bias_input": data.bias_input,
        "seconds": solution.seconds,
        "solutions": [solution_meta(one) for one in solution],
    }
    write_archive(path, arrays, meta)


def data_arrays(data: Dataset) -> dict[str, Any]:
    """Return the arrays of a dataset."""
    weights = {} if data.weights is None else {"weights": data.weights}
    return {"X": data.X, "y": data.y, **weights}


def solution_arrays(solution: Solution) -> dict[str, Any]:
    """Return the arrays of a solution beside those of its data."""
    raw = solution._raw
    arrays = {name: raw[name] for name in RAW_ARRAYS if name in raw and not _is_repeated(raw, name)}
    settings = solution.settings.as_dict()
    arrays.update({name: settings[name] for name in TIMES if settings[name] is not None})
    return {**arrays, "W0": solution.initial.W, "a0": solution.initial.a}


def _is_repeated(raw: dict[str, Any], name: str) -> bool:
    """Tell whether a checkpoint array is the array of kept states itself."""
    return name in CHECKPOINTS and raw[name] is raw[name.removeprefix("checkpoint_")]


def solution_meta(solution: Solution) -> dict[str, Any]:
    """Return what else a solution is."""
    settings = {name: value for name, value in solution.settings.as_dict().items() if name not in TIMES}
    return {
        "settings": {**settings, "until": solution.settings.until.as_dict()},
        "leak": solution.leak,
        "data_name": solution.data.name,
        "feature_names": solution.data.feature_names,
        "bias_input": solution.data.bias_input,
        "net_bias_input": solution.initial.bias_input,
        **{name: solution._raw[name] for name in RAW_VALUES},
    }
