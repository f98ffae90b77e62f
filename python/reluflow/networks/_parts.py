"""What a network is made of: random weights of size one, and sign patterns that are checked."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from .._validation import FloatArray, PatternArray, freeze, invalid, place, real_array

SIGNS = (-1, 0, 1)  # the entries of a sign pattern


def draw_weights(rng: np.random.Generator, shape: tuple[int, int], balanced: bool) -> tuple[FloatArray, FloatArray]:
    """Weights of size one."""
    W = rng.standard_normal(shape)
    if not balanced:
        return W, rng.standard_normal(shape[0])
    W /= np.linalg.norm(W, axis=1, keepdims=True)
    return W, rng.choice(np.array([-1.0, 1.0]), shape[0])


def checked_signs(value: npt.ArrayLike, width: int) -> PatternArray:
    signs = real_array(value, "pattern", "(m, n)")
    if signs.shape[0] != width or signs.shape[1] < 1:
        raise invalid("pattern", f"have the shape ({width}, n), a row for each neuron", f"the shape {signs.shape}")
    other = ~np.isin(signs, SIGNS)
    if other.any():
        raise invalid("pattern", "hold -1, 0 and +1 only", place(signs, other))
    pattern: PatternArray = np.ascontiguousarray(signs, dtype=np.int8)
    freeze(pattern)
    return pattern
