"""Layered networks with units that are zero, and events that change the clock by any factor."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import reluflow as rf

LOSSES = ["exponential", "logistic", "squared"]


def planar(seed: int) -> rf.Dataset:
    rng = np.random.default_rng(seed)
    return rf.Dataset(rng.standard_normal((5, 2)), rng.choice([-1.0, 1.0], 5))


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("leak", [0.0, 0.1])
@pytest.mark.parametrize("decay", [None, 0.01])
def test_a_unit_without_weights_stays_so_beside_any_other(loss: str, leak: float, decay: float | None) -> None:
    """It is on the boundaries of all samples at once, and ended every run at its start, as undecided."""
    data = planar(0)
    net = rf.Network([[1.0, 2.0], [0.0, 0.0], [-0.3, 0.4]], [1.0, 0.0, -0.2], leak=leak)
    alone = rf.Network(net.W[[0, 2]], net.a[[0, 2]], leak=leak)
    options = {"until": 20.0, "loss": loss, "weight_decay": decay, "rates": (1.0, 1.0)}
    sol, without = (rf.integrate(data, start, **options) for start in (net, alone))
    assert sol.status == without.status == "reached_time"
    np.testing.assert_allclose(sol.final.W[[0, 2]], without.final.W, rtol=1e-8)
    np.testing.assert_allclose(sol.final.a[[0, 2]], without.final.a, rtol=1e-8)
    assert not sol.final.W[1].any()
    assert sol.final.a[1] == 0.0
    assert 1 not in sol.events.neuron


def deep_pair() -> tuple[rf.DeepNetwork, rf.DeepNetwork, np.ndarray]:
    """A network of three layers, the same with a unit more in each hidden layer, which are zero, and which weights are
    those of the first."""
    rng = np.random.default_rng(3)
    first, second, last = rng.standard_normal((3, 3)), rng.standard_normal((2, 3)), rng.standard_normal((1, 2))
    small = rf.DeepNetwork(
        [rf.Dense(3), rf.Dense(2), rf.Dense(1)], np.r_[first.ravel(), second.ravel(), last.ravel()], dim=3
    )
    wide = [np.zeros((4, 3)), np.zeros((3, 4)), np.zeros((1, 3))]
    wide[0][:3], wide[1][:2, :3], wide[2][:, :2] = first, second, last
    theta = np.concatenate([part.ravel() for part in wide])
    return small, rf.DeepNetwork([rf.Dense(4), rf.Dense(3), rf.Dense(1)], theta, dim=3), theta != 0.0


def test_deep_networks_may_have_them_in_every_layer(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    data = rf.Dataset(rng.standard_normal((6, 3)), rng.choice([-1.0, 1.0], 6))
    small, wide, there = deep_pair()
    sol, alone = rf.integrate(data, wide, until=30.0), rf.integrate(data, small, until=30.0)
    assert sol.status == alone.status == "reached_time"
    np.testing.assert_allclose(sol.final.theta[there], alone.final.theta, rtol=1e-12)
    assert not sol.final.theta[~there].any()
    sol.save(tmp_path / "run")
    again = rf.load(tmp_path / "run")
    np.testing.assert_allclose(again(10.0).theta, sol(10.0).theta, rtol=1e-12)
    on = rf.integrate(data, rf.integrate(data, wide, until=10.0), until=30.0)
    np.testing.assert_allclose(on.final.theta, sol.final.theta, rtol=1e-7, atol=1e-9)


def test_a_run_that_goes_on_keeps_what_has_become_zero_since() -> None:
    """The last unit is below the range of doubles, and zero from the first step on. A run that goes on must not leave
    it out then: with other units the balance of the state did not fit, and nothing brought the first to w = 0."""
    data = rf.Dataset([[-0.67203], [-0.41299], [0.3501], [-0.55612]], [1, 1, -1, -1])
    theta = [0.0, 0.0, 0.0, 1e-295, 6.06e-9, -7.05e-9, 6.94e-9, 1e-295]
    net = rf.DeepNetwork([rf.Dense(4), rf.Dense(1)], theta, dim=1, leak=0.1)
    options = {"loss": "exponential", "weight_decay": 0.01}
    first = rf.integrate(data, net, until=50.0, **options)
    assert first.final.theta[3] == first.final.theta[7] == 0.0
    on = rf.integrate(data, first, until=2000.0, **options)
    whole = rf.integrate(data, net, until=2000.0, **options)
    np.testing.assert_array_equal(on.final.theta[[0, 2]], 0.0)
    np.testing.assert_allclose(on.final.theta, whole.final.theta, rtol=1e-7, atol=1e-12)
    assert len(first.events) + len(on.events) == len(whole.events)


def test_a_unit_that_others_move_is_none_of_them() -> None:
    """Its weights out are zero, not those in, and the other way round."""
    data = planar(2)
    for W, a in (([[1.0, 2.0], [0.3, -0.4]], [1.0, 0.0]), ([[1.0, 2.0], [0.0, 0.0]], [1.0, 0.4])):
        net = rf.Network(W, a)
        own = rf.integrate(data, net, until=2.0)
        sol = rf.integrate(data, net, until=2.0, rates=(1.0, 1.0))
        assert not own.branchings
        assert sol.status == "reached_time"
        np.testing.assert_allclose(sol.final.a, own.final.a, rtol=1e-8)
        assert sol.final.a[1] != 0.0


BEHIND_AN_EVENT = ([[1, 1], [1, 1], [-1, 1], [1, 1], [-1, 1]], [1, 1, -1, -1, -1], [[0.0, 10.0]], [-9.71599])
TWO_UNITS = (
    [[-2, -1, -1, 1], [-1, -1, 2, 1], [-1, -2, 1, 1], [2, -2, -1, 0], [2, -1, 1, 0]],
    [1, -1, 1, -1, -1],
    [[2.967914, -8.486339, 4.683424, 1.997723], [5.532374, 11.610997, -4.9002, 9.52412]],
    [-10.927423, 0.0],
)


@pytest.mark.parametrize("rtol", [1e-6, 1e-9, 1e-12])
@pytest.mark.parametrize(
    ("case", "loss", "time"), [(BEHIND_AN_EVENT, "exponential", 1.0), (TWO_UNITS, "logistic", 10.0)]
)
def test_weight_decay_goes_on_where_an_event_has_left_the_clock_to_samples_that_weigh_nothing(
    case: tuple, loss: str, time: float, rtol: float
) -> None:
    """The samples that nobody sees have no share in the clock; the others are right by 60 or 200. A step of the length
    before the event shrank θ by e^60 of itself: accuracy_not_reached."""
    X, y, W, a = case
    data, net = rf.Dataset(X, y), rf.Network(W, a)
    options = {"until": time, "loss": loss, "weight_decay": 0.01, "rtol": rtol}
    own, sol = rf.integrate(data, net, **options), rf.integrate(data, net, rates=(1.0, 1.0), **options)
    assert sol.status == "reached_time", sol.message
    np.testing.assert_allclose(sol.final.W, own.final.W, atol=1e2 * rtol)
    np.testing.assert_allclose(sol.final.a, own.final.a, atol=1e2 * rtol)


# Integers as a user writes them: the only unit of the first layer is zero on a sample, and others read nothing else.
ALONE = [
    ([[1, 2], [1, -1], [2, 1]], [1, -1, 1], [[1.0, 1.0]], 0.1),
    ([[2, -2], [-1, 2], [1, 1], [-1, 0]], [-1, 1, 1, 1], [[0.5, 0.5]], 0.5),
]


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize(("X", "y", "first", "leak"), ALONE)
@pytest.mark.parametrize("linear", [False, True])
def test_what_reads_a_unit_that_is_zero_at_the_start_goes_where_that_goes(
    X: list, y: list, first: list, leak: float, linear: bool, loss: str
) -> None:
    """Its own weight is not zero. It was taken for one that is: accuracy_not_reached, or stationary, at t = 0. The unit
    crosses its boundary, so that a start beside the boundary has nearly the same run."""
    rng = np.random.default_rng(5)
    middle = [rf.Dense(1, activation="linear")] if linear else []
    between = [0.8] if linear else []
    layers = [rf.Dense(1), *middle, rf.Dense(3), rf.Dense(1)]
    theta = np.concatenate([np.ravel(first), between, rng.standard_normal(6)])
    assert np.any(np.asarray(X) @ np.ravel(first) == 0.0)
    data = rf.Dataset(X, y)
    runs = [
        rf.integrate(data, rf.DeepNetwork(layers, theta + move, dim=2, leak=leak), until=2.0, loss=loss)
        for move in (0.0, 1e-10 * rng.standard_normal(theta.size))
    ]
    assert [run.status for run in runs] == ["reached_time"] * 2, runs[0].message
    np.testing.assert_allclose(runs[0].final.theta, runs[1].final.theta, atol=1e-6)
