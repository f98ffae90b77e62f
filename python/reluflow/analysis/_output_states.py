"""The states of a run with K outputs, one part trained or two rates, stacked over time."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.special import log_softmax

from .._validation import FloatArray, IntArray, PatternArray, ReadOnly, freeze, invalid
from ..datasets import Dataset, MultiClassDataset
from ..descent import DescentResult
from ..flow import TwoLayerSolution
from ..flow._events import replayed
from ..flow._two_layers import is_of_layers
from ..layered._several import pair_of
from ..losses import is_of_margins, log_losses
from ..networks import Network
from ._kernels import outputs
from ._states import Source, States, grid_of, signs_of, states


@dataclass(frozen=True, eq=False)
class OutputStates(ReadOnly):
    """A run of a `TwoLayerSolution` seen at k times, for the functions that have a meaning for any number of outputs.

    Attributes
    ----------
    data
        The data of the run.
    X : ndarray, shape (n, d)
    targets : ndarray, shape (n, K)
        Real targets, labels, or one-hot rows of cross-entropy.
    counts : ndarray, shape (n,)
        What each sample counts.
    leak : float
    loss, reduction : str
    rates : tuple of float
        (η_w, η_a) of the flow; 0 for what stays as it is.
    bias_input : float, or None
    t, log_t : ndarray, shape (k,)
    W : ndarray, shape (k, m, d)
    a : ndarray, shape (k, m, K)
    pattern : ndarray, shape (k, m, n), int8
    """

    data: Any
    X: FloatArray
    targets: FloatArray
    counts: FloatArray
    leak: float
    loss: str
    reduction: str
    rates: tuple[float, float]
    bias_input: float | None
    t: FloatArray
    log_t: FloatArray
    W: FloatArray
    a: FloatArray
    pattern: PatternArray

    def __len__(self) -> int:
        """Return the number k of times."""
        return len(self.t)

    @property
    def K(self) -> int:
        """Number of outputs."""
        return int(self.a.shape[2])

    @cached_property
    def outputs(self) -> FloatArray:
        """f(x_i) at each time, shape (k, n, K)."""
        f = self.outputs_at(self.X)
        freeze(f)
        return f

    def outputs_at(self, X: FloatArray) -> FloatArray:
        """Return f at inputs (p, d) at each time, shape (k, p, K)."""
        return np.array([outputs(X, W, a, self.leak) for W, a in zip(self.W, self.a, strict=True)])


AnySource: TypeAlias = "Source | OutputStates | TwoLayerSolution"
AnyStates: TypeAlias = "States | OutputStates"


def any_states(
    source: AnySource, times: npt.ArrayLike | None = None, *, log_times: npt.ArrayLike | None = None
) -> AnyStates:
    """Collect the states of a run of any kind at the given times.

    Raises
    ------
    ValueError
        What `states` refuses.
    """
    if isinstance(source, OutputStates):
        if times is not None or log_times is not None:
            raise invalid("times", "be left out, for OutputStates carry their times", "times")
        return source
    if isinstance(source, TwoLayerSolution):
        return _of_solution(source, times, log_times)
    if isinstance(source, DescentResult) and is_by_layers(source):
        if times is not None or log_times is not None:
            raise invalid("times", "be left out, for gradient descent has its own (save_every)", "times")
        return _of_descent(source)
    return states(source, times, log_times=log_times)


def is_by_layers(run: DescentResult) -> bool:
    """Tell whether a descent is one of K outputs, of one part or of two rates."""
    return is_of_layers(run.initial, run.settings.get("train", "both"), run.settings.get("rates"))


def _of_solution(
    source: TwoLayerSolution, times: npt.ArrayLike | None, log_times: npt.ArrayLike | None
) -> OutputStates:
    if times is None and log_times is None:
        t, log_t, W, a = source.t, source.log_t, source.W, source.a
    else:
        t, log_t = grid_of(times, log_times)
        nets = [source(float(x)) for x in t] if log_times is None else [source.at(log_t=float(x)) for x in log_t]
        W, a = np.array([net.W for net in nets]), np.array([net.a for net in nets])
    start = source.initial
    assert start.pattern is not None  # for the type checker: the network of a run has one
    pattern = replayed(source.events, start.pattern, t, log_t)
    reader = source._reader
    rates = reader.rates if reader.train == "both" else (reader.rates[0], 0.0)
    run = {"loss": source.loss, "reduction": source.reduction}
    return _made(source.data, start, run, rates, (t, log_t, W, a, pattern))


def _of_descent(run: DescentResult) -> OutputStates:
    with np.errstate(divide="ignore"):
        log_t = np.log(run.t)
    first, second = run.settings.get("rates") or (1.0, 1.0)
    rates = (first, second if run.settings.get("train", "both") == "both" else 0.0)
    X = pair_of(run.data, run.initial, run.settings["loss"]).X
    return _made(run.data, run.initial, run.settings, rates, (run.t, log_t, run.W, run.a, signs_of(run.W, X)))


def _made(
    data: Any,
    net: Network,
    run: dict[str, Any],
    rates: tuple[float, float],
    path: tuple[FloatArray, FloatArray, FloatArray, FloatArray, PatternArray],
) -> OutputStates:
    pair = pair_of(data, net, run["loss"])
    t, log_t, W, a, pattern = path
    return OutputStates(
        data=data,
        X=pair.X,
        targets=pair.target_rows,
        counts=pair.each,
        leak=net.leak,
        loss=run["loss"],
        reduction=run["reduction"],
        rates=rates,
        bias_input=pair.net.bias_input,
        t=t,
        log_t=log_t,
        W=W,
        a=a if a.ndim == 3 else a[:, :, None],
        pattern=pattern,
    )


def held_out(run: OutputStates, test: object) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return inputs, targets (n, K) and counts of held-out samples of a run.

    Raises
    ------
    ValueError
        Samples that do not fit the network, its loss or its classes.
    """
    net = Network(run.W[-1], run.a[-1] if run.K > 1 else run.a[-1, :, 0], leak=run.leak, bias_input=run.bias_input)
    bias = run.bias_input
    if isinstance(test, (Dataset, MultiClassDataset)):
        if bias is not None and test.bias_input is None and test.d == net.dim - 1:
            test = test.with_bias(bias)
        if test.d != net.dim or (bias is not None and not (test.X[:, -1] == bias).all()):
            found = f"{test.d} inputs" if test.d != net.dim else "another bias"
            raise invalid("test", f"have the {net.dim} inputs of the run, a bias among them as it is there", found)
    if isinstance(test, MultiClassDataset) and isinstance(run.data, MultiClassDataset):
        test = test.X, numbers_of(test, run.data), test.counts
    pair = pair_of(test, net, run.loss, name="test", whole=False)
    return pair.X, pair.target_rows, pair.each


def numbers_of(test: MultiClassDataset, data: MultiClassDataset) -> IntArray:
    """Return the numbers that the data of the run give to the classes of others."""
    known = {name: number for number, name in enumerate(data.classes)}
    for name in test.classes:
        if name not in known:
            raise invalid("test", f"have classes of the run, {', '.join(map(repr, data.classes))}", repr(name))
    return np.array([known[test.classes[code]] for code in test.labels], dtype=np.int64)


def mean_losses(f: FloatArray, targets: FloatArray, counts: FloatArray, loss: str) -> dict[str, FloatArray]:
    """Return the mean loss over samples, and the error, of outputs (k, n, K)."""
    share = counts / counts.sum()
    if loss == "squared":
        square = ((f - targets) ** 2).sum(axis=2)
        return {"loss": np.asarray(0.5 * square @ share), "rmse": np.asarray(np.sqrt(square @ share))}
    if is_of_margins(loss):
        q = (targets * f)[:, :, 0]
        with np.errstate(over="ignore"):
            return {"loss": np.asarray(np.exp(log_losses(q, loss)) @ share), "wrong": np.asarray((q <= 0) @ share)}
    own = (targets * f).sum(axis=2)
    others = np.where(targets == 1.0, -np.inf, f).max(axis=2)
    each = -(targets * log_softmax(f, axis=2)).sum(axis=2)
    return {"loss": np.asarray(each @ share), "wrong": np.asarray((own <= others) @ share)}
