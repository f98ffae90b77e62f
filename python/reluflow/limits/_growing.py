"""Whether margins grow for ever beside samples at rest, where a state passes for a critical point.

At a critical point of a loss of margins without decay Σ μ ∇q = 0 with all μ > 0, so that in no direction a margin grows
while none falls (Stiemke). Where there is such a direction the infimum is not attained: some margins go to infinity,
and their weights soon are nothing beside those of the samples at rest, whose own gradient vanishes.
"""

from __future__ import annotations

import numpy as np

from .._linear_algebra import svd
from .._validation import FloatArray, IntArray
from ..kinks._boundaries import names, off, span
from ._core import resting

# A margin whose pull is below this part of the gradient's terms may be one that grows: pulls of those that do cancel to
# what is left of the gradient, or to a little of it in raw units. Whether it does the gradients of the others say.
_UNSEEN = 1e-4
# Gradients of which less than this part is outside the span of those of larger pulls rest with them: rounding leaves up
# to 1e-11, and gradients of margins that grow have had more than 1e-6.
_ROW_TOL = 1e-8


def doubts_of_rest(rows: FloatArray, weights: FloatArray, samples: IntArray, terms: float) -> list[str]:
    """Say which margins may grow for ever; nothing is said at a true critical point.

    Parameters
    ----------
    rows : ndarray, shape (r, P)
        Gradients of the margins in coordinates of the pattern.
    weights : ndarray, shape (r,)
        -∂L/∂q.
    samples : ndarray of int, shape (r,)
        Whose margins they are.
    terms : float
        The size of what cancels in the gradient.
    """
    grows = growing(rows, weights, terms)
    if not len(grows):
        return []
    return [f"margins that grow for ever beside samples at rest: samples {names(np.unique(samples[grows]))}"]


def growing(rows: FloatArray, weights: FloatArray, terms: float) -> IntArray:
    """Find the margins of small weights that can grow while none falls."""
    sizes = np.linalg.norm(rows, axis=1)
    unseen = (sizes > 0) & (weights * sizes <= _UNSEEN * terms)
    units = rows / np.where(sizes > 0, sizes, 1.0)[:, None]
    free = off(units[unseen], span(units[~unseen]))
    free[np.linalg.norm(free, axis=1) <= _ROW_TOL] = 0.0
    if not free.any():
        return np.empty(0, dtype=np.int64)
    vectors, scales, _ = svd(free, full_matrices=False)
    kept = scales > _ROW_TOL * scales[0]
    rests = resting(vectors[:, kept] * scales[kept], np.ones(len(free)))
    return np.flatnonzero(unseen)[~rests]
