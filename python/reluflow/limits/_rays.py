"""The ways on which a group leaves its boundaries, by what multipliers pull it along each."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np

from .._linear_algebra import svd
from .._validation import FloatArray
from ._groups import Groups

# Angles below this are zero, and so are sums below this part of their terms.
ON_BOUNDARY = 1e-9
# So many rays are looked at.
_MOST_RAYS = 10_000


def climbing(groups: Groups, group: int, lam: FloatArray, leak: float) -> FloatArray | None:
    """Return the rays on which a group leaves the boundaries that it holds, shape (k, d); None if too many to look at.

    Across them a neuron climbs sign(a) Σ λ_i φ(x_i·z), of degree one in z, which is zero where it stays: it has to stay
    if and only if that is negative everywhere else, and so on all rays in which boundaries intersect, between which it
    is linear.
    """
    held, basis = groups.held_boundaries(group), groups.bases[group]
    if math.comb(len(held), len(basis) - 1) > _MOST_RAYS:
        return None
    edges = np.array([groups.boundaries.edges(int(k), lam, leak) for k in held])
    normals = groups.boundaries.normal[held] @ basis.T
    along = _rays(normals)
    across = along @ normals.T
    across[np.abs(across) <= ON_BOUNDARY] = 0.0
    pulls = np.where(across > 0, edges[:, 1], edges[:, 0]) * across
    drive = along @ (basis @ ((groups.slope[group] * lam) @ groups.X))
    rounding = ON_BOUNDARY * (np.abs(pulls).sum(axis=1) + np.abs(drive)).max(initial=0.0)
    climbs = groups.sign[group] * (pulls.sum(axis=1) + drive) > rounding
    return np.asarray(along[climbs] @ basis)


def _rays(normals: FloatArray) -> FloatArray:
    """Find the unit vectors, of either sign, in which all but one dimension of boundaries intersect, shape (k, b)."""
    rank = normals.shape[1]
    found = []
    for rows in combinations(range(len(normals)), rank - 1):
        _, sizes, right = svd(normals[list(rows)].reshape(rank - 1, rank))
        if (sizes > ON_BOUNDARY).all():
            found += [right[-1], -right[-1]]
    return np.array(found).reshape(-1, rank)
