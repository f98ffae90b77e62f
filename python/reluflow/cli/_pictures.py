"""The figures of a run: which results go on which page."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from .. import analysis, figures
from ..datasets import wang_pilanci
from ..flow import Solution, Stop, integrate
from ..networks import Network
from ._files import write_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# The 2-D example of [WP] App. F.1: ten neurons, as there; with this seed both classes are learnt and two neurons die.
_EXAMPLE_WIDTH, _EXAMPLE_SEED, _EXAMPLE_SCALE = 10, 1, 1e-3
# Its directions stand still to the eye from about t = 100 on.
_EXAMPLE_TIME = 1e3

Picture = Callable[[Solution], "Figure"]


def write_all(solution: Solution, out: Path) -> Iterator[Path]:
    """Write every figure of a run, and the 2-D example; yield each path when the file is there."""
    with figures.style():
        for name, draw in PICTURES.items():
            path = out / f"{name}.png"
            write_figure(path, draw(solution))
            yield path


def _curves(solution: Solution) -> Figure:
    run = analysis.sample(solution)
    table = analysis.series(run)
    figure, axes = figures.panels(2, 2, height=4.9)
    label = "loss (mean)" if solution.reduction == "mean" else "loss (sum)"
    figures.loss(table, axes[0, 0], label=label)
    figures.norms(table, axes[0, 1])
    figures.margins(analysis.margins(run, normalised=True), axes[1, 0])
    figures.margin(table, axes[1, 1])
    return figure


def _events(solution: Solution) -> Figure:
    figure, axes = figures.panels(1, width=6.9, height=4.3)
    figures.event_raster(analysis.raster(solution), axes)
    return figure


def _sectors(solution: Solution) -> Figure:
    followed = analysis.timeline(solution)
    figure, axes = figures.panels(1, 2, width=6.9, height=5.6, height_ratios=(1.7, 1.0), sharex=True)
    figures.counts(followed, axes[1])
    figures.sector_timeline(followed, axes[0])
    return figure


def _directions(solution: Solution) -> Figure:
    run = analysis.sample(solution)
    seen = analysis.directions(analysis.snapshots(solution, 4))
    figure, axes = figures.panels(4, 2, height=4.6, height_ratios=(1.0, 1.25))
    for index, axis in enumerate(axes[0]):
        if index < len(seen.t):
            figures.direction_disc(seen, axis, index=index)
        else:
            axis.remove()
    for axis in axes[1]:
        axis.remove()
    below = figure.add_subplot(axes[0, 0].get_gridspec()[1, :])
    figures.gathering(run.t, run.log_t, analysis.angles_to_group(run), run.signs, below)
    return figure


def _example(_: Solution) -> Figure:
    data = wang_pilanci("obtuse")
    start = Network.init(_EXAMPLE_WIDTH, data.d, scale=_EXAMPLE_SCALE, seed=_EXAMPLE_SEED)
    solution = integrate(data, start, until=Stop(time=_EXAMPLE_TIME))
    run = analysis.sample(solution, 400)
    figure, axes = figures.panels(2, height=3.5)
    figures.weight_plane(analysis.weight_plane(run), axes[0])
    axes[0].set_title("neurons and sectors, radius $|w_j|$")
    figures.rectified_ellipsoid(analysis.rectified_ellipsoid(data), axes[1], paths=analysis.rectified_paths(run))
    axes[1].set_title(r"the same neurons as $(X\hat w_j)_+$")
    return figure


PICTURES: dict[str, Picture] = {
    "loss_and_norm": _curves,
    "events": _events,
    "sectors": _sectors,
    "directions": _directions,
    "wang_pilanci": _example,
}
