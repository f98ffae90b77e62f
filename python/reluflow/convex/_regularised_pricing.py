"""Which cells the regularised program still lacks, and bounds of max |λᵀφ(Xu)| over all of them."""

from __future__ import annotations

from collections.abc import Container
from functools import cached_property

import numpy as np

from .. import _core
from .._validation import FloatArray
from ._arrangements import arrangements, expected_arrangements
from ._bounds import DualNorm, dual_norm
from ._conic import Piece
from ._dual_feasibility import CELLS_FIT
from ._inputs import Deadline, without_noise
from ._objective import Objective
from ._pricing import ENOUGH, MAX_NEW_PIECES, RANDOM_STARTS, Cells, Key
from ._rectified_sum import RectifiedSum

NORM_SHARE = 0.1  # of the gap that is asked for, within which the bounds of the dual norm have to close


class CellPricing:
    """The whole weight space, cut into the closed cells of the samples' sign patterns."""

    def __init__(self, objective: Objective) -> None:
        self.objective, self.R = objective, objective.R
        self.norms = np.linalg.norm(self.R, axis=1)
        self.anywhere = np.random.default_rng(0).standard_normal((RANDOM_STARTS, self.R.shape[1]))

    @cached_property
    def cells(self) -> Cells | None:
        """All cells, where there are few enough to look into each."""
        if expected_arrangements(_core.count_boundaries(self.R), self.R.shape[1]) > CELLS_FIT:
            return None
        return Cells(self.R, self.objective.y, self.objective.leak, arrangements(self.R).patterns)

    def cell(self, sign: float, u: FloatArray) -> Piece:
        """Return a closed cell that holds a direction."""
        above = self.R @ u > 0
        return Piece(int(sign), np.where(above, 1.0, self.objective.leak), np.where(above, 1.0, -1.0))

    def offer(self, duals: FloatArray, neurons: FloatArray, known: Container[Key], deadline: Deadline) -> list[Piece]:
        """Return cells, not ``known`` by their keys, where ±λᵀφ(Xu) > γ; climb first, search when that finds none."""
        clean, limit = without_noise(duals, self.norms), (1 + ENOUGH) * self.objective.decay
        new: list[Piece] = []
        for sign in (1, -1):
            total = RectifiedSum.of(self.R, sign * clean, self.objective.leak)
            values, units, _ = total.climb(np.vstack((total.starts(neurons), self.anywhere)))
            found = [self.cell(sign, u) for u in units[values > limit]]
            new += [piece for piece in found if piece.key(self.objective.y) not in known][:MAX_NEW_PIECES]
        if new:
            return new
        norm = self.norm(clean, neurons, ENOUGH, deadline)
        piece = self.cell(norm.sign, norm.u)
        return [piece] if norm.lower > limit and piece.key(self.objective.y) not in known else []

    def norm(self, duals: FloatArray, neurons: FloatArray, rtol: float, deadline: Deadline) -> DualNorm:
        """Bound max |λᵀφ(Xu)| to ``rtol``, or from above by γ (1 + rtol)."""
        if self.cells is not None:
            return self.cells.norm(duals, neurons, deadline)
        target = (1 + rtol) * self.objective.decay
        return dual_norm(
            self.R, duals, self.objective.leak, neurons=neurons, deadline=deadline, target=target, rtol=rtol
        )
