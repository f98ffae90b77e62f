"""Data with K classes: one input matrix and K one-against-rest problems."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from .._digest import content_digest, hash_of
from .._validation import FloatArray, IntArray, freeze, invalid, real_array, shown
from ._bias import about_columns, bare_inputs, bias_value, check_no_bias
from ._dataset import Dataset, column_names, total_of
from ._labels import numbered


@dataclass(frozen=True, eq=False, init=False, repr=False)
class MultiClassDataset:
    """Inputs and class labels of a K-class problem, K >= 2, checked once and read-only.

    [WP, Sec. 2] trains K independent networks on it, network k with the labels +1 for class k and -1 for the rest:
    `binary` gives these problems one by one.

    Parameters
    ----------
    X : array_like, shape (n, d)
        Inputs, one row a sample, as in `Dataset`.
    labels : array_like, shape (n,)
        Class of each sample: numbers, booleans or strings. The classes are numbered in increasing order.
    name : str, optional
        What to call the data in tables and figures.
    feature_names : sequence of str, optional
        One name for each column.
    bias_input : float, optional
        A constant that is appended to every row of X and gives the neurons a bias, as `with_bias` does.
    weights : array_like, shape (n,), optional
        What each sample counts in the loss, as in `Dataset`.

    Attributes
    ----------
    X : ndarray, shape (n, d), float64, C order, read-only
    bias_input : float, or None
    labels : ndarray, shape (n,), int64, read-only
        Class index 0 ... K-1 of each sample.
    classes : tuple
        The user's value of each class index.
    Y : ndarray, shape (n, K)
        +1 where the sample has the class of the column, else -1.
    weights : ndarray, shape (n,), float64, read-only, or None
    total : float
        What all samples count together, by which a mean divides: the sum of the weights, n without weights.
    n, d, K, rank : int
        Number of samples, of inputs, of classes; numerical rank of X.

    Raises
    ------
    ValueError
        What `Dataset` refuses in X, and what `class_labels` refuses in labels: a missing one, one class only, values
        that are no numbers, booleans or strings; labels of another length.

    Examples
    --------
    >>> import reluflow as rf
    >>> data = rf.datasets.MultiClassDataset([[1, 0], [0, 1], [-1, -1]], ["red", "green", "blue"])
    >>> data
    MultiClassDataset(n=3, d=2, K=3)
    >>> data.classes
    ('blue', 'green', 'red')
    >>> data.binary(2).y
    array([ 1., -1., -1.])
    """

    X: FloatArray
    labels: IntArray
    classes: tuple[Any, ...]
    name: str
    feature_names: tuple[str, ...] | None
    bias_input: float | None
    weights: FloatArray | None

    def __init__(
        self,
        X: npt.ArrayLike,
        labels: npt.ArrayLike,
        *,
        name: str = "",
        feature_names: Sequence[str] | None = None,
        bias_input: float | None = None,
        weights: npt.ArrayLike | None = None,
    ) -> None:
        codes, classes = numbered(labels, "labels")
        # Dataset is the one home of the checks of X; its labels play no part here.
        inputs = real_array(X, "X", "(n, d)")
        feature_names = column_names(X) if feature_names is None else feature_names
        options: dict[str, Any] = {"name": name, "feature_names": feature_names, "bias_input": bias_input}
        checked = Dataset(inputs, np.ones(len(inputs)), weights=weights, **options)
        if len(codes) != checked.n:
            raise invalid("labels", f"have one label for each of the {checked.n} rows of X", f"{len(codes)} labels")
        object.__setattr__(self, "_inputs", checked)
        for field in ("X", "name", "feature_names", "bias_input", "weights"):
            object.__setattr__(self, field, getattr(checked, field))
        object.__setattr__(self, "labels", codes)
        object.__setattr__(self, "classes", classes)

    def with_bias(self, value: float = 1.0) -> MultiClassDataset:
        """Append a constant input, as `Dataset.with_bias` does.

        Raises
        ------
        ValueError
            ``value`` is 0 or not finite, or the data have a bias.
        """
        check_no_bias(self)
        constant = bias_value(value, "value")
        labels = [self.classes[code] for code in self.labels]
        options: dict[str, Any] = {"name": self.name, "feature_names": self.feature_names, "weights": self.weights}
        return MultiClassDataset(self.X, labels, **options, bias_input=constant)

    @property
    def n(self) -> int:
        """Number of samples."""
        return int(self.X.shape[0])

    @property
    def d(self) -> int:
        """Number of inputs of a sample."""
        return int(self.X.shape[1])

    @property
    def K(self) -> int:
        """Number of classes."""
        return len(self.classes)

    @property
    def rank(self) -> int:
        """Numerical rank of X, by the rule of `Dataset.rank`."""
        inputs: Dataset = self._inputs  # type: ignore[attr-defined]
        return inputs.rank

    @property
    def counts(self) -> FloatArray:
        """What each sample counts in the loss, shape (n,): `weights`, or ones."""
        inputs: Dataset = self._inputs  # type: ignore[attr-defined]
        return inputs.counts

    @property
    def total(self) -> float:
        """What all samples count together, by which a mean divides: the sum of the weights, `n` without weights."""
        return total_of(self.weights, self.n)

    @property
    def Y(self) -> FloatArray:
        """One-against-rest labels, shape (n, K): +1 where the sample has the class of the column, else -1."""
        Y: FloatArray = np.where(self.labels[:, None] == np.arange(self.K)[None, :], 1.0, -1.0)
        return Y

    def binary(self, k: int) -> Dataset:
        """Return the problem "class k against the rest".

        Parameters
        ----------
        k : int
            Class index, 0 ... K-1; `classes` tells whose it is.

        Raises
        ------
        ValueError
            ``k`` is no class index.
        """
        index = self._index(k, "k")
        name = f"{self.name}: {self.classes[index]} against the rest".removeprefix(": ")
        return Dataset(bare_inputs(self), self.Y[:, index], weights=self.weights, name=name, **about_columns(self))

    def pair(self, positive: int, negative: int) -> Dataset:
        """Return the problem of two classes alone: `positive` gets +1, `negative` -1, other samples are left out.

        Parameters
        ----------
        positive, negative : int
            Class indices.

        Raises
        ------
        ValueError
            One of them is no class index, or both are the same.
        """
        plus, minus = self._index(positive, "positive"), self._index(negative, "negative")
        if plus == minus:
            raise invalid("negative", "be another class than positive", repr(negative))
        kept = np.isin(self.labels, [plus, minus])
        y = np.where(self.labels[kept] == plus, 1.0, -1.0)
        name = f"{self.name}: {self.classes[plus]} against {self.classes[minus]}".removeprefix(": ")
        weights = None if self.weights is None else self.weights[kept]
        return Dataset(bare_inputs(self)[kept], y, weights=weights, name=name, **about_columns(self))

    @cached_property
    def fingerprint(self) -> str:
        """32 hexadecimal digits of all that `==` compares: equal where datasets are equal, in every process."""
        bias = () if self.bias_input is None else (self.bias_input,)
        weights = () if (self.counts == 1.0).all() else (self.counts,)
        return content_digest(self.X, self.labels, self.classes, self.name, self.feature_names, *bias, *weights)

    def __hash__(self) -> int:
        """Return a hash that is the same in every process."""
        return hash_of(self.fingerprint)

    def __eq__(self, other: object) -> bool:
        """Tell whether inputs, labels, classes, weights, names and bias are equal, entry by entry."""
        if not isinstance(other, MultiClassDataset):
            return NotImplemented
        same = np.array_equal(self.X, other.X) and np.array_equal(self.labels, other.labels)
        mine, theirs = (self.classes, self.name, self.feature_names), (other.classes, other.name, other.feature_names)
        same = same and np.array_equal(self.counts, other.counts)
        return same and mine == theirs and self.bias_input == other.bias_input

    def __repr__(self) -> str:
        """One line: the sizes and the name if there is one."""
        label = ("" if self.weights is None else ", weighted") + (f", name={self.name!r}" if self.name else "")
        return f"MultiClassDataset(n={self.n}, d={self.d}, K={self.K}{label})"

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore a pickled or copied dataset with its arrays read-only again."""
        self.__dict__.update(state)
        self.__dict__.setdefault("bias_input", None)
        self.__dict__.setdefault("weights", None)
        freeze(self.X)
        freeze(self.labels)

    def _index(self, k: int, name: str) -> int:
        if isinstance(k, (bool, np.bool_)) or not isinstance(k, (int, np.integer)) or not 0 <= k < self.K:
            raise invalid(name, f"be a class index 0 ... {self.K - 1}", shown(k))
        return int(k)
