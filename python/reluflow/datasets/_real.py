"""Real data that ship with scikit-learn: no download, the same bits everywhere. Needs the extra `data`."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any, overload

import numpy as np

from .._validation import invalid, optional_module
from ._dataset import Dataset
from ._labels import named
from ._multiclass import MultiClassDataset
from ._transforms import centre, standardise

PIXEL_MAX = 16.0  # greyscale levels of the 8 x 8 digit images are 0 ... 16
EXTRA = "data"


@overload
def digits() -> MultiClassDataset: ...
@overload
def digits(a: int, b: int) -> Dataset: ...
def digits(a: int | None = None, b: int | None = None) -> Dataset | MultiClassDataset:
    """Return handwritten digits, 8 x 8 pixels: two of them against each other, or all ten.

    All samples of the chosen digits in their stored order, pixels divided by 16, minus the mean over the samples used.

    Parameters
    ----------
    a, b : int, optional
        The digits: `a` gets the label +1, `b` gets -1. Without them all ten classes.

    Returns
    -------
    Dataset or MultiClassDataset
        d = 64. Digits 3 against 8: n = 357, rank 54. All ten: n = 1797.

    Raises
    ------
    ValueError
        Only one digit given, both the same, or no digit 0 ... 9.
    ImportError
        scikit-learn is not installed.

    References
    ----------
    `sklearn.datasets.load_digits`: the test set of E. Alpaydin & C. Kaynak, Optical Recognition of Handwritten
    Digits, UCI Machine Learning Repository, 1998.

    Examples
    --------
    >>> import reluflow as rf
    >>> rf.datasets.digits(3, 8)
    Dataset(n=357, d=64, n_positive=183, n_negative=174, name='digits: 3 against 8')
    """
    raw = _load("digits", "digits")
    data = MultiClassDataset(raw["X"] / PIXEL_MAX, raw["labels"], name="digits", feature_names=raw["feature_names"])
    return centre(chosen_classes(data, a, b))


@overload
def wine() -> MultiClassDataset: ...
@overload
def wine(a: str, b: str) -> Dataset: ...
def wine(a: str | None = None, b: str | None = None) -> Dataset | MultiClassDataset:
    """Return the chemical analysis of wines of three growers: two against each other, or all three.

    All samples of the chosen classes in their stored order, standardised over the samples used.

    Parameters
    ----------
    a, b : {"class_0", "class_1", "class_2"}, optional
        `a` gets the label +1, `b` gets -1. Without them all three classes.

    Returns
    -------
    Dataset or MultiClassDataset
        d = 13; 59, 71 and 48 samples.

    Raises
    ------
    ValueError
        Only one class given, both the same, or an unknown class.
    ImportError
        scikit-learn is not installed.

    References
    ----------
    `sklearn.datasets.load_wine`: M. Forina et al., PARVUS, UCI Machine Learning Repository, 1991.

    Examples
    --------
    >>> import reluflow as rf
    >>> rf.datasets.wine()
    MultiClassDataset(n=178, d=13, K=3, name='wine')
    """
    return standardise(chosen_classes(_named_classes("wine"), a, b))


@overload
def iris() -> MultiClassDataset: ...
@overload
def iris(a: str, b: str) -> Dataset: ...
def iris(a: str | None = None, b: str | None = None) -> Dataset | MultiClassDataset:
    """Return Fisher's iris flowers: two species against each other, or all three.

    All samples of the chosen classes in their stored order, standardised over the samples used. Setosa is linearly
    separable from the others, versicolor and virginica are not.

    Parameters
    ----------
    a, b : {"setosa", "versicolor", "virginica"}, optional
        `a` gets the label +1, `b` gets -1. Without them all three classes.

    Returns
    -------
    Dataset or MultiClassDataset
        d = 4; 50 samples each.

    Raises
    ------
    ValueError
        Only one class given, both the same, or an unknown class.
    ImportError
        scikit-learn is not installed.

    References
    ----------
    `sklearn.datasets.load_iris`: R. A. Fisher, The use of multiple measurements in taxonomic problems, 1936.

    Examples
    --------
    >>> import reluflow as rf
    >>> rf.datasets.iris("setosa", "virginica").n
    100
    """
    return standardise(chosen_classes(_named_classes("iris"), a, b))


def breast_cancer() -> Dataset:
    """Return the Wisconsin diagnostic breast cancer data, standardised; malignant is +1.

    Returns
    -------
    Dataset
        n = 569 (212 malignant), d = 30. Without a bias column it is not linearly separable.

    Raises
    ------
    ImportError
        scikit-learn is not installed.

    References
    ----------
    `sklearn.datasets.load_breast_cancer`: W. N. Street, W. H. Wolberg & O. L. Mangasarian, 1993.

    Examples
    --------
    >>> import reluflow as rf
    >>> rf.datasets.breast_cancer()
    Dataset(n=569, d=30, n_positive=212, n_negative=357, name='breast_cancer: malignant against benign')
    """
    data = _named_classes("breast_cancer")
    return standardise(data.pair(data.classes.index("malignant"), data.classes.index("benign")))


def _load(loader: str, name: str) -> Mapping[str, Any]:
    """Read one of scikit-learn's own files: X, labels (by value) and the names of the columns."""
    module = optional_module("sklearn.datasets", EXTRA)
    bunch = getattr(module, f"load_{loader}")()
    return {
        "X": bunch["data"],
        "labels": np.asarray(bunch["target_names"])[bunch["target"]],
        "feature_names": [str(column) for column in bunch["feature_names"]],
        "name": name,
    }


def _named_classes(loader: str) -> MultiClassDataset:
    raw = _load(loader, loader)
    return MultiClassDataset(raw["X"], raw["labels"], name=raw["name"], feature_names=raw["feature_names"])


def chosen_classes(data: MultiClassDataset, a: object, b: object) -> Dataset | MultiClassDataset:
    if a is None and b is None:
        return data
    index = {value: code for code, value in enumerate(data.classes)}
    for argument, value in (("a", a), ("b", b)):
        if not isinstance(value, Hashable) or value not in index:
            raise invalid(argument, f"be a class of {data.name} ({named(data.classes)})", repr(value))
    if a == b:
        raise invalid("b", "be another class than a", repr(b))
    return data.pair(index[a], index[b])
