"""Saddles at infinity: some margins grow for ever while other samples rest, and their λ alone pull from then on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from .._validation import FloatArray
from ..datasets import Dataset
from ..flow import Solution
from ..limits._core import Core, find_core, no_core
from ..limits._state import State
from ..losses import log_losses, reduction_factor
from ..networks import Network
from ._neurons import TINY_LOG2, Neurons
from ._rest import Rest, rest
from ._saddle import Saddle
from ._sides import kept_off
from ._stage import Ending, Stage

# The log t at which a grown network stands for log t -> infinity, until another one shows whether that matters.
LOG_TIME = 1e3
# That other one, as a multiple of it.
FARTHER = 10.0
# Times and duals on the two that agree to this part are the same.
_ALIKE_TOL = 1e-6
# An infinitesimal neuron that resting samples pull has turned to them after this growth: what growing samples then
# still do to it is below their part of its gradient, the inverse of it.
_TURNED = 30.0
# Growing samples pull so many times less than resting ones, where both are taken together to see whether a neuron that
# only the former pull comes to see one of the latter.
_WEAK = 1e-6
# Size of the neurons at large log t in `kept_off`: rounding grows with their norm, over many more steps than in a leg.
_FAR_UNIT = 1e4
# A margin that grows has passed this part of log t.
_GROWN_PART = 0.5
# So often is looked which samples rest, if those that were taken to rest do not.
_MOST_CORES = 3
_OTHERS = "other samples rest at log t ="


def core_of(data: Dataset, net: Network, loss: str) -> Core | None:
    """Return the samples whose margins stay finite in the pattern of a network; None where they cannot be found."""
    state = State.of(data, net, loss)
    if state.is_separated():
        return no_core(data.n)
    try:
        with np.errstate(over="raise", under="ignore", divide="raise", invalid="raise"):
            return find_core(state.groups, data, state.margins, loss, state.net.leak)
    except (FloatingPointError, np.linalg.LinAlgError):  # margins far below zero
        return None


def alone(net: Network) -> Network:
    """Leave out the neurons at zero."""
    live = np.flatnonzero(net.a)
    pattern = None if net.pattern is None else net.pattern[live]
    return Network(net.W[live], net.a[live], leak=net.leak, pattern=pattern)


def is_on_its_way(data: Dataset, neurons: Neurons, run: Solution, factor: float, duration: float) -> bool:
    """Tell whether the margins that grow are positive, and infinitesimal neurons have turned to the samples at rest.

    A sample that the grown neurons have to cross before its margin is positive pulls the others with all its weight
    till then. `run` is that of the grown neurons to their limit, `duration` the time since they began to grow.
    """
    core = core_of(data, run.final, run.loss)
    if core is None:
        return True  # which ends the path: nothing is known of what rests
    if not (data.y * neurons.network(data.X))[~core.rests].min(initial=1.0) > 0:
        return False
    rates = rest(data, neurons, factor * core.duals).rate
    return bool(rates[rates > 0].min(initial=np.inf) * duration >= _TURNED)


def saddle_at_infinity(
    data: Dataset,
    end: Neurons,
    run: Solution,
    late: Callable[[Network, npt.NDArray[np.bool_]], Solution],
    log_time: float,
    *,
    is_first: bool,
) -> tuple[Saddle, Neurons] | str:
    """Describe the saddle to which an orbit tends, and the neurons there; or say why it cannot be.

    The grown network there is that at a large log t, which stands for log t -> infinity.

    Parameters
    ----------
    data : Dataset
    end : Neurons
        At the end of the orbit.
    run : Solution
        Of the grown neurons alone, from there to their limit.
    late : callable
        Integrates a network to log t = `log_time`.
    log_time : float
    is_first : bool
        Whether no margin had grown for ever before: then the direction there is that of the limit, certified. Otherwise
        it is that of the state in which log t is the same for the old margins and for the new ones.
    """
    if is_first and not run.limit.certified:
        return f"the limit of what has grown is not certified: {run.limit.reason}"
    if is_first and run.log_t_end > log_time:
        return f"what has grown comes to its limit only at log t = {run.log_t_end:.3g}"
    core = core_of(data, run.final, run.loss)
    if core is None:
        return "where the other samples rest is not found"
    reached = _to_log_time(data, end, run, late, log_time, core, is_first=is_first)
    if isinstance(reached, str):
        return reached
    there, inert, rests = reached
    net = there.network
    if (rests.rests != core.rests).any():
        if inert.any():
            return f"{_OTHERS} {log_time:.3g}, where a neuron is pulled by growing samples alone"
        core = rests
    found = _turned(data, there, inert, core, run.limit.duals)
    if isinstance(found, str):
        return found
    loss = float((data.counts * np.exp(log_losses(data.y * core.values, run.loss)))[core.rests].sum())
    return Saddle(net, core.duals + 0.0, loss, run.limit, run.limit.freedom, at_infinity=True), found


def _to_log_time(
    data: Dataset,
    end: Neurons,
    run: Solution,
    late: Callable[[Network, npt.NDArray[np.bool_]], Solution],
    log_time: float,
    core: Core,
    *,
    is_first: bool,
) -> tuple[Neurons, npt.NDArray[np.bool_], Core] | str:
    """Follow what has grown, and what only growing samples pull, to log t = `log_time`; or say why that cannot be.

    Returns the neurons there, which of them only growing samples pull, and the samples at rest. These are `core` at the
    first saddle at infinity; at later ones, where the limit of log t -> infinity is never seen, they may be others.
    """
    factor = reduction_factor(run.reduction, data.total)
    for _ in range(_MOST_CORES):
        inert = ~end.grown & (rest(data, end, factor * core.duals).status == "rest")
        with_inert = late(_beside(data, end, inert), core.rests)
        if with_inert.status == "interrupted":
            raise KeyboardInterrupt
        if with_inert.status != "reached_log_time":
            return f"the grown neurons cannot be followed to log t = {log_time:.3g}: {with_inert.message}"
        if not with_inert.final.W.any(axis=1).all():
            return f"a neuron that only growing samples pull comes to the origin before log t = {log_time:.3g}"
        there = _moved(end, with_inert.final, end.grown | inert)
        net = there.network
        again = core_of(data, alone(net), run.loss)
        margins = data.y * net(data.X)
        if again is None or (margins[~again.rests] < _GROWN_PART * log_time).any():
            break
        if (again.rests == core.rests).all():
            return there, inert, again
        if is_first:
            break
        core = again
    return f"{_OTHERS} {log_time:.3g} than in the limit"


def _beside(data: Dataset, end: Neurons, inert: npt.NDArray[np.bool_]) -> Network:
    """Return the grown neurons, and beside them those that only growing samples pull."""
    rows = np.flatnonzero(end.grown | inert)
    size = np.where(end.grown[rows], 1.0, np.ldexp(1.0, TINY_LOG2))
    pattern = None if end.pattern is None else end.pattern[rows]
    net = Network(end.w[rows] * size[:, None], end.a[rows] * size, leak=end.leak, pattern=pattern)
    return kept_off(net, data.X, end.grown[rows], _FAR_UNIT)[0]


def _moved(end: Neurons, net: Network, of: npt.NDArray[np.bool_]) -> Neurons:
    """Put the neurons of a run in their places."""
    assert net.pattern is not None  # for the type checker: ends of runs have one
    assert end.pattern is not None
    w, a, pattern = np.array(end.w), np.array(end.a), np.array(end.pattern)
    exponent = np.frexp(np.abs(net.W).max(axis=1))[1]
    scaled = np.ldexp(net.W, -exponent[:, None])
    sizes = np.linalg.norm(scaled, axis=1, keepdims=True)
    unit = scaled / np.where(sizes > 0, sizes, 1.0)
    grown = end.grown[of]
    w[of], a[of] = np.where(grown[:, None], net.W, unit), np.where(grown, net.a, np.sign(net.a))
    pattern[of] = net.pattern
    return replace(end, w=w, a=a, pattern=pattern)


def _turned(
    data: Dataset, there: Neurons, inert: npt.NDArray[np.bool_], core: Core, duals: FloatArray
) -> Neurons | str:
    """Turn neurons that only growing samples pull to where these take them, unless they come to see one at rest."""
    if not inert.any():
        return there
    weak = np.where(core.rests, 0.0, duals)
    weak *= _WEAK * np.abs(core.duals).sum() / np.abs(weak).sum()
    found: Rest = rest(data, replace(there, grown=~inert), core.duals + weak)
    if found.reasons:
        j, why = next(iter(found.reasons.items()))
        return f"infinitesimal neuron {j} could go on in several ways: {why}"
    return replace(there, w=np.where(inert[:, None], found.direction, there.w), pattern=found.pattern)


def n_alike(stages: Sequence[Stage], others: Sequence[Stage]) -> int:
    """Count the stages at the beginning of two paths that say the same."""
    for k, (one, two) in enumerate(zip(stages, others, strict=False)):
        if not _is_alike(one, two):
            return k
    return min(len(stages), len(others))


def _is_alike(one: Stage, two: Stage) -> bool:
    """Compare what a stage says of the limit of vanishing weights."""
    woken = [sorted(int(j) for part in stage.wakes for j in part) for stage in (one, two)]
    pairs = (
        (one.begins, two.begins),
        (one.ends, two.ends),
        (one.loss, two.loss),
        (one.duals, two.duals),
        (one.rate, two.rate),
    )
    near = (np.allclose(first, second, rtol=_ALIKE_TOL, atol=_ALIKE_TOL) for first, second in pairs)
    return woken[0] == woken[1] and bool((one.status == two.status).all()) and all(near)


def ends_alike(one: Ending, two: Ending) -> bool:
    """Compare the status, message and run with which two paths end."""
    if one[0] != two[0]:
        return False
    runs = [run for run in (one[2], two[2]) if run is not None and run.limit.certified]
    return len(runs) < 2 or bool(np.isclose(runs[0].limit.margin, runs[1].limit.margin, rtol=_ALIKE_TOL))
