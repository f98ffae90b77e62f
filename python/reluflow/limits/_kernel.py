"""The tangent kernel of a network in its pattern: how the values answer to multipliers."""

from __future__ import annotations

import numpy as np

from .._validation import FloatArray
from ..networks import Network
from ._groups import Groups


def tangent_kernel(groups: Groups, net: Network) -> FloatArray:
    """J Jᵀ of the values as functions of the moving weights, with the held boundaries kept, shape (n, n)."""
    moving = np.flatnonzero(groups.of >= 0)
    active = groups.slope[groups.of[moving]] * (net.W[moving] @ groups.X.T)
    gram = active.T @ active
    for c in range(len(groups)):
        B = groups.map(c)
        gram += float((net.a[groups.of == c] ** 2).sum()) * (B @ B.T)
    return np.asarray(gram)
