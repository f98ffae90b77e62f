"""Orthogonal samples in turned coordinates, where they are orthogonal but for rounding."""

from __future__ import annotations

import numpy as np
import pytest

import reluflow as rf

CORNERS = np.array([[1.0, 1.0], [-1.0, -1.0], [-1.0, 1.0]])
LABELS = np.array([-1.0, 1.0, 1.0])


def run(turn: np.ndarray, weights: np.ndarray, loss: str) -> rf.layered.DeepSolution:
    """Six neurons on three corners of a square."""
    theta = np.append((weights[:, :2] @ turn).ravel(), weights[:, 2])
    net = rf.DeepNetwork([rf.Dense(6), rf.Dense(1)], theta, dim=2)
    return rf.integrate((CORNERS @ turn, LABELS), net, loss=loss, until=100.0)


@pytest.mark.parametrize("loss", ["logistic", "exponential"])
@pytest.mark.parametrize("seed", [8, 9, 13, 19])
def test_what_only_rounding_moves_stays_on_its_boundary(seed: int, loss: str) -> None:
    """It left by the rounding of its multiplier and was told to slide again, without end: `undecided_event`.

    Of 600 such runs 107 ended there.
    """
    rng = np.random.default_rng(seed)
    weights = rng.standard_normal((6, 3))
    turn = np.linalg.qr(rng.standard_normal((2, 2)))[0]
    plain, sol = run(np.eye(2), weights, loss), run(turn, weights, loss)
    assert sol.success, sol.message
    rows = sol.final.layers[0].W @ turn.T
    np.testing.assert_allclose(rows, plain.final.layers[0].W, rtol=0, atol=1e-7)
    np.testing.assert_allclose(sol.final.layers[1].W, plain.final.layers[1].W, rtol=0, atol=1e-7)
