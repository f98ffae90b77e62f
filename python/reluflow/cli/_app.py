"""The commands and their options."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from .. import __version__
from ..flow import LOSSES, POLICIES, Stop
from ..networks import Network
from . import _data, _inspect, _run

app = typer.Typer(
    name="reluflow",
    help="The exact gradient flow of two-layer ReLU networks, with every activation switch found.",
    epilog="Bad input ends with exit code 2 and one line; Ctrl-C writes what there is and ends with 130.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    rich_markup_mode="markdown",
)

_DATA_HELP = "Data by name (" + ", ".join(f"`{form}`" for form in _data.FORMS[:-3]) + ") or a CSV, Parquet or NPZ file."


_UNTIL_HELP = (
    "When to stop, the first that holds: `time=`, `log_time=`, `loss=`, `mean_loss=`, `direction=`, `events=`, "
    "`seconds=`, joined by commas. A number alone is a time."
)


def _option(panel: str, text: str, *names: str) -> Any:
    """Make an option of the command line, in one of the boxes of its help."""
    return typer.Option(*names, help=text, rich_help_panel=panel)


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
def run(  # the options of the command are its parameters
    data: Annotated[str, _option("Data", _DATA_HELP)],
    until: Annotated[str, _option("Flow", _UNTIL_HELP)],
    label: Annotated[str | None, _option("Data", "Column of the labels in a file.")] = None,
    positive: Annotated[str | None, _option("Data", "Label that counts as +1 in a file.")] = None,
    width: Annotated[int, _option("Network", "Number of neurons.")] = 50,
    scale: Annotated[float, _option("Network", "Size of the first weights: |w_j| = |a_j| = scale.")] = 1e-3,
    unbalanced: Annotated[
        bool, _option("Network", "Draw all weights from N(0, scale²) instead.", "--unbalanced")
    ] = False,
    seed: Annotated[int, _option("Network", "Seed of the first weights, and of data that are drawn.")] = 0,
    leak: Annotated[float, _option("Network", "Slope of the activation on the negative side, in [0, 1).")] = 0.0,
    loss: Annotated[str, _option("Flow", "One of " + ", ".join(LOSSES) + ".")] = "logistic",
    reduction: Annotated[str, _option("Flow", "Losses of the samples are added or averaged: sum, mean.")] = "sum",
    rtol: Annotated[float, _option("Flow", "Local error relative to the size of each neuron.")] = 1e-9,
    on_branch: Annotated[
        str, _option("Flow", "Where the flow is not unique: " + ", ".join(POLICIES) + ".")
    ] = "inactive",
    max_events: Annotated[int | None, _option("Flow", "Give up after so many events.")] = None,
    out: Annotated[Path | None, _option("Output", "Folder for summary.json, events.csv, run.npz and figures.")] = None,
    euler: Annotated[bool, _option("Output", "Run gradient descent to the same time, for comparison.")] = True,
    figures: Annotated[bool, _option("Output", "Draw figures into the folder of --out.")] = True,
    quiet: Annotated[bool, _option("Output", "Print nothing: files and exit code only.", "--quiet", "-q")] = False,
) -> int:
    """Integrate the flow of a network on data, and show the result.

    The table has the time, steps, events by kind, sectors, held pairs, loss and margin, with gradient descent at two
    step sizes beside it. `--out` adds the data files and the figures.

    **Examples**

    `reluflow run --data digits:3,8 --width 50 --scale 1e-3 --until mean_loss=0.01 --out out/digits`

    `reluflow run --data wang-pilanci --width 10 --until log_time=100`

    `reluflow run --data table.csv --label sick --positive yes --until mean_loss=0.05,seconds=60`
    """
    options = dict(locals())
    dataset = _data.load(data, label=label, positive=positive, seed=seed)
    start = Network.init(width, dataset.d, scale=scale, balanced=not unbalanced, leak=leak, seed=seed)
    settings: dict[str, Any] = {
        "loss": loss,
        "reduction": reduction,
        "rtol": rtol,
        "on_branch": on_branch,
        "max_events": max_events,
    }
    request = _run.RunRequest(
        data=dataset,
        start=start,
        until=Stop.parse(until),
        settings=settings,
        out=out,
        with_descent=euler,
        with_figures=figures,
        quiet=quiet,
        command={name: str(value) if isinstance(value, Path) else value for name, value in options.items()},
    )
    return _run.execute(request, Console())


@app.command()
def inspect(
    path: Annotated[Path, typer.Argument(metavar="RUN", help="A run.npz of `reluflow run`, or of Solution.save.")],
    events: Annotated[int, typer.Option(min=0, help="Show the first so many events.")] = 0,
    out: Annotated[Path | None, typer.Option(help="Draw the figures into this folder.")] = None,
) -> int:
    """Show what a saved run holds: outcome, work, events; with `--out` draw its figures again.

    **Example**

    `reluflow inspect out/digits/run.npz --events 10`
    """
    return _inspect.inspect(path, n_events=events, out=out, console=Console())


@app.command()
def info() -> int:
    """Show the version, the compiled core and which extras are installed."""
    return _inspect.info(Console())
