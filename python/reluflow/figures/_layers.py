"""Pictures of layered networks: singular values by layer, rows in a plane, events by layer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .._palette import KIND_COLOURS
from .._validation import IntArray, integer, invalid, optional_module
from ..analysis import LayerRaster, LayerSpectra, LayerTimeline, RowPlane
from ._axes import begin, curve, figure, look, position
from ._legend import add_legend
from ._marks import draw_bands, draw_in_rows
from ._style import GREY, LINES, PALE, time_axis

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Colour, marker and size of each kind of event; the names are those of layered runs.
_LOOK: dict[str, tuple[str, str, float]] = {
    "cross_up": (KIND_COLOURS["cross_up"], "|", 9.0),
    "cross_down": (KIND_COLOURS["cross_down"], "|", 9.0),
    "slide": (KIND_COLOURS["slide"], "o", 6.0),
    "leave_up": (KIND_COLOURS["leave_up"], "^", 9.0),
    "leave_down": (KIND_COLOURS["leave_down"], "v", 9.0),
    "wake_up": (KIND_COLOURS["wake_up"], "^", 9.0),
    "wake_down": (KIND_COLOURS["wake_down"], "v", 9.0),
    "void": (KIND_COLOURS["void"], "x", 9.0),
    "start_up": (KIND_COLOURS["start_up"], "2", 12.0),
    "start_down": (KIND_COLOURS["start_down"], "1", 12.0),
    "start_slide": (KIND_COLOURS["start_slide"], "s", 6.0),
    "branch": (KIND_COLOURS["branch"], "*", 30.0),
}
_SECTORS = LINES[:-1]  # without black, which beside the grey of units that are off would be taken for none
_FADE = 0.55  # each further singular value of a layer is this much paler
# Powers of ten from which on an axis has the power beside it: labels as long as -0.0004 lie over each other.
_LONG = (-2, 3)


@figure
def layer_singular_values(spectra: LayerSpectra, ax: Axes | None = None, *, n_values: int = 3, **keywords: Any) -> Axes:
    """Draw the leading singular values of every layer against time, as in [PL] Figure 2.

    Parameters
    ----------
    spectra : LayerSpectra
        From `analysis.layer_singular_values`.
    ax : Axes, optional
    n_values : int, optional
        How many of each layer; each further one is paler.
    **keywords
        Passed to `matplotlib.axes.Axes.plot`.

    Examples
    --------
    >>> import reluflow as rf
    >>> data = rf.datasets.wang_pilanci("obtuse")
    >>> net = rf.DeepNetwork.init([rf.Dense(4), rf.Dense(3), rf.Dense(1)], dim=2, seed=1)
    >>> sol = rf.integrate(data, net, until=1.0)
    >>> fig, ax = rf.figures.panels(1)
    >>> rf.figures.layer_singular_values(rf.analysis.layer_singular_values(sol), ax).get_ylabel()
    'singular values'
    """
    ax = begin(spectra, ax, name="spectra", source="analysis.layer_singular_values", fits=LayerSpectra)
    shown = integer(n_values, "n_values")
    x = time_axis(ax, spectra.t, spectra.log_t)
    for layer, values in enumerate(spectra.values):
        colour = LINES[layer % len(LINES)]
        for rank in range(min(shown, values.shape[1])):
            (line,) = curve(ax, x, values[:, rank], keywords, color=colour, alpha=_FADE**rank, linewidth=1.0)
            if rank == 0:
                line.set_label(f"$W_{{{layer + 1}}}$")
    ax.set_yscale("log")
    ax.set_ylabel("singular values")
    add_legend(ax)
    return ax


@figure
def row_plane(plane: RowPlane, ax: Axes | None = None, *, at: int = -1, **keywords: Any) -> Axes:
    """Draw the rows of a layer in their plane at one kept state, with their paths to it; [PL] Figure 2.

    Parameters
    ----------
    plane : RowPlane
        From `analysis.row_plane`.
    ax : Axes, optional
    at : int, optional
        Which of the kept states; by default the last.
    **keywords
        Passed to `matplotlib.axes.Axes.plot`, for the points.

    Examples
    --------
    >>> import reluflow as rf
    >>> data = rf.datasets.wang_pilanci("obtuse")
    >>> net = rf.DeepNetwork.init([rf.Dense(4), rf.Dense(3), rf.Dense(1)], dim=2, seed=1)
    >>> sol = rf.integrate(data, net, until=1.0)
    >>> fig, ax = rf.figures.panels(1)
    >>> rf.figures.row_plane(rf.analysis.row_plane(sol), ax).get_title()
    'rows of $W_{1}$'
    """
    ax = begin(plane, ax, name="plane", source="analysis.row_plane", fits=RowPlane)
    end = position(at, "at", len(plane.t), "a kept state")
    for path in np.swapaxes(plane.rows[: end + 1], 0, 1):
        ax.plot(*path.T, color=GREY, linewidth=0.5, alpha=0.6)
    house = look(keywords, linestyle="none", marker="o", markersize=3.5, color=LINES[0], zorder=3)
    ax.plot(*plane.rows[end].T, **house)
    ax.set_aspect("equal", adjustable="datalim")
    ax.ticklabel_format(scilimits=_LONG)
    ax.set_title(f"rows of $W_{{{plane.layer}}}$")
    ax.set_xlabel("first right singular vector")
    ax.set_ylabel("second right singular vector")
    return ax


@figure
def layer_raster(raster: LayerRaster, ax: Axes | None = None, **keywords: Any) -> Axes:
    """Draw every event of a layered run: time along, one row a unit, layer below layer, coloured by kind.

    Events at t = 0, which has no place on a log axis, stand at its left edge. Keywords are passed to
    `matplotlib.axes.Axes.scatter`.

    Examples
    --------
    >>> import reluflow as rf
    >>> data = rf.datasets.wang_pilanci("obtuse")
    >>> net = rf.DeepNetwork.init([rf.Dense(4), rf.Dense(3), rf.Dense(1)], dim=2, seed=1)
    >>> sol = rf.integrate(data, net, until=1.0)
    >>> fig, ax = rf.figures.panels(1)
    >>> rf.figures.layer_raster(rf.analysis.layer_raster(sol), ax).get_ylabel()
    'unit, by layer'
    """
    ax = begin(raster, ax, name="raster", source="analysis.layer_raster", fits=LayerRaster)
    x = time_axis(ax, raster.t, raster.log_t)
    for name, (colour, marker, size) in _LOOK.items():
        mine = raster.kind == raster.kinds.index(name)
        if mine.any():
            label = f"{name} ({int(mine.sum()):,})"
            house: dict[str, Any] = {"s": size, "c": colour, "marker": marker, "linewidths": 0.6, "label": label}
            house["rasterized"] = True
            draw_in_rows(ax, x[mine], raster.row[mine], raster.log_t[mine], {**house, **keywords})
    _layer_axis(ax, range(1, len(raster.sizes) + 1), raster.sizes)
    if len(raster.t):
        add_legend(ax, below=True)
    return ax


def _layer_axis(ax: Axes, layers: Sequence[int], sizes: Sequence[int]) -> None:
    """Part the rows of the layers by lines, and write the number of each beside the middle of its rows."""
    last = np.cumsum(sizes)
    for border in last[:-1]:
        ax.axhline(float(border) - 0.5, color=GREY, linewidth=0.6)
    ax.set_ylim(float(last[-1]) - 0.5, -0.5)
    ax.set_yticks(last - 0.5 * np.array(sizes) - 0.5, [str(number) for number in layers])
    ax.tick_params(axis="y", length=0.0)
    ax.set_ylabel("unit, by layer")


@figure
def layer_timeline(timeline: LayerTimeline, ax: Axes | None = None, **keywords: Any) -> Axes:
    """Draw the sector of each unit of a layered run through time, one row a unit, layer below layer.

    In each layer the sectors with the longest stays that held at least two units at one time have the first colours,
    the same ones in every layer; units that are positive on no sample are dark, and what is left is pale. Keywords are
    passed to `matplotlib.axes.Axes.pcolormesh`.

    Raises
    ------
    ValueError
        `timeline` is not what `analysis.layer_timeline` returns, or all its layers are linear.

    Examples
    --------
    >>> import reluflow as rf
    >>> data = rf.datasets.wang_pilanci("obtuse")
    >>> net = rf.DeepNetwork.init([rf.Dense(4), rf.Dense(3), rf.Dense(1)], dim=2, seed=1)
    >>> sol = rf.integrate(data, net, until=1.0)
    >>> fig, ax = rf.figures.panels(1)
    >>> rf.figures.layer_timeline(rf.analysis.layer_timeline(sol), ax).get_ylabel()
    'unit, by layer'
    """
    if isinstance(timeline, LayerTimeline) and not timeline.layers:
        raise invalid("timeline", "be of a network with a layer that is not linear", "linear layers only")
    ax = begin(timeline, ax, name="timeline", source="analysis.layer_timeline", fits=LayerTimeline)
    colours, patches = (optional_module(f"matplotlib.{name}", "viz") for name in ("colors", "patches"))
    palette = colours.ListedColormap([*_SECTORS, GREY, PALE])
    index = np.vstack([_colours_of(timeline, k) for k in range(len(timeline.layers))])
    draw_bands(ax, timeline.log_t, index, {"cmap": palette, "vmax": len(_SECTORS) + 1.5, **keywords})
    _layer_axis(ax, timeline.layers, [len(order) for order in timeline.order])
    others = ((GREY, "positive on no sample"), (PALE, "other sectors"))
    there = [other for place, other in enumerate(others, start=len(_SECTORS)) if (index == place).any()]
    if there:
        add_legend(ax, [patches.Patch(color=colour, label=name) for colour, name in there], below=True)
    return ax


def _colours_of(timeline: LayerTimeline, k: int) -> IntArray:
    """Return the colours of the units of one layer, shape (size, number of times), as places in the map."""
    sector, is_off = timeline.sector[k], timeline.is_off[k]
    off = {int(number) for number in np.unique(sector[is_off])}
    crowded = [number for number in np.flatnonzero(timeline.peak[k] > 1).tolist() if number not in off]
    index = np.full_like(sector, len(_SECTORS) + 1)
    for place, number in enumerate(crowded[: len(_SECTORS)]):
        index[sector == number] = place
    index[is_off] = len(_SECTORS)
    return np.asarray(index[:, timeline.order[k]].T)
