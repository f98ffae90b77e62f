"""Units of a layer that hold a sample at zero together, for as long as the loss has a local minimum there."""

from __future__ import annotations

import numpy as np
import pytest

import reluflow as rf


def separable(seed: int, bias: bool, rtol: float) -> rf.layered.DeepSolution:
    """Three layers on a few whole numbers with random labels."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-2, 3, (6, 3)).astype(float)
    X[(X == 0).all(axis=1), 0] = 1.0
    y = rng.choice([-1.0, 1.0], 6)
    y[:2] = 1, -1
    if bias:
        X = np.c_[X, np.ones(6)]
    X = np.unique(X, axis=0)
    layers = [rf.Dense(6), rf.Dense(5), rf.Dense(1)]
    net = rf.DeepNetwork.init(layers, dim=X.shape[1], scale=2.0 if bias else 1.0, seed=seed)
    return rf.integrate(rf.Dataset(X, y[: len(X)]), net, until=rf.Stop(log_time=50.0), rtol=rtol)


@pytest.mark.parametrize(
    ("seed", "bias"),
    [(8, False), (20, False), (27, False), (30, False), (32, False), (38, False), (25, True), (30, True), (31, True)],
)
def test_units_hold_a_sample_together_to_the_end(seed: int, bias: bool) -> None:
    """Rows align, and the rounding of multipliers that nearly cancel was taken for a way down: 12 of 80 ended.

    They said `undecided_event` at log t = 6 to 29.
    """
    runs = [separable(seed, bias, rtol) for rtol in (1e-8, 1e-11)]
    for sol in runs:
        assert sol.status == "reached_log_time", sol.message
    theta, exact = (sol.final.theta for sol in runs)
    assert np.linalg.norm(theta - exact) < 1e-5 * np.linalg.norm(exact)
    assert [e.kind for e in runs[0].events] == [e.kind for e in runs[1].events]


@pytest.mark.parametrize("rtol", [1e-6, 1e-8, 1e-9, 1e-10, 1e-12])
def test_a_unit_that_decays_while_it_slides_stays_on_its_boundaries(rtol: float) -> None:
    """The rounding of its start is as large as the unit at 1e-16: it turned, woke up and grew to 1."""
    X = [[1, 0, -2], [2, -1, -1], [-2, 0, -1], [2, -2, -1], [0, 2, 1], [-1, -1, -1], [-1, 2, 0]]
    data = rf.Dataset(X, [-1, 1, 1, 1, -1, 1, 1], weights=[2, 3, 3, 2, 1, 1, 3])
    W = np.array([[-0.667, -0.0887, -0.0035], [0.2064, 0.7674, -0.9976]])
    net = rf.Network(W, -np.linalg.norm(W, axis=1))
    sol = rf.integrate(data, net, until=500.0, loss="exponential", rtol=rtol, rates=(1.0, 1.0))
    own = rf.integrate(data, net, until=500.0, loss="exponential", rtol=1e-12)
    assert len(sol.events) == len(own.events) == 7
    np.testing.assert_allclose(sol.final.W, own.final.W, atol=10 * rtol)
    assert np.abs(sol.final.W[1]).max() < 1e-40
