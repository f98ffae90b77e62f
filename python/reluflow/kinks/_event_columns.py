"""What every table of events is: read-only columns of one length, counted, compared and written in one way."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterator, Sequence
from dataclasses import fields
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from .._files import atomic_write
from .._validation import FloatArray, ReadOnly, freeze, invalid, optional_module, read_array

if TYPE_CHECKING:
    import pandas as pd


class EventColumns(ReadOnly):
    """The base of frozen dataclasses whose fields are columns, `t` and `code` among them."""

    KINDS: ClassVar[tuple[str, ...]]
    ROW: ClassVar[tuple[str, ...]]  # names of an event's fields; the last is "kind"
    t: FloatArray
    log_t: FloatArray
    code: npt.NDArray[np.uint8]

    def __post_init__(self) -> None:
        """Make the columns read-only."""
        for column in self._columns():
            freeze(column)

    def _columns(self) -> list[npt.NDArray[Any]]:
        return [getattr(self, field.name) for field in fields(self)]  # type: ignore[arg-type]  # subclasses are dataclasses

    @cached_property
    def kind(self) -> npt.NDArray[np.str_]:
        """Names of the kinds, read-only."""
        names: npt.NDArray[np.str_] = np.array(self.KINDS)[self.code]
        freeze(names)
        return names

    def __len__(self) -> int:
        return len(self.t)

    def __iter__(self) -> Iterator[Any]:
        raise TypeError(f"{type(self).__name__} does not say how to go through its rows")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, type(self)):
            return NotImplemented
        return all(map(np.array_equal, self._columns(), other._columns()))

    __hash__ = None  # type: ignore[assignment]  # equality goes by value, of arrays

    def counts(self) -> dict[str, int]:
        """Return how many events of each kind there are; kinds that do not occur are left out."""
        numbers = np.bincount(self.code, minlength=len(self.KINDS)).tolist()
        return {kind: number for kind, number in zip(self.KINDS, numbers, strict=True) if number}

    def _having(self, **numbers: int | Sequence[int] | None) -> npt.NDArray[np.bool_]:
        """Return which events have the given numbers in the columns of these names; None lets all be."""
        keep = np.ones(len(self), dtype=np.bool_)
        for name, wanted in numbers.items():
            if wanted is not None:
                keep &= np.isin(getattr(self, name), _indices(wanted, name))
        return keep

    def _number_until(self, t: FloatArray, log_t: FloatArray) -> npt.NDArray[np.intp]:
        """Return how many events there are up to and at each time, or an earlier one of them.

        t is exact as long as it is in the range of doubles; beyond it its logarithm tells.
        """
        plain = np.isfinite(t) & (t >= np.finfo(float).tiny)
        clocks = ((self.t, t), (self.log_t, log_t))
        ends = np.where(plain, *(np.searchsorted(*pair, side="right") for pair in clocks))
        return np.asarray(np.maximum.accumulate(ends))

    def to_pandas(self) -> pd.DataFrame:
        """Return the fields of the events as a data frame, `kind` as categories.

        Raises
        ------
        ImportError
            pandas is not installed.
        """
        pandas = optional_module("pandas", "data")
        frame: pd.DataFrame = pandas.DataFrame({name: getattr(self, name) for name in self.ROW[:-1]})
        frame["kind"] = pandas.Categorical.from_codes(self.code, categories=list(self.KINDS))
        return frame

    def to_csv(self, path: str | os.PathLike[str]) -> None:
        """Write the fields of the events, one row each; the file is there whole or not at all.

        Floats are written with all their digits. An older file of that name is replaced.

        Raises
        ------
        FileNotFoundError, PermissionError
            The folder does not exist or cannot be written to; the message names the path.
        """
        text = io.StringIO(newline="")
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(self.ROW)
        writer.writerows(self)
        with atomic_write(path) as file:
            file.write(text.getvalue().encode())


def _indices(value: int | Sequence[int], name: str) -> npt.NDArray[np.integer[Any]]:
    found = read_array(value, name, "(k,)")
    if found.ndim > 1 or (found.size and found.dtype.kind not in "iu"):
        raise invalid(name, "be an integer or a sequence of integers", repr(value))
    return found
