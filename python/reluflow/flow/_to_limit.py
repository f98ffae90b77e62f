"""Runs that end where their limit is certified: leg after leg, at the end of which the limit is asked for."""

from __future__ import annotations

import math
from collections.abc import Callable
from copy import copy
from dataclasses import replace
from time import perf_counter

import numpy as np
import numpy.typing as npt

from ..kinks._boundaries import names
from ._beside_rest import LOG_TIMES, BesideRest
from ._beyond import LOG_NORMS, Beyond
from ._join import joined
from ._past_rounding import LOG_TIMES as LOG_TIMES_PAST_ROUNDING
from ._past_rounding import PastRounding
from ._solution import Solution
from ._stop import LARGEST_LOG_NORM, Stop

# Ends of the legs. The direction settles with powers of |θ|, so that the legs grow with its logarithm.
_LOG_TIMES = (30.0, 100.0, 1e3, 1e4, 1e6, 1e8, 1e10)
_LOG_NORMS = (14.0, 18.0, 24.0, 32.0, 44.0, 60.0, 80.0, 110.0, 150.0, 200.0, 260.0, LARGEST_LOG_NORM)
# Legs beside samples at rest that are made shorter, at most.
_MOST_HALVED = 300
# A leg behind a drift takes the network through what ended that, and lets its neurons align. Drifts at most.
_BEHIND_EVENT, _MOST_DRIFTS = 60.0, 300
# So many legs in a row may lie behind the last of their ends without a drift that begins at one of them.
_MOST_ALONE = 5
# With weight decay γ the flow forgets within 1/γ what it does not keep: ends of the legs in units of that. Points that
# differ by a neuron with |g| near γ are told apart late.
_DECAY_TIMES = tuple(10.0**exponent for exponent in np.arange(0.5, 8.5, 0.5))
# A run with weight decay that begins beyond the last of them has one leg, as long as this in log t.
_LAST_LEG = 1.0
_LEAST_SECONDS = 1e-3
# Before this log time the limit is asked for only once the loss is small: it takes time, and is seldom near.
_EARLY = 1e3
# Nor is it asked for where more than so many events have come since this part of log t.
_RECENT, _MOST_RECENT = 0.3, 3

Leg = Callable[[Solution | None, Stop], Solution]


def to_limit(run: Leg, until: Stop, start_log_t: float, decay: float = 0.0) -> Solution:
    """Run leg after leg until the limit is certified, or another criterion of `until` holds.

    `run` makes one leg that goes on from a solution (the first one from None, at log t = `start_log_t`), with the
    criteria it is given. `decay` is that of the weights.
    """
    began = perf_counter()
    done: Solution | None = None
    for mark in _marks(until, start_log_t, decay):
        stop = _left(_with(until, mark), done, perf_counter() - began)
        leg = run(done, stop)
        done = leg if done is None else joined(done, leg, until)
        goes_on = leg.status == f"reached_{next(iter(mark))}" and not _is_last(until, mark)
        if not goes_on and leg.status not in ("reached_seconds", "stalled"):
            return done
        try:
            is_early = _is_early(done) or _is_eventful(leg)
            is_asked = decay > 0.0 or _is_at_rest(done) or leg.status == "stalled" or not goes_on or not is_early
            certified = is_asked and done.limit.certified
        except KeyboardInterrupt:
            return ended_as(done, "interrupted", False, "interrupted while the limit was sought")
        if certified:
            at = f", at log t = {done.log_t_end:.4g}, where the loss stalls" if leg.status == "stalled" else ""
            return ended_as(done, "reached_limit", True, "the limit is certified" + at)
        if leg.status == "stalled" and until.events is None and not decay:
            return _past_stall(run, done, until, began)
        if not goes_on:
            at = f"at log t = {done.log_t_end:.4g}"
            return _out_of_time(done, leg, at) if leg.status == "reached_seconds" else done
    assert done is not None  # for the type checker: there are legs
    if decay:
        return _not_certified(done, f"log t = {done.log_t_end:.4g}")
    return _beyond(run, done, until, began)


def to_time_beside_rest(run: Leg, until: Stop, rests: npt.NDArray[np.bool_]) -> Solution:
    """Run to a log time, and go on beside the samples `rests` where the loss stalls; the last leg is returned."""
    leg = run(None, until)
    if leg.status != "stalled" or not rests.any():
        return leg
    beside = BesideRest(leg, rests)
    for mark in (*(mark for mark in LOG_TIMES if leg.log_t_end < mark < until.log_end()), until.log_end()):
        leg = run(beside.start(), replace(until, log_time=mark))
        beside.take(leg)
        if leg.status != "reached_log_time":
            break
    return leg


def _past_stall(run: Leg, done: Solution, until: Stop, began: float) -> Solution:
    """Go on where a loss stalls: beside samples at rest, or by the flow itself where weights do not tell these.

    Where no limit is certified so, the run goes on beside those that the pattern tells. It does so at once where the
    weights tell others.
    """
    beside = BesideRest.of(done)
    if beside is None:
        first, by_pattern = _past_rounding(run, done, until, began)
    else:
        by_pattern = BesideRest.by_pattern(done)
        if by_pattern is not None and not by_pattern.has_roles_of(beside):
            return _beside_rest(run, done, by_pattern, until, began)
        first = _beside_rest(run, done, beside, until, began)
    if first.status != done.status or by_pattern is None:
        return first
    second = _beside_rest(run, done, by_pattern, until, began)
    return first if second.status == done.status else second


def _beside_rest(run: Leg, done: Solution, beside: BesideRest, until: Stop, began: float) -> Solution:
    """Go on beyond the digits of a loss that stalls; `beside` tells which samples are at rest."""
    last_norm = math.inf if until.log_norm is None else until.log_norm
    marks = [{"log_time": mark} for mark in LOG_TIMES if beside.log_t < mark < until.log_end()]
    if math.isinf(until.log_end()):
        marks += [{"log_norm": mark} for mark in (*_LOG_NORMS, *LOG_NORMS) if mark < last_norm]
    found, halved = done, 0
    last: Solution | None = None
    marks.reverse()
    while marks:
        mark = marks.pop()
        while True:
            start = beside.start()
            stop = Stop(seconds=until.seconds, **beside.in_leg(mark))  # type: ignore[arg-type]  # the values are checked
            leg = run(start, _left(stop, None, perf_counter() - began))
            unsure = beside.unsure(leg)
            is_followed = not len(unsure) and beside.take(leg)
            if leg.status not in ("stalled", "accuracy_not_reached") or len(unsure) or not beside.change_roles():
                break
        if len(unsure):
            if leg.status in ("interrupted", "stopped_by_callback", "reached_seconds"):
                return ended_as(found, leg.status, leg.success, leg.message)
            shorter, halved = beside.halved(leg), halved + 1
            if shorter is None or halved > _MOST_HALVED:
                why = f"below the digits of the run is on which side of them neurons stay: {names(unsure)}"
                text = f"{done.message}; no limit is certified {beside.place}; {why}"
                return ended_as(found, done.status, False, text)
            marks += [mark, shorter]
            continue
        found, last = beside.solution(), leg
        ended = _ended(found, leg, beside.place)
        if ended is not None:
            return ended
        if not (leg.success and is_followed):
            break
    return _given_up(found, done, beside.place, found, last)


def _past_rounding(run: Leg, done: Solution, until: Stop, began: float) -> tuple[Solution, BesideRest | None]:
    """Go on where a loss stalls and nothing tells which samples are at rest; the run is as before if that fails.

    Then what the pattern tells there is returned as well.
    """
    past = PastRounding(done)
    found, last = done, None
    for mark in LOG_TIMES_PAST_ROUNDING:
        if not done.log_t_end < mark < until.log_end():
            continue
        stop = Stop(seconds=until.seconds, log_norm=until.log_norm, log_time=mark, events=past.most_events)
        leg = run(past.start(), _left(stop, None, perf_counter() - began))
        past.take(leg)
        found, last = past.solution(), leg
        ended = _ended(found, leg, past.place)
        if ended is not None:
            return ended, None
        if leg.status != "reached_log_time" or _is_at_rest(leg):
            break
    return _given_up(done, done, past.place, found, last), BesideRest.after(past)


def _given_up(end: Solution, stalled: Solution, place: str, found: Solution, leg: Solution | None) -> Solution:
    """Return `end` as a run that no legs took to a limit, and say why: what ended the last leg, or what is missing."""
    why = found.limit.reason if leg is None or leg.success else leg.message
    return ended_as(end, stalled.status, False, f"{stalled.message}; no limit is certified {place}: {why}")


def _beyond(run: Leg, done: Solution, until: Stop, began: float) -> Solution:
    """Go on beyond the range of doubles, from the largest norm within it; a count of events ends there.

    Between legs the network drifts as far as nothing happens. A short leg takes it through what ends that; if it fails
    the run goes on by legs alone, from before the drift.
    """
    beyond = Beyond(done)
    end = f"log |θ| = {LARGEST_LOG_NORM:g}"
    deadline = math.inf if until.seconds is None else began + until.seconds
    before: Beyond | None = None  # the present drift
    drifts = alone = 0
    while until.events is None:
        leg: Solution | None = None
        if before is None or beyond.needs_leg:
            marks = [mark for mark in LOG_NORMS if mark > beyond.log_norm + 1.0]
            if before is None and not marks:
                if not 0 < drifts < _MOST_DRIFTS or alone == _MOST_ALONE:
                    break
                alone += 1
            mark = marks[0] if before is None and marks else beyond.log_norm + _BEHIND_EVENT
            start = beyond.lowered()
            stop = _left(_with(until, {"log_norm": beyond.in_leg(mark)}), done, perf_counter() - began)
            leg = run(start, stop)
            is_followed = beyond.take(leg)
            if before is not None and (not is_followed or _is_lost(leg)):
                beyond, before, drifts = before.after_work(beyond), None, _MOST_DRIFTS
                continue
            if not is_followed:
                end += ", beyond which neurons outside the limit leave the range of doubles"
                break
        done, end = beyond.solution(), f"log |θ| = {beyond.log_norm:.4g}"
        ended = _ended(done, leg, f"at {end}")
        if ended is not None:
            return ended
        if leg is not None and leg.status != "reached_log_norm":
            break
        before = copy(beyond)
        try:
            if drifts < _MOST_DRIFTS and beyond.drift(deadline):
                drifts, alone = drifts + 1, 0
            else:
                before = None
        except KeyboardInterrupt:
            return ended_as(done, "interrupted", False, "interrupted while the network drifted")
    return _not_certified(done, end)


def _is_lost(leg: Solution) -> bool:
    """Whether a leg has come to its end for a reason of its own."""
    return not leg.success and leg.status not in ("interrupted", "stopped_by_callback")


def _ended(found: Solution, leg: Solution | None, place: str) -> Solution | None:
    """End a run of which the last state alone is kept: by what ended its leg, or since its limit is certified.

    `leg` is None behind a drift that needs none.
    """
    if leg is not None and leg.status in ("interrupted", "stopped_by_callback"):
        return ended_as(found, leg.status, leg.success, leg.message)
    try:
        certified = found.limit.certified
    except KeyboardInterrupt:
        return ended_as(found, "interrupted", False, "interrupted while the limit was sought")
    if certified:
        return ended_as(found, "reached_limit", True, f"the limit is certified, {place}")
    if leg is not None and leg.status == "reached_seconds":
        return _out_of_time(found, leg, place)
    return None


def _out_of_time(found: Solution, leg: Solution, place: str) -> Solution:
    """End a run that may take no longer, and say why there is no limit yet, and how far it is."""
    message = f"{leg.message}; no limit is certified yet, {place}: {found.limit.reason}"
    return ended_as(found, leg.status, leg.success, message)


def _not_certified(done: Solution, end: str) -> Solution:
    message = f"no limit is certified up to {end}: {done.limit.reason}"
    return ended_as(done, "limit_not_certified", False, message)


def _with(until: Stop, mark: dict[str, float]) -> Stop:
    return Stop(**{**until.as_dict(), "limit": None, **mark})  # type: ignore[arg-type]  # the values are checked


def _marks(until: Stop, start_log_t: float, decay: float) -> list[dict[str, float]]:
    """List the criteria that end the legs; the last one is a criterion of `until` itself if it has one."""
    last_time, last_norm = until.log_end(), math.inf if until.log_norm is None else until.log_norm
    log_times = [math.log(time / decay) for time in _DECAY_TIMES] if decay else _LOG_TIMES
    marks: list[dict[str, float]] = [{"log_time": mark} for mark in log_times if start_log_t < mark < last_time]
    if math.isfinite(last_time):
        return [*marks, {"log_time": last_time}]
    if decay:  # the norm stays finite
        marks = marks or [{"log_time": start_log_t + _LAST_LEG}]
        return marks if until.log_norm is None else [*marks, {"log_norm": last_norm}]
    marks += [{"log_norm": mark} for mark in _LOG_NORMS if mark < last_norm]
    return marks if until.log_norm is None else [*marks, {"log_norm": last_norm}]


def _is_last(until: Stop, mark: dict[str, float]) -> bool:
    return mark.get("log_time") == until.log_end() or mark.get("log_norm", math.nan) == until.log_norm


def _left(stop: Stop, done: Solution | None, seconds: float) -> Stop:
    """Take from the criteria that count what a run does what has been done."""
    if stop.seconds is not None:
        stop = replace(stop, seconds=max(_LEAST_SECONDS, stop.seconds - seconds))
    if stop.events is not None and done is not None:
        stop = replace(stop, events=max(1, stop.events - len(done.events)))
    return stop


def _is_early(done: Solution) -> bool:
    return done.log_loss_end > 0.0 and done.log_t_end < _EARLY


def _is_eventful(leg: Solution) -> bool:
    """Whether events come so densely at the end of a leg that more are to come: its limit is not there yet."""
    return bool(np.count_nonzero(leg.events.log_t > _RECENT * leg.log_t_end) > _MOST_RECENT)


def _is_at_rest(done: Solution) -> bool:
    return "rest_log_t" in done.stats


def ended_as(done: Solution, status: str, success: bool, message: str) -> Solution:
    """Return the same run with another status."""
    raw = {**done._raw, "status": status, "success": success, "message": message}
    ended = Solution(done.data, done.initial, done.settings, raw)
    if "limit" in done.__dict__:
        ended.__dict__["limit"] = done.limit  # worked out already
    return ended
