"""Your own table: labels, bias and scale first, then the flow, its groups of neurons and its late phase."""

from __future__ import annotations

import sys
from pathlib import Path

import reluflow as rf

TABLE = """length,width,kind
5.1,3.5,short
4.9,3.1,short
4.7,3.3,short
5.0,3.6,short
7.0,3.2,long
6.4,3.1,long
6.9,3.0,long
6.5,2.8,long
"""


def main(out: Path) -> None:
    out.mkdir(parents=True, exist_ok=True)
    (out / "flowers.csv").write_text(TABLE, encoding="utf-8")
    raw = rf.datasets.from_csv(out / "flowers.csv", label="kind", positive="long", bias_input=1.0)
    data = rf.datasets.standardise(raw)  # the bias stays as it is

    net = rf.Network.init(20, data.d, scale=1e-3, seed=0)
    sol = rf.integrate(data, net, until=rf.Stop(log_time=500.0))
    print(sol.summary())

    groups = rf.analysis.groups(sol)
    print(groups.groupby("group").agg(neurons=("neuron", "size"), share=("share", "sum")).round(4))

    table = rf.analysis.series(rf.analysis.sample(sol))
    fit = rf.analysis.tail_fit(table["log_t"], table["norm2_per_log_t"], loglog=True)
    last = rf.analysis.kkt_residuals(sol).iloc[-1]
    print(f"|theta|^2/log t tends to {fit.limit:.3f}, 1/margin is {1 / last['normalised_margin']:.3f}")
    print(f"epsilon {last['epsilon']:.1e}, delta {last['delta']:.1e} of the KKT conditions")

    sol.save(out / "flowers.npz")
    assert rf.load(out / "flowers.npz").events == sol.events


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "out/own_data"))
