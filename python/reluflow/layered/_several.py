"""Data for a network of two layers with K outputs: targets (n, K) of the squared loss, or classes of cross-entropy."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .._validation import REAL_KINDS, FloatArray, IntArray, invalid, is_table, real_array
from ..datasets import Dataset, MultiClassDataset
from ..datasets._arrays import name_of_targets, one_target_of
from ..datasets._bias import stored_columns
from ..datasets._dataset import total_of, weights_of_samples
from ..losses import check_loss, check_targets
from ..networks import Network
from ..networks._bias import knowing_bias
from ..networks._parts import with_bias_input

SEVERAL_LOSSES = ("squared", "cross_entropy")


class Pair(NamedTuple):
    """What a run of layers takes: inputs, and real targets, labels or class numbers; and the network for these data.

    `counts` is what each sample counts in the loss, None for one each.
    """

    X: FloatArray
    targets: FloatArray | IntArray
    net: Network
    counts: FloatArray | None = None

    @property
    def total(self) -> float:
        """What all samples count together, by which a mean divides."""
        return total_of(self.counts, len(self.X))

    @property
    def each(self) -> FloatArray:
        """What each sample counts, shape (n,)."""
        return np.ones(len(self.X)) if self.counts is None else self.counts

    @property
    def target_rows(self) -> FloatArray:
        """Targets of every output, shape (n, K); of classes one-hot rows."""
        K = self.net.n_outputs
        if K > 1 and self.targets.ndim == 1:
            return np.asarray(np.eye(K)[self.targets])
        return np.asarray(self.targets, dtype=np.float64).reshape(len(self.X), K)

    @property
    def data(self) -> tuple[Any, ...]:
        """Inputs, targets, and the weights of samples if there are any."""
        return (self.X, self.targets) if self.counts is None else (self.X, self.targets, self.counts)


def pair_of(data: Any, net: Network, loss: object, *, name: str = "data", whole: bool = True) -> Pair:
    """Check data, loss and network against each other; `whole`: every class has to have a sample.

    Raises
    ------
    ValueError
        What does not fit; the message names it and a way out.
    """
    if net.n_outputs == 1:
        return _one_output(data, net, loss, name)
    K = net.n_outputs
    if loss not in SEVERAL_LOSSES:
        way = "classes against the rest are K networks of one output, rf.Network.init(..., classes=K)"
        raise invalid("loss", f"be 'squared' or 'cross_entropy' for {K} outputs ({way})", repr(loss))
    if isinstance(data, MultiClassDataset):
        return _of_classes(data, net, loss)
    if isinstance(data, Dataset):
        _check_inputs(data.X, net)
        targets = _answers(data.y, data.n, K, loss, f"{name}.y", whole)
        return Pair(data.X, targets, knowing_bias(net, data), data.weights)
    if not isinstance(data, tuple) or len(data) not in (2, 3):
        found = f"a value of type {type(data).__name__}"
        kinds = "a Dataset, a MultiClassDataset, a pair (X, targets) or (X, targets, weights)"
        raise invalid(name, f"be {kinds} for {K} outputs", found)
    X = real_array(data[0], f"{name}[0]", "(n, d)")
    if not len(X):
        raise invalid(f"{name}[0]", "hold at least one row", "none")
    _check_inputs(X, net)
    X = with_bias_input(X, net.dim, net.bias_input)
    targets = _answers(data[1], len(X), K, loss, f"{name}[1]", whole)
    counts = weights_of_samples(data[2], f"{name}[2]", len(X)) if len(data) == 3 else None
    return Pair(X, targets, net, counts)


def _one_output(data: Any, net: Network, loss: object, name: str) -> Pair:
    problem = one_target_of(data, net, name=name, expected="a Dataset, (X, y) or (X, y, weights) for one output")
    check_targets(problem, check_loss(loss), name_of_targets(data, name))
    _check_inputs(problem.X, net)
    return Pair(problem.X, problem.y, knowing_bias(net, problem), problem.weights)


def kept(data: Any, pair: Pair) -> Any:
    """Return the data that a result keeps: a dataset as it is, arrays for one output as one, others as arrays."""
    if not isinstance(data, tuple):
        return data
    return one_target_of(data, pair.net) if pair.net.n_outputs == 1 else pair.data


def _of_classes(data: MultiClassDataset, net: Network, loss: object) -> Pair:
    if loss != "cross_entropy":
        raise invalid("loss", "be 'cross_entropy' for data with classes", repr(loss))
    if net.n_outputs != data.K:
        raise invalid("net", f"have an output for each of the {data.K} classes", f"{net.n_outputs} outputs")
    _check_inputs(data.X, net)
    return Pair(data.X, data.labels, knowing_bias(net, data), data.weights)


def _check_inputs(X: FloatArray, net: Network) -> None:
    if X.shape[1] != net.dim and (net.bias_input is None or X.shape[1] != net.dim - 1):
        raise invalid("net", f"have dim {X.shape[1]}, the columns of X", f"dim {net.dim}")


def _answers(value: npt.ArrayLike, n: int, K: int, loss: object, name: str, whole: bool) -> FloatArray | IntArray:
    if loss == "cross_entropy":
        return class_numbers(value, n, K, name=name, whole=whole)
    return _targets(value, n, K, name)


def _targets(value: npt.ArrayLike, n: int, K: int, name: str) -> FloatArray:
    if not is_table(value):
        way = "np.eye(K)[classes] makes targets of class numbers"
        raise invalid(
            name, f"have the shape ({n}, {K}), a target for each output ({way})", f"the shape {np.shape(value)}"
        )
    targets = real_array(value, name, "(n, K)")
    if targets.shape != (n, K):
        raise invalid(name, f"have the shape ({n}, {K}), a target for each output", f"the shape {targets.shape}")
    return targets


def class_numbers(value: npt.ArrayLike, n: int, K: int, *, name: str = "data[1]", whole: bool = True) -> IntArray:
    """Return class numbers (n,) of numbers 0 ... K-1, or of one-hot rows (n, K).

    Raises
    ------
    ValueError
        Another shape, other numbers, or, if it has to be `whole`, a class without a sample.
    """
    raw = np.asarray(value)
    expected = f"hold {n} class numbers 0 ... {K - 1}, one for each output, or as many one-hot rows"
    if raw.shape not in ((n,), (n, K)) or raw.dtype.kind not in REAL_KINDS:
        found = f"the dtype {raw.dtype}" if raw.dtype.kind not in REAL_KINDS else f"the shape {raw.shape}"
        raise invalid(name, f"{expected} (rf.datasets.MultiClassDataset numbers names of classes)", found)
    if raw.ndim == 2:
        if not (np.isin(raw, (0, 1)).all() and (raw.sum(axis=1) == 1).all()):
            raise invalid(name, expected, "rows that are not one-hot")
        raw = raw.argmax(axis=1)
    bad = ~np.isin(raw, np.arange(K))
    if bad.any():
        raise invalid(name, expected, f"{raw[bad][0]:g} at row {int(np.argmax(bad))}")
    numbers: IntArray = raw.astype(np.int64)
    missing = np.setdiff1d(np.arange(K), numbers)
    if whole and len(missing):
        way = "rf.datasets.MultiClassDataset numbers the classes that are there"
        raise invalid(name, f"hold every class 0 ... {K - 1} ({way})", f"no sample of class {missing[0]}")
    return numbers


# --- in files ---


def stored(data: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the arrays of data of any kind, and what else they are."""
    if isinstance(data, tuple):
        names = ("X", "targets", "weights")
        return {name: np.asarray(part) for name, part in zip(names, data, strict=False)}, {"data_kind": "pair"}
    record = {"data_name": data.name, "feature_names": data.feature_names, "bias_input": data.bias_input}
    weights = {} if data.weights is None else {"weights": data.weights}
    if isinstance(data, MultiClassDataset):
        arrays = {"X": data.X, "labels": data.labels, **weights}
        return arrays, {**record, "data_kind": "classes", "classes": data.classes}
    return {"X": data.X, "y": data.y, **weights}, {**record, "data_kind": "targets"}


def data_of(arrays: dict[str, Any], record: dict[str, Any]) -> Any:
    """Return the data that `stored` took apart; a file without their kind holds a `Dataset`."""
    kind = record.get("data_kind", "targets")
    if kind == "pair":
        return tuple(arrays[name] for name in ("X", "targets", "weights") if name in arrays)
    columns = stored_columns(arrays["X"], record)
    if kind == "classes":
        labels = [record["classes"][code] for code in arrays["labels"]]
        return MultiClassDataset(labels=labels, weights=arrays.get("weights"), **columns)
    return Dataset(y=arrays["y"], weights=arrays.get("weights"), **columns)
