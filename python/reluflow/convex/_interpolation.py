"""The least norm of networks with given outputs on the samples, by column generation from a network that has them.

    P* = min Σ|u_j|  s.t.  Σ_j s_j φ(x_i·u_j) = f_i,        D* = max λᵀf  s.t.  |λᵀφ(Xu)| <= 1 for all unit u,

the least ½|θ|² of networks of any width [Pilanci & Ergen 2020, with an indicator for the loss]. P* >= D* since λᵀf =
Σ s_j λᵀφ(Xu_j) <= Σ|u_j|. The cells of the given network make the first program feasible; cells in which |λᵀφ(Xu)| > 1
join it until there are none. Newton's method on the active set follows; the bounds come from its points, not from the
solver.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._linear_algebra import least_squares
from .._validation import FloatArray
from ._bounds import DualNorm
from ._conic import Answer, Piece
from ._inputs import Deadline, without_noise
from ._interpolation_conic import solve_outputs
from ._objective import Objective
from ._pool import IDLE_SIZE, Pool
from ._regularised_columns import ACTIVE_RTOLS, MAX_ROUNDS, ROUNDS_SHARE, Bounds
from ._regularised_polish import Active, Network, active_set, joined, used_neurons
from ._regularised_pricing import NORM_SHARE, CellPricing

N_FIRST = 8  # random cells of each sign beside those of the network, which alone can leave the solver no room
MAX_STEPS = 30  # of Newton's method; 3 to 8 are taken
NOISE = 1e-15  # residuals below this are rounding
SINGULAR_RTOL = 1e-12  # multipliers that the neurons leave open stay as small as they can
OWN_BOUNDARY_RTOL = 1e-9  # |x·u| beside |x||u| that is a boundary of the network itself
OWN_RTOLS = (1e-9, 1e-6, 1e-3)  # neurons of it below this, beside the sum, are left out


@dataclass(frozen=True, eq=False)
class Interpolation:
    """The program, in coordinates of the row space of the samples.

    Attributes
    ----------
    objective : Objective
        Samples, with the outputs f in place of the targets, the leak, and the weight 1 of the norm.
    space : ndarray, shape (n, k), or None
        Orthonormal basis of the outputs that networks can have; None if they can have all.
    """

    objective: Objective
    space: FloatArray | None

    @classmethod
    def of(cls, R: FloatArray, outputs: FloatArray, leak: float, space: FloatArray | None) -> Interpolation:
        """Set up the program for outputs that some network has."""
        return cls(Objective(R, outputs, np.ones(len(R)), "squared", leak, 1.0), space)

    def own_bounds(self, net: Network, gap_tol: float, deadline: Deadline) -> Bounds:
        """Return the bounds from a network with the outputs, and the least multipliers that its neurons allow.

        What a flow has left behind on its way ends in other cells, and no multipliers suit it together with the rest.
        So those of the larger neurons alone are tried as well; the network is bounded as a whole.
        """
        pricing = CellPricing(self.objective)
        best = self._bounds(net, self._least(net, OWN_BOUNDARY_RTOL), pricing, gap_tol, deadline)
        before = len(net.signs)
        for rtol in OWN_RTOLS:
            if best.gap <= gap_tol or deadline.passed:
                break
            used = used_neurons(net, rtol)
            if len(used.signs) < before:
                duals = self._least(used, OWN_BOUNDARY_RTOL)
                best = best.with_better(self._bounds(net, duals, pricing, gap_tol, deadline))
            before = len(used.signs)
        return best

    def _least(self, net: Network, boundary_rtol: float) -> FloatArray:
        """Return the least multipliers at which neurons are at rest."""
        active = active_set(self.objective, net, boundary_rtol)
        if active is None:
            return np.zeros(len(self.objective.R))
        units = np.concatenate([v / np.linalg.norm(v) for v in active.starts])
        return least_squares(np.hstack(active.effects).T, units, SINGULAR_RTOL)

    def solve(self, net: Network, gap_tol: float, deadline: Deadline) -> Bounds:
        """Return the best bounds of the program; `net` has the outputs."""
        pricing = CellPricing(self.objective)
        best = self.own_bounds(net, gap_tol, deadline)
        found, cells = self._generated(pricing, net, deadline)
        if found is None:
            return best
        raw = used_neurons(Network(found.neurons, np.array([float(piece.sign) for piece in cells])), IDLE_SIZE)
        best = best.with_better(self._bounds(raw, found.duals, pricing, gap_tol, deadline))
        for used_rtol, boundary_rtol, same_rtol in ACTIVE_RTOLS:
            if best.gap <= gap_tol or deadline.passed:
                break
            active = active_set(self.objective, joined(used_neurons(raw, used_rtol), same_rtol), boundary_rtol)
            if active is not None:
                better, duals = _polished(active, self.objective.y, found.duals)
                best = best.with_better(self._bounds(better, duals, pricing, gap_tol, deadline))
                if best.gap > gap_tol and not deadline.passed:  # the solver's need not be feasible where many suit
                    least = self._least(better, boundary_rtol)
                    best = best.with_better(self._bounds(better, least, pricing, gap_tol, deadline))
        return best

    def _generated(self, pricing: CellPricing, net: Network, deadline: Deadline) -> tuple[Answer | None, list[Piece]]:
        """Return the last usable answer of column generation, and its cells."""
        objective, rounds = self.objective, deadline.part(ROUNDS_SHARE)
        first = [(float(s), u) for s, u in zip(net.signs, net.neurons, strict=True)]
        first += [(s, u) for u in pricing.anywhere[:N_FIRST] for s in (1.0, -1.0)]
        cells = Pool(objective.y, MAX_ROUNDS)
        cells.add([pricing.cell(sign, u) for sign, u in first])
        last: tuple[Answer | None, list[Piece]] = None, []
        for _ in range(MAX_ROUNDS):
            pieces = cells.pieces
            answer = solve_outputs(objective.R, objective.y, self.space, pieces, rounds if last[1] else deadline)
            if not answer.usable:
                return last
            last = answer, pieces
            if rounds.passed:
                return last
            if not cells.add(pricing.offer(answer.duals, answer.neurons, cells.known, rounds)):
                return last
        return last

    def _bounds(
        self, net: Network, duals: FloatArray, pricing: CellPricing, gap_tol: float, deadline: Deadline
    ) -> Bounds:
        """Return the values of a network and of duals, which are scaled until they are feasible.

        Outputs that a network misses are paid for, to first order, at the price that the duals give them.
        """
        objective = self.objective
        signed = without_noise(self._inside(duals), pricing.norms)
        norm = pricing.norm(signed, net.neurons, NORM_SHARE * gap_tol, deadline)
        lower, feasible = _scaled(signed, norm, objective.y)
        missed = np.abs(objective.outputs(net.neurons, net.signs) - objective.y)
        upper = float(np.linalg.norm(net.neurons, axis=1).sum() + np.abs(signed) @ missed)
        if missed.max() > np.sqrt(np.finfo(float).eps) * np.abs(objective.y).max():
            upper = float("inf")  # too far for first order
        return Bounds(net, upper, feasible, lower, norm)

    def _inside(self, duals: FloatArray) -> FloatArray:
        """Take off what acts on no network."""
        return duals if self.space is None else np.asarray(self.space @ (self.space.T @ duals))


def _scaled(duals: FloatArray, norm: DualNorm, outputs: FloatArray) -> tuple[float, FloatArray]:
    """Return λᵀf / max |λᵀφ(Xu)| and the λ scaled alike; 0 where that proves nothing."""
    value = float(duals @ outputs)
    if value <= 0 or not 0 < norm.upper < np.inf:
        return 0.0, np.zeros(len(duals))
    return value / norm.upper, duals / norm.upper


def _polished(active: Active, outputs: FloatArray, duals: FloatArray) -> tuple[Network, FloatArray]:
    """Solve v/|v| = Eᵀλ, Σ E v = f by Newton's method; neurons that a step takes past zero are left out."""
    found, scale = list(active.starts), float(np.abs(outputs).max())
    best, before = (active.network(found), duals), np.inf
    for _ in range(MAX_STEPS):
        effect = np.hstack(active.effects)
        units = [v / np.linalg.norm(v) for v in found]
        short = np.concatenate((np.concatenate(units) - effect.T @ duals, effect @ np.concatenate(found) - outputs))
        size = max(float(np.abs(short[: -len(outputs)]).max()), float(np.abs(short[-len(outputs) :]).max()) / scale)
        if size < before:
            best = active.network(found), duals
        if size <= NOISE or size > 0.5 * before:
            break
        step = _newton_step(effect, found, units, short)
        parts = np.split(step[: effect.shape[1]], np.cumsum([len(v) for v in found])[:-1])
        kept = [j for j, v in enumerate(found) if v @ (v + parts[j]) > 0]
        if not kept:
            break
        if len(kept) < len(found):
            active, found, before = active.part(kept), [found[j] for j in kept], np.inf
            continue
        found = [v + part for v, part in zip(found, parts, strict=True)]
        duals, before = duals + step[effect.shape[1] :], size
    return best


def _newton_step(
    effect: FloatArray, neurons: list[FloatArray], units: list[FloatArray], short: FloatArray
) -> FloatArray:
    """Return the changes of all v and of λ."""
    n, width = effect.shape
    matrix, end = np.zeros((width + n, width + n)), 0
    for v, unit in zip(neurons, units, strict=True):
        part, end = slice(end, end + len(v)), end + len(v)
        matrix[part, part] = (np.eye(len(v)) - np.outer(unit, unit)) / np.linalg.norm(v)
    matrix[:width, width:], matrix[width:, :width] = -effect.T, effect
    return least_squares(matrix, -short, SINGULAR_RTOL)
