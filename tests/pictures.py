"""Every figure as a function of its axes alone, and what can be measured of a drawn one."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg

import reluflow as rf
import runs
from reluflow import analysis, figures


def drawn(figure):
    """The pixels of a figure, (height, width, 3), and its renderer."""
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    return np.asarray(canvas.buffer_rgba())[..., :3], canvas.get_renderer()


def tick_labels(axis):
    """Labels of the ticks in view; matplotlib keeps others, undrawn, beyond the ends of the axis."""
    low, high = sorted(axis.get_view_interval()) if axis.axes.axison else (1, 0)
    return [tick.label1 for tick in axis.get_major_ticks() if low <= tick.get_loc() <= high]


def texts_outside(figure):
    """Texts that do not lie inside the page."""
    _, renderer = drawn(figure)
    page = figure.bbox
    found = []
    for ax in figure.axes:
        for text in [
            *ax.texts,
            ax.title,
            ax.xaxis.label,
            ax.yaxis.label,
            *tick_labels(ax.xaxis),
            *tick_labels(ax.yaxis),
        ]:
            if text.get_visible() and text.get_text():
                box = text.get_window_extent(renderer)
                if box.x0 < page.x0 - 1 or box.x1 > page.x1 + 1 or box.y0 < page.y0 - 1 or box.y1 > page.y1 + 1:
                    found.append(text.get_text())
        legend = ax.get_legend()
        if legend is not None:
            box = legend.get_window_extent(renderer)
            if box.x0 < page.x0 - 1 or box.x1 > page.x1 + 1 or box.y0 < page.y0 - 1:
                found.append("legend")
    return found


def table(run=runs.planar):
    return analysis.series(analysis.sample(run(), 60))


def sphere_run():
    data = rf.datasets.orthogonally_separable(12, 3, seed=1)
    return rf.integrate(data, rf.Network.init(8, 3, scale=1e-3, seed=2), until=100.0)


def gathering(ax):
    run = analysis.sample(runs.planar(), 40)
    return figures.gathering(run.t, run.log_t, analysis.angles_to_group(run), run.signs, ax)


def ellipsoid(ax):
    run = analysis.sample(runs.planar(), 40)
    return figures.rectified_ellipsoid(analysis.rectified_ellipsoid(run.data), ax, paths=analysis.rectified_paths(run))


def growth(ax):
    found = table(runs.endless)
    fit = analysis.tail_fit(found["log_t"], found["norm2_per_log_t"], loglog=True)
    return figures.norm_growth(found, ax, limit=2 * 1.282432, fit=fit)


def two_steps():
    data = rf.Dataset([[1.0, 0.0], [0.0, 1.0]], [2.0, -1.0])
    return rf.saddle_to_saddle(data, [[1.0, 0.5], [0.5, 1.0]], [1, -1])


FIGURES: dict[str, Callable] = {
    "staircase": lambda ax: figures.staircase(two_steps(), ax),
    "grown": lambda ax: figures.grown(two_steps(), ax),
    "loss": lambda ax: figures.loss(table(), ax),
    "loss of an endless run": lambda ax: figures.loss(table(runs.endless), ax),
    "loss on a linear clock": lambda ax: figures.loss(table(), ax, clock="linear"),
    "norms": lambda ax: figures.norms(table(), ax),
    "norm growth": growth,
    "margin": lambda ax: figures.margin(table(), ax, limit=0.389884),
    "margin of digits": lambda ax: figures.margin(table(runs.iris), ax),
    "margins": lambda ax: figures.margins(analysis.margins(runs.iris(), normalised=True), ax),
    "counts": lambda ax: figures.counts(analysis.timeline(runs.holding()), ax),
    "alignment": lambda ax: figures.alignment(analysis.alignment(analysis.sample(runs.planar(), 60)), ax),
    "gathering": gathering,
    "singular values": lambda ax: figures.singular_values(analysis.singular_values(runs.iris()), ax),
    "singular value paths": lambda ax: figures.singular_value_paths(analysis.singular_values(runs.iris()), ax),
    "correlations": lambda ax: figures.correlation_histogram(
        analysis.correlations(runs.planar(), *runs.planar().data.X), ax
    ),
    "event raster": lambda ax: figures.event_raster(analysis.raster(runs.iris()), ax),
    "sector timeline": lambda ax: figures.sector_timeline(analysis.timeline(runs.digits()), ax),
    "disc with paths": lambda ax: figures.direction_disc(analysis.directions(analysis.sample(runs.iris(), 50)), ax),
    "disc at one time": lambda ax: figures.direction_disc(analysis.directions(analysis.ends(runs.iris())), ax, index=1),
    "neuron plane": lambda ax: figures.neuron_plane(analysis.directions(analysis.ends(runs.iris())), ax),
    "weight plane": lambda ax: figures.weight_plane(analysis.weight_plane(analysis.sample(runs.planar(), 80)), ax),
    "weight plane of many inputs": lambda ax: figures.weight_plane(analysis.weight_plane(runs.iris()), ax),
    "decision": lambda ax: figures.decision(
        analysis.decision_plane(runs.planar().data, runs.planar().final), ax, reference=np.array([1.0, -1.0])
    ),
    "rectified ellipsoid": ellipsoid,
    "fit": lambda ax: figures.fit(analysis.fit_curves(analysis.snapshots(runs.regression())), ax),
    "errors": lambda ax: figures.errors(analysis.errors(analysis.sample(runs.regression(), 60)), ax),
    "held out": lambda ax: figures.held_out(analysis.losses(runs.regression(), test=runs.regression().data), ax),
    "polar set": lambda ax: figures.polar_set(
        analysis.rectified_ellipsoid(runs.planar().data), ax, dual=np.array([0.582875, -0.699557])
    ),
}
PROJECTED: dict[str, tuple[str, Callable]] = {
    "polar": (
        "polar",
        lambda ax: figures.direction_polar(analysis.directions(analysis.sample(runs.planar(), 60)), ax),
    ),
    "sphere": (
        "3d",
        lambda ax: figures.direction_sphere(analysis.directions(analysis.sample(sphere_run(), 40), n_axes=3), ax),
    ),
}


def page(projection=None, **keywords):
    return figures.panels(1, height=3.4, subplot_kw={"projection": projection}, **keywords)
