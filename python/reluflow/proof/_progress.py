"""How far a proof has come."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from ..flow._progress import Listeners, Reporter, duration


@dataclass(frozen=True)
class ProofProgress:
    """A proof under way, as its live line shows it.

    Attributes
    ----------
    t, until : float
        The time that is proved, and the one to prove to.
    steps : int
        Steps taken so far.
    events, n_events : int
        Events proved so far, and all that the run has until then.
    digits : int
        16 or 32: with ``digits="auto"`` the longer numbers come where the shorter ones have failed.
    seconds : float
        Wall-clock time so far.
    """

    t: float
    until: float
    steps: int
    events: int
    n_events: int
    digits: int
    seconds: float

    def __str__(self) -> str:
        """Return the text of the live line."""
        where = f"t = {self.t:.4g} of {self.until:.4g}, {self.events:,} of {self.n_events:,} events"
        return f"{where}, {self.steps:,} steps of {self.digits} digits, {duration(self.seconds)}"


class Heard:
    """Hands on what the core says of one proof after the other: to the live line, and to the callback."""

    def __init__(self, listening: Listeners, until: float, n_events: int) -> None:
        """Begin to count the seconds."""
        self._until, self._n_events, self._began = until, n_events, time.monotonic()
        callback = listening.callback
        if callback is not None:
            listening = listening._replace(callback=lambda now: callback(now.t, now.steps, now.events))
        self._listening = listening

    @contextmanager
    def hook(self, digits: int) -> Iterator[Callable[[dict[str, Any]], object] | None]:
        """Give what the core is to call, or None if nobody listens; the live line goes with the block."""

        def made(report: dict[str, Any]) -> ProofProgress:
            seconds = time.monotonic() - self._began
            return ProofProgress(until=self._until, n_events=self._n_events, digits=digits, seconds=seconds, **report)

        reporter = Reporter(self._listening, made)
        try:
            yield reporter.hook
        finally:
            reporter.close()
