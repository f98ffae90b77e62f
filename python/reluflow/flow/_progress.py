"""What a run says of itself while it runs: the callback's argument and the live line."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from .._validation import invalid, optional_callable, real, truth

# A run shorter than this says nothing: the line would only flicker.
QUIET_SECONDS = 2.0
CALLBACK_PERIOD = 0.1  # seconds between two calls of a callback
# Where the standard error is a file, a line is written this often: seldom enough to keep the file readable.
LOG_SECONDS = 10.0


@dataclass(frozen=True)
class Progress:
    """A run under way, as its callback sees it.

    Attributes
    ----------
    t, log_t : float
        Time reached and its logarithm.
    log_loss : float
        Natural logarithm of the loss.
    steps, events : int
        Accepted steps and events so far.
    seconds : float
        Wall-clock time so far.
    width_groups : int
        Number of groups of neurons that move together.
    """

    t: float
    log_t: float
    log_loss: float
    steps: int
    events: int
    seconds: float
    width_groups: int

    def __str__(self) -> str:
        """Return the text of the live line."""
        when = f"t = {self.t:.4g}" if self.t < 1e300 else f"log t = {self.log_t:.6g}"
        work = f"{self.steps} steps, {self.events} events, {self.seconds:.0f} s"
        return f"{when}, log loss = {self.log_loss:.4g}, {work}"


@dataclass(frozen=True)
class ManyProgress:
    """Several runs under way, as their callback sees them.

    Attributes
    ----------
    done, total : int
        Runs that have ended, and all.
    steps, events : int
        Of all runs so far.
    seconds : float
        Wall-clock time so far.
    running : tuple of (int, Progress)
        The runs under way with their index, in the order of the threads.
    """

    done: int
    total: int
    steps: int
    events: int
    seconds: float
    running: tuple[tuple[int, Progress], ...]

    def __str__(self) -> str:
        """Return the text of the live line."""
        work = f"{self.steps} steps, {self.events} events, {self.seconds:.0f} s"
        return f"{self.done} of {self.total} runs done, {len(self.running)} under way, {work}"

    @classmethod
    def _from_core(cls, report: dict[str, Any], total: int) -> ManyProgress:
        running = tuple((index, Progress(**part)) for index, part in report.pop("running"))
        return cls(total=total, running=running, **report)


Callback = Callable[[Progress], object]
ManyCallback = Callable[[ManyProgress], object]


class Listeners(NamedTuple):
    """Who hears of a run: the live line, the callback."""

    progress: bool
    callback: Callable[..., object] | None
    period: float = CALLBACK_PERIOD


def listeners(progress: object, callback: Callable[..., object] | None, period: object = CALLBACK_PERIOD) -> Listeners:
    """Check the arguments of a run that say who hears of it.

    Raises
    ------
    ValueError
        `progress` is no truth value, `callback` cannot be called, or `period` is no number of seconds.
    """
    truth(progress, "progress")
    optional_callable(callback)
    seconds = real(period, "callback_period", "be a number of seconds, at least 0")
    if seconds < 0.0:
        raise invalid("callback_period", "be a number of seconds, at least 0", repr(seconds))
    return Listeners(bool(progress), callback, seconds)


class Shown(Protocol):
    """What a live line shows: it has a text and a time."""

    @property
    def seconds(self) -> float:
        """Wall-clock time so far."""


def duration(seconds: float) -> str:
    """Return a time as a person says it."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"


class LiveLine:
    """A line on the standard error: rewritten in place in a terminal, by rich if it is there; a new one in a file."""

    def __init__(self) -> None:
        """Nothing is shown before the first `show`."""
        self._status: Any = None
        self._width = 0
        self._next_log = 0.0

    def show(self, progress: Shown) -> None:
        """Show how far the run has come."""
        if not sys.stderr.isatty():
            self._log(progress)
            return
        text = str(progress)
        if self._status is None and not self._width:
            self._status = _rich_status(text)
        if self._status is not None:
            self._status.update(text)
            return
        sys.stderr.write("\r" + text.ljust(self._width))
        sys.stderr.flush()
        self._width = max(self._width, len(text))

    def _log(self, progress: Shown) -> None:
        if progress.seconds >= self._next_log:
            self._next_log = progress.seconds + LOG_SECONDS
            print(progress, file=sys.stderr, flush=True)

    def close(self) -> None:
        """Remove the line from the terminal."""
        if self._status is not None:
            self._status.stop()
        elif self._width:
            sys.stderr.write("\r" + " " * self._width + "\r")
            sys.stderr.flush()


def _rich_status(text: str) -> Any:
    try:
        from rich.console import Console
    except ImportError:
        return None
    status = Console(stderr=True).status(text)
    status.start()
    return status


class Reporter:
    """Hands each report of the core to the live line and the callback."""

    def __init__(self, listening: Listeners, make: Callable[[dict[str, Any]], Shown]) -> None:
        """Keep who is to be served, and how a report of the core becomes what they take."""
        self._line = LiveLine() if listening.progress else None
        self._callback = listening.callback
        self._make = make
        self._is_over = False  # the callback has asked to stop

    @property
    def hook(self) -> Callable[[dict[str, Any]], object] | None:
        """What the core calls, or None if nobody listens."""
        return None if self._line is None and self._callback is None else self._report

    def _report(self, report: dict[str, Any]) -> bool:
        if self._is_over:
            return True
        progress = self._make(report)
        if self._line is not None and progress.seconds >= QUIET_SECONDS:
            self._line.show(progress)
        self._is_over = self._callback is not None and bool(self._callback(progress))
        return self._is_over

    def close(self) -> None:
        """Remove the live line."""
        if self._line is not None:
            self._line.close()
