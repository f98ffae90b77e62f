"""The columns of a user's table: which are inputs, which hold the labels or targets, and what stands in them."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from .._validation import FloatArray, invalid, is_number, no_number, one_of
from ._dataset import Dataset
from ._labels import ClassValue, is_missing, named, numbered, signed
from ._multiclass import MultiClassDataset

Positive: TypeAlias = ClassValue | Collection[ClassValue] | None
Target: TypeAlias = str | Sequence[str] | None

# Where a message names the row that it is about: after what was found there, which may be text of any kind.
_ROW = re.compile(r"(.* at row )(\d+)(?=$|, column \d+$| \()", re.DOTALL)
# What stands for a column of words, and for an entry that is missing.
_NUMBERS = "hold numbers, or be left out (features names the inputs, --features in the shell)"
_NO_GAPS = 'have no missing entry (missing="drop" leaves such rows out, --missing drop in the shell)'


class Reading(NamedTuple):
    """What is made of labels and inputs."""

    positive: Positive
    multiclass: bool
    bias_input: float | None


def check_no_classes(name: str, positive: Positive, multiclass: bool) -> None:
    """Refuse what belongs to labels where real targets are asked for."""
    if positive is not None or multiclass:
        raise invalid("positive" if positive is not None else "multiclass", f"be left out with {name}", "both")


class Columns:
    """Which columns of a table to take and what to do where one is empty."""

    def __init__(self, label: str | None, target: Target, features: Sequence[str] | None, missing: str) -> None:
        if (label is None) == (target is None):
            raise invalid("label", "be given, or else target", "neither" if label is None else "both")
        self.argument = "label" if target is None else "target"
        self.answers = [str(label)] if target is None else _each_once(target, "target")
        if not self.answers:
            raise invalid("target", "name columns, each once", repr(target))
        if isinstance(features, str):
            raise invalid("features", "be a sequence of column names", repr(features))
        self.features = None if features is None else _each_once(features, "features")
        self.drop = one_of(missing, "missing", ("raise", "drop")) == "drop"

    def inputs(self, table: Any) -> list[str]:
        """Return the names of the input columns."""
        if self.features is not None:
            return self.features
        return [column for column in table.columns if column not in self.answers]

    def select(self, table: Any) -> Any:
        """Return the input columns and the label or targets, in this order, without the rows to drop.

        The index holds the number of each row in the table.
        """
        present, inputs = list(table.columns), self.inputs(table)
        if "" in present and "" in (*inputs, *self.answers):
            # Row numbers as a rule: data frames write them so.
            expected = "name a table with a name for each column (to_csv with index=False; or features= chooses others)"
            raise invalid("path", expected, f"none for column {present.index('')}")
        asked = [(self.argument, column) for column in self.answers] + [("features", column) for column in inputs]
        for argument, column in asked:
            if column not in present:
                raise invalid(argument, f"name columns of the file ({named(tuple(present))})", repr(column))
        if not inputs or set(self.answers) & set(inputs):
            raise invalid("features", f"name at least one column, and not the {self.argument}", repr(inputs))
        chosen = table[[*inputs, *self.answers]].reset_index(drop=True)
        return chosen.dropna() if self.drop else chosen


def _each_once(names: object, argument: str) -> list[str]:
    """Return names of columns as a list; one may stand alone."""
    listed: list[Any] = list(names) if isinstance(names, Iterable) and not isinstance(names, str) else [names]
    if not all(isinstance(name, str) for name in listed) or len(set(listed)) < len(listed):
        raise invalid(argument, "name columns, each once", repr(names))
    return listed


def name_after(file: Path) -> str:
    """Return what data of a file are called; what is no UTF-8 in its name stands as the character for such bytes."""
    return os.fsencode(file.stem).decode(errors="replace")


def from_table(table: Any, file: Path, columns: Columns, reading: Reading) -> Dataset | MultiClassDataset:
    chosen = columns.select(table)
    if len(chosen) == 0:
        raise invalid("path", "name a file with at least one complete row", f"none in {file.name!r}")
    with _rows_of_the_file(chosen.index.tolist()):
        return _data(chosen, file, columns, reading)


@contextmanager
def _rows_of_the_file(numbers: list[int]) -> Iterator[None]:
    """Let messages about a row tell its number in the file, where rows before it were dropped."""
    try:
        yield
    except ValueError as error:
        found = _ROW.match(str(error))
        if found and int(found[2]) < len(numbers):
            error.args = (f"{found[1]}{numbers[int(found[2])]}{str(error)[found.end() :]}",)
        raise


def _data(chosen: Any, file: Path, columns: Columns, reading: Reading) -> Dataset | MultiClassDataset:
    inputs = [column for column in chosen.columns if column not in columns.answers]
    X = _numbers(chosen, inputs, are_inputs=True)
    about: dict[str, Any] = {"feature_names": [str(column) for column in inputs], "bias_input": reading.bias_input}
    about["name"] = name_after(file)
    if columns.argument == "target":
        check_no_classes("target", reading.positive, reading.multiclass)
        targets = _numbers(chosen, columns.answers)
        return Dataset(X, targets if len(columns.answers) > 1 else targets[:, 0], **about)
    answer = columns.answers[0]
    labels, label = chosen[answer].tolist(), f"column {answer!r}"
    if reading.multiclass:
        numbered(labels, label)  # its message names the column
        return MultiClassDataset(X, labels, **about)
    return Dataset(X, signed(labels, reading.positive, label), **about)


def _numbers(table: Any, columns: Sequence[str], *, are_inputs: bool = False) -> FloatArray:
    return np.column_stack([_numeric(table[column], str(column), is_input=are_inputs) for column in columns])


def _numeric(column: Any, name: str, *, is_input: bool) -> FloatArray:
    """Return one column as float64, or say which entry is no number."""
    values = column.tolist()
    others = [row for row, value in enumerate(values) if not (isinstance(value, (int, float)) and is_number(value))]
    if others:
        # One entry that is no number turns a whole column of text into strings: name that entry.
        row = next((row for row in others if not is_number(values[row])), others[0])
        value = values[row]
        is_of_words = is_input and not any(is_number(value) for value in values)
        expected = _NO_GAPS if is_missing(value) else _NUMBERS if is_of_words else "hold numbers only"
        raise invalid(f"column {name!r}", expected, f"{no_number(value)} at row {row}")
    numbers = np.array(values, dtype=np.float64)
    missing = np.isnan(numbers)
    if missing.any():
        row = int(np.argmax(missing))
        raise invalid(f"column {name!r}", _NO_GAPS, f"nan at row {row}")
    return numbers
