"""The rectified ellipsoid of two samples, its spikes, its polar set and the neurons on it ([WP] Sections 2.2 and F)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .. import convex
from .._validation import FloatArray, ReadOnly, freeze, integer, invalid
from ..datasets import Dataset
from ._inputs import check_data
from ._kernels import lengths
from ._states import Source, states


@dataclass(frozen=True, eq=False)
class RectifiedEllipsoid(ReadOnly):
    """The sets of [WP] Figures 1, 2 and 6 in the plane of the two sample values, as closed curves.

    Attributes
    ----------
    ellipsoid : ndarray, shape (p, 2)
        X u for |u| = 1.
    rectified : ndarray, shape (p, 2)
        (X u)₊ for the same u: the outline of Q = {(X u)₊ : |u| <= 1}, spikes included.
    spikes : ndarray, shape (s, 2)
        Their tips.
    polar : ndarray, shape (p, 2)
        The outline of Q* = {λ : max over Q of |λ·z| <= 1}.
    y : ndarray, shape (2,)
    """

    ellipsoid: FloatArray
    rectified: FloatArray
    spikes: FloatArray
    polar: FloatArray
    y: FloatArray


def rectified_ellipsoid(data: Dataset, *, n_points: int = 360) -> RectifiedEllipsoid:
    """Trace the rectified ellipsoid of two samples in the plane and its absolute polar set, by `reluflow.convex`.

    Parameters
    ----------
    data : Dataset
    n_points : int, optional
        Points of each curve.

    Raises
    ------
    ValueError
        The data do not have exactly two samples of two inputs.

    Examples
    --------
    >>> import reluflow as rf
    >>> found = rf.analysis.rectified_ellipsoid(rf.datasets.wang_pilanci("obtuse"))
    >>> found.spikes.round(4)
    array([[1.7156, 0.    ],
           [0.    , 1.4295]])
    """
    check_data(data)
    if data.X.shape != (2, 2):
        raise invalid("data", "have two samples of two inputs", f"{data.n} of {data.d}")
    count = integer(n_points, "n_points", least=4)
    outline, tips = convex.rectified_outline(data.X, n_points=count), convex.spikes(data.X)
    found = RectifiedEllipsoid(
        ellipsoid=_closed(outline.plain),
        rectified=_closed(outline.rectified),
        spikes=np.eye(2)[tips.samples] * tips.length[:, None],
        polar=_closed(convex.polar_set(data.X, convex.unit_vectors(2, count))),
        y=data.y,
    )
    freeze(found.spikes)
    return found


def _closed(curve: FloatArray) -> FloatArray:
    whole = np.vstack((curve, curve[:1]))
    freeze(whole)
    return whole


def rectified_paths(source: Source, times: npt.ArrayLike | None = None) -> FloatArray:
    """Return φ(X ŵ_j) of each neuron's direction, shape (k, m, n): the trajectories of [WP] Figure 3.

    Examples
    --------
    >>> import reluflow as rf
    >>> data = rf.datasets.wang_pilanci("obtuse")
    >>> sol = rf.integrate(data, rf.Network.init(10, 2, seed=1), until=1e4)
    >>> rf.analysis.rectified_paths(rf.analysis.ends(sol))[-1].max(axis=0).round(2)
    array([1.72, 1.43])
    """
    run = states(source, times)
    size = lengths(run.W)[..., None]
    unit = np.divide(run.W, size, out=np.full_like(run.W, np.nan), where=size > 0)
    Z = unit @ run.data.X.T
    return np.asarray(np.maximum(Z, run.leak * Z))
