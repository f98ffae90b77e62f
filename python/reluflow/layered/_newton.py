"""Newton's method on equations whose zeros may be a continuum, by steps of least norm."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .._linear_algebra import eigh
from .._validation import FloatArray
from ._gradient import Numbers

# Newton's method converges quadratically near a point and linearly along a continuum; it needs some ten steps.
_STEPS = 60
# What is left of the equations is their rounding below so many of |x|.
_ROUNDINGS = 4.0
# Singular values of the equations below this part of the largest are zero: products of doubles.
_RANK_TOL = 1e-10
# The same for a step, and the parts of it that are tried.
_CUTS = (1e-10, 1e-7, 1e-4, 1e-2)
_PARTS = (1.0, 0.3, 0.1, 0.03)
_COMPLEX_STEP = 1e-30
# Columns of a Jacobian at once: a network for each is in memory.
_TOGETHER = 64
# Rows below this are no direction of their own.
_DIRECTION_TOL = 1e-6


def zero_near(
    function: Callable[[Numbers], Numbers],
    jacobian: Callable[[FloatArray], FloatArray],
    x: FloatArray,
    count: int,
    is_far: Callable[[FloatArray], bool],
) -> tuple[FloatArray, FloatArray]:
    """Find a zero by least-norm steps of Newton's method; return it with what moves it nowhere, as rows.

    The equations are those of a stationary point of `count` parameters with the multipliers of what is kept, which
    follow in `x`: their Jacobian is (S, -Bᵀ; B, 0) with a symmetric S. Where the parameters are far it ends.
    """
    rest = np.asarray(function(x), dtype=np.float64)
    for left in range(_STEPS, -1, -1):
        size = float(np.linalg.norm(rest))
        matrix = jacobian(x)
        if not (np.isfinite(size) and np.isfinite(matrix).all()):  # beyond the largest double
            return x, np.empty((0, len(x)))
        U, s, V = _singular_values(matrix, count)
        is_solved = size <= _ROUNDINGS * np.finfo(np.float64).eps * np.linalg.norm(x)
        ends = is_solved or not left or is_far(x[:count])
        trial = None if ends else _shorter(function, x, size, rest, (U, s, V))
        if trial is None:
            break
        x, rest = trial
    return x, V[s <= _RANK_TOL * s[0]]


def _singular_values(jacobian: FloatArray, count: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return U, s, V of a Jacobian, from the eigenvalues of (S, -Bᵀ; -B, 0), in a third of the time."""
    turn = np.where(np.arange(len(jacobian)) < count, 1.0, -1.0)
    symmetric = turn[:, None] * jacobian
    values, vectors = eigh(symmetric)
    order = np.argsort(-np.abs(values))
    values, vectors = values[order], vectors[:, order]
    return turn[:, None] * vectors * np.where(values < 0, -1.0, 1.0), np.abs(values), vectors.T


def _shorter(
    function: Callable[[Numbers], Numbers],
    x: FloatArray,
    size: float,
    rest: FloatArray,
    parts: tuple[FloatArray, FloatArray, FloatArray],
) -> tuple[FloatArray, FloatArray] | None:
    """Take the first of some steps that brings the equations nearer to zero, None if none does."""
    U, s, V = parts
    for cut in _CUTS:  # what is almost flat may lead far away
        kept = s > cut * s[0]
        step = V[kept].T @ ((U[:, kept].T @ rest) / s[kept])
        for part in _PARTS:
            trial = x - part * step
            found = np.asarray(function(trial), dtype=np.float64)
            if np.linalg.norm(found) < (1.0 - 0.1 * part) * size:
                return trial, found
    return None


def dimensions(rows: FloatArray) -> int:
    """Return how many directions rows span."""
    return int(np.linalg.matrix_rank(rows, tol=_DIRECTION_TOL)) if len(rows) else 0


def derivative(function: Callable[[Numbers], Numbers], x: FloatArray) -> FloatArray:
    """Return the Jacobian at x, exact to rounding, of a function that takes rows of complex numbers."""
    size = len(x)
    blocks = [
        np.imag(function(x + 1j * _COMPLEX_STEP * np.eye(min(_TOGETHER, size - first), size, first)))
        for first in range(0, size, _TOGETHER)
    ]
    return np.concatenate(blocks).T / _COMPLEX_STEP
