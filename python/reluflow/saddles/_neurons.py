"""The neurons of the limit process: grown ones with their weights, the others with a direction and a log-norm."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .._validation import FloatArray, PatternArray
from ..networks import Network

# An infinitesimal neuron stands in a run at about 1e-144: far below what rounding keeps of the sums that the others
# make, far above the smallest double.
TINY_LOG2 = -480


@dataclass(frozen=True, eq=False)
class Neurons:
    """All m neurons at one instant of the limit of vanishing initialisation.

    With L = log(1/ε), an infinitesimal neuron has log |w_j| = `power` L + `log_size` + o(1).

    Attributes
    ----------
    w : ndarray, shape (m, d)
        Weights of grown neurons, unit directions of the others.
    a : ndarray, shape (m,)
        Output weights of grown neurons, signs of the others.
    grown : ndarray of bool, shape (m,)
    pattern : ndarray, shape (m, n), int8, or None
        Exact signs of the pre-activations; None at the start, where they are read off `w`.
    power, log_size : ndarray, shape (m,)
        Zeros for grown neurons.
    leak : float
    """

    w: FloatArray
    a: FloatArray
    grown: npt.NDArray[np.bool_]
    pattern: PatternArray | None
    power: FloatArray
    log_size: FloatArray
    leak: float

    @property
    def network(self) -> Network:
        """The grown neurons, all others at zero."""
        W, a = np.where(self.grown[:, None], self.w, 0.0), np.where(self.grown, self.a, 0.0)
        return Network(W, a, leak=self.leak, pattern=self.pattern)


def at_start(directions: FloatArray, signs: FloatArray, leak: float) -> Neurons:
    """Put all neurons at |w_j| = |a_j| = ε."""
    m = len(signs)
    unit = directions / np.linalg.norm(directions, axis=1, keepdims=True)
    nobody = np.zeros(m, dtype=np.bool_)
    return Neurons(unit, np.array(signs), nobody, None, np.full(m, -1.0), np.zeros(m), leak)


def log2_sizes(net: Network) -> FloatArray:
    """Return log2 |w_j|, without underflow of squares; -inf for zero, shape (m,)."""
    largest = np.abs(net.W).max(axis=1)
    exponent = np.frexp(largest)[1]
    with np.errstate(divide="ignore"):
        return np.asarray(np.log2(np.linalg.norm(np.ldexp(net.W, -exponent[:, None]), axis=1)) + exponent)
