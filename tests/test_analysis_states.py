"""States of a run: dense output, replayed patterns, and the scalars taken from them."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import reluflow as rf
import runs
from reluflow import analysis


def test_states_at_given_times_are_those_of_the_solution():
    sol = runs.holding()
    times = np.array([0.0, 0.3, 1.7, 20.0, 200.0])
    run = analysis.states(sol, times)
    for k, t in enumerate(times):
        net = sol(t)
        np.testing.assert_array_equal(run.W[k], net.W)
        np.testing.assert_array_equal(run.a[k], net.a)
        np.testing.assert_array_equal(run.pattern[k], sol.pattern(t))


def test_the_pattern_of_every_saved_state_is_that_of_a_replay():
    sol = runs.iris()
    run = analysis.states(sol)
    for k in range(0, len(run), 20):
        np.testing.assert_array_equal(run.pattern[k], sol.events.replay(sol.pattern0, run.t[k]))
    np.testing.assert_array_equal(run.pattern[-1], sol.final.pattern)


def test_signs_of_the_preactivations_agree_with_the_pattern_away_from_boundaries():
    run = analysis.sample(runs.iris(), 40)
    Z = run.W @ run.data.X.T
    scale = run.sizes[:, :, None] * np.linalg.norm(run.data.X, axis=1)
    clear = np.abs(Z) > 1e-7 * scale
    assert clear.mean() > 0.9
    np.testing.assert_array_equal(np.sign(Z)[clear], run.pattern[clear])


def test_a_sample_of_a_run_starts_and_ends_with_it_and_increases():
    sol = runs.holding()
    run = analysis.sample(sol, 30)
    assert run.t[0] == sol.t_start
    assert run.t[-1] == sol.t_end
    assert (np.diff(run.t) > 0).all()
    np.testing.assert_array_equal(run.W[-1], sol.final.W)


def test_a_run_whose_time_overflows_is_sampled_in_log_time():
    sol = runs.endless()
    run = analysis.sample(sol, 20)
    assert np.isinf(run.t[-1])
    assert run.log_t[-1] == pytest.approx(1500.0, rel=1e-12)
    assert run.t[0] == 0.0
    np.testing.assert_array_equal(run.W[0], sol.initial.W)
    assert (np.diff(run.norm) > 0).all()


def test_snapshots_hold_the_start_the_median_event_and_the_end():
    sol = runs.iris()
    run = analysis.snapshots(sol, 4)
    assert len(run) == 4
    assert run.t[1] == pytest.approx(float(np.median(sol.events.t)), rel=0.02)
    np.testing.assert_allclose(np.diff(run.log_t[1:], 2), 0.0, atol=1e-9)


def test_margins_and_loss_agree_with_the_network_and_the_core():
    sol = runs.iris()
    run = analysis.states(sol)
    for k in (0, len(run) // 2, -1):
        np.testing.assert_allclose(run.margins[k], run.data.y * run.at(k)(run.data.X), rtol=1e-13, atol=1e-300)
    np.testing.assert_allclose(run.log_loss, sol.log_loss, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize(
    ("times", "message"),
    [
        ([1.0, 0.5], "times must hold increasing numbers"),
        ([[0.0]], "times must have the shape"),
        ([1e9], "t must lie in"),
    ],
)
def test_bad_times_are_named(times, message):
    with pytest.raises(ValueError, match=message):
        analysis.states(runs.holding(), times)


def test_states_with_times_of_their_own_take_no_others():
    run = analysis.ends(runs.holding())
    with pytest.raises(ValueError, match="times must be left out"):
        analysis.series(run, [1.0])


def test_a_single_network_can_be_analysed():
    data = rf.Dataset([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], [1, -1, 1])
    net = rf.Network([[2.0, 0.0], [0.0, -1.0]], [1.0, -1.0])
    table = analysis.series(analysis.state_of(data, net))
    row = table.iloc[0]
    assert (row["n_sectors"], row["n_held"], row["n_dead"]) == (2, 2, 1)
    assert row["min_margin"] == 0.0
    assert row["norm"] == pytest.approx(np.sqrt(7.0))


# --- the table of scalars --------------------------------------------------------------------------------------------


def test_counts_agree_with_plain_loops_over_the_pattern():
    run = analysis.sample(runs.holding(), 25)
    table = analysis.series(run)
    for k, pattern in enumerate(run.pattern.tolist()):
        assert table["n_sectors"][k] == len({tuple(row) for row in pattern})
        assert table["n_held"][k] == sum(row.count(0) for row in pattern)
        assert table["n_dead"][k] == sum(1 not in row for row in pattern)
    assert table["n_held"].max() > 0
    assert table["n_dead"].max() > 0


def test_no_neuron_with_a_leak_is_dead():
    run = analysis.states(runs.iris())
    assert (analysis.series(run)["n_dead"] == 0).all()


def test_the_smoothed_margin_rises_and_stays_below_the_margin_once_the_data_are_separated():
    table = analysis.series(analysis.sample(runs.endless(), 60))
    late = table[table["log_loss"] < np.log(np.log(2.0))]
    assert len(late) > 20
    assert (late["smoothed_margin"] <= late["normalised_margin"]).all()
    assert (np.diff(late["smoothed_margin"]) > 0).all()


def test_the_margin_of_the_planar_example_tends_to_the_largest_one():
    last = analysis.series(runs.endless()).iloc[-1]
    assert last["normalised_margin"] == pytest.approx(0.389884, abs=2e-4)
    assert last["norm2_per_log_t"] == pytest.approx(2 * 1.282432, rel=0.01)


def test_balance_does_not_drift_and_loss_never_rises():
    for sol in (runs.planar(), runs.holding(), runs.iris()):
        table = analysis.series(analysis.sample(sol, 100))
        assert table["balance_drift"].max() < 1e-12
        assert (np.diff(table["log_loss"]) <= 1e-13).all()


def test_margins_come_as_an_array_with_named_dimensions():
    sol = runs.planar()
    array = analysis.margins(sol, normalised=True)
    assert array.dims == ("time", "sample")
    assert array.attrs["units"] == "1"
    np.testing.assert_allclose(array.min("sample"), analysis.series(sol)["normalised_margin"], rtol=1e-14)


def test_permuting_neurons_and_samples_changes_no_scalar():
    run = analysis.sample(runs.holding(), 15)
    neurons, samples = np.arange(run.width)[::-1], np.array([1, 0])
    data = rf.Dataset(run.data.X[samples], run.data.y[samples])
    for k in range(len(run)):
        net = run.at(k)
        other = rf.Network(net.W[neurons], net.a[neurons], pattern=net.pattern[neurons][:, samples])
        one, two = (analysis.series(analysis.state_of(d, n)).iloc[0] for d, n in ((run.data, net), (data, other)))
        np.testing.assert_allclose(one.to_numpy(), two.to_numpy(), rtol=1e-12, equal_nan=True)


def test_what_is_relative_is_that_of_the_same_network_at_any_size():
    data = rf.Dataset(np.random.default_rng(1).normal(size=(6, 2)), [1, -1, 1, 1, -1, 1])
    net = rf.Network.init(5, 2, balanced=False, seed=0)
    small = rf.Network(np.ldexp(net.W, -600), np.ldexp(net.a, -600))
    one, other = (rf.analysis.state_of(data, which) for which in (net, small))
    assert other.norm[0] == np.ldexp(one.norm[0], -600) > 0
    assert np.array_equal(rf.analysis.margins(one, normalised=True), rf.analysis.margins(other, normalised=True))
    invariant = {
        rf.analysis.series: ["normalised_margin", "n_sectors"],
        rf.analysis.groups: ["group", "share", "group_share", "angle"],
        rf.analysis.sectors: ["share"],
        rf.analysis.shape: ["stable_rank", "distance_to_linear", "embedding_error"],
    }
    for table, columns in invariant.items():
        assert table(other)[columns].equals(table(one)[columns])
    for function in (rf.analysis.alignment, rf.analysis.angles_to_group, rf.analysis.rectified_paths):
        np.testing.assert_array_equal(function(other), function(one))
    paths, found = rf.analysis.directions(one, n_axes=3), rf.analysis.directions(other, n_axes=3)
    np.testing.assert_array_equal(found.coords, paths.coords)
    np.testing.assert_array_equal(found.share, paths.share)


def test_the_drift_of_the_balance_of_a_tiny_neuron_is_relative_to_its_size():
    data = rf.Dataset([[1.0, 0.0], [0.0, 1.0]], [1, -1])
    states = rf.analysis.states(rf.integrate(data, rf.Network([[1e-200, 0.0]], [2e-200]), until=2.0))
    moved = dataclasses.replace(states, a=states.a * np.linspace(1.0, 1.1, len(states))[:, None])
    large = dataclasses.replace(moved, W=moved.W * 1e200, a=moved.a * 1e200)
    drift, expected = (rf.analysis.series(one)["balance_drift"].to_numpy() for one in (moved, large))
    np.testing.assert_allclose(drift, expected, rtol=1e-9)
    assert drift[-1] > 0.1


@pytest.mark.filterwarnings("error")
def test_what_overflows_beside_tiny_weights_is_infinite_and_what_is_zero_stays_zero():
    data = rf.Dataset([[1.0, 0.0], [0.0, 1.0]], [1, -1])
    states = rf.analysis.states(rf.integrate(data, rf.Network([[1.0, 0.0], [0.0, 2.0]], [1.0, 1.0]), until=1.0))
    shrunk = dataclasses.replace(states, W=np.array(states.W), a=np.array(states.a))
    shrunk.W[-1], shrunk.a[-1] = [[1e-200, 0.0], [0.0, 2e-200]], [1e-200, 1e-200]
    last = rf.analysis.series(shrunk).iloc[-1]
    assert last["balance_drift"] == np.inf
    assert last["smoothed_margin"] == -np.inf
    balanced = dataclasses.replace(shrunk, W=shrunk.W[:, :1], a=shrunk.a[:, :1], pattern=shrunk.pattern[:, :1])
    assert rf.analysis.series(balanced)["balance_drift"].iloc[-1] == 0.0


@pytest.mark.parametrize("n_test", [8, 11])
def test_a_final_network_on_held_out_samples_has_its_signs_there(n_test):
    X = np.random.default_rng(0).normal(size=(8 + n_test, 2))
    train, test = (rf.Dataset(part, np.where(part[:, 0] > 0, 1, -1)) for part in (X[:8], X[8:]))
    net = rf.integrate(train, rf.Network.init(6, 2, seed=0), until=50.0).final
    np.testing.assert_array_equal(analysis.state_of(train, net).pattern[0], net.pattern)
    plain = analysis.state_of(test, rf.Network(net.W, net.a))
    np.testing.assert_array_equal(analysis.state_of(test, net).pattern, plain.pattern)
    np.testing.assert_array_equal(analysis.alignment(analysis.state_of(test, net)), analysis.alignment(plain))
    with pytest.raises(ValueError, match="net must have dim 3, the columns of X, found dim 2"):
        analysis.state_of(rf.Dataset(np.eye(3), [1, 1, -1]), net)
