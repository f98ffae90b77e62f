"""torchdiffeq: its adaptive methods through the kinks, and started again at each located crossing."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torchdiffeq import odeint

from peers import EVENTS, Way
from peers.run import Answer, Budget, Chatter, Run
from problems import Problem

torch.set_num_threads(1)
torch.set_default_dtype(torch.float64)


ROUNDING = 1e-12  # relative to the largest pre-activation


class OverBudgetError(Exception):
    """The run has had its seconds."""


class Field:
    """The problem as tensors; the velocity counts its calls and looks at the budget."""

    def __init__(self, problem: Problem) -> None:
        self.X, self.y = torch.tensor(problem.X), torch.tensor(problem.y)
        self.shape = problem.W.shape
        self.theta = torch.tensor(np.concatenate([problem.W.ravel(), problem.a]))
        self.scale = float(np.abs(problem.a).max())
        self.S: Any = None
        self.clear(Budget(np.inf))

    def clear(self, budget: Budget) -> None:
        self.budget, self.calls, self.reached, self.S = budget, 0, 0.0, None

    def boundaries(self, theta: Any) -> Any:
        return self.X @ theta[: -self.shape[0]].view(self.shape).T

    def __call__(self, t: Any, theta: Any) -> Any:
        self.calls += 1
        self.reached = float(t)
        if self.budget.over():
            raise OverBudgetError
        a, Z = theta[-self.shape[0] :], self.boundaries(theta)
        S = (Z > 0.0).to(Z.dtype) if self.S is None else self.S
        Z *= S
        pull = self.y * torch.sigmoid(-self.y * (Z @ a))
        da = pull @ Z
        torch.mul(S, pull[:, None], out=Z)
        return torch.cat([((Z.T @ self.X) * a[:, None]).ravel(), da])


def prepare(way: Way, problem: Problem, t: float) -> Run:
    field = Field(problem)
    run = restarted if way.mode == EVENTS else straight
    return lambda rtol, budget: run(field, way.option, t, rtol, budget)


def straight(field: Field, method: str, t: float, rtol: float, budget: Budget) -> Answer:
    """The steps are the calls, as the tool does not tell its steps."""
    field.clear(budget)
    with torch.inference_mode():
        try:
            out = odeint(field, field.theta, torch.tensor([0.0, t]), rtol=rtol, atol=rtol * field.scale, method=method)
        except OverBudgetError:
            return Answer(field.theta.numpy(), field.reached, field.calls, ended="time limit")
        except AssertionError:  # a step below the spacing of floats
            return Answer(field.theta.numpy(), field.reached, field.calls, ended="gave up")
    return Answer(out[-1].numpy(), t, field.calls)


def restarted(field: Field, method: str, t: float, rtol: float, budget: Budget) -> Answer:
    """Patterns are frozen between events; the end time is an event too.

    Boundaries within rounding at the start of a solve, such as the one crossed last, are left out for that solve; those
    that the error of the interpolation threw beyond are crossed there.
    """
    field.clear(budget)
    theta, now, h = field.theta, torch.tensor(0.0), None
    until, events = torch.tensor(t), []
    chatter, ended = Chatter(), "time limit"
    field.S = (field.boundaries(theta) > 0.0).to(theta.dtype)

    def sides(t_: Any, theta: Any) -> Any:
        inside = ((2.0 * field.S - 1.0) * field.boundaries(theta)).ravel()
        inside[left_out] = 1.0
        return torch.cat([inside, (t - t_).reshape(1)])

    with torch.inference_mode():
        while not budget.over():
            inside = ((2.0 * field.S - 1.0) * field.boundaries(theta)).ravel()
            tiny = ROUNDING * inside.abs().max()
            beyond = inside < -tiny
            field.S.view(-1)[beyond] = 1.0 - field.S.view(-1)[beyond]
            events += [float(now)] * int(beyond.sum())
            left_out = inside.abs() <= tiny
            options = {} if h is None else {"options": {"first_step": h}}
            try:
                end, out = odeint(
                    field, theta, torch.stack([now, until]), rtol=rtol, atol=min(rtol * field.scale, 1e-13),
                    method=method, event_fn=sides, **options,
                )  # fmt: skip
            except (OverBudgetError, AssertionError):
                break
            h, now, theta = max(float(end - now), 1e-12 * t), end, out[-1]
            if float(now) >= t * (1.0 - 1e-12):
                ended = "finished"
                break
            last = int(sides(now, theta)[:-1].argmin())
            field.S.view(-1)[last] = 1.0 - field.S.view(-1)[last]
            events.append(float(now))
            if chatter.seen(events[-1]):
                ended = "chatters at a held boundary"
                break
    return Answer(theta.numpy(), float(now), field.calls, events, ended)
