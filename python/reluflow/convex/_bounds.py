"""Bounds computed by us from any duals and any neurons: what a solver says is only where they start."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .._validation import FloatArray
from ._inputs import Deadline, rectify
from ._rectified_sum import RectifiedSum

MAX_NODES = 100_000  # of branch and bound for one sign; digits (60 support samples) take 300
PROOF_RTOL = 1e-13  # how closely branch and bound closes in: near the rounding of the values


class DualNorm(NamedTuple):
    """Bounds of v(λ) = max over unit u of |λᵀφ(Xu)|.

    Attributes
    ----------
    lower, upper : float
    u : ndarray, shape (r,)
        A unit direction that attains ``lower``.
    sign : int
        Sign of λᵀφ(Xu).
    status : str
        "proven", "node_limit" or "stopped".
    n_nodes : int
    """

    lower: float
    upper: float
    u: FloatArray
    sign: int
    status: str
    n_nodes: int


def dual_norm(
    R: FloatArray,
    duals: FloatArray,
    leak: float,
    *,
    neurons: FloatArray,
    deadline: Deadline,
    target: float = 0.0,
    rtol: float = PROOF_RTOL,
    max_nodes: int = MAX_NODES,
) -> DualNorm:
    """Bound v(λ) from both sides; ``neurons`` are directions to start from, an upper bound of ``target`` is enough."""
    best = DualNorm(0.0, 0.0, np.zeros(R.shape[1]), 1, "proven", 0)
    for sign in (1, -1):
        total = RectifiedSum.of(R, sign * duals, leak)
        values, units, _ = total.climb(total.starts(neurons))
        lower = max(best.lower, float(values.max(initial=0.0)))
        upper, status, n_nodes, start = total.bound(
            lower=lower, target=target, rtol=rtol, max_nodes=max_nodes, deadline=deadline
        )
        units = np.vstack((units, start))
        if len(units):
            reached = total.value(units)
            at = int(np.argmax(reached))
            if reached[at] > best.lower:
                best = best._replace(lower=float(reached[at]), u=units[at], sign=sign)
        worst = status if status != "proven" else best.status
        best = best._replace(upper=max(best.upper, upper), status=worst, n_nodes=best.n_nodes + n_nodes)
    return best._replace(upper=max(best.upper, best.lower))


def feasible_value(
    R: FloatArray, y: FloatArray, leak: float, neurons: FloatArray, signs: FloatArray
) -> tuple[float, float]:
    """Return Σ|u_j| after scaling to margins >= 1 (infinity if some margin is not positive), and the least margin."""
    if len(neurons) == 0:
        return float("inf"), 0.0
    least = float((y * (rectify(R @ neurons.T, leak) @ signs)).min())
    if least <= 0:
        return float("inf"), least
    return float(np.linalg.norm(neurons, axis=1).sum() / least), least
