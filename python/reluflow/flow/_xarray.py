"""A solution as one xarray dataset, which netCDF and Zarr keep exactly."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from .._validation import FloatArray, optional_module
from ..kinks import EVENT_KINDS
from ._events import patterns

if TYPE_CHECKING:
    import xarray as xr

    from ._solution import Solution


def dataset(
    solution: Solution, t: FloatArray, log_t: FloatArray, W: FloatArray, a: FloatArray, log_loss: FloatArray
) -> xr.Dataset:
    """Return the states at some times, the data, the events and the settings of a solution as a dataset."""
    xarray = optional_module("xarray", "analysis")
    data = solution.data
    pattern = patterns(solution, t, log_t)
    variables = {
        "W": (("time", "neuron", "input"), W, "first-layer weights"),
        "a": (("time", "neuron"), a, "output weights"),
        "log_loss": (("time",), log_loss, "log of the loss, with the reduction of the run"),
        "pattern": (("time", "neuron", "sample"), pattern, "sign of the pre-activations, 0 on a boundary"),
        "X": (("sample", "input"), data.X, "inputs"),
        "y": (("sample",), data.y, "labels"),
    }
    found: xr.Dataset = xarray.Dataset(
        {name: (dims, np.array(values), _attributes(text)) for name, (dims, values, text) in variables.items()}
    )
    found = found.assign({name: ("event", *rest) for name, rest in _event_columns(solution).items()})
    found = found.assign_coords(
        time=("time", np.array(t), {"long_name": "time of the flow", "units": "1"}),
        log_t=("time", np.array(log_t), {"long_name": "log of the time, exact where time overflows", "units": "1"}),
    )
    found.attrs.update(_settings(solution))
    return found


def _attributes(text: str) -> dict[str, str]:
    return {"long_name": text, "units": "1"}


def _event_columns(solution: Solution) -> dict[str, tuple[npt.NDArray[np.generic], dict[str, str]]]:
    events = solution.events
    kinds = {"long_name": "what happened", "flag_meanings": " ".join(EVENT_KINDS), "units": "1"}
    return {
        "event_t": (np.array(events.t), _attributes("time of the event")),
        "event_log_t": (np.array(events.log_t), _attributes("log of the time of the event")),
        "event_neuron": (np.array(events.neuron), _attributes("neuron that switched")),
        "event_sample": (np.array(events.sample), _attributes("sample whose boundary it met")),
        "event_kind": (np.array(events.code), kinds),
        "event_tie": (np.array(events.tie), _attributes("events with one number happen together")),
    }


def _settings(solution: Solution) -> dict[str, str | float]:
    used = solution.settings
    return {
        "title": "reluflow solution",
        "version": used.version,
        "data": solution.data.name or "",
        "loss": solution.loss,
        "reduction": solution.reduction,
        "leak": float(solution.leak),
        "until": str(used.until),
        "rtol": float(used.rtol),
        "atol": 0.0 if used.atol is None else float(used.atol),
        "on_branch": used.on_branch,
        "status": solution.status,
        "message": solution.message,
        "stats": json.dumps(solution.stats, sort_keys=True, default=float),
    }
