"""Sweeps: one run for each point of a grid of parameters, on one machine or many, kept as they end."""

from __future__ import annotations

from ._measures import MEASURES, MEASURES_OF_OUTPUTS
from ._progress import SweepProgress
from ._sweep import sweep

__all__ = ["MEASURES", "MEASURES_OF_OUTPUTS", "SweepProgress", "sweep"]
