"""Neurons whose limit lies on a boundary that they only approach: kept on their side of it."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from .._linear_algebra import least_squares
from .._validation import FloatArray, PatternArray
from ..networks import Network
from ._units import Unit, log2_size

# A pre-activation below this part of |w_j||x_i| is one that tends to zero: rounding could change its sign later. Growth
# in a leg makes it e^10 times smaller, still far above rounding; the error of log |w_j| is the square of it.
_PART = 1e-7
# The same for grown neurons, in units of the size of a neuron that matters: far above rounding, far below results.
_GROWN_PART = 1e-13
# A shift that misses its aim by more than this part cannot be made.
_MISS = 1e-3
# Nor is one made that is so many times as long: the square of it is an error of log |w_j|.
_FARTHEST = 1e4
# So often the boundaries that a shift comes to are taken with the others.
_ROUNDS = 20


def kept_off(
    net: Network, X: FloatArray, grown: npt.NDArray[np.bool_], unit: float
) -> tuple[Network, npt.NDArray[np.bool_]]:
    """Move neurons off the boundaries that they approach without sliding, by the least shift, to their own side.

    While a neuron grows along an extremal direction on such a boundary, w·x_i stays and w·x_i/|w| tends to zero. In the
    limit it is zero with a sign, which the pattern knows and rounding does not. Returns the network and which neurons
    have such a boundary, shape (m,).
    """
    pattern = net.pattern
    W = np.array(net.W)
    found = np.zeros(net.width, dtype=np.bool_)
    if pattern is None:
        return net, found
    exponent = np.frexp(np.abs(W).max(axis=1))[1]
    W = np.ldexp(W, -exponent[:, None])  # so that no product underflows
    size, lengths = np.linalg.norm(W, axis=1), np.linalg.norm(X, axis=1)
    level = np.where(grown, np.ldexp(_GROWN_PART * unit, -exponent), _PART * size)
    aims = np.outer(level, lengths)
    near = (pattern != 0) & (pattern * (W @ X.T) < aims) & (size > 0)[:, None]
    for j in np.flatnonzero(near.any(axis=1)):
        shift = _shift(W[j], X, lengths, pattern[j], float(level[j]), near[j])
        if shift is not None:
            W[j] += shift
            found[j] = True
    a = np.where(found, np.sign(net.a) * np.linalg.norm(W, axis=1), np.ldexp(net.a, -exponent))
    return Network(np.ldexp(W, exponent[:, None]), np.ldexp(a, exponent), leak=net.leak, pattern=pattern), found


def side_kept(unit: Unit, X: FloatArray, part: float) -> tuple[Unit, bool]:
    """Do the same for one neuron with several outputs, by this part of its size; whether it has such a boundary."""
    exponent = -round(log2_size(unit.w))
    moved = unit.scaled(exponent)
    lengths, level = np.linalg.norm(X, axis=1), part * float(np.linalg.norm(moved.w))
    near = (unit.sides != 0) & (unit.sides * (X @ moved.w) < level * lengths)
    if not near.any():
        return unit, False
    shift = _shift(moved.w, X, lengths, unit.sides, level, near)
    if shift is None:
        return unit, False
    w = moved.w + shift
    a = moved.a * (np.linalg.norm(w) / np.linalg.norm(moved.a))
    return moved.at(w, a).scaled(-exponent), True


def least_cosine(w: FloatArray, sides: PatternArray, X: FloatArray) -> float:
    """Return how near a neuron is to the boundaries that it does not slide on; x = 0 has none."""
    unit = np.ldexp(w, -round(log2_size(w)))
    rows = X[(sides != 0) & X.any(axis=1)]
    away = np.abs(rows @ unit) / (np.linalg.norm(unit) * np.linalg.norm(rows, axis=1))
    return float(away.min(initial=np.inf))


def _shift(
    w: FloatArray,
    X: FloatArray,
    lengths: FloatArray,
    signs: PatternArray,
    level: float,
    near: npt.NDArray[np.bool_],
) -> FloatArray | None:
    """Return the least shift of w to its own side of the boundaries near it, at the distance `level`; None if none is.

    Where these are nearly parallel it is far longer than they are away, and may come to other boundaries: those are
    kept off with them.
    """
    close, slides = near.copy(), signs == 0
    for _ in range(_ROUNDS):
        rows = np.vstack((X[close] / lengths[close, None], X[slides] / lengths[slides, None]))
        aim = np.concatenate((signs[close] * level, np.zeros(int(slides.sum()))))
        lacks = aim - rows @ w
        lacks[int(close.sum()) :] = 0.0
        shift = least_squares(rows, lacks, 1e-9)
        if np.abs(rows @ shift - lacks).max() > _MISS * level or np.linalg.norm(shift) > _FARTHEST * level:
            return None
        crossed = (signs * (X @ (w + shift)) < 0) & ~close
        if not crossed.any():
            return shift
        close |= crossed
    return None
