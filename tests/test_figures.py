"""Every figure, drawn on real runs: it returns its axes, shows all of its result, and clips no text."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path

import matplotlib
import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from PIL import Image

import reluflow as rf
import runs
from reluflow import analysis, figures
from reluflow.figures._style import LINES, NEGATIVE, POSITIVE


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


FIGURES: dict[str, Callable] = {
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
        "direction_sphere",
    }  # fmt: skip
    assert set(figures.__all__) - tested == {"animate_directions", "panels", "style"}


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
    assert labels[0] == f"{found.peak[0]} neurons at once"
    assert len(labels) <= len(LINES) + 1


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


def test_the_film_can_be_an_mp4_and_without_ffmpeg_the_message_says_what_is_left(tmp_path, monkeypatch):
    directions = analysis.directions(analysis.ends(runs.planar()))
    if shutil.which("ffmpeg"):
        path = figures.animate_directions(directions, tmp_path / "film.mp4")
        assert path.read_bytes()[4:8] == b"ftyp"  # how every file of this format begins
    monkeypatch.setitem(matplotlib.rcParams, "animation.ffmpeg_path", str(tmp_path / "no-ffmpeg"))
    with pytest.raises(ValueError, match=r"path must end in .gif where ffmpeg is not installed, found 'other.mp4'"):
        figures.animate_directions(directions, tmp_path / "other.mp4")


def test_a_film_of_another_format_is_refused(tmp_path):
    show = partial(figures.animate_directions, analysis.directions(analysis.ends(runs.planar())))
    with pytest.raises(ValueError, match=r"path must end in .gif or .mp4"):
        show(tmp_path / "film.avi")


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
