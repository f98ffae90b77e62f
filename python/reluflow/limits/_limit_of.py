"""`limit_of`: which kind of limit a state tends to."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from .._validation import FloatArray
from ..datasets import Dataset
from ..datasets._bias import about_columns, bare_inputs
from ..networks import Network
from ._core import find_core, no_core
from ._decayed import decayed
from ._direction import direction, unpolished
from ._finite import finite
from ._limit import Limit
from ._state import State

Used: TypeAlias = npt.NDArray[np.bool_]  # which samples count


def limit_of(
    data: Dataset,
    net: Network,
    loss: str,
    decay: float = 0.0,
    *,
    sample_weights: FloatArray | None = None,
    log_scale: float = 0.0,
) -> Limit:
    """Polish the limit of the flow that stands at `net`; `loss` the name of one, `decay` that beside its sum.

    `sample_weights` are shares of the samples in Σ |ℓ'|, shape (n,), where the margins are too large to tell them; the
    flow stands at a network as large as `net` times e to the power `log_scale`.

    While the loss is large, it is first asked which margins the last pattern allows to grow for ever: all, some, or
    none. With none, the limit is a critical point at a finite norm. Samples that count nothing take no part.
    """
    used = data.counts > 0
    if not used.all():
        weights = None if sample_weights is None else sample_weights[used]
        part = _limit_of(_part(data, used), _part_of(net, used), loss, decay, weights, log_scale, used)
        return _with_all(part, net, used)
    return _limit_of(data, net, loss, decay, sample_weights, log_scale, used)


def _limit_of(
    data: Dataset,
    net: Network,
    loss: str,
    decay: float,
    sample_weights: FloatArray | None,
    log_scale: float,
    used: Used,
) -> Limit:
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        state = State.of(data, net, loss, sample_weights)
        state = replace(state, numbers=np.flatnonzero(used), log_scale=log_scale)
        try:
            with np.errstate(over="raise", divide="raise", invalid="raise"):
                return _polished(state, data, loss, decay)
        except (FloatingPointError, np.linalg.LinAlgError) as error:
            return unpolished(state, f"the equations of the limit leave the range of floats ({error})")


def _part(data: Dataset, used: Used) -> Dataset:
    """Return the data of the samples that count."""
    return Dataset(bare_inputs(data)[used], data.y[used], weights=data.counts[used], **about_columns(data))


def _part_of(net: Network, used: Used) -> Network:
    """Return the network with the pattern of the samples that count."""
    if net.pattern is None:
        return net
    return net._with(net.W, net.a, np.ascontiguousarray(net.pattern[:, used]))


def _with_all(limit: Limit, net: Network, used: Used) -> Limit:
    """Return the limit with a place for the samples that count nothing, whose signs are those of the run."""
    numbers, found = np.flatnonzero(used), limit.network
    duals = np.zeros(len(used))
    duals[used] = limit.duals
    held = limit.held.copy()
    held[:, 1] = numbers[held[:, 1]]
    pattern = None
    if found.pattern is not None and net.pattern is not None:
        pattern = net.pattern.copy()
        pattern[:, used] = found.pattern
    whole = found._with(found.W, found.a, pattern)
    return replace(limit, network=whole, duals=duals, support=numbers[limit.support], held=held)


def _polished(state: State, data: Dataset, loss: str, decay: float) -> Limit:
    if decay > 0:
        return decayed(state, decay)
    if state.is_separated():
        return direction(state, no_core(data.n))
    core = find_core(state.groups, data, state.margins, loss, state.net.leak)
    if core is None:
        return unpolished(state, "the loss in the last pattern has no minimum that could be found")
    return finite(state, core) if core.rests.all() else direction(state, core)
