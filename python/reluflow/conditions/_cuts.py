"""The greatest normalised margin without positive neurons on a few samples, bounded from both sides.

By the minimax theorem [LLWA, Lemma G.10] it is

    v = min over λ >= 0, Σ λ = 1, of V(λ),   V(λ) = max over |u| <= 1 of ½ Σ_i -λ_i y_i φ(u·x_i).

φ(z) = max(z, αz): a negative sample enters V with a maximum over its slope s_i in {1, α}, a positive one, because of
the minus, with a minimum over s_i in [α, 1]. So V(λ) is the maximum over the slopes of the negative samples of the
least ½ |Σ -λ_i y_i s_i x_i| over the slopes of the positive ones: box-constrained least squares, no enumeration of
cells.

The outer minimum is found by cutting planes. Every neuron u found so far bounds V from below by a function linear in λ;
their linear program bounds v from below and gives the next λ, whose V(λ) bounds v from above.
"""

from __future__ import annotations

import itertools

import numpy as np
from scipy.optimize import linprog, lsq_linear

from .._validation import FloatArray

TIE_RTOL = 1e-9  # a margin this close to the bound equals it, and the assumption asks for less
LP_TOL = 1e-10  # the least that HiGHS takes: with its own 1e-7 cuts near a tie count as kept, and the search stalls
SHORT = 1e-14  # relative length of a resultant that is zero: then no neuron helps


class CutSearch:
    """Cutting planes for v on samples X (s, d) with labels y (s,) and the leak α.

    Attributes
    ----------
    lower, upper : float
        Bounds of v.
    multipliers : ndarray, shape (s,)
        λ with V(λ) = upper.
    """

    def __init__(self, X: FloatArray, y: FloatArray, leak: float) -> None:
        self._signed = X * y[:, None]
        self._X, self._y, self._leak = X, y, leak
        self._neurons: list[FloatArray] = []
        self._cuts: list[FloatArray] = []
        self._mixture: FloatArray = np.zeros(0)
        self.lower, self.upper = 0.0, np.inf  # a = 0 is allowed and has the margin 0
        self.multipliers: FloatArray = np.full(len(y), 1 / len(y))

    def compare(self, bound: float, start: FloatArray, max_cuts: int) -> bool | None:
        """Return whether v < bound, or None if it takes more than `max_cuts` cuts to tell."""
        weights = start
        for _ in range(max_cuts):
            value, neuron = self._support(weights)
            if value < self.upper:
                self.upper, self.multipliers = value, weights
            if self.upper < bound * (1 - TIE_RTOL):
                return True
            self._neurons.append(neuron)
            self._cuts.append(-0.5 * self._y * self._phi(self._X @ neuron))
            weights = self._master()
            if self.lower >= bound * (1 - TIE_RTOL):
                return False
        return None

    def network(self) -> tuple[FloatArray, FloatArray]:
        """Return W, a of the network with |θ| = 1, a <= 0 and a least margin of `lower` on the samples."""
        used = np.flatnonzero(self._mixture > 0)
        if len(used) == 0:
            return np.eye(1, self._X.shape[1]), np.zeros(1)
        size = np.sqrt(self._mixture[used] / 2)
        return size[:, None] * np.array([self._neurons[k] for k in used]), -size

    def _phi(self, z: FloatArray) -> FloatArray:
        return np.maximum(z, self._leak * z)

    def _support(self, weights: FloatArray) -> tuple[float, FloatArray]:
        """Return an upper bound of V(λ), sharp to rounding, and the neuron u that attains it (any, if it is 0)."""
        vectors = -weights[:, None] * self._signed
        positive = np.flatnonzero((self._y > 0) & (weights > 0))
        negative = np.flatnonzero((self._y < 0) & (weights > 0))
        best, neuron = 0.0, np.eye(self._X.shape[1])[0]
        scale = float(np.linalg.norm(vectors))
        for slopes in itertools.product((1.0, self._leak), repeat=len(negative)):
            resultant = np.array(slopes) @ vectors[negative]
            if len(positive):
                box = lsq_linear(vectors[positive].T, -resultant, (self._leak, 1.0), method="bvls", tol=1e-15)
                resultant = resultant + box.x @ vectors[positive]
            length = float(np.linalg.norm(resultant))
            if length / 2 > best and length > SHORT * scale:
                best, neuron = length / 2, resultant / length
        return best, neuron

    def _master(self) -> FloatArray:
        """Solve min t s.t. cuts·λ <= t over the simplex; keep the bound and the mixture of neurons that proves it."""
        s, k = len(self._y), len(self._cuts)
        found = linprog(
            np.append(np.zeros(s), 1.0),
            A_ub=np.hstack((np.array(self._cuts), -np.ones((k, 1)))),
            b_ub=np.zeros(k),
            A_eq=np.append(np.ones(s), 0.0)[None, :],
            b_eq=[1.0],
            bounds=[(0, 1)] * s + [(None, None)],
            method="highs",
            options={"primal_feasibility_tolerance": LP_TOL, "dual_feasibility_tolerance": LP_TOL},
        )
        shares = np.maximum(-found.ineqlin.marginals, 0)
        shares /= shares.sum()
        # The bound is recomputed from the network itself, so that it does not rest on the accuracy of the solver.
        lower = float((shares @ np.array(self._cuts)).min())
        if lower > self.lower:
            self.lower, self._mixture = lower, shares
        weights = np.maximum(np.asarray(found.x, dtype=np.float64)[:s], 0.0)
        scaled: FloatArray = weights / weights.sum()
        return scaled
