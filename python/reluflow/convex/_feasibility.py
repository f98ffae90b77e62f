"""Which data some two-layer network separates, decided exactly.

Only the ray of x matters, for φ is positively homogeneous: rows x and cx (c > 0) have margins of one sign. And f(x) -
f(-x) is linear in x for every network, because φ(z) - φ(-z) = (1 + α)z. These are all the limits there are: Σ Λ_g
φ(g·u) = 0 for all u, over distinct rays g, forces Λ_g = 0 unless -g is a ray too (the kink at g·u = 0 must vanish),
Λ_{-g} = -Λ_g then, and Σ Λ_g g = 0 over the pairs. So no network separates the data if and only if

1. two samples on one ray have different labels, or
2. the pairs (g, -g) whose labels differ cannot be separated by a linear function.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .._validation import FloatArray
from ..datasets._margin import linear_margin

SAME_RAY = 1e-12  # unit vectors closer than this are one ray


class Contradiction(NamedTuple):
    """Why no network separates the data.

    Attributes
    ----------
    ray : ndarray, shape (n,)
        λ with y_i λ_i >= 0, not all 0, and Σ λ_i φ(x_i·u) = 0 for all u, up to rounding: yᵀλ is unbounded in the dual.
    message : str
    """

    ray: FloatArray
    message: str


def contradiction(X: FloatArray, y: FloatArray) -> Contradiction | None:
    """Return the reason why no two-layer network separates the data, None if one does."""
    norms = np.linalg.norm(X, axis=1)
    units = X / norms[:, None]
    products = units @ units.T
    same_ray = _close(units, products, 1.0) & (y[:, None] != y[None, :])
    if same_ray.any():
        i, j = (int(k) for k in np.argwhere(same_ray)[0])
        ray = np.zeros(len(y))
        ray[[i, j]] = y[[i, j]] / norms[[i, j]]
        return Contradiction(ray, f"samples {i} and {j} lie on one ray from the origin and have different labels")
    return _odd_pairs(units, norms, y, _close(units, products, -1.0) & (y[:, None] != y[None, :]))


def _close(units: FloatArray, products: FloatArray, side: float) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    """Tell which pairs of unit rows agree up to the sign ``side``; the products alone would lose half the digits."""
    near = side * products > 1 - 1e-8
    for i, j in np.argwhere(near):
        near[i, j] = np.linalg.norm(units[i] - side * units[j]) <= SAME_RAY
    return near


def _odd_pairs(
    units: FloatArray, norms: FloatArray, y: FloatArray, opposite: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]
) -> Contradiction | None:
    positive = np.flatnonzero(opposite.any(axis=1) & (y > 0))
    if len(positive) == 0:
        return None
    found = linear_margin(np.ascontiguousarray(units[positive]), np.ones(len(positive)))
    if found.separable:
        return None
    ray = np.zeros(len(y))
    for i, weight in zip(positive, found.multipliers, strict=True):
        j = int(np.argmax(opposite[i]))
        ray[i] += weight / norms[i]
        ray[j] -= weight / norms[j]
    taken = ", ".join(str(int(i)) for i in positive[found.multipliers > 0][:5])
    message = f"samples {taken} and their opposites have different labels, and no linear function separates those pairs"
    return Contradiction(ray, f"{message}; f(x) - f(-x) is linear for every two-layer network")
