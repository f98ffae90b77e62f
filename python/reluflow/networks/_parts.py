"""The parts of a network and its inputs, checked: weights, sign patterns, bias."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from .._validation import FloatArray, PatternArray, freeze, invalid, place, real_array
from ..datasets._bias import appended, bias_value

SIGNS = (-1, 0, 1)  # the entries of a sign pattern


def checked_weights(W: npt.ArrayLike, a: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Return W (m, d) and a (m,) as arrays of their own."""
    weights = real_array(W, "W", "(m, d)")
    if weights.shape[0] < 1 or weights.shape[1] < 1:
        raise invalid("W", "hold at least one row and one column", f"the shape {weights.shape}")
    shape = np.shape(a) if isinstance(a, np.ndarray) else ()
    if len(shape) == 2 and shape[1] > 1:
        expected = (
            "have the shape (m,): one output (K outputs are those of rf.DeepNetwork([rf.Dense(m), rf.Dense(K)], ...))"
        )
        raise invalid("a", expected, f"the shape {shape}")
    outputs = real_array(a, "a", "(m,)")
    if len(outputs) != len(weights):
        raise invalid("a", f"have one weight for each of the {len(weights)} rows of W", f"{len(outputs)} weights")
    return weights, outputs


def checked_bias(value: object, dim: int) -> float:
    """Return the bias input of a network with so many inputs."""
    bias = bias_value(value)
    if dim < 2:
        raise invalid("bias_input", "be left out where W has one column alone", repr(bias))
    return bias


def with_bias_input(X: npt.ArrayLike, dim: int, bias_input: float | None) -> FloatArray:
    """Return inputs as the network takes them, shape (n, dim): with the column of its bias, if it has one."""
    inputs = real_array(X, "X", "(n, d)")
    if bias_input is not None and inputs.shape[1] == dim - 1:
        inputs = appended(inputs, bias_input)
    if inputs.shape[1] != dim:
        least = "" if bias_input is None else f"{dim - 1} or, with the bias, "
        raise invalid("X", f"have {least}{dim} columns, the inputs of the network", f"{inputs.shape[1]} columns")
    return inputs


def checked_signs(value: npt.ArrayLike, width: int) -> PatternArray:
    """Return a sign pattern of so many neurons."""
    signs = real_array(value, "pattern", "(m, n)")
    if signs.shape[0] != width or signs.shape[1] < 1:
        raise invalid("pattern", f"have the shape ({width}, n), a row for each neuron", f"the shape {signs.shape}")
    other = ~np.isin(signs, SIGNS)
    if other.any():
        raise invalid("pattern", "hold -1, 0 and +1 only", place(signs, other))
    pattern: PatternArray = np.ascontiguousarray(signs, dtype=np.int8)
    freeze(pattern)
    return pattern
