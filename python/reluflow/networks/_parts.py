"""The parts of a network and its inputs, checked: weights, sign patterns, bias."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from .._validation import FloatArray, PatternArray, freeze, invalid, place, real_array
from ..datasets._bias import appended, bias_value

if TYPE_CHECKING:
    from ._network import Network

SIGNS = (-1, 0, 1)  # the entries of a sign pattern


def checked_weights(W: npt.ArrayLike, a: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Return W (m, d) and a, (m,) or (m, K) with K >= 2, as arrays of their own."""
    weights = real_array(W, "W", "(m, d)")
    if weights.shape[0] < 1 or weights.shape[1] < 1:
        raise invalid("W", "hold at least one row and one column", f"the shape {weights.shape}")
    outputs = real_array(a, "a", "(m, K)" if _is_matrix(a) else "(m,)")
    if len(outputs) != len(weights):
        found = f"{len(outputs)} weights" if outputs.ndim == 1 else f"{len(outputs)} rows"
        raise invalid("a", f"have one weight for each of the {len(weights)} rows of W", found)
    if outputs.ndim == 2 and outputs.shape[1] < 2:
        raise invalid("a", "have the shape (m,) with one output, or (m, K) with several", f"the shape {outputs.shape}")
    return weights, outputs


def _is_matrix(a: npt.ArrayLike) -> bool:
    """Tell whether output weights are given as rows; what is ragged or no array at all is refused later."""
    try:
        return np.ndim(a) == 2
    except ValueError:
        return False


def outputs_of(a: FloatArray) -> int:
    """Return the number of outputs that output weights have."""
    return 1 if a.ndim == 1 else int(a.shape[1])


def one_output(net: Network, name: str = "net") -> None:
    """Refuse a network of several outputs, where there is one thing for each neuron and sample, such as a sign of a_j.

    Raises
    ------
    ValueError
        The message names the argument.
    """
    if net.n_outputs > 1:
        raise invalid(name, "have one output, a of the shape (m,)", f"{net.n_outputs} outputs")


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
