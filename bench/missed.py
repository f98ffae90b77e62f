"""What each peer missed: the accuracy it came to, the events it located and at what price, and the slides."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import arithmetic
from peers import EVENTS, WAYS, missing
from points import Point
from text import Table, seconds

if TYPE_CHECKING:
    from tables import Result

ACCURATE = 1e-6  # the error that counts as reached
SLIDES = {"P1s", "P3"}  # the problems with neurons that are held on boundaries before the end


def verdict(points: Sequence[Point], result: Result) -> str:
    """In words, from the runs of one way on one case."""
    best = min((p for p in points if p.finished), key=lambda p: p.error, default=None)
    last = points[-1]
    parts = []
    if WAYS[last.method].mode != EVENTS:
        parts.append("locates no event")
    elif best is None or best.n_events != result.n_events:
        found = last if best is None else best
        parts.append(f"{found.n_events or 0:,} of {result.n_events:,} events")
    if best is None or best.error > ACCURATE:
        parts.append("did not come to 1e-6")
    if best is None and last.ended != "time limit":
        parts.append(last.ended)
    if result.case.name in SLIDES and (best is None or best.error > ACCURATE):
        parts.append("does not slide")
    return "; ".join(parts) or "nothing"


def missed_row(label: str, result: Result) -> tuple[str, ...]:
    points = [p for p in result.peers if p.method == label]
    best = min((p for p in points if p.finished), key=lambda p: p.error, default=None)
    if best is not None:
        return (result.run, label, f"{best.error:.0e}", seconds(best.seconds), "the end", verdict(points, result))
    last = points[-1]
    reached = f"t = {last.reached:.1e}" if last.reached > 0 else "unknown"
    return (result.run, label, "–", seconds(last.seconds), reached, verdict(points, result))


def missed_table(results: Sequence[Result]) -> Table:
    rows = [missed_row(label, r) for r in results for label in dict.fromkeys(p.method for p in r.peers)]
    rows += [("all", tool, *("–",) * 3, "not installed, not compared") for tool in missing()]
    note = (
        "The most accurate run of each within its seconds. `+ events` locates every crossing and starts again there; "
        "the others go straight through the kinks. None of the peers can hold a neuron on a boundary (P1s and P3 have "
        "held neurons, P1 and P2 have none). Reached unknown: the tool was ended from outside."
    )
    return Table("What each peer missed", ("run", "method", "best error", "seconds", "came to", "missed"), rows, note)


def wrong(point: Point, result: Result) -> bool:
    """Whether a run came to its end with another number of events than there are: it has no price."""
    return point.finished and point.n_events != result.n_events


def price_row(point: Point, result: Result) -> tuple[str, ...]:
    whole, how = arithmetic.whole_run(point, result.n_events)
    off = "–" if point.event_error is None else f"{point.event_error:.0e}"
    price = f"{1e3 * arithmetic.per_event(point):#.3g}"
    return (result.run, point.method, f"{point.n_events:,}", off, price, f"{seconds(whole)} {how}")


def price_table(results: Sequence[Result]) -> Table:
    """The flow first, then every way with events at its tightest tolerance that located any."""
    rows = []
    for r in results:
        located = [p for p in r.peers if p.n_events and p.event_error is not None and not wrong(p, r)]
        if located:
            rows.append(price_row(r.default, r))
            labels = dict.fromkeys(p.method for p in located)
            rows += [price_row([p for p in located if p.method == label][-1], r) for label in labels]
    note = (
        "Processor time of a run over its located events. A run that was ended early counts with those it had; all "
        "events of the case at that price are an extrapolation. Off by: the largest relative error of an event's "
        "time, events taken in order. Left out: runs that found more or fewer events than there are."
    )
    head = ("run", "method", "events located", "their times off by", "ms an event", "all events [s]")
    return Table("The price of an event", head, rows, note)
