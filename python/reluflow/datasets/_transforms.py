"""Changes of the inputs that keep the labels: bias column, centring, standardising."""

from __future__ import annotations

from typing import TypeVar, cast

import numpy as np

from .._validation import FloatArray, instance, invalid, real
from ._dataset import Dataset
from ._multiclass import MultiClassDataset

AnyData = TypeVar("AnyData", bound=Dataset | MultiClassDataset)

BIAS_NAME = "bias"


def add_bias(data: AnyData, value: float = 1.0) -> AnyData:
    """Append a constant column, which gives every neuron a bias.

    The size of the constant matters to the flow: [LLWA, App. J] uses 0.1.

    Parameters
    ----------
    data : Dataset or MultiClassDataset
    value : float, optional
        The constant, not 0.

    Returns
    -------
    Dataset or MultiClassDataset
        The same samples with d + 1 inputs.

    Raises
    ------
    ValueError
        ``value`` is 0 or not finite.

    Examples
    --------
    >>> import reluflow as rf
    >>> rf.datasets.add_bias(rf.Dataset([[1.0], [2.0]], [1, -1]), 0.1).X
    array([[1. , 0.1],
           [2. , 0.1]])
    """
    _check(data)
    number = real(value, "value", "be a finite number other than 0")
    if number == 0:
        raise invalid("value", "be a finite number other than 0", repr(number))
    names = None if data.feature_names is None else (*data.feature_names, BIAS_NAME)
    return _with_inputs(data, np.column_stack((data.X, np.full(data.n, number))), names)


def centre(data: AnyData) -> AnyData:
    """Subtract from each column its mean over the samples.

    Parameters
    ----------
    data : Dataset or MultiClassDataset

    Returns
    -------
    Dataset or MultiClassDataset

    Raises
    ------
    ValueError
        A sample equals the mean: its row would be all zeros.

    Examples
    --------
    >>> import reluflow as rf
    >>> rf.datasets.centre(rf.Dataset([[1.0], [3.0]], [1, -1])).X
    array([[-1.],
           [ 1.]])
    """
    _check(data)
    return _with_inputs(data, data.X - data.X.mean(axis=0), data.feature_names)


def standardise(data: AnyData) -> AnyData:
    """Give each column mean 0 and standard deviation 1 over the samples.

    A constant column has no spread to divide by and becomes 0, so append a bias column afterwards, not before. The
    standard deviation divides by n.

    Parameters
    ----------
    data : Dataset or MultiClassDataset

    Returns
    -------
    Dataset or MultiClassDataset

    Raises
    ------
    ValueError
        A sample equals the mean: its row would be all zeros.

    Examples
    --------
    >>> import reluflow as rf
    >>> rf.datasets.standardise(rf.Dataset([[1.0, 5.0], [3.0, 5.0]], [1, -1])).X
    array([[-1.,  0.],
           [ 1.,  0.]])
    """
    _check(data)
    constant = np.ptp(data.X, axis=0) == 0
    centred = np.where(constant, 0.0, data.X - data.X.mean(axis=0))
    spread = np.where(constant, 1.0, data.X.std(axis=0))
    return _with_inputs(data, centred / spread, data.feature_names)


def _check(data: Dataset | MultiClassDataset) -> None:
    instance(data, "data", (Dataset, MultiClassDataset), "a Dataset or a MultiClassDataset")


def _with_inputs(data: AnyData, X: FloatArray, feature_names: tuple[str, ...] | None) -> AnyData:
    changed: Dataset | MultiClassDataset
    if isinstance(data, Dataset):
        changed = Dataset(X, data.y, weights=data.weights, name=data.name, feature_names=feature_names)
    else:
        values = [data.classes[code] for code in data.labels]
        changed = MultiClassDataset(X, values, name=data.name, feature_names=feature_names)
    return cast(AnyData, changed)
