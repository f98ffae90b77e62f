"""Run one claim: outcome to files, exceptions to a failed result."""

from __future__ import annotations

import time
import traceback
import warnings
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._files import atomic_write, json_bytes
from .._validation import optional_module
from ._claim import PAPERS, Claim, Context, Outcome, hindrance, undecided, verdict
from ._result import FAILED, OPEN, Key, Picture, Result, Sheet

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

RESULT, TRACEBACK = "result.json", "traceback.txt"
FIGURE_DPI = 160  # sharp on a phone, and some tens of kilobytes a picture
_COLOURS = 96  # the figures use a dozen colours and their blends with white


def execute(claim: Claim, context: Context, key: Key, folder: Path) -> Result:
    """Run a claim and write its figures and result.json into a folder; the result comes last, by renaming.

    Parameters
    ----------
    claim : Claim
    context : Context
    key : Key
    folder : Path
        Made if need be; the figures of an earlier run in it are removed.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for old in (*folder.glob("*.png"), folder / RESULT, folder / TRACEBACK):
        old.unlink(missing_ok=True)
    began = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        result = _run(claim, context, key, folder)
    said = tuple(dict.fromkeys(f"{warning.category.__name__}: {warning.message}" for warning in caught))
    fields: dict[str, Any] = {**vars(result), "warnings": said, "seconds": round(time.perf_counter() - began, 3)}
    result = Result(**fields)
    with atomic_write(folder / RESULT) as file:
        file.write(json_bytes(result.to_dict()))
    return result


def _run(claim: Claim, context: Context, key: Key, folder: Path) -> Result:
    missing = hindrance(claim, context)
    if claim.run is None or missing:
        return Result(claim.id, OPEN, key, note=missing)
    try:
        outcome, open_for = claim.run(context), undecided(claim, context)
        found, message = (OPEN, "") if open_for else verdict(claim, outcome)
        # Of an open claim numbers are shown and not judged.
        numbers = tuple(replace(n, relation="shown") for n in outcome.numbers) if open_for else outcome.numbers
        return Result(
            claim.id,
            found,
            key,
            message=message,
            ran=outcome.ran,
            note=f"{open_for} {outcome.note}".strip(),
            numbers=numbers,
            figures=_draw_all(claim, outcome, folder),
            tables=tuple(_sheet(name, frame) for name, frame in outcome.tables.items()),
        )
    except Exception as error:  # whatever one claim does, the others are run
        (folder / TRACEBACK).write_text(traceback.format_exc(), encoding="utf-8")
        return Result(claim.id, FAILED, key, message=f"{type(error).__name__}: {' '.join(str(error).split())}")


def _draw_all(claim: Claim, outcome: Outcome, folder: Path) -> tuple[Picture, ...]:
    """Write the figures; the caption of each is its label, or else the claim's title, with its name among several."""
    pictures = []
    for name, figure in outcome.figures.items():
        which = f" ({name.replace('_', ' ')})" if len(outcome.figures) > 1 else ""
        caption = str(figure.get_label()) or f"{PAPERS[claim.paper]}, {claim.source}: {claim.title}{which}"
        _draw(figure, folder / f"{name}.png")
        pictures.append(Picture(name, f"{name}.png", caption))
    return tuple(pictures)


def _draw(figure: Figure, path: Path) -> None:
    """Write a figure as a small PNG."""
    raw, small = BytesIO(), BytesIO()
    figure.savefig(raw, format="png", dpi=FIGURE_DPI, metadata={"Software": None})
    image = optional_module("PIL.Image", "viz")
    with image.open(raw) as picture:
        picture.convert("RGB").quantize(_COLOURS).save(small, format="png", optimize=True)
    with atomic_write(path) as file:
        file.write(min(raw, small, key=_size).getvalue())


def _size(buffer: BytesIO) -> int:
    return buffer.getbuffer().nbytes


def _sheet(name: str, frame: pd.DataFrame) -> Sheet:
    """Turn a table into text: six digits, its index as the first columns unless it only counts."""
    pandas = optional_module("pandas", "analysis")
    plain = frame if isinstance(frame.index, pandas.RangeIndex) else frame.reset_index()
    rows = tuple(tuple(_cell(value) for value in row) for row in plain.itertuples(index=False, name=None))
    return Sheet(name, str(frame.attrs.get("caption", "")), tuple(str(column) for column in plain.columns), rows)


def _cell(value: object) -> str:
    if isinstance(value, float):
        return "" if value != value else f"{value:.6g}"
    return str(value)
