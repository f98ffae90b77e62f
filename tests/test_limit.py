"""The limit of a run: closed forms of the papers, independent solvers, and what is said where nothing is certain."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from scipy.optimize import brentq, nnls
from scipy.special import expit

import reluflow as rf
from reluflow.limits._limit_of import limit_of

OBTUSE = rf.datasets.wang_pilanci("obtuse")


@cache
def obtuse_run(seed: int, log_time: float) -> rf.Solution:
    return rf.integrate(OBTUSE, rf.Network.init(10, 2, scale=1e-2, seed=seed), until=rf.Stop(log_time=log_time))


def late(data: rf.Dataset, net: rf.Network, log_time: float = 200.0, **options) -> rf.limits.Limit:
    sol = rf.integrate(data, net, until=rf.Stop(log_time=log_time), **options)
    assert sol.status == "reached_log_time", sol.message
    return sol.limit


def svm_norm(X: np.ndarray) -> float:
    """|w| of the shortest w with X w >= 1, from the distance of a cone by non-negative least squares."""
    scaled = np.vstack((X.T, np.ones(len(X))))
    target = np.r_[np.zeros(X.shape[1]), 1.0]
    weights, distance = nnls(scaled, target)
    return float(np.linalg.norm(X.T @ weights)) / distance**2


# --- certified directions with known answers ---


@pytest.mark.parametrize("log_time", [50, 500])
@pytest.mark.parametrize("seed", [0, 1, 4])
def test_the_obtuse_example_tends_to_one_neuron_direction_a_class(seed, log_time):
    sol = obtuse_run(seed, log_time)
    limit = sol.limit
    assert limit.certified, limit.reason
    assert limit.kind == "direction"
    assert limit.reason == ""
    size = np.linalg.norm(OBTUSE.X, axis=1)
    assert limit.margin == pytest.approx(1 / (2 * (1 / size).sum()), abs=1e-12)
    assert max(vars(limit.residuals).values()) <= 1e-12
    np.testing.assert_allclose(limit.duals, OBTUSE.y / size, rtol=0, atol=1e-12)
    assert limit.support.tolist() == [0, 1]
    assert limit.network.norm == pytest.approx(1.0, abs=1e-15)
    # |w_j| = |a_j|, w_j along ± x_i / |x_i|, and Σ a_j² of a class in proportion to 1/|x_i|.
    for i, sign in enumerate(OBTUSE.y):
        own = np.sign(limit.network.a) == sign
        expected = np.outer(np.abs(limit.network.a[own]), OBTUSE.X[i] / size[i])
        np.testing.assert_allclose(limit.network.W[own], expected, rtol=0, atol=1e-12)
        mass = (limit.network.a[own] ** 2).sum()
        assert mass == pytest.approx(1 / size[i] / (2 * (1 / size).sum()), abs=1e-12)
    # Here the pulls never turn, so that the split among the neurons is exact too.
    other = obtuse_run(seed, 2000).limit
    np.testing.assert_allclose(limit.network.theta, other.network.theta, rtol=0, atol=1e-9)


def test_the_direction_of_the_state_approaches_the_limit_of_an_early_state():
    limit = obtuse_run(0, 50).limit
    gaps = []
    for log_time in (50, 500, 5000):
        net = obtuse_run(0, log_time).final
        gaps.append(np.linalg.norm(net.theta / net.norm - limit.network.theta))
    assert gaps[0] > 2 * gaps[1] > 4 * gaps[2]
    assert limit.turn == pytest.approx(gaps[0], rel=1e-3)


def test_the_spike_free_example_tends_to_the_one_neuron_optimum():
    data = rf.datasets.wang_pilanci("spike_free")
    limit = late(data, rf.Network.init(10, 2, scale=1e-2, seed=0))
    u = np.linalg.solve(data.X, np.ones(2))
    assert limit.certified, limit.reason
    assert limit.margin == pytest.approx(1 / (2 * np.linalg.norm(u)), abs=1e-12)
    live = limit.network.a != 0
    unit = limit.network.W[live] / limit.network.a[live, None]
    np.testing.assert_allclose(unit - u / np.linalg.norm(u), 0.0, atol=1e-12)
    np.testing.assert_allclose(limit.duals, [0.214441, 0.519141], atol=5e-7)


def test_held_boundaries_are_part_of_the_limit_of_acute_classes():
    data = rf.datasets.wang_pilanci("acute")
    limit = late(data, rf.Network.init(10, 2, scale=1e-2, seed=0))
    assert limit.certified, limit.reason
    assert 1 / (2 * limit.margin) == pytest.approx(1.567382, abs=5e-7)
    np.testing.assert_allclose(limit.duals, [0.712387, -0.854996], atol=5e-7)
    assert len(limit.held) > 0
    for neuron, sample in limit.held:
        w = limit.network.W[neuron]
        assert abs(w @ data.X[sample]) <= 1e-14
        # The multiplier between 0 and 1 that holds the neuron: the pull of all active samples along the boundary is 0.
        other = 1 - sample
        s = -(limit.duals[other] * data.X[other] @ data.X[sample]) / (
            limit.duals[sample] * data.X[sample] @ data.X[sample]
        )
        assert 0 <= s <= 1


@pytest.mark.parametrize("loss", ["logistic", "exponential"])
@pytest.mark.parametrize("theorem", ["3.2", "4.3"])
def test_the_constructions_of_vardi_and_others_reach_their_printed_limits(theorem, loss):
    c = rf.datasets.vardi_shamir_srebro(theorem)
    limit = late(c.data, rf.Network(*c.start, leak=c.leak), loss=loss)
    assert limit.certified, limit.reason
    size = np.sqrt(c.limit_norm2)
    np.testing.assert_allclose(limit.network.W * size, c.limit.W, rtol=0, atol=1e-12)
    np.testing.assert_allclose(limit.network.a * size, c.limit.a, rtol=0, atol=1e-12)
    np.testing.assert_allclose(limit.duals, c.multipliers, rtol=0, atol=1e-12)


@pytest.mark.parametrize(("n", "d", "seed"), [(10, 3, 0), (30, 5, 1), (60, 20, 2), (40, 2, 3)])
def test_orthogonally_separable_data_tend_to_two_support_vector_machines(n, d, seed):
    data = rf.datasets.orthogonally_separable(n, d, seed=seed)
    limit = late(data, rf.Network.init(20, d, scale=1e-3, seed=seed))
    assert limit.certified, limit.reason
    norms = {sign: svm_norm(data.X[data.y == sign]) for sign in (1, -1)}
    assert limit.margin == pytest.approx(1 / (2 * sum(norms.values())), rel=1e-9)
    for sign, norm in norms.items():
        mass = (limit.network.a[np.sign(limit.network.a) == sign] ** 2).sum()
        assert mass == pytest.approx(norm / (2 * sum(norms.values())), rel=1e-9)


def test_symmetric_leaky_data_tend_to_a_linear_classifier():
    half = np.array([[0.9, 0.1], [0.5, 0.6], [0.4, -0.3]])
    data = rf.datasets.symmetrise(half)
    limit = late(data, rf.Network.init(6, 2, scale=1e-3, leak=0.5, seed=1))
    assert limit.certified, limit.reason
    gamma = 1 / svm_norm(half)
    assert gamma == pytest.approx(0.430683, abs=5e-7)
    assert limit.margin == pytest.approx(1.5 / 4 * gamma, rel=1e-9)
    points = np.random.default_rng(0).standard_normal((20, 2))
    w = np.linalg.lstsq(points, limit.network(points), rcond=None)[0]
    np.testing.assert_allclose(limit.network(points), points @ w, atol=1e-14)
    assert np.linalg.norm(w) == pytest.approx(1.5 / 4, rel=1e-12)
    assert (limit.network.a[limit.network.a > 0] ** 2).sum() == pytest.approx(0.25, rel=1e-12)


def test_the_certificate_of_the_convex_program_agrees():
    limit = obtuse_run(0, 50).limit
    certificate = rf.certify(limit.network, OBTUSE)
    assert certificate.verdict == "global"


@pytest.mark.parametrize("theorem", ["4.2"])
def test_the_symmetric_flow_on_ridges_keeps_the_limit_that_is_no_optimum(theorem):
    c = rf.datasets.vardi_shamir_srebro(theorem)
    limit = late(c.data, rf.Network(*c.start), on_branch="stay")
    assert limit.certified, limit.reason
    assert 1 / limit.margin == pytest.approx(c.limit_norm2, rel=1e-14)


def test_neither_order_nor_rotation_changes_the_limit():
    data = rf.datasets.orthogonally_separable(12, 3, seed=5)
    net = rf.Network.init(8, 3, scale=1e-2, seed=2)
    limit = late(data, net)
    rng = np.random.default_rng(0)
    turn, samples, rows = np.linalg.qr(rng.standard_normal((3, 3)))[0], rng.permutation(12), rng.permutation(8)
    other = late(rf.Dataset(data.X[samples] @ turn, data.y[samples]), rf.Network((net.W @ turn)[rows], net.a[rows]))
    assert other.margin == pytest.approx(limit.margin, rel=1e-13)
    np.testing.assert_allclose(other.duals, limit.duals[samples], atol=1e-12)
    np.testing.assert_allclose(other.network.W @ turn.T, limit.network.W[rows], atol=1e-6)


def test_a_run_continued_from_its_end_keeps_its_limit_within_the_error_it_states():
    rng = np.random.default_rng(4)
    data = rf.Dataset(*(lambda X: (X, np.sign(X @ [1.0, 0.5, -0.3])))(rng.standard_normal((9, 3))))
    first = rf.integrate(data, rf.Network.init(10, 3, scale=1e-2, seed=3), until=rf.Stop(log_time=40))
    second = rf.integrate(data, first, until=rf.Stop(log_time=4000))
    assert first.limit.certified, first.limit.reason
    assert second.limit.certified, second.limit.reason
    assert second.limit.margin == pytest.approx(first.limit.margin, rel=1e-13)
    np.testing.assert_allclose(second.limit.duals, first.limit.duals, atol=1e-12)
    points = rng.standard_normal((30, 3))
    np.testing.assert_allclose(second.limit.network(points), first.limit.network(points), atol=1e-13)
    gap = np.linalg.norm(second.limit.network.theta - first.limit.network.theta)
    assert gap <= first.limit.split_error
    assert second.limit.split_error < first.limit.split_error


@pytest.mark.slow
def test_the_limit_of_handwritten_digits_is_certified_and_its_margin_approached_from_below():
    data = rf.datasets.digits(3, 8)
    sol = rf.integrate(data, rf.Network.init(24, 64, scale=1e-3, seed=0), until=rf.Stop(log_time=1e7))
    limit = sol.limit
    assert limit.certified, limit.reason
    assert limit.residuals.largest <= 1e-12
    assert 30 <= len(limit.support) <= 60
    assert len(limit.held) > 10
    margin = (data.y * sol.final(data.X)).min() / sol.final.norm**2
    assert limit.margin * (1 - 1e-5) < margin < limit.margin


# --- what is not unique ---


def test_repeated_samples_share_their_multiplier_and_a_longer_copy_has_none():
    X = np.vstack((OBTUSE.X, OBTUSE.X[0], 2 * OBTUSE.X[1]))
    limit = late(rf.Dataset(X, [1, -1, 1, -1]), rf.Network.init(10, 2, scale=1e-2, seed=0))
    size = np.linalg.norm(OBTUSE.X, axis=1)
    assert limit.certified, limit.reason
    assert "multipliers are not unique" in limit.reason
    np.testing.assert_allclose(limit.duals, [0.5 / size[0], -1 / size[1], 0.5 / size[0], 0.0], atol=1e-12)
    assert limit.support.tolist() == [0, 1, 2]


def test_a_sample_that_could_share_a_multiplier_is_told_where_it_has_none():
    # With the slope 1/2 the first sample moves the second neuron as the last one does. The first neuron adds to its
    # margin for ever, so that the flow leaves it no part of the multiplier.
    X, y = np.array([[0.0, -2.0], [-2.0, -2.0], [0.0, 1.0]]), np.array([1.0, -1.0, -1.0])
    net = rf.Network([[0.21, -0.3], [-0.3, 0.2]], [0.45, -0.5], leak=0.5)
    both, one = (late(rf.Dataset(X[first:], y[first:]), net, log_time=300) for first in (0, 1))
    for limit in (both, one):
        assert limit.certified
        np.testing.assert_allclose(limit.duals[-2:], [-1.5 / 13**0.5, -5 / 13**0.5], rtol=1e-12)
    assert both.duals[0] == 0
    assert y[0] * both.network(X)[0] == pytest.approx(both.margin, rel=1e-12)
    assert "the multipliers are not unique (1 free dimensions)" in both.reason
    assert one.reason == ""


def test_no_sample_can_share_a_multiplier_that_is_zero():
    # The second of the last three rows depends on the other two: it could take twice as much from the first of these,
    # which has nothing but rounding.
    X = np.array([[0.02, -0.002], [-0.03, 0.001], [-0.03, 0.002], [-0.03, 0.0]])
    net = rf.Network([[1.0, 2.0], [0.0, 2.0]], [-1.0, 2.0])
    sol = rf.integrate(rf.Dataset(X, [-1, 1, 1, 1]), net, until=rf.Stop(limit=True), loss="exponential")
    assert sol.limit.certified
    assert sol.limit.reason == ""
    np.testing.assert_allclose(sol.limit.duals, [-((0.02**2 + 0.002**2) ** -0.5), 0, 0, 1 / 0.03], atol=1e-10)


def test_a_continuum_of_limits_is_certified_as_a_function():
    # One neuron in each quadrant: only the sums of neighbours are determined, by three of four equations.
    data = rf.Dataset([[1, 0], [0, 1], [-1, 0], [0, -1]], [1] * 4)
    D = np.array([[1, 0.7], [-0.8, 1], [-0.5, -1], [1, -0.9]])
    size = np.array([0.3, 0.5, 0.4, 0.2])
    limit = late(data, rf.Network(size[:, None] * D / np.linalg.norm(D, axis=1)[:, None], size))
    assert limit.certified
    assert limit.freedom == 1
    assert "continuum of dimension 1): the function" in limit.reason
    assert limit.residuals.largest <= 1e-14
    mass = limit.network.a**2
    np.testing.assert_allclose(mass + np.roll(mass, 1), 0.25, atol=1e-14)
    assert mass[1] != pytest.approx(mass[0], abs=1e-3)  # the nearest to the state, not the symmetric one


@pytest.mark.parametrize("second", [-0.469, -0.46])
def test_a_neuron_that_shrinks_along_the_ray_of_a_group_makes_no_continuum(second):
    # The last neuron is in the cell of the first with the other sign, so that mass there would lie outside its cell.
    W = 0.1 * np.array([[1.0, -0.3], [-0.3, 1.0], [1.65, second]])
    net = rf.Network(W, np.linalg.norm(W, axis=1) * [1, -1, -1])
    runs = [rf.integrate(OBTUSE, net, until=rf.Stop(log_time=log_t)) for log_t in (30.0, 1e6)]
    assert runs[0].final.pattern[2].tolist() == [1, -1]
    for sol in runs:
        assert sol.limit.freedom == 0
        assert "not unique" not in sol.limit.reason
        np.testing.assert_array_equal(sol.limit.network.a[2] == 0, sol.final.pattern[2, 0] == 1)
        assert rf.prove_limit(sol)
    assert runs[1].limit.certified
    if second == -0.46:  # the ray is clearly missed: it will turn round and join the second neuron's group, and does so
        assert runs[0].limit.certified
        assert "neurons will join groups of the limit, which does not change its function: 2" in runs[0].limit.reason
        assert runs[1].final.pattern[2].tolist() == runs[1].final.pattern[1].tolist() == [-1, 1]


# --- samples that stay unfitted, and data that cannot be separated ---


def test_a_class_without_neurons_keeps_its_loss_and_the_other_class_has_a_limit():
    data = rf.datasets.wang_pilanci("acute")
    for seed in range(20):
        net = rf.Network.init(10, 2, scale=1e-2, seed=seed)
        limit = late(data, net)
        if "stay finite" in limit.reason:
            break
    assert limit.certified
    (fitted,) = limit.support
    assert f"samples {1 - fitted}" in limit.reason
    assert limit.margin == pytest.approx(0.0, abs=1e-15)
    values = limit.network(data.X)
    assert values[1 - fitted] == pytest.approx(0.0, abs=1e-15)
    assert data.y[fitted] * values[fitted] > 0.1
    assert limit.residuals.largest <= 1e-12


def test_contradicting_samples_on_a_line_have_a_limit_of_finite_norm():
    # One active slope A: the loss ℓ(A) + ℓ(-2A) is least where 1/(1 + e^A) = 2/(1 + e^(-2A)).
    data = rf.Dataset([[1.0], [2.0]], [1, -1])
    limit = late(data, rf.Network([[0.3], [0.1], [-0.2]], [-0.3, 0.1, 0.2]), log_time=3.0)
    A = brentq(lambda A: expit(-A) - 2 * expit(2 * A), -5, 5, xtol=1e-15)
    assert limit.certified, limit.reason
    assert limit.kind == "finite"
    np.testing.assert_allclose(limit.network(data.X), [A, 2 * A], rtol=0, atol=1e-13)
    np.testing.assert_allclose(limit.duals, [expit(-A), -expit(2 * A)], atol=1e-13)
    assert limit.gradient_norm <= 1e-14
    assert A < 0
    assert limit.margin == pytest.approx(A / limit.network.norm**2)


def test_a_network_that_shrinks_to_the_origin_has_the_origin_as_its_limit():
    data = rf.Dataset([[1.0], [2.0]], [1, -1])
    limit = late(data, rf.Network([[0.3]], [0.3]), log_time=4.5)
    assert limit.certified, limit.reason
    assert limit.kind == "finite"
    assert limit.network.norm == 0.0
    np.testing.assert_array_equal(limit.duals, [0.5, -0.5])


def test_the_finite_limit_is_where_longer_runs_go():
    rng = np.random.default_rng(0)
    data = rf.Dataset(rng.normal(size=(12, 2)), rng.choice([-1, 1], 12))
    net = rf.Network.init(6, 2, scale=0.1, seed=0)
    early, late_ = (rf.integrate(data, net, until=t, rtol=1e-12) for t in (1000.0, 8000.0))
    limit = early.limit
    assert limit.kind == "finite"
    assert limit.certified or "integrate further" in limit.reason
    assert late_.limit.certified, late_.limit.reason
    assert late_.limit.gradient_norm <= 1e-12 * late_.limit.network.norm
    np.testing.assert_allclose(late_.final.theta, late_.limit.network.theta, rtol=0, atol=1e-7)
    gap = np.linalg.norm(limit.network.theta - late_.limit.network.theta) / late_.limit.network.norm
    assert gap <= max(limit.turn**2, 1e-9)


def test_a_dead_network_is_its_own_limit():
    data = rf.Dataset([[1.0, 0.2], [0.3, 1.0]], [1, 1])
    net = rf.Network([[-1.0, -1.0]], [1.0])
    sol = rf.integrate(data, net, until=1.0)
    assert sol.limit.certified
    assert sol.limit.kind == "finite"
    assert sol.limit.gradient_norm == 0.0
    np.testing.assert_array_equal(sol.limit.network.theta, net.theta)


# --- what is not certain ---


@pytest.mark.parametrize("until", [0.01, 1.0, 3.0])
def test_before_the_late_phase_nothing_is_certified(until):
    sol = rf.integrate(OBTUSE, rf.Network.init(10, 2, scale=1e-3, seed=0), until=until)
    assert not sol.limit.certified
    assert "late phase is not reached" in sol.limit.reason


def test_crossings_that_are_to_come_are_seen():
    found = set()
    for seed in range(12):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(10, 3))
        data = rf.Dataset(X, np.sign(X @ rng.normal(size=3) + 0.3 * rng.normal(size=10)))
        sol = rf.integrate(data, rf.Network.init(10, 3, scale=1e-2, seed=seed), until=rf.Stop(log_time=15))
        later = rf.integrate(data, sol, until=rf.Stop(log_time=2000))
        if sol.limit.certified and later.limit.certified:
            assert later.limit.margin == pytest.approx(sol.limit.margin, rel=1e-12)
            found.add("certified")
        elif later.limit.certified:
            assert "events are to come" in sol.limit.reason or "outside the limit" in sol.limit.reason
            assert len(later.events) > 0
            found.add("events")
    assert found == {"certified", "events"}


def test_the_text_says_kind_margin_and_verdict():
    limit = obtuse_run(0, 50).limit
    assert repr(limit).startswith("Limit(direction, margin=0.38988415")
    assert repr(limit).endswith("certified)")
    for array in (limit.duals, limit.support, limit.held):
        assert not array.flags.writeable
    with pytest.raises(AttributeError):
        limit.margin = 1.0


def test_the_limit_is_that_of_all_samples_however_few_the_program_begins_with(monkeypatch):
    """Samples that it leaves out at first join where they are violated: of 365 here about forty are support."""
    data = rf.datasets.digits(3, 5)
    net = rf.Network.init(20, data.d, scale=0.1, seed=0)
    sol = rf.integrate(data, net, until=rf.Stop(log_time=1e4), rtol=1e-6)
    limits = []
    for first in (20, data.n):
        monkeypatch.setattr("reluflow.limits._direction._FIRST_SAMPLES", first)
        monkeypatch.setattr("reluflow.limits._direction._PER_WEIGHT", 0)
        limits.append(limit_of(data, sol.final, sol.loss))
    np.testing.assert_allclose(limits[0].duals, limits[1].duals, atol=1e-10 * limits[1].duals.max())
    np.testing.assert_allclose(limits[0].network.theta, limits[1].network.theta, atol=1e-10)
