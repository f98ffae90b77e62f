"""The exact flow of ten neurons on the 2-D example of Wang & Pilanci, and what it tells.

Run it with a folder to write to: ``python examples/quickstart.py out/quickstart``.
"""

from __future__ import annotations

import sys
from pathlib import Path

import reluflow as rf


def main(out: Path) -> None:
    data = rf.datasets.wang_pilanci("obtuse")
    start = rf.Network.init(10, data.d, scale=1e-3, seed=1)
    sol = rf.integrate(data, start, until=rf.Stop(time=1e4))

    print(sol.summary())
    print(sol.events)

    table = rf.analysis.series(sol)
    print(f"normalised margin {table['normalised_margin'].iloc[-1]:.6f}, the largest possible is 0.389884")
    print(rf.analysis.alignment_times(sol, delta=0.1)[["sign", "condition", "time", "bound"]].round(3))

    with rf.figures.style():
        figure, (left, right) = rf.figures.panels(2, height=3.4)
        run = rf.analysis.sample(sol)
        rf.figures.weight_plane(rf.analysis.weight_plane(run), left)
        rf.figures.alignment(rf.analysis.alignment(run), right)
        out.mkdir(parents=True, exist_ok=True)
        figure.savefig(out / "quickstart.png")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "out/quickstart"))
