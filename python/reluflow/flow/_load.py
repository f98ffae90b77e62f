"""Reading a solution file back."""

from __future__ import annotations

import os
from typing import Any

from .._files import DamagedError, read_archive
from .._validation import freeze, invalid
from ..datasets import Dataset, MultiClassDataset
from ..datasets._bias import stored_columns
from ..layered import DeepSolution
from ..layered._storage import LAYERED_FORMAT, restored
from ..networks import Network
from ._content import LATER, check_arrays, check_record
from ._multiclass import MultiClassSolution
from ._schema import CHECKPOINTS, CLASSES, FORMAT, RAW_ARRAYS, RAW_VALUES, SCHEMA, TIMES
from ._settings import Settings
from ._solution import Solution
from ._stop import Stop
from ._two_layer_solution import FORMAT as BY_LAYERS
from ._two_layer_solution import TwoLayerSolution
from ._writing import data_arrays


def load(path: str | os.PathLike[str]) -> Solution | MultiClassSolution | TwoLayerSolution | DeepSolution:
    """Read a solution that `Solution.save` or its like wrote: the same bits, with dense output.

    Parameters
    ----------
    path : str or path-like
        The file.

    Returns
    -------
    Solution, MultiClassSolution, TwoLayerSolution or DeepSolution
        What was written.

    Raises
    ------
    FileNotFoundError, IsADirectoryError, PermissionError
        There is no such file, it is a folder, or it may not be read.
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
    content, meta = read_archive(path, (FORMAT, CLASSES, LAYERED_FORMAT, BY_LAYERS), SCHEMA)
    try:
        if meta["format"] == BY_LAYERS:
            return TwoLayerSolution._restored(content, meta)
        if meta["format"] == LAYERED_FORMAT:
            return DeepSolution(*restored(content, meta))
        return _solutions(content, meta) if meta["format"] == CLASSES else read_solution(content, meta)
    except Exception as error:  # whatever the wrong kind of value in a record leads to
        reason = str(error) or type(error).__name__
        raise invalid("path", "hold a whole reluflow solution", f"{os.fspath(path)!r}, damaged: {reason}") from error


def _solutions(content: dict[str, Any], meta: dict[str, Any]) -> MultiClassSolution:
    if content["labels"].size and content["labels"].min() < 0:
        raise DamagedError("labels holds a number below 0")
    labels = [meta["classes"][code] for code in content["labels"]]
    data = MultiClassDataset(labels=labels, weights=content.get("weights"), **stored_columns(content["X"], meta))
    solutions = []
    for k, part in enumerate(meta["solutions"]):
        arrays = {name.partition("/")[2]: array for name, array in content.items() if name.startswith(f"{k}/")}
        solutions.append(read_solution({**data_arrays(data.binary(k)), **arrays}, part))
    return MultiClassSolution(data, tuple(solutions), meta["seconds"])


def read_solution(content: dict[str, Any], meta: dict[str, Any]) -> Solution:
    """Make a solution of its arrays, those of its data among them, and of what else it is."""
    for array in content.values():
        freeze(array)
    for name in CHECKPOINTS:
        content.setdefault(name, content[name.removeprefix("checkpoint_")])
    there = [name for name in RAW_ARRAYS if name in content or name not in LATER]
    raw = {name: content[name] for name in there} | {name: meta[name] for name in RAW_VALUES}
    check_arrays(content)
    check_record(raw)
    raw["branchings"] = [_branching(point) for point in raw["branchings"]]
    data = Dataset(y=content["y"], weights=content.get("weights"), **stored_columns(content["X"], meta))
    known = {"leak": meta["leak"], "bias_input": meta.get("net_bias_input")}
    initial = Network(content["W0"], content["a0"], pattern=content["pattern0"], **known)
    until = Stop(**meta["settings"]["until"])
    times = {name: content.get(name) for name in TIMES}
    settings = Settings(**{**meta["settings"], "until": until, **times})
    return Solution(data, initial, settings, raw)


def _branching(point: dict[str, Any]) -> dict[str, Any]:
    """Return a branch point as the core gives it: in JSON numbers of samples that are keys are texts."""
    options = [{int(sample): sign for sample, sign in option.items()} for option in point["options"]]
    return {**point, "options": options}
