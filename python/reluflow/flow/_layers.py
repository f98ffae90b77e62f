"""Runs of layered networks with the callback and the live line of every run."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

from .._validation import invalid, not_negative
from ..layered import DeepNetwork, DeepSolution
from ..layered._integrate import HOOK_PERIOD, Hook, Layered, check_start, integrate_layers
from ._arguments import checked_times
from ._layers_to_limit import layers_to_limit
from ._outcome import BranchingError
from ._progress import Listeners, Progress, Reporter
from ._stop import Stop


def refuse(options: dict[str, Any], what: str = "for a layered network") -> dict[str, Any]:
    """Return options without those that a layered network lacks: an absolute tolerance, norms to save at.

    Its own tolerance is relative to its largest parameter.

    Raises
    ------
    ValueError
        One of them is given.
    """
    for name in ("atol", "save_at_log_norm"):
        if options[name] is not None:
            raise invalid(name, f"be left out {what}", repr(options[name]))
    return {name: value for name, value in options.items() if name not in ("atol", "save_at_log_norm")}


@dataclass(frozen=True)
class LayeredRun:
    """A run of a layered network; it travels to a worker."""

    data: Any
    net: DeepNetwork | DeepSolution
    asked: Layered
    to_limit: bool = False

    @classmethod
    def of(cls, data: Any, net: Any, until: Stop, options: dict[str, Any]) -> LayeredRun:
        """Read the arguments; `check` says whether they are right.

        Raises
        ------
        ValueError
            An option that layered networks lack, or times to save at that do not fit.
        """
        criteria = until.as_dict()
        to_limit = bool(criteria.pop("limit", False))
        rules = refuse(options)
        rules["weight_decay"] = not_negative(rules["weight_decay"], "weight_decay")
        start = (net.t_end, net.log_t_end) if isinstance(net, DeepSolution) else (0.0, -math.inf)
        times = checked_times(rules["save_at"], rules["save_at_log"], start, until)
        if to_limit and times != (None, None):
            raise invalid("save_at", "be left out where Stop.limit is given", "times")
        rules["save_at"], rules["save_at_log"] = times
        return cls(data, net, Layered(criteria=criteria, **rules), to_limit)

    def check(self) -> None:
        """Check everything that can be wrong before the run begins.

        Raises
        ------
        ValueError
            A bad argument.
        """
        check_start(self.data, self.net, self._asked_or_endless)

    @property
    def _asked_or_endless(self) -> Layered:
        """What is asked, with no end in time where there is no other: a run to a limit has it by itself."""
        endless = self.to_limit and not self.asked.criteria
        return replace(self.asked, criteria={"log_time": math.inf}) if endless else self.asked

    def go(self, hook: Hook | None = None, period: float = HOOK_PERIOD) -> DeepSolution:
        """Integrate, in legs if the run is to end where its limit is certified."""

        def leg(done: DeepSolution | None, asked: Layered, own: Hook | None) -> DeepSolution:
            return integrate_layers(self.data, self.net if done is None else done, asked, own, period)

        if not self.to_limit:
            return leg(None, self.asked, hook)
        start = self.net.log_t_end if isinstance(self.net, DeepSolution) else -math.inf
        done = layers_to_limit(leg, lambda one: one, self.asked, start, hook, period)
        settings = {**self._asked_or_endless.settings(-math.inf, len(done._problem.X)), "limit": True}
        found = DeepSolution(done._problem, done.initial, settings, done._raw)
        if "limit" in done.__dict__:
            found.__dict__["limit"] = done.limit  # worked out already
        return found


def run_layers(
    data: object, net: DeepNetwork | DeepSolution, until: Stop | float, listening: Listeners, **options: Any
) -> DeepSolution:
    """Integrate and report; `options` are those of `reluflow.integrate`.

    Raises
    ------
    ValueError
        A bad argument.
    BranchingError
        A branch point, with ``on_branch="raise"``.
    """
    run = LayeredRun.of(data, net, Stop.of(until), options)
    reporter = Reporter(listening, lambda report: Progress(**report))
    try:
        solution = run.go(reporter.hook, listening.period)
    finally:
        reporter.close()
    if solution.status == "branch":
        raise BranchingError(solution)
    return solution
