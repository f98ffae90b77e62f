"""Neurons as the layered core keeps them: taken out of a state of a run, scaled, and put together to another one.

A state knows on which side of each boundary a neuron stands and on which it slides. None of that depends on the size of
the neuron, nor on the other neurons.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .._validation import FloatArray, PatternArray

_MOVING, _EMPTY = 0, 2  # modes of a unit on a sample
State = dict[str, Any]


@dataclass(frozen=True, eq=False)
class Unit:
    """One neuron.

    Attributes
    ----------
    w : ndarray, shape (d,)
    a : ndarray, shape (K,)
    sides : ndarray, shape (n,), int8
        Signs of its pre-activations, 0 where it slides.
    modes : ndarray, shape (n,), int8
        What the core calls the way in which it stands to each boundary.
    sliding : tuple
        The boundaries that it slides on, as the core keeps them for a network of this neuron alone.
    """

    w: FloatArray
    a: FloatArray
    sides: PatternArray
    modes: PatternArray
    sliding: tuple[Any, ...]

    def at(self, w: FloatArray, a: FloatArray) -> Unit:
        """Return the neuron with other weights of the same pattern."""
        return replace(self, w=w, a=a)

    def scaled(self, exponent: int) -> Unit:
        """Return it times 2^exponent, which changes no digit."""
        return self.at(np.ldexp(self.w, exponent), np.ldexp(self.a, exponent))


def units_of(state: State, d: int, K: int) -> list[Unit]:
    """Take a state of a network of two layers apart."""
    sides, modes = np.asarray(state["sides"][1]), np.asarray(state["modes"][1])
    m = sides.shape[1]
    theta = np.asarray(state["theta"])
    W, a = theta[: m * d].reshape(m, d), theta[m * d :].reshape(K, m).T
    sliding: list[list[Any]] = [[] for _ in range(m)]
    for parameter, constant, members, inputs in state["sliding"]:
        unit = int(members[0][2])
        sliding[unit].append(_moved((parameter, constant, members, inputs), -unit, d))
    return [Unit(W[j].copy(), a[j].copy(), sides[:, j].copy(), modes[:, j].copy(), tuple(sliding[j])) for j in range(m)]


def state_of(units: Sequence[Unit], leak: float) -> State:
    """Put neurons together to the state that a run of them goes on from, at time 0."""
    W, a = np.array([unit.w for unit in units]), np.array([unit.a for unit in units])
    d, K = W.shape[1], a.shape[1]
    sides = np.array([unit.sides for unit in units], dtype=np.int8).T.copy()
    modes = np.array([unit.modes for unit in units], dtype=np.int8).T.copy()
    n = len(sides)
    live = ((modes == _MOVING) & ((sides > 0) | (leak > 0))).any(axis=1)[:, None].repeat(K, axis=1)
    inputs = np.zeros((n, d), dtype=np.int8)
    return {
        "t": 0.0,
        "log_t": -np.inf,
        "theta": np.concatenate((W.ravel(), a.T.ravel())),
        "sides": [inputs, sides, np.where(live, 1, -1).astype(np.int8)],
        "modes": [inputs, modes, np.where(live, _MOVING, _EMPTY).astype(np.int8)],
        "sliding": [_moved(boundary, j, d) for j, unit in enumerate(units) for boundary in unit.sliding],
        "zeros": [],
    }


def _moved(boundary: Any, by: int, d: int) -> tuple[Any, ...]:
    """Give the unit of a boundary another number: that of its places, and that of its entry if one decides."""
    parameter, constant, members, inputs = boundary
    places = [(node, sample, unit + by) for node, sample, unit in members]
    return (parameter + by * d if parameter >= 0 else parameter, constant, places, list(inputs))


def log2_size(w: FloatArray) -> float:
    """Return log2 |w|, without underflow of squares; -inf for zero."""
    exponent = int(np.frexp(np.abs(w).max())[1])
    with np.errstate(divide="ignore"):
        return float(np.log2(np.linalg.norm(np.ldexp(w, -exponent))) + exponent)
