"""`reluflow inspect` and `reluflow info`: what a saved run holds, what this installation has."""

from __future__ import annotations

import importlib.util
import platform
import sys
from collections.abc import Iterable
from itertools import islice
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table

from .. import _core, analysis
from .._validation import invalid
from ..flow import MultiClassSolution, Solution, TwoLayerSolution, load
from ..layered import DeepSolution
from . import _files, _pictures, _run_layers
from ._table import result_table

# What each extra of the package brings, and what for.
EXTRAS = {
    "analysis": (("pandas", "xarray", "h5netcdf", "h5py"), "tables and datasets of results"),
    "viz": (("matplotlib", "PIL"), "figures"),
    "film": (("imageio_ffmpeg",), "animations as MP4 where the system has no ffmpeg"),
    "explore": (("plotly",), "a run to drag through in a browser"),
    "data": (("sklearn", "pandas", "pyarrow"), "real data, CSV and Parquet files"),
    "convex": (("cvxpy", "clarabel", "highspy"), "convex programs and certificates"),
    "sweep": (("xarray", "zarr"), "sweeps over grids of parameters"),
    "torch": (("torch",), "networks to and from torch"),
    "cli": (("typer", "rich"), "this command"),
}


def inspect(path: Path, *, n_events: int, out: Path | None, console: Console) -> int:
    """Print what a saved run holds, and draw its figures if a folder is given.

    Raises
    ------
    ValueError
        No such file, or not a saved run.
    """
    path = _files.saved_run(path)
    solution = load(path)
    if isinstance(solution, MultiClassSolution):
        raise invalid("RUN", "hold one run", f"a solution of {solution.K} classes in {str(path)!r}")
    if isinstance(solution, (DeepSolution, TwoLayerSolution)):
        return _inspect_layers(solution, n_events, out, console)
    console.print(_title(solution), style="bold", soft_wrap=True, highlight=False)
    console.print(result_table(analysis.summarise(solution)))
    console.print(f"{solution.status}: {solution.message}")
    if n_events:
        console.print(_first_events(solution, n_events))
    if out is not None:
        names = [written.name for written in _pictures.write_all(solution, _files.folder(out))]
        console.print(f"wrote {', '.join(names)} to {out}", soft_wrap=True)
    return 0


def _inspect_layers(
    solution: DeepSolution | TwoLayerSolution, n_events: int, out: Path | None, console: Console
) -> int:
    console.print(_run_layers.title(solution), style="bold", soft_wrap=True, highlight=False)
    console.print(_run_layers.table(solution))
    console.print(f"{solution.status}: {solution.message}")
    if n_events:
        console.print(_first_events(solution, n_events))
    if out is not None:
        names = [written.name for written in _run_layers.draw(solution, _files.folder(out))]
        console.print(f"wrote {', '.join(names)} to {out}", soft_wrap=True)
    return 0


def _title(solution: Solution) -> str:
    data, net, used = solution.data, solution.initial, solution.settings
    name = data.name or "data"
    loss = f"{used.loss} loss ({used.reduction}), rtol {used.rtol:g}, leak {net.leak:g}"
    if used.weight_decay:
        loss += f", weight decay {used.weight_decay:g}"
    return f"{name} (n = {data.n}, d = {data.d}), {net.width} neurons, {loss}, version {used.version}"


def _first_events(solution: Solution | TwoLayerSolution | DeepSolution, n_events: int) -> Table:
    table = Table(title="events", title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    places = solution.events.ROW[2:-1]
    for name in ("t", *places):
        table.add_column(name, justify="right")
    table.add_column("kind")
    rows: Iterable[Any] = islice(solution.events, n_events)
    for event in rows:
        table.add_row(f"{event.t:.10g}", *(str(getattr(event, name)) for name in places), event.kind)
    return table


def info(console: Console) -> int:
    """Print versions and which extras are there."""
    console.print(f"reluflow {_core.__version__}")
    console.print(f"core     {_core.__file__}", soft_wrap=True)
    console.print(f"python   {platform.python_version()} ({sys.platform}, {platform.machine()})")
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in ("extra", "for", "state"):
        table.add_column(name)
    for extra, (modules, purpose) in EXTRAS.items():
        missing = [module for module in modules if importlib.util.find_spec(module) is None]
        state = "installed" if not missing else f'missing {", ".join(missing)}: pip install "reluflow[{extra}]"'
        table.add_row(extra, purpose, state)
    console.print(table)
    return 0
