"""F(u) = Σ μ_i φ(x_i·u) on the unit ball: its local maxima, and bounds of the greatest.

A term with μ_i > 0 is convex in u, the larger of the two linear ones with slopes 1 and α; a term with μ_i < 0 is
concave, the least of those with slopes in [α, 1]. So, with σ_i in {α, 1} and τ_i in [α, 1],

    max over |u| <= 1 of F  =  max over σ of min over τ of | Σ_{μ_i>0} σ_i μ_i x_i + Σ_{μ_i<0} τ_i μ_i x_i |,

since for fixed σ the function of u is concave, and minimax applies. Only the signs on the samples with μ_i > 0 are
combinatorial: no cell of the arrangement need be known. `docs/convex.md` has the proof.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .. import _core
from .._validation import FloatArray, IntArray, PatternArray
from ._inputs import Deadline, rectify

SAME_RAY_DECIMALS = 13  # rows whose unit vectors agree to so many decimals have one sign on every u, up to 1e-13
SAME_DIRECTION = 1e-9  # unit vectors closer than this are one local maximum


@dataclass(frozen=True, eq=False)
class RectifiedSum:
    """The function F of the module, in the form of the core. Terms of one sign on one ray are one term.

    Attributes
    ----------
    R : ndarray, shape (n, r)
        The samples.
    mu : ndarray, shape (n,)
    leak : float
    moving : ndarray of int, shape (k,)
        Samples with μ ≠ 0, those with μ > 0 first.
    term : ndarray of int, shape (k,)
        The term that each of them belongs to.
    leaders : ndarray of int
        One sample of each term with μ > 0.
    vectors : ndarray, shape (1 + number of terms, r)
        α Σ μ_i x_i, then the sum of (1 - α) μ_i x_i over each term, those with μ > 0 first.
    """

    R: FloatArray
    mu: FloatArray
    leak: float
    moving: IntArray
    term: IntArray
    leaders: IntArray
    vectors: FloatArray

    @classmethod
    def of(cls, R: FloatArray, mu: FloatArray, leak: float) -> RectifiedSum:
        """Build the function from samples and weights."""
        up, down = np.flatnonzero(mu > 0), np.flatnonzero(mu < 0)
        moving = np.concatenate((up, down))
        up_term, down_term = _rays(R[up]), _rays(R[down])
        n_up = int(up_term.max(initial=-1)) + 1
        term = np.concatenate((up_term, n_up + down_term))
        vectors = np.zeros((2 + int(term.max(initial=-1)), R.shape[1]))
        vectors[0] = leak * (mu @ R)
        np.add.at(vectors, 1 + term, (1 - leak) * mu[moving, None] * R[moving])
        leaders = up[np.unique(up_term, return_index=True)[1]]
        return cls(R, mu, leak, moving, term, leaders, vectors)

    def value(self, U: FloatArray) -> FloatArray:
        """Return F at each row of U."""
        values: FloatArray = rectify(U @ self.R.T, self.leak) @ self.mu
        return values

    def climb(self, starts: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Climb from each direction to a local maximum on the sphere.

        Parameters
        ----------
        starts : ndarray, shape (s, r)
            Only the signs on the samples with μ > 0 matter.

        Returns
        -------
        values : ndarray, shape (k,)
            The distinct positive local maxima, greatest first.
        U : ndarray, shape (k, r)
            Unit vectors.
        slopes : ndarray, shape (k, n)
            The slope of each sample with u = Σ slope μ x / value; 0 where μ = 0.
        """
        choices = np.ascontiguousarray(starts @ self.R[self.leaders].T > 0, dtype=np.int8)
        weights = _core.climb_polar(self.vectors, len(self.leaders), np.unique(choices, axis=0))
        return self._distinct(weights)

    def bound(
        self, *, lower: float, target: float, rtol: float, max_nodes: int, deadline: Deadline
    ) -> tuple[float, str, int, FloatArray]:
        """Bound the maximum from above by branch and bound.

        Returns
        -------
        upper : float
        status : str
            "proven", "node_limit" or "stopped".
        n_nodes : int
        start : ndarray, shape (k, r)
            The direction of the best value met, to climb from; empty if none was.
        """
        hook = None if deadline.seconds is None else lambda _: deadline.passed
        found = _core.bound_polar(self.vectors, len(self.leaders), max(lower, 0.0), target, rtol, max_nodes, hook)
        if found["status"] == "interrupted":
            raise KeyboardInterrupt
        choice: PatternArray = found["choice"]
        start = np.empty((0, self.R.shape[1]))
        if len(choice) == len(self.leaders) and found["lower"] > 0:
            weights = _core.climb_polar(self.vectors, len(self.leaders), choice[None, :])
            start = self._distinct(weights)[1]
        return float(found["upper"]), str(found["status"]), int(found["n_nodes"]), start

    def starts(self, neurons: FloatArray) -> FloatArray:
        """Return directions worth climbing from: the neurons, a sample of each term with μ > 0, and their sum."""
        own = self.vectors[1 : 1 + len(self.leaders)]
        return np.vstack((neurons, own, own.sum(axis=0)[None, :]))

    def _distinct(self, weights: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        sums = weights @ self.vectors
        values = np.linalg.norm(sums, axis=1)
        order = np.argsort(-values, kind="stable")
        kept: list[int] = []
        units = sums / np.where(values > 0, values, 1.0)[:, None]
        for j in order:
            if values[j] > 0 and all(np.linalg.norm(units[j] - units[k]) > SAME_DIRECTION for k in kept):
                kept.append(int(j))
        slopes = np.zeros((len(kept), len(self.mu)))
        slopes[:, self.moving] = self.leak + (1 - self.leak) * weights[kept][:, 1 + self.term]
        return values[kept], units[kept], slopes


def _rays(rows: FloatArray) -> IntArray:
    """Return the number of the ray of each row, in the order of their first rows."""
    if len(rows) < 2:
        return np.zeros(len(rows), dtype=np.int64)
    units = np.round(rows / np.linalg.norm(rows, axis=1)[:, None], SAME_RAY_DECIMALS)
    _, first, inverse = np.unique(units + 0.0, axis=0, return_index=True, return_inverse=True)
    order = np.empty(len(first), dtype=np.int64)
    order[np.argsort(first)] = np.arange(len(first))
    numbers: IntArray = order[inverse.reshape(-1)]
    return numbers
