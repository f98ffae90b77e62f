"""Data from a user's files: CSV, Parquet, NumPy archives. CSV and Parquet need the extra `data`."""

from __future__ import annotations

import os
import re
import warnings
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypeAlias, overload

import numpy as np
import numpy.typing as npt

from .._files import checked_path
from .._validation import invalid, optional_module
from ._dataset import Dataset
from ._labels import is_missing, signed
from ._multiclass import MultiClassDataset
from ._tables import Columns, Positive, Reading, Target, check_no_classes, from_table, name_after

EXTRA = "data"
# What is no label. pandas takes more words for missing, None and NA among them: a class may be called so.
_MISSING = ["", "NaN", "nan"]
PathLike: TypeAlias = str | os.PathLike[str]
Missing: TypeAlias = Literal["raise", "drop"]


@overload
def from_csv(
    path: PathLike,
    *,
    label: str | None = None,
    target: Target = None,
    positive: Positive = None,
    features: Sequence[str] | None = None,
    missing: Missing = "raise",
    delimiter: str = ",",
    multiclass: Literal[False] = False,
    bias_input: float | None = None,
) -> Dataset: ...
@overload
def from_csv(
    path: PathLike,
    *,
    label: str | None = None,
    target: Target = None,
    positive: Positive = None,
    features: Sequence[str] | None = None,
    missing: Missing = "raise",
    delimiter: str = ",",
    multiclass: Literal[True],
    bias_input: float | None = None,
) -> MultiClassDataset: ...
def from_csv(
    path: PathLike,
    *,
    label: str | None = None,
    target: Target = None,
    positive: Positive = None,
    features: Sequence[str] | None = None,
    missing: Missing = "raise",
    delimiter: str = ",",
    multiclass: bool = False,
    bias_input: float | None = None,
) -> Dataset | MultiClassDataset:
    r"""Read data from a text table with a header line.

    Parameters
    ----------
    path : str or path
        The file.
    label : str
        Name of the column that holds the labels.
    target : str or sequence of str
        Name of the column that holds real targets, instead of `label`; several names give several targets a sample.
    positive : optional
        The class or classes that get +1, see `binary_labels`.
    features : sequence of str, optional
        Names of the input columns, in this order; by default all columns but the label or targets.
    missing : {"raise", "drop"}, optional
        What to do with a row that has an empty or NaN entry: refuse the file, or leave the row out. In columns of
        numbers or truth values ``NA``, ``None``, ``null`` and their like are missing too; labels that are words may be
        called so.
    delimiter : str, optional
        What separates the columns: a character, or a regular expression.
    multiclass : bool, optional
        True: keep all classes and return a `MultiClassDataset`.
    bias_input : float, optional
        A constant that is appended to every row and gives the neurons a bias, see `Dataset`.

    Returns
    -------
    Dataset or MultiClassDataset

    Raises
    ------
    FileNotFoundError
        There is no such file.
    ValueError
        An unknown column, a column without a name that `features` does not leave out, an input or target column that is
        not numeric, a missing or infinite entry, a row of zeros without a bias, one class only, a label and a target or
        none of them. Messages count the rows of data from 0.
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
    if not isinstance(delimiter, str) or not delimiter:
        raise invalid("delimiter", "be a character, or a regular expression", repr(delimiter))
    table = _table_of_text(file, delimiter, label)
    return from_table(table, file, Columns(label, target, features, missing), Reading(positive, multiclass, bias_input))


@overload
def from_parquet(
    path: PathLike,
    *,
    label: str | None = None,
    target: Target = None,
    positive: Positive = None,
    features: Sequence[str] | None = None,
    missing: Missing = "raise",
    multiclass: Literal[False] = False,
    bias_input: float | None = None,
) -> Dataset: ...
@overload
def from_parquet(
    path: PathLike,
    *,
    label: str | None = None,
    target: Target = None,
    positive: Positive = None,
    features: Sequence[str] | None = None,
    missing: Missing = "raise",
    multiclass: Literal[True],
    bias_input: float | None = None,
) -> MultiClassDataset: ...
def from_parquet(
    path: PathLike,
    *,
    label: str | None = None,
    target: Target = None,
    positive: Positive = None,
    features: Sequence[str] | None = None,
    missing: Missing = "raise",
    multiclass: bool = False,
    bias_input: float | None = None,
) -> Dataset | MultiClassDataset:
    """Read data from a Parquet file.

    Parameters
    ----------
    path, label, target, positive, features, missing, multiclass, bias_input
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
    return from_table(table, file, Columns(label, target, features, missing), Reading(positive, multiclass, bias_input))


@overload
def from_npz(
    path: PathLike,
    *,
    X: str = "X",
    y: str = "y",
    positive: Positive = None,
    multiclass: Literal[False] = False,
    targets: bool = False,
    bias_input: float | None = None,
) -> Dataset: ...
@overload
def from_npz(
    path: PathLike,
    *,
    X: str = "X",
    y: str = "y",
    positive: Positive = None,
    multiclass: Literal[True],
    bias_input: float | None = None,
) -> MultiClassDataset: ...
def from_npz(
    path: PathLike,
    *,
    X: str = "X",
    y: str = "y",
    positive: Positive = None,
    multiclass: bool = False,
    targets: bool = False,
    bias_input: float | None = None,
) -> Dataset | MultiClassDataset:
    """Read data from a NumPy archive that holds an input matrix and a label vector.

    Parameters
    ----------
    path : str or path
        The file, as written by `numpy.savez`. Pickled objects in it are refused.
    X, y : str, optional
        Names of the arrays in the file: inputs of shape (n, d) and labels of shape (n,), or targets.
    positive, multiclass, bias_input
        As in `from_csv`.
    targets : bool, optional
        True: y holds real targets, not labels.

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
    if targets:
        check_no_classes("targets", positive, multiclass)
        return Dataset(inputs, labels, name=name_after(file), bias_input=bias_input)
    if multiclass:
        return MultiClassDataset(inputs, labels, name=name_after(file), bias_input=bias_input)
    return Dataset(inputs, signed(labels, positive, f"array {y!r}"), name=name_after(file), bias_input=bias_input)


def _table_of_text(file: Path, delimiter: str, label: str | None) -> Any:
    """Read a text table: columns without a name are called "", and labels that are words may be any but NaN."""
    engine = "c" if len(delimiter) == 1 else "python"  # the first knows no regular expressions
    pandas = optional_module("pandas", EXTRA)
    how: dict[str, Any] = {"sep": delimiter, "index_col": False, "engine": engine}
    as_text: dict[str, Any] = {**how, "dtype": str, "keep_default_na": False}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", pandas.errors.ParserWarning)  # rows that are longer than the header
            table = pandas.read_csv(file, **how)
        header = pandas.read_csv(file, header=None, nrows=1, **as_text)
        # pandas calls a column without a name "Unnamed: 0", and numbers names that stand twice.
        names = [name if cell.strip() else "" for name, cell in zip(table.columns, header.iloc[0], strict=True)]
        table.columns = names
        if label and names.count(label) == 1 and _is_of_words(table[label].tolist()):
            place = names.index(label)
            table.isetitem(place, pandas.read_csv(file, na_values=_MISSING, **as_text).iloc[:, place])
    except (ValueError, re.error) as error:  # pandas' parser errors are ValueErrors
        raise invalid("path", "name a table of text", f"{file.name!r}: {str(error).strip()}") from None
    except pandas.errors.ParserWarning:
        found = f"rows longer than the header in {file.name!r}"
        raise invalid("path", "name a table with a name for each column", found) from None
    return table


def _is_of_words(labels: list[Any]) -> bool:
    """Tell a column of text from one of numbers or truth values, in which words for what is missing are no labels."""
    return any(isinstance(label, str) for label in labels) or all(is_missing(label) for label in labels)


def _existing(path: PathLike) -> Path:
    file = checked_path(path)
    if not file.is_file():
        raise FileNotFoundError(f"path must name a file, found no file {str(path)!r}")
    return file


def _arrays(file: Path, *names: str) -> list[npt.NDArray[Any]]:
    if not zipfile.is_zipfile(file):
        raise invalid("path", "name a NumPy archive (.npz)", repr(file.name))
    with file.open("rb") as stream:
        # A damaged archive makes zipfile, zlib and numpy raise nearly anything, MemoryError too.
        try:
            archive = np.load(stream, allow_pickle=False)
        except Exception as error:
            raise invalid("path", "name a whole NumPy archive (.npz)", f"{file.name!r}: {_reason(error)}") from error
        with archive:
            return [_array(archive, argument, name) for argument, name in zip(("X", "y"), names, strict=True)]


def _array(archive: Mapping[str, npt.NDArray[Any]], argument: str, name: str) -> npt.NDArray[Any]:
    if name not in archive:
        raise invalid(argument, f"name an array of the file ({', '.join(archive)})", repr(name))
    try:
        array = archive[name]
    except Exception as error:
        found = "pickled objects" if "allow_pickle" in str(error) else _reason(error)
        raise invalid(argument, "name an array of numbers or strings", f"{found} in {name!r}") from error
    if not isinstance(array, np.ndarray):
        raise invalid(argument, "name an array of numbers or strings", f"another kind of file in {name!r}")
    return array


def _reason(error: Exception) -> str:
    return str(error) or type(error).__name__
