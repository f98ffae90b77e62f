"""The problem of a run with K outputs: samples, targets as numbers or one-hot rows, the loss, the decay."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import softmax

from .._validation import FloatArray
from ..kinks._boundaries import Boundaries, boundaries


@dataclass(frozen=True, eq=False)
class OutputProblem:
    """What is minimised.

    Attributes
    ----------
    X : ndarray, shape (n, d)
    targets : ndarray, shape (n, K)
        Numbers, or one-hot rows of cross-entropy.
    counts : ndarray, shape (n,)
    loss : {"squared", "cross_entropy"}
    decay : float
        γ beside the summed loss.
    """

    X: FloatArray
    targets: FloatArray
    counts: FloatArray
    loss: str
    decay: float

    def duals(self, f: FloatArray) -> FloatArray:
        """λ = -∂L/∂f, shape (n, K)."""
        guess = f if self.loss == "squared" else softmax(f, axis=1)
        return np.asarray(self.counts[:, None] * (self.targets - guess))

    def curvatures(self, f: FloatArray) -> FloatArray:
        """∂²L/∂f² of each sample, shape (n, K, K)."""
        K = f.shape[1]
        if self.loss == "squared":
            return np.asarray(self.counts[:, None, None] * np.eye(K))
        p = softmax(f, axis=1)
        return np.asarray(self.counts[:, None, None] * (p[:, :, None] * np.eye(K) - p[:, :, None] * p[:, None, :]))

    def margins(self, f: FloatArray) -> FloatArray:
        """Return f_y - f_k of every class k, inf for y itself, shape (n, K)."""
        own = (self.targets * f).sum(axis=1, keepdims=True)
        return np.where(self.targets == 1.0, np.inf, own - f)

    @cached_property
    def boundaries(self) -> Boundaries:
        """The boundaries of the samples."""
        return boundaries(self.X)
