"""After a run has come to rest: any time of it, and every continuation, is there at once."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import reluflow as rf

# Of the first seeds those whose flow rests before t = 1e6; the others creep like log t.
RESTING = (2, 3)


def resting(seed: int) -> tuple[rf.Dataset, rf.Network]:
    """Every sample with both labels: the flow ends at a critical point."""
    rng = np.random.default_rng([seed, 23])
    X, y = rng.standard_normal((5, 2)), rng.choice([-1.0, 1.0], 5)
    return rf.Dataset(np.vstack([X, X]), np.r_[y, -y]), rf.Network.init(4, 2, scale=0.5, seed=seed)


@pytest.mark.parametrize("seed", RESTING)
def test_any_time_after_rest_is_the_final_state(seed: int) -> None:
    data, net = resting(seed)
    sol = rf.integrate(data, net, until=1e8)
    assert "no neuron moves" in sol.message
    rest = np.exp(sol.stats["rest_log_t"])
    assert rest < 1e6
    W, a = sol.states(np.linspace(1e7, 1e8, 50))
    assert (W == sol.final.W).all()
    assert (a == sol.final.a).all()
    before = sol(0.5 * rest)
    assert np.abs(before.W - sol.final.W).max() < 1e-3


@pytest.mark.parametrize("seed", RESTING)
def test_a_continuation_from_rest_rests(seed: int) -> None:
    data, net = resting(seed)
    sol = rf.integrate(data, net, until=1e8)
    later = rf.integrate(data, sol, until=1e9)
    assert later.status == "reached_time", later.message
    assert later.stats["steps"] == 0
    assert (later.final.W == sol.final.W).all()


def test_a_saved_run_that_rested_answers_after_rest(tmp_path: Path) -> None:
    data, net = resting(RESTING[0])
    sol = rf.integrate(data, net, until=1e8)
    sol.save(tmp_path / "run.npz")
    again = rf.load(tmp_path / "run.npz")(0.9e8)
    assert (again.W == sol.final.W).all()
    assert (again.a == sol.final.a).all()


@pytest.mark.parametrize("log_time", [8.0, 50.0])
def test_a_neuron_that_vanishes_with_decay_is_zero_in_the_limit(log_time):
    """The state of rest is kept, in which it is far below the tolerance; where it tends to, the limit says."""
    data = rf.Dataset([[1.0, 0.2], [0.3, 1.0]], [1, 1])
    net = rf.Network([[0.6, 0.8], [-0.6, -0.8], [0.5, 0.5]], [1.0, 1.0, -0.7])
    sol = rf.integrate(data, net, weight_decay=0.05, until=rf.Stop(log_time=log_time))
    assert sol.success
    assert sol.stats["rest_log_t"] < log_time
    assert not np.any(net.W[1] @ data.X.T > 0)  # nothing but the decay moves it
    size = np.hypot(np.linalg.norm(sol.final.W, axis=1), sol.final.a)
    assert size[1] <= 1e-11 * np.max(size)
    assert sol.limit.certified
    assert not sol.limit.network.W[1].any()
    assert sol.limit.network.a[1] == 0.0
    assert np.all(sol.limit.network.a[[0, 2]] > 1e-3)
