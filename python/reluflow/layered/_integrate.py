"""`integrate_layers`: check the arguments, call the core, hand back a solution."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from .._core import __version__
from .._validation import FloatArray, integer, invalid, not_negative, one_of, real, real_array
from ..datasets._dataset import total_of
from ..losses import check_reduction, loss_to_reach, reduction_factor
from ._model import Problem
from ._network import DeepNetwork
from ._problem import counts_of, inputs_of, targets_of
from ._solution import DeepSolution

POLICIES = ("inactive", "active", "stay", "raise")
MIN_RTOL = 1e-14  # below it the rounding of margins and of a step is larger than the error asked for
HOOK_PERIOD = 0.1  # seconds between two calls of a hook
_MISSED = ("undecided_event", "accuracy_not_reached")  # by a loose tolerance, it may be
_TOLD_TO_STOP = ("reached_seconds", "stopped_by_callback", "interrupted")
_TIGHT_RTOL = 1e-12  # of a run that is made again; with less than that rounding decides
_MORE_STEPS = (10, 1000)  # times the steps of the first run, and more than these
KEPT_STATES = 32  # stored with a solution for dense output after loading
# What a run of layers can be ended by; the other criteria of a Stop belong to two layers.
DEFAULT_RTOL = 1e-9
CRITERIA = ("time", "log_time", "loss", "mean_loss", "log_norm", "events", "gradient", "steps", "seconds")

Hook = Callable[[dict[str, Any]], object]


@dataclass(frozen=True, kw_only=True)
class Layered:
    """Arguments of a run besides data and network; see `reluflow.integrate`."""

    criteria: dict[str, float | int]
    loss: str = "logistic"
    reduction: str = "sum"
    weight_decay: float | FloatArray = 0.0  # of all parameters, or of each
    rtol: float | None = None
    save_at: npt.ArrayLike | None = None
    save_at_log: npt.ArrayLike | None = None
    on_branch: str = "inactive"
    max_events: int | None = None
    ends_at_rest: bool = False  # before the time of its stop: a leg of a longer run

    def settings(self, start: float, total: float, start_log: float = -math.inf) -> dict[str, Any]:
        """Return everything checked, as the core and a file take it; the run begins at `start`, log t = `start_log`.

        The samples count `total`.

        Raises
        ------
        ValueError
            A bad argument.
        """
        settings: dict[str, Any] = {
            "loss": self.loss,
            "reduction": check_reduction(self.reduction),
            "weight_decay": self._decay(),
            "rtol": DEFAULT_RTOL if self.rtol is None else checked_rtol(self.rtol),
            "on_branch": one_of(self.on_branch, "on_branch", POLICIES),
            "version": __version__,
            **_criteria(self.criteria, self.reduction, total),
        }
        if self.max_events is not None:
            settings["max_events"] = integer(self.max_events, "max_events")
        times = _times(self.save_at, self.save_at_log)
        if times is not None:
            settings |= {"save_at": times, "save_in_log": self.save_at is None}
        if "time" in settings and not settings["time"] > start:
            raise invalid("until", f"lie after the start, t = {start:g}", f"time={settings['time']!r}")
        if "log_time" in settings and not settings["log_time"] > start_log:
            raise invalid("until", f"lie after the start, log t = {start_log:g}", f"log_time={settings['log_time']!r}")
        return settings

    def _decay(self) -> float:
        if isinstance(self.weight_decay, np.ndarray):
            return float(self.weight_decay.max())
        return not_negative(self.weight_decay, "weight_decay")

    def decay_of(self, n_parameters: int) -> FloatArray | None:
        """Return γ of each parameter, or None for no decay."""
        each = np.array(np.broadcast_to(np.asarray(self.weight_decay, dtype=np.float64), (n_parameters,)))
        return each if each.any() else None


def checked_rtol(rtol: object) -> float:
    """Return a relative accuracy that a run can have; anything else is a ValueError."""
    expected = f"lie in [{MIN_RTOL:g}, 1)"
    number = real(rtol, "rtol", expected)
    if not MIN_RTOL <= number < 1:
        raise invalid("rtol", expected, repr(number))
    return number


def _criteria(given: dict[str, float | int], reduction: str, total: float) -> dict[str, Any]:
    other = [name for name in given if name not in CRITERIA]
    if other:
        raise invalid("until", "name criteria of layered networks: " + ", ".join(CRITERIA), repr(other[0]))
    stops: dict[str, Any] = {name: given[name] for name in CRITERIA if name in given and "loss" not in name}
    log_loss, _ = loss_to_reach(given.get("loss"), given.get("mean_loss"), total, reduction)
    return stops if log_loss is None else {**stops, "log_loss": log_loss}


def _times(save_at: npt.ArrayLike | None, save_at_log: npt.ArrayLike | None) -> FloatArray | None:
    if save_at is not None and save_at_log is not None:
        raise invalid("save_at", "be given without save_at_log", "both")
    name, value = ("save_at", save_at) if save_at is not None else ("save_at_log", save_at_log)
    if value is None:
        return None
    times = real_array(value, name, "(k,)")
    if (np.diff(times) <= 0).any():
        raise invalid(name, "increase", "times that do not")
    return times


def integrate_layers(
    data: object,
    net: DeepNetwork | DeepSolution,
    asked: Layered,
    hook: Hook | None = None,
    period: float = HOOK_PERIOD,
) -> DeepSolution:
    """Integrate the subgradient flow of a layered network, with every activation event.

    Parameters
    ----------
    data : Dataset, MultiClassDataset, or tuple (X, targets) or (X, targets, weights)
        Targets are ±1 for the logistic and the exponential loss, real numbers (n,) or (n, K) for the squared one,
        class indices for cross-entropy.
    net : DeepNetwork or DeepSolution
        The start, or a solution to go on from.
    asked : Layered
        Everything else.
    hook : callable, optional
        Called during the run with a dict of its progress; the run stops when it returns true.
    period : float, optional
        Seconds between two calls.

    Raises
    ------
    ValueError
        A bad argument; the message names it.
    """
    problem, settings, origin = check_start(data, net, asked)
    model = problem.new_model(origin)
    options = {**core_options(settings, asked, total_of(problem.counts, len(problem.X))), "hook_period": period}
    if isinstance(net, DeepSolution):
        options |= {"start_time": net.t_end} if math.isfinite(net.t_end) else {"start_log_time": net.log_t_end}
    raw = model.run(origin, options, hook)
    raw["checkpoints"] = model.states(KEPT_STATES)
    if raw["status"] in _MISSED and settings["rtol"] > _TIGHT_RTOL:
        settings, raw = _made_again(model, origin, options, hook, settings, raw)
    return DeepSolution(problem, problem.net, settings, raw)


def _made_again(
    model: Any, origin: Any, options: dict[str, Any], hook: Hook | None, settings: dict[str, Any], first: dict[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Run again at a tight tolerance: what a loose one leaves of the state may hide how the run goes on.

    Events end most steps, so that it takes few more of them. It is returned with its settings, unless it ends before
    the first by what is no stop of the state; then that is, with the status of the second if that was told to stop.
    """
    seconds = options.get("until_seconds")
    left = {} if seconds is None else {"until_seconds": max(seconds - first["seconds"], 0.0)}
    hears = _Second(hook, first)
    raw = model.run(origin, {**options, **left, "rtol": _TIGHT_RTOL}, hears)
    raw["checkpoints"] = model.states(KEPT_STATES)
    seconds = first["seconds"] + raw["seconds"]
    is_behind = raw["checkpoints"][-1]["log_t"] < first["checkpoints"][-1]["log_t"]
    if is_behind and raw["status"] in (*_MISSED, *_TOLD_TO_STOP):
        model.restore(first["checkpoints"])
        ended = first if raw["status"] in _MISSED or hears.is_given_up else raw
        names = ("status", "success", "message")
        return settings, {**first, **{name: ended[name] for name in names}, "seconds": seconds}
    missed = first["message"].partition(":")[0]
    note = f"; made again at rtol={_TIGHT_RTOL:g} (at {settings['rtol']:g}: {missed})"
    return {**settings, "rtol": _TIGHT_RTOL}, {**raw, "message": raw["message"] + note, "seconds": seconds}


class _Second:
    """Hears of a run that is made again, and gives it up where it takes far more steps than the first to come as far.

    Where normals of what slides all but depend on each other, rounding may keep tight steps far shorter.
    """

    def __init__(self, hook: Hook | None, first: dict[str, Any]) -> None:
        """Keep who else hears, how far the first run came, and how long it took."""
        self._hook = hook
        self._end = first["checkpoints"][-1]["log_t"]
        self._most = _MORE_STEPS[0] * first["n_steps"] + _MORE_STEPS[1]
        self._seconds = first["seconds"]
        self.is_given_up = False

    def __call__(self, report: dict[str, Any]) -> bool:
        """Say whether the run is to stop, also for who else hears: to them it began with the first."""
        self.is_given_up = report["steps"] > self._most and report["log_t"] < self._end
        if self.is_given_up or self._hook is None:
            return self.is_given_up
        return bool(self._hook({**report, "seconds": report["seconds"] + self._seconds}))


def core_options(settings: dict[str, Any], asked: Layered, total: float) -> dict[str, Any]:
    """Return what the core wants to know of a run, by its names."""
    options = {name: settings.get(name) for name in ("rtol", "on_branch", "max_events")}
    options |= {f"until_{name}": settings[name] for name in (*CRITERIA, "log_loss") if name in settings}
    given = asked.criteria
    options["ends_at_rest"] = asked.ends_at_rest
    options["until_mean"] = loss_to_reach(given.get("loss"), given.get("mean_loss"), total, asked.reduction)[1]
    if "save_at" in settings:
        options["save_at_log" if settings["save_in_log"] else "save_at"] = settings["save_at"]
    return options


def check_start(data: object, net: DeepNetwork | DeepSolution, asked: Layered) -> tuple[Problem, dict[str, Any], Any]:
    """Check all arguments of a run: what it is about, its settings, and what the core starts from.

    Raises
    ------
    ValueError
        A bad argument; the message names it.
    """
    start = net.final if isinstance(net, DeepSolution) else net
    X = inputs_of(data, start)
    targets = targets_of(data, start, asked.loss, len(X))
    counts = counts_of(data, len(X))
    total = total_of(counts, len(X))
    factor = reduction_factor(asked.reduction, total)
    t, log_t = (net.t_end, net.log_t_end) if isinstance(net, DeepSolution) else (0.0, -math.inf)
    settings = asked.settings(t, total, log_t)
    problem = Problem(data, start, X, targets, asked.loss, factor, counts, asked.decay_of(start.n_parameters))
    return problem, settings, _origin(net, problem)


def _origin(net: DeepNetwork | DeepSolution, problem: Problem) -> Any:
    """Return what the core starts from: parameters, or the last state of a solution in the same flow.

    Other targets, weights of samples or another loss may let units go that slide in that state. Then all that is at
    zero is decided anew, as at the start of a run.
    """
    if isinstance(net, DeepNetwork):
        return np.ascontiguousarray(net.theta)
    before = net._problem
    if not np.array_equal(before.X, problem.X):
        raise invalid("data", "be those of the solution that is continued", "other inputs")
    same = before.loss == problem.loss and np.array_equal(before.targets, problem.targets)
    if same and np.array_equal(_counts(before), _counts(problem)):
        return net._end
    return np.ascontiguousarray(net.final.theta)


def _counts(problem: Problem) -> FloatArray:
    return np.ones(len(problem.X)) if problem.counts is None else problem.counts
