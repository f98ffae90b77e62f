"""Directions of the neurons: in a disc, on a sphere, on a polar time axis."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .._validation import FloatArray, invalid
from ..analysis import Directions, EventMarks
from ._axes import begin, figure, look, position
from ._legend import add_legend
from ._marks import check_marks, mark_events
from ._style import GREY, PALE, sign_colour, square_frame, time_text

if TYPE_CHECKING:
    import numpy.typing as npt
    from matplotlib.axes import Axes

# Marker areas in points²: a neuron without weight is still seen, the heaviest is a clear dot.
_SMALL, _LARGE = 5.0, 34.0


@figure
def direction_disc(
    directions: Directions,
    ax: Axes | None = None,
    *,
    index: int | None = None,
    events: EventMarks | None = None,
    **keywords: Any,
) -> Axes:
    """Draw the unit directions of the neurons in two dimensions, with their paths or at one time.

    Parameters
    ----------
    directions : Directions
        From `analysis.directions`.
    ax : Axes, optional
    index : int, optional
        Number of one time; without it the paths over all times and the last place.
    events : EventMarks, optional
        From `analysis.event_marks`: a mark where a neuron points at each of its events.
    **keywords
        Passed to `matplotlib.axes.Axes.plot` for the paths.

    Notes
    -----
    A direction outside the plane is drawn inside the circle: neurons on the rim lie in the plane.

    Examples
    --------
    >>> import reluflow as rf
    >>> data = rf.datasets.wang_pilanci("obtuse")
    >>> sol = rf.integrate(data, rf.Network.init(10, 2, seed=1), until=1e4)
    >>> fig, ax = rf.figures.panels(1)
    >>> seen = rf.analysis.directions(rf.analysis.ends(sol))
    >>> rf.figures.direction_disc(seen, ax, index=0).get_title()
    '$t = 0$'
    """
    ax = begin(directions, ax, name="directions", source="analysis.directions", fits=Directions)
    check_marks(events)
    last = position(-1 if index is None else index, "index", len(directions.t), "a time")
    draw_rim(ax)
    if index is None:
        _trails(directions, ax, keywords)
    draw_dots(ax, directions.coords[last], directions.sign, marker_areas(directions.size[last]))
    square_frame(ax, 1.12)
    if index is not None:
        ax.set_title(time_text(float(directions.t[last]), float(directions.log_t[last])))
    if events is not None:
        mark_events(ax, events, events.coords[:, :2])
    return ax


@figure
def neuron_plane(directions: Directions, ax: Axes | None = None, *, index: int = -1, **keywords: Any) -> Axes:
    """Draw the rows of W themselves on the two axes of `analysis.directions`, as in [PL] Figure 1b.

    Parameters
    ----------
    directions : Directions
        From `analysis.directions`: of more than two inputs on the two leading singular directions.
    ax : Axes, optional
    index : int, optional
        Number of one time; the last without it.
    **keywords
        Passed to `matplotlib.axes.Axes.scatter`.

    Examples
    --------
    >>> import reluflow as rf
    >>> data = rf.datasets.wang_pilanci("obtuse")
    >>> sol = rf.integrate(data, rf.Network.init(10, 2, seed=1), until=1e4)
    >>> fig, ax = rf.figures.panels(1)
    >>> len(rf.figures.neuron_plane(rf.analysis.directions(rf.analysis.ends(sol)), ax).collections)
    2
    """
    ax = begin(directions, ax, name="directions", source="analysis.directions", fits=Directions)
    time = position(index, "index", len(directions.t), "a time")
    for at_zero in (ax.axhline, ax.axvline):
        at_zero(0.0, color=PALE, linewidth=0.6, zorder=0)
    rows = directions.coords[time, :, :2] * directions.size[time][:, None]
    for side, text in ((1.0, "$a_j>0$"), (-1.0, "$a_j<0$")):
        mine = np.nan_to_num(rows[directions.sign == side])
        if len(mine):
            house = {"s": 14, "c": sign_colour(side), "edgecolors": "white", "linewidths": 0.3, "label": text}
            ax.scatter(mine[:, 0], mine[:, 1], **{**house, "zorder": 3, **keywords})
    ax.set_xlabel("first singular direction")
    ax.set_ylabel("second singular direction")
    add_legend(ax)
    return ax


def draw_rim(ax: Axes) -> None:
    angle = np.linspace(0.0, 2.0 * np.pi, 181)
    ax.plot(np.cos(angle), np.sin(angle), color=GREY, linewidth=0.6, zorder=1)
    ax.plot([-1, 1], [0, 0], color=PALE, linewidth=0.5, zorder=0)
    ax.plot([0, 0], [-1, 1], color=PALE, linewidth=0.5, zorder=0)


def _trails(directions: Directions, ax: Axes, keywords: dict[str, Any]) -> None:
    alpha = float(np.clip(15.0 / directions.coords.shape[1], 0.12, 0.9))
    for j, sign in enumerate(directions.sign):
        x, y = directions.coords[:, j, 0], directions.coords[:, j, 1]
        ax.plot(x, y, **look(keywords, color=sign_colour(sign), alpha=alpha, linewidth=0.7, zorder=2))
    ax.scatter(directions.coords[0, :, 0], directions.coords[0, :, 1], s=4, c=GREY, linewidths=0, zorder=3)


def marker_areas(size: FloatArray) -> FloatArray:
    share = size / max(float(size.max()), np.finfo(float).tiny)
    return _SMALL + (_LARGE - _SMALL) * share


def draw_dots(ax: Axes, points: FloatArray, sign: FloatArray, areas: FloatArray) -> Any:
    return ax.scatter(
        points[:, 0],
        points[:, 1],
        s=areas,
        c=[sign_colour(s) for s in sign],
        edgecolors="white",
        linewidths=0.4,
        zorder=4,
        alpha=0.85,
        clip_on=False,
    )


@figure
def direction_polar(
    directions: Directions, ax: Axes | None = None, *, events: EventMarks | None = None, **keywords: Any
) -> Axes:
    """Draw each neuron's angle against log time on polar axes: time runs outwards.

    Parameters
    ----------
    directions : Directions
        From `analysis.directions`.
    ax : Axes, optional
        With the projection "polar".
    events : EventMarks, optional
        From `analysis.event_marks`: a mark on the path of a neuron for each of its events.
    **keywords
        Passed to `matplotlib.axes.Axes.plot` for the paths.

    Examples
    --------
    >>> import reluflow as rf
    >>> data = rf.datasets.wang_pilanci("obtuse")
    >>> sol = rf.integrate(data, rf.Network.init(10, 2, seed=1), until=1e4)
    >>> fig, ax = rf.figures.panels(1, subplot_kw={"projection": "polar"})
    >>> rf.figures.direction_polar(rf.analysis.directions(sol), ax).name
    'polar'
    """
    ax = begin(directions, ax, name="directions", source="analysis.directions", fits=Directions, projection="polar")
    check_marks(events)
    seen, radius = _radii(directions.log_t)
    angle = np.unwrap(np.arctan2(directions.coords[seen, :, 1], directions.coords[seen, :, 0]), axis=0)
    alpha = float(np.clip(15.0 / angle.shape[1], 0.2, 1.0))
    for j, sign in enumerate(directions.sign):
        ax.plot(angle[:, j], radius, **look(keywords, color=sign_colour(sign), alpha=alpha, linewidth=0.9))
    ax.scatter(
        angle[-1],
        np.full(angle.shape[1], radius[-1]),
        s=12,
        c=[sign_colour(s) for s in directions.sign],
        zorder=4,
        clip_on=False,
    )
    _polar_grid(ax, radius, is_start=not np.isfinite(directions.log_t).any())
    if events is not None:
        # What happens before the first time is drawn at the centre.
        shown = np.maximum(events.log_t / np.log(10.0), radius[0])
        mark_events(ax, events, np.column_stack((np.arctan2(events.coords[:, 1], events.coords[:, 0]), shown)))
    return ax


def _radii(log_t: FloatArray) -> tuple[npt.NDArray[np.bool_], FloatArray]:
    """Tell which times are drawn, and their log10: t = 0 has none, and stands at 0 where there is no other time."""
    seen = np.isfinite(log_t)
    return (seen, log_t[seen] / np.log(10.0)) if seen.any() else (~seen, np.zeros(len(log_t)))


def _polar_grid(polar: Any, radius: FloatArray, *, is_start: bool) -> None:
    span = radius[-1] - radius[0] or 1.0  # one time alone is a circle
    polar.set_rlim(radius[0] - 0.35 * span, radius[-1])
    ticks = np.unique(np.round(np.linspace(radius[0], radius[-1], 4)))
    polar.set_rticks(ticks, ["$0$" if is_start else f"$10^{{{int(k)}}}$" for k in ticks])
    polar.set_rlabel_position(80)
    polar.tick_params(axis="y", labelsize=6, colors=GREY)
    polar.set_thetagrids(np.arange(0, 360, 45))
    polar.grid(color=PALE, linewidth=0.5)


@figure
def direction_sphere(
    directions: Directions, ax: Axes | None = None, *, events: EventMarks | None = None, **keywords: Any
) -> Axes:
    """Draw the paths of the directions on the unit sphere.

    Parameters
    ----------
    directions : Directions
        With three axes: ``analysis.directions(..., n_axes=3)``.
    ax : Axes, optional
        With the projection "3d".
    events : EventMarks, optional
        From `analysis.event_marks`: a mark where a neuron points at each of its events.
    **keywords
        Passed to ``plot`` for the paths.

    Examples
    --------
    >>> import reluflow as rf
    >>> data = rf.datasets.orthogonally_separable(12, 3, seed=1)
    >>> sol = rf.integrate(data, rf.Network.init(8, 3, seed=2), until=10.0)
    >>> fig, ax = rf.figures.panels(1, subplot_kw={"projection": "3d"})
    >>> rf.figures.direction_sphere(rf.analysis.directions(sol, n_axes=3), ax).name
    '3d'
    """
    ax = begin(directions, ax, name="directions", source="analysis.directions", fits=Directions, projection="3d")
    check_marks(events)
    if directions.coords.shape[2] != 3:
        raise invalid("directions", "have three axes (n_axes=3)", f"{directions.coords.shape[2]}")
    space: Any = ax
    u, v = np.linspace(0, 2 * np.pi, 37), np.linspace(0, np.pi, 19)
    ball = np.array(
        [np.outer(np.cos(u), np.sin(v)), np.outer(np.sin(u), np.sin(v)), np.outer(np.ones_like(u), np.cos(v))]
    )
    space.plot_wireframe(*ball, color=PALE, linewidth=0.3, rstride=3, cstride=3)
    alpha = float(np.clip(15.0 / directions.coords.shape[1], 0.2, 0.9))
    for j, sign in enumerate(directions.sign):
        space.plot(*directions.coords[:, j].T, **look(keywords, color=sign_colour(sign), alpha=alpha, linewidth=0.8))
    space.scatter(
        *directions.coords[-1].T,
        s=marker_areas(directions.size[-1]),
        c=[sign_colour(s) for s in directions.sign],
        depthshade=False,
    )
    space.set_box_aspect((1, 1, 1))
    space.set_axis_off()
    space.set(xlim=(-0.8, 0.8), ylim=(-0.8, 0.8), zlim=(-0.8, 0.8))
    if events is not None:
        mark_events(ax, events, events.coords)
    return ax
