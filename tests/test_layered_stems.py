"""Places that vanish with weights that they share, beside units that die and wake.

Where all that a unit reads passes one unit below, its pre-activation on a sample is z = w t with the value t of that
one. While w slides nothing that moves t moves z. What the steps leave of w, 10⁻¹⁰ of its terms, made rates of z of
what moved t, and sides of these: such runs ended `undecided_event`, seven of 150 networks of four layers.
"""

from __future__ import annotations

import numpy as np
import pytest

import reluflow as rf
from reluflow.layered import DeepNetwork, Dense


def problem(seed: int) -> tuple[np.ndarray, np.ndarray, DeepNetwork]:
    """Draw noisy halves of space with a constant input, and a network of four layers."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(20, 60)), int(rng.integers(2, 6))
    X = np.c_[rng.standard_normal((n, d)), np.ones(n)]
    y = np.sign(X[:, 0] + 0.3 * rng.standard_normal(n))
    y[:2] = 1.0, -1.0
    layers = [Dense(6), Dense(5), Dense(4), Dense(1)]
    return X, y, DeepNetwork.init(layers, dim=d + 1, scale=1.0, seed=seed)


@pytest.mark.parametrize(("seed", "end"), [(139, 1.2), (0, 1.7)])
def test_units_that_wake_or_die_beside_shared_weights(seed, end):
    X, y, net = problem(seed)
    one, other = (rf.integrate((X, y), net, until=rf.Stop(time=end), rtol=rtol) for rtol in (1e-8, 1e-10))
    assert one.success, one.message
    assert other.success, other.message
    np.testing.assert_allclose(one.final.theta, other.final.theta, atol=1e-9)
    step = 4e-4
    descent = rf.descend((X, y), net, step=step, n_steps=round(end / step))
    finer = rf.descend((X, y), net, step=step / 4, n_steps=4 * round(end / step))
    far, near = (np.abs(run.final.theta - other.final.theta).max() for run in (descent, finer))
    assert near < 0.4 * far  # of first order in the step
    assert near < 1e-2
