"""One question: does the core agree with the slow twin on a problem?"""

from __future__ import annotations

import numpy as np

import compare
import reluflow as rf
import twin
from families import Setup

# States must agree to this part of each neuron's norm, event times relatively.
STATE_TOL = 1e-7
TIME_TOL = 1e-8


def network(setup: Setup) -> rf.Network:
    return rf.Network(setup.W, setup.a, leak=setup.leak)


def core(setup: Setup, **options) -> rf.Solution:
    """The core's run of a problem, to its end time unless another stop is given."""
    options = {"until": setup.t_end, "rtol": 1e-10, **setup.options, **options}
    return rf.integrate(rf.Dataset(setup.X, setup.y, weights=setup.weights), network(setup), **options)


def events_before(events: list[compare.Event], t: float) -> list[compare.Event]:
    """Events up to just before t: an event at the very end may fall on either side."""
    return [e for e in events if e.t <= t * (1 - 1e-7)]


def disagreement(setup: Setup, slow: twin.TwinRun, sol: rf.Solution) -> str | None:
    """What differs between the core and the twin, or None."""
    if slow.status == "branch":
        return branch_disagreement(slow, sol)
    if sol.status != "reached_time":
        return f"status {sol.status}: {sol.message}"
    if len(sol.branchings):
        return f"branching not expected: {sol.branchings[0]}"
    if not np.array_equal(slow.pattern0, sol.pattern0):
        return f"first patterns differ:\n{slow.pattern0}\n{sol.pattern0}"
    want = events_before([compare.Event(*e) for e in slow.events], setup.t_end)
    have = events_before(compare.from_solution(sol), setup.t_end)
    fault = compare.difference(want, have, slow.pattern0, TIME_TOL)
    if fault is not None:
        return fault
    for k, t in enumerate(sol.t):
        error = compare.state_error(sol.W[k], sol.a[k], slow.W[k], slow.a[k])
        if not np.all(error <= STATE_TOL):
            return f"state at t = {t!r}: neuron {np.argmax(error)} off by {np.max(error):.2e} of its norm"
    return None


def branch_disagreement(slow: twin.TwinRun, sol: rf.Solution) -> str | None:
    if not len(sol.branchings):
        return f"twin branches at {slow.branch}, the core does not"
    first = sol.branchings[0]
    if not compare.close(first.t, slow.branch["t"], TIME_TOL) or first.neuron != slow.branch["neuron"]:
        return f"twin branches at {slow.branch}, the core at {first}"
    return None


def check(setup: Setup) -> str | None:
    """Run both and compare. Raises twin.UndecidedError where the twin has no answer."""
    slow = twin.run(setup, setup.save_at)
    return disagreement(setup, slow, core(setup, save_at=setup.save_at))
