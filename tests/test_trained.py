"""What is trained: one layer alone, and two layers at different rates, as docs/regression.md puts them."""

from __future__ import annotations

import numpy as np
import pytest

import reluflow as rf


def first_layer_alone(W: np.ndarray, a: np.ndarray) -> rf.DeepNetwork:
    last = rf.Shared(index=-np.ones((1, len(a)), dtype=int), fixed=a[None, :])
    return rf.DeepNetwork([rf.Dense(len(a)), last], W.ravel(), dim=W.shape[1])


def test_one_neuron_with_a_fixed_output_follows_its_closed_form() -> None:
    """One sample x under the exponential loss: z' = a x² e^{-az}, so e^{az} grows by a² x² t."""
    x, a, w = 1.5, 0.7, 0.2
    sol = rf.integrate(
        rf.Dataset([[x]], [1]), first_layer_alone(np.array([[w]]), np.array([a])), until=50.0, loss="exponential"
    )
    z = np.log(np.exp(a * w * x) + (a * x) ** 2 * 50.0) / a
    assert sol.final.theta == pytest.approx([z / x], rel=1e-9)


@pytest.mark.parametrize("seed", [0, 2, 3])  # in 1 a unit comes to w = 0, where more boundaries meet than inputs
def test_the_first_layer_alone_is_descent_with_fixed_outputs(seed: int) -> None:
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((12, 3)), rng.standard_normal(12)
    W, a = 0.4 * rng.standard_normal((5, 3)), rng.choice([-0.7, 0.7], 5)
    sol = rf.integrate(rf.Dataset(X, y), first_layer_alone(W, a), until=2.0, loss="squared")
    assert sol.status == "reached_time"
    ends = []
    for n_steps in (2000, 16000):
        moving = W.copy()
        for _ in range(n_steps):
            z = X @ moving.T
            errors = np.maximum(z, 0) @ a - y
            moving -= 2.0 / n_steps * a[:, None] * ((z > 0) * errors[:, None]).T @ X
        ends.append(np.abs(moving - sol.final.matrix(1)).max())
    assert ends[0] < 5e-3
    assert ends[1] < 0.4 * ends[0]


@pytest.mark.parametrize(("eta_w", "eta_a"), [(3.0, 0.5), (0.1, 2.0)])
def test_two_rates_are_equal_rates_of_a_rescaled_network(eta_w: float, eta_a: float) -> None:
    rng = np.random.default_rng(1)
    X, y = rng.standard_normal((12, 3)), np.where(rng.standard_normal(12) > 0, 1.0, -1.0)
    W, a = 0.4 * rng.standard_normal((5, 3)), 0.4 * rng.standard_normal(5)
    c, t = (eta_a / eta_w) ** 0.25, 0.5
    sol = rf.integrate(rf.Dataset(X, y), rf.Network(c * W, a / c), until=(eta_w * eta_a) ** 0.5 * t)
    ends = []
    for n_steps in (2000, 16000):
        w, b = W.copy(), a.copy()
        for _ in range(n_steps):
            z = X @ w.T
            pulls = y / (1 + np.exp(y * (np.maximum(z, 0) @ b)))
            dw, db = b[:, None] * ((z > 0) * pulls[:, None]).T @ X, pulls @ np.maximum(z, 0)
            w, b = w + t / n_steps * eta_w * dw, b + t / n_steps * eta_a * db
        ends.append(max(np.abs(w - sol.final.W / c).max(), np.abs(b - c * sol.final.a).max()))
    assert ends[0] < 5e-3
    assert ends[1] < 0.4 * ends[0]
