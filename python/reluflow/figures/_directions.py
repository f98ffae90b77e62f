"""Directions of the neurons: in a disc, on a sphere, on a polar time axis, and as a film."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .._validation import FloatArray, integer, invalid, optional_module
from ._style import GREY, PALE, panels, sign_colour, square_frame, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..analysis import Directions

# Marker areas in points²: a neuron without weight is still seen, the heaviest is a clear dot.
_SMALL, _LARGE = 5.0, 34.0


def direction_disc(directions: Directions, ax: Axes, *, index: int | None = None) -> Axes:
    """Draw the unit directions of the neurons in two dimensions, with their paths or at one time.

    Parameters
    ----------
    directions : Directions
        From `analysis.directions`.
    ax : Axes
    index : int, optional
        Number of one time; without it the paths over all times and the last place.

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
    _rim(ax)
    last = -1 if index is None else index
    if index is None:
        _trails(directions, ax)
    _dots(ax, directions.coords[last], directions.sign, _areas(directions.size[last]))
    square_frame(ax, 1.12)
    if index is not None:
        ax.set_title(_time_text(float(directions.t[index]), float(directions.log_t[index])))
    return ax


def neuron_plane(directions: Directions, ax: Axes, *, index: int = -1) -> Axes:
    """Draw the rows of W themselves on the two axes of `analysis.directions`, as in [PL] Figure 1b.

    Parameters
    ----------
    directions : Directions
        From `analysis.directions`: of more than two inputs on the two leading singular directions.
    ax : Axes
    index : int, optional
        Number of one time; the last without it.

    Examples
    --------
    >>> import reluflow as rf
    >>> data = rf.datasets.wang_pilanci("obtuse")
    >>> sol = rf.integrate(data, rf.Network.init(10, 2, seed=1), until=1e4)
    >>> fig, ax = rf.figures.panels(1)
    >>> len(rf.figures.neuron_plane(rf.analysis.directions(rf.analysis.ends(sol)), ax).collections)
    2
    """
    for at_zero in (ax.axhline, ax.axvline):
        at_zero(0.0, color=PALE, linewidth=0.6, zorder=0)
    rows = directions.coords[index, :, :2] * directions.size[index][:, None]
    for side, text in ((1.0, "$a_j>0$"), (-1.0, "$a_j<0$")):
        mine = np.nan_to_num(rows[directions.sign == side])
        if len(mine):
            ax.scatter(
                mine[:, 0],
                mine[:, 1],
                s=14,
                color=sign_colour(side),
                edgecolors="white",
                linewidths=0.3,
                label=text,
                zorder=3,
            )
    ax.set_xlabel("first singular direction")
    ax.set_ylabel("second singular direction")
    ax.legend(loc="best")
    return ax


def _rim(ax: Axes) -> None:
    angle = np.linspace(0.0, 2.0 * np.pi, 181)
    ax.plot(np.cos(angle), np.sin(angle), color=GREY, linewidth=0.6, zorder=1)
    ax.plot([-1, 1], [0, 0], color=PALE, linewidth=0.5, zorder=0)
    ax.plot([0, 0], [-1, 1], color=PALE, linewidth=0.5, zorder=0)


def _trails(directions: Directions, ax: Axes) -> None:
    alpha = float(np.clip(15.0 / directions.coords.shape[1], 0.12, 0.9))
    for j, sign in enumerate(directions.sign):
        x, y = directions.coords[:, j, 0], directions.coords[:, j, 1]
        ax.plot(x, y, color=sign_colour(sign), alpha=alpha, linewidth=0.7, zorder=2)
    ax.scatter(directions.coords[0, :, 0], directions.coords[0, :, 1], s=4, c=GREY, linewidths=0, zorder=3)


def _areas(size: FloatArray) -> FloatArray:
    share = size / max(float(size.max()), np.finfo(float).tiny)
    return _SMALL + (_LARGE - _SMALL) * share


def _dots(ax: Axes, points: FloatArray, sign: FloatArray, areas: FloatArray) -> Any:
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


def _time_text(t: float, log_t: float) -> str:
    if not np.isfinite(t):
        return f"$\\log t = {log_t:.3g}$"
    if t == 0.0:
        return "$t = 0$"
    power = int(np.floor(np.log10(t)))
    return f"$t = {t:.3g}$" if -3 < power < 4 else f"$t = {t / 10.0**power:.1f}\\times 10^{{{power}}}$"


def direction_polar(directions: Directions, ax: Axes) -> Axes:
    """Draw each neuron's angle against log time on polar axes: time runs outwards.

    Parameters
    ----------
    directions : Directions
    ax : Axes
        With the projection "polar".

    Examples
    --------
    >>> import reluflow as rf
    >>> data = rf.datasets.wang_pilanci("obtuse")
    >>> sol = rf.integrate(data, rf.Network.init(10, 2, seed=1), until=1e4)
    >>> fig, ax = rf.figures.panels(1, subplot_kw={"projection": "polar"})
    >>> rf.figures.direction_polar(rf.analysis.directions(sol), ax).name
    'polar'
    """
    if ax.name != "polar":
        raise invalid("ax", 'have the projection "polar"', f"the projection {ax.name!r}")
    seen = np.isfinite(directions.log_t)
    radius = directions.log_t[seen] / np.log(10.0)
    angle = np.unwrap(np.arctan2(directions.coords[seen, :, 1], directions.coords[seen, :, 0]), axis=0)
    alpha = float(np.clip(15.0 / angle.shape[1], 0.2, 1.0))
    for j, sign in enumerate(directions.sign):
        ax.plot(angle[:, j], radius, color=sign_colour(sign), alpha=alpha, linewidth=0.9)
    ax.scatter(
        angle[-1],
        np.full(angle.shape[1], radius[-1]),
        s=12,
        c=[sign_colour(s) for s in directions.sign],
        zorder=4,
        clip_on=False,
    )
    _polar_grid(ax, radius)
    return ax


def _polar_grid(polar: Any, radius: FloatArray) -> None:
    span = radius[-1] - radius[0]
    polar.set_rlim(radius[0] - 0.35 * span, radius[-1])
    ticks = np.unique(np.round(np.linspace(radius[0], radius[-1], 4)))
    polar.set_rticks(ticks, [f"$10^{{{int(k)}}}$" for k in ticks])
    polar.set_rlabel_position(80)
    polar.tick_params(axis="y", labelsize=6, colors=GREY)
    polar.set_thetagrids(np.arange(0, 360, 45))
    polar.grid(color=PALE, linewidth=0.5)


def direction_sphere(directions: Directions, ax: Axes) -> Axes:
    """Draw the paths of the directions on the unit sphere.

    Parameters
    ----------
    directions : Directions
        With three axes: ``analysis.directions(..., n_axes=3)``.
    ax : Axes
        With the projection "3d".

    Examples
    --------
    >>> import reluflow as rf
    >>> data = rf.datasets.orthogonally_separable(12, 3, seed=1)
    >>> sol = rf.integrate(data, rf.Network.init(8, 3, seed=2), until=10.0)
    >>> fig, ax = rf.figures.panels(1, subplot_kw={"projection": "3d"})
    >>> rf.figures.direction_sphere(rf.analysis.directions(sol, n_axes=3), ax).name
    '3d'
    """
    if ax.name != "3d" or directions.coords.shape[2] != 3:
        raise invalid("ax", 'have the projection "3d", and directions three axes', f"the projection {ax.name!r}")
    space: Any = ax
    u, v = np.linspace(0, 2 * np.pi, 37), np.linspace(0, np.pi, 19)
    ball = np.array(
        [np.outer(np.cos(u), np.sin(v)), np.outer(np.sin(u), np.sin(v)), np.outer(np.ones_like(u), np.cos(v))]
    )
    space.plot_wireframe(*ball, color=PALE, linewidth=0.3, rstride=3, cstride=3)
    alpha = float(np.clip(15.0 / directions.coords.shape[1], 0.2, 0.9))
    for j, sign in enumerate(directions.sign):
        space.plot(*directions.coords[:, j].T, color=sign_colour(sign), alpha=alpha, linewidth=0.8)
    space.scatter(
        *directions.coords[-1].T,
        s=_areas(directions.size[-1]),
        c=[sign_colour(s) for s in directions.sign],
        depthshade=False,
    )
    space.set_box_aspect((1, 1, 1))
    space.set_axis_off()
    space.set(xlim=(-0.8, 0.8), ylim=(-0.8, 0.8), zlim=(-0.8, 0.8))
    return ax


def animate_directions(directions: Directions, path: str | Path, *, fps: int = 15) -> Path:
    """Write a film of the directions, one frame a time: GIF through Pillow, MP4 where ffmpeg is found.

    Parameters
    ----------
    directions : Directions
        From `analysis.directions`, 2-D, best of the states that `analysis.sample` gives.
    path : str or Path
        Ends in ``.gif`` or ``.mp4``.
    fps : int, optional
        Frames a second.

    Returns
    -------
    Path
        The file written.

    Raises
    ------
    ValueError
        Another ending, or MP4 without ffmpeg on this machine.

    Examples
    --------
    >>> import reluflow as rf
    >>> data = rf.datasets.wang_pilanci("obtuse")
    >>> sol = rf.integrate(data, rf.Network.init(10, 2, seed=1), until=1e4)
    >>> film = rf.analysis.directions(rf.analysis.snapshots(sol, 3))
    >>> rf.figures.animate_directions(film, "film.gif").name
    'film.gif'
    """
    animation = optional_module("matplotlib.animation", "viz")
    target = Path(path)
    writer = {".gif": "pillow", ".mp4": "ffmpeg"}.get(target.suffix.lower())
    if writer is None:
        raise invalid("path", "end in .gif or .mp4", repr(target.name))
    if not animation.writers.is_available(writer):
        raise invalid("path", "end in .gif where ffmpeg is not installed", repr(target.name))
    with style():
        figure, ax = panels(1, width=3.0, height=3.2)
        _rim(ax)
        square_frame(ax, 1.12)
        dots = _dots(ax, directions.coords[0], directions.sign, _areas(directions.size[0]))
        title = ax.set_title(" ")

        def draw(frame: int) -> tuple[Any, ...]:
            dots.set_offsets(directions.coords[frame])
            dots.set_sizes(_areas(directions.size[frame]))
            title.set_text(_time_text(float(directions.t[frame]), float(directions.log_t[frame])))
            return dots, title

        film = animation.FuncAnimation(figure, draw, frames=len(directions.t))
        film.save(target, writer=writer, fps=integer(fps, "fps"), dpi=120)
    return target
