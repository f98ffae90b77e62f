"""The KKT system of the max-margin problem in one pattern, on known support samples and live groups: by Newton.

With l_i = y_i λ_i >= 0, D_c = diag(y) B_c and u_c = D_cᵀ l, the equations are K(A) l = 1 with K(A) = Σ A_c D_c D_cᵀ
on the support, and |u_c|² = 1 for the live groups. Rows of samples whose margins stay finite come last: their
right-hand side is 0, they are always in the system, and their l has any sign. The matrix is symmetric and, but for
degenerate data, regular.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from .._linear_algebra import least_squares, svd
from .._validation import FloatArray

Mask: TypeAlias = npt.NDArray[np.bool_]

# Newton steps on the equations: convergence is quadratic, a few for rounding.
_NEWTON_STEPS = 30
# Singular values of the scaled KKT matrix below this are zero: the data are doubles, their products carry 1e-16.
_SINGULAR_TOL = 1e-11
# Singular values of samples in the units of their norms below this part of the largest are zero.
_DEPENDENT = 1e-12
# Groups whose effects on the margins are alike to this part, or to rounding, have masses that are not determined.
_ALIKE = 1e-8
# Masses that the rounding of |u_c|² would move by more than this part are not determined either.
_KNOWN = 1e-3
# Masses below this part of the largest, or negative ones, are scaled by it.
_LEAST_PART = 1e-8
# Changes of the active sets after the central path; it leaves at most a few wrong.
_SET_CHANGES = 30
# So many roundings of the sum of all terms add up over samples, groups and dimensions.
ROUNDINGS = 4.0
# An equation, a sign or an inequality may be missed by this much: rounding of the polished solution.
_TOL = 1e-11


class Free(NamedTuple):
    """Dimensions in which the multipliers and the masses are not determined.

    Attributes
    ----------
    duals, masses : int
    unknown : int
        Of the masses, those that rounding leaves open.
    """

    duals: int
    masses: int
    unknown: int


@dataclass(frozen=True, eq=False)
class Found:
    """What Newton finds on the rows and groups given.

    Attributes
    ----------
    dual : ndarray, shape (k,)
    mass : ndarray, shape (C,)
    z : ndarray, shape (C, d)
        A_c u_c, with less rounding than the product.
    error : float
        Largest residual of the equations.
    free : Free
    """

    dual: FloatArray
    mass: FloatArray
    z: FloatArray
    error: float
    free: Free


@dataclass(frozen=True, eq=False)
class Point:
    """A solution on all rows and groups: as `Found`, with the rows and groups that are not zero.

    Attributes
    ----------
    dual : ndarray, shape (k,)
    mass : ndarray, shape (C,)
    z : ndarray, shape (C, d)
    support : ndarray of bool, shape (k,)
    live : ndarray of bool, shape (C,)
    error : float
    free : Free
    """

    dual: FloatArray
    mass: FloatArray
    z: FloatArray
    support: Mask
    live: Mask
    error: float
    free: Free


def weighted_gram(D: FloatArray, mass: FloatArray) -> FloatArray:
    """K(A) = Σ_c A_c D_c D_cᵀ, shape (k, k); masses of either sign."""
    flat = D.transpose(1, 0, 2).reshape(D.shape[1], D.shape[0] * D.shape[2])
    return np.asarray((flat * np.repeat(mass, D.shape[2])) @ flat.T)


def newton(D: FloatArray, right: FloatArray, dual: FloatArray, mass: FloatArray) -> Found:
    """Solve Σ A_c D_c u_c = right and |u_c|² = 1 for all given rows and groups, by least squares where it is singular.

    The vectors z_c = A_c u_c are unknowns too. Computed from l, they would carry the rounding of u_c times A_c into the
    margins: the square of what sums of multipliers lose where these are large and cancel.
    """
    z = mass[:, None] * np.einsum("ckd,k->cd", D, dual)
    free = Free(0, 0, 0)
    best = Found(dual, mass, z, np.inf, free)
    for _ in range(_NEWTON_STEPS):
        u = np.einsum("ckd,k->cd", D, dual)
        lack = right - np.einsum("ckd,cd->k", D, z)
        off = mass[:, None] * u - z
        length = 0.5 * (1 - (u * u).sum(axis=1))
        scale = np.sqrt(sizes(mass) * max(float(np.abs(mass).sum()), np.finfo(np.float64).tiny))
        turned = np.linalg.norm(off, axis=1) / scale
        error = max(float(np.abs(gap).max(initial=0.0)) for gap in (lack, length, turned))
        if not error < best.error:
            break
        best = Found(dual, mass, z, error, free)
        gap = np.concatenate((lack - np.einsum("ckd,cd->k", D, off), length))
        step, free = _newton_step(D, (dual, u, mass), gap)
        by_dual, by_mass = step[: len(dual)], step[len(dual) :]
        z = z + off + mass[:, None] * np.einsum("ckd,k->cd", D, by_dual) + by_mass[:, None] * u
        dual, mass = dual + by_dual, mass + by_mass
    return replace(best, free=free)


def sizes(mass: FloatArray) -> FloatArray:
    """Return positive numbers of the size of the masses."""
    size = np.maximum(np.abs(mass), _LEAST_PART * np.abs(mass).max(initial=0.0))
    return np.asarray(np.where(size > 0, size, 1.0))


def _newton_step(
    D: FloatArray, at: tuple[FloatArray, FloatArray, FloatArray], gap: FloatArray
) -> tuple[FloatArray, Free]:
    """Solve K(A) δl + E δA = first, Eᵀ δl = second for (δl, δA), where the columns of E are D_c u_c.

    With b > 0 of the size of A, J = (√b_c D_c)_c and its singular values J = L S R, they are those of K(A) without
    their squares: K(A) = J diag(A_c/b_c) Jᵀ and E = J U, so that t = S Lᵀ δl has

        M t + G α = S⁻¹ Lᵀ first,    Gᵀ t = √b second,    M = R diag(A_c/b_c) Rᵀ,    G = R diag(u_c),    δA = √b α,

    and M is the identity but for masses that are small or negative. Samples that almost depend on each other would
    leave K(A) half of the digits.
    """
    (n_groups, k, d), (dual, u, mass) = D.shape, at
    b = sizes(mass)
    J = (np.sqrt(b)[:, None, None] * D).transpose(1, 0, 2).reshape(k, n_groups * d)
    size = np.linalg.norm(J, axis=1)
    largest = float(size.max(initial=0.0)) or 1.0
    size = np.where(size > _DEPENDENT * largest, size, largest)  # rows that no live group drives are rounding
    left, values, right = svd(J / size[:, None], full_matrices=False)
    keep = values > _DEPENDENT * values.max(initial=0.0)
    back = left[:, keep] / values[keep] / size[:, None]
    rows = right[keep].reshape(int(keep.sum()), n_groups, d)
    M = np.einsum("rcd,c,scd->rs", rows, mass / b, rows)
    G = np.einsum("rcd,cd->rc", rows, u)
    blur = float(np.finfo(np.float64).eps * values.max(initial=0.0) / values[keep].min(initial=np.inf))
    alike = max(_ALIKE, ROUNDINGS * blur)
    terms = float(np.abs(dual) @ np.linalg.norm(D, axis=2).max(axis=0, initial=0.0))
    least = max(alike, ROUNDINGS * float(np.finfo(np.float64).eps) * terms / _KNOWN)
    t, alpha, parts = _saddle(M, G, gap[:k] @ back, np.sqrt(b) * gap[k:], least)
    known = np.count_nonzero(parts > least)
    free = Free(k - len(M), int(n_groups - known), int(np.count_nonzero(parts > alike) - known))
    return np.concatenate((back @ t, np.sqrt(b) * alpha)), free


def _saddle(
    M: FloatArray, G: FloatArray, first: FloatArray, second: FloatArray, least: float
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Solve M t + G α = first, Gᵀ t = second in the singular vectors of G.

    Also returns its singular values as parts of the largest; those up to `least` count as zero.
    """
    left, values, right = svd(G)
    parts = values / (values.max(initial=0.0) or 1.0)
    rank = int(np.count_nonzero(parts > least))
    along, free = left[:, :rank], left[:, rank:]
    t = along @ ((right[:rank] @ second) / values[:rank])
    t = t + free @ least_squares(free.T @ M @ free, free.T @ (first - M @ t), _SINGULAR_TOL)
    alpha = right[:rank].T @ ((along.T @ (first - M @ t)) / values[:rank])
    return t, alpha, parts


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
    """Newton on given support samples and live groups, changed one by one while a sign or an inequality is violated.

    On the way to the solution for a set, the sample or group that comes to zero first leaves it. Where none does, the
    one whose inequality is violated the most joins.
    """
    signed = np.arange(D.shape[1]) < D.shape[1] - n_free
    for changes in range(_SET_CHANGES + 1):
        point = _on_sets(D, n_free, sets, dual, mass)
        least = tolerance(D, point) * max(float(np.abs(point.dual).sum()), np.finfo(np.float64).tiny)
        part, first = _to_zero(
            np.concatenate((np.where(signed, dual, 0.0), mass)),
            np.concatenate((np.where(signed, point.dual, 0.0), point.mass)),
            least,
        )
        changed = first if first is not None else _most_violated(D, n_free, point)
        if changed is None or changes == _SET_CHANGES:
            break
        dual, mass = dual + part * (point.dual - dual), mass + part * (point.mass - mass)
        both = np.concatenate((point.support, point.live))
        both[changed] ^= True
        sets = both[: D.shape[1]], both[D.shape[1] :]
    return point


def _to_zero(start: FloatArray, end: FloatArray, least: float) -> tuple[float, int | None]:
    """Return the part of the way to `end` on which nothing falls below zero, and what does so first.

    Ends of -`least` are zero.
    """
    falls = np.flatnonzero(end < -least)
    if not len(falls):
        return 1.0, None
    above = np.maximum(start[falls], 0.0)
    parts = above / (above - end[falls])
    return float(parts.min()), int(falls[np.argmin(parts)])


def _on_sets(D: FloatArray, n_free: int, sets: tuple[Mask, Mask], dual: FloatArray, mass: FloatArray) -> Point:
    support, live = sets
    k = D.shape[1]
    free = np.arange(k) >= k - n_free
    rows = support | free
    right = np.where(free, 0.0, 1.0)[rows]
    found = newton(D[np.ix_(live, rows)], right, dual[rows], mass[live])
    full_dual, full_mass, full_z = np.zeros(k), np.zeros(len(D)), np.zeros((len(D), D.shape[2]))
    full_dual[rows], full_mass[live], full_z[live] = found.dual, found.mass, found.z
    return Point(full_dual, full_mass, full_z, support, live, found.error, found.free)


def _most_violated(D: FloatArray, n_free: int, point: Point) -> int | None:
    """Find the sample, or group (after all rows), outside the sets that violates its inequality the most."""
    u = np.einsum("ckd,k->cd", D, point.dual)
    lack = 1 - np.einsum("ckd,cd->k", D, point.z)
    lack[point.support | (np.arange(D.shape[1]) >= D.shape[1] - n_free)] = 0.0
    excess = np.where(point.live, 0.0, np.linalg.norm(u, axis=1) - 1)
    both = np.concatenate((lack, excess))
    worst = int(np.argmax(both))
    return worst if both[worst] > tolerance(D, point) else None


def tolerance(D: FloatArray, point: Point) -> float:
    """Return what a solution may miss: more where sums of l_i x_i, and of z_c·x_i, are 1 by cancelling."""
    total = float(max(np.abs(point.dual).sum(), np.linalg.norm(point.z, axis=1).sum()))
    terms = float(np.linalg.norm(D, axis=2).max(initial=0.0)) * total
    return max(_TOL, ROUNDINGS * float(np.finfo(np.float64).eps) * terms)
