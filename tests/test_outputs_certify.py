"""The dual norm of several outputs and the certificate with weight decay that rests on it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.special import log_softmax

import reluflow as rf
from reluflow.convex._inputs import Deadline
from reluflow.convex._mapping import network_of
from reluflow.convex._output_norm import output_norm

RNG = np.random.default_rng


def responses(X: np.ndarray, lam: np.ndarray, U: np.ndarray, leak: float) -> np.ndarray:
    Z = U @ X.T
    return np.linalg.norm(np.maximum(Z, leak * Z) @ lam, axis=1)


def objective(net: rf.Network, data: Any, loss: str, decay: float) -> float:
    f, counts = net(data[0]), data[2] if len(data) == 3 else np.ones(len(data[0]))
    if loss == "squared":
        return float(0.5 * counts @ ((f - data[1]) ** 2).sum(axis=1) + 0.5 * decay * net.norm**2)
    return float(-counts @ log_softmax(f, axis=1)[range(len(f)), data[1]] + 0.5 * decay * net.norm**2)


# --- the dual norm ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("leak", [0.0, 0.3])
@pytest.mark.parametrize(("d", "K", "seed"), [(2, 2, 1), (2, 3, 2), (3, 2, 3), (3, 3, 4)])
def test_the_dual_norm_lies_between_its_bounds_as_a_dense_search_sees_it(
    d: int, K: int, seed: int, leak: float
) -> None:
    rng = RNG(seed)
    X, lam = rng.standard_normal((7, d)), rng.standard_normal((7, K))
    found = output_norm(X, lam, leak, rtol=1e-6, deadline=Deadline())
    U = rng.standard_normal((200_000, d))
    seen = responses(X, lam, U / np.linalg.norm(U, axis=1, keepdims=True), leak).max()
    assert seen <= found.upper
    assert found.upper <= (1 + 1e-6) * found.lower
    assert seen > 0.999 * found.lower
    assert responses(X, lam, found.u[None], leak)[0] == pytest.approx(found.lower, rel=1e-9)
    z = X @ found.u
    assert found.v @ (lam.T @ np.maximum(z, leak * z)) == pytest.approx(found.lower, rel=1e-12)


def test_orthogonal_samples_have_a_closed_form() -> None:
    """Σ λ_i u_i over u >= 0 has the length |Λᵀu|: of rows of one quadrant its largest singular value."""
    lam = np.array([[1.0, 0.5], [0.2, 2.0], [0.7, 0.7]])
    found = output_norm(np.eye(3), lam, 0.0, rtol=1e-10, deadline=Deadline())
    assert found.lower == pytest.approx(np.linalg.norm(lam, 2), rel=1e-9)
    assert found.upper == pytest.approx(np.linalg.norm(lam, 2), rel=1e-9)


def test_duals_on_a_line_are_those_of_one_output_and_few_points_leave_a_wide_bound() -> None:
    rng = RNG(5)
    X, one, line = rng.standard_normal((9, 3)), rng.standard_normal(9), np.array([0.6, 0.0, -0.8])
    wanted = rf.convex.dual_feasibility(rf.Dataset(X, np.ones(9)), one)
    found = output_norm(X, np.outer(one, line), 0.0, rtol=1e-12, deadline=Deadline())
    assert (found.lower, found.upper) == (pytest.approx(wanted.value), pytest.approx(wanted.upper))
    lam = rng.standard_normal((9, 3))
    loose = output_norm(X, lam, 0.0, rtol=1e-9, deadline=Deadline(), max_points=4)
    tight = output_norm(X, lam, 0.0, rtol=1e-9, deadline=Deadline())
    assert loose.lower <= tight.lower <= tight.upper < loose.upper


# --- the certificate -------------------------------------------------------------------------------------------------


def test_one_sample_has_a_closed_form() -> None:
    """½ |f - y|² + γ |f|: the least is γ |y| - γ²/2 at f = (1 - γ/|y|) y."""
    y, decay = np.array([1.2, -0.5]), 0.3
    size = (1.3 - decay) ** 0.5
    best = rf.Network([[size]], [size * y / 1.3])
    found = rf.certify(best, ([[1.0]], [y]), loss="squared", weight_decay=decay)
    assert found.verdict == "global"
    assert (found.value, found.lower) == (
        pytest.approx(decay * 1.3 - decay**2 / 2),
        pytest.approx(found.value, rel=1e-9),
    )
    assert found.dual_norm_upper == pytest.approx(decay)
    nothing = rf.certify(rf.Network([[0.0]], [[0.0, 0.0]]), ([[1.0]], [y]), loss="squared", weight_decay=decay)
    assert (nothing.verdict, nothing.residual) == ("critical_not_global", 0.0)
    assert nothing.lower <= found.value * (1 + 1e-12) <= nothing.upper * (1 + 2e-12) < nothing.value
    assert nothing.upper == pytest.approx(found.value)
    rest = rf.certify(rf.Network([[0.0]], [[0.0, 0.0]]), ([[1.0]], [y]), loss="squared", weight_decay=1.4)
    assert rest.verdict == "global"


@pytest.mark.parametrize("loss", ["squared", "cross_entropy"])
def test_runs_are_bounded_from_below_by_what_other_networks_reach(loss: Any) -> None:
    rng = RNG(6)
    X, classes, weights = rng.standard_normal((9, 2)), np.arange(9) % 3, np.linspace(0.5, 1.5, 9)
    targets: Any = rng.standard_normal((9, 2)) if loss == "squared" else classes
    K = 2 if loss == "squared" else 3
    found = []
    for seed in range(4):
        net = rf.Network.init(30 if seed else 1, 2, outputs=K, scale=0.5, seed=seed)
        until = rf.Stop(time=5e3, gradient=1e-6, seconds=20)
        options: Any = {"loss": loss, "weight_decay": 0.5}
        sol = rf.integrate((X, targets, weights), net, until=until, **options)
        found.append(rf.certify(sol, (X, targets, weights), gap_tol=1e-6))
        value = objective(found[-1].network, (X, targets, weights), loss, 0.5)
        assert found[-1].value == pytest.approx(value, rel=1e-12)
        mean: Any = {"loss": loss, "weight_decay": 0.5 / 9, "reduction": "mean", "gap_tol": 1e-6}
        same = rf.certify(found[-1].network, (X, targets, weights), **mean)
        assert same.verdict == found[-1].verdict
        assert (9 * same.value, 9 * same.lower) == pytest.approx((value, found[-1].lower), rel=1e-6)
    for one in found:
        assert one.lower <= min(other.upper for other in found) * (1 + 1e-12)
        assert one.lower <= one.upper <= one.value * (1 + 1e-12)
    assert "global" in [one.verdict for one in found[1:]], found
    assert found[0].verdict != "global"
    assert found[0].upper < found[0].value


def test_two_classes_are_the_program_of_one_output() -> None:
    """Outputs (g, -g) with |a|² = 2 b²: cross-entropy of 2 f at decay γ is logistic at margin 2g with γ √2 |b||w|."""
    rng = RNG(7)
    X, y = rng.standard_normal((8, 2)), np.where(np.arange(8) % 2 == 0, 1.0, -1.0)
    decay = 0.4
    program = rf.convex.regularised(rf.Dataset(X, y), decay / 2**0.5, loss="logistic")
    one = program.network
    two = rf.Network(one.W * 2**-0.25, np.column_stack((one.a, -one.a)) * 2**-0.75)
    found = rf.certify(two, (X, (y < 0).astype(int)), loss="cross_entropy", weight_decay=decay, gap_tol=1e-6)
    assert found.value == pytest.approx(program.value, rel=1e-9)
    assert found.verdict == "global", found


def test_a_network_in_motion_is_not_critical_and_samples_that_count_nothing_play_no_part() -> None:
    rng = RNG(8)
    X, Y = rng.standard_normal((6, 2)), rng.standard_normal((6, 2))
    net = rf.Network.init(4, 2, outputs=2, scale=0.5, seed=1)
    found = rf.certify(net, (X, Y), loss="squared", weight_decay=0.1)
    assert found.verdict == "not_critical"
    assert found.lower < found.upper < found.value
    weights = np.array([1, 1, 0, 1, 1, 1])
    with_it = rf.certify(net, (X, Y, weights), loss="squared", weight_decay=0.1)
    without = rf.certify(net, (X[weights > 0], Y[weights > 0]), loss="squared", weight_decay=0.1)
    assert with_it.lower == pytest.approx(without.lower, rel=1e-9)
    assert with_it.value == pytest.approx(without.value, rel=1e-12)


@pytest.mark.parametrize("loss", ["squared", "cross_entropy"])
def test_samples_that_count_nothing_have_duals_of_zero(loss: str) -> None:
    X, classes, weights = np.eye(4), np.array([0, 1, 1, 0]), np.array([1.0, 1.0, 0.0, 2.0])
    net = rf.Network(X, np.sign(np.eye(2)[classes] - 0.5))
    Y = net(X) if loss == "squared" else classes
    found = rf.certify(net, (X, Y, weights), loss=loss)
    assert found.duals.shape == (4, 2)
    assert found.lower > 0
    assert not found.duals[2].any()
    without = rf.certify(net, (X[weights > 0], Y[weights > 0]), loss=loss)
    assert np.array_equal(found.duals[weights > 0], without.duals)


# --- without weight decay --------------------------------------------------------------------------------------------


def orthogonal(lengths: tuple[float, ...]) -> tuple[tuple[np.ndarray, np.ndarray], rf.Network]:
    """A sample of each class on each axis, and a neuron for each along its sample and e_i - 1/K."""
    K = len(lengths)
    a = (np.eye(K) - 1 / K) / np.sqrt(1 - 1 / K)
    sizes = (np.sqrt(1 - 1 / K) / np.array(lengths)) ** 0.5
    return (np.diag(lengths), np.arange(K)), rf.Network(np.diag(sizes), sizes[:, None] * a)


@pytest.mark.parametrize("lengths", [(1.0, 1.0, 1.0), (0.5, 1.0, 3.0)])
def test_orthogonal_samples_of_classes_have_a_global_direction_in_closed_form(lengths: tuple[float, ...]) -> None:
    data, net = orthogonal(lengths)
    K, best = len(lengths), np.sqrt(1 - 1 / len(lengths)) * (1 / np.array(lengths)).sum()
    found = rf.certify(net, data, loss="cross_entropy")
    assert found.verdict == "global", found
    assert (found.value, found.lower) == (pytest.approx(best, rel=1e-12), pytest.approx(best, rel=1e-9))
    assert found.residual < 1e-12
    # Any size of the network is that of its direction.
    again = rf.certify(rf.Network(3 * net.W, net.a), data, loss="cross_entropy")
    assert again.lower <= found.value * (1 + 1e-9)
    # The duals are feasible, as a dense search sees it, and prove the bound.
    U = RNG(1).standard_normal((100_000, K))
    assert responses(data[0], found.duals, U / np.linalg.norm(U, axis=1, keepdims=True), 0.0).max() <= 1 + 1e-12
    assert found.duals[range(K), range(K)].sum() == pytest.approx(found.lower, rel=1e-12)


def test_two_classes_are_the_max_margin_program_of_one_output() -> None:
    """Outputs (g, -g) with margin 2g >= 1: |(b, -b)||w| = √2 |b||w|, so that the value is that of one output by √2."""
    rng = RNG(7)
    X, y = rng.standard_normal((8, 2)), np.where(np.arange(8) % 2 == 0, 1.0, -1.0)
    program = rf.convex.max_margin(rf.Dataset(X, y))
    one = network_of(program.neurons, program.signs, 0.0, len(program.signs))
    two = rf.Network(one.W * 2**-0.25, np.column_stack((one.a, -one.a)) * 2**-0.75)
    found = rf.certify(
        two, (X, (y < 0).astype(int)), loss="cross_entropy", gap_tol=1e-6, support_tol=1e-6, max_seconds=5
    )
    assert found.value == pytest.approx(program.value / 2**0.5, rel=1e-6)
    assert found.lower == pytest.approx(program.lower / 2**0.5, rel=1e-5)
    assert found.verdict == "global", found


def test_a_direction_with_a_detour_is_a_kkt_point_or_none_but_not_global() -> None:
    """The first input tells the classes apart too, with a fourth of the length of the second."""
    X, own = np.array([[1.0, 4.0], [-1.0, -4.0]]), np.array([0, 1])
    half = 0.5**0.5
    size = (half / 1.0) ** 0.5  # w along e_1 alone: α |w| = 1
    net = rf.Network(size * np.array([[1.0, 0.0], [-1.0, 0.0]]), size * half * np.array([[1.0, -1.0], [-1.0, 1.0]]))
    found = rf.certify(net, (X, own), loss="cross_entropy")
    assert found.verdict == "not_kkt"
    assert found.lower <= 2 * half / 17**0.5 * (1 + 1e-9)
    assert found.upper < 0.5 * found.value
    better = rf.Network(X / 17**0.5, half * np.array([[1.0, -1.0], [-1.0, 1.0]]))
    best = rf.certify(better, (X, own), loss="cross_entropy")
    assert best.verdict == "global"
    assert best.value == pytest.approx(2 * half / 17**0.5, rel=1e-12)


def test_every_network_lies_above_the_lower_bound_of_every_other() -> None:
    (X, own), best = orthogonal((1.0, 2.0, 0.5))
    rng, found = RNG(3), []
    for size in (0.0, 0.02, 0.1):
        net = rf.Network(best.W + size * rng.standard_normal((3, 3)), best.a + size * rng.standard_normal((3, 3)))
        found.append(rf.certify(net, (X, own), loss="cross_entropy", max_seconds=2.0))
    assert [one.verdict for one in found] == ["global", "not_kkt", "not_kkt"]
    for one in found:
        assert one.lower <= found[0].value * (1 + 1e-12)
        assert one.lower <= one.upper <= one.value * (1 + 1e-9)
    assert found[2].upper < found[2].value


def test_fits_of_several_outputs_are_told_apart_by_their_norms() -> None:
    y = np.array([[1.2, -0.5]])
    pair = ([[1.0]], y)
    one = rf.certify(rf.Network([[1.0]], y), pair, loss="squared")
    assert (one.verdict, one.loss, one.least_loss) == ("global", 0.0, 0.0)
    assert (one.value, one.lower) == (pytest.approx(1.3), pytest.approx(1.3, rel=1e-9))
    two = rf.certify(rf.Network([[1.0], [1.0]], [[1.2, 0.0], [0.0, -0.5]]), pair, loss="squared")
    assert (two.verdict, two.value) == ("least_loss", pytest.approx(1.7))
    assert two.lower == pytest.approx(1.3, rel=1e-6)
    half = rf.certify(rf.Network([[1.0]], 0.5 * y), pair, loss="squared")
    assert (half.verdict, np.isnan(half.lower)) == ("not_critical", True)
    none = rf.certify(rf.Network([[0.0]], [[0.0, 0.0]]), pair, loss="squared")
    assert (none.verdict, none.loss) == ("critical_not_global", pytest.approx(0.5 * 1.69))


def test_targets_of_zero_are_fitted_where_rounding_of_the_terms_is_left() -> None:
    X, Y = [[0.3, 1.0], [0.5, 2.0]], np.zeros((2, 2))
    left = rf.Network([[0.0, 1.0], [0.0, 1.0]], [[0.3, 0.1], [-(0.1 + 0.2), -0.1]])
    assert left(X).any()
    found = rf.certify(left, (X, Y), loss="squared")
    assert (found.verdict, found.lower) == ("least_loss", 0.0), found.message
    more = rf.Network(left.W, [[0.3 + 1e-9, 0.1], left.a[1]])
    assert rf.certify(more, (X, Y), loss="squared").verdict == "not_critical"


def test_a_budget_that_is_too_small_decides_nothing() -> None:
    rng = RNG(0)
    X, Y = rng.standard_normal((8, 4)), rng.standard_normal((8, 3))
    net = rf.Network.init(12, 4, outputs=3, scale=1e-3, seed=1)
    sol = rf.integrate((X, Y), net, until=rf.Stop(limit=True), loss="squared")
    found = rf.certify(sol, (X, Y), max_seconds=1e-3)
    assert found.verdict == "undecided", found
    assert found.lower < found.value


def test_a_network_that_does_not_separate_has_no_direction() -> None:
    data, net = orthogonal((1.0, 1.0, 1.0))
    found = rf.certify(rf.Network(net.W, -net.a), data, loss="cross_entropy")
    assert found.verdict == "not_kkt"
    assert "does not separate" in found.message
    with pytest.raises(ValueError, match="loss must be 'squared' or 'cross_entropy' for several outputs"):
        rf.certify(net, data)


@pytest.mark.parametrize("size", [1e-50, 1e-6, 1e6, 1e50])
@pytest.mark.parametrize("loss", ["squared", "cross_entropy"])
def test_the_unit_of_the_inputs_does_not_matter(loss, size):
    for seed in range(6):
        rng = np.random.default_rng(seed)
        X, W, a = rng.standard_normal((4, 2)), rng.standard_normal((6, 2)), rng.standard_normal((6, 2))
        F = rf.Network(W, a)(X)
        targets = F if loss == "squared" else F.argmax(axis=1)
        if loss == "cross_entropy" and len(set(targets)) < 2:
            continue
        base = rf.certify(rf.Network(W, a), (X, targets), loss=loss)
        scaled = rf.certify(rf.Network(W / np.sqrt(size), a / np.sqrt(size)), (size * X, targets), loss=loss)
        assert scaled.verdict == base.verdict
        assert size * scaled.lower == pytest.approx(base.lower, rel=1e-6)
        assert size * scaled.upper == pytest.approx(base.upper, rel=1e-6)
        assert scaled.lower <= scaled.upper * (1 + 1e-6)
