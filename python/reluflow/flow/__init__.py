"""The exact flow: `integrate`, its stopping rules, its solution with the table of events, and storage."""

from __future__ import annotations

from ._arguments import LOSSES, POLICIES, REDUCTIONS
from ._branchings import Branching, BranchingTable
from ._early import EarlyAlignment, Visit, early_alignment
from ._events import EVENT_KINDS, Event, EventTable
from ._integrate import integrate
from ._limit import Limit
from ._limit_checks import Residuals
from ._many import Run, Runs, integrate_many
from ._multiclass import MultiClassSolution
from ._outcome import BranchingError
from ._progress import ManyProgress, Progress
from ._settings import Settings
from ._solution import Solution
from ._stop import Stop
from ._storage import load

__all__ = [
    "EVENT_KINDS",
    "LOSSES",
    "POLICIES",
    "REDUCTIONS",
    "Branching",
    "BranchingError",
    "BranchingTable",
    "EarlyAlignment",
    "Event",
    "EventTable",
    "Limit",
    "ManyProgress",
    "MultiClassSolution",
    "Progress",
    "Residuals",
    "Run",
    "Runs",
    "Settings",
    "Solution",
    "Stop",
    "Visit",
    "early_alignment",
    "integrate",
    "integrate_many",
    "load",
]
