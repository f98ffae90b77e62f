"""Whether a layered flow has events to come between its state and the critical point of its pattern.

Beside a critical point the flow of the pattern is that of its second derivatives: the difference of state and point
falls like e^-κt along each eigenvector, so that flat ones are left over last. On that way what slides needs other
multipliers than at the point: those of a sample whose error falls faster than the others' leave their intervals, though
they come back to them at the end. Then a unit leaves its boundary before, and the limit is another point.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from .._linear_algebra import eigh, least_squares
from .._validation import FloatArray, IntArray
from ..kinks._boundaries import off
from ._boxes import RANK_TOL, multipliers_in_boxes
from ._frozen import Frozen
from ._leaving import span_of
from ._vanishing import places

# Second derivatives below this part of the largest are zero: along them nothing moves any more.
_FLAT = 1e-9
# Places on the way, evenly in log t from before the fastest difference falls until the slowest has fallen by e^-20.
_PLACES, _BEGIN, _END = 24, 0.01, 20.0
# Differences of less than this part of θ are rounding.
_LEAST = 1e-9
# A multiplier is beyond its interval by rounding up to this part of it, and a velocity another one above this part.
_ROUNDING = 1e-6


def way_to(
    hessian: FloatArray, kept: FloatArray, state: FloatArray, point: FloatArray, others: npt.NDArray[np.bool_]
) -> FloatArray:
    """Return parameters (k, P) on the way from a state to a critical point, as `doubts_of_leaving` is given them."""
    basis = span_of(kept[:, others])
    along = off(off(hessian[np.ix_(others, others)], basis).T, basis)
    if not np.isfinite(along).all():
        return np.empty((0, len(point)))
    rates, vectors = eigh(0.5 * (along + along.T))
    falls = rates > _FLAT * float(np.abs(rates).max(initial=0.0))
    if not falls.any():
        return np.empty((0, len(point)))
    rates, vectors = rates[falls], vectors[:, falls]
    left = vectors.T @ off((state - point)[others][None], basis)[0]
    times = np.geomspace(_BEGIN / rates.max(), _END / rates.min(), _PLACES)
    way = np.repeat(point[None], len(times), axis=0)
    way[:, others] += (np.exp(-times[:, None] * rates) * left) @ vectors.T
    return np.asarray(way[np.linalg.norm(way - point, axis=1) > _LEAST * np.linalg.norm(point)])


def doubts_on_the_way(
    frozen: Frozen,
    way: FloatArray,
    point: FloatArray,
    duals: Callable[[FloatArray], FloatArray],
    decay: FloatArray,
) -> list[str]:
    """Say which units leave the pattern on the way to its critical point.

    Parameters
    ----------
    frozen : Frozen
    way : ndarray, shape (k, P)
    point : ndarray, shape (P,)
    duals : callable
        Takes outputs (n, K) and returns -∂L/∂f there.
    decay : ndarray, shape (P,)
        γ of each parameter.
    """
    found: list[IntArray] = []
    # Second derivatives do not tell the square of the distance from the point.
    rough = float((np.linalg.norm(way - point, axis=1).max(initial=0.0) / (np.linalg.norm(point) or 1.0)) ** 2)
    for theta in way:
        lam = duals(np.asarray(frozen.outputs(theta)))
        found += [*_across(frozen, theta, rough), *_let_go(frozen, theta, lam, decay * theta, max(rough, _ROUNDING))]
    units = sorted({(int(v) - 1, int(u)) for v, u in found})
    said = "units leave the last pattern on the way to its critical point, or may: (layer, unit)"
    return [f"{said} {places(units)}; events are to come"] if units else []


def _across(frozen: Frozen, theta: FloatArray, rough: float) -> list[IntArray]:
    """Return node and unit of what is on the other side of a boundary than in the pattern."""
    found: list[IntArray] = []
    for v, z in enumerate(frozen.pre_activations(theta)):
        if v and frozen.nodes[v].leak is not None:
            slack = max(rough, _LEAST) * float(np.abs(z).max(initial=0.0))
            found += [np.array([v, u]) for u in np.flatnonzero((-frozen.sides[v] * z > slack).any(axis=0))]
    held = {(int(v), int(u)) for v, u, _ in frozen.held}
    return [one for one in found if (int(one[0]), int(one[1])) not in held]


def _let_go(frozen: Frozen, theta: FloatArray, lam: FloatArray, aim: FloatArray, slack: float) -> list[IntArray]:
    """Return node and unit of what slides by a multiplier outside its interval, where none inside moves θ the same."""
    if not len(frozen.held):
        return []
    N = frozen.normals(theta)
    rest = aim - frozen.pull(theta, lam, np.zeros(len(N))).theta
    free = least_squares(N.T, rest, RANK_TOL)
    back = frozen.pull(theta, lam, free).back
    leaks = np.array([frozen.nodes[v].leak or 0.0 for v, _, _ in frozen.held])
    low, high = np.minimum(leaks * back, back), np.maximum(leaks * back, back)
    beyond = np.maximum(low - free, free - high) > slack * np.abs(back)
    if not beyond.any():
        return []
    boxed = multipliers_in_boxes(frozen, theta, lam, aim)
    left = np.linalg.norm(N.T @ (boxed - free))
    same = left <= _ROUNDING * np.linalg.norm(N.T @ free - rest)
    return [] if same else list(frozen.held[beyond, :2])
