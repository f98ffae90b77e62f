"""What a run needs of data and loss: inputs, targets, the factor of the reduction."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from .._validation import FloatArray, IntArray, invalid, one_of, real_array
from ..datasets import Dataset, MultiClassDataset
from ..datasets._dataset import check_size_of_targets, weights_of_samples
from ._network import DeepNetwork
from ._several import class_numbers

# Inputs and targets, and what each sample counts.
ArrayData: TypeAlias = tuple[npt.ArrayLike, npt.ArrayLike] | tuple[npt.ArrayLike, npt.ArrayLike, npt.ArrayLike]
LAYERED_LOSSES = ("logistic", "exponential", "squared", "cross_entropy")


def inputs_of(data: object, net: DeepNetwork) -> FloatArray:
    """Return the inputs X of data, checked against the network.

    Raises
    ------
    ValueError
        The data are of another kind or have another number of inputs.
    """
    if isinstance(data, (Dataset, MultiClassDataset)):
        X: FloatArray = data.X
    elif isinstance(data, tuple) and len(data) in (2, 3):
        X = real_array(data[0], "data[0]", "(n, d)")
        if not len(X):
            raise invalid("data[0]", "hold at least one row", "none")
    else:
        found = f"a value of type {type(data).__name__}"
        raise invalid("data", "be a Dataset, a MultiClassDataset, a pair (X, targets) or (X, targets, weights)", found)
    if X.shape[1] != net.dim:
        raise invalid("net", f"take the {X.shape[1]} inputs of the data", f"a network of {net.dim} inputs")
    return X


def counts_of(data: object, n: int) -> FloatArray | None:
    """Return what each sample counts, or None for one each.

    Raises
    ------
    ValueError
        Weights of samples of another length, below 0, or all zero.
    """
    if isinstance(data, (Dataset, MultiClassDataset)):
        return data.weights
    return weights_of_samples(data[2], "data[2]", n) if len(data) == 3 else None  # type: ignore[arg-type,index]


def targets_of(data: object, net: DeepNetwork, loss: str, n: int) -> FloatArray:
    """Return the targets (n, K) of a loss.

    Raises
    ------
    ValueError
        The targets do not fit the loss or the outputs of the network.
    """
    one_of(loss, "loss", LAYERED_LOSSES)
    if loss == "cross_entropy":
        return _one_hot(_classes(data, net, n), net)
    if isinstance(data, MultiClassDataset):
        raise invalid("loss", "be 'cross_entropy' for data with classes", repr(loss))
    targets = data.y if isinstance(data, Dataset) else _numbers(data[1])  # type: ignore[index]
    shape = targets.shape
    if targets.ndim == 1:
        targets = targets[:, None]
    if targets.shape != (n, net.n_outputs):
        several = f"({n}, {net.n_outputs})" if net.n_outputs > 1 else f"({n},)"
        raise invalid("data", f"hold targets of the shape {several}", f"the shape {shape}")
    if loss != "squared" and not np.isin(targets, (-1.0, 1.0)).all():
        raise invalid("data", f"hold labels -1 and +1 for the loss {loss!r}", "other numbers")
    return np.ascontiguousarray(targets)


def _numbers(value: npt.ArrayLike) -> FloatArray:
    """Return targets (n,) or (n, K); another shape is left to the caller."""
    try:
        is_table = len(np.shape(value)) == 2
    except ValueError:  # ragged rows, which the check of the shape names
        is_table = False
    targets = real_array(value, "data[1]", "(n, K)" if is_table else "(n,)")
    check_size_of_targets(targets, "data[1]")
    return targets


def _classes(data: object, net: DeepNetwork, n: int) -> IntArray:
    if isinstance(data, MultiClassDataset):
        return np.asarray(data.labels)
    if net.n_outputs == 1:
        raise invalid("loss", "be another one for one output ('logistic' is for labels -1 and +1)", "'cross_entropy'")
    name = "data.y" if isinstance(data, Dataset) else "data[1]"
    labels = data.y if isinstance(data, Dataset) else data[1]  # type: ignore[index]
    return class_numbers(labels, n, net.n_outputs, name=name, whole=False)


def _one_hot(labels: IntArray, net: DeepNetwork) -> FloatArray:
    if labels.min() < 0 or labels.max() >= net.n_outputs or net.n_outputs < 2:
        found = f"the class {int(labels.max())} and {net.n_outputs} outputs"
        raise invalid("net", "have an output for each class, at least two", found)
    hot = np.zeros((len(labels), net.n_outputs))
    hot[np.arange(len(labels)), labels] = 1.0
    return hot
