"""Runs to their limits past the rounding of a stalled loss, where no gap tells which samples are at rest."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import lsq_linear
from sklearn.datasets import load_iris

import reluflow as rf
from certificate import certify_alone
from reluflow.flow import _past_rounding, _to_limit


def wrong_xor() -> tuple[rf.Dataset, rf.Network]:
    """Exclusive or of two signs, and some labels wrong: a part grows for ever, and margins at rest are up to 13."""
    rng = np.random.default_rng(6)
    X = rng.standard_normal((40, 2))
    y = np.sign(X[:, 0] * X[:, 1]) * np.where(rng.random(40) < 0.1, -1.0, 1.0)
    return rf.Dataset(np.c_[X, np.ones(40)], y), rf.Network.init(30, 3, scale=1e-2, seed=6)


def test_a_part_that_grows_beside_samples_of_many_weights(tmp_path: Path) -> None:
    data, net = wrong_xor()
    sol = rf.integrate(data, net, until=rf.Stop(limit=True), rtol=1e-9)
    assert sol.status == "reached_limit", sol.message
    assert "known to 1e-07" in sol.message
    n_resting = int((data.y * sol.limit.network(data.X) < 1e-9).sum())
    assert n_resting == 19
    assert certify_alone(data, sol.limit, n_resting) < 1e-9
    # Its states are those of a run that stalls, and the state beyond them is kept in files.
    plain = rf.integrate(data, net, until=rf.Stop(log_time=20.0))
    assert plain.status == "stalled"
    np.testing.assert_array_equal(sol.final.theta, plain.final.theta)
    assert sol.log_t_end == plain.log_t_end < 19.0
    sol.save(tmp_path / "past.npz")
    again = rf.load(tmp_path / "past.npz").limit
    assert again.certified
    np.testing.assert_array_equal(again.network.theta, sol.limit.network.theta)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, pytest.param(2, marks=pytest.mark.thorough)])
def test_a_point_of_finite_norm_with_margins_from_one_to_twenty_four(seed: int) -> None:
    """All hundred samples come to rest, one by one, up to log t = 24; no neuron goes round a corner for ever then."""
    iris = rf.datasets.iris("versicolor", "virginica")
    data = rf.Dataset(np.c_[iris.X, np.ones(iris.n)], iris.y)
    sol = rf.integrate(data, rf.Network.init(60, data.d, scale=1e-3, seed=seed), until=rf.Stop(limit=True))
    assert sol.status == "reached_limit", sol.message
    assert sol.limit.kind == "finite"
    net = sol.limit.network
    q = data.y * net(data.X)
    assert q.max() > 20.0
    weights = data.y / (1.0 + np.exp(q))
    Z = net.W @ data.X.T
    is_on = np.abs(Z) <= 1e-9 * np.linalg.norm(net.W, axis=1)[:, None] * np.linalg.norm(data.X, axis=1)
    live = np.flatnonzero(net.a)
    assert is_on[live].any()  # some slide: what holds them is between zero and the weight of their samples
    for j in live:
        gradient = (weights * ((Z[j] > 0) & ~is_on[j])) @ data.X
        held = (weights[:, None] * data.X)[is_on[j]]
        if len(held):
            gradient = gradient + lsq_linear(held.T, -gradient, (0.0, 1.0), method="bvls", tol=1e-15).x @ held
        assert np.linalg.norm(gradient) < 1e-12


def test_neurons_that_come_and_go_by_rounding_end_the_legs(monkeypatch: pytest.MonkeyPatch) -> None:
    data, net = wrong_xor()
    monkeypatch.setattr(_past_rounding, "_MOST_EVENTS", 0.0)  # one event in all
    sol = rf.integrate(data, net, until=rf.Stop(limit=True))
    # On some processors no neuron comes or goes before the limit is certified.
    assert sol.status in ("stalled", "reached_limit"), sol.message
    place = float(sol.message.split("log t = ")[-1].split(",")[0])
    assert sol.log_t_end <= place < 19.0
    assert sol.limit.certified == (sol.status == "reached_limit")


def test_no_leg_ends_beyond_the_time_of_the_user(monkeypatch: pytest.MonkeyPatch) -> None:
    data, net = wrong_xor()
    monkeypatch.setattr(_to_limit, "LOG_TIMES_PAST_ROUNDING", (17.5, 18.0, 20.5))
    sol = rf.integrate(data, net, until=rf.Stop(limit=True, log_time=20.0))
    assert sol.status == "stalled"
    where = "no limit is certified at log t = 18, by a state that is known to 1e-07: "
    assert sol.message.partition(where)[2]  # why


def test_a_squared_loss_that_stalls_goes_on_by_the_flow_itself() -> None:
    """No sample of a loss of errors has a weight beside which others are nothing; a warning came of looking for one."""
    X = [[-0.44, 1.12], [0.18, 0.38], [-0.09, -0.82], [2.52, -0.52], [-0.68, 0.34], [-0.44, 1.12]]
    data = rf.Dataset(X, [-2.0, -2.0, 0.0, -3.0, 0.0, 0.0])
    W = 4.5e-4 * np.array([[-1.0, 1.0], [2.0, -2.0], [-2.0, 0.0], [-2.0, -1.0], [-2.0, 1.0]])
    net = rf.Network(W, -np.linalg.norm(W, axis=1))
    sol = rf.integrate(data, net, until=rf.Stop(limit=True), loss="squared")
    assert sol.status == "reached_limit", sol.message
    assert sol.limit.kind == "finite"
    tight = rf.integrate(data, net, until=rf.Stop(log_time=16.0), loss="squared", rtol=1e-12)
    np.testing.assert_allclose(sol.limit.network(data.X), tight.final(data.X), atol=1e-6)


@pytest.mark.parametrize(("width", "seed", "most"), [(8, 3, 2200), (12, 1, 2900)])
def test_the_pattern_past_the_rounding_tells_who_rests(width: int, seed: int, most: int) -> None:
    """Iris 1 against 0 and 2: the last of 100 samples comes to rest at log t = 21, past the stall.

    No gap of weights tells them at log t = 28, where the flow is lost in rounding. Beside those that the pattern tells
    there it goes on at once; beside those of the stall it took 2,700 and 3,100 steps.
    """
    X, kind = load_iris(return_X_y=True)
    X = np.c_[(X - X.mean(axis=0)) / X.std(axis=0), np.ones(len(X))]
    data = rf.Dataset(X, np.where(kind == 1, 1.0, -1.0))
    sol = rf.integrate(data, rf.Network.init(width, 5, scale=0.1, seed=seed), until=rf.Stop(limit=True))
    assert sol.status == "reached_limit", sol.message
    assert "beside 100 samples at rest" in sol.message
    assert sol.stats["steps"] < most
    assert certify_alone(data, sol.limit, 100) < 1e-9


def test_a_flow_that_no_sample_stops_any_more_goes_on_past_its_rounding() -> None:
    """At log t = 14.9 weights of order one cancel; at 16 all samples are right, and the limit is at log |θ| = 1600."""
    X, kind = load_iris(return_X_y=True)
    data = rf.Dataset(0.1 * X[kind > 0], np.where(kind[kind > 0] == 1, 1.0, -1.0))
    net = rf.Network.init(80, 4, scale=1e-3, leak=0.1, seed=119)
    sol = rf.integrate(data, net, loss="exponential", until=rf.Stop(limit=True))
    assert sol.status == "reached_limit", sol.message
    assert sol.limit.kind == "direction"
    assert sol.limit.margin > 0
    assert certify_alone(data, sol.limit) < 1e-9
