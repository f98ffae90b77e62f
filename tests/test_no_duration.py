"""Runs of no duration, whose stop holds at the start: they have one state, which is what every result shows."""

from __future__ import annotations

import numpy as np
import pytest

import reluflow as rf
from pictures import page
from reluflow import analysis, figures
from reluflow.cli import _pictures

# The loss of samples that are all right is below that of a network of zeros, log 2, which is below 1.
MET = rf.Stop(mean_loss=1.0)
DATA, NET = rf.datasets.wang_pilanci("obtuse"), rf.Network.init(5, 2, scale=0.1, seed=0)


def from_zero():
    """A run that begins and ends at t = 0, which has no logarithm."""
    return rf.integrate(DATA, NET, until=MET)


def going_on():
    """A run that goes on from t = 2 and ends there."""
    return rf.integrate(DATA, rf.integrate(DATA, NET, until=2.0), until=MET)


def with_events():
    """A run that ends behind its first event, at a branch point at t = 0."""
    data, net = rf.Dataset([[0.0, 1.0], [1.0, 0.2]], [1.0, -1.0]), rf.Network([[1.0, 0.0], [0.3, 1.0]], [1.0, -1.0])
    return rf.integrate(data, net, until=rf.Stop(events=1))


def several_outputs():
    data, net = (np.eye(3), np.eye(3)), rf.Network.init(5, 3, outputs=3, scale=0.1, seed=0)
    return rf.integrate(data, net, until=MET, loss="squared")


STILL = [from_zero, going_on, with_events]
each = pytest.mark.parametrize("run", STILL, ids=lambda run: run.__name__)


@pytest.mark.parametrize("run", [*STILL, several_outputs], ids=lambda run: run.__name__)
def test_a_run_of_no_duration_has_one_sample_the_start(run):
    sol = run()
    assert sol.success
    assert sol.t_start == sol.t_end
    for found in (analysis.sample(sol), analysis.snapshots(sol), analysis.ends(sol)):
        assert found.t.tolist() == [sol.t_end]
        np.testing.assert_array_equal(found.W, sol.initial.W[None])
        np.testing.assert_array_equal(found.a.ravel(), sol.initial.a.ravel())
    assert "</html>" in sol.explore(None).html


@each
def test_its_timeline_is_the_sectors_of_its_one_state(run):
    sol = run()
    followed, seen = analysis.timeline(sol), analysis.series(sol)
    assert followed.log_t.tolist() == [sol.log_t_end]
    assert followed.sector.shape == (1, sol.initial.width)
    for name in ("n_sectors", "n_held", "n_dead"):
        assert getattr(followed, name).tolist() == seen[name].tolist()[-1:]


def test_a_timeline_does_not_begin_before_its_run():
    """Without events it began at 1e-6 of the end of the run, here before its start."""
    sol = rf.integrate(DATA, rf.integrate(DATA, NET, until=2.0), until=2.001)
    assert len(sol.events) == 0
    assert analysis.timeline(sol).log_t[0] == np.log(2.0)


def test_a_timeline_that_an_event_ends_has_each_time_once():
    """It began at its first event, which was the end: the grid was one time again and again."""
    sol = rf.integrate(DATA, NET, until=rf.Stop(events=1))
    assert sol.t_end > 0.0
    times = analysis.timeline(sol).log_t
    assert np.diff(times).min() > 0.0
    assert times[-1] == sol.log_t_end
    figures.sector_timeline(analysis.timeline(sol), page()[1])


# --- pictures --------------------------------------------------------------------------------------------------------

CURVES = {
    "loss": lambda sol, ax: figures.loss(analysis.series(sol), ax),
    "loss on a linear clock": lambda sol, ax: figures.loss(analysis.series(sol), ax, clock="linear"),
    "norms": lambda sol, ax: figures.norms(analysis.series(sol), ax),
    "margin": lambda sol, ax: figures.margin(analysis.series(sol), ax),
    "margins": lambda sol, ax: figures.margins(analysis.margins(sol), ax),
    "counts": lambda sol, ax: figures.counts(analysis.timeline(sol), ax),
    "alignment": lambda sol, ax: figures.alignment(analysis.alignment(sol), ax),
    "singular values": lambda sol, ax: figures.singular_value_paths(analysis.singular_values(sol), ax),
    "errors": lambda sol, ax: figures.errors(analysis.errors(sol), ax),
    "held out": lambda sol, ax: figures.held_out(analysis.losses(sol, test=sol.data), ax),
}


def places(ax, t):
    """Heights of the marks that stand in view at t, of all curves; nan is a quantity that there is not."""
    (left, right), (low, high) = sorted(ax.get_xlim()), sorted(ax.get_ylim())
    assert left < t < right
    found = []
    for line in ax.lines:
        if line.get_transform() == ax.transData:
            assert line.get_marker() == "o"
            shown = np.unique(line.get_xydata(), axis=0)
            assert shown[:, 0].tolist() == [t]
            found += [y for y in shown[:, 1] if low <= y <= high]
    return found


@pytest.mark.parametrize("name", CURVES)
@pytest.mark.parametrize("run", [from_zero, going_on], ids=lambda run: run.__name__)
def test_curves_of_one_time_are_points(run, name):
    sol = run()
    _, ax = page()
    CURVES[name](sol, ax)
    assert places(ax, sol.t_end)


def test_a_curve_whose_second_time_is_zero_is_a_point_too():
    """A log axis has no place for the start: of the two ends of a run one is left, and a line through it is nothing."""
    sol = rf.integrate(DATA, NET, until=2.0)
    _, ax = page()
    figures.loss(analysis.series(analysis.ends(sol)), ax)
    (line,) = ax.lines
    assert line.get_marker() == "o"
    assert ax.get_xscale() == "log"


def test_curves_of_many_times_have_no_marks():
    _, ax = page()
    figures.norms(analysis.series(rf.integrate(DATA, NET, until=2.0)), ax)
    assert {line.get_marker() for line in ax.lines} == {"None"}


def test_layers_of_one_time_are_points():
    net = rf.DeepNetwork.init([rf.Dense(4), rf.Dense(3), rf.Dense(1)], dim=2, scale=0.1, seed=1)
    sol = rf.integrate(DATA, net, until=MET)
    assert sol.t_end == 0.0
    _, ax = page()
    figures.layer_singular_values(analysis.layer_singular_values(sol), ax)
    assert len(places(ax, 0.0)) == 6  # two of the first layer, three of the second, one of the last


@each
def test_sectors_of_one_time_are_a_band(run):
    sol = run()
    followed = analysis.timeline(sol)
    _, ax = page()
    figures.sector_timeline(followed, ax)
    left, right = ax.get_xlim()
    assert left < sol.t_end < right
    (mesh,) = ax.collections
    colours = mesh.get_array().reshape(sol.initial.width, -1)
    assert (colours == colours[:, :1]).all()
    corners = mesh.get_coordinates()[0, :, 0]
    assert (corners[0], corners[-1]) == pytest.approx((left, right))


@each
def test_directions_of_one_time_are_points_on_a_circle(run):
    sol = run()
    seen = analysis.directions(sol)
    figure, ax = page("polar")
    figures.direction_polar(seen, ax, events=analysis.event_marks(sol, seen))
    figure.canvas.draw()
    radius = 0.0 if sol.t_end == 0.0 else np.log10(sol.t_end)
    points = ax.collections[0].get_offsets()
    np.testing.assert_allclose(points[:, 1], np.full(sol.initial.width, radius))
    unit = sol.initial.W / np.linalg.norm(sol.initial.W, axis=1, keepdims=True)
    np.testing.assert_allclose(np.exp(1j * points[:, 0]), unit @ [1.0, 1j])
    assert ax.get_rmin() < radius
    assert ax.get_rmax() == pytest.approx(radius)
    if sol.t_end == 0.0:
        assert [label.get_text() for label in ax.get_yticklabels()] == ["$0$"]


def test_events_of_the_start_are_seen():
    """They were left out, since a log axis has no place for t = 0; here there are no others."""
    sol = with_events()
    _, ax = page()
    figures.event_raster(analysis.raster(sol), ax)
    shown = np.concatenate([dots.get_offsets() for dots in ax.collections])
    assert len(shown) == len(sol.events) > 0
    assert (shown[:, 0] == 0.0).all()
    assert ax.get_xscale() == "linear"


@each
@pytest.mark.parametrize("name", _pictures.PICTURES)
def test_the_figures_of_the_command_line_are_drawn(run, name):
    assert _pictures.PICTURES[name](run()).axes


@pytest.mark.slow
def test_they_are_written(tmp_path):
    names = [path.stem for path in _pictures.write_all(from_zero(), tmp_path)]
    assert names == ["loss_and_norm", "events", "sectors", "directions", "plane"]
    assert sorted(path.stem for path in tmp_path.iterdir()) == sorted(names)
