"""reluflow: the exact subgradient flow of two-layer ReLU networks.

>>> import reluflow as rf
>>> data = rf.Dataset([[1.65, -0.47], [-0.47, 1.35]], [1, -1])
>>> net = rf.Network.init(10, data.d, scale=1e-2, seed=1)
>>> sol = rf.integrate(data, net, until=rf.Stop(mean_loss=0.1))
>>> sol.success
True
"""

from __future__ import annotations

from . import _processor, analysis, conditions, convex, datasets, figures, papers  # noqa: F401  (_processor goes first)
from ._core import __version__
from .convex import Certificate, MultiClassCertificate, certify
from .datasets import Dataset, MultiClassDataset
from .descent import DescentResult, descend
from .early import EarlyAlignment, Visit, early_alignment
from .flow import (
    Branching,
    BranchingError,
    BranchingTable,
    Event,
    EventTable,
    ManyProgress,
    MultiClassSolution,
    Progress,
    Run,
    Runs,
    Settings,
    Solution,
    Stop,
    integrate,
    integrate_many,
    load,
)
from .kinks import EVENT_KINDS
from .limits import Limit, Residuals
from .networks import MultiClassNetwork, Network

__all__ = [
    "EVENT_KINDS",
    "Branching",
    "BranchingError",
    "BranchingTable",
    "Certificate",
    "Dataset",
    "DescentResult",
    "EarlyAlignment",
    "Event",
    "EventTable",
    "Limit",
    "ManyProgress",
    "MultiClassCertificate",
    "MultiClassDataset",
    "MultiClassNetwork",
    "MultiClassSolution",
    "Network",
    "Progress",
    "Residuals",
    "Run",
    "Runs",
    "Settings",
    "Solution",
    "Stop",
    "Visit",
    "__version__",
    "analysis",
    "certify",
    "conditions",
    "convex",
    "datasets",
    "descend",
    "early_alignment",
    "figures",
    "integrate",
    "integrate_many",
    "load",
    "papers",
]
