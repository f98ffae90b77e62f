"""Limits of the flow, certified: what Theorem 4 of [WP] promises, and the three places where its statements fail."""

import numpy as np
import pytest

import reluflow as rf
from reluflow import convex

LATE = rf.Stop(log_time=1e6)  # the patterns have settled long before; the polish does the rest


def late(data, net, on_branch="inactive"):
    """A late state. Where a sign is lost the loss stalls, and the run ends where weights leave the doubles."""
    sol = rf.integrate(data, net, until=LATE, on_branch=on_branch)
    assert sol.success or (sol.status == "stalled" and sol.log_t_end > 600), sol.message
    return sol


def at(directions, signs, scale=1e-3):
    """A small balanced start in given directions."""
    W = scale * np.asarray(directions) / np.linalg.norm(directions, axis=1)[:, None]
    return rf.Network(W, scale * np.asarray(signs, dtype=float))


@pytest.mark.parametrize("block", range(5))
def test_orthogonally_separable_limits_are_global_where_both_signs_survive(block):
    n_both = 0
    for seed in range(10 * block, 10 * block + 10):
        rng = np.random.default_rng(seed)
        n, d, m = int(rng.integers(2, 12)), int(rng.integers(2, 6)), int(rng.integers(2, 12))
        data = rf.datasets.orthogonally_separable(n, d, seed=seed)
        sol = late(data, rf.Network.init(m, d, scale=1e-4, seed=seed))
        fits = data.y * sol.final(data.X) > 0
        certificate = rf.certify(sol, data)
        if not fits.all():
            # One sign died: its class stays unfitted, and the network cannot be scaled to margin 1.
            assert len(set(data.y[~fits])) == 1
            assert certificate.verdict == "not_kkt"
            continue
        n_both += 1
        assert certificate.verdict == "global", (seed, certificate.message)
        assert certificate.gap <= 1e-9
        assert certificate.kkt.residual <= 1e-9
        vectors = convex.max_margin_vectors(data)
        assert certificate.value == pytest.approx(sum(np.linalg.norm(v.w) for v in vectors), rel=1e-9)
        # Proposition 4: the multipliers are feasible in the dual.
        assert certificate.dual_norm_upper <= 1 + 1e-9
    assert n_both >= 5


def test_one_lost_sign_is_certified_as_what_it_is():
    # [WP, Theorem 4] says "almost all initialisations": all output weights are positive with probability 2^-m.
    data = rf.datasets.counterexample("corner")
    certificate = rf.certify(late(data, at([[1, 0.2], [0.3, 1]], [1, 1])), data)
    assert certificate.verdict == "not_kkt"
    assert "does not separate" in certificate.message


def test_sliding_neurons_reach_the_global_optimum_without_aligning_as_theorem_1_says():
    # x_1 = (1, 1) is +, x_2 = (0, 3) is -: the positive neuron slides along the boundary of x_2 to (1, 0).
    data = rf.datasets.counterexample("sliding")
    sol = late(data, at([[1.0, 0.5], [-1.0, 1.0]], [1, -1]))
    certificate, net = rf.certify(sol, data), sol.limit.network
    assert certificate.verdict == "global", certificate.message
    assert certificate.value == pytest.approx(1 + np.sqrt(2) / 3, rel=1e-9)
    positive = net.W[np.argmax(net.a)]
    np.testing.assert_allclose(positive / np.linalg.norm(positive), [1, 0], atol=1e-9)
    # The certificate needs the multiplier of the boundary: 1(w·x_2 > 0) gives (1, 1) and 1(w·x_2 >= 0) (1, -0.41).
    assert certificate.kkt.boundaries[np.argmax(net.a)].tolist() == [False, True]
    assert 0 < certificate.kkt.slopes[np.argmax(net.a), 1] <= 1


def test_three_orthogonal_classes_end_at_a_kkt_point_that_is_not_even_locally_optimal():
    # [WP, Theorem 2] says global for K classes: here class 0 of X = I against the rest.
    data = rf.Dataset(np.eye(3), [1, -1, -1])
    # The negative neurons start on each other's boundary, which repels them, and stay there.
    certificate = rf.certify(late(data, at(np.eye(3), [1, -1, -1]), on_branch="stay"), data)
    assert certificate.verdict == "kkt_not_global"
    assert certificate.value == pytest.approx(3, rel=1e-9)
    assert certificate.lower == pytest.approx(1 + np.sqrt(2), rel=1e-9)
    assert certificate.local_optimum is False
    better = certificate.improvement.network(0.01)
    assert (data.y * better(data.X)).min() >= 1 - 1e-12
    assert 0.5 * better.norm**2 < certificate.value


def test_three_obtuse_classes_end_at_a_local_optimum_that_is_not_global():
    X = np.linalg.cholesky(np.full((3, 3), -0.17) + 1.17 * np.eye(3))
    data = rf.Dataset(X, [1, -1, -1])
    certificate = rf.certify(late(data, at(X, [1, -1, -1])), data)
    assert certificate.verdict == "kkt_not_global"
    assert certificate.value == pytest.approx(3, rel=1e-9)
    assert certificate.lower == pytest.approx(2.552301, abs=1e-6)
    assert certificate.local_optimum is True


@pytest.mark.parametrize(("theorem", "value"), [("3.2", 4.0), ("4.3", 5.0)])
def test_the_flow_reaches_the_planted_limits_of_vardi(theorem, value):
    case = rf.datasets.vardi_shamir_srebro(theorem)
    certificate = rf.certify(late(case.data, rf.Network(*case.start)), case.data)
    assert certificate.verdict == "kkt_not_global"
    assert certificate.value == pytest.approx(value, rel=1e-9)
    assert certificate.local_optimum is (theorem == "4.3")


def test_the_final_state_itself_is_judged_with_tolerances_of_its_size():
    data = rf.datasets.wang_pilanci("obtuse")
    sol = rf.integrate(data, at([[1.0, 0.1], [0.0, 1.0]], [1, -1]), until=rf.Stop(log_time=1e3))
    strict = rf.certify(sol.final, data)
    loose = rf.certify(sol.final, data, support_tol=0.1, kkt_tol=0.1, gap_tol=0.1)
    assert strict.verdict == "not_kkt"
    assert loose.verdict == "global"
    assert strict.value == loose.value >= 1.282432


def test_a_state_near_a_local_optimum_is_not_said_to_have_a_way_down():
    # Coming closer to the limit of its own pattern would lower the norm too, but that is within the residual.
    case = rf.datasets.vardi_shamir_srebro("4.3")
    sol = rf.integrate(case.data, rf.Network(*case.start), until=rf.Stop(log_time=1e3))
    near = rf.certify(sol.final, case.data, support_tol=0.1, kkt_tol=0.1)
    assert near.verdict == "kkt_not_global"
    assert 1e-5 < near.kkt.residual < 0.1
    assert near.local_optimum is None
    assert "KKT residual" in near.local_reason


def test_a_run_that_separates_is_not_told_by_an_uncertified_limit_that_it_does_not():
    """Far before its end the limit of the last pattern is another network, 1.4 rad away, and separates nothing."""
    rng = np.random.default_rng(3)
    X = rng.choice([-1.0, 1.0], (24, 4))
    data = rf.Dataset(X, np.sign(X[:, 0] * X[:, 1] + 0.5 * X[:, 2]), bias_input=1.0)
    sol = rf.integrate(data, rf.Network.init(30, 5, scale=0.1, seed=0), until=10.0)
    assert sol.limit.margin < 0 < (data.y * sol.final(data.X)).min()
    assert not sol.limit.certified
    found, of_state = rf.certify(sol, data), rf.certify(sol.final, data)
    assert (found.verdict, found.value, found.message) == ("not_kkt", of_state.value, of_state.message)
    assert "does not separate" not in found.message
