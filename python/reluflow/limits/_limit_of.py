"""`limit_of`: which kind of limit a state tends to."""

from __future__ import annotations

import numpy as np

from .._validation import FloatArray
from ..datasets import Dataset
from ..networks import Network
from ._core import find_core, no_core
from ._decayed import decayed
from ._direction import direction, unpolished
from ._finite import finite
from ._limit import Limit
from ._state import State


def limit_of(
    data: Dataset, net: Network, loss: str, decay: float = 0.0, *, sample_weights: FloatArray | None = None
) -> Limit:
    """Polish the limit of the flow that stands at `net`; `loss` the name of one, `decay` that beside its sum.

    `sample_weights` are shares of the samples in Σ |ℓ'|, shape (n,), where the margins are too large to tell them.

    While the loss is large, it is first asked which margins the last pattern allows to grow for ever: all, some, or
    none. With none, the limit is a critical point at a finite norm.
    """
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        state = State.of(data, net, loss, sample_weights)
        try:
            with np.errstate(over="raise", divide="raise", invalid="raise"):
                return _polished(state, data, loss, decay)
        except (FloatingPointError, np.linalg.LinAlgError) as error:
            return unpolished(state, f"the equations of the limit leave the range of floats ({error})")


def _polished(state: State, data: Dataset, loss: str, decay: float) -> Limit:
    if decay > 0:
        return decayed(state, decay)
    if state.is_separated():
        return direction(state, no_core(data.n))
    core = find_core(state.groups, data, state.margins, loss)
    if core is None:
        return unpolished(state, "the loss in the last pattern has no minimum that could be found")
    return finite(state, core) if core.rests.all() else direction(state, core)
