"""Where neurons go that weight decay makes vanish: a limit that has them at zero must not let them grow.

A vanishing neuron has no pattern in the limit. Its direction follows the flow of single neurons under the λ of the
limit, from one boundary to the next, and in the cell in which it ends its pull must not be above the decay γ.
"""

from __future__ import annotations

import numpy as np

from .._validation import FloatArray, IntArray
from ..kinks._boundaries import names
from ..kinks._constant_duals import start
from ._checks import unit_rows
from ._output_follow import Follower
from ._output_leaving import rate_in_the_end
from ._point import ZERO_TOL
from ._state import State

# A neuron with |w| above |a| by more than this part may come to a = 0, where the sign of its output changes.
_BALANCED = 1e-6


def doubts_of_vanishing(state: State, rows: IntArray, lam: FloatArray, decay: float, unit: float) -> list[str]:
    """Say which of the neurons `rows` of a state will grow under the duals λ, or may; `unit` is Σ |λ_i||x_i| + γ."""
    if not len(rows):
        return []
    size = np.abs(state.net.W[rows]).max(axis=1)
    a = state.net.a[rows] / size / np.linalg.norm(state.net.W[rows] / size[:, None], axis=1)  # no square underflows
    W = unit_rows(state.net.W[rows])
    may_turn = np.abs(a) < 1.0 - _BALANCED
    rates = np.full(len(rows), np.nan)
    rates[~may_turn] = _ends(state, rows[~may_turn], W[~may_turn], lam)
    rates[may_turn] = _ends_of_wide(state, rows[may_turn], W[may_turn], a[may_turn], lam)
    grow, unclear = rows[rates > decay + ZERO_TOL * unit], rows[np.isnan(rates)]
    reasons = []
    if len(grow):
        reasons.append(f"neurons that are zero in the limit will grow beside it: {names(grow)}")
    if len(unclear):
        reasons.append(f"where neurons go that vanish in the limit is not decided: {names(unclear)}")
    return reasons


def _ends(state: State, rows: IntArray, W: FloatArray, lam: FloatArray) -> FloatArray:
    """Return the rates at which neurons grow in the end; nan where this is not decided."""
    if not len(rows):
        return np.empty(0)
    sign = state.groups.sign[state.groups.of[rows]]
    flow = start(state.data.X, lam, state.net.leak, W, sign, state.pattern[rows])
    flow.run()
    rates = np.where(flow.status == 0, np.linalg.norm(flow.pull, axis=1), 0.0)
    rates[sorted(flow.reasons)] = np.nan
    return np.asarray(rates)


def _ends_of_wide(state: State, rows: IntArray, W: FloatArray, a: FloatArray, lam: FloatArray) -> FloatArray:
    """Return the same of neurons with |w| above |a|, whose a may change its sign on the way."""
    found = state.groups.boundaries
    follower = Follower(found, state.data.X, lam[:, None], state.net.leak)
    rates = np.empty(len(rows))
    for k, j in enumerate(rows):
        sides = np.zeros(len(found.normal))
        sides[found.boundary] = state.pattern[j] * np.sign(found.reach)
        rate = rate_in_the_end(follower, W[k], a[k : k + 1], sides)
        rates[k] = np.nan if rate is None else rate
    return rates
