"""The tables of growth: with the width, late, with the sizes, and of threads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import growth
from arithmetic import exponent
from text import Table, seconds, times
from text import exponent as shown

if TYPE_CHECKING:
    from plan import Effort

Record = dict[str, Any]
MEMORY = 4.0  # GiB


def finished(records: Sequence[Record]) -> list[Record]:
    return [r for r in records if r["ended"] == "finished"]


def fitted(records: Sequence[Record], axis: str, value: Any) -> str:
    done = finished(records)
    return shown(exponent([r[axis] for r in done], [value(r) for r in done]))


def width_table(records: Sequence[Record]) -> Table:
    rows = [
        (f"{r['m']:,}", f"{r['n_events']:,}", f"{r['n_steps']:,}", seconds(r["seconds"]), price(r))
        if r["ended"] == "finished"
        else (f"{r['m']:,}", *("",) * 3, r["ended"])
        for r in records
    ]
    power = fitted(records, "m", lambda r: r["seconds"] / r["n_events"])
    note = (
        f"The data of P3 with m neurons to t = {growth.WIDTH_T:g}, rtol 1e-9. Fitted: the cost of an event grows "
        f"like m^{power} (0 is flat)."
    )
    return Table("Cost of an event by width", ("m", "events", "steps", "seconds", "µs an event"), rows, note)


def price(record: Record) -> str:
    return f"{1e6 * record['seconds'] / record['n_events']:.1f}"


def late_table(records: Sequence[Record]) -> Table:
    rows = [
        (f"{r['m']:,}", f"{r['grown']:.2f}", f"{r['n_steps']:,}", seconds(r["whole"]), per_unit(r))
        if r["ended"] == "finished"
        else (f"{r['m']:,}", *("",) * 3, r["ended"])
        for r in records
    ]
    first, last = growth.LATE_LOG_TIMES
    note = (
        f"Six orthogonally separable samples, the neurons in the sectors of the two classes. The seconds of the steps "
        f"from log t = {first:g} to {last:g} of one run, over the growth of log ρ between; reading and writing the "
        "state, once each, are in the whole run alone."
    )
    head = ("m", "units of log ρ", "steps", "the whole run [s]", "s a unit of log ρ")
    return Table("Late phase by width", head, rows, note)


def per_unit(record: Record) -> str:
    return seconds(record["seconds"] / record["grown"])


def size_table(records: Sequence[Record], base: dict[str, int]) -> Table:
    rows = [
        (
            f"{r['n']:,}", f"{r['d']:,}", f"{r['m']:,}", f"{r['n_events']:,}", seconds(r["seconds"]), price(r),
            f"{r['memory']:.3f}",
        )
        if r["ended"] == "finished"
        else (f"{r['n']:,}", f"{r['d']:,}", f"{r['m']:,}", *("",) * 3, r["ended"])
        for r in records
    ]  # fmt: skip
    parts = []
    for axis in base:
        chosen = [r for r in records if all(r[k] == v for k, v in base.items() if k != axis)]
        whole = fitted(chosen, axis, lambda r: r["seconds"])
        one = fitted(chosen, axis, lambda r: r["seconds"] / r["n_events"])
        parts.append(f"{axis}^{whole} ({axis}^{one} an event)")
    note = (
        f"Gaussian samples labelled by a plane, from a start at scale 1e-3 to a mean loss of {growth.SIZE_LOSS}. "
        f"Fitted seconds: {', '.join(parts)}."
    )
    head = ("n", "d", "m", "events", "seconds", "µs an event", "peak memory [GiB]")
    return Table("Growth with the sizes", head, rows, note)


def large_table(records: Sequence[Record], effort: Effort) -> Table:
    rows = [
        (f"n = {r['n']:,}, d = {r['d']:,}, m = {r['m']:,}", f"{r['n_events']:,}", f"{r['t']:.3g}",
         seconds(r["seconds"]), f"{r['memory']:.2f}")
        if r["ended"] == "finished"
        else (f"n = {r['n']:,}, d = {r['d']:,}, m = {r['m']:,}", *("",) * 3, r["ended"])
        for r in records
    ]  # fmt: skip
    note = (
        f"The same recipe, to its first {effort.large[-1]:,} events; the peak memory of the whole process is to stay "
        f"below {MEMORY:g} GiB."
    )
    return Table("A large run", ("run", "events", "t", "seconds", "peak memory [GiB]"), rows, note)


def whole_table(records: Sequence[Record], effort: Effort) -> Table:
    rows = [
        (f"n = {r['n']:,}, d = {r['d']:,}, m = {r['m']:,}", f"{r['rtol']:g}", f"{r['n_events']:,}", f"{r['n_steps']:,}",
         f"{r['t']:.4g}", seconds(r["seconds"]), f"{r['memory']:.2f}")
        if r["ended"] == "finished"
        else (f"n = {r['n']:,}, d = {r['d']:,}, m = {r['m']:,}", f"{r['rtol']:g}", *("",) * 4, r["ended"])
        for r in records
    ]  # fmt: skip
    note = f"The same run to a mean loss of {effort.whole_loss:g}, on one core."
    head = ("run", "rtol", "events", "steps", "t", "seconds", "peak memory [GiB]")
    return Table("A large run to a small loss", head, rows, note)


def growth_tables(growths: dict[str, list[Record]], effort: Effort) -> list[Table]:
    return [
        width_table(growths["width"]),
        late_table(growths["late"]),
        size_table(growths["size"], effort.base),
        large_table(growths["large"], effort),
        whole_table(growths["whole"], effort),
    ]


def threads_table(records: dict[str, Record]) -> Table:
    rows = [
        (name, f"{r['n_events']:,}", seconds(r["one"]), seconds(r["two"]), times(r["one"], r["two"]))
        for name, r in records.items()
    ]
    note = (
        "Seconds of the clock, as threads are about them, so other work on the machine shows here. The answers are "
        "compared bit for bit first."
    )
    return Table("Two threads", ("run", "events", "one thread [s]", "two threads [s]", "one / two"), rows, note)
