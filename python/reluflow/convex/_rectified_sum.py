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

SAME_DIRECTION = 1e-9  # unit vectors closer than this are one local maximum


@dataclass(frozen=True, eq=False)
class RectifiedSum:
    """The function F of the module, in the form of the core.

    Attributes
    ----------
    R : ndarray, shape (n, r)
        The samples.
    mu : ndarray, shape (n,)
    leak : float
    up, down : ndarray of int
        Samples with μ > 0 and with μ < 0.
    vectors : ndarray, shape (1 + k + l, r)
        α Σ μ_i x_i, then (1 - α) μ_i x_i for `up` and for `down`.
    """

    R: FloatArray
    mu: FloatArray
    leak: float
    up: IntArray
    down: IntArray
    vectors: FloatArray

    @classmethod
    def of(cls, R: FloatArray, mu: FloatArray, leak: float) -> RectifiedSum:
        """Build the function from samples and weights."""
        up, down = np.flatnonzero(mu > 0), np.flatnonzero(mu < 0)
        moving = np.concatenate((up, down))
        base = leak * (mu @ R)
        vectors = np.vstack((base, (1 - leak) * mu[moving, None] * R[moving]))
        return cls(R, mu, leak, up, down, vectors)

    def value(self, U: FloatArray) -> FloatArray:
        """Return F at each row of U."""
        values: FloatArray = rectify(U @ self.R.T, self.leak) @ self.mu
        return values

    def climb(self, starts: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Climb from each direction to a local maximum on the sphere.

        Parameters
        ----------
        starts : ndarray, shape (s, r)
            Only the signs on the samples `up` matter.

        Returns
        -------
        values : ndarray, shape (k,)
            The distinct positive local maxima, greatest first.
        U : ndarray, shape (k, r)
            Unit vectors.
        slopes : ndarray, shape (k, n)
            The slope of each sample with u = Σ slope μ x / value; 0 where μ = 0.
        """
        choices = np.ascontiguousarray(starts @ self.R[self.up].T > 0, dtype=np.int8)
        weights = _core.climb_polar(self.vectors, len(self.up), np.unique(choices, axis=0))
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
        hook = None if deadline.seconds is None else lambda report: report["seconds"] > deadline.left
        found = _core.bound_polar(self.vectors, len(self.up), max(lower, 0.0), target, rtol, max_nodes, hook)
        if found["status"] == "interrupted":
            raise KeyboardInterrupt
        choice: PatternArray = found["choice"]
        start = np.empty((0, self.R.shape[1]))
        if len(choice) == len(self.up) and found["lower"] > 0:
            weights = _core.climb_polar(self.vectors, len(self.up), choice[None, :])
            start = self._distinct(weights)[1]
        return float(found["upper"]), str(found["status"]), int(found["n_nodes"]), start

    def starts(self, neurons: FloatArray) -> FloatArray:
        """Return directions worth climbing from: the neurons, each sample in `up`, and their sum."""
        own = self.R[self.up]
        return np.vstack((neurons, own, (self.mu[self.up] @ own)[None, :]))

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
        moving = np.concatenate((self.up, self.down))
        slopes[:, moving] = self.leak + (1 - self.leak) * weights[kept, 1:]
        return values[kept], units[kept], slopes
