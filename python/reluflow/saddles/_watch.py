"""What a path says of itself while it is followed: the callback's argument and the live line."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter

from ..flow._progress import QUIET_SECONDS, Listeners, LiveLine, Progress


@dataclass(frozen=True)
class SaddleProgress:
    """A path under way, as its callback sees it.

    Attributes
    ----------
    stage : int
        The saddle whose orbit is followed.
    time : float
        When it was reached, in units of log(1/ε).
    loss : float
        The loss there, as a sum.
    t : float
        Time on its orbit.
    steps : int
        Steps of its orbit so far.
    seconds : float
        Wall-clock time of the path so far.
    """

    stage: int
    time: float
    loss: float
    t: float
    steps: int
    seconds: float

    def __str__(self) -> str:
        """Return the text of the live line."""
        where = f"saddle {self.stage} at {self.time:.6g}, loss = {self.loss:.6g}"
        return f"{where}; on its orbit t = {self.t:.4g}, {self.steps} steps; {self.seconds:.0f} s"


SaddleCallback = Callable[[SaddleProgress], object]


class Watch:
    """Hands what the runs of the legs report to the live line and the callback."""

    def __init__(self, listening: Listeners) -> None:
        """Keep who is to be served."""
        self._line = LiveLine() if listening.progress else None
        self._callback = listening.callback
        self._began = perf_counter()
        self.at(0, 0.0, 0.0)

    def at(self, stage: int, time: float, loss: float) -> None:
        """Begin with the orbit of another saddle."""
        self._stage, self._time, self._loss = stage, time, loss
        self._t, self._steps = 0.0, 0

    @property
    def hook(self) -> Callable[[Progress], object] | None:
        """The callback of the legs, or None if nobody listens."""
        return None if self._line is None and self._callback is None else self._on_leg

    def took(self, t: float, steps: int) -> bool:
        """Count a leg; whether somebody asks to stop."""
        self._t, self._steps = self._t + t, self._steps + steps
        return self._report(0.0, 0)

    def _on_leg(self, leg: Progress) -> bool:
        return self._report(leg.t, leg.steps)

    def _report(self, t: float, steps: int) -> bool:
        seconds = perf_counter() - self._began
        so_far = self._t + t, self._steps + steps
        progress = SaddleProgress(self._stage, self._time, self._loss, *so_far, seconds)
        if self._line is not None and seconds >= QUIET_SECONDS:
            self._line.show(progress)
        return self._callback is not None and bool(self._callback(progress))

    def close(self) -> None:
        """Remove the live line."""
        if self._line is not None:
            self._line.close()
