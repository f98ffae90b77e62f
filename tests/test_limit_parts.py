"""The parts of the limit and of the frozen flow, each against a slow or independent twin."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog

import reluflow as rf
import reluflow.limits._core as core_module
from reluflow.kinks._boundaries import boundaries, exact_signs, off, slopes, span
from reluflow.kinks._transition import Corner, continuations
from reluflow.limits._core import find_core
from reluflow.limits._groups import Groups, groups, spread
from reluflow.limits._kkt import newton
from reluflow.limits._limit_of import limit_of
from reluflow.limits._path import _Cones, _Scaling, solve
from twin_rules import Problem
from twin_rules import continuations as every_choice

# --- boundaries ---


def test_parallel_samples_share_a_boundary_and_know_their_side():
    X = np.array([[1.0, 2.0], [-3.0, -6.0], [2.0, 1.0], [0.1, 0.2], [2.0, -1.0], [1 / 3, 2 / 3]])
    found = boundaries(X)
    np.testing.assert_array_equal(found.boundary, [0, 0, 1, 0, 2, 0])
    np.testing.assert_allclose(found.reach[:, None] * found.normal[found.boundary], X, rtol=1e-15)
    np.testing.assert_array_equal(np.sign(found.reach), [1, -1, 1, 1, 1, 1])
    assert found.members(0).tolist() == [0, 1, 3, 5]


def test_the_edges_of_a_boundary_add_its_samples_on_either_side():
    found = boundaries(np.array([[0.0, 2.0], [0.0, -3.0]]))
    lower, upper = found.edges(0, np.array([0.5, -0.25]), 0.1)
    # Along (0, 1): above, the first is active and the second leaks; below, the other way round.
    assert upper == pytest.approx(0.5 * 2 + 0.1 * -0.25 * -3)
    assert lower == pytest.approx(0.1 * 0.5 * 2 - 0.25 * -3)


def test_many_samples_find_the_boundaries_that_all_pairs_find():
    rng = np.random.default_rng(0)
    rows = rng.integers(-3, 4, (80, 3))
    X = rows[rows.any(axis=1)] * rng.choice([0.1, 1.0, 7.0], (np.count_nonzero(rows.any(axis=1)), 1))
    cross = np.linalg.norm(np.cross(X[:, None], X[None]), axis=2)
    parallel = cross <= 1e-12 * np.outer(np.linalg.norm(X, axis=1), np.linalg.norm(X, axis=1))
    boundary = boundaries(X).boundary
    np.testing.assert_array_equal(boundary[:, None] == boundary[None], parallel)


def test_only_products_that_are_exactly_zero_count_as_on_the_boundary():
    w = np.array([[0.1, 0.3], [3.0, -1.0], [1.0, 1.0]])
    x = np.array([[3.0, -1.0], [0.1, 0.3], [1.0, -1.0]])
    # 3 * 0.1 - 0.3 is not zero in exact arithmetic, though its double product is.
    assert exact_signs(w, x)[0, 0] == np.sign(3 * int(0.1 * 2**60) - int(0.3 * 2**60)) != 0
    assert exact_signs(w, x)[2, 2] == 0


def test_the_part_outside_a_span_is_orthogonal_to_it_even_where_rows_are_dependent():
    rows = np.array([[1.0, 2.0, 3.0], [2.0, 4.0, 6.0], [1.0, 0.0, 0.0]])
    basis = span(rows)
    assert basis.shape == (2, 3)
    rest = off(np.array([1e8, 1.0, 1.0]), basis)
    np.testing.assert_allclose(rows @ rest, 0.0, atol=1e-8 * 1e-6)


# --- corners ---


@pytest.mark.parametrize("seed", range(200))
def test_a_corner_is_decided_as_by_trying_every_sign(seed):
    rng = np.random.default_rng(seed)
    d = int(rng.integers(2, 5))
    k = int(rng.integers(1, d + 2))
    X = rng.standard_normal((k + 4, d))
    if k > 2 and (k > d or seed % 2):
        X[k - 1] = X[0] - X[1]  # a boundary that depends on others
    lam = rng.choice([-1.0, 1.0], k + 4) * rng.random(k + 4)
    leak, sign = float(rng.choice([0.0, 0.3])), float(rng.choice([-1.0, 1.0]))
    row = np.sign(rng.standard_normal(k + 4)).astype(np.int8)
    row[:k] = 0
    problem = Problem(X, np.sign(lam), leak)
    ways = every_choice(problem, lam, row, list(range(k)), sign)
    expected = {tuple(problem.sample_signs(w, way.signs[w])[w] for w in range(k)) for way in ways}
    found = boundaries(X)
    edges = np.array([found.edges(w, lam, leak) for w in range(k)])
    drive = (slopes(row, leak) * lam) @ X
    corner = Corner(found.normal[:k], edges[:, 0], edges[:, 1], drive, sign, float(np.abs(lam).sum()))
    sides = np.array(continuations(corner)) * np.sign(found.reach[:k]).astype(int)
    assert set(map(tuple, sides.tolist())) == expected


# --- the convex program of a pattern ---


def program(seed: int, n_free: int = 0) -> np.ndarray:
    """Random maps D (C, k, d) for which margins of 1 can be had."""
    rng = np.random.default_rng(seed)
    n_groups, k, d = int(rng.integers(1, 5)), int(rng.integers(2, 12)), int(rng.integers(3, 6))
    D = rng.standard_normal((n_groups, k + n_free, d)) * (rng.random((n_groups, k + n_free, 1)) < 0.7)
    D[0, k:] = rng.standard_normal((n_free, d))  # free rows are independent
    z = rng.standard_normal((n_groups, d))
    if n_free:
        flat = D[:, k:].transpose(1, 0, 2).reshape(n_free, -1)
        z = (z.ravel() - np.linalg.pinv(flat) @ (flat @ z.ravel())).reshape(n_groups, d)
    side = np.sign(np.einsum("ckd,cd->k", D, z))
    D[:, :k] *= side[None, :k, None]
    return np.concatenate((D[:, :k][:, side[:k] != 0], D[:, k:]), axis=1)


@pytest.mark.parametrize("n_free", [0, 2])
@pytest.mark.parametrize("seed", range(25))
def test_the_program_closes_the_gap_between_its_primal_and_its_dual(seed, n_free):
    D = program(seed, n_free)
    k = D.shape[1] - n_free
    end = solve(D, n_free)
    u = np.einsum("ckd,k->cd", D, end.dual)
    assert (end.dual[:k] > 0).all()
    assert (np.linalg.norm(u, axis=1) < 1).all()
    z = end.mass[:, None] * u / np.maximum(np.linalg.norm(u, axis=1), 1e-300)[:, None]
    value = np.einsum("ckd,cd->k", D, z)
    np.testing.assert_allclose(value[:k] - end.slack[:k], 1.0, atol=2e-4)
    np.testing.assert_allclose(value[k:], 0.0, atol=2e-4)
    assert end.mass.sum() == pytest.approx(end.dual[:k].sum(), rel=1e-6)


def test_a_group_of_neurons_too_small_to_square_is_split_all_the_same():
    data = rf.Dataset([[1.0, 0.0]], [1])
    shares = np.array([3.0, 4.0])
    net = rf.Network(1e-200 * shares[:, None] * [[1.0, 0.0]], 1e-200 * shares)
    found, _ = spread(groups(data, net), net, np.array([[25.0, 0.0]]))
    np.testing.assert_allclose(found.a, shares, rtol=1e-14)
    np.testing.assert_allclose(found.W[:, 0], shares, rtol=1e-14)


def test_newton_converges_quadratically_to_the_solution_it_was_moved_from():
    D = program(11)
    end = solve(D)
    u = np.einsum("ckd,k->cd", D, end.dual)
    support, live = end.dual > end.slack, end.mass > 1 - np.linalg.norm(u, axis=1)
    part = D[np.ix_(live, support)]
    ones = np.ones(int(support.sum()))
    found = newton(part, ones, end.dual[support], end.mass[live])
    assert found.error <= 1e-14
    assert found.free == (0, 0, 0)
    moved = newton(part, ones, found.dual * 1.01, found.mass * 0.99)
    np.testing.assert_allclose(moved.dual, found.dual, rtol=1e-12)
    np.testing.assert_allclose(moved.mass, found.mass, rtol=1e-12)


@pytest.mark.parametrize("seed", range(6))
def test_margins_that_cancel_keep_the_digits_that_are_left(seed: int) -> None:
    """Samples depend on each other but for 1e-5: K(A) has half of their digits, and A_c times u_c lost the rest."""
    rng = np.random.default_rng(seed)
    X, y = np.c_[np.ones(8), 1e-5 * rng.standard_normal((8, 5))], np.sign(rng.standard_normal(8))
    D = (y[:, None] * X)[None]
    end = solve(D)
    support = end.dual > end.slack * end.dual.sum()
    found = newton(D[:, support], np.ones(int(support.sum())), end.dual[support], end.mass)
    terms = float(np.linalg.norm(found.z))
    assert terms > 1e5
    assert found.error <= np.finfo(np.float64).eps * terms
    assert found.dual.min() > 0
    assert (D[0] @ found.z[0]).min() >= 1 - 1e-11


def test_no_scaling_is_made_of_points_on_their_cones_but_for_rounding() -> None:
    """It was divided by zero there, and the limit was said to leave the range of floats."""
    rng = np.random.default_rng(0)
    found = []
    for _ in range(100_000):
        at, turn, size = rng.uniform(0, 2 * np.pi), 10.0 ** rng.uniform(-9, -7.5), 10.0 ** rng.uniform(-9, 3, 2)
        tails = [np.array([[np.cos(phi), np.sin(phi)]]) * (1 - 3e-16) for phi in (at, at + turn)]
        x = _Cones(size[:1], size[0] * tails[0], np.ones(1))
        s = _Cones(size[1:], -size[1] * tails[1], np.ones(1))
        if x.is_inside() and s.is_inside():
            found.append(_Scaling.of(x, s) is None)
        if found and found[-1]:
            break
    assert any(found)


# --- samples whose margins stay finite ---


def test_the_core_is_what_no_direction_of_the_pattern_can_grow():
    # Samples 0 and 1 contradict each other; 2 and 3 do not; 4 is active nowhere.
    data = rf.Dataset([[1.0, 0.0], [2.0, 0.0], [0.0, 1.0], [1.0, 1.0], [-1.0, -1.0]], [1, -1, 1, 1, 1])
    sorted_ = groups(data, rf.Network([[1.0, 1.0]], [1.0]))
    core = find_core(sorted_, data, np.zeros(5), "logistic", 0.0)
    np.testing.assert_array_equal(core.rests, [True, True, False, False, True])
    pulls = core.duals[:2] @ data.X[:2]
    np.testing.assert_allclose(pulls, 0.0, atol=1e-14)
    assert core.values[1] == pytest.approx(2 * core.values[0], rel=1e-12)
    assert core.duals[4] == 0.5


def test_values_at_rest_move_a_neuron_from_the_boundary_that_they_do_not_hold_it_on():
    # Neuron 0 stays on the boundary of (-1, 1), which ties the values at (1, 0) and (0, 1), two and three samples: both
    # would be log 3/2. But then (1, 0) draws neuron 1 from its boundary, and that it hardly has to move tells no value.
    data = rf.Dataset([[1, 0], [1, 0], [0, 1], [0, 1], [0, 1], [-1, 1], [0, -1]], [1, -1, 1, 1, -1, -1, -1])
    net = rf.Network([[1.0, 1.0], [0.0, -1.0]], [2.0**0.5, -1.0])
    sorted_ = groups(data, net)
    core = find_core(sorted_, data, data.y * net(data.X), "logistic", net.leak)
    assert core.rests.tolist() == [True] * 6 + [False]
    assert core.values[:5] == pytest.approx([0.0, 0.0, *[np.log(2.0)] * 3], abs=1e-12)
    assert core.duals[:5] == pytest.approx([1 / 2, -1 / 2, 1 / 3, 1 / 3, -2 / 3], abs=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_samples_that_no_group_drives_rest_at_zero(seed):
    # Where all rows of the samples at rest are rounding, their values must not be fitted with it.
    rng = np.random.default_rng(seed)
    data = rf.Dataset(rng.standard_normal((60, 5)), rng.choice([-1.0, 1.0], 60))
    net = rf.Network.init(12, 5, scale=1.0, seed=seed)
    pattern = np.ones((12, 60), dtype=np.int8)
    pattern[:, 10:20] = rng.choice([-1, 1], (12, 10))
    pattern[:, :4] = -1
    sorted_ = groups(data, net._with(net.W, net.a, pattern))
    core = find_core(sorted_, data, 3.0 * np.ones(60), "logistic", 0.0)
    assert core.rests[:4].all()
    np.testing.assert_array_equal(core.values[:4], 0.0)
    np.testing.assert_array_equal(core.duals[:4], 0.5 * data.y[:4])


@pytest.mark.parametrize("loss", ["logistic", "exponential"])
@pytest.mark.parametrize("seed", range(10))
def test_the_core_agrees_with_one_linear_program_a_sample(seed, loss):
    rng = np.random.default_rng(seed)
    data = rf.Dataset(rng.standard_normal((8, 2)), rng.choice([-1.0, 1.0], 8))
    net = rf.Network.init(2, 2, scale=1.0, seed=seed)
    sorted_ = groups(data, net)
    core = find_core(sorted_, data, data.y * net(data.X), loss, 0.0)
    rows = data.y[:, None] * np.hstack([sorted_.map(c) for c in range(len(sorted_))])
    for i in range(8):
        grows = linprog(-rows[i], A_ub=-rows, b_ub=np.zeros(8), bounds=[(-1, 1)] * rows.shape[1])
        assert core.rests[i] == (-grows.fun < 1e-9)
    np.testing.assert_allclose((data.y * core.duals) @ rows, 0.0, atol=1e-12)


@pytest.mark.parametrize("loss", ["logistic", "exponential"])
@pytest.mark.parametrize("seed", range(10))
def test_values_at_rest_are_found_where_the_loss_can_fall_by_rounding_alone(seed, loss):
    # Newton's method begins at the minimum, and its steps were those of rounding until it gave up.
    rng = np.random.default_rng(seed)
    for _ in range(20):
        plus, minus = rng.integers(1, 30, 2)
        X = np.vstack((np.tile(rng.standard_normal(3), (plus + minus, 1)), rng.standard_normal(3)))
        labels = np.r_[np.ones(plus), -np.ones(minus), 1.0]
        data = rf.Dataset(X, labels)
        value = np.log(plus / minus) * (0.5 if loss == "exponential" else 1.0)
        net = rf.Network([X[0] + X[-1], X[0] - X[-1]], [1.0, -1.0], leak=0.1)
        core = find_core(groups(data, net), data, labels * np.r_[np.full(plus + minus, value), 20.0], loss, 0.1)
        assert core is not None
        np.testing.assert_allclose(core.values[:-1], value, rtol=1e-12, atol=1e-14)


def margin_rows(data: rf.Dataset, sorted_: Groups) -> np.ndarray:
    """Of what the groups can add to the margins."""
    return data.y[:, None] * np.hstack([sorted_.map(c) for c in range(len(sorted_))])


def no_program(*_: object) -> None:
    raise AssertionError("a linear program was solved")


@pytest.mark.parametrize("seed", [seed for seed in range(20) if seed not in (6, 7, 8, 11)])  # there none is far above
def test_margins_far_above_the_others_show_the_core_without_a_program(seed, monkeypatch):
    rng = np.random.default_rng(seed)
    data = rf.Dataset(rng.standard_normal((12, 3)), rng.choice([-1.0, 1.0], 12))
    net = rf.Network.init(2, 3, scale=1.0, seed=seed)
    sorted_ = groups(data, net)
    by_program = find_core(sorted_, data, np.zeros(12), "logistic", 0.0)
    rows = margin_rows(data, sorted_)
    k = rows.shape[1]
    bounds = [(None, None)] * k + [(0.0, 1.0)] * 12
    grows = linprog(np.r_[np.zeros(k), -np.ones(12)], np.hstack((-rows, np.eye(12))), np.zeros(12), bounds=bounds)
    late = data.y * by_program.values + 1e6 * rows @ grows.x[:k]
    monkeypatch.setattr(core_module, "resting", no_program)
    core = find_core(sorted_, data, late, "logistic", 0.0)
    np.testing.assert_array_equal(core.rests, by_program.rests)
    np.testing.assert_allclose(core.values, by_program.values, atol=1e-9)


@pytest.mark.parametrize("seed", range(40))
def test_margins_that_lie_apart_by_chance_do_not_decide_the_core(seed):
    rng = np.random.default_rng(seed)
    data = rf.Dataset(rng.standard_normal((10, 3)), rng.choice([-1.0, 1.0], 10))
    net = rf.Network.init(2, 3, scale=1.0, seed=seed)
    sorted_ = groups(data, net)
    margins = np.abs(rng.standard_normal(10)) * rng.choice([1.0, 1e3], 10)
    core = find_core(sorted_, data, margins, "logistic", 0.0)
    np.testing.assert_array_equal(core.rests, find_core(sorted_, data, np.zeros(10), "logistic", 0.0).rests)


def test_a_unit_of_the_weights_changes_no_limit() -> None:
    """The loss of samples that contradict each other is small where their weights are; that separates nothing."""
    X, y = [[1.0, 0.5], [1.0, 0.5], [0.2, 1.0]], [1, -1, 1]
    net = rf.Network([[0.3, 0.1], [0.2, 0.5]], [0.4, -0.3])
    ends = []
    for unit in (1.0, 0.01):
        data = rf.Dataset(X, y, weights=unit * np.array([1.0, 2.0, 1.0]))
        sol = rf.integrate(data, net, until=50.0 / unit)
        assert sol.limit.certified, sol.limit.reason
        ends.append(sol.limit)
    np.testing.assert_allclose(ends[0].network.theta, ends[1].network.theta, atol=1e-9)


@pytest.mark.parametrize("ulps", [-3, -1, 0, 1, 3])
def test_a_fit_to_rounding_is_a_limit_whatever_the_signs_of_its_errors(ulps: int) -> None:
    """On one line of inputs errors of rounding looked like a pull back to the origin."""
    data = rf.Dataset([[1.0], [2.0]], [0.5, 1.0])
    w = np.sqrt(0.5)
    a = 0.5 / w * (1.0 + ulps * 2.0**-52)
    found = limit_of(data, rf.Network([[w]], [a], pattern=np.array([[1, 1]], dtype=np.int8)), "squared")
    assert (found.certified, found.point) == (True, "global"), found.reason


def test_what_vanishing_neurons_leave_of_a_target_of_zero_is_rounding() -> None:
    """A teacher is 0 on some samples, and there the error is all that a vanishing neuron adds."""
    data = rf.Dataset([[1.0, 0.0], [0.0, 1.0]], [1.0, 0.0])
    net = rf.Network([[1.0, -0.5], [-0.5, 1e-8]], [1.0, 1e-8], pattern=np.array([[1, -1], [-1, 1]], dtype=np.int8))
    assert net(data.X)[1] != 0
    found = limit_of(data, net, "squared")
    assert (found.certified, found.point) == (True, "global"), found.reason


@pytest.mark.parametrize("loss", ["logistic", "exponential"])
def test_values_at_rest_are_found_from_margins_that_are_far_off(loss: str) -> None:
    """From 1e5 the weight of the other sample was infinite, which ended in an error of the linear algebra."""
    data = rf.Dataset([[1.0], [1.0]], [1.0, -1.0])
    core = find_core(groups(data, rf.Network([[1.0]], [1.0])), data, np.array([2e5, 0.0]), loss, 0.0)
    assert core is not None
    np.testing.assert_array_equal(core.rests, [True, True])
    np.testing.assert_allclose(core.values, 0.0, atol=1e-12)
