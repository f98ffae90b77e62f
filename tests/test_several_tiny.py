"""Several outputs from tiny starts: neurons that are still small are followed to a part of their own size."""

from __future__ import annotations

import numpy as np
import pytest

import reluflow as rf


def start(seed: int, scale: float) -> tuple[tuple[np.ndarray, np.ndarray], rf.Network]:
    """Six Gaussian samples in three dimensions with two outputs, and eight balanced neurons."""
    rng = np.random.default_rng(seed)
    data = rng.standard_normal((6, 3)), rng.standard_normal((6, 2))
    W, a = rng.standard_normal((8, 3)), rng.standard_normal((8, 2))
    W, a = (scale * v / np.linalg.norm(v, axis=1, keepdims=True) for v in (W, a))
    return data, rf.Network(W, a)


def part(one: rf.TwoLayerSolution, other: rf.TwoLayerSolution) -> float:
    """The largest part by which a neuron differs."""
    found = (np.concatenate((sol.final.W, sol.final.a), axis=1) for sol in (one, other))
    first, second = found
    return float((np.linalg.norm(first - second, axis=1) / np.linalg.norm(second, axis=1)).max())


@pytest.mark.parametrize("seed", [1, 7, 8])
def test_neurons_that_others_outgrow_keep_their_digits(seed):
    # Errors that were a part of the largest neuron ended these runs `undecided_event` once the first had grown.
    data, net = start(seed, 1e-20)
    ends = [rf.integrate(data, net, until=60.0, loss="squared", rtol=rtol) for rtol in (1e-8, 1e-10, 1e-12)]
    assert all(end.status == "reached_time" for end in ends)
    assert part(ends[0], ends[2]) < 1e-7
    assert part(ends[1], ends[2]) < 1e-8


def test_a_tiny_neuron_under_fixed_errors_is_the_exponential_of_its_pull():
    # The large neuron stands: it fits its samples. The tiny one sees the others alone, whose errors it does not change.
    X = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    Y = np.array([[2.0, -1.0], [0.5, 0.3], [-0.2, 0.4]])
    size = float(np.sqrt(np.linalg.norm(Y[0])))
    W = np.array([[size, -1.0, -1.0], [-1e-30, 3e-31, 8e-31]])
    a = np.array([Y[0] / size, [6e-31, -5e-31]])
    sol = rf.integrate((X, Y), rf.Network(W, a), until=40.0, loss="squared", rtol=1e-10)
    assert sol.status == "reached_time"
    M = Y[1:].T  # w' = Mᵀ a, a' = M w: the errors of the two samples
    B = np.block([[np.zeros((2, 2)), M.T], [M, np.zeros((2, 2))]])
    values, vectors = np.linalg.eigh(B)
    y = vectors @ (np.exp(40.0 * values) * (vectors.T @ np.concatenate((W[1, 1:], a[1]))))
    np.testing.assert_allclose(sol.final.W[1, 1:], y[:2], rtol=1e-7)
    np.testing.assert_allclose(sol.final.a[1], y[2:], rtol=1e-7)
    assert sol.final.W[0] == pytest.approx(W[0], rel=1e-9)


@pytest.mark.parametrize("seed", [1, 4, 9, 11])
def test_weights_far_below_their_outputs_cross_one_boundary_after_the_other(seed):
    # |w| = 1e-20 and |a| = 1: all boundaries are met within 1e-19, in events of their own. They were taken for one.
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((7, 3)), rng.choice([-1.0, 1.0], 7)
    W = rng.standard_normal((5, 3))
    net = rf.Network(1e-20 * W / np.linalg.norm(W, axis=1, keepdims=True), rng.choice([-1.0, 1.0], 5))
    data = rf.Dataset(X, y)
    one = rf.integrate(data, net, until=2.0, loss="squared")
    other = rf.integrate(data, net, until=2.0, loss="squared", rates=(1.0, 1.0))
    assert one.status == other.status == "reached_time"
    assert len(one.events) == len(other.events)
    np.testing.assert_allclose(other.final.W, one.final.W, rtol=0, atol=1e-9)


@pytest.mark.parametrize("train", ["both", "first"])
@pytest.mark.parametrize("seed", [2, 5, 6, 8])
def test_the_end_does_not_depend_on_how_tiny_the_start_is(seed, train):
    # Fixed outputs of one: every such run gave up after its first events, as no step was accurate.
    rng = np.random.default_rng(seed)
    data = rng.standard_normal((7, 3)), rng.choice([-1.0, 1.0], (7, 2))
    W, a = rng.standard_normal((5, 3)), rng.choice([-1.0, 1.0], (5, 2))
    ends = []
    for scale in (1e-30, 1e-14):
        sol = rf.integrate(data, rf.Network(scale * W, a), until=2.0, loss="squared", train=train)
        assert sol.status == "reached_time", sol.message
        ends.append(sol)
    assert len(ends[0].events) == len(ends[1].events)
    np.testing.assert_allclose(ends[0].final.W, ends[1].final.W, rtol=0, atol=1e-9)
