"""Multipliers of what slides, each within the interval that its unit allows."""

from __future__ import annotations

import numpy as np
from scipy.optimize import linprog, lsq_linear

from .._linear_algebra import least_squares
from .._validation import FloatArray
from ._frozen import Frozen

# Singular values of the normals of what slides below this part of the largest are zero.
RANK_TOL = 1e-10
# Steps that find multipliers in intervals which depend on the multipliers above.
_BOX_PASSES = 5
# Width of an interval that is a point.
_NO_WIDTH = 1e-300
# Where more than this part of what multipliers take is left, all intervals are looked at together.
_LEFT = 1e-9
# No multiplier is looked for above so many times the largest that a least-squares solution has.
_MOST = 1e4
# What is left counts so many times as much there as the size of multipliers, both as parts.
_OUTWEIGHS = 1e6


def multipliers_in_boxes(frozen: Frozen, theta: FloatArray, lam: FloatArray, aim: FloatArray) -> FloatArray:
    """Multipliers between leak and 1 times what comes back to each held place, that come nearest to `aim`."""
    mu = np.zeros(len(frozen.held))
    if not len(mu):
        return mu
    N = frozen.normals(theta)
    rest = aim - frozen.pull(theta, lam, mu).theta
    free = mu = least_squares(N.T, rest, RANK_TOL)
    for _ in range(_BOX_PASSES):
        low, high = _intervals(frozen, frozen.pull(theta, lam, mu).back)
        # An interval has to have a width there. One in proportion to what comes back, which may exceed all multipliers,
        # would be used up where boundaries are dependent.
        found = lsq_linear(N.T, rest, bounds=(low, np.maximum(high, low + _NO_WIDTH)), method="bvls")
        if np.array_equal(found.x, mu):
            break
        mu = np.clip(found.x, low, high)

    def left(mu: FloatArray) -> float:
        return float(np.linalg.norm(N.T @ mu - rest))

    if left(mu) - left(free) > _LEFT * float(np.linalg.norm(rest)):
        other = _together(frozen, theta, lam, N, rest, free)
        mu = other if other is not None and left(other) < left(mu) else mu
    return mu


def _intervals(frozen: Frozen, back: FloatArray) -> tuple[FloatArray, FloatArray]:
    leaks = np.array([frozen.nodes[v].leak or 0.0 for v, _, _ in frozen.held])
    return np.minimum(leaks * back, back), np.maximum(leaks * back, back)


def _together(
    frozen: Frozen, theta: FloatArray, lam: FloatArray, N: FloatArray, rest: FloatArray, free: FloatArray
) -> FloatArray | None:
    """Return multipliers found with the intervals that they give those below, or None.

    Where boundaries are dependent those above are not unique, and which of them are taken decides about the ones below.
    What comes back is linear in them; it has the sign of the multiplier `free`, or that which it has without those. The
    smallest are taken, as units that vanish feel them as well.
    """
    scale, size = float(np.abs(free).max()), float(np.linalg.norm(rest))
    if not (np.isfinite(scale) and scale > 0):
        return None
    k, nothing = len(free), np.zeros_like(lam)
    fed = np.column_stack([frozen.pull(theta, nothing, one).back for one in np.eye(k)])
    alone = np.clip(frozen.pull(theta, lam, np.zeros(k)).back, -_MOST * scale, _MOST * scale)
    sign = np.where(fed.any(axis=1), np.sign(free), np.sign(alone))[:, None]
    leaks = np.array([frozen.nodes[v].leak or 0.0 for v, _, _ in frozen.held])[:, None]
    # |N' mu - rest| <= t, |mu| <= m, and mu between leak and 1 times what comes back; in units of `size` and `scale`.
    pulls, ones, eye = N.T * (scale / size), np.ones((len(rest), 1)), np.eye(k)
    free_of_m, no_t, start = np.zeros((len(rest), k)), np.zeros((k, 1)), sign * alone[:, None] / scale
    rows = np.block(
        [
            [pulls, free_of_m, -ones],
            [-pulls, free_of_m, -ones],
            [eye, -eye, no_t],
            [-eye, -eye, no_t],
            [sign * (leaks * fed - eye), 0.0 * eye, no_t],
            [sign * (eye - fed), 0.0 * eye, no_t],
        ]
    )
    bounds = np.concatenate((rest / size, -rest / size, np.zeros(2 * k), (-leaks * start)[:, 0], start[:, 0]))
    costs = np.concatenate((np.zeros(k), np.ones(k), [_OUTWEIGHS]))
    found = linprog(costs, A_ub=rows, b_ub=bounds, bounds=[(None, None)] * k + [(0, None)] * (k + 1))
    if found.x is None:
        return None
    mu = np.asarray(scale * found.x[:k])
    mu = mu + least_squares(N.T, rest - N.T @ mu, RANK_TOL)
    for v in np.unique(frozen.held[:, 0])[::-1]:  # each into the interval that those above give it
        of_node = frozen.held[:, 0] == v
        low, high = _intervals(frozen, frozen.pull(theta, lam, mu).back)
        mu[of_node] = np.clip(mu, low, high)[of_node]
    return mu
