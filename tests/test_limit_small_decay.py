"""Critical points of weight decay far below the weights of samples, which cancel in what pulls a neuron."""

from __future__ import annotations

import numpy as np
import pytest

import reluflow as rf


def lacks(data: rf.Dataset, net: rf.Network, loss: str, decay: float) -> float:
    """Largest |g - γ w/a| of a live neuron that slides on nothing, in 80 bits, over Σ |λ| |x|."""
    X, y = data.X.astype(np.longdouble), data.y.astype(np.longdouble)
    W, a = net.W.astype(np.longdouble), net.a.astype(np.longdouble)
    Z = X @ W.T
    f = np.where(Z > 0, Z, net.leak * Z) @ a
    lam = y - f if loss == "squared" else y * np.exp(-y * f)
    worst = np.longdouble(0.0)
    for j in np.flatnonzero(net.a):
        if net.pattern is not None and not net.pattern[j].all():
            continue
        g = (lam * np.where(Z[:, j] > 0, 1.0, net.leak)) @ X
        worst = max(worst, np.abs(g - decay * W[j] / a[j]).max())
    return float(worst / (np.abs(lam) @ np.linalg.norm(data.X, axis=1) + decay))


@pytest.mark.parametrize(
    ("seed", "loss", "n", "d", "m", "leak"),
    [
        (6, "squared", 7, 2, 4, 0.1),
        (21, "squared", 9, 1, 5, 0.0),
        (37, "squared", 8, 2, 5, 0.0),
        (5, "exponential", 9, 1, 6, 0.0),
        (39, "exponential", 7, 1, 5, 0.1),
    ],
)
def test_small_decay_is_certified(seed: int, loss: str, n: int, d: int, m: int, leak: float) -> None:
    """The pulls of sizes and multipliers were 1e-11 to 1e-8 off by rounding, and so was the network made of them."""
    rng, decay = np.random.default_rng(seed), 1e-6
    X = np.c_[rng.standard_normal((n, d)), np.ones(n)]
    data = rf.Dataset(X, rng.standard_normal(n) if loss == "squared" else rng.choice([-1.0, 1.0], n))
    net = rf.Network.init(m, d + 1, scale=0.3, seed=seed, leak=leak)
    sol = rf.integrate(data, net, until=rf.Stop(limit=True, seconds=20), loss=loss, weight_decay=decay)
    assert (sol.status, sol.limit.certified) == ("reached_limit", True), sol.message
    assert sol.limit.residuals.stationarity < 1e-14
    assert lacks(data, sol.limit.network, loss, decay) < 1e-14


def test_what_rounding_leaves_is_critical_for_certify_too() -> None:
    """The residual is a part of γ |θ|; of outputs a million times as large rounding leaves more than 1e-9."""
    residuals = []
    for seed, n, d, leak, decay in ((39, 8, 2, 0.1, 1e-6), (10, 7, 3, 0.0, 1e-7)):
        rng = np.random.default_rng(seed)
        X = np.c_[rng.standard_normal((n, d)), np.ones(n)]
        data = rf.Dataset(X, rng.standard_normal(n))
        net = rf.Network.init(4, d + 1, scale=0.3, seed=seed, leak=leak)
        sol = rf.integrate(data, net, until=rf.Stop(limit=True, seconds=20), loss="squared", weight_decay=decay)
        assert sol.limit.certified
        found = rf.certify(sol, data)
        assert found.verdict == "critical_not_global", found.message
        residuals.append(found.residual)
        moved = rf.Network(sol.limit.network.W * (1 + 1e-5), sol.limit.network.a, leak=leak)
        assert rf.certify(moved, data, loss="squared", weight_decay=decay).verdict == "not_critical"
    assert max(residuals) > 1e-9  # how much rounding leaves depends on the processor
