"""A bias of the neurons is a constant input, the last column of X: what it may be, appended and taken off."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np

from .._validation import FloatArray, invalid, real

BIAS_NAME = "bias"


class Biased(Protocol):
    """A dataset of either kind."""

    @property
    def X(self) -> FloatArray:
        """Inputs, shape (n, d)."""

    @property
    def feature_names(self) -> tuple[str, ...] | None:
        """Names of the columns."""

    @property
    def bias_input(self) -> float | None:
        """The constant of the last column, where it is a bias."""


def bias_value(value: object, name: str = "bias_input") -> float:
    """Return a bias input; a ValueError names one that is 0 or not finite."""
    number = real(value, name, "be a finite number other than 0")
    if number == 0:
        raise invalid(name, "be a finite number other than 0", repr(number))
    return number


def appended(X: FloatArray, value: float | None) -> FloatArray:
    """Return the inputs with the column of a bias, if there is one."""
    return X if value is None else np.column_stack((X, np.full(len(X), value)))


def bare_inputs(data: Biased) -> FloatArray:
    """Return the inputs without the column of a bias."""
    return data.X if data.bias_input is None else data.X[:, :-1]


def bare_names(data: Biased) -> tuple[str, ...] | None:
    """Return the names of the columns without that of a bias."""
    names = data.feature_names
    return names if names is None or data.bias_input is None else names[:-1]


def about_columns(data: Biased) -> dict[str, Any]:
    """Return what a constructor is told of the columns, beside `bare_inputs`."""
    return {"feature_names": bare_names(data), "bias_input": data.bias_input}


def check_no_bias(data: Biased) -> None:
    """Refuse data that have a bias."""
    if data.bias_input is not None:
        raise invalid("data", "have no bias yet", f"the bias input {data.bias_input:g}")


def stored_columns(X: FloatArray, record: Mapping[str, Any]) -> dict[str, Any]:
    """Return arguments of a constructor from inputs and a record of a file; older files know of no bias."""
    names, bias = record["feature_names"], record.get("bias_input")
    if bias is not None and not (X[:, -1] == bias).all():
        raise ValueError(f"the last column of X is not the bias input {bias!r}")
    bare = slice(None) if bias is None else slice(-1)
    return {
        "X": X[:, bare],
        "name": record["data_name"],
        "feature_names": None if names is None else names[bare],
        "bias_input": bias,
    }
