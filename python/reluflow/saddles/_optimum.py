"""The least squared loss over networks of any width, in closed form."""

from __future__ import annotations

import numpy as np

from ..datasets import Dataset
from ..kinks._boundaries import boundaries


def least_loss(data: Dataset) -> float:
    """Return the infimum of Σ c_i (f(x_i) - y_i)²/2 over two-layer networks of any width.

    f(x) = Σ a_j φ(w_j·x) is a linear function plus an even one. On the samples the even part is any number for each
    line through the origin, times |x_i|: kinks of different lines are linearly independent. The least loss is that of
    weighted least squares with these columns.
    """
    found = boundaries(data.X)
    even = np.zeros((data.n, len(found.normal)))
    even[np.arange(data.n), found.boundary] = np.abs(found.reach)
    root = np.sqrt(data.counts)
    columns = root[:, None] * np.hstack((data.X, even))
    target = root * data.y
    fitted = columns @ np.linalg.lstsq(columns, target, rcond=None)[0]
    return 0.5 * float(np.sum((target - fitted) ** 2))
