"""One flow of one output: a run of the core, or run after run where it is to end with a certified limit."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from time import perf_counter
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import _core
from ..datasets import Dataset
from ..networks import Network
from ._arguments import core_options, told_of
from ._beyond import is_beyond, tells_time
from ._join import joined
from ._outcome import solution_of, whole
from ._progress import Listeners, Progress, Reporter
from ._scale import Held, hold
from ._settings import Settings
from ._solution import Solution
from ._stop import Stop
from ._to_limit import to_limit, to_time_beside_rest

# Of a start that no run led to.
NOTHING: Mapping[str, Any] = MappingProxyType({})
# Where a loss stalls a run to its limit goes on beside what is at rest. Until then it is followed through so many steps
# that rounding limits, and other runs through 3,000: each unit of log t takes three times as many as the one before.
_MOST_LIMITED = 200.0


@dataclass(frozen=True)
class Watching:
    """Who is given the solution so far every so many seconds, and who is asked, inside a step too, whether to end."""

    keep: Callable[[Solution], object] | None
    seconds: float
    is_over: Callable[[], bool]
    keep_steps: bool = True  # without them ``sol(t)`` integrates again from the start


def integrate_one(
    data: Dataset,
    net: Network,
    settings: Settings,
    threads: int,
    listening: Listeners,
    watching: Watching | None = None,
    *,
    told: Mapping[str, Any] = NOTHING,
) -> Solution:
    """Run one flow, in legs if it is to end where its limit is certified; `told`: by `told_of`, of its start."""
    is_leg = bool(settings.until.limit)
    with _Legs(data, net, settings, threads, listening, watching, told, is_leg) as leg:
        if settings.until.limit:
            return whole(to_limit(leg, settings.until, settings.start_log_time, settings.weight_decay), settings)
        return leg(None, settings.until)


def run_beside_rest(
    data: Dataset, net: Network, settings: Settings, listening: Listeners, rests: npt.NDArray[np.bool_]
) -> Solution:
    """Run one flow to a large log t, and where its loss stalls go on beside the samples `rests`, which are at rest.

    The last leg is returned: its end is the flow's but for the margins at rest (docs/design/resting.md).
    """
    with _Legs(data, net, settings, 1, listening, None, told=NOTHING, is_leg=True) as leg:
        return to_time_beside_rest(leg, settings.until, rests)


class _Legs:
    """Makes the runs of one flow, each from the end of the one before."""

    def __init__(
        self,
        data: Dataset,
        net: Network,
        settings: Settings,
        threads: int,
        listening: Listeners,
        watching: Watching | None,
        told: Mapping[str, Any],
        is_leg: bool,
    ) -> None:
        """Keep the problem and who is to hear of its runs; `is_leg` if others may go on from them."""
        self._data, self._net, self._settings, self._threads = data, net, settings, threads
        self._watching, self._told, self._is_leg, self._period = watching, told, is_leg, listening.period
        self._progress = _Progress()
        self._reporter = Reporter(listening, self._progress.report)

    def __enter__(self) -> _Legs:
        return self

    def __exit__(self, *_: object) -> None:
        self._reporter.close()

    def __call__(self, done: Solution | None, until: Stop) -> Solution:
        """Run from the end of `done`, or from the start."""
        data, settings = self._data, self._settings
        self._progress.done = done
        begin = self._net if done is None else done.final
        own = settings if done is None else _going_on(settings, done)
        if until is not own.until:
            own = replace(own, until=until)
        held = hold(begin.W, begin.a, own.start_log_time) if done is None else _held_by(done)
        options = core_options(data, begin, own) | {"n_threads": self._threads, "hook_period": self._period}
        options |= {"hook_waited": perf_counter() - self._progress.heard}  # legs may be shorter than a period
        options |= {"exponent": held.exponent}
        options |= self._told if done is None else told_of(data, done, own)
        if self._is_leg:  # what is done where a loss stalls is decided between legs
            options["past_stall"] = False
        if done is not None:
            options |= _carried_on(done)
        if _goes_past_a_stall(self._settings) and not is_beyond(done):
            options |= {"most_limited": _MOST_LIMITED}
        if self._watching is not None:
            options |= self._watched(self._watching, done, begin, own)
        arguments = data.X, data.y, held.W, held.a, begin.leak, own.loss, own.reduction, options
        raw = _core.integrate(*arguments, self._reporter.hook)
        return solution_of(raw, data, begin, own, is_leg=self._is_leg)

    def _watched(self, watching: Watching, done: Solution | None, begin: Network, own: Settings) -> dict[str, Any]:
        """Return the options by which a leg is watched."""
        options: dict[str, Any] = {"is_over": watching.is_over}
        options |= {} if watching.keep_steps else {"checkpoint_bytes": 0}
        keep = None if is_beyond(done) else watching.keep
        if keep is None:
            return options

        def kept(raw: dict[str, Any]) -> None:
            part = solution_of(raw, self._data, begin, own)
            keep(part if done is None else joined(done, part, self._settings.until))

        return options | {"keep": kept, "keep_period": watching.seconds}


@dataclass
class _Progress:
    """Makes a `Progress` of what the core says of the present leg; `done` is what came before it.

    `heard` is when it did so last.
    """

    done: Solution | None = None
    heard: float = field(default_factory=perf_counter)

    def report(self, report: dict[str, Any]) -> Progress:
        self.heard = perf_counter()
        if self.done is not None:
            before = self.done.stats
            clock = {} if tells_time(self.done) else {"t": math.inf, "log_t": math.inf}
            report = {
                **report,
                "steps": report["steps"] + before["steps"],
                "events": report["events"] + before["n_events"],
                "seconds": report["seconds"] + before["seconds"],
                **clock,
            }
        return Progress(**report)


def _held_by(done: Solution) -> Held:
    """Return the last state of a leg as the core held it: the next one has the same weights of samples, to all digits.

    Margins beyond the digits of log t do not tell them: read off the state, they would be wrong by 1e-6, and neurons
    that slide would leave and come back by that.
    """
    exponent = done._raw["held"]["exponent"]
    final = done.final
    return Held(np.ldexp(final.W, -exponent), np.ldexp(final.a, -exponent), exponent)


def _carried_on(done: Solution) -> dict[str, Any]:
    """Return what a leg is told of the one before it, and of the roles of the samples, if it goes on beside some."""
    raw, held = done._raw, done._raw["held"]
    names = ("offsets", "rest_scales", "tail_share", "rtol", "rounding")
    options = {name: held[name] for name in names if name in held} | {"goes_on": True, "pace": raw["final_pace"]}
    if "final_sample_weights" in raw:
        options["sample_weights"] = raw["final_sample_weights"]
    return options


def _goes_past_a_stall(settings: Settings) -> bool:
    """Tell whether a run goes on where the flow itself can be followed no further (`to_limit`)."""
    until = settings.until
    return bool(until.limit) and until.events is None and math.isinf(until.log_end()) and not settings.weight_decay


def _going_on(settings: Settings, done: Solution) -> Settings:
    """Return the settings of a leg that goes on from `done`."""
    left = None if settings.max_events is None else max(1, settings.max_events - len(done.events))
    norms = settings.save_at_log_norm
    if norms is not None:  # without any the states would be the accepted steps
        norms = norms[len(done.t) :] if len(done.t) < len(norms) else np.array([np.inf])
    return replace(
        settings, start_time=done.t_end, start_log_time=done.log_t_end, max_events=left, save_at_log_norm=norms
    )
