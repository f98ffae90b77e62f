"""Limits of layered networks beyond the digits of log t, and of those that have samples at rest."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import reluflow as rf
from reluflow.flow._layers_beyond import LayersBeyond
from reluflow.layered._integrate import Layered

DATA = rf.Dataset([[-2.0, -1.0, 2.0, -1.0], [2.0, -2.0, -2.0, 0.0]], [1, 1])


def as_layers(net: rf.Network) -> rf.DeepNetwork:
    layers = rf.DeepNetwork.init([rf.Dense(net.width), rf.Dense(1)], dim=net.dim, scale=1.0, seed=0)
    return layers._with(np.concatenate((net.W.ravel(), net.a)))


def separable(seed: int, n: int, d: int) -> rf.Dataset:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    return rf.Dataset(X, np.sign(X @ rng.standard_normal(d)))


@pytest.mark.parametrize("weights", [None, "random"])
@pytest.mark.parametrize("seed", [2, 5])
def test_the_direction_at_a_norm_is_that_of_the_two_layer_core(seed: int, weights: str | None) -> None:
    data = separable(seed, 12, 4)
    if weights is not None:
        data = rf.Dataset(data.X, data.y, weights=np.random.default_rng(seed).uniform(0.2, 5.0, data.n))
    net = rf.Network.init(8, 4, scale=0.1, seed=seed)
    until = 30.0
    two = rf.integrate(data, net, until=rf.Stop(log_norm=until)).final
    expected = np.concatenate((two.W.ravel(), two.a)) / two.norm
    whole = rf.integrate(data, as_layers(net), until=rf.Stop(log_time=1e10))
    beyond = LayersBeyond(whole, Layered(criteria={"log_time": 1e10}))
    legs = 0
    while beyond.log_norm < until - 1e-9:
        beyond.lower()
        assert beyond.leg(until, {}, None, 1.0)["status"] == "reached_log_norm"
        legs += 1
    assert legs > 2
    theta = np.asarray(beyond._state["theta"])
    np.testing.assert_allclose(theta / np.linalg.norm(theta), expected, atol=1e-7)
    # Without weights they have still turned since log t = 1e10.
    if weights is None:
        assert np.abs(whole.final.theta / whole.final.norm - expected).max() > 1e-3


def to_limit(**options: Any) -> rf.layered.DeepSolution:
    layers = [rf.Dense(6), rf.Dense(3), rf.Dense(4), rf.Dense(1)]
    net = rf.DeepNetwork.init(layers, dim=4, scale=0.02, seed=108)
    return rf.integrate(DATA, net, until=rf.Stop(limit=True, **options))


def test_a_deep_network_whose_units_gather_slowly_comes_to_a_certified_limit(tmp_path: Path) -> None:
    sol = to_limit()
    assert sol.status == "reached_limit"
    assert "log |θ|" in sol.message
    assert sol.stats["beyond_log_norm"] > 10.0
    limit = sol.limit
    assert limit.certified
    assert limit.kind == "direction"
    assert limit.network.norm == pytest.approx(1.0, rel=1e-12)
    np.testing.assert_allclose(limit.network(DATA.X), limit.margin, rtol=1e-9)  # both samples are in the support
    # It is the direction that the flow has come to, which is far from where it was at log t = 1e10.
    assert limit.turn < 0.1
    chord = np.linalg.norm(limit.network.theta - sol.final.theta / sol.final.norm)
    assert chord > 0.25
    sol.save(tmp_path / "run.npz")
    again = rf.load(tmp_path / "run.npz")
    assert isinstance(again, rf.layered.DeepSolution)
    assert again.stats == sol.stats
    assert again.limit.certified
    np.testing.assert_array_equal(again.limit.network.theta, limit.network.theta)


def test_legs_beyond_count_for_the_criteria_of_work() -> None:
    steps = to_limit(steps=310)
    assert steps.status == "reached_steps"
    assert 310 <= steps.stats["steps"] <= 311  # a leg that begins takes a step
    assert not steps.limit.certified
    told: list[float] = []

    def stop(progress: rf.flow.Progress) -> bool:
        told.append(progress.log_t)
        return progress.steps > 250

    layers = [rf.Dense(6), rf.Dense(3), rf.Dense(4), rf.Dense(1)]
    net = rf.DeepNetwork.init(layers, dim=4, scale=0.02, seed=108)
    sol = rf.integrate(DATA, net, until=rf.Stop(limit=True), callback=stop)
    if sol.status == "stopped_by_callback":  # a quick machine is done before it is asked
        assert max(told) <= 1e10


@pytest.mark.parametrize("loss", ["logistic", "exponential"])
def test_a_sample_at_rest_holds_a_unit_on_its_boundary(loss: Any) -> None:
    """Sample 2 pulls the only unit out of its own half-space, and the unit grows along its boundary.

    w tends to the direction of x_1 less its part along x_2, and |w| = |a|: the margin of norm 1 is half that length.
    """
    X = np.array([[1.0, 0.5], [0.3, 1.0]])
    net = rf.DeepNetwork.init([rf.Dense(1), rf.Dense(1)], dim=2, scale=1.0, seed=0)
    net = net._with(np.array([0.6, 0.3, 0.2]))
    sol = rf.integrate(rf.Dataset(X, [1, -1]), net, until=rf.Stop(limit=True), loss=loss)
    assert sol.status == "reached_limit", sol.message
    limit = sol.limit
    assert limit.held.tolist() == [[0, 0, 1]]
    along = X[0] - (X[0] @ X[1]) / (X[1] @ X[1]) * X[1]
    assert limit.margin == 0.0
    assert 0.5 / abs(limit.duals).sum() == pytest.approx(0.5 * np.linalg.norm(along), rel=1e-9)
    expected = np.array([*(along / np.linalg.norm(along)), 1.0]) / np.sqrt(2.0)
    np.testing.assert_allclose(limit.network.theta, expected, atol=1e-9)
    assert "stay at f = 0" in limit.reason
    assert np.isfinite(limit.turn_rate)


def test_a_support_that_does_not_settle_is_no_error() -> None:
    """The samples that a polish counts with changed after its last try; it then read multipliers of other samples."""
    X = [[0.0, -1.0, 1.0, -1.0], [-2.0, 2.0, 2.0, 1.0], [2.0, 0.0, -2.0, 1.0], [2.0, 2.0, 2.0, -2.0]]
    layers = [rf.Dense(2), rf.Dense(3), rf.Dense(5), rf.Dense(1)]
    net = rf.DeepNetwork.init(layers, dim=4, scale=2.0, leak=0.1, seed=203)
    sol = rf.integrate(rf.Dataset(X, [1, -1, -1, -1]), net, until=rf.Stop(limit=True), loss="exponential")
    assert sol.status == "reached_limit"
    assert sol.limit.certified
