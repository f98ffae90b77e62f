"""The table of branch points of a run: where the flow had several continuations, and which one was taken."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, overload

import numpy as np
import numpy.typing as npt

from .._validation import FloatArray, ReadOnly, freeze, optional_module
from ._events import SHOWN, when

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Branching(ReadOnly):
    """A time at which one neuron had several continuations.

    Attributes
    ----------
    t, log_t : float
        Time and its logarithm.
    neuron : int
    samples : tuple of int
        The samples whose boundaries the neuron lies on and whose signs are not determined.
    options : tuple of dict
        The continuations, each as {sample: sign}: +1 active, -1 inactive, 0 held on the boundary.
    chosen : int
        Index of the option that was taken; -1 if the run ended here.
    """

    t: float
    log_t: float
    neuron: int
    samples: tuple[int, ...]
    options: tuple[dict[int, int], ...]
    chosen: int

    @property
    def choice(self) -> dict[int, int] | None:
        """The option that was taken, or None if the run ended here."""
        return self.options[self.chosen] if self.chosen >= 0 else None


@dataclass(frozen=True, repr=False)
class BranchingTable(ReadOnly):
    """Branch points in order of time.

    ``len(table)``, iteration and ``table[i]`` give single branch points; a slice gives a table.

    Attributes
    ----------
    rows : tuple of Branching
    t, log_t : ndarray, float64
    neuron : ndarray, int64
    options : list of tuple of dict
    """

    rows: tuple[Branching, ...]

    @classmethod
    def _from_core(cls, rows: list[dict[str, Any]]) -> BranchingTable:
        return cls(
            tuple(
                Branching(
                    t=row["t"],
                    log_t=row["log_t"],
                    neuron=row["neuron"],
                    samples=tuple(row["samples"]),
                    options=tuple({int(sample): int(sign) for sample, sign in o.items()} for o in row["options"]),
                    chosen=row["chosen"],
                )
                for row in rows
            )
        )

    @cached_property
    def t(self) -> FloatArray:
        """Times, read-only."""
        return self._column("t", np.float64)

    @cached_property
    def log_t(self) -> FloatArray:
        """Logarithms of the times, read-only."""
        return self._column("log_t", np.float64)

    @cached_property
    def neuron(self) -> npt.NDArray[np.int64]:
        """The neurons, read-only."""
        return self._column("neuron", np.int64)

    @property
    def options(self) -> list[tuple[dict[int, int], ...]]:
        """The options of each branch point."""
        return [row.options for row in self.rows]

    def _column(self, name: str, dtype: Any) -> npt.NDArray[Any]:
        column = np.array([getattr(row, name) for row in self.rows], dtype=dtype)
        freeze(column)
        return column

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Branching]:
        return iter(self.rows)

    @overload
    def __getitem__(self, key: int) -> Branching: ...
    @overload
    def __getitem__(self, key: slice) -> BranchingTable: ...
    def __getitem__(self, key: int | slice) -> Branching | BranchingTable:
        return BranchingTable(self.rows[key]) if isinstance(key, slice) else self.rows[key]

    def to_pandas(self) -> pd.DataFrame:
        """Return the columns t, log_t, neuron, samples, options, chosen as a data frame.

        Raises
        ------
        ImportError
            pandas is not installed.
        """
        pandas = optional_module("pandas", "data")
        names = list(Branching.__dataclass_fields__)
        columns = {name: [getattr(row, name) for row in self.rows] for name in names}
        frame: pd.DataFrame = pandas.DataFrame(columns, columns=names)
        return frame

    def __repr__(self) -> str:
        """Show a line for each branch point, for the first and last of many."""
        half = SHOWN // 2
        lines = [f"{when(row.t, row.log_t):>14}  neuron {row.neuron}: {_options(row)}" for row in self.rows]
        few = lines if len(lines) <= SHOWN else [*lines[:half], "...", *lines[-half:]]
        return "\n".join([f"BranchingTable: {len(self)} branch points", *few])


def _options(row: Branching) -> str:
    return " | ".join(f"{'*' if i == row.chosen else ''}{_sides(option)}" for i, option in enumerate(row.options))


def _sides(option: dict[int, int]) -> str:
    """Return the side for each sample, or of many samples how many have which."""
    if len(option) <= SHOWN:
        return str(option)
    sides = list(option.values())
    return f"({sides.count(1)} active, {sides.count(-1)} inactive, {sides.count(0)} on their boundaries)"
