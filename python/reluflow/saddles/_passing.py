"""The loss along the legs of an orbit, of one output or several."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.optimize import brentq

from ..flow import Solution, TwoLayerSolution
from ..layered._several import pair_of
from ._saddle import loss_of
from ._several_flow import loss_of_outputs, problem_of

Leg = Solution | TwoLayerSolution


def loss_along(leg: Leg, t: float) -> float:
    """Return the loss at a time of a leg, as a sum."""
    net = leg(t)
    if isinstance(leg, Solution):
        return loss_of(leg.data, net(leg.data.X), leg.loss)
    problem = problem_of(pair_of(leg.data, net, leg.loss), leg.loss, net.n_outputs)
    return loss_of_outputs(problem, net(problem.X))


def time_of_loss(legs: Sequence[Leg], loss: float, factor: float) -> float:
    """Time since the beginning of the first leg at which the loss, a sum, falls to a value; nan if it never does."""
    before = 0.0
    for leg in legs:
        if factor * loss >= np.exp(leg.log_loss_end):

            def above(t: float, leg: Leg = leg) -> float:
                return loss_along(leg, t) - loss

            if above(0.0) <= 0:
                return float("nan")
            return before + float(brentq(above, 0.0, leg.t_end, xtol=1e-12, rtol=1e-13))
        before += leg.t_end
    return float("nan")
