"""On which side of the boundaries of samples at rest growing neurons stay.

A growing neuron whose pull lies on the boundary of a sample at rest comes as near to it as the value there lets it: by
1/a while it is the only one, which no tolerance of its weights tells from the boundary itself. What the values say is
known all the same: Σ s a w·x of the neurons that drive the sample stays what it is, which moves all w·x/a by the same
beside the slopes s, so that a w·x of neurons in one place keep their sign and of others some come to the other side.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from .._validation import FloatArray, IntArray, PatternArray
from ..kinks._boundaries import off, slopes
from ._kernel import tangent_kernel
from ._state import State

Mask: TypeAlias = npt.NDArray[np.bool_]

# Groups with less than this part of |θ|² move no margin by more than that.
COUNTS = 1e-6
# Distances from a boundary that differ by less than this part of them are those of neurons in one place.
_IN_ONE_PLACE = 1e-13
# Neurons that are within this part of |w||x| of a boundary come to lie on it as they grow.
_NEAR = 1e-3
# Steps beside samples at rest tell w·x to this part of |w||x|.
_KNOWN = 1e-8
# Values at rest tell on which side neurons are where a move of these leaves so little of itself once values are back.
_TOLD = 1e-3
# Eigenvalues of the kernel of samples at rest below this part of the largest are zero: nothing moves their values.
_RANK_TOL = 1e-11


def ends_of(z: FloatArray, effect: FloatArray) -> FloatArray:
    """Return where w·x of growing neurons, now z, tend to while Σ effect z stays beside growing effects s a.

    Zero for neurons in one place: their a w·x keep their sign.
    """
    ends = z - effect * (effect @ z) / (effect @ effect)
    return np.asarray(np.where(np.abs(ends) > _IN_ONE_PLACE * np.abs(z).max(), ends, 0.0))


def told_sides(state: State, rests: Mask) -> tuple[PatternArray, Mask]:
    """Return the sides, of shape (m, n), on which values at rest keep neurons near boundaries of these samples.

    Zero where they do not, for neurons of a pattern on the boundary, and for those that do not count. The second array
    tells where values say on which side neurons end, which may be another one than theirs.
    """
    groups, net, found = state.groups, state.net, state.groups.boundaries
    norms = np.linalg.norm(net.W, axis=1)[:, None] * np.linalg.norm(state.data.X, axis=1)
    Z = net.W @ state.data.X.T
    counts = (groups.of >= 0) & (net.a**2 > COUNTS * float(net.a @ net.a))
    near = counts[:, None] & (np.abs(Z) <= _NEAR * norms) & (slopes(state.pattern, net.leak) != 0)
    told, crosses = np.zeros(near.shape, dtype=np.bool_), np.zeros(near.shape, dtype=np.bool_)
    seen = None
    for k in np.unique(found.boundary[rests]):
        samples = found.members(int(k))
        ahead = found.reach[samples] > 0
        for one_way in (samples[ahead], samples[~ahead]):  # neurons that see none of the former may see the latter
            if not (rests[samples].all() and len(one_way) and near[:, one_way[0]].any()):
                continue
            i, rows = int(one_way[0]), np.flatnonzero(near[:, one_way[0]])
            seen = Seen(state, rests) if seen is None else seen
            effect = groups.slope[groups.of[rows], i] * net.a[rows]
            if seen.left_of(rows, effect, i) > _TOLD:
                continue
            told[np.ix_(rows, samples)] = True
            beyond = state.pattern[rows, i] * ends_of(Z[rows, i], effect) < -_KNOWN * norms[rows, i]
            crosses[np.ix_(rows[beyond], samples)] = True
    return np.where(told & ~crosses, state.pattern, 0).astype(np.int8), told


class Seen:
    """What values at rest see of a move of neurons."""

    def __init__(self, state: State, rests: Mask) -> None:
        self._state, self._rests = state, rests
        sizes, vectors = np.linalg.eigh(tangent_kernel(state.groups, state.net)[np.ix_(rests, rests)])
        kept = sizes > _RANK_TOL * sizes.max(initial=0.0)
        self._inverse_root = vectors[:, kept] / np.sqrt(sizes[kept])

    def left_of(self, rows: IntArray, effect: FloatArray, i: int) -> float:
        """Return the part of a move of neurons along x_i, each by its effect, that is left once values are back.

        They come back the shortest way, so that this is the part of the gradient of Σ effect w·x_i across theirs.
        """
        groups, net = self._state.groups, self._state.net
        moves = effect[:, None] * np.array([off(groups.X[i], groups.bases[c]) for c in groups.of[rows]])
        change = np.einsum("r,rn,rn->n", net.a[rows], groups.slope[groups.of[rows]], moves @ groups.X.T)[self._rests]
        return 1.0 - float(((change @ self._inverse_root) ** 2).sum() / (moves**2).sum())
