"""Which outputs two-layer networks of any width can have on some samples, and the nearest of them to targets.

They are a linear space V, since neurons of both signs add up. By the theorem of `_feasibility` its complement holds the
λ with Σ λ_i φ(x_i·u) = 0 for all u, and so V is spanned by

- |x_i| on the samples of one ray, for each ray: they share one value beside their lengths;
- for rays g and -g, where φ(z) - φ(-z) = (1 + α) z: |x_i| on the samples of both, and the inputs of all such pairs.

Samples of distinct rays, none opposite to another, can have any outputs.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .._linear_algebra import least_squares, svd
from .._validation import FloatArray, IntArray
from ..limits._state import is_rounding, output_terms
from ..networks import Network
from ._feasibility import SAME_RAY

RANK_RTOL = 1e-11  # singular values below this, beside the largest: unit vectors are one ray to 1e-12


class Nearest(NamedTuple):
    """The nearest outputs to targets.

    Attributes
    ----------
    outputs : ndarray, shape (n,)
    space : ndarray, shape (n, k), or None
        Orthonormal basis of V; None if it is everything.
    """

    outputs: FloatArray
    space: FloatArray | None


def nearest_outputs(X: FloatArray, y: FloatArray, counts: FloatArray) -> Nearest:
    """Return the outputs with the least Σ c_i (f_i - y_i)² over networks of any width, for c_i > 0."""
    spanning = _spanning(X)
    if spanning is None:
        return Nearest(y, None)
    left, sizes, _ = svd(spanning, full_matrices=False)
    space = np.ascontiguousarray(left[:, sizes > RANK_RTOL * sizes[0]])
    root = np.sqrt(counts)
    share = least_squares(root[:, None] * space, root * y)
    return Nearest(space @ share, space)


def outputs_beside(X: FloatArray, net: Network, nearest: FloatArray) -> FloatArray:
    """Return the outputs of a network, which are the nearest ones where the difference is rounding.

    Targets of zero have no size that tells: only the terms that cancel to an output of zero do.
    """
    f = net(X)
    sizes = output_terms(X, net._with(net.W, net.a)) + np.abs(nearest)
    return np.where(is_rounding(f - nearest, sizes), nearest, f)


def _spanning(X: FloatArray) -> FloatArray | None:
    """Return columns that span V, each row divided by |x_i|, times |x_i|; None if V is everything."""
    norms = np.linalg.norm(X, axis=1)
    units = X / norms[:, None]
    ray = _rays(units)
    first = np.unique(ray, return_index=True)[1]
    opposite = _opposites(units[first])
    if len(first) == len(X) and (opposite < 0).all():
        return None
    leader = np.where((opposite >= 0) & (opposite < np.arange(len(first))), opposite, np.arange(len(first)))[ray]
    paired = (opposite >= 0)[ray]
    columns = [np.where(leader == k, norms, 0.0) for k in np.unique(leader)]
    return np.column_stack((*columns, np.where(paired[:, None], X, 0.0)))


def _rays(units: FloatArray) -> IntArray:
    """Return the number of the ray of each unit row, in the order of their first rows."""
    numbers, leaders = np.zeros(len(units), dtype=np.int64), np.empty((0, units.shape[1]))
    for i, unit in enumerate(units):
        near = np.flatnonzero(np.linalg.norm(leaders - unit, axis=1) <= SAME_RAY)
        numbers[i] = near[0] if len(near) else len(leaders)
        leaders = leaders if len(near) else np.vstack((leaders, unit))
    return numbers


def _opposites(rays: FloatArray) -> IntArray:
    """Return the number of the opposite ray of each, -1 if there is none."""
    found = np.full(len(rays), -1, dtype=np.int64)
    for i, unit in enumerate(rays):
        near = np.flatnonzero(np.linalg.norm(rays + unit, axis=1) <= SAME_RAY)
        found[i] = near[0] if len(near) else -1
    return found
