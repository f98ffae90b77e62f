"""Layers of very different sizes, and small starts whose units gather: they leave boundaries within an instant."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import reluflow as rf


def start(seed: int, sizes: list[int], scale: float | list[float]) -> tuple[rf.Dataset, rf.DeepNetwork]:
    """Seven Gaussian samples in three dimensions with random labels, and layers of these sizes."""
    rng = np.random.default_rng(seed)
    data = rf.Dataset(rng.standard_normal((7, 3)), rng.choice([-1.0, 1.0], 7))
    inputs = [3, *sizes[:-1]]
    scales = np.broadcast_to(scale, len(sizes))
    weights = [rng.standard_normal((m, d)) / np.sqrt(d) for m, d in zip(sizes, inputs, strict=True)]
    theta = np.concatenate([s * W.ravel() for s, W in zip(scales, weights, strict=True)])
    return data, rf.DeepNetwork([rf.Dense(m) for m in sizes], theta, dim=3)


def events(sol: rf.LayeredSolution) -> list[tuple[int, int, int, str]]:
    """All events in an order that does not depend on which of one instant is listed first."""
    return sorted((e.layer, e.unit, e.sample, e.kind) for e in sol.events)


@pytest.mark.parametrize("seed", [3, 21])
def test_a_tiny_layer_between_others_has_zeros_of_its_own(seed: int) -> None:
    # What has to be zero with an event was compared with the largest z of its layer: where one unit has grown, all
    # others of 1e-8 were taken for zero. Runs were undecided, or 1e-3 to 0.4 off.
    ends = []
    for scale in (1e-7, 1e-9, 1e-11):
        data, net = start(seed, [4, 3, 1], [1.0, scale, 1.0])
        sol = rf.integrate(data, net, until=3.0, loss="squared")
        assert sol.status == "reached_time", sol.message
        ends.append(sol.final.theta)
    assert np.abs(ends[1] - ends[0]).max() < 2e-6
    assert np.abs(ends[2] - ends[1]).max() < 2e-8


def test_units_that_have_gathered_leave_one_after_the_other() -> None:
    # Units of one direction are held jointly on a sample that only they see, and are let go 1e-9 of a step apart.
    # The state that says what leaves was behind two of them, and the runs ended `undecided_event`.
    data, net = start(1, [6, 6, 1], 1e-4)
    until = rf.Stop(time=2e4)
    runs = [rf.integrate(data, net, until=until, loss="squared", rtol=rtol) for rtol in (1e-8, 1e-10)]
    assert [sol.status for sol in runs] == ["reached_time"] * 2, [sol.message for sol in runs]
    assert events(runs[0]) == events(runs[1])
    left = {unit for layer, unit, sample, kind in events(runs[0]) if (layer, sample, kind) == (1, 6, "leave_down")}
    assert {0, 4, 5} <= left
    assert np.abs(runs[1].final.theta - runs[0].final.theta).max() < 1e-7


@pytest.mark.parametrize(
    ("seed", "scale", "time", "loss"),
    [(13, 1e-2, 3e3, "squared"), (13, 1e-1, 3e2, "squared"), (8, 1e-2, 3e4, "logistic")],
)
def test_what_gathered_units_do_is_asked_of_the_state_behind(seed: int, scale: float, time: float, loss: str) -> None:
    # What leaves was pushed off its boundary by far more than what tells it from the next one: the model of the event
    # let both go, and the runs ended `undecided_event` at all tolerances.
    data, net = start(seed, [6, 6, 1], scale)
    runs = [rf.integrate(data, net, until=time, loss=loss, rtol=rtol) for rtol in (1e-8, 1e-10)]
    assert [sol.status for sol in runs] == ["reached_time"] * 2, [sol.message for sol in runs]
    assert events(runs[0]) == events(runs[1])
    assert np.abs(runs[1].final.theta - runs[0].final.theta).max() < 1e-8


@pytest.mark.parametrize("scale", [1e-2, 1e-3, 1e-4])
def test_what_turns_with_a_dual_lets_others_go(scale: float) -> None:
    # The output of sample 5 passes its target. Units of the second layer that slide on it turn: each may go up or
    # down, or stand there. They alone drive three units of the first layer, each held on two boundaries, which leave at
    # the same instant. More sides than are looked at, and no continuation was found.
    data, net = start(3, [6, 6, 1], scale)
    until = rf.Stop(time=60.0 if scale == 1e-2 else 260.0 if scale == 1e-3 else 2300.0)
    runs = [rf.integrate(data, net, until=until, loss="squared", rtol=rtol) for rtol in (1e-9, 1e-11)]
    assert [sol.status for sol in runs] == ["reached_time"] * 2, [sol.message for sol in runs]
    for sol in runs:
        (point,) = sol.branchings
        assert sorted(point.places) == [(2, 1, 5), (2, 3, 5), (2, 4, 5)]
        assert len(set(point.options)) == 27
        let_go = {(e.layer, e.unit) for e in sol.events if e.kind == "leave_down" and e.t == point.t}
        assert let_go == {(2, 1), (2, 3), (2, 4), (1, 0), (1, 1), (1, 2)}
        assert abs(sol(point.t)(data.X)[5] - data.y[5]) < 1e-6
        assert events(sol) == events(runs[1])
        assert np.abs(sol.final.theta - runs[1].final.theta).max() < 1e-7


def test_implicit_steps_are_taken_where_boundaries_are_held_jointly() -> None:
    # Explicit steps went on around the critical point: 6,000 of them led to a tenth of the time.
    data, net = start(3, [6, 6, 1], 1e-2)
    runs = [rf.integrate(data, net, until=3e3, loss="squared", rtol=rtol) for rtol in (1e-7, 1e-9)]
    for sol in runs:
        assert sol.status == "reached_time", sol.message
        assert sol.stats["steps"] < 1000
    assert np.abs(runs[1].final.theta - runs[0].final.theta).max() < 1e-8


@pytest.mark.parametrize(("seed", "depth"), [(5, 2), (3, 3)])
def test_what_grows_in_less_than_the_last_digit_of_t_is_followed(seed: int, depth: int) -> None:
    # From weights of s it takes three layers 1/s, and four 1/s², to grow, and then a few units of time to come to a
    # saddle, or to rest. No steps there were told from none by their time: all runs ended `undecided_event`.
    X = np.array([[1.0, 2.0], [2.0, -1.0], [-1.0, 1.0], [-2.0, -1.0]])
    data, layers = (X, np.array([1.0, -1.0, 2.0, 0.5])), [*[rf.Dense(4)] * depth, rf.Dense(1)]
    ends = []
    for scale, rtol in ((1e-12, 1e-9), (1e-30, 1e-9), (1e-30, 1e-11)):
        net = rf.DeepNetwork.init(layers, dim=2, scale=scale, seed=seed)
        sol = rf.integrate(data, net, loss="squared", until=1e4 * scale ** (1 - depth), rtol=rtol)
        assert sol.success, sol.message
        ends.append(sol.final.theta)
    np.testing.assert_allclose(ends[1], ends[2], rtol=0.0, atol=1e-7)
    np.testing.assert_allclose(ends[1], ends[0], rtol=0.0, atol=1e-7)


def test_what_still_grows_beside_a_saddle_is_no_rest() -> None:
    # One sample is fitted at t = 0.96 / s, while the weights of the others, still of s, grow until t = 1.57 / s.
    # Nothing moved by 1e-15 in three steps, and the run was `stationary` with a loss of 2.6.
    X = np.array([[1.0, 2.0], [2.0, -1.0], [-1.0, 1.0], [-2.0, -1.0]])
    data, layers = (X, np.array([1.0, -1.0, 2.0, 0.5])), [*[rf.Dense(4)] * 2, rf.Dense(1)]
    for scale, rtol in ((1e-12, 1e-9), (1e-12, 1e-11), (1e-10, 1e-9)):
        net = rf.DeepNetwork.init(layers, dim=2, scale=scale, seed=0)
        sol = rf.integrate(data, net, loss="squared", until=1e4 / scale, rtol=rtol)
        assert sol.status == "reached_time", sol.message
        np.testing.assert_allclose(sol.final(X).ravel(), data[1], rtol=0.0, atol=1e-7)
        saddle = sol(0.99 / scale)
        np.testing.assert_allclose(saddle(X).ravel(), [0.0, -1.0, 0.0, 0.0], rtol=0.0, atol=1e-7)
    # Beyond the rounding of the fastest decay steps do not know what grows: this is said, and no rest.
    net = rf.DeepNetwork.init(layers, dim=2, scale=1e-30, seed=0)
    sol = rf.integrate(data, net, loss="squared", until=1e34)
    assert (sol.status, sol.success) == ("stalled", False)
    np.testing.assert_allclose(sol.final.theta, saddle.theta, rtol=0.0, atol=1e-7)


@pytest.mark.parametrize("scale", [1e-10, 1e-12])
def test_what_has_left_beside_far_larger_units_keeps_its_side(scale: float) -> None:
    # Weights of 1e-12 have left in the instant in which units of one meet their boundaries: their rates were taken for
    # rounding. So they were put back to slide, beyond their bounds, and the runs ended `undecided_event`.
    X = np.array([[1.0, 2.0], [2.0, -1.0], [-1.0, 1.0], [-2.0, -1.0]])
    net = rf.DeepNetwork.init([*[rf.Dense(4)] * 3, rf.Dense(1)], dim=2, scale=scale, seed=5)
    runs = [
        rf.integrate((X, np.array([1.0, -1.0, 2.0, 0.5])), net, loss="squared", until=1e4 * scale**-2, rtol=rtol)
        for rtol in (1e-9, 1e-11)
    ]
    for sol in runs:
        assert sol.success, sol.message
        np.testing.assert_allclose(sol.final(X).ravel(), [1.0, 0.0, 2.0, 0.5], rtol=0.0, atol=1e-6)
    assert np.abs(runs[0].final.theta - runs[1].final.theta).max() < 1e-7


def parity(seed: int, scale: float, rtol: float = 1e-9) -> rf.layered.DeepSolution:
    """Parity of three bits with the logistic loss, which is constant while weights are tiny."""
    X = np.array([[a, b, c] for a in (-1.0, 1.0) for b in (-1.0, 1.0) for c in (-1.0, 1.0)])
    net = rf.DeepNetwork.init([rf.Dense(5), rf.Dense(4), rf.Dense(1)], dim=3, scale=scale, seed=seed)
    until = rf.Stop(log_time=30.0)
    return rf.integrate((X, X.prod(axis=1)), net, loss="logistic", until=until, rtol=rtol)


@pytest.mark.parametrize(("seed", "scales"), [(1, (1e-5, 1e-7, 1e-8)), (0, (1e-7, 1e-8))])
def test_tiny_units_leave_beside_far_larger_ones(seed: int, scales: tuple[float, ...]) -> None:
    # What pulls a unit on three samples adds up to zero while it slides on a fourth, but for duals that differ by
    # 1e-14: it is at its bound, and leaves long after. Searched events and decided ones had roundings of their own,
    # and others were pushed off by far more than what pulls them: "events follow each other without time".
    runs = [parity(seed, scale) for scale in scales] + [parity(seed, scales[0], rtol=1e-11)]
    assert [sol.status for sol in runs] == ["reached_log_time"] * len(runs), [sol.message for sol in runs]
    first = [(e.layer, e.unit, e.sample, e.kind) for e in runs[0].events]
    for sol in runs[1:]:
        assert sorted(first) == sorted((e.layer, e.unit, e.sample, e.kind) for e in sol.events)
    theta = runs[0].final.theta
    np.testing.assert_allclose(theta, runs[-1].final.theta, rtol=0, atol=1e-7 * np.abs(theta).max())


def test_a_neuron_at_zero_leaves_by_more_than_the_rounding_of_its_rate() -> None:
    # All its boundaries let go where the dual of sample 1 passes zero, and its rate is what rounding makes of that.
    # Where nothing slides any more the rate was taken for exact, and the sides it told met anew in the same instant.
    data = rf.Dataset([[-1.0, 1.0], [-3.0, -2.0], [3.0, -1.0]], [2.0, 2.0, 2.0])
    W, a = np.array([[0.0, 1e-20], [9e-21, 4e-21]]), np.array([2.3e-20, -1.7e-20])
    layers = rf.DeepNetwork([rf.Dense(2), rf.Dense(1)], np.concatenate((W.ravel(), a)), dim=2)
    known = rf.integrate(data, rf.Network(W, a), until=7.4, loss="squared", rtol=1e-10)
    sol = rf.integrate(data, layers, until=7.4, loss="squared", rtol=1e-10)
    assert (known.status, sol.status) == ("reached_time", "reached_time"), sol.message
    leaves = [(e.unit, e.sample, e.kind) for e in sol.events if e.kind.startswith("leave")]
    assert sorted(leaves) == [(1, 1, "leave_up"), (1, 2, "leave_down")]
    np.testing.assert_allclose(sol.final.theta[:4].reshape(2, 2), known.final.W, rtol=1e-7)
    np.testing.assert_allclose(sol.final.theta[4:], known.final.a, rtol=1e-7)


@pytest.mark.parametrize(
    ("X", "W", "a", "leaves"),
    [
        (
            [[-2.0, -3.0], [-1.0, 0.0], [0.0, 2.0], [3.0, 1.0]],
            [[6e-21, 1.6e-20], [1.6e-20, 2.9e-20], [-2.1e-20, -1.6e-20]],
            [-3e-20, -2e-20, 1e-21],
            {(0, 0, "leave_up"), (0, 2, "leave_down"), (0, 3, "leave_down")},
        ),
        (
            [[1.0, 1.0], [-2.0, 0.0], [2.0, -3.0], [-1.0, -1.0]],
            [[4e-21, -1.3e-20], [7e-21, -8e-21], [2.7e-20, -1.5e-20]],
            [-1.4e-20, 1.2e-20, 1.3e-20],
            {(0, 1, "leave_down"), (0, 2, "leave_up")},
        ),
    ],
)
def test_far_larger_neurons_do_not_hide_what_a_tiny_one_does(X: Any, W: Any, a: Any, leaves: set[Any]) -> None:
    # A neuron of 1e-20 is held at zero by all its boundaries while others grow to 1. What the roundings of these make
    # of the whole velocity was compared with its own: in the first case it never left, in the second it left, came back
    # to zero, and the run ended `undecided_event`.
    data = rf.Dataset(X, np.full(4, 2.0))
    layers = rf.DeepNetwork([rf.Dense(3), rf.Dense(1)], np.concatenate((np.ravel(W), a)), dim=2)
    known = rf.integrate(data, rf.Network(W, a), until=8.0, loss="squared", rtol=1e-10)
    sol = rf.integrate(data, layers, until=8.0, loss="squared", rtol=1e-10)
    assert (known.status, sol.status) == ("reached_time", "reached_time"), sol.message
    assert {(e.unit, e.sample, e.kind) for e in sol.events if e.kind.startswith("leave")} == leaves
    found = sol.final.theta[:6].reshape(3, 2)
    for one, other in ((found, known.final.W), (sol.final.theta[6:, None], known.final.a[:, None])):
        np.testing.assert_array_less(np.abs(one - other).max(axis=1), 1e-7 * np.abs(known.final.a))
