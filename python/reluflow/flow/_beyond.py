"""Beyond the range of doubles: where a run to its limit goes on when |θ|² has left it, and the legs that it takes.

A state that is held smaller by a power of two goes on by the state and the offsets of its samples alone; its exponent
only says how large it is and what the clock shows. So legs whose exponents are too small by the same number take the
same way, step by step. Their clocks, times and losses are not the flow's, and only the last state is kept.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from copy import copy
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from .._validation import FloatArray, freeze
from ..networks import Network
from ._drift import drift
from ._join import WORK
from ._solution import Solution

# Ends of the legs, by log |θ|. None is longer than the range of doubles allows in its own units.
LOG_NORMS = (420.0, 520.0, 640.0, *np.arange(800.0, 4001.0, 200.0).tolist())
# log |θ| at which a leg begins in its own units, about.
_BEGIN = 40.0
# After so many drifts in a row that no event ends the network rests as well as rounding lets it.
_MOST_RESTS = 5
# Neurons of which less is held at the begin of a leg than the first are held larger, about as the second (both as
# powers of two): the margins do not see them either way, and they keep their digits while the others grow.
_FAINT = -300
_RAISED = -200
# A neuron that was raised and has grown to this would be seen; one of which less is held than the other cannot be told
# from one that vanishes.
_SEEN = 1e-20
_SMALLEST = 1e-280
Work: TypeAlias = Mapping[str, float]  # what legs took, by the names of `stats`
NO_WORK: Work = dict.fromkeys(WORK, 0)


class Beyond:
    """The state of a run beyond the range of doubles, and the work that was done to come there."""

    def __init__(self, whole: Solution) -> None:
        """Begin at the end of `whole`, at the largest norm that it can tell."""
        self._whole = whole
        self._leg = whole
        self._shift = 0
        self.needs_leg = True  # not behind a drift that no event has ended
        self._drifted, self._rests = 0.0, 0  # of log |θ|, without legs; drifts in a row that no event ended
        self._work, self._events = NO_WORK, 0
        self._neurons = _sizes(whole) > 0
        self._raised = np.zeros(len(self._neurons), dtype=int)  # neuron j is held larger by two to the power of this

    @property
    def log_norm(self) -> float:
        """The logarithm of |θ| of the flow."""
        net = self._leg.final
        return math.log(net.norm) + self._shift * math.log(2) + self._drifted

    def lowered(self) -> Solution:
        """Return the solution to go on from, smaller by a power of two."""
        leg = self._leg
        by = min(round((math.log(leg.final.norm) - _BEGIN) / math.log(2)), leg._raw["held"]["exponent"])
        self._shift += by
        held = {**leg._raw["held"], "exponent": leg._raw["held"]["exponent"] - by}
        held |= {"is_beyond": True, "is_lowered": True}
        by_neuron = self._raise() - by
        W, a = np.ldexp(leg.final.W, by_neuron[:, None]), np.ldexp(leg.final.a, by_neuron)
        raw = {**leg._raw, "final_W": W, "final_a": a, "held": held, "final_log_t": math.ldexp(leg.log_t_end, -2 * by)}
        return Solution(leg.data, leg.initial, leg.settings, raw)

    def in_leg(self, log_norm: float) -> float:
        """Return the norm, in the units of the present leg, that a norm of the flow is."""
        return log_norm - self._shift * math.log(2) - self._drifted

    def take(self, leg: Solution) -> bool:
        """Go on from the end of a leg; False if a neuron is so small, or grows so fast, that the leg lost it."""
        self.go_on_from(leg)
        self.needs_leg = True
        self._work = with_work(self._work, leg.stats)
        self._events += len(leg.events)
        held = self._held_sizes()
        return bool((held[self._neurons] > _SMALLEST).all() and (held[self._raised > 0] < _SEEN).all())

    def go_on_from(self, leg: Solution) -> None:
        """Go on from the end of a leg, or from that with other roles of its samples."""
        self._leg = leg

    def after_work(self, other: Beyond) -> Beyond:
        """Return this state with the work that was done to come to another one from it."""
        found = copy(self)
        found._work = other._work
        return found

    def drift(self, deadline: float) -> bool:
        """Go on from the end of a leg without one, as far as its neurons drift slowly; False if they do not.

        It ends at the time `deadline` of `perf_counter`.
        """
        leg, raw = self._leg, self._leg._raw
        if "final_sample_weights" not in raw or self._rests >= _MOST_RESTS:
            return False
        exponent, weights = raw["held"]["exponent"], raw["final_sample_weights"]
        W, a = np.ldexp(leg.final.W, -exponent), np.ldexp(leg.final.a, -exponent)
        net = leg.final._with(W, a, raw["final_pattern"])
        with np.errstate(divide="ignore"):
            sizes = np.log(np.abs(a)) - self._raised * math.log(2)
        found = drift(leg.data, net, weights, sizes, log_norm=self.log_norm, deadline=deadline)
        if found is None:
            return False
        by = self._raise(np.rint(found.log_parts / math.log(2)).astype(int))
        W, a = np.ldexp(found.W, by[:, None]), np.ldexp(found.a, by)
        held = {**raw["held"], "offsets": _offsets(leg, net._with(W, a, found.pattern), found.weights)}
        state = {"final_W": np.ldexp(W, exponent), "final_a": np.ldexp(a, exponent), "held": held}
        state |= {"final_sample_weights": found.weights * weights.sum(), "final_pattern": found.pattern}
        self._leg = Solution(leg.data, leg.initial, leg.settings, {**raw, **state})
        self._drifted += found.length
        self.needs_leg = not found.is_far
        self._events += found.events
        self._work = with_work(self._work, {**NO_WORK, "steps": found.steps})
        self._rests = self._rests + 1 if found.rests else 0
        return True

    def _held_sizes(self) -> npt.NDArray[np.float64]:
        return np.asarray(np.ldexp(_sizes(self._leg), -self._leg._raw["held"]["exponent"]))

    def _raise(self, grown: npt.NDArray[np.int_] | int = 0) -> npt.NDArray[np.int_]:
        """Choose anew which neurons are held larger, and return by which powers of two they change.

        They have `grown` by powers of two since they were held.
        """
        before = self._raised
        true = np.frexp(self._held_sizes())[1] - before + grown
        self._raised = np.where(self._neurons & (true < _FAINT), _RAISED - true, 0)
        return np.asarray(self._raised - before + grown)

    def solution(self) -> Solution:
        """Return the whole run, with the state that its limit is polished from."""
        exponent = self._leg._raw["held"]["exponent"]
        final = self._leg.final
        beyond: dict[str, npt.NDArray[Any]] = {
            "beyond_W": np.ldexp(final.W, -exponent),
            "beyond_a": np.ldexp(final.a, -exponent),
            "beyond_pattern": self._leg._raw["final_pattern"],
        }
        if "final_sample_weights" in self._leg._raw:
            beyond["beyond_sample_weights"] = self._leg._raw["final_sample_weights"]
        return with_last_state(self._whole, beyond, self.log_norm, self._work, self._events)


def with_work(work: Work, stats: Work) -> Work:
    """Return the work of some legs, and that of which `stats` tell."""
    return {name: work[name] + stats[name] for name in WORK}


def with_last_state(
    whole: Solution, beyond: dict[str, npt.NDArray[Any]], log_norm: float, work: Work, events: int
) -> Solution:
    """Return a run with the state `beyond` that legs have come to from its end, and the `work` of these."""
    for array in beyond.values():
        freeze(array)
    stats = whole._raw["stats"]
    counts = {"beyond_log_norm": log_norm, "beyond_events": events}
    raw = {**whole._raw, **beyond, "stats": {**stats, **with_work(work, stats), **counts}}
    return Solution(whole.data, whole.initial, whole.settings, raw)


def _offsets(leg: Solution, net: Network, weights: FloatArray) -> FloatArray:
    """Return what takes the margins of a held state to those that make its weights; no others than the support's."""
    q = leg.data.y * net(leg.data.X)
    offsets, support = np.zeros(leg.data.n), np.flatnonzero(weights)
    log_p = np.log(weights[support] / leg.data.counts[support])
    offsets[support] = q[support] - q[support].min() + log_p - log_p.max()
    return offsets


def is_beyond(done: Solution | None) -> bool:
    """Whether a solution to go on from is one of which only the last state is kept."""
    return done is not None and bool(done._raw["held"].get("is_beyond"))


def tells_time(done: Solution) -> bool:
    """Whether the clock is the flow's: not beyond the range of doubles."""
    return not done._raw["held"].get("is_lowered")


def _sizes(done: Solution) -> npt.NDArray[np.float64]:
    net = done.final
    return np.asarray(np.maximum(np.abs(net.W).max(axis=1), np.abs(net.a)))
