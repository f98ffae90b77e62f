"""Certificates of planted networks: the verdicts that the papers prove, with their numbers and ways down."""

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import reluflow as rf
from reluflow import convex
from reluflow._least_distance import nonnegative
from reluflow.convex import _conic


def phi(Z, leak):
    return np.maximum(Z, leak * Z)


def check_kkt(net, data, found, tol=1e-9):
    """The multipliers satisfy every line of the KKT system of the scaled network, worked out from their definition."""
    q = data.y * net(data.X)
    assert q.min() == pytest.approx(1, rel=1e-12)
    assert (data.y * found.duals >= -tol).all()
    assert np.abs(found.duals * (q - 1)).max() < tol
    Z = net.W @ data.X.T
    assert ((found.slopes >= net.leak - tol) & (found.slopes <= 1 + tol)).all()
    clear = ~found.boundaries
    np.testing.assert_array_equal(found.slopes[clear], np.where(Z > 0, 1.0, net.leak)[clear])
    pulls = (found.slopes * found.duals) @ data.X
    np.testing.assert_allclose(net.W, net.a[:, None] * pulls, atol=tol)
    np.testing.assert_allclose(net.a, phi(Z, net.leak) @ found.duals, atol=tol)
    # Euler: Σ λ_i y_i = ½|θ|².
    assert data.y @ found.duals == pytest.approx(0.5 * net.norm**2, rel=1e-9)


def check_improvement(certificate, data):
    """Feasible networks of falling norm that start at the network."""
    path = certificate.improvement
    start = path.network(0.0)
    np.testing.assert_allclose(
        np.abs(start.a)[:, None] * start.W, np.abs(certificate.network.a)[:, None] * certificate.network.W, atol=1e-12
    )
    values = [certificate.value]
    for t in (1e-6, 1e-3, 0.1, 0.5, 1.0):
        net = path.network(t)
        assert (data.y * net(data.X)).min() >= 1 - 1e-12
        assert path.value(t) == pytest.approx(0.5 * net.norm**2)
        assert path.value(t) <= certificate.value + t * path.slope + 1e-12
        values.append(path.value(t))
    assert (np.diff(values) < 0).all()
    near = path.network(1e-8)
    assert np.linalg.norm(near.theta - start.theta) < 1e-3


# --- the theorems of [VSS] -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("theorem", "is_local", "dual_norm"),
    [("3.2", False, 2.061553), ("4.2", False, math.sqrt(2)), ("4.3", True, 2.061553)],
)
def test_each_vardi_limit_is_the_kkt_point_that_the_paper_proves(theorem, is_local, dual_norm):
    case = rf.datasets.vardi_shamir_srebro(theorem)
    certificate = rf.certify(rf.Network(*case.limit), case.data)
    assert certificate.verdict == "kkt_not_global", certificate.message
    assert certificate.local_optimum is is_local, certificate.local_reason
    assert 2 * certificate.value == pytest.approx(case.limit_norm2, rel=1e-12)
    assert 2 * certificate.lower == pytest.approx(case.global_norm2, rel=1e-9)
    assert 2 * certificate.upper == pytest.approx(case.global_norm2, rel=1e-9)
    np.testing.assert_allclose(certificate.kkt.duals, case.multipliers, atol=1e-9)
    check_kkt(certificate.network, case.data, certificate.kkt)
    assert certificate.dual_norm_lower == pytest.approx(dual_norm, abs=1e-6)
    # P/v <= P* <= P for KKT multipliers.
    assert certificate.value / certificate.dual_norm_upper <= certificate.lower * (1 + 1e-9)
    if is_local:
        assert certificate.improvement is None
        assert "Theorem 4.3" in certificate.local_reason
    else:
        check_improvement(certificate, case.data)


def test_the_paths_of_the_paper_are_no_better_than_allowed_by_the_certificate():
    case = rf.datasets.vardi_shamir_srebro("4.2")
    certificate = rf.certify(rf.Network(*case.limit), case.data)
    for e in (0.01, 0.1, 0.3, 0.5):
        better = rf.Network(*case.better(e))
        assert 0.5 * better.norm**2 < certificate.value
        assert rf.certify(better, case.data).value >= certificate.lower


def test_unbounded_suboptimality_is_certified():
    # [VSS, Remark 3.1]: as h -> 0 the limit is worse than the optimum by any factor.
    ratios = []
    for h in (0.25, 0.1, 0.01):
        case = rf.datasets.vardi_shamir_srebro("3.2", h=h)
        certificate = rf.certify(rf.Network(*case.limit), case.data)
        assert certificate.verdict == "kkt_not_global"
        ratios.append(math.sqrt(certificate.value / certificate.lower))
    np.testing.assert_allclose(ratios, [1.4358, 2.2416, 7.0712], atol=1e-4)


# --- [LLWA] ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("leak", [0, 0.1, 0.25, 0.5, 0.75, 0.9])
def test_the_nonlinear_kkt_point_of_lyu_is_certified_at_every_leak(leak):
    # Its neurons stand on boundaries, with a subgradient there that the certificate has to find.
    case = rf.datasets.lyu_kkt(leak=leak)
    certificate = rf.certify(rf.Network(*case.limit, leak=leak), case.data)
    assert certificate.verdict == "kkt_not_global"
    assert certificate.kkt.boundaries.any()
    check_kkt(certificate.network, case.data, certificate.kkt)
    assert 2 * certificate.value == pytest.approx(case.limit_norm2, rel=1e-12)
    assert 2 * certificate.lower == pytest.approx(case.global_norm2, rel=1e-9)
    assert certificate.margin == pytest.approx(0.5 / certificate.value)
    # It is not even a local optimum, which the paper does not say.
    assert certificate.local_optimum is False
    check_improvement(certificate, case.data)


def test_the_linear_classifier_is_the_global_optimum_on_symmetric_data():
    data = rf.datasets.lyu_figure1("left", leak=0.5)
    w = np.array([1.0, 0.0])
    certificate = rf.certify(rf.Network([w, -w], [1, -1], leak=0.5), data)
    assert certificate.verdict == "global", certificate.message
    assert certificate.margin == pytest.approx(1.5 / 4, rel=1e-9)
    # The paper's (w, -w, 1, -1)/4 has norm 1/2; as a direction it is the same network.
    assert rf.certify(rf.Network([w / 4, -w / 4], [0.25, -0.25], leak=0.5), data).verdict == "global"


@pytest.mark.parametrize("panel", ["middle", "right"])
def test_one_leaky_neuron_is_a_local_optimum_of_its_width_and_not_global(panel):
    data = rf.datasets.lyu_figure1(panel)
    w = convex.leaky_linear_margin(data, leak=0.5).plus.w
    size = math.sqrt(np.linalg.norm(w))
    certificate = rf.certify(rf.Network([w / size], [size], leak=0.5), data)
    assert certificate.verdict == "kkt_not_global"
    assert certificate.local_optimum is True
    assert "neurons, this one 1" in certificate.message
    # With one more neuron, at zero, there is a way down.
    wider = rf.certify(rf.Network([w / size, 0 * w], [size, 0], leak=0.5), data)
    assert wider.local_optimum is False
    check_improvement(wider, data)


# --- [WP] ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("example", ["obtuse", "spike_free", "acute"])
def test_optimal_networks_are_certified_global(example):
    data = rf.datasets.wang_pilanci(example)
    solution = convex.max_margin(data)
    net = convex.to_network(solution, width=10)
    for scale in (1.0, 1e-5, 1e5):
        certificate = rf.certify(rf.Network(scale * net.W, scale * net.a), data)
        assert certificate.verdict == "global", certificate.message
        assert certificate.value == pytest.approx(solution.value, rel=1e-9)
        assert certificate.gap <= 1e-9
        assert certificate.dual_norm_upper <= 1 + 1e-9  # [WP, Theorem 3]
        assert certificate.local_optimum is True


def test_three_orthogonal_classes_can_end_at_a_point_that_is_not_global():
    # [WP, Theorem 2] says global; class 0 against the rest with one neuron a sample is a KKT point of value 3.
    data = rf.Dataset(np.eye(3), [1, -1, -1])
    certificate = rf.certify(rf.Network(np.eye(3), [1, -1, -1]), data)
    assert certificate.verdict == "kkt_not_global"
    assert certificate.value == pytest.approx(3)
    assert certificate.lower == pytest.approx(1 + math.sqrt(2), rel=1e-9)
    assert certificate.dual_norm_lower == pytest.approx(math.sqrt(2), rel=1e-12)
    np.testing.assert_allclose(certificate.kkt.duals, [1, -1, -1], atol=1e-12)
    assert certificate.local_optimum is False
    check_improvement(certificate, data)


@pytest.mark.parametrize("cosine", [-0.17, -0.3, -0.45])
def test_three_obtuse_classes_end_at_a_local_optimum_that_is_not_global(cosine):
    # Here no pre-activation is zero, so the false limit is stable.
    X = np.linalg.cholesky(np.full((3, 3), cosine) + (1 - cosine) * np.eye(3))
    data = rf.Dataset(X, [1, -1, -1])
    certificate = rf.certify(rf.Network(X, [1, -1, -1]), data)
    assert certificate.verdict == "kkt_not_global"
    assert certificate.value == pytest.approx(3)
    assert certificate.local_optimum is True


def test_all_neurons_of_one_sign_cannot_separate_two_classes():
    # With random signs this has probability 2^-m > 0, against the "almost all" of [WP, Theorem 4].
    data = rf.datasets.wang_pilanci("obtuse")
    certificate = rf.certify(rf.Network(data.X, [1, 1]), data)
    assert certificate.verdict == "not_kkt"
    assert "does not separate" in certificate.message
    assert certificate.kkt is None
    assert certificate.value == np.inf


# --- other verdicts and properties -----------------------------------------------------------------------------------


def test_a_network_that_separates_but_is_no_kkt_point_is_told_by_its_residual():
    data = rf.datasets.wang_pilanci("obtuse")
    certificate = rf.certify(rf.Network(data.X, [1, -1]), data)
    assert certificate.verdict == "not_kkt"
    assert certificate.kkt.residual > 0.01
    assert certificate.local_optimum is False
    assert certificate.lower <= 1.282433 <= certificate.value


def test_the_residual_measures_the_distance_from_a_kkt_point():
    case = rf.datasets.vardi_shamir_srebro("4.3")
    net = rf.Network(*case.limit)
    rng = np.random.default_rng(0)
    for size in (1e-3, 1e-5, 1e-7):
        moved = rf.Network(net.W + size * rng.standard_normal(net.W.shape), net.a)
        certificate = rf.certify(moved, case.data, support_tol=100 * size)
        assert 0.01 * size < certificate.kkt.residual < 30 * size
        assert certificate.verdict == "not_kkt"
        assert rf.certify(moved, case.data, support_tol=100 * size, kkt_tol=100 * size).verdict == "kkt_not_global"


def test_an_unbalanced_optimum_is_no_kkt_point():
    data = rf.datasets.wang_pilanci("spike_free")
    net = convex.to_network(convex.max_margin(data))
    certificate = rf.certify(rf.Network(2 * net.W, 0.5 * net.a), data)
    assert certificate.verdict == "not_kkt"
    assert certificate.kkt.balance > 0.1


def test_bounds_that_do_not_meet_to_the_tolerance_leave_the_verdict_open():
    # At this price (P* above 1000) rounding leaves a gap of some 1e-13.
    data = rf.Dataset([[1, 0], [1, 1e-3]], [1, -1])
    net = convex.to_network(convex.max_margin(data))
    assert rf.certify(net, data).verdict == "global"
    strict = rf.certify(net, data, gap_tol=1e-18)
    assert strict.verdict == "undecided", strict.message
    assert 0 < strict.gap < 1e-9
    assert strict.lower < strict.upper <= strict.value


def test_a_time_limit_leaves_the_bounds_found_by_then():
    case = rf.datasets.vardi_shamir_srebro("4.3")
    certificate = rf.certify(rf.Network(*case.limit), case.data, max_seconds=1e-9)
    assert certificate.convex.status == "time_limit"
    assert certificate.lower <= case.global_norm2 / 2 <= certificate.upper
    # The multipliers alone prove P/v.
    assert certificate.lower >= certificate.value / certificate.dual_norm_upper - 1e-12


def test_a_solver_that_the_time_limit_ends_in_the_first_round_has_not_failed(monkeypatch: pytest.MonkeyPatch):
    answer = _conic._answer

    def too_late(*args: Any) -> _conic.Answer:
        return answer(*args)._replace(usable=False, status="MaxTime")

    monkeypatch.setattr(_conic, "_answer", too_late)
    case = rf.datasets.vardi_shamir_srebro("4.3")
    certificate = rf.certify(rf.Network(*case.limit), case.data, max_seconds=1e-9)
    assert certificate.convex.status == "time_limit"
    assert certificate.lower <= case.global_norm2 / 2 <= certificate.upper


def test_splitting_permuting_and_zero_neurons_change_no_verdict():
    case = rf.datasets.lyu_kkt(leak=0.25)
    net = rf.Network(*case.limit, leak=0.25)
    # Each neuron in two parts of one direction, c² + s² = 1, in another order.
    c, s = 0.6, 0.8
    split = rf.Network(np.vstack((c * net.W, s * net.W))[::-1], np.concatenate((c * net.a, s * net.a))[::-1], leak=0.25)
    one, two = rf.certify(net, case.data), rf.certify(split, case.data)
    assert one.verdict == two.verdict
    assert two.value == pytest.approx(one.value, rel=1e-12)
    check_kkt(two.network, case.data, two.kkt)
    assert two.local_optimum is False
    check_improvement(two, case.data)


def test_random_optima_are_global_and_their_neighbours_are_not_kkt():
    n_global = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        n, d = int(rng.integers(3, 8)), int(rng.integers(2, 4))
        leak = (0.0, 0.3)[seed % 2]
        data = rf.Dataset(rng.standard_normal((n, d)), rng.choice([-1.0, 1.0], n))
        solution = convex.max_margin(data, leak=leak)
        if not solution.success:
            continue
        net = convex.to_network(solution)
        certificate = rf.certify(net, data)
        assert certificate.verdict == "global", (seed, certificate.message)
        assert certificate.kkt.residual < 1e-6, seed
        moved = rf.Network(net.W + 0.01 * rng.standard_normal(net.W.shape), net.a, leak=leak)
        far = rf.certify(moved, data)
        assert far.verdict == "not_kkt", seed
        n_global += 1
    assert n_global > 30


PLANTED = {
    "4.2": lambda: rf.datasets.vardi_shamir_srebro("4.2"),
    "4.3": lambda: rf.datasets.vardi_shamir_srebro("4.3"),
    "lyu": lambda: rf.datasets.lyu_kkt(leak=0.25),
    "classes": lambda: SimpleNamespace(
        data=rf.Dataset(np.eye(3), [1, -1, -1]), limit=(np.eye(3), [1, -1, -1]), leak=0.0
    ),
}


@pytest.mark.parametrize(("name", "is_local"), [("4.2", False), ("4.3", True), ("lyu", False), ("classes", False)])
def test_random_small_moves_agree_about_local_optimality(name, is_local):
    case = PLANTED[name]()
    W, a = np.array(case.limit[0]), np.array(case.limit[1])
    certificate = rf.certify(rf.Network(W, a, leak=case.leak), case.data)
    assert certificate.local_optimum is is_local
    rng = np.random.default_rng(0)
    dW, da = rng.standard_normal((50_000, *W.shape)), rng.standard_normal((50_000, len(a)))
    W, a = W + 1e-3 * dW, a + 1e-3 * da
    margins = case.data.y * np.einsum("km,kmn->kn", a, phi(np.einsum("kmd,nd->kmn", W, case.data.X), case.leak))
    values = 0.5 * (np.sum(W**2, axis=(1, 2)) + np.sum(a**2, axis=1)) / margins.min(axis=1)
    assert (values.min() >= certificate.value - 1e-9) == is_local


# --- what is accepted ------------------------------------------------------------------------------------------------


def test_a_solution_is_read_at_its_limit_or_else_its_final_state():
    case = rf.datasets.vardi_shamir_srebro("4.3")
    limit, other = rf.Network(*case.limit), rf.Network(*case.start)
    at_limit = SimpleNamespace(limit=SimpleNamespace(network=limit, certified=True, margin=0.1), final=other)
    no_limit = SimpleNamespace(limit=None, final=other)
    assert rf.certify(at_limit, case.data).value == pytest.approx(5)
    assert rf.certify(no_limit, case.data).value == rf.certify(other, case.data).value


@pytest.mark.parametrize(
    ("solution", "message"),
    [
        ("net", "solution must be a Network or hold one in .limit.network or .final, found a str"),
        (rf.Network([[1.0, 0.0, 0.0]], [1.0]), "net must have 2 inputs, as the data have, found 3"),
    ],
)
def test_other_arguments_are_refused_by_name(solution, message):
    with pytest.raises(ValueError, match=message):
        rf.certify(solution, rf.Dataset(np.eye(2), [1, -1]))


def test_tolerances_must_be_positive():
    case = rf.datasets.vardi_shamir_srebro("4.3")
    for name in ("kkt_tol", "gap_tol", "support_tol", "wall_tol"):
        with pytest.raises(ValueError, match=f"{name} must be a finite number above 0"):
            rf.certify(rf.Network(*case.limit), case.data, **{name: 0.0})


def test_a_limit_on_a_boundary_that_its_pattern_has_not_reached_is_on_it():
    # The flow comes to both boundaries from the inactive side, along which the norm does not fall.
    data = rf.Dataset([[0.0, 1.0], [-3.0, 1.0], [3.0, 1.0]], [-1, -1, -1])
    W = np.array([[-1.0, 3.0], [1.0, 3.0]]) / np.sqrt(10)
    plain = rf.certify(rf.Network(W, [-1.0, -1.0]), data)
    carried = rf.certify(rf.Network(W, [-1.0, -1.0], pattern=[[1, 1, -1], [1, -1, 1]]), data)
    for certificate in (plain, carried):
        assert certificate.verdict == "kkt_not_global"
        assert certificate.kkt.residual < 1e-12
        assert certificate.local_optimum is False
        assert certificate.improvement.value(0.1) < certificate.value


@pytest.mark.parametrize("size", [1e-90, 1e-6, 1e6, 1e90])
def test_a_way_down_is_found_in_any_unit_of_the_inputs(size):
    for X, W, a in (
        ([[1.0, 0.25], [-1.0, 0.25]], [[0.0, 2.0], [0.0, 0.0]], [2.0, 0.0]),
        ([[0.0, 1.0], [-3.0, 1.0], [3.0, 1.0]], [[-1.0, 3.0], [1.0, 3.0]], [np.sqrt(10), np.sqrt(10)]),
    ):
        data = rf.Dataset(size * np.array(X), np.ones(len(X)))
        certificate = rf.certify(rf.Network(np.array(W) / np.sqrt(size), np.array(a) / np.sqrt(size)), data)
        assert (certificate.verdict, certificate.local_optimum) == ("kkt_not_global", False)
        assert certificate.improvement.value(0.1) < certificate.value
        assert (certificate.improvement.network(0.1)(data.X) >= 1 - 1e-9).all()


@pytest.mark.parametrize("c", [3, 6, 12])
def test_a_least_margin_that_is_rounding_has_a_certificate(c):
    """Scaled to one, it came out as 1.2: no sample was left to have a multiplier, and the process ended in scipy."""
    net = rf.Network([[1.0, 0.1 * c], [1.0, 0.3 * c]], [0.3, -0.1])
    data = rf.Dataset([[0.0, 1.0], [1.0, 0.0]], [1, 1])
    assert 0 < net(data.X)[0] < 1e-16
    certificate = rf.certify(net, data)
    assert certificate.verdict == "not_kkt"


@pytest.mark.parametrize("shape", [(3, 0), (0, 2), (0, 0)])
def test_least_squares_of_nothing_are_zero(shape):
    """Without columns scipy 1.17 ends the process; without rows its solution is whatever the memory held."""
    np.testing.assert_array_equal(nonnegative(np.zeros(shape), np.ones(shape[0])), np.zeros(shape[1]))
