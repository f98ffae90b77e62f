"""Where the results of a sweep are kept: one Zarr group, in which a block of points is one chunk, written at once.

A group that stands in a folder is named after all that its results depend on. The status of a block is written after
its numbers, and chunks that hold nothing but nan are written too: points with a status are finished, and have all
chunks. What a kill, a reboot or a bad disk has cut short or lost is found when the sweep goes on, and its block is run
again.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from .._files import sweep as remove_leftovers
from .._files import temporary_prefix
from .._validation import instance, invalid, optional_module
from ._grid import Grid, Index
from ._measures import RESERVED
from ._points import ERROR, Outcome

if TYPE_CHECKING:
    import xarray as xr

EXTRA = "sweep"
_FORMAT = "reluflow sweep"
_STATUS, _MESSAGE = "<U32", "<U240"  # texts of one width, which every reader of Zarr knows
_DIMS = "_ARRAY_DIMENSIONS"  # by it xarray knows the names of dimensions
_WRITE_ALL = {"array.write_empty_chunks": True}  # arrays that are opened have no other way to say it
_EXTRA_DIM = "{name}_{axis}"


class Store:
    """The arrays of a sweep, over the grid."""

    def __init__(self, group: Any, grid: Grid, folder: Path | None, dims: Sequence[str]) -> None:
        """Take an open group, the folder that it is, and the first dimensions of what is measured, if they have names.

        Raises
        ------
        Exception
            What it says of itself is not that of a sweep over the grid, or damaged in one of many ways.
        """
        self._group, self._grid, self._folder, self._dims = group, grid, folder, dims
        if group.attrs["format"] != _FORMAT:
            raise ValueError(f"the format is {group.attrs['format']!r}")
        self._names: list[str] = list(group.attrs.get("measures", []))
        # Opened once: each look into a group is a read of its own.
        self._arrays = {name: group[name] for name in (*self._names, *RESERVED)}
        axes = len(grid.shape)
        for name, array in self._arrays.items():
            over, dims = array.shape[:axes], tuple(array.attrs[_DIMS][:axes])
            if (over, dims) != (grid.shape, grid.names):
                raise ValueError(f"{name} has the shape {over} over {', '.join(dims)}")
        # Number of points of a block along the last axis.
        self.length = int(self._arrays["status"].chunks[-1])

    def unfinished(self) -> npt.NDArray[np.bool_]:
        """Tell which points have no result, or ended with an error; over the grid. Damaged blocks are emptied.

        Raises
        ------
        OSError
            The system cannot read a file.
        """
        found = np.ones(self._grid.shape, dtype=bool)
        if self._folder is None:
            return found
        for outer, first, end in self._grid.blocks(self.length):
            where: Any = (*outer, slice(first, end))
            chunks = {name: self._chunk(self._folder, name, outer, first) for name in self._arrays}
            try:
                read = {name: array[where] for name, array in self._arrays.items()}
            except OSError:  # of the system: what cannot be read now may be whole
                raise
            except Exception:  # a chunk that was cut short, which Zarr and its codecs report in many ways
                is_whole = False
            else:
                left = (read["status"] == "") | (read["status"] == ERROR)
                is_whole = bool(left.all()) or all(path.is_file() for path in chunks.values())
            if is_whole:
                found[where] = left
                continue
            for name in ("status", *chunks):
                chunks[name].unlink(missing_ok=True)
        return found

    def _chunk(self, folder: Path, name: str, outer: Index, first: int) -> Path:
        """Return the file of a block of one array."""
        inner = (0,) * (self._arrays[name].ndim - len(self._grid.shape))
        return folder / name / ".".join(map(str, (*outer, first // self.length, *inner)))

    def write(self, outer: Index, outcomes: list[Outcome]) -> None:
        """Keep what became of points of one block.

        A point whose measure returned names of the grid, or other names or shapes than the first one did, is kept as an
        error.
        """
        if not outcomes:
            return
        outcomes = [self._apart(outcome) for outcome in outcomes]
        if not self._names:
            for outcome in outcomes:
                if outcome.values:
                    self._add_measures(outcome)
                    break
        outcomes = [self._checked(outcome) for outcome in outcomes]
        first = outcomes[0].place // self.length * self.length
        where = (*outer, slice(first, min(first + self.length, self._grid.shape[-1])))
        good = [outcome for outcome in outcomes if outcome.values]
        for name in self._names:
            self._change(name, where, {o.place - first: o.values[name] for o in good})
        self._change("seconds", where, {o.place - first: o.seconds for o in outcomes})
        self._change("error", where, {o.place - first: o.error for o in outcomes})
        self._change("status", where, {o.place - first: o.status for o in outcomes})

    def _apart(self, outcome: Outcome) -> Outcome:
        taken = sorted(set(outcome.values) & set(self._grid.names))
        if not taken:
            return outcome
        error = invalid("measure", "name what it returns otherwise than the grid", ", ".join(map(repr, taken)))
        return _failed(outcome, error)

    def _checked(self, outcome: Outcome) -> Outcome:
        axes = len(self._grid.shape)
        expected = {name: self._arrays[name].shape[axes:] for name in self._names}
        shapes = {name: value.shape for name, value in outcome.values.items()}
        if not outcome.values or shapes == expected:
            return outcome
        error = invalid("measure", f"return the names and shapes {expected} of the first point", f"{shapes}")
        return _failed(outcome, error)

    def _change(self, name: str, where: tuple[Any, ...], values: dict[int, Any]) -> None:
        array = self._arrays[name]
        block = np.full(_block_shape(array, where), array.fill_value, dtype=array.dtype)
        if len(values) < block.shape[len(self._grid.shape) - 1]:
            block[...] = np.asarray(array[where]).reshape(block.shape)
        for place, value in values.items():
            block[(*[0] * (len(self._grid.shape) - 1), place)] = value
        array[where] = block

    def _add_measures(self, outcome: Outcome) -> None:
        for name, value in outcome.values.items():
            named = self._dims[: value.ndim]
            dims = [*named, *(_EXTRA_DIM.format(name=name, axis=axis) for axis in range(len(named), value.ndim))]
            over = (self._grid, self.length)
            self._arrays[name] = _create(self._group, name, over, np.dtype("<f8"), (value.shape, dims))
        self._names = list(outcome.values)
        self._group.attrs["measures"] = self._names  # last: with it all arrays are there

    def dataset(self, attrs: dict[str, Any]) -> xr.Dataset:
        """Return all results, with the grid as coordinates."""
        xarray = optional_module("xarray", EXTRA)
        names = [*self._names, *RESERVED]
        variables = {name: (self._arrays[name].attrs[_DIMS], self._arrays[name][...]) for name in names}
        found: xr.Dataset = xarray.Dataset(variables, coords=self._grid.axes, attrs=attrs)
        return found


def _failed(outcome: Outcome, error: ValueError) -> Outcome:
    return replace(outcome, status=ERROR, error=f"ValueError: {error}", values={})


def _block_shape(array: Any, where: tuple[Any, ...]) -> tuple[int, ...]:
    length = where[-1].stop - where[-1].start
    return (*[1] * (len(where) - 1), length, *array.shape[len(where) :])


def _create(
    group: Any, name: str, over: tuple[Grid, int], dtype: np.dtype[Any], extra: tuple[tuple[int, ...], list[str]]
) -> Any:
    """Make an array, or take the one that another process has made for the same sweep: it may have written into it."""
    grid, length = over
    shape, dims = extra
    made = {
        "shape": (*grid.shape, *shape),
        "chunks": (*[1] * (len(grid.shape) - 1), length, *(max(size, 1) for size in shape)),
        "dtype": dtype,
    }
    how = {
        "fill_value": np.nan if dtype.kind == "f" else "",
        # Every reader knows zlib, and it has a checksum: Blosc, the default, reads on beyond the end of a short chunk.
        "compressors": {"id": "zlib", "level": 1},
        "config": {"write_empty_chunks": True},
    }
    try:
        array = group.create_array(name, **made, **how)
    except Exception:  # it is there, or what a killed process has left of it, which Zarr reports in many ways
        array = _existing(group, name, made)
        if array is None:
            array = group.create_array(name, **made, **how, overwrite=True)
    array.attrs[_DIMS] = [*grid.names, *dims]
    return array


def _existing(group: Any, name: str, made: dict[str, Any]) -> Any:
    """Return an array that is there if it is as it would be made; otherwise None."""
    try:
        with optional_module("zarr", EXTRA).config.set(_WRITE_ALL):
            array = group[name]
        return array if all(getattr(array, what) == value for what, value in made.items()) else None
    except Exception:
        return None


def open_store(
    folder: str | os.PathLike[str] | None, key: str, grid: Grid, length: int, resume: bool, dims: Sequence[str]
) -> Store:
    """Open the store of a sweep in a folder, or make a new one; without a folder it is in memory.

    Raises
    ------
    ValueError
        It is no path, or what is there says of itself what cannot be read.
    ImportError
        zarr is not installed.
    OSError
        The folder cannot be made or written to.
    """
    zarr = optional_module("zarr", EXTRA)
    if folder is None:
        group = zarr.open_group(zarr.storage.MemoryStore(), mode="w", zarr_format=2)
        _fill(group, grid, length)
        return Store(group, grid, None, dims)
    instance(folder, "store", (str, os.PathLike), "a folder")
    target = Path(folder) / f"{key}.zarr"
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError) as error:
        raise invalid("store", "name a folder that can be made", f"{str(folder)!r} ({error.strerror})") from None
    if target.exists() and not resume:
        shutil.rmtree(target)
    if not target.exists():
        _make(zarr, target, grid, length)
    try:
        with zarr.config.set(_WRITE_ALL):
            return Store(zarr.open_group(target, mode="r+", zarr_format=2), grid, target, dims)
    except Exception as error:
        # The folder is there: what Zarr does not find are its files. All else of the system is not of the store.
        if isinstance(error, OSError) and not isinstance(error, FileNotFoundError):
            raise
        expected = "hold a whole sweep (resume=False, or --again, begins anew)"
        raise invalid("store", expected, f"{str(target)!r}, damaged: {error}") from error


def _make(zarr: Any, target: Path, grid: Grid, length: int) -> None:
    """Make a store beside its place, and rename it: one that is there is whole.

    Another process may have been faster. Its store is of the same sweep, for the name says which, and stays.
    """
    remove_leftovers(target)
    place = Path(tempfile.mkdtemp(prefix=temporary_prefix(target), dir=target.parent))
    try:
        place.chmod(0o755)
        _fill(zarr.open_group(place, mode="a", zarr_format=2), grid, length)
        os.replace(place, target)
    except OSError:
        if not target.exists():
            raise
    finally:
        shutil.rmtree(place, ignore_errors=True)


def _fill(group: Any, grid: Grid, length: int) -> None:
    over = (grid, length)
    for name, dtype in (("status", _STATUS), ("error", _MESSAGE), ("seconds", "<f8")):
        _create(group, name, over, np.dtype(dtype), ((), []))
    for name, values in grid.axes.items():
        axis = group.create_array(name, shape=values.shape, chunks=values.shape, dtype=values.dtype, fill_value=None)
        axis[...] = values
        axis.attrs[_DIMS] = [name]
    group.attrs.update({"format": _FORMAT, "grid": json.loads(json.dumps(list(grid.names)))})
