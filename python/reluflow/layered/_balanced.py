"""Samples whose margins stay finite while others grow for ever: those that no pattern of the network separates.

Late in such a run their weights λ* stay, and those of the others fall like 1/t. So θ grows where λ* pulls at nothing,
Σ λ* ∇q = 0, and its direction is a KKT point of min ½|θ|² with q >= 1 of the margins that grow and q = 0 of the others,
whose multipliers have any sign. λ* may be added to these as often as one likes: it outweighs all else.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .._linear_algebra import least_squares, svd
from .._validation import FloatArray, IntArray
from ..kinks._boundaries import off, span
from ..limits._core import minimum_at_rest
from ..limits._growing import growing
from ..losses import log_curvatures, log_weights
from ._frozen import Frozen
from ._margins import margins_at, margins_of

# Singular values of the gradients of what stays finite below this part of the largest are zero.
_RANK_TOL = 1e-9
# Weights that cancel to more than this part of their sum, or less than this part of the largest, hold nothing.
_CANCELS = 1e-9
_LEAST_SHARE = 1e-4
# Margins that are farther from where they stay have not shown that they go there.
_MOST_GAP = 0.1
# How far the least weight of what stays finite exceeds all others, at least: see `_IS_WALL` of `_limit_of`.
_OUTWEIGHS = 1e3


@dataclass(frozen=True, eq=False)
class Balanced:
    """What stays finite of the margins: the samples, and their weights in the limit, shape (k,)."""

    samples: IntArray
    weights: FloatArray
    bends: FloatArray
    range: FloatArray

    def outweighing(self, lam: FloatArray) -> FloatArray:
        """Return the multipliers of q with those of what stays finite as the flow has them, far above the others.

        Their margins are off their limits by what their gradients can make of them; the rest of λ is not told by what
        moves, and decides for units that stand or vanish.
        """
        own, found = lam[self.samples], np.array(lam)
        bent = self.bends[:, None] * self.range
        own = bent @ least_squares(self.range.T @ bent, self.range.T @ own)
        most = max(float(np.abs(lam).max()), float(np.abs(own).max(initial=0.0)))
        found[self.samples] = own + _OUTWEIGHS * most / self.weights.min() * self.weights
        return found


def growing_samples(
    frozen: Frozen, theta: FloatArray, targets: FloatArray, lam: FloatArray, used: npt.NDArray[np.bool_]
) -> IntArray:
    """Find the samples that can grow for ever beside others, of weights |λ|, shape (n, 1), that hold each other.

    None do if one of them has a margin that is not positive.
    """
    rows, weights, samples = margins_at(frozen, theta, targets, lam, used)
    terms = float(weights @ np.linalg.norm(frozen.gradients(theta, samples), axis=1))
    grows = samples[growing(rows, weights, terms)]
    is_late = (margins_of(np.asarray(frozen.outputs(theta)), targets)[grows] > 0).all()
    return np.asarray(grows if is_late else grows[:0])


def balanced_at(
    frozen: Frozen,
    theta: FloatArray,
    y: FloatArray,
    counts: FloatArray | None,
    margins: FloatArray,
    samples: IntArray,
    loss: str,
    seen: FloatArray | None = None,
) -> Balanced | str:
    """Return where margins of `samples` stay finite at the point `theta` of norm one, or why they do not stay.

    `margins` (k,) are those of the state, and `seen` (n,) its weights if they are not those of its margins.
    """
    rows = off(y[samples, None] * frozen.gradients(theta, samples), span(frozen.normals(theta)))
    rows = rows / float(np.linalg.norm(rows, axis=1).max())
    left, sizes, _ = svd(rows, full_matrices=False)
    basis = np.asarray(left[:, sizes > _RANK_TOL * sizes[0]])
    each = np.ones(len(samples)) if counts is None else counts[samples]
    q = minimum_at_rest(basis, np.ones(len(samples)), each, margins, loss)
    if q is None:
        return "where margins stay that do not grow was not found"
    weights = each * np.exp(log_weights(q, loss))
    gap = float(np.abs(q - margins).max() if seen is None else np.ptp(np.log(weights / seen[samples])))
    if gap > _MOST_GAP:
        return f"margins that stay finite are still {gap:.2g} from their limits"
    moved = basis.T @ weights
    weights = weights - basis @ moved
    if np.abs(moved).max(initial=0.0) > _CANCELS * weights.sum() or weights.min() < _LEAST_SHARE * weights.max():
        return "margins that do not grow do not hold each other"
    return Balanced(samples, weights, each * np.exp(log_curvatures(q, loss)), basis)
