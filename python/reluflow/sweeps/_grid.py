"""The grid of a sweep: names, values, and its points in blocks along the last axis."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from .._validation import instance, invalid
from ._measures import RESERVED

Index = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Grid:
    """The values of each parameter that varies, in order."""

    axes: dict[str, npt.NDArray[Any]]

    @property
    def names(self) -> tuple[str, ...]:
        """The parameters."""
        return tuple(self.axes)

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of values of each."""
        return tuple(len(values) for values in self.axes.values())

    @property
    def size(self) -> int:
        """Number of points."""
        return math.prod(self.shape)

    def point(self, index: Index) -> dict[str, Any]:
        """Return the parameters at one point, as plain Python values."""
        return {name: values[at].item() for (name, values), at in zip(self.axes.items(), index, strict=True)}

    def blocks(self, length: int) -> Iterator[tuple[Index, int, int]]:
        """Go through the blocks: the place on all axes but the last, and the first and the end on that one."""
        *outer, last = self.shape
        for place in np.ndindex(*outer):
            for first in range(0, last, length):
                yield place, first, min(first + length, last)


def grid_of(grid: object, known: tuple[str, ...], others: str = "") -> Grid:
    """Check a grid of `known` parameters; `others` says which ones may be known besides.

    Raises
    ------
    ValueError
        No mapping, an unknown or reserved name, no values, values that are no numbers or texts, or one of them twice.
    """
    instance(grid, "grid", Mapping, "a mapping from parameters to their values")
    assert isinstance(grid, Mapping)  # for the type checker
    if not grid:
        raise invalid("grid", "name at least one parameter", "none")
    for name in grid:
        if name not in known:
            raise invalid("grid", "name parameters among " + ", ".join(known) + others, repr(name))
        if name in RESERVED:
            raise invalid("grid", "name parameters otherwise than " + ", ".join(RESERVED), repr(name))
    return Grid({name: _axis(name, values) for name, values in grid.items()})


def _axis(name: str, values: object) -> npt.NDArray[Any]:
    label = f"grid[{name!r}]"
    if isinstance(values, str) or not hasattr(values, "__iter__"):
        raise invalid(label, "be a sequence of values", repr(values))
    axis = np.asarray(list(values))
    if not axis.size:
        raise invalid(label, "hold at least one value", "none")
    if axis.ndim != 1 or axis.dtype.kind not in "biufU":
        raise invalid(label, "be a sequence of numbers or texts", f"the shape {axis.shape} of {axis.dtype}")
    if len(np.unique(axis)) < len(axis):
        raise invalid(label, "hold each value once", f"{len(axis) - len(np.unique(axis))} repeated")
    return axis
