"""Multipliers of what slides, each within the interval that its unit allows."""

from __future__ import annotations

import numpy as np
from scipy.optimize import lsq_linear

from .._linear_algebra import least_squares
from .._validation import FloatArray
from ._frozen import Frozen

# Singular values of the normals of what slides below this part of the largest are zero.
RANK_TOL = 1e-10
# Steps that find multipliers in intervals which depend on the multipliers above.
_BOX_PASSES = 5


def multipliers_in_boxes(frozen: Frozen, theta: FloatArray, lam: FloatArray, aim: FloatArray) -> FloatArray:
    """Multipliers between leak and 1 times what comes back to each held place, that come nearest to `aim`."""
    mu = np.zeros(len(frozen.held))
    if not len(mu):
        return mu
    N = frozen.normals(theta)
    rest = aim - frozen.pull(theta, lam, mu).theta
    leaks = np.array([frozen.nodes[v].leak or 0.0 for v, _, _ in frozen.held])
    mu = least_squares(N.T, rest, RANK_TOL)
    for _ in range(_BOX_PASSES):
        back = frozen.pull(theta, lam, mu).back
        low, high = np.minimum(leaks * back, back), np.maximum(leaks * back, back)
        room = 1e-300 + 1e-15 * np.abs(back)
        found = lsq_linear(N.T, rest, bounds=(low - room, high + room), method="bvls")
        if np.array_equal(found.x, mu):
            break
        mu = np.clip(found.x, low, high)
    return mu
