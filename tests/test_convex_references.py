"""Separators, one layer at a time, maps between networks and the program, K classes, sets for figures."""

import cvxpy as cp
import numpy as np
import pytest

import reluflow as rf
from reluflow import convex
from reluflow.convex import _conic, _max_margin


def phi(Z, leak=0.0):
    return np.maximum(Z, leak * Z)


# --- separators ------------------------------------------------------------------------------------------------------


def check_separator(found, rows):
    """Feasible, with non-negative multipliers on the support that sum up to w: the optimum, by convexity."""
    assert found.status == "optimal"
    assert (rows @ found.w).min() == pytest.approx(1, rel=1e-10)
    assert (found.multipliers >= 0).all()
    assert found.margin == pytest.approx(1 / np.linalg.norm(found.w), rel=1e-12)
    np.testing.assert_allclose(found.direction, found.w / np.linalg.norm(found.w), atol=1e-12)


def test_svm_satisfies_its_optimality_conditions_on_random_separable_data():
    for seed in range(20):
        rng = np.random.default_rng(seed)
        n, d = int(rng.integers(1, 30)), int(rng.integers(1, 8))
        X = rng.standard_normal((n, d))
        y = np.where(X @ rng.standard_normal(d) > 0, 1.0, -1.0)
        found = convex.svm(rf.Dataset(X, y))
        check_separator(found, y[:, None] * X)
        np.testing.assert_allclose((y * found.multipliers) @ X, found.w, rtol=1e-9, atol=1e-9 * np.linalg.norm(found.w))
        np.testing.assert_allclose((y[:, None] * X @ found.w)[found.support], 1, rtol=1e-8)
        assert set(np.flatnonzero(found.multipliers)) <= set(found.support)


def test_inseparable_data_come_with_the_multipliers_that_prove_it():
    found = convex.svm(rf.Dataset([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0]], [1, 1, 1]))
    assert found.status == "infeasible"
    assert not found.success
    assert "no half-space" in found.message
    assert found.multipliers.sum() == pytest.approx(1)
    np.testing.assert_allclose(found.multipliers, [0.5, 0.5, 0], atol=1e-12)


def test_max_margin_vectors_separate_each_class_from_the_origin():
    data = rf.datasets.orthogonally_separable(15, 4, seed=3)
    plus, minus = convex.max_margin_vectors(data)
    check_separator(plus, data.X[data.y > 0])
    check_separator(minus, data.X[data.y < 0])
    assert not plus.multipliers[data.y < 0].any()
    assert set(data.y[plus.support]) == {1.0}


def test_a_class_without_samples_has_the_zero_vector():
    plus, minus = convex.max_margin_vectors(rf.Dataset(np.eye(2), [1, 1]))
    np.testing.assert_allclose(plus.w, [1, 1])
    assert minus.success
    assert not minus.w.any()


def test_leaky_margins_are_those_of_one_neuron():
    data = rf.datasets.lyu_figure1("middle")
    plus, minus = convex.leaky_linear_margin(data, leak=0.5)
    check_separator(plus, (data.y * np.where(data.y > 0, 1, 0.5))[:, None] * data.X)
    assert plus.margin == pytest.approx(0.111803, abs=1e-6)
    np.testing.assert_allclose(plus.direction, np.array([2, 0, 1]) / np.sqrt(5), atol=1e-9)
    # One neuron of either sign attains half of it: its normalised margin is q_min / |θ|².
    for sign, found in ((1, plus), (-1, minus)):
        net = rf.Network([sign * found.direction / np.sqrt(2)], [sign / np.sqrt(2)], leak=0.5)
        assert (data.y * net(data.X)).min() == pytest.approx(found.margin / 2, rel=1e-9)


def test_a_leak_of_zero_leaves_nothing_to_separate():
    found = convex.leaky_linear_margin(rf.Dataset(np.eye(2), [1, -1]), leak=0.0)
    assert found.plus.status == "infeasible"
    assert "the row of sample 1 vanishes" in found.plus.message


# --- one layer -------------------------------------------------------------------------------------------------------


def test_the_output_layer_alone_is_a_convex_problem():
    rng = np.random.default_rng(0)
    data = rf.Dataset(rng.standard_normal((6, 3)), rng.choice([-1.0, 1.0], 6))
    net = rf.Network(rng.standard_normal((12, 3)), np.ones(12), leak=0.2)
    found = convex.layer_margin(data, net, 2)
    a = cp.Variable(12)
    problem = cp.Problem(
        cp.Minimize(0.5 * cp.sum_squares(a)), [cp.multiply(data.y, phi(data.X @ net.W.T, 0.2) @ a) >= 1]
    )
    problem.solve(solver=cp.CLARABEL)
    assert found.success
    assert found.value == pytest.approx(problem.value, rel=1e-6)
    np.testing.assert_allclose(found.network.a, a.value, atol=1e-4)
    np.testing.assert_array_equal(found.network.W, net.W)
    assert (data.y * found.network(data.X)).min() >= 1 - 1e-10
    assert found.multipliers.sum() == pytest.approx(2 * found.value, rel=1e-9)


def test_the_first_layer_of_theorem_4_3_is_optimal_in_its_pattern_and_not_globally():
    # The paper's change of layer 1 alone has the value 2.8125/2; the pattern's own optimum is 5/2.
    case = rf.datasets.vardi_shamir_srebro("5.4")
    net = rf.Network(*case.limit)
    own = convex.layer_margin(case.data, net, 1)
    best = convex.layer_margin(case.data, net, 1, scope="global")
    assert own.value == pytest.approx(2.5, rel=1e-12)
    assert own.current == 2.5
    np.testing.assert_allclose(own.network.W, net.W, atol=1e-10)
    better = rf.Network(*case.better(0.0))
    assert best.value <= 0.5 * np.sum(better.W**2) + 1e-12 <= 2.8125 / 2 + 1e-9
    assert (best.network(case.data.X)).min() >= 1 - 1e-10
    np.testing.assert_array_equal(best.network.a, net.a)


def test_the_first_layer_of_theorem_5_3_is_no_optimum():
    case = rf.datasets.vardi_shamir_srebro("5.3")
    best = convex.layer_margin(case.data, rf.Network(*case.limit), 1, scope="global")
    assert best.current == 2
    assert best.value == pytest.approx(1.0, rel=1e-9)  # the printed path has 2 + 4e(e - 1), least 1 at e = 1/2


def test_a_layer_that_cannot_reach_the_margins_says_so():
    data = rf.Dataset([[1.0, 0.0], [0.0, 1.0]], [1, -1])
    net = rf.Network(np.eye(2), [1, 1])
    for layer, scope in ((1, "pattern"), (1, "global")):
        found = convex.layer_margin(data, net, layer, scope=scope)
        assert found.status == "infeasible"
        assert found.network is None
        assert found.value == np.inf
    blind = convex.layer_margin(data, rf.Network([[1.0, 0.0]], [1.0]), 2)
    assert blind.status == "infeasible"
    assert "no output weights" in blind.message


def test_too_many_choices_of_patterns_are_refused():
    rng = np.random.default_rng(1)
    data = rf.Dataset(rng.standard_normal((12, 3)), np.ones(12))
    found = convex.layer_margin(data, rf.Network(rng.standard_normal((6, 3)), np.ones(6)), 1, scope="global")
    assert found.status == "too_many_choices"
    assert "134 patterns for 6 neurons" in found.message


def test_a_third_layer_is_refused():
    with pytest.raises(ValueError, match="layer must be 1 or 2, found 3"):
        convex.layer_margin(rf.Dataset(np.eye(2), [1, -1]), rf.Network(np.eye(2), [1, -1]), 3)


# --- maps ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("leak", [0.0, 0.3])
def test_a_solution_becomes_a_balanced_network_and_back(leak):
    rng = np.random.default_rng(2)
    data = rf.Dataset(rng.standard_normal((7, 3)), rng.choice([-1.0, 1.0], 7))
    solution = convex.max_margin(data, leak=leak)
    net = convex.to_network(solution, width=20)
    assert net.width == 20
    assert net.leak == leak
    assert 0.5 * net.norm**2 == pytest.approx(solution.value, rel=1e-12)
    np.testing.assert_allclose(net.balance, 0, atol=1e-12)
    np.testing.assert_allclose(data.y * net(data.X), solution.margins, rtol=1e-9)
    back = convex.from_network(net, data)
    assert back.value == pytest.approx(solution.value, rel=1e-12)
    assert len(back.neurons) <= len(solution.neurons)


def test_neurons_of_one_pattern_are_added_without_changing_the_outputs():
    rng = np.random.default_rng(3)
    data = rf.Dataset(rng.standard_normal((6, 2)), rng.choice([-1.0, 1.0], 6))
    net = rf.Network(rng.standard_normal((40, 2)), rng.standard_normal(40), leak=0.25)
    found = convex.from_network(net, data)
    assert len(found.neurons) <= 2 * 12 < 40
    assert sorted(j for group in found.members for j in group) == list(range(40))
    np.testing.assert_allclose(phi(data.X @ found.neurons.T, 0.25) @ found.signs, net(data.X), rtol=1e-10)
    assert found.value <= np.sum(np.abs(net.a) * np.linalg.norm(net.W, axis=1)) <= 0.5 * net.norm**2
    np.testing.assert_array_equal(found.patterns, found.neurons @ data.X.T >= 0)


def test_zero_neurons_have_no_place_in_the_program():
    data = rf.Dataset(np.eye(2), [1, -1])
    found = convex.from_network(rf.Network([[0, 0], [1, 0], [1, 1]], [1, 2, 0]), data)
    assert found.members == ((1,),)


def test_a_width_below_the_number_of_neurons_is_refused():
    # [WP, Prop. 2] needs the width: with one neuron the problem (13) of this data has no solution at all.
    solution = convex.max_margin(rf.datasets.wang_pilanci("obtuse"))
    with pytest.raises(ValueError, match="width must be at least 2"):
        convex.to_network(solution, width=1)


def test_an_infeasible_solution_has_no_network():
    solution = convex.max_margin(rf.Dataset([[1.0], [2.0]], [1, -1]))
    with pytest.raises(ValueError, match="solution must hold a network, found none, status 'infeasible'"):
        convex.to_network(solution)


# --- K classes -------------------------------------------------------------------------------------------------------


def test_three_orthogonal_classes_cost_one_plus_root_two_each():
    # [WP, Theorem 2]'s flow can end at 3 instead, for the binary problems are not orthogonally separable.
    solution = convex.max_margin_multiclass(np.eye(3), [2, 0, 1])
    assert solution.success
    assert solution.status == "optimal"
    for program in solution.programs:
        assert program.value == pytest.approx(1 + np.sqrt(2), rel=1e-10)
    assert solution.value == pytest.approx(3 + 3 * np.sqrt(2), rel=1e-10)
    assert solution.lower == pytest.approx(solution.value, rel=1e-10)
    assert solution.duals.shape == (3, 3)


@pytest.mark.parametrize(("cosine", "value"), [(-0.17, 2.552301), (-0.3, 2.690309), (-0.45, 2.906925)])
def test_three_classes_at_obtuse_angles_have_their_value(cosine, value):
    gram = np.full((3, 3), cosine) + (1 - cosine) * np.eye(3)
    X = np.linalg.cholesky(gram)
    program = convex.max_margin_multiclass(X, [0, 1, 2]).programs[0]
    assert program.value == pytest.approx(1 + np.sqrt(2 / (1 + cosine)), rel=1e-10)
    assert program.value == pytest.approx(value, abs=1e-6)


def test_classes_that_cannot_be_separated_are_named():
    solution = convex.max_margin_multiclass([[1.0, 0.0], [2.0, 0.0], [0.0, 1.0]], ["a", "b", "c"])
    assert not solution.success
    assert solution.status == "infeasible"
    assert "class a: no two-layer network" in solution.message


def test_class_labels_must_be_given():
    with pytest.raises(ValueError, match="labels must be given"):
        convex.max_margin_multiclass(np.eye(3))


# --- sets for figures ------------------------------------------------------------------------------------------------


def test_the_rectified_ellipsoid_is_the_ellipsoid_without_its_negative_parts():
    data = rf.datasets.wang_pilanci("obtuse")
    found = convex.rectified_outline(data.X, n_points=100)
    np.testing.assert_allclose(np.linalg.norm(found.u, axis=1), 1)
    np.testing.assert_allclose(found.plain, found.u @ data.X.T)
    np.testing.assert_allclose(found.rectified, np.maximum(found.plain, 0))
    # The plain points lie on the ellipse pᵀ (XXᵀ)⁻¹ p = 1.
    form = np.linalg.inv(data.X @ data.X.T)
    np.testing.assert_allclose(np.einsum("ki,ij,kj->k", found.plain, form, found.plain), 1)


def test_points_on_the_sphere_are_spread_evenly():
    u = convex.unit_vectors(3, 500)
    np.testing.assert_allclose(np.linalg.norm(u, axis=1), 1)
    np.testing.assert_allclose(u.T @ u / 500, np.eye(3) / 3, atol=0.01)


def test_spikes_of_an_obtuse_pair_are_the_samples_themselves():
    data = rf.datasets.wang_pilanci("obtuse")
    found = convex.spikes(data.X)
    np.testing.assert_allclose(found.length, np.linalg.norm(data.X, axis=1), rtol=1e-12)
    np.testing.assert_allclose(found.u, data.X / np.linalg.norm(data.X, axis=1)[:, None], atol=1e-12)


def test_spikes_of_an_acute_pair_are_shortened_to_the_other_boundary():
    data = rf.datasets.wang_pilanci("spike_free")
    found = convex.spikes(data.X)
    for i, u, length in zip(found.samples, found.u, found.length, strict=True):
        other = data.X[1 - i]
        rest = data.X[i] - (data.X[i] @ other) / (other @ other) * other
        assert length == pytest.approx(np.linalg.norm(rest), rel=1e-12)
        assert abs(u @ other) < 1e-12


def test_a_sample_inside_the_cone_of_others_has_no_spike():
    found = convex.spikes([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    assert found.samples.tolist() == [0, 1]


@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e4])
def test_extreme_points_have_the_values_named_where_sums_cancel(scale):
    X = scale * np.array([[-2.0, 1.0], [0.0, 3.0], [1.0, 1.0]])
    duals = np.array([-4.0, -1.0, -2.0])
    found = convex.extreme_points(rf.Dataset(X, [-1, -1, -1]), duals)
    assert not found.highest.any()
    assert not found.maximum.any()
    np.testing.assert_allclose(np.maximum(found.lowest @ X.T, 0) @ duals, found.minimum, rtol=1e-12)


def test_extreme_points_are_the_best_of_their_cells():
    rng = np.random.default_rng(4)
    data = rf.Dataset(rng.standard_normal((5, 3)), np.ones(5))
    duals = rng.standard_normal(5)
    found = convex.extreme_points(data, duals)
    U = rng.standard_normal((20_000, 3))
    U /= np.linalg.norm(U, axis=1)[:, None]
    values = phi(U @ data.X.T) @ duals
    for pattern, u, top, low_u, low in zip(
        found.patterns, found.highest, found.maximum, found.lowest, found.minimum, strict=True
    ):
        inside = ((U @ data.X.T >= 0) == pattern).all(axis=1)
        assert values[inside].max(initial=0) <= top + 1e-12
        assert values[inside].min(initial=0) >= low - 1e-12
        assert phi(data.X @ u) @ duals == pytest.approx(top, abs=1e-12)
        assert phi(data.X @ low_u) @ duals == pytest.approx(low, abs=1e-12)
    best = convex.dual_feasibility(data, duals)
    assert max(found.maximum.max(), -found.minimum.min()) == pytest.approx(best.value, rel=1e-12)


def test_the_polar_set_of_the_obtuse_example_is_the_box_of_its_spikes():
    data = rf.datasets.wang_pilanci("obtuse")
    ways = convex.unit_vectors(2, 64)
    points = convex.polar_set(data.X, ways)
    box = np.array([0.582875, 0.699557])
    np.testing.assert_allclose(np.max(np.abs(points) / box, axis=1), 1, atol=1e-6)
    np.testing.assert_allclose(convex.polar_set(data.X, ways, vectors=convex.spikes(data.X).u), points, rtol=1e-12)


def test_the_polar_set_is_smaller_than_that_of_its_spikes_where_the_angle_is_not_obtuse_enough():
    # [WP, App. F.1] says that both agree for orthogonally separable data. At the corner of the box of X = I it is √2.
    ways = np.array([[1.0, 1.0], [1.0, -1.0], [1.0, 0.0]])
    points = convex.polar_set(np.eye(2), ways)
    spiky = convex.polar_set(np.eye(2), ways, vectors=convex.spikes(np.eye(2)).u)
    np.testing.assert_allclose(points, [[2**-0.5, 2**-0.5], [1, -1], [1, 0]], rtol=1e-12)
    np.testing.assert_allclose(spiky, ways, rtol=1e-12)


def test_the_polar_set_is_unbounded_where_the_sum_vanishes():
    points = convex.polar_set([[1.0], [2.0]], [[2.0, -1.0], [1.0, 0.0]])
    np.testing.assert_array_equal(points, [[np.inf, -np.inf], [1, 0]])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: convex.rectified_outline(np.eye(4)), "X must have 2 or 3 columns, found 4"),
        (lambda: convex.unit_vectors(4, 3), "dimension must be 2 or 3, found 4"),
        (lambda: convex.polar_set(np.eye(2), [[1.0, 0.0, 0.0]]), "directions must have 2 columns"),
        (lambda: convex.polar_set(np.eye(2), [[0.0, 0.0]]), "directions must have no row of zeros"),
    ],
)
def test_bad_arguments_of_the_sets_are_refused_by_name(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize("size", [1e-3, 1e-6, 1e-10])
def test_layers_that_must_be_large_are_found(size):
    data = rf.Dataset(np.eye(2), [1, 1])
    outputs = convex.layer_margin(data, rf.Network([[1.0, 0.0], [0.0, size]], [1.0, 1.0]), 2)
    assert outputs.value == pytest.approx(0.5 * (1 + size**-2))
    small = convex.layer_margin(data, rf.Network(size * np.eye(2), [size, size]), 1)
    assert small.value == pytest.approx(0.5 * size**-2)  # both neurons share both samples
    narrow = convex.layer_margin(rf.Dataset([[1.0, size], [-1.0, size]], [1, 1]), rf.Network([[0.0, 1.0]], [1.0]), 1)
    assert narrow.value == pytest.approx(0.5 * size**-2)
    assert (narrow.network([[1.0, size], [-1.0, size]]) >= 1 - 1e-6).all()


def test_a_network_that_sees_no_sample_has_no_layer_for_them():
    data = rf.Dataset([[1.0, 0.0], [2.0, 0.0]], [1, 1])
    found = convex.layer_margin(data, rf.Network([[-1.0, 0.0]], [1.0]), 2)
    assert found.status == "infeasible"
    assert found.multipliers.tolist() == [1.0, 0.0]


def test_a_dual_that_the_solver_knows_to_four_digits_is_polished(monkeypatch):
    """As releases of it do of a sample that is 1e7 times longer than another."""

    def worse(*arguments):
        answer = _conic.solve_dual(*arguments)
        return answer._replace(duals=answer.duals * [0.9999, 1.0])

    monkeypatch.setattr(_max_margin, "solve_dual", worse)
    pair = convex.dual(rf.Dataset([[1e7], [-1.0]], [1, 1]))
    assert pair.status == "optimal"
    assert pair.value == pytest.approx(1 + 1e-7, rel=1e-10)


@pytest.mark.parametrize("solve", [convex.max_margin, convex.dual])
@pytest.mark.parametrize("long", [1e2, 1e6, 1e7])
def test_samples_of_very_different_lengths_have_their_optimum(solve, long):
    pair = solve(rf.Dataset([[long], [-1.0]], [1, 1]))
    assert pair.status == "optimal"
    assert pair.value == pytest.approx(1 + 1 / long, rel=1e-10)
    three = solve(rf.Dataset([[long, 0.0], [0.0, -1.0], [1.0, 1.0]], [1, -1, 1]))
    assert three.status == "optimal"
    assert three.value == pytest.approx(1 + np.sqrt(0.5), rel=1e-9)
