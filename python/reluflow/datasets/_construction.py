"""A construction of a paper: data, start, limit and what is known about it.

Datasets stand below networks in the order of imports, so weights are plain arrays here: `rf.Network(*c.start)`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from .._validation import FloatArray, ReadOnly, freeze
from ._dataset import Dataset


class Weights(NamedTuple):
    """Weights of a two-layer network; `rf.Network(*weights)` builds it.

    Attributes
    ----------
    W : ndarray, shape (m, d)
    a : ndarray, shape (m,)
    """

    W: FloatArray
    a: FloatArray


@dataclass(frozen=True, eq=False)
class Construction(ReadOnly):
    """Data with the start of a flow and the KKT point that the flow tends to.

    Attributes
    ----------
    name : str
        Paper and theorem.
    data : Dataset
    leak : float
        Slope of the activation on the negative side.
    start : Weights or None
        Where the flow starts; None where the paper gives a KKT point only.
    limit : Weights
        The KKT point of min ½|θ|² s.t. y_i f(x_i) >= 1 that θ/√q_min tends to.
    multipliers : ndarray, shape (n,)
        λ >= 0 of the KKT point, Σ λ_i = ½|θ|².
    global_norm2 : float
        |θ|² at the global optimum of the same problem; the limit has more.
    better : callable or None
        For a small parameter e > 0, a feasible network of smaller norm; it tends to the limit as e -> 0 where the
        limit is no local optimum. None where the paper gives none.
    """

    name: str
    data: Dataset
    leak: float
    start: Weights | None
    limit: Weights
    multipliers: FloatArray
    global_norm2: float
    better: Callable[[float], Weights] | None

    @property
    def limit_norm2(self) -> float:
        """|θ|² of the limit."""
        return float(np.sum(self.limit.W**2) + np.sum(self.limit.a**2))


def weights(W: npt.ArrayLike, a: npt.ArrayLike) -> Weights:
    """Return read-only weights."""
    arrays = np.array(W, dtype=np.float64), np.array(a, dtype=np.float64)
    for array in arrays:
        freeze(array)
    return Weights(*arrays)


def fixed(values: npt.ArrayLike) -> FloatArray:
    """Return a read-only vector."""
    array = np.array(values, dtype=np.float64)
    freeze(array)
    return array
