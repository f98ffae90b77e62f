"""Compare the flow with Euler's steps and with the peers at equal error, and show how its cost grows.

python bench/against.py             all, into docs/benchmarks.md and docs/benchmarks/*.png
python bench/against.py --quick     few and loose runs, into out/quick
python bench/against.py --resume    goes on where an interrupted bench of the same code ended

Every measurement is in the JSON (out/bench.json) as soon as it is made.
"""

from __future__ import annotations

import argparse
import functools
import os
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from threadpoolctl import threadpool_limits

import fitted
import growth
import layers
import own
import page
import plan
import plots
import problems
import regression
import reluflow as rf
import tables
import together
from peers import EVENTS, WAYS, installed
from peers.sweep import sweep, write_target
from plan import Effort
from points import Case, Point, Target
from store import Progress, Store, code_digest, write
from tables import Result

ROOT = Path(__file__).resolve().parent.parent


def checked_first(case: Case, right: Target, store: Store) -> None:
    """End the program if the default run is wrong; nothing of a case is timed before."""
    key = f"{case.title} | reluflow | {own.RTOL:g}"
    store.say(f"  {Point.from_json(store.measure(key, lambda: own.checked(case, right).as_json()))}")


def swept(label: str, case: Case, target: Path, effort: Effort, say: Progress) -> list[dict[str, object]]:
    located = WAYS[label].mode == EVENTS
    rtols = effort.event_rtols if located else effort.peer_rtols
    seconds = min(case.seconds, effort.event_seconds) if located else case.seconds
    points = []
    for point in sweep(label, case, rtols, target, (seconds, effort.build_seconds)):
        say(f"  {point}")
        points.append(point.as_json())
    return points


def compare(case: Case, effort: Effort, store: Store) -> Result:
    """All runs of a case, the check of the flow's answer first."""
    right = own.target(case)
    checked_first(case, right, store)
    flow, euler = [], []
    for rtol in effort.flow_rtols:
        key = f"{case.title} | reluflow | {rtol:g}"
        flow.append(Point.from_json(store.measure(key, lambda rtol=rtol: own.flow(case, rtol, right).as_json())))
    for step in case.steps:
        key = f"{case.title} | Euler | {step:g}"
        euler.append(Point.from_json(store.measure(key, lambda step=step: own.euler(case, step, right).as_json())))
    target = store.path.with_name("target.npz")
    write_target(target, right)
    peers = []
    for label in case.peers:
        if installed(WAYS[label].package) is not None:
            key = f"{case.title} | {label}"
            found = store.measure(key, lambda label=label: swept(label, case, target, effort, store.say))
            peers += [Point.from_json(values) for values in found]
    target.unlink()
    return Result(case, len(right.event_t), flow, euler, peers)


def grown(effort: Effort, store: Store) -> dict[str, list[dict[str, object]]]:
    """The records of growth.py, each with what it was asked for."""
    limit = effort.growth_seconds

    def ask(name: str, named: dict[str, int], *arguments: float) -> dict[str, object]:
        key = f"growth | {name} | {', '.join(f'{k} = {v:,}' for k, v in named.items())}"
        return named | store.measure(key, lambda: growth.measured(name, *named.values(), *arguments, seconds=limit))

    def whole(named: dict[str, int], rtol: float) -> dict[str, object]:
        sizes, loss, seconds = tuple(named.values()), effort.whole_loss, effort.whole_seconds
        key = f"growth | whole | {', '.join(f'{k} = {v:,}' for k, v in named.items())}, rtol = {rtol:g}"
        measure = functools.partial(growth.measured, "whole", *sizes, loss, rtol, seconds=seconds)
        return named | {"rtol": rtol} | store.measure(key, measure)

    base = effort.base
    sizes = [base, *(base | {axis: base[axis] * k} for axis in base for k in effort.factors)]
    *large, n_events = effort.large
    return {
        "width": [ask("width", {"m": m}, growth.WIDTH_T) for m in effort.widths],
        "late": [ask("late", {"m": m}, *growth.LATE_LOG_TIMES) for m in effort.late_widths],
        "size": [ask("size", named) for named in sizes],
        "large": [ask("size", dict(zip("ndm", large, strict=True)), n_events)],
        "whole": [whole(dict(zip("ndm", large, strict=True)), rtol) for rtol in effort.whole_rtols],
    }


def threaded(effort: Effort, store: Store) -> dict[str, dict[str, object]]:
    """Two threads against one; empty where there is only one core."""
    if (os.cpu_count() or 1) < 2:
        return {}
    t, (long, short) = effort.threads_t, effort.seeds_t
    runs = {
        f"P4 to t = {t:g}": lambda: together.single("P4", t),
        f"{together.SEEDS} seeds of P1 to t = {long:g}": lambda: together.seeds(own.start("P1")[0], 10, long),
        f"{together.SEEDS} seeds of n = 100 to t = {short:g}": lambda: together.seeds(together.hundred(), 20, short),
    }
    return {name: store.measure(f"threads | {name}", run) for name, run in runs.items()}


def late_rows(effort: Effort, store: Store) -> list[own.Late]:
    chosen = plan.LATE[:1] if effort.quick else plan.LATE
    keys = {f"late | {name} to log t = {log_t:g} at {rtol:g}": (name, log_t, rtol) for name, log_t, rtol in chosen}
    return [own.Late(**store.measure(key, lambda run=run: asdict(own.late(*run)))) for key, run in keys.items()]


def bench(effort: Effort, store: Store) -> tables.Measured:
    with threadpool_limits(1):  # one thread for every method
        results = [compare(case, effort, store) for case in plan.cases(effort)]
        late = late_rows(effort, store)
        growths = grown(effort, store)
        chosen = plan.SMALL_REGRESSIONS if effort.quick else problems.REGRESSIONS
        squared = [store.measure(f"squared | {name}", lambda name=name: regression.measured(name)) for name in chosen]
        small = plan.SMALL_LAYERS if effort.quick else layers.RUNS
        limit = effort.layers_seconds
        deep = [store.measure(f"layers | {name}", lambda name=name: layers.measured(name, limit)) for name in small]
        scales = plan.SMALL_FITTED if effort.quick else plan.FITTED_SCALES
        keys = {f"fitted | {scale:g}": scale for scale in scales}
        fits = [fitted.Fitted(**store.measure(key, lambda s=s: fitted.record(s))) for key, s in keys.items()]
    return tables.Measured(results, late, growths, threaded(effort, store), effort, squared, fits, deep)


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python bench/against.py", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="few and loose runs, into out/quick")
    parser.add_argument("--resume", action="store_true", help="keep what an interrupted bench of this code measured")
    parser.add_argument("--out", type=Path, help="folder of benchmarks.md and benchmarks/ (docs, or out/quick)")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> None:
    chosen = parse(arguments)
    effort = plan.QUICK if chosen.quick else plan.FULL
    out = chosen.out or (ROOT / "out/quick" if chosen.quick else ROOT / "docs")
    numbers = (out if chosen.quick else ROOT / "out") / "bench.json"
    head = {"version": rf.__version__, "code": code_digest(), "quick": effort.quick}
    store, loads = Store(numbers, head, resume=chosen.resume, say=Progress()), [os.getloadavg()[0]]
    try:
        measured = bench(effort, store)
    except KeyboardInterrupt:
        raise SystemExit(f"\nstopped; {numbers} has what was measured, --resume goes on from there") from None
    pictures = []
    for name in dict.fromkeys(result.case.name for result in measured.results):
        pictures.append(out / "benchmarks" / f"{name}.png")
        plots.draw([r for r in measured.results if r.case.name == name], pictures[-1])
    command = "python bench/against.py" + (" --quick" if chosen.quick else "")
    loads.append(os.getloadavg()[0])
    shown = tables.every(measured)
    write(out / "benchmarks.md", page.page(shown, command, page.machine(loads, store.sittings), pictures))
    page.show(shown[: page.ABOVE])
    store.say(f"wrote {out / 'benchmarks.md'}")


if __name__ == "__main__":
    main()
