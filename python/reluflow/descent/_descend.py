"""Gradient descent and minibatch SGD: the naive Euler steps of the flow, to compare with."""

from __future__ import annotations

from time import perf_counter
from typing import Any, Literal, overload

from .. import _core
from .._validation import Seed, freeze, instance, integer, invalid, not_negative, positive, seed_number
from ..datasets import Dataset, MultiClassDataset
from ..datasets._arrays import name_of_targets, one_target_of
from ..flow._progress import listeners
from ..flow._two_layers import is_of_layers, refuse_parts
from ..layered import DeepDescentResult, DeepNetwork
from ..layered._descent import Hook, descend_layers
from ..layered._problem import ArrayData
from ..layered._several import kept, pair_of
from ..layered._two_layers import AsLayers, as_layers
from ..losses import LossName, ReductionName, check_loss, check_reduction, check_targets, core_weights
from ..networks import Network
from ..networks._bias import knowing_bias
from ._progress import DescentCallback, heard
from ._result import VALUES, DescentResult

_MESSAGES = {
    "reached_steps": "all steps were taken",
    "stopped_by_callback": "the callback stopped it; these are the steps so far",
    "interrupted": "interrupted; these are the steps so far",
    "non_finite": "a weight is not finite; the step size is too large",
}


@overload
def descend(
    data: Dataset,
    net: Network,
    *,
    step: float = 1e-3,
    n_steps: int,
    batch_size: int | None = None,
    seed: Seed = 0,
    loss: LossName = "logistic",
    reduction: ReductionName = "sum",
    weight_decay: float = 0.0,
    save_every: int | None = None,
    train: Literal["both", "first"] = "both",
    rates: tuple[float, float] | None = None,
    progress: bool = False,
    callback: DescentCallback | None = None,
) -> DescentResult: ...
@overload
def descend(
    data: MultiClassDataset | ArrayData,
    net: Network,
    *,
    step: float = 1e-3,
    n_steps: int,
    batch_size: int | None = None,
    seed: Seed = 0,
    loss: LossName | Literal["cross_entropy"] = "logistic",
    reduction: ReductionName = "sum",
    weight_decay: float = 0.0,
    save_every: int | None = None,
    train: Literal["both", "first"] = "both",
    rates: tuple[float, float] | None = None,
    progress: bool = False,
    callback: DescentCallback | None = None,
) -> DescentResult: ...
@overload
def descend(
    data: Dataset | MultiClassDataset | ArrayData,
    net: DeepNetwork,
    *,
    step: float = 1e-3,
    n_steps: int,
    batch_size: int | None = None,
    seed: Seed = 0,
    loss: LossName | Literal["cross_entropy"] = "logistic",
    reduction: ReductionName = "sum",
    weight_decay: float = 0.0,
    save_every: int | None = None,
    progress: bool = False,
    callback: DescentCallback | None = None,
) -> DeepDescentResult: ...
def descend(
    data: Dataset | MultiClassDataset | ArrayData,
    net: Network | DeepNetwork,
    *,
    step: float = 1e-3,
    n_steps: int,
    batch_size: int | None = None,
    seed: Seed = 0,
    loss: LossName | Literal["cross_entropy"] = "logistic",
    reduction: ReductionName = "sum",
    weight_decay: float = 0.0,
    save_every: int | None = None,
    train: Literal["both", "first"] = "both",
    rates: tuple[float, float] | None = None,
    progress: bool = False,
    callback: DescentCallback | None = None,
) -> DescentResult | DeepDescentResult:
    """Run gradient descent θ ← θ - step ∇L(θ), or SGD, with ReLU'(0) = 0.

    Gradient descent is the explicit Euler method for the flow of `reluflow.integrate`: its error falls like `step`, and
    it passes over the kinks without seeing them.

    Parameters
    ----------
    data : Dataset
        n samples in d dimensions, or arrays (X, targets) or (X, targets, weights). For several outputs or a layered
        network also a `MultiClassDataset`.
    net : Network or DeepNetwork
        The start. A pattern that it carries is not used.
    step : float, optional
        Step size, above 0.
    n_steps : int
        Number of steps, at least 1.
    batch_size : int, optional
        Number b of samples of a minibatch, from 1 to n; each epoch is a new permutation. None: all samples every time.
    seed : int, numpy.random.Generator or None, optional
        Seed of the permutations; a Generator and None draw one, which stands in the settings of the result.
    loss : {"logistic", "exponential", "squared"}, optional
        As for `reluflow.integrate`; several outputs take "squared" and "cross_entropy".
    reduction : {"sum", "mean"}, optional
        Whether the losses of the samples are added or averaged, each as often as it counts. A minibatch stands for all
        samples: its sum counts n/b times, so that time means the same with and without minibatches.
    weight_decay : float, optional
        γ >= 0: the descent is that of L(θ) + γ/2 |θ|².
    save_every : int, optional
        Keep every so many-th state, and the first and the last. None: only these two.
    train : {"both", "first"}, optional
        "first": the output weights of a `Network` stay as they are.
    rates : tuple of float, optional
        (η_w, η_a): the steps of the layers of a `Network` are `step` times these.
    progress : bool, optional
        Show a live line on the standard error once the descent has lasted two seconds, with the time left; where that
        is no terminal, a new line every ten seconds.
    callback : callable, optional
        Called with a `DescentProgress` between two steps, about every 0.1 s; the descent ends when it returns True.

    Returns
    -------
    DescentResult, or DeepDescentResult for a layered network
        After Ctrl-C it has the steps so far, with the status ``interrupted``.

    Raises
    ------
    ValueError
        A bad argument; the message names it, what was found and what is expected.

    Examples
    --------
    >>> import reluflow as rf
    >>> data = rf.Dataset([[1.0], [-1.0]], [1, -1])
    >>> net = rf.Network([[0.1], [-0.1]], [0.1, -0.1])
    >>> run = rf.descend(data, net, step=0.01, n_steps=100, save_every=50)
    >>> run.step_index
    array([  0,  50, 100])
    """
    listening = listeners(progress, callback)
    if isinstance(net, DeepNetwork) or is_of_layers(net, train, rates):
        common = _settings(step, n_steps, seed, reduction, save_every)
        size = None if batch_size is None else integer(batch_size, "batch_size")
        chosen = {**common, "batch_size": size, "loss": loss, "version": _core.__version__}
        chosen["weight_decay"] = not_negative(weight_decay, "weight_decay")
        with heard(listening, chosen["n_steps"]) as hook:
            if isinstance(net, Network):
                return _two_layers(data, as_layers(net, train, rates), chosen, hook)
            refuse_parts(train, rates)
            return descend_layers(data, net, chosen, hook=hook)
    instance(net, "net", Network, "a Network")
    targets = name_of_targets(data)
    data = one_target_of(data, net)
    if net.dim != data.d:
        raise invalid("net", f"have dim {data.d}, the columns of X", f"dim {net.dim}")
    net = knowing_bias(net, data)
    settings = _settings(step, n_steps, seed, reduction, save_every) | {
        "batch_size": None if batch_size is None else _batch_size(batch_size, data.n),
        "loss": check_loss(loss),
        "weight_decay": not_negative(weight_decay, "weight_decay"),
    }
    check_targets(data, settings["loss"], targets)
    begin = perf_counter()
    with heard(listening, settings["n_steps"]) as hook:
        raw = _call(data, net, settings, hook)
    raw["seconds"] = perf_counter() - begin
    return _result(data, net, {**settings, "version": _core.__version__}, raw)


def _two_layers(data: Any, reader: AsLayers, settings: dict[str, Any], hook: Hook | None) -> DescentResult:
    """Descend with several outputs, one part trained or two rates, as a layered network does."""
    pair = pair_of(data, reader.start, settings["loss"])
    reader = reader.going_on(pair.net)
    plain, each = reader.without_rates()
    found = descend_layers(pair.data, plain.layers(), settings, each, hook)
    W, a = plain.weights(found.theta)
    for array in (W, a):
        freeze(array)
    values = {name: getattr(found, name) for name in ("t", "step_index", "log_loss", *VALUES)}
    parts = {"train": reader.train, "rates": None if reader.rates == (1.0, 1.0) else reader.rates}
    return DescentResult(
        data=kept(data, pair),
        initial=pair.net,
        final=plain.network(found.final.theta),
        W=W,
        a=a,
        **{**values, "settings": {**settings, **parts}},
    )


def _settings(step: object, n_steps: object, seed: Seed, reduction: object, save_every: object) -> dict[str, Any]:
    return {
        "step": positive(step, "step"),
        "n_steps": integer(n_steps, "n_steps"),
        "seed": seed_number(seed),
        "reduction": check_reduction(reduction),
        "save_every": None if save_every is None else integer(save_every, "save_every"),
    }


def _batch_size(value: object, n: int) -> int:
    size = integer(value, "batch_size")
    if size > n:
        raise invalid("batch_size", f"be at most n = {n}", repr(size))
    return size


def _call(data: Dataset, net: Network, settings: dict[str, Any], hook: Hook | None) -> dict[str, Any]:
    return _core.descend(
        data.X,
        data.y,
        net.W,
        net.a,
        net.leak,
        settings["loss"],
        settings["reduction"],
        settings["step"],
        settings["n_steps"],
        settings["batch_size"] or 0,
        settings["seed"],
        settings["save_every"] or 0,
        hook,
        core_weights(data, settings["reduction"]),
        settings["weight_decay"],
    )


def _result(data: Dataset, net: Network, settings: dict[str, Any], raw: dict[str, Any]) -> DescentResult:
    return DescentResult(
        data=data,
        initial=net,
        final=net._with(raw["W"][-1], raw["a"][-1]),
        t=raw["t"],
        step_index=raw["step_index"],
        W=raw["W"],
        a=raw["a"],
        log_loss=raw["log_loss"],
        steps_done=raw["steps_done"],
        seconds=raw["seconds"],
        status=raw["status"],
        message=_MESSAGES.get(raw["status"], raw["status"]),
        settings=settings,
    )
