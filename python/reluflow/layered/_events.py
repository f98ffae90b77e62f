"""The events of a layered run: what happened at which unit on which sample."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, overload

import numpy as np
import numpy.typing as npt

from .._validation import FloatArray, IntArray, one_of
from ..kinks import EventColumns

# In the order of the compiled core.
LAYERED_KINDS = (
    "cross_up",
    "cross_down",
    "slide",
    "leave_up",
    "leave_down",
    "wake_up",
    "wake_down",
    "void",
    "start_up",
    "start_down",
    "start_slide",
    "branch",
)


class LayeredEvent(NamedTuple):
    """One event: unit `unit` of layer `layer` on sample `sample`, at time `t`."""

    t: float
    log_t: float
    layer: int
    unit: int
    sample: int
    kind: str


@dataclass(frozen=True, eq=False, repr=False)
class LayeredEventTable(EventColumns):
    """Events in order of time, as read-only columns of one length; an index gives an event, a slice a table.

    Attributes
    ----------
    t, log_t : ndarray, float64
        Time and its logarithm.
    layer, unit, sample : ndarray, int64
        Layer 1 is the first after the inputs; units and samples count from 0.
    code : ndarray, uint8
        Position of the kind in `LAYERED_KINDS`.
    event_set : ndarray, int64
        Events with one number happen at one instant; their order means nothing.
    """

    t: FloatArray
    log_t: FloatArray
    layer: IntArray
    unit: IntArray
    sample: IntArray
    code: npt.NDArray[np.uint8]
    event_set: IntArray

    KINDS: ClassVar[tuple[str, ...]] = LAYERED_KINDS
    ROW: ClassVar[tuple[str, ...]] = LayeredEvent._fields

    def __iter__(self) -> Iterator[LayeredEvent]:
        return (self[i] for i in range(len(self)))

    @overload
    def __getitem__(self, key: int | np.integer[Any]) -> LayeredEvent: ...
    @overload
    def __getitem__(self, key: slice | npt.NDArray[Any] | Sequence[int]) -> LayeredEventTable: ...
    def __getitem__(
        self, key: int | np.integer[Any] | slice | npt.NDArray[Any] | Sequence[int]
    ) -> LayeredEvent | LayeredEventTable:
        if isinstance(key, (int, np.integer)):
            place = int(self.layer[key]), int(self.unit[key]), int(self.sample[key])
            return LayeredEvent(float(self.t[key]), float(self.log_t[key]), *place, LAYERED_KINDS[self.code[key]])
        return self.select(key)

    def of(
        self,
        *,
        layer: int | Sequence[int] | None = None,
        unit: int | Sequence[int] | None = None,
        sample: int | Sequence[int] | None = None,
        kind: str | Sequence[str] | None = None,
    ) -> LayeredEventTable:
        """Return the events of the given layers, units, samples and kinds.

        Raises
        ------
        ValueError
            A name that is no kind of event, or numbers that are no integers.
        """
        keep = self._having(layer=layer, unit=unit, sample=sample)
        if kind is None:
            return self.select(keep)
        names = [one_of(name, "kind", LAYERED_KINDS) for name in ([kind] if isinstance(kind, str) else kind)]
        return self.select(keep & np.isin(self.kind, names))

    def select(self, chosen: slice | npt.NDArray[Any] | Sequence[int]) -> LayeredEventTable:
        """Return the rows of a slice, a boolean mask or indices."""
        return LayeredEventTable(*(column[chosen] for column in self._columns()))

    def __repr__(self) -> str:
        """One line: how many, by kind."""
        counts = ", ".join(f"{kind} {number}" for kind, number in self.counts().items()) or "none"
        return f"LayeredEventTable({len(self)} events: {counts})"
