"""The arithmetic of one instant, against closed forms and slow twins."""

from __future__ import annotations

import numpy as np
import pytest

from reluflow.analysis._kernels import cosines, drive, project_held


def slow_projection(G, X, pattern):
    """Each row minus its least-squares fit by the boundaries that hold the neuron."""
    out = G.copy()
    for j, row in enumerate(pattern):
        held = X[row == 0]
        if len(held):
            out[j] -= held.T @ np.linalg.lstsq(held.T, G[j], rcond=None)[0]
    return out


def test_projection_on_held_boundaries_agrees_with_least_squares_even_for_dependent_boundaries():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((9, 5))
    X[3] = -2.0 * X[1]  # one boundary twice
    pattern = rng.integers(-1, 2, (12, 9)).astype(np.int8)
    pattern[0, [1, 3]] = 0
    G = rng.standard_normal((12, 5))
    np.testing.assert_allclose(project_held(G, X, pattern), slow_projection(G, X, pattern), atol=1e-12)


def test_the_pull_counts_active_samples_leaky_ones_and_no_held_ones():
    X = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    pull = drive(X, np.array([1.0, 2.0, 4.0]), np.array([[1, -1, 1], [0, 1, -1]], dtype=np.int8), 0.5)
    np.testing.assert_allclose(pull, [[5.0, 5.0], [0.0, 4.0]])


def test_cosines_of_zero_vectors_are_nan():
    A, B = np.array([[3.0, 4.0], [0.0, 0.0]]), np.array([[4.0, 3.0], [1.0, 0.0]])
    found = cosines(A, B)
    assert found[0] == pytest.approx(0.96)
    assert np.isnan(found[1])
