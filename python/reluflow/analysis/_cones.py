"""Cones between boundaries, and the projection on them."""

from __future__ import annotations

import numpy as np
from scipy.optimize import nnls

from .._validation import FloatArray

# A pull this small against |Xᵀλ| is rounding: the cone's best direction is then the origin.
_ZERO_TOL = 1e-10


def project_on_cone(pull: FloatArray, normals: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Project `pull` on the cone {w : normals @ w >= 0}.

    Returns
    -------
    point : ndarray, shape (d,)
        The projection; zero if `pull` points away from the whole cone.
    push : ndarray, shape (p,)
        Multipliers >= 0 with point = pull + normalsᵀ push; positive only on boundaries that stop the pull.
    """
    push, _ = nnls(normals.T, -pull)
    point = pull + normals.T @ push
    if np.linalg.norm(point) <= _ZERO_TOL * np.linalg.norm(pull):
        point = np.zeros_like(point)
    return point, push
