"""Whether a flow of K outputs that stands beside a critical point comes to it, or goes on from it.

Newton's method finds every critical point, and near a saddle a flow may rest for long. It ends there only on the stable
set of the saddle: what differs from the point then has no part in a direction in which the second derivatives are
negative. And neurons that are zero in the limit have no pattern there: their directions follow the flow of a vanishing
neuron under the duals of the limit, from one boundary to the next, to where their rate must not exceed the decay.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from .._validation import FloatArray, IntArray
from ..kinks._boundaries import names, off, span
from ..networks import Network
from ._output_follow import Follower
from ._output_problem import OutputProblem
from ._point import ZERO_TOL

# A neuron of which less than this part is left in the limit vanishes there.
_LEFT = 1e-3
# Where a neuron goes from a boundary but for rounding is told by so many that are this near to it.
_TRIES, _NEAR = 8, 1e-7
# A neuron has no part in a direction if it is less than this part of it: rounding.
_PART = 1e-12
# A second derivative is negative below this part of the largest one.
_CURVATURE = 1e-11


def doubts_of_leaving(
    problem: OutputProblem, state: Network, net: Network, lam: FloatArray, falling: IntArray
) -> list[str]:
    """Say which neurons take the flow at `state` away from the critical point `net` with the duals `lam`.

    `falling` are the neurons that have a part in a direction in which the objective falls (`parts_that_fall`).
    """
    leave, unclear = _ends(problem, state, net, lam)
    leave = np.union1d(leave, falling)
    reasons = []
    if len(leave):
        reasons.append(f"the flow leaves this saddle, where neurons grow: {names(leave)}")
    if len(unclear):
        reasons.append(f"where neurons go that vanish in the limit is not decided: {names(unclear)}")
    return reasons


def falls(values: FloatArray, unit: float) -> npt.NDArray[np.bool_]:
    """Tell which second derivatives are negative, beside the terms `unit` of the gradient."""
    return np.asarray(values < -max(ZERO_TOL * unit, _CURVATURE * float(np.abs(values).max(initial=0.0))))


def parts_that_fall(vectors: FloatArray, gap: FloatArray, sizes: FloatArray, owner: IntArray) -> IntArray:
    """Return the neurons that have more than rounding in directions in which the objective falls.

    Parameters
    ----------
    vectors : ndarray, shape (P, k)
        The directions, as columns.
    gap : ndarray, shape (P,)
        The state less the critical point.
    sizes : ndarray, shape (m,)
        Of each neuron of the state: what is small beside the network may be all of a small neuron.
    owner : ndarray of int, shape (P,)
        Whose coordinates they are.
    """
    along = vectors @ (vectors.T @ gap)
    parts = np.sqrt(np.bincount(owner, weights=along**2, minlength=len(sizes)))
    return np.flatnonzero(parts > _PART * sizes)


def rate_in_the_end(follower: Follower, w: FloatArray, a: FloatArray, sides: FloatArray) -> float | None:
    """Return the rate at which a neuron grows in the end; None where this is not decided.

    One that has come to a boundary but for rounding may go on from either side of it: there all that are near to it
    must be decided, and the fastest counts.
    """
    if follower.only_shrinks(w, a, sides):
        return 0.0
    end = follower.end(w, a, sides)
    if end.rate is not None:
        return end.rate
    found, rng = follower.found, np.random.default_rng(0)
    held, size = span(found.normal[sides == 0]), float(np.hypot(np.linalg.norm(w), np.linalg.norm(a)))
    fastest = 0.0
    for _ in range(_TRIES):
        beside = w + _NEAR * size * off(rng.standard_normal(len(w)), held)
        put = np.where(sides == 0, 0.0, np.sign(found.normal @ beside))
        end = follower.end(beside, a + _NEAR * size * rng.standard_normal(len(a)), put)
        if end.rate is None:
            return None
        fastest = max(fastest, end.rate)
    return fastest


def _ends(problem: OutputProblem, state: Network, net: Network, lam: FloatArray) -> tuple[IntArray, IntArray]:
    """Follow the neurons that vanish in the limit; return those that grow there, and those that are not decided."""
    assert state.pattern is not None  # for the type checker: the network of a run has one
    before, after = (np.abs(of.theta).max(axis=1) for of in (state, net))
    rows = np.flatnonzero((before > 0) & (after <= _LEFT * before))
    if not len(rows):
        return rows, rows
    found = problem.boundaries
    follower = Follower(found, problem.X, lam, net.leak)
    sides = np.zeros((state.width, len(found.normal)))
    sides[:, found.boundary] = state.pattern * np.sign(found.reach)
    leave, unclear = [], []
    for j in rows:
        rate = rate_in_the_end(follower, state.W[j] / before[j], state.a[j] / before[j], sides[j])
        if rate is None:
            unclear.append(j)
        elif rate > problem.decay + ZERO_TOL * (follower.unit + problem.decay):
            leave.append(j)
    return np.array(leave, dtype=np.int64), np.array(unclear, dtype=np.int64)
