"""Legends that cover neither the data nor the labels of the axes, at any size of the figure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

from .._validation import optional_module

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.transforms import Bbox

# The mean width of a letter and the height of a row, in units of the font size.
_LETTER, _ROW = 0.56, 1.35
# Handle, gaps and half a column's space around the text of an entry, in the same units.
_AROUND = 4.2
# Sizes are guessed before the figure is laid out: an inner legend wants this much more room than it needs.
_CARE = 1.2
_INSET = 0.02  # of the axes, between an inner legend and the frame
_CORNERS = {"upper right": (1, 1), "upper left": (0, 1), "lower right": (1, 0), "lower left": (0, 0)}


def add_legend(ax: Axes, handles: list[Any] | None = None, *, title: str = "", below: bool = False) -> Any:
    """Put a legend into a corner of the axes that is free, and below the axes if none is.

    Parameters
    ----------
    ax : Axes
        With everything drawn.
    handles : list, optional
        What to explain; all that have a label without it.
    title : str, optional
    below : bool, optional
        Below the axes in any case, for pictures that fill them.
    """
    found = ax.get_legend_handles_labels()[0] if handles is None else handles
    entries = [_length(str(handle.get_label())) for handle in found] or [0.0]
    canvas: Any = ax  # matplotlib's types want a literal place
    width, height = size_in_points(ax)
    font = _font_size(ax)
    entry = (max(entries) + _AROUND) * font
    corner = None if below else _free_corner(ax, entry / width, (len(found) + bool(title) + 0.8) * _ROW * font / height)
    if corner is not None:
        return canvas.legend(handles=found, loc=corner, title=title or None)
    _let_layout_make_room(ax)
    return canvas.legend(
        handles=found,
        title=title or None,
        loc="upper center",
        bbox_to_anchor=(0.5, 0.0),
        bbox_transform=_under_the_labels(ax),
        borderaxespad=0.0,
        columnspacing=0.6,
        handlelength=1.6,
        borderpad=0.2,
        handletextpad=0.3,
        ncols=int(np.clip((width + 2.0 * font) // entry, 1, len(found) or 1)),
    )


def _length(label: str) -> float:
    """Width of a label in units of the font size; a command of TeX is one letter."""
    return _LETTER * len(re.sub(r"[${}^_,!\\ ]", "", re.sub(r"\\[a-zA-Z]+", "x", label)) + " " * label.count(" "))


def _font_size(ax: Axes) -> float:
    matplotlib = optional_module("matplotlib", "viz")
    fonts = optional_module("matplotlib.font_manager", "viz")
    return float(fonts.FontProperties(size=matplotlib.rcParams["legend.fontsize"]).get_size_in_points())


def size_in_points(ax: Axes) -> tuple[float, float]:
    """Width and height of the axes in points, as far as they are known before the layout."""
    scale = 72.0 / float(ax.figure.dpi)
    box = ax.get_window_extent()
    return max(float(box.width) * scale, 1.0), max(float(box.height) * scale, 1.0)


def _free_corner(ax: Axes, width: float, height: float) -> str | None:
    """Return the first corner whose box of this size, in parts of the axes, holds no data; None if there is none."""
    transforms = optional_module("matplotlib.transforms", "viz")
    wide, tall = _CARE * width + 2 * _INSET, _CARE * height + 2 * _INSET
    if wide > 0.6 or tall > 0.6:
        return None
    ax.get_xlim(), ax.get_ylim()  # asking for them settles the limits that follow the data
    for name, (right, top) in _CORNERS.items():
        box = transforms.Bbox.from_bounds(right * (1 - wide), top * (1 - tall), wide, tall)
        if not _holds_data(ax, box):
            return name
    return None


def _holds_data(ax: Axes, box: Bbox) -> bool:
    to_axes = ax.transAxes.inverted()
    lines = (line.get_transform().transform_path(line.get_path()) for line in ax.lines)
    bars = (patch.get_transform().transform_path(patch.get_path()) for patch in ax.patches)
    if any(path.transformed(to_axes).intersects_bbox(box, filled=False) for path in lines):
        return True
    if any(path.transformed(to_axes).intersects_bbox(box, filled=True) for path in bars):
        return True
    for dots in ax.collections:
        points = to_axes.transform(dots.get_offset_transform().transform(np.ma.getdata(dots.get_offsets())))
        if ((points >= box.min) & (points <= box.max)).all(axis=1).any():
            return True
    return False


def _under_the_labels(ax: Axes) -> Any:
    """Return the axes moved down by the height of its tick labels and its label, in points: right at any size."""
    transforms = optional_module("matplotlib.transforms", "viz")
    ticks = ax.xaxis.get_ticklabels()
    tick = float(ticks[0].get_fontsize()) if ticks else 0.0
    label = float(ax.xaxis.label.get_fontsize()) if ax.get_xlabel() else 0.0
    drop = 3.5 + _ROW * tick + (float(ax.xaxis.labelpad) + _ROW * label if label else 0.0) + 5.0
    figure: Any = ax.figure
    return ax.transAxes + transforms.ScaledTranslation(0.0, -drop / 72.0, figure.dpi_scale_trans)


def _let_layout_make_room(ax: Axes) -> None:
    """Turn on constrained layout where the figure has no layout of its own, so that the legend stays on the page."""
    rc = optional_module("matplotlib", "viz").rcParams
    figure: Any = ax.figure
    figure = figure.figure  # of a part of a figure, the whole one
    untouched = all(
        getattr(figure.subplotpars, side) == rc[f"figure.subplot.{side}"] for side in ("left", "right", "bottom", "top")
    )
    if figure.get_layout_engine() is None and untouched and ax.get_subplotspec() is not None:
        figure.set_layout_engine("constrained")
