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

from .._validation import FloatArray, PatternArray
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


def ends_of(z: FloatArray, effect: FloatArray) -> FloatArray:
    """Return where w·x of growing neurons, now z, tend to while Σ effect z stays beside growing effects s a.

    Zero for neurons in one place: their a w·x keep their sign.
    """
    ends = z - effect * (effect @ z) / (effect @ effect)
    return np.asarray(np.where(np.abs(ends) > _IN_ONE_PLACE * np.abs(z).max(), ends, 0.0))


def kept_sides(state: State, rests: Mask) -> PatternArray:
    """Return the sides, of shape (m, n), on which the values at rest keep neurons near boundaries of these samples.

    Zero where they do not, for neurons of a pattern on the boundary, and for those that do not count.
    """
    groups, net, found = state.groups, state.net, state.groups.boundaries
    norms = np.linalg.norm(net.W, axis=1)[:, None] * np.linalg.norm(state.data.X, axis=1)
    Z = net.W @ state.data.X.T
    counts = (groups.of >= 0) & (net.a**2 > COUNTS * float(net.a @ net.a))
    kept = counts[:, None] & rests & (np.abs(Z) <= _NEAR * norms) & (state.pattern != 0)
    for k in np.unique(found.boundary[rests]):
        samples = found.members(int(k))
        i = samples[0]
        rows = np.flatnonzero(kept[:, i])
        rows = rows[groups.slope[groups.of[rows], i] != 0]
        if not (rests[samples].all() and len(rows)):
            continue
        ends = ends_of(Z[rows, i], groups.slope[groups.of[rows], i] * net.a[rows])
        crosses = state.pattern[rows, i] * ends < -_KNOWN * norms[rows, i]
        kept[np.ix_(rows[crosses], samples)] = False
    return np.asarray(np.where(kept, state.pattern, 0), dtype=np.int8)
