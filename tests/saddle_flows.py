"""What a path must say: full flows from small scales, and the closed form of orthogonal inputs."""

from __future__ import annotations

import numpy as np
from scipy.optimize import brentq

import reluflow as rf


def half_times(path: rf.saddles.SaddlePath, scale: float) -> tuple[np.ndarray, np.ndarray]:
    """Times of half falls of a full flow less the predicted ones, and losses midway between them."""
    said = path.predict(scale)
    data, n = path.data, path.data.n if path.reduction == "mean" else 1
    until = rf.Stop(time=float(said.times[-1]) * 1.2 + 10.0)
    sol = rf.integrate(data, path.start(scale), until=until, loss="squared", reduction=path.reduction, rtol=1e-12)

    def loss(t: float) -> float:
        return 0.5 * float(data.counts @ (sol(t)(data.X) - data.y) ** 2)

    off = []
    for k, t in enumerate(said.times):
        half = 0.5 * (said.losses[k] + said.losses[k + 1])
        i = int(np.argmax(n * np.exp(sol.log_loss) < half))
        off.append(brentq(lambda t, half=half: loss(t) - half, sol.t[i - 1], sol.t[i], xtol=1e-13) - t)
    middles = 0.5 * (said.times[1:] + said.times[:-1])
    return np.array(off), np.array([loss(t) for t in middles]) - said.losses[1:-1]


def stages_of_orthogonal_inputs(
    lam: np.ndarray, products: np.ndarray, signs: np.ndarray
) -> list[tuple[float, np.ndarray]]:
    """Times of the stages and their λ, from the closed form.

    A neuron grows at the rate of its samples that have not been taken, and takes them all. `products` are those of the
    m directions with the inputs, of any length, that are orthogonal to each other; shape (m, n).
    """
    power, grown, lam = np.full(len(signs), -1.0), np.zeros(len(signs), dtype=bool), lam.copy()
    found = [(0.0, lam)]
    while True:
        own = (products > 0) & (signs[:, None] * lam > 0)
        rate = np.where(grown, 0.0, np.sqrt((own * lam**2).sum(axis=1)))
        wait = np.full(len(signs), np.inf)
        np.divide(-power, rate, out=wait, where=rate > 0)
        if not np.isfinite(wait.min()):
            return found
        wakes = wait <= wait.min() * (1 + 1e-9)
        power += rate * wait.min()
        grown |= wakes
        lam = np.where(own[wakes].any(axis=0), 0.0, lam)
        found.append((found[-1][0] + float(wait.min()), lam))
