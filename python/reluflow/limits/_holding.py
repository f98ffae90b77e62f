"""Which samples hold each other in a pattern, and multipliers with which they do so evenly."""

from __future__ import annotations

import numpy as np
from scipy.optimize import linprog

from .._linear_algebra import least_squares
from .._validation import FloatArray, IntArray
from ..datasets import Dataset
from ..kinks._boundaries import span
from ._core import reached_range, resting
from ._groups import Groups

# What the multipliers add up to.
SUM = 0.5
# Those of the linear program that are below this are its rounding.
_ROUNDING = 1e-7
# The smallest of them is to be as large, with the smallest part of even ones that does it.
_LEAST = 1e-5
_PARTS = (0.0, 1e-3, 1e-2, 0.1, 1.0)


def holding(groups: Groups, data: Dataset, leak: float, weights: FloatArray) -> FloatArray | None:
    """Return multipliers λ_i > 0 of the samples whose margins can grow in no direction, 0 elsewhere, shape (n,).

    They pull no group and hold each on its boundaries, so that Σ λ_i q_i is 0 in the whole pattern: none of these
    margins can grow while the others stay bounded below (Gordan's theorem). They add up to `SUM`, and are near to
    `weights`, which tell how the samples share what is asked of them; a part of even ones lifts the smallest. Samples
    that neither drive nor hold a group have the smallest; those that do not count have none. None where no such
    multipliers are found, or all rest.
    """
    y, counts = data.y, data.counts > 0
    basis = np.where(counts[:, None], reached_range(groups), 0.0)
    rests = resting(basis, y) & counts
    own = np.flatnonzero(rests & (basis.any(axis=1) | (groups.pattern == 0).any(axis=0)))
    if not own.size or rests[counts].all():
        return None
    signed = y[own, None] * basis[own]
    even = _even(groups, y, leak, own, signed)
    if even is None:
        return None
    given = _cancelling(weights[own], signed)
    for part in _PARTS:
        found = (1.0 - part) * given + part * even
        if found.min() >= _LEAST:
            break
    lam = np.where(rests, found.min(), 0.0)
    lam[own] = found
    return lam


def _cancelling(weights: FloatArray, signed: FloatArray) -> FloatArray:
    """Change weights that nearly cancel, by parts of each that are as small as can be, until they do."""
    parts = least_squares((weights[:, None] * signed).T, -(weights @ signed))
    found = weights * (1.0 + parts)
    return np.asarray(SUM * found / found.sum())


def _even(groups: Groups, y: FloatArray, leak: float, own: IntArray, signed: FloatArray) -> FloatArray | None:
    """Multipliers of the samples `own` of which the smallest is as large as it can be, by a linear program."""
    k = len(signed)
    for part in (1.0, 0.0):
        at_least, equal = _held(groups, y, leak, own, part)
        # Of rows that depend on each other the solver finds what rounding leaves of them contradictory.
        vanishes = span(np.vstack((signed.T, equal)))
        vanishes = np.column_stack((vanishes, np.zeros(len(vanishes))))
        found = linprog(
            np.r_[np.zeros(k), -1.0],
            A_ub=-np.vstack((np.column_stack((np.eye(k), -np.ones(k))), at_least)),
            b_ub=np.zeros(k + len(at_least)),
            A_eq=np.vstack((vanishes, np.r_[np.ones(k), 0.0])),
            b_eq=np.r_[np.zeros(len(vanishes)), SUM],
            bounds=[(0.0, None)] * (k + 1),
        )
        if found.x is not None and found.x[k] > _ROUNDING:
            return np.asarray(found.x[:k])
    return None


def _held(groups: Groups, y: FloatArray, leak: float, own: IntArray, part: float) -> tuple[FloatArray, FloatArray]:
    """Rows of what has to be non-negative, and of what has to vanish, that each group stays on its boundaries.

    The former for λ of the samples `own` and the smallest of them, of which `part` is left at each end of an interval.
    """
    at_least, equal = [], []
    for c in range(len(groups)):
        held = groups.held_boundaries(c)
        if not len(held):
            continue
        normals = groups.boundaries.normal[held]
        needs = -least_squares(normals.T, (groups.slope[c, own] * y[own]) * groups.X[own].T)
        for need, boundary in zip(needs, held, strict=True):
            rows = groups.boundaries.boundary[own] == boundary
            if not rows.any():
                equal.append(need)
                continue
            pull, up = y[own] * groups.boundaries.reach[own] * rows, groups.boundaries.reach[own] > 0
            lower, upper = np.where(up, leak, 1.0) * pull, np.where(up, 1.0, leak) * pull
            least = part * float(np.abs(pull[rows]).min())
            for edge in (lower - need, need - upper):
                at_least.append(np.r_[groups.sign[c] * edge, -least])
    k = len(own)
    return np.reshape(at_least, (-1, k + 1)), np.reshape(equal, (-1, k))
