"""Arguments of a run: each checked, and brought to the form that the core takes."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .. import _core
from .._validation import FloatArray, instance, integer, invalid, not_negative, one_of, real_array
from ..datasets import Dataset
from ..layered._integrate import DEFAULT_RTOL, POLICIES, checked_rtol
from ..losses import check_loss, check_reduction, core_weights, reduction_factor
from ..networks import Network
from ..networks._bias import knowing_bias
from ..networks._parts import one_output
from ._scale import is_beyond_digits
from ._settings import Settings
from ._solution import Solution
from ._stop import LARGEST_LOG_NORM, Stop

# A carried pattern may contradict a pre-activation by this part of |θ_j| |x_i|: far above the error of any run, far
# below the pre-activations of a pattern that belongs to other data.
PATTERN_TOL = 1e-6
# The limit of a loss of margins is solved for from its pattern: the tolerance decides by which way that is reached.
# `bench/limits.py --against 1e-11` compares limits at this one with those of tight runs (docs/horizon.md).
LIMIT_RTOL = 1e-6
MAX_THREADS = 2**31 - 1  # what the core can hold
# Ends at which it is not known how the flow goes on: the next run decides anew.
_UNDECIDED = ("branch", "undecided_event", "accuracy_not_reached", "non_finite")
# Weights between this and its inverse are squared as they are.
LARGEST_SQUARED = 1e140


@dataclass(frozen=True, kw_only=True)
class Asked:
    """The options of `integrate` as the caller gave them, not yet checked."""

    until: Stop | float
    loss: str
    reduction: str
    rtol: float | None
    atol: float | None
    save_at: npt.ArrayLike | None
    save_at_log: npt.ArrayLike | None
    on_branch: str
    max_events: int | None
    weight_decay: float = 0.0
    save_at_log_norm: npt.ArrayLike | None = None

    def settings(self, start: Start) -> Settings:
        """Check the options for a run that begins at `start`.

        Raises
        ------
        ValueError
            A bad option; the message names it, what was found and what is expected.
        """
        settings = Settings(
            until=_until(self.until, start),
            loss=check_loss(self.loss),
            reduction=check_reduction(self.reduction),
            rtol=self._default_rtol() if self.rtol is None else checked_rtol(self.rtol),
            atol=None if self.atol is None else _atol(self.atol),
            save_at=_save_at(self.save_at, start.t),
            save_at_log=_save_at_log(self.save_at_log, self.save_at, start.log_t),
            on_branch=one_of(self.on_branch, "on_branch", POLICIES),
            max_events=None if self.max_events is None else integer(self.max_events, "max_events"),
            start_time=start.t,
            start_log_time=start.log_t,
            version=_core.__version__,
            weight_decay=not_negative(self.weight_decay, "weight_decay"),
            save_at_log_norm=self._norms(),
        )
        _check_reachable(settings.save_at, settings.save_at_log, settings.until)
        _check_reachable_norms(settings.save_at_log_norm, settings.until)
        if settings.until.limit and (self.save_at is not None or self.save_at_log is not None):
            raise invalid("save_at", "be left out where Stop.limit is given", "times")
        return settings

    def _default_rtol(self) -> float:
        """Return the tolerance of a run that is given none; the stop, the loss and the decay are checked."""
        to_limit = isinstance(self.until, Stop) and bool(self.until.limit)
        return LIMIT_RTOL if to_limit and self.loss != "squared" and not self.weight_decay else DEFAULT_RTOL

    def _norms(self) -> FloatArray | None:
        if self.save_at_log_norm is None:
            return None
        for name in ("save_at", "save_at_log"):
            if getattr(self, name) is not None:
                raise invalid("save_at_log_norm", f"be left out where {name} is given", "both")
        return _grid(self.save_at_log_norm, "save_at_log_norm")


def thread_count(n_threads: int | None) -> int:
    """Return the number of threads asked for; None and -1 are every core that this process may use, -2 all but one.

    Raises
    ------
    ValueError
        It is neither None nor an integer other than 0.
    """
    if isinstance(n_threads, (int, np.integer)) and not isinstance(n_threads, bool) and n_threads < 0:
        return max(_cores() + 1 + int(n_threads), 1)
    return _cores() if n_threads is None else integer(n_threads, "n_threads", most=MAX_THREADS)


def _cores() -> int:
    """Return the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def core_options(data: Dataset, net: Network, settings: Settings) -> dict[str, Any]:
    """Return what the core wants to know of a run beside data, weights and loss."""
    until = settings.until
    options = {
        "rtol": settings.rtol,
        "atol": settings.atol,
        "until_time": until.time,
        "until_log_time": until.log_time,
        "until_log_loss": until.log_loss(data.total, settings.reduction),
        "until_mean": until.ends_on_mean(data.total, settings.reduction),
        "until_direction": until.direction,
        "until_log_norm": until.log_norm,
        "until_events": until.events,
        "until_seconds": until.seconds,
        "max_events": settings.max_events,
        "on_branch": settings.on_branch,
        "save_at": settings.save_at,
        "save_at_log": settings.save_at_log,
        "save_at_log_norm": settings.save_at_log_norm,
        "pattern": net.pattern,
        "weights": core_weights(data, settings.reduction),
        "weight_decay": settings.weight_decay,
        "past_stall": not until.limit,
    }
    if math.isfinite(settings.start_time):
        options["start_time"] = settings.start_time
    else:
        options["start_log_time"] = settings.start_log_time
    return options


class Start(NamedTuple):
    """Where a run begins: the network, the time and its logarithm."""

    net: Network
    t: float
    log_t: float


def start_of(data: Dataset, net: object) -> Start:
    """Check that data and network fit, and say where the run begins.

    Raises
    ------
    ValueError
        Another class, other dimensions, or a carried pattern that is not that of these data.
    """
    instance(net, "net", (Network, Solution), "a Network or a Solution")
    assert isinstance(net, (Network, Solution))  # for the type checker
    start = Start(net.final, net.t_end, net.log_t_end) if isinstance(net, Solution) else Start(net, 0.0, -math.inf)
    one_output(start.net)
    if start.net.dim != data.d:
        raise invalid("net", f"have dim {data.d}, the columns of X", f"dim {start.net.dim}")
    start = start._replace(net=knowing_bias(start.net, data))
    if not is_beyond_digits(start.log_t):
        check_sizes(data.X, start.net)
    if start.net.pattern is not None:
        check_pattern(data.X, start.net)
    return start


def told_of(data: Dataset, net: object, settings: Settings) -> dict[str, Any]:
    """Return what the core is told of the run that led to `net`, if this one goes on in its flow: options of the core.

    That it came to rest holds at any tolerance. Where the whole run would go on as this one does, it is another leg:
    neurons on boundaries are held there, and steps have the lengths that they would have had.
    """
    if not isinstance(net, Solution) or not _is_of_flow(net, data, settings):
        return {}
    told: dict[str, Any] = {"at_rest": "rest_log_t" in net._raw["stats"]}
    used = net.settings
    as_before = all(getattr(used, name) == getattr(settings, name) for name in ("rtol", "atol", "on_branch"))
    decided = net.status not in _UNDECIDED and not is_beyond_digits(settings.start_log_time)
    if as_before and decided and "final_pace" in net._raw:
        told |= {"goes_on": True, "pace": net._raw["final_pace"]}
    return told


def _is_of_flow(net: Solution, data: Dataset, settings: Settings) -> bool:
    """Tell whether a run on these data follows the flow of `net`.

    The factor of the loss changes the pace alone; beside weight decay it changes the place of rest too.
    """
    if net.loss != settings.loss:
        return False
    decay, of_other = (
        used.weight_decay / reduction_factor(used.reduction, data.total) for used in (net.settings, settings)
    )
    mine = net.data
    same = mine is data or all(
        np.array_equal(getattr(mine, name), getattr(data, name)) for name in ("X", "y", "counts")
    )
    return same and decay == of_other


def _sizes(net: Network) -> FloatArray:
    """|(w_j, a_j)|, shape (m,); the largest entry is taken out first where a square might leave the doubles."""
    theta = np.concatenate((net.W, net.a.reshape(net.width, -1)), axis=1)
    entries = np.maximum.reduce(np.abs(theta), axis=1)
    scale: float | FloatArray = 1.0
    if not (np.minimum.reduce(entries) > 1.0 / LARGEST_SQUARED and np.maximum.reduce(entries) < LARGEST_SQUARED):
        scale = np.where(entries > 0, entries, 1.0)
        theta = theta / np.reshape(scale, (-1, 1))
    sizes: FloatArray = scale * np.sqrt(np.add.reduce(theta * theta, axis=1))
    return sizes


def _are_moderate(X: FloatArray, net: Network) -> bool:
    """Whether bounds of the sizes by the largest entries tell that none of them is refused.

    Extrema are asked of the ufuncs: a short run takes no longer than the wrappers around these.
    """
    outputs = net.a.reshape(net.width, -1)
    entries = np.maximum.reduce(np.abs(np.concatenate((net.W, outputs), axis=1)), axis=1)
    largest = float(np.maximum.reduce(entries)) * math.sqrt(net.W.shape[1] + outputs.shape[1])
    longest = float(np.maximum.reduce(np.abs(X), axis=None)) * math.sqrt(X.shape[1])
    return (
        bool(np.minimum.reduce(entries) >= _core.SMALLEST_NEURON)
        and largest <= _core.LARGEST_NEURON
        and net.width * largest * largest * longest <= _core.LARGEST_OUTPUT
    )


def check_sizes(X: FloatArray, net: Network) -> None:
    """Refuse neurons whose squares leave the range of floats; the bounds are those of the core."""
    if _are_moderate(X, net):
        return
    least, most = _core.SMALLEST_NEURON, _core.LARGEST_NEURON
    sizes = _sizes(net)
    largest = float(np.maximum.reduce(sizes))
    if not (np.minimum.reduce(sizes) >= least and largest <= most):
        _refuse_sizes(sizes)
    longest = math.sqrt(np.maximum.reduce(np.add.reduce(X * X, axis=1)))
    if not net.width * largest * largest * longest <= _core.LARGEST_OUTPUT:
        expected = f"be so small on these data that m |θ_j|² |x_i| is at most {_core.LARGEST_OUTPUT:g}"
        raise invalid("net", expected, f"|θ_j| = {largest:g} and |x_i| = {longest:g}")


def _refuse_sizes(sizes: FloatArray) -> None:
    """Raise for the first of the sizes that is neither 0 nor within the bounds, if there is one."""
    least, most = _core.SMALLEST_NEURON, _core.LARGEST_NEURON
    bad = (sizes != 0) & ~((sizes >= least) & (sizes <= most))
    if bad.any():
        neuron = int(np.argmax(bad))
        expected = f"have neurons (w_j, a_j) of size 0 or in [{least:g}, {most:g}]"
        raise invalid("net", expected, f"the size {sizes[neuron]:g} (neuron {neuron})")


def check_pattern(X: FloatArray, net: Network) -> None:
    """Refuse a carried pattern that contradicts the signs of W Xᵀ by more than rounding and the error of a run."""
    pattern = net.pattern
    assert pattern is not None  # for the type checker: the caller looked
    if pattern.shape[1] != len(X):
        raise invalid("net.pattern", f"have a column for each of the {len(X)} samples", f"{pattern.shape[1]} columns")
    Z = net.W @ X.T
    limit = PATTERN_TOL * np.outer(_sizes(net), np.linalg.norm(X, axis=1))
    wrong = np.where(pattern == 0, np.abs(Z), -pattern * Z) > limit
    if wrong.any():
        neuron, sample = np.argwhere(wrong)[0]
        found = f"{pattern[neuron, sample]} where w·x = {Z[neuron, sample]:g} (neuron {neuron}, sample {sample})"
        raise invalid("net.pattern", "hold the signs of W X^T", found)


def _until(until: Stop | float, start: Start) -> Stop:
    stop = Stop.of(until)
    for name in ("gradient", "steps"):
        value = getattr(stop, name)
        if value is not None:
            raise invalid(f"Stop.{name}", "be left out for two layers: it ends runs of a DeepNetwork", repr(value))
    if stop.time is not None and stop.time <= start.t:
        raise invalid("Stop.time", f"be later than the start at t = {start.t!r}", repr(stop.time))
    if stop.log_time is not None and stop.log_time <= start.log_t:
        raise invalid("Stop.log_time", f"be later than the start at log t = {start.log_t!r}", repr(stop.log_time))
    return stop


def _atol(atol: object) -> float:
    return not_negative(atol, "atol", "be None or a finite number of at least 0")


def checked_times(
    save_at: npt.ArrayLike | None, save_at_log: npt.ArrayLike | None, start: tuple[float, float], stop: Stop
) -> tuple[FloatArray | None, FloatArray | None]:
    """Return times to save at, of a run that begins at `start`, t and log t, and ends at `stop`.

    Raises
    ------
    ValueError
        They do not increase, or the run does not reach them.
    """
    times, log_times = _save_at(save_at, start[0]), _save_at_log(save_at_log, save_at, start[1])
    _check_reachable(times, log_times, stop)
    return times, log_times


def _save_at(value: npt.ArrayLike | None, start: float) -> FloatArray | None:
    return None if value is None else _grid(value, "save_at", start, "start of the run at t")


def _save_at_log(value: npt.ArrayLike | None, save_at: npt.ArrayLike | None, start: float) -> FloatArray | None:
    if value is None:
        return None
    if save_at is not None:
        raise invalid("save_at_log", "be left out where save_at is given", "both")
    return _grid(value, "save_at_log", start, "start of the run at log t")


def _grid(value: npt.ArrayLike, name: str, first: float = -math.inf, what: str = "") -> FloatArray:
    times = real_array(value, name, "(k,)")
    if not len(times):
        raise invalid(
            name, "hold at least one norm" if name == "save_at_log_norm" else "hold at least one time", "none"
        )
    if times[0] < first:
        raise invalid(name, f"not be before the {what} = {first!r}", repr(float(times[0])))
    falls = times[1:] <= times[:-1]
    if falls.any():
        at = int(np.argmax(falls))
        raise invalid(
            name, "increase strictly", f"{float(times[at + 1])!r} after {float(times[at])!r} at entry {at + 1}"
        )
    return times


def _check_reachable(save_at: FloatArray | None, save_at_log: FloatArray | None, stop: Stop) -> None:
    """Refuse times to save at that lie beyond the time stop."""
    for name, times, end in (("save_at", save_at, _end(stop)), ("save_at_log", save_at_log, stop.log_end())):
        if times is not None and times[-1] > end:
            raise invalid(name, f"hold times that are reachable, up to the stop at {end!r}", repr(float(times[-1])))


def _check_reachable_norms(norms: FloatArray | None, stop: Stop) -> None:
    last = LARGEST_LOG_NORM if stop.log_norm is None else stop.log_norm
    if norms is not None and norms[-1] > last:
        expected = f"hold norms that are reachable, up to {last!r}"
        raise invalid("save_at_log_norm", expected, repr(float(norms[-1])))


def _end(stop: Stop) -> float:
    """Last time that can be reached, inf without a time criterion."""
    time = math.inf if stop.time is None else stop.time
    # e^709 is the last power of e that is a finite float.
    log_time = math.inf if stop.log_time is None or stop.log_time > 709 else math.exp(stop.log_time)
    return min(time, log_time)
