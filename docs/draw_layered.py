"""Draw the figure of layered.md, a unit that slides in the second layer: ``python docs/draw_layered.py``."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import numpy as np
import numpy.typing as npt

import reluflow as rf

mpl.use("Agg")
from matplotlib import pyplot as plt

HERE = Path(__file__).resolve().parent
Floats = npt.NDArray[np.float64]
LAYER, UNIT, SAMPLE = 2, 1, 2
END, STEP, N_TIMES = 2.2, 0.02, 800
MOMENT = 1e-5  # half the time over which a velocity is taken


def problem() -> tuple[rf.Dataset, rf.DeepNetwork]:
    """Make the data of the page and another start of its network."""
    rng = np.random.default_rng(1)
    data = rf.Dataset(rng.standard_normal((8, 3)), [1, -1, 1, 1, -1, 1, -1, -1])
    return data, rf.DeepNetwork.init([rf.Dense(5), rf.Dense(4), rf.Dense(1)], dim=3, scale=1.0, seed=1)


def weights(net: rf.DeepNetwork) -> list[Floats]:
    return [layer.W for layer in net.layers]


def hidden(W: list[Floats], X: Floats) -> tuple[Floats, Floats]:
    """Outputs of the first layer, and pre-activations of the unit."""
    h = np.maximum(X @ W[0].T, 0.0)
    return h, h @ W[1][UNIT]


def slope(sol: rf.layered.DeepSolution, t: float) -> float:
    """The slope μ/β with which the unit acts on the sample, from the velocity of its row: W' = Σ s β h."""
    W = weights(sol(t))
    h, z = hidden(W, sol.data.X)
    f = np.maximum(h @ W[1].T, 0.0) @ W[2][0]
    beta = sol.data.y / (1.0 + np.exp(sol.data.y * f)) * W[2][0, UNIT]
    sides = sol.pattern(t)[LAYER - 1][:, UNIT]
    velocity = (weights(sol(t + MOMENT))[1] - weights(sol(t - MOMENT))[1])[UNIT] / (2 * MOMENT)
    known = sides > 0
    sliding = (sides == 0) & h.any(axis=1)
    if not sliding[SAMPLE]:
        return float(z[SAMPLE] > 0)
    mu = np.linalg.lstsq(h[sliding].T, velocity - beta[known] @ h[known], rcond=None)[0]
    return float((mu / beta[sliding])[np.flatnonzero(sliding) == SAMPLE][0])


def main() -> None:
    """Run, describe and draw."""
    data, net = problem()
    sol = rf.integrate(data, net, until=END, rtol=1e-10)
    own = [(e.t, e.kind) for e in sol.events if (e.layer, e.unit, e.sample) == (LAYER, UNIT, SAMPLE)]
    print(f"{sol.status}, {len(sol.events)} events; of this unit and sample: {own}")
    times = np.unique(np.r_[np.linspace(2 * MOMENT, END - 2 * MOMENT, N_TIMES), [t for t, _ in own]])
    z = [hidden(weights(sol(t)), data.X)[1][SAMPLE] for t in times]
    descent = rf.descend(data, net, step=STEP, n_steps=round(END / STEP), save_every=1)
    steps = [hidden(weights(rf.DeepNetwork.from_nodes(net.spec, theta)), data.X)[1][SAMPLE] for theta in descent.theta]
    quiet = [t for t in times if all(abs(t - e.t) > 2 * MOMENT for e in sol.events)]

    figure, (above, below) = plt.subplots(2, 1, figsize=(7, 5), sharex=True, layout="constrained")
    above.axhline(0.0, color="0.8", lw=1)
    above.plot(descent.t, steps, ".-", color="C1", ms=3, lw=0.7, label=f"gradient descent, step {STEP}")
    above.plot(times, z, color="C0", lw=2, label="the flow")
    above.set(ylabel=f"z of layer {LAYER} unit {UNIT}, sample {SAMPLE}")
    above.legend()
    below.plot(quiet, [slope(sol, t) for t in quiet], color="C0", lw=2)
    below.set(xlabel="t", ylabel="slope μ/β", ylim=(-0.05, 1.05), xlim=(0.0, END))
    for t, kind in own:
        for axes in (above, below):
            axes.axvline(t, color="0.7", lw=1, ls=":", zorder=0)
        below.annotate(f" {kind}", (t, 0.55 if kind == "slide" else 0.45), color="0.4")
    figure.savefig(HERE / "layered" / "sliding.png", dpi=150, metadata={"Software": None})


if __name__ == "__main__":
    main()
