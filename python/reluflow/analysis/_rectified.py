"""The rectified ellipsoid of two samples, its spikes and its polar set ([WP] Sections 2.2 and F)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from .._validation import FloatArray, integer, invalid
from ..convex import arrangements
from ..datasets import Dataset
from ._states import Source, states
from ._walls import project_on_cone


@dataclass(frozen=True, eq=False)
class RectifiedEllipsoid:
    """The sets of [WP] Figures 1, 2 and 6 in the plane of the two sample values.

    Attributes
    ----------
    ellipsoid : ndarray, shape (p, 2)
        The curve X u, |u| = 1 (in the row space of X).
    rectified : ndarray, shape (p, 2)
        (X u)₊ on the same u: the outline of Q = {(X u)₊ : |u| <= 1}, spikes included.
    spikes : ndarray, shape (s, 2)
        Extreme points (X u)₊ along the labels, u = ± Xᵀ D y/|Xᵀ D y| for each sector that contains its own u.
    polar : ndarray, shape (p, 2)
        The outline of Q* = {λ : max over Q of |λ·z| <= 1}.
    y : ndarray, shape (2,)
    """

    ellipsoid: FloatArray
    rectified: FloatArray
    spikes: FloatArray
    polar: FloatArray
    y: FloatArray


def rectified_ellipsoid(data: Dataset, *, n_points: int = 361) -> RectifiedEllipsoid:
    """Trace the rectified ellipsoid of two samples and its absolute polar set.

    Raises
    ------
    ValueError
        The data do not have exactly two samples.
    """
    if data.n != 2:
        raise invalid("data", "have two samples", f"{data.n}")
    angle = np.linspace(0.0, 2.0 * np.pi, integer(n_points, "n_points", least=4))
    circle = np.column_stack((np.cos(angle), np.sin(angle)))
    U, s, _ = np.linalg.svd(data.X, full_matrices=False)
    curve = (circle[:, : len(s)] * s) @ U.T
    cells = np.where(arrangements(data.X).patterns, 1, -1)
    heights = np.array([support(data, lam, cells) for lam in circle])
    with np.errstate(divide="ignore"):
        polar = circle / heights[:, None]
    return RectifiedEllipsoid(curve, np.maximum(curve, 0.0), _spikes(data), polar, data.y)


def support(data: Dataset, lam: FloatArray, cells: npt.NDArray[np.integer[Any]]) -> float:
    """Return max over |u| <= 1 of |λᵀ(X u)₊|: in each cell the pull Xᵀ D λ, projected on the cell's cone."""
    best = 0.0
    for cell in cells:
        pull = (lam * (cell > 0)) @ data.X
        for sign in (1.0, -1.0):
            point, _ = project_on_cone(sign * pull, cell[:, None] * data.X)
            best = max(best, float(np.linalg.norm(point)))
    return best


def _spikes(data: Dataset) -> FloatArray:
    """(X u)₊ at the extreme points along y of each sector that contains its own extreme point."""
    found = []
    for active in ((1, 0), (0, 1), (1, 1)):
        mask = np.array(active)
        for sign in (1.0, -1.0):
            u = sign * (mask * data.y) @ data.X
            z = data.X @ u / max(float(np.linalg.norm(u)), np.finfo(float).tiny)
            if ((z > 0) == (mask == 1)).all():
                found.append(np.maximum(z, 0.0))
    return np.array(found).reshape(-1, 2)


def rectified_paths(source: Source, times: npt.ArrayLike | None = None) -> FloatArray:
    """Return φ(X ŵ_j) of each neuron's direction, shape (k, m, n): the trajectories of [WP] Figure 3."""
    run = states(source, times)
    size = np.linalg.norm(run.W, axis=2, keepdims=True)
    unit = np.divide(run.W, size, out=np.full_like(run.W, np.nan), where=size > 0)
    Z = unit @ run.data.X.T
    return np.asarray(np.maximum(Z, run.leak * Z))
