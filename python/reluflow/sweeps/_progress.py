"""How far a sweep has come."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter

from ..flow._progress import QUIET_SECONDS, Listeners, LiveLine, duration

_PERIOD = 0.1  # seconds between two reports


@dataclass(frozen=True)
class SweepProgress:
    """A sweep under way, as its callback sees it.

    Attributes
    ----------
    done, total : int
        Points that are finished, those of earlier calls too, and all.
    errors : int
        Points of this call that ended with an error.
    seconds : float
        Wall-clock time of this call so far.
    seconds_left : float
        What is left at the pace so far; inf before the first point has ended.
    """

    done: int
    total: int
    errors: int
    seconds: float
    seconds_left: float

    def __str__(self) -> str:
        """Return the text of the live line."""
        errors = f", {self.errors} with an error" if self.errors else ""
        left = "" if self.seconds_left == float("inf") else f", about {duration(self.seconds_left)} left"
        return f"{self.done} of {self.total} points{errors}, {duration(self.seconds)}{left}"


class Watch:
    """Counts points, and tells those who listen."""

    def __init__(self, listening: Listeners, total: int, finished: int) -> None:
        """Begin with the points that earlier calls have finished."""
        self._line = LiveLine() if listening.progress else None
        self._callback: Callable[[SweepProgress], object] | None = listening.callback
        self._total, self._before, self._now, self._errors = total, finished, 0, 0
        self._began = perf_counter()
        self._last = 0.0

    def add(self, points: int, errors: int) -> None:
        """Count points that have ended."""
        self._now += points
        self._errors += errors

    def tell(self, *, always: bool = False) -> bool:
        """Report, if the last time was long enough ago; return whether the callback wants to stop."""
        seconds = perf_counter() - self._began
        if seconds - self._last < _PERIOD and not always:
            return False
        self._last = seconds
        done = self._before + self._now
        left = seconds / self._now * (self._total - done) if self._now else float("inf")
        report = SweepProgress(done, self._total, self._errors, seconds, left)
        if self._line is not None and seconds >= QUIET_SECONDS:
            self._line.show(report)
        return self._callback is not None and bool(self._callback(report))

    def close(self) -> None:
        """Remove the live line."""
        if self._line is not None:
            self._line.close()
