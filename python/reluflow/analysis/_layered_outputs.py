"""Outputs of a layered run over time, beside its targets and those of held-out samples."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from .._validation import FloatArray, invalid, real_array
from ..datasets import Dataset, MultiClassDataset
from ..layered import DeepDescentResult, DeepSolution
from ..layered._problem import counts_of, inputs_of, targets_of
from ._layered_states import LayeredStates
from ._output_states import mean_losses, numbers_of

# Runs of layers whose states, outputs and loss are known: the flow, gradient descent, and a run seen at some times.
LayeredRun: TypeAlias = DeepSolution | DeepDescentResult | LayeredStates
LAYERED_RUNS = (DeepSolution, DeepDescentResult, LayeredStates)


def layered_losses(source: LayeredRun, times: npt.ArrayLike | None, test: object) -> dict[str, FloatArray]:
    """Return the columns of `losses` for a layered run."""
    t, log_t, path = path_of(source, times)
    problem, loss = source._problem, source.loss
    counts = np.ones(len(problem.X)) if problem.counts is None else problem.counts
    columns = {
        "t": t,
        "log_t": log_t,
        **mean_losses(outputs_of(source, path, problem.X), problem.targets, counts, loss),
    }
    if test is not None:
        X, targets, weights = _held_out(source, test)
        found = mean_losses(outputs_of(source, path, X), targets, weights, loss)
        columns |= {f"test_{name}": values for name, values in found.items()}
    return columns


def layered_errors(source: LayeredRun, times: npt.ArrayLike | None) -> tuple[FloatArray, ...]:
    """Return times, their logarithms, f(x_i) - y_i, shape (k, n, K), and the targets (n, K)."""
    t, log_t, path = path_of(source, times)
    targets = source._problem.targets
    return t, log_t, outputs_of(source, path, source._problem.X) - targets, targets


def path_of(source: LayeredRun, times: npt.ArrayLike | None) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return times, their logarithms and the parameters (k, P) there.

    Raises
    ------
    ValueError
        Times outside the run, or times of a descent.
    """
    if times is None:
        return source.t, source.log_t, source.theta
    if isinstance(source, LayeredStates):
        raise invalid("times", "be left out, for LayeredStates carry their times", "times")
    if isinstance(source, DeepDescentResult):
        raise invalid("times", "be left out, for gradient descent has its own (save_every)", "times")
    t = real_array(times, "times", "(k,)")
    with np.errstate(divide="ignore"):
        return t, np.log(t), source.states(t)


def outputs_of(source: LayeredRun, path: FloatArray, X: FloatArray) -> FloatArray:
    """Return the outputs (k, n, K) at inputs (n, d) along a path of parameters (k, P)."""
    return np.array([source.initial._with(np.array(theta))(X).reshape(len(X), -1) for theta in path])


def _held_out(source: LayeredRun, test: object) -> tuple[FloatArray, FloatArray, FloatArray]:
    net, data = source.initial, source.data
    bias = data.bias_input if isinstance(data, (Dataset, MultiClassDataset)) else None
    if isinstance(test, (Dataset, MultiClassDataset)):
        if bias is not None and test.bias_input is None and test.d == net.dim - 1:
            test = test.with_bias(bias)
        if test.d != net.dim:
            raise invalid("test", f"have the {net.dim} inputs of the run", f"{test.d} inputs")
    if isinstance(test, MultiClassDataset) and isinstance(data, MultiClassDataset):
        test = test.X, numbers_of(test, data), test.counts
    elif isinstance(test, tuple) and test and np.ndim(test[0]) == 2 and np.shape(test[0])[1] != net.dim:
        raise invalid("test", f"have the {net.dim} inputs of the run", f"{np.shape(test[0])[1]} inputs")
    X = inputs_of(test, net)
    counts = counts_of(test, len(X))
    return X, targets_of(test, net, source.loss, len(X)), np.ones(len(X)) if counts is None else counts
