"""States beyond the digits of log t: held smaller by a power of two, exactly, where margins hide what decides."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .._validation import FloatArray

# Where the core begins to hold states smaller, as a log time: the smallest margin is about log t then.
BEYOND_DIGITS = 4e10
# log2 of the largest entry of a state that is held smaller: its margins are then 1e8 or so.
_HELD_LOG2 = 15


class Held(NamedTuple):
    """Weights 2^exponent times smaller than they are."""

    W: FloatArray
    a: FloatArray
    exponent: int


def is_beyond_digits(log_t: float) -> bool:
    """Tell whether a state at this log time is so large that its margins hide what decides."""
    return log_t > BEYOND_DIGITS


def hold(W: FloatArray, a: FloatArray, log_t: float) -> Held:
    """Make the weights of a state at a log time as small as they have to be."""
    if not is_beyond_digits(log_t):
        return Held(W, a, 0)
    largest = max(float(np.abs(W).max()), float(np.abs(a).max()))
    exponent = max(0, int(np.log2(largest)) - _HELD_LOG2)
    return Held(np.ldexp(W, -exponent), np.ldexp(a, -exponent), exponent)
