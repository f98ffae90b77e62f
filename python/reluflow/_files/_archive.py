"""One .npz file with arrays and a record: no pickle, written whole or not at all, and checked when it is read."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path
from typing import Any

import numpy as np

from .._validation import invalid
from ._atomic import atomic_write, checked_path
from ._reading import Arrays, DamagedError, read

# What each format is called in messages, and what reads it.
_READERS = {
    "reluflow solution": "reluflow.load",
    "reluflow solution of several classes": "reluflow.load",
    "reluflow network": "Network.load",
    "reluflow descent": "DescentResult.load",
    "reluflow layered solution": "reluflow.load",
    "reluflow solution of a network by layers": "reluflow.load",
    "reluflow layered network": "DeepNetwork.load",
    "reluflow layered descent": "DeepDescentResult.load",
    "reluflow path of saddles": "saddles.SaddlePath.load",
}


def write_archive(path: str | os.PathLike[str], arrays: dict[str, Any], record: dict[str, Any]) -> None:
    """Write arrays and a record, in which the names of the arrays are noted.

    Raises
    ------
    OSError
        As for `atomic_write`.
    """
    record = {**record, "arrays": sorted(arrays)}
    with atomic_write(path) as file:
        np.savez(file, meta=np.array(json.dumps(record, default=_plain)), **arrays)


def _plain(value: object) -> object:
    """JSON for numpy's numbers."""
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{type(value).__name__} has no place in a file")


def read_archive(path: str | os.PathLike[str], formats: tuple[str, ...], schema: int) -> tuple[Arrays, dict[str, Any]]:
    """Return the arrays and the record of a file of one of these formats.

    Raises
    ------
    FileNotFoundError, IsADirectoryError
        There is no such file, or it is a folder.
    ValueError
        The file has another format or schema, or is damaged; the message names the path.
    """
    file = checked_path(path)
    if not file.exists():
        raise FileNotFoundError(errno.ENOENT, "path must be a file that exists", str(file))
    if file.is_dir():
        raise IsADirectoryError(errno.EISDIR, "path must be a file", str(file))
    content, record = read(file, formats[0])
    check_format(file, record, formats, schema)
    written = record.get("arrays")  # files of older versions do not list them
    if written is not None and sorted(content) != written:
        problem = "the file does not hold the arrays that were written"
        raise invalid("path", f"hold a whole {formats[0]}", f"{str(file)!r}, damaged: {problem}")
    return content, record


def check_format(file: Path, record: dict[str, Any], formats: tuple[str, ...], schema: int) -> None:
    """Refuse a file of another kind, and say what reads it if something does.

    Raises
    ------
    ValueError
        The message names the path.
    """
    there, wanted = record.get("format"), formats[0]
    if there not in formats:
        reader = _READERS.get(there) if isinstance(there, str) else None
        found = repr(str(file)) + ("" if reader is None else f", a {there}, which {reader} reads")
        raise invalid("path", f"hold a {wanted}", found)
    if record.get("schema") != schema:
        found = f"schema {record.get('schema')} in {str(file)!r}"
        raise invalid("path", f"hold a {wanted.removeprefix('reluflow ')} of schema {schema}", found)


__all__ = ["Arrays", "DamagedError", "check_format", "read_archive", "write_archive"]
