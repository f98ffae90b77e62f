"""Time the flow and gradient descent on the benchmark problems; an answer is checked before it is timed.

    python bench                    every problem, a table on the standard output
    python bench P1 P3 --out FILE   these problems, and the numbers as JSON

An answer is right if its state is within 1e-6 of the reference and it has as many events up to that time. P4 has no
reference: it is compared with itself at a hundredth of the tolerance.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from time import perf_counter

import numpy as np

import problems
import reluflow as rf

RTOL = 1e-9  # the default of integrate
MAX_ERROR = 1e-6  # of the whole state; the runs themselves come to 1e-8 and better
MAX_REPEATS = 5  # the fastest of so many is the least disturbed
MAX_SECONDS = 5.0  # no repeat begins after so many
# End time of each run, and the Euler step that comes to about 1e-3 there (None: too slow to show).
RUNS = (
    ("P1", 1e4, 1e-2),
    ("P1s", 1e4, 1e-2),
    ("P2", 3e-3, 1e-6),
    ("P2", 100.0, None),
    ("P3", 0.15, 1e-4),
    ("P3", 3.5, 1e-4),
    ("P3", 10.0, None),
    ("P4", 0.15, 1e-4),
)


@dataclass(frozen=True)
class Row:
    """One run: its error against the reference, and the time of the fastest repeat."""

    problem: str
    t: float
    method: str
    error: float
    events: int | None
    steps: int
    seconds: float


def relative_error(net: rf.Network, W: np.ndarray, a: np.ndarray) -> float:
    distance = np.sum((net.W - W) ** 2) + np.sum((net.a - a) ** 2)
    return float(np.sqrt(distance / (np.sum(W**2) + np.sum(a**2))))


def reference(name: str, t: float, problem: problems.Problem) -> tuple[np.ndarray, np.ndarray, int]:
    """State and number of events at t, stored or from a run at a hundredth of the tolerance."""
    if name != "P4":
        stored = problems.reference(name)
        return *stored.state(t), int(np.sum(stored.event_t <= t))
    sol = flow(problem, t, RTOL / 100)
    return sol.final.W, sol.final.a, len(sol.events)


def flow(problem: problems.Problem, t: float, rtol: float = RTOL) -> rf.Solution:
    data, net = rf.Dataset(problem.X, problem.y), rf.Network(problem.W, problem.a)
    return rf.integrate(data, net, until=t, rtol=rtol, save_at=[t])


def euler(problem: problems.Problem, t: float, step: float) -> rf.DescentResult:
    data, net = rf.Dataset(problem.X, problem.y), rf.Network(problem.W, problem.a)
    return rf.descend(data, net, step=step, n_steps=round(t / step))


def fastest(run: Callable[[], object]) -> float:
    """Seconds of the fastest repeat."""
    times: list[float] = []
    while len(times) < MAX_REPEATS and sum(times) < MAX_SECONDS:
        begin = perf_counter()
        run()
        times.append(perf_counter() - begin)
    return min(times)


def bench(name: str, t: float, step: float | None) -> list[Row]:
    """The rows of one problem and end time; ends the program if the flow's answer is wrong."""
    problem = problems.load(name)
    W, a, n_events = reference(name, t, problem)
    sol = flow(problem, t)
    error = relative_error(sol.final, W, a)
    if not sol.success or error > MAX_ERROR or len(sol.events) != n_events:
        found = f"{sol.status}, error {error:.1e}, {len(sol.events)} events"
        raise SystemExit(f"{name} to t = {t:g} is wrong: {found}; expected {n_events} events")
    seconds = fastest(lambda: flow(problem, t))
    rows = [Row(name, t, f"flow, rtol {RTOL:g}", error, len(sol.events), sol.stats["steps"], seconds)]
    if step is not None:
        descent = euler(problem, t, step)
        seconds = fastest(lambda: euler(problem, t, step))
        error = relative_error(descent.final, W, a)
        rows.append(Row(name, t, f"Euler, step {step:g}", error, None, descent.steps_done, seconds))
    return rows


def line(row: Row) -> str:
    events = "" if row.events is None else str(row.events)
    run = f"{row.problem:<4} {row.t:>8g}  {row.method:<18}"
    return f"{run} {row.error:>8.1e} {events:>7} {row.steps:>8} {row.seconds:>10.4f}"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python bench", description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("problems", nargs="*", metavar="PROBLEM", help=", ".join(problems.NAMES))
    parser.add_argument("--out", type=Path, help="also write the numbers as JSON")
    arguments = parser.parse_args()
    unknown = set(arguments.problems) - set(problems.NAMES)
    if unknown:
        parser.error(f"PROBLEM must be one of {', '.join(problems.NAMES)}, found {', '.join(sorted(unknown))}")
    print(f"reluflow {rf.__version__}")
    print(f"{'':<4} {'t':>8}  {'method':<18} {'error':>8} {'events':>7} {'steps':>8} {'seconds':>10}")
    rows = []
    for name, t, step in RUNS:
        if not arguments.problems or name in arguments.problems:
            for row in bench(name, t, step):
                print(line(row), flush=True)
                rows.append(row)
    if arguments.out is not None:
        arguments.out.parent.mkdir(parents=True, exist_ok=True)
        arguments.out.write_text(json.dumps([asdict(row) for row in rows], indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
