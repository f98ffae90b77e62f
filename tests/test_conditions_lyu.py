"""Assumptions of [LLWA]: means, principal direction, networks without positive neurons."""

import math

import numpy as np
import pytest

import reluflow as rf

conditions = rf.conditions
BASE = rf.Dataset([[0.6, 0.3], [0.5, -0.2], [-0.6, 0.2], [-0.5, -0.4]], [1, 1, -1, -1])


def hinted(H):
    return rf.datasets.hinted(BASE, H=H, K=1, eps=0.125)


def middle(far):
    return rf.Dataset(
        [[0.1, 1, 0.05], [0.1, -1, 0.05], [far, 1, 0.05], [far, -1, 0.05], [-1, 0, 0.05]], [1, 1, 1, 1, -1]
    )


def random_data(seed, d=2):
    """Separable data with many samples near one direction, so that the assumptions hold about half of the time."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((5, d))
    X[:, 0] = np.abs(X[:, 0]) * rng.uniform(1, 6) + 0.2
    y = rng.choice([-1.0, 1.0], 5)
    return rf.Dataset(X * y[:, None], y)


def printed_slack(data, leak):
    """Assumption A.2 as printed, in loops."""
    n = data.n
    z = [data.y[i] * data.X[i] for i in range(n)]
    mean = sum(z) / n
    slacks = []
    for i in range(n):
        against = sum(max(-float(z[i] @ z[j]), 0) for j in range(n))
        slacks.append(float(mean @ z[i]) - (1 - leak) / (n * leak) * against)
    return min(slacks)


def test_mean_dominance_is_the_printed_inequality():
    seen = set()
    for seed in range(200):
        data, leak = random_data(seed), [0.1, 0.5, 0.9][seed % 3]
        verdict = conditions.mean_dominance(data, leak=leak)
        assert verdict.value == pytest.approx(printed_slack(data, leak), abs=1e-12)
        assert verdict.holds == (verdict.value > 0)
        seen.add(verdict.holds)
    assert seen == {True, False}


@pytest.mark.parametrize(("far", "slack"), [(20, 0.628), (10, 0.228), (6, -0.0115)])
def test_the_middle_panel_needs_far_samples(far, slack):
    verdict = conditions.mean_dominance(middle(far), leak=0.5)
    assert verdict.value == pytest.approx(slack, abs=5e-4)
    assert verdict.holds == (slack > 0)


@pytest.mark.parametrize(("H", "principal", "dominant"), [(12, False, False), (13, None, True), (47.1, None, True)])
def test_hints_below_the_bound_are_no_proof_of_a_principal_direction(H, principal, dominant):
    assert conditions.mean_dominance(hinted(H), leak=0.5).holds is dominant
    assert conditions.principal_direction(hinted(H), leak=0.5, w=[1, 0]).holds is False
    if principal is False:
        assert conditions.principal_direction(hinted(H), leak=0.5).holds is False


def test_the_max_margin_direction_is_principal_from_the_printed_bound_on():
    bound = rf.datasets.hint_bounds(BASE, H=60, K=1, eps=0.125, leak=0.5).principal
    for H, holds in ((bound * (1 - 1e-6), False), (bound * (1 + 1e-6), True)):
        verdict = conditions.principal_direction(hinted(H), leak=0.5, w=[2, 0])
        assert verdict.holds is holds
        assert verdict.value == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize("weights", [[1.0, 2.0, 3.0, 4.0], [0.5, 0.0, 7.0, 0.1]])
def test_the_bounds_of_hints_count_the_weights_of_the_base(weights):
    base = rf.Dataset(BASE.X, BASE.y, weights=weights)
    w_star = rf.datasets.hinted(base, H=1.0, K=1.0, eps=0.125).X[0]
    bound = rf.datasets.hint_bounds(base, H=60, K=1, eps=0.125, leak=0.5).principal
    for H, holds in ((bound * (1 - 1e-6), False), (bound * (1 + 1e-6), True)):
        data = rf.datasets.hinted(base, H=H, K=1, eps=0.125)
        assert data.weights.tolist() == [1.0, 1.0, 1.0, *weights]
        assert conditions.principal_direction(data, leak=0.5, w=w_star).holds is holds


def test_a_principal_direction_implies_mean_dominance():
    hits = 0
    for seed in range(200):
        data = random_data(seed)
        verdict = conditions.principal_direction(data, leak=0.7)
        if verdict.holds:
            hits += 1
            assert conditions.mean_dominance(data, leak=0.7).holds, seed
            w = verdict.witness.w
            signed = data.X * data.y[:, None]
            off = np.linalg.norm(signed - np.outer(signed @ w, w), axis=1)
            assert off.mean() * off.max() < 0.7 * (signed @ w).min() * (signed.mean(axis=0) @ w)
    assert hits > 20


def test_the_positive_mean_is_larger_where_positive_samples_are():
    data = rf.Dataset([[3.0, 0.0], [0.0, -1.0]], [1, -1])
    verdict = conditions.larger_positive_mean(data, leak=0.5)
    # μ⁺ = ((3, 0) + ½ (0, 1)) / 2, μ⁻ = (½ (3, 0) + (0, 1)) / 2
    assert verdict.witness.positive == pytest.approx([1.5, 0.25])
    assert verdict.witness.negative == pytest.approx([0.75, 0.5])
    assert verdict.value == pytest.approx(1 - math.hypot(0.75, 0.5) / math.hypot(1.5, 0.25))
    assert verdict.holds
    assert not conditions.larger_positive_mean(rf.Dataset(data.X, -data.y), leak=0.5).holds
    assert not conditions.larger_positive_mean(rf.datasets.lyu_figure1("left"), leak=0.5).holds


def test_the_mean_lies_on_the_boundary_of_an_orthogonal_sample():
    verdict = conditions.mean_off_boundaries(rf.Dataset([[1.0, 0.0], [1.0, 1.0], [0.0, 1.0]], [1, 1, -1]))
    assert (verdict.holds, verdict.witness.sample) == (False, 2)
    assert conditions.mean_off_boundaries(rf.datasets.symmetric(8, 2, seed=0)).holds


def test_a_mean_of_zero_lies_on_every_boundary():
    assert not conditions.mean_off_boundaries(rf.Dataset([[1.0], [-1.0]], [1, 1])).holds


def greatest_margin_by_grid(X, y, leak):
    """min over λ of max over u by grids, for at most two samples in the plane."""
    t = np.linspace(0, 2 * np.pi, 20_001)
    u = np.column_stack((np.cos(t), np.sin(t)))
    z = u @ X.T
    terms = -0.5 * y * np.maximum(z, leak * z)
    shares = np.linspace(0, 1, 401) if len(y) == 2 else np.ones(1)
    return min(float((terms @ np.array([s, 1 - s])[: len(y)]).max()) for s in shares)


def test_margins_without_positive_neurons_are_those_of_a_grid():
    counts = {True: 0, False: 0}
    for seed in range(200):
        data, leak = random_data(seed), [0.2, 0.6][seed % 2]
        verdict = conditions.one_sign_margin(data, leak=leak)
        witness = verdict.witness
        X, y = data.X[witness.support], data.y[witness.support]
        assert len(y) <= 2
        v = greatest_margin_by_grid(X, y, leak)
        tol = 5e-3 * np.linalg.norm(X, axis=1).max()  # of the grids
        assert witness.lower <= v + tol, seed
        assert v <= witness.upper + tol, seed
        if abs(v - witness.bound) > tol:
            assert verdict.holds == (v < witness.bound), seed
            counts[verdict.holds] += 1
    assert min(counts.values()) > 30


def test_the_network_of_the_witness_reaches_its_lower_bound_and_the_multipliers_prove_the_upper_one():
    for seed in range(100):
        data = random_data(seed, d=3)
        witness = conditions.one_sign_margin(data, leak=0.4).witness
        X, y = data.X[witness.support], data.y[witness.support]
        z = X @ witness.W.T
        margins = y * (np.maximum(z, 0.4 * z) @ witness.a)
        assert (witness.a <= 0).all()
        assert (witness.W**2).sum() + (witness.a**2).sum() == pytest.approx(1)
        assert margins.min() >= witness.lower - 1e-12
        u = np.random.default_rng(seed).standard_normal((5000, 3))
        z = (u / np.linalg.norm(u, axis=1, keepdims=True)) @ X.T
        assert (-0.5 * np.maximum(z, 0.4 * z) @ (witness.multipliers * y)).max() <= witness.upper + 1e-12


def test_positive_support_makes_the_assumption_hold_and_symmetric_support_makes_it_fail():
    right = conditions.one_sign_margin(rf.datasets.lyu_figure1("right"), leak=0.5)
    assert right.holds
    assert right.witness.bound == pytest.approx(0.0625)
    left = conditions.one_sign_margin(rf.datasets.lyu_figure1("left"), leak=0.5)
    assert not left.holds
    assert left.witness.lower >= left.witness.bound * (1 - 1e-9)


def test_the_middle_panel_has_the_bound_of_its_separator():
    verdict = conditions.one_sign_margin(rf.datasets.lyu_figure1("middle"), leak=0.5)
    assert verdict.holds
    assert verdict.witness.bound == pytest.approx(math.hypot(0.1, 0.05) / 2)


def test_without_leak_a_negative_sample_refutes_the_assumptions():
    data = rf.datasets.lyu_figure1("right")
    assert conditions.one_sign_margin(data, leak=0.0).holds is False
    assert conditions.mean_dominance(data, leak=0.0).value == -math.inf
    assert conditions.principal_direction(data, leak=0.0).value == math.inf


@pytest.mark.parametrize("leak", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("y", [[1, -1], [-1, 1]])
def test_orthonormal_samples_of_both_labels_are_an_exact_tie(leak, y):
    verdict = conditions.one_sign_margin(rf.Dataset(np.eye(2), y), leak=leak)
    assert verdict.holds is False  # a negative neuron does what the positive one does, with the samples exchanged
    assert verdict.witness.bound == pytest.approx(0.5 * leak / math.hypot(1, leak))
    assert verdict.value == pytest.approx(1, abs=1e-8)


def test_large_supports_and_few_cuts_leave_the_question_open():
    digits = rf.datasets.digits(3, 8)
    assert conditions.one_sign_margin(digits, leak=0.5).holds is None
    undecided = [
        seed for seed in range(60) if conditions.one_sign_margin(random_data(seed), leak=0.6, max_cuts=1).holds is None
    ]
    assert undecided
    assert conditions.one_sign_margin(random_data(undecided[0]), leak=0.6).holds is not None


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: conditions.mean_dominance(BASE, leak=1.0), r"leak must lie in \[0, 1\), found 1.0"),
        (
            lambda: conditions.principal_direction(BASE, leak=0.5, w=[0, 0]),
            "w must be a vector of 2 entries, not all 0",
        ),
        (lambda: conditions.principal_direction(BASE, leak=0.5, w=[1, 0, 0]), "w must be a vector of 2 entries"),
        (lambda: conditions.one_sign_margin(BASE, leak=0.5, max_cuts=0), "max_cuts must be an integer of at least 1"),
    ],
)
def test_bad_arguments_are_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_centred_data_have_means_of_equal_norm():
    for seed in range(200):
        data = rf.datasets.centre(random_data(seed, d=3))
        if abs(data.y.sum()) < data.n:
            assert abs(conditions.larger_positive_mean(data, leak=0.3).value) < 1e-12


def test_samples_that_cancel_have_no_mean_and_no_growing_modes():
    rng = np.random.default_rng(0)
    X = np.array([[1.0, 0.0, 1.0], [1.0, 1.0, 1.0], [0.0, 0.0, 1.0]])
    turn, _ = np.linalg.qr(rng.standard_normal((3, 3)))
    for inputs in (X, X @ turn):
        data = rf.Dataset(np.vstack((inputs, inputs)), [-1, -1, -1, 1, 1, 1])
        order = rng.permutation(6)
        for one in (data, rf.Dataset(data.X[order], data.y[order])):
            assert conditions.mean_off_boundaries(one).holds is False
            assert conditions.mean_off_boundaries(one).value == 0
        report = conditions.report(data, rf.Network.init(4, 3, seed=0, leak=0.5))
        theorem = next(row for row in report.theorems if row.source == "[LLWA] Theorem 4.3")
        assert theorem.applies is False


@pytest.mark.parametrize("size", [1e-70, 1e-8, 1e8, 1e70])
def test_the_unit_of_the_inputs_does_not_matter_to_networks_of_one_sign(size):
    decided = 0
    for seed in range(12):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((4, 3))
        y = np.where(X @ rng.standard_normal(3) > 0, 1, -1)
        base = conditions.one_sign_margin(rf.Dataset(X, y), leak=0.5)
        scaled = conditions.one_sign_margin(rf.Dataset(size * X, y), leak=0.5)
        decided += base.holds is not None
        assert scaled.holds == base.holds
        assert scaled.witness.bound == pytest.approx(size * base.witness.bound)
        assert scaled.witness.lower <= scaled.witness.upper * (1 + 1e-9)
        net = rf.Network(scaled.witness.W, scaled.witness.a, leak=0.5)
        S = scaled.witness.support
        rounding = 1e-14 * size  # of outputs: where the margin is zero, the bound is rounding of them
        assert (y[S] * net(size * X[S])).min() >= scaled.witness.lower * (1 - 1e-9) - rounding
    assert decided == 12


def test_a_weight_counts_as_copies_of_the_sample():
    for seed in range(40):
        rng = np.random.default_rng(seed)
        n, d = int(rng.integers(2, 6)), int(rng.integers(1, 4))
        X, y, copies = rng.standard_normal((n, d)), rng.choice([-1, 1], n), rng.integers(0, 4, n)
        copies[0] = 1
        weighted = rf.Dataset(X, y, weights=copies)
        repeated = rf.Dataset(np.repeat(X, copies, axis=0), np.repeat(y, copies))
        net = rf.Network.init(4, d, seed=seed, leak=0.5)
        for condition in (
            conditions.mean_off_boundaries,
            lambda data: conditions.mean_dominance(data, leak=0.5),
            lambda data: conditions.larger_positive_mean(data, leak=0.5),
            lambda data: conditions.principal_direction(data, leak=0.9, w=np.ones(data.d)),
            lambda data, net=net: conditions.sign_condition(data, net),
        ):
            one, other = condition(weighted), condition(repeated)
            assert one.holds == other.holds
            assert one.value == pytest.approx(other.value)


def test_pairs_that_do_not_count_alike_follow_no_linear_function():
    X = np.array([[1.0, 0.3], [0.4, -0.2], [-1.0, -0.3], [-0.4, 0.2]])
    net = rf.Network.init(6, 2, seed=1, leak=0.5)
    for weights, holds in (([2, 1, 2, 1], True), ([2, 1, 1, 1], False)):
        report = conditions.report(rf.Dataset(X, [1, 1, -1, -1], weights=weights), net)
        theorem = next(row for row in report.theorems if row.source == "[LLWA] Theorem 4.3")
        assert ("partners count alike" not in theorem.fails) == holds
        assert theorem.applies == holds
    nothing = rf.Dataset(np.vstack((X, [[5.0, 5.0]])), [1, 1, -1, -1, -1], weights=[1, 1, 1, 1, 0])
    left = conditions.report(nothing, net)
    assert next(row for row in left.theorems if row.source == "[LLWA] Theorem 4.3").applies
