"""scipy: its steppers through the kinks, and DOP853 started again at each located crossing."""

from __future__ import annotations

import warnings

import numpy as np
from scipy import integrate
from scipy.optimize import brentq

from peers import EVENTS, Way
from peers.rhs import Flow
from peers.run import Answer, Budget, Chatter, Run
from problems import Problem


def prepare(way: Way, problem: Problem, t: float) -> Run:
    flow = Flow(problem)
    if way.mode == EVENTS:
        return lambda rtol, budget: restarted(flow, t, rtol, budget)
    return lambda rtol, budget: straight(flow, getattr(integrate, way.option), t, rtol, budget)


def straight(flow: Flow, method: type[integrate.OdeSolver], t: float, rtol: float, budget: Budget) -> Answer:
    n_steps = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a method that gives up says so in its status too
        solver = method(flow.value, 0.0, flow.theta, t, rtol=rtol, atol=flow.atol(rtol))
        while solver.status == "running" and not budget.over():
            solver.step()
            n_steps += 1
    ended = {"running": "time limit", "finished": "finished"}.get(solver.status, "gave up")
    return Answer(solver.y, float(solver.t), n_steps, ended=ended)


def restarted(flow: Flow, t: float, rtol: float, budget: Budget) -> Answer:
    """DOP853 with frozen patterns; a step in which boundaries are crossed is cut at the first, and all starts again."""
    theta, now, h, n_steps = flow.theta, 0.0, None, 0
    S, events, chatter = np.empty_like(flow.S), [], Chatter()
    flow.signs(theta, S)

    def velocity(t: float, theta: np.ndarray) -> np.ndarray:
        out = np.empty_like(theta)
        flow(t, theta, out, S)
        return out

    while now < t and not budget.over():
        solver = integrate.DOP853(velocity, now, theta, t, rtol=rtol, atol=flow.atol(rtol), first_step=h)
        pair = None
        while solver.status == "running" and pair is None and not budget.over():
            solver.step()
            n_steps += 1
            crossed = flow.crossed(solver.y, S)
            if len(crossed):
                now, theta, pair = first_crossing(flow, solver, crossed, S)
        if pair is None:
            ended = {"running": "time limit", "finished": "finished"}.get(solver.status, "gave up")
            return Answer(solver.y, float(solver.t), n_steps, events, ended)
        events.append(now)
        S.flat[pair] = 1.0 - S.flat[pair]
        h = min(solver.h_abs, t - now) or None
        if chatter.seen(now):
            return Answer(theta, now, n_steps, events, "chatters at a held boundary")
    return Answer(theta, now, n_steps, events, "finished" if now >= t else "time limit")


def first_crossing(
    flow: Flow, solver: integrate.DOP853, crossed: np.ndarray, S: np.ndarray
) -> tuple[float, np.ndarray, int]:
    """The time of the first of these crossings in the last step, the state there, and the pair (its flat index)."""
    dense = solver.dense_output()
    side = np.where(S.flat[crossed] > 0.0, 1.0, -1.0)

    def inside(t: float) -> np.ndarray:
        return np.asarray(side * flow.boundaries(dense(t)).flat[crossed])

    def least(t: float) -> float:
        return float(inside(t).min())

    begin = solver.t_old
    # A boundary left at the last event can be a rounding beyond itself.
    root = float(brentq(least, begin, solver.t, xtol=1e-300, rtol=1e-15)) if least(begin) > 0.0 else begin
    return root, dense(root), int(crossed[np.argmin(inside(root))])
