"""Draw the figure of "Beyond the clock" in horizon.md, and print its numbers: ``python docs/draw_beyond.py``."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import numpy as np

import reluflow as rf

mpl.use("Agg")
from matplotlib import pyplot as plt

HERE = Path(__file__).resolve().parent
DESCENT_STEPS, DESCENT_STEP = 1_000_000, 0.01
CLOCKS = (1e3, 1e10)  # log t marked in the figure
FAR = 120.0  # log |θ| to which the curve is drawn


def margin(net: rf.Network, data: rf.Dataset) -> float:
    """Smallest margin over |θ|²."""
    return float((data.y * net(data.X)).min() / net.norm**2)


def main() -> None:
    """Run, describe and draw."""
    data = rf.datasets.wine("class_1", "class_2")
    net = rf.Network.init(20, data.d, scale=0.1, seed=0)
    sol = rf.integrate(data, net, until=rf.Stop(limit=True))
    drawn = rf.integrate(data, sol, until=rf.Stop(log_norm=FAR))
    pairs = [*zip(sol.W, sol.a, strict=True), *zip(drawn.W[1:], drawn.a[1:], strict=True)]
    states = [rf.Network(W, a) for W, a in pairs]
    log_times = np.r_[sol.log_t, drawn.log_t[1:]]
    event_times = np.r_[sol.events.log_t, drawn.events.log_t]
    norms = np.log([state.norm for state in states])
    gaps = np.array([1 - margin(state, data) / sol.limit.margin for state in states])
    shown = gaps < 0.5
    descent = rf.descend(data, net, step=DESCENT_STEP, n_steps=DESCENT_STEPS, save_every=DESCENT_STEPS // 100)
    ends = [rf.Network(W, a) for W, a in zip(descent.W, descent.a, strict=True)]
    last = ends[-1]
    print(
        f"{sol.status}: log |θ| = {np.log(sol.final.norm):.1f}, log t = {sol.log_t_end:.3g}, {sol.stats['steps']} steps"
    )
    print(f"margin {sol.limit.margin:.12f}, largest residual {sol.limit.residuals.largest:.1e}")
    print(f"events beyond log t = 1e10: {int((sol.events.log_t > 1e10).sum())}")
    print(f"descent: log |θ| = {np.log(last.norm):.2f}, gap {1 - margin(last, data) / sol.limit.margin:.3f}")

    figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
    axes.semilogy(norms[shown], np.maximum(gaps[shown], 1e-16), label="the flow")
    far = [(np.log(end.norm), 1 - margin(end, data) / sol.limit.margin) for end in ends]
    kept = [(x, y) for x, y in far if y < 0.5]
    if kept:
        axes.plot(*zip(*kept, strict=True), "o", ms=3, label=f"{DESCENT_STEPS:,} steps of descent")
    event_norms = np.interp(np.log(np.maximum(event_times, 1.0)), np.log(np.maximum(log_times, 1.0)), norms)
    late = event_norms > norms[shown].min()
    axes.plot(event_norms[late], np.full(late.sum(), 2e-9), "|", color="0.5", label="events")
    for log_t in CLOCKS:
        at = float(np.interp(log_t, log_times, norms))
        axes.axvline(at, color="0.8", lw=1, zorder=0)
        axes.text(at, 1.0, f" log t = {log_t:g}", rotation=90, va="top", fontsize=8, color="0.4")
    axes.axvline(np.log(sol.final.norm), color="tab:green", lw=1, zorder=0, label="certified here")
    axes.set(xlabel="log |θ|", ylabel="1 - margin / margin of the limit", ylim=(1e-9, 1.0))
    axes.legend()
    figure.savefig(HERE / "horizon" / "beyond.png", dpi=150)


if __name__ == "__main__":
    main()
