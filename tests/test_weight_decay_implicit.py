"""Weight decay against losses of margins in implicit steps: stiff while margins balance, and near critical points."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.special import expit

import reluflow as rf


@pytest.mark.parametrize("loss", ["logistic", "exponential"])
@pytest.mark.parametrize("rtol", [1e-6, 1e-9, 1e-12])
def test_labels_that_balance_beside_large_weights_take_hundreds_of_steps(loss: str, rtol: float) -> None:
    # One input of both labels: its output comes to where they balance at a rate of |θ|² = 10⁶, and then θ decays.
    y = np.array([1.0, 1.0, -1.0])
    data = rf.Dataset(np.ones((3, 1)), y)
    sol = rf.integrate(
        data,
        rf.Network([[5.0]], [1000.0]),
        until=rf.Stop(time=20.0, seconds=60),
        loss=loss,
        weight_decay=0.1,
        rtol=rtol,
    )
    assert sol.status == "reached_time"
    assert sol.stats["steps"] < 1000

    def field(t: float, theta: np.ndarray) -> np.ndarray:
        w, a = theta
        margins = y * (a * w)
        pull = y @ (expit(-margins) if loss == "logistic" else np.exp(-np.maximum(margins, -700.0)))
        return np.array([a * pull - 0.1 * w, w * pull - 0.1 * a])

    start = sol(1e-3)
    exact = solve_ivp(field, (1e-3, 20.0), np.r_[start.W[0], start.a], "Radau", rtol=1e-11, atol=1e-14).y[:, -1]
    np.testing.assert_allclose([sol.final.W[0, 0], sol.final.a[0]], exact, rtol=max(1e-8, 10 * rtol))


@pytest.mark.parametrize(("seed", "leak"), [(2, 0.5), (3, 0.1), (5, 0.0), (6, 0.0)])
def test_ordinary_data_come_to_their_critical_point_in_hundreds_of_steps(seed: int, leak: float) -> None:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((15, 4))
    data = rf.Dataset(X, rng.choice([-1.0, 1.0], 15))
    net = rf.Network.init(8, 4, scale=0.05, seed=seed, leak=leak)
    kw = {"loss": "exponential", "weight_decay": 2e-3}
    sol = rf.integrate(data, net, until=rf.Stop(time=2e4, seconds=60), **kw)
    assert sol.status == "reached_time"
    assert sol.stats["steps"] < 1500
    fine = rf.integrate(data, net, until=rf.Stop(time=2e4, seconds=60), rtol=1e-12, **kw)
    for t in (10.0, 300.0, 2e4):
        np.testing.assert_allclose(sol(t).theta, fine(t).theta, atol=1e-7)
    assert sol.limit.certified, sol.limit
    np.testing.assert_allclose(sol.final(X), sol.limit.network(X), rtol=1e-5, atol=1e-5)
