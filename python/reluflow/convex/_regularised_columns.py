"""Column generation for the regularised program: solve over few cells, add those that the duals violate.

Every network gives an upper bound of the optimum and every λ, scaled until it is feasible, a lower one; so the bounds
hold whatever the solver did.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._validation import FloatArray
from ._bounds import DualNorm
from ._inputs import Deadline, without_noise
from ._objective import Objective
from ._pool import IDLE_SIZE, Pool, verdict
from ._regularised_conic import solve_cells
from ._regularised_polish import Network, joined, polish, used_neurons
from ._regularised_pricing import NORM_SHARE, CellPricing
from ._regularised_solution import relative_gap

ROUNDS_SHARE = 0.6  # of a time limit, for the rounds; the rest is for the proof
_LARGEST = 1e150  # of duals, and of duals times inputs: the squares of larger ones, summed up, leave the doubles
POINTS = "a network and feasible duals"
MAX_ROUNDS = 200  # 3 to 10 on small data
IDLE_ROUNDS = 2  # a cell without a neuron for so long leaves the program, and returns when it is violated again
# The active set: which neurons are none, beside the sum; which |x·u| are zero, beside |x||u|; which directions are one.
# An interior point has small neurons that belong to no optimum, or one neuron in two cells, and its numbers are less
# exact where the optimum is not unique.
ACTIVE_RTOLS = (
    (1e-7, 1e-6, 0.0),
    (1e-4, 1e-6, 0.0),
    (1e-4, 1e-4, 1e-2),
    (1e-6, 1e-6, 1e-2),
    (1e-3, 1e-3, 1e-2),
    (1e-6, 1e-5, 0.0),
    (1e-8, 1e-8, 0.0),
)


@dataclass(frozen=True, eq=False)
class Bounds:
    """A network and feasible duals, with their values.

    Attributes
    ----------
    net : Network
    upper : float
    duals : ndarray, shape (n,)
        Scaled until they are feasible.
    lower : float
    norm : DualNorm
        The bounds of max |λᵀφ(Xu)| before the scaling.
    """

    net: Network
    upper: float
    duals: FloatArray
    lower: float
    norm: DualNorm

    @property
    def gap(self) -> float:
        """(upper - lower) / upper."""
        return relative_gap(self.upper, self.lower)

    def with_better(self, other: Bounds) -> Bounds:
        """Return the better network with the better duals."""
        above = self if self.upper <= other.upper else other
        below = self if self.lower >= other.lower else other
        lower = min(below.lower, above.upper)  # rounding can exchange two bounds that meet
        return Bounds(above.net, above.upper, below.duals, lower, below.norm)


@dataclass(frozen=True)
class Outcome:
    """What column generation ended with."""

    found: Bounds
    status: str
    message: str
    n_rounds: int
    n_cells: int


def bounds(pricing: CellPricing, net: Network, duals: FloatArray | None, gap_tol: float, deadline: Deadline) -> Bounds:
    """Return the values of a network and of duals (None: those of its outputs)."""
    objective = pricing.objective
    own = objective.duals(objective.outputs(net.neurons, net.signs)) if duals is None else duals
    upper = objective.value(net.neurons, net.signs)
    if not (np.abs(own) * np.maximum(pricing.norms, 1.0)).max(initial=0.0) < _LARGEST:
        nothing = DualNorm(0.0, float("inf"), np.zeros(objective.R.shape[1]), 1, "proven", 0)
        return Bounds(net, upper, np.zeros(len(own)), 0.0, nothing)
    signed = objective.admissible(without_noise(own, pricing.norms))
    norm = pricing.norm(signed, net.neurons, NORM_SHARE * gap_tol, deadline)
    feasible, lower = objective.scaled(signed, norm.upper)
    return Bounds(net, upper, feasible, lower, norm)


class Generation:
    """One run of column generation."""

    def __init__(self, objective: Objective, gap_tol: float, deadline: Deadline) -> None:
        self.objective, self.gap_tol = objective, gap_tol
        self.deadline, self.last_round = deadline, deadline.part(ROUNDS_SHARE)
        self.pricing = CellPricing(objective)
        self.cells = Pool(objective.y, IDLE_ROUNDS)
        self.best: Bounds | None = None

    def run(self, start: Network) -> Outcome:
        """Start from the cells of a network, none if it has no neurons, and go on until nothing is violated."""
        objective = self.objective
        self.cells.add([self.pricing.cell(s, u) for s, u in zip(start.signs, start.neurons, strict=True)])
        net = Network(np.empty((0, objective.R.shape[1])), np.empty(0))
        duals = objective.duals(np.zeros(len(objective.y)))
        for n_rounds in range(MAX_ROUNDS):
            new = self.pricing.offer(duals, net.neurons, self.cells.known, self.last_round)
            if not self.cells.add(new) and (n_rounds or not self.cells):
                done = self._closed(net, duals, n_rounds)
                if done is not None:
                    return done
            if n_rounds and self.last_round.passed:
                return self._late(net, duals, n_rounds)
            answer = solve_cells(objective, self.cells.pieces, self.last_round if n_rounds else self.deadline)
            if not answer.usable and self.last_round.passed:
                return self._late(net, duals, n_rounds + 1)
            if not answer.usable:
                message = f"the conic solver ended with {answer.status} in round {n_rounds + 1}"
                return self._end(net, duals, "solver_failed", message, n_rounds + 1)
            net = Network(answer.neurons, self.cells.signs)
            duals = objective.admissible(answer.duals)
            self.cells.retire(answer.neurons)
        return self._end(net, duals, "round_limit", f"cells were still missing after {MAX_ROUNDS} rounds", MAX_ROUNDS)

    def _closed(self, net: Network, duals: FloatArray, n_rounds: int) -> Outcome | None:
        """End if the gap is closed, or if the polished duals violate no cell that is new; else add that cell."""
        found = self._polished(net, duals)
        if found.gap > self.gap_tol and not self.last_round.passed:
            norm = found.norm
            if norm.lower > self.objective.decay and self.cells.add([self.pricing.cell(norm.sign, norm.u)]):
                return None
        status, message = verdict(found.gap, self.gap_tol, found.norm, POINTS, "cells")
        return Outcome(found, status, message, n_rounds, len(self.cells))

    def _late(self, net: Network, duals: FloatArray, n_rounds: int) -> Outcome:
        message = f"the time limit of {self.deadline.seconds:g} s was reached in round {n_rounds}"
        return self._end(net, duals, "time_limit", message, n_rounds)

    def _end(self, net: Network, duals: FloatArray, status: str, message: str, n_rounds: int) -> Outcome:
        found = self._polished(net, duals)
        if found.gap <= self.gap_tol:
            status, message = verdict(found.gap, self.gap_tol, found.norm, POINTS, "cells")
        return Outcome(found, status, message, n_rounds, len(self.cells))

    def _polished(self, net: Network, duals: FloatArray) -> Bounds:
        """Return the best bounds from the solver's answer and from its polished forms."""
        net = used_neurons(net, IDLE_SIZE)
        found = bounds(self.pricing, net, duals, self.gap_tol, self.deadline)
        if self.best is not None:
            found = found.with_better(self.best)
        for used_rtol, boundary_rtol, same_rtol in ACTIVE_RTOLS:
            if found.gap <= NORM_SHARE * self.gap_tol or self.deadline.passed:
                break
            better = polish(self.objective, joined(used_neurons(net, used_rtol), same_rtol), boundary_rtol)
            if better is not None:
                for own in (None, better[1]):
                    found = found.with_better(bounds(self.pricing, better[0], own, self.gap_tol, self.deadline))
                    if found.gap <= self.gap_tol:
                        break
            if found.gap <= self.gap_tol:
                break
        self.best = found
        return found
