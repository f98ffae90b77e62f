"""The convex max-margin programs: known values, primal against dual, other formulations, data without a solution."""

import itertools

import clarabel
import cvxpy as cp
import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import linprog

import reluflow as rf
from reluflow import convex


def phi(Z, leak):
    return np.maximum(Z, leak * Z)


def check_solution(data, solution, gap=1e-10):
    """The numbers of a solution, worked out again from its neurons and duals."""
    outputs = phi(data.X @ solution.neurons.T, solution.leak) @ solution.signs
    margins = data.y * outputs
    np.testing.assert_allclose(solution.margins, margins, rtol=1e-9, atol=1e-9)
    assert margins.min() >= 1 - 1e-12 * max(1, solution.value)
    assert solution.value == pytest.approx(np.linalg.norm(solution.neurons, axis=1).sum(), rel=1e-12)
    assert solution.lower == pytest.approx(data.y @ solution.duals, rel=1e-12)
    assert (data.y * solution.duals >= 0).all()
    assert solution.gap == pytest.approx((solution.value - solution.lower) / solution.value, abs=1e-15)
    assert solution.success, solution.message
    assert abs(solution.gap) <= gap


def largest_on_grid(X, duals, leak, count=200_000):
    """Many random directions: |λᵀφ(Xu)| on them is below the maximum."""
    U = np.random.default_rng(0).standard_normal((count, X.shape[1]))
    U /= np.linalg.norm(U, axis=1)[:, None]
    return np.abs(phi(U @ X.T, leak) @ duals).max()


# --- the examples of the papers --------------------------------------------------------------------------------------


def test_the_obtuse_example_has_its_two_neurons_and_value():
    data = rf.datasets.wang_pilanci("obtuse")
    solution = convex.max_margin(data)
    check_solution(data, solution)
    # x_i/|x_i|² each, with P* = 1/|x_1| + 1/|x_2|.
    norms = np.linalg.norm(data.X, axis=1)
    np.testing.assert_allclose(solution.positive, [data.X[0] / norms[0] ** 2], atol=1e-8)
    np.testing.assert_allclose(solution.negative, [data.X[1] / norms[1] ** 2], atol=1e-8)
    np.testing.assert_allclose(solution.positive, [[0.560576, -0.159679]], atol=1e-6)
    np.testing.assert_allclose(solution.negative, [[-0.230009, 0.660664]], atol=1e-6)
    assert solution.value == pytest.approx(1.282432, abs=5e-7)
    assert solution.margin == pytest.approx(0.389884, abs=5e-7)
    np.testing.assert_allclose(solution.duals, [1 / norms[0], -1 / norms[1]], atol=1e-10)


def test_the_spike_free_example_has_one_neuron_that_solves_x_u_equal_to_one():
    data = rf.datasets.wang_pilanci("spike_free")
    solution = convex.max_margin(data)
    check_solution(data, solution)
    np.testing.assert_allclose(solution.positive, [np.linalg.solve(data.X, np.ones(2))], atol=1e-8)
    np.testing.assert_allclose(solution.positive, [[0.438553, 0.588059]], atol=1e-6)
    assert len(solution.negative) == 0
    assert solution.value == pytest.approx(0.733582, abs=5e-7)
    np.testing.assert_allclose(solution.duals, [0.214441, 0.519141], atol=1e-6)


def test_the_printed_neuron_of_128_is_no_optimum_of_its_data():
    # [WP (128)] prints (0.58, -0.16): margin 1.032 and norm 0.6017, against 0.5829.
    data = rf.datasets.wang_pilanci("obtuse")
    printed = np.array([0.58, -0.16])
    assert data.X[0] @ printed == pytest.approx(1.0322, abs=1e-4)
    assert np.linalg.norm(printed) > np.linalg.norm(convex.max_margin(data).positive[0]) + 0.01


@pytest.mark.parametrize("theorem", ["3.2", "4.2", "4.3"])
def test_the_global_optimum_of_each_vardi_construction_has_its_norm(theorem):
    case = rf.datasets.vardi_shamir_srebro(theorem)
    solution = convex.max_margin(case.data)
    check_solution(case.data, solution)
    assert 2 * solution.value == pytest.approx(case.global_norm2, rel=1e-9)


@pytest.mark.parametrize("leak", [0, 0.1, 0.25, 0.5, 0.75, 0.9])
def test_symmetric_data_have_the_leaky_margin_of_the_linear_classifier(leak):
    # P* = 2 / ((1 + α) γ_lin) [LLWA Thm 4.2]; γ_lin = 1 here.
    data = rf.datasets.lyu_figure1("left", leak=leak)
    solution = convex.max_margin(data, leak=leak)
    check_solution(data, solution)
    assert solution.value == pytest.approx(2 / (1 + leak), rel=1e-9)
    assert solution.margin == pytest.approx((1 + leak) / 4, rel=1e-9)


@pytest.mark.parametrize(("panel", "margin"), [("middle", 0.127604), ("right", 0.110476)])
def test_the_leaky_figures_have_their_greatest_margins(panel, margin):
    data = rf.datasets.lyu_figure1(panel)
    solution = convex.max_margin(data, leak=0.5)
    check_solution(data, solution)
    assert solution.margin == pytest.approx(margin, abs=5e-7)


def test_orthogonally_separable_data_split_into_two_separators():
    # P* = |w₊| + |w₋| [WP Prop. 4].
    for seed in range(5):
        data = rf.datasets.orthogonally_separable(12, 4, seed=seed)
        solution = convex.max_margin(data)
        check_solution(data, solution)
        plus, minus = convex.max_margin_vectors(data)
        assert solution.value == pytest.approx(np.linalg.norm(plus.w) + np.linalg.norm(minus.w), rel=1e-10)
        np.testing.assert_allclose(solution.positive, [plus.w], atol=1e-7)
        np.testing.assert_allclose(solution.negative, [minus.w], atol=1e-7)


# --- other formulations ----------------------------------------------------------------------------------------------


def random_problem(seed):
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(2, 10)), int(rng.integers(1, 5))
    X, y = rng.standard_normal((n, d)), rng.choice([-1.0, 1.0], n)
    if seed % 7 == 0:
        X[-1] = -X[0]
    if seed % 11 == 0:
        X[-1], y[-1] = 2 * X[0], y[0]
    return rf.Dataset(X, y), float(rng.choice([0.0, 0.0, 0.2, 0.6]))


def wang_pilanci_14(data, leak):
    """[WP (14)] as printed, one cone a pattern, over a list of all patterns; value by Clarabel to its tolerance."""
    n, d = data.X.shape
    patterns = convex.arrangements(data.X).patterns
    pieces = [(s, D) for D in patterns for s in (1, -1)]
    k = len(pieces)
    margins = np.hstack([(data.y * s * np.where(D, 1, leak))[:, None] * data.X for s, D in pieces])
    cones = sparse.block_diag([np.where(D, 1, -1)[:, None] * data.X for _, D in pieces])
    norms = sparse.kron(sparse.eye(k), np.eye(d + 1))  # the variables are (t_1, u_1), (t_2, u_2), ...
    spread = sparse.kron(sparse.eye(k), np.eye(d + 1)[1:])
    A = -sparse.vstack([sparse.csc_matrix(margins) @ spread, cones @ spread, norms])
    b = np.concatenate((-np.ones(n), np.zeros(A.shape[0] - n)))
    kinds = [clarabel.NonnegativeConeT(n + k * n), *[clarabel.SecondOrderConeT(d + 1)] * k]
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    cost = np.tile(np.eye(d + 1)[0], k)
    zero = sparse.csc_matrix((len(cost), len(cost)))
    solution = clarabel.DefaultSolver(zero, cost, sparse.csc_matrix(A), b, kinds, settings).solve()
    return str(solution.status), solution.obj_val


@pytest.mark.parametrize("block", range(4))
def test_on_two_hundred_random_problems_primal_dual_and_the_printed_program_agree(block):
    n_optimal = 0
    for seed in range(50 * block, 50 * block + 50):
        data, leak = random_problem(seed)
        primal, dual = convex.max_margin(data, leak=leak), convex.dual(data, leak=leak)
        status, value = wang_pilanci_14(data, leak)
        if primal.status == "infeasible":
            assert dual.status == "infeasible"
            assert "Infeasible" in status
            continue
        check_solution(data, primal)
        assert dual.lower == pytest.approx(primal.value, rel=1e-9), seed
        assert dual.value == pytest.approx(primal.value, rel=1e-9), seed
        assert value == pytest.approx(primal.value, rel=2e-6), seed
        n_optimal += 1
    assert n_optimal > 30


@pytest.mark.parametrize("seed", range(6))
def test_the_printed_dual_129_has_the_same_value(seed):
    rng = np.random.default_rng(seed)
    data = rf.Dataset(rng.standard_normal((5, 3)), rng.choice([-1.0, 1.0], 5))
    leak = (0.0, 0.3)[seed % 2]
    duals = cp.Variable(5)
    constraints = [cp.multiply(data.y, duals) >= 0]
    for pattern in convex.arrangements(data.X).patterns:
        D, side = np.where(pattern, 1, leak), np.where(pattern, 1, -1)
        for s in (1, -1):
            z = cp.Variable(5, nonneg=True)
            constraints.append(cp.norm(data.X.T @ (s * cp.multiply(D, duals) + cp.multiply(side, z))) <= 1)
    problem = cp.Problem(cp.Maximize(data.y @ duals), constraints)
    problem.solve(solver=cp.CLARABEL)
    solution = convex.dual(data, leak=leak)
    assert solution.lower == pytest.approx(problem.value, rel=1e-6)
    check_solution(data, solution)


@pytest.mark.parametrize("seed", range(4))
def test_a_linear_program_over_many_directions_bounds_the_value_from_above(seed):
    rng, leak = np.random.default_rng(seed), (0.0, 0.3)[seed % 2]
    data = rf.Dataset(rng.standard_normal((7, 3)), rng.choice([-1.0, 1.0], 7))
    solution = convex.max_margin(data, leak=leak)
    U = np.random.default_rng(seed).standard_normal((1500, data.d))
    U = np.vstack(
        (U / np.linalg.norm(U, axis=1)[:, None], solution.neurons / np.linalg.norm(solution.neurons, axis=1)[:, None])
    )
    F = data.y[:, None] * phi(data.X @ U.T, leak)
    found = linprog(np.ones(2 * len(U)), A_ub=np.hstack((-F, F)), b_ub=-np.ones(data.n))
    # The solution's own directions are there, so the program reaches the value and cannot pass below it.
    assert found.fun == pytest.approx(solution.value, rel=1e-6)


# --- properties ------------------------------------------------------------------------------------------------------


def test_scaling_rotating_and_reordering_the_data_act_as_they_should():
    rng = np.random.default_rng(3)
    X, y = rng.standard_normal((8, 3)), rng.choice([-1.0, 1.0], 8)
    base = convex.max_margin(rf.Dataset(X, y))
    Q, _ = np.linalg.qr(rng.standard_normal((3, 3)))
    order = rng.permutation(8)
    turned = convex.max_margin(rf.Dataset(100 * X[order] @ Q, y[order]))
    flipped = convex.max_margin(rf.Dataset(X, -y))
    assert turned.value == pytest.approx(base.value / 100, rel=1e-10)
    np.testing.assert_allclose(turned.duals, base.duals[order] / 100, atol=1e-10)
    assert flipped.value == pytest.approx(base.value, rel=1e-10)
    np.testing.assert_allclose(flipped.duals, -base.duals, atol=1e-8)


@pytest.mark.parametrize("solve", [convex.max_margin, convex.dual])
@pytest.mark.parametrize("size", [1e-90, 1e-6, 1e6, 1e90])
def test_the_unit_of_the_inputs_does_not_matter(solve, size):
    for seed in range(8):
        rng = np.random.default_rng(seed)
        X, y = rng.standard_normal((6, 3)), np.where(rng.standard_normal(6) > 0, 1.0, -1.0)
        solution = solve(rf.Dataset(size * X, y), leak=0.1 * (seed % 2))
        check_solution(solution.data, solution)
        assert size * solution.value == pytest.approx(solve(rf.Dataset(X, y), leak=0.1 * (seed % 2)).value, rel=1e-9)


def test_columns_outside_the_row_space_change_nothing():
    rng = np.random.default_rng(4)
    X, y = rng.standard_normal((7, 3)), rng.choice([-1.0, 1.0], 7)
    wide = X @ np.linalg.qr(rng.standard_normal((50, 3)))[0].T
    low, high = convex.max_margin(rf.Dataset(X, y)), convex.max_margin(rf.Dataset(wide, y))
    assert high.value == pytest.approx(low.value, rel=1e-10)
    assert high.neurons.shape == (len(low.neurons), 50)


@pytest.mark.parametrize("copies", [2, 10])
def test_repeated_and_scaled_samples_change_nothing_but_the_least_scale_counts(copies):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((12, 4)), rng.choice([-1.0, 1.0], 12)
    base = convex.max_margin(rf.Dataset(X, y))
    scales = rng.uniform(1, 2, 12 * copies)
    scales[:12] = 1
    more = rf.Dataset(scales[:, None] * np.tile(X, (copies, 1)), np.tile(y, copies))
    repeated = convex.max_margin(more)
    check_solution(more, repeated)
    assert repeated.value == pytest.approx(base.value, rel=1e-9)
    # Copies are one term of the branch and bound: it needs no more nodes for ten of them.
    assert repeated.stats.n_nodes <= 4 * base.stats.n_nodes


def test_the_same_data_give_the_same_bits():
    data, leak = random_problem(5)
    one, two = convex.max_margin(data, leak=leak), convex.max_margin(data, leak=leak)
    np.testing.assert_array_equal(one.neurons, two.neurons)
    np.testing.assert_array_equal(one.duals, two.duals)


# --- given and sampled patterns --------------------------------------------------------------------------------------


@pytest.mark.parametrize("leak", [0.0, 0.4])
def test_all_patterns_as_a_list_give_the_value_without_a_list(leak):
    data = rf.Dataset(np.random.default_rng(1).standard_normal((7, 3)), [1, -1, 1, -1, 1, 1, -1])
    patterns = convex.arrangements(data.X).patterns
    listed = convex.max_margin(data, patterns=patterns, leak=leak)
    check_solution(data, listed)
    assert listed.restricted
    assert listed.value == pytest.approx(convex.max_margin(data, leak=leak).value, rel=1e-10)


def test_fewer_patterns_cost_more_and_their_optimum_is_proven_too():
    data = rf.Dataset(np.random.default_rng(1).standard_normal((7, 3)), [1, -1, 1, -1, 1, 1, -1])
    patterns = convex.arrangements(data.X).patterns
    some = patterns[::3]
    restricted = convex.max_margin(data, patterns=some)
    full = convex.max_margin(data)
    check_solution(data, restricted)
    assert restricted.value > full.value * (1 + 1e-3)
    # Every neuron lies in a closed cell of the list.
    heights = restricted.neurons @ data.X.T
    for row in heights:
        assert any((np.where(D, row, -row) >= -1e-10).all() for D in some)
    # And (14) over this list alone has the same value.
    u = [cp.Variable(3) for _ in range(2 * len(some))]
    cones = [((D * 2.0 - 1)[:, None] * data.X) @ v >= 0 for D, v in zip(itertools.chain(some, some), u, strict=True)]
    outputs = sum(
        s * ((D * 1.0)[:, None] * data.X) @ v for (s, D), v in zip(itertools.product((1, -1), some), u, strict=True)
    )
    problem = cp.Problem(cp.Minimize(sum(cp.norm(v) for v in u)), [cp.multiply(data.y, outputs) >= 1, *cones])
    problem.solve(solver=cp.CLARABEL)
    assert restricted.value == pytest.approx(problem.value, rel=1e-6)


def test_patterns_that_cannot_separate_are_infeasible_and_say_so():
    data = rf.Dataset([[1.0, 0.0], [0.0, 1.0]], [1, -1])
    found = convex.max_margin(data, patterns=[[True, False]])
    assert found.status == "infeasible"
    assert not found.success
    assert found.value == np.inf
    assert "patterns allow no separation" in found.message


def test_sampled_patterns_bound_the_value_from_above():
    data = rf.Dataset(
        np.random.default_rng(6).standard_normal((12, 3)), np.random.default_rng(6).choice([-1.0, 1.0], 12)
    )
    full = convex.max_margin(data)
    sampled = convex.max_margin(data, patterns="sampled", n_samples=60, seed=1)
    assert sampled.restricted
    assert sampled.value >= full.value * (1 - 1e-9)
    again = convex.max_margin(data, patterns="sampled", n_samples=60, seed=1)
    assert again.value == sampled.value


# --- no solution, limits, bad input ----------------------------------------------------------------------------------


@pytest.mark.parametrize("leak", [0.0, 0.5])
@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        ([[1, 2], [2, 4], [1, 0]], [1, -1, 1], "samples 0 and 1 lie on one ray"),
        ([[1, 2], [1, 2]], [1, -1], "samples 0 and 1 lie on one ray"),
        # f(x) - f(-x) is linear: these three pairs have 0 in the convex hull of the positive members.
        (
            [[1, 0], [-1, 0], [0, 1], [0, -1], [-1, -1], [1, 1]],
            [1, -1, 1, -1, 1, -1],
            "their opposites have different labels",
        ),
    ],
)
def test_data_that_no_network_separates_are_named(X, y, message, leak):
    data = rf.Dataset(X, y)
    for found in (convex.max_margin(data, leak=leak), convex.dual(data, leak=leak)):
        assert found.status == "infeasible"
        assert message in found.message
        assert found.value == found.lower == np.inf
        assert len(found.neurons) == 0
        # The duals are a ray along which the dual is unbounded: the constraint never sees it.
        assert data.y @ found.duals > 0
        assert (data.y * found.duals >= 0).all()
        assert largest_on_grid(data.X, found.duals, leak, 5000) < 1e-12


def test_opposite_samples_with_one_label_or_separable_pairs_are_no_obstacle():
    one_label = rf.Dataset([[1.0], [-1.0]], [1, 1])
    check_solution(one_label, convex.max_margin(one_label))
    pairs = rf.Dataset([[1, 0], [-1, 0], [0, 1], [0, -1]], [1, -1, 1, -1])
    check_solution(pairs, convex.max_margin(pairs, leak=0.5))


def test_nearly_contradicting_samples_are_separated_at_a_high_price():
    data = rf.Dataset([[1, 0], [1, 1e-3]], [1, -1])
    solution = convex.max_margin(data)
    check_solution(data, solution, gap=1e-8)
    assert solution.value > 1e3


def test_a_time_limit_ends_the_search_with_what_is_proven():
    rng = np.random.default_rng(0)
    data = rf.Dataset(rng.standard_normal((80, 12)), rng.choice([-1.0, 1.0], 80))
    found = convex.max_margin(data, max_seconds=1e-6)
    assert found.status in ("time_limit", "solver_failed")
    assert not found.success
    assert found.message
    assert found.lower <= found.value


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"patterns": "some"}, "patterns must be 'all', 'sampled' or an array, found 'some'"),
        ({"patterns": [[True]]}, r"patterns must have the shape \(p, 2\), p >= 1, found the shape \(1, 1\)"),
        ({"patterns": [[0, 2]]}, "patterns must hold 0 and 1"),
        ({"leak": 1.0}, r"leak must lie in \[0, 1\), found 1.0"),
        ({"gap_tol": 0.0}, "gap_tol must be a finite number above 0"),
        ({"max_seconds": -1}, "max_seconds must be a finite number above 0"),
    ],
)
def test_bad_arguments_are_refused_by_name(options, message):
    with pytest.raises(ValueError, match=message):
        convex.max_margin(rf.Dataset([[1, 0], [0, 1]], [1, -1]), **options)


def test_data_of_another_kind_are_refused():
    with pytest.raises(ValueError, match=r"data must be a reluflow\.Dataset"):
        convex.max_margin(np.eye(2))
