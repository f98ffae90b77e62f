"""Column generation: solve with few pieces and few samples, add what is violated, until nothing is.

The program over some pieces is above P*; over some samples it is below. A sample that violates its margin joins the
program, a piece whose constraint the duals violate joins it too. A margin can be missed at a price (the penalty), so
that the first programs have a solution; the price rises while it is paid at the end.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from .._validation import FloatArray
from ._bounds import DualNorm, feasible_value
from ._conic import Answer, Piece, Samples
from ._inputs import Deadline, rectify, without_noise
from ._polish import active_set, polish
from ._pool import IDLE_SIZE, Pool, verdict
from ._pricing import NOISE_RTOL, Pricing

ALL_SAMPLES = 60  # up to so many samples all take part from the start
FIRST_PENALTY = 1e2  # times 1 / min |x_i|, the size of a dual of a sample on its own
PENALTY_STEP = 100.0
MAX_PENALTY_STEPS = 3  # 1e8 in the end: beyond, the solver has no digits left
MARGIN_TOL = 1e-7  # a margin of 1 - MARGIN_TOL is kept by the polish and the scaling
SLACK_TOL = 1e-6  # a violation beyond this is real
PAID_RTOL = 1e-7  # and so is one that costs this share of the value
ROUNDS_SHARE = 0.6  # of a time limit, for the rounds; the rest is for the proof of the last bounds
IDLE_ROUNDS = 1  # a piece without a neuron for so long leaves the program, and returns when it is violated again
POINTS = "feasible points of both programs"
MAX_ROUNDS = 200  # 10 on digits, 5 on small data
SUPPORT_RTOLS = (
    1e-6,
    1e-5,
    1e-7,
    1e-4,
    1e-8,
)  # |λ_i||x_i| beside the largest that makes a support sample; tried in turn
# A direction where ±λᵀφ(Xu) is at least 1 - this can carry a neuron. Of a sample that is 1e7 times longer than another
# the solver knows λ to four digits or six, as its release goes: the second one is tried where the first does not do.
NEAR_ONE = (1e-5, 1e-2)

Solver = Callable[[Samples, Sequence[Piece], float, Deadline], Answer]


@dataclass(frozen=True, eq=False)
class Found:
    """The best feasible points met and their bounds.

    Attributes
    ----------
    neurons, signs : ndarray, shapes (k, r), (k,)
        A network with all margins >= 1.
    upper : float
        Its value Σ|u_j|.
    duals : ndarray, shape (n,)
        Feasible: max |λᵀφ(Xu)| <= 1.
    lower : float
        yᵀλ.
    norm : DualNorm
        The bounds of max |λᵀφ(Xu)| before the scaling.
    """

    neurons: FloatArray
    signs: FloatArray
    upper: float
    duals: FloatArray
    lower: float
    norm: DualNorm

    @property
    def gap(self) -> float:
        """(upper - lower) / upper."""
        return float("inf") if not np.isfinite(self.upper) else (self.upper - self.lower) / self.upper


@dataclass(frozen=True)
class Outcome:
    """What column generation ended with."""

    found: Found
    status: str
    message: str
    n_rounds: int
    n_pieces: int


class Generation:
    """One run of column generation."""

    def __init__(self, samples: Samples, pricing: Pricing, solver: Solver, gap_tol: float, deadline: Deadline) -> None:
        self.all, self.pricing, self.solver = samples, pricing, solver
        self.gap_tol, self.deadline, self.last_round = gap_tol, deadline, deadline.part(ROUNDS_SHARE)
        self.norms = np.linalg.norm(samples.R, axis=1)
        self.pool = Pool(samples.y, IDLE_ROUNDS)
        self.penalty = FIRST_PENALTY / float(self.norms.min())
        self.n_raises = 0
        self.signs = np.empty(0)
        self.last: tuple[Answer, FloatArray] | None = None
        self.best: tuple[float, FloatArray, FloatArray] = (float("inf"), np.empty((0, samples.R.shape[1])), np.empty(0))

    def run(self, first: Sequence[Piece]) -> Outcome:
        """Start from the pieces ``first`` and go on until nothing is violated."""
        self.pool.add(first)
        samples = self.all
        for n_rounds in range(1, MAX_ROUNDS + 1):
            self.signs = self.pool.signs
            answer = self.solver(
                samples, self.pool.pieces, self.penalty, self.last_round if self.last else self.deadline
            )
            if not answer.usable:
                return self._failed(answer, n_rounds)
            self.last = answer, self.signs
            self._keep_best(answer)
            samples, changed = self._violated_samples(samples, answer)
            new = self.pricing.offer(answer.duals, answer.neurons, self.pool.known, self.last_round)
            self.pool.retire(answer.neurons)
            if self.last_round.passed:
                return self._late(answer, n_rounds)
            if not self.pool.add(new) and not changed and not self._raise_penalty(answer):
                return self._finished(answer, n_rounds)
        return self._end(answer, "round_limit", f"pieces were still missing after {MAX_ROUNDS} rounds", MAX_ROUNDS)

    def _late(self, answer: Answer, n_rounds: int) -> Outcome:
        """End at the time limit."""
        message = f"the time limit of {self.deadline.seconds:g} s was reached in round {n_rounds}"
        return self._end(answer, "time_limit", message, n_rounds)

    def _failed(self, answer: Answer, n_rounds: int) -> Outcome:
        """End after a failure of the solver, with the last answer before it if there is one."""
        why = f"the conic solver ended with {answer.status}"
        before, self.signs = (answer, self.signs) if self.last is None else self.last
        if self.last_round.passed:  # the limit is the solver's own, too
            return self._late(before, n_rounds)
        if self.last is None:
            return self._end(answer, "solver_failed", why, n_rounds)
        if before.slack > SLACK_TOL and self.n_raises > 0:  # it failed over the penalty
            return self._short(before, n_rounds)
        return self._end(before, "solver_failed", f"{why} in round {n_rounds}", n_rounds)

    def _finished(self, answer: Answer, n_rounds: int) -> Outcome:
        return self._short(answer, n_rounds) if answer.slack > SLACK_TOL else self._end(answer, "optimal", "", n_rounds)

    def _short(self, answer: Answer, n_rounds: int) -> Outcome:
        """End with margins that no price could buy."""
        short = f"a margin falls short by {answer.slack:.2g} at every price up to {self.penalty:.1e}"
        if self.pricing.is_everywhere:
            return self._end(answer, "solver_failed", f"{short}: the weights needed are too large", n_rounds)
        return self._end(answer, "infeasible", f"{short}: the patterns allow no separation", n_rounds)

    def _keep_best(self, answer: Answer) -> None:
        """Remember the best network of the rounds: a later one can miss the margin of a sample that just joins."""
        all_ = self.all
        upper, least = feasible_value(all_.R, all_.y, all_.leak, answer.neurons, self.signs)
        if upper < self.best[0]:
            self.best = upper, answer.neurons / least, self.signs

    def _violated_samples(self, samples: Samples, answer: Answer) -> tuple[Samples, bool]:
        margins = samples.y * (rectify(samples.R @ answer.neurons.T, samples.leak) @ self.signs)
        violated = margins < 1 - MARGIN_TOL
        violated[samples.active] = False
        if not violated.any():
            return samples, False
        active = np.union1d(samples.active, np.flatnonzero(violated))
        return Samples(samples.R, samples.y, samples.leak, active), True

    def _raise_penalty(self, answer: Answer) -> bool:
        value = float(np.linalg.norm(answer.neurons, axis=1).sum())
        paid = answer.slack > SLACK_TOL or answer.slack * self.penalty > PAID_RTOL * value
        if not paid or self.n_raises >= MAX_PENALTY_STEPS:
            return False
        self.n_raises += 1
        self.penalty *= PENALTY_STEP
        return True

    def _with_best(self, found: Found) -> Found:
        """Put the best network of the rounds in place of a worse one."""
        upper, neurons, signs = self.best
        if not upper < found.upper:
            return found
        used = np.linalg.norm(neurons, axis=1) > IDLE_SIZE * upper
        fewer, least = feasible_value(self.all.R, self.all.y, self.all.leak, neurons[used], signs[used])
        if fewer < found.upper:
            return replace(found, neurons=neurons[used] / least, signs=signs[used], upper=fewer)
        return replace(found, neurons=neurons, signs=signs, upper=upper)  # a small neuron keeps a margin

    def _end(self, answer: Answer, status: str, message: str, n_rounds: int) -> Outcome:
        found = best_found(self.all, self.pricing, answer, self.signs, self.gap_tol, self.deadline)
        found = self._with_best(found)
        if status == "optimal" or found.gap <= self.gap_tol:
            status, message = verdict(found.gap, self.gap_tol, found.norm, POINTS, "patterns")
        return Outcome(found, status, message, n_rounds, len(self.pool))


def best_found(
    samples: Samples, pricing: Pricing, answer: Answer, signs: FloatArray, gap_tol: float, deadline: Deadline
) -> Found:
    """Return the best bounds from the solver's answer and from its polished forms."""
    y, norms = samples.y, np.linalg.norm(samples.R, axis=1)
    sizes = np.linalg.norm(answer.neurons, axis=1)
    used = sizes > IDLE_SIZE * sizes.sum()
    neurons, signs = answer.neurons[used], signs[used]
    first = bounded(samples, pricing, neurons, signs, without_noise(answer.duals, norms, NOISE_RTOL), deadline)
    best = first
    tried: set[bytes] = set()
    for near_one, rtol in product(NEAR_ONE, (*SUPPORT_RTOLS, *SUPPORT_RTOLS)):
        if deadline.passed or (best is not first and best.gap <= gap_tol):
            break
        source = without_noise(answer.duals if best is first else best.duals, norms, rtol)
        duals = np.where(y * source > 0, source, 0.0)
        directions = pricing.directions(duals, neurons, near_one)
        start = active_set(samples.R, y, duals, directions, samples.leak)
        mark = start.support.tobytes() + start.boundaries.tobytes()
        if mark in tried or not len(start.sizes):
            continue
        tried.add(mark)
        done = polish(samples.R, y, start)
        if done is not None:
            polished = bounded(samples, pricing, done.neurons, done.signs, done.duals, deadline)
            best = polished if polished.gap <= gap_tol else better(best, polished)
    return best


def bounded(
    samples: Samples, pricing: Pricing, neurons: FloatArray, signs: FloatArray, duals: FloatArray, deadline: Deadline
) -> Found:
    """Scale neurons and duals to feasibility and return them with their values."""
    upper, least = feasible_value(samples.R, samples.y, samples.leak, neurons, signs)
    signed = np.where(samples.y * duals > 0, duals, 0.0)
    norm = pricing.norm(signed, neurons, deadline)
    scale = norm.upper if norm.upper > 0 else 1.0
    scaled = neurons / least if least > 0 else neurons
    return Found(scaled, signs, upper, signed / scale, float(samples.y @ signed) / scale, norm)


def better(one: Found, other: Found) -> Found:
    """Return the better network with the better duals."""
    network = one if one.upper <= other.upper else other
    dual = one if one.lower >= other.lower else other
    return Found(network.neurons, network.signs, network.upper, dual.duals, dual.lower, dual.norm)
