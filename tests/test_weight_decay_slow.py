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


def xor(seed: int) -> rf.Dataset:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((40, 2))
    return rf.Dataset(X, np.sign(X[:, 0] * X[:, 1]) * np.where(rng.random(40) < 0.1, -1.0, 1.0))


# The first took 5,100 steps to this time: its rate did not fall, and no noise was told from it. The others have modes
# slower than the decay, and took 4,700 and 4,200 steps since late ones cost more than they were worth.
@pytest.mark.parametrize(
    ("loss", "seed", "leak", "m"), [("squared", 2, 0.5, 4), ("logistic", 0, 0.0, 15), ("logistic", 4, 0.5, 12)]
)
def test_wrong_labels_of_xor_come_to_their_critical_point_soon(loss: str, seed: int, leak: float, m: int) -> None:
    data = xor(seed)
    net = rf.Network.init(m, 2, scale=0.1, seed=seed, leak=leak)
    sol = rf.integrate(data, net, until=1e5, loss=loss, weight_decay=0.01)
    assert sol.status == "reached_time"
    assert sol.stats["steps"] < 1500
    layers = [rf.layered.Dense(m), rf.layered.Dense(1)]
    deep = rf.DeepNetwork(layers, np.r_[net.W.ravel(), net.a], dim=2, leak=leak)
    end = rf.integrate(data, deep, until=1e5, loss=loss, weight_decay=0.01).final.theta
    np.testing.assert_allclose(np.r_[sol.final.W.ravel(), sol.final.a], end, atol=1e-8)


@pytest.mark.parametrize("decay", [1e-7, 1e-8, 1e-9])
def test_states_behind_rest_stand_though_fast_modes_move(decay: float) -> None:
    # What is left of the errors there is far above the decay that they are to balance.
    data = rf.Dataset([[1.0]], [7.0])
    sol = rf.integrate(data, rf.Network([[0.5]], [1.5]), until=30.0 / decay, loss="squared", weight_decay=decay)
    for decayed in (14.0, 20.0, 30.0):
        net = sol(decayed / decay)
        np.testing.assert_allclose([net.W[0, 0], net.a[0]], np.sqrt(7.0 - decay), rtol=1e-6)
