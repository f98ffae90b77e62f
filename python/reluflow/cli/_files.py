"""The files of a run: each is whole or not there."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._files import atomic_write, json_bytes, sweep, temporary_prefix
from .._validation import invalid

if TYPE_CHECKING:
    from matplotlib.figure import Figure


# What holds the run itself among the files of `reluflow run`.
RUN = "run.npz"


def saved_run(path: Path) -> Path:
    """Return the file of a saved run, given that file or the folder of `reluflow run`.

    Raises
    ------
    ValueError
        No such file, or a folder without one.
    """
    found = path / RUN if path.is_dir() else path
    if not found.is_file():
        expected = f"be a file written by reluflow run or Solution.save, or a folder with {RUN}"
        raise invalid("RUN", expected, repr(str(path)))
    return found


def folder(path: Path) -> Path:
    """Make a folder, or refuse a path where none can be.

    Raises
    ------
    ValueError
        The path is a file, or may not be written to.
    """
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise invalid("--out", "name a folder that can be made", f"{str(path)!r} ({error.strerror})") from None
    if not os.access(path, os.W_OK | os.X_OK):
        raise invalid("--out", "name a folder that can be written to", repr(str(path)))
    return path


def check_file(path: Path) -> None:
    """Refuse the path of a file that is to be written where none can be.

    Raises
    ------
    ValueError
        The path is a folder, or its own folder does not exist or may not be written to.
    """
    if path.is_dir():
        raise invalid("--out", "name a file", f"the folder {str(path)!r}")
    try:
        with tempfile.TemporaryFile(dir=path.parent):
            pass
    except OSError as error:
        expected = "lie in a folder that exists and can be written to"
        raise invalid("--out", expected, f"{str(path)!r} ({error.strerror})") from None


@contextmanager
def together(path: Path) -> Iterator[Path]:
    """Give a new folder in the folder `path`; when the block ends without an error its files move up, and replace.

    Until then what was in `path` is as it was. What a killed process has left of an earlier try is removed.
    """
    results = path / "results"
    sweep(results)
    place = Path(tempfile.mkdtemp(prefix=temporary_prefix(results), dir=path))
    try:
        yield place
        for file in sorted(place.iterdir()):
            os.replace(file, path / file.name)
    finally:
        shutil.rmtree(place, ignore_errors=True)


def write_json(path: Path, record: dict[str, Any]) -> None:
    """Write strict JSON: nan becomes null, infinities become the strings "inf" and "-inf"."""
    with atomic_write(path) as file:
        file.write(json_bytes(record))


def write_figure(path: Path, figure: Figure) -> None:
    """Write a figure in the format of the file's ending."""
    with atomic_write(path) as file:
        figure.savefig(file, format=path.suffix[1:])
