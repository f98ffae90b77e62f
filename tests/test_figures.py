"""Every figure, drawn on real runs: it returns its axes, shows all of its result, and clips no text."""

from __future__ import annotations

import itertools
import re
import sys
from dataclasses import replace
from pathlib import Path

import matplotlib
import numpy as np
import pytest
from PIL import Image

import reluflow as rf
import runs
from pictures import FIGURES, PROJECTED, drawn, page, table, texts_outside
from reluflow import analysis, figures
from reluflow.figures._style import GREY, LINES, NEGATIVE, POSITIVE


@pytest.mark.parametrize(
    ("projection", "draw"),
    [*((None, draw) for draw in FIGURES.values()), *PROJECTED.values()],
    ids=[*FIGURES, *PROJECTED],
)
def test_a_figure_returns_its_axes_and_is_seen_whole(projection, draw):
    with figures.style():
        figure, ax = page(projection)
        blank, _ = drawn(figure)
        assert draw(ax) is ax
        pixels, _ = drawn(figure)
        assert (pixels != blank).any(axis=2).mean() > 0.005
        assert texts_outside(figure) == []


def test_every_public_figure_is_drawn_above():
    tested = {
        "loss", "norms", "norm_growth", "margin", "margins", "counts", "alignment", "gathering", "singular_values",
        "singular_value_paths", "correlation_histogram", "event_raster", "sector_timeline", "direction_disc",
        "neuron_plane", "weight_plane", "decision", "rectified_ellipsoid", "polar_set", "direction_polar",
        "direction_sphere", "fit", "errors", "held_out", "staircase", "grown",
    }  # fmt: skip
    of_layers = {"layer_raster", "layer_singular_values", "layer_timeline", "row_plane"}  # drawn in test_layered_*
    assert set(figures.__all__) - tested - of_layers == {"animate_directions", "panels", "style"}


def test_text_outside_the_page_is_seen_by_these_tests():
    figure, ax = figures.panels(1)
    ax.text(0.5, 3.0, "too high", transform=ax.transAxes)
    figure.set_layout_engine("none")
    assert texts_outside(figure) == ["too high"]


# --- what is shown ---------------------------------------------------------------------------------------------------


def test_the_neuron_plane_shows_the_rows_of_w_on_its_axes():
    seen = analysis.directions(analysis.ends(runs.iris()))
    _, ax = figures.panels(1)
    figures.neuron_plane(seen, ax)
    shown = np.vstack([dots.get_offsets() for dots in ax.collections])
    rows = runs.iris().final.W @ seen.basis.T
    order = np.argsort(-np.sign(runs.iris().final.a), kind="stable")
    np.testing.assert_allclose(shown, rows[order], atol=1e-12)


def test_the_raster_shows_each_event_of_each_kind_once():
    sol = runs.holding()
    _, ax = page()
    figures.event_raster(analysis.raster(sol), ax)
    shown = {c.get_label().split()[0]: len(c.get_offsets()) for c in ax.collections}
    assert shown == sol.events.counts()


@pytest.mark.parametrize("clock", ["t", "log t", "far"])
@pytest.mark.parametrize("of_layers", [False, True])
def test_events_at_the_start_stand_at_the_left_edge_of_the_raster(of_layers, clock):
    """Weights on the boundaries of samples start with events at t = 0, which a log axis has no place for."""
    data = rf.Dataset([[1.0, 0.0], [0.0, 1.0], [-1.0, 1.0]], [1, -1, 1])
    W, a = [[1.0, 1.0], [0.0, 1.0], [1.0, 0.0], [0.0, -1.0]], [1.0, -1.0, 1.0, 1.0]
    if of_layers:
        start = rf.DeepNetwork([rf.Dense(4), rf.Dense(1)], [*np.ravel(W), *a], dim=2)
        found = analysis.layer_raster(rf.integrate(data, start, until=5.0))
    else:
        found = analysis.raster(rf.integrate(data, rf.Network(W, a), until=5.0))
    n_start = int((found.t == 0).sum())
    assert 6 <= n_start == len(found.t) - 2
    if clock != "t":  # the same events, the later ones at times that no double holds
        found = replace(found, log_t=found.log_t + (1e3 if clock == "log t" else 1e6))
    figure, ax = page()
    (figures.layer_raster if of_layers else figures.event_raster)(found, ax)
    drawn(figure)
    x = np.concatenate([dots.get_offset_transform().transform(dots.get_offsets())[:, 0] for dots in ax.collections])
    left, right = ax.bbox.x0, ax.bbox.x1
    assert np.isclose(x, left).sum() == n_start
    assert ((x > left + 1) & (x < right - 1)).sum() == 2
    counted = [int(text.get_text().split("(")[1][:-1]) for text in ax.get_legend().get_texts()]
    assert (len(counted), sum(counted)) == (len(set(found.kind.tolist())), len(found.t))


def test_curves_show_the_numbers_of_the_table():
    found = table()
    _, ax = page()
    figures.norms(found, ax)
    late = found["t"].to_numpy() > 0  # t = 0 has no place on a log axis
    np.testing.assert_array_equal(ax.lines[0].get_ydata()[late], found["norm"][late])
    np.testing.assert_array_equal(ax.lines[0].get_xdata()[late], found["t"][late])


def test_an_endless_run_is_drawn_against_log10_of_time():
    _, ax = page()
    figures.loss(table(runs.endless), ax)
    assert ax.get_xlabel() == r"$\log_{10} t$"
    assert ax.lines[0].get_xdata()[-1] == pytest.approx(1500 / np.log(10))
    assert np.isfinite(ax.lines[0].get_ydata()).all()


def test_a_run_to_a_limit_far_out_shows_all_its_events() -> None:
    """Half of the events come before log t = 10, and the last at 1e9: on a linear scale all but one stood at 0."""
    wine = rf.datasets.wine("class_0", "class_1")
    sol = rf.integrate(wine, rf.Network.init(20, wine.d, scale=0.1, seed=0), until=rf.Stop(log_time=1e12))
    assert sol.events.log_t.max() > 1e9
    _, ax = page()
    figures.loss(analysis.series(sol), ax)
    assert ax.get_xscale() == ax.get_yscale() == "symlog"
    assert 2 < len(ax.get_xticks()) <= 7
    shown = ax.transLimits.transform(ax.transScale.transform([(x, -1.0) for x in (-1.0, 1.0, 1e3, 4e11)]))[:, 0]
    assert (np.diff(shown) > 0.05).all()
    found = analysis.timeline(sol)
    assert np.isfinite(found.log_t).all()
    assert np.all(np.diff(found.log_t) > 0)
    assert found.log_t[-1] <= sol.log_t_end
    places = [
        int(((found.log_t >= low) & (found.log_t < high)).sum()) for low, high in ((-14, 5), (5, 1e4), (1e4, 1e12))
    ]
    assert min(places) > 40
    _, ax = page()
    figures.sector_timeline(found, ax)
    drawn = ax.collections[0].get_array()
    assert len(np.unique(drawn)) > 2


def test_a_linear_clock_shows_plain_time_and_refuses_times_that_overflow():
    _, ax = page()
    figures.norms(table(), ax, clock="linear")
    assert ax.get_xscale() == "linear"
    assert ax.lines[0].get_xdata()[0] == 0.0
    with pytest.raises(ValueError, match="clock must be 'log'"):
        figures.norms(table(runs.endless), ax, clock="linear")


def test_neurons_have_the_colour_of_their_sign():
    found = analysis.alignment(analysis.sample(runs.planar(), 20))
    _, ax = page()
    figures.alignment(found, ax)
    colours = [line.get_color() for line in ax.lines]
    signs = found["sign"].to_numpy()
    assert colours.count(POSITIVE) == (signs > 0).sum()
    assert colours.count(NEGATIVE) == (signs < 0).sum()


def test_the_timeline_colours_the_fullest_sectors():
    found = analysis.timeline(runs.digits())
    _, ax = page()
    figures.sector_timeline(found, ax)
    mesh = ax.collections[0]
    assert mesh.get_array().shape == (24, 400)
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert labels[0] == f"{found.peak[0]}"
    assert len(labels) <= len(LINES) + 1


@pytest.mark.parametrize("width", [1, 2, 5])
def test_the_timeline_gives_each_neuron_a_row_of_height_one(width):
    sol = rf.integrate(rf.datasets.wang_pilanci("obtuse"), rf.Network.init(width, 2, scale=1e-2, seed=0), until=10.0)
    _, ax = page()
    figures.sector_timeline(analysis.timeline(sol), ax)
    edges = ax.collections[0].get_coordinates()[:, 0, 1]
    assert edges[[0, -1]].tolist() == [-0.5, width - 0.5]
    assert set(np.arange(width) + 0.5) <= set(edges.tolist())


@pytest.mark.parametrize("scale", [1e-2, 1e-12, 1e-30, 1e-100])
def test_the_circles_of_the_weight_plane_are_few_and_lie_below_its_boundaries(scale):
    start = rf.Network.init(6, 2, scale=scale, seed=1)
    sol = rf.integrate(rf.datasets.wang_pilanci("obtuse"), start, until=rf.Stop(mean_loss=0.3))
    figure, ax = figures.panels(1, width=2.3, height=2.3)
    figures.weight_plane(analysis.weight_plane(analysis.sample(sol, 20)), ax)
    _, renderer = drawn(figure)
    labels = [text for text in ax.texts if text.get_text().startswith("$10")]
    powers = [int(re.search(r"\{(-?\d+)\}", text.get_text())[1]) for text in labels]
    assert 2 <= len(labels) <= 6
    assert len(set(np.diff(powers))) == 1
    np.testing.assert_allclose(np.diff([np.hypot(*text.get_position()) for text in labels]), np.diff(powers))
    boxes = [text.get_window_extent(renderer) for text in labels]
    assert not any(inner.overlaps(outer) for inner, outer in itertools.pairwise(boxes))
    rings = [line.get_zorder() for line in ax.lines if line.get_color() == "white"]
    boundaries = [line.get_zorder() for line in ax.lines if line.get_color() == GREY]
    assert (len(rings), len(boundaries)) == (len(labels), 4)
    assert max(rings) < min(boundaries)


def test_the_circles_of_the_weight_plane_are_seen_where_nothing_is_behind_them():
    _, ax = page()
    figures.weight_plane(analysis.weight_plane(analysis.sample(runs.iris(), 20)), ax)
    radii = [np.hypot(*text.get_position()) for text in ax.texts if text.get_text().startswith("$10")]
    circles = {
        float(round(np.hypot(*line.get_data())[0], 6)): line
        for line in ax.lines
        if len(line.get_xdata()) > 2 and np.ptp(np.hypot(*line.get_data())) < 1e-9
    }
    assert sorted(circles) == pytest.approx(sorted(radii))
    background = matplotlib.colors.to_rgb(ax.get_facecolor())
    assert all(matplotlib.colors.to_rgb(line.get_color()) != background for line in circles.values())


def test_lines_of_different_meaning_differ_in_lightness_for_every_eye():
    def luminance(colour):
        rgb = np.array([int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)])
        return float(np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4) @ [0.2126, 0.7152, 0.0722])

    bright, dark = sorted((luminance(POSITIVE), luminance(NEGATIVE)), reverse=True)
    assert bright - dark > 0.05


@pytest.mark.parametrize(("name", "draw"), [("polar", figures.direction_polar), ("3d", figures.direction_sphere)])
def test_axes_of_the_wrong_projection_are_named(name, draw):
    _, ax = page()
    with pytest.raises(ValueError, match=f'ax must have the projection "{name}"'):
        draw(analysis.directions(analysis.ends(runs.planar())), ax)


def test_a_figure_leaves_no_trace_in_the_settings_of_matplotlib():
    import matplotlib

    before = dict(matplotlib.rcParams)
    with figures.style():
        assert matplotlib.rcParams["font.size"] == 8.0
    assert dict(matplotlib.rcParams) == before


# --- the film --------------------------------------------------------------------------------------------------------


def test_the_film_has_a_frame_for_each_time(tmp_path):
    run = analysis.sample(runs.planar(), 12)
    path = figures.animate_directions(analysis.directions(run), tmp_path / "film.gif", fps=10)
    with Image.open(path) as film:
        assert film.n_frames == len(run)
        first = np.asarray(film.convert("RGB"))
        film.seek(film.n_frames - 1)
        assert (np.asarray(film.convert("RGB")) != first).any()


def film_of_three():
    run = analysis.snapshots(runs.planar(), 3)
    directions = analysis.directions(run)
    return directions, analysis.event_marks(runs.planar(), directions)


def test_the_film_can_be_an_mp4(tmp_path):
    directions, events = film_of_three()
    path = figures.animate_directions(directions, tmp_path / "film.mp4", events=events)
    assert path.read_bytes()[4:8] == b"ftyp"  # how every file of this format begins


def test_without_ffmpeg_the_message_says_what_is_left(tmp_path, monkeypatch):
    monkeypatch.setitem(matplotlib.rcParams, "animation.ffmpeg_path", str(tmp_path / "no-ffmpeg"))
    monkeypatch.setitem(sys.modules, "imageio_ffmpeg", None)
    with pytest.raises(ValueError, match=r"path must end in .gif or .html where there is no ffmpeg .*, found 'o.mp4'"):
        figures.animate_directions(film_of_three()[0], tmp_path / "o.mp4")
    assert list(tmp_path.iterdir()) == []


def test_the_film_can_be_a_page_that_needs_no_network(tmp_path):
    page = figures.animate_directions(film_of_three()[0], tmp_path / "film.html").read_text(encoding="utf-8")
    assert page.count("data:image/png;base64,") == 3
    assert "://" not in page
    assert 'class="fa' not in page


def test_a_film_of_another_format_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"path must end in .gif, .mp4 or .html"):
        figures.animate_directions(film_of_three()[0], tmp_path / "film.avi")


# --- the gallery -----------------------------------------------------------------------------------------------------

DOCS = Path(__file__).resolve().parent.parent / "docs"


def test_every_picture_of_the_gallery_is_written_by_the_code_beside_it():
    text = (DOCS / "gallery.md").read_text(encoding="utf-8")
    shown = re.findall(r"!\[[^]]+\]\(gallery/(\S+)\)", text)
    written = re.findall(r"(?:savefig\(|animate_directions\(film, )\"([^\"]+)\"", text)
    assert shown == written
    assert {path.name for path in (DOCS / "gallery").iterdir()} == set(shown)


def test_every_public_figure_is_in_the_gallery():
    text = (DOCS / "gallery.md").read_text(encoding="utf-8")
    assert [name for name in figures.__all__ if f"figures.{name}(" not in text] == []


def test_a_fit_shows_every_time_the_samples_and_the_kinks_in_view():
    curves = analysis.fit_curves(analysis.snapshots(runs.regression(), 4))
    _, ax = figures.panels(1)
    figures.fit(curves, ax)
    *lines, samples = ax.lines
    assert len(lines) == len(curves.t)
    np.testing.assert_array_equal(lines[-1].get_ydata(), curves.f[-1])
    np.testing.assert_array_equal(samples.get_xydata(), np.column_stack((curves.inputs, curves.data.y)))
    x = ax.collections[-1].get_offsets()[:, 0]
    assert len(x) > 0
    assert np.isin(x, curves.kinks[-1]).all()


def test_errors_are_drawn_one_curve_a_sample():
    found = analysis.errors(runs.regression(), [0.0, 1.0, 60.0])
    _, ax = figures.panels(1)
    figures.errors(found, ax)
    np.testing.assert_array_equal(np.array([line.get_ydata() for line in ax.lines[:-1]]).T, found.to_numpy())


def of_a_tiny_start(data):
    return rf.integrate(data, rf.Network.init(6, 2, scale=1e-200, seed=0), until=rf.Stop(mean_loss=0.3, time=1e5))


def of_long_weight_decay(data):
    return rf.integrate(data, rf.Network.init(6, 2, scale=0.01, seed=0), until=1e4, weight_decay=5.0)


@pytest.mark.parametrize("targets", [[0.5, -3.0, 0.0, 1.0], [0.0, 0.0, 0.0, 0.0]])
def test_samples_of_a_regression_stand_on_the_plane_in_the_colour_of_their_target(targets):
    data = rf.Dataset([[1.0, 0.5], [-0.5, 1.0], [-1.0, -1.0], [0.3, -0.8]], targets)
    _, ax = figures.panels(1)
    figures.decision(analysis.decision_plane(data, rf.Network.init(6, 2, scale=0.1, seed=1)), ax)
    outputs, *_, samples = ax.collections
    np.testing.assert_array_equal(samples.get_offsets(), data.X)
    np.testing.assert_array_equal(samples.get_array(), targets)
    assert samples.norm is outputs.norm
    assert outputs.norm.vmin <= min(targets) <= max(targets) <= outputs.norm.vmax


def test_samples_with_labels_stand_on_the_plane_by_label():
    sol = runs.planar()
    _, ax = figures.panels(1)
    figures.decision(analysis.decision_plane(sol.data, sol.final), ax)
    for samples, label in zip(ax.collections[-2:], (1.0, -1.0), strict=True):
        np.testing.assert_allclose(samples.get_offsets(), sol.data.X[sol.data.y == label])


# What is ignored is of an old matplotlib beside a new pyparsing.
@pytest.mark.filterwarnings("error", "ignore:.* deprecated.* use:DeprecationWarning")
@pytest.mark.parametrize("run", [of_a_tiny_start, of_long_weight_decay])
def test_the_normalised_margin_of_tiny_weights_is_seen_beside_a_huge_smoothed_one(run):
    data = rf.Dataset(np.random.default_rng(0).standard_normal((5, 2)), [1, -1, 1, 1, -1])
    found = analysis.series(analysis.sample(run(data), 60))
    assert found["smoothed_margin"].min() < -1e200
    ax = figures.margin(found)
    drawn(ax.figure)
    low, high = ax.get_ylim()
    shown = found["normalised_margin"].dropna()
    assert low < shown.min() < shown.max() < high
    assert high - low < 1.5 * (0.0 - shown.min())


# What is ignored is of an old matplotlib beside a new pyparsing.
@pytest.mark.filterwarnings("error", "ignore:.* deprecated.* use:DeprecationWarning")
def test_a_run_of_zeros_and_a_single_time_are_drawn_without_warnings():
    data = rf.datasets.wang_pilanci("obtuse")
    resting = rf.integrate(data, rf.Network(np.zeros((2, 2)), np.zeros(2)), until=3.0)
    once = rf.integrate(data, rf.Network.init(4, 2, seed=1), until=3.0, save_at=[3.0])
    for sol in (resting, once):
        for draw, result in (
            (figures.margin, analysis.series(sol)),
            (figures.norms, analysis.series(sol)),
            (figures.singular_value_paths, analysis.singular_values(sol)),
            (figures.direction_polar, analysis.directions(sol)),
        ):
            drawn(draw(result).figure)
    assert analysis.compare_with_descent(resting, steps=[0.1])["error"].tolist() == [0.0]
