"""Certificates of the squared loss without weight decay: the least loss of all networks, the least norm of a fit."""

from __future__ import annotations

import cvxpy
import numpy as np
import pytest

import reluflow as rf
from reluflow import convex
from reluflow.convex._outputs import nearest_outputs


def least_norm_over_all_cells(data: rf.Dataset, f: np.ndarray, leak: float) -> float:
    """Solve the program with one neuron of each sign in every cell: slow, and obvious."""
    cost, outputs, inside = [], [], []
    for pattern in convex.arrangements(data.X).patterns:
        slopes, cone = np.where(pattern, 1.0, leak), np.where(pattern, 1.0, -1.0)
        for sign in (1, -1):
            u = cvxpy.Variable(data.d)
            cost.append(cvxpy.norm(u))
            outputs.append(sign * cvxpy.multiply(slopes, data.X @ u))
            inside.append(cvxpy.multiply(cone, data.X @ u) >= 0)
    problem = cvxpy.Problem(cvxpy.Minimize(cvxpy.sum(cost)), [cvxpy.sum(outputs) == f, *inside])
    return float(problem.solve(solver=cvxpy.CLARABEL))


def fitting_network(data: rf.Dataset, leak: float, seed: int) -> rf.Network:
    """Random neurons with output weights that fit."""
    W = np.random.default_rng(seed).standard_normal((60, data.d))
    Z = data.X @ W.T
    net = rf.Network(W, np.linalg.lstsq(np.maximum(Z, leak * Z), data.y, rcond=None)[0], leak=leak)
    np.testing.assert_allclose(net(data.X), data.y, rtol=1e-9)
    return net


# --- the norm of a fit -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("n", "d", "leak", "seed"), [(5, 2, 0.0, 1), (6, 3, 0.0, 2), (6, 2, 0.3, 3)])
def test_the_least_norm_is_that_of_the_program_over_all_cells(n: int, d: int, leak: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    data = rf.Dataset(rng.standard_normal((n, d)), rng.standard_normal(n))
    net = fitting_network(data, leak, seed)
    found = rf.certify(net, data, loss="squared")
    assert found.verdict == "least_loss"
    assert found.upper == pytest.approx(least_norm_over_all_cells(data, data.y, leak), rel=1e-6)
    assert found.upper - found.lower <= 1e-8 * found.upper
    assert found.value == pytest.approx(np.abs(net.a) @ np.linalg.norm(net.W, axis=1))
    # Both sides can be checked without the program: a network that fits, and duals that are feasible.
    np.testing.assert_allclose(found.best(data.X), data.y, atol=1e-8)
    assert 0.5 * found.best.norm**2 == pytest.approx(found.upper, rel=1e-8)
    assert convex.dual_feasibility(data, found.duals, leak=leak).upper <= 1 + 1e-9
    assert found.duals @ data.y == pytest.approx(found.lower, rel=1e-12)


def test_the_best_network_is_certified_as_global_itself() -> None:
    rng = np.random.default_rng(4)
    data = rf.Dataset(rng.standard_normal((5, 2)), rng.standard_normal(5))
    best = rf.certify(fitting_network(data, 0.0, 4), data, loss="squared").best
    again = rf.certify(best, data, loss="squared")
    assert again.verdict == "global"
    assert again.gap <= 1e-9
    worse = best._with(np.vstack((best.W, [[1.0, 0.0], [1.0, 0.0]])), np.append(best.a, [0.1, -0.1]))
    assert rf.certify(worse, data, loss="squared").verdict == "least_loss"


def test_orthonormal_samples_need_one_neuron_a_sign() -> None:
    data = rf.Dataset(np.eye(4), [3.0, 4.0, -5.0, -12.0])
    least = 5.0 + 13.0  # |y+| + |y-|
    one_each = rf.Network(np.eye(4), data.y)
    found = rf.certify(one_each, data, loss="squared")
    assert (found.verdict, found.value) == ("least_loss", 24.0)
    assert found.lower == pytest.approx(least, rel=1e-9)
    best = rf.Network([[3.0, 4.0, -1e-3, 0.0], [0.0, 0.0, 5.0, 12.0]], [1.0, -1.0])
    assert rf.certify(best, data, loss="squared").verdict == "least_loss"  # not yet: 1e-3 too much
    best = rf.Network([[3.0, 4.0, 0.0, 0.0], [0.0, 0.0, 5.0, 12.0]], [1.0, -1.0])
    assert rf.certify(best, data, loss="squared").verdict == "global"


def test_scaling_of_inputs_and_targets_scales_the_norm() -> None:
    rng = np.random.default_rng(6)
    X, y = rng.standard_normal((5, 2)), rng.standard_normal(5)
    base = rf.certify(fitting_network(rf.Dataset(X, y), 0.0, 6), rf.Dataset(X, y), loss="squared")
    data = rf.Dataset(1e3 * X, 1e-4 * y)
    scaled = rf.certify(fitting_network(data, 0.0, 6), data, loss="squared")
    assert scaled.upper == pytest.approx(1e-7 * base.upper, rel=1e-6)
    assert scaled.upper - scaled.lower <= 1e-7 * scaled.upper


def test_a_flow_from_a_small_start_on_orthonormal_samples_ends_at_the_least_norm() -> None:
    data = rf.Dataset(np.eye(3), [1.0, 2.0, -1.5])
    W = 1e-6 * np.array([[1.0, 2.0, 0.0], [0.0, 0.0, 1.0]])
    sol = rf.integrate(data, rf.Network(W, np.linalg.norm(W, axis=1) * [1, -1]), until=200.0, loss="squared")
    found = rf.certify(sol, data)
    assert isinstance(found, convex.FitCertificate)
    assert found.value == pytest.approx(np.sqrt(5) + 1.5, rel=1e-6)
    assert found.verdict == "global"
    apart = 1e-6 * np.array([[1.0, -1.0, 0.0], [-1.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    sol = rf.integrate(data, rf.Network(apart, np.linalg.norm(apart, axis=1) * [1, 1, -1]), until=200.0, loss="squared")
    found = rf.certify(sol, data)
    assert (found.verdict, round(found.value, 4)) == ("least_loss", 4.5)
    assert found.lower == pytest.approx(np.sqrt(5) + 1.5, rel=1e-9)


def test_what_a_flow_has_left_behind_does_not_hide_that_a_norm_is_least() -> None:
    """Neurons of 1e-12 in other cells have multipliers of their own, which left the bound 1e-4 below the norm."""
    data = rf.Dataset(np.diag([0.9, 1.0, 1.1, 1.05]) + 0.0, [0.7, 0.8, -0.9, -0.6])
    best = (data.y[:, np.newaxis] / np.diag(data.X)[:, np.newaxis]) * np.eye(4)
    pair = np.array([best[:2].sum(axis=0), -best[2:].sum(axis=0)])
    alone = rf.Network(pair, [1.0, -1.0])
    np.testing.assert_allclose(alone(data.X), data.y, rtol=1e-15)
    behind = 1e-12 * np.array([[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, -0.3, 0.0], [0.0, 0.0, 0.0, 1.0], [0.0, 0.0, 1.0, 0.0]])
    W = np.vstack([0.4 * pair[0], 0.6 * pair[0], pair[1], behind])
    found = rf.certify(rf.Network(W, [1.0, 1.0, -1.0, 1.0, 1.0, -1.0, -1.0]), data, loss="squared")
    assert found.verdict == "global", found.message
    assert found.lower == pytest.approx(rf.certify(alone, data, loss="squared").value, rel=1e-10)


def test_neurons_that_do_nothing_are_too_much_norm() -> None:
    data = rf.Dataset([[1.0], [2.0]], [1.0, 2.0])
    assert rf.certify(rf.Network([[1.0]], [1.0]), data, loss="squared").verdict == "global"
    found = rf.certify(rf.Network([[1.0], [-1.0]], [1.0, 1.0]), data, loss="squared")
    assert (found.verdict, found.value) == ("least_loss", 2.0)
    assert found.lower == pytest.approx(1.0, rel=1e-9)
    nothing = rf.Dataset([[1.0], [2.0]], [0.0, 0.0])
    assert rf.certify(rf.Network([[0.0]], [0.0]), nothing, loss="squared").verdict == "global"
    dead = rf.certify(rf.Network([[-1.0]], [1.0]), nothing, loss="squared")
    assert (dead.verdict, dead.upper, dead.best.norm) == ("least_loss", 0.0, 0.0)


def test_without_time_the_bounds_are_proven_all_the_same() -> None:
    rng = np.random.default_rng(8)
    data = rf.Dataset(rng.standard_normal((9, 4)), rng.standard_normal(9))
    net = fitting_network(data, 0.0, 8)
    found = rf.certify(net, data, loss="squared", max_seconds=1e-3)
    full = rf.certify(net, data, loss="squared")
    assert full.verdict == "least_loss"
    assert found.verdict in ("least_loss", "undecided")
    assert found.lower <= full.upper * (1 + 1e-9)
    assert found.upper >= full.lower * (1 - 1e-9)


# --- the loss --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("leak", [0.0, 0.4])
def test_the_nearest_outputs_are_those_of_many_random_neurons(leak: float) -> None:
    rng = np.random.default_rng(9)
    base = rng.standard_normal((4, 2))
    # Rays that repeat, and more opposite pairs than inputs: the pairs' differences are linear in x.
    X = np.vstack((base, -2.0 * base[:3], 3.0 * base[0], rng.standard_normal((1, 2))))
    y, counts = rng.standard_normal(len(X)), rng.uniform(0.5, 2.0, len(X))
    Z = X @ rng.standard_normal((2, 4000))
    features = np.sqrt(counts)[:, None] * np.maximum(Z, leak * Z)
    expected = features @ np.linalg.lstsq(features, np.sqrt(counts) * y, rcond=1e-10)[0] / np.sqrt(counts)
    found = nearest_outputs(X, y, counts)
    np.testing.assert_allclose(found.outputs, expected, atol=1e-9)
    assert np.abs(found.outputs - y).max() > 0.01
    assert found.space is not None
    assert found.space.shape[1] == np.linalg.matrix_rank(features, tol=1e-8)
    assert nearest_outputs(base, y[:4], counts[:4]).outputs.tolist() == y[:4].tolist()


def test_samples_that_contradict_each_other_have_a_least_loss_above_zero() -> None:
    data = rf.Dataset([[1.0], [1.0], [2.0]], [1.0, 2.0, 3.0], weights=[1.0, 1.0, 0.5])
    w = (1.0 + 2.0 + 0.5 * 2 * 3) / (1 + 1 + 0.5 * 4)
    least = 0.5 * ((w - 1) ** 2 + (w - 2) ** 2 + 0.5 * (2 * w - 3) ** 2)
    found = rf.certify(rf.Network([[1.0]], [w]), data, loss="squared")
    assert found.least_loss == pytest.approx(least, rel=1e-12)
    assert found.loss == pytest.approx(least, rel=1e-12)
    assert found.verdict == "global"
    mean = rf.certify(rf.Network([[1.0]], [w]), data, loss="squared", reduction="mean")
    assert mean.loss == pytest.approx(least / data.weights.sum(), rel=1e-12)
    off = rf.certify(rf.Network([[1.0]], [1.01 * w]), data, loss="squared")
    assert off.verdict == "not_critical"


def test_targets_of_zero_are_fitted_where_rounding_of_the_terms_is_left() -> None:
    one = rf.Network([[0.03, 0.015], [0.027, -0.02], [0.013, -0.031]], [0.0335, -0.0335, 0.0335], leak=0.5)
    two = rf.Network([[0.27, -0.87], [0.65, -0.65], [-0.14, 0.91]], [-0.92, 0.92, 0.92], leak=0.5)
    uncounted = rf.Dataset([[-1.8, -1.0], [-0.07, -1.8]], [0.0, -3.0], weights=[0.1, 0.0])
    for data, start in ((rf.Dataset([[0.0, 1.0]], [0.0]), one), (uncounted, two)):
        sol = rf.integrate(data, start, until=rf.Stop(limit=True), loss="squared")
        found = rf.certify(sol, data)
        assert (sol.limit.certified, sol.limit.point) == (True, "global")
        assert (found.verdict, found.lower, found.upper) == ("least_loss", 0.0, 0.0), found.message


def test_what_is_left_of_targets_of_zero_counts_from_rounding_on() -> None:
    for scale in (1e-6, 1.0, 1e6):
        for target in (0.0, 1e-20 * scale):
            left = rf.Network([[0.0, 1.0], [0.0, 1.0]], [0.3 * scale, -(0.1 + 0.2) * scale])
            data = rf.Dataset([[0.3, 1.0]], [target])
            assert left(data.X)[0] != target
            assert rf.certify(left, data, loss="squared").verdict == "least_loss"
        more = rf.Network([[0.0, 1.0], [0.0, 1.0]], [0.3 * scale, -(0.3 + 1e-9) * scale])
        assert rf.certify(more, rf.Dataset([[0.3, 1.0]], [0.0]), loss="squared").verdict == "not_critical"
    # Nothing cancels in an output that is small by itself.
    small = rf.certify(rf.Network([[1.0]], [1e-20]), rf.Dataset([[1.0]], [0.0]), loss="squared")
    assert small.verdict == "not_critical"


def test_a_critical_point_that_does_not_fit_says_so() -> None:
    # The neuron slides to the boundary of the second sample and fits the first alone.
    data = rf.Dataset([[1.0, 0.0], [0.0, 1.0]], [2.0, -2.0])
    sol = rf.integrate(data, rf.Network([[1.0, 0.1]], [1.0]), until=100.0, loss="squared")
    found = rf.certify(sol, data)
    assert found.verdict == "critical_not_global"
    assert found.loss == pytest.approx(2.0)
    assert (found.least_loss, np.isnan(found.gap), found.residual < 1e-12) == (0.0, True, True)
    moved = rf.Network([[1.9, 0.0]], [1.0])
    found = rf.certify(moved, data, loss="squared")
    # Only the first neuron's own errors pull: |(0.1, 0.19)| beside |θ| (0.1 + 2), with the best slope at the boundary.
    assert found.residual == pytest.approx(np.hypot(0.1, 0.19) / (np.hypot(1.9, 1.0) * 2.1), rel=1e-9)
    assert found.verdict == "not_critical"


def test_a_sample_that_counts_nothing_plays_no_part() -> None:
    X, y = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]), [2.0, 2.0, 50.0]
    data = rf.Dataset(X, y, weights=[1.0, 3.0, 0.0])
    found = rf.certify(rf.Network([[2.0, 2.0]], [1.0]), data, loss="squared")
    assert found.verdict == "global"
    assert found.duals.shape == (3,)
    assert found.duals[2] == 0.0
    every = rf.certify(rf.Network([[2.0, 2.0]], [1.0]), rf.Dataset(X, y), loss="squared")
    assert every.verdict == "not_critical"


# --- weights of a problem of margins ---------------------------------------------------------------------------------

TWO, WRONG = np.array([[1.0, 0.2], [0.2, 1.0]]), np.array([1.0, 0.9])


def test_margins_are_asked_of_the_samples_that_count() -> None:
    data = rf.Dataset(np.vstack((TWO, WRONG)), [1, 1, -1], weights=[1.0, 5.0, 0.0])
    net = rf.Network([[1.0, 1.0]], [np.sqrt(2.0)])
    found = rf.certify(net, data)
    alone = rf.certify(net, rf.Dataset(TWO, [1, 1]))
    assert found.verdict == alone.verdict == "global"
    assert found.value == alone.value
    assert rf.certify(net, rf.Dataset(data.X, data.y)).verdict == "not_kkt"
    with pytest.raises(ValueError, match=r"data\.weights must be positive for .* margins: leave out .* row 2"):
        convex.max_margin(data)


def test_a_run_with_weights_is_judged_like_one_without_in_its_limit() -> None:
    net = rf.Network([[1e-2, 0.0]], [1e-2])
    for weights in (None, [1e3, 1e-3]):
        data = rf.Dataset(TWO, [1, 1], weights=weights)
        sol = rf.integrate(data, net, until=rf.Stop(log_time=1e4))
        assert rf.certify(sol, data).verdict == "global"


# --- what is asked ---------------------------------------------------------------------------------------------------


def test_bad_questions_are_refused() -> None:
    data, net = rf.Dataset([[1.0]], [1.0]), rf.Network([[1.0]], [1.0])
    sol = rf.integrate(data, net, until=1.0, loss="squared")
    with pytest.raises(ValueError, match="loss must be that of the run, 'squared'"):
        rf.certify(sol, data, loss="logistic")
    with pytest.raises(ValueError, match="loss must be left out without weight_decay"):
        rf.certify(net, data, loss="logistic")
    with pytest.raises(ValueError, match="solution must have 2 inputs, as the data have, found 1"):
        rf.certify(net, rf.Dataset([[1.0, 2.0]], [1.0]), loss="squared")
    with pytest.raises(ValueError, match="reduction must be one of"):
        rf.certify(net, data, loss="squared", reduction="median")
    classes = rf.datasets.MultiClassDataset(np.eye(3), [0, 1, 2])
    many = rf.integrate(classes, rf.Network.init(2, 3, classes=3, seed=1), until=1.0, loss="squared")
    with pytest.raises(ValueError, match=r"solution must be of the logistic .* for K classes .*, found the squared"):
        rf.certify(many, classes)
    assert isinstance(rf.certify(many[0], classes.binary(0)), convex.FitCertificate)


def test_the_certificate_reads_as_one_line_and_as_a_table() -> None:
    data = rf.Dataset([[1.0]], [1.0])
    found = rf.certify(rf.Network([[1.0]], [1.0]), data, loss="squared")
    assert repr(found).startswith("FitCertificate(global: L = 0, the least of all networks; Σ|a||w| = 1")
    assert "no network that fits has less than 1" in found._repr_html_()
    assert "Σ|a||w|" not in rf.certify(rf.Network([[1.0]], [2.0]), data, loss="squared")._repr_html_()


@pytest.mark.parametrize("inputs", [1e-6, 1.0, 1e3])
@pytest.mark.parametrize("weights", [1e-6, 1e-4, 1.0, 1e3])
def test_units_of_inputs_and_outputs_do_not_change_the_verdict(inputs, weights):
    X = np.array([[-2.3, 1.8, -0.1], [0.8, 1.7, 0.6], [1.9, -0.3, -1.1], [0.1, -0.8, 1.6]])
    W = np.array([[-0.78, 0.55, -0.28], [0.62, -0.39, 0.68], [-0.61, -0.08, 0.79]])
    a = np.array([1.0, -1.0, -1.0])
    one = rf.certify(rf.Network(W, a), rf.Dataset(X, rf.Network(W, a)(X)), loss="squared")
    net, rows = rf.Network(weights * W, weights * a), inputs * X
    found = rf.certify(net, rf.Dataset(rows, net(rows)), loss="squared")
    assert found.verdict == one.verdict == "least_loss"
    assert found.lower == pytest.approx(one.lower * weights**2, rel=1e-9)
    assert found.upper == pytest.approx(one.upper * weights**2, rel=1e-9)
    np.testing.assert_allclose(found.best(rows), net(rows), rtol=1e-7)
    assert found.duals @ net(rows) == pytest.approx(found.lower, rel=1e-9)
