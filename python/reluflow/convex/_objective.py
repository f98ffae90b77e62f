"""The objective with weight decay, over neurons u_j of signs s_j, and its dual.

    P(u) = Σ_i c_i ℓ_i(f_i) + γ Σ_j |u_j|,  f_i = Σ_j s_j φ(u_j·x_i),        D(λ) = -Σ_i (c_i ℓ_i)*(-λ_i)

with |λᵀφ(Xu)| <= γ for all unit u in the dual. P >= D needs no more than Fenchel's inequality: with f the outputs of
any network, Σ c ℓ(f) >= D(λ) - λᵀf, and λᵀf = Σ_j s_j λᵀφ(Xu_j) <= γ Σ|u_j|.

Per sample, with p_i = y_i λ_i / c_i for the losses of margins:

    squared      λ y - λ²/(2c)              any λ
    logistic     -c (p log p + (1 - p) log(1 - p))     0 <= p <= 1
    exponential  -c (p log p - p)           p >= 0
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq
from scipy.special import entr

from .._validation import FloatArray
from ..losses import is_of_margins, log_curvatures, log_total, log_weights
from ._inputs import rectify
from ._solution import BoolArray

LEAST_SHARE = 1e-300  # p is kept this far from 0, where the output is infinite


@dataclass(frozen=True, eq=False)
class Objective:
    """The problem in coordinates of the row space, samples that count nothing left out.

    Attributes
    ----------
    R : ndarray, shape (n, r)
    y : ndarray, shape (n,)
    counts : ndarray, shape (n,)
        c_i > 0, with the factor of the reduction.
    loss : str
    leak : float
    decay : float
        γ > 0.
    """

    R: FloatArray
    y: FloatArray
    counts: FloatArray
    loss: str
    leak: float
    decay: float

    def outputs(self, neurons: FloatArray, signs: FloatArray) -> FloatArray:
        """Return f on the samples, shape (n,)."""
        return rectify(self.R @ neurons.T, self.leak) @ signs

    def loss_value(self, f: FloatArray) -> float:
        """Return Σ c ℓ; infinity where it is beyond the doubles."""
        if not is_of_margins(self.loss):
            return float(0.5 * (self.counts @ (f - self.y) ** 2))
        with np.errstate(over="ignore"):
            return float(np.exp(log_total(self.y * f, self.loss, self.counts)))

    def value(self, neurons: FloatArray, signs: FloatArray) -> float:
        """Return the objective of a network."""
        return self.loss_value(self.outputs(neurons, signs)) + self.decay * float(np.linalg.norm(neurons, axis=1).sum())

    def duals(self, f: FloatArray) -> FloatArray:
        """Return λ = -∂/∂f of the loss."""
        if not is_of_margins(self.loss):
            return self.counts * (self.y - f)
        with np.errstate(over="ignore"):
            return np.asarray(self.counts * self.y * np.exp(log_weights(self.y * f, self.loss)))

    def curvatures(self, f: FloatArray) -> FloatArray:
        """Return the second derivatives of the loss in each output."""
        if not is_of_margins(self.loss):
            return self.counts
        with np.errstate(over="ignore"):
            return np.asarray(self.counts * np.exp(log_curvatures(self.y * f, self.loss)))

    def admissible(self, duals: FloatArray) -> FloatArray:
        """Return the nearest duals at which the dual value is finite."""
        if not is_of_margins(self.loss):
            return duals
        top = self.counts if self.loss == "logistic" else np.inf
        return np.asarray(self.y * np.clip(self.y * duals, 0.0, top))

    def dual_value(self, duals: FloatArray) -> float:
        """Return D(λ) for admissible λ."""
        if not is_of_margins(self.loss):
            return float(duals @ self.y - 0.5 * (duals**2 / self.counts).sum())
        p = self.y * duals / self.counts
        if self.loss == "exponential":
            return float(self.counts @ (entr(p) + p))
        rest = 1.0 - p
        return float(self.counts @ (entr(p) - np.where(rest > 0, rest * np.log1p(-np.minimum(p, 1 - 1e-16)), 0.0)))

    def scaled(self, duals: FloatArray, norm: float) -> tuple[FloatArray, float]:
        """Return tλ with the t that makes D(tλ) largest where tλ is feasible, and D there.

        Parameters
        ----------
        duals : ndarray, shape (n,)
            Admissible.
        norm : float
            An upper bound of max |λᵀφ(Xu)|.
        """
        used = duals != 0
        if not used.any():
            return duals, 0.0
        top = self.decay / norm if norm > 0 else 1.0
        if self.loss == "logistic":
            top = min(top, float((self.counts / np.abs(np.where(used, duals, 1e-300)))[used].min()))

        scale = min(top, self._best_scale(duals[used], used, top))
        best = scale * duals
        return best, self.dual_value(best)

    def _best_scale(self, duals: FloatArray, used: BoolArray, top: float) -> float:
        """Return the t > 0 where D(tλ) is largest, or any t >= `top` if that is beyond `top`; λ as far as it is used.

        For squares and exponentials it has a closed form: where λ moves no neuron, `top` is 1 over rounding, and no
        bracket for a search.
        """
        y, counts = self.y[used], self.counts[used]
        if not is_of_margins(self.loss):
            largest = float(np.abs(duals).max())
            unit = duals / largest  # squares of small duals underflow
            return max(float(unit @ y) / float((unit**2 / counts).sum()), 0.0) / largest
        sizes = np.abs(duals)
        if self.loss == "exponential":
            with np.errstate(over="ignore"):
                return float(np.exp(-(sizes @ np.log(sizes / counts)) / sizes.sum()))

        def slope(t: float) -> float:
            p = np.maximum(t * sizes / counts, LEAST_SHARE)
            return float(sizes @ (np.log1p(-np.minimum(p, 1 - 1e-16)) - np.log(p)))

        if slope(top) >= 0:
            return top
        return float(brentq(slope, 0.25 * top, top, xtol=1e-15 * top))  # p <= 1/4 at its lower end: D rises there
