"""The live line of a run."""

from __future__ import annotations

import math
from types import TracebackType

from rich.console import Console
from rich.live import Live
from rich.text import Text

from ..flow import Progress

_REFRESH = 10  # times a second, as often as the core reports
# Below this power of ten the mean loss no longer fits a double.
_SMALLEST = -300


class ProgressLine:
    """One line that follows a run while it lives, and goes away after it; silent where no person is watching."""

    def __init__(self, console: Console, total: float, reduction: str, *, quiet: bool) -> None:
        self._shift = 0.0 if reduction == "mean" else math.log(total)
        self._live: Live | None = None
        if not quiet and console.is_terminal:
            self._live = Live(Text("starting"), console=console, transient=True, refresh_per_second=_REFRESH)

    def __enter__(self) -> ProgressLine:
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        if self._live is not None:
            self._live.stop()

    def say(self, text: str) -> None:
        """Show a plain text."""
        if self._live is not None:
            self._live.update(Text(text))

    def follow(self, report: Progress) -> None:
        """Show where a run is."""
        self.say(describe(report, self._shift))


def describe(report: Progress, log_shift: float) -> str:
    """Put a report in one line; `log_shift` is taken off its log loss to give that of the mean."""
    when = f"t = {report.t:.3e}" if math.isfinite(report.t) else f"log t = {report.log_t:.4g}"
    power = (report.log_loss - log_shift) / math.log(10.0)
    loss = f"{10.0**power:.3e}" if power > _SMALLEST else f"1e{power:.0f}"
    work = f"{report.events:,} events   {report.steps:,} steps   {report.seconds:.1f} s"
    return f"{when}   mean loss {loss}   {work}"
