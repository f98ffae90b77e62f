"""The right-hand side for the peers that are called from Python: two matrix products, and one fused loop between.

The loop is compiled by numba where that is installed; then the whole runs at the speed of the compiled Euler step of
reluflow. Else it is numpy in place.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.special import expit

from problems import Problem

ROUNDING = 1e-15
Middle = Callable[[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray], None]
Velocity = Callable[[float, np.ndarray, np.ndarray], None]


def _numpy_middle(Z: np.ndarray, S: np.ndarray, y: np.ndarray, a: np.ndarray, da: np.ndarray) -> None:
    """From Z (n, m) and slopes S to the velocity of a, and to Z_ij <- λ_i s_ij a_j in place."""
    Z *= S
    pull = y * expit(-y * (Z @ a))
    np.dot(pull, Z, out=da)
    np.multiply(S, pull[:, None], out=Z)
    Z *= a


def _loop(Z: np.ndarray, S: np.ndarray, y: np.ndarray, a: np.ndarray, da: np.ndarray) -> None:
    da[:] = 0.0
    for i in range(Z.shape[0]):
        q = 0.0
        for j in range(Z.shape[1]):
            q += S[i, j] * Z[i, j] * a[j]
        pull = y[i] / (1.0 + np.exp(y[i] * q))
        for j in range(Z.shape[1]):
            da[j] += pull * S[i, j] * Z[i, j]
            Z[i, j] = pull * S[i, j] * a[j]


def middle() -> Middle:
    try:
        from numba import njit
    except ImportError:
        return _numpy_middle
    compiled: Middle = njit(fastmath=True)(_loop)
    return compiled


class Flow:
    """The velocity on θ = (W, a) flat: through the kinks with ReLU'(0) = 0, or with a pattern that the caller keeps."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.X, self.y = np.ascontiguousarray(problem.X), problem.y
        self.shape = problem.W.shape
        self.theta = np.concatenate([problem.W.ravel(), problem.a])
        self.Z = np.empty((len(self.y), self.shape[0]))
        self.S = np.empty_like(self.Z)
        self.middle = middle()
        self.signs(self.theta, self.S)
        self(0.0, self.theta, np.empty_like(self.theta), self.S)  # compiles

    def atol(self, rtol: float) -> float:
        """The absolute tolerance: rtol times the scale of the start."""
        return rtol * float(np.abs(self.problem.a).max())

    def parts(self, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        m = self.shape[0]
        return theta[:-m].reshape(self.shape), theta[-m:]

    def boundaries(self, theta: np.ndarray) -> np.ndarray:
        """The pre-activations, shape (n, m)."""
        return np.asarray(self.X @ self.parts(theta)[0].T)

    def signs(self, theta: np.ndarray, out: np.ndarray) -> None:
        np.greater(self.boundaries(theta), 0.0, out=out, casting="unsafe")

    def crossed(self, theta: np.ndarray, S: np.ndarray) -> np.ndarray:
        """The pairs, as flat indices, beyond their boundary by more than the rounding that a crossing leaves."""
        Z = self.boundaries(theta)
        return np.flatnonzero(np.where(S > 0.0, -Z, Z) > ROUNDING * np.abs(Z).max())

    def __call__(self, t: float, theta: np.ndarray, out: np.ndarray, S: np.ndarray | None = None) -> None:
        (W, a), (dW, da) = self.parts(theta), self.parts(out)
        np.dot(self.X, W.T, out=self.Z)
        if S is None:
            S = self.S
            np.greater(self.Z, 0.0, out=S, casting="unsafe")
        self.middle(self.Z, S, self.y, a, da)
        np.dot(self.Z.T, self.X, out=dW)

    def value(self, t: float, theta: np.ndarray) -> np.ndarray:
        """Through the kinks, as a new array."""
        out = np.empty_like(theta)
        self(t, theta, out)
        return out
