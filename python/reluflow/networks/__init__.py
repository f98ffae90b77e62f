"""Two-layer networks as immutable values: `Network`, and `MultiClassNetwork`, one of them for each class."""

from __future__ import annotations

from ._multiclass import MultiClassNetwork
from ._network import Network

__all__ = ["MultiClassNetwork", "Network"]
