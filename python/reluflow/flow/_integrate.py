"""`integrate`: check the arguments, call the core, hand back a solution."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .. import _core
from .._validation import FloatArray, instance, integer, invalid, one_of, real, real_array
from ..datasets import Dataset
from ..networks import Network
from ._outcome import complete
from ._progress import Callback, Reporter
from ._settings import Settings
from ._solution import Solution
from ._stop import Stop

LOSSES = ("logistic", "exponential")
REDUCTIONS = ("sum", "mean")
POLICIES = ("inactive", "active", "stay", "raise")

# Below this the rounding of the margins alone is larger than the error asked for.
MIN_RTOL = 1e-14
# A carried pattern may contradict a pre-activation by this part of |θ_j| |x_i|: far above the error of any run, far
# below the pre-activations of a pattern that belongs to other data.
PATTERN_TOL = 1e-6


class BranchingError(RuntimeError):
    """The flow reached a branch point and ``on_branch="raise"`` was asked for.

    Attributes
    ----------
    solution : Solution
        The solution up to the branch point; the last row of ``solution.branchings`` holds the options.
    """

    def __init__(self, solution: Solution) -> None:
        """Take the message of the solution."""
        super().__init__(solution.message)
        self.solution = solution

    def __reduce__(self) -> tuple[type[BranchingError], tuple[Solution]]:
        """Pickle by the solution."""
        return type(self), (self.solution,)


def integrate(
    data: Dataset,
    net: Network | Solution,
    *,
    until: Stop | float,
    loss: str = "logistic",
    reduction: str = "sum",
    rtol: float = 1e-9,
    atol: float | None = None,
    save_at: npt.ArrayLike | None = None,
    save_at_log: npt.ArrayLike | None = None,
    on_branch: str = "inactive",
    max_events: int | None = None,
    progress: bool = False,
    callback: Callback | None = None,
) -> Solution:
    """Integrate the subgradient flow dθ/dt ∈ -∂L(θ) of a two-layer network, with every activation event.

    Parameters
    ----------
    data : Dataset
        n samples in d dimensions.
    net : Network or Solution
        The start. A network that carries a pattern starts with these exact signs. A solution is continued from its
        end, at its time.
    until : Stop or float
        When to stop; a number means the time.
    loss : {"logistic", "exponential"}, optional
        ℓ(q) = log(1 + e^-q) or e^-q of the margin q.
    reduction : {"sum", "mean"}, optional
        Whether the losses of the samples are added or averaged. With the mean, time runs n times slower.
    rtol, atol : float, optional
        Bound of the local error of each neuron, rtol |θ_j| + atol. `rtol` lies in [1e-14, 1), `atol` is 0 by default.
    save_at : array_like, shape (k,), optional
        Increasing times at which to keep the state, instead of the accepted steps.
    save_at_log : array_like, shape (k,), optional
        Increasing natural logarithms of times, instead of `save_at`.
    on_branch : {"inactive", "active", "stay", "raise"}, optional
        What to do where the flow has several continuations: take the one with the undecided samples inactive, active,
        or at rest on their walls if there is one; or raise `BranchingError`.
    max_events : int, optional
        End the run without success after so many events.
    progress : bool, optional
        Show a live line on the standard error once the run has lasted two seconds; where that is no terminal, a new
        line every ten seconds.
    callback : callable, optional
        Called with a `Progress` about every 0.1 s; the run stops when it returns True.

    Returns
    -------
    Solution
        Look at ``sol.status`` and ``sol.message``: numerical trouble is an outcome, not an exception. After Ctrl-C it
        is the solution so far, with the status ``interrupted``.

    Raises
    ------
    ValueError
        A bad argument; the message names it, what was found and what is expected.
    BranchingError
        A branch point, with ``on_branch="raise"``.

    Notes
    -----
    The flow is that of [LLWA, App. I] and [PL, Def. 1, Lemma A.3]: walls are crossed, or held while the neuron slides
    along them, by the Clarke subdifferential.

    Examples
    --------
    >>> import reluflow as rf
    >>> data = rf.Dataset([[1.65, -0.47], [-0.47, 1.35]], [1, -1])
    >>> net = rf.Network([[0.01, 0.0], [0.0, 0.01]], [0.01, -0.01])
    >>> sol = rf.integrate(data, net, until=rf.Stop(mean_loss=0.1))
    >>> sol.status
    'reached_mean_loss'
    """
    instance(data, "data", Dataset, "a Dataset")
    start = _start(data, net)
    settings = Settings(
        until=_until(until, start),
        loss=one_of(loss, "loss", LOSSES),
        reduction=one_of(reduction, "reduction", REDUCTIONS),
        rtol=_rtol(rtol),
        atol=None if atol is None else _atol(atol),
        save_at=_save_at(save_at, start),
        save_at_log=_save_at_log(save_at_log, save_at, start),
        on_branch=one_of(on_branch, "on_branch", POLICIES),
        max_events=None if max_events is None else integer(max_events, "max_events"),
        start_time=start.t,
        start_log_time=start.log_t,
        version=_core.__version__,
    )
    _check_reachable(settings)
    solution = _run(data, start.net, settings, _reporter(progress, callback))
    if solution.status == "branch" and settings.on_branch == "raise":
        raise BranchingError(solution)
    return solution


def _run(data: Dataset, net: Network, settings: Settings, reporter: Reporter) -> Solution:
    options = _options(data, net, settings)
    try:
        raw = _core.integrate(
            data.X, data.y, net.W, net.a, net.leak, settings.loss, settings.reduction, options, reporter.hook
        )
    finally:
        reporter.close()
    complete(raw, settings, data.n)
    initial = Network._trusted(net.W, net.a, net.leak, raw["pattern0"])
    return Solution(data, initial, settings, raw)


def _options(data: Dataset, net: Network, settings: Settings) -> dict[str, Any]:
    until = settings.until
    options = {
        "rtol": settings.rtol,
        "atol": settings.atol,
        "until_time": until.time,
        "until_log_time": until.log_time,
        "until_log_loss": until.log_loss(data.n, settings.reduction),
        "until_direction": until.direction,
        "until_events": until.events,
        "until_seconds": until.seconds,
        "max_events": settings.max_events,
        "on_branch": settings.on_branch,
        "save_at": settings.save_at,
        "save_at_log": settings.save_at_log,
        "pattern": net.pattern,
    }
    if math.isfinite(settings.start_time):
        options["start_time"] = settings.start_time
    else:
        options["start_log_time"] = settings.start_log_time
    return options


class _Start(NamedTuple):
    net: Network
    t: float
    log_t: float


def _start(data: Dataset, net: Network | Solution) -> _Start:
    instance(net, "net", (Network, Solution), "a Network or a Solution")
    start = _Start(net.final, net.t_end, net.log_t_end) if isinstance(net, Solution) else _Start(net, 0.0, -math.inf)
    if start.net.dim != data.d:
        raise invalid("net", f"have dim {data.d}, the columns of X", f"dim {start.net.dim}")
    if start.net.pattern is not None:
        _check_pattern(data, start.net)
    return start


def _check_pattern(data: Dataset, net: Network) -> None:
    """Refuse a carried pattern that contradicts the signs of W Xᵀ by more than rounding and the error of a run."""
    pattern = net.pattern
    assert pattern is not None  # for the type checker: the caller looked
    if pattern.shape[1] != data.n:
        raise invalid("net.pattern", f"have a column for each of the {data.n} samples", f"{pattern.shape[1]} columns")
    Z = net.W @ data.X.T
    limit = PATTERN_TOL * np.outer(np.linalg.norm(net.theta, axis=1), np.linalg.norm(data.X, axis=1))
    wrong = np.where(pattern == 0, np.abs(Z), -pattern * Z) > limit
    if wrong.any():
        neuron, sample = np.argwhere(wrong)[0]
        found = f"{pattern[neuron, sample]} where w·x = {Z[neuron, sample]:g} (neuron {neuron}, sample {sample})"
        raise invalid("net.pattern", "hold the signs of W X^T", found)


def _until(until: Stop | float, start: _Start) -> Stop:
    stop = Stop.of(until)
    if stop.time is not None and stop.time <= start.t:
        raise invalid("Stop.time", f"be later than the start at t = {start.t!r}", repr(stop.time))
    if stop.log_time is not None and stop.log_time <= start.log_t:
        raise invalid("Stop.log_time", f"be later than the start at log t = {start.log_t!r}", repr(stop.log_time))
    return stop


def _rtol(rtol: object) -> float:
    expected = f"lie in [{MIN_RTOL:g}, 1)"
    number = real(rtol, "rtol", expected)
    if not MIN_RTOL <= number < 1:
        raise invalid("rtol", expected, repr(number))
    return number


def _atol(atol: object) -> float:
    expected = "be None or a finite number of at least 0"
    number = real(atol, "atol", expected)
    if number < 0:
        raise invalid("atol", expected, repr(number))
    return number


def _save_at(value: npt.ArrayLike | None, start: _Start) -> FloatArray | None:
    return None if value is None else _grid(value, "save_at", start.t, "start of the run at t")


def _save_at_log(value: npt.ArrayLike | None, save_at: npt.ArrayLike | None, start: _Start) -> FloatArray | None:
    if value is None:
        return None
    if save_at is not None:
        raise invalid("save_at_log", "be left out where save_at is given", "both")
    return _grid(value, "save_at_log", start.log_t, "start of the run at log t")


def _grid(value: npt.ArrayLike, name: str, first: float, what: str) -> FloatArray:
    times = real_array(value, name, "(k,)")
    if not len(times):
        raise invalid(name, "hold at least one time", "none")
    if times[0] < first:
        raise invalid(name, f"not be before the {what} = {first!r}", repr(float(times[0])))
    falls = np.flatnonzero(np.diff(times) <= 0)
    if len(falls):
        at = int(falls[0])
        raise invalid(
            name, "increase strictly", f"{float(times[at + 1])!r} after {float(times[at])!r} at entry {at + 1}"
        )
    return times


def _check_reachable(settings: Settings) -> None:
    """Refuse times to save at that lie beyond the time stop."""
    stop = settings.until
    for name, times, end in (
        ("save_at", settings.save_at, _end(stop)),
        ("save_at_log", settings.save_at_log, stop.log_end()),
    ):
        if times is not None and times[-1] > end:
            raise invalid(name, f"hold times that are reachable, up to the stop at {end!r}", repr(float(times[-1])))


def _end(stop: Stop) -> float:
    """Last time that can be reached, inf without a time criterion."""
    time = math.inf if stop.time is None else stop.time
    # e^709 is the last power of e that is a finite float.
    log_time = math.inf if stop.log_time is None or stop.log_time > 709 else math.exp(stop.log_time)
    return min(time, log_time)


def _reporter(progress: object, callback: Callable[..., object] | None) -> Reporter:
    instance(progress, "progress", (bool, np.bool_), "True or False")
    if callback is not None and not callable(callback):
        raise invalid("callback", "be None or callable", f"a value of type {type(callback).__name__}")
    return Reporter(bool(progress), callback)
