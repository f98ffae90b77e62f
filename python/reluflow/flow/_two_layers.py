"""Runs of a `Network` by the layered core: several outputs, output weights that stay fixed, rates of the layers."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, Required, TypedDict

import numpy as np
import numpy.typing as npt

from .. import _core
from .._validation import invalid, not_negative
from ..layered import DeepSolution
from ..layered._integrate import DEFAULT_RTOL, HOOK_PERIOD, Hook, Layered, check_start, integrate_layers
from ..layered._several import Pair, kept, pair_of
from ..layered._two_layers import AsLayers, as_layers
from ..losses import LossName, ReductionName
from ..networks import Network
from ._arguments import check_pattern, check_sizes, checked_times
from ._layers import refuse
from ._layers_to_limit import layers_to_limit
from ._outcome import BranchingError
from ._progress import Callback, Listeners, Progress, Reporter
from ._stop import Stop
from ._two_layer_solution import TwoLayerSolution

# Criteria whose meaning depends on the parameters, which rates rescale.
_OF_PARAMETERS = ("log_norm", "gradient")


class LossOptions(TypedDict, total=False):
    """Options of `integrate` but the loss, for the type checker; they are explained there."""

    until: Required[Stop | float]
    reduction: ReductionName | None
    weight_decay: float | None
    rtol: float | None
    save_at: npt.ArrayLike | None
    save_at_log: npt.ArrayLike | None
    on_branch: str
    max_events: int | None
    progress: bool
    callback: Callback | None
    callback_period: float
    n_threads: int | None


class OneOutputOptions(LossOptions, total=False):
    """The same with the loss."""

    loss: LossName | Literal["cross_entropy"] | None


class CrossEntropyOptions(LossOptions, total=False):
    """The same with those that say what is trained, for a loss that is known."""

    train: Literal["both", "first"] | None
    rates: tuple[float, float] | None


class TwoLayerOptions(OneOutputOptions, total=False):
    """The same with those that say what is trained."""

    train: Literal["both", "first"] | None
    rates: tuple[float, float] | None


class NetworkOptions(TwoLayerOptions, total=False):
    """The same with those of one output alone."""

    atol: float | None
    save_at_log_norm: npt.ArrayLike | None


@dataclass(frozen=True, kw_only=True)
class TwoLayerRun:
    """A run that has been checked; it travels to a worker."""

    data: Any
    pair: Pair
    reader: AsLayers
    origin: Any
    asked: Layered
    settings: dict[str, Any]
    start_log_t: float = -math.inf

    def go(self, hook: Hook | None = None, period: float = HOOK_PERIOD) -> TwoLayerSolution:
        """Integrate, in legs if the run is to end where its limit is certified."""

        def leg(done: DeepSolution | None, asked: Layered, own: Hook | None) -> DeepSolution:
            return integrate_layers(self.pair.data, self.origin if done is None else done, asked, own, period)

        if self.settings["until"].get("limit"):
            return layers_to_limit(leg, self._read, self.asked, self.start_log_t, hook, period)
        return self._read(leg(None, self.asked, hook))

    def _read(self, inner: DeepSolution) -> TwoLayerSolution:
        return TwoLayerSolution(self.data, self.reader, self.settings, inner)


def is_of_layers(net: object, train: object = None, rates: object = None) -> bool:
    """Tell whether a run of a network belongs to the layered core."""
    if isinstance(net, TwoLayerSolution):
        return True
    return isinstance(net, Network) and (net.n_outputs > 1 or not _trains_both(train) or rates is not None)


def _trains_both(train: object) -> bool:
    """Tell whether `train` is left out or asks for what is usual."""
    return train is None or (isinstance(train, str) and train == "both")


def refuse_parts(train: object, rates: object) -> None:
    """Refuse `train` and `rates` where the start is no network of two layers.

    Raises
    ------
    ValueError
        One of them is given.
    """
    for name, value, is_usual in (("train", train, _trains_both(train)), ("rates", rates, rates is None)):
        if not is_usual:
            raise invalid(name, "be left out: it is for a Network that starts anew", repr(value))


def run_of(data: Any, net: Any, until: Stop | float, options: dict[str, Any]) -> TwoLayerRun:
    """Check all arguments of a run; `options` are those of `reluflow.integrate`.

    Raises
    ------
    ValueError
        A bad argument; the message names it.
    """
    rules = refuse(options, "with several outputs, train or rates")
    train, rates = rules.pop("train"), rules.pop("rates")
    goes_on = isinstance(net, TwoLayerSolution)
    reader = _going_on(net, train, rates) if goes_on else as_layers(net, "both" if train is None else train, rates)
    pair = pair_of(data, reader.start, rules["loss"])
    reader = reader.going_on(pair.net)
    stop = Stop.of(until)
    start = (net.t_end, net.log_t_end) if goes_on else (0.0, -math.inf)
    times = checked_times(rules["save_at"], rules["save_at_log"], start, stop)
    rules["save_at"], rules["save_at_log"] = times
    rules["rtol"] = DEFAULT_RTOL if rules["rtol"] is None else rules["rtol"]
    settings = {**options, **rules, "until": stop.as_dict(), "version": _core.__version__}
    settings["train"] = reader.train
    settings["rates"] = net.settings["rates"] if goes_on else (None if rates is None else reader.rates)
    rules["weight_decay"] = not_negative(rules["weight_decay"], "weight_decay")
    settings["weight_decay"] = rules["weight_decay"]
    if stop.limit:
        _check_limit(reader, rules)
    timed = {**_in_time_of_layers(rules, reader.speed), "weight_decay": reader.decay(rules["weight_decay"])}
    asked = Layered(criteria=_criteria(stop, reader), **timed)
    if not goes_on:
        check_sizes(pair.X, pair.net)
        _check_pattern(pair)
    origin = net.layered if goes_on else reader.layers()
    check_start(pair.data, origin, asked)
    return TwoLayerRun(
        data=kept(data, pair),
        pair=pair,
        reader=reader,
        origin=origin,
        asked=asked,
        settings=settings,
        start_log_t=start[1],
    )


def run_two_layers(
    data: Any, net: Any, until: Stop | float, listening: Listeners, options: dict[str, Any]
) -> TwoLayerSolution:
    """Integrate and report.

    Raises
    ------
    ValueError
        A bad argument.
    BranchingError
        A branch point, with ``on_branch="raise"``.
    """
    run = run_of(data, net, until, options)
    reporter = Reporter(listening, _report(run.reader.speed))
    try:
        solution = run.go(reporter.hook, listening.period)
    finally:
        reporter.close()
    if solution.branched:
        raise BranchingError(solution)
    return solution


def _report(speed: float) -> Callable[[dict[str, Any]], Progress]:
    def report(found: dict[str, Any]) -> Progress:
        times = {"t": found["t"] / speed, "log_t": found["log_t"] - math.log(speed)}
        return Progress(**{**found, **times})

    return report


def _going_on(solution: TwoLayerSolution, train: object, rates: Any) -> AsLayers:
    """Read a run on as it was: what is trained and how fast cannot change with the state that the core keeps."""
    known = solution._reader
    for name, asked, used in (("train", train, known.train), ("rates", rates, solution.settings["rates"])):
        if asked is not None and (tuple(asked) if isinstance(asked, list) else asked) != used:
            raise invalid(name, f"be {used!r}, as in the run that is continued", repr(asked))
    return known.going_on(solution.final)


def _criteria(stop: Stop, reader: AsLayers) -> dict[str, float | int]:
    given = stop.as_dict()
    given.pop("limit", None)  # the legs ask for it
    if "direction" in given:
        reason = "it ends runs of one output with both layers trained"
        raise invalid("Stop.direction", f"be left out: {reason}", repr(given["direction"]))
    if "log_norm" in given:
        given["log_norm"] = reader.log_norm(given["log_norm"])
    if reader.speed == 1.0 and reader.rates == (1.0, 1.0):
        return given
    for name in _OF_PARAMETERS:
        if name in given:
            raise invalid(f"Stop.{name}", "be left out with rates", repr(given[name]))
    if "time" in given:
        given["time"] *= reader.speed
    if "log_time" in given:
        given["log_time"] += math.log(reader.speed)
    return given


def _check_limit(reader: AsLayers, rules: dict[str, Any]) -> None:
    """Refuse `Stop(limit=True)` for a run that has none, or beside what its legs cannot do."""
    if reader.train != "both" or reader.rates[0] != reader.rates[1]:
        raise invalid("Stop.limit", "be left out unless both layers are trained at one rate", "True")
    if rules["save_at"] is not None or rules["save_at_log"] is not None:
        raise invalid("save_at", "be left out where Stop.limit is given", "times")


def _in_time_of_layers(rules: dict[str, Any], speed: float) -> dict[str, Any]:
    if speed == 1.0:
        return rules
    found = dict(rules)
    if found["save_at"] is not None:
        found["save_at"] = speed * np.asarray(found["save_at"])
    if found["save_at_log"] is not None:
        found["save_at_log"] = np.asarray(found["save_at_log"]) + math.log(speed)
    return found


def _check_pattern(pair: Pair) -> None:
    """Refuse a carried pattern that the signs of W Xᵀ do not say by themselves: the layered core reads them off."""
    net = pair.net
    if net.pattern is None:
        return
    check_pattern(pair.X, net)
    signs = np.sign(net.W @ pair.X.T)
    if (signs != net.pattern).any():
        j, i = np.argwhere(signs != net.pattern)[0]
        way = "go on with the solution itself, integrate(data, sol), or leave the pattern out, Network(W, a)"
        found = f"{net.pattern[j, i]} where w·x = {net.W[j] @ pair.X[i]:g} (neuron {j}, sample {i})"
        raise invalid("net.pattern", f"be the signs of W X^T with several outputs, train or rates: {way}", found)
