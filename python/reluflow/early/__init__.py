"""The first phase from a vanishing start: where each neuron's direction goes before any of them is large."""

from __future__ import annotations

from ._alignment import EarlyAlignment, Visit, early_alignment

__all__ = ["EarlyAlignment", "Visit", "early_alignment"]
