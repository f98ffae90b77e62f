"""Full flows from small scales beside what a path predicts of them."""

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
