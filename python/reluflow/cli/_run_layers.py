"""`reluflow run` of layers or several outputs: integrate what the layered core integrates, show, write."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich import box
from rich.console import Console
from rich.table import Table

from .. import analysis, figures
from .._core import __version__
from .._validation import integer, invalid, optional_module
from ..datasets import Dataset, MultiClassDataset
from ..flow import Progress, Stop, TwoLayerSolution, integrate
from ..flow._facts import end_of
from ..layered import DeepNetwork, DeepSolution, Dense
from ..networks import Network
from . import _data, _files, _pictures
from ._progress import ProgressLine
from ._signals import Signals
from ._table import number

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# What a run of the layered core has no meaning for, or does not have yet.
_ONE_OUTPUT = {
    "resume": "it keeps no checkpoints",
    "checkpoint_seconds": "it keeps no checkpoints",
    "euler": "the table beside gradient descent is that of two layers and one output",
}
_TWO_LAYERS = {
    "width": "the widths are those of --layers",
    "unbalanced": "a layered network is drawn from N(0, scale²/inputs)",
}
Run = DeepSolution | TwoLayerSolution
_SCALE = 1.0  # of the first weights where --scale is not given: the default of DeepNetwork.init


def execute(options: dict[str, Any], given: set[str], console: Console) -> int:
    """Run, print the table and write the files; return the exit code.

    After Ctrl-C or SIGTERM what there is is written, and the exit code is 130 or 143. A second one leaves at once.

    Raises
    ------
    ValueError
        An option that is wrong, missing, or that does not go with layers or several outputs.
    """
    is_deep = options["layers"] is not None
    if is_deep:  # what is used of the network is what is written down
        scale = options["scale"] if "scale" in given else _SCALE
        options = {**options, "scale": scale, "width": None}
    is_of_classes = options["loss"] == _data.CLASSES
    what = "--layers" if is_deep else "--loss cross_entropy" if is_of_classes else "several targets"
    for name, reason in {**_ONE_OUTPUT, **(_TWO_LAYERS if is_deep else {})}.items():
        if name in given:
            raise invalid(f"--{name.replace('_', '-')}", f"be left out with {what}: {reason}", "both")
    for name in ("data", "until"):
        if options[name] is None:
            raise invalid(f"--{name}", "be given", "none")
    answers = _data.Answers.of(options)
    data: Dataset | MultiClassDataset
    if is_of_classes:
        data = _data.load_classes(options["data"], answers)
    else:
        data = _data.load(options["data"], answers, seed=options["seed"])
    net = _deep(options, data) if is_deep else _two_layers(options, data)
    out = options["out"]
    if out is not None:
        _files.folder(out)
        if options["figures"]:
            optional_module("matplotlib", "viz")
    with Signals() as signals:
        with suppress(KeyboardInterrupt):  # the second signal leaves at once
            _run(data, net, options, console, signals)
        return signals.exit_code


def _deep(options: dict[str, Any], data: Dataset | MultiClassDataset) -> DeepNetwork:
    layers = [*(Dense(width) for width in widths(options["layers"])), Dense(_outputs(data))]
    return DeepNetwork.init(layers, dim=data.d, scale=options["scale"], leak=options["leak"], seed=options["seed"])


def _outputs(data: Dataset | MultiClassDataset) -> int:
    return data.K if isinstance(data, MultiClassDataset) else data.n_targets


def _two_layers(options: dict[str, Any], data: Dataset | MultiClassDataset) -> Network:
    """Draw a network with an output for each class or target."""
    return Network.init(
        options["width"],
        data.d,
        outputs=_outputs(data),
        scale=options["scale"],
        balanced=not options["unbalanced"],
        leak=options["leak"],
        seed=options["seed"],
    )


def widths(text: str) -> list[int]:
    """Read the widths of the hidden layers, such as ``"50,50"``.

    Raises
    ------
    ValueError
        A width that is no integer of at least 1.
    """
    found = []
    for part in text.split(","):
        try:
            found.append(integer(int(part), "--layers"))
        except ValueError:
            raise invalid("--layers", "list widths of hidden layers, such as 50,50", repr(text)) from None
    return found


def _run(data: Any, net: DeepNetwork | Network, options: dict[str, Any], console: Console, signals: Signals) -> None:
    solution = _integrate(data, net, options, console, signals)
    if not options["quiet"]:
        console.print(title(solution), style="bold", soft_wrap=True, highlight=False)
        console.print(table(solution))
        console.print(f"{solution.status}: {solution.message}")
    if options["out"] is not None:
        names = _write(solution, options)
        if options["figures"]:
            names += _figures(solution, options["out"], signals)
        if not options["quiet"]:
            console.print(f"wrote {', '.join(names)} to {options['out']}", soft_wrap=True)


def _integrate(
    data: Any, net: DeepNetwork | Network, options: dict[str, Any], console: Console, signals: Signals
) -> Run:
    rules = ("loss", "reduction", "weight_decay", "rtol", "on_branch", "max_events")
    settings = {name: options[name] for name in rules}
    until = Stop.parse(options["until"])
    with ProgressLine(console, data.total, options["reduction"], quiet=options["quiet"]) as line:

        def follow(report: Progress) -> None:
            line.follow(report)
            if signals.came:
                raise KeyboardInterrupt  # to the core, which ends the run with what it has

        return integrate(data, net, until=until, callback=follow, n_threads=options["threads"], **settings)


def _write(solution: Run, options: dict[str, Any]) -> list[str]:
    """Write the run, all files of it or none; return their names."""
    command = {name: str(value) if isinstance(value, Path) else value for name, value in options.items()}
    record = {
        "version": __version__,
        "command": command,
        "rtol": solution.settings["rtol"],
        "status": solution.status,
        "message": solution.message,
        "t": solution.t_end,
        "log_t": solution.log_t_end,
        "log_loss": solution.log_loss_end,
        "network": repr(solution.final),
        "stats": solution.stats,
    }
    with _files.together(options["out"]) as place:
        solution.save(place / _files.RUN)
        solution.events.to_csv(place / "events.csv")
        _files.write_json(place / "summary.json", record)
    return ["summary.json", "events.csv", _files.RUN]


def _figures(solution: Run, out: Path, signals: Signals) -> list[str]:
    """Draw the figures; return their names, or none after a signal."""
    try:
        with signals.raising():
            return [path.name for path in draw(solution, out)]
    except KeyboardInterrupt:  # the figures that are there stay
        return []


def draw(run: Run, out: Path) -> list[Path]:
    """Draw the figures of a layered run into a folder; return their paths."""
    solution = run.layered if isinstance(run, TwoLayerSolution) else run
    paths = []
    pictures = {"loss_and_norm": _curves, "layers": _layers, "events": _events}
    if _has_plane(solution):
        pictures["outputs"] = _pictures.outputs
    with figures.style():
        for name, picture in pictures.items():
            paths.append(out / f"{name}.png")
            _files.write_figure(paths[-1], picture(solution))
    return paths


def _has_plane(solution: DeepSolution) -> bool:
    """Tell whether the outputs are one function of two inputs, beside a bias or not."""
    data = solution.data
    if not isinstance(data, Dataset) or data.n_targets > 1 or solution.initial.n_outputs > 1:
        return False
    return data.d == (2 if data.bias_input is None else 3)


def _curves(solution: DeepSolution) -> Figure:
    times = analysis.series(solution)
    figure, axes = figures.panels(3, height=2.4)
    figures.loss(times, axes[0], label="loss (mean)" if solution.reduction == "mean" else "loss (sum)")
    figures.norms(times, axes[1])
    if solution.loss == "squared":
        figures.errors(analysis.errors(solution), axes[2])
    else:
        figures.margins(analysis.margins(solution, normalised="normalised_margin" in times), axes[2])
    return figure


def _layers(solution: DeepSolution) -> Figure:
    figure, axes = figures.panels(2, height=3.3)
    figures.layer_singular_values(analysis.layer_singular_values(solution), axes[0])
    planar = (number for number, layer in enumerate(solution.initial.layers, 1) if layer.W.shape[1] > 1)
    first = next(planar, None)
    if first is None:  # a chain of single units: no layer has a plane
        axes[1].remove()
    else:
        figures.row_plane(analysis.row_plane(solution, first), axes[1])
    return figure


def _events(solution: DeepSolution) -> Figure:
    figure, axes = figures.panels(1, width=6.9, height=4.3)
    figures.layer_raster(analysis.layer_raster(solution), axes)
    return figure


def title(solution: Run) -> str:
    """Say in one line what was run."""
    data, used = solution.data, solution.settings
    name = getattr(data, "name", None) or "data"
    count = len(data[0]) if isinstance(data, tuple) else data.n if hasattr(data, "n") else 0
    return f"{name} (n = {count}), {solution.initial!r}, {used['loss']} loss ({used['reduction']})"


def table(solution: Run) -> Table:
    """Lay out what there is to say of a run."""
    found = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    found.add_column("")
    found.add_column("flow", justify="right")
    stats = solution.stats
    found.add_row("time", end_of(solution))
    found.add_row("steps", f"{stats['steps']:,}")
    found.add_row("events", f"{stats['n_events']:,}")
    for kind, count in stats["events"].items():
        found.add_row(f"  {kind}", f"{count:,}")
    found.add_row("log loss", number(solution.log_loss_end))
    found.add_row("|θ|", number(solution.final.norm))
    found.add_row("seconds", number(stats["seconds"]))
    return found
