"""A layered run that rests at a saddle, or comes near a KKT point that it leaves, has no certified limit there."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import reluflow as rf
from reluflow.kinks._boundaries import boundaries
from reluflow.limits._output_follow import Follower

CORNER = rf.Dataset([[1.0, 0.0], [0.0, 1.0]], [2.0, -1.0])


def two_layers(W: Any, a: Any) -> rf.DeepNetwork:
    W, a = np.asarray(W, dtype=float), np.asarray(a, dtype=float)
    return rf.DeepNetwork([rf.Dense(len(a)), rf.Dense(1)], np.concatenate((W.ravel(), a)), dim=W.shape[1])


def from_scale(scale: float) -> rf.DeepNetwork:
    W = np.array([[1.0, 0.5], [0.5, 1.0]])
    return two_layers(scale * W, scale * np.linalg.norm(W, axis=1) * [1, -1])


def test_a_saddle_on_the_way_is_no_limit() -> None:
    """From 1e-14 one unit fits its sample at t = 16, the other at t = 33; the limit is asked for at t = e³ = 20."""
    sol = rf.integrate(CORNER, from_scale(1e-14), until=rf.Stop(limit=True), loss="squared")
    assert sol.status == "reached_limit"
    np.testing.assert_allclose(sol.limit.network(CORNER.X), CORNER.y, atol=1e-12)
    rests = rf.integrate(CORNER, from_scale(1e-14), until=20.0, loss="squared").limit
    assert not rests.certified
    assert rests.reason == "the flow leaves this saddle, where units grow: (layer, unit) (0, 1)"


def test_a_unit_that_stays_zero_leaves_no_saddle() -> None:
    net = two_layers([[0.5, -0.1], [0.0, 0.0]], [0.5, 0.0])
    found = rf.integrate(CORNER, net, until=rf.Stop(limit=True), loss="squared")
    assert (found.status, found.limit.certified) == ("reached_limit", True), found.limit.reason
    np.testing.assert_allclose(found.limit.network(CORNER.X), [2.0, 0.0], atol=1e-12)


@pytest.mark.parametrize("small", [1e-6, 0.0])
def test_a_saddle_of_linear_layers(small: float) -> None:
    """A product of matrices that has learnt the larger of two singular values; it goes on unless the rest is zero."""
    net = rf.DeepNetwork([rf.Dense(2, activation="linear"), rf.Dense(2)], np.zeros(8), dim=2)
    start = net._with(np.tile([2.0**0.5, 0.0, 0.0, small], 2))
    found = rf.integrate((np.eye(2), np.diag([2.0, 1.0])), start, until=1.0, loss="squared").limit
    assert found.residuals.largest < 1e-12
    assert found.certified == (small == 0)
    assert (
        found.certified
        or found.reason == "the flow leaves this saddle, where units move on: (layer, unit) (0, 1), (1, 1)"
    )


def test_a_network_that_slides_and_decays_to_zero_has_its_limit_there() -> None:
    """Its one unit slides on the boundary of the one sample, so that nothing but the decay moves it."""
    data = rf.Dataset([[1.0, 1.0]], [-1.0])
    found = rf.integrate(data, two_layers([[-0.04, 0.09]], [0.1]), until=rf.Stop(limit=True), weight_decay=0.01)
    assert [event.kind for event in found.events] == ["slide"]
    assert (found.status, found.limit.certified) == ("reached_limit", True)
    np.testing.assert_array_equal(found.limit.network.theta, np.zeros(3))


def test_a_unit_that_decays_now_and_grows_beyond_a_boundary() -> None:
    """Two units fall like e^-γt at first and grow from their next boundary on; the core of two layers tells as much."""
    rng = np.random.default_rng(1014)
    n, d, m = rng.integers(3, 9), rng.integers(2, 4), rng.integers(2, 8)
    X = rng.standard_normal((n, d))
    data = rf.Dataset(X, rng.standard_normal(n))
    net = rf.Network.init(int(m), int(d), scale=1e-20, seed=14)
    options: Any = {"until": rf.Stop(limit=True), "loss": "squared", "weight_decay": 0.2}
    known = rf.integrate(data, net, **options).limit
    found = rf.integrate(data, two_layers(net.W, net.a), **options).limit
    assert known.certified
    assert found.certified, found.reason
    np.testing.assert_allclose(found.network(X), known.network(X), atol=1e-9)


def test_a_direction_that_a_small_unit_outgrows() -> None:
    """At log t = 20 the KKT point without unit 1 is near; in the end it is a part of the limit, of a larger margin."""
    rng = np.random.default_rng(22)
    n, d, m = rng.integers(3, 9), rng.integers(1, 4), rng.integers(2, 8)
    X = rng.standard_normal((n, d))
    rng.choice([-1.0, 1.0], n)
    data = rf.Dataset(X, np.where(np.maximum(X[:, 0], 0) - 0.4 > 0, 1, -1))
    net = rf.Network.init(int(m), int(d), scale=0.1, seed=22)
    options: Any = {"until": rf.Stop(log_time=20.0), "loss": "exponential"}
    found = rf.integrate(data, two_layers(net.W, net.a), **options).limit
    assert found.residuals.largest < 1e-12
    assert not found.certified
    assert "the flow leaves this saddle" in found.reason
    known = rf.integrate(data, net, until=rf.Stop(limit=True), loss="exponential").limit
    assert known.certified
    assert known.margin > found.margin + 1e-4


@pytest.mark.parametrize("leans", [0.0, 1e-6])
def test_a_neuron_on_a_ray_against_its_gradient_shrinks_for_ever(leans: float) -> None:
    """It holds the boundary of one sample, and what the other pulls is against it; if it is balanced it shrinks."""
    X, lam = np.array([[0.0, 1.0], [1.0, -0.3]]), np.array([[-1.0], [-2.0]])
    follower = Follower(boundaries(X), X, lam, 0.0)
    w, a = np.array([1.0, 0.0]), np.array([1.0 - leans])
    assert follower.only_shrinks(w, a, np.array([0.0, 1.0])) == (leans == 0)


@pytest.mark.parametrize("seed", [3, 4, 8, 10])
def test_outputs_that_cancel_to_zero_fit_targets_of_zero(seed: int) -> None:
    """The errors are rounding of the terms of the outputs, not of the outputs, of which they were all."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((5, 2))
    widths = [rf.Dense(int(rng.integers(3, 6))) for _ in range(int(rng.integers(1, 3)))]
    net = rf.DeepNetwork.init([*widths, rf.Dense(1)], dim=2, seed=seed)
    sol = rf.integrate((X, np.zeros(5)), net, until=rf.Stop(limit=True), loss="squared")
    assert (sol.status, sol.limit.certified) == ("reached_limit", True), sol.limit.reason
    np.testing.assert_allclose(sol.limit.network(X), 0.0, atol=1e-14)
