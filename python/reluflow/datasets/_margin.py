"""The max-margin separator without bias, argmin |w|² s.t. y_i w·x_i >= 1, to the last digits.

It is the least-distance problem of Lawson & Hanson (Solving Least Squares Problems, ch. 23), solved as one
non-negative least squares problem by an active-set method, so the support set is exact and the multipliers come
with it. Data that cannot be separated come back with the multipliers that prove it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._least_distance import least_norm
from .._validation import FloatArray, IntArray, ReadOnly, freeze, invalid, leak_value

SUPPORT_RTOL = 1e-9  # margins this close to the least one count as attaining it; the solver itself reaches 1e-12
# Sizes of max |x_i| in the first pass. One pass sees margins down to about 1e-8 of it; the next ones look further down.
# Data that seem separable through rounding alone are caught by the test of the sign of y_i w·x_i.
FIRST_SIZES = (1.0, 1e4, 1e8)
# Sizes of samples further apart than this are divided out.
WIDE = 1e6
# Multipliers of a sample that is shrunk by less than this leave the range of doubles.
SMALLEST_LEAK = 1e-100


@dataclass(frozen=True, eq=False)
class MaxMargin(ReadOnly):
    """The max-margin separator of a binary problem, or the proof that there is none.

    Attributes
    ----------
    separable : bool
        Whether y_i w·x_i > 0 for all samples, beyond rounding.
    w : ndarray, shape (d,)
        argmin |w|² s.t. y_i w·x_i >= 1; zeros if not separable.
    margin : float
        max over |w| = 1 of min_i y_i w·x_i, that is 1/|w|; 0 if not separable.
    multipliers : ndarray, shape (n,)
        λ >= 0 with w = Σ λ_i y_i x_i and Σ λ_i = |w|². If not separable: λ >= 0 with Σ λ_i = 1 and
        Σ λ_i y_i x_i = 0 up to `residual`, which no separator allows.
    support : ndarray of int, shape (s,)
        Samples with y_i w·x_i = 1.
    residual : float
        |w - Σ λ_i y_i x_i| / |w|, or |Σ λ_i y_i x_i| / max |x_i| if not separable.
    """

    separable: bool
    w: FloatArray
    margin: float
    multipliers: FloatArray
    support: IntArray
    residual: float

    @property
    def direction(self) -> FloatArray:
        """The unit vector w / |w|; zeros if not separable."""
        norm = float(np.linalg.norm(self.w))
        return self.w / norm if norm > 0 else self.w


def leak_of_samples(leak: object) -> float:
    """Return a leak that the samples of one class are to be multiplied by: the products are to stay in range."""
    number = leak_value(leak)
    if 0 < number < SMALLEST_LEAK:
        raise invalid("leak", f"be 0 or at least {SMALLEST_LEAK:g}, for margins of leaky samples", repr(number))
    return number


def linear_margin(X: FloatArray, y: FloatArray) -> MaxMargin:
    """Return the max-margin separator of checked data.

    Parameters
    ----------
    X : ndarray, shape (n, d)
    y : ndarray, shape (n,)
        +1 and -1; one class alone is allowed.
    """
    G = X * y[:, None]
    sizes = 2.0 ** np.round(np.log2(np.linalg.norm(G, axis=1)))  # powers of two divide without rounding
    if sizes.max() > WIDE * sizes.min():
        return _of_unequal(G, sizes)
    w, multipliers = _least(G)
    return _inseparable(G, multipliers) if w is None else _separated(G, w, multipliers)


def _least(G: FloatArray) -> tuple[FloatArray | None, FloatArray]:
    """Return w with G w >= 1 and its multipliers, or None and those of the contradiction."""
    weights = None
    for size in FIRST_SIZES:
        w, multipliers = least_norm(G, np.ones(len(G)), size, lambda gap, w: gap > 0 and bool((G @ w > 0).all()))
        if w is not None and _separates(G, w):
            return w, multipliers
        weights = multipliers if weights is None else weights
    assert weights is not None
    return None, weights


def _of_unequal(G: FloatArray, sizes: FloatArray) -> MaxMargin:
    """Separate samples of very different sizes, the small ones of which would be lost beside the others.

    Whether they are separable is a matter of their directions alone.
    """
    rows, least = G / sizes[:, None], float(sizes.min())
    v, shares = _least(rows)
    if v is None:
        return _inseparable(G, shares * (least / sizes))
    for size in FIRST_SIZES:
        shortest, multipliers = least_norm(rows, least / sizes, size, lambda gap, _: gap > 0)
        if shortest is not None:
            v, shares = shortest, multipliers
            break
    w, weights = v / least, shares / sizes / least
    residual = float(np.linalg.norm(v - shares @ rows) / np.linalg.norm(v))
    support = np.flatnonzero((shares > 0) | (G @ w <= 1 + SUPPORT_RTOL))
    return _frozen(MaxMargin(True, w, least / float(np.linalg.norm(v)), weights, support, residual))


def _separated(G: FloatArray, w: FloatArray, multipliers: FloatArray) -> MaxMargin:
    w, multipliers, support = _polish(G, w, multipliers)
    residual = float(np.linalg.norm(w - multipliers @ G) / np.linalg.norm(w))
    return _frozen(MaxMargin(True, w, float(1 / np.linalg.norm(w)), multipliers, support, residual))


def _separates(G: FloatArray, w: FloatArray) -> bool:
    """Tell whether G w > 0 holds in spite of the rounding of the product."""
    rounding = 2 * len(w) * np.finfo(np.float64).eps * np.linalg.norm(G, axis=1) * np.linalg.norm(w)
    return bool((G @ w > rounding).all())


def _polish(G: FloatArray, w: FloatArray, multipliers: FloatArray) -> tuple[FloatArray, FloatArray, IntArray]:
    """Solve the equations of the support set once more, directly, and keep the better answer."""
    active = multipliers > 0
    solved = np.linalg.lstsq(G[active], np.ones(int(active.sum())), rcond=None)[0].astype(np.float64)
    new = np.zeros_like(multipliers)
    new[active] = np.linalg.lstsq(G[active].T, solved, rcond=None)[0]
    if (new >= 0).all() and _error(G, solved, new) <= _error(G, w, multipliers):
        w, multipliers = solved, new
    support = np.flatnonzero(G @ w <= 1 + SUPPORT_RTOL)
    return w, multipliers, support.astype(np.int64)


def _error(G: FloatArray, w: FloatArray, multipliers: FloatArray) -> float:
    """Return the worse of the constraint violation and the stationarity residual."""
    violation = float(np.maximum(1 - G @ w, 0).max())
    return max(violation, float(np.linalg.norm(w - multipliers @ G) / np.linalg.norm(w)))


def _inseparable(G: FloatArray, weights: FloatArray) -> MaxMargin:
    total = float(weights.sum())
    multipliers = weights / total if total > 0 else weights
    residual = float(np.linalg.norm(multipliers @ G) / np.linalg.norm(G, axis=1).max())
    return _frozen(MaxMargin(False, np.zeros(G.shape[1]), 0.0, multipliers, np.flatnonzero(multipliers), residual))


def _frozen(found: MaxMargin) -> MaxMargin:
    for array in (found.w, found.multipliers, found.support):
        freeze(array)
    return found
