"""Gradient descent beside the flow on handwritten digits: the error falls like the step, the kinks go unseen."""

from __future__ import annotations

import sys
from pathlib import Path

import reluflow as rf


def main(out: Path) -> None:
    data = rf.datasets.digits(3, 8)
    start = rf.Network.init(20, data.d, scale=1e-3, seed=0)
    sol = rf.integrate(data, start, until=rf.Stop(time=0.2))
    print(f"{len(sol.events):,} events in {sol.stats['steps']:,} steps: {sol.events.counts()}")

    table = rf.analysis.compare_with_descent(sol, steps=[1e-3, 3e-4, 1e-4])
    print(table[["step", "n_steps", "error", "mean_loss"]].to_string(index=False))

    with rf.figures.style():
        figure, ax = rf.figures.panels(1, width=6.9, height=4.0)
        rf.figures.event_raster(rf.analysis.raster(sol), ax)
        out.mkdir(parents=True, exist_ok=True)
        figure.savefig(out / "events.png")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "out/euler_or_exact"))
