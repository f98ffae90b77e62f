"""`sol.limit` of several outputs: closed forms, certificates computed anew, kinds of points, what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.special import log_softmax, softmax

import reluflow as rf
from reluflow.kinks._boundaries import boundaries
from reluflow.limits._output_point import output_point

K = 3
RNG = np.random.default_rng
LOSSES = ("squared", "cross_entropy")


def problem(loss: str, n: int = 12, seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    rng = RNG(seed)
    X, Y = rng.standard_normal((n, 3)), rng.standard_normal((n, K))
    return X, (Y if loss == "squared" else np.arange(n) % K)


def objective(net: rf.Network, data: Any, loss: str, decay: float) -> float:
    f = net(data[0])
    each = (
        0.5 * ((f - data[1]) ** 2).sum(axis=1) if loss == "squared" else -log_softmax(f, axis=1)[range(len(f)), data[1]]
    )
    return float((data[2] if len(data) == 3 else np.ones(len(f))) @ each + 0.5 * decay * net.norm**2)


def ended(data: Any, net: rf.Network, loss: Any, **options: Any) -> rf.flow.TwoLayerSolution:
    until = rf.Stop(time=1e4, gradient=1e-7, seconds=30)
    found: rf.flow.TwoLayerSolution = rf.integrate(data, net, until=until, loss=loss, **options)
    return found


# --- closed forms ----------------------------------------------------------------------------------------------------


def test_one_sample_is_fitted_along_its_target_up_to_what_the_decay_leaves() -> None:
    """½ |u e - y|² + γ |u| over u >= 0 and unit e: e = y/|y|, u = |y| - γ."""
    y = np.array([1.2, -0.5])
    for decay, left in ((0.3, 1.0), (2.0, 0.0)):
        start = rf.Network([[0.5]], [[0.3, -0.2]])
        limit = ended(([[1.0]], [y]), start, "squared", weight_decay=decay).limit
        assert (limit.certified, limit.point, limit.kind) == (True, "global", "finite")
        assert limit.network([[1.0]])[0] == pytest.approx(left * (1.3 - decay) / 1.3 * y, abs=1e-14)
        assert np.linalg.norm(limit.duals) == pytest.approx(min(decay, 1.3), rel=1e-13)


def test_a_neuron_at_zero_leaves_along_the_singular_direction_of_what_is_left() -> None:
    X, Y = np.eye(2), np.array([[2.0, 0.0], [0.6, 0.8]])
    start = rf.Network([[0.5, -0.1], [0.0, 0.0]], [[0.5, 0.0], [0.0, 0.0]])
    for decay in (0.0, 0.3):
        limit = ended((X, Y), start, "squared", weight_decay=decay).limit
        assert limit.certified, limit.reason
        assert (limit.point, limit.escape.neuron, limit.escape.order) == ("saddle", 1, 2)
        if decay == 0.0:
            assert limit.escape.w == pytest.approx([0.0, 1.0], abs=1e-6)
            assert limit.escape.a == pytest.approx(Y[1], abs=1e-6)
        W, a = limit.network.W.copy(), limit.network.a.copy()
        W[1], a[1] = 1e-3 * limit.escape.w, 1e-3 * limit.escape.a
        assert objective(rf.Network(W, a), (X, Y), "squared", decay) < objective(
            limit.network, (X, Y), "squared", decay
        )
    net = rf.Network([[2.0, -1.0], [0.0, 0.0]], [[1.0, 0.0], [0.0, 1.0]], pattern=[[1, -1], [0, 0]])
    point = output_point(boundaries(X), X, net, Y - net(X), 0.0)
    assert point.escape is not None
    assert (point.kind, point.escape.neuron, point.escape.order) == ("saddle", 1, 1)
    assert point.escape.w == pytest.approx([0.0, 1.0])


def limit_at(X: np.ndarray, Y: np.ndarray, net: rf.Network) -> Any:
    return rf.integrate((X, Y), net, until=1e-300, loss="squared", on_branch="stay").limit


# --- certificates ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("reduction", ["sum", "mean"])
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("seed", [1, 3])
def test_runs_with_decay_end_at_critical_points(seed: int, loss: str, reduction: Any) -> None:
    X, targets = problem(loss)
    weights = np.linspace(0.5, 1.5, 12)
    net = rf.Network.init(6, 3, outputs=K, scale=0.4, seed=seed)
    decay = 0.4 if reduction == "sum" else 0.4 / 12
    sol = ended((X, targets, weights), net, loss, weight_decay=decay, reduction=reduction)
    limit = sol.limit
    assert limit.certified, limit.reason
    assert limit.residuals.largest < 1e-12
    end = limit.network
    f = end(X)
    off = (targets if loss == "squared" else np.eye(K)[targets]) - (f if loss == "squared" else softmax(f, axis=1))
    lam = weights[:, None] * off
    np.testing.assert_allclose(limit.duals, lam, atol=1e-12)
    free = (end.pattern != 0).all(axis=1)  # type: ignore[union-attr]
    Z = X @ end.W.T
    pull_a = np.maximum(Z, 0.0).T @ lam
    np.testing.assert_allclose(pull_a, 0.4 * end.a, atol=1e-11)
    pull_W = ((Z > 0).T * (end.a @ lam.T)) @ X
    np.testing.assert_allclose(pull_W[free], 0.4 * end.W[free], atol=1e-11)
    assert (
        objective(end, (X, targets, weights), loss, 0.4)
        <= objective(sol.final, (X, targets, weights), loss, 0.4) + 1e-12
    )
    at = rf.Network(end.W, end.a)
    near = [
        rf.Network(at.W + 1e-4 * RNG(k).standard_normal(at.W.shape), at.a + 1e-4 * RNG(k).standard_normal(at.a.shape))
        for k in range(50)
    ]
    least = min(objective(one, (X, targets, weights), loss, 0.4) for one in near)
    here = objective(at, (X, targets, weights), loss, 0.4)
    if limit.point in ("global", "local minimum"):
        assert least >= here - 1e-13
    if limit.point == "saddle":
        W, a = at.W.copy(), at.a.copy()
        W[limit.escape.neuron] += 1e-4 * limit.escape.w
        a[limit.escape.neuron] += 1e-4 * limit.escape.a
        assert objective(rf.Network(W, a), (X, targets, weights), loss, 0.4) < here


def test_few_neurons_end_at_a_local_minimum() -> None:
    data = problem("cross_entropy")
    sol = ended(data, rf.Network.init(2, 3, outputs=K, scale=0.5, seed=1), "cross_entropy", weight_decay=1.2)
    assert (sol.limit.certified, sol.limit.point) == (True, "local minimum")
    assert sol.limit.curvature > 0


@pytest.mark.parametrize("leak", [0.0, 0.1])
def test_wide_networks_interpolate(leak: float) -> None:
    X, Y = problem("squared", n=6)
    sol = ended((X, Y, [1, 2, 0, 1, 1, 3]), rf.Network.init(20, 3, outputs=K, scale=0.5, leak=leak, seed=1), "squared")
    limit = sol.limit
    assert (limit.certified, limit.point) == (True, "global")
    counted = np.array([0, 1, 3, 4, 5])
    np.testing.assert_allclose(limit.network(X)[counted], Y[counted], atol=1e-13)
    assert not limit.duals.any()
    assert limit.freedom > 0
    assert np.abs(limit.network.theta - sol.final.theta).max() < 1e-4


def test_targets_of_zero_are_fitted_where_rounding_of_the_terms_is_left() -> None:
    X, Y = np.array([[0.0, 1.0], [1.0, 1.0]]), np.zeros((2, 2))
    start = rf.Network([[0.3, 0.5], [0.2, -0.9]], [[0.5, 0.2], [-0.1, 0.6]], leak=0.5)
    sol: Any = rf.integrate((X, Y), start, until=rf.Stop(limit=True, seconds=30), loss="squared")
    assert (sol.status, sol.limit.point) == ("reached_limit", "global"), sol.limit.reason
    assert np.abs(sol.limit.network(X)).max() < 1e-15
    assert sol.limit.network.norm > 0.1
    assert rf.certify(sol, (X, Y)).verdict == "least_loss"


def test_a_rotation_of_the_outputs_rotates_the_limit() -> None:
    X, Y = problem("squared")
    turn = np.linalg.qr(RNG(7).standard_normal((K, K)))[0]
    net = rf.Network.init(5, 3, outputs=K, scale=0.4, seed=3)
    one = ended((X, Y), net, "squared", weight_decay=0.5).limit
    other = ended((X, Y @ turn), rf.Network(net.W, net.a @ turn), "squared", weight_decay=0.5).limit
    assert one.certified
    assert one.point == other.point
    np.testing.assert_allclose(other.duals, one.duals @ turn, atol=1e-10)
    assert one.curvature == pytest.approx(other.curvature, rel=1e-6)


def test_second_derivatives_tell_a_saddle_that_no_zero_neuron_leaves() -> None:
    """The second output gains where w turns and it grows together."""
    X, Y = np.array([[1.0, 0.0], [1.0, 0.3]]), np.array([[1.0, 3.0], [1.0, -3.0]])
    limit = limit_at(X, Y, rf.Network([[1.0, 0.0]], [[1.0, 0.0]]))
    assert limit.certified, limit.reason
    assert limit.point == "saddle"
    theta, h, second = limit.network.theta.ravel(), 1e-4, np.empty((4, 4))

    def value(step: np.ndarray) -> float:
        at = theta + step
        return objective(rf.Network(at[None, :2], at[None, 2:]), (X, Y), "squared", 0.0)

    for p, q in np.ndindex(4, 4):
        e, g = h * np.eye(4)[p], h * np.eye(4)[q]
        second[p, q] = (value(e + g) - value(e - g) - value(g - e) + value(-e - g)) / (4 * h**2)
    assert limit.curvature == pytest.approx(np.linalg.eigvalsh(second)[0], abs=1e-6)
    W, a = limit.network.W + 1e-3 * limit.escape.w, limit.network.a + 1e-3 * limit.escape.a
    assert objective(rf.Network(W, a), (X, Y), "squared", 0.0) < objective(limit.network, (X, Y), "squared", 0.0)
    calm = limit_at(X, Y / [1.0, 5.0], rf.Network([[1.0, 0.0]], [[1.0, 0.0]]))
    assert (calm.certified, calm.point) == (True, "not decided")
    assert calm.curvature > 0


def test_a_neuron_that_no_sample_moves_makes_no_saddle() -> None:
    """It has died on the boundary of the only sample that counts: no small change of it changes the loss."""
    data = [[1.0, 0.0], [0.3, 1.0]], [1, 0], [1.0, 0.0]
    limit = ended(data, rf.Network([[0.2, 1.0]], [[0.5, -0.5]]), "cross_entropy").limit
    assert (limit.certified, limit.point, limit.escape) == (True, "not decided", None)
    assert limit.network.W[0] == pytest.approx([0.0, 1.0], abs=1e-12)


# --- what is not certified -------------------------------------------------------------------------------------------


def cross_entropy_at(net: rf.Network, X: Any, own: list[int], weights: list[float]) -> Any:
    return rf.integrate((X, own, weights), net, until=1e-300, loss="cross_entropy").limit


def test_margins_that_grow_beside_samples_at_rest_are_no_critical_point() -> None:
    """The margin of the sample that goes on growing is so large that its weight is nothing."""
    grows = rf.Network([[0.0, 20.0]], [[10.0, -10.0]])
    dead = cross_entropy_at(grows, np.eye(2), [1, 0], [1.0, 1.0])
    both = rf.Network([[1.0, 0.0], [0.0, 3.0]], [[1.0, 1.0], [10.0, -10.0]])
    contradictory = cross_entropy_at(both, [[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]], [0, 1, 0], [1.0, 1.0, 1.0])
    for limit, sample in ((dead, 1), (contradictory, 2)):
        assert limit.residuals.largest < 1e-20
        assert (limit.kind, limit.certified, limit.point) == ("finite", False, "not decided")
        assert limit.reason == f"margins that grow for ever beside samples at rest: samples {sample}"


def test_a_class_that_no_sample_at_rest_has_grows_away_from_it() -> None:
    """Class 2 is never right there: its output falls for ever, while the two others contradict each other."""
    net = rf.Network([[5.0, 0.0], [0.0, 3.0]], [[3.0, 3.0, -6.0], [-5.0, -5.0, 10.0]])
    limit = cross_entropy_at(net, [[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]], [0, 1, 2], [1.0, 1.0, 1.0])
    assert limit.reason == "margins that grow for ever beside samples at rest: samples 0, 1, 2"


def test_a_sample_of_tiny_weight_that_others_hold_is_at_rest() -> None:
    """f = log 3 on the unit sample of both labels, and thirty times as much on the large one: a weight of 5e-15."""
    X, own, weights = [[1.0], [1.0], [30.0]], [0, 1, 0], [3.0, 1.0, 1.0]
    limit = ended((X, own, weights), rf.Network([[0.7]], [[0.3, -0.3]]), "cross_entropy").limit
    assert (limit.certified, limit.point) == (True, "global"), limit.reason
    assert 0 < np.abs(limit.duals[2]).max() < 1e-14


def test_a_state_far_from_its_limit_is_not_certified() -> None:
    X, Y = problem("squared")
    sol = rf.integrate((X, Y), rf.Network.init(6, 3, outputs=K, scale=0.4, seed=1), until=0.3, loss="squared")
    assert not sol.limit.certified
    assert sol.limit.point == "not decided"
    assert sol.limit.reason


def test_runs_of_other_flows_say_so_and_one_output_is_as_before() -> None:
    data, net = rf.Dataset([[1.0], [2.0]], [0.5, 1.0]), rf.Network([[0.3]], [0.3])
    one = rf.integrate(data, net, until=50.0, loss="squared")
    other = rf.integrate(data, net, until=50.0, loss="squared", rates=(1.0, 1.0))
    assert (other.limit.certified, other.limit.point) == (one.limit.certified, one.limit.point) == (True, "global")
    for options in ({"train": "first"}, {"rates": (1.0, 2.0)}):
        sol = rf.integrate(data, net, until=1.0, loss="squared", **options)  # type: ignore[call-overload]
        with pytest.raises(ValueError, match="limit must be asked of a run that trains both layers at one rate"):
            _ = sol.limit


def test_the_pattern_of_a_neuron_that_has_decayed_out_of_sight_is_checked() -> None:
    # The squares of its weights are below the smallest double; its sides are as good as any.
    X = np.array([[1.0, 2.0], [2.0, -1.0]])
    for pattern, violation in (([-1, 1], 0.0), ([-1, -1], 3.0 / np.sqrt(2.0 * 5.0))):
        net = rf.Network([[1e-170, -1e-170]], [[1e-170, 0.0]], pattern=np.array([pattern]))
        found = output_point(boundaries(X), X, net, np.zeros((2, 2)), 0.0)
        assert found.violation == pytest.approx(violation)
