"""The class Network: evaluation, norms, balance and random starts."""

from __future__ import annotations

import copy
import math
import pickle

import numpy as np
import pytest

import reluflow as rf


def by_loops(net: rf.Network, X: np.ndarray) -> list[float]:
    """The network written out, sample by sample and neuron by neuron."""
    values = []
    for x in X:
        total = 0.0
        for w, a in zip(net.W, net.a, strict=True):
            z = sum(p * q for p, q in zip(w, x, strict=True))
            total += a * (z if z > 0 else net.leak * z)
        values.append(total)
    return values


@pytest.mark.parametrize("leak", [0.0, 0.25, 0.9])
def test_the_network_is_the_sum_of_its_neurons(leak: float) -> None:
    rng = np.random.default_rng(0)
    net = rf.Network(rng.standard_normal((4, 3)), rng.standard_normal(4), leak=leak)
    X = rng.standard_normal((6, 3))
    np.testing.assert_allclose(net(X), by_loops(net, X), rtol=1e-14, atol=1e-14)


def test_the_network_is_homogeneous_of_degree_two_in_its_weights() -> None:
    net = rf.Network.init(5, 3, seed=1, leak=0.1)
    X = np.random.default_rng(2).standard_normal((7, 3))
    doubled = rf.Network(2 * net.W, 2 * net.a, leak=0.1)
    np.testing.assert_array_equal(doubled(X), 4 * net(X))


def test_the_norm_is_that_of_all_weights_together() -> None:
    assert rf.Network([[1.0, 2.0], [4.0, 0.0]], [2.0, 0.0]).norm == 5.0
    assert rf.Network([[0.0]], [0.0]).norm == 0.0


@pytest.mark.parametrize("scale", [1e-200, 1e-20, 1e200])
def test_the_norm_neither_underflows_nor_overflows(scale: float) -> None:
    net = rf.Network([[3 * scale]], [4 * scale])
    assert net.norm == pytest.approx(5 * scale, rel=1e-15)


def test_theta_holds_a_row_for_each_neuron() -> None:
    net = rf.Network([[1.0, 2.0], [3.0, 4.0]], [5.0, 6.0])
    np.testing.assert_array_equal(net.theta, [[1, 2, 5], [3, 4, 6]])


def test_the_balance_is_the_difference_of_squares() -> None:
    net = rf.Network([[3.0, 4.0], [1.0, 0.0], [0.0, 0.0]], [-5.0, 2.0, -1.0])
    np.testing.assert_array_equal(net.balance, [0.0, 3.0, 1.0])


def test_the_balance_keeps_a_small_difference_of_large_numbers() -> None:
    a = 1.0 + 2.0**-40
    exact = 2.0**-39 + 2.0**-80
    assert rf.Network([[1.0]], [a]).balance[0] == pytest.approx(exact, rel=1e-14)


def test_weights_are_copied_and_read_only() -> None:
    W, a = np.ones((2, 2)), np.ones(2)
    net = rf.Network(W, a, pattern=np.ones((2, 3), dtype=int))
    W[0, 0] = a[0] = 9.0
    assert net.W[0, 0] == net.a[0] == 1.0
    assert net.pattern is not None
    assert net.pattern.dtype == np.int8
    for array in (net.W, net.a, net.pattern):
        assert not array.flags.writeable


def test_equality_compares_weights_leak_and_pattern() -> None:
    net = rf.Network([[1.0]], [2.0], leak=0.5, pattern=[[1, 0]])
    assert net == rf.Network([[1.0]], [2.0], leak=0.5, pattern=[[1, 0]])
    assert net != rf.Network([[1.0]], [2.0], leak=0.5, pattern=[[1, 1]])
    assert net != rf.Network([[1.0]], [2.0], leak=0.5)
    assert net != rf.Network([[1.0]], [2.0], leak=0.4, pattern=[[1, 0]])
    assert net != rf.Network([[1.0]], [3.0], leak=0.5, pattern=[[1, 0]])
    assert net != rf.Network([[0.0]], [2.0], leak=0.5, pattern=[[1, 0]])
    assert net != 3


def test_the_text_says_sizes_and_norm() -> None:
    assert repr(rf.Network([[3.0, 0.0]], [4.0], leak=0.1)) == "Network(width=1, dim=2, leak=0.1, norm=5)"
    assert "pattern on 2 samples" in repr(rf.Network([[3.0]], [4.0], pattern=[[1, 0]]))


def test_a_copied_or_pickled_network_is_equal_and_read_only() -> None:
    net = rf.Network([[1.0]], [2.0], pattern=[[1]])
    for other in (pickle.loads(pickle.dumps(net)), copy.deepcopy(net)):
        assert other == net
        assert not other.W.flags.writeable


# --- random starts ---------------------------------------------------------------------------------------------------


def test_the_same_seed_gives_the_same_bits_and_another_one_others() -> None:
    first, again, other = (rf.Network.init(6, 4, seed=seed) for seed in (3, 3, 4))
    assert first == again
    assert first != other


@pytest.mark.parametrize("scale", [1e-20, 1e-3, 2.0])
def test_a_balanced_start_has_rows_and_outputs_of_one_size(scale: float) -> None:
    net = rf.Network.init(50, 7, scale=scale, seed=1, leak=0.2)
    assert net.leak == 0.2
    assert (net.width, net.dim) == (50, 7)
    np.testing.assert_array_equal(np.abs(net.a), scale)
    np.testing.assert_allclose(np.linalg.norm(net.W / scale, axis=1), 1.0, rtol=4e-16)


def test_balanced_directions_are_uniform_and_signs_are_fair() -> None:
    net = rf.Network.init(40_000, 3, scale=1.0, seed=0)
    # Mean 0 and covariance I/3 of the uniform distribution, each within five standard deviations.
    assert np.abs(net.W.mean(axis=0)).max() < 5 / math.sqrt(3 * net.width)
    np.testing.assert_allclose(net.W.T @ net.W / net.width, np.eye(3) / 3, atol=5 / math.sqrt(5 * net.width))
    # A coordinate on the sphere in three dimensions is uniform on [-1, 1] (Archimedes).
    assert np.abs(np.mean(np.abs(net.W[:, 0]) < 0.5) - 0.5) < 5 * 0.5 / math.sqrt(net.width)
    assert np.abs(net.a.mean()) < 5 / math.sqrt(net.width)


def test_an_unbalanced_start_is_gaussian_in_every_weight() -> None:
    net = rf.Network.init(40_000, 3, scale=0.1, balanced=False, seed=0)
    for column in net.theta.T / 0.1:
        assert abs(column.mean()) < 5 / math.sqrt(net.width)
        assert abs(column.var() - 1) < 5 * math.sqrt(2 / net.width)
    assert np.ptp(np.abs(net.a)) > 0.1


def test_one_dimension_gives_plus_and_minus_the_scale() -> None:
    net = rf.Network.init(20, 1, scale=0.5)
    assert set(np.unique(net.W)) == {-0.5, 0.5}
