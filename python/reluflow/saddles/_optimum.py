"""The least squared loss over networks of any width, in closed form."""

from __future__ import annotations

import numpy as np

from .._linear_algebra import least_squares
from .._validation import FloatArray
from ..kinks._boundaries import boundaries


def least_loss(X: FloatArray, targets: FloatArray, counts: FloatArray) -> float:
    """Return the infimum of Σ c_i |f(x_i) - y_i|²/2 over two-layer networks of any width, for y_i in R or R^K.

    Each output of f(x) = Σ a_j φ(w_j·x) is a linear function plus an even one. On the samples the even part
    is any number for each line through the origin, times |x_i|: kinks of different lines are linearly independent. The
    least loss is that of weighted least squares with these columns.
    """
    found, n = boundaries(X), len(X)
    even = np.zeros((n, len(found.normal)))
    even[np.arange(n), found.boundary] = np.abs(found.reach)
    root = np.sqrt(counts)[:, None]
    columns, target = root * np.hstack((X, even)), root * targets.reshape(n, -1)
    fitted = columns @ least_squares(columns, target)
    return 0.5 * float(np.sum((target - fitted) ** 2))
