"""`reluflow reproduce`: run the claims of the papers, show how far it is, say where the report is."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console, Group
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.text import Text

from .. import papers
from .._validation import invalid

OK, UNEXPECTED, INTERRUPTED = 0, 1, 130  # 130 is what a shell reports of a program ended by Ctrl-C
STYLES = {"holds": "green", "misprint": "magenta", "differs": "yellow", "open": "dim", "failed": "bold red"}


@dataclass(frozen=True)
class Request:
    """Everything `reluflow reproduce` was asked for."""

    ids: list[str]
    quick: bool
    out: Path
    seed: int
    n_threads: int | None
    again: bool
    mnist: Path | None = None


def execute(request: Request, console: Console) -> int:
    """Run and return the exit code: 0 all as expected, 1 not, 130 after Ctrl-C.

    Raises
    ------
    ValueError
        An unknown id, a bad folder, seed or number of threads.
    FileNotFoundError
        No such folder with MNIST.
    """
    if not request.ids:
        raise invalid("ID", "be list, all, a paper or the ids of claims", "nothing")
    if request.ids[0] == "list":
        return _list(request.ids[1:] or ["all"], console)
    n_threads = request.n_threads if request.n_threads is not None else os.cpu_count() or 1
    with Show(console) as show:
        done = papers.reproduce(
            request.ids,
            out=request.out,
            quick=request.quick,
            seed=request.seed,
            n_threads=n_threads,
            again=request.again,
            mnist=request.mnist,
            progress=show.follow,
        )
    counts = ", ".join(f"{count} {verdict}" for verdict, count in done.counts.items() if count)
    console.print(f"{counts or 'nothing was run'}; see {done.out / 'report.html'}", soft_wrap=True, highlight=False)
    if done.interrupted:
        console.print(
            f"interrupted: {len(done.claims) - len(done.results)} claims are missing; the same command goes on"
        )
        return INTERRUPTED
    return OK if done.ok else UNEXPECTED


def _list(ids: list[str], console: Console) -> int:
    for claim in papers.claims(ids):
        line = Text.assemble((f"{claim.id:<12} ", "bold"), (f"{claim.expected:<8} ", STYLES[claim.expected]))
        console.print(line + Text(f"{claim.source}: {claim.title}"), soft_wrap=True)
    return OK


class Show:
    """A line for each claim that is done; on a terminal also what is running now, which goes away at the end."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._running: dict[str, str] = {}
        self._bar = Progress(
            BarColumn(), MofNCompleteColumn(), TextColumn("claims"), TimeElapsedColumn(), console=console
        )
        self._task = self._bar.add_task("claims", total=None)
        self._live = (
            Live(console=console, transient=True, get_renderable=self._picture) if console.is_terminal else None
        )

    def __enter__(self) -> Show:
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(self, *error: object) -> None:
        if self._live is not None:
            self._live.stop()

    def follow(self, update: papers.Update) -> None:
        """Show one piece of news."""
        claim, result = update.claim, update.result
        if result is None:
            self._running[claim.id] = update.text
            return
        self._running.pop(claim.id, None)
        self._bar.update(self._task, advance=1, total=update.total)
        took = "kept" if update.kind == "kept" else f"{result.seconds:.1f} s"
        line = Text.assemble((f"{result.verdict:<8}", STYLES[result.verdict]), f" {claim.id:<12} {took:>8}  ")
        said = f"{claim.source}: {claim.title}" + (f"; {result.message}" if result.message else "")
        self._console.print(line + Text(said), soft_wrap=True)

    def _picture(self) -> Group:
        lines = [Text(f"  {name}  {text}", style="dim", overflow="ellipsis", no_wrap=True) for name, text in
                 list(self._running.items())]  # fmt: skip
        return Group(*lines, self._bar)
