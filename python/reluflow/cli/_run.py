"""`reluflow run`: integrate, show, write."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from .. import analysis
from .._core import __version__
from .._validation import optional_module
from ..datasets import Dataset
from ..flow import Progress, Solution, Stop, integrate
from ..networks import Network
from . import _files, _pictures
from ._progress import ProgressLine
from ._table import result_table

OK, INTERRUPTED = 0, 130  # 130 is what a shell reports of a program ended by Ctrl-C
OUTPUT = ("summary.json", "events.csv", "run.npz")


@dataclass(frozen=True)
class RunRequest:
    """Everything `reluflow run` was asked for, already checked."""

    data: Dataset
    start: Network
    until: Stop
    settings: dict[str, Any]
    out: Path | None
    with_descent: bool
    with_figures: bool
    quiet: bool
    command: dict[str, Any]


def execute(request: RunRequest, console: Console) -> int:
    """Run, print the table and write the files; return the exit code.

    After Ctrl-C what there is is written, and the exit code is 130. A second Ctrl-C leaves at once.
    """
    _prepare(request)
    with ProgressLine(console, request.data.n, request.settings["reduction"], quiet=request.quiet) as line:
        solution = _integrate(request, line)
        interrupted = solution.status == "interrupted"
        found = analysis.summary(solution)
        if request.out is not None:
            _write_data(request, solution, found)
        if request.with_descent and not interrupted:
            found, interrupted = _beside_descent(request, solution, found, line)
    if not request.quiet:
        console.print(_title(request, solution), style="bold", soft_wrap=True, highlight=False)
        console.print(result_table(found))
        console.print(f"{found.status}: {found.message}")
    if request.out is not None:
        interrupted |= _finish(request, solution, found, console)
    return INTERRUPTED if interrupted else OK


def _prepare(request: RunRequest) -> None:
    """Find out before the run what would fail after it: missing libraries, a folder that cannot be made."""
    optional_module("pandas", "analysis")
    if request.out is not None:
        _files.folder(request.out)
        if request.with_figures:
            optional_module("matplotlib", "viz")
            optional_module("xarray", "analysis")


def _integrate(request: RunRequest, line: ProgressLine) -> Solution:
    def follow(report: Progress) -> None:
        line.follow(report)

    return integrate(request.data, request.start, until=request.until, callback=follow, **request.settings)


def _beside_descent(
    request: RunRequest, solution: Solution, found: analysis.Summary, line: ProgressLine
) -> tuple[analysis.Summary, bool]:
    """Return the summary with gradient descent in it, and whether Ctrl-C came on the way."""
    line.say("gradient descent to the same time, for comparison")
    try:
        table = analysis.compare_with_descent(solution)
    except KeyboardInterrupt:
        return found, True
    except ValueError:  # a run without a finite time has nothing to compare with
        return found, False
    stopped = bool((table["status"] == "interrupted").any())
    return analysis.summary(solution, table), stopped


def _write_data(request: RunRequest, solution: Solution, found: analysis.Summary) -> None:
    assert request.out is not None  # the caller looked
    solution.save(request.out / "run.npz")
    solution.events.to_csv(request.out / "events.csv")
    _write_summary(request, found)


def _write_summary(request: RunRequest, found: analysis.Summary) -> None:
    assert request.out is not None  # the caller looked
    record = {
        "version": __version__,
        "command": request.command,
        "data": {"name": request.data.name, "n": request.data.n, "d": request.data.d, "rank": request.data.rank},
        **found.to_dict(),
    }
    _files.write_json(request.out / "summary.json", record)


def _finish(request: RunRequest, solution: Solution, found: analysis.Summary, console: Console) -> bool:
    """Write the last summary and the figures; return whether Ctrl-C came on the way."""
    assert request.out is not None  # the caller looked
    _write_summary(request, found)
    names = list(OUTPUT)
    interrupted = False
    if request.with_figures:
        try:
            names += [path.name for path in _pictures.write_all(solution, request.out)]
        except KeyboardInterrupt:
            interrupted = True
    if not request.quiet:
        console.print(f"wrote {', '.join(names)} to {request.out}", soft_wrap=True)
    return interrupted


def _title(request: RunRequest, solution: Solution) -> str:
    data, net = request.data, solution.initial
    name = data.name or "data"
    return f"{name} (n = {data.n}, d = {data.d}), {net.width} neurons"
