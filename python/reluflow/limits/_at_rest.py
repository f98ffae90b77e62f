"""Multipliers of samples at rest that no live group tells: those of the flow."""

from __future__ import annotations

import numpy as np

from .._linear_algebra import least_squares, svd
from .._validation import FloatArray, IntArray
from ._core import Core
from ._state import State

# Singular values below this part of the largest are zero.
_RANK_TOL = 1e-11
# Samples of one boundary whose λ add up to less than this part of their sizes hold no neuron there by λ alone.
_CANCELS = 1e-9


def standing(state: State, core: Core, lam: FloatArray, live: IntArray) -> FloatArray:
    """Take the multipliers under which the groups that are not live stand.

    Margins that stay finite are held by the groups that stay finite. The flow moves these as little as it can, in the
    measure of their masses: where it can they do not move at all.
    """
    groups, rests = state.groups, np.flatnonzero(core.rests)
    others = np.setdiff1d(np.arange(len(groups)), live)
    own, output = groups.of[groups.of >= 0], state.net.a[groups.of >= 0]
    root = np.sqrt(np.bincount(own, output**2, len(groups)))[others]
    if not root.any():
        return lam
    root /= root.max()
    left, sizes, _ = svd(np.hstack([groups.map(c, rests) for c in live]))
    free = left[:, np.count_nonzero(sizes > _RANK_TOL * sizes.max(initial=0.0)) :]
    moves = np.hstack([size * (free.T @ groups.map(c, rests)) for size, c in zip(root, others, strict=True)])
    pulls = (root[:, None] * groups.pulls(lam)[others]).ravel()
    largest = float(np.linalg.norm(moves, 2)) if moves.size else 0.0
    rounding = _RANK_TOL * float(np.linalg.norm(state.data.X, axis=1).max())
    if largest <= rounding:
        return lam
    found = np.array(lam)
    found[rests] -= free @ least_squares(moves.T, pulls, rounding / largest)
    return found


def beside_boundaries(state: State, core: Core, lam: FloatArray, live: IntArray) -> FloatArray:
    """Give samples at rest that hold neurons beside their common boundary the multipliers that these need.

    Samples of both labels on one boundary pull against each other, so that λ alone holds no neuron there. One that is
    active on them by a distance like 1/t moves their values from zero by as much, and they answer with what it needs.
    """
    groups, found = state.groups, np.array(lam)
    holding = {int(k) for c in live for k in groups.held_boundaries(int(c))}
    for k in holding:
        samples = groups.boundaries.members(k)
        reach = groups.boundaries.reach[samples]
        pull = core.duals[samples] * reach
        answers = core.rests[samples].all() and abs(pull.sum()) <= _CANCELS * np.abs(pull).sum()
        if not answers or groups.slope[np.ix_(live, samples)].any() or np.ptp(np.sign(reach)) > 0:
            continue
        needs = np.array([_need(state, int(c), k, lam) for c in live if k in groups.held_boundaries(int(c))])
        most = needs[np.argmax(np.abs(needs))]
        found[samples[0]] += (most - found[samples] @ reach) / reach[0]
    return found


def _need(state: State, group: int, boundary: int, lam: FloatArray) -> float:
    """Return the multiplier that holds a group on one of its boundaries."""
    groups = state.groups
    held = groups.held_boundaries(group)
    drive = (groups.slope[group] * lam) @ groups.X
    need = least_squares(groups.boundaries.normal[held].T, -drive)
    return float(need[np.flatnonzero(held == boundary)[0]])
