"""The figures of a run: which results go on which page."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from .. import analysis, figures
from ..flow import Solution
from ..layered import DeepSolution
from ..losses import is_of_margins
from ._files import write_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Picture = Callable[[Solution], "Figure"]


def write_all(solution: Solution, out: Path) -> Iterator[Path]:
    """Write every figure of a run; yield each path when the file is there."""
    data = solution.data
    more: dict[str, Picture] = {}
    if data.d == 2:
        more = {"plane": _plane} if data.bias_input is None else {"fit": _fit}
    elif data.d == 3 and data.bias_input is not None:
        more = {"outputs": outputs}
    with figures.style():
        for name, draw in {**PICTURES, **more}.items():
            path = out / f"{name}.png"
            write_figure(path, draw(solution))
            yield path


def _curves(solution: Solution) -> Figure:
    run = analysis.sample(solution)
    table = analysis.series(run)
    label = "loss (mean)" if solution.reduction == "mean" else "loss (sum)"
    if not is_of_margins(solution.loss):
        figure, axes = figures.panels(3, height=2.4)
        figures.loss(table, axes[0], label=label)
        figures.norms(table, axes[1])
        figures.errors(analysis.errors(run), axes[2])
        return figure
    figure, axes = figures.panels(2, 2, height=4.9)
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


def _plane(solution: Solution) -> Figure:
    plane = analysis.weight_plane(analysis.sample(solution, 400))
    figure, axes = figures.panels(2, height=3.9)
    figures.weight_plane(plane, axes[0], events=analysis.event_marks(solution, plane.paths))
    axes[0].set_title("neurons and sectors, radius $|w_j|$")
    _draw_outputs(solution, axes[1])
    return figure


def outputs(solution: Solution | DeepSolution) -> Figure:
    """Draw the outputs at the end on the plane of two inputs."""
    figure, axes = figures.panels(1, height=3.9)
    _draw_outputs(solution, axes)
    return figure


def _draw_outputs(solution: Solution | DeepSolution, axes: Axes) -> None:
    figures.decision(analysis.decision_plane(solution.data, solution.final), axes)
    axes.set_title("outputs at the end")


def _fit(solution: Solution) -> Figure:
    figure, axes = figures.panels(1)
    figures.fit(analysis.fit_curves(analysis.snapshots(solution)), axes)
    return figure


PICTURES: dict[str, Picture] = {
    "loss_and_norm": _curves,
    "events": _events,
    "sectors": _sectors,
    "directions": _directions,
}
