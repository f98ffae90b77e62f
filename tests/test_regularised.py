"""The convex program with weight decay: closed forms, a full enumeration, weak duality, and what has to agree."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reluflow as rf
from reluflow import convex
from reluflow.convex._objective import Objective

LOSSES = ("squared", "logistic", "exponential")


def phi(Z, leak):
    return np.maximum(Z, leak * Z)


def total_loss(data, f, loss):
    """The summed loss, written out."""
    q = f - data.y if loss == "squared" else data.y * f
    values = {"squared": q**2 / 2, "logistic": np.logaddexp(0.0, -q), "exponential": np.exp(-q)}[loss]
    return float(data.counts @ values)


def problem(seed, loss, *, n=6, d=2, weighted=False):
    rng = np.random.default_rng(seed)
    y = rng.normal(size=n)
    weights = rng.uniform(0.3, 2.0, size=n) if weighted else None
    return rf.Dataset(rng.normal(size=(n, d)), y if loss == "squared" else np.sign(y), weights=weights)


def check_solution(data, solution, gap=1e-10):
    """The numbers of a solution, worked out again from its neurons and duals."""
    factor = 1 / data.counts.sum() if solution.reduction == "mean" else 1.0
    outputs = phi(data.X @ solution.neurons.T, solution.leak) @ solution.signs
    np.testing.assert_allclose(solution.outputs, outputs, atol=1e-12)
    penalty = solution.weight_decay * np.linalg.norm(solution.neurons, axis=1).sum()
    assert solution.value == pytest.approx(factor * total_loss(data, outputs, solution.loss) + penalty, rel=1e-12)
    net = solution.network
    objective = factor * total_loss(data, net(data.X), solution.loss) + 0.5 * solution.weight_decay * net.norm**2
    assert objective == pytest.approx(solution.value, rel=1e-12)
    U = np.random.default_rng(0).standard_normal((20_000, data.d))
    U /= np.linalg.norm(U, axis=1)[:, None]
    assert np.abs(phi(U @ data.X.T, solution.leak) @ solution.duals).max() <= solution.weight_decay * (1 + 1e-12)
    assert solution.success, solution.message
    assert abs(solution.gap) <= gap


# --- closed forms ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("leak", [0.0, 0.4])
@pytest.mark.parametrize("loss", LOSSES)
def test_of_one_sample_the_dual_is_at_its_bound(loss, leak) -> None:
    # |λ||x| = γ gives the output: c (y - f) = λ, c/(1 + e^q) = λ or c e^-q = λ.
    x, c, decay = np.array([3.0, -4.0]), 2.0, 0.7
    y = -1.5 if loss == "squared" else -1.0
    bound = decay / np.linalg.norm(x)
    f = {"squared": y + bound / c, "logistic": -np.log(c / bound - 1), "exponential": -np.log(c / bound)}[loss]
    data = rf.Dataset([x], [y], weights=[c])
    solution = convex.regularised(data, decay, loss=loss, leak=leak)
    check_solution(data, solution)
    accuracy = 1e-8 + 3 * np.sqrt(abs(solution.gap))  # both objectives are flat at their optimum
    assert solution.outputs[0] == pytest.approx(f, rel=accuracy)
    assert solution.duals[0] == pytest.approx(-bound, rel=accuracy)
    np.testing.assert_allclose(solution.neurons, [x * -f / (x @ x)], rtol=accuracy)
    assert solution.signs.tolist() == [-1]


def test_orthonormal_samples_of_one_sign_are_thresholded_together() -> None:
    # v(λ) = max(|λ₊|, |λ₋|) for a ReLU, so that f± = y± (1 - γ/|y±|)₊.
    basis = np.linalg.qr(np.random.default_rng(0).normal(size=(5, 5)))[0]
    y = np.array([3.0, 4.0, -1.0, 2.0, -0.5])
    for decay in (0.3, 1.0, 1.2, 5.0, 6.0):
        data = rf.Dataset(basis, y)
        solution = convex.regularised(data, decay, loss="squared")
        check_solution(data, solution)
        expected = np.zeros(5)
        for part in (y > 0, y < 0):
            expected[part] = y[part] * max(0.0, 1 - decay / np.linalg.norm(y[part]))
        np.testing.assert_allclose(solution.outputs, expected, atol=1e-9)


@pytest.mark.parametrize("loss", LOSSES)
def test_the_zero_network_is_best_from_the_dual_norm_at_zero_on(loss) -> None:
    data = problem(3, loss)
    bound = convex.dual_feasibility(data, rf.losses.early_duals(data, loss, "sum")).value
    above, below = (convex.regularised(data, share * bound, loss=loss) for share in (1 + 1e-9, 0.99))
    check_solution(data, above)
    assert (len(above.neurons), above.network.norm) == (0, 0.0)
    assert above.value == pytest.approx(total_loss(data, np.zeros(data.n), loss), rel=1e-14)
    check_solution(data, below)
    assert len(below.neurons) > 0
    assert below.value < above.value


# --- all cells at once -----------------------------------------------------------------------------------------------


def enumerated(data, decay, loss, leak):
    """The program over every cell of the arrangement, as it is written, by another library."""
    f, norms, inside = 0, 0, []
    for pattern in convex.arrangements(data.X).patterns:
        slopes = np.where(pattern, 1.0, leak)
        for sign in (1, -1):
            u = cp.Variable(data.d)
            f = f + sign * cp.multiply(slopes, data.X @ u)
            norms = norms + cp.norm(u)
            inside.append(cp.multiply(np.where(pattern, 1.0, -1.0), data.X @ u) >= 0)
    q = f - data.y if loss == "squared" else cp.multiply(data.y, f)
    each = {"squared": lambda: cp.square(q) / 2, "logistic": lambda: cp.logistic(-q), "exponential": lambda: cp.exp(-q)}
    program = cp.Problem(cp.Minimize(data.counts @ each[loss]() + decay * norms), inside)
    return program.solve(solver=cp.CLARABEL)


@pytest.mark.parametrize("leak", [0.0, 0.3])
@pytest.mark.parametrize("loss", LOSSES)
def test_few_cells_reach_what_all_cells_reach(loss, leak) -> None:
    for seed, decay in ((1, 0.02), (2, 0.2)):
        data = problem(seed, loss, weighted=seed == 2)
        solution = convex.regularised(data, decay, loss=loss, leak=leak)
        check_solution(data, solution)
        assert solution.value == pytest.approx(enumerated(data, decay, loss, leak), rel=1e-6)


@pytest.mark.parametrize(("seed", "loss", "leak", "share"), [(4, "squared", 0.0, 1e-4), (5, "logistic", 0.9, 1e-3)])
def test_small_decay_and_inputs_of_any_size_are_solved(seed, loss, leak, share) -> None:
    small = problem(seed, loss, n=9, d=3)
    for size in (1e-3, 1e3):
        data = rf.Dataset(size * small.X, small.y)
        solution = convex.regularised(data, share * size, loss=loss, leak=leak)
        check_solution(data, solution)
        # u takes the factor back: γ|u| is the same.
        assert solution.value == pytest.approx(convex.regularised(small, share, loss=loss, leak=leak).value, rel=1e-9)


@pytest.mark.parametrize("seed", [1, 4, 35])
def test_samples_whose_sizes_differ_by_thousands_are_solved(seed) -> None:
    # Of a large sample that is fitted λ = y - f is all rounding of f, unless the neurons are asked for it.
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((6, 3)) * 10.0 ** rng.uniform(-2, 2, (6, 1))
    data = rf.Dataset(X, rng.standard_normal(6))
    check_solution(data, convex.regularised(data, 0.01, loss="squared"))


@pytest.mark.parametrize("loss", LOSSES)
def test_integer_data_with_many_boundaries_through_a_neuron_are_solved(loss) -> None:
    X = np.array([[a, b, c] for a in (-1, 0, 1) for b in (0, 1) for c in (1, 2)], dtype=float)
    y = np.where((X[:, 0] * (X[:, 1] - 0.5)) > 0, 1.0, -1.0)
    data = rf.Dataset(X, y)
    check_solution(data, convex.regularised(data, 0.1, loss=loss))


# --- what has to agree -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", ["squared", "exponential", "logistic"])
def test_samples_that_cancel_are_best_left_at_zero(loss) -> None:
    for seed in range(8):
        rng = np.random.default_rng(seed)
        x = rng.standard_normal(3)
        data = rf.Dataset([x, 3 * x], [1.0, -1.0], weights=[3.0, 1.0])
        solution = convex.regularised(data, 0.1, loss=loss)
        zero = {"squared": 0.5, "exponential": 1.0, "logistic": np.log(2.0)}[loss]
        assert solution.success
        assert len(solution.neurons) == 0
        assert (solution.value, solution.lower) == pytest.approx((4 * zero, 4 * zero))


@pytest.mark.parametrize("loss", LOSSES)
def test_the_mean_is_the_sum_with_as_many_times_the_decay(loss) -> None:
    data = problem(7, loss, weighted=True)
    total = data.weights.sum()
    mean = convex.regularised(data, 0.03, loss=loss, reduction="mean")
    check_solution(data, mean)
    whole = convex.regularised(data, 0.03 * total, loss=loss)
    assert mean.value == pytest.approx(whole.value / total, rel=1e-9)
    np.testing.assert_allclose(total * mean.duals, whole.duals, atol=1e-7)


@pytest.mark.parametrize("loss", LOSSES)
def test_weights_count_as_copies_and_zero_leaves_a_sample_out(loss) -> None:
    data = problem(8, loss, n=4)
    counts = [2, 0, 1, 3]
    weighted = rf.Dataset(data.X, data.y, weights=counts)
    copies = rf.Dataset(np.repeat(data.X, counts, axis=0), np.repeat(data.y, counts))
    one, other = (convex.regularised(each, 0.1, loss=loss) for each in (weighted, copies))
    check_solution(weighted, one)
    assert one.value == pytest.approx(other.value, rel=1e-9)
    assert one.duals[1] == 0
    np.testing.assert_allclose(np.repeat(one.outputs, counts), other.outputs, atol=1e-7)


def test_the_least_norm_appears_as_the_decay_of_the_exponential_loss_vanishes() -> None:
    # With margins q/P* each the objective is n e^-t + γ P* t, least at t = log(n/(γ P*)), up to lower order.
    data = rf.datasets.wang_pilanci("obtuse")
    least = convex.max_margin(data).value
    solution = convex.regularised(data, 1e-6, loss="exponential")
    check_solution(data, solution)
    margins = data.y * solution.outputs
    assert solution.value / (1e-6 * least * margins.min()) == pytest.approx(1.0, abs=0.1)
    assert 0.5 * solution.network.norm**2 / margins.min() == pytest.approx(least, rel=0.02)


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6), loss=st.sampled_from(LOSSES), leak=st.sampled_from([0.0, 0.2]))
def test_no_feasible_dual_is_above_any_network(seed, loss, leak) -> None:
    rng = np.random.default_rng(seed)
    data = problem(seed, loss, n=int(rng.integers(1, 6)), weighted=True)
    objective = Objective(data.X, data.y, data.counts, loss, leak, 10.0 ** rng.uniform(-3, 1))
    signs = rng.choice([-1.0, 1.0], size=3)
    neurons = rng.normal(size=(3, data.d)) * 10.0 ** rng.uniform(-3, 1)
    raw = objective.admissible(rng.normal(size=data.n) * 10.0 ** rng.uniform(-3, 1))
    norm = convex.dual_feasibility(data, raw, leak=leak)
    duals, lower = objective.scaled(raw, norm.upper)
    assert lower >= 0
    assert lower == pytest.approx(objective.dual_value(duals), rel=1e-12)
    assert lower <= objective.value(neurons, signs) * (1 + 1e-12)
    again = convex.dual_feasibility(data, duals, leak=leak)
    assert again.upper <= objective.decay * (1 + 1e-9)
    for share in (0.5, 0.99, 1.01):
        if share * again.upper <= objective.decay and np.isfinite(other := objective.dual_value(share * duals)):
            assert other <= lower + 1e-9 * abs(lower), "a better scale was left out"


# --- ends and refusals -----------------------------------------------------------------------------------------------


def test_a_time_limit_leaves_bounds_that_hold() -> None:
    rng = np.random.default_rng(0)
    data = rf.Dataset(rng.normal(size=(40, 8)), rng.normal(size=40))
    solution = convex.regularised(data, 0.1, loss="squared", max_seconds=1e-3)
    assert solution.status == "time_limit"
    assert "time limit of 0.001 s" in solution.message
    assert 0 <= solution.lower < solution.value <= 0.5 * data.y @ data.y
    assert solution.stats.n_rounds >= 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"weight_decay": 0.0}, "weight_decay must be a finite number above 0, found 0.0"),
        ({"weight_decay": -1}, "weight_decay must be a finite number above 0, found -1.0"),
        ({"loss": "hinge"}, "loss must be one of 'logistic', 'exponential', 'squared', found 'hinge'"),
        ({"reduction": "max"}, "reduction must be one of 'sum', 'mean', found 'max'"),
        ({"leak": 1.0}, r"leak must lie in \[0, 1\), found 1.0"),
        ({"gap_tol": 0}, "gap_tol must be a finite number above 0, found 0"),
        ({"max_seconds": -1}, "max_seconds must be a finite number above 0, found -1.0"),
        ({"data": [[1.0]]}, r"data must be a reluflow\.Dataset, found a value of type list"),
        ({"data": rf.Dataset([[1.0]], [0.5])}, r"data\.y must hold \+1 and -1 only for the logistic loss"),
    ],
)
def test_bad_arguments_are_named(arguments, message) -> None:
    options = {"data": rf.Dataset([[1.0]], [1]), "weight_decay": 0.1, **arguments}
    with pytest.raises(ValueError, match=message):
        convex.regularised(options.pop("data"), options.pop("weight_decay"), **options)


def test_a_solution_shows_itself_in_a_line_and_in_a_notebook() -> None:
    solution = convex.regularised(rf.Dataset([[2.0]], [1.0]), 0.5, loss="squared")
    assert repr(solution) == "RegularisedSolution(optimal, value=0.21875, gap=0.0e+00, 1 neurons)"
    shown = solution._repr_html_()
    assert "0.21875; no network has less than 0.21875" in shown
    assert "squared, sum, weight decay 0.5" in shown
