"""The mark of each kind of event, the same in every picture, and rows of bands of colour through time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .._palette import KIND_COLOURS
from .._validation import FloatArray, IntArray, invalid
from ..analysis import EventMarks
from ._legend import add_legend
from ._style import MAX_LOG_T, time_axis

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Marker and size of each kind; the rare kinds are drawn last and largest.
_SHAPES: dict[str, tuple[str, float]] = {
    "cross_up": ("|", 9.0),
    "cross_down": ("|", 9.0),
    "leave_up": ("^", 9.0),
    "leave_down": ("v", 9.0),
    "slide": ("o", 6.0),
    "die": ("X", 16.0),
    "start_up": ("^", 9.0),
    "start_down": ("v", 9.0),
    "start_slide": ("o", 6.0),
    "branch": ("*", 30.0),
}
KIND_LOOK = {kind: (KIND_COLOURS[kind], *shape) for kind, shape in _SHAPES.items()}
_HALF_BAND = 0.1  # of the time
# Among paths a tick is lost: crossings are small triangles there.
_AMONG_PATHS = {"cross_up": "2", "cross_down": "1"}


def check_marks(events: EventMarks | None) -> None:
    """Refuse events that carry no directions."""
    if events is not None and not isinstance(events, EventMarks):
        raise invalid("events", "be what analysis.event_marks returns", f"a value of type {type(events).__name__}")


def draw_in_rows(ax: Axes, x: FloatArray, rows: FloatArray, log_t: FloatArray, look: dict[str, Any]) -> None:
    """Draw marks at times in their rows; those of t = 0, which a log axis has no place for, whole at its left edge."""
    at_start = np.isneginf(log_t)
    if not at_start.all():
        ax.scatter(x[~at_start], rows[~at_start], **look)
    if at_start.any():
        once = look if at_start.all() else {**look, "label": "_start"}  # the legend has one entry for both
        edge: dict[str, Any] = {"transform": ax.get_yaxis_transform(), "clip_on": False}
        above_the_frame = {"zorder": 3.0}
        ax.scatter(np.zeros(int(at_start.sum())), rows[at_start], **{**above_the_frame, **once, **edge})


def draw_bands(ax: Axes, log_t: FloatArray, index: IntArray, look: dict[str, Any]) -> None:
    """Draw rows of numbers, shape (rows, k), through time, each number from 0 in its colour of the map in `look`."""
    x, rows = time_axis(ax, np.exp(np.minimum(log_t, MAX_LOG_T)), log_t), np.arange(float(len(index)))
    if len(rows) == 1:  # heights are taken from the distance of rows: one alone is drawn as two halves
        rows, index = np.array([-0.25, 0.25]), np.vstack((index, index))
    if len(x) == 1:  # one time alone is a band around it
        x, index = x[0] + _HALF_BAND * (abs(x[0]) or 1.0) * np.array([-1.0, 1.0]), np.repeat(index, 2, axis=1)
    canvas: Any = ax  # matplotlib's types miss this form of pcolormesh
    canvas.pcolormesh(x, rows, index, **{"vmin": -0.5, "shading": "nearest", "rasterized": True, **look})


def mark_events(ax: Axes, events: EventMarks, places: FloatArray) -> None:
    """Draw the events at these places, shape (E, 2) or (E, 3), and explain the marks below the axes."""
    canvas: Any = ax
    handles = []
    for kind, (colour, marker, size) in KIND_LOOK.items():
        mine = events.kind == events.kinds.index(kind)
        if mine.any():
            handles.append(
                canvas.scatter(
                    *np.ma.masked_invalid(places[mine]).T,
                    s=1.6 * size,
                    c=colour,
                    marker=_AMONG_PATHS.get(kind, marker),
                    linewidths=0.8 if kind in _AMONG_PATHS else 0.3,
                    edgecolors=None if kind in _AMONG_PATHS else "white",
                    zorder=8,
                    label=kind,
                    clip_on=False,
                )
            )
    if handles:
        add_legend(ax, handles, below=True)
