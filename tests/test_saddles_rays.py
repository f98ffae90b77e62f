"""Grown neurons that shrink along the line of their only active sample, and stay on it."""

from __future__ import annotations

import numpy as np
import pytest

import reluflow as rf
from reluflow.saddles._rays import put_on_rays


def shrinking() -> tuple[rf.Dataset, np.ndarray, np.ndarray]:
    """Gaussian data on which two neurons of one sample grow first and then shrink at the second saddle."""
    rng = np.random.default_rng(35)
    n, d = int(rng.integers(4, 15)), int(rng.integers(2, 6))
    X, y = rng.standard_normal((n, d)), rng.standard_normal(n)
    return rf.Dataset(X, y), rng.standard_normal((8, d)), rng.choice([-1.0, 1.0], 8)


def test_grown_neurons_that_shrink_do_so_along_their_line():
    problem = shrinking()
    path = rf.saddle_to_saddle(*problem)
    assert path.success
    second, third = path.stages[2:4]
    assert second.status[[0, 2]].tolist() == ["decaying", "decaying"]
    assert third.status[[0, 2]].tolist() == ["rest", "rest"]
    np.testing.assert_allclose(third.power[[0, 2]], second.rate[[0, 2]] * (second.ends - second.begins), rtol=1e-12)
    length = 140 * np.log(10.0)
    said = path.predict(1e-140)
    middle = float(said.times[2:4].mean())
    full = rf.integrate(problem[0], path.start(1e-140), until=middle, loss="squared", rtol=1e-11)
    assert np.exp(full.log_loss_end) == pytest.approx(third.loss, abs=1e-9)  # was 0.158 off: rounding had turned them
    sizes = np.log(np.linalg.norm(full.final.W[[0, 2]], axis=1)) / length
    np.testing.assert_allclose(sizes, third.power[[0, 2]], atol=0.01)


def test_what_is_off_the_line_is_removed_where_it_is_rounding():
    X = np.array([[1.0, 1.0, 0.0], [-1.0, 0.2, 0.3], [0.0, 0.0, 1.0]])
    W = np.array([[2.0, 2.0 + 1e-13, 0.0], [1e-20, 1.3e-20, 0.0], [2.0, 2.1, 0.0], [1.0, 1.0, 1.0], [1.0, 1.0, 0.0]])
    pattern = np.array([[1, -1, -1], [1, -1, -1], [1, -1, -1], [1, -1, 1], [1, -1, 0]])
    net = rf.Network(W, np.ones(5), pattern=pattern)
    known = np.array([False, True, False, False, False])
    moved, found = put_on_rays(net, X, known)
    assert found.tolist() == [True, True, False, False, True]
    np.testing.assert_allclose(moved.W[0], np.full(3, 2.0) * [1, 1, 0], rtol=1e-12)
    np.testing.assert_allclose(moved.W[1], np.array([1.15e-20, 1.15e-20, 0.0]), rtol=1e-15)
    np.testing.assert_array_equal(moved.W[2:4], W[2:4])
    np.testing.assert_allclose(np.cross(moved.W[:2], X[0]), 0.0, atol=1e-35)
