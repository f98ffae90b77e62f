"""The comparison as tables, a page and pictures. Nothing is computed here but ratios."""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date
from importlib.metadata import version
from pathlib import Path

import numpy as np

import methods
from methods import Case, Late, Point

TARGETS = (1e-3, 1e-4, 1e-6, 1e-8)
COLOURS = {"reluflow": "#0072B2", "Euler": "#D55E00", "RK45": "#009E73", "DOP853": "#CC79A7", "LSODA": "#E69F00"}
PACKAGES = ("reluflow", "numpy", "scipy")


@dataclass(frozen=True)
class Result:
    """The runs of one case."""

    case: Case
    default: Point
    flow: list[Point]
    euler: list[Point]
    peers: list[Point] = field(default_factory=list)

    @property
    def run(self) -> str:
        return f"{self.case.name}, t = {self.case.t:g}"


@dataclass(frozen=True)
class Table:
    title: str
    head: tuple[str, ...]
    rows: list[tuple[str, ...]]
    note: str = ""

    def markdown(self) -> str:
        rule = "|".join("---" if k == 0 else "---:" for k in range(len(self.head)))
        lines = [f"| {' | '.join(row)} |" for row in [self.head, *self.rows]]
        lines.insert(1, f"|{rule}|")
        return "\n".join([f"## {self.title}", "", *([self.note, ""] if self.note else []), *lines, ""])


def seconds(value: float) -> str:
    """Three digits: 0.00115, 1.10, 10,500."""
    if not np.isfinite(value):
        return "–"
    return f"{float(f'{value:.3g}'):,.0f}" if value >= 100 else f"{value:#.3g}"


def times(slow: float, fast: float) -> str:
    """A ratio with two digits."""
    ratio = float(f"{slow / fast:.2g}")
    return f"{ratio:,.0f}×" if ratio >= 10 else f"{ratio:g}×"


def default_table(results: Sequence[Result]) -> Table:
    rows = [
        (
            r.run,
            f"{r.default.error:.1e}",
            f"{r.default.n_events:,}",
            f"{r.default.n_steps:,}",
            seconds(r.default.seconds),
        )
        for r in results
    ]
    note = (
        "The default `rtol=1e-9`. The bench ends without a table if an error exceeds "
        f"{methods.MAX_ERROR:g} or a number of events differs from the reference."
    )
    return Table("The flow", ("run", "error", "events", "steps", "seconds"), rows, note)


def equal_row(result: Result, error: float) -> tuple[str, ...]:
    own = methods.fastest_within(result.flow, error)
    if own is None:
        return (result.run, f"{error:g}", "not reached", *("",) * 4)
    slow, how = methods.on_line(result.euler, error)
    ours = f"{seconds(own.seconds)} ({own.error:.0e})"
    row = (result.run, f"{error:g}", ours, f"{seconds(slow)} {how}", times(slow, own.seconds))
    if not result.case.peers:
        return (*row, "not run", "")
    best = methods.fastest_within(result.peers, error)
    if best is None:
        return (*row, "not reached", "")
    return (*row, f"{best.method}, {seconds(best.seconds)}", times(best.seconds, own.seconds))


def equal_table(results: Sequence[Result]) -> Table:
    note = (
        "reluflow and the scipy methods: the fastest run of the sweep with at most this error; the error it came to "
        "stands in brackets. Euler: interpolated between its runs, or extrapolated from the nearest by "
        "error ~ h, seconds ~ 1/h. Below 1× the other method is faster; it locates no event. Not reached: no run came "
        "to this error within its seconds."
    )
    head = (
        "run",
        "error at most",
        "reluflow [s]",
        "Euler [s]",
        "Euler / reluflow",
        "best of scipy [s]",
        "scipy / reluflow",
    )
    return Table("Time for equal error", head, [equal_row(r, e) for r in results for e in TARGETS], note)


def sweep_table(results: Sequence[Result]) -> Table:
    rows = [
        (r.run, f"{p.setting:g}", f"{p.error:.1e}", f"{p.n_events:,}", f"{p.n_steps:,}", seconds(p.seconds))
        for r in results
        for p in r.flow
    ]
    note = "At a loose tolerance the number of events can differ from the reference by those that the error moves."
    return Table("The flow by tolerance", ("run", "rtol", "error", "events", "steps", "seconds"), rows, note)


def euler_table(results: Sequence[Result]) -> Table:
    rows = [
        (
            r.run,
            f"{p.setting:g}",
            f"{p.n_steps:,}",
            f"{p.error:.1e}",
            seconds(p.seconds),
            f"{methods.order(r.euler):.2f}",
        )
        for r in results
        for p in r.euler
    ]
    note = (
        "`rf.descend`, the compiled gradient descent of this package. The order is the slope of log error over log h "
        "between the two smallest steps; 1 is the line error ~ h."
    )
    return Table("Euler", ("run", "h", "steps", "error", "seconds", "order"), rows, note)


def peer_table(results: Sequence[Result], cap: float) -> Table:
    rows = [
        (
            r.run,
            p.method,
            f"{p.setting:g}",
            f"{p.error:.1e}" if np.isfinite(p.error) else f"not reached (t = {p.reached:.2g})",
            f"{p.n_steps:,}",
            seconds(p.seconds),
        )
        for r in results
        for p in r.peers
    ]
    note = (
        "scipy's steppers straight through the kinks, with the right-hand side in numpy, atol = rtol times the scale "
        f"of the start. They locate no event. Each run has {cap:g} s; a method's sweep ends with the first that needs "
        "more."
    )
    return Table("scipy's methods", ("run", "method", "rtol", "error", "steps", "seconds"), rows, note)


def late_table(rows: Sequence[Late]) -> Table:
    cells = [(r.name, f"{r.log_t:.0e}", f"{r.n_steps:,}", f"{r.n_events:,}", seconds(r.seconds)) for r in rows]
    note = (
        "Runs from the start to a time given by its natural logarithm. The events as far as the reference goes are "
        "compared with it, to 1e-6 in time; there is no reference state this late."
    )
    return Table("The late phase", ("problem", "log t", "steps", "events", "seconds"), cells, note)


def processor() -> str:
    """The name of the processor, where the system tells it."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text(encoding="utf-8").splitlines() if info.exists() else []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def machine(loads: Sequence[float]) -> str:
    packages = ", ".join(f"{name} {version(name)}" for name in PACKAGES)
    return (
        f"{date.today().isoformat()}; {processor()}, {os.cpu_count()} cores; {platform.system()}; "
        f"Python {platform.python_version()}, {packages}. One-minute load average: "
        f"{loads[0]:.1f} at the start of the run, {loads[-1]:.1f} at its end (0 and 1 on a machine without other work)."
    )


def page(tables: Sequence[Table], command: str, loads: Sequence[float], pictures: Sequence[Path]) -> str:
    """The whole page in Markdown."""
    intro = f"""# Benchmarks

Written by `{command}` (part of `make bench`); all numbers are from one run of it.
{machine(loads)}

The problems are those of `bench/problems.py`: P1 the 2-D example of [WP] (10 neurons), P2 the recipe of [PL]
section 5.1 (500 samples, 20 dimensions, 100 neurons), P3 digits 3 against 8 (357 samples, 64 dimensions, 50 neurons).
Errors are |θ - θ_ref| / |θ_ref| at the end time, against stored references with error control at 1e-12.
Every method runs on one thread. Seconds are processor time, which other work disturbs less than the clock;
of the flow the fastest of up to {methods.MAX_REPEATS} repeats, of the others one run.
"""
    images = [f"![Work and precision on {path.stem}](benchmarks/{path.name})" for path in pictures]
    plots = "## Work and precision\n\n" + "\n\n".join(images) + "\n"
    return "\n".join([intro, *(table.markdown() for table in tables[:2]), plots, *(t.markdown() for t in tables[2:])])


def show(tables: Sequence[Table]) -> None:
    from rich.console import Console
    from rich.table import Table as RichTable

    console = Console(width=130)
    for table in tables:
        view = RichTable(*table.head, title=table.title)
        for row in table.rows:
            view.add_row(*row)
        console.print(view)


def draw(results: Sequence[Result], path: Path) -> None:
    """Seconds over error for the cases of one problem, a panel each; the file appears whole."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(3.4 * len(results), 3.2), layout="constrained")
    panels = figure.subplots(1, len(results), squeeze=False)[0]
    for ax, result in zip(panels, results, strict=True):
        for method, colour in COLOURS.items():
            runs = [p for p in result.flow + result.euler + result.peers if p.method == method and np.isfinite(p.error)]
            if runs:
                ax.loglog([p.error for p in runs], [p.seconds for p in runs], "o-", color=colour, label=method, ms=4)
        ax.set(title=result.run, xlabel="relative error", ylabel="seconds")
        ax.grid(alpha=0.3)
    panels[0].legend(frameon=False, fontsize=8)
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part.png")
    figure.savefig(part, dpi=150)
    part.replace(path)


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part")
    part.write_text(text, encoding="utf-8")
    part.replace(path)
