"""Figures: each takes a result of `reluflow.analysis` and an Axes, draws, and returns the Axes.

Nothing is computed here. matplotlib is needed when a figure is drawn (extra ``viz``), not on import.
"""

from __future__ import annotations

from ._curves import (
    alignment,
    correlation_histogram,
    counts,
    gathering,
    loss,
    margin,
    margins,
    norm_growth,
    norms,
    singular_value_paths,
    singular_values,
)
from ._directions import animate_directions, direction_disc, direction_polar, direction_sphere, neuron_plane
from ._events import event_raster, sector_timeline
from ._plane import decision, polar_set, rectified_ellipsoid, weight_plane
from ._style import panels, style

__all__ = [
    "alignment",
    "animate_directions",
    "correlation_histogram",
    "counts",
    "decision",
    "direction_disc",
    "direction_polar",
    "direction_sphere",
    "event_raster",
    "gathering",
    "loss",
    "margin",
    "margins",
    "neuron_plane",
    "norm_growth",
    "norms",
    "panels",
    "polar_set",
    "rectified_ellipsoid",
    "sector_timeline",
    "singular_value_paths",
    "singular_values",
    "style",
    "weight_plane",
]
