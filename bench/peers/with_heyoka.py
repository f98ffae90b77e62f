"""heyoka: a Taylor integrator compiled for the problem, with its own relu, or with an event for every pair.

With events, the slopes are parameters that the callback of an event flips; the integration goes on from the event.
"""

from __future__ import annotations

from typing import Any

import heyoka as hy
import numpy as np

from peers import EVENTS, Way
from peers.run import Answer, Budget, Chatter, Run
from problems import Problem

SMALL = 100  # pairs: below, unrolled code; above, compact code, which else takes hours to compile
STEPS = 20  # between two looks at the budget


def names(problem: Problem) -> tuple[np.ndarray, np.ndarray]:
    m, d = problem.W.shape
    W = np.array([hy.make_vars(*(f"w{j}_{k}" for k in range(d))) for j in range(m)], dtype=object)
    return W, np.array(hy.make_vars(*(f"a{j}" for j in range(m))), dtype=object)


def system(problem: Problem, events: bool) -> tuple[list[tuple[Any, Any]], np.ndarray]:
    """The equations, and the pre-activations Z (n, m)."""
    X, y = problem.X, problem.y
    (n, d), m = X.shape, len(problem.a)
    W, a = names(problem)
    Z = np.array([[hy.sum([X[i, k] * W[j, k] for k in range(d)]) for j in range(m)] for i in range(n)], dtype=object)
    if events:
        slope = np.array([[hy.par[i * m + j] for j in range(m)] for i in range(n)], dtype=object)
        active = slope * Z
    else:
        slope = np.array([[hy.relup(z) for z in row] for row in Z], dtype=object)
        active = np.array([[hy.relu(z) for z in row] for row in Z], dtype=object)
    q = [hy.sum([a[j] * active[i, j] for j in range(m)]) for i in range(n)]
    pull = [y[i] * hy.sigmoid(-y[i] * q[i]) for i in range(n)]
    equations = []
    for j in range(m):
        share = [pull[i] * slope[i, j] for i in range(n)]
        equations += [(W[j, k], a[j] * hy.sum([X[i, k] * share[i] for i in range(n)])) for k in range(d)]
    equations += [(a[j], hy.sum([pull[i] * active[i, j] for i in range(n)])) for j in range(m)]
    return equations, Z


class Crossings:
    """What the callbacks share: the times so far, and the limits."""

    def __init__(self) -> None:
        self.clear(Budget(np.inf))

    def clear(self, budget: Budget) -> None:
        self.t: list[float] = []
        self.chatter, self.budget, self.ended = Chatter(), budget, ""

    def callback(self, pair: int) -> Any:
        def flip(ta: Any, d_sgn: int) -> bool:
            ta.pars[pair] = float(d_sgn > 0)
            self.t.append(float(ta.time))
            if self.chatter.seen(self.t[-1]):
                self.ended = "chatters at a held boundary"
            elif self.budget.over():
                self.ended = "time limit"
            return not self.ended

        return flip


def prepare(way: Way, problem: Problem, t: float) -> Run:
    located = way.mode == EVENTS
    equations, Z = system(problem, located)
    theta = np.concatenate([problem.W.ravel(), problem.a])
    shared, built = Crossings(), {}
    signs = (problem.X @ problem.W.T > 0.0).astype(float).ravel()

    def integrator(rtol: float) -> Any:
        """Compiled for the tolerance, which sets the order of the series."""
        extra: dict[str, Any] = {"pars": signs.copy()} if located else {}
        if located:
            pairs = enumerate(Z.ravel())
            extra["t_events"] = [hy.t_event(z, callback=shared.callback(k)) for k, z in pairs]
        return hy.taylor_adaptive(equations, theta.copy(), tol=rtol, compact_mode=Z.size > SMALL, **extra)

    def run(rtol: float, budget: Budget) -> Answer:
        ta = built[rtol]
        shared.clear(budget)
        ta.time, ta.state[:] = 0.0, theta
        if located:
            ta.pars[:] = signs
            ta.reset_cooldowns()
        return propagated(ta, t, shared, located)

    def build(rtol: float) -> None:
        built[rtol] = built.get(rtol) or integrator(rtol)

    run.build = build  # type: ignore[attr-defined]
    return run


def propagated(ta: Any, t: float, shared: Crossings, located: bool) -> Answer:
    n_steps, ended = 0, ""
    while not ended:
        outcome, _, _, taken = ta.propagate_until(t, max_steps=STEPS)[:4]
        n_steps += int(taken)
        if outcome == hy.taylor_outcome.time_limit:
            ended = "finished"
        elif shared.ended or shared.budget.over():
            ended = shared.ended or "time limit"
        elif outcome != hy.taylor_outcome.step_limit:
            ended = "gave up"
    return Answer(np.array(ta.state), float(ta.time), n_steps, shared.t if located else None, ended)
