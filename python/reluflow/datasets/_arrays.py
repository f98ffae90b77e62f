"""Arrays (X, y) or (X, y, weights) in the place of a `Dataset`, checked as one is."""

from __future__ import annotations

from collections.abc import Iterable

from .._validation import invalid, is_table, real_array
from ._dataset import Dataset, checked_inputs, checked_targets, one_target, weights_of_samples
from ._labels import numbered
from ._multiclass import MultiClassDataset


def is_arrays(data: object) -> bool:
    """Tell whether data are a pair or a triple of arrays, and not one of datasets."""
    return isinstance(data, tuple) and len(data) in (2, 3) and not any(isinstance(part, Dataset) for part in data)


def one_target_of(
    data: object, net: object = None, *, name: str = "data", expected: str = "a Dataset, (X, y) or (X, y, weights)"
) -> Dataset:
    """Return data of one target a sample, of a `Dataset` or of arrays.

    The bias of a network that knows one is appended to inputs which lack it, as `Network.__call__` does.

    Raises
    ------
    ValueError
        Another type, several targets a sample, or arrays that a `Dataset` would refuse.
    """
    if not is_arrays(data):
        return one_target(data, name, expected)
    assert isinstance(data, tuple)  # for the type checker
    columns = real_array(data[0], f"{name}[0]", "(n, d)").shape[1]
    bias = getattr(net, "bias_input", None) if columns == getattr(net, "dim", 0) - 1 else None
    n = len(checked_inputs(data[0], bias, f"{name}[0]"))
    checked_targets(data[1], n, f"{name}[1]", f"{name}[0]")
    weights = None if len(data) == 2 else weights_of_samples(data[2], f"{name}[2]", n, f"{name}[0]")
    return one_target(Dataset(data[0], data[1], weights=weights, bias_input=bias), name)


def dataset_of(data: object, *, losses: Iterable[object], name: str = "data") -> object:
    """Return arrays as data: of classes where all losses are cross-entropy, else of targets; other things as they are.

    Rows of several targets stay such, for they may be one-hot.

    Raises
    ------
    ValueError
        Arrays that a `Dataset` or a `MultiClassDataset` would refuse.
    """
    if not is_arrays(data):
        return data
    assert isinstance(data, tuple)  # for the type checker
    n = len(checked_inputs(data[0], None, f"{name}[0]"))
    weights = None if len(data) == 2 else weights_of_samples(data[2], f"{name}[2]", n, f"{name}[0]")
    of_classes = all(isinstance(loss, str) and loss == "cross_entropy" for loss in losses)
    if not of_classes or has_several(data):
        checked_targets(data[1], n, f"{name}[1]", f"{name}[0]")
        return Dataset(data[0], data[1], weights=weights)
    labels, _ = numbered(data[1], f"{name}[1]")
    if len(labels) != n:
        raise invalid(f"{name}[1]", f"have one label for each of the {n} rows of {name}[0]", f"{len(labels)} labels")
    return MultiClassDataset(data[0], data[1], weights=weights)


def has_several(data: object) -> bool:
    """Tell whether data are arrays with several targets a sample."""
    return is_arrays(data) and is_table(data[1])  # type: ignore[index]  # a tuple


def name_of_targets(data: object, name: str = "data") -> str:
    """Return what to call the targets of data in a message."""
    return f"{name}[1]" if is_arrays(data) else f"{name}.y"
