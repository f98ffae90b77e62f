"""Data from a user's files: CSV, Parquet, NumPy archives. CSV and Parquet need the extra `data`."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypeAlias, overload

import numpy as np
import numpy.typing as npt

from .._validation import FloatArray, invalid, is_number, one_of, optional_module
from ._dataset import Dataset
from ._labels import ClassValue, named, numbered, signed
from ._multiclass import MultiClassDataset

EXTRA = "data"
PathLike: TypeAlias = str | os.PathLike[str]
Positive: TypeAlias = ClassValue | Collection[ClassValue] | None
Missing: TypeAlias = Literal["raise", "drop"]


@overload
def from_csv(
    path: PathLike,
    *,
    label: str,
    positive: Positive = None,
    features: Sequence[str] | None = None,
    missing: Missing = "raise",
    delimiter: str = ",",
    multiclass: Literal[False] = False,
) -> Dataset: ...
@overload
def from_csv(
    path: PathLike,
    *,
    label: str,
    positive: Positive = None,
    features: Sequence[str] | None = None,
    missing: Missing = "raise",
    delimiter: str = ",",
    multiclass: Literal[True],
) -> MultiClassDataset: ...
def from_csv(
    path: PathLike,
    *,
    label: str,
    positive: Positive = None,
    features: Sequence[str] | None = None,
    missing: Missing = "raise",
    delimiter: str = ",",
    multiclass: bool = False,
) -> Dataset | MultiClassDataset:
    r"""Read data from a text table with a header line.

    Parameters
    ----------
    path : str or path
        The file.
    label : str
        Name of the column that holds the labels.
    positive : optional
        The class or classes that get +1, see `binary_labels`.
    features : sequence of str, optional
        Names of the input columns, in this order; by default all columns but the label.
    missing : {"raise", "drop"}, optional
        What to do with a row that has an empty or NaN entry: refuse the file, or leave the row out.
    delimiter : str, optional
        What separates the columns.
    multiclass : bool, optional
        True: keep all classes and return a `MultiClassDataset`.

    Returns
    -------
    Dataset or MultiClassDataset

    Raises
    ------
    FileNotFoundError
        There is no such file.
    ValueError
        An unknown column, an input column that is not numeric, a missing or infinite entry, a row of zeros, one
        class only. Messages count the rows of data from 0.
    ImportError
        pandas is not installed.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import reluflow as rf
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "mail.csv")
    ...     _ = path.write_text("length,links,kind\n1.0,0.5,ham\n0.2,3.0,spam\n")
    ...     rf.datasets.from_csv(path, label="kind", positive="spam")
    Dataset(n=2, d=2, n_positive=1, n_negative=1, name='mail')
    """
    file = _existing(path)
    pandas = optional_module("pandas", EXTRA)
    try:
        table = pandas.read_csv(file, sep=delimiter)
    except (ValueError, UnicodeDecodeError) as error:  # pandas' parser errors are ValueErrors
        raise invalid("path", "name a table of text", f"{file.name!r}: {str(error).strip()}") from None
    return _from_table(table, file, _Columns(label, features, missing), positive, multiclass)


@overload
def from_parquet(
    path: PathLike,
    *,
    label: str,
    positive: Positive = None,
    features: Sequence[str] | None = None,
    missing: Missing = "raise",
    multiclass: Literal[False] = False,
) -> Dataset: ...
@overload
def from_parquet(
    path: PathLike,
    *,
    label: str,
    positive: Positive = None,
    features: Sequence[str] | None = None,
    missing: Missing = "raise",
    multiclass: Literal[True],
) -> MultiClassDataset: ...
def from_parquet(
    path: PathLike,
    *,
    label: str,
    positive: Positive = None,
    features: Sequence[str] | None = None,
    missing: Missing = "raise",
    multiclass: bool = False,
) -> Dataset | MultiClassDataset:
    """Read data from a Parquet file.

    Parameters
    ----------
    path, label, positive, features, missing, multiclass
        As in `from_csv`.

    Returns
    -------
    Dataset or MultiClassDataset

    Raises
    ------
    FileNotFoundError, ValueError, ImportError
        As `from_csv`; pyarrow is needed as well as pandas.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import pandas as pd
    >>> import reluflow as rf
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "points.parquet")
    ...     pd.DataFrame({"u": [1.0, -1.0], "v": [0.5, 0.5], "y": [1, 0]}).to_parquet(path)
    ...     rf.datasets.from_parquet(path, label="y").y
    array([ 1., -1.])
    """
    file = _existing(path)
    pandas = optional_module("pandas", EXTRA)
    optional_module("pyarrow", EXTRA)
    try:
        table = pandas.read_parquet(file, engine="pyarrow")
    except (ValueError, OSError) as error:  # pyarrow's own errors are both
        raise invalid("path", "name a Parquet file", f"{file.name!r}: {error}") from None
    return _from_table(table, file, _Columns(label, features, missing), positive, multiclass)


@overload
def from_npz(
    path: PathLike, *, X: str = "X", y: str = "y", positive: Positive = None, multiclass: Literal[False] = False
) -> Dataset: ...
@overload
def from_npz(
    path: PathLike, *, X: str = "X", y: str = "y", positive: Positive = None, multiclass: Literal[True]
) -> MultiClassDataset: ...
def from_npz(
    path: PathLike, *, X: str = "X", y: str = "y", positive: Positive = None, multiclass: bool = False
) -> Dataset | MultiClassDataset:
    """Read data from a NumPy archive that holds an input matrix and a label vector.

    Parameters
    ----------
    path : str or path
        The file, as written by `numpy.savez`. Pickled objects in it are refused.
    X, y : str, optional
        Names of the arrays in the file: inputs of shape (n, d) and labels of shape (n,).
    positive, multiclass
        As in `from_csv`.

    Returns
    -------
    Dataset or MultiClassDataset

    Raises
    ------
    FileNotFoundError
        There is no such file.
    ValueError
        Not an archive, no array of that name, or what `Dataset` and `binary_labels` refuse.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import numpy as np
    >>> import reluflow as rf
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "points.npz")
    ...     np.savez(path, X=[[1.0, 0.0], [0.0, 1.0]], y=[1, -1])
    ...     rf.datasets.from_npz(path)
    Dataset(n=2, d=2, n_positive=1, n_negative=1, name='points')
    """
    file = _existing(path)
    inputs, labels = _arrays(file, X, y)
    if multiclass:
        return MultiClassDataset(inputs, labels, name=file.stem)
    return Dataset(inputs, signed(labels, positive, f"array {y!r}"), name=file.stem)


def _existing(path: PathLike) -> Path:
    file = Path(path)
    if not file.is_file():
        raise FileNotFoundError(f"path must name a file, found no file {str(path)!r}")
    return file


def _arrays(file: Path, *names: str) -> list[npt.NDArray[Any]]:
    if not zipfile.is_zipfile(file):
        raise invalid("path", "name a NumPy archive (.npz)", repr(file.name))
    with np.load(file, allow_pickle=False) as archive:
        return [_array(archive, argument, name) for argument, name in zip(("X", "y"), names, strict=True)]


def _array(archive: Mapping[str, npt.NDArray[Any]], argument: str, name: str) -> npt.NDArray[Any]:
    if name not in archive:
        raise invalid(argument, f"name an array of the file ({', '.join(archive)})", repr(name))
    try:
        return archive[name]
    except ValueError:
        raise invalid(argument, "name an array of numbers or strings", f"pickled objects in {name!r}") from None


class _Columns:
    """Which columns of a table to take and what to do where one is empty."""

    def __init__(self, label: str, features: Sequence[str] | None, missing: str) -> None:
        if isinstance(features, str):
            raise invalid("features", "be a sequence of column names", repr(features))
        self.label = label
        self.features = None if features is None else list(features)
        self.drop = one_of(missing, "missing", ("raise", "drop")) == "drop"

    def select(self, table: Any) -> Any:
        """Return the input columns and the label, in this order, without the rows to drop."""
        present = list(table.columns)
        inputs = [column for column in present if column != self.label] if self.features is None else self.features
        for argument, column in [("label", self.label), *(("features", column) for column in inputs)]:
            if column not in present:
                raise invalid(argument, f"name columns of the file ({named(tuple(present))})", repr(column))
        if not inputs or self.label in inputs:
            raise invalid("features", "name at least one column, and not the label", repr(inputs))
        chosen = table[[*inputs, self.label]]
        return chosen.dropna() if self.drop else chosen


def _from_table(
    table: Any, file: Path, columns: _Columns, positive: Positive, multiclass: bool
) -> Dataset | MultiClassDataset:
    chosen = columns.select(table)
    if len(chosen) == 0:
        raise invalid("path", "name a file with at least one complete row", f"none in {file.name!r}")
    inputs = list(chosen.columns[:-1])
    X = np.column_stack([_numeric(chosen[column], str(column)) for column in inputs])
    names = [str(column) for column in inputs]
    labels, label = chosen[columns.label].tolist(), f"column {columns.label!r}"
    if multiclass:
        numbered(labels, label)  # its message names the column
        return MultiClassDataset(X, labels, name=file.stem, feature_names=names)
    return Dataset(X, signed(labels, positive, label), name=file.stem, feature_names=names)


def _numeric(column: Any, name: str) -> FloatArray:
    """Return one input column as float64, or say which entry is no number."""
    values = column.tolist()
    others = [row for row, value in enumerate(values) if not isinstance(value, (int, float))]
    if others:
        # One entry that is no number turns a whole column of text into strings: name that entry.
        row = next((row for row in others if not is_number(values[row])), others[0])
        value = values[row]
        expected = "hold numbers only" if value is not None else 'have no missing entry (or pass missing="drop")'
        raise invalid(f"column {name!r}", expected, f"{value!r} at row {row}")
    numbers = np.array(values, dtype=np.float64)
    missing = np.isnan(numbers)
    if missing.any():
        row = int(np.argmax(missing))
        raise invalid(f"column {name!r}", 'have no missing entry (or pass missing="drop")', f"nan at row {row}")
    return numbers
