"""Layered networks: deep, linear, diagonal, convolutional and residual, with their exact subgradient flow."""

from __future__ import annotations

from ._convolutions import Conv1d, Conv2d
from ._descent import DeepDescentResult
from ._events import LAYERED_KINDS, LayeredEvent, LayeredEventTable
from ._graph import Edge, Node
from ._layers import Dense, Diagonal, Layer, Residual, Shared
from ._limit import LayeredLimit
from ._network import DeepNetwork, LayerView
from ._problem import LAYERED_LOSSES
from ._solution import DeepSolution, LayeredBranching

__all__ = [
    "LAYERED_KINDS",
    "LAYERED_LOSSES",
    "Conv1d",
    "Conv2d",
    "DeepDescentResult",
    "DeepNetwork",
    "DeepSolution",
    "Dense",
    "Diagonal",
    "Edge",
    "Layer",
    "LayerView",
    "LayeredBranching",
    "LayeredEvent",
    "LayeredEventTable",
    "LayeredLimit",
    "Node",
    "Residual",
    "Shared",
]
