"""Whether neurons that count have events to come on the way from a state to the limit of its pattern.

On that way the weights of the samples change from those of the state, p, to the multipliers λ of the limit. Under
constant ones a neuron turns towards the pull on its group. It stays in its cell if that pull lies there, and if what
holds it on its boundaries lies in their intervals: conditions that hold between two sets of multipliers where they hold
for both. But weights need not come to λ straight. Neurons outside the limit keep a part of the margins for long, and
while they fade weights overshoot. So the pattern has to hold for weights somewhat beyond p, too.

Samples at rest answer. Their own weights cancel, and what is left of them beside the shrinking ones of the others is
what keeps their values where they are: with the tangent kernel K of the state, K_rr λ_r = -K_rg λ_g of those that grow.

Where the pulls of all growing groups that drive the samples at rest of a boundary come to lie on it, Σ s a w·x of these
tends to what is left of the value at rest, by a shift of all w·x/a in proportion to the slopes s. These fall like 1/a,
so that the w·x tend to constants with Σ s a w·x = 0, beside which the value is nothing: of neurons in different places
some cross. Where the boundary repels they do not come back.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.special import softmax

from .._linear_algebra import least_squares
from .._validation import FloatArray, IntArray
from ..kinks._boundaries import names, off, slopes, span
from ._checks import clipped_pulls, of_core
from ._core import Core
from ._kernel import tangent_kernel
from ._sides import COUNTS, ends_of
from ._state import State

Mask: TypeAlias = npt.NDArray[np.bool_]

# The pattern has to hold for λ + k (p - λ) at these k. Weights were seen to come to 1.2.
_PLACES = (1.0, 1.25)
# The boundary of a sample with less than this part of all weights is one where no pull changes.
_WEIGHS = 1e-9
# A pull is beyond a boundary by rounding up to this part of its size, and a multiplier beyond its interval.
_ROUNDING = 1e-9
# Weights that differ from λ by less than this part are λ to what a run knows of them.
_SAME = 1e-7
# Values of a network that is larger by e to the power of half of this are not told: beyond it small neurons are held
# with other sizes.
_LARGEST_LOG = 600.0
# Eigenvalues of the kernel of samples at rest below this part of the largest are zero: nothing moves their values.
_RANK_TOL = 1e-11


def events_to_come(state: State, core: Core, lam: FloatArray, live: IntArray) -> list[str]:
    """Say which neurons leave the pattern on the way to its limit, of multipliers λ, or may; nothing if none does."""
    groups, y, grows = state.groups, state.data.y, np.flatnonzero(~core.rests)
    of, squares = groups.of[groups.of >= 0], state.net.a[groups.of >= 0] ** 2
    mass = np.bincount(of, squares, len(groups))
    own = (y * lam)[grows]
    p = float(own.sum()) * softmax(state.log_weights[grows])
    across = _beyond(state, core, lam)
    # A pull that comes to lie on a boundary does not say on which side a neuron outside the limit ends. The value of a
    # sample at rest that the neuron drives may: below.
    on_edge = np.abs(across) <= _ROUNDING
    by_values = (groups.slope != 0) & core.rests & on_edge
    follows = _following(state, by_values, ~by_values & core.rests & on_edge)
    by_values |= follows
    is_open = ~np.isin(np.arange(len(groups)), live)[:, None] & ~by_values
    is_open &= ~on_edge | _are_driven(state, is_open & on_edge)
    leaves = np.asarray((across > np.where(is_open, -_ROUNDING, _ROUNDING)).any(axis=1))
    if np.abs(p - own).sum() > _SAME * own.sum():
        answer = _answer(state, core)
        for place in _PLACES:
            weights = y[grows] * np.maximum(own + place * (p - own), 0.0)
            beyond = _beyond(state, core, _beside_rest(core, lam, weights, answer))
            leaves |= ((beyond > _ROUNDING) & ~by_values).any(axis=1)
    counts = mass > COUNTS * mass.sum()
    grow = counts & (across > -1.0).any(axis=1)
    shifted = _shifted(state, core, lam, grow[:, None] & (groups.slope != 0), by_values, leaves, follows)
    rows = np.union1d(np.flatnonzero(np.isin(groups.of, np.flatnonzero(leaves & counts))), shifted)
    if not len(rows):
        return []
    return [f"neurons leave the last pattern on the way to its limit, or may: {names(rows)}; events are to come"]


def _are_driven(state: State, asked: Mask) -> Mask:
    """Tell across which of the boundaries `asked`, of shape (C, n), some sample pulls a group, whatever it weighs.

    The others are at right angles to all that moves its neurons, whose distance from them stays what it is.
    """
    groups, driven = state.groups, np.zeros_like(asked)
    norms = np.linalg.norm(groups.X, axis=1)
    for c in np.flatnonzero(asked.any(axis=1)):
        pulls = groups.map(int(c), np.arange(len(groups.X)))
        driven[c] = (np.abs(pulls @ groups.X.T) > _ROUNDING * np.outer(norms, norms)).any(axis=0)
    return asked & driven


def _following(state: State, told: Mask, asked: Mask) -> Mask:
    """Tell for which samples `asked`, of shape (C, n), w·x is a sum of those of samples that are `told`."""
    X, found = state.groups.X, np.zeros_like(asked)
    for c in np.flatnonzero(asked.any(axis=1) & told.any(axis=1)):
        beside = np.linalg.norm(off(X, span(X[told[c]])), axis=1)
        found[c] = asked[c] & (beside <= _ROUNDING * np.linalg.norm(X, axis=1))
    return found


def _shifted(
    state: State, core: Core, lam: FloatArray, drives: Mask, at_edge: Mask, leaves: Mask, follows: Mask
) -> IntArray:
    """Return the neurons that samples at rest shift across their boundary, or may.

    `drives` and `at_edge`, of shape (C, n): groups that grow and drive a sample, and whose pull lies on its boundary.
    `leaves` are groups that may leave the pattern, however little they count. `follows`, of shape (C, n): samples that
    a group does not drive, and of which w·x is a sum of those that it does.
    """
    groups, net, found = state.groups, state.net, state.groups.boundaries
    # Across a boundary the weights of samples at rest do not cancel any more, and are beyond all others if they jump.
    jumps, largest = _jumps(state, lam), _jumps(state, core.duals)
    jumps = np.where(largest != 0, largest, jumps)
    crossing = [np.empty(0, dtype=np.int64)]
    shifts = np.full(state.pattern.shape, np.nan)  # where w·x of the neurons ends, for those that drive the sample
    for k in np.unique(found.boundary[core.rests]):
        samples = found.members(int(k))
        i = samples[0]
        if not (core.rests[samples].all() and drives[:, i].any() and at_edge[drives[:, i], i].all()):
            continue
        rows = np.flatnonzero(np.isin(groups.of, np.flatnonzero(drives[:, i])))
        z, effect = net.W[rows] @ state.data.X[i], groups.slope[groups.of[rows], i] * net.a[rows]
        ends = ends_of(z, effect)
        left = _left(state, core, lam, int(i), drives[:, i], leaves)
        ends = np.where(ends != 0, ends, effect * left / (effect @ effect))
        shifts[np.ix_(rows, samples)] = ends[:, None] * (found.reach[samples] / found.reach[i])
        repels = groups.sign[groups.of[rows]] * jumps[k] > 0
        crosses = (state.pattern[rows, i] * ends < 0) | np.isnan(ends)
        crossing.append(rows[repels & crosses])
    X = state.data.X
    for c in np.flatnonzero(follows.any(axis=1) & drives.any(axis=1)):
        rows, told, asked = groups.members(int(c)), np.flatnonzero(at_edge[c] & ~follows[c]), np.flatnonzero(follows[c])
        sums = least_squares(X[told].T, X[asked].T)
        ends, terms = shifts[np.ix_(rows, told)] @ sums, np.abs(shifts[np.ix_(rows, told)]) @ np.abs(sums)
        stays = state.pattern[np.ix_(rows, asked)] * ends > _ROUNDING * terms
        crossing.append(rows[~stays.all(axis=1)])
    return np.unique(np.concatenate(crossing))


def _jumps(state: State, lam: FloatArray) -> FloatArray:
    """Return by how much the pull grows across each boundary; zero where that is rounding."""
    lower, upper = state.groups.boundaries.all_edges(lam, state.net.leak)
    return np.where(np.abs(upper - lower) > _ROUNDING * _terms(state, lam), upper - lower, 0.0)


def _left(state: State, core: Core, lam: FloatArray, i: int, drives: Mask, leaves: Mask) -> float:
    """Return what the value of a sample at rest leaves for the groups `drives`; nan where its sign may change.

    Other groups may go to zero. What is left keeps its sign where the value and all that they take from it have one,
    and none of them leaves the pattern.
    """
    groups, net, of = state.groups, state.net, state.groups.of
    parts = slopes(state.pattern[:, i], net.leak) * net.a * (net.W @ state.data.X[i])
    is_told = 2.0 * state.log_scale <= _LARGEST_LOG
    parts *= np.exp(2.0 * state.log_scale) if is_told else 1.0  # as large as in the values at rest
    stand = np.linalg.norm(groups.pulls(lam), axis=1) <= _ROUNDING * _terms(state, lam)
    others = (parts != 0) & ~((of >= 0) & drives[of])
    if (leaves[of] & others & (of >= 0)).any():
        return float("nan")
    stays = others & (of >= 0) & stand[of]
    if stays.any() and not is_told:
        return float("nan")
    own = core.values[i] - float(parts[stays].sum())
    own = own if abs(own) > _ROUNDING * np.abs(parts[stays]).max(initial=1.0) else 0.0
    left = np.append(-parts[others & ~stays], own)
    return float("nan") if left.max() > 0 > left.min() else float(left.sum())


def _terms(state: State, lam: FloatArray) -> float:
    """Return the size of what cancels in pulls."""
    return float(np.abs(lam) @ np.linalg.norm(state.data.X, axis=1))


def _answer(state: State, core: Core) -> tuple[FloatArray, FloatArray]:
    """Return the multipliers of samples at rest as a linear map of the others', and the projector onto what is free."""
    rests = core.rests
    kernel = tangent_kernel(state.groups, state.net)
    sizes, vectors = np.linalg.eigh(kernel[np.ix_(rests, rests)])
    kept = sizes > _RANK_TOL * sizes.max(initial=0.0)
    basis, free = vectors[:, kept], vectors[:, ~kept]
    return -(basis / sizes[kept]) @ (basis.T @ kernel[np.ix_(rests, ~rests)]), free @ free.T


def _beside_rest(core: Core, lam: FloatArray, weights: FloatArray, answer: tuple[FloatArray, FloatArray]) -> FloatArray:
    """Return multipliers of all samples for `weights` of those that grow; what these do not tell is that of λ."""
    found = np.empty(len(lam))
    found[~core.rests] = weights
    found[core.rests] = answer[0] @ weights + answer[1] @ lam[core.rests]
    return found


def _beyond(state: State, core: Core, lam: FloatArray) -> FloatArray:
    """How far the pull of each group is beyond each boundary, or a multiplier beyond its interval, shape (C, n).

    In units of the pull; below 0 by how far it is inside, -1 for groups that nothing pulls, or that shrink.
    """
    groups = state.groups
    found = clipped_pulls(groups, lam, state.net.leak, of_core(groups, lam, core, state.net.leak))
    norms = np.linalg.norm(groups.X, axis=1)
    sizes = np.linalg.norm(found.g, axis=1)
    moves = (sizes > _ROUNDING * _terms(state, lam)) & ~_shrinks(state, found.g)
    units = groups.sign[:, None] * found.g / np.where(moves, sizes, 1.0)[:, None]
    weighs = (np.abs(lam) > _WEIGHS * np.abs(lam).sum()) | core.rests
    free = (groups.pattern != 0) & weighs & moves[:, None]
    across = np.where(free, -groups.pattern * (units @ (groups.X / norms[:, None]).T), -1.0)
    return np.where(found.excess[:, None] > _ROUNDING, found.excess[:, None], across)


def _shrinks(state: State, pulls: FloatArray) -> Mask:
    """Tell which groups have one ray alone to move on and are pulled back along it: they never leave the pattern.

    Nor do their neurons come to zero, if their weights are balanced.
    """
    groups, net = state.groups, state.net
    size = np.linalg.norm(net.W, axis=1)
    balanced = np.abs(np.abs(net.a) - size) <= _ROUNDING * size
    found = np.zeros(len(groups), dtype=np.bool_)
    for c in np.flatnonzero([state.data.rank - len(basis) == 1 for basis in groups.bases]):
        rows = groups.members(int(c))
        found[c] = balanced[rows].all() and (groups.sign[c] * (net.W[rows] @ pulls[c]) < 0).all()
    return found
