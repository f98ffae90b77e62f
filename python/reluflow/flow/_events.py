"""The table of events of a run: what happened at which boundary, when, and how the sign pattern changed."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, overload

import numpy as np
import numpy.typing as npt

from .._html import grid
from .._times import time_text
from .._validation import (
    FloatArray,
    IntArray,
    PatternArray,
    freeze,
    instance,
    integer,
    invalid,
    place,
    real,
    real_array,
)
from ..kinks import EVENT_KINDS, RENAMED_KINDS, EventColumns

if TYPE_CHECKING:
    from ._solution import Solution

BRANCH = EVENT_KINDS.index("branch")
_SLIDE, _DIE = EVENT_KINDS.index("slide"), EVENT_KINDS.index("die")
# The sign that an event of each kind leaves behind; a branch changes none itself and is left out of replays.
_SIGN_AFTER = np.array([1, -1, 0, 1, -1, 0, 0, 1, -1, 0], dtype=np.int8)
SHOWN = 10  # rows of a table's text


class Event(NamedTuple):
    """One event: neuron `neuron` at the boundary of sample `sample`, at time `t`."""

    t: float
    log_t: float
    neuron: int
    sample: int
    kind: str


@dataclass(frozen=True, eq=False, repr=False)
class EventTable(EventColumns):
    """Events in order of time, as read-only columns of one length.

    ``len(events)``, iteration and ``events[i]`` give single events; a slice, a boolean mask or an index array gives a
    table.

    Attributes
    ----------
    t, log_t : ndarray, float64
        Time and its logarithm; where t overflows to inf, log_t is the truth.
    neuron, sample : ndarray, int32
    code : ndarray, uint8
        Position of the kind in `EVENT_KINDS`.
    tie : ndarray, int64
        Events with one number happen at the same time, as one set; their order means nothing.
    kind : ndarray of str
        Names of the kinds, made from `code` when first asked for.
    """

    t: FloatArray
    log_t: FloatArray
    neuron: npt.NDArray[np.int32]
    sample: npt.NDArray[np.int32]
    code: npt.NDArray[np.uint8]
    tie: npt.NDArray[np.int64]

    KINDS: ClassVar[tuple[str, ...]] = EVENT_KINDS
    ROW: ClassVar[tuple[str, ...]] = Event._fields

    def __iter__(self) -> Iterator[Event]:
        columns = (self.t, self.log_t, self.neuron, self.sample)
        kinds = (EVENT_KINDS[code] for code in self.code.tolist())
        return map(Event._make, zip(*(column.tolist() for column in columns), kinds, strict=True))

    @overload
    def __getitem__(self, key: int | np.integer[Any]) -> Event: ...
    @overload
    def __getitem__(self, key: slice | npt.NDArray[Any] | Sequence[int]) -> EventTable: ...
    def __getitem__(self, key: int | np.integer[Any] | slice | npt.NDArray[Any] | Sequence[int]) -> Event | EventTable:
        if isinstance(key, (int, np.integer)):
            t, log_t, neuron, sample, code, _ = (column[key] for column in self._columns())
            return Event(float(t), float(log_t), int(neuron), int(sample), EVENT_KINDS[code])
        return EventTable(*(column[key] for column in self._columns()))

    def of(
        self,
        *,
        neuron: int | Sequence[int] | None = None,
        sample: int | Sequence[int] | None = None,
        kind: str | Sequence[str] | None = None,
    ) -> EventTable:
        """Return the events of the given neurons, samples and kinds.

        Raises
        ------
        ValueError
            A name that is no kind of event, or neurons or samples that are no integers.
        """
        keep = self._having(neuron=neuron, sample=sample)
        if kind is not None:
            keep &= np.isin(self.code, _codes(kind))
        return self[keep]

    def replay(self, pattern: npt.ArrayLike, until: float | None = None) -> PatternArray:
        """Return the sign pattern after the events, or after those up to and at the time `until`.

        Parameters
        ----------
        pattern : array_like of int, shape (m, n)
            The pattern before the first event of the table.
        until : float, optional
            A time. Later events are left out.

        Returns
        -------
        ndarray, shape (m, n), int8

        Raises
        ------
        ValueError
            A pattern that is no integer matrix or too small for the events, or `until` is no number.
        """
        given = real_array(pattern, "pattern", "(m, n)")
        no_sign = ~np.isin(given, (-1.0, 0.0, 1.0))
        if no_sign.any():
            raise invalid("pattern", "hold the signs -1, 0 and 1 only", place(given, no_sign))
        signs = given.astype(np.int8)
        last = len(self) if until is None else int(np.searchsorted(self.t, real(until, "until"), side="right"))
        needed = (int(self.neuron.max(initial=-1)) + 1, int(self.sample.max(initial=-1)) + 1)
        if signs.shape[0] < needed[0] or signs.shape[1] < needed[1]:
            raise invalid("pattern", f"have at least the shape {needed}", f"the shape {signs.shape}")
        self._apply(signs, 0, last)
        return signs

    def apply(self, pattern: PatternArray, first: int, last: int) -> None:
        """Change `pattern` in place by the events `first` to `last` - 1.

        Raises
        ------
        ValueError
            A pattern that is no array of shape (m, n) that can be changed in place, or too small for these events, or
            there are no such events.
        """
        end = integer(last, "last", least=0, most=len(self))
        begin = integer(first, "first", least=0, most=end)
        if not isinstance(pattern, np.ndarray) or pattern.ndim != 2 or pattern.dtype.kind != "i":
            expected = "be an array of integers of shape (m, n), which is changed in place"
            raise invalid("pattern", expected, f"a value of type {type(pattern).__name__}")
        if not (pattern.flags.writeable and pattern.flags.c_contiguous):
            raise invalid("pattern", "be C-contiguous and not read-only, as np.array(pattern) is", "another array")
        part = slice(begin, end)
        needed = (int(self.neuron[part].max(initial=-1)) + 1, int(self.sample[part].max(initial=-1)) + 1)
        if pattern.shape[0] < needed[0] or pattern.shape[1] < needed[1]:
            raise invalid("pattern", f"have at least the shape {needed}", f"the shape {pattern.shape}")
        self._apply(pattern, begin, end)

    def _apply(self, pattern: PatternArray, first: int, last: int) -> None:
        part = slice(first, last)
        pairs = self.neuron[part].astype(np.int64) * pattern.shape[1] + self.sample[part]
        codes = self.code[part]
        pairs, codes = pairs[codes != BRANCH], codes[codes != BRANCH]
        # numpy promises no order of assignment for repeated indices: only the last event of each pair is assigned.
        changed, from_end = np.unique(pairs[::-1], return_index=True)
        pattern.reshape(-1)[changed] = _SIGN_AFTER[codes[::-1][from_end]]

    def __repr__(self) -> str:
        """Show a small text table: counts by kind and the first and last rows."""
        lines = ["..." if row is None else _line(row) for row in self._few()]
        head = [f"{'t':>14} {'neuron':>7} {'sample':>7}  kind"] if lines else []
        return "\n".join([self._title(), *head, *lines])

    def _repr_html_(self) -> str:
        """Show the same as a table in a notebook."""
        rows = (
            ("...",) * 4 if row is None else (when(row.t, row.log_t), row.neuron, row.sample, row.kind)
            for row in self._few()
        )
        return grid(self._title(), ("t", "neuron", "sample", "kind"), rows)

    def _title(self) -> str:
        counts = ", ".join(f"{kind} {number}" for kind, number in self.counts().items())
        return f"EventTable: {len(self)} events" + (f" ({counts})" if counts else "")

    def _few(self) -> list[Event | None]:
        """Return the first and last rows, with None for those between."""
        half = SHOWN // 2
        return list(self) if len(self) <= SHOWN else [*self[:half], None, *self[-half:]]


def when(t: float, log_t: float) -> str:
    """Return a time as tables show it."""
    return time_text(t, log_t, digits=8)


def _line(event: Event) -> str:
    return f"{when(event.t, event.log_t):>14} {event.neuron:>7} {event.sample:>7}  {event.kind}"


def _codes(kind: str | Sequence[str]) -> list[int]:
    names = [kind] if isinstance(kind, str) else list(kind) if isinstance(kind, Iterable) else [kind]
    for name in names:
        instance(name, "kind", str, "the name of a kind of event")
        if name in RENAMED_KINDS:
            text = f"events of kind {name!r} are of kind {RENAMED_KINDS[name]!r} now"
            warnings.warn(text, DeprecationWarning, stacklevel=3)
        elif name not in EVENT_KINDS:
            raise invalid("kind", "be one of " + ", ".join(EVENT_KINDS), repr(name))
    return [EVENT_KINDS.index(RENAMED_KINDS.get(name, name)) for name in names]


def codes_with_deaths(table: EventTable, start: PatternArray) -> npt.NDArray[np.uint8]:
    """Return the kinds of events, where a neuron that comes to slide with no active sample left has died."""
    signs, codes = np.array(start), np.array(table.code)
    ends: IntArray = np.flatnonzero(np.diff(table.tie, append=-1)) + 1
    first = 0
    for last in ends.tolist():
        table._apply(signs, first, last)
        for k in range(first, last):
            if codes[k] == _SLIDE and not (signs[table.neuron[k]] > 0).any():
                codes[k] = _DIE
        first = last
    freeze(codes)
    return codes


def pattern_at(events: EventTable, start: PatternArray, time: float, clock: str) -> PatternArray:
    """Return the pattern `start`, changed by all events up to and at a time; `clock` is "t" or "log_t"."""
    current = np.array(start)
    events._apply(current, 0, int(np.searchsorted(getattr(events, clock), time, side="right")))
    freeze(current)
    return current


def patterns(source: Solution, t: npt.ArrayLike, log_t: npt.ArrayLike) -> PatternArray:
    """Replay the events up to each time, shape (k, m, n): exact, for patterns are changed by events alone."""
    return replayed(source.events, source.pattern0, t, log_t)


def replayed(events: EventTable, start: PatternArray, t: npt.ArrayLike, log_t: npt.ArrayLike) -> PatternArray:
    """Do the same from a table of events and the pattern before them."""
    current = np.array(start)
    ends = events._number_until(np.asarray(t), np.asarray(log_t))
    out = np.empty((len(ends), *current.shape), dtype=np.int8)
    done = 0
    for k, end in enumerate(ends.tolist()):
        events._apply(current, done, end)
        out[k] = current
        done = end
    return out
