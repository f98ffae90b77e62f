"""Layered networks whose samples weigh nothing beside weight decay: θ(t) = θ(0) e^{-γt}, until some sample counts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.special import expit

import reluflow as rf


@pytest.mark.parametrize("loss", ["logistic", "exponential"])
@pytest.mark.parametrize(("depth", "size"), [(2, 27.0), (2, 30.0), (2, 1000.0), (3, 10.0), (3, 100.0), (5, 30.0)])
def test_one_path_decays_until_its_sample_counts(depth: int, size: float, loss: str) -> None:
    # All weights are one number u, and (log u)' = |ℓ'(u^depth)| u^(depth - 2) - 1; |ℓ'(700)| is 1e-304.
    net = rf.DeepNetwork([rf.Dense(1)] * depth, np.full(depth, size), dim=1)
    data = (np.array([[1.0]]), np.array([1.0]))
    sol = rf.integrate(data, net, until=rf.Stop(time=9.0, seconds=60), loss=loss, weight_decay=1.0)
    assert sol.status == "reached_time"
    assert sol.stats["steps"] < 1000

    def rate(t: float, log_u: np.ndarray) -> np.ndarray:
        margin = np.exp(depth * log_u)
        return (np.exp(-margin) if loss == "exponential" else expit(-margin)) * np.exp((depth - 2) * log_u) - 1.0

    exact = solve_ivp(rate, (0, 9), [np.log(size)], "Radau", rtol=1e-11, atol=1e-12, dense_output=True).sol
    for t in (1e-3, 1.0, 5.0, 9.0):
        np.testing.assert_allclose(np.log(sol(t).theta), exact(t)[0], rtol=0, atol=1e-7)


@pytest.mark.parametrize("reduction", ["sum", "mean"])
@pytest.mark.parametrize("size", [30.0, 300.0])
def test_a_bias_outlives_what_outweighs_it(size: float, reduction: str) -> None:
    # A unit of the second layer has z = w v - b at the start, and e^{-t} (w v e^{-t} - b) later: signs are not kept by
    # the decay of all, and it comes to zero at e^{-t} = b / (w v). The other unit keeps the margin beyond doubles.
    layers = [rf.Dense(1), rf.Dense(2, bias=True), rf.Dense(1)]
    first = [size, size]
    net = rf.DeepNetwork(layers, np.array([size, *first, -0.5 * size**2, size**2, *first]), dim=1)
    rule: dict[str, Any] = {"loss": "exponential", "weight_decay": 1.0, "reduction": reduction}
    data = (np.array([[1.0]]), np.array([1.0]))
    sol = rf.integrate(data, net, until=1.0, **rule)
    assert sol.success, sol.message
    assert sol.final(data[0]).min() > 700
    assert [(event.layer, event.unit, event.kind) for event in sol.events] == [(2, 0, "cross_down")]
    np.testing.assert_allclose(sol.events.t, np.log(2.0), rtol=1e-9)
    np.testing.assert_allclose(sol.final.theta, net.theta / np.e, rtol=1e-11)


@pytest.mark.parametrize(("seed", "loss"), [(0, "exponential"), (3, "exponential"), (3, "logistic")])
def test_a_unit_that_slides_decays_as_well_beside_a_sample_that_weighs_nothing(seed: int, loss: str) -> None:
    # Parity on the cube. A sample with f = 0 holds the unit on its boundary, and the only other one that it is active
    # on has a margin of 1000 there: what is left is the decay. In the clock of a weight of e^-1000 nothing moved.
    cube = np.array(np.meshgrid([0, 1], [0, 1], [0, 1])).T.reshape(-1, 3).astype(float)
    data = rf.Dataset(cube, np.where(cube.sum(axis=1) % 2, 1.0, -1.0), bias_input=1.0)
    net = rf.Network.init(1, 4, scale=100.0, seed=seed)
    rule: dict[str, Any] = {"loss": loss, "weight_decay": 0.1}
    sol = rf.integrate(data, net, until=10.0, rates=(1.0, 1.0), **rule)
    assert sol.status == "reached_time"
    last = sol.events.t[-1]
    assert sol.events[-1].kind == "slide"
    assert np.max(data.y * sol(last)(data.X)) > 700
    assert np.max(data.y * sol.final(data.X)) > 100
    np.testing.assert_allclose(sol.final.theta, sol(last).theta * np.exp(-0.1 * (10.0 - last)), rtol=1e-9, atol=1e-12)
    two = rf.integrate(data, net, until=10.0, **rule)
    np.testing.assert_allclose(sol.final.theta, two.final.theta, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("train", ["both", "first"])
def test_what_is_trained_decays_alone(train: str) -> None:
    # Both samples are right by margins beyond doubles: nothing but the decay of what is trained.
    data = rf.Dataset([[1.0, 0.5], [0.2, -1.0]], [1.0, -1.0])
    net = rf.Network([[600.0, 200.0], [200.0, -700.0]], [50.0, -80.0])
    sol = rf.integrate(data, net, until=1.0, weight_decay=1.0, train=train)
    assert sol.status == "reached_time"
    assert (data.y * sol.final(data.X)).min() > 700
    np.testing.assert_allclose(sol.final.W, net.W / np.e, rtol=1e-12)
    np.testing.assert_allclose(sol.final.a, net.a / np.e if train == "both" else net.a, rtol=1e-12)
