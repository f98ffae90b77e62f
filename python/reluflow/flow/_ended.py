"""A run of an ensemble that has ended: its value or its error."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ._outcome import BranchingError
from ._solution import Solution


@dataclass(frozen=True, eq=False)
class Run:
    """One run of an ensemble.

    Attributes
    ----------
    index : int
        Its place in `nets`.
    value : Solution, or what `reduce` made of it; None after an error
    error : Exception or None
        What went wrong in this run alone.
    """

    index: int
    value: Any
    error: Exception | None

    @property
    def result(self) -> Any:
        """The value; raises the error if there is one."""
        if self.error is not None:
            raise self.error
        return self.value


def ended(index: int, outcome: Solution | Exception, reduce: Callable[[Solution], Any] | None) -> Run:
    """Make a run of what became of it; an exception of `reduce` is its error."""
    if isinstance(outcome, Solution) and outcome.branched and outcome.settings.on_branch == "raise":
        outcome = BranchingError(outcome)
    if isinstance(outcome, Exception):
        return Run(index, None, outcome)
    if reduce is None:
        return Run(index, outcome, None)
    try:
        return Run(index, reduce(outcome), None)
    except Exception as error:
        return Run(index, None, error)
