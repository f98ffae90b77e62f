"""`reluflow run`: integrate, keep checkpoints, show, write."""

from __future__ import annotations

import sys
from pathlib import Path

from rich.console import Console

from .. import analysis
from .._core import __version__
from .._validation import optional_module
from ..flow import Progress, Solution, Stop
from ..flow._arguments import Asked
from ..flow._integrate import integrate_watched
from ..flow._join import joined
from ..flow._one import Watching
from . import _files, _pictures
from ._files import RUN
from ._progress import ProgressLine
from ._request import CHECKPOINT, RunRequest, left_of
from ._signals import Signals
from ._table import result_table

OUTPUT = ("summary.json", "events.csv", RUN)


def execute(request: RunRequest, console: Console) -> int:
    """Run, print the table and write the files; return the exit code.

    After Ctrl-C or SIGTERM what there is is written, and the exit code is 130 or 143. A second one leaves at once.
    """
    with Signals() as signals:
        try:
            _execute(request, console, signals)
        except KeyboardInterrupt:
            return signals.exit_code
        return signals.exit_code


def _execute(request: RunRequest, console: Console, signals: Signals) -> None:
    _prepare(request)
    with ProgressLine(console, request.data.total, request.settings["reduction"], quiet=request.quiet) as line:
        solution = _integrate(request, line, signals)
        found = analysis.summarise(solution)
        if request.out is not None:
            _write_data(request, solution, found, request.out)
        if request.with_descent and not signals.came:
            found = _beside_descent(solution, found, line, signals)
    if not request.quiet:
        console.print(_title(request, solution), style="bold", soft_wrap=True, highlight=False)
        console.print(result_table(found))
        console.print(f"{found.status}: {found.message}")
    if request.out is not None:
        names = _finish(request, solution, found, request.out, signals)
        if not request.quiet:
            console.print(f"wrote {', '.join(names)} to {request.out}", soft_wrap=True)


def _prepare(request: RunRequest) -> None:
    """Find out before the run what would fail after it: missing libraries, a folder that cannot be made."""
    optional_module("pandas", "analysis")
    if request.out is not None:
        _files.folder(request.out)
        if request.with_figures:
            optional_module("matplotlib", "viz")
            optional_module("xarray", "analysis")


def _integrate(request: RunRequest, line: ProgressLine, signals: Signals) -> Solution:
    """Run, or go on with the part that there is, and return the whole."""
    part = request.start if isinstance(request.start, Solution) else None

    def follow(report: Progress) -> None:
        line.follow(report)
        if signals.came:
            raise KeyboardInterrupt  # to the core, which ends the run with what it has

    def keep(solution: Solution) -> None:
        if request.out is not None:
            _keep(_whole(part, solution, request.until), request.out)

    until, max_events = request.until, request.settings["max_events"]
    if part is not None:
        until, max_events = left_of(until, max_events, part)
    asked = Asked(
        **{**request.settings, "until": until, "max_events": max_events, "save_at": None, "save_at_log": None}
    )
    watching = Watching(None if request.out is None else keep, request.checkpoint_seconds, lambda: signals.came)
    rest = integrate_watched(request.data, request.start, asked, follow, request.threads, watching)
    return _whole(part, rest, request.until)


def _whole(part: Solution | None, solution: Solution, until: Stop) -> Solution:
    return solution if part is None else joined(part, solution, until)


def _keep(solution: Solution, out: Path) -> None:
    """Write the checkpoint; the run goes on where that fails, and the next one is tried."""
    try:
        solution.save(out / CHECKPOINT)
    except OSError as error:
        sys.stderr.write(f"reluflow: no checkpoint: {error}\n")


def _beside_descent(
    solution: Solution, found: analysis.Summary, line: ProgressLine, signals: Signals
) -> analysis.Summary:
    """Return the summary with gradient descent in it, or without it after a signal."""
    line.say("gradient descent to the same time, for comparison")
    try:
        with signals.raising():
            table = analysis.compare_with_descent(solution)
    except KeyboardInterrupt:
        return found
    except ValueError:  # a run without a finite time has nothing to compare with
        return found
    if signals.came:  # the table is not whole
        return found
    if not (table["error"] <= 1.0).any():  # to so late a time all steps that can be afforded diverge
        return found
    return analysis.summarise(solution, table)


def _write_data(request: RunRequest, solution: Solution, found: analysis.Summary, out: Path) -> None:
    """Write the run, all files of it or none, and remove the checkpoint that it makes needless."""
    with _files.together(out) as place:
        solution.save(place / RUN)
        solution.events.to_csv(place / "events.csv")
        _write_summary(request, solution, found, place)
    (out / CHECKPOINT).unlink(missing_ok=True)


def _write_summary(request: RunRequest, solution: Solution, found: analysis.Summary, out: Path) -> None:
    record = {
        "version": __version__,
        "command": request.command,
        "rtol": solution.settings.rtol,
        "data": {"name": request.data.name, "n": request.data.n, "d": request.data.d, "rank": request.data.rank},
        **found.to_dict(),
    }
    _files.write_json(out / "summary.json", record)


def _finish(request: RunRequest, solution: Solution, found: analysis.Summary, out: Path, signals: Signals) -> list[str]:
    """Write the last summary and the figures; return the names of all files."""
    if found.descent:
        _write_summary(request, solution, found, out)
    names = list(OUTPUT)
    if request.with_figures:
        try:
            with signals.raising():
                names += [path.name for path in _pictures.write_all(solution, out)]
        except KeyboardInterrupt:  # the figures that are there stay
            return list(OUTPUT)
    return names


def _title(request: RunRequest, solution: Solution) -> str:
    data, net = request.data, solution.initial
    name = data.name or "data"
    decay = request.settings["weight_decay"]
    return f"{name} (n = {data.n}, d = {data.d}), {net.width} neurons" + (f", weight decay {decay:g}" if decay else "")
