"""From what the core returns to the status and message of a solution."""

from __future__ import annotations

from typing import Any

from .._missed import missed
from ..datasets import Dataset
from ..networks import Network
from ._schema import TIMES
from ._settings import Settings
from ._solution import Solution

NO_CHOICE = -1  # the run ended at its last branch point


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
    complete(raw, settings, is_leg=is_leg)
    initial = net._with(net.W, net.a, raw["pattern0"])
    return Solution(data, initial, settings, raw)


def whole(solution: Solution, settings: Settings) -> Solution:
    """Return the run that legs make up, with the settings of the whole, and say what it did not reach."""
    raw = {**solution._raw, "message": solution.message + _missed(settings, len(solution.t))}
    _forget_leg(raw)
    found = Solution(solution.data, solution.initial, settings, raw)
    if "limit" in solution.__dict__:
        found.__dict__["limit"] = solution.limit  # worked out already
    return found


def complete(raw: dict[str, Any], settings: Settings, *, is_leg: bool = False) -> None:
    """Say in `raw` which times the run did not reach, and that one that ended at a branch point chose nothing there."""
    if raw["status"] == "branch":
        raw["branchings"][-1]["chosen"] = NO_CHOICE
    if not is_leg:
        _forget_leg(raw)
        raw["message"] += _missed(settings, len(raw["t"]))


def _forget_leg(raw: dict[str, Any]) -> None:
    """Take out what only the next leg needs; the pace of a state that was held smaller is not that of the state."""
    held = raw.pop("held", None)
    if held is not None and held["exponent"]:
        raw.pop("final_pace", None)


def _missed(settings: Settings, reached: int) -> str:
    """Say which of the times or norms to save at a run did not reach, if any."""
    return "".join(missed(name, getattr(settings, name), reached) for name in TIMES)
