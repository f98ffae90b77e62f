"""SUNDIALS by scikit-sundae: CVODE through the kinks, and with a root function for every pair of neuron and sample."""

from __future__ import annotations

from typing import Any

import numpy as np
from sksundae.cvode import CVODE

from peers import EVENTS, Way
from peers.rhs import Flow
from peers.run import Answer, Budget, Chatter, Run
from problems import Problem

DENSE = 200  # up to so many unknowns a dense matrix is best; above, Krylov iterations
MAX_STEPS = 100_000
HISTORY = 20  # a solver keeps a row of all root functions for each event; a new one begins without them


def options(way: Way, flow: Flow, rtol: float) -> dict[str, Any]:
    linear = {"linsolver": "dense"} if len(flow.theta) <= DENSE else {"linsolver": "gmres", "krylov_dim": 10}
    return {"method": way.option, "rtol": rtol, "atol": flow.atol(rtol), "max_num_steps": MAX_STEPS, **linear}


def prepare(way: Way, problem: Problem, t: float) -> Run:
    flow = Flow(problem)
    run = restarted if way.mode == EVENTS else straight
    return lambda rtol, budget: run(way, flow, t, rtol, budget)


def straight(way: Way, flow: Flow, t: float, rtol: float, budget: Budget) -> Answer:
    """One internal step at a time, so that the budget is seen; CVODE itself does not restart for that."""
    solver = CVODE(lambda t, y, yp: flow(t, y, yp), **options(way, flow, rtol))
    state = solver.init_step(0.0, flow.theta)
    n_steps = 0
    while not budget.over():
        state = solver.step(t, "onestep", tstop=t)
        n_steps += 1
        if not state.success or state.t >= t:
            ended = "finished" if state.success else "gave up"
            return Answer(np.array(state.y), float(state.t), n_steps, ended=ended)
    return Answer(np.array(state.y), float(state.t), n_steps, ended="time limit")


def restarted(way: Way, flow: Flow, t: float, rtol: float, budget: Budget) -> Answer:
    """Frozen patterns; CVODE stops where root functions change sign, the pattern follows, and it starts again."""
    S, events, chatter = np.empty_like(flow.S), [], Chatter()
    flow.signs(flow.theta, S)

    def roots(t: float, y: np.ndarray, out: np.ndarray) -> None:
        out[:] = flow.boundaries(y).ravel()

    def fresh() -> CVODE:
        velocity = lambda t, y, yp: flow(t, y, yp, S)  # noqa: E731
        return CVODE(velocity, eventsfn=roots, num_events=S.size, **options(way, flow, rtol))

    solver, theta, now, n_steps = fresh(), flow.theta, 0.0, 0
    solver.init_step(now, theta)
    while not budget.over():
        state = solver.step(t, "onestep", tstop=t)
        theta, now, n_steps = np.array(state.y), float(state.t), n_steps + 1
        if not state.success or now >= t:
            return Answer(theta, now, n_steps, events, "finished" if state.success else "gave up")
        if state.t_events is None or state.t_events[-1] != now:
            continue
        directions = np.asarray(state.i_events)[-1]
        for pair in np.flatnonzero(directions):
            side = float(directions[pair] > 0)
            if S.flat[pair] != side:
                S.flat[pair] = side
                events.append(now)
        if chatter.seen(now):
            return Answer(theta, now, n_steps, events, "chatters at a held boundary")
        if len(state.t_events) >= HISTORY:
            solver = fresh()
        solver.init_step(now, theta)
    return Answer(theta, now, n_steps, events, "time limit")
