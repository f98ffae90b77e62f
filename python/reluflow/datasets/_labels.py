"""The one place where labels in a user's form become +1 and -1, or class indices."""

from __future__ import annotations

import operator
from collections.abc import Collection, Hashable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from .._validation import FloatArray, IntArray, freeze, invalid

ClassValue: TypeAlias = Hashable

# Pairs whose positive member everybody agrees on; any other pair needs `positive`. True == 1 and False == 0.
KNOWN_PAIRS: tuple[tuple[float, float], ...] = ((-1, 1), (0, 1))
MAX_NAMED = 6  # classes listed in a message before it says "..."
_TRUTH = {"true": True, "false": False}


@dataclass(frozen=True)
class Written:
    """A positive class as it is typed where all is text: the column says whether it is text, number or truth value."""

    text: str

    def among(self, classes: Collection[ClassValue]) -> ClassValue:
        """Return the class that the text stands for, or the text itself if none is."""
        meanings: list[ClassValue] = [self.text]
        if "_" not in self.text:  # Python reads 1_0 as ten, tables do not
            for kind in (int, float):
                with suppress(ValueError):
                    meanings.append(kind(self.text))
        if self.text.lower() in _TRUTH:
            meanings.append(_TRUTH[self.text.lower()])
        return next((value for value in meanings if value in classes), self.text)


def binary_labels(values: npt.ArrayLike, *, positive: ClassValue | Collection[ClassValue] | None = None) -> FloatArray:
    """Turn labels of any kind into +1 and -1.

    Parameters
    ----------
    values : array_like, shape (n,)
        Labels: numbers, booleans or strings, of two classes or of more.
    positive : hashable, or list, tuple or set of them, optional
        The class, or the classes, that get +1. All others get -1. It may be left out only where the values are
        ±1, 0 and 1, or False and True.

    Returns
    -------
    ndarray, shape (n,), float64, read-only
        +1 and -1.

    Raises
    ------
    ValueError
        A missing label, one that is no number, boolean or string, one class only, a positive class that does not occur,
        or values that do not say which class is positive.

    Examples
    --------
    >>> import reluflow as rf
    >>> rf.datasets.binary_labels([0, 1, 1])
    array([-1.,  1.,  1.])
    >>> rf.datasets.binary_labels(["ham", "spam", "ham"], positive="spam")
    array([-1.,  1., -1.])
    """
    return signed(values, positive, "values")


def signed(values: npt.ArrayLike, positive: ClassValue | Collection[ClassValue] | None, name: str) -> FloatArray:
    """Do the work of `binary_labels`; messages call the labels `name`."""
    codes, classes = numbered(values, name)
    chosen = _default_positive(classes) if positive is None else _chosen(positive, classes)
    y = np.where(np.isin(codes, chosen), 1.0, -1.0)
    if len(chosen) == len(classes):
        raise invalid("positive", "leave at least one class for -1", f"all {len(classes)} classes")
    freeze(y)
    return y


def class_labels(values: npt.ArrayLike) -> tuple[IntArray, tuple[Any, ...]]:
    """Give each class of labels of any kind a number.

    Parameters
    ----------
    values : array_like, shape (n,)
        Labels: numbers, booleans or strings.

    Returns
    -------
    codes : ndarray of int64, shape (n,), read-only
        The class index of each sample.
    classes : tuple
        The distinct values in increasing order, as Python objects.

    Raises
    ------
    ValueError
        Another shape than (n,), a missing label, one that is no number, boolean or string, values that cannot be
        ordered, or one class only.

    Examples
    --------
    >>> import reluflow as rf
    >>> rf.datasets.class_labels(["b", "a", "c", "a"])
    (array([1, 0, 2, 0]), ('a', 'b', 'c'))
    """
    return numbered(values, "values")


def numbered(values: npt.ArrayLike, name: str) -> tuple[IntArray, tuple[Any, ...]]:
    """Do the work of `class_labels`; messages call the argument `name`."""
    listed = _listed(values, name)
    try:
        classes = tuple(sorted(set(listed)))
    except TypeError:
        kinds = sorted({type(value).__name__ for value in listed})
        raise invalid(name, "hold labels of one type", " and ".join(kinds)) from None
    if len(classes) < 2:
        found = f"{named(classes)} in all {len(listed)} rows" if listed else "no label"
        raise invalid(name, "hold at least two classes", found)
    index = {value: code for code, value in enumerate(classes)}
    codes = np.array([index[value] for value in listed], dtype=np.int64)
    freeze(codes)
    return codes, classes


def named(classes: tuple[Any, ...]) -> str:
    """List classes for a message."""
    shown = ", ".join(repr(value) for value in classes[:MAX_NAMED])
    return shown + (", ..." if len(classes) > MAX_NAMED else "")


def _listed(values: Any, name: str) -> list[Any]:
    """Return labels as plain Python values; numpy would turn a mixed list into strings."""
    shape = getattr(values, "shape", None)
    if isinstance(values, str) or (shape is not None and len(shape) != 1) or not hasattr(values, "__iter__"):
        found = repr(values) if shape is None else f"the shape {tuple(shape)}"
        raise invalid(name, "have the shape (n,)", found)
    # Of times as numpy has them, `tolist` would make integers.
    is_plain = hasattr(values, "tolist") and getattr(getattr(values, "dtype", None), "kind", "") not in "mM"
    listed = [_plain(value) for value in (values.tolist() if is_plain else values)]
    for row, value in enumerate(listed):
        if not isinstance(value, Hashable):
            raise invalid(name, "have the shape (n,)", f"a {type(value).__name__} at row {row}")
        if is_missing(value):
            raise invalid(name, "have a label in each row", f"{value!r} at row {row}")
        if not isinstance(value, (bool, int, float, str)):
            raise invalid(name, "hold numbers, booleans or strings", f"{value!r} at row {row}")
    return listed


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic) and not isinstance(value, (np.datetime64, np.timedelta64)):
        value = float(value) if isinstance(value, np.floating) else value.item()
    return value.strip() if isinstance(value, str) else value


def is_missing(value: object) -> bool:
    """Tell a label or number from None, empty text and what is not equal to itself: nan, NaT, pandas' NA."""
    itself = operator.eq(value, value)  # of NA, neither True nor False
    return value is None or not isinstance(itself, (bool, np.bool_)) or not itself or value == ""


def _default_positive(classes: tuple[Any, ...]) -> list[int]:
    if tuple(classes) in KNOWN_PAIRS:
        return [1]
    raise invalid("positive", "name the class that gets +1", f"none for the classes {named(classes)}")


def _chosen(positive: ClassValue | Collection[ClassValue], classes: tuple[Any, ...]) -> list[int]:
    if isinstance(positive, Written):
        positive = positive.among(classes)
    wanted = list(positive) if isinstance(positive, (list, tuple, set, frozenset)) else [positive]
    index = {value: code for code, value in enumerate(classes)}
    for value in wanted:
        if not isinstance(value, Hashable) or value not in index:
            raise invalid("positive", f"be a class that occurs ({named(classes)})", repr(value))
    if not wanted:
        raise invalid("positive", "name at least one class", "none")
    return [index[value] for value in wanted]
