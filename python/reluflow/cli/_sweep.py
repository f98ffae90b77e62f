"""`reluflow sweep`: read the grid, run what is missing, say how the points ended, write the table."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console

from .. import sweeps
from .._validation import invalid, optional_module
from ..datasets import Dataset, MultiClassDataset
from ..flow import Stop
from . import _data, _options
from ._files import check_file, together

if TYPE_CHECKING:
    import xarray as xr

_FORM = "have the form name=value,value or name=first:end"
_TABLES = {".csv": "pandas", ".nc": "h5netcdf"}  # what writes each


@dataclass(frozen=True)
class SweepRequest:
    """Everything `reluflow sweep` was asked for, as it stands on the command line."""

    data: str
    answers: _data.Answers
    grid: list[str]
    measure: str | None
    until: str | None
    store: Path
    out: Path | None
    again: bool
    quiet: bool
    options: dict[str, Any]


def execute(request: SweepRequest, console: Console) -> int:
    """Run, print how the points ended, write; return 0, or 1 if a point ended with an error."""
    if request.out is not None:
        _check_table(request.out)
    if request.answers.loss == _data.CLASSES:
        data: Dataset | MultiClassDataset = _data.load_classes(request.data, request.answers)
    else:
        data = _data.load(request.data, request.answers, seed=request.options["seed"])
    grid = read_grid(request.grid)
    if request.until is None and "until" not in grid:
        raise invalid("--until", "be given, or times of --grid", "neither")
    options = dict(request.options)
    if "seed" in grid:  # without it --seed is that of data that are drawn
        del options["seed"]
    found = sweeps.sweep(
        data,
        grid=grid,
        measure=read_measure(request.measure, data),
        until=None if request.until is None else Stop.parse(request.until),
        store=request.store,
        resume=not request.again,
        progress=not request.quiet,
        **options,
    )
    if request.out is not None:
        _write(found, request.out)
    counts = Counter(found["status"].to_numpy().ravel().tolist())
    if not request.quiet:
        for status, count in counts.most_common():
            console.print(f"{count:8d}  {status}", highlight=False)
        for error in sorted(set(found["error"].to_numpy().ravel().tolist()) - {""}):
            console.print(f"          {error}", highlight=False, markup=False, soft_wrap=True)
        console.print(f"stored in {request.store / found.attrs['key']}.zarr", soft_wrap=True)
    return 1 if counts["error"] else 0


def read_measure(text: str | None, data: Dataset | MultiClassDataset) -> list[str]:
    """Read ``n_events,norm``; without it return the numbers that runs on the data have."""
    if text is not None:
        return [name.strip() for name in text.split(",")]
    several = isinstance(data, MultiClassDataset) or data.n_targets > 1
    return list(_options.KEPT_OF_OUTPUTS if several else _options.KEPT)


def read_grid(parts: list[str]) -> dict[str, list[Any]]:
    """Read ``scale=1e-3,1e-2`` and ``seed=0:100``.

    Raises
    ------
    ValueError
        Another form, or a parameter twice.
    """
    grid: dict[str, list[Any]] = {}
    for part in parts:
        name, equals, text = part.partition("=")
        name = name.strip()
        if not equals or not text or name in grid:
            raise invalid("--grid", _FORM + ", each parameter once", repr(part))
        grid[name] = _range(part, text) if ":" in text else [_value(word.strip()) for word in text.split(",")]
        if len({isinstance(value, str) for value in grid[name]}) > 1:
            raise invalid("--grid", _FORM + ", with numbers alone or words alone", repr(part))
    return grid


def _range(part: str, text: str) -> list[Any]:
    first, _, end = text.partition(":")
    try:
        values = list(range(int(first), int(end)))
    except ValueError:
        raise invalid("--grid", _FORM, repr(part)) from None
    if not values:
        raise invalid("--grid", _FORM + " with first below end", repr(part))
    return values


def _value(word: str) -> Any:
    if word.lower() in ("true", "false"):
        return word.lower() == "true"
    for kind in (int, float):
        try:
            return kind(word)
        except ValueError:
            continue
    return word


def _check_table(out: Path) -> None:
    """Find out before the sweep what would fail after it."""
    if out.suffix not in _TABLES:
        raise invalid("--out", "name a file that ends with " + " or ".join(_TABLES), repr(str(out)))
    check_file(out)
    optional_module(_TABLES[out.suffix], "analysis")


def _write(found: xr.Dataset, out: Path) -> None:
    """Write a table of one row a point, or a netCDF file."""
    with together(out.parent) as place:
        if out.suffix == ".csv":
            found.to_dataframe().to_csv(place / out.name)
        else:
            found.to_netcdf(place / out.name, engine="h5netcdf")
