"""Pictures of the events: the raster of switches and the sector of every neuron through time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .._validation import IntArray, optional_module
from ..analysis import Raster, Timeline
from ._axes import begin, figure
from ._legend import add_legend, size_in_points
from ._marks import KIND_LOOK, draw_bands, draw_in_rows
from ._style import GREY, LINES, PALE, time_axis

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Crossings up fill the upper half of a neuron's row, crossings down the lower half, so that none hides the other.
_OFFSET = {"cross_up": -0.23, "cross_down": 0.23}
_SMALL_FONT = 6.0  # points, for the numbers of rows where the axis has no tick to take it from


@figure
def event_raster(raster: Raster, ax: Axes | None = None, **keywords: Any) -> Axes:
    """Draw every event: time along, one row a neuron, coloured by kind; `raster` comes from `analysis.raster`.

    The numbers of the neurons stand beside their rows, of every second, third, ... row where there is no room for all.
    Events at t = 0, which has no place on a log axis, stand at its left edge. Keywords are passed to
    `matplotlib.axes.Axes.scatter`.

    Examples
    --------
    >>> import reluflow as rf
    >>> data = rf.datasets.wang_pilanci("obtuse")
    >>> sol = rf.integrate(data, rf.Network.init(10, 2, seed=1), until=1e4)
    >>> fig, ax = rf.figures.panels(1)
    >>> [text.get_text() for text in rf.figures.event_raster(rf.analysis.raster(sol), ax).get_legend().get_texts()]
    ['cross_down (3)', 'die (2)']
    """
    ax = begin(raster, ax, name="raster", source="analysis.raster", fits=Raster)
    x = time_axis(ax, raster.t, raster.log_t)
    height = _tick_points(raster.n_neurons, ax)
    for name, (colour, marker, size) in KIND_LOOK.items():
        mine = raster.kind == raster.kinds.index(name)
        if mine.any():
            crossing = marker == "|"
            house: dict[str, Any] = {
                "s": 0.25 * height**2 if crossing else min(size, height**2),
                "c": colour,
                "marker": marker,
                "linewidths": 0.5 if crossing else 0.0,
                "label": f"{name} ({int(mine.sum()):,})",
                "rasterized": True,
            }
            rows = raster.row[mine] + (_OFFSET[name] if crossing else 0.0)
            draw_in_rows(ax, x[mine], rows, raster.log_t[mine], {**house, **keywords})
    if raster.n_positive is not None and 0 < raster.n_positive < raster.n_neurons:
        ax.axhline(raster.n_positive - 0.5, color=GREY, linewidth=0.6)
    _neuron_axis(ax, raster.n_positive, raster.order)
    if np.isneginf(raster.log_t).any():
        ax.tick_params(axis="y", pad=4.0)  # room for half a mark on the axis
    legend = add_legend(ax, below=True)
    for handle in legend.legend_handles:
        mark: Any = handle
        mark.set_sizes([18.0])
        mark.set_linewidths([1.2])
    return ax


def _tick_points(n_neurons: int, ax: Axes) -> float:
    """Height of a row in points, within the range that is seen and does not shout."""
    return float(np.clip(size_in_points(ax)[1] / max(n_neurons, 1), 0.8, 14.0))


def _neuron_axis(ax: Axes, n_positive: int | None, order: IntArray) -> None:
    """Write the numbers of the neurons beside their rows, as many as have room, and the signs of a_j at the right."""
    n_neurons = len(order)
    ax.set_ylim(n_neurons - 0.5, -0.5)
    ax.set_ylabel("neuron")
    labels = ax.yaxis.get_ticklabels()
    font = 0.8 * float(labels[0].get_fontsize()) if labels else _SMALL_FONT
    every = max(int(np.ceil(1.3 * font * n_neurons / size_in_points(ax)[1])), 1)
    ax.set_yticks(np.arange(0, n_neurons, every), [str(j) for j in order[::every]], fontsize=font)
    ax.tick_params(axis="y", length=0.0, pad=1.5)
    if n_positive is None:  # several outputs have no sign
        return
    side = ax.get_yaxis_transform()
    spans = ((0, n_positive, "$a_j>0$"), (n_positive, n_neurons, "$a_j<0$"))
    for first, last, text in spans:
        if last > first:
            middle = 0.5 * (first + last - 1)
            ax.text(
                1.01, middle, text, transform=side, rotation=90, va="center", ha="left", fontsize="small", color=GREY
            )


@figure
def sector_timeline(timeline: Timeline, ax: Axes | None = None, **keywords: Any) -> Axes:
    """Draw the sector of each neuron through time: a colour for each sector that gathers neurons, grey for the others.

    The sectors with colours are those with the longest stays that held at least two neurons at one time. Keywords are
    passed to `matplotlib.axes.Axes.pcolormesh`.

    Examples
    --------
    >>> import reluflow as rf
    >>> data = rf.datasets.wang_pilanci("obtuse")
    >>> sol = rf.integrate(data, rf.Network.init(10, 2, seed=1), until=1e4)
    >>> fig, ax = rf.figures.panels(1)
    >>> rf.figures.sector_timeline(rf.analysis.timeline(sol), ax).get_ylabel()
    'neuron'
    """
    ax = begin(timeline, ax, name="timeline", source="analysis.timeline", fits=Timeline)
    colours = optional_module("matplotlib.colors", "viz")
    crowded = np.flatnonzero(timeline.peak[: 4 * len(LINES)] > 1)[: len(LINES)]
    index = np.full_like(timeline.sector, len(crowded))
    for k, sector in enumerate(crowded):
        index[timeline.sector == sector] = k
    palette = colours.ListedColormap([*LINES[: len(crowded)], PALE])
    draw_bands(
        ax, timeline.log_t, index[:, timeline.order].T, {"cmap": palette, "vmax": len(crowded) + 0.5, **keywords}
    )
    _neuron_axis(ax, timeline.n_positive, timeline.order)
    _sector_legend(timeline, ax, crowded)
    return ax


def _sector_legend(timeline: Timeline, ax: Axes, crowded: IntArray) -> None:
    patches = optional_module("matplotlib.patches", "viz")
    handles = [patches.Patch(color=LINES[k], label=f"{timeline.peak[sector]}") for k, sector in enumerate(crowded)]
    handles.append(patches.Patch(color=PALE, label="other"))
    add_legend(ax, handles, title="most neurons in it at once", below=True)
