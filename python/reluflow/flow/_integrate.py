"""`integrate`: check the arguments, call the core, hand back a solution."""

from __future__ import annotations

from typing import Any, Literal, Unpack, overload

import numpy as np
import numpy.typing as npt

from .._validation import invalid
from ..datasets import Dataset, MultiClassDataset
from ..datasets._arrays import name_of_targets, one_target_of
from ..layered import DeepNetwork, DeepSolution
from ..layered._problem import ArrayData
from ..losses import LossName, ReductionName, check_targets
from ..networks import MultiClassNetwork, Network
from ._arguments import Asked, start_of, thread_count, told_of
from ._going_on import flow_of
from ._layers import run_layers
from ._multiclass import MultiClassSolution, integrate_classes
from ._one import Watching, integrate_one, run_beside_rest
from ._outcome import BranchingError
from ._progress import CALLBACK_PERIOD, Callback, Listeners, ManyCallback, listeners
from ._solution import Solution
from ._stop import Stop
from ._two_layer_solution import TwoLayerSolution
from ._two_layers import (
    CrossEntropyOptions,
    NetworkOptions,
    OneOutputOptions,
    TwoLayerOptions,
    is_of_layers,
    refuse_parts,
    run_two_layers,
)


@overload
def integrate(
    data: Dataset,
    net: Network | Solution,
    *,
    until: Stop | float,
    loss: LossName | None = None,
    reduction: ReductionName | None = None,
    weight_decay: float | None = None,
    rtol: float | None = None,
    atol: float | None = None,
    save_at: npt.ArrayLike | None = None,
    save_at_log: npt.ArrayLike | None = None,
    save_at_log_norm: npt.ArrayLike | None = None,
    on_branch: str = "inactive",
    max_events: int | None = None,
    progress: bool = False,
    callback: Callback | None = None,
    callback_period: float = CALLBACK_PERIOD,
    n_threads: int | None = None,
) -> Solution: ...


@overload
def integrate(
    data: MultiClassDataset,
    net: MultiClassNetwork | MultiClassSolution,
    *,
    until: Stop | float,
    loss: LossName | None = None,
    reduction: ReductionName | None = None,
    weight_decay: float | None = None,
    rtol: float | None = None,
    atol: float | None = None,
    save_at: npt.ArrayLike | None = None,
    save_at_log: npt.ArrayLike | None = None,
    save_at_log_norm: npt.ArrayLike | None = None,
    on_branch: str = "inactive",
    max_events: int | None = None,
    progress: bool = False,
    callback: ManyCallback | None = None,
    callback_period: float = CALLBACK_PERIOD,
    n_threads: int | None = None,
) -> MultiClassSolution: ...


@overload
def integrate(
    data: MultiClassDataset,
    net: Network | TwoLayerSolution,
    **options: Unpack[TwoLayerOptions],
) -> TwoLayerSolution: ...


@overload
def integrate(
    data: Dataset | ArrayData,
    net: TwoLayerSolution,
    **options: Unpack[TwoLayerOptions],
) -> TwoLayerSolution: ...


@overload
def integrate(
    data: Dataset | ArrayData, net: Network, *, loss: Literal["cross_entropy"], **options: Unpack[CrossEntropyOptions]
) -> TwoLayerSolution: ...


@overload
def integrate(
    data: Dataset | ArrayData, net: Network, *, train: Literal["first"], **options: Unpack[OneOutputOptions]
) -> TwoLayerSolution: ...


@overload
def integrate(
    data: Dataset | ArrayData, net: Network, *, rates: tuple[float, float], **options: Unpack[OneOutputOptions]
) -> TwoLayerSolution: ...


@overload
def integrate(data: ArrayData, net: Solution, **options: Unpack[NetworkOptions]) -> Solution: ...


@overload
def integrate(data: ArrayData, net: Network, **options: Unpack[NetworkOptions]) -> Any: ...  # what its outputs ask for


@overload
def integrate(
    data: Dataset | MultiClassDataset | ArrayData,
    net: DeepNetwork | DeepSolution,
    *,
    until: Stop | float,
    loss: LossName | Literal["cross_entropy"] | None = None,
    reduction: ReductionName | None = None,
    weight_decay: float | None = None,
    rtol: float | None = None,
    atol: float | None = None,
    save_at: npt.ArrayLike | None = None,
    save_at_log: npt.ArrayLike | None = None,
    save_at_log_norm: npt.ArrayLike | None = None,
    on_branch: str = "inactive",
    max_events: int | None = None,
    progress: bool = False,
    callback: Callback | None = None,
    callback_period: float = CALLBACK_PERIOD,
    n_threads: int | None = None,
) -> DeepSolution: ...


def integrate(
    data: Dataset | MultiClassDataset | ArrayData,
    net: Network | Solution | MultiClassNetwork | MultiClassSolution | TwoLayerSolution | DeepNetwork | DeepSolution,
    *,
    until: Stop | float,
    loss: LossName | Literal["cross_entropy"] | None = None,
    reduction: ReductionName | None = None,
    weight_decay: float | None = None,
    rtol: float | None = None,
    atol: float | None = None,
    save_at: npt.ArrayLike | None = None,
    save_at_log: npt.ArrayLike | None = None,
    save_at_log_norm: npt.ArrayLike | None = None,
    on_branch: str = "inactive",
    max_events: int | None = None,
    train: Literal["both", "first"] | None = None,
    rates: tuple[float, float] | None = None,
    progress: bool = False,
    callback: Callback | ManyCallback | None = None,
    callback_period: float = CALLBACK_PERIOD,
    n_threads: int | None = None,
) -> Solution | MultiClassSolution | TwoLayerSolution | DeepSolution:
    """Integrate the subgradient flow dθ/dt ∈ -∂L(θ) of a network, with every activation event.

    Parameters
    ----------
    data : Dataset, MultiClassDataset or tuple of arrays
        n samples in d dimensions; or arrays (X, y), or (X, y, weights), of what a `Dataset` takes, and ``sol.data`` is
        one. With a MultiClassNetwork K flows are integrated, each of one class against the rest [WP, Sec. 2]. For K
        outputs targets (n, K), or classes: a MultiClassDataset, a pair (X, numbers 0 ... K-1) or one-hot rows.
    net : Network or Solution, or MultiClassNetwork or MultiClassSolution, or DeepNetwork or DeepSolution
        The start. A network that carries a pattern starts with these exact signs. A solution is continued from its
        end, at its time. A Network of several outputs is integrated as a layered network, which costs more.
    until : Stop or float
        When to stop; a number means the time. Each class stops by itself.
    loss : {"logistic", "exponential", "squared"}, optional
        ℓ(q) = log(1 + e^-q) or e^-q of the margin q = y f(x), for labels ±1; ½ q² of the error q = f(x) - y, for any
        targets. Each sample counts by its weight in `data`. K outputs take "squared", ½ |f(x) - y|², or
        "cross_entropy", -log softmax(f(x)) of the class; a layered network takes all four. By default that of the
        solution that is continued, else "logistic".
    reduction : {"sum", "mean"}, optional
        Whether the losses of the samples are added or averaged, each as often as it counts. With the mean, time runs
        n times slower; of weighted samples, as many times as their weights add up to. By default as in the solution
        that is continued, else "sum".
    weight_decay : float, optional
        γ >= 0: the flow is that of L(θ) + γ/2 |θ|². `log_loss` and the loss that stops a run are those of L alone.
        By default that of the solution that is continued, else 0.
    rtol, atol : float, optional
        Bound of the local error of each neuron, rtol |θ_j| + atol. `rtol` lies in [1e-14, 1); above 1e-3 it counts as
        1e-3, since looser steps take no less time. It is 1e-9 by default, but 1e-6 to the limit
        (``Stop(limit=True)``) of two layers with one output and a loss of margins without decay: that is solved for,
        to rounding, and only a network that it leaves open depends on the way there. `atol` is 0 by default.
    save_at : array_like, shape (k,), optional
        Increasing times at which to keep the state, instead of the accepted steps.
    save_at_log : array_like, shape (k,), optional
        Increasing natural logarithms of times, instead of `save_at`.
    save_at_log_norm : array_like, shape (k,), optional
        Increasing natural logarithms of norms, instead of `save_at`: keep the state at which |θ| first reaches each of
        them. That is the start for norms which it has already. Also with ``Stop(limit=True)``.
    on_branch : {"inactive", "active", "stay", "raise"}, optional
        What to do where the flow has several continuations: take the one with the undecided samples inactive, active,
        or at rest on their boundaries if there is one; or raise `BranchingError`.
    max_events : int, optional
        End the run without success after so many events.
    train : {"both", "first"}, optional
        "first": the output weights stay as they are, and the flow is that of the first layer alone. A run that is
        continued keeps what it trains, and its rates.
    rates : tuple of float, optional
        (η_w, η_a), at most a factor of 10¹² apart: the flow w' = -η_w ∂L/∂w, a' = -η_a ∂L/∂a. With `train` or `rates`
        the layered core integrates.
    progress : bool, optional
        Show a live line on the standard error once the run has lasted two seconds; where that is no terminal, a new
        line every ten seconds.
    callback : callable, optional
        Called with a `Progress` (of K classes, a `ManyProgress`) after a step, at most once in `callback_period`; the
        run stops when it returns True.
    callback_period : float, optional
        Seconds between two calls; 0 calls after every step. K classes always have the default, 0.1.
    n_threads : int, optional
        Threads to use, by default one for each core. The result has the same bits for any number.

    Returns
    -------
    Solution, MultiClassSolution for K classes, TwoLayerSolution for K outputs, `train` or `rates`, or DeepSolution
        Look at ``sol.status`` and ``sol.message``: numerical trouble is an outcome, not an exception. After Ctrl-C it
        is the solution so far, with the status ``interrupted``: a step under way is given up.

    Raises
    ------
    ValueError
        A bad argument; the message names it, what was found and what is expected.
    BranchingError
        A branch point, with ``on_branch="raise"``.

    Notes
    -----
    The flow is that of [LLWA, App. I] and [PL, Def. 1, Lemma A.3]: boundaries are crossed, or held while the neuron
    slides along them, by the Clarke subdifferential.

    Examples
    --------
    >>> import reluflow as rf
    >>> data = rf.Dataset([[1.65, -0.47], [-0.47, 1.35]], [1, -1])
    >>> net = rf.Network([[0.01, 0.0], [0.0, 0.01]], [0.01, -0.01])
    >>> sol = rf.integrate(data, net, until=rf.Stop(mean_loss=0.1))
    >>> sol.status
    'reached_mean_loss'
    >>> rf.integrate(([[1.0, 0.5], [-0.5, 1.0]], [0.5, -1.0]), net, until=1.0, loss="squared").data
    Dataset(n=2, d=2, y from -1 to 0.5)
    """
    options: dict[str, Any] = {
        **flow_of([net], {"loss": loss, "reduction": reduction, "weight_decay": weight_decay}),
        "rtol": rtol,
        "atol": atol,
        "save_at": save_at,
        "save_at_log": save_at_log,
        "save_at_log_norm": save_at_log_norm,
        "on_branch": on_branch,
        "max_events": max_events,
    }
    threads, listening = thread_count(n_threads), listeners(progress, callback, callback_period)
    if is_of_layers(net, train, rates):
        return run_two_layers(data, net, until, listening, {**options, "train": train, "rates": rates})
    refuse_parts(train, rates)
    if isinstance(net, (DeepNetwork, DeepSolution)):
        return run_layers(data, net, until, listening, **options)
    solution = _integrate(data, net, Asked(until=until, **options), threads, listening)
    if solution.settings.on_branch == "raise" and solution.branched:
        raise BranchingError(solution)
    return solution


def _integrate(
    data: object, net: object, asked: Asked, threads: int, listening: Listeners
) -> Solution | MultiClassSolution:
    """Check data and start, and run the flow of one output or those of several classes."""
    if isinstance(data, MultiClassDataset):
        if listening.period != CALLBACK_PERIOD:
            raise invalid("callback_period", f"be {CALLBACK_PERIOD} with several classes", repr(listening.period))
        return integrate_classes(data, net, asked, threads, listening)
    first = net.final if isinstance(net, Solution) else net
    problem = one_target_of(data, first, expected="a Dataset, (X, y), (X, y, weights) or a MultiClassDataset")
    start = start_of(problem, net)
    settings = asked.settings(start)
    check_targets(problem, settings.loss, name_of_targets(data))
    return integrate_one(problem, start.net, settings, threads, listening, told=told_of(problem, net, settings))


def integrate_watched(
    data: Dataset, net: Network | Solution, asked: Asked, callback: Callback, threads: int | None, watching: Watching
) -> Solution:
    """Integrate one flow for a program that keeps checkpoints and handles signals by itself.

    Raises
    ------
    ValueError
        A bad argument.
    """
    start = start_of(data, net)
    settings = asked.settings(start)
    check_targets(data, settings.loss)
    told = told_of(data, net, settings)
    listening = listeners(False, callback)
    return integrate_one(data, start.net, settings, thread_count(threads), listening, watching, told=told)


def integrate_beside_rest(
    data: Dataset,
    net: Network,
    log_time: float,
    rests: npt.NDArray[np.bool_],
    *,
    loss: LossName,
    reduction: ReductionName,
    callback: Callback | None,
) -> Solution:
    """Integrate to a large log t, and where the loss stalls go on beside the samples `rests`, which are at rest.

    The last leg is returned: its end is the flow's but for the margins at rest (docs/design/resting.md).
    """
    asked = Asked(
        until=Stop(log_time=log_time),
        loss=loss,
        reduction=reduction,
        rtol=1e-9,
        atol=None,
        save_at=None,
        save_at_log=None,
        on_branch="inactive",
        max_events=None,
    )
    settings = asked.settings(start_of(data, net))
    return run_beside_rest(data, net, settings, listeners(False, callback), rests)
