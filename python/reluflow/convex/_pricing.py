"""Which pieces of the weight space the program still lacks, and whether the duals are feasible over all of them.

A piece is worth adding if |λᵀφ(Xu)| > 1 at some unit u in it. Two rooms to search: all half cells (the whole space),
or the closed cells of a list of patterns.
"""

from __future__ import annotations

from collections.abc import Container
from typing import Protocol, TypeAlias

import numpy as np

from .._least_distance import project_on_cone
from .._validation import FloatArray
from ._bounds import DualNorm, dual_norm
from ._conic import Piece
from ._inputs import Deadline, without_noise
from ._polish import Directions
from ._rectified_sum import RectifiedSum
from ._solution import BoolArray

Key: TypeAlias = tuple[int, bool, bytes]

MAX_NEW_PIECES = 4  # a sign and a round: more of them slow the program down without saving rounds
ENOUGH = 1e-8  # values up to 1 + ENOUGH end the search; the polish does the rest
RANDOM_STARTS = 200  # of climbs: each that ends above 1 saves a search by branch and bound
NOISE_RTOL = 1e-8  # duals below this are the interior-point method's way to write 0


class Pricing(Protocol):
    """A room to search for pieces; ``is_everywhere`` if it is the whole weight space."""

    is_everywhere: bool

    def offer(self, duals: FloatArray, neurons: FloatArray, known: Container[Key], deadline: Deadline) -> list[Piece]:
        """Return pieces, not ``known`` by their keys, where ±λᵀφ(Xu) > 1; none if there are none."""
        ...

    def directions(self, duals: FloatArray, neurons: FloatArray, near_one: float) -> Directions:
        """Return the directions where ±λᵀφ(Xu) is nearly as large as it gets, 1 - ``near_one`` and more."""
        ...

    def norm(self, duals: FloatArray, neurons: FloatArray, deadline: Deadline) -> DualNorm:
        """Bound max |λᵀφ(Xu)| over the room."""
        ...


class HalfCells:
    """The whole weight space."""

    is_everywhere = True

    def __init__(self, R: FloatArray, y: FloatArray, leak: float) -> None:
        self.R, self.y, self.leak = R, y, leak
        self.norms = np.linalg.norm(R, axis=1)
        self.anywhere = np.random.default_rng(0).standard_normal((RANDOM_STARTS, R.shape[1]))

    def piece(self, sign: int, u: FloatArray) -> Piece:
        """Return the half cell of a direction."""
        return Piece(sign, np.where(self.R @ u > 0, 1.0, self.leak))

    def offer(self, duals: FloatArray, neurons: FloatArray, known: Container[Key], deadline: Deadline) -> list[Piece]:
        """Climb first; only when that finds nothing new, search everywhere."""
        clean = without_noise(duals, self.norms, NOISE_RTOL)
        pieces = []
        for sign in (1, -1):
            total = RectifiedSum.of(self.R, sign * clean, self.leak)
            values, units, _ = total.climb(np.vstack((total.starts(neurons), self.anywhere)))
            pieces += self._new(sign, units[values > 1 + ENOUGH], known)
        if pieces:
            return pieces
        found = dual_norm(self.R, clean, self.leak, neurons=neurons, deadline=deadline, target=1 + ENOUGH, rtol=ENOUGH)
        return self._new(found.sign, found.u[None, :], known) if found.lower > 1 + ENOUGH else []

    def _new(self, sign: int, units: FloatArray, known: Container[Key]) -> list[Piece]:
        pieces = [self.piece(sign, u) for u in units]
        return [piece for piece in pieces if piece.key(self.y) not in known][:MAX_NEW_PIECES]

    def directions(self, duals: FloatArray, neurons: FloatArray, near_one: float) -> Directions:
        """Climb from the neurons and the samples."""
        units, signs = [np.empty((0, self.R.shape[1]))], [np.empty(0)]
        for sign in (1.0, -1.0):
            total = RectifiedSum.of(self.R, sign * duals, self.leak)
            values, found, _ = total.climb(total.starts(neurons))
            near = values >= 1 - near_one
            units.append(found[near])
            signs.append(np.full(int(near.sum()), sign))
        rows = np.vstack(units)
        return Directions(rows, np.concatenate(signs), np.where(rows @ self.R.T > 0, 1.0, self.leak), False)

    def norm(self, duals: FloatArray, neurons: FloatArray, deadline: Deadline) -> DualNorm:
        """Branch and bound."""
        return dual_norm(self.R, duals, self.leak, neurons=neurons, deadline=deadline)


class Cells:
    """The closed cells of given patterns."""

    is_everywhere = False

    def __init__(self, R: FloatArray, y: FloatArray, leak: float, patterns: BoolArray) -> None:
        self.R, self.y, self.leak = R, y, leak
        self.slopes = np.where(patterns, 1.0, leak)
        self.cones = np.where(patterns, 1.0, -1.0)

    def piece(self, sign: int, j: int) -> Piece:
        """Return the cell of pattern j."""
        return Piece(sign, self.slopes[j], self.cones[j])

    def offer(self, duals: FloatArray, neurons: FloatArray, known: Container[Key], deadline: Deadline) -> list[Piece]:
        """Look into every cell."""
        del neurons, deadline
        pieces = []
        for sign in (1, -1):
            index, values, _ = self.maxima(sign * duals, 1 + ENOUGH)
            order = index[np.argsort(-values, kind="stable")][: int(np.count_nonzero(values > 1 + ENOUGH))]
            new = [piece for piece in (self.piece(sign, int(j)) for j in order) if piece.key(self.y) not in known]
            pieces += new[:MAX_NEW_PIECES]
        return pieces

    def directions(self, duals: FloatArray, neurons: FloatArray, near_one: float) -> Directions:
        """Project in every cell where the unconstrained maximum is large enough."""
        del neurons
        rows, signs, slopes = [np.empty((0, self.R.shape[1]))], [np.empty(0)], [np.empty((0, len(self.R)))]
        for sign in (1.0, -1.0):
            index, values, units = self.maxima(sign * duals, 1 - near_one)
            near = values >= 1 - near_one
            rows.append(units[near])
            signs.append(np.full(int(near.sum()), sign))
            slopes.append(self.slopes[index[near]])
        return Directions(np.vstack(rows), np.concatenate(signs), np.vstack(slopes), True)

    def norm(self, duals: FloatArray, neurons: FloatArray, deadline: Deadline) -> DualNorm:
        """Project in every cell."""
        del neurons, deadline
        best = DualNorm(0.0, 0.0, np.zeros(self.R.shape[1]), 1, "proven", len(self.slopes))
        for sign in (1, -1):
            _, values, units = self.maxima(sign * duals, best.lower)
            if len(values) and values.max() > best.lower:
                at = int(np.argmax(values))
                best = best._replace(lower=float(values[at]), upper=float(values[at]), u=units[at], sign=sign)
        return best

    def maxima(
        self, mu: FloatArray, least: float
    ) -> tuple[np.ndarray[tuple[int, ...], np.dtype[np.int64]], FloatArray, FloatArray]:
        """Return the cells that can reach ``least``: their numbers, the maxima of μᵀφ(Ru) and the unit maximisers.

        max over |u| <= 1 in the cone of c·u, c = Σ slope μ x, is the norm of the projection of c on the cone [WP
        (129)], at most |c|.
        """
        sums = (self.slopes * mu) @ self.R
        index = np.flatnonzero(np.linalg.norm(sums, axis=1) >= least)
        points = np.array([project_on_cone(sums[j], self.cones[j][:, None] * self.R)[0] for j in index])
        points = points.reshape(len(index), self.R.shape[1])
        values = np.linalg.norm(points, axis=1)
        return index, values, points / np.where(values > 0, values, 1.0)[:, None]
