"""A neuron that slides along a boundary: where following single signs fails, and a theorem needs its projected form."""

from __future__ import annotations

import sys
from pathlib import Path

import reluflow as rf


def main(out: Path) -> None:
    data = rf.datasets.counterexample("sliding")  # x = (1, 1) with +1, (0, 3) with -1
    start = rf.Network([[8e-7, 6e-7]], [1e-6])
    sol = rf.integrate(data, start, until=rf.Stop(time=30.0))
    for event in sol.events:
        print(f"t = {event.t:.6f}: neuron {event.neuron} meets the boundary of sample {event.sample}: {event.kind}")

    run = rf.analysis.sample(sol)
    for projected in (False, True):
        cosine = rf.analysis.alignment(run, projected=projected)
        print(f"projected {projected}: largest alignment {float(cosine.max()):.6f}")
    (top,) = (e for e in rf.analysis.extremal_directions(data) if e.sign > 0)
    print(f"extremal direction {top.direction.round(6)} in the sector {top.sector}")

    with rf.figures.style():
        figure, ax = rf.figures.panels(1, height=3.4)
        rf.figures.weight_plane(rf.analysis.weight_plane(run), ax)
        out.mkdir(parents=True, exist_ok=True)
        figure.savefig(out / "sliding.png")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "out/sliding"))
