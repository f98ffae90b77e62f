"""Whether a KKT point is a local optimum of min ½|θ|² s.t. y_i f(x_i) >= 1, and if not, a way down.

Near a network, its neurons keep the signs of their non-zero pre-activations; at a kink with a_j y_i > 0 the margin
gets the larger of two linear functions, at one with a_j y_i < 0 a concave function. So the networks nearby whose
margins are at least 1 are a union of convex sets, one for each choice of slopes at the kinks of the first kind: the
half cells of the convex program that the neurons lie in. A zero neuron can enter any half cell. In each such set
Σ|u_j| is convex, so if a set holds a point of smaller value anywhere, the straight line to it goes down from the
start, and if no set does, the network is a local optimum.

- No kink and no zero neuron: there is one set, and a KKT point is its optimum [VSS, Theorem 4.3].
- λ feasible on all half cells that touch the neurons, and no zero neuron: a local optimum.
- Otherwise the sets are searched where λ is violated most.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from .._validation import FloatArray, invalid, real
from ..datasets import Dataset
from ..networks import Network
from ._bounds import dual_norm
from ._conic import Piece, Samples, solve_primal
from ._inputs import Deadline, rectify, row_space, unit_size
from ._kkt import KKT
from ._mapping import network_of
from ._rectified_sum import RectifiedSum

LOCAL_TOL = 1e-8  # how far above 1 the duals may be on a half cell that touches a neuron
MAX_KINKS = 10  # of one neuron with a_j y_i > 0: 1024 half cells
MAX_TRIES = 24  # sets searched for a way down; the first one nearly always has it
GAIN = 1e-7  # relative; a smaller gain could be the solver's error
EXACT = 1e-6  # a KKT residual above this is too large to say that a point is a local optimum
PENALTY = 1e4  # of a margin below 1, times P: the start is feasible, so none is bought


@dataclass(frozen=True, eq=False)
class Improvement:
    """A path of networks with margins >= 1 and a norm that falls, from the network itself (t = 0) on.

    Attributes
    ----------
    start, end : ndarray, shape (m, d)
        u_j = |a_j| w_j at both ends.
    signs : ndarray, shape (m,)
        Sign of the output weights.
    leak : float
    """

    start: FloatArray
    end: FloatArray
    signs: FloatArray
    leak: float

    def network(self, t: float) -> Network:
        """Return the balanced network at 0 <= t <= 1 of the straight line from start to end."""
        at = real(t, "t", "lie in [0, 1]")
        if not 0 <= at <= 1:
            raise invalid("t", "lie in [0, 1]", repr(at))
        return network_of((1 - at) * self.start + at * self.end, self.signs, self.leak, len(self.start))

    def value(self, t: float) -> float:
        """Return ½|θ|² at t."""
        return 0.5 * self.network(t).norm ** 2

    @property
    def slope(self) -> float:
        """An upper bound of d(½|θ|²)/dt at t = 0, by convexity: the change from start to end."""
        return float(np.linalg.norm(self.end, axis=1).sum() - np.linalg.norm(self.start, axis=1).sum())


@dataclass(frozen=True, eq=False)
class Local:
    """Whether a KKT point is a local optimum.

    Attributes
    ----------
    optimal : bool or None
        None if it was not decided.
    reason : str
    improvement : Improvement or None
        Given if ``optimal`` is False.
    """

    optimal: bool | None
    reason: str
    improvement: Improvement | None


def local_optimality(net: Network, data: Dataset, found: KKT, deadline: Deadline) -> Local:
    """Decide whether a KKT point with least margin 1 is a local optimum."""
    n_zero = int(np.count_nonzero(~found.live))
    if not found.boundaries.any() and n_zero == 0 and found.residual <= EXACT:
        reason = "no pre-activation is zero: a KKT point is then a local optimum [VSS, Theorem 4.3]"
        return Local(True, reason, None)
    room = _Room(net, data, found, deadline)
    if room.too_many:
        return Local(None, f"a neuron has more than {MAX_KINKS} kinks with a_j y_i > 0", None)
    if n_zero == 0 and found.residual <= EXACT and room.worst() <= 1 + LOCAL_TOL:
        reason = "the duals are feasible on every half cell that touches a neuron"
        return Local(True, reason, None)
    for pieces in room.choices():
        better = room.descend(pieces)
        if better is not None:
            what = "a zero neuron" if n_zero else "a neuron on a boundary"
            return Local(
                False, f"the norm falls when {what} moves into a half cell where the duals are violated", better
            )
    if deadline.passed:
        return Local(None, "the time limit was reached", None)
    if found.residual > EXACT:
        return Local(
            None, f"nothing is gained beyond the KKT residual of {found.residual:.1e}, which hides the rest", None
        )
    return Local(None, "the duals are violated next to a neuron, but no way down was found", None)


class _Room:
    """The half cells next to the neurons of a network."""

    def __init__(self, net: Network, data: Dataset, found: KKT, deadline: Deadline) -> None:
        self.net, self.data, self.found, self.deadline = net, data, found, deadline
        self.basis = row_space(data.X)
        self.R = np.ascontiguousarray(data.X @ self.basis)
        self.live, self.zero = np.flatnonzero(found.live), np.flatnonzero(~found.live)
        self.signs = np.sign(net.a)
        own = found.boundaries & (self.signs[:, None] * data.y[None, :] > 0)
        self.kinks = [np.flatnonzero(own[j]) for j in self.live]
        self.too_many = any(len(kinks) > MAX_KINKS for kinks in self.kinks)
        self.cells = [] if self.too_many else [self._ranked(place) for place in range(len(self.live))]

    def _ranked(self, place: int) -> list[tuple[float, Piece]]:
        """Return the half cells that touch a live neuron with the duals' values on them, the worst first."""
        j, kinks = int(self.live[place]), self.kinks[place]
        base = np.where(self.net.W[j] @ self.data.X.T > 0, 1.0, self.net.leak)
        ranked = []
        for choice in product((1.0, self.net.leak), repeat=len(kinks)):
            slopes = base.copy()
            slopes[kinks] = choice
            piece = Piece(int(self.signs[j]), slopes)
            ranked.append((self._value(piece), piece))
        return sorted(ranked, key=lambda item: -item[0])

    def _value(self, piece: Piece) -> float:
        """Return the maximum of sλᵀφ(Xu) on the unit ball, with fixed slopes on class s and free ones on the other."""
        mu = piece.sign * self.found.duals
        fixed_part = np.where(self.data.y == piece.sign, piece.slopes * mu, 0.0) @ self.R
        free = np.where(self.data.y == piece.sign, 0.0, mu)
        total = RectifiedSum.of(self.R, free, self.net.leak)
        shifted = replace(total, vectors=np.vstack((total.vectors[:1] + fixed_part, total.vectors[1:])))
        values, _, _ = shifted.climb(np.zeros((1, self.R.shape[1])))
        return float(values.max(initial=0.0))

    def worst(self) -> float:
        """Return the largest value of the duals next to the neurons."""
        return max((ranked[0][0] for ranked in self.cells), default=0.0)

    def choices(self) -> Iterator[list[Piece]]:
        """Give sets to search, one half cell a live neuron, the likeliest first."""
        yield [ranked[0][1] for ranked in self.cells]
        rng = np.random.default_rng(0)
        for _ in range(MAX_TRIES - 1):
            if self.deadline.passed:
                return
            yield [ranked[int(rng.integers(len(ranked)))][1] for ranked in self.cells]

    def descend(self, pieces: list[Piece]) -> Improvement | None:
        """Minimise over a set, with zero neurons where the duals are violated most; None without a gain."""
        entering = self._entering()
        size = unit_size(self.R)
        samples = Samples(self.R / size, self.data.y, self.net.leak, np.arange(self.data.n))
        value = 0.5 * self.net.norm**2
        answer = solve_primal(samples, [*pieces, *entering], PENALTY * value * size, self.deadline)
        if not answer.usable:
            return None
        return self._path(answer.neurons @ self.basis.T / size, entering, value)

    def _entering(self) -> list[Piece]:
        pieces: list[tuple[float, Piece]] = []
        if len(self.zero) == 0:
            return []
        neurons = self.net.W @ self.basis
        for sign in (1, -1):
            total = RectifiedSum.of(self.R, sign * self.found.duals, self.net.leak)
            values, units, _ = total.climb(total.starts(neurons))
            pieces += [
                (float(v), Piece(sign, np.where(self.R @ u > 0, 1.0, self.net.leak)))
                for v, u in zip(values, units, strict=True)
            ]
        found = dual_norm(self.R, self.found.duals, self.net.leak, neurons=neurons, deadline=self.deadline, rtol=1e-3)
        pieces.append((found.lower, Piece(found.sign, np.where(self.R @ found.u > 0, 1.0, self.net.leak))))
        ranked = sorted(pieces, key=lambda item: -item[0])
        return [piece for v, piece in ranked[: len(self.zero)] if v > 1 + LOCAL_TOL]

    def _path(self, neurons: FloatArray, entering: list[Piece], value: float) -> Improvement | None:
        """Share out the new neurons, scale up to margins >= 1, and keep the path if its end is better."""
        start = np.abs(self.net.a)[:, None] * self.net.W
        start[self.zero] = 0.0
        end, signs = np.zeros_like(start), self.signs.copy()
        end[self.live] = neurons[: len(self.live)]
        for place, piece in enumerate(entering):
            end[self.zero[place]] = neurons[len(self.live) + place]
            signs[self.zero[place]] = piece.sign
        signs[signs == 0] = 1.0
        margins = self.data.y * (rectify(self.data.X @ end.T, self.net.leak) @ signs)
        if margins.min() <= 0:
            return None
        end = end / min(1.0, float(margins.min()))
        # Of an approximate KKT point, coming closer to the KKT point is no way down.
        if np.linalg.norm(end, axis=1).sum() >= (1 - max(GAIN, self.found.residual)) * value:
            return None
        return Improvement(start, end, signs, self.net.leak)
