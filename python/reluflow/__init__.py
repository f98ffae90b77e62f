"""reluflow: the exact subgradient flow of ReLU networks, of two layers and of more.

>>> import reluflow as rf
>>> data = rf.Dataset([[1.65, -0.47], [-0.47, 1.35]], [1, -1])
>>> net = rf.Network.init(10, data.d, scale=1e-2, seed=1)
>>> sol = rf.integrate(data, net, until=rf.Stop(mean_loss=0.1))
>>> sol.success
True
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from . import (  # noqa: F401  (_processor goes first)
    _processor,
    analysis,
    conditions,
    convex,
    datasets,
    descent,
    early,
    figures,
    flow,
    layered,
    limits,
    losses,
    networks,
    papers,
    proof,
    saddles,
    sweeps,
)
from ._core import __version__
from ._renamed import renamed
from .convex import certify
from .datasets import Dataset
from .descent import descend
from .early import early_alignment
from .flow import BranchingError, Solution, Stop, integrate, integrate_many, load
from .layered import Conv1d, Conv2d, DeepNetwork, Dense, Diagonal, Residual, Shared
from .networks import Network
from .proof import prove, prove_limit
from .saddles import saddle_to_saddle
from .sweeps import sweep

if TYPE_CHECKING:
    from .estimators import ReluFlowClassifier as ReluFlowClassifier
    from .estimators import ReluFlowRegressor as ReluFlowRegressor

__all__ = [
    "BranchingError",
    "Conv1d",
    "Conv2d",
    "Dataset",
    "DeepNetwork",
    "Dense",
    "Diagonal",
    "Network",
    "Residual",
    "Shared",
    "Solution",
    "Stop",
    "__version__",
    "analysis",
    "certify",
    "conditions",
    "convex",
    "datasets",
    "descend",
    "descent",
    "early",
    "early_alignment",
    "figures",
    "flow",
    "integrate",
    "integrate_many",
    "layered",
    "limits",
    "load",
    "networks",
    "papers",
    "proof",
    "prove",
    "prove_limit",
    "saddle_to_saddle",
    "saddles",
    "sweep",
    "sweeps",
]

_HOMES = {
    "flow": "EVENT_KINDS Branching BranchingTable Event EventTable ManyProgress MultiClassSolution Progress Run Runs "
    "Settings TwoLayerSolution",
    "convex": "Certificate MultiClassCertificate",
    "datasets": "MultiClassDataset",
    "descent": "DescentResult",
    "early": "EarlyAlignment Visit",
    "limits": "Limit Residuals",
    "networks": "MultiClassNetwork",
}
_find_renamed = renamed(__name__, {name: f"{home}.{name}" for home, names in _HOMES.items() for name in names.split()})
# Classes of scikit-learn's kind: importing them imports it, so they are not in __all__ either.
_ESTIMATORS = ("ReluFlowClassifier", "ReluFlowRegressor")


def __getattr__(name: str) -> object:
    return getattr(import_module(".estimators", __name__), name) if name in _ESTIMATORS else _find_renamed(name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_ESTIMATORS})
