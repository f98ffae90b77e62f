"""Alignment with the extreme points of the dual and its times, against the numbers of [WP]'s example."""

from __future__ import annotations

import numpy as np
import pytest

import reluflow as rf
import runs
from reluflow import analysis

X1 = np.array([1.65, -0.47])


@pytest.mark.parametrize(
    ("degrees", "delta", "limit", "bound", "printed"),
    [
        (-60, 0.1, 0.6627, 0.7240, 0.6919),
        (-60, 0.01, 2.0318, 2.1098, 2.0694),
        (-30, 0.01, 0.6488, 0.7029, 0.6746),
    ],
)
def test_bounds_and_limit_times_of_the_planar_example(degrees, delta, limit, bound, printed):
    u = np.array([np.cos(np.radians(degrees)), np.sin(np.radians(degrees))])
    size = np.linalg.norm(X1)
    start, pull = X1 @ u / size, size / 2
    assert float(analysis.limit_time(start, pull, delta=delta)) == pytest.approx(limit, abs=2e-4)
    assert float(analysis.alignment_bound(start, pull, delta=delta)) == pytest.approx(bound, abs=2e-4)
    assert float(analysis.alignment_bound(start, pull, delta=delta, printed=True)) == pytest.approx(printed, abs=2e-4)


@pytest.mark.parametrize("delta", [0.1, 0.01])
def test_small_neurons_that_stay_in_their_sector_align_at_the_limit_time(delta):
    sol = runs.planar(seed=1, until=50.0, scale=1e-7)
    table = analysis.alignment_times(sol, delta=delta)
    stay = table[(table["n_switches"] == 0) & table["condition"] & (table["start"] < 1 - delta)]
    assert len(stay) >= 2
    np.testing.assert_allclose(stay["time"], stay["limit_time"], rtol=1e-6)
    assert (stay["time"] < stay["bound"]).all()


def test_the_time_found_is_where_the_cosine_passes_the_target():
    sol = runs.planar(seed=1, until=50.0, scale=1e-7)
    table = analysis.alignment_times(sol, delta=0.05)
    found = table[(table["time"] > 0) & (table["n_switches"] == 0)].iloc[0]
    before, after = analysis.alignment(sol, found["time"] * np.array([1 - 1e-6, 1 + 1e-6])).to_numpy()
    assert before[found["neuron"]] < 0.95 < after[found["neuron"]]


def test_neurons_of_the_right_sign_align_and_dead_ones_do_not():
    table = analysis.alignment_times(runs.planar(), delta=0.1)
    assert (table.loc[table["condition"], "end"] > 1 - 1e-6).all()
    assert table["time"].isna().sum() == 2  # the two that die


def test_a_neuron_that_starts_aligned_has_time_zero():
    data = rf.Dataset([X1], [1])
    sol = rf.integrate(data, rf.Network([1e-3 * X1], [1e-3 * np.linalg.norm(X1)]), until=1.0)
    row = analysis.alignment_times(sol).iloc[0]
    assert row["time"] == 0.0
    assert row["bound"] == 0.0


def test_on_sliding_data_only_the_projected_pull_aligns():
    data = rf.datasets.counterexample("sliding")
    start = rf.Network([[8e-7, 6e-7]], [1e-6])
    sol = rf.integrate(data, start, until=5.0)
    plain, projected = (analysis.alignment(sol, projected=flag).to_numpy()[:, 0] for flag in (False, True))
    assert "slide" in sol.events.counts()
    assert plain.max() <= np.sqrt(0.5) + 1e-9  # no unit vector does better, whatever [WP] Theorem 1 says
    assert projected[-1] == pytest.approx(1.0, abs=1e-9)


@pytest.mark.parametrize("delta", [0.0, 1.0, float("nan"), "much"])
def test_a_delta_outside_its_range_is_named(delta):
    with pytest.raises(ValueError, match="delta must lie in"):
        analysis.alignment_times(runs.planar(), delta=delta)


@pytest.mark.parametrize(("weights", "rows"), [([3.0, 1.0], [0, 0, 0, 1]), ([1.0, 0.0], [0])])
def test_a_weight_counts_in_the_condition_as_often_as_its_sample(weights, rows):
    X, y = np.array([[1.0, 0.2], [0.3, 1.0]]), np.array([1, -1])
    net = rf.Network([[0.5, 0.6], [1.0, 1.0]], [1.5, -1.5])
    tables = [
        analysis.alignment_times(rf.integrate(data, net, until=1.0))
        for data in (rf.Dataset(X, y, weights=weights), rf.Dataset(X[rows], y[rows]), rf.Dataset(X, y))
    ]
    conditions = [table["condition"].tolist() for table in tables]
    assert conditions[0] == conditions[1] != conditions[2]  # without weights it is another
    np.testing.assert_allclose(tables[0]["bound"], tables[1]["bound"], rtol=1e-12)


def test_a_time_beyond_the_range_of_doubles_is_infinite():
    data, net = rf.datasets.wang_pilanci("obtuse"), rf.Network.init(10, 2, scale=0.1, seed=3)
    sol = rf.integrate(data, net, until=rf.Stop(log_time=1e4))
    found = analysis.alignment_times(sol, delta=1e-3)["time"]
    assert found[4] == np.inf
    assert 1.0 < found[0] < 1e3
