"""The tables of the page. Nothing is computed here but ratios, prices and fits, by `arithmetic`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import arithmetic
import own
import plan
import text
from fitted import Fitted, fitted_table
from growing import growth_tables, threads_table
from layers import layers_table
from missed import missed_table, price_table
from points import Case, Point
from regression import regression_table
from text import Table, seconds, times

TARGETS = (1e-3, 1e-4, 1e-6, 1e-8)


@dataclass(frozen=True)
class Result:
    """The runs of one case, and how many events it has."""

    case: Case
    n_events: int
    flow: list[Point]
    euler: list[Point]
    peers: list[Point]

    @property
    def run(self) -> str:
        return self.case.title

    @property
    def default(self) -> Point:
        return next(p for p in self.flow if p.setting == own.RTOL)


@dataclass(frozen=True)
class Measured:
    """All that one bench measured."""

    results: list[Result]
    late: list[own.Late]
    growths: dict[str, list[dict[str, Any]]]
    threads: dict[str, dict[str, Any]]
    effort: plan.Effort
    regressions: list[dict[str, Any]]
    fits: list[Fitted]
    layered: list[dict[str, Any]]


def default_table(results: Sequence[Result]) -> Table:
    rows = [
        (r.run, f"{p.error:.1e}", f"{p.n_events:,}", f"{p.n_steps:,}", seconds(p.seconds))
        for r in results
        for p in [r.default]
    ]
    note = (
        f"The default `rtol={own.RTOL:g}`. The bench ends without a page if an error exceeds {own.MAX_ERROR:g}, if the "
        f"number of events differs from the reference, or if the time of one does by more than {own.MAX_EVENT_ERROR:g}."
    )
    return Table("The flow", ("run", "error", "events", "steps", "seconds"), rows, note)


def equal_row(result: Result, error: float) -> tuple[str, ...]:
    ours = arithmetic.fastest_within(result.flow, error)
    if ours is None:
        return (result.run, f"{error:g}", "not reached", *("",) * 4)
    slow, how = arithmetic.on_line(result.euler, error)
    reached = f"{seconds(ours.seconds)} ({ours.error:.0e})"
    row = (result.run, f"{error:g}", reached, f"{seconds(slow)} {how}", times(slow, ours.seconds))
    if not result.peers:
        return (*row, "not run", "")
    best = arithmetic.fastest_within(result.peers, error)
    if best is None:
        return (*row, "not reached", "")
    return (*row, f"{best.method}, {seconds(best.seconds)}", times(best.seconds, ours.seconds))


def equal_table(results: Sequence[Result]) -> Table:
    note = (
        "reluflow and the peers: the fastest run of the sweep with at most this error; the error it came to stands in "
        "brackets. Euler: interpolated between its runs, or extrapolated from the nearest by error ~ h, "
        "seconds ~ 1/h. Below 1× the other method is faster. Not reached: no run came to this error within its seconds."
    )
    head = (
        "run", "error at most", "reluflow [s]", "Euler [s]", "Euler / reluflow", "best peer [s]", "peer / reluflow",
    )  # fmt: skip
    return Table("Time for equal error", head, [equal_row(r, e) for r in results for e in TARGETS], note)


def low_row(result: Result) -> tuple[str, ...]:
    ours = arithmetic.fastest_within(result.flow, plan.LOW_ERROR)
    peer = arithmetic.fastest_within([p for p in result.peers if p.method == plan.LOW_PEER], plan.LOW_ERROR)
    slow, how = arithmetic.on_line(result.euler, plan.LOW_ERROR)
    own_cells = ("not reached",) * 3 if ours is None else (
        f"{seconds(ours.seconds)} ({ours.error:.0e})", f"{ours.n_events:,} of {result.n_events:,}",
        f"{ours.event_error:.0e}" if ours.event_error is not None else "–",
    )  # fmt: skip
    other = "not reached" if peer is None else f"{seconds(peer.seconds)} ({peer.error:.0e})"
    return (result.run, *own_cells, other, f"{seconds(slow)} {how}")


def low_table(results: Sequence[Result]) -> Table:
    note = (
        f"The fastest run with an error of at most {plan.LOW_ERROR:g}; in brackets the error it came to. "
        f"{plan.LOW_PEER} goes straight through the kinks and locates no event; neither does Euler."
    )
    head = ("run", "reluflow [s]", "events located", "their times off by", f"{plan.LOW_PEER} [s]", "Euler [s]")
    chosen = [r for r in results if (r.case.name, r.case.t) in plan.LOW]
    return Table("Low accuracy", head, [low_row(r) for r in chosen], note)


def sweep_table(results: Sequence[Result]) -> Table:
    rows = [
        (r.run, f"{p.setting:g}", f"{p.error:.1e}", f"{p.n_events:,}", f"{p.n_steps:,}", seconds(p.seconds))
        for r in results
        for p in r.flow
    ]
    note = "At a loose tolerance the number of events can differ from the reference by those that the error moves."
    return Table("The flow by tolerance", ("run", "rtol", "error", "events", "steps", "seconds"), rows, note)


def euler_table(results: Sequence[Result]) -> Table:
    rows = [
        (r.run, f"{p.setting:g}", f"{p.n_steps:,}", f"{p.error:.1e}", seconds(p.seconds), text.exponent(order))
        for r in results
        for order in [arithmetic.order(r.euler)]
        for p in r.euler
    ]
    note = (
        "`rf.descend`, the compiled gradient descent of this package. The order is the slope of log error over log h "
        "between the two smallest steps; 1 is the line error ~ h."
    )
    return Table("Euler", ("run", "h", "steps", "error", "seconds", "order"), rows, note)


def peer_table(results: Sequence[Result]) -> Table:
    rows = [
        (
            r.run, p.method, f"{p.setting:g}", f"{p.error:.1e}" if p.finished else f"{p.ended}, t = {p.reached:.2g}",
            "" if p.n_events is None else f"{p.n_events:,}", f"{p.n_steps:,}", seconds(p.seconds), seconds(p.build),
        )
        for r in results
        for p in r.peers
    ]  # fmt: skip
    note = (
        "Steps of torchdiffeq are calls of the right-hand side. A sweep goes from loose to tight and ends with the "
        "first run that does not finish."
    )
    head = ("run", "method", "rtol", "error", "events", "steps", "seconds", "compiling [s]")
    return Table("Every run of a peer", head, rows, note)


def late_table(rows: Sequence[own.Late]) -> Table:
    cells = []
    for r in rows:
        counts = f"{r.n_steps:,}", f"{r.n_events:,}"
        cells.append((r.name, f"{r.log_t:.0e}", f"{r.rtol:g}", *counts, seconds(r.seconds), f"{r.error:.0e}"))
    note = (
        "Runs from the start to a time given by its natural logarithm. The events as far as the reference goes are "
        f"compared with it, to {own.MAX_EVENT_ERROR:g} in time or {own.LATE_EVENT_ERROR:g} tolerances; there is no "
        f"reference state this late, so the error of the direction θ/|θ| is that against a run at "
        f"{own.LATE_REFERENCE_RTOL:g}."
    )
    head = ("problem", "log t", "rtol", "steps", "events", "seconds", "error")
    return Table("The late phase", head, cells, note)


def every(measured: Measured) -> list[Table]:
    """All tables, the ones with the answers first."""
    results = measured.results
    return [
        default_table(results),
        equal_table(results),
        low_table(results),
        missed_table(results),
        price_table(results),
        *growth_tables(measured.growths, measured.effort),
        late_table(measured.late),
        regression_table(measured.regressions),
        layers_table(measured.layered, measured.effort.layers_seconds),
        fitted_table(measured.fits),
        threads_table(measured.threads),
        sweep_table(results),
        euler_table(results),
        peer_table(results),
    ]
