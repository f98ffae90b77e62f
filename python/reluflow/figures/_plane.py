"""Two-dimensional pictures: neurons among boundaries and sectors, decision regions, the rectified ellipsoid."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .._validation import FloatArray, invalid, real_array
from ..analysis import DecisionPlane, EventMarks, PlaneSectors, RectifiedEllipsoid, WeightPlane
from ._axes import begin, figure, look
from ._legend import add_legend
from ._marks import check_marks, mark_events
from ._style import BLACK, GREEN, GREY, PALE, PURPLE, sign_colour, square_frame

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.contour import ContourSet

# Two greys for neighbouring sectors, so that boundaries are seen without lines across the paths.
_SECTOR_FILL = ("#F3F3F3", "#E7E7E7")
# Decades between the largest neuron and the rim, where the samples are marked.
_RIM = 0.6
# Circles at most: with more their labels meet in half a column. A start of 1e-100 gets one every 20 decades.
_RINGS = 6


@figure
def weight_plane(
    plane: WeightPlane, ax: Axes | None = None, *, events: EventMarks | None = None, **keywords: Any
) -> Axes:
    """Draw the neurons in the plane of their directions, the radius in decades of |w_j|.

    Boundaries, sectors with their sign patterns, samples and extremal directions are drawn for two-dimensional data.

    Parameters
    ----------
    plane : WeightPlane
        From `analysis.weight_plane`.
    ax : Axes, optional
    events : EventMarks, optional
        From `analysis.event_marks` with ``plane.paths``: a mark on the path of a neuron for each of its events.
    **keywords
        Passed to `matplotlib.axes.Axes.plot` for the paths.

    Examples
    --------
    >>> import reluflow as rf
    >>> data = rf.datasets.wang_pilanci("obtuse")
    >>> sol = rf.integrate(data, rf.Network.init(10, 2, seed=1), until=1e4)
    >>> fig, ax = rf.figures.panels(1)
    >>> rf.figures.weight_plane(rf.analysis.weight_plane(sol), ax).get_aspect()
    1.0
    """
    ax = begin(plane, ax, name="plane", source="analysis.weight_plane", fits=WeightPlane)
    check_marks(events)
    half = float(np.nan_to_num(plane.radius).max()) + _RIM
    if plane.sectors is not None:
        _sectors(plane.sectors, ax, half)
    _rings(plane, ax, half)
    xy = plane.paths.coords * plane.radius[:, :, None]
    alpha = float(np.clip(20.0 / xy.shape[1], 0.2, 0.95))
    for j, sign in enumerate(plane.paths.sign):
        ax.plot(*xy[:, j].T, **look(keywords, color=sign_colour(sign), alpha=alpha, linewidth=1.1, zorder=4))
    colours = [sign_colour(sign) for sign in plane.paths.sign]
    ax.scatter(xy[0][:, 0], xy[0][:, 1], s=9, facecolors="white", edgecolors=colours, linewidths=0.8, zorder=5)
    ax.scatter(xy[-1][:, 0], xy[-1][:, 1], s=20, c=colours, edgecolors="white", linewidths=0.5, zorder=6)
    square_frame(ax, 1.22 * half)
    if events is not None:
        with np.errstate(divide="ignore"):
            radius = 1.0 + np.log10(events.size / plane.floor)
        mark_events(ax, events, np.where(radius > 0, radius, np.nan)[:, None] * events.coords[:, :2])
    return ax


def _sectors(sectors: PlaneSectors, ax: Axes, half: float) -> None:
    ends = np.append(sectors.boundaries, sectors.boundaries[0] + 2 * np.pi)
    for k, pattern in enumerate(sectors.pattern):
        arc = np.linspace(ends[k], ends[k + 1], 60)
        outline = np.vstack(([[0.0, 0.0]], half * np.column_stack((np.cos(arc), np.sin(arc)))))
        ax.fill(*outline.T, color=_SECTOR_FILL[k % 2], linewidth=0, zorder=0)
        middle = 0.5 * (ends[k] + ends[k + 1])
        text = " ".join("+" if s > 0 else "\N{MINUS SIGN}" for s in pattern) if len(pattern) <= 4 else f"{k}"
        ax.text(
            1.1 * half * np.cos(middle),
            1.1 * half * np.sin(middle),
            text,
            ha="center",
            va="center",
            fontsize=7.5,
            color="#404040",
        )
    for angle in sectors.boundaries:
        ax.plot([0, half * np.cos(angle)], [0, half * np.sin(angle)], color=GREY, linewidth=0.7, zorder=1)
    _rays(sectors, ax, half)


def _rays(sectors: PlaneSectors, ax: Axes, half: float) -> None:
    """Draw samples as marks on the rim (o for y = +1, square for -1), extremal directions as dashed rays."""
    if sectors.data.n <= 12:  # more marks than this would hide the rim
        for x, y in zip(sectors.data.X, sectors.data.y, strict=True):
            u = half * x / np.linalg.norm(x)
            ax.scatter(
                u[0],
                u[1],
                s=26,
                marker="o" if y > 0 else "s",
                facecolors="white",
                edgecolors=sign_colour(y),
                linewidths=1.2,
                zorder=7,
            )
    for found in sectors.extremal:
        tip = half * found.direction
        ax.plot([0, tip[0]], [0, tip[1]], color=sign_colour(found.sign), linewidth=0.9, linestyle=(0, (4, 3)), zorder=2)


def _rings(plane: WeightPlane, ax: Axes, half: float) -> None:
    """Draw a circle every few decades, labelled where the fewest neurons grow: where the fewest samples are active."""
    angle = np.linspace(0.0, 2.0 * np.pi, 181)
    base = round(np.log10(plane.floor)) - 1
    place = 1.5 * np.pi
    if plane.sectors is not None:
        ends = np.append(plane.sectors.boundaries, plane.sectors.boundaries[0] + 2 * np.pi)
        k = int(np.argmin((plane.sectors.pattern > 0).sum(axis=1)))
        place = float(0.35 * ends[k] + 0.65 * ends[k + 1])
    colour = PALE if plane.sectors is None else "white"  # on the page, or on the grey of the sectors
    last = int(np.floor(half))
    every = -(-last // _RINGS)
    for decade in range(1, last + 1):
        if (base + decade) % every:
            continue
        ax.plot(decade * np.cos(angle), decade * np.sin(angle), color=colour, linewidth=0.8, zorder=0.5)
        ax.text(
            decade * np.cos(place),
            decade * np.sin(place),
            f"$10^{{{base + decade}}}$",
            fontsize=6,
            color=GREY,
            ha="center",
            va="center",
            zorder=3,
        )


@figure
def decision(
    plane: DecisionPlane, ax: Axes | None = None, *, reference: FloatArray | None = None, **keywords: Any
) -> Axes:
    """Draw the outputs of a network on a plane through 0, with its decision boundary and the samples.

    Samples have the colour of their label; in a regression that of their target on the scale of the outputs.

    Parameters
    ----------
    plane : DecisionPlane
        From `analysis.decision_plane`.
    ax : Axes, optional
    reference : ndarray, shape (2,), optional
        Normal, in the plane's coordinates, of a linear classifier to draw beside it.
    **keywords
        Passed to `matplotlib.axes.Axes.contourf`.

    Examples
    --------
    >>> import reluflow as rf
    >>> data = rf.datasets.wang_pilanci("obtuse")
    >>> sol = rf.integrate(data, rf.Network.init(10, 2, seed=1), until=1e4)
    >>> fig, ax = rf.figures.panels(1)
    >>> rf.figures.decision(rf.analysis.decision_plane(data, sol.final), ax).get_aspect()
    1.0
    """
    ax = begin(plane, ax, name="plane", source="analysis.decision_plane", fits=DecisionPlane)
    has_labels = bool((np.abs(plane.y) == 1.0).all())
    top = float(np.abs(plane.values if has_labels else np.append(plane.values, plane.y)).max()) or 1.0
    house: dict[str, Any] = {"levels": np.linspace(-top, top, 15), "cmap": "RdBu_r", "alpha": 0.75}
    filled = ax.contourf(plane.u, plane.v, plane.values, **{**house, **keywords})
    if plane.values.min() < 0 < plane.values.max():
        ax.contour(plane.u, plane.v, plane.values, levels=[0.0], colors=BLACK, linewidths=1.3)
    half = float(plane.u[-1])
    if reference is not None:
        normal = _pair(reference, "reference")
        if not normal.any():
            raise invalid("reference", "be the two coordinates of a direction", f"{normal.tolist()}")
        along = np.array([-normal[1], normal[0]]) / np.linalg.norm(normal) * 2.0 * half
        ax.plot([-along[0], along[0]], [-along[1], along[1]], color=GREEN, linestyle=(0, (4, 2)), linewidth=1.1)
    _samples(plane, ax, None if has_labels else filled)
    ax.set_aspect("equal")
    ax.set_xlim(-half, half)
    ax.set_ylim(-half, half)
    return ax


def _samples(plane: DecisionPlane, ax: Axes, outputs: ContourSet | None) -> None:
    """Draw the samples by label, or in the colours that `outputs` has for their targets."""
    size = float(np.clip(400.0 / len(plane.y), 5.0, 26.0))
    u, v = plane.points.T
    if outputs is not None:
        colours: dict[str, Any] = {"c": plane.y, "cmap": outputs.cmap, "norm": outputs.norm}
        ax.scatter(u, v, s=size, edgecolors=BLACK, linewidths=0.5, zorder=4, **colours)
        return
    for sign, marker in ((1.0, "o"), (-1.0, "s")):
        mine, colour = plane.y == sign, sign_colour(sign)
        ax.scatter(u[mine], v[mine], s=size, marker=marker, c=colour, edgecolors="white", linewidths=0.5, zorder=4)


@figure
def rectified_ellipsoid(
    sets: RectifiedEllipsoid, ax: Axes | None = None, *, paths: FloatArray | None = None, **keywords: Any
) -> Axes:
    """Draw the ellipsoid of two samples, its rectified part Q and the spikes, as in [WP] Figures 1, 3 and 6.

    Parameters
    ----------
    sets : RectifiedEllipsoid
        From `analysis.rectified_ellipsoid`.
    ax : Axes, optional
    paths : ndarray, shape (k, m, 2), optional
        Trajectories of (X ŵ_j)₊, from `analysis.rectified_paths`.
    **keywords
        Passed to `matplotlib.axes.Axes.plot` for the paths.

    Examples
    --------
    >>> import reluflow as rf
    >>> data = rf.datasets.wang_pilanci("obtuse")
    >>> sol = rf.integrate(data, rf.Network.init(10, 2, seed=1), until=1e4)
    >>> fig, ax = rf.figures.panels(1)
    >>> sets = rf.analysis.rectified_ellipsoid(data)
    >>> rf.figures.rectified_ellipsoid(sets, ax, paths=rf.analysis.rectified_paths(sol)).get_xlabel()
    'sample 1'
    """
    ax = begin(sets, ax, name="sets", source="analysis.rectified_ellipsoid", fits=RectifiedEllipsoid)
    if paths is not None:
        paths = _paths(paths)
    ax.axhline(0, color=PALE, linewidth=0.6, zorder=0)
    ax.axvline(0, color=PALE, linewidth=0.6, zorder=0)
    ax.plot(*sets.ellipsoid.T, color=GREY, linewidth=0.8, linestyle=(0, (4, 2)), label=r"$\{Xu:|u|=1\}$")
    ax.fill(*sets.rectified.T, color="#56B4E9", alpha=0.35, linewidth=0)
    ax.plot(*sets.rectified.T, color="#0072B2", linewidth=1.4, label=r"$\mathcal{Q}=\{(Xu)_+\}$")
    if paths is not None:
        for j in range(paths.shape[1]):
            ax.plot(*paths[:, j].T, **look(keywords, color=BLACK, linewidth=0.7, alpha=0.6))
        ax.scatter(paths[0][:, 0], paths[0][:, 1], s=9, facecolors="white", edgecolors=BLACK, linewidths=0.7, zorder=5)
        ax.scatter(paths[-1][:, 0], paths[-1][:, 1], s=16, c=BLACK, zorder=6, label=r"neurons at the end")
    ax.scatter(
        sets.spikes[:, 0],
        sets.spikes[:, 1],
        s=70,
        marker="*",
        c=GREEN,
        edgecolors="white",
        linewidths=0.5,
        zorder=7,
        label="spikes",
    )
    _frame(ax, np.vstack((sets.ellipsoid, sets.rectified)))
    ax.set_xlabel("sample 1")
    ax.set_ylabel("sample 2")
    add_legend(ax, below=True)
    return ax


@figure
def polar_set(
    sets: RectifiedEllipsoid, ax: Axes | None = None, *, dual: FloatArray | None = None, **keywords: Any
) -> Axes:
    """Draw the absolute polar set Q*, the direction of the labels and a dual optimum, as in [WP] Figure 2.

    Keywords are passed to `matplotlib.axes.Axes.plot` for the outline of Q*.

    Examples
    --------
    >>> import reluflow as rf
    >>> data = rf.datasets.wang_pilanci("obtuse")
    >>> sol = rf.integrate(data, rf.Network.init(10, 2, seed=1), until=1e4)
    >>> fig, ax = rf.figures.panels(1)
    >>> len(rf.figures.polar_set(rf.analysis.rectified_ellipsoid(data), ax).patches)
    1
    """
    ax = begin(sets, ax, name="sets", source="analysis.rectified_ellipsoid", fits=RectifiedEllipsoid)
    ax.axhline(0, color=PALE, linewidth=0.6, zorder=0)
    ax.axvline(0, color=PALE, linewidth=0.6, zorder=0)
    ax.fill(*sets.polar.T, color=PURPLE, alpha=0.3, linewidth=0)
    ax.plot(*sets.polar.T, **look(keywords, color=PURPLE, linewidth=1.3, label=r"$\mathcal{Q}^*$"))
    reach = 0.8 * float(np.abs(sets.polar).max())
    tip = reach * sets.y / np.linalg.norm(sets.y)
    ax.annotate(
        "", xy=(tip[0], tip[1]), xytext=(0, 0), arrowprops={"arrowstyle": "->", "color": GREY, "linewidth": 0.9}
    )
    ax.text(1.08 * tip[0], 1.08 * tip[1], "$y$", color=GREY, ha="center", va="center")
    if dual is not None:
        star = _pair(dual, "dual")
        ax.scatter(
            star[0],
            star[1],
            s=70,
            marker="*",
            c=GREEN,
            edgecolors="white",
            linewidths=0.5,
            zorder=5,
            label=r"$\lambda^*$",
        )
    _frame(ax, sets.polar)
    ax.set_xlabel(r"$\lambda_1$")
    ax.set_ylabel(r"$\lambda_2$")
    add_legend(ax, below=True)
    return ax


def _pair(value: FloatArray, name: str) -> FloatArray:
    pair = real_array(value, name, "(2,)")
    if len(pair) != 2:
        raise invalid(name, "have two entries", f"{len(pair)}")
    return pair


def _paths(value: FloatArray) -> FloatArray:
    paths = real_array(value, "paths", "(k, m, 2)", is_finite=False)
    if paths.shape[2] != 2 or not len(paths):
        raise invalid("paths", "have the shape (k, m, 2) of analysis.rectified_paths", f"the shape {paths.shape}")
    return paths


def _frame(ax: Axes, points: FloatArray) -> None:
    half = 1.15 * float(np.abs(points).max())
    ax.set_aspect("equal")
    ax.set_xlim(-half, half)
    ax.set_ylim(-half, half)
