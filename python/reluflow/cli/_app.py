"""The commands."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from .._core import __version__
from ..flow import Stop
from ..networks import Network
from . import _data, _inspect, _reproduce, _run
from . import _options as o

app = typer.Typer(
    name="reluflow",
    help="The exact gradient flow of two-layer ReLU networks, with every activation switch found.",
    epilog="Bad input ends with exit code 2 and one line; Ctrl-C writes what there is and ends with 130.",
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    rich_markup_mode="markdown",
)


def _show_version(value: bool) -> None:
    if value:
        print(f"reluflow {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Run, inspect and describe exact flows."""


@app.command()
def run(
    *,
    data: o.Data,
    until: o.Until,
    label: o.Label = None,
    positive: o.Positive = None,
    width: o.Width = 50,
    scale: o.Scale = 1e-3,
    unbalanced: o.Unbalanced = False,
    seed: o.Seed = 0,
    leak: o.Leak = 0.0,
    loss: o.Loss = "logistic",
    reduction: o.Reduction = "sum",
    rtol: o.Rtol = 1e-9,
    on_branch: o.OnBranch = "inactive",
    max_events: o.MaxEvents = None,
    threads: o.Threads = None,
    out: o.Out = None,
    euler: o.Euler = True,
    figures: o.Figures = True,
    quiet: o.Quiet = False,
) -> int:
    """Integrate the flow of a network on data, and show the result.

    The table has the time, steps, events by kind, sectors, held pairs, loss and margin, with gradient descent at two
    step sizes beside it. `--out` adds the data files and the figures.

    **Examples**

    `reluflow run --data digits:3,8 --width 50 --scale 1e-3 --until mean_loss=0.01 --out out/digits`

    `reluflow run --data wang-pilanci --width 10 --until log_time=100`

    `reluflow run --data table.csv --label sick --positive yes --until mean_loss=0.05,seconds=60`
    """
    command = {name: str(value) if isinstance(value, Path) else value for name, value in locals().items()}
    dataset = _data.load(data, label=label, positive=positive, seed=seed)
    request = _run.RunRequest(
        data=dataset,
        start=Network.init(width, dataset.d, scale=scale, balanced=not unbalanced, leak=leak, seed=seed),
        until=Stop.parse(until),
        settings={
            "loss": loss,
            "reduction": reduction,
            "rtol": rtol,
            "on_branch": on_branch,
            "max_events": max_events,
            "n_threads": threads,
        },
        out=out,
        with_descent=euler,
        with_figures=figures,
        quiet=quiet,
        command=command,
    )
    return _run.execute(request, Console())


@app.command()
def inspect(path: o.SavedRun, *, events: o.Events = 0, out: o.Redraw = None) -> int:
    """Show what a saved run holds: outcome, work, events; with `--out` draw its figures again.

    **Example**

    `reluflow inspect out/digits/run.npz --events 10`
    """
    return _inspect.inspect(path, n_events=events, out=out, console=Console())


@app.command()
def reproduce(
    ids: o.Claims = None,
    *,
    quick: o.Quick = False,
    out: o.Report = Path("out/papers"),
    seed: o.ClaimSeed = 0,
    threads: o.ClaimThreads = None,
    again: o.Again = False,
) -> int:
    """Redo the figures, tables and theorems of the papers, and say of each whether it holds.

    Writes report.html, results.json and a folder for each claim. What is there already is not run again, so that an
    interrupted run goes on. Ends with 0 if every verdict is the expected one, and with 1 if not.

    **Examples**

    `reluflow reproduce list`

    `reluflow reproduce WP-F4 PL`

    `reluflow reproduce all --quick --out out/papers`
    """
    request = _reproduce.Request(ids or [], quick, out, seed, threads, again)
    return _reproduce.execute(request, Console())


@app.command()
def info() -> int:
    """Show the version, the compiled core and which extras are installed."""
    return _inspect.info(Console())
