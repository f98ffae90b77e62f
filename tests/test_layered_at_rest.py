"""Layered networks on data with wrong labels: margins that stay finite beside others that grow, and idle samples."""

from __future__ import annotations

from typing import Any

import numpy as np

import reluflow as rf
from reluflow.layered._frozen import Frozen


def survey(seed: int) -> tuple[rf.Dataset, rf.DeepNetwork, Any]:
    """Random labels, or those of a hyperplane of which a tenth is turned over, with a network and a loss."""
    rng = np.random.default_rng([seed, 501])
    n, d = int(rng.integers(4, 21)), int(rng.integers(2, 4))
    X = rng.standard_normal((n, d))
    if seed % 2 == 0:
        y = rng.choice([-1.0, 1.0], n)
    else:
        y = np.sign(X @ rng.standard_normal(d))
        y[rng.permutation(n)[: max(1, round(n / 10))]] *= -1
    scale = [0.01, 0.1, 0.3, 1.0][(seed // 6) % 4]
    hidden = [rf.Dense(width) for width in [(3, 3), (4, 4), (6,)][seed % 3]]
    net = rf.DeepNetwork.init([*hidden, rf.Dense(1)], dim=d, scale=scale, seed=seed)
    return rf.Dataset(X, y), net, ["logistic", "exponential"][int(rng.integers(2))]


def multipliers_of_slides(sol: Any, log_t: float) -> list[tuple[float, float]]:
    """Return μ and what comes back to each place that slides, for weights in units of the largest."""
    state = sol._state(log_t, "log_t")
    theta, data = np.asarray(state["theta"]), sol._problem
    frozen = Frozen(sol.initial.nodes, data.X, state["sides"], state["modes"], len(theta))
    q = data.targets[:, 0] * np.asarray(frozen.outputs(theta))[:, 0]
    moves = frozen.gradients(theta, np.arange(len(q))).any(axis=1)
    lam = data.targets * np.exp(-(q - q[moves].min()))[:, None]
    drive, N = frozen.pull(theta, lam, np.zeros(len(frozen.held))).theta, frozen.normals(theta)
    mu = np.linalg.lstsq(N.T, -drive)[0]
    return list(zip(mu, frozen.pull(theta, lam, mu).back, strict=True))


def test_the_weight_of_an_idle_sample_hides_no_multiplier() -> None:
    """A sample with f = 0 holds a unit and weighs e^36 times as much as all that moves.

    Its rounding is no error of what the unit feels at another boundary, where it goes on.
    """
    data, net, loss = survey(37)
    sol = rf.integrate(data, net, loss=loss, until=rf.Stop(log_time=33.0))
    assert sol.status == "reached_log_time"
    last = sol.events[-1]
    assert 31 < last.log_t < 32
    assert (last.unit, last.sample, last.kind) == (2, 13, "cross_up")
    for mu, back in multipliers_of_slides(sol, 33.0):
        assert min(0.0, back) - 1e-9 <= mu <= max(0.0, back) + 1e-9
