"""The flow and its Euler steps on the cases: the answer is checked first, then timed.

Everything runs on one thread, and a time is the processor time of the process, which other work on the machine
disturbs least.
"""

from __future__ import annotations

from dataclasses import dataclass
from time import process_time

import numpy as np

import problems
import reluflow as rf
from points import Case, Point, Target, event_error, start, stored, timed

RTOL = 1e-9  # the default of rf.integrate, which must be right
MAX_ERROR = 1e-7  # of the default run; the runs themselves come to 1e-9 and better
MAX_EVENT_ERROR = 1e-6  # of the time of an event, relative
LATE_EVENT_ERROR = 10.0  # the same at a loose tolerance, as a multiple of it
LATE_REFERENCE_RTOL = 1e-11
TIGHT = 1e-11  # of the run that stands for a reference where none is stored


def solve(name: str, t: float, rtol: float = RTOL) -> rf.Solution:
    data, net = start(name)
    return rf.integrate(data, net, until=t, rtol=rtol, save_at=[t], n_threads=1)


def target(case: Case) -> Target:
    """The stored reference, or for P4 the flow at a hundredth of its tolerance."""
    if case.name != "P4":
        return stored(case)
    sol = solve(case.name, case.t, TIGHT)
    return Target(sol.final.W, sol.final.a, np.sort(sol.events.t))


def flow(case: Case, rtol: float, right: Target) -> Point:
    """The flow at one tolerance, with its events."""
    start(case.name)  # reads the data before the clock runs
    sol, seconds = timed(lambda: solve(case.name, case.t, rtol))
    error = rf.analysis.relative_error(sol.final, right.net) if sol.success else np.inf
    times = event_error(sol.events.t, right.event_t)
    ended = "finished" if sol.success else sol.status
    return Point("reluflow", rtol, error, seconds, sol.stats["steps"], sol.t_end, len(sol.events), times, ended=ended)


def checked(case: Case, right: Target) -> Point:
    """The flow at the default tolerance; ends the program if the state, the number or a time of the events is wrong."""
    point, expected = flow(case, RTOL, right), len(right.event_t)
    times = np.inf if point.event_error is None else point.event_error
    if not point.error <= MAX_ERROR or point.n_events != expected or not times <= MAX_EVENT_ERROR:
        found = f"{point.ended}, error {point.error:.1e}, {point.n_events} events, their times off by {times:.1e}"
        raise SystemExit(f"{case.title} is wrong: {found}; expected {expected} events, errors below {MAX_ERROR:g}")
    return point


def euler(case: Case, step: float, right: Target) -> Point:
    data, net = start(case.name)
    begin = process_time()
    run = rf.descend(data, net, step=step, n_steps=round(case.t / step))
    seconds = process_time() - begin
    error = rf.analysis.relative_error(run.final, right.net) if run.success else np.inf
    return Point("Euler", step, error, seconds, run.steps_done, run.steps_done * step, ended=_ended(run))


def _ended(run: rf.descent.DescentResult) -> str:
    return "finished" if run.success else run.status


@dataclass(frozen=True)
class Late:
    """A run to a time that only its logarithm can hold; `error` is that of the direction at its end."""

    name: str
    log_t: float
    rtol: float
    n_steps: int
    n_events: int
    seconds: float
    error: float
    status: str


def late(name: str, log_t: float, rtol: float) -> Late:
    """Run once; ends the program if an event of the reference is missing or elsewhere, or time is short."""
    data, net = start(name)

    def run(rtol: float) -> rf.Solution:
        return rf.integrate(data, net, until=rf.Stop(log_time=log_t), save_at_log=[log_t], rtol=rtol, n_threads=1)

    begin = process_time()
    sol = run(rtol)
    seconds = process_time() - begin
    known = problems.reference(name).event_t
    found = sol.events.t[: len(known)]
    allowed = max(MAX_EVENT_ERROR, LATE_EVENT_ERROR * rtol)
    if not sol.success or len(found) < len(known) or event_error(found, np.sort(known)) > allowed:
        raise SystemExit(f"{name} to log t = {log_t:g} is wrong: {sol.status}, {len(sol.events)} events")
    theta, tight = sol.final.theta, run(LATE_REFERENCE_RTOL).final.theta
    error = float(np.linalg.norm(theta / np.linalg.norm(theta) - tight / np.linalg.norm(tight)))
    return Late(name, log_t, rtol, sol.stats["steps"], len(sol.events), seconds, error, sol.status)
