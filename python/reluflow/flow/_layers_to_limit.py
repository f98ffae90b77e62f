"""Runs of the layered core that end where their limit is certified: leg after leg, joined into the one run they are."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from time import perf_counter
from typing import Any, TypeVar

import numpy as np

from .._validation import freeze
from ..layered import DeepSolution
from ..layered._integrate import HOOK_PERIOD, Hook, Layered
from ._layers_beside_rest import MOST_ASKED, LayersBesideRest
from ._layers_beyond import LOG_NORMS, LayersBeyond
from ._two_layer_solution import TwoLayerSolution

# Ends of the legs. A critical point is reached with e^-t, and a direction with powers of log t.
_LOG_TIMES = (1.0, 2.0, 3.0, 4.0, 5.0, 7.0, 10.0, 15.0, 20.0, 30.0, 60.0, 100.0, 200.0, 400.0, 650.0)
# Those beyond, where late steps go on: of losses that have them.
_LATE_LOG_TIMES = (1e3, 1e4, 1e6, 1e8, 1e10)
_LATE_LOSSES = ("logistic", "exponential")
# A run that begins beyond the last of them has one leg, longer by this part of log t.
_LAST_LEG = 0.1
_LEAST_SECONDS = 1e-3
# Steps of one leg at most, where no criterion counts work: legs take some hundred or thousand. Where margins grow for
# ever beside samples at rest, explicit steps are in proportion to t, and late legs would not end.
_MOST_STEPS = 100_000
# A leg that ends at a norm is there to rounding.
_AT_MARK = 1e-9
# Radians to the limit of its pattern in which a direction does not change any more.
_SETTLED = 1e-8
_STATES = ("t", "log_t", "log_loss", "theta")
_SUMS = ("n_steps", "order_sum", "n_event_sets", "seconds")
# How a leg ends that is the last of its run.
_ENDS = ("reached_seconds", "reached_steps", "interrupted", "stopped_by_callback")
# Criteria that count what a run does.
_COUNTED = ("events", "steps", "seconds")

Leg = Callable[[DeepSolution | None, Layered, Hook | None], DeepSolution]
Whole = TypeVar("Whole", DeepSolution, TwoLayerSolution)


def layers_to_limit(
    leg: Leg,
    read: Callable[[DeepSolution], Whole],
    asked: Layered,
    start_log_t: float,
    hook: Hook | None,
    period: float = HOOK_PERIOD,
) -> Whole:
    """Run leg after leg until the limit is certified, or a criterion of `asked` holds.

    `leg` makes one that goes on from a solution (the first one from None, at log t = `start_log_t`), and `read` makes
    of the whole so far what the caller is given. `hook` is called every `period` seconds.
    """
    began = perf_counter()
    done: DeepSolution | None = None
    for mark in (*_marks(asked, start_log_t), None):
        if mark is None and done is not None and not math.isfinite(_end(asked)):
            break
        left = _left(asked, mark, done, perf_counter() - began)
        is_bounded = bool(left.criteria.keys() & {"steps", "seconds"})
        part = leg(done, left if is_bounded else _with_most_steps(left), _counting(hook, done))
        is_slow = part.status == "reached_steps" and not is_bounded
        done = part if done is None else _joined(done, part)
        goes_on = mark is not None and part.status == "reached_log_time"
        if not (goes_on or is_slow) and part.status not in ("reached_seconds", "stationary", "stalled"):
            return read(done)
        whole = read(done)
        try:
            limit = whole.limit
        except KeyboardInterrupt:
            return read(_ended_as(done, "interrupted", False, "interrupted while the limit was sought"))
        if limit.kind == "none":
            break
        if limit.certified:
            return _with_limit(read(_ended_as(done, "reached_limit", True, "the limit is certified")), whole)
        if whole is done and limit.kind == "direction" and _counts_work_alone(asked):
            beside = LayersBesideRest(done, asked)
            over = _beside_rest(beside, asked, began, hook, period) if beside.is_settled else None
            if over is not None:
                return read(over)
        if is_slow:
            end = f"log t = {done.log_t_end:.4g}, {_MOST_STEPS:,} steps after it was last asked for"
            return _with_limit(read(_not_certified(done, end, limit.reason)), whole)
        if not goes_on:
            return whole
    assert done is not None  # for the type checker: there are legs
    if whole is done and whole.limit.kind == "direction" and _counts_work_alone(asked):
        return read(_beyond(LayersBeyond(done, asked), asked, began, hook, period))
    return _with_limit(read(_not_certified(done, f"log t = {done.log_t_end:.4g}", whole.limit.reason)), whole)


def _counts_work_alone(asked: Layered) -> bool:
    return asked.criteria.keys() <= {"steps", "seconds"} and asked.max_events is None


def _beyond(beyond: LayersBeyond, asked: Layered, began: float, hook: Hook | None, period: float) -> DeepSolution:
    """Go on beyond the digits of log t, until the limit is certified or the work is done that may be."""
    found, end = beyond.whole, f"log t = {beyond.whole.log_t_end:.4g}"
    for mark in LOG_NORMS:
        if mark <= beyond.log_norm:
            continue
        ended = None
        while ended is None and beyond.log_norm < mark - _AT_MARK:
            if not beyond.is_possible:
                return _with_limit(_not_certified(found, end, found.limit.reason), found)
            beyond.lower()
            left = _left(asked, None, beyond.solution(), perf_counter() - began)
            leg = beyond.leg(mark, left.criteria, hook, period)
            ended = None if leg["status"] == "reached_log_norm" else leg
        found, end = beyond.solution(), f"log |θ| = {beyond.log_norm:.4g}"
        over = _ended_by_leg(found, ended, end)
        if over is not None:
            return over
        if found.limit.turn <= _SETTLED:
            break
    return _with_limit(_not_certified(found, end, found.limit.reason), found)


def _beside_rest(
    beside: LayersBesideRest, asked: Layered, began: float, hook: Hook | None, period: float
) -> DeepSolution | None:
    """Go on beside samples at rest, until the limit is certified or the work is done that may be; None if they move."""
    found, end = beside.whole, ""
    for _ in range(MOST_ASKED):
        ended = None
        beside.lower()
        while ended is None and not beside.has_grown:
            left = _left(asked, None, beside.solution(), perf_counter() - began)
            leg = beside.leg_beside(left.criteria, hook, period)
            fails = leg["status"] not in ("reached_log_time", *_ENDS)
            if found is beside.whole and (fails or not beside.is_possible):
                return None
            if leg["status"] != "reached_log_time":
                ended = leg
            elif not beside.is_possible:
                end += ", behind which margins that stayed finite do not stay"
                return _with_limit(_not_certified(found, end, found.limit.reason), found)
        found, end = beside.solution(), f"log |θ| = {beside.log_norm:.4g}"
        over = _ended_by_leg(found, ended, end)
        if over is not None:
            return over
    return _with_limit(_not_certified(found, end, found.limit.reason), found)


def _ended_by_leg(found: DeepSolution, ended: Any, end: str) -> DeepSolution | None:
    """Return the run if a leg is its last: the limit is certified, or `ended` tells what ended it before its mark."""
    if ended is not None and ended["status"] in ("interrupted", "stopped_by_callback"):
        return _ended_as(found, ended["status"], ended["success"], ended["message"])
    try:
        limit = found.limit
    except KeyboardInterrupt:
        return _ended_as(found, "interrupted", False, "interrupted while the limit was sought")
    if limit.certified:
        done = _ended_as(found, "reached_limit", True, f"the limit is certified, at {end}")
        return _with_limit(done, found)
    if ended is not None and ended["status"] in ("reached_seconds", "reached_steps"):
        return _with_limit(_ended_as(found, ended["status"], ended["success"], ended["message"]), found)
    if ended is not None:
        end += f", where the flow was not continued ({ended['status']})"
        return _with_limit(_not_certified(found, end, limit.reason), found)
    return None


def _not_certified(done: DeepSolution, end: str, reason: str) -> DeepSolution:
    return _ended_as(done, "limit_not_certified", False, f"no limit is certified up to {end}: {reason}")


def _marks(asked: Layered, start_log_t: float) -> list[float]:
    """List the ends of the legs before that of the run."""
    is_late = asked.loss in _LATE_LOSSES and not np.any(asked.weight_decay)
    ends = _LOG_TIMES + _LATE_LOG_TIMES if is_late else _LOG_TIMES
    marks = [mark for mark in ends if start_log_t < mark < _end(asked)]
    return marks or ([] if math.isfinite(_end(asked)) else [start_log_t * (1.0 + _LAST_LEG)])


def _end(asked: Layered) -> float:
    """Last log time that the criteria allow; inf without one."""
    time = asked.criteria.get("time")
    return min(asked.criteria.get("log_time", math.inf), math.inf if time is None else math.log(time))


def _left(asked: Layered, mark: float | None, done: DeepSolution | None, seconds: float) -> Layered:
    """Return what is asked of the next leg: up to `mark`, without what has been done."""
    criteria = dict(asked.criteria)
    if mark is not None:
        criteria = {name: value for name, value in criteria.items() if name not in ("time", "log_time")}
        criteria["log_time"] = mark
    if "seconds" in criteria:
        criteria["seconds"] = max(_LEAST_SECONDS, criteria["seconds"] - seconds)
    most = asked.max_events
    if done is not None:
        stats = done.stats
        for name, count in (("events", stats["n_events"]), ("steps", stats["steps"])):
            if name in criteria:
                criteria[name] = max(1, int(criteria[name]) - count)
        most = None if most is None else max(1, most - stats["n_events"])
    return replace(asked, criteria=criteria, max_events=most, ends_at_rest=True)


def _with_most_steps(asked: Layered) -> Layered:
    return replace(asked, criteria={**asked.criteria, "steps": _MOST_STEPS})


def _counting(hook: Hook | None, done: DeepSolution | None) -> Hook | None:
    """Return a hook that is told of the whole run."""
    if hook is None or done is None:
        return hook
    before = done.stats
    counts = {"steps": before["steps"], "events": before["n_events"], "seconds": before["seconds"]}
    return lambda report: hook({**report, **{name: report[name] + count for name, count in counts.items()}})


def _joined(one: DeepSolution, two: DeepSolution) -> DeepSolution:
    """Return the run from the start of `one` to the end of `two`, which continues it."""
    first, second = one._raw, two._raw
    raw: dict[str, Any] = {**second, **{name: first[name] + second[name] for name in _SUMS}}
    raw["checkpoints"] = [*first["checkpoints"], *second["checkpoints"][1:]]
    raw["branchings"] = [*first["branchings"], *second["branchings"]]
    raw["steps"] = _chained(first["steps"], second["steps"])
    sets = first["events"]["event_set"]
    later = {**second["events"], "event_set": second["events"]["event_set"] + (int(sets[-1]) + 1 if len(sets) else 0)}
    raw["events"] = {name: np.concatenate((column, later[name])) for name, column in first["events"].items()}
    for name in ("steps", "events"):
        for column in raw[name].values():
            freeze(column)
    return DeepSolution(one._problem, one.initial, one.settings, raw)


def _chained(one: dict[str, Any], two: dict[str, Any]) -> dict[str, Any]:
    """Join the kept states of both, without the first of `two`, which is the last of `one`."""
    repeated = int(bool(len(two["log_t"]) and len(one["log_t"]) and two["log_t"][0] == one["log_t"][-1]))
    return {name: np.concatenate((one[name], two[name][repeated:])) for name in _STATES}


def _ended_as(done: DeepSolution, status: str, success: bool, message: str) -> DeepSolution:
    raw = {**done._raw, "status": status, "success": success, "message": message}
    return DeepSolution(done._problem, done.initial, done.settings, raw)


def _with_limit(solution: Whole, known: Whole) -> Whole:
    solution.__dict__["limit"] = known.limit  # worked out already
    return solution
