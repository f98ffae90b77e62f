"""Changes of the inputs that keep the targets: centring, standardising. A bias stays what it is."""

from __future__ import annotations

import warnings
from typing import Any, TypeVar, cast

import numpy as np
import numpy.typing as npt

from .._validation import FloatArray, instance, invalid
from ._bias import about_columns, bare_inputs
from ._dataset import Dataset
from ._multiclass import MultiClassDataset

AnyData = TypeVar("AnyData", bound=Dataset | MultiClassDataset)


def add_bias(data: AnyData, value: float = 1.0) -> AnyData:
    """Append a constant column: the former name of ``data.with_bias(value)``, which says the same.

    Raises
    ------
    ValueError
        ``value`` is 0 or not finite, or the data have a bias.
    """
    warnings.warn(
        "reluflow.datasets.add_bias(data, value) is now data.with_bias(value)", DeprecationWarning, stacklevel=2
    )
    _check(data)
    return cast(AnyData, data.with_bias(value))


def centre(data: AnyData) -> AnyData:
    """Subtract from each column its mean over the samples; a bias stays. Another constant column becomes 0.

    Parameters
    ----------
    data : Dataset or MultiClassDataset

    Returns
    -------
    Dataset or MultiClassDataset

    Raises
    ------
    ValueError
        A sample equals the mean, and there is no bias: its row would be all zeros. Add a bias before, it stays.

    Examples
    --------
    >>> import reluflow as rf
    >>> rf.datasets.centre(rf.Dataset([[1.0], [3.0]], [1, -1])).X
    array([[-1.],
           [ 1.]])
    """
    _check(data)
    return _with_inputs(data, _centred(bare_inputs(data)))


def standardise(data: AnyData) -> AnyData:
    """Give each column mean 0 and standard deviation 1 over the samples; a bias stays.

    Another constant column has no spread to divide by and becomes 0. The standard deviation divides by n.

    Parameters
    ----------
    data : Dataset or MultiClassDataset

    Returns
    -------
    Dataset or MultiClassDataset

    Raises
    ------
    ValueError
        A sample equals the mean, and there is no bias: its row would be all zeros. Add a bias before, it stays.

    Examples
    --------
    >>> import reluflow as rf
    >>> rf.datasets.standardise(rf.Dataset([[1.0, 5.0], [3.0, 5.0]], [1, -1])).X
    array([[-1.,  0.],
           [ 1.,  0.]])
    """
    _check(data)
    X = bare_inputs(data)
    spread = np.where(_is_constant(X), 1.0, X.std(axis=0))
    return _with_inputs(data, _centred(X) / spread)


def _is_constant(X: FloatArray) -> npt.NDArray[np.bool_]:
    constant: npt.NDArray[np.bool_] = np.ptp(X, axis=0) == 0
    return constant


def _centred(X: FloatArray) -> FloatArray:
    """Return X less the means of its columns: exactly 0 in constant ones, whose mean is rounded."""
    return np.where(_is_constant(X), 0.0, X - X.mean(axis=0))


def _check(data: Dataset | MultiClassDataset) -> None:
    instance(data, "data", (Dataset, MultiClassDataset), "a Dataset or a MultiClassDataset")


def _with_inputs(data: AnyData, X: FloatArray) -> AnyData:
    """Return the data with other inputs in the place of those that are no bias, of mean 0.

    Raises
    ------
    ValueError
        A row is all zeros: that sample equals the mean, and no bias tells it from nothing.
    """
    at_mean = ~X.any(axis=1)
    if data.bias_input is None and at_mean.any():
        expected = "have a bias where a sample equals the mean (data.with_bias(1.0) before, which stays)"
        raise invalid("data", expected, f"one at row {int(np.argmax(at_mean))}")
    options: dict[str, Any] = {"name": data.name, **about_columns(data)}
    changed: Dataset | MultiClassDataset
    if isinstance(data, Dataset):
        changed = Dataset(X, data.y, weights=data.weights, **options)
    else:
        changed = MultiClassDataset(X, [data.classes[code] for code in data.labels], weights=data.weights, **options)
    return cast(AnyData, changed)
