"""Walls of a dataset: parallel samples share one; cones between walls, and the projection on them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import nnls

from .._validation import FloatArray, IntArray, PatternArray
from ..datasets import Dataset

# Unit normals closer than this are one wall: far above rounding, far below the angles of real data.
_PARALLEL_TOL = 1e-12
# A pull this small against |Xᵀλ| is rounding: the cone's best direction is then the origin.
_ZERO_TOL = 1e-10


@dataclass(frozen=True, eq=False)
class Walls:
    """The different hyperplanes x_i·w = 0.

    Attributes
    ----------
    normal : ndarray, shape (p, d)
        Unit normals, one a wall.
    wall : ndarray, shape (n,)
        The wall of each sample.
    side : ndarray, shape (n,)
        +1 where x_i points along the normal of its wall, -1 where it points against it.
    """

    normal: FloatArray
    wall: IntArray
    side: FloatArray

    def signs(self, tau: FloatArray) -> PatternArray:
        """Sign pattern of the samples where wall k is seen from the side tau_k."""
        return np.sign(self.side * tau[self.wall]).astype(np.int8)


def walls(data: Dataset) -> Walls:
    """Find the different walls of the data; samples x and cx, with any c but 0, share one."""
    unit = data.X / np.linalg.norm(data.X, axis=1, keepdims=True)
    lead = np.argmax(np.abs(unit) > 0.5 / np.sqrt(data.d), axis=1)  # first entry that is clearly not zero
    side = np.sign(unit[np.arange(data.n), lead])
    folded = unit * side[:, None]
    wall = np.full(data.n, -1, dtype=np.int64)
    normal: list[FloatArray] = []
    for i in range(data.n):
        if wall[i] < 0:
            twins = (wall < 0) & (np.abs(folded - folded[i]).max(axis=1) <= _PARALLEL_TOL)
            wall[twins] = len(normal)
            normal.append(folded[i])
    return Walls(np.array(normal), wall, side)


def project_on_cone(pull: FloatArray, normals: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Project `pull` on the cone {w : normals @ w >= 0}.

    Returns
    -------
    point : ndarray, shape (d,)
        The projection; zero if `pull` points away from the whole cone.
    push : ndarray, shape (p,)
        Multipliers >= 0 with point = pull + normalsᵀ push; positive only on walls that stop the pull.
    """
    push, _ = nnls(normals.T, -pull)
    point = pull + normals.T @ push
    if np.linalg.norm(point) <= _ZERO_TOL * np.linalg.norm(pull):
        point = np.zeros_like(point)
    return point, push
