"""The claims of [VSS]: their helpers against closed forms, and the claims themselves in their quick size."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest

import reluflow as rf
from reluflow.papers import Context
from reluflow.papers._claim import verdict
from reluflow.papers.vardi import CLAIMS
from reluflow.papers.vardi import _checks as checks
from reluflow.papers.vardi import _conserved as conserved
from reluflow.papers.vardi import _deep_linear as deep_linear
from reluflow.papers.vardi import _frozen as frozen
from reluflow.papers.vardi import _linear as linear
from reluflow.papers.vardi import _other_networks as other
from reluflow.papers.vardi import _search as search
from reluflow.papers.vardi import _tables as tables

# The rows of the catalogue that this paper has.
ROWS = {
    *("S002-3.1", "S002-3.2", "S002-R3.1", "S002-4.1", "S002-4.2", "S002-4.4", "S002-5.1", "S002-5.3", "S002-C6"),
    *("B-002-2.1", "B-002-C1..C3", "B-002-C4", "B-002-C5", "B-002-(4)", "B-002-(8)", "B-002-(11)", "B-002-T1/T2"),
    *("B-002-R3.1/R3.2", "B-002-R4.1", "002 Fig 1", "002 Table 1", "002 Table 2", "D-23", "D-24", "D-25", "D-26"),
}


def test_every_row_of_the_paper_is_accounted_for():
    assert {row for claim in CLAIMS for row in claim.rows} == ROWS
    assert not [claim.id for claim in CLAIMS if claim.expected == "open"]
    assert {claim.id for claim in CLAIMS if claim.expected == "differs"} == {"VSS-T2.1"}
    assert {claim.id for claim in CLAIMS if claim.expected == "misprint"} == {"VSS-D24"}


def test_gradients_are_those_of_the_polynomial():
    def margins(theta):
        return np.array([theta[0] ** 2 * theta[1], theta[1] ** 3])

    assert np.allclose(checks.gradients(margins, np.array([2.0, 3.0])), [[12, 4], [0, 27]], rtol=1e-15)


@pytest.mark.parametrize(
    ("theta", "duals", "residual"),
    [
        ([1.0, 1.0], [1.0], 0.0),  # the KKT point of min ½|θ|², θ_1 θ_2 >= 1
        ([1.0, 1.0], [1.1], 0.1),  # wrong multiplier: θ - λ∇ = -0.1
        ([1.1, 1.1], [1.0], 0.21),  # complementarity: λ (1.21 - 1)
        ([0.9, 0.9], [1.0], 0.19),  # infeasible
        ([0.0, 0.0], [-0.5], 1.0),  # nothing but violations
    ],
)
def test_the_kkt_residual_is_the_largest_violation(theta, duals, residual):
    found = checks.kkt_residual(lambda point: np.array([point[0] * point[1]]), np.array(theta), duals)
    assert found == pytest.approx(residual, abs=1e-12)


def test_a_construction_that_is_moved_is_no_kkt_point_any_more():
    case = rf.datasets.vardi_shamir_srebro("4.3")

    def margins(theta):
        W, a = np.reshape(theta[:4], (2, 2)), theta[4:]
        return checks.relu(case.data.X @ W.T) @ a

    theta = np.concatenate((case.limit.W.ravel(), case.limit.a))
    assert checks.kkt_residual(margins, theta, case.multipliers) < 1e-14
    assert checks.kkt_residual(margins, theta, case.multipliers + 0.01) > 0.009


def test_the_other_networks_are_their_formulas():
    rng = np.random.default_rng(0)
    x, theta = rng.standard_normal(3), rng.standard_normal(9)
    layers = theta.reshape(3, 3)
    assert other.diagonal(x, 3, other.identity)(theta)[0] == pytest.approx(float(layers.prod(axis=0) @ x))
    hidden = np.maximum(layers[1] * np.maximum(layers[0] * x, 0), 0)
    assert other.diagonal(x, 3, checks.relu)(theta)[0] == pytest.approx(float(layers[2] @ hidden))
    patches, filters = rng.standard_normal((2, 3)), rng.standard_normal(5)
    expected = sum(filters[3 + j] * max(float(filters[:3] @ patches[j]), 0.0) for j in (0, 1))
    assert other.convolution(patches, checks.relu)(filters)[0] == pytest.approx(expected)


def test_a_deep_linear_network_multiplies_its_layers():
    rng = np.random.default_rng(1)
    X, y = rng.standard_normal((4, 2)), np.array([1.0, -1.0, 1.0, -1.0])
    first, second = rng.standard_normal((3, 2)), rng.standard_normal((1, 3))
    found = other.deep_linear(X, y, (2, 3, 1))(np.concatenate((first.ravel(), second.ravel())))
    assert np.allclose(found, y * (X @ first.T @ second.T)[:, 0])


@pytest.mark.parametrize("depth", [2, 3, 5])
def test_the_point_of_theorem_3_1_has_the_max_margin_predictor_and_layers_of_one_norm(depth):
    margins, theta, duals, bound = linear.deep_point(depth, np.random.default_rng(depth))
    assert checks.kkt_residual(margins, theta, duals) < 1e-10
    assert theta @ theta == pytest.approx(bound, rel=1e-12)
    assert duals.sum() == pytest.approx(bound / depth)  # Euler: Σλ_i = |θ|²/m


def test_layers_of_rank_one_that_are_aligned_reach_the_bound_and_others_do_not():
    rng = np.random.default_rng(3)
    X = rng.standard_normal((6, 3))
    y = np.sign(X @ rng.standard_normal(3))
    best = rf.convex.svm(rf.Dataset(X, y))
    run = SimpleNamespace(log_t=np.array([1.0, 2.0]), status="reached_log_time", log_loss=np.array([-1.0, -2.0]))
    widths = (3, 4, 4, 1)
    flat = other.aligned_layers(best.w, 2.0, widths, rng)
    layers = [W.reshape(n, k) for W, n, k in zip(np.split(flat, [12, 28]), widths[1:], widths[:-1], strict=True)]
    moved = [W + 0.1 * rng.standard_normal(W.shape) for W in layers]
    course = deep_linear._course([moved, layers], X, y, run)
    assert course.depth == 3
    for values in (course.rank, course.turn, course.angle, course.excess(), course.spread):
        assert abs(values[1]) < 1e-7 < 1e-3 < values[0]
    assert course.norms[1] == pytest.approx([course.size] * 3, rel=1e-7)
    assert course.excess(0.9)[1] == pytest.approx(1 / 0.9 - 1, rel=1e-7)


def test_a_run_that_ends_otherwise_is_counted_and_measured_all_the_same():
    """Half of the runs of a kind were enough, and the others were left out."""
    right = [conserved.Drift(kind, "reached_time", True, 1e-12, 1e-12, 0.5, 0.5) for kind in conserved.KINDS]
    other = conserved.Drift("sparse", "undecided_event", False, 0.9, 0.9, 0.95, 0.95)
    numbers = {number.name: number for number in conserved.drift_numbers([*right, other])}
    assert numbers["sparse: how the others ended"].value == "undecided_event 1"
    assert numbers["sparse: runs of 2 that ended as asked or at rest"].value == 1
    drifts = [number for name, number in numbers.items() if "drift" in name]
    assert len(drifts) == 7
    off = [name for name, number in numbers.items() if number.ok is False]
    assert len(off) == 3
    assert all(name.startswith("sparse") for name in off)


@pytest.mark.parametrize("kind", conserved.KINDS)
def test_squares_of_layers_and_neurons_are_those_of_the_weights(kind):
    net = rf.DeepNetwork.init(conserved.network(kind, 3, "relu"), dim=conserved.INPUTS, seed=1)
    run = SimpleNamespace(theta=np.array([net.theta, 2 * net.theta]), initial=net)
    layers, neurons = conserved._squares(run, kind)
    assert layers.sum(axis=1) == pytest.approx([net.norm**2, 4 * net.norm**2])
    if neurons is None:
        assert kind == "shared filter"
        return
    W = [layer.W for layer in net.layers]
    assert neurons[0, 0, 0] == pytest.approx(float(W[0][0] @ W[0][0]))
    assert neurons[1, 1, -1] == pytest.approx(4 * float(W[2][0, -1] ** 2))


def test_exponents_are_those_of_powers_of_the_margin():
    q = np.geomspace(10, 100, deep_linear.SHOWN + 1)
    empty = np.zeros_like(q)
    norms = np.ones((len(q), 4))
    course = deep_linear.Course(q, q, empty, empty, empty, empty, norms, "", (0.0, 0.0), 1.0)
    assert course.exponent(q**-0.25) == pytest.approx(-1)
    assert course.exponent(empty + 3.0) == 0


def test_the_chance_of_the_open_set_counts_both_orders_of_the_neurons():
    data = rf.datasets.vardi_shamir_srebro("3.2").data
    hits, members = frozen._draw(data, np.random.default_rng(3), 400_000, 50)
    chance = (math.acos(15 / 17) / (2 * math.pi)) ** 2  # the cone has the angle π - ∠(x_1, x_2), cos ∠ = -15/17
    assert abs(hits / 400_000 - chance) < 4 * math.sqrt(chance / 400_000)
    assert len(members) == 50
    for W, v in members:
        assert (data.X @ W[0] > 0).all()
        assert (data.X @ W[1] < 0).all()
        assert v[0] > 0


def test_a_point_that_is_no_kkt_point_or_has_no_smaller_neighbours_is_not_called_so():
    margin = other.diagonal(np.ones(2), 3, other.identity)
    even = np.full(6, 2 ** (-1 / 3))
    assert tables.judged_point(margin, even, 2 ** (1 / 3), lambda e: tables.deep_path(3, e)) == "Not local"
    assert tables.judged_point(margin, even, 1.0, lambda e: tables.deep_path(3, e)) == "no KKT point"
    assert tables.judged_point(margin, even, 2 ** (1 / 3), lambda e: even * (1 + e)) == "undecided"


def test_networks_are_scaled_to_least_margin_one():
    data = rf.Dataset([[1.0, 0.0], [0.0, 2.0]], [1, 1])
    network = checks.scaled(rf.Network([[3.0, 0.0], [0.0, 1.0]], [1.0, 2.0]), data)
    assert np.min(network(data.X)) == pytest.approx(1.0)
    assert checks.norm2(network) == pytest.approx((9 + 1 + 1 + 4) / 3)


def test_a_kkt_point_found_by_minimising_is_one_and_the_programs_bound_it():
    rng = np.random.default_rng(3)
    inputs = rng.standard_normal((4, 2, 3))
    y = np.where(inputs.sum(axis=(1, 2)) > 0, 1.0, -1.0)
    margins = other.patches(inputs, y, other.identity)
    theta, duals = search.kkt_point(margins, 8, rng)
    assert checks.kkt_residual(margins, theta, duals) < 1e-5
    sizes = np.linalg.norm(theta[6:, None] * theta[:6].reshape(2, 3), axis=1)
    assert sizes.sum() >= search.least_groups(inputs, y) - 1e-6
    assert search.multipliers(margins, 1.1 * theta)[1] > 0.1


def test_the_least_layer_is_that_of_two_constraints_in_closed_form():
    assert search.least_layer(np.array([[2.0, 0.0], [0.0, 1.0]])) == pytest.approx(1.25)


def test_networks_on_patches_and_several_samples_are_their_formulas():
    rng = np.random.default_rng(4)
    inputs, y, theta = rng.standard_normal((3, 2, 2)), np.array([1.0, -1.0, 1.0]), rng.standard_normal(6)
    expected = [
        y[i] * sum(theta[4 + k] * max(float(inputs[i, k] @ theta[2 * k : 2 * k + 2]), 0.0) for k in (0, 1))
        for i in range(3)
    ]
    assert other.patches(inputs, y, checks.relu)(theta) == pytest.approx(expected)
    X, weights = rng.standard_normal((3, 2)), rng.standard_normal(4)
    assert other.diagonals(X, y, 2, other.identity)(weights) == pytest.approx(y * (X @ (weights[:2] * weights[2:])))
    first, second = weights.reshape(2, 2), rng.standard_normal(2)
    found = other.deep(X, y, (2, 2, 1), checks.relu)(np.concatenate((weights, second)))
    assert found == pytest.approx(y * (np.maximum(X @ first.T, 0) @ second))


def test_runs_of_deep_linear_networks_that_end_early_are_told_of(monkeypatch):
    """They have no last factor ten of log t to take an exponent from, which was an IndexError in the place of a row."""
    monkeypatch.setattr(deep_linear, "Stop", lambda log_time: rf.Stop(log_time=log_time, loss=1e-9))
    claim = next(claim for claim in CLAIMS if claim.id == "VSS-T3.1")
    kind, message = verdict(claim, claim.run(Context(quick=True)))
    assert kind == "failed"
    assert "runs that ended as asked" in message
