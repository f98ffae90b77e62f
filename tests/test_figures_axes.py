"""What every figure takes: no axes, half a column, matplotlib's keywords, and arguments in the right order."""

from __future__ import annotations

import re

import matplotlib.pyplot as plt
import numpy as np
import pytest

import runs
from pictures import FIGURES, PROJECTED, drawn, sphere_run, table, texts_outside, tick_labels
from reluflow import analysis, figures
from reluflow.figures._style import time_text

# --- legends ---------------------------------------------------------------------------------------------------------

WITH_LEGEND = ("norms", "norm growth", "margin", "margins", "counts", "singular value paths", "event raster")
WITH_LEGEND += ("sector timeline", "neuron plane", "correlations", "rectified ellipsoid")


def covered_by_the_legend(figure):
    """What the legend lies on: labels, the ends of the page, data."""
    _, renderer = drawn(figure)
    (ax,) = figure.axes
    box = ax.get_legend().get_window_extent(renderer)
    labels = [ax.xaxis.label, ax.yaxis.label, ax.title, *tick_labels(ax.xaxis), *tick_labels(ax.yaxis)]
    found = [text.get_text() for text in labels if text.get_text() and text.get_window_extent(renderer).overlaps(box)]
    page = figure.bbox
    if box.x0 < page.x0 or box.x1 > page.x1 or box.y0 < page.y0 or box.y1 > page.y1:
        found.append("the end of the page")
    if not box.overlaps(ax.bbox):  # what is drawn outside is cut off
        return found
    for line in ax.lines:
        if line.get_transform().transform_path(line.get_path()).intersects_bbox(box, filled=False):
            found.append(f"a line {line.get_label()}")
    for dots in ax.collections:
        points = dots.get_offset_transform().transform(np.ma.getdata(dots.get_offsets()))
        if ((points > box.min) & (points < box.max)).all(axis=1).any():
            found.append("points")
    return found


@pytest.mark.parametrize(
    "width", [pytest.param("plain", marks=pytest.mark.slow), pytest.param(3.35, marks=pytest.mark.slow), 1.65]
)
@pytest.mark.parametrize("name", WITH_LEGEND)
def test_a_legend_covers_nothing_at_any_width(name, width):
    if width == "plain":
        figure, ax = plt.subplots()
        FIGURES[name](ax)
        plt.close(figure)
    else:
        with figures.style():
            figure, ax = figures.panels(1, width=width, height=2.6)
            FIGURES[name](ax)
    assert covered_by_the_legend(figure) == []


def test_a_legend_that_covers_data_is_seen_by_this_test():
    figure, ax = figures.panels(1)
    ax.plot([0, 1], [0, 1], label="a long name of a line")
    ax.legend(loc="upper right")
    assert covered_by_the_legend(figure) == ["a line a long name of a line"]


def test_a_layout_of_the_caller_is_left_alone():
    figure, ax = plt.subplots(layout="tight")
    engine = figure.get_layout_engine()
    FIGURES["event raster"](ax)
    assert figure.get_layout_engine() is engine
    plt.close(figure)


# --- what every figure takes -----------------------------------------------------------------------------------------

WITHOUT_AXES = {**FIGURES, **{name: draw for name, (_, draw) in PROJECTED.items()}}


@pytest.mark.parametrize("name", ["loss", "event raster", "polar", "sphere", "weight plane", "gathering"])
def test_without_axes_a_figure_of_pyplot_is_made(name):
    ax = WITHOUT_AXES[name](None)
    assert ax.figure is plt.gcf()
    assert texts_outside(ax.figure) == []
    plt.close("all")


@pytest.mark.parametrize("name", sorted(set(figures.__all__) - {"animate_directions", "panels", "style", "gathering"}))
def test_the_wrong_order_of_arguments_is_named(name):
    _, ax = figures.panels(1)
    with pytest.raises(
        ValueError,
        match=r"must be what (analysis\.\w+|saddle_to_saddle) returns, found an Axes: the result comes first",
    ):
        getattr(figures, name)(ax, runs.planar())
    with pytest.raises(
        ValueError, match=r"must be what (analysis\.\w+|saddle_to_saddle) returns, found a value of type Solution"
    ):
        getattr(figures, name)(runs.planar(), ax)


def test_what_is_no_axes_is_named():
    with pytest.raises(ValueError, match="ax must be a matplotlib Axes or None, found a value of type Figure"):
        figures.loss(table(), figures.panels(1)[0])


def test_keywords_win_over_the_style_of_the_house():
    _, (left, right) = figures.panels(2)
    figures.norms(table(), left, lw=3.0, color="green")
    assert {(line.get_linewidth(), line.get_color()) for line in left.lines} == {(3.0, "green")}
    figures.event_raster(analysis.raster(runs.planar()), right, marker="D", s=7.0)
    assert {float(size) for dots in right.collections for size in dots.get_sizes()} == {7.0}


def test_the_rows_of_the_raster_have_the_numbers_of_their_neurons():
    found = analysis.raster(runs.planar())
    _, ax = figures.panels(1, height=3.4)
    figures.event_raster(found, ax)
    names = [label.get_text() for label in ax.get_yticklabels()]
    assert names == [str(neuron) for neuron in found.order]
    np.testing.assert_array_equal(found.order[found.row], runs.planar().events.neuron)


@pytest.mark.parametrize("name", ["disc", "polar", "sphere", "plane"])
def test_events_are_marked_where_the_neuron_points(name):
    run = sphere_run() if name == "sphere" else runs.holding()
    plane = analysis.weight_plane(analysis.sample(run, 40))
    seen = analysis.directions(analysis.sample(run, 40), n_axes=3 if name == "sphere" else 2)
    events = analysis.event_marks(run, seen)
    draw = {"disc": figures.direction_disc, "polar": figures.direction_polar, "sphere": figures.direction_sphere}
    ax = figures.weight_plane(plane, events=events) if name == "plane" else draw[name](seen, events=events)
    shown = {dots.get_label(): dots for dots in ax.collections if not dots.get_label().startswith("_")}
    assert set(shown) == set(run.events.counts())
    if name in ("disc", "sphere"):
        for kind, dots in shown.items():
            where = np.column_stack(dots._offsets3d) if name == "sphere" else dots.get_offsets()
            unit = [run(t).W[j] / np.linalg.norm(run(t).W[j]) for t, _, j, _, k in run.events if k == kind]
            np.testing.assert_allclose(where, unit, atol=1e-6)
    plt.close("all")


def test_a_table_without_what_a_figure_draws_is_told_what_it_lacks():
    """A table of real targets has no margins, and one without held-out samples no second loss."""
    run = analysis.sample(runs.regression(), 5)
    expected = "analysis.series returns of a run on labels (real targets have no margins), found a table without "
    with pytest.raises(ValueError, match=re.escape(f"table must be what {expected}normalised_margin") + "$"):
        figures.margin(analysis.series(run))
    expected = "analysis.losses returns with test=, found a table without test_loss"
    with pytest.raises(ValueError, match=f"table must be what {re.escape(expected)}$"):
        figures.held_out(analysis.losses(runs.regression()))
    with pytest.raises(ValueError, match=r"must be what analysis\.series returns, found a table without norm$"):
        figures.norms(analysis.losses(runs.regression()))


@pytest.mark.parametrize(
    ("t", "log_t", "text"),
    [
        (0.0, -np.inf, "$t = 0$"),
        (0.0123, np.log(0.0123), "$t = 0.0123$"),
        (1234.4, np.log(1234.4), "$t = 1234$"),
        (1e4, np.log(1e4), "$t = 10^{4}$"),
        (2.34e-7, np.log(2.34e-7), r"$t = 2.34\times 10^{-7}$"),
        (np.inf, 747.2, r"$\log t = 747$"),
        (np.inf, 1e6, r"$\log t = 10^{6}$"),
    ],
)
def test_a_time_in_a_title_has_powers_as_powers(t, log_t, text):
    """Mathtext set 1e+06 as the sum of 1e and 06."""
    assert time_text(t, log_t) == text
