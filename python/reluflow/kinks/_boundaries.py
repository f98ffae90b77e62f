"""The boundaries of a dataset, the hyperplanes x_i·w = 0: parallel samples share one and change together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from .. import _core
from .._validation import FloatArray, IntArray, PatternArray

# A pre-activation below this part of |w||x| may be zero or have the wrong sign by rounding: it is summed exactly.
_DOUBT_TOL = 1e-13
# Singular values below this part of the largest are zero: rounding of rows that are dependent.
_RANK_TOL = 1e-12


@dataclass(frozen=True, eq=False)
class Boundaries:
    """The different boundaries of n samples.

    Attributes
    ----------
    normal : ndarray, shape (p, d)
        Unit normals.
    boundary : ndarray, shape (n,)
        The boundary of each sample.
    reach : ndarray, shape (n,)
        x_i = reach_i normal[boundary_i]; negative where the sample points against the normal.
    """

    normal: FloatArray
    boundary: IntArray
    reach: FloatArray

    def members(self, boundary: int) -> IntArray:
        """Find the samples on a boundary."""
        return np.flatnonzero(self.boundary == boundary)

    def signs(self, sides: FloatArray) -> PatternArray:
        """Sign pattern of the samples where each boundary is seen from the given side of its normal."""
        return np.sign(self.reach * sides[self.boundary]).astype(np.int8)

    def edges(self, boundary: int, lam: FloatArray, leak: float) -> tuple[float, float]:
        """Pull Σ λ_i s_i x_i of a boundary's samples along its normal, on its lower and on its upper side."""
        rows = self.members(boundary)
        pull, up = lam[rows] * self.reach[rows], self.reach[rows] > 0
        return float(np.where(up, leak, 1.0) @ pull), float(np.where(up, 1.0, leak) @ pull)

    def all_edges(self, lam: FloatArray, leak: float) -> tuple[FloatArray, FloatArray]:
        """Return the same of all boundaries, shapes (p,) and (p,)."""
        pull, up = lam * self.reach, self.reach > 0
        lower = np.bincount(self.boundary, weights=np.where(up, leak, 1.0) * pull, minlength=len(self.normal))
        upper = np.bincount(self.boundary, weights=np.where(up, 1.0, leak) * pull, minlength=len(self.normal))
        return lower.astype(np.float64), upper.astype(np.float64)


def boundaries(X: FloatArray) -> Boundaries:
    """Find the boundaries of the rows of X, numbered by their first sample; that of a zero row has the normal 0."""
    boundary, side = _core.find_parallels(np.ascontiguousarray(X))
    size = np.linalg.norm(X, axis=1)
    first = np.unique(boundary, return_index=True)[1]
    normal = (side[first] / np.where(size[first] > 0, size[first], 1.0))[:, None] * X[first]
    return Boundaries(normal, boundary.astype(np.int64), side * size)


def exact_signs(W: FloatArray, X: FloatArray) -> PatternArray:
    """Signs of W Xᵀ, shape (m, n); an entry is 0 only where the product of the given numbers is exactly 0."""
    Z = W @ X.T
    doubt = np.abs(Z) <= _DOUBT_TOL * np.outer(np.linalg.norm(W, axis=1), np.linalg.norm(X, axis=1))
    signs = np.sign(Z).astype(np.int8)
    for j, i in np.argwhere(doubt):
        exact = sum((Fraction(w) * Fraction(x) for w, x in zip(W[j].tolist(), X[i].tolist(), strict=True)), Fraction(0))
        signs[j, i] = (exact > 0) - (exact < 0)
    return signs


def slopes(pattern: PatternArray, leak: float) -> FloatArray:
    """Slopes s of the activation: 1, the leak, and 0 on a boundary, whose multiplier is kept apart."""
    return np.where(pattern > 0, 1.0, np.where(pattern < 0, leak, 0.0))


def acts(pattern: PatternArray, leak: float) -> npt.NDArray[np.bool_]:
    """Tell which neurons act on a sample, over the last axis: of ReLU those that are active on one, of a leak all."""
    return np.asarray((pattern > 0).any(axis=-1) | (leak > 0))


def span(normals: FloatArray) -> FloatArray:
    """Orthonormal rows that span the given rows, shape (rank, d)."""
    if not len(normals):
        return np.empty((0, normals.shape[1]))
    _, sizes, rows = np.linalg.svd(normals, full_matrices=False)
    return np.asarray(rows[sizes > _RANK_TOL * sizes[0]])


def off(rows: FloatArray, basis: FloatArray) -> FloatArray:
    """Part of `rows` outside the span of an orthonormal `basis`; taken twice, so that it is so to rounding."""
    for _ in range(2):
        rows = rows - (rows @ basis.T) @ basis
    return rows


def names(samples: Sequence[int] | IntArray) -> str:
    """Write a list of samples or neurons for a message: at most five, then how many more."""
    shown = ", ".join(str(int(i)) for i in samples[:5])
    return shown if len(samples) <= 5 else f"{shown} and {len(samples) - 5} more"
