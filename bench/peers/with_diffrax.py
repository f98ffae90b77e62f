"""diffrax: whole runs compiled by XLA; with events, one compiled solve to the first crossing and a loop around it."""

from __future__ import annotations

from typing import Any

import diffrax
import jax
import jax.numpy as jnp
import numpy as np
import optimistix

from peers import EVENTS, Way
from peers.run import Answer, Budget, Chatter, Run
from problems import Problem

jax.config.update("jax_enable_x64", True)
MAX_STEPS = 2**20
ROUNDING = 1e-12  # relative to the largest pre-activation


class Field:
    """The problem as arrays of jax."""

    def __init__(self, problem: Problem) -> None:
        self.X, self.y = jnp.asarray(problem.X), jnp.asarray(problem.y)
        self.shape = problem.W.shape
        self.theta = jnp.concatenate([problem.W.ravel(), problem.a])
        self.scale = float(np.abs(problem.a).max())
        self.S = self.boundaries(self.theta) > 0.0

    def boundaries(self, theta: Any) -> Any:
        return self.X @ theta[: -self.shape[0]].reshape(self.shape).T

    def velocity(self, theta: Any, S: Any) -> Any:
        """Through the kinks if S is None."""
        a, Z = theta[-self.shape[0] :], self.boundaries(theta)
        S = Z > 0.0 if S is None else S
        active = jnp.where(S, Z, 0.0)
        pull = self.y * jax.nn.sigmoid(-self.y * (active @ a))
        return jnp.concatenate([((jnp.where(S, pull[:, None], 0.0) * a).T @ self.X).ravel(), pull @ active])


def prepare(way: Way, problem: Problem, t: float) -> Run:
    field, solver = Field(problem), getattr(diffrax, way.option)()
    return located(field, solver, t) if way.mode == EVENTS else straight(field, solver, t)


def straight(field: Field, solver: Any, t: float) -> Run:
    term = diffrax.ODETerm(lambda t, theta, args: field.velocity(theta, None))

    @jax.jit
    def solve(theta: Any, end: Any, rtol: Any) -> Any:
        control = diffrax.PIDController(rtol=rtol, atol=rtol * field.scale)
        out = diffrax.diffeqsolve(
            term, solver, 0.0, end, None, theta, stepsize_controller=control, max_steps=MAX_STEPS, throw=False
        )
        return out.ys[-1], out.stats["num_steps"], out.result == diffrax.RESULTS.successful

    jax.block_until_ready(solve(field.theta, t * 1e-9, 1e-4))  # compiles

    def run(rtol: float, budget: Budget) -> Answer:
        theta, n_steps, good = jax.block_until_ready(solve(field.theta, t, rtol))
        return Answer(np.asarray(theta), t if good else 0.0, int(n_steps), ended="finished" if good else "gave up")

    return run


def located(field: Field, solver: Any, t: float) -> Run:
    """The event is the least of all boundaries on their own side.

    Boundaries within rounding at the start of a solve, such as the one crossed last, are left out for that solve; those
    that are already beyond are crossed there.
    """
    term = diffrax.ODETerm(lambda t, theta, args: field.velocity(theta, args[0]))

    def sides(theta: Any, S: Any) -> Any:
        return jnp.where(S, 1.0, -1.0) * field.boundaries(theta)

    def least(t: Any, y: Any, args: Any, **_: Any) -> Any:
        S, left_out = args
        return jnp.where(left_out, jnp.inf, sides(y, S)).min()

    @jax.jit
    def solve(theta: Any, S: Any, begin: Any, end: Any, h: Any, rtol: Any) -> Any:
        inside = sides(theta, S)
        tiny = ROUNDING * jnp.abs(inside).max()
        beyond, left_out = inside < -tiny, inside <= tiny
        S = S ^ beyond
        event = diffrax.Event(least, optimistix.Bisection(rtol=1e-12, atol=1e-16, flip="detect"))
        out = diffrax.diffeqsolve(
            term, solver, begin, end, h, theta, (S, left_out), event=event, max_steps=MAX_STEPS, throw=False,
            stepsize_controller=diffrax.PIDController(rtol=rtol, atol=rtol * field.scale),
        )  # fmt: skip
        after, found = out.ys[-1], out.result == diffrax.RESULTS.event_occurred
        pair = jnp.argmin(jnp.where(left_out, jnp.inf, sides(after, S)))
        good = found | (out.result == diffrax.RESULTS.successful)
        crossed = S ^ (found & (jnp.arange(S.size) == pair).reshape(S.shape))
        return after, crossed, out.ts[-1], beyond.sum(), found, good, out.stats["num_steps"]

    def call(theta: Any, S: Any, *numbers: float) -> Any:
        """Arrays of one type each, so that nothing is compiled twice."""
        return jax.block_until_ready(solve(theta, S, *(jnp.float64(value) for value in numbers)))

    call(field.theta, field.S, 0.0, t * 1e-9, t * 1e-10, 1e-8)  # compiles
    return lambda rtol, budget: restarted(call, field, t, rtol, budget)


def restarted(call: Any, field: Field, t: float, rtol: float, budget: Budget) -> Answer:
    theta, S, now, h, n_steps = field.theta, field.S, 0.0, t * 1e-6, 0
    events: list[float] = []
    chatter, ended = Chatter(), "time limit"
    while not budget.over():
        theta, S, end, beyond, found, good, steps = call(theta, S, now, t, h, rtol)
        n_steps += int(steps)
        events += [now] * int(beyond) + [float(end)] * bool(found)
        h, now = max(float(end) - now, 1e-12 * t), float(end)
        if not found:
            ended = "finished" if good else "gave up"
            break
        if chatter.seen(now):
            ended = "chatters at a held boundary"
            break
    return Answer(np.asarray(theta), now, n_steps, events, ended)
