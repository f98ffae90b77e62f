"""Gradient descent and minibatch SGD: the naive Euler steps of the flow, to compare with."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any, Literal, overload

from . import _core
from ._digest import fingerprint_of
from ._files import read_archive, write_archive
from ._validation import (
    FloatArray,
    IntArray,
    ReadOnly,
    Seed,
    freeze,
    instance,
    integer,
    invalid,
    not_negative,
    positive,
    seed_number,
)
from .datasets import Dataset, MultiClassDataset
from .datasets._arrays import name_of_targets, one_target_of
from .flow._two_layers import is_of_layers, refuse_parts
from .layered import DeepDescentResult, DeepNetwork
from .layered._descent import descend_layers
from .layered._problem import ArrayData
from .layered._several import data_of, kept, pair_of, stored
from .layered._two_layers import AsLayers, as_layers
from .losses import LossName, ReductionName, check_loss, check_reduction, check_targets, core_weights
from .networks import Network
from .networks._bias import knowing_bias

__all__ = ["DescentResult", "descend"]

_FORMAT, _SCHEMA = "reluflow descent", 1
_ARRAYS = ("t", "step_index", "W", "a", "log_loss")
_VALUES = ("steps_done", "seconds", "status", "message", "settings")
_MESSAGES = {
    "reached_steps": "all steps were taken",
    "interrupted": "interrupted; these are the steps so far",
    "non_finite": "a weight is not finite; the step size is too large",
}


@dataclass(frozen=True, eq=False)
class DescentResult(ReadOnly):
    """What `descend` returns. All arrays are read-only.

    Attributes
    ----------
    data : Dataset, or what else `descend` was given for several outputs
    initial, final : Network
        The network before the first and after the last step.
    t : ndarray, shape (k,)
        Flow time of the kept states: step size times step index.
    step_index : ndarray of int, shape (k,)
        Number of steps taken at the kept states, from 0.
    W : ndarray, shape (k, m, d)
    a : ndarray, shape (k, m), or (k, m, K) with several outputs
    log_loss : ndarray, shape (k,)
        Natural logarithm of the loss on all samples, with the reduction.
    steps_done : int
    seconds : float
        Wall-clock time.
    status : str
        ``reached_steps``, ``interrupted`` or ``non_finite``.
    message : str
        The status as a sentence.
    settings : dict
        Every argument that was used, and the version.
    """

    data: Any
    initial: Network
    final: Network
    t: FloatArray = field(repr=False)
    step_index: IntArray = field(repr=False)
    W: FloatArray = field(repr=False)
    a: FloatArray = field(repr=False)
    log_loss: FloatArray = field(repr=False)
    steps_done: int
    seconds: float
    status: str
    message: str
    settings: dict[str, Any]

    @property
    def fingerprint(self) -> str:
        """32 hexadecimal digits of the run: the same for the same run, however long it took, in every process."""
        return fingerprint_of(self)

    def __repr__(self) -> str:
        """One line: how it ended and how far it came."""
        m, d = self.final.W.shape
        steps = f"{self.steps_done} steps to t={float(self.t[-1]):.6g}"
        return f"DescentResult({self.status}, {steps}, log loss={float(self.log_loss[-1]):.6g}, width={m}, dim={d})"

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the result to one .npz file, whole or not at all; `DescentResult.load` reads it back exactly.

        Raises
        ------
        FileNotFoundError, PermissionError
            The folder does not exist or may not be written to.
        OSError
            The system cannot write; what was there is still there.
        """
        own, about = stored(self.data)
        start: dict[str, Any] = {"W0": self.initial.W, "a0": self.initial.a, **own}
        if self.initial.pattern is not None:
            start["pattern0"] = self.initial.pattern
        known = {"leak": self.initial.leak, "net_bias_input": self.initial.bias_input}
        record = {name: getattr(self, name) for name in _VALUES} | known | about
        arrays = {name: getattr(self, name) for name in _ARRAYS}
        write_archive(path, {**arrays, **start}, {"format": _FORMAT, "schema": _SCHEMA, **record})

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> DescentResult:
        """Read a result that `save` wrote: the same bits.

        Raises
        ------
        FileNotFoundError, IsADirectoryError
            There is no such file, or it is a folder.
        ValueError
            The file holds no result of `descend`, or is damaged; the message names the path and what is wrong.
        """
        arrays, record = read_archive(path, (_FORMAT,), _SCHEMA)
        try:
            for array in arrays.values():
                freeze(array)
            kept = {name: arrays[name] for name in _ARRAYS} | {name: record[name] for name in _VALUES}
            if kept["settings"].get("rates") is not None:
                kept["settings"]["rates"] = tuple(kept["settings"]["rates"])
            data = data_of(arrays, record)
            known = {"leak": record["leak"], "bias_input": record.get("net_bias_input")}
            initial = Network(arrays["W0"], arrays["a0"], pattern=arrays.get("pattern0"), **known)
            final = initial._with(arrays["W"][-1], arrays["a"][-1])
            return cls(data=data, initial=initial, final=final, **kept)
        except Exception as error:  # whatever the wrong kind of value in a damaged file leads to
            raise invalid("path", "hold a whole descent", f"{os.fspath(path)!r}, damaged: {error}") from error

    @property
    def success(self) -> bool:
        """Whether all steps were taken."""
        return self.status == "reached_steps"


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

    Returns
    -------
    DescentResult, or DeepDescentResult for a layered network

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
    if isinstance(net, DeepNetwork) or is_of_layers(net, train, rates):
        common = _settings(step, n_steps, seed, reduction, save_every)
        size = None if batch_size is None else integer(batch_size, "batch_size")
        chosen = {**common, "batch_size": size, "loss": loss, "version": _core.__version__}
        chosen["weight_decay"] = not_negative(weight_decay, "weight_decay")
        if isinstance(net, Network):
            return _two_layers(data, as_layers(net, train, rates), chosen)
        refuse_parts(train, rates)
        return descend_layers(data, net, chosen, chosen["weight_decay"])
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
    raw = _call(data, net, settings)
    raw["seconds"] = perf_counter() - begin
    return _result(data, net, {**settings, "version": _core.__version__}, raw)


def _two_layers(data: Any, reader: AsLayers, settings: dict[str, Any]) -> DescentResult:
    """Descend with several outputs, one part trained or two rates, as a layered network does."""
    pair = pair_of(data, reader.start, settings["loss"])
    reader = reader.going_on(pair.net)
    plain, each = reader.without_rates()
    found = descend_layers(pair.data, plain.layers(), settings, settings["weight_decay"], each)
    W, a = plain.weights(found.theta)
    for array in (W, a):
        freeze(array)
    values = {name: getattr(found, name) for name in ("t", "step_index", "log_loss", *_VALUES)}
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


def _call(data: Dataset, net: Network, settings: dict[str, Any]) -> dict[str, Any]:
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
        None,
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
