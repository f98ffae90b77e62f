"""Pictures of the events: the raster of switches and the sector of every neuron through time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .._validation import IntArray, optional_module
from ._style import (
    BLACK,
    BLUE,
    GREEN,
    GREY,
    LINES,
    MAX_LOG_T,
    ORANGE,
    PALE,
    PURPLE,
    SKY,
    VERMILION,
    legend_below,
    time_axis,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..analysis import Raster, Timeline

# Colour, marker and size of each kind; the rare kinds are drawn last and largest.
KIND_LOOK: dict[str, tuple[str, str, float]] = {
    "cross_up": (SKY, "|", 9.0),
    "cross_down": (ORANGE, "|", 9.0),
    "release_up": (BLUE, "^", 9.0),
    "release_down": (VERMILION, "v", 9.0),
    "hold": (BLACK, "o", 6.0),
    "stop": (PURPLE, "X", 16.0),
    "start_up": (GREY, "^", 9.0),
    "start_down": (GREY, "v", 9.0),
    "start_hold": (GREY, "o", 6.0),
    "branch": (GREEN, "*", 30.0),
}
# Crossings up fill the upper half of a neuron's row, crossings down the lower half, so that none hides the other.
_OFFSET = {"cross_up": -0.23, "cross_down": 0.23}


def event_raster(raster: Raster, ax: Axes) -> Axes:
    """Draw every event: time along, one row a neuron, coloured by kind; `raster` comes from `analysis.raster`.

    Examples
    --------
    >>> import reluflow as rf
    >>> data = rf.datasets.wang_pilanci("obtuse")
    >>> sol = rf.integrate(data, rf.Network.init(10, 2, seed=1), until=1e4)
    >>> fig, ax = rf.figures.panels(1)
    >>> [text.get_text() for text in rf.figures.event_raster(rf.analysis.raster(sol), ax).get_legend().get_texts()]
    ['cross_down (3)', 'stop (2)']
    """
    x = time_axis(ax, raster.t, raster.log_t)
    height = _tick_points(raster.n_neurons, ax)
    for name, (colour, marker, size) in KIND_LOOK.items():
        mine = raster.kind == raster.kinds.index(name)
        if mine.any():
            crossing = marker == "|"
            ax.scatter(
                x[mine],
                raster.row[mine] + (_OFFSET[name] if crossing else 0.0),
                s=0.25 * height**2 if crossing else min(size, height**2),
                c=colour,
                marker=marker,
                linewidths=0.5 if crossing else 0.0,
                label=f"{name} ({int(mine.sum()):,})",
                rasterized=True,
            )
    if 0 < raster.n_positive < raster.n_neurons:
        ax.axhline(raster.n_positive - 0.5, color=GREY, linewidth=0.6)
    _neuron_axis(ax, raster.n_positive, raster.n_neurons)
    legend = legend_below(ax)
    for handle in legend.legend_handles:
        mark: Any = handle
        mark.set_sizes([18.0])
        mark.set_linewidths([1.2])
    return ax


def _tick_points(n_neurons: int, ax: Axes) -> float:
    """Height of a row in points, within the range that is seen and does not shout."""
    tall = float(ax.get_window_extent().height) * 72.0 / float(ax.figure.dpi)
    return float(np.clip(tall / max(n_neurons, 1), 0.8, 14.0))


def _neuron_axis(ax: Axes, n_positive: int, n_neurons: int) -> None:
    ax.set_ylim(n_neurons - 0.5, -0.5)
    ax.set_ylabel("neuron")
    ax.set_yticks([])
    side = ax.get_yaxis_transform()
    spans = ((0, n_positive, "$a_j>0$"), (n_positive, n_neurons, "$a_j<0$"))
    for first, last, text in spans:
        if last > first:
            middle = 0.5 * (first + last - 1)
            ax.text(1.01, middle, text, transform=side, rotation=90, va="center", ha="left", fontsize=7, color=GREY)


def sector_timeline(timeline: Timeline, ax: Axes) -> Axes:
    """Draw the sector of each neuron through time: a colour for each sector that gathers neurons, grey for the others.

    The sectors with colours are those with the longest stays that held at least two neurons at one time.

    Examples
    --------
    >>> import reluflow as rf
    >>> data = rf.datasets.wang_pilanci("obtuse")
    >>> sol = rf.integrate(data, rf.Network.init(10, 2, seed=1), until=1e4)
    >>> fig, ax = rf.figures.panels(1)
    >>> rf.figures.sector_timeline(rf.analysis.timeline(sol), ax).get_ylabel()
    'neuron'
    """
    colours = optional_module("matplotlib.colors", "viz")
    crowded = np.flatnonzero(timeline.peak[: 4 * len(LINES)] > 1)[: len(LINES)]
    index = np.full_like(timeline.sector, len(crowded))
    for k, sector in enumerate(crowded):
        index[timeline.sector == sector] = k
    palette = colours.ListedColormap([*LINES[: len(crowded)], PALE])
    x = time_axis(ax, np.exp(np.minimum(timeline.log_t, MAX_LOG_T)), timeline.log_t)
    rows = np.arange(index.shape[1])
    shown = index[:, timeline.order].T
    canvas: Any = ax  # matplotlib's types miss this form of pcolormesh
    canvas.pcolormesh(
        x, rows, shown, cmap=palette, vmin=-0.5, vmax=len(crowded) + 0.5, shading="nearest", rasterized=True
    )
    _neuron_axis(ax, timeline.n_positive, len(rows))
    _sector_legend(timeline, ax, crowded)
    return ax


def _sector_legend(timeline: Timeline, ax: Axes, crowded: IntArray) -> None:
    patches = optional_module("matplotlib.patches", "viz")
    handles = [
        patches.Patch(color=LINES[k], label=f"{timeline.peak[sector]} neurons at once")
        for k, sector in enumerate(crowded)
    ]
    handles.append(patches.Patch(color=PALE, label="other sectors"))
    legend_below(ax, handles)
