"""Beyond the digits of a stalled loss: the samples at rest keep their weights, all others a share beside them.

Once samples at rest hold each other, what the others pull falls like 1/t and is lost in the rounding of those. The
others are then kept at a share of the weights (docs/design/resting.md), and the run goes on in legs to its limit. Only
the last state is kept: it is the flow's but for the margins at rest, which are off by about that share.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import softmax

from .._validation import FloatArray, IntArray, PatternArray
from ..kinks._boundaries import slopes
from ..limits._core import find_core
from ..limits._holding import holding
from ..limits._sides import told_sides
from ..limits._state import State
from ..losses import core_weights, is_of_margins, log_weights, loss_arguments, reduction_factor
from ..networks import Network
from ._beyond import NO_WORK, Beyond, with_last_state, with_work
from ._past_rounding import PastRounding
from ._solution import Solution
from ._stop import LARGEST_LOG_NORM

# Ends of the legs, by log t; those by log |θ| follow.
LOG_TIMES = (30.0, 100.0, 300.0, 1e3, 3e3, 1e4, 3e4)
# A leg that ends at a norm has come as near to it, in log |θ|.
_AT_END = 1e-6
# The share of the tails, at most; and as a part of the smallest weight at rest.
_SHARE = 1e-5
_OF_SMALLEST = 0.05
# Far out, from this log |θ| on, the margins at rest are nothing beside the others, and the share may be larger.
_FAR_SHARE = 1e-3
_FAR = 14.0 - 1e-6
# The tolerance of the steps, at least: the share moves the margins at rest by more.
_RTOL = 1e-8
# Samples at rest have weights larger than those of all others by so many e-foldings. Where the others fall like 1/t,
# t times a weight of theirs is about one at most: from e to the power of the second on they do not count as apart.
_APART = math.log(30.0)
_FALLEN = -2.0
# Nor do weights that are so many e-foldings below the largest: beside it no share of theirs is more than rounding.
_HIDDEN = -30.0
# The weights of those at rest add up to this.
_SUM = 0.5
# Roles change at most so many times a sample.
_MOST_CHANGES = 2
# Samples at rest stand where their loss has its minimum, to this much of a margin.
_AT_VALUES = 1e-2
# So many changes of roles in a row may come to nothing: log |θ| has to grow by as much.
_MOST_STANDING, _GROWS = 5, 0.01
# Values at rest below this are zero.
_ZERO = 1e-9
# Parts a w·x of values at rest are known where they are more than this part of |θ|²|x|, ten times the tolerance of the
# steps, and more than so many times the share.
_KNOWN = 10.0 * _RTOL
_OF_SHARE = 10.0
# A leg in which sides of samples at rest are not sure is made shorter, down to this in log |θ|.
_SHORTEST = 0.1
# A sample whose weight has come down to so many times the share of all tails has become one of them.
_FREE = 5.0


class BesideRest:
    """The state of a run over a stalled loss beyond its digits, and the work that was done to come there."""

    def __init__(
        self, whole: Solution, rests: npt.NDArray[np.bool_] | None = None, *, past: PastRounding | None = None
    ) -> None:
        """Begin at the end of `whole`, where its loss stalls over the samples `rests`, or where `past` has come to."""
        self._whole = whole
        self._leg = whole if past is None else past.leg
        self._beyond: Beyond | None = None  # once the legs have come to the end of the range of doubles
        self._work, self._events = (NO_WORK, 0) if past is None else (past.work, past.n_events)
        self._changes = 0
        self._grown_to, self._standing = -math.inf, 0  # log |θ|, and changes of roles in a row without growth
        self._is_flow = False  # then no sample has a role
        self._share = self._most_share = _SHARE
        self._is_by_pattern = False  # then margins at rest are shifted, and no gap tells from them who rests
        self._scales = np.zeros(whole.data.n)
        # Of neurons on the boundary of a sample at rest, the side on which its value kept them.
        self._slid = np.zeros_like(whole._raw["final_pattern"])
        if rests is not None:
            self._cast(rests)

    @classmethod
    def of(cls, whole: Solution) -> BesideRest | None:
        """Begin at the end of a run with the roles that its weights tell; None if they do not."""
        rests = _at_rest(whole) if is_of_margins(whole.loss) else None
        return None if rests is None else cls(whole, rests)

    @classmethod
    def by_pattern(cls, whole: Solution) -> BesideRest | None:
        """Begin at the end of a run with the roles that its pattern tells; None if it tells none, or samples move."""
        beside = cls(whole)
        return beside if is_of_margins(whole.loss) and beside._stands() and beside._hold() else None

    @classmethod
    def after(cls, past: PastRounding) -> BesideRest | None:
        """Begin where the flow has come to past its stall: with the roles that the pattern tells, or none if all grow.

        None if the pattern tells none, or if samples still move.
        """
        beside = cls(past.whole, past=past)
        if not is_of_margins(past.whole.loss) or not beside._stands():
            return None
        # Where the flow was at rest to its rounding, tails are not, raised to a share.
        stats = {name: value for name, value in past.leg.stats.items() if name != "rest_log_t"}
        beside._leg = Solution(past.leg.data, past.leg.initial, past.leg.settings, {**past.leg._raw, "stats": stats})
        beside._is_flow = bool(beside._state().is_separated())
        tells = beside._is_flow or beside._hold()
        return beside if tells and not (beside._scales > 0).all() else None

    def has_roles_of(self, other: BesideRest) -> bool:
        """Whether the same samples are at rest."""
        return bool(((self._scales > 0) == (other._scales > 0)).all())

    def _cast(self, rests: npt.NDArray[np.bool_]) -> None:
        """Give the samples their roles, by their weights at the end of the last leg."""
        log_p = _log_weights(self._leg)
        log_scale = math.log(_SUM) - float(np.logaddexp.reduce(log_p[rests]))
        smallest = math.exp(log_scale + log_p[rests].min())
        true_share = math.exp(log_scale + float(np.logaddexp.reduce(log_p[~rests])))
        self._most_share = _OF_SMALLEST * smallest
        self._share = max(true_share, min(_SHARE, self._most_share))
        self._is_flow = False
        self._scales = np.where(rests, math.exp(log_scale), 0.0)

    def _state(self) -> State:
        leg, net = self._leg, self._held_net()
        return State.of(leg.data, net._with(net.W, net.a, leg._raw["final_pattern"]), leg.loss)

    def _stands(self) -> bool:
        """Whether the samples that the pattern lets rest are where their own loss has its minimum."""
        state = self._state()
        core = find_core(state.groups, state.data, state.margins, state.loss, state.net.leak)
        if core is None:
            return False
        off = np.abs(state.data.y * core.values - state.margins)[core.rests]
        return bool(off.max(initial=0.0) <= _AT_VALUES)

    def _hold(self) -> bool:
        """Give the roles that the pattern tells; samples at rest get weights with which they hold each other evenly.

        They stay where they are: by their offsets their margins are 0. False if there are no such weights, or if no
        role changes.
        """
        leg, state, rested = self._leg, self._state(), self._scales > 0
        weights = self._weights() if rested.any() else softmax(_log_weights(leg))
        lam = holding(state.groups, leg.data, state.net.leak, weights)
        if lam is None or ((lam > 0) == rested).all():
            return False
        rests = lam > 0
        margins = leg.data.y * state.net(leg.data.X)
        offsets = np.where(rests, margins, np.where(rested, 0.0, leg._raw["held"]["offsets"]))
        at_zero = _counts(leg) * np.exp(log_weights(np.zeros(leg.data.n), leg.loss))
        self._scales = np.divide(lam, at_zero, out=np.zeros(leg.data.n), where=rests)
        self._most_share = _OF_SMALLEST * float(lam[rests].min())
        self._share = min(_SHARE, self._most_share)
        self._is_flow, self._is_by_pattern = False, True
        self._go_on_with(offsets)
        return True

    def _go_on_with(self, offsets: FloatArray) -> None:
        leg = self._leg
        raw = {**leg._raw, "held": {**leg._raw["held"], "offsets": offsets}}
        self._leg = Solution(leg.data, leg.initial, leg.settings, raw)
        if self._beyond is not None:
            self._beyond.go_on_from(self._leg)

    @property
    def log_t(self) -> float:
        """The logarithm of the time at the end of the last leg."""
        return self._leg.log_t_end

    @property
    def place(self) -> str:
        """Where the legs have come to, for messages."""
        rests = int(np.count_nonzero(self._scales))
        at_rest = (
            f"beside {rests} sample{'s' * (rests != 1)} at rest" if rests else "where no sample is at rest any more"
        )
        beyond = self._beyond
        at = f"log t = {self._leg.log_t_end:.4g}" if beyond is None else f"log |θ| = {beyond.log_norm:.4g}"
        return f"at {at}, {at_rest}"

    def start(self) -> Solution:
        """Return the solution to go on from, with the roles of its samples."""
        if self._beyond is None and self.log_norm >= LARGEST_LOG_NORM - _AT_END:
            self._beyond = Beyond(self._leg)
        leg = self._leg if self._beyond is None else self._beyond.lowered()
        rtol = max(leg.settings.rtol, _RTOL)
        if self.log_norm >= _FAR:
            self._share = max(self._share, min(_FAR_SHARE, self._most_share))
        held = {**leg._raw["held"], "is_beyond": True, "rtol": rtol}
        if not self._is_flow:
            held |= {"rest_scales": self._scales, "tail_share": self._share}
        return Solution(leg.data, leg.initial, leg.settings, {**leg._raw, "held": held})

    def in_leg(self, mark: dict[str, float]) -> dict[str, float]:
        """Return the end of a leg, by a time or a norm, in the units of the one that start() begins."""
        return mark if self._beyond is None else {"log_norm": self._beyond.in_leg(mark["log_norm"])}

    def unsure(self, leg: Solution) -> IntArray:
        """Return the neurons that left, in a leg from here, the side of a sample at rest on which its value keeps them.

        They may be nearer to the boundary than the steps tell, and cross it for rounding. They may come to lie on it
        where the value is zero, and cross it in a short leg that begins at a distance that is known, or where the value
        is zero and theirs alone: no sample at rest pulls them then, and the others take them back if they hold them.
        One whose side values tell may have come back for rounding if it has crossed in the leg and lies on the boundary
        at its end.
        """
        (sides, told), after = self._sides(), leg._raw["final_pattern"]
        strays = sides * after < 0
        onto = (sides != 0) & (after == 0) & (self._leg._raw["final_pattern"] != 0)
        onto |= told & (after == 0) & _crossed(leg)
        if not (strays | onto).any():
            return np.empty(0, dtype=np.int64)
        state = self._state()
        core = find_core(state.groups, state.data, state.margins, state.loss, state.net.leak)
        if core is None:
            strays |= onto
        else:
            is_zero = np.abs(core.values) <= _ZERO
            alone = np.count_nonzero(slopes(state.pattern, state.net.leak), axis=0) == 1
            strays = (strays & ~(is_zero & alone)) | (onto & ~is_zero)
        return np.flatnonzero((strays & self._unknown(leg)).any(axis=1))

    def _unknown(self, leg: Solution) -> npt.NDArray[np.bool_]:
        """Tell which neurons may cross the boundary of which sample for rounding in a leg from here, shape (m, n)."""
        net, X = self._held_net(), leg.data.X
        if self.halved(leg) is not None:
            return np.ones((net.width, len(X)), dtype=np.bool_)
        parts = np.abs(net.a[:, None] * (net.W @ X.T))
        return np.asarray(parts < np.maximum(_OF_SHARE * self._share, _KNOWN * net.norm**2 * np.linalg.norm(X, axis=1)))

    def _sides(self) -> tuple[PatternArray, npt.NDArray[np.bool_]]:
        """Return the sides of samples at rest on which their values keep neurons, and where they tell sides at all."""
        sides, told = told_sides(self._state(), self._scales > 0)
        sides = np.where(self._leg._raw["final_pattern"] == 0, self._slid, sides)
        return sides, told | (sides != 0)

    def halved(self, leg: Solution) -> dict[str, float] | None:
        """Return the end of a leg half as long, in log |θ|; None for a short one, or beyond the range of doubles."""
        end = math.log(leg.final.norm)
        if self._beyond is not None or not end - self.log_norm > _SHORTEST:
            return None
        return {"log_norm": 0.5 * (self.log_norm + end)}

    def take(self, leg: Solution) -> bool:
        """Go on from the end of a leg; False if it lost a neuron, see Beyond."""
        self._slid = np.where((leg._raw["final_pattern"] == 0) & self._unknown(leg), self._sides()[0], 0)
        self._leg = leg
        self._work = with_work(self._work, leg.stats)
        self._events += len(leg.events)
        return self._beyond is None or self._beyond.take(leg)

    def change_roles(self) -> bool:
        """Make tails of samples at rest that move, or let others rest that have come to it; False if none changes.

        The latter as long as margins are the true ones, and so is the flow itself, once samples at rest came free.
        """
        self._changes += 1
        if self._changes > _MOST_CHANGES * self._leg.data.n:
            return False
        held = self._leg._raw["held"]
        if "rests_are_free" in self._leg.stats:
            self._is_flow = not held["exponent"]
            self._scales, self._is_by_pattern = np.zeros_like(self._scales), False
            self._go_on_with(np.zeros_like(held["offsets"]))
            return self._is_flow
        moves = (self._scales > 0) & (self._weights() < _FREE * self._share)
        if moves.any():
            self._scales = np.where(moves, 0.0, self._scales)
            self._go_on_with(np.where(moves, 0.0, held["offsets"]))
            # The share was a part of the smallest weight at rest, which may have been that of a sample that moves.
            self._most_share = _OF_SMALLEST * float(self._weights()[self._scales > 0].min(initial=1.0))
            self._share = max(self._share, min(_SHARE, self._most_share))
            return True
        rests = None if held["exponent"] or self._is_by_pattern else _at_rest(self._leg)
        if rests is not None and (rests != (self._scales > 0)).any():
            self._cast(rests)
            return True
        self._standing = self._standing + 1 if self.log_norm < self._grown_to + _GROWS else 0
        self._grown_to = max(self._grown_to, self.log_norm)
        return self._standing <= _MOST_STANDING and self._hold()

    def _weights(self) -> FloatArray:
        """Return the weights of the samples, which add up to about one half and the share."""
        leg = self._leg
        q = leg.data.y * self._held_net()(leg.data.X) - leg._raw["held"]["offsets"]
        with np.errstate(divide="ignore"):
            log_p = log_weights(q, leg.loss) + np.log(_counts(leg))
            at_rest = log_p + np.log(self._scales)
        tails = np.where(self._scales > 0, -np.inf, log_p)
        return np.where(self._scales > 0, np.exp(at_rest), self._share * softmax(tails))

    def _held_net(self) -> Network:
        final, exponent = self._leg.final, self._leg._raw["held"]["exponent"]
        return final._with(np.ldexp(final.W, -exponent), np.ldexp(final.a, -exponent))

    def solution(self) -> Solution:
        """Return the whole run, with the state that its limit is polished from."""
        held, weights = self._held_net(), self._weights()
        beyond: dict[str, npt.NDArray[Any]] = {
            "beyond_W": held.W,
            "beyond_a": held.a,
            "beyond_pattern": self._leg._raw["final_pattern"],
            "beyond_sample_weights": weights / weights.sum(),
        }
        return with_last_state(self._whole, beyond, self.log_norm, self._work, self._events)

    @property
    def log_norm(self) -> float:
        """The logarithm of |θ| of the flow, at the end of the last leg."""
        return math.log(self._leg.final.norm) if self._beyond is None else self._beyond.log_norm


def _crossed(leg: Solution) -> npt.NDArray[np.bool_]:
    """Tell which neurons cross the boundary of which sample in a leg, shape (m, n)."""
    events, found = leg.events, np.zeros(leg._raw["final_pattern"].shape, dtype=np.bool_)
    across = np.isin(events.kind, ("cross_up", "cross_down"))
    found[events.neuron[across], events.sample[across]] = True
    return found


def _counts(run: Solution) -> FloatArray:
    """Return what samples count for the core, whose weights the scales of those at rest multiply."""
    weights = core_weights(run.data, run.settings.reduction)
    return run.data.counts if weights is None else weights


def _log_weights(run: Solution) -> FloatArray:
    q = loss_arguments(run.data, run.final(run.data.X), run.loss)
    with np.errstate(divide="ignore"):  # samples that do not count
        return np.asarray(log_weights(q, run.loss) + np.log(_counts(run)))


def _at_rest(run: Solution) -> npt.NDArray[np.bool_] | None:
    """Find the samples whose weights times t are far above those of all others; None where no gap is seen that says."""
    log_p = _log_weights(run)
    log_t = run.log_t_end + math.log(reduction_factor(run.settings.reduction, float(_counts(run).sum())))
    counted = np.sort(log_p[np.isfinite(log_p)])[::-1]
    gaps = -np.diff(np.maximum(counted + log_t, _FALLEN))
    wide = np.flatnonzero(gaps >= _APART)
    if not wide.size or counted[wide[-1]] < counted[0] + _HIDDEN:
        return None
    return np.asarray(log_p >= counted[wide[-1]])
