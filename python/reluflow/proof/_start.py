"""The exact start of a proof: the signs of all pre-activations of doubles, in exact arithmetic where it matters."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from .._validation import FloatArray, PatternArray

# A sum of d products in doubles is within (d + 2) 2^-53 of the sum of their absolute values; twice that leaves room.
_UNIT = 2.0**-53
_UNDERFLOW = 1e-290  # more than what underflow can take from it


def exact_signs(W: FloatArray, X: FloatArray) -> PatternArray:
    """Return the signs of W Xᵀ, shape (m, n), with zeros where it is exactly zero.

    Floats decide where their rounding cannot; rational arithmetic decides the rest.
    """
    products = W @ X.T
    slack = 2.0 * (X.shape[1] + 2) * _UNIT * (np.abs(W) @ np.abs(X).T) + _UNDERFLOW
    signs = np.sign(products).astype(np.int8)
    for j, i in np.argwhere(np.abs(products) <= slack):
        exact = sum((Fraction(w) * Fraction(x) for w, x in zip(W[j].tolist(), X[i].tolist(), strict=True)), Fraction(0))
        signs[j, i] = (exact > 0) - (exact < 0)
    return signs


def first_undecided(signs: PatternArray, pattern: PatternArray, zero: np.ndarray) -> tuple[int, int] | None:
    """Return the first pair that starts on its boundary, or on another side than the run has it; None if there is none.

    Neurons that are `zero`, shape (m,), never move and are left out.
    """
    bad = ((signs == 0) | (signs != pattern)) & ~zero[:, None]
    found = np.argwhere(bad)
    return (int(found[0, 0]), int(found[0, 1])) if len(found) else None
