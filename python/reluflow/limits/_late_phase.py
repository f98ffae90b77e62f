"""Whether a state is late enough for its pattern to tell its limit."""

from __future__ import annotations

import numpy as np
from scipy.special import log_softmax, softmax

from ._core import Core
from ._state import State

# Margins of samples at rest this far from their limits have not shown that they go there.
_MAX_CORE_GAP = 0.5


def late_phase(state: State, core: Core) -> list[str]:
    """Say what is missing of the late phase, for samples that grow and for those at rest; nothing once it has begun."""
    grows = np.flatnonzero(~core.rests)
    smallest = float(state.margins[grows].min())
    if smallest <= 0:
        return [f"the late phase is not reached: the smallest margin is {smallest:.3g}"]
    if not state.is_separated(grows):
        loss = np.exp(state.log_loss(grows))
        return [f"the late phase is not reached: the loss is {loss:.3g}, not below {state.separation_loss(grows):.3g}"]
    gap = _core_gap(state, core)
    if gap > _MAX_CORE_GAP:
        return [f"the late phase is not reached: margins that stay finite are still {gap:.3g} from their limits"]
    return []


def _core_gap(state: State, core: Core) -> float:
    """How far the margins at rest are from where they stand; of a state beyond the digits only its weights tell.

    There samples at rest may hold each other with other weights than those of the loss, if these cancel as well.
    """
    rests = np.flatnonzero(core.rests)
    if not rests.size:
        return 0.0
    of_margins = np.abs(state.data.y * state.margins - core.values)[rests].max()
    log_p, log_duals = state.log_weights[rests], np.log(np.abs(core.duals[rests]))
    of_weights = np.abs(log_softmax(log_p) - log_softmax(log_duals)).max()
    p = np.zeros(state.data.n)
    p[rests] = softmax(log_p)
    sizes = p[rests] * np.linalg.norm(state.data.X[rests], axis=1)
    pulls = np.linalg.norm(state.groups.pulls(state.data.y * p), axis=1).max()
    of_pulls = pulls / sizes.min() if sizes.min() > 0 else np.inf
    return float(min(of_margins, of_weights, of_pulls))
