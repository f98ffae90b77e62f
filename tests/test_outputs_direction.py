"""The limit direction of cross-entropy: closed forms, an independent checker, neurons outside it, what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.optimize import lsq_linear

import reluflow as rf
from reluflow.kinks._boundaries import boundaries
from reluflow.limits import _output_direction as direction
from reluflow.limits._margin_polish import Margins, polish_margins
from reluflow.limits._output_follow import Follower
from reluflow.limits._output_problem import OutputProblem

RNG = np.random.default_rng


def classes(seed: int, n: int = 9, d: int = 4, K: int = 3) -> tuple[np.ndarray, np.ndarray]:
    """Samples that a linear map with K outputs sorts into classes."""
    rng = RNG(seed)
    X = rng.standard_normal((n, d))
    return X, np.argmax(X @ rng.standard_normal((d, K)), axis=1)


def run(seed: int, log_time: float, leak: float = 0.0, **options: Any) -> tuple[Any, rf.flow.TwoLayerSolution]:
    data = classes(seed)
    net = rf.Network.init(10, 4, outputs=3, scale=0.1, seed=seed, leak=leak)
    until = rf.Stop(log_time=log_time)
    return data, rf.integrate(data, net, until=until, loss="cross_entropy", **options)  # type: ignore[call-overload]


def faults(data: Any, limit: rf.limits.Limit) -> float:
    """Largest violation of the KKT conditions of min |θ|²/2 s.t. f_y - f_k >= 1, from the network and λ alone."""
    X, own = data[:2]
    net, lam, n = limit.network, limit.duals, len(X)
    scale = 1 / np.sqrt(limit.margin)
    W, a = scale * net.W, scale * net.a
    Z = X @ W.T
    phi = np.where(Z > 0, Z, net.leak * Z)
    f = phi @ a
    gaps = f[range(n), own][:, None] - f - 1.0
    mu = -lam.copy()
    mu[range(n), own] = 0.0
    gaps[range(n), own] = 0.0
    size = float(np.abs(mu).sum())
    found = [float((-gaps).max()), float(np.abs(mu * gaps).max()) / size, float((-mu).max()) / size]
    found.append(float(np.abs(lam.sum(axis=1)).max()) / size)
    for j in np.flatnonzero(a.any(axis=1)):
        found.append(float(np.linalg.norm(a[j] - phi[:, j] @ lam)) / scale)
        on = np.abs(Z[:, j]) <= 1e-9 * np.linalg.norm(W[j]) * np.linalg.norm(X, axis=1)
        pulls = (lam @ a[j])[:, None] * X
        gap = W[j] - np.where(Z[:, j] > 0, 1.0, net.leak)[~on] @ pulls[~on]
        if on.any():  # what the held samples give: multiples in [leak, 1]
            gap = gap - lsq_linear(pulls[on].T, gap, (net.leak, 1.0), method="bvls", tol=1e-15).x @ pulls[on]
        found.append(float(np.linalg.norm(gap)) / scale)
    return max(found)


# --- closed forms ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("lengths", [(1.0, 1.0, 1.0), (0.5, 1.0, 3.0), (1.0, 2.0, 0.7, 1.5)])
def test_one_orthogonal_sample_of_each_class_with_a_neuron_of_its_own(lengths: tuple[float, ...]) -> None:
    """w_i on x_i alone, a_i along e_i - 1/K: |a_i||w_i| = (1 - 1/K)^½/|x_i|, and these sum up to |θ|²/2."""
    K = len(lengths)
    X, own = np.diag(lengths), np.arange(K)
    rng = RNG(1)
    net = rf.Network(np.eye(K) - 0.05, np.eye(K) - 1 / K + 0.05 * rng.standard_normal((K, K)))
    sol = rf.integrate((X, own), net, until=rf.Stop(log_time=60.0), loss="cross_entropy")
    limit = sol.limit
    assert (limit.kind, limit.certified) == ("direction", True), limit.reason
    best = 1 / (2 * np.sqrt(1 - 1 / K) * (1 / np.array(lengths)).sum())
    assert limit.margin == pytest.approx(best, rel=1e-13)
    for j in range(K):
        part = limit.network.a[j] / np.linalg.norm(limit.network.a[j])
        np.testing.assert_allclose(part, (np.eye(K)[j] - 1 / K) / np.sqrt(1 - 1 / K), atol=1e-12)
    # Σ μ = |θ|²/2 of the margin 1, and each sample's part is that of its neuron.
    np.testing.assert_allclose(limit.duals[range(K), own], np.sqrt(1 - 1 / K) / np.array(lengths), rtol=1e-12)
    assert 1 / (2 * limit.margin) == pytest.approx(limit.duals[range(K), own].sum(), rel=1e-12)
    assert faults((X, own), limit) < 1e-12


@pytest.mark.parametrize("K", [3, 5])
def test_neurons_of_one_row_find_the_least_nuclear_norm(K: int) -> None:
    """Z with Z_ii - Z_ik >= 1 has least nuclear norm as I - 1/K: K - 1 singular values of 1."""
    own = np.repeat(np.arange(K), K)
    other = np.tile(np.arange(K), K)
    pairs = own != other
    margins = Margins((np.eye(K),) * (K - 1), own[pairs], own[pairs], other[pairs], K)
    left = np.linalg.svd(np.eye(K) - 1 / K)[0][:, : K - 1].T
    start = np.hstack((left, left)) + 0.05 * RNG(2).standard_normal((K - 1, 2 * K))
    # The rows share one map, which is one object, so that their turns are known for what they are.
    shared = Margins((margins.maps[0],) * (K - 1), margins.sample, margins.own, margins.other, K)
    found = polish_margins(shared, start.ravel())
    assert found is not None
    assert 0.5 * float(found.x @ found.x) == pytest.approx(K - 1, rel=1e-12)
    assert found.free_neurons == 0
    Z = sum(np.outer(q, a) for q, a in shared.split(found.x))
    np.testing.assert_allclose(Z, np.eye(K) - 1 / K, atol=1e-11)


# --- certificates, computed anew -------------------------------------------------------------------------------------


@pytest.mark.parametrize(("seed", "log_time", "leak"), [(0, 100.0, 0.0), (1, 100.0, 0.0), (4, 650.0, 0.0)])
def test_a_certified_direction_is_a_kkt_point(seed: int, log_time: float, leak: float) -> None:
    data, sol = run(seed, log_time, leak)
    limit = sol.limit
    assert limit.certified, limit.reason
    assert limit.residuals.largest < 1e-11
    assert faults(data, limit) < 1e-11
    assert limit.network.norm == pytest.approx(1.0, rel=1e-14)
    f = limit.network(data[0])
    gaps = f[range(len(f)), data[1]][:, None] - f
    gaps[range(len(f)), data[1]] = np.inf
    assert limit.margin == pytest.approx(gaps.min(), rel=1e-14)
    on_margin = np.flatnonzero(gaps.min(axis=1) < limit.margin * (1 + 1e-9))
    assert set(limit.support) <= set(on_margin)


def test_the_flow_comes_nearer_to_the_direction_and_its_margin_rises_to_it() -> None:
    turns, margins = [], []
    for log_time in (100.0, 200.0, 400.0):
        data, sol = run(0, log_time)
        assert sol.limit.certified
        f = sol.final(data[0])
        gaps = f[range(len(f)), data[1]][:, None] - f
        gaps[range(len(f)), data[1]] = np.inf
        turns.append(sol.limit.turn)
        margins.append(gaps.min() / sol.final.norm**2 / sol.limit.margin)
    assert turns[0] > turns[1] > turns[2]
    assert margins[0] < margins[1] < margins[2] < 1


def test_weights_of_samples_leave_the_direction_and_zero_leaves_a_sample_out() -> None:
    X, own = classes(0)
    net = rf.Network.init(10, 4, outputs=3, scale=0.1, seed=0)
    until = rf.Stop(log_time=100.0)
    one = rf.integrate((X, own), net, until=until, loss="cross_entropy").limit
    wrong = np.vstack((X, X[:1] + X[1:2])), np.r_[own, (own[0] + 1) % 3], np.r_[np.ones(len(X)), 0.0]
    other = rf.integrate(wrong, net, until=until, loss="cross_entropy").limit
    assert one.certified
    assert other.certified
    assert other.margin == pytest.approx(one.margin, rel=1e-12)
    assert not other.duals[-1].any()


def test_a_wrong_network_or_wrong_multipliers_do_not_pass_the_checks() -> None:
    data, sol = run(0, 100.0)
    limit, n = sol.limit, len(data[0])
    assert limit.certified
    own = data[1]
    problem = direction_problem(data)
    values, mu = pairs_of(limit, data)

    def largest(net: rf.Network, lam: np.ndarray) -> float:
        return direction._check(problem, net, lam, values, mu).residuals.largest

    assert largest(limit.network, limit.duals) < 1e-12
    for factor in (1 + 1e-6, 1 - 1e-6):
        assert largest(limit.network, factor * limit.duals) > 1e-7
    net, moved = limit.network, limit.network.a.copy()
    j = int(np.argmax(np.linalg.norm(moved, axis=1)))
    moved[j] += 1e-6
    assert largest(net._with(net.W, moved, net.pattern), limit.duals) > 1e-7
    lam = limit.duals.copy()
    i = int(limit.support[0])
    other = (own[i] + 1) % 3
    lam[i, own[i]] += 1e-6
    lam[i, other] -= 1e-6
    assert largest(limit.network, lam) > 1e-8
    assert n == len(values) // 2


def direction_problem(data: Any) -> Any:
    return OutputProblem(data[0], np.eye(3)[data[1]], np.ones(len(data[0])), "cross_entropy", 0.0)


def pairs_of(limit: rf.limits.Limit, data: Any) -> tuple[np.ndarray, np.ndarray]:
    """Margins, scaled to a least one of 1, and multipliers of every sample and other class."""
    f, own = limit.network(data[0]), data[1]
    others = np.arange(3)[None, :] != own[:, None]
    gaps = (f[range(len(f)), own][:, None] - f) / limit.margin
    return gaps[others], -limit.duals[others]


# --- neurons outside the limit ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("leak", [0.0, 0.2])
@pytest.mark.parametrize("seed", range(6))
def test_a_followed_neuron_ends_where_the_integrated_one_does(seed: int, leak: float) -> None:
    rng = RNG(seed)
    X, Y = rng.standard_normal((10, 3)), rng.standard_normal((10, 3))
    W, a = rng.standard_normal((8, 3)), rng.standard_normal((8, 3))
    early = rf.early_alignment((X, Y), W, a, loss="squared", leak=leak)
    found = boundaries(X)
    follower = Follower(found, X, early.duals, leak)
    slides = 0
    for j in range(8):
        sides = np.zeros(len(found.normal))
        sides[found.boundary] = np.sign(X @ W[j]) * np.sign(found.reach)
        end = follower.end(W[j] / np.linalg.norm(W[j]), a[j] / np.linalg.norm(a[j]), sides)
        assert end.rate is not None
        assert early.status[j] in ("extremal", "dead")
        assert end.rate == pytest.approx(early.rate[j], rel=1e-9, abs=1e-9)
        if early.status[j] == "extremal":
            assert found.signs(end.sides).tolist() == early.sector[j].tolist()
        slides += int((early.events.neuron == j).any())
    assert slides > 2  # there were events on the way


def test_a_neuron_that_will_outgrow_the_limit_speaks_against_it() -> None:
    """Both classes are told by the first input alone; a tiny neuron sees the second, which tells them better."""
    X, own = np.array([[1.0, 4.0], [-1.0, -4.0]]), np.array([0, 1])
    W = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1e-12], [0.0, -1e-12]])
    a = np.array([[1.0, -1.0], [-1.0, 1.0], [1e-12, -1e-12], [-1e-12, 1e-12]])
    sol = rf.integrate((X, own), rf.Network(W, a), until=rf.Stop(log_time=30.0), loss="cross_entropy")
    found = sol.limit
    problem = OutputProblem(X, np.eye(2)[own], np.ones(2), "cross_entropy", 0.0)
    net = found.network
    weak = 0.9 * found.duals
    assert direction._outside(problem, sol.final, net, weak)[0] == []
    strong = 1.1 * found.duals
    reasons = direction._outside(problem, sol.final, net, strong)[0]
    assert "will outgrow it" in reasons[0]


# --- what is not certified -------------------------------------------------------------------------------------------


def test_early_states_say_why_they_are_not_certified() -> None:
    limit = run(0, 10.0)[1].limit
    assert (limit.kind, limit.certified) == ("direction", False)
    assert "events are to come" in limit.reason
    X, own = classes(0)
    net = rf.Network.init(10, 4, outputs=3, scale=0.1, seed=0)
    early = rf.integrate((X, own), net, until=1.0, loss="cross_entropy").limit
    assert not early.certified
    assert early.reason


def test_too_many_equations_are_said_and_the_state_itself_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(direction, "LARGEST", 5)
    _, sol = run(0, 100.0)
    limit = sol.limit
    assert not limit.certified
    assert limit.reason == "the equations of the limit are too many to be set up"
    assert np.isnan(limit.residuals.largest)
    np.testing.assert_allclose(limit.network.theta, sol.final.theta / sol.final.norm, rtol=1e-14)
    own = limit.duals[range(9), classes(0)[1]]
    assert own.sum() == pytest.approx(1 / (2 * limit.margin), rel=1e-9)
