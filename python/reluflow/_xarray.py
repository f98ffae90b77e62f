"""A run as one xarray dataset, which netCDF and Zarr keep exactly."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from ._validation import FloatArray, optional_module
from .kinks import EventColumns

if TYPE_CHECKING:
    import xarray as xr

# Dimensions, values, and what they are.
Variable: TypeAlias = tuple[tuple[str, ...], npt.NDArray[Any], str]
_EVENTS = {
    "t": "time of the event",
    "log_t": "log of the time of the event",
    "neuron": "neuron that switched",
    "layer": "layer of the unit that switched, 1 the first after the inputs",
    "unit": "unit that switched",
    "sample": "sample whose boundary it met",
    "code": "what happened",
    "tie": "events with one number happen together",
    "event_set": "events with one number happen together",
}


def dataset(
    variables: Mapping[str, Variable],
    events: EventColumns,
    t: FloatArray,
    log_t: FloatArray,
    about: Mapping[str, str | float],
) -> xr.Dataset:
    """Return variables over time and data, the events and what else is known of a run as a dataset.

    Raises
    ------
    ImportError
        xarray is not installed (extra ``analysis``).
    """
    xarray = optional_module("xarray", "analysis")
    found: xr.Dataset = xarray.Dataset(
        {name: (dims, np.array(values), _attributes(text)) for name, (dims, values, text) in variables.items()}
    )
    found = found.assign({_name(name): ("event", *column) for name, column in _event_columns(events).items()})
    found = found.assign_coords(
        time=("time", np.array(t), _attributes("time of the flow")),
        log_t=("time", np.array(log_t), _attributes("log of the time, exact where time overflows")),
    )
    found.attrs.update(about)
    return found


def _attributes(text: str) -> dict[str, str]:
    return {"long_name": text, "units": "1"}


def _name(column: str) -> str:
    """Return ``event_`` and the name of a column of a table of events, once."""
    return f"event_{'kind' if column == 'code' else column.removeprefix('event_')}"


def _event_columns(events: EventColumns) -> dict[str, tuple[npt.NDArray[Any], dict[str, str]]]:
    names = [field.name for field in fields(events)]  # type: ignore[arg-type]  # tables are dataclasses
    columns = {name: (np.array(getattr(events, name)), _attributes(_EVENTS[name])) for name in names}
    columns["code"][1]["flag_meanings"] = " ".join(events.KINDS)
    return columns


def about_run(solution: Any, settings: Mapping[str, Any], leak: float, until: str) -> dict[str, str | float]:
    """Return the settings and the outcome of a run of any kind as attributes of a dataset."""
    return {
        "title": "reluflow solution",
        "version": settings.get("version") or "",
        "data": getattr(solution.data, "name", "") or "",
        "loss": solution.loss,
        "reduction": solution.reduction,
        "weight_decay": float(settings.get("weight_decay", 0.0)),
        "leak": float(leak),
        "until": until,
        "rtol": float(settings["rtol"]),
        "atol": float(settings.get("atol") or 0.0),
        "on_branch": settings["on_branch"],
        "status": solution.status,
        "message": solution.message,
        "stats": json.dumps(solution.stats, sort_keys=True, default=float),
    }


def data_variables(X: FloatArray, targets: npt.NDArray[Any], counts: FloatArray | None) -> dict[str, Variable]:
    """Return inputs, targets and what samples count, where they count otherwise than one each."""
    each = ("sample",) if targets.ndim == 1 else ("sample", "output")
    found: dict[str, Variable] = {"X": (("sample", "input"), X, "inputs"), "y": (each, targets, "labels or targets")}
    return found if counts is None else {**found, "weight": (("sample",), counts, "what the sample counts")}
