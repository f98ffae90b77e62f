"""A bias is an input of the data that networks remember: they take new inputs without it."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import reluflow as rf

X = np.array([[-1.0], [-0.4], [0.0], [0.3], [0.9]])
DATA = rf.Dataset(X, np.abs(X[:, 0]) - 0.2, bias_input=0.5)
NEW = np.array([[0.1], [-0.7]])


@pytest.fixture(scope="module")
def sol() -> rf.Solution:
    return rf.integrate(DATA, rf.Network.init(6, DATA.d, scale=0.3, seed=1), until=5.0, loss="squared")


def test_the_networks_of_a_run_take_new_inputs_without_the_column(sol: rf.Solution) -> None:
    for net in (sol.initial, sol(1.0), *sol([0.5, 2.0]), sol.at(log_t=0.0), sol.final, sol.limit.network):
        assert net.bias_input == 0.5
        np.testing.assert_array_equal(net(NEW), net([[0.1, 0.5], [-0.7, 0.5]]))
        np.testing.assert_array_equal(net(X), net(DATA.X))


def test_the_bias_is_what_is_added_to_the_pre_activation(sol: rf.Solution) -> None:
    net = sol.final
    Z = NEW @ net.W[:, :1].T + net.bias
    np.testing.assert_allclose(net(NEW), np.maximum(Z, 0.0) @ net.a, rtol=1e-13)
    assert rf.Network([[1.0, 2.0]], [1.0]).bias is None


def test_files_keep_the_bias(sol: rf.Solution, tmp_path) -> None:
    sol.save(tmp_path / "run.npz")
    loaded = rf.load(tmp_path / "run.npz")
    assert (loaded.data, loaded.initial, loaded.final) == (sol.data, sol.initial, sol.final)
    assert loaded.final.bias_input == 0.5
    sol.final.save(tmp_path / "net.npz")
    assert rf.Network.load(tmp_path / "net.npz") == sol.final
    run = rf.descend(DATA, sol.initial, n_steps=3, loss="squared")
    run.save(tmp_path / "descent.npz")
    again = rf.descent.DescentResult.load(tmp_path / "descent.npz")
    assert (again.data, again.final) == (DATA, run.final)
    assert run.final.bias_input == 0.5


def test_files_keep_the_bias_of_several_classes(tmp_path) -> None:
    data = rf.datasets.MultiClassDataset(X, [0, 1, 2, 0, 1], feature_names=["x"], bias_input=1.0)
    runs = rf.integrate(data, rf.Network.init(3, 2, classes=3, scale=0.3), until=1.0)
    runs.save(tmp_path / "runs.npz")
    loaded = rf.load(tmp_path / "runs.npz")
    assert (loaded.data, loaded.final) == (data, runs.final)
    assert loaded.final(NEW).shape == (2, 3)


def test_a_bias_makes_networks_differ_and_copies_keep_it() -> None:
    plain, biased = (rf.Network([[1.0, 2.0]], [1.0], bias_input=bias) for bias in (None, 1.0))
    assert plain != biased
    assert plain.fingerprint != biased.fingerprint
    assert copy.deepcopy(biased) == biased
    assert "bias_input=1" in repr(biased)


def test_a_network_with_a_bias_runs_on_any_data_whose_last_column_is_it() -> None:
    net = rf.Network.init(4, 2, scale=0.3, bias_input=0.5)
    plain = rf.Dataset(DATA.X, DATA.y)
    assert rf.integrate(plain, net, until=1.0, loss="squared").final.bias_input == 0.5
    with pytest.raises(ValueError, match="net must have the last column"):
        rf.integrate(rf.Dataset(X, DATA.y, bias_input=0.6), net, until=1.0, loss="squared")


# --- starts ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("balanced", [True, False])
def test_pairs_of_an_antisymmetric_start_cancel(balanced: bool) -> None:
    net = rf.Network.init(40, 3, antisymmetric=True, balanced=balanced, scale=0.7, leak=0.1, seed=3)
    np.testing.assert_array_equal(net.W[:20], net.W[20:])
    np.testing.assert_array_equal(net.a[:20], -net.a[20:])
    inputs = np.random.default_rng(0).standard_normal((9, 3))
    assert np.abs(net(inputs)).max() < 1e-13
    half = rf.Network.init(20, 3, balanced=balanced, scale=0.7, leak=0.1, seed=3)
    np.testing.assert_array_equal(net.theta[:20], half.theta)


@pytest.mark.parametrize("delta", [-0.2, 0.0, 3.0])
def test_the_imbalance_is_that_of_every_neuron_and_the_flow_keeps_it(delta: float) -> None:
    net = rf.Network.init(12, 2, scale=0.5, imbalance=delta, seed=1)
    np.testing.assert_allclose(net.balance, delta, atol=1e-15)
    np.testing.assert_allclose(np.linalg.norm(net.W, axis=1), 0.5, rtol=1e-15)
    end = rf.integrate(DATA, net, until=2.0, loss="squared").final
    np.testing.assert_allclose(end.balance, delta, atol=1e-12)


def test_norms_and_signs_are_taken_as_they_are_given() -> None:
    norms, signs = [0.1, 2.0, 0.5], [1, -1, -1]
    net = rf.Network.init(3, 4, norms=norms, signs=signs, seed=2)
    np.testing.assert_allclose(np.linalg.norm(net.W, axis=1), norms, rtol=1e-15)
    np.testing.assert_array_equal(net.a, np.multiply(norms, signs))
    pairs = rf.Network.init(6, 4, norms=norms, signs=signs, antisymmetric=True, seed=2)
    np.testing.assert_array_equal(pairs.theta[:3], net.theta)
    both = rf.Network.init(3, 4, balanced=False, signs=signs, seed=2)
    np.testing.assert_array_equal(np.sign(both.a), signs)


def test_classes_are_drawn_from_the_same_law() -> None:
    nets = rf.Network.init(4, 3, classes=3, antisymmetric=True, imbalance=1.0, seed=5)
    for net in nets:
        np.testing.assert_array_equal(net.a[:2], -net.a[2:])
        np.testing.assert_allclose(net.balance, 1.0, rtol=1e-14)
