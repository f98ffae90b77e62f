"""The squared loss: every problem checked against its reference, then an event priced beside one of the logistic loss.

The logistic run has the same inputs and start, the signs of the targets for labels, and stops after as many events.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import own
import problems
import reluflow as rf
from points import event_error, start, timed
from text import Table, seconds, times

Record = dict[str, Any]


def solve(name: str, rtol: float = own.RTOL) -> rf.Solution:
    """Run to the end of the reference; neurons at rest stay where the flow branches, as the references have it."""
    data, net = start(name)
    t = problems.REGRESSIONS[name].times[-1]
    return rf.integrate(data, net, until=t, loss="squared", rtol=rtol, save_at=[t], on_branch="stay", n_threads=1)


def checked(name: str) -> Record:
    """The run at the default tolerance; ends the program if the state or an event is wrong."""
    right = problems.reference(name)
    sol, spent = timed(lambda: solve(name))
    W, a = right.state(problems.REGRESSIONS[name].times[-1])
    error = rf.analysis.relative_error(sol.final, rf.Network(W, a)) if sol.success else np.inf
    found = np.sort(sol.events.t[sol.events.kind != "branch"])
    known = np.sort(right.event_t)
    off = event_error(found, known)
    if not error <= own.MAX_ERROR or len(found) != len(known) or not off <= own.MAX_EVENT_ERROR:
        raise SystemExit(f"{name} is wrong: {sol.status}, error {error:.1e}, {len(found)} of {len(known)} events")
    return {"error": error, "n_events": len(found), "n_steps": sol.stats["steps"], "seconds": spent}


def logistic(name: str, n_events: int) -> Record:
    """The logistic loss on the signs of the targets, to as many events or as many as it has."""
    data, net = start(name)
    labels = rf.Dataset(data.X, np.where(data.y > 0, 1.0, -1.0))
    stop = rf.Stop(events=n_events, log_time=10.0)
    sol, spent = timed(lambda: rf.integrate(labels, net, until=stop, n_threads=1))
    return {"logistic_events": len(sol.events), "logistic_seconds": spent}


def measured(name: str) -> Record:
    """Both runs of a problem, one after the other."""
    row = checked(name)
    return {"name": name, **row, **logistic(name, row["n_events"])}


def regression_table(rows: Sequence[Record]) -> Table:
    cells = [
        (
            row["name"], f"{row['error']:.1e}", f"{row['n_events']:,}", f"{row['n_steps']:,}", seconds(row["seconds"]),
            f"{row['logistic_events']:,}", seconds(row["logistic_seconds"]),
            times(row["seconds"] / max(row["n_events"], 1), row["logistic_seconds"] / max(row["logistic_events"], 1)),
        )
        for row in rows
    ]  # fmt: skip
    note = (
        "S1: a teacher of 3 neurons (200 samples, 10 dimensions, 100 neurons); S2: 10 orthogonal inputs, 50 neurons; "
        "S3: one input and a bias, 20 samples, 200 neurons; S4: P3 with its labels as targets. Every event and the "
        "last state are checked against a stored reference first. The logistic loss runs from the same start on the "
        "signs of the targets, to as many events if it has them. The last column is the time for an event of the "
        "squared loss beside that of the logistic one."
    )
    head = ("run", "error", "events", "steps", "seconds", "logistic: events", "seconds", "an event costs")
    return Table("The squared loss", head, cells, note)
