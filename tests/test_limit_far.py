"""Limits of runs beyond the digits of log t, where margins no longer tell the weights of the samples."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import make_moons

import reluflow as rf
from certificate import certify_alone
from reluflow.flow._solution import Solution
from reluflow.limits import _direction
from reluflow.limits._state import State

LOG_NORMS = (44.0, 80.0, 150.0, 260.0)


def noisy_moons() -> tuple[rf.Dataset, rf.Network]:
    X, y = make_moons(60, noise=0.3, random_state=0)
    data = rf.Dataset(np.c_[X, np.ones(60)], 2.0 * y - 1)
    return data, rf.Network.init(60, 3, scale=0.1, seed=0, leak=0.1)


def test_the_limit_is_the_same_however_far_a_run_has_gone(tmp_path: Path) -> None:
    """With weights of margins beyond 1e16, groups were left out, others at each norm; it is of a continuum."""
    data, net = noisy_moons()
    runs = [rf.integrate(data, net, until=rf.Stop(log_norm=log_norm)) for log_norm in LOG_NORMS]
    for sol in runs:
        assert sol.limit.certified, sol.limit.reason
        assert sol.limit.freedom == 1
        assert sol.limit.margin == pytest.approx(runs[0].limit.margin, rel=1e-11)
    turns = [sol.limit.turn for sol in runs]
    assert turns[0] < 0.1
    assert all(later < 0.1 * earlier for earlier, later in pairwise(turns)), turns
    runs[-1].save(tmp_path / "far.npz")
    again = rf.load(tmp_path / "far.npz").limit
    assert again.certified
    np.testing.assert_array_equal(again.network.theta, runs[-1].limit.network.theta)


def test_weights_that_are_given_are_taken_and_zeros_lie_below_them() -> None:
    data, net = noisy_moons()
    far = net._with(1e12 * net.W, 1e12 * net.a, None)
    given = np.random.default_rng(3).dirichlet(np.ones(data.n))
    given[[5, 7]] = 0.0
    given /= given.sum()
    state = State.of(data, far, "logistic", given)
    np.testing.assert_allclose(state.weights, given, rtol=1e-13, atol=1e-320)
    assert np.isfinite(state.log_weights).all()
    assert (state.log_weights[[5, 7]] < -744).all()


def test_neurons_that_grow_exactly_as_fast_as_the_limit_stay_as_faint_as_they_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Where groups are opposite to each other the negatives of all are as fast: such a neuron "would start a group".

    It did so for ever: the run went on to log |θ| = 4000.
    """
    rng = np.random.default_rng(4)
    X = rng.standard_normal((40, 2))
    y = np.sign(X[:, 0] * X[:, 1]) * np.where(rng.random(40) < 0.1, -1.0, 1.0)
    net = rf.Network.init(50, 3, scale=0.3, seed=4, leak=0.1)
    sol = rf.integrate(rf.Dataset(np.c_[X, np.ones(40)], y), net, loss="exponential", until=rf.Stop(limit=True))
    assert sol.status == "reached_limit", sol.message
    assert "groups of their own" in sol.limit.reason
    assert certify_alone(sol.data, sol.limit) < 1e-10
    monkeypatch.setattr(_direction, "_FAINT", 0.0)
    with_groups = Solution(sol.data, sol.initial, sol.settings, sol._raw).limit
    assert not with_groups.certified
    assert "will start new groups of it" in with_groups.reason


@pytest.mark.parametrize("size", [1.0, 1e-170, 1e-300])
def test_a_group_shrinks_or_stays_whatever_its_size(size: float) -> None:
    """On a line the pull of a group has one direction; the squares of faint weights underflow."""
    data = rf.Dataset([[1.0], [2.0]], [1.0, 1.0])
    net = rf.Network([[1.0], [size], [size]], [1.0, size, -size])
    state = State.of(data, net, "logistic")
    assert state.shrinks.tolist() == [False, False, True]
