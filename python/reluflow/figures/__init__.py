"""Figures: each takes a result of `reluflow.analysis` and an Axes, draws, and returns the Axes.

Without an Axes a figure of pyplot is made, one column of a paper wide. Keywords that a figure does not name go to
matplotlib (`linewidth=2`, `color="black"`, ...) and win over the house style.

Nothing is computed here. matplotlib is needed when a figure is drawn (extra ``viz``), not on import.
"""

from __future__ import annotations

from ._curves import loss, margin, margins, norm_growth, norms
from ._directions import direction_disc, direction_polar, direction_sphere, neuron_plane
from ._events import event_raster, sector_timeline
from ._film import animate_directions
from ._fits import errors, fit, held_out
from ._layers import layer_raster, layer_singular_values, layer_timeline, row_plane
from ._neuron_curves import (
    alignment,
    correlation_histogram,
    counts,
    gathering,
    singular_value_paths,
    singular_values,
)
from ._plane import decision, polar_set, rectified_ellipsoid, weight_plane
from ._saddles import grown, staircase
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
    "errors",
    "event_raster",
    "fit",
    "gathering",
    "grown",
    "held_out",
    "layer_raster",
    "layer_singular_values",
    "layer_timeline",
    "loss",
    "margin",
    "margins",
    "neuron_plane",
    "norm_growth",
    "norms",
    "panels",
    "polar_set",
    "rectified_ellipsoid",
    "row_plane",
    "sector_timeline",
    "singular_value_paths",
    "singular_values",
    "staircase",
    "style",
    "weight_plane",
]
