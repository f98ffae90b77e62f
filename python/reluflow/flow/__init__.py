"""The exact flow: `integrate`, its stopping rules, its solution with the table of events, and storage."""

from __future__ import annotations

from ..kinks import EVENT_KINDS
from ..layered._integrate import POLICIES
from ._branchings import Branching, BranchingTable
from ._ended import Run
from ._events import Event, EventTable
from ._integrate import integrate
from ._load import load
from ._many import Runs, integrate_many
from ._multiclass import MultiClassSolution
from ._outcome import BranchingError
from ._progress import ManyProgress, Progress
from ._settings import Settings
from ._solution import Solution
from ._stop import Stop
from ._two_layer_solution import TwoLayerSolution

__all__ = [
    "EVENT_KINDS",
    "POLICIES",
    "Branching",
    "BranchingError",
    "BranchingTable",
    "Event",
    "EventTable",
    "ManyProgress",
    "MultiClassSolution",
    "Progress",
    "Run",
    "Runs",
    "Settings",
    "Solution",
    "Stop",
    "TwoLayerSolution",
    "integrate",
    "integrate_many",
    "load",
]
