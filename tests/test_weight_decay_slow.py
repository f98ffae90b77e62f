"""Weight decay with modes far slower than the decay: a run rests where they have come, and not where they are slow.

Two neurons with one input each see one sample each, x = 1 and x = -1. The second, balanced one holds a w = -s with
s' = 2 s (k - s), where its target is γ + k: its rate 2k may be any part of γ.
"""

from __future__ import annotations

import numpy as np
import pytest

import reluflow as rf


def size_at(t: float, k: float, start: float) -> float:
    return k / (1.0 + (k / start - 1.0) * np.exp(-2.0 * k * t))


def run(decay: float, k: float, start: float, until: rf.Stop | float) -> rf.Solution:
    data = rf.Dataset([[1.0], [-1.0]], [7.0, decay + k])
    net = rf.Network([[1.0], [-np.sqrt(start)]], [1.0, np.sqrt(start)])
    return rf.integrate(data, net, until=until, loss="squared", weight_decay=decay)


@pytest.mark.parametrize(("decay", "part", "begin"), [(1e-3, 1e-3, 1.01), (1e-3, 1e-3, 1.5), (1e-2, 1e-3, 1.01)])
def test_a_run_does_not_rest_before_its_slowest_mode_has_come(decay: float, part: float, begin: float) -> None:
    # The rate of the network fell below what truncation keeps alive, and the run rested long before.
    k = part * decay
    sol = run(decay, k, begin * k, 3.0 / k)
    assert sol.status == "reached_time"
    np.testing.assert_allclose(sol.final.a[1] ** 2, size_at(3.0 / k, k, begin * k), rtol=1e-8)
    np.testing.assert_allclose(sol.final.a[0] ** 2, 7.0 - decay, rtol=1e-8)


@pytest.mark.parametrize("part", [0.5, 1e-2])
def test_a_run_does_not_rest_beside_a_tiny_neuron_that_grows(part: float) -> None:
    decay = 1e-2
    k = part * decay
    sol = run(decay, k, 1e-30, 60.0 / k)
    np.testing.assert_allclose(sol.final.a[1] ** 2, size_at(60.0 / k, k, 1e-30), rtol=1e-7)


def test_a_run_rests_soon_where_truncation_keeps_fast_modes_alive() -> None:
    # It took 5,100 steps to this time: its rate did not fall, and no noise was told from it.
    rng = np.random.default_rng(2)
    X = rng.standard_normal((40, 2))
    data = rf.Dataset(X, np.sign(X[:, 0] * X[:, 1]) * np.where(rng.random(40) < 0.1, -1.0, 1.0))
    net = rf.Network.init(4, 2, scale=0.1, seed=2, leak=0.5)
    kw = {"loss": "squared", "weight_decay": 0.01}
    sol = rf.integrate(data, net, until=1e5, **kw)
    assert sol.status == "reached_time"
    assert sol.stats["steps"] < 1500
    layers = rf.DeepNetwork([rf.layered.Dense(4), rf.layered.Dense(1)], np.r_[net.W.ravel(), net.a], dim=2, leak=0.5)
    deep = rf.integrate(data, layers, until=1e5, **kw)
    np.testing.assert_allclose(np.r_[sol.final.W.ravel(), sol.final.a], deep.final.theta, atol=1e-8)


@pytest.mark.parametrize("decay", [1e-7, 1e-8, 1e-9])
def test_states_behind_rest_stand_though_fast_modes_move(decay: float) -> None:
    # What is left of the errors there is far above the decay that they are to balance.
    data = rf.Dataset([[1.0]], [7.0])
    sol = rf.integrate(data, rf.Network([[0.5]], [1.5]), until=30.0 / decay, loss="squared", weight_decay=decay)
    for decayed in (14.0, 20.0, 30.0):
        net = sol(decayed / decay)
        np.testing.assert_allclose([net.W[0, 0], net.a[0]], np.sqrt(7.0 - decay), rtol=1e-6)
