"""From what the core returns to the status and message of a solution."""

from __future__ import annotations

from typing import Any

from .._validation import FloatArray
from ..datasets import Dataset
from ..networks import Network
from ._schema import TIMES
from ._settings import Settings
from ._solution import Solution

NO_CHOICE = -1  # the run ended at its last branch point

# Sentences for the statuses that say all by themselves.
_MESSAGES = {
    "running": "a checkpoint of a run under way",
    "reached_time": "the time of the stop was reached",
    "reached_log_time": "the log time of the stop was reached",
    "reached_loss": "the loss of the stop was reached",
    "reached_mean_loss": "the mean loss of the stop was reached",
    "reached_direction": "the direction turns less than the stop asks for",
    "reached_log_norm": "the norm of the stop was reached",
    "reached_events": "the number of events of the stop was reached",
    "reached_seconds": "the wall-clock time of the stop was reached",
    "max_events": "max_events was reached",
}


class BranchingError(RuntimeError):
    """The flow reached a branch point and ``on_branch="raise"`` was asked for.

    Attributes
    ----------
    solution : Solution or MultiClassSolution
        The solution up to the branch point; the last row of ``solution.branchings`` holds the options. Of K classes,
        those that met none have gone on to their end.
    """

    def __init__(self, solution: Any) -> None:
        """Take the message of the solution."""
        super().__init__(solution.message)
        self.solution = solution

    def __reduce__(self) -> tuple[type[BranchingError], tuple[Any]]:
        """Pickle by the solution."""
        return type(self), (self.solution,)


def solution_of(
    raw: dict[str, Any], data: Dataset, net: Network, settings: Settings, *, is_leg: bool = False
) -> Solution:
    """Make the solution of what the core returned for a run that began at `net`; of a leg, others may follow."""
    complete(raw, settings, data.n, is_leg=is_leg)
    initial = net._with(net.W, net.a, raw["pattern0"])
    return Solution(data, initial, settings, raw)


def whole(solution: Solution, settings: Settings) -> Solution:
    """Return the run that legs make up, with the settings of the whole, and say what it did not reach."""
    raw = {**solution._raw, "message": solution.message + _missed(settings, len(solution.t))}
    found = Solution(solution.data, solution.initial, settings, raw)
    if "limit" in solution.__dict__:
        found.__dict__["limit"] = solution.limit  # worked out already
    return found


def complete(raw: dict[str, Any], settings: Settings, n: int, *, is_leg: bool = False) -> None:
    """Give `raw` its final status and message: which loss ended the run, and which times it did not reach."""
    if raw["status"] == "reached_loss" and settings.until.ends_on_mean(n, settings.reduction):
        raw["status"] = "reached_mean_loss"
    if raw["status"] == "branch":
        raw["branchings"][-1]["chosen"] = NO_CHOICE
    message = raw["message"] or _MESSAGES.get(raw["status"], raw["status"])
    raw["message"] = message if is_leg else message + _missed(settings, len(raw["t"]))


def _missed(settings: Settings, reached: int) -> str:
    """Say which of the times or norms to save at a run did not reach, if any."""
    for name in TIMES:
        wanted: FloatArray | None = getattr(settings, name)
        if wanted is None or reached >= len(wanted):
            continue
        count, what = len(wanted) - reached, "norms" if name == "save_at_log_norm" else "times"
        first = float(wanted[reached])
        return f"; {count} of {len(wanted)} {what} of {name} were not reached, the first is {first!r}"
    return ""
