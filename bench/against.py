"""Compare the flow with gradient descent and with scipy's integrators at equal error.

python bench/against.py            all, into docs/benchmarks.md and docs/benchmarks/*.png
python bench/against.py --quick    fewer and looser runs, into out/quick
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter

from threadpoolctl import threadpool_limits

import methods
import page
from methods import Case, Late, Point
from page import Result

ROOT = Path(__file__).resolve().parent.parent
# Euler's steps come to errors from 1e-2 to 1e-5 within about ten seconds a case.
CASES = (
    Case("P1", 1e4, (1e-1, 1e-2, 2e-3), peers=True),
    Case("P2", 3e-3, (1e-5, 1e-6, 2e-7), peers=True),
    Case("P2", 100.0, (5e-3, 2e-3)),
    Case("P3", 0.15, (1e-3, 1e-4, 1e-5), peers=True),
    Case("P3", 3.5, (1e-3, 1e-4)),
    Case("P3", 10.0, (1e-3, 5e-4)),
)
LATE = (("P1", 1e10), ("P2", 1e6), ("P3", 1e6))


@dataclass(frozen=True)
class Effort:
    """The tolerances of the sweeps from loose to tight, and the seconds that one run of a scipy method has."""

    flow_rtols: tuple[float, ...] = (1e-3, 1e-5, 1e-7, 1e-9, 1e-11)
    peer_rtols: tuple[float, ...] = (1e-4, 1e-5, 1e-6, 1e-8, 1e-10)
    peer_seconds: float = 4.0


QUICK = Effort(flow_rtols=(1e-5, 1e-9), peer_rtols=(1e-4,), peer_seconds=0.5)


class Progress:
    """One line a run, with the seconds since the start."""

    def __init__(self) -> None:
        self.begin = perf_counter()

    def __call__(self, text: object) -> None:
        print(f"[{perf_counter() - self.begin:6.1f} s] {text}", flush=True)


def told(say: Progress, point: Point) -> Point:
    say(f"  {point}")
    return point


def compare(case: Case, effort: Effort, say: Progress) -> Result:
    """All runs of a case, the check of the flow's answer first."""
    say(f"{case.name} to t = {case.t:g}")
    default = told(say, methods.checked(case))
    sweep = [default if rtol == methods.RTOL else told(say, methods.flow(case, rtol)) for rtol in effort.flow_rtols]
    descent = [told(say, methods.euler(case, step)) for step in case.steps]
    peers: list[Point] = []
    if case.peers:
        for method in methods.PEERS:
            peers += methods.sweep_peer(case, method, effort.peer_rtols, effort.peer_seconds)
            say(f"  {peers[-1]}")
    return Result(case, default, sweep, descent, peers)


def late_rows(say: Progress) -> list[Late]:
    rows = []
    for name, log_t in LATE:
        say(f"{name} to log t = {log_t:g}")
        rows.append(methods.late(name, log_t))
    return rows


def tables(results: Sequence[Result], late: Sequence[Late], effort: Effort) -> list[page.Table]:
    return [
        page.default_table(results),
        page.equal_table(results),
        page.sweep_table(results),
        page.euler_table(results),
        page.peer_table(results, effort.peer_seconds),
        page.late_table(late),
    ]


def quick(case: Case) -> Case:
    """The same case with the two largest Euler steps."""
    return replace(case, steps=case.steps[:2])


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python bench/against.py", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer and looser runs, into out/quick")
    parser.add_argument(
        "--out", type=Path, help="folder of benchmarks.md and benchmarks/ (docs, with --quick out/quick)"
    )
    chosen = parser.parse_args(arguments)
    out = chosen.out or (ROOT / "out/quick" if chosen.quick else ROOT / "docs")
    effort, cases = (QUICK, [quick(case) for case in CASES]) if chosen.quick else (Effort(), list(CASES))
    say, loads = Progress(), [os.getloadavg()[0]]
    with threadpool_limits(1):  # one thread for every method
        results = [compare(case, effort, say) for case in cases]
        late = late_rows(say)
    loads.append(os.getloadavg()[0])
    pictures = []
    for name in dict.fromkeys(case.name for case in cases):
        pictures.append(out / "benchmarks" / f"{name}.png")
        page.draw([r for r in results if r.case.name == name], pictures[-1])
    shown = tables(results, late, effort)
    command = "python bench/against.py" + (" --quick" if chosen.quick else "")
    page.write(out / "benchmarks.md", page.page(shown, command, loads, pictures))
    page.show(shown)
    say(f"wrote {out / 'benchmarks.md'}")


if __name__ == "__main__":
    main()
