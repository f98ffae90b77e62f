"""Two small problems with an exact active-set solution: the least norm in a polyhedron, and the projection on a cone.

Both are non-negative least squares [Lawson & Hanson, Solving Least Squares Problems, ch. 23].
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.optimize import lsq_linear, nnls

from ._validation import FloatArray

MAX_SWEEPS = 30  # active-set changes allowed a constraint; scipy's default 3 can be too few
N_RESCALES = 3  # each pass solves the problem at the scale of the last solution, which sharpens it to rounding
EMPTY_RTOL = 1e-10  # a least-squares residual below this says that the constraints contradict each other


def nonnegative(A: FloatArray, b: FloatArray) -> FloatArray:
    """Return the x >= 0 with the least |Ax - b|."""
    if A.size == 0:  # nnls of scipy 1.17 frees its memory twice then, which ends the process
        return np.zeros(A.shape[1])
    try:
        x, _ = nnls(A, b, maxiter=MAX_SWEEPS * sum(A.shape))
    except RuntimeError:  # the active sets went round in a circle, as they can on degenerate data
        x = lsq_linear(A, b, bounds=(0, np.inf), method="bvls").x
    return np.asarray(x, dtype=np.float64)


class LeastNorm(NamedTuple):
    """The solution of min ½|w|² s.t. G w >= h, or the proof that there is none.

    Attributes
    ----------
    w : ndarray, shape (p,), or None
        None if no w satisfies the constraints.
    multipliers : ndarray, shape (k,)
        z >= 0 with w = Gᵀz; if there is no solution, z >= 0 with Gᵀz = 0 and hᵀz > 0.
    """

    w: FloatArray | None
    multipliers: FloatArray


def _is_solvable(gap: float, _w: FloatArray) -> bool:
    return gap > EMPTY_RTOL


def least_norm(
    G: FloatArray, h: FloatArray, size: float = 1.0, accepts: Callable[[float, FloatArray], bool] = _is_solvable
) -> LeastNorm:
    """Solve min ½|w|² s.t. G w >= h.

    Parameters
    ----------
    G : ndarray, shape (k, p)
    h : ndarray, shape (k,)
        At least one entry is positive, else w = 0.
    size : float
        |w| is first guessed so many times smaller than the largest h beside the longest row.
    accepts : callable
        Tells of the residual 1 / (1 + |w|²), of w as a part of the guess, and of a multiple of w whether they are those
        of a solution.
    """
    k, p = G.shape
    if not (h > 0).any():
        return LeastNorm(np.zeros(p), np.zeros(k))
    if not G.any():
        return LeastNorm(None, np.where(np.arange(k) == int(h.argmax()), 1.0, 0.0))
    target = np.zeros(p + 1)
    target[p] = 1.0
    scale = size * float(h.max() / np.linalg.norm(G, axis=1).max())  # a guess of |w|
    w: FloatArray | None = None
    multipliers = np.zeros(k)
    for _ in range(N_RESCALES):
        u = nonnegative(np.vstack((scale * G.T, h)), target)
        gap = 1.0 - float(h @ u)
        if w is None:
            multipliers = u
        if not accepts(gap, u @ G):
            break
        multipliers = u * (scale**2 / gap)
        w = multipliers @ G
        scale = float(np.linalg.norm(w))
    return LeastNorm(w, multipliers)


def project_on_cone(c: FloatArray, A: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Project c on the cone {u : A u >= 0}; the norm of the point is the largest c·u on the cone's unit ball.

    Returns
    -------
    point : ndarray, shape (d,)
    push : ndarray, shape (p,)
        z >= 0 with point = c + Aᵀz, which it makes shortest (Moreau); positive only where a row stops c.
    """
    push = np.zeros(len(A)) if (A @ c >= 0).all() else nonnegative(A.T, -c)
    return c + push @ A, push
