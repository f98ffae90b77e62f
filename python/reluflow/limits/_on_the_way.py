"""Whether neurons that count have events to come on the way from a state to the limit of its pattern.

On that way the weights of the samples change from those of the state, p, to the multipliers λ of the limit. Under
constant ones a neuron turns towards the pull on its group. It stays in its cell if that pull lies there, and if what
holds it on its boundaries lies in their intervals: conditions that hold between two sets of multipliers where they hold
for both. But weights need not come to λ straight. Neurons outside the limit keep a part of the margins for long, and
while they fade weights overshoot. So the pattern has to hold for weights somewhat beyond p, too.
"""

from __future__ import annotations

import numpy as np
from scipy.special import softmax

from .._validation import FloatArray, IntArray
from ..kinks._boundaries import names
from ._checks import clipped_pulls
from ._core import Core
from ._state import State

# The pattern has to hold for λ + k (p - λ) at these k. Weights were seen to come to 1.2.
_PLACES = (1.0, 1.25)
# Groups with less than this part of |θ|² move no margin by more than that.
_COUNTS = 1e-6
# The boundary of a sample with less than this part of all weights is one where no pull changes.
_WEIGHS = 1e-9
# A pull is beyond a boundary by rounding up to this part of its size, and a multiplier beyond its interval.
_ROUNDING = 1e-9
# Weights that differ from λ by less than this part are λ to what a run knows of them.
_SAME = 1e-7


def events_to_come(state: State, core: Core, lam: FloatArray, live: IntArray) -> list[str]:
    """Say which neurons leave the pattern on the way to its limit, of multipliers λ, or may; nothing if none does.

    Beside samples at rest nothing is said: the weights of the state do not tell what is left of theirs.
    """
    if core.rests.any():
        return []
    groups, y = state.groups, state.data.y
    of, squares = groups.of[groups.of >= 0], state.net.a[groups.of >= 0] ** 2
    mass = np.bincount(of, squares, len(groups))
    own = y * lam
    p = float(own.sum()) * softmax(state.log_weights)
    outside = ~np.isin(np.arange(len(groups)), live)
    # A pull that comes to lie on a boundary does not say on which side a neuron outside the limit ends.
    leaves = _beyond(state, lam) > np.where(outside, -_ROUNDING, _ROUNDING)
    if np.abs(p - own).sum() > _SAME * own.sum():
        for place in _PLACES:
            leaves |= _beyond(state, y * np.maximum(own + place * (p - own), 0.0)) > _ROUNDING
    leaves &= mass > _COUNTS * mass.sum()
    rows = np.flatnonzero(np.isin(groups.of, np.flatnonzero(leaves)))
    if not len(rows):
        return []
    return [f"neurons leave the last pattern on the way to its limit, or may: {names(rows)}; events are to come"]


def _beyond(state: State, lam: FloatArray) -> FloatArray:
    """How far the pull of each group is beyond a boundary of its cell, or a multiplier beyond its interval, shape (C,).

    In units of the pull; below 0 by how far it is inside, -1 for groups that nothing pulls.
    """
    groups = state.groups
    found = clipped_pulls(groups, lam, state.net.leak)
    norms = np.linalg.norm(groups.X, axis=1)
    sizes = np.linalg.norm(found.g, axis=1)
    moves = sizes > _ROUNDING * float(np.abs(lam) @ norms)
    units = groups.sign[:, None] * found.g / np.where(moves, sizes, 1.0)[:, None]
    weighs = np.abs(lam) > _WEIGHS * np.abs(lam).sum()
    free = (groups.pattern != 0) & weighs & moves[:, None]
    across = np.where(free, -groups.pattern * (units @ (groups.X / norms[:, None]).T), -1.0).max(axis=1)
    return np.where(found.excess > _ROUNDING, found.excess, across)
