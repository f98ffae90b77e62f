"""KKT points of small networks of any kind, by minimising ½|θ|² under the margins, and the programs that judge them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.optimize import minimize, nnls

from ..._validation import FloatArray, optional_module
from ._checks import Margins, gradients

_minimize: Any = minimize  # its stubs know no constraints with a Jacobian
TRIES = 40  # starts tried for one KKT point
RESIDUAL = 1e-6  # stationarity relative to |θ| below which a point counts as one
TIGHT = 1e-6  # margins within this of 1 carry a multiplier
SIZE = 1e-3  # smaller vectors count as zero


def kkt_point(
    margins: Margins, size: int, rng: np.random.Generator, zero: Sequence[int] = ()
) -> tuple[FloatArray, FloatArray] | None:
    """Return a KKT point of min ½|θ|² subject to margins of at least 1 from a random start, and its multipliers.

    Parameters
    ----------
    margins : callable
        Smooth around the points visited.
    size : int
        Number of weights.
    rng : numpy.random.Generator
    zero : sequence of int, optional
        Weights that start at 0 and stay there: the pull on them is 0 as long as all of their path is.
    """
    free = np.setdiff1d(np.arange(size), zero)

    def whole(part: FloatArray) -> FloatArray:
        theta = np.zeros(size)
        theta[free] = part
        return theta

    for _ in range(TRIES):
        start = rng.standard_normal(len(free))
        found = _minimize(
            _half_square,
            start,
            jac=np.asarray,
            method="SLSQP",
            constraints={
                "type": "ineq",
                "fun": lambda part: np.asarray(margins(whole(part)), dtype=float) - 1,
                "jac": lambda part: gradients(margins, whole(part))[:, free],
            },
            options={"maxiter": 500, "ftol": 1e-15},
        )
        theta = whole(found.x)
        duals, residual = multipliers(margins, theta)
        if residual <= RESIDUAL and np.min(margins(theta)) >= 1 - TIGHT:
            return theta, duals
    return None


def _half_square(theta: FloatArray) -> float:
    return 0.5 * float(theta @ theta)


def multipliers(margins: Margins, theta: FloatArray) -> tuple[FloatArray, float]:
    """Return the best multipliers of a point, at least 0 and at least margins only, and |θ - Σ λ ∂q|/|θ|."""
    tight = np.asarray(margins(theta), dtype=float) <= 1 + TIGHT
    duals = np.zeros(len(tight))
    pulls = gradients(margins, theta)[tight]
    if len(pulls):
        duals[tight] = nnls(pulls.T, theta)[0]
    size = float(np.linalg.norm(theta))
    gap = float(np.linalg.norm(theta - duals @ gradients(margins, theta)))
    return duals, gap / size if size > 0 else np.inf


def least_layer(rows: FloatArray) -> float:
    """Return the least |u|² with rows u >= 1: Problem (4) of a layer in which all margins are linear.

    Parameters
    ----------
    rows : ndarray, shape (n, p)
    """
    cvxpy = optional_module("cvxpy", "convex")
    u = cvxpy.Variable(rows.shape[1])
    problem = cvxpy.Problem(cvxpy.Minimize(cvxpy.sum_squares(u)), [rows @ u >= 1])
    return float(problem.solve(solver=cvxpy.CLARABEL))


def least_groups(patches: FloatArray, y: FloatArray) -> float:
    """Return the least Σ|u_l| with y_i Σ_l u_l·x_i⁽ˡ⁾ >= 1, Problem (8).

    Parameters
    ----------
    patches : ndarray, shape (n, k, p)
        What each of k neurons sees of each sample.
    y : ndarray, shape (n,)
    """
    cvxpy = optional_module("cvxpy", "convex")
    _, k, p = patches.shape
    u = cvxpy.Variable((k, p))
    margins = sum(cvxpy.multiply(y, patches[:, j] @ u[j]) for j in range(k))
    problem = cvxpy.Problem(cvxpy.Minimize(cvxpy.sum(cvxpy.norm(u, axis=1))), [margins >= 1])
    return float(problem.solve(solver=cvxpy.CLARABEL))
