"""The dual norm of K outputs, max over unit u of |Λᵀ φ(Xu)|, between two bounds.

It is max over unit v in R^K of p(v) = max over unit u of |(Λv)ᵀ φ(Xu)|, the dual norm of one output, which `_bounds`
and the cells of the samples give. p is convex and homogeneous: over the cone of unit vectors v_1, ..., v_r, the columns
of V,

    p(Σ α_k v_k) <= Σ α_k p(v_k) = c·v  with  V^T c = (p(v_1), ..., p(v_r)),

so that p is at most the length of the projection of c on the cone for its unit vectors. Cones with a large bound are
halved along their longest edge, until the largest bound is near the largest p that was met: a halved cone errs by a
quarter as much.
"""

from __future__ import annotations

import heapq
from typing import NamedTuple

import numpy as np
from scipy.optimize import nnls

from .. import _core
from .._linear_algebra import svd
from .._validation import FloatArray
from ._arrangements import arrangements, expected_arrangements
from ._bounds import DualNorm, dual_norm
from ._inputs import Deadline, row_space
from ._pricing import Cells

# Singular values of Λ below this part of the largest are rounding; what they add to the norm is added to the bound.
_RANK_TOL = 1e-14
# Patterns that are looked into one by one; with more, branch and bound on the signs is used for each v.
_CELLS_FIT = 2_000
MAX_POINTS = 3_000  # evaluations of p; three outputs take some hundred for ten digits


class OutputNorm(NamedTuple):
    """Bounds of the dual norm; `u` and `v` are unit vectors with v·Λᵀφ(Xu) = `lower`."""

    lower: float
    upper: float
    u: FloatArray
    v: FloatArray
    n_points: int


class _Responses:
    """p at unit vectors of the row space of Λ, each computed once."""

    def __init__(self, X: FloatArray, duals: FloatArray, leak: float, deadline: Deadline) -> None:
        basis = row_space(X)
        self.basis, self.R, self.duals, self.leak, self.deadline = (
            basis,
            np.ascontiguousarray(X @ basis),
            duals,
            leak,
            deadline,
        )
        self.known: dict[bytes, float] = {}
        self.best = OutputNorm(0.0, 0.0, np.zeros(X.shape[1]), np.zeros(duals.shape[1]), 0)
        count = expected_arrangements(_core.count_boundaries(self.R), self.R.shape[1])
        self.patterns = arrangements(self.R).patterns if count <= _CELLS_FIT else None

    def __call__(self, v: FloatArray) -> float:
        """Return an upper bound of p(v), which is p(v) itself where the search was finished."""
        key = v.tobytes()
        if key not in self.known:
            found = self._norm(self.duals @ v)
            self.known[key] = found.upper
            Z = self.R @ found.u
            H = self.duals.T @ np.maximum(Z, self.leak * Z)
            size = float(np.linalg.norm(H))  # at least v·H, which is what was found
            if size > self.best.lower:
                self.best = self.best._replace(lower=size, u=self.basis @ found.u, v=H / size)
        return self.known[key]

    def _norm(self, weights: FloatArray) -> DualNorm:
        nothing = np.empty((0, self.R.shape[1]))
        if self.patterns is not None:
            return Cells(self.R, np.sign(weights), self.leak, self.patterns).norm(weights, nothing, self.deadline)
        return dual_norm(self.R, weights, self.leak, neurons=nothing, deadline=self.deadline)


def output_norm(
    X: FloatArray, duals: FloatArray, leak: float, *, rtol: float, deadline: Deadline, max_points: int = MAX_POINTS
) -> OutputNorm:
    """Bound the dual norm of duals (n, K), as closely as `rtol` if time and points suffice."""
    rows = duals.any(axis=1)
    if not rows.any():
        return OutputNorm(0.0, 0.0, np.zeros(X.shape[1]), np.zeros(duals.shape[1]), 0)
    X, duals = X[rows], duals[rows]
    _, sizes, right = svd(duals, full_matrices=False)
    used = sizes > _RANK_TOL * sizes[0]
    basis = right[used]
    beyond = float(np.linalg.norm(sizes[~used])) * float(np.linalg.norm(X, 2))
    at = _Responses(X, duals, leak, deadline)

    def bounded(corners: FloatArray) -> tuple[float, int, FloatArray]:
        values = np.array([at(corner) for corner in corners])
        rows = corners @ basis.T
        share = nnls(rows.T, np.linalg.solve(rows, values))[0]  # of the projection of c on the cone
        return -float(np.linalg.norm(share @ rows)), len(at.known), corners

    signs = np.array(np.meshgrid(*[(1.0,), *[(1.0, -1.0)] * (len(basis) - 1)])).reshape(len(basis), -1).T
    cones = [bounded(sign[:, None] * basis) for sign in signs]
    cones = [(bound, k, corners) for k, (bound, _, corners) in enumerate(cones)]
    heapq.heapify(cones)
    number = len(cones)
    while len(basis) > 1 and -cones[0][0] > (1 + rtol) * at.best.lower:
        if len(at.known) >= max_points or deadline.passed:
            break
        corners = heapq.heappop(cones)[2]
        first, second = _longest(corners)
        middle = corners[first] + corners[second]
        middle = middle / np.linalg.norm(middle)
        for replaced in (first, second):
            half = corners.copy()
            half[replaced] = middle
            number += 1
            heapq.heappush(cones, (bounded(half)[0], number, half))
    return at.best._replace(upper=max(at.best.lower, -cones[0][0]) + beyond, n_points=len(at.known))


def _longest(corners: FloatArray) -> tuple[int, int]:
    """Return the two corners that are furthest from each other."""
    closeness = corners @ corners.T + 2.0 * np.eye(len(corners))
    first, second = np.unravel_index(int(np.argmin(closeness)), closeness.shape)
    return int(first), int(second)
