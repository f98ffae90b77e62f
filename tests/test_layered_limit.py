"""The limit of a layered run: closed forms, the two-layer core's limit, and the KKT conditions by other means."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import reluflow as rf
from reluflow.layered._frozen import Frozen
from reluflow.layered._graph import degree_of


def separable(seed: int, n: int, d: int) -> rf.Dataset:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    return rf.Dataset(X, np.sign(X @ rng.standard_normal(d)))


def layers(widths: list[int], activation: Any = "relu") -> list[rf.Dense]:
    return [*(rf.Dense(width, activation=activation) for width in widths), rf.Dense(1)]


def run(data: rf.Dataset, stack: Any, seed: int, log_time: float, **options: Any) -> rf.layered.DeepSolution:
    net = rf.DeepNetwork.init(stack, dim=data.d, scale=0.5, seed=seed)
    return rf.integrate(data, net, until=rf.Stop(log_time=log_time), **options)


@pytest.mark.parametrize("depth", [2, 3, 4])
@pytest.mark.parametrize("loss", ["logistic", "exponential"])
def test_deep_linear_networks_reach_the_margin_of_the_svm(depth: int, loss: Any) -> None:
    """|θ̃|² = L γ^(-2/L) ([VSS, Theorem 3.1]), thus a normalised margin of γ L^(-L/2)."""
    data = rf.Dataset([[1.0, 0.0], [0.0, 2.0], [-3.0, -1.0]], [1, 1, -1])  # γ = 2/√5, of the first two
    sol = run(data, layers([3] * (depth - 1), "linear"), 1, 300.0 if depth == 4 else 200.0, loss=loss)
    found = sol.limit
    assert found.certified, found.reason
    assert found.degree == depth
    assert found.margin == pytest.approx(2.0 / np.sqrt(5.0) * depth ** (-depth / 2.0), rel=1e-12)
    np.testing.assert_allclose(found.layer_norms, depth**-0.5, rtol=1e-12)
    assert found.support.tolist() == [0, 1]
    assert found.freedom > 0  # rotations between the layers
    assert abs(found.duals).sum() == pytest.approx(found.margin ** (-2.0 / depth) / depth, rel=1e-12)


SEEDS = [(3, [3, 3], 10, 3, 250.0), (8, [3, 3], 10, 3, 250.0), (2, [5], 10, 3, 250.0)]


def certified(case: tuple[int, list[int], int, int, float]) -> tuple[rf.Dataset, rf.layered.LayeredLimit]:
    seed, widths, n, d, log_time = case
    data = separable(seed, n, d)
    found = run(data, layers(widths), seed, log_time).limit
    assert found.certified, found.reason
    return data, found


@pytest.mark.parametrize("case", SEEDS)
def test_the_conditions_hold_by_differences_of_the_network_itself(case: Any) -> None:
    """∇q by central differences of `net(X)`; what is left of θ has to lie along what slides."""
    data, found = certified(case)
    net, y = found.network, data.y
    least, L = float((y * net(data.X))[found.support].min()), found.degree
    theta = net.theta / least ** (1.0 / L)
    at_rest = np.isclose(net(data.X), 0.0, atol=1e-12).any()
    assert found.margin == (0.0 if at_rest else pytest.approx(least, rel=1e-9))
    kinks = [np.abs(z) < 1e-9 for z in net._with(theta).pre_activations(data.X)[1:-1]]
    answering = found.duals != 0
    held_free = [i for i in np.flatnonzero(answering) if not any(kink[i].any() for kink in kinks)]
    q = y * net._with(theta)(data.X)
    assert np.abs(q[answering] - 1.0).max() < 1e-9
    assert (found.duals * y >= 0).all()
    step, grad = 1e-6, np.zeros((data.n, len(theta)))
    for p in range(len(theta)):
        up, down = theta.copy(), theta.copy()
        up[p], down[p] = theta[p] + step, theta[p] - step
        grad[:, p] = (net._with(up)(data.X) - net._with(down)(data.X)) / (2 * step)
    assert abs(found.duals).sum() == pytest.approx(float(theta @ theta) / L, rel=1e-9)
    if len(held_free) == answering.sum():
        np.testing.assert_allclose(found.duals @ grad, theta, atol=1e-6)
    else:
        assert len(found.held) > 0


@pytest.mark.parametrize("seed", [1, 3, 5, 6])
def test_two_layers_have_the_limit_of_the_two_layer_core(seed: int) -> None:
    data = rf.datasets.wang_pilanci("obtuse")
    net = rf.Network.init(6, data.d, scale=0.3, seed=seed)
    known = rf.integrate(data, net, until=rf.Stop(log_time=400.0)).limit
    found = rf.integrate(data, _as_deep(net), until=rf.Stop(log_time=400.0)).limit
    assert known.certified
    assert found.certified, found.reason
    assert found.margin == pytest.approx(known.margin, rel=1e-10)
    np.testing.assert_allclose(found.duals, known.duals, atol=1e-9)


def _as_deep(net: rf.Network) -> rf.DeepNetwork:
    deep = rf.DeepNetwork.init([rf.Dense(net.width), rf.Dense(1)], dim=net.dim, seed=0)
    return deep._with(np.concatenate((net.W.ravel(), net.a)))


def test_a_unit_that_slides_has_its_multiplier_between_leak_and_one() -> None:
    """A limit with units on their boundaries: the pull on each is a part of what comes back to it."""
    data = separable(2, 10, 3)
    sol = run(data, layers([5]), 2, 250.0)
    found = sol.limit
    assert found.certified, found.reason
    assert len(found.held) > 0
    theta = found.network.theta / found.margin**0.5
    z = found.network._with(theta).pre_activations(data.X)
    for layer, unit, sample in found.held:
        assert abs(z[layer + 1][sample, unit]) < 1e-9


def test_another_point_is_not_certified() -> None:
    """The state long before: the certificate speaks of the point, and of how far the state is from it."""
    data = separable(3, 10, 3)
    early = run(data, layers([3, 3]), 3, 3.0).limit
    assert not early.certified
    assert "away from it" in early.reason or "does not hold" in early.reason


def test_biases_of_the_first_layer_keep_a_network_homogeneous() -> None:
    first = rf.DeepNetwork.init([rf.Dense(3, bias=True), rf.Dense(1)], dim=2, seed=0)
    assert degree_of(first.nodes) == (2, "")


@pytest.mark.parametrize(
    "stack",
    [
        [rf.Dense(3), rf.Dense(3, bias=True), rf.Dense(1)],
        [rf.Dense(3), rf.Residual(rf.Dense(3)), rf.Dense(1)],
    ],
)
def test_without_homogeneity_no_limit_is_claimed(stack: Any) -> None:
    found = run(separable(5, 6, 2), stack, 5, 30.0).limit
    assert (found.kind, found.certified, found.degree) == ("none", False, 0)
    assert "have different numbers of parameters (biases or skips)" in found.reason
    assert found.turn_rate > 0


def test_the_turn_rate_is_that_of_the_run() -> None:
    sol = run(separable(3, 10, 3), layers([3, 3]), 3, 40.0)
    before, end = sol.at(log_t=39.99), sol.final
    turned = np.linalg.norm(end.theta / end.norm - before.theta / before.norm)
    assert sol.limit.turn_rate == pytest.approx(turned / np.log(end.norm / before.norm), rel=1e-2)


def test_squared_loss_ends_at_an_interpolator() -> None:
    rng = np.random.default_rng(3)
    data = rf.Dataset(rng.standard_normal((4, 3)), rng.standard_normal(4))
    found = run(data, layers([6, 5]), 3, 4.0, loss="squared").limit
    assert found.kind == "finite"
    assert found.certified, found.reason
    np.testing.assert_allclose(found.network(data.X), data.y, atol=1e-12)


def test_weight_decay_ends_at_a_critical_point() -> None:
    """One sample, one path of two linear layers: a critical point with w = a and 1/(1 + e^(w²)) = γ, or zero."""
    data = rf.Dataset([[1.0]], [1])
    start = rf.DeepNetwork.init([rf.Dense(1, activation="linear"), rf.Dense(1)], dim=1, seed=0)
    net = start._with(np.array([0.5, 0.6]))
    found = rf.integrate(data, net, until=100.0, weight_decay=0.1).limit
    assert found.certified, found.reason
    np.testing.assert_allclose(found.network.theta, np.sqrt(np.log(9.0)), rtol=1e-10)


def test_data_that_cannot_be_separated_have_a_critical_point() -> None:
    data = rf.Dataset([[1.0], [1.0], [1.0]], [1, 1, -1])
    net = rf.DeepNetwork.init([rf.Dense(1), rf.Dense(1)], dim=1, seed=0)._with(np.array([0.5, 0.6]))
    found = rf.integrate(data, net, until=200.0).limit
    assert (found.kind, found.certified) == ("finite", True), found.reason
    assert found.network([[1.0]])[0] == pytest.approx(np.log(2.0), rel=1e-10)


@pytest.mark.parametrize("loss", ["logistic", "exponential", "cross_entropy"])
def test_margins_that_grow_beside_samples_at_rest_are_no_critical_point(loss: Any) -> None:
    """Two samples contradict each other, and the margin of the third is so large that its weight is nothing."""
    X, labels = [[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]], np.array([1, -1, 1])
    classes = loss == "cross_entropy"
    net = rf.DeepNetwork.init([rf.Dense(2), rf.Dense(2), rf.Dense(2 if classes else 1)], dim=2, scale=1.0, seed=0)
    first, second = np.eye(2), np.diag([1.0, 6.0])
    last = np.array([[1.0, -5.0], [1.0, 5.0]]) if classes else np.array([[0.0, 10.0]])
    start = net._with(np.concatenate([part.ravel() for part in (first, second, last)]))
    data = (X, (labels + 1) // 2) if classes else rf.Dataset(X, labels)
    found = rf.integrate(data, start, until=1e-300, loss=loss).limit
    assert (found.kind, found.certified) == ("finite" if classes else "direction", False)
    if classes:
        assert found.residuals.largest < 1e-20
        assert found.reason == "margins that grow for ever beside samples at rest: samples 2"
    else:  # units are far from balanced: such a direction is not that of a KKT point
        assert found.reason.startswith("stationarity does not hold")


@pytest.mark.parametrize("classes", [False, True])
def test_a_sample_of_tiny_weight_that_others_hold_is_at_rest(classes: bool) -> None:
    """f = log 3 on the unit sample of both labels, and thirty times as much on the large one: a weight of 5e-15."""
    X, labels, weights = [[1.0], [1.0], [30.0]], np.array([1, -1, 1]), [3.0, 1.0, 1.0]
    net = rf.DeepNetwork.init([rf.Dense(4), rf.Dense(3), rf.Dense(2 if classes else 1)], dim=1, scale=1.0, seed=1)
    data = (X, (labels + 1) // 2, weights) if classes else rf.Dataset(X, labels, weights=weights)
    options: Any = {"loss": "cross_entropy"} if classes else {}
    sol = rf.integrate(data, net, until=rf.Stop(limit=True, log_time=5.0), **options)
    assert sol.status == "reached_limit", sol.message
    assert 0 < np.abs(sol.limit.duals[2]).max() < 1e-14


def test_cross_entropy_directions_and_large_networks_say_so() -> None:
    data = rf.datasets.MultiClassDataset([[2.0, 0.1], [0.1, 2.0]], [0, 1])
    net = rf.DeepNetwork.init([rf.Dense(3), rf.Dense(2)], dim=2, seed=1)
    found = rf.integrate(data, net, until=100.0, loss="cross_entropy").limit
    assert found.kind == "none"
    assert "cross-entropy" in found.reason
    wide = run(separable(1, 5, 20), layers([80]), 1, 5.0).limit
    assert wide.kind == "none"
    assert "unknowns, 1,500 can be solved" in wide.reason


def test_a_frozen_network_is_the_network_and_its_pull_the_gradient() -> None:
    data = separable(4, 7, 3)
    sol = run(data, layers([4, 3]), 4, 2.0)
    end, theta = sol._raw["checkpoints"][-1], sol.final.theta
    frozen = Frozen(sol.initial.nodes, data.X, end["sides"], end["modes"], len(theta))
    np.testing.assert_allclose(frozen.outputs(theta)[:, 0], sol.final(data.X), atol=1e-14)
    lam = np.random.default_rng(0).standard_normal((7, 1))
    pull = frozen.pull(theta, lam, np.zeros(len(frozen.held))).theta
    for p in range(0, len(theta), 5):
        up, down = theta.copy(), theta.copy()
        up[p], down[p] = theta[p] + 1e-6, theta[p] - 1e-6
        slope = (frozen.outputs(up) - frozen.outputs(down)) / 2e-6
        assert pull[p] == pytest.approx(float((lam * slope).sum()), abs=1e-8)
    np.testing.assert_allclose(lam[:, 0] @ frozen.gradients(theta, np.arange(7)), pull, atol=1e-13)


def test_a_limit_is_one_line() -> None:
    text = repr(run(separable(3, 10, 3), layers([3, 3]), 3, 250.0).limit)
    assert text.startswith("LayeredLimit(direction, margin=0, residual=")
    assert text.endswith("certified: 5 samples are on no active path, and stay at f = 0)")


# --- runs that end there ---


def linear(seed: int = 1) -> tuple[rf.Dataset, rf.DeepNetwork]:
    data = rf.Dataset([[1.0, 0.0], [0.0, 2.0], [-3.0, -1.0]], [1, 1, -1])
    return data, rf.DeepNetwork.init(layers([3, 3], "linear"), dim=2, scale=0.5, seed=seed)


def test_a_run_ends_where_its_limit_is_certified(tmp_path: Any) -> None:
    data, net = linear()
    sol = rf.integrate(data, net, until=rf.Stop(limit=True))
    assert (sol.status, sol.success, sol.limit.certified) == ("reached_limit", True, True)
    assert sol.settings["limit"] is True
    assert sol.settings["log_time"] == np.inf
    early = rf.integrate(data, net, until=rf.Stop(log_time=0.4 * sol.log_t_end))
    assert not early.limit.certified
    (many,) = rf.integrate_many(data, [net], until=rf.Stop(limit=True)).collect()
    assert np.array_equal(many.value.final.theta, sol.final.theta)
    sol.save(tmp_path / "run.npz")
    kept = rf.load(tmp_path / "run.npz")
    assert kept.status == "reached_limit"
    assert repr(kept.limit) == repr(sol.limit)


def test_the_legs_are_one_run() -> None:
    data = separable(2, 10, 3)
    net = rf.DeepNetwork.init(layers([5]), dim=3, scale=0.5, seed=2)
    one = rf.integrate(data, net, until=rf.Stop(log_time=12.0))
    legs = rf.integrate(data, net, until=rf.Stop(limit=True, log_time=12.0))
    assert (legs.status, legs.limit.certified) == ("reached_log_time", False)
    np.testing.assert_allclose(legs.final.theta, one.final.theta, atol=1e-8)
    assert len(legs.events) == len(one.events)
    np.testing.assert_allclose(legs(2.0).theta, one(2.0).theta, atol=1e-9)


def test_a_run_without_a_limit_stops_and_says_why() -> None:
    stack = [rf.Dense(3), rf.Dense(3, bias=True), rf.Dense(1)]
    sol = rf.integrate(
        separable(5, 6, 2), rf.DeepNetwork.init(stack, dim=2, scale=0.5, seed=5), until=rf.Stop(limit=True)
    )
    assert (sol.status, sol.success) == ("limit_not_certified", False)
    assert "have different numbers of parameters" in sol.message
    assert sol.log_t_end < 100.0  # asked once all samples are on their right side, and not again


def test_times_to_save_at_are_refused() -> None:
    data, net = linear()
    with pytest.raises(ValueError, match=r"save_at must be left out where Stop\.limit is given"):
        rf.integrate(data, net, until=rf.Stop(limit=True), save_at=[1.0])
