"""Of the solutions of the max-margin problem in one pattern, the one nearest to the flow's multipliers and masses.

The pull u_c of a group that has mass in some solution is the same in all of them. Given these, the multipliers of all
solutions are those with D_cᵀ l = u_c, and the masses those with Σ A_c D_c u_c = 1: both are linear.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from .._least_distance import least_norm
from .._linear_algebra import svd
from .._validation import FloatArray
from ._kkt import Point, sizes, tolerance

Mask: TypeAlias = npt.NDArray[np.bool_]

# Singular values below this part of the largest are zero.
_RANK_TOL = 1e-9
# Multipliers that are not determined, and are less than this part of the largest, are zero.
_LEAST_PART = 1e-9
# Groups of which the flow has less than this part of the largest are nothing beside the limit, and not parts of it.
_FAINT = 1e-11


def nearest(
    D: FloatArray, n_free: int, point: Point, live: Mask, values: tuple[FloatArray, FloatArray]
) -> tuple[tuple[Mask, Mask], FloatArray, FloatArray]:
    """Return support and live groups, multipliers (k,) and masses (C,) of the solution nearest to `values`.

    They are `values` themselves where the equations have no solution, as for groups that are taken for live ones and
    are not. The last `n_free` rows are those of samples at rest, which have multipliers of either sign.
    """
    dual, mass = values[0] if point.free.duals else point.dual, values[1]
    sets, live = (point.support, live), live & (mass > _FAINT * mass.max())
    is_free = np.arange(len(dual)) >= len(dual) - n_free
    rows = point.support | is_free
    if not live.any():
        return sets, dual, mass
    own = D[np.ix_(live, rows)]
    u = np.einsum("ckd,k->cd", own, point.dual[rows])
    tol = tolerance(D, point)
    effects, right = np.einsum("ckd,cd->kc", own, u), np.where(is_free, 0.0, 1.0)[rows]
    some_mass = _closest(effects, right, mass[live], sizes(mass[live]), np.ones(len(u), dtype=np.bool_), tol)
    some_dual: FloatArray | None = dual[rows]
    if point.free.duals:
        maps = own.transpose(0, 2, 1).reshape(-1, own.shape[1])
        some_dual = _closest(maps, u.ravel(), dual[rows], np.ones(maps.shape[1]), ~is_free[rows], tol)
    if some_mass is None or some_dual is None:
        return sets, dual, mass
    near_dual, near_mass = np.zeros_like(dual), np.zeros_like(mass)
    near_dual[rows], near_mass[live] = some_dual, some_mass
    support = point.support
    if point.free.duals:
        support = support & (near_dual > _LEAST_PART * np.abs(near_dual).max())
    return (support, live), near_dual, near_mass


def _closest(
    A: FloatArray, b: FloatArray, start: FloatArray, unit: FloatArray, signed: Mask, tol: float
) -> FloatArray | None:
    """Return the x with A x = b, and x >= 0 where `signed`, for which Σ (x - start)² / unit is least; None if none."""
    root = np.sqrt(unit)
    left, values, right = svd(A * root, full_matrices=len(A) < len(root))
    rank = int(np.count_nonzero(values > _RANK_TOL * values.max(initial=0.0)))
    shift = right[:rank].T @ ((left[:, :rank].T @ (b - A @ start)) / values[:rank])
    free = root[:, None] * right[rank:].T
    x = start + root * shift
    below = np.where(signed, -x, 0.0)
    if (below > 0).any():
        y = least_norm(free[signed], below[signed]).w
        if y is None:
            return None
        x = x + free @ y
        x[signed] = np.maximum(x[signed], 0.0)
    return x if float(np.abs(A @ x - b).max(initial=0.0)) <= tol else None
