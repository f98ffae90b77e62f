"""Quantities of K flows side by side: tables gain the column ``class``, arrays the dimension ``class``."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from .._validation import invalid, optional_module

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

    from ..flow import MultiClassSolution, Solution


def class_table(source: MultiClassSolution, make: Callable[[Solution], pd.DataFrame]) -> pd.DataFrame:
    """Put the tables of the classes below each other; the first column is the label of the class."""
    pandas = optional_module("pandas", "analysis")
    tables = [make(solution) for solution in source]
    for label, table in zip(source.classes, tables, strict=True):
        table.insert(0, "class", [label] * len(table))
    both: pd.DataFrame = pandas.concat(tables, ignore_index=True)
    both.attrs = dict(tables[0].attrs)
    return both


def class_array(source: MultiClassSolution, make: Callable[[Solution], xr.DataArray]) -> xr.DataArray:
    """Stack the arrays of the classes along the dimension ``class``, whose coordinate holds the labels.

    Raises
    ------
    ValueError
        The classes have different times.
    """
    xarray = optional_module("xarray", "analysis")
    arrays = [make(solution) for solution in source]
    for label, array in zip(source.classes, arrays, strict=True):
        if not array["time"].equals(arrays[0]["time"]):
            found = f"other times in class {label!r} than in class {source.classes[0]!r}"
            raise invalid("times", "be given where the classes keep states at different times", found)
    stacked: xr.DataArray = xarray.concat(arrays, dim="class", coords="different", compat="equals", join="exact")
    stacked = stacked.assign_coords({"class": list(source.classes)})
    stacked.attrs = dict(arrays[0].attrs)
    return stacked
