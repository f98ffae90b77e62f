"""A unit of the second layer comes to zero on many samples at once, as all that it reads there is in one direction."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pytest
from sklearn.datasets import make_moons

import reluflow as rf


# Its rate is the same on all of these samples but for factors. Where these were small the rate was taken for rounding,
# and such places went by accelerations against the others: the runs ended `undecided_event`.
@pytest.mark.parametrize(("loss", "seed", "start"), [("exponential", 2, 6.8), ("logistic", 3, 11.1)])
def test_places_of_one_rate_go_together(loss: Literal["exponential", "logistic"], seed: int, start: float) -> None:
    X, y = make_moons(60, noise=0.1, random_state=0)
    data = rf.Dataset(np.c_[X, np.ones(60)], 2.0 * y - 1.0)
    net = rf.DeepNetwork.init([rf.Dense(10), rf.Dense(10), rf.Dense(1)], dim=3, scale=1e-2, seed=seed)
    end = start + 0.3
    sol = rf.integrate(data, net, loss=loss, until=end)
    assert sol.status == "reached_time", sol.message
    before = sol(start)
    # A start a little beside passes the event as what is near does, and so do short explicit steps.
    theta = before.theta * (1.0 + 1e-8 * np.random.default_rng(0).standard_normal(before.theta.size))
    beside = rf.DeepNetwork.from_nodes(before.spec, theta)
    near = rf.integrate(data, beside, loss=loss, until=end - start)
    assert near.status == "reached_time", near.message
    assert np.abs(near.final.theta - sol.final.theta).max() < 1e-6
    errors = []
    for n_steps in (500, 2000):
        euler = rf.descend(data, before, loss=loss, step=(end - start) / n_steps, n_steps=n_steps)
        errors.append(np.abs(euler.final.theta - sol.final.theta).max())
    assert errors[1] < 0.5 * errors[0] < 1e-2


def test_a_unit_rests_at_zero_on_samples_of_more_rays_than_are_listed() -> None:
    """All weights of a unit of the third layer that act come to zero together, on 20 samples of one linear function of
    five coordinates. Its boundaries depend on each other, and such runs were given up."""
    rng = np.random.default_rng(20798)
    n, d = int(rng.integers(8, 30)), int(rng.integers(1, 10))
    X, y = rng.integers(0, 4, (n, d)).astype(float), rng.integers(0, 3, n).astype(float)
    solutions = [
        rf.ReluFlowRegressor(width=(4, 4, 3), until=rf.Stop(time=20.0), rtol=rtol, random_state=20798).fit(X, y)
        for rtol in (1e-3, 1e-10)
    ]
    coarse, fine = (found.solution_ for found in solutions)
    assert coarse.status == fine.status == "reached_time"
    assert coarse.settings["rtol"] == 1e-3
    held = fine.pattern(fine.t_end)[2][:, 2] == 0
    assert held.sum() == 20
    np.testing.assert_allclose(solutions[1].predict(X), y.mean(), atol=1e-9)  # the output reads nothing any more
    np.testing.assert_allclose(coarse.final.theta, fine.final.theta, atol=1e-3)
