"""Rank, correlations, closeness to linear networks and to two neurons."""

from __future__ import annotations

import numpy as np
import pytest

import reluflow as rf
import runs
from reluflow import analysis


def test_singular_values_are_those_of_numpy_and_ordered():
    run = analysis.sample(runs.iris(), 8)
    found = analysis.singular_values(run, n_values=3)
    assert found.dims == ("time", "rank")
    for k in range(len(run)):
        np.testing.assert_allclose(found[k], np.linalg.svd(run.W[k], compute_uv=False)[:3], rtol=1e-12)


def test_orthogonally_separable_data_leave_rank_two_and_max_margin_directions():
    data = rf.datasets.orthogonally_separable(20, 5, seed=2)
    sol = rf.integrate(data, rf.Network.init(16, 5, scale=1e-6, seed=0), until=1e5)
    values = analysis.singular_values(sol)[-1]
    assert float(values[2]) < 1e-4 * float(values[1])
    best = [minimum_norm(data.X[data.y == sign]) for sign in (1, -1)]
    table = analysis.correlations(sol, *best)
    large = table[table["share"] > 1e-6]
    assert len(large) >= 8
    assert (large["own"] > 0.97).all()
    assert table["share"].sum() == pytest.approx(1.0)


def minimum_norm(X):
    """argmin |w| with X w >= 1, through its dual: nonnegative least squares."""
    from scipy.optimize import nnls

    # w = Xᵀ s with s >= 0 minimises ½|Xᵀ s|² - 1ᵀs; as least squares: || [Xᵀ; 0] s - c || with a large weight on 1ᵀs.
    scale = 1e-6
    A = np.vstack((X.T * scale, np.ones(len(X))))
    s, _ = nnls(A, np.append(np.zeros(X.shape[1]), 1.0))
    w = X.T @ s
    return w / (X @ w).min()


def test_correlations_without_a_class_are_nan():
    sol = runs.planar()
    table = analysis.correlations(sol, sol.data.X[0], None)
    assert table["minus"].isna().all()
    assert table.loc[table["sign"] > 0, "own"].notna().all()


def test_a_vector_of_the_wrong_length_is_named():
    with pytest.raises(ValueError, match="w_plus must have 2 entries"):
        analysis.correlations(runs.planar(), [1.0, 2.0, 3.0], None)


@pytest.mark.parametrize("leak", [0.0, 0.4])
def test_distance_to_linear_agrees_with_least_squares_on_gaussian_inputs(leak):
    rng = np.random.default_rng(5)
    net = rf.Network(rng.standard_normal((6, 3)), rng.standard_normal(6), leak=leak)
    X = rng.standard_normal((200_000, 3))
    X = np.vstack((X, -X))  # antithetic: the odd and the even part separate exactly
    f = net(X)
    beta, *_ = np.linalg.lstsq(X, f, rcond=None)
    found = analysis.distance_to_linear(net)
    assert found.distance == pytest.approx(np.linalg.norm(f - X @ beta) / np.linalg.norm(f), rel=0.01)
    np.testing.assert_allclose(net(X[:5]) - net(-X[:5]), 2 * X[:5] @ found.coefficients, rtol=1e-10)


def test_a_pair_of_mirrored_neurons_is_linear_and_a_single_relu_is_not():
    pair = rf.Network([[1.0, 2.0], [-1.0, -2.0]], [3.0, -3.0])
    assert analysis.distance_to_linear(pair, [2.0, 4.0]).distance == pytest.approx(0.0, abs=1e-8)
    assert analysis.distance_to_linear(pair, [2.0, 4.0]).cosine == pytest.approx(1.0)
    # φ(z) = z/2 + |z|/2, two halves of one size.
    assert analysis.distance_to_linear(rf.Network([[1.0, 2.0]], [3.0])).distance == pytest.approx(np.sqrt(0.5))


def test_symmetric_data_give_a_linear_network():
    half = np.array([[0.9, 0.1], [0.5, 0.6], [0.4, -0.3]])
    data = rf.Dataset(np.vstack((half, -half)), [1, 1, 1, -1, -1, -1])
    net = rf.Network.init(6, 2, scale=1e-6, balanced=False, leak=0.5, seed=0)
    sol = rf.integrate(data, net, until=rf.Stop(log_time=200.0), reduction="mean")
    found = analysis.distance_to_linear(sol.final, [0.993884, -0.110432])
    assert found.distance < 1e-3
    assert found.cosine > 0.999
    assert analysis.embedding_error(sol.final).error < 1e-4


def test_an_embedded_pair_is_found_exactly():
    b = np.array([2.0, -1.0, 0.5, -3.0])
    pair = {1.0: np.array([1.0, -2.0, 1.5]), -1.0: np.array([0.3, 0.2, -0.9])}
    theta = np.array([abs(value) * pair[np.sign(value)] for value in b])
    found = analysis.embedding_error(rf.Network(theta[:, :2], theta[:, 2]))
    assert found.error < 1e-15
    plus = np.linalg.norm(b[b > 0])
    np.testing.assert_allclose(np.append(found.W[0], found.a[0]), plus * pair[1.0], rtol=1e-12)
    np.testing.assert_allclose(found.b[b > 0], b[b > 0] / plus, rtol=1e-12)
    assert (np.sign(found.b) == np.sign(b)).all()


def test_the_embedding_error_is_what_the_two_neurons_leave_over():
    rng = np.random.default_rng(1)
    net = rf.Network(rng.standard_normal((7, 4)) + 2.0, rng.standard_normal(7))
    found = analysis.embedding_error(net)
    near = np.zeros((7, 5))
    for k, sign in enumerate((1, -1)):
        mine = np.sign(net.a) == sign
        near[mine] = np.outer(np.abs(found.b[mine]), np.append(found.W[k], found.a[k]))
    assert np.linalg.norm(net.theta - near) / net.norm == pytest.approx(found.error, rel=1e-10)


def test_a_network_of_zeros_has_no_error():
    zero = rf.Network(np.zeros((3, 2)), np.zeros(3))
    assert analysis.embedding_error(zero).error == 0.0
    assert analysis.distance_to_linear(zero).distance == 0.0


def test_the_shape_of_a_run_on_symmetric_data_becomes_linear_and_of_rank_one():
    half = np.array([[0.9, 0.1], [0.5, 0.6], [0.4, -0.3]])
    data = rf.Dataset(np.vstack((half, -half)), [1, 1, 1, -1, -1, -1])
    sol = rf.integrate(data, rf.Network.init(6, 2, scale=1e-6, leak=0.5, seed=1), until=200.0)
    table = analysis.shape(analysis.sample(sol, 20), direction=[0.993884, -0.110432])
    first, last = table.iloc[0], table.iloc[-1]
    assert first["stable_rank"] > 1.1 > 1.001 > last["stable_rank"]
    assert first["distance_to_linear"] > 0.2 > 0.05 > last["distance_to_linear"]
    assert first["embedding_error"] > 0.1 > 1e-5 > last["embedding_error"]
    assert last["cosine"] > 0.98
    by_hand = analysis.embedding_error(sol.final)
    assert last["embedding_error_plus"] == by_hand.error_plus
