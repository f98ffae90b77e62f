"""What the papers plot: quantities along a run, sectors and groups, alignment, limits and their certificates.

Functions take a `reluflow.Solution`, or the `States` that `states` collects once for several of them.
"""

from __future__ import annotations

from .._renamed import renamed
from ._alignment import alignment, alignment_bound, alignment_times, limit_time
from ._comparison import compare_with_descent, relative_error, suggest_steps
from ._dataset import to_xarray
from ._directions import Directions, angles_to_group, directions
from ._event_marks import EventMarks, event_marks, last_changes
from ._extremal import ExtremalDirection, early_objective, extremal_directions, extremal_from
from ._fit import FitCurves, fit_curves
from ._heldout import errors, losses
from ._kkt import kkt_residuals
from ._layer_timeline import LayerTimeline, layer_timeline
from ._layered_states import LayeredStates
from ._layers import LayerRaster, LayerSpectra, RowPlane, layer_raster, layer_singular_values, row_plane
from ._output_states import OutputStates
from ._plane import (
    DecisionPlane,
    PlaneSectors,
    WeightPlane,
    decision_plane,
    plane_sectors,
    weight_plane,
)
from ._rectified import RectifiedEllipsoid, rectified_ellipsoid, rectified_paths
from ._sectors import groups, sector_ids, sectors
from ._series import margins, series
from ._shape import (
    Embedding,
    LinearDistance,
    correlations,
    distance_to_linear,
    embedding_error,
    shape,
    singular_values,
)
from ._states import States, state_of, states
from ._summary import Summary, summarise
from ._tail import TailFit, tail_fit
from ._tangent import kernel_distance, pattern_distance, tangent_kernel
from ._timeline import Raster, Timeline, raster, timeline
from ._times import ends, sample, snapshots

__all__ = [
    "DecisionPlane",
    "Directions",
    "Embedding",
    "EventMarks",
    "ExtremalDirection",
    "FitCurves",
    "LayerRaster",
    "LayerSpectra",
    "LayerTimeline",
    "LayeredStates",
    "LinearDistance",
    "OutputStates",
    "PlaneSectors",
    "Raster",
    "RectifiedEllipsoid",
    "RowPlane",
    "States",
    "Summary",
    "TailFit",
    "Timeline",
    "WeightPlane",
    "alignment",
    "alignment_bound",
    "alignment_times",
    "angles_to_group",
    "compare_with_descent",
    "correlations",
    "decision_plane",
    "directions",
    "distance_to_linear",
    "early_objective",
    "embedding_error",
    "ends",
    "errors",
    "event_marks",
    "extremal_directions",
    "extremal_from",
    "fit_curves",
    "groups",
    "kernel_distance",
    "kkt_residuals",
    "last_changes",
    "layer_raster",
    "layer_singular_values",
    "layer_timeline",
    "limit_time",
    "losses",
    "margins",
    "pattern_distance",
    "plane_sectors",
    "raster",
    "rectified_ellipsoid",
    "rectified_paths",
    "relative_error",
    "row_plane",
    "sample",
    "sector_ids",
    "sectors",
    "series",
    "shape",
    "singular_values",
    "snapshots",
    "state_of",
    "states",
    "suggest_steps",
    "summarise",
    "tail_fit",
    "tangent_kernel",
    "timeline",
    "to_xarray",
    "weight_plane",
]

__getattr__ = renamed(__name__, {"summary": "analysis.summarise"})
