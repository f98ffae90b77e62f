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
    """Return the first pair that starts on another side than the run has it; None if there is none.

    Neurons that are `zero`, shape (m,), never move and are left out.
    """
    found = np.argwhere((signs != pattern) & ~zero[:, None])
    return (int(found[0, 0]), int(found[0, 1])) if len(found) else None


def leave_boundaries(
    signs: PatternArray, starts: list[tuple[int, int, int]]
) -> tuple[PatternArray, list[tuple[int, int]]] | tuple[int, int]:
    """Return the signs just after the start, and the pairs that leave their boundaries there.

    Parameters
    ----------
    signs : ndarray, shape (m, n)
        Exact, with zeros on boundaries.
    starts : list of (neuron, sample, side)
        What the run says of pairs on their boundaries: the side they go to, 0 where the neuron slides.

    Returns
    -------
    tuple
        The signs and the pairs; or the first pair on its boundary of which the run says nothing, or beside it of which
        it does.
    """
    after = signs.copy()
    told = np.zeros(signs.shape, dtype=bool)
    for neuron, sample, side in starts:
        after[neuron, sample] = side
        told[neuron, sample] = True
    wrong = np.argwhere(told != (signs == 0))
    if len(wrong):
        return int(wrong[0, 0]), int(wrong[0, 1])
    return after, [(neuron, sample) for neuron, sample, side in starts if side]
