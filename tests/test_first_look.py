"""The first look of a step is in single precision, in which a distance of 1e-9 cannot be told from none."""

from __future__ import annotations

import numpy as np
import pytest

import reluflow as rf

DISTANCE = 1e-9


@pytest.mark.parametrize("seed", range(8))
def test_a_boundary_nearer_than_single_precision_is_met(seed: int) -> None:
    """One neuron starts that far below one boundary, and the run ends just behind it.

    Before, weights and gradient are constant to 1e-9, and so is the rate at which it comes nearer.
    """
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((40, 20)), np.where(rng.random(40) < 0.5, 1.0, -1.0)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    w = rng.standard_normal(20)
    w -= (w @ X[0]) * X[0]
    w = w / np.linalg.norm(w) - DISTANCE * X[0]

    def rate(a: float) -> float:
        z = X @ w
        pull = y / (1.0 + np.exp(y * a * np.maximum(z, 0.0)))
        return a * (pull * (z > 0)) @ X @ X[0]

    a = next(a for a in (0.5, -0.5, 0.1, -0.1) if rate(a) > 0.0)
    t = DISTANCE / rate(a)
    sol = rf.integrate(rf.Dataset(X, y), rf.Network(w[None], np.array([a])), until=1.01 * t, reduction="sum")
    assert [(event.sample, event.kind) for event in sol.events] in ([(0, "cross_up")], [(0, "slide")])
    assert abs(sol.events.t[0] / t - 1.0) < 1e-5
