"""The page in Markdown: what the bench is, the machine, the tables, the pictures."""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from datetime import date
from pathlib import Path

import reluflow as rf
from peers import TOOLS, installed, missing
from points import MAX_REPEATS
from text import Table

ABOVE = 5  # tables before the pictures


def processor() -> str:
    """The name of the processor, where the system tells it."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text(encoding="utf-8").splitlines() if info.exists() else []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def versions() -> str:
    named = ["numpy"]
    for packages in TOOLS.values():
        named += [name for name in packages if name not in named]
    found = [f"{name} {installed(name)}" for name in named if installed(name) is not None]
    return ", ".join([f"reluflow {rf.__version__}", *found])


def machine(loads: Sequence[float], sittings: int = 1) -> str:
    """The machine, the versions, the load, and what was not installed."""
    absent = f" Not installed, so left out: {', '.join(missing())}." if missing() else ""
    resumed = "" if sittings == 1 else f" Measured in {sittings} sittings."
    return (
        f"{date.today().isoformat()}; {processor()}, {os.cpu_count()} cores; {platform.system()}; "
        f"Python {platform.python_version()}, {versions()}.{absent} One-minute load average: "
        f"{loads[0]:.1f} at the start of the run, {loads[-1]:.1f} at its end (0 and 1 on a machine without other "
        f"work).{resumed}"
    )


def page(tables: Sequence[Table], command: str, about: str, pictures: Sequence[Path]) -> str:
    """The whole page in Markdown."""
    intro = f"""# Benchmarks

Written by `{command}` (part of `make bench`); all numbers are from one run of it.
{about}

The problems are those of `bench/problems.py`: P1 the 2-D example of [WP] (10 neurons), P1s the same with an acute angle
between the classes, where neurons slide, P2 the recipe of [PL] section 5.1 (500 samples, 20 dimensions, 100 neurons),
P3 digits 3 against 8 (357 samples, 64 dimensions, 50 neurons), P4 the same with 2,000 neurons.
Errors are |θ - θ_ref| / |θ_ref| at the end time, against stored references with error control at 1e-12; P4 has none and
is compared with the flow at rtol 1e-11.
Every method runs on one thread. Seconds are processor time, which other work disturbs less than the clock: the
fastest of up to {MAX_REPEATS} repeats of the flow, of up to 3 of a short run of a peer, one of the rest.

The peers run at their best settings: scipy and CVODE with a right-hand side whose loop is fused and compiled
by numba, as fast as the compiled Euler step; diffrax as whole runs compiled by XLA; torchdiffeq without gradients;
heyoka as compiled series; compiling is not counted. atol is rtol times the scale of the start.
"""
    images = [f"![Work and precision on {path.stem}](benchmarks/{path.name})" for path in pictures]
    plots = "## Work and precision\n\n" + "\n\n".join(images) + "\n"
    before, after = tables[:ABOVE], tables[ABOVE:]
    return "\n".join([intro, *(t.markdown() for t in before), plots, *(t.markdown() for t in after)])


def show(tables: Sequence[Table]) -> None:
    from rich.console import Console
    from rich.table import Table as RichTable

    console = Console(width=130)
    for table in tables:
        view = RichTable(*table.head, title=table.title)
        for row in table.rows:
            view.add_row(*row)
        console.print(view)
