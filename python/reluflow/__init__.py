"""reluflow: the exact subgradient flow of two-layer ReLU networks."""

from __future__ import annotations

from . import datasets
from .datasets import Dataset
from .networks import Network

__all__ = ["Dataset", "Network", "datasets"]
