"""The commands."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from .._core import __version__
from . import _inspect, _prove, _reproduce, _request, _run, _run_layers, _sweep
from . import _options as o
from ._data import CLASSES, Answers, has_several_targets

app = typer.Typer(
    name="reluflow",
    help="The exact gradient flow of ReLU networks, with every activation switch found.",
    epilog="Bad input ends with exit code 2 and one line; Ctrl-C and SIGTERM write what there is and end with 130 and "
    "143.",
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    rich_markup_mode="markdown",
)


def _show_version(value: bool) -> None:
    if value:
        print(f"reluflow {__version__}")
        raise typer.Exit


def _console() -> Console:
    """Return what prints the results: names, paths and messages as they are, [i] and :key: among them."""
    return Console(markup=False, emoji=False)


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Run, inspect and describe exact flows."""


@app.command()
def run(
    context: typer.Context,
    *,
    data: o.Data = None,
    until: o.Until = None,
    label: o.Label = None,
    positive: o.Positive = None,
    target: o.Target = None,
    features: o.Features = None,
    missing: o.Missing = "raise",
    bias: o.Bias = None,
    width: o.Width = 50,
    layers: o.Layers = None,
    scale: o.Scale = 1e-3,
    unbalanced: o.Unbalanced = False,
    seed: o.Seed = 0,
    leak: o.Leak = 0.0,
    loss: o.Loss = "logistic",
    reduction: o.Reduction = "sum",
    weight_decay: o.WeightDecay = 0.0,
    rtol: o.Rtol = None,
    on_branch: o.OnBranch = "inactive",
    max_events: o.MaxEvents = None,
    threads: o.Threads = None,
    out: o.Out = None,
    resume: o.Resume = None,
    checkpoint_seconds: o.Seconds = 60.0,
    euler: o.Euler = True,
    figures: o.Figures = True,
    quiet: o.Quiet = False,
) -> int:
    """Integrate the flow of a network on data, and show the result.

    The table has the time, steps, events by kind, sectors, held pairs, loss and margin, with gradient descent at two
    step sizes beside it. `--out` adds the data files and the figures, and a checkpoint while the run lasts, from which
    `--resume` goes on.

    **Examples**

    `reluflow run --data digits:3,8 --width 50 --scale 1e-3 --until mean_loss=0.01 --out out/digits`

    `reluflow run --data wang-pilanci --width 10 --until log_time=100`

    `reluflow run --data table.csv --label sick --positive yes --until mean_loss=0.05,seconds=60`

    `reluflow run --data houses.csv --target price --bias 1 --loss squared --until time=100`

    `reluflow run --data robot.csv --target x,y --loss squared --until 50`

    `reluflow run --data digits:3,8 --weight-decay 1e-3 --until time=1000`

    `reluflow run --data digits:3,8 --layers 50,50 --scale 0.5 --until 1 --out out/deep`

    `reluflow run --data iris --loss cross_entropy --width 20 --scale 0.1 --until 5 --out out/iris`

    `reluflow run --resume out/digits`
    """
    options = {name: value for name, value in locals().items() if name != "context"}
    given = {name for name in options if getattr(context.get_parameter_source(name), "name", "") == "COMMANDLINE"}
    answers = Answers(label, positive, target, bias, loss, features, missing)
    if layers is not None or loss == CLASSES or (data is not None and has_several_targets(data, answers)):
        return _run_layers.execute(options, given, _console())
    del options["layers"]
    return _run.execute(_request.build(options, given), _console())


@app.command()
def sweep(
    *,
    data: o.SweepData,
    grid: o.Grid,
    until: o.SweepUntil = None,
    measure: o.Measure = None,
    store: o.SweepStore = Path("out/sweep"),
    label: o.Label = None,
    positive: o.Positive = None,
    target: o.Target = None,
    features: o.Features = None,
    missing: o.Missing = "raise",
    bias: o.Bias = None,
    width: o.Width = 50,
    scale: o.Scale = 1e-3,
    unbalanced: o.Unbalanced = False,
    seed: o.Seed = 0,
    leak: o.Leak = 0.0,
    loss: o.Loss = "logistic",
    reduction: o.Reduction = "sum",
    weight_decay: o.WeightDecay = 0.0,
    rtol: o.SweepRtol = 1e-9,
    on_branch: o.OnBranch = "inactive",
    max_events: o.MaxEvents = None,
    threads: o.Threads = None,
    chunk: o.Chunk = None,
    out: o.SweepTable = None,
    again: o.SweepAgain = False,
    quiet: o.Quiet = False,
) -> int:
    """Integrate one flow for each point of a grid, and keep numbers of each as it ends.

    The results stand in a Zarr group in the folder of `--store`. The same command goes on where an earlier one was cut
    short. Ends with 1 if a point ended with an error.

    **Example**

    `reluflow sweep --data wang-pilanci --grid scale=1e-4,1e-2,1 --grid width=10,100 --grid seed=0:20 --until 100`
    """
    options = {"width": width, "scale": scale, "balanced": not unbalanced, "seed": seed, "leak": leak, "loss": loss}
    flow = {"reduction": reduction, "weight_decay": weight_decay, "rtol": rtol, "on_branch": on_branch}
    work = {"max_events": max_events, "n_threads": threads, "chunk": chunk}
    request = _sweep.SweepRequest(
        data,
        Answers(label, positive, target, bias, loss, features, missing),
        grid,
        measure,
        until,
        store,
        out,
        again,
        quiet,
        {**options, **flow, **work},
    )
    return _sweep.execute(request, _console())


@app.command()
def inspect(path: o.SavedRun, *, events: o.Events = 0, out: o.Redraw = None) -> int:
    """Show what a saved run holds: outcome, work, events; with `--out` draw its figures again.

    **Example**

    `reluflow inspect out/digits --events 10`
    """
    return _inspect.inspect(path, n_events=events, out=out, console=_console())


@app.command()
def prove(
    path: o.SavedRun,
    *,
    until: o.ProveUntil = None,
    digits: o.ProveDigits = "auto",
    out: o.Certificate = None,
    quiet: o.Quiet = False,
) -> int:
    """Prove the events of a saved run: that they happen, and no others.

    Says until when the run is proved and, if not to its end, why. Ends with 0 if it is proved, and with 1 if not;
    `--out` keeps the certificate.

    **Example**

    `reluflow prove out/digits --until 0.001 --out out/digits/certificate.json`
    """
    return _prove.execute(path, until=until, digits=digits, out=out, quiet=quiet, console=_console())


@app.command()
def reproduce(
    ids: o.Claims = None,
    *,
    quick: o.Quick = False,
    out: o.Report = Path("out/papers"),
    seed: o.ClaimSeed = 0,
    threads: o.ClaimThreads = None,
    again: o.Again = False,
    mnist: o.Mnist = None,
) -> int:
    """Redo the figures, tables and theorems of the papers, and say of each whether it holds.

    Writes report.html, results.json and a folder for each claim. What is there already is not run again, so that an
    interrupted run goes on. Ends with 0 if every verdict is the expected one, and with 1 if not.

    **Examples**

    `reluflow reproduce list`

    `reluflow reproduce WP-F4 PL`

    `reluflow reproduce all --quick --out out/papers`
    """
    request = _reproduce.Request(ids or [], quick, out, seed, threads, again, mnist)
    return _reproduce.execute(request, _console())


@app.command()
def info() -> int:
    """Show the version, the compiled core and which extras are installed."""
    return _inspect.info(_console())
