"""The KKT system of the max-margin problem in one pattern, on known support samples and live groups: by Newton.

With l_i = y_i λ_i >= 0, D_c = diag(y) B_c and u_c = D_cᵀ l, the equations are K(A) l = 1 with K(A) = Σ A_c D_c D_cᵀ
on the support, and |u_c|² = 1 for the live groups. Rows of samples whose margins stay finite come last: their
right-hand side is 0, they are always in the system, and their l has any sign. The matrix is symmetric and, but for
degenerate data, regular.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from .._validation import FloatArray

Mask: TypeAlias = npt.NDArray[np.bool_]

# Newton steps on the equations: convergence is quadratic, a few for rounding.
_NEWTON_STEPS = 30
# Singular values of the scaled KKT matrix below this are zero: the data are doubles, their products carry 1e-16.
_SINGULAR_TOL = 1e-11
# Changes of the active sets after the central path; it leaves at most a few wrong.
_SET_CHANGES = 30
# A sign or an inequality may be violated by this much: rounding of the polished solution.
_SIGN_TOL = 1e-11


@dataclass(frozen=True, eq=False)
class Point:
    """A solution (l, A) on k rows and all groups.

    Attributes
    ----------
    dual : ndarray, shape (k,)
    mass : ndarray, shape (C,)
    support : ndarray of bool, shape (k,)
    live : ndarray of bool, shape (C,)
    error : float
        Largest residual of the equations.
    free_duals, free_masses : int
        Dimensions in which the multipliers, and the masses, are not determined.
    """

    dual: FloatArray
    mass: FloatArray
    support: Mask
    live: Mask
    error: float
    free_duals: int
    free_masses: int


def weighted_gram(D: FloatArray, mass: FloatArray) -> FloatArray:
    """K(A) = Σ_c A_c D_c D_cᵀ, shape (k, k); masses of either sign."""
    flat = D.transpose(1, 0, 2).reshape(D.shape[1], D.shape[0] * D.shape[2])
    return np.asarray((flat * np.repeat(mass, D.shape[2])) @ flat.T)


def newton(
    D: FloatArray, right: FloatArray, dual: FloatArray, mass: FloatArray
) -> tuple[FloatArray, FloatArray, float, int, int]:
    """Solve K(A) l = right and |D_cᵀ l|² = 1 for all given rows and groups, by least squares where it is singular.

    Returns
    -------
    dual, mass : ndarray
    error : float
    free_duals, free_masses : int
    """
    best: tuple[FloatArray, FloatArray, float] = (dual, mass, np.inf)
    rank_lost = (0, 0)
    for _ in range(_NEWTON_STEPS):
        u = np.einsum("ckd,k->cd", D, dual)
        effect = np.einsum("ckd,cd->ck", D, u)
        gap = np.concatenate((right - mass @ effect, 0.5 * (1 - (u * u).sum(axis=1))))
        error = float(np.abs(gap).max(initial=0.0))
        if not error < best[2]:
            break
        best = dual, mass, error
        gram = weighted_gram(D, mass)
        matrix = np.block([[gram, effect.T], [effect, np.zeros((len(mass), len(mass)))]])
        step, rank_lost = symmetric_least_squares(matrix, gap, len(dual))
        dual, mass = dual + step[: len(dual)], mass + step[len(dual) :]
    return *best, *rank_lost


def symmetric_least_squares(matrix: FloatArray, right: FloatArray, n_duals: int) -> tuple[FloatArray, tuple[int, int]]:
    """Least-norm solution of a symmetric system scaled to rows of size one, and the null space of either kind."""
    size = np.abs(matrix).max(axis=1)
    scale = 1 / np.sqrt(np.where(size > 0, size, 1.0))
    values, vectors = np.linalg.eigh(scale[:, None] * matrix * scale)
    keep = np.abs(values) > _SINGULAR_TOL * np.abs(values).max(initial=0.0)
    step = scale * (vectors[:, keep] @ ((vectors[:, keep].T @ (scale * right)) / values[keep]))
    # K(A) is positive definite on what the multipliers do, so a null vector is one of l alone or of A alone.
    lost = int(np.count_nonzero(~keep))
    masses = int(np.linalg.matrix_rank(vectors[n_duals:, ~keep], tol=1e-6)) if lost and n_duals < len(matrix) else 0
    return step, (lost - masses, masses)


def polish(D: FloatArray, n_free: int, sets: tuple[Mask, Mask], dual: FloatArray, mass: FloatArray) -> Point:
    """Newton on given support samples and live groups, changed one by one while a sign or an inequality is violated."""
    point = _on_sets(D, n_free, sets, dual, mass)
    for _ in range(_SET_CHANGES):
        worst = _worst(D, n_free, point)
        if worst is None:
            break
        support, live = point.support.copy(), point.live.copy()
        (support if worst[0] == "sample" else live)[worst[1]] ^= True
        point = _on_sets(D, n_free, (support, live), point.dual, np.maximum(point.mass, 0))
    return point


def _on_sets(D: FloatArray, n_free: int, sets: tuple[Mask, Mask], dual: FloatArray, mass: FloatArray) -> Point:
    support, live = sets
    k = D.shape[1]
    free = np.arange(k) >= k - n_free
    rows = support | free
    right = np.where(free, 0.0, 1.0)[rows]
    found = newton(D[np.ix_(live, rows)], right, dual[rows], mass[live])
    full_dual, full_mass = np.zeros(k), np.zeros(len(D))
    full_dual[rows], full_mass[live] = found[0], found[1]
    return Point(full_dual, full_mass, support, live, *found[2:])


def _worst(D: FloatArray, n_free: int, point: Point) -> tuple[str, int] | None:
    """Find the sample or group that violates its sign or inequality the most, in units of the solution."""
    u = np.einsum("ckd,k->cd", D, point.dual)
    margins = point.mass @ np.einsum("ckd,cd->ck", D, u)
    total = max(float(np.abs(point.dual).sum()), np.finfo(np.float64).tiny)
    sample = np.where(point.support, -point.dual / total, 1 - margins)[: D.shape[1] - n_free]
    group = np.where(point.live, -point.mass / total, np.linalg.norm(u, axis=1) - 1)
    i, c = int(np.argmax(sample)), int(np.argmax(group))
    if max(sample[i], group[c]) <= _SIGN_TOL:
        return None
    return ("sample", i) if sample[i] >= group[c] else ("group", c)
