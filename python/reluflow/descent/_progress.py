"""How far a descent has come."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from ..flow._progress import Listeners, Reporter, duration
from ..layered._descent import Hook


@dataclass(frozen=True)
class DescentProgress:
    """A descent under way, as its callback sees it.

    Attributes
    ----------
    steps, n_steps : int
        Steps taken so far, and all.
    t : float
        Flow time so far: step size times steps.
    log_loss : float
        Natural logarithm of the loss on all samples, with the reduction.
    seconds : float
        Wall-clock time so far.
    """

    steps: int
    n_steps: int
    t: float
    log_loss: float
    seconds: float

    @property
    def seconds_left(self) -> float:
        """What is left at the pace so far; inf before the first step."""
        return self.seconds / self.steps * (self.n_steps - self.steps) if self.steps else float("inf")

    def __str__(self) -> str:
        """Return the text of the live line."""
        where = f"{self.steps} of {self.n_steps} steps, t = {self.t:.4g}, log loss = {self.log_loss:.4g}"
        return f"{where}, {duration(self.seconds)}, about {duration(self.seconds_left)} left"


DescentCallback = Callable[[DescentProgress], object]


@contextmanager
def heard(listening: Listeners, n_steps: int) -> Iterator[Hook | None]:
    """Give what a descent is to call with its reports, or None if nobody listens; the live line goes with the block."""

    def made(report: dict[str, Any]) -> DescentProgress:
        seen = {name: report[name] for name in ("t", "log_loss", "seconds")}
        return DescentProgress(steps=report["step"], n_steps=n_steps, **seen)

    reporter = Reporter(listening, made)
    try:
        yield reporter.hook
    finally:
        reporter.close()
