"""The options of the commands: type, name and help of each."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from ..flow import POLICIES
from ..flow._stop import CRITERIA
from ..losses import LOSSES, REDUCTIONS
from ..sweeps import MEASURES, MEASURES_OF_OUTPUTS
from ._data import CLASSES, FORMS

_DATA = "Data by name (" + ", ".join(f"`{form}`" for form in FORMS[:-3]) + ") or a CSV, Parquet or NPZ file."
_CRITERIA = ", ".join("`limit=true`" if name == "limit" else f"`{name}=`" for name in CRITERIA)
_UNTIL = (
    f"When to stop, the first that holds: {_CRITERIA}, joined by commas. A number alone is a time. `gradient=` and "
    "`steps=` are for layers and several outputs."
)


def _option(panel: str, text: str, *names: str) -> Any:
    """Make an option in one of the boxes of the help."""
    return typer.Option(*names, help=text, rich_help_panel=panel)


# Their types are aliases so that the commands read as lists of names with defaults.
Data = Annotated[str | None, _option("Data", _DATA)]
Label = Annotated[str | None, _option("Data", "Column of the labels in a file.")]
Target = Annotated[
    str | None, _option("Data", "Column of real targets in a file, or several as in `u,v`, for `--loss squared`.")
]
Features = Annotated[
    str | None, _option("Data", "Columns of the inputs in a file, as in `age,height`; without it all that are left.")
]
Missing = Annotated[
    str, _option("Data", "Rows of a file with a missing entry: raise is an error, drop leaves them out.")
]
Bias = Annotated[float | None, _option("Data", "Append this constant input: the neurons have a bias.")]
Positive = Annotated[str | None, _option("Data", "Label that counts as +1 in a file.")]
Width = Annotated[int, _option("Network", "Number of neurons.")]
Layers = Annotated[
    str | None,
    _option("Network", "Widths of the hidden layers of a deep network, such as `50,50`, in place of --width."),
]
Scale = Annotated[
    float,
    _option(
        "Network", "Size of the first weights, |w_j| = |a_j| = scale; of --layers N(0, scale²/inputs), by default 1."
    ),
]
Unbalanced = Annotated[bool, _option("Network", "Draw all weights from N(0, scale²) instead.", "--unbalanced")]
Seed = Annotated[int, _option("Network", "Seed of the first weights, and of data that are drawn.")]
Leak = Annotated[float, _option("Network", "Slope of the activation on the negative side, in [0, 1).")]
Until = Annotated[str | None, _option("Flow", _UNTIL)]
Loss = Annotated[
    str, _option("Flow", "One of " + ", ".join(LOSSES) + f", or {CLASSES}: an output for each class of the data.")
]
Reduction = Annotated[
    str, _option("Flow", "Losses of the samples are added or averaged: " + ", ".join(REDUCTIONS) + ".")
]
WeightDecay = Annotated[
    float, _option("Flow", "γ of the term γ/2 |θ|² that is added to the loss; 0 for none.", "--weight-decay")
]
_RTOL = "Local error relative to the size of each neuron"
Rtol = Annotated[float | None, _option("Flow", _RTOL + "; without it 1e-9, and 1e-6 to a certified limit.")]
OnBranch = Annotated[str, _option("Flow", "Where the flow is not unique: " + ", ".join(POLICIES) + ".")]
Threads = Annotated[
    int | None, _option("Flow", "Threads to use, by default one for each core; the result is the same.")
]
MaxEvents = Annotated[int | None, _option("Flow", "Give up after so many events.")]
Out = Annotated[Path | None, _option("Output", "Folder for summary.json, events.csv, run.npz and figures.")]
Seconds = Annotated[float, _option("Output", "Seconds between two checkpoints in the folder of --out; 0 for none.")]
Resume = Annotated[
    Path | None, _option("Output", "Go on with the run in this folder that was cut short, and write its results there.")
]
Euler = Annotated[bool, _option("Output", "Run gradient descent to the same time, for comparison.")]
Figures = Annotated[bool, _option("Output", "Draw figures into the folder of --out.")]
Quiet = Annotated[bool, _option("Output", "Print nothing: files and exit code only.", "--quiet", "-q")]

_GRID = "A parameter and its values: `scale=1e-3,1e-2` or `seed=0:100`; once for each parameter that varies."
SweepData = Annotated[str, _option("Data", _DATA)]
SweepUntil = Annotated[str | None, _option("Flow", _UNTIL + " Left out where `--grid` has `until`.")]
Grid = Annotated[list[str], _option("Grid", _GRID)]
# What a sweep keeps without --measure, and of runs of several outputs.
KEPT = ("n_events", "log_loss", "normalised_margin")
KEPT_OF_OUTPUTS = tuple(name for name in KEPT if name in MEASURES_OF_OUTPUTS)
_MEASURES = "What is kept of a run: " + ", ".join(f"`{name}`" for name in MEASURES) + "."
_MEASURES += f" By default `{','.join(KEPT)}`; of several outputs `{','.join(KEPT_OF_OUTPUTS)}`."
Measure = Annotated[str | None, _option("Grid", _MEASURES)]
Chunk = Annotated[int | None, _option("Grid", "Points that are run and stored together.")]
SweepRtol = Annotated[float, _option("Flow", _RTOL + ".")]
SweepStore = Annotated[Path, _option("Output", "Folder in which the results are kept as they come.")]
SweepTable = Annotated[Path | None, _option("Output", "Write all results to this .csv or .nc file too.")]
SweepAgain = Annotated[bool, _option("Output", "Run also the points whose results are there.", "--again")]

SavedRun = Annotated[Path, typer.Argument(metavar="RUN", help="A folder or run.npz of `reluflow run`, or a file.")]
Events = Annotated[int, typer.Option(min=0, help="Show the first so many events.")]
Redraw = Annotated[Path | None, typer.Option("--out", help="Draw the figures into this folder.")]
ProveUntil = Annotated[float | None, typer.Option("--until", help="Prove to this time, by default to the end.")]
ProveDigits = Annotated[
    str, typer.Option("--digits", help="`16` for doubles, `32`, or `auto`: doubles, and 32 where these are not enough.")
]
Certificate = Annotated[Path | None, typer.Option("--out", help="File for the certificate, JSON.")]

_CLAIMS = "`list`, `all`, a paper (`WP`, `PL`, `LLWA`, `VSS`, `BPF`, `TK`, `CEL`), or ids of claims such as `WP-F4`."
Claims = Annotated[list[str] | None, typer.Argument(metavar="ID...", help=_CLAIMS)]
Quick = Annotated[bool, typer.Option("--quick", help="Seconds a claim instead of up to two minutes.")]
Report = Annotated[Path, typer.Option("--out", help="Folder for report.html, results.json and the figures.")]
ClaimSeed = Annotated[int, typer.Option("--seed", help="Where every draw starts.")]
ClaimThreads = Annotated[int | None, typer.Option("--threads", help="Claims at a time; every core if left out.")]
Again = Annotated[bool, typer.Option("--again", help="Run also the claims whose results are there.")]
Mnist = Annotated[
    Path | None, typer.Option("--mnist", help="Folder with the IDX files of MNIST, for the claims that are about it.")
]
