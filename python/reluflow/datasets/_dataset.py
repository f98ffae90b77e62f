"""The data of a problem: inputs X, labels or targets y, checked once and read-only from then on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from .._digest import content_digest, hash_of
from .._html import card
from .._validation import FloatArray, freeze, instance, invalid, is_table, place, real_array
from ._bias import BIAS_NAME, appended, bias_value, check_no_bias

# Squares and products of inputs, targets and what samples count must stay inside the range of float64 (about 1e-308 to
# 1e308), with room for the weights of networks.
MIN_ROW_NORM = 1e-100
MAX_ROW_NORM = 1e100
SMALLEST, LARGEST = 1e-100, 1e100
# For a message: what asks for a bias of data, of the estimators and in the command line.
_WAYS_TO_A_BIAS = "a bias appends a constant: bias_input=1.0, bias=True of estimators, --bias 1 in the shell"


@dataclass(frozen=True, eq=False, init=False, repr=False)
class Dataset:
    """Inputs and labels of a binary classification problem, or inputs and targets of a regression.

    Everything is checked here, once. The arrays are private copies and read-only. Which targets fit is a matter of the
    loss: logistic and exponential take labels +1 and -1, squared any finite numbers, cross-entropy class numbers
    0 ... K-1. Several targets a sample, and class numbers, are for networks of K outputs.

    Parameters
    ----------
    X : array_like, shape (n, d)
        Inputs, one row a sample. No row may be all zeros, for such a sample lies on every boundary and its output is 0
        for every network; with a `bias_input` it may.
    y : array_like, shape (n,) or (n, K)
        Labels, +1 or -1 (one class alone is allowed), real targets, or class numbers. Integers and truth values count
        as numbers; one-hot rows (n, K) are targets of the squared loss, and classes for cross-entropy.
    weights : array_like, shape (n,), optional
        What each sample counts in the loss, not negative and not all zero; one each by default. A whole number is as
        many repeats: a mean divides by the sum.
    name : str, optional
        What to call the data in tables and figures.
    feature_names : sequence of str, optional
        One name for each column; by default those of X, where it is a table with names.
    bias_input : float, optional
        A constant that is appended to every row of X and gives the neurons a bias, as `with_bias` does.

    Attributes
    ----------
    X : ndarray, shape (n, d), float64, C order, read-only
    y : ndarray, shape (n,) or (n, K), float64, C order, read-only
    bias_input : float, or None
    weights : ndarray, shape (n,), float64, read-only, or None
    name : str
    feature_names : tuple of str, or None
    n, d, n_targets : int
        Number of samples, of inputs, a bias among them, and of targets a sample.
    total : float
        What all samples count together, by which a mean divides: the sum of the weights, n without weights.
    rank : int
        Numerical rank of X, see `rank_tol`.

    Raises
    ------
    ValueError
        A bad shape, dtype, entry, weight or bias; the message names the argument, what was found and what is expected.

    Examples
    --------
    >>> import reluflow as rf
    >>> data = rf.Dataset([[1.65, -0.47], [-0.47, 1.35]], [1, -1])
    >>> data
    Dataset(n=2, d=2, n_positive=1, n_negative=1)
    >>> data.rank
    2
    >>> rf.Dataset([[1.0, 1.0], [2.0, 1.0]], [0.5, -1.5], weights=[1, 3])
    Dataset(n=2, d=2, y from -1.5 to 0.5, weighted)
    >>> rf.Dataset([[1.0, 1.0], [2.0, 1.0]], [[1, 0], [0, 1]])
    Dataset(n=2, d=2, 2 targets a sample, y from 0 to 1)
    """

    X: FloatArray
    y: FloatArray
    weights: FloatArray | None
    name: str
    feature_names: tuple[str, ...] | None
    bias_input: float | None

    def __init__(
        self,
        X: npt.ArrayLike,
        y: npt.ArrayLike,
        *,
        weights: npt.ArrayLike | None = None,
        name: str = "",
        feature_names: Sequence[str] | None = None,
        bias_input: float | None = None,
    ) -> None:
        bias = None if bias_input is None else bias_value(bias_input)
        inputs = checked_inputs(X, bias)
        given = column_names(X) if feature_names is None else feature_names
        names = _feature_names(given, inputs.shape[1] - (bias is not None))
        instance(name, "name", str, "a string")
        fields = {
            "X": inputs,
            "y": checked_targets(y, len(inputs)),
            "weights": None if weights is None else weights_of_samples(weights, "weights", len(inputs)),
            "name": name,
            "feature_names": names if names is None or bias is None else (*names, BIAS_NAME),
            "bias_input": bias,
        }
        for field, value in fields.items():
            object.__setattr__(self, field, value)

    def with_bias(self, value: float = 1.0) -> Dataset:
        """Append a constant input, which gives every neuron a bias.

        The data remember it, and so do the networks of a run on them: they take new inputs without this column. The
        size of the constant matters to the flow: [LLWA, App. J] uses 0.1.

        Parameters
        ----------
        value : float, optional
            The constant, not 0.

        Returns
        -------
        Dataset
            The same samples with d + 1 inputs.

        Raises
        ------
        ValueError
            ``value`` is 0 or not finite, or the data have a bias.

        Examples
        --------
        >>> import reluflow as rf
        >>> data = rf.Dataset([[1.0], [2.0]], [0.5, 0.0]).with_bias(0.1)
        >>> data.X
        array([[1. , 0.1],
               [2. , 0.1]])
        >>> sol = rf.integrate(data, rf.Network.init(4, data.d, scale=0.5), until=9.0, loss="squared")
        >>> sol.final.bias.shape, sol.final([[1.5]]).shape
        ((4,), (1,))
        """
        check_no_bias(self)
        constant = bias_value(value, "value")
        options: dict[str, Any] = {"weights": self.weights, "name": self.name, "feature_names": self.feature_names}
        return Dataset(self.X, self.y, **options, bias_input=constant)

    @property
    def n(self) -> int:
        """Number of samples."""
        return int(self.X.shape[0])

    @property
    def d(self) -> int:
        """Number of inputs of a sample."""
        return int(self.X.shape[1])

    @property
    def n_targets(self) -> int:
        """Number of targets of a sample."""
        return 1 if self.y.ndim == 1 else int(self.y.shape[1])

    @cached_property
    def has_labels(self) -> bool:
        """Whether all targets are +1 or -1, one a sample, as the losses of margins and every theorem on them ask."""
        return self.y.ndim == 1 and bool((np.abs(self.y) == 1).all())

    @cached_property
    def counts(self) -> FloatArray:
        """What each sample counts in the loss, shape (n,): `weights`, or ones."""
        counts = np.ones(self.n) if self.weights is None else self.weights
        freeze(counts)
        return counts

    @property
    def total(self) -> float:
        """What all samples count together, by which a mean divides: the sum of the weights, `n` without weights."""
        return total_of(self.weights, self.n)

    @cached_property
    def rank(self) -> int:
        """Numerical rank of X: the number of singular values above `rank_tol`."""
        return int(np.count_nonzero(self._singular_values > self.rank_tol))

    @property
    def rank_tol(self) -> float:
        """Singular values up to this size count as zero: max(n, d) times machine epsilon times the largest one.

        It is the rounding error of the singular values themselves, and numpy's rule in `numpy.linalg.matrix_rank`.
        """
        return float(max(self.n, self.d) * np.finfo(np.float64).eps * self._singular_values[0])

    @cached_property
    def _singular_values(self) -> FloatArray:
        return np.asarray(np.linalg.svd(self.X, compute_uv=False), dtype=np.float64)

    @cached_property
    def fingerprint(self) -> str:
        """32 hexadecimal digits of all that `==` compares: equal where datasets are equal, in every process."""
        bias = () if self.bias_input is None else (self.bias_input,)
        return content_digest(self.X, self.y, self.counts, self.name, self.feature_names, *bias)

    def __hash__(self) -> int:
        """Return a hash that is the same in every process."""
        return hash_of(self.fingerprint)

    def __eq__(self, other: object) -> bool:
        """Tell whether X and y are equal, entry by entry, and the names and the bias too."""
        if not isinstance(other, Dataset):
            return NotImplemented
        same = np.array_equal(self.X, other.X) and np.array_equal(self.y, other.y)
        same = same and np.array_equal(self.counts, other.counts)
        same = same and self.bias_input == other.bias_input
        return same and (self.name, self.feature_names) == (other.name, other.feature_names)

    def __repr__(self) -> str:
        """One line: sizes, class counts and the name if there is one."""
        n_positive = int(np.count_nonzero(self.y > 0))
        classes = f"n_positive={n_positive}, n_negative={self.n - n_positive}"
        targets = classes if self.has_labels else self._range_of_targets
        weighted = "" if self.weights is None else ", weighted"
        bias = "" if self.bias_input is None else f", bias_input={self.bias_input:g}"
        label = f", name={self.name!r}" if self.name else ""
        return f"Dataset(n={self.n}, d={self.d}, {targets}{weighted}{bias}{label})"

    @property
    def _range_of_targets(self) -> str:
        several = f"{self.n_targets} targets a sample, " if self.n_targets > 1 else ""
        return f"{several}y from {self.y.min():g} to {self.y.max():g}"

    def _repr_html_(self) -> str:
        """Show the sizes as a table in a notebook."""
        n_positive = int(np.count_nonzero(self.y > 0))
        labels = f"{n_positive} with y = +1, {self.n - n_positive} with y = -1"
        targets = labels if self.has_labels else self._range_of_targets
        names = () if self.feature_names is None else (("inputs", ", ".join(self.feature_names)),)
        sizes = (
            ("samples", f"{self.n}: {targets}"),
            ("dimensions", f"{self.d}, rank {self.rank}"),
            *(() if self.bias_input is None else (("bias", f"the last input, {self.bias_input:g}"),)),
        )
        return card(f"Dataset {self.name}".strip(), (*sizes, *names))

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore a pickled or copied dataset with its arrays read-only again."""
        self.__dict__.update(state)
        self.__dict__.setdefault("weights", None)
        self.__dict__.setdefault("bias_input", None)
        for array in (self.X, self.y, self.weights, self.__dict__.get("counts")):
            if array is not None:
                freeze(array)


def checked_inputs(value: npt.ArrayLike, bias: float | None, name: str = "X") -> FloatArray:
    """Return the inputs (n, d) of data, with the column of a bias if there is one.

    Raises
    ------
    ValueError
        A bad shape, dtype or entry, or a row of zeros.
    """
    X = real_array(value, name, "(n, d)")
    if X.shape[0] < 1 or X.shape[1] < 1:
        raise invalid(name, "hold at least one row and one column", f"the shape {X.shape}")
    X = appended(X, bias)
    zero = ~X.any(axis=1)
    if zero.any():
        found = f"zeros only at row {int(np.argmax(zero))} ({_WAYS_TO_A_BIAS})"
        raise invalid(name, "have no row of zeros", found)
    check_sizes_of_rows(X, name)
    return X


def check_sizes_of_rows(X: FloatArray, name: str) -> None:
    """Refuse rows that are not zero and whose squares leave the range of doubles."""
    largest = np.abs(X).max(axis=1, initial=0.0)
    outside = (largest > 0) & ((largest < MIN_ROW_NORM) | (largest > MAX_ROW_NORM))
    if outside.any():
        expected = f"have a largest entry between {MIN_ROW_NORM:g} and {MAX_ROW_NORM:g} in each row"
        raise invalid(name, expected, place(largest, outside))


def checked_targets(value: npt.ArrayLike, n: int, name: str = "y", rows: str = "X") -> FloatArray:
    """Return the targets of n samples, shape (n,) or (n, K).

    Raises
    ------
    ValueError
        A bad shape, dtype or entry.
    """
    several = is_table(value)
    y = real_array(value, name, "(n, K)" if several else "(n,)")
    if several and not y.shape[1]:
        raise invalid(name, "hold at least one target a sample", f"the shape {y.shape}")
    if len(y) != n:
        found = f"{len(y)} {'rows' if several else 'entries'}"
        raise invalid(name, f"have one {'row' if several else 'entry'} for each of the {n} rows of {rows}", found)
    check_size_of_targets(y, name)
    return y


def check_size_of_targets(y: FloatArray, name: str) -> None:
    """Refuse targets whose squares leave the range of doubles."""
    sizes = np.abs(y)
    largest = float(sizes.max(initial=0.0))
    if largest > 0 and not SMALLEST <= largest <= LARGEST:
        expected = f"have a largest entry that is 0 or between {SMALLEST:g} and {LARGEST:g}"
        raise invalid(name, expected, place(sizes, sizes == largest))


def one_target(value: object, name: str = "data", expected: str = "a Dataset") -> Dataset:
    """Return data of one target a sample, which all that is about networks of one output takes.

    Raises
    ------
    ValueError
        Another type, or several targets a sample.
    """
    instance(value, name, Dataset, expected)
    assert isinstance(value, Dataset)  # for the type checker: the line above refuses the rest
    if value.n_targets > 1:
        way = "several are for a network of as many outputs, rf.Network.init(..., outputs=K)"
        raise invalid(name, f"have one target a sample ({way})", f"{value.n_targets}")
    return value


def weights_of_samples(
    value: npt.ArrayLike, name: str, n: int, rows: str = "X", *, any_size: bool = False
) -> FloatArray:
    """Return what n samples count in the loss; of `any_size` where a common factor changes nothing.

    Raises
    ------
    ValueError
        Another length, a number below 0, zeros only, or a largest one whose square is beyond doubles.
    """
    weights = real_array(value, name, "(n,)")
    if len(weights) != n:
        raise invalid(name, f"have one entry for each of the {n} rows of {rows}", f"{len(weights)} entries")
    if (weights < 0).any():
        raise invalid(name, "not be negative", place(weights, weights < 0))
    if not weights.any():
        raise invalid(name, "be positive for at least one sample", "zeros only")
    largest = float(weights.max())
    if not any_size and not SMALLEST <= largest <= LARGEST:
        expected = f"have a largest entry between {SMALLEST:g} and {LARGEST:g}"
        raise invalid(name, expected, place(weights, weights == largest))
    return weights


def total_of(weights: FloatArray | None, n: int) -> float:
    """Return what n samples count together, by which a mean divides: n without weights."""
    return float(n if weights is None else weights.sum())


def column_names(X: object) -> tuple[str, ...] | None:
    """Return the names of the columns of a table, of pandas or of its kind; None if they are not all text."""
    columns = getattr(X, "columns", None)
    names = tuple(columns) if columns is not None and not callable(columns) else ()
    return names if names and all(isinstance(name, str) for name in names) else None


def _feature_names(value: Sequence[str] | None, d: int) -> tuple[str, ...] | None:
    if value is None:
        return None
    try:
        names = tuple(value)
    except TypeError:
        raise invalid("feature_names", "be a sequence of strings", f"a value of type {type(value).__name__}") from None
    for name in names:
        instance(name, "feature_names", str, "a sequence of strings")
    if isinstance(value, str) or len(names) != d:
        raise invalid("feature_names", f"hold one name for each of the {d} columns of X", f"{len(names)} names")
    return names
