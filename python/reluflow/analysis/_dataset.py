"""A solution as one xarray dataset, which netCDF and Zarr keep exactly."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from .._validation import optional_module
from ..flow import EVENT_KINDS
from ._states import states

if TYPE_CHECKING:
    import xarray as xr

    from ..flow import Solution


def to_xarray(solution: Solution, times: npt.ArrayLike | None = None) -> xr.Dataset:
    """Return a solution as a dataset with the dimensions time, neuron, input, sample and event.

    Parameters
    ----------
    solution : Solution
    times : array_like, optional
        Times of the states, by dense output; without it those the solution holds.

    Returns
    -------
    xarray.Dataset
        Variables ``W``, ``a``, ``log_loss``, ``pattern`` (int8) over time; ``X``, ``y``; the events as ``event_t``,
        ``event_log_t``, ``event_neuron``, ``event_sample``, ``event_kind`` (codes, with their names in the attribute
        ``flag_meanings``), ``event_tie``. Units and long names are attributes; those of the dataset hold the
        settings, the status and (as JSON) the statistics. Everything is of a type that netCDF and Zarr store, so
        ``to_netcdf`` and ``to_zarr`` give back the same dataset bit for bit.

    Raises
    ------
    ImportError
        xarray is not installed (extra ``analysis``).

    Examples
    --------
    >>> import reluflow as rf
    >>> data = rf.datasets.wang_pilanci("obtuse")
    >>> sol = rf.integrate(data, rf.Network.init(10, 2, seed=1), until=1e4)
    >>> found = rf.analysis.to_xarray(sol, [0.0, 1.0, 10.0])
    >>> {name: int(size) for name, size in found.sizes.items()}
    {'time': 3, 'neuron': 10, 'input': 2, 'sample': 2, 'event': 5}
    """
    xarray = optional_module("xarray", "analysis")
    run = states(solution, times)
    variables = {
        "W": (("time", "neuron", "input"), run.W, "first-layer weights"),
        "a": (("time", "neuron"), run.a, "output weights"),
        "log_loss": (("time",), run.log_loss, "log of the loss, with the reduction of the run"),
        "pattern": (("time", "neuron", "sample"), run.pattern, "sign of the pre-activations, 0 on a wall"),
        "X": (("sample", "input"), run.data.X, "inputs"),
        "y": (("sample",), run.data.y, "labels"),
    }
    dataset: xr.Dataset = xarray.Dataset(
        {name: (dims, np.array(values), _attributes(text)) for name, (dims, values, text) in variables.items()}
    )
    dataset = dataset.assign({name: ("event", *rest) for name, rest in _event_columns(solution).items()})
    dataset = dataset.assign_coords(
        time=("time", np.array(run.t), {"long_name": "time of the flow", "units": "1"}),
        log_t=("time", np.array(run.log_t), {"long_name": "log of the time, exact where time overflows", "units": "1"}),
    )
    dataset.attrs.update(_settings(solution))
    return dataset


def _attributes(text: str) -> dict[str, str]:
    return {"long_name": text, "units": "1"}


def _event_columns(solution: Solution) -> dict[str, tuple[npt.NDArray[np.generic], dict[str, str]]]:
    events = solution.events
    kinds = {"long_name": "what happened", "flag_meanings": " ".join(EVENT_KINDS), "units": "1"}
    return {
        "event_t": (np.array(events.t), _attributes("time of the event")),
        "event_log_t": (np.array(events.log_t), _attributes("log of the time of the event")),
        "event_neuron": (np.array(events.neuron), _attributes("neuron that switched")),
        "event_sample": (np.array(events.sample), _attributes("sample whose wall it met")),
        "event_kind": (np.array(events.code), kinds),
        "event_tie": (np.array(events.tie), _attributes("events with one number happen together")),
    }


def _settings(solution: Solution) -> dict[str, str | float]:
    return {
        "title": "reluflow solution",
        "loss": solution.loss,
        "reduction": solution.reduction,
        "leak": float(solution.leak),
        "status": solution.status,
        "message": solution.message,
        "stats": json.dumps(solution.stats, sort_keys=True, default=float),
    }
