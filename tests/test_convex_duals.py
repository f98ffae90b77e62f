"""The maximum of |λᵀφ(Xu)| on the unit ball by cones, branch and bound and slow twins; column generation on digits."""

import itertools

import numpy as np
import pytest
from scipy.optimize import lsq_linear

import reluflow as rf
from reluflow import convex


def phi(Z, leak):
    return np.maximum(Z, leak * Z)


def slow_maximum(X, duals, leak):
    """Try every choice of slopes on the samples of one sign, with the best reply of the others."""
    best = 0.0
    for mu in (duals, -duals):
        up, down = np.flatnonzero(mu > 0), np.flatnonzero(mu < 0)
        for slopes in itertools.product((leak, 1.0), repeat=len(up)):
            c = (np.array(slopes) * mu[up]) @ X[up]
            if len(down):
                Q = (mu[down, None] * X[down]).T
                tau = lsq_linear(Q, -c, bounds=(leak, 1.0), method="bvls", tol=1e-14).x
                c = c + Q @ tau
            best = max(best, float(np.linalg.norm(c)))
    return best


def random_duals(seed):
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(1, 9)), int(rng.integers(1, 5))
    X, y = rng.standard_normal((n, d)), rng.choice([-1.0, 1.0], n)
    if seed % 5 == 0:
        X[-1] = -2 * X[0]
    duals = rng.standard_normal(n) * (rng.random(n) < 0.8)
    return rf.Dataset(X, y), duals, (0.0, 0.0, 0.3)[seed % 3]


@pytest.mark.parametrize("block", range(4))
def test_cones_branches_and_a_slow_twin_find_the_same_maximum(block):
    for seed in range(25 * block, 25 * block + 25):
        data, duals, leak = random_duals(seed)
        expected = slow_maximum(data.X, duals, leak)
        for method in ("cones", "branch"):
            found = convex.dual_feasibility(data, duals, leak=leak, method=method)
            assert found.method == method
            assert found.status == "proven"
            assert found.value == pytest.approx(expected, rel=1e-9, abs=1e-12), (seed, method)
            assert found.upper == pytest.approx(expected, rel=1e-9, abs=1e-12), (seed, method)
            assert found.value <= found.upper
            # The maximiser attains the value.
            if expected > 0:
                assert np.linalg.norm(found.u) == pytest.approx(1, rel=1e-12)
                attained = duals @ phi(data.X @ found.u, leak)
                assert found.sign * attained == pytest.approx(found.value, rel=1e-12)
                np.testing.assert_array_equal(found.pattern, data.X @ found.u >= 0)


def test_no_direction_exceeds_the_upper_bound():
    rng = np.random.default_rng(0)
    data = rf.Dataset(rng.standard_normal((30, 6)), np.ones(30))
    duals = rng.standard_normal(30)
    found = convex.dual_feasibility(data, duals)
    U = rng.standard_normal((100_000, 6))
    U /= np.linalg.norm(U, axis=1)[:, None]
    values = np.abs(phi(U @ data.X.T, 0.0) @ duals)
    assert found.method == "branch"  # 30 boundaries in 6 dimensions have 335,000 cells
    assert values.max() <= found.upper
    assert values.max() > 0.7 * found.value


def test_known_maxima():
    # [VSS] Theorem 3.2: λ = (2, 2) on (±1, 1/4) has v = 2|x_1| = 2.061553; the cross has √2.
    case = rf.datasets.vardi_shamir_srebro("3.2")
    assert convex.dual_feasibility(case.data, [2, 2]).value == pytest.approx(np.sqrt(17) / 2, rel=1e-14)
    cross = rf.datasets.vardi_shamir_srebro("4.2").data
    found = convex.dual_feasibility(cross, np.ones(4))
    assert found.value == pytest.approx(np.sqrt(2), rel=1e-14)
    assert found.feasible is False


def test_linear_sums_need_no_pattern():
    # φ(z) - φ(-z) = (1 + α) z: with λ = (1, -1) on (x, -x) the function is linear.
    x = np.array([3.0, 4.0])
    found = convex.dual_feasibility(rf.Dataset([x, -x], [1, 1]), [1, -1], leak=0.5)
    assert found.value == pytest.approx(1.5 * 5, rel=1e-14)


def test_duals_of_zero_are_feasible():
    found = convex.dual_feasibility(rf.Dataset(np.eye(3), [1, 1, -1]), np.zeros(3))
    assert (found.value, found.upper, found.feasible) == (0.0, 0.0, True)


def test_feasibility_is_told_on_both_sides_of_the_boundary():
    data = rf.datasets.wang_pilanci("obtuse")
    best = convex.dual(data).duals
    assert convex.dual_feasibility(data, best).feasible is True
    assert convex.dual_feasibility(data, 0.999 * best).feasible is True
    assert convex.dual_feasibility(data, 1.001 * best).feasible is False


def test_the_printed_sufficient_condition_of_remark_1_is_stricter_than_feasibility():
    # [WP, Remark 1]'s second form rejects the optimal duals of the spike-free X with y = (1, -1).
    data = rf.datasets.wang_pilanci("acute")
    solution = convex.dual(data)
    np.testing.assert_allclose(solution.duals, [0.712387, -0.854996], atol=1e-6)
    assert solution.lower == pytest.approx(1.567382, abs=1e-6)
    u = np.linalg.solve(data.X, [1.0, 0.0])  # Xu >= 0
    assert solution.duals @ np.maximum(data.X @ (u / np.linalg.norm(u)), 0) <= 1 + 1e-12
    box = 1 / np.linalg.norm(data.X, axis=1)
    assert (np.abs(solution.duals) > box).all()


def test_a_node_limit_leaves_two_bounds_and_says_so():
    rng = np.random.default_rng(1)
    data = rf.Dataset(rng.standard_normal((40, 25)), np.ones(40))
    duals = rng.standard_normal(40)
    cut = convex.dual_feasibility(data, duals, method="branch", max_nodes=3)
    full = convex.dual_feasibility(data, duals, method="branch")
    assert cut.status == "node_limit"
    assert "ended with node_limit" in cut.message
    assert cut.value <= full.value <= cut.upper
    assert cut.upper > full.upper * (1 + 1e-6)
    assert full.upper == pytest.approx(full.value, rel=1e-12)


def test_undecided_feasibility_is_none():
    rng = np.random.default_rng(1)
    data = rf.Dataset(rng.standard_normal((40, 25)), np.ones(40))
    duals = rng.standard_normal(40)
    cut = convex.dual_feasibility(data, duals, method="branch", max_nodes=3)
    between = duals * 2 / (cut.value + cut.upper)
    assert convex.dual_feasibility(data, between, method="branch", max_nodes=3).feasible is None


def test_too_many_cones_are_refused_and_the_default_takes_another_way():
    rng = np.random.default_rng(2)
    data = rf.Dataset(rng.standard_normal((60, 12)), np.ones(60))
    with pytest.raises(convex.TooManyPatternsError):
        convex.dual_feasibility(data, np.ones(60), method="cones")
    assert convex.dual_feasibility(data, np.ones(60)).method == "branch"


@pytest.mark.parametrize(
    ("duals", "options", "message"),
    [
        ([1, 2, 3], {}, "duals must have one entry for each of the 2 samples, found 3 entries"),
        ([1, np.inf], {}, "duals must hold finite numbers"),
        ([1, 1], {"method": "guess"}, "method must be one of 'auto', 'cones', 'branch'"),
        ([1, 1], {"max_nodes": 0}, "max_nodes must be an integer of at least 1"),
    ],
)
def test_bad_arguments_are_refused_by_name(duals, options, message):
    with pytest.raises(ValueError, match=message):
        convex.dual_feasibility(rf.Dataset(np.eye(2), [1, -1]), duals, **options)


@pytest.mark.slow
def test_digits_get_a_value_with_a_proven_gap():
    data = rf.datasets.digits(3, 8)
    assert (data.n, data.rank) == (357, 54)
    solution = convex.max_margin(data)
    assert solution.status == "optimal"
    assert abs(solution.gap) < 1e-10
    # Both points once more, from their definitions.
    outputs = phi(data.X @ solution.neurons.T, 0.0) @ solution.signs
    assert (data.y * outputs).min() >= 1 - 1e-12
    assert np.linalg.norm(solution.neurons, axis=1).sum() == pytest.approx(solution.value, rel=1e-13)
    assert data.y @ solution.duals == pytest.approx(solution.lower, rel=1e-13)
    found = convex.dual_feasibility(data, solution.duals)
    assert found.method == "branch"
    assert found.upper <= 1 + 1e-10
    # Between the bounds that two networks and one subset of the data give without any search.
    plus, minus = convex.max_margin_vectors(data)
    linear = convex.svm(data)
    assert solution.value < 2 * np.linalg.norm(linear.w)
    assert solution.value > max(np.linalg.norm(plus.w), np.linalg.norm(minus.w))
    assert solution.value == pytest.approx(5.56437867, abs=1e-8)  # and by Clarabel over the 72 patterns it needs


@pytest.mark.slow
def test_the_duals_of_digits_prove_a_bound_on_any_subset():
    data = rf.datasets.digits(3, 8)
    rows = np.arange(0, 357, 3)
    part = convex.max_margin(rf.Dataset(data.X[rows], data.y[rows]))
    assert part.success
    padded = np.zeros(data.n)
    padded[rows] = part.duals
    assert convex.dual_feasibility(data, padded).upper <= 1 + 1e-9
    assert part.lower < 5.5643786706
