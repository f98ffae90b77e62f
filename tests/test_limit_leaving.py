"""Flows that rest beside a saddle and go on: no limit is certified there, and that at the end is the flow's."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy.special import softmax

import reluflow as rf

Array = npt.NDArray[np.float64]

X_OF_TURN = np.array([[1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
GAMMA = 0.1
Y_OF_TURN = np.array([0.1 * GAMMA, GAMMA, 1.0])
STEP = 0.02
TOWARD = np.deg2rad(-89.0)


def of_euler(X: Array, Y: Array, net: rf.Network, time: float, loss: str = "squared", decay: float = 0.0) -> rf.Network:
    """Integrate the flow of a network with rows of output weights by steps that know no events."""
    W, a = np.array(net.W), np.array(net.a).reshape(len(net.W), -1)
    for _ in range(int(time / STEP)):
        Z = W @ X.T
        A = np.maximum(Z, 0.0)
        f = A.T @ a
        lam = Y - (f if loss == "squared" else softmax(f, axis=1))
        W, a = W + STEP * (((Z > 0) * (a @ lam.T)) @ X - decay * W), a + STEP * (A @ lam - decay * a)
    return rf.Network(W, a.reshape(np.shape(net.a)))


def agree(limit: Any, found: rf.Network, tolerance: float = 0.05) -> None:
    assert limit.certified, limit.reason
    np.testing.assert_allclose(limit.network.theta, found.theta, atol=tolerance)


def beside_a_saddle(size: float) -> tuple[Array, Array, rf.Network]:
    """Give a tiny neuron beside one that fits all that it can."""
    X, Y = np.eye(2), np.array([[2.0, 0.0], [0.6, 0.8]])
    return X, Y, rf.Network([[0.5, -0.1], [-0.3 * size, size]], [[0.5, 0.0], [0.6 * size, 0.8 * size]])


@pytest.mark.parametrize("size", [1e-6, 1e-9])
def test_a_tiny_neuron_leaves_a_saddle_of_several_outputs(size: float) -> None:
    X, Y, net = beside_a_saddle(size)
    early = rf.integrate((X, Y), net, until=4.0, loss="squared")
    assert early.limit.turn < 1e-4
    assert not early.limit.certified
    assert "leaves this saddle" in early.limit.reason
    assert early.limit.point == "not decided"
    sol = rf.integrate((X, Y), net, until=rf.Stop(limit=True), loss="squared")
    assert (sol.status, sol.limit.point) == ("reached_limit", "global")
    agree(sol.limit, of_euler(X, Y, net, 80.0))


def test_a_neuron_at_zero_stays_and_the_saddle_is_certified() -> None:
    X, Y, net = beside_a_saddle(0.0)
    sol = rf.integrate((X, Y), net, until=rf.Stop(limit=True), loss="squared")
    assert (sol.status, sol.limit.point) == ("reached_limit", "saddle")
    agree(sol.limit, of_euler(X, Y, net, 40.0))


@pytest.mark.parametrize("loss", ["squared", "cross_entropy"])
def test_tiny_starts_leave_the_origin_against_decay(loss: str) -> None:
    rng = np.random.default_rng(4)
    X, own = rng.standard_normal((6, 3)), np.arange(6) % 2
    net, decay = rf.Network.init(4, 3, outputs=2, scale=1e-8, seed=4), 0.1
    given = (X, own) if loss == "cross_entropy" else (X, np.eye(2)[own])
    sol = rf.integrate(given, net, until=rf.Stop(limit=True), loss=loss, weight_decay=decay)
    assert sol.status == "reached_limit"
    assert sol.limit.network.norm > 0.5
    assert sol.limit.certified
    outputs = of_euler(X, np.eye(2)[own], net, 150.0, loss, decay)(X)
    np.testing.assert_allclose(sol.limit.network(X), outputs, atol=0.05)


def test_strong_decay_leads_to_the_origin() -> None:
    rng = np.random.default_rng(4)
    X, own = rng.standard_normal((6, 3)), np.arange(6) % 2
    net = rf.Network.init(4, 3, outputs=2, scale=1e-3, seed=4)
    sol = rf.integrate((X, own), net, until=rf.Stop(limit=True), loss="cross_entropy", weight_decay=20.0)
    assert sol.status == "reached_limit"
    assert not sol.limit.network.theta.any()


def turning(w: tuple[float, float], a: float) -> rf.Network:
    """Give a neuron that shrinks in its own cell, and turns to one in which it will grow."""
    return rf.Network([1e-6 * np.array([*w, -0.3]), [-1e-5, -1e-5, 0.9]], [1e-6 * a, 0.9])


WAYS = [
    ((float(np.cos(TOWARD)), float(np.sin(TOWARD))), 1.0),
    ((0.64, -0.77), -0.3),  # |w| above |a|, which changes its sign on the way
]


@pytest.mark.parametrize(("w", "a"), WAYS)
def test_a_vanishing_neuron_turns_to_where_it_grows(w: tuple[float, float], a: float) -> None:
    net = turning(w, a)
    early = rf.integrate((X_OF_TURN, Y_OF_TURN), net, until=40.0, loss="squared", weight_decay=GAMMA)
    assert early.limit.turn < 1e-4
    assert not early.limit.certified
    assert early.limit.reason.endswith("will grow beside it: 0")
    until = rf.Stop(limit=True)
    sol = rf.integrate((X_OF_TURN, Y_OF_TURN), net, until=until, loss="squared", weight_decay=GAMMA)
    assert sol.status == "reached_limit"
    assert sol.limit.network.a[0] > 0.1
    agree(sol.limit, of_euler(X_OF_TURN, Y_OF_TURN[:, None], net, 800.0, decay=GAMMA))


@pytest.mark.parametrize(("w", "a"), WAYS)
def test_so_does_one_with_several_outputs(w: tuple[float, float], a: float) -> None:
    one = turning(w, a)
    Y, net = np.c_[Y_OF_TURN, np.zeros(3)], rf.Network(one.W, np.c_[one.a, np.zeros(2)])
    early = rf.integrate((X_OF_TURN, Y), net, until=40.0, loss="squared", weight_decay=GAMMA)
    assert not early.limit.certified
    assert "leaves this saddle" in early.limit.reason
    sol = rf.integrate((X_OF_TURN, Y), net, until=rf.Stop(limit=True), loss="squared", weight_decay=GAMMA)
    assert sol.status == "reached_limit"
    agree(sol.limit, of_euler(X_OF_TURN, Y, net, 800.0, decay=GAMMA))


def test_a_finite_limit_on_a_continuum_says_so() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((6, 3))[:3], rng.standard_normal(3)
    sol = rf.integrate((X, y), rf.Network.init(8, 3, scale=0.5, seed=0), until=rf.Stop(limit=True), loss="squared")
    net, maps, reach = sol.limit.network, [], 0
    cells = np.column_stack((np.sign(net.a), net.pattern))[(net.pattern > 0).any(axis=1)]
    for row in np.unique(cells, axis=0)[:, 1:]:
        free = np.eye(3) - np.linalg.pinv(X[row == 0]) @ X[row == 0] if (row == 0).any() else np.eye(3)
        maps.append((row > 0)[:, None] * X @ free)
        reach += np.linalg.matrix_rank(free)
    assert sol.limit.certified
    assert sol.limit.freedom == reach - np.linalg.matrix_rank(np.hstack(maps)) > 0


def test_an_isolated_finite_limit_says_so() -> None:
    sol = rf.integrate(rf.Dataset([[1.0], [2.0]], [1, -1]), rf.Network([[0.3]], [-0.3]), until=20.0)
    assert (sol.limit.certified, sol.limit.freedom) == (True, 0)


def test_the_margin_of_a_finite_limit_of_classes() -> None:
    X, own = np.random.default_rng(0).standard_normal((6, 3)), np.arange(6) % 3
    net = rf.Network.init(6, 3, outputs=3, scale=0.1, seed=0)
    limit = rf.integrate((X, own), net, until=rf.Stop(limit=True), loss="cross_entropy", weight_decay=0.01).limit
    f = limit.network(X)
    others = np.where(np.eye(3)[own] > 0, -np.inf, f).max(axis=1)
    assert limit.kind == "finite"
    assert limit.margin == pytest.approx((f[np.arange(6), own] - others).min() / limit.network.norm**2, rel=1e-12)
