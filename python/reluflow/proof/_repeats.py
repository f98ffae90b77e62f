"""Samples that repeat another one, label and all: they have its margin, and of their multipliers the sum is known."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from .._validation import FloatArray, IntArray
from ..limits import Limit


@dataclass(frozen=True, eq=False)
class Repeats:
    """Which samples are different, and which of these each sample is."""

    first: IntArray
    place: IntArray

    @classmethod
    def of(cls, X: FloatArray, y: FloatArray) -> Repeats:
        """Find them: rows and labels that are equal, as numbers."""
        rows = np.column_stack((X, y)) + 0.0  # -0 is 0
        _, first, place = np.unique(rows, axis=0, return_index=True, return_inverse=True)
        order = np.argsort(first)
        number = np.empty(len(order), dtype=np.int64)
        number[order] = np.arange(len(order))
        return cls(first[order], number[place.ravel()])

    def merged(self, limit: Limit) -> Limit:
        """Return the limit of the problem without repeats."""
        duals = np.zeros(len(self.first))
        np.add.at(duals, self.place, limit.duals)
        held = np.unique(np.column_stack((limit.held[:, 0], self.place[limit.held[:, 1]])), axis=0)
        return replace(limit, duals=duals, held=held)

    def shared(self, duals: FloatArray, limit: Limit) -> FloatArray:
        """Share each multiplier among the samples that it is the sum of, as those of the limit are."""
        sums = np.abs(self.merged(limit).duals)[self.place]
        shares = np.divide(np.abs(limit.duals), sums, out=np.zeros(len(sums)), where=sums > 0)
        return np.asarray(duals[self.place] * shares)
