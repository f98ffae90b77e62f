"""The pictures of [WP]: sets with their extreme points, the dual plane, and trajectories of neurons."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..._validation import FloatArray
from ...figures import panels, polar_set, rectified_ellipsoid, style
from ._trajectory import Trajectory

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ...analysis import RectifiedEllipsoid
    from ...datasets import Dataset

# One colour a neuron: the palette of Okabe and Ito, and three of Tol that differ from them.
NEURONS = (
    "#0072B2",
    "#D55E00",
    "#009E73",
    "#E69F00",
    "#CC79A7",
    "#56B4E9",
    "#000000",
    "#882255",
    "#999933",
    "#888888",
)
STAR, INK, BOUNDARY = "#009E73", "#404040", "#9A9A9A"
MARKS = (6.0, 10.0, 15.0, 21.0, 28.0)  # areas of the marks at iterations 1, 10, ... 10^4
STAGGER = 0.02  # radii of neighbouring arcs differ by this, so that arcs on one circle are told apart

__all__ = [
    "direction_figure",
    "extreme_figure",
    "neuron_legend",
    "polar_figure",
    "poster_figure",
    "rectified_figure",
    "set_figure",
]


def set_figure(sets: RectifiedEllipsoid) -> Figure:
    """Draw the ellipsoid and the rectified set (Figures 6 and 8)."""
    with style():
        figure, ax = panels(1, height=3.8)
        rectified_ellipsoid(sets, ax)
        _legend(ax)
    return figure


def extreme_figure(sets: RectifiedEllipsoid, ends: FloatArray, optimal: FloatArray, duals: FloatArray) -> Figure:
    """Draw the rectified set with its extreme points and the direction of the dual optimum (Figures 1 and 9).

    Parameters
    ----------
    sets : RectifiedEllipsoid
    ends : ndarray, shape (k, 2)
        (Xu_j)₊ of the extreme points.
    optimal : ndarray, shape (p, 2)
        (Xû)₊ of the optimal neurons.
    duals : ndarray, shape (2,)
    """
    with style():
        figure, ax = panels(1, height=3.8)
        rectified_ellipsoid(sets, ax)
        ax.collections[-1].remove()  # the tips of the spikes are among the points below
        ax.scatter(
            ends[:, 0],
            ends[:, 1],
            s=26,
            marker="D",
            c="#E69F00",
            edgecolors=INK,
            linewidths=0.7,
            zorder=9,
            label="$u_j$",
        )
        _stars(ax, optimal, "optimal neurons")
        _arrow(ax, 1.0 * duals / np.linalg.norm(duals), r"$\lambda$")
        _legend(ax)
    return figure


def polar_figure(sets: RectifiedEllipsoid, spikes: FloatArray, duals: FloatArray) -> Figure:
    """Draw the polar set, the set from the two spikes alone and the dual optimum (Figure 2)."""
    with style():
        figure, ax = panels(1, height=3.8)
        polar_set(sets, ax, dual=duals)
        closed = np.vstack((spikes, spikes[:1]))
        ax.plot(*closed.T, color=INK, linewidth=1.0, linestyle=(0, (4, 3)), label="of the spikes", zorder=4)
        reach = 1.25 * max(float(np.abs(spikes).max()), float(np.abs(sets.polar).max()))
        ax.set_xlim(-reach, reach)
        ax.set_ylim(-reach, reach)
        _legend(ax)
    return figure


def poster_figure(sets: RectifiedEllipsoid, duals: FloatArray) -> Figure:
    """Draw the ellipsoid, the rectified ellipsoid and the polar set side by side (the poster)."""
    with style():
        figure, (left, middle, right) = panels(3, height=2.7)
        left.fill(*sets.ellipsoid.T, color="#56B4E9", alpha=0.25, linewidth=0)
        left.plot(*sets.ellipsoid.T, color="#0072B2", linewidth=1.2)
        middle.fill(*sets.rectified.T, color="#56B4E9", alpha=0.35, linewidth=0)
        middle.plot(*sets.rectified.T, color="#0072B2", linewidth=1.4)
        half = 1.12 * float(np.abs(sets.ellipsoid).max())
        _stars(middle, sets.spikes, "spikes")
        _square(left, (-half, half), r"$\{Xu: |u|\leq 1\}$")
        _square(middle, (-half, half), r"$\mathcal{Q}=\{(Xu)_+\}$")
        polar_set(sets, right, dual=duals)
        right.set_title(r"$\mathcal{Q}^*$")
        right.get_legend().remove()
    return figure


def rectified_figure(sets: RectifiedEllipsoid, paths: Sequence[Trajectory], optimal: FloatArray) -> Figure:
    """Draw (Xŵ_j)₊ on the rectified set, one panel a trajectory (Figure 3, and one half of Figure 10)."""
    with style():
        figure, axes = panels(len(paths), height=3.6)
        for ax, path in zip(np.atleast_1d(axes), paths, strict=True):
            ax.fill(*sets.rectified.T, color="#56B4E9", alpha=0.2, linewidth=0)
            ax.plot(*sets.rectified.T, color="#9CC9E3", linewidth=1.2, zorder=1)
            ax.plot(*sets.ellipsoid.T, color="#B5B5B5", linewidth=0.7, linestyle=(0, (4, 2)), zorder=1)
            _neurons(ax, path.rectified(path.smooth), path.rectified(path.marks), path.signs)
            _stars(ax, optimal, "optimal")
            half = 1.12 * float(np.abs(sets.ellipsoid).max())
            _square(ax, (-0.35 * half, half), path.title)
            ax.set_xlabel(r"$(x_1\cdot\hat w)_+$")
            ax.set_ylabel(r"$(x_2\cdot\hat w)_+$")
        neuron_legend(figure, paths[0].signs)
    return figure


def direction_figure(
    data: Dataset, paths: Sequence[Trajectory], optimal: FloatArray, *, columns: int | None = None
) -> Figure:
    """Draw the directions ŵ_j in the plane with the cone boundaries, one panel a trajectory (Figures 4, 7, 10)."""
    across = columns or len(paths)
    rows = -(-len(paths) // across)
    with style():
        figure, axes = panels(across, rows, height=3.5 * rows if across < 4 else None)
        for ax, path in zip(np.ravel(axes), paths, strict=True):
            _cones(ax, data)
            staggered = path.smooth * (1 - STAGGER * np.arange(path.smooth.shape[1]))[None, :, None]
            _neurons(ax, staggered if path.staggered else path.marks, path.marks, path.signs)
            _stars(ax, optimal, "optimal")
            _square(ax, (-1.12, 1.12), path.title)
        neuron_legend(figure, paths[0].signs if rows == 1 else None, cones=True)
    return figure


def neuron_legend(figure: Figure, signs: FloatArray | None, *, cones: bool = False) -> None:
    """Put the neurons' colours under the panels; dashed lines for a < 0 where the signs are those of all panels."""
    from matplotlib.lines import Line2D

    handles = [
        Line2D([], [], color=colour, linestyle="-" if signs is None or signs[j] > 0 else (0, (3, 2)), label=f"{j + 1}")
        for j, colour in enumerate(NEURONS)
    ]
    handles.append(
        Line2D([], [], color=STAR, marker="*", linestyle="none", markersize=9, markerfacecolor="none", label="optimal")
    )
    if cones:
        handles.append(Line2D([], [], color=BOUNDARY, linestyle=(0, (5, 3)), linewidth=0.9, label="cone boundary"))
    figure.legend(handles=handles, loc="outside lower center", ncols=6, handletextpad=0.4, columnspacing=1.2)


def _neurons(ax: Axes, smooth: FloatArray, marks: FloatArray, signs: FloatArray) -> None:
    for j, sign in enumerate(signs):
        colour = NEURONS[j % len(NEURONS)]
        ax.plot(*smooth[:, j].T, color=colour, linewidth=1.1, linestyle="-" if sign > 0 else (0, (3, 2)), zorder=4)
        ax.scatter(
            marks[0, j, 0], marks[0, j, 1], s=13, facecolors="white", edgecolors=colour, linewidths=0.9, zorder=5
        )
        ax.scatter(
            marks[1:, j, 0],
            marks[1:, j, 1],
            s=MARKS[: len(marks) - 1],
            c=colour,
            edgecolors="white",
            linewidths=0.3,
            zorder=6,
        )


def _cones(ax: Axes, data: Dataset) -> None:
    """Draw the unit circle and the boundaries x_i·w = 0."""
    turn = np.linspace(0, 2 * np.pi, 361)
    ax.plot(np.cos(turn), np.sin(turn), color="#D9D9D9", linewidth=0.8, zorder=0)
    for x in data.X:
        along = 1.5 * np.array([-x[1], x[0]]) / np.linalg.norm(x)
        ax.plot(
            [-along[0], along[0]], [-along[1], along[1]], color=BOUNDARY, linewidth=0.9, linestyle=(0, (5, 3)), zorder=1
        )


def _stars(ax: Axes, points: FloatArray, label: str) -> None:
    """Draw hollow stars, large enough for the marks of neurons and extreme points to be seen inside."""
    x, y = points[:, 0], points[:, 1]
    ax.scatter(x, y, s=210, marker="*", facecolors="none", edgecolors=STAR, linewidths=1.4, zorder=8, label=label)


def _legend(ax: Axes) -> None:
    """Put the legend under the axes, where no curve passes."""
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.15), ncols=2)


def _arrow(ax: Axes, tip: FloatArray, text: str) -> None:
    style_ = {"arrowstyle": "->", "color": INK, "linewidth": 1.0}
    ax.annotate("", xy=(float(tip[0]), float(tip[1])), xytext=(0, 0), arrowprops=style_)
    ax.text(1.1 * tip[0], 1.1 * tip[1], text, color=INK, ha="center", va="center")


def _square(ax: Axes, span: tuple[float, float], title: str) -> None:
    ax.set_aspect("equal")
    ax.set_xlim(*span)
    ax.set_ylim(*span)
    ax.set_title(title)
