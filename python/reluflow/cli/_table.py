"""The table of a run, with gradient descent beside it."""

from __future__ import annotations

import math
from typing import Any

from rich import box
from rich.table import Table

from .._times import time_text
from ..analysis import Summary

NOTHING = "-"
Row = tuple[str, str, tuple[str, ...]]


def result_table(found: Summary) -> Table:
    """Lay out a summary: one column for the flow, one for each run of gradient descent."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("")
    table.add_column("flow", justify="right")
    for run in found.descent:
        table.add_column(f"Euler, step {_short(run['step'])}", justify="right")
    for name, value, others in (*_head(found), *_counts(found), *_losses(found), *_cost(found)):
        table.add_row(name, value, *others)
    return table


def _head(found: Summary) -> list[Row]:
    when = time_text(found.t, found.log_t)
    steps = f"{int(found.stats.get('steps', 0)):,}"
    return [
        ("time", when, tuple(when if _ran(run) else NOTHING for run in found.descent)),
        ("steps", steps, tuple(f"{run['n_steps']:,}" for run in found.descent)),
    ]


def _counts(found: Summary) -> list[Row]:
    none = tuple(NOTHING for _ in found.descent)
    rows: list[Row] = [("events", f"{found.n_events:,}", none)]
    rows += [(f"  {kind}", f"{count:,}", none) for kind, count in found.events.items()]
    if found.n_branchings:
        rows.append(("branch points", f"{found.n_branchings:,}", none))
    rows += [
        ("sectors", f"{found.n_sectors:,}", none),
        ("held pairs", f"{found.n_held:,}", none),
        ("dead neurons", f"{found.n_dead:,}", none),
    ]
    return rows


def _losses(found: Summary) -> list[Row]:
    none = tuple(NOTHING for _ in found.descent)
    rows: list[Row] = [
        ("loss (sum)", number(found.loss), tuple(number(run["loss"]) for run in found.descent)),
        ("mean loss", number(found.mean_loss), tuple(number(run["mean_loss"]) for run in found.descent)),
    ]
    if found.weight_decay:
        rows.append(("objective L + γ/2 |θ|²", number(found.objective), none))
    if not math.isnan(found.rmse):
        rows += [
            ("root mean square error", number(found.rmse), none),
            ("largest error", number(found.largest_error), none),
        ]
    if not math.isnan(found.normalised_margin):
        margins = tuple(number(run["normalised_margin"]) for run in found.descent)
        rows += [("margin min q/|θ|²", number(found.normalised_margin), margins)]
        rows += [("wrong samples", f"{found.n_wrong:,}", none)]
    return [*rows, ("|θ|", number(found.norm), none)]


def _cost(found: Summary) -> list[Row]:
    error: list[Row] = [("relative error of θ", NOTHING, tuple(_error(run) for run in found.descent))]
    return [
        *(error if found.descent else []),
        ("seconds", _seconds(found.stats.get("seconds")), tuple(_seconds(run["seconds"]) for run in found.descent)),
    ]


def _ran(run: dict[str, Any]) -> bool:
    return bool(run["status"] != "too_many_steps")


def _error(run: dict[str, Any]) -> str:
    if not _ran(run):
        return "too many steps"
    return "diverged" if math.isinf(run["error"]) else f"{run['error']:.1e}"


def _seconds(value: float | None) -> str:
    return NOTHING if value is None or math.isnan(value) else f"{value:.3g}"


def number(value: float) -> str:
    """Six digits, a dash for nan; 0 has no sign."""
    return NOTHING if math.isnan(value) else f"{value + 0.0:.6g}"


def _short(step: float) -> str:
    return f"{step:.3g}"
