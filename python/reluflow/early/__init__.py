"""The first phase from a vanishing start: where each neuron's direction goes before any of them is large."""

from __future__ import annotations

from ._alignment import EarlyAlignment, Visit, early_alignment
from ._outputs import OutputAlignment

__all__ = ["EarlyAlignment", "OutputAlignment", "Visit", "early_alignment"]
