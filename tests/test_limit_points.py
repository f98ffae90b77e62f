"""Critical points at the end of a run: interpolation, minima and saddles, against closed forms and the loss itself."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import make_moons

import reluflow as rf
from reluflow.limits import _point
from reluflow.limits._finite import rounding_left


def squared(data: rf.Dataset, net: rf.Network, until: float = 200.0) -> rf.limits.Limit:
    return rf.integrate(data, net, until=rf.Stop(time=until), loss="squared").limit


def half_squares(data: rf.Dataset, net: rf.Network) -> float:
    return float(0.5 * data.counts @ (net(data.X) - data.y) ** 2)


def moved(net: rf.Network, escape: rf.limits.Escape, size: float) -> rf.Network:
    W, a = np.array(net.W), np.array(net.a)
    W[escape.neuron] += size * escape.w
    a[escape.neuron] += size * escape.a
    return rf.Network(W, a, leak=net.leak)


@pytest.mark.parametrize("leak", [0.0, 0.1])
def test_targets_that_are_fitted_to_rounding_are_a_global_minimum(leak) -> None:
    rng = np.random.default_rng(7)
    data = rf.Dataset(rng.normal(size=(6, 4)), rng.normal(size=6), weights=rng.uniform(0.5, 2.0, 6))
    limit = squared(data, rf.Network.init(20, 4, scale=0.3, seed=8, leak=leak), 2000.0)
    assert limit.certified, limit.reason
    assert (limit.kind, limit.point, limit.escape) == ("finite", "global", None)
    assert np.isnan(limit.margin)
    assert np.abs(limit.network(data.X) - data.y).max() <= 1e-14
    assert limit.residuals.largest <= 1e-12


def test_contradicting_targets_are_a_global_minimum_at_their_weighted_mean() -> None:
    data = rf.Dataset([[1.0], [1.0]], [1.0, 2.0], weights=[3.0, 1.0])
    limit = squared(data, rf.Network([[0.5]], [0.5]))
    assert limit.certified, limit.reason
    assert limit.point == "global"
    np.testing.assert_allclose(limit.network(data.X), 1.25, rtol=1e-14)
    np.testing.assert_allclose(limit.duals, [-0.75, 0.75], rtol=1e-13)
    # f = a w with a² = w² = 1.25: the Hessian along f is Σ c (a² + w²).
    assert limit.curvature == pytest.approx(4 * 2.5, rel=1e-12)


def test_a_sample_that_no_neuron_reaches_leaves_a_local_minimum() -> None:
    # The neuron fits sample 0; sample 1 is inactive, and no neuron near fits it.
    data = rf.Dataset([[1.0, 0.0], [-1.0, 0.5]], [1.0, 1.0])
    limit = squared(data, rf.Network([[0.5, 0.0]], [0.5]))
    assert limit.certified, limit.reason
    assert (limit.point, limit.escape) == ("local minimum", None)
    rng = np.random.default_rng(1)
    here = half_squares(data, limit.network)
    for _ in range(200):
        W, a = limit.network.W, limit.network.a
        near = rf.Network(W + 1e-3 * rng.normal(size=W.shape), a + 1e-3 * rng.normal(size=a.shape))
        assert half_squares(data, near) >= here - 1e-15


@pytest.mark.parametrize("left", [1e-5, 1e-7, 1e-9])
@pytest.mark.parametrize("outputs", [1, 2])
def test_rounding_does_not_count_beside_the_little_that_no_neuron_reaches(outputs: int, left: float) -> None:
    # Two samples are fitted to rounding, which the error of the third, inactive one made large in relation.
    X, y = np.array([[1.0, 0.0], [0.5, 1.0], [-1.0, -1.0]]), np.array([1.0, 0.7, left])
    W, a = np.array([[0.3, 0.1], [0.2, 0.4], [0.1, 0.3]]), np.array([0.3, 0.2, -0.3])
    until = rf.Stop(limit=True, seconds=60.0)
    if outputs == 1:
        sol = rf.integrate(rf.Dataset(X, y), rf.Network(W, a), loss="squared", until=until)
    else:
        sol = rf.integrate((X, np.c_[y, 0.0 * y]), rf.Network(W, np.c_[a, 0.1 * a]), loss="squared", until=until)
    limit = sol.limit
    assert limit.certified, limit.reason
    assert (limit.kind, limit.point) == ("finite", "local minimum")
    errors = y - np.asarray(limit.network(X)).reshape(3, -1)[:, 0]
    np.testing.assert_allclose(errors, [0.0, 0.0, left], atol=1e-14)
    np.testing.assert_array_equal(np.asarray(limit.duals).reshape(3, -1)[:2], 0.0)


def test_a_neuron_at_zero_leaves_a_saddle_along_its_escape() -> None:
    data = rf.Dataset([[1.0, 0.0], [-1.0, 0.5]], [1.0, 1.0])
    limit = squared(data, rf.Network([[0.5, 0.0], [0.0, 0.0]], [0.5, 0.0]))
    assert limit.certified, limit.reason
    assert limit.point == "saddle"
    escape = limit.escape
    assert (escape.neuron, escape.order) == (1, 2)
    here = half_squares(data, limit.network)
    falls = [here - half_squares(data, moved(limit.network, escape, size)) for size in (1e-2, 1e-3)]
    assert falls[1] > 0
    assert falls[0] / falls[1] == pytest.approx(100.0, rel=1e-2)


def test_escapes_are_the_same_however_many_starts_climb_at_once(monkeypatch) -> None:
    rng = np.random.default_rng(3)
    data = rf.Dataset(rng.standard_normal((9, 3)), rng.standard_normal(9))
    zero = rf.Network(np.zeros((2, 3)), [0.0, 0.0])
    all_at_once = squared(data, zero).escape
    monkeypatch.setattr(_point, "_TABLE", 1)
    one_by_one = squared(data, zero).escape
    assert one_by_one.w == pytest.approx(all_at_once.w, abs=1e-12)
    assert (one_by_one.neuron, one_by_one.a) == (all_at_once.neuron, all_at_once.a)
    # No direction of a fine sample has a steeper fall: |h(u)| is the largest there is.
    lam = data.y
    U = rng.standard_normal((20_000, 3))
    U /= np.linalg.norm(U, axis=1, keepdims=True)
    found = abs(lam @ np.maximum(data.X @ all_at_once.w, 0.0))
    assert found >= np.abs(np.maximum(U @ data.X.T, 0.0) @ lam).max()


def test_finite_limits_of_margins_have_a_kind_too() -> None:
    # The same sample with both labels, one of them twice, is fitted best by f = log 2, whatever the network.
    both = rf.Dataset([[1.0], [1.0]], [1, -1], weights=[2.0, 1.0])
    limit = rf.integrate(both, rf.Network([[0.5]], [0.5]), until=1e3).limit
    assert (limit.kind, limit.point) == ("finite", "global")
    np.testing.assert_allclose(limit.network(both.X), np.log(2), rtol=1e-12)
    separable = rf.Dataset([[1.0, 0.2], [0.3, 1.0]], [1, 1])
    dead = rf.integrate(separable, rf.Network([[-1.0, -1.0]], [1.0]), until=1.0).limit
    assert dead.point == "local minimum"


def test_nothing_is_decided_of_a_state_on_its_way() -> None:
    rng = np.random.default_rng(3)
    data = rf.Dataset(rng.normal(size=(6, 3)), rng.normal(size=6))
    limit = squared(data, rf.Network.init(6, 3, scale=0.01, seed=1), 0.01)
    assert not limit.certified
    assert (limit.kind, limit.point) == ("finite", "not decided")


def test_a_group_on_which_decay_slightly_outweighs_the_pull_vanishes() -> None:
    X, classes = make_moons(33, noise=0.3, random_state=56)
    data = rf.Dataset(X, 2 * classes - 1)
    net = rf.Network.init(18, 2, scale=0.1, leak=0.1, balanced=False, seed=56)
    sol = rf.integrate(data, net, until=rf.Stop(limit=True), loss="squared", weight_decay=0.1, reduction="mean")
    assert sol.status == "reached_limit", sol.message
    # Six neurons slide under a pull of (1 - 9.5e-4) γ: little, but it decides that they are zero in the limit.
    assert np.count_nonzero(sol.limit.network.a == 0) == 6
    assert sol.limit.residuals.largest < 1e-12


@pytest.mark.parametrize("n_outputs", [1, 2])
def test_neurons_that_cancel_leave_rounding_in_the_gradient(n_outputs: int) -> None:
    """Pairs that differ by the least-squares fit: outputs near one are made of terms near a million."""
    X = np.column_stack((np.ones(4), [1.0, 2.0, 4.0, 7.0]))
    common = 1e5 * n_outputs * np.array([1 / np.pi, 1 / np.e])
    a = np.vstack((np.eye(n_outputs), -np.eye(n_outputs)))
    limits = []
    for seed in range(6):
        Y = np.random.default_rng(seed).standard_normal((4, n_outputs))
        W = np.vstack((np.linalg.lstsq(X, Y, rcond=None)[0].T + common, np.tile(common, (n_outputs, 1))))
        net, targets = (rf.Network(W, a[:, 0]), Y[:, 0]) if n_outputs == 1 else (rf.Network(W, a), Y)
        sol = rf.integrate((X, targets), net, until=rf.Stop(limit=True, log_time=10.0), loss="squared")
        limits.append(sol.limit)
    assert max(limit.residuals.stationarity for limit in limits) > 1e-11
    assert {(limit.certified, limit.point) for limit in limits} == {(True, "local minimum")}


def test_no_more_is_certified_than_a_part_of_the_gradient() -> None:
    assert (rounding_left(1.0), rounding_left(1e20)) == (1e-11, 1e-8)
    assert rounding_left(1e5) == pytest.approx(8e5 * np.finfo(np.float64).eps)


@pytest.mark.parametrize("log_time", [22.0, 30.0, 34.0])
@pytest.mark.parametrize("outputs", [1, 2])
def test_a_neuron_that_dies_like_a_power_of_t_leaves_a_saddle(outputs: int, log_time: float) -> None:
    """a w x falls like 1/t to the target 0, and w like t^(-1/2); at zero the neuron could fit the other sample.

    Newton's method left it at the rounding of a w, and the point was called a local minimum.
    """
    X, y, until = [[1.0], [-1.0]], np.array([0.0, 1.0]), rf.Stop(log_time=log_time)
    if outputs == 1:
        sol = rf.integrate(rf.Dataset(X, y), rf.Network([[0.5]], [0.5]), loss="squared", until=until)
    else:
        pair = np.array(X), np.column_stack((y, 0.0 * y))
        sol = rf.integrate(pair, rf.Network([[0.5]], [[0.3, 0.4]]), loss="squared", until=until)  # type: ignore[assignment]
    limit = sol.limit
    assert sol.final.W[0, 0] == pytest.approx((2 * np.exp(log_time) + 4) ** -0.5, rel=1e-3, abs=2e-7)
    assert limit.certified, limit.reason
    assert not limit.network.theta.any()
    assert limit.point == "saddle"
    assert limit.escape is not None
    assert limit.escape.w.tolist() == [-1.0]
