"""Gradient descent and minibatch SGD on a layered network: the naive Euler steps of its flow."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from math import isfinite, log
from time import perf_counter
from typing import Any

import numpy as np

from .._digest import fingerprint_of
from .._files import read_archive, write_archive
from .._validation import FloatArray, IntArray, ReadOnly, freeze, invalid
from ..datasets._dataset import total_of
from ..losses import reduction_factor
from ._gradient import Backward, duals, log_loss
from ._model import Problem
from ._network import DeepNetwork
from ._problem import counts_of, inputs_of, targets_of
from ._several import data_of, stored

_FORMAT, _SCHEMA = "reluflow layered descent", 1
_ARRAYS = ("t", "step_index", "theta", "log_loss")
_VALUES = ("steps_done", "seconds", "status", "message", "settings")
# Called with the same report as the core of two layers gives; a true value ends the descent.
Hook = Callable[[dict[str, Any]], object]
_PERIOD = 0.1  # seconds between two reports, as there
_MESSAGES = {
    "reached_steps": "all steps were taken",
    "stopped_by_callback": "the callback stopped it; these are the steps so far",
    "interrupted": "interrupted; these are the steps so far",
    "non_finite": "a parameter is not finite; the step size is too large",
}


@dataclass(frozen=True, eq=False)
class DeepDescentResult(ReadOnly):
    """What `reluflow.descend` returns for a layered network. All arrays are read-only.

    Attributes
    ----------
    data : Dataset, MultiClassDataset or tuple of arrays
    initial, final : DeepNetwork
        The network before the first and after the last step.
    t, log_t : ndarray, shape (k,)
        Flow time of the kept states, step size times step index, and its logarithm.
    step_index : ndarray of int, shape (k,)
        Number of steps taken at the kept states, from 0.
    theta : ndarray, shape (k, P)
    log_loss : ndarray, shape (k,)
        Natural logarithm of the loss on all samples, with the reduction.
    steps_done : int
    seconds : float
        Wall-clock time.
    status : str
        ``reached_steps``, ``stopped_by_callback``, ``interrupted`` or ``non_finite``.
    message : str
        The status as a sentence.
    settings : dict
        Every argument that was used, and the version.
    """

    data: Any = field(repr=False)
    initial: DeepNetwork
    final: DeepNetwork
    t: FloatArray = field(repr=False)
    step_index: IntArray = field(repr=False)
    theta: FloatArray = field(repr=False)
    log_loss: FloatArray = field(repr=False)
    steps_done: int
    seconds: float
    status: str
    message: str
    settings: dict[str, Any]

    @property
    def success(self) -> bool:
        """Whether all steps were taken."""
        return self.status == "reached_steps"

    @property
    def loss(self) -> str:
        """Name of the loss."""
        return str(self.settings["loss"])

    @property
    def log_t(self) -> FloatArray:
        """Natural logarithms of the times."""
        with np.errstate(divide="ignore"):
            return np.log(self.t)

    @cached_property
    def _problem(self) -> Problem:
        """What was learnt, as a flow has it."""
        return _problem_of(self.data, self.initial, self.settings)

    @property
    def fingerprint(self) -> str:
        """32 hexadecimal digits of the run: the same for the same run, however long it took, in every process."""
        return fingerprint_of(self)

    def __repr__(self) -> str:
        """One line: how it ended and how far it came."""
        steps = f"{self.steps_done} steps to t={float(self.t[-1]):.6g}"
        return f"DeepDescentResult({self.status}, {steps}, log loss={float(self.log_loss[-1]):.6g}, {self.final!r})"

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the result to one .npz file, whole or not at all; `DeepDescentResult.load` reads it back exactly.

        Raises
        ------
        FileNotFoundError, PermissionError
            The folder does not exist or may not be written to.
        """
        own, about = stored(self.data)
        record = {name: getattr(self, name) for name in _VALUES} | {"spec": self.initial.spec} | about
        arrays = {name: getattr(self, name) for name in _ARRAYS} | {"theta0": self.initial.theta} | own
        write_archive(path, arrays, {"format": _FORMAT, "schema": _SCHEMA, **record})

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> DeepDescentResult:
        """Read a result that `save` wrote: the same bits.

        Raises
        ------
        FileNotFoundError, IsADirectoryError
            There is no such file, or it is a folder.
        ValueError
            The file holds no such result, or is damaged; the message names the path and what is wrong.
        """
        arrays, record = read_archive(path, (_FORMAT,), _SCHEMA)
        try:
            initial = DeepNetwork.from_nodes(record["spec"], arrays["theta0"])
            kept = {name: arrays[name] for name in _ARRAYS} | {name: record[name] for name in _VALUES}
            for array in arrays.values():
                freeze(array)
            data = data_of(arrays, record)
            return cls(data=data, initial=initial, final=initial._with(np.array(arrays["theta"][-1])), **kept)
        except Exception as error:  # whatever the wrong kind of value in a damaged file leads to
            raise invalid("path", "hold a whole descent", f"{os.fspath(path)!r}, damaged: {error}") from error


def descend_layers(
    data: object,
    net: DeepNetwork,
    settings: dict[str, Any],
    rates: FloatArray | float = 1.0,
    hook: Hook | None = None,
) -> DeepDescentResult:
    """Take the steps; `settings` are the arguments of `reluflow.descend`, checked but for what needs the data.

    `rates` are what the steps of all parameters or of each are multiplied by.

    Raises
    ------
    ValueError
        Data or a batch size that do not fit.
    """
    problem = _problem_of(data, net, settings)
    n = len(problem.X)
    if settings["batch_size"] is not None and settings["batch_size"] > n:
        raise invalid("batch_size", f"be at most n = {n}", repr(settings["batch_size"]))
    steps = _Steps(problem, rates, settings)
    with np.errstate(over="ignore", invalid="ignore"):  # what overflows is seen as a parameter that is not finite
        status = steps.take(hook)
        losses = [steps.log_loss(theta) for theta in steps.theta]
        index = np.array(steps.index)
        t = settings["step"] * index
    arrays = {"t": t, "step_index": index, "theta": np.array(steps.theta), "log_loss": np.array(losses)}
    for array in arrays.values():
        freeze(array)
    return DeepDescentResult(
        data=problem.data,
        initial=net,
        final=net._with(np.array(steps.theta[-1])),
        steps_done=steps.done,
        seconds=perf_counter() - steps.began,
        status=status,
        message=_MESSAGES[status],
        settings=settings,
        **arrays,
    )


def _problem_of(data: Any, net: DeepNetwork, settings: dict[str, Any]) -> Problem:
    """Check data against the network and the loss; arrays are copied, and the copies are read-only.

    Raises
    ------
    ValueError
        Data that do not fit.
    """
    X = inputs_of(data, net)
    targets = targets_of(data, net, settings["loss"], len(X))
    counts = counts_of(data, len(X))
    if isinstance(data, tuple):
        data = (np.array(X), np.array(data[1]), *(() if counts is None else (np.array(counts),)))
        for array in data:
            freeze(array)
    factor = reduction_factor(settings["reduction"], total_of(counts, len(X)))
    return Problem(data, net, X, targets, settings["loss"], factor, counts)


class _Steps:
    """The steps of one descent, and the states that are kept."""

    def __init__(self, problem: Problem, rates: FloatArray | float, settings: dict[str, Any]) -> None:
        self.net, self.X, self.targets, self.factor = problem.net, problem.X, problem.targets, problem.factor
        self.settings = settings
        self.counts = np.ones(len(self.X)) if problem.counts is None else problem.counts
        self.decay: float = settings["weight_decay"]
        self.step = settings["step"] * rates
        self.whole = Backward(self.net.nodes, self.X)
        self.began = self.told = perf_counter()
        self.done = 0
        self.theta: list[FloatArray] = [np.array(self.net.theta)]
        self.index = [0]

    def log_loss(self, theta: FloatArray) -> float:
        """Return the logarithm of the loss on all samples, with the reduction."""
        loss = log_loss(self.whole.outputs(theta), self.targets, self.settings["loss"], self.counts)
        return loss + log(self.factor)

    def take(self, hook: Hook | None) -> str:
        """Take all steps, and report to `hook`; return how they ended."""
        theta = np.array(self.net.theta)
        every = self.settings["save_every"]
        try:
            for chosen in self._batches():
                moved = theta + self.step * self._descent(theta, chosen)
                if not isfinite(float(np.abs(moved).max())):
                    return "non_finite"
                theta = moved
                self.done += 1
                if self.done == self.settings["n_steps"] or (every is not None and self.done % every == 0):
                    self._keep(theta)
                if hook is not None and self._tells(hook, theta):
                    return "stopped_by_callback"
        except KeyboardInterrupt:
            return "interrupted"
        finally:
            self._keep(theta)
        return "reached_steps"

    def _tells(self, hook: Hook, theta: FloatArray) -> bool:
        """Report, if the last time was long enough ago; return whether the descent is to end."""
        now = perf_counter()
        if now - self.told < _PERIOD:
            return False
        t = self.settings["step"] * self.done
        report = {"step": self.done, "t": t, "log_loss": self.log_loss(theta), "seconds": now - self.began}
        is_over = bool(hook(report))
        self.told = perf_counter()
        return is_over

    def _keep(self, theta: FloatArray) -> None:
        if self.index[-1] != self.done:
            self.theta.append(theta)
            self.index.append(self.done)

    def _descent(self, theta: FloatArray, chosen: IntArray | slice) -> FloatArray:
        X, targets = self.X[chosen], self.targets[chosen]
        network = Backward(self.net.nodes, X)
        lam = duals(network.outputs(theta), targets, self.settings["loss"], self.counts[chosen])
        # n/b times the batch's sum estimates the sum over all samples without bias: time means the same with batches.
        scale = self.factor * (len(self.X) / len(X))
        return network.descent(scale * lam, len(theta)) - self.decay * theta

    def _batches(self) -> Any:
        """Yield the samples of each step; every epoch is a new permutation."""
        size, left = self.settings["batch_size"], self.settings["n_steps"]
        if size is None:
            for _ in range(left):
                yield slice(None)
            return
        draws = np.random.default_rng(self.settings["seed"])
        while left:
            order = draws.permutation(len(self.X))
            for first in range(0, len(order), size):
                if left:
                    left -= 1
                    yield order[first : first + size]
