"""A solution of two layers as one xarray dataset."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias, Union

from .. import _xarray
from .._validation import FloatArray
from ..layered._several import pair_of
from ._events import replayed
from ._settings import Settings

if TYPE_CHECKING:
    import xarray as xr

    from ._solution import Solution
    from ._two_layer_solution import TwoLayerSolution

Run: TypeAlias = Union["Solution", "TwoLayerSolution"]


def dataset(
    solution: Run, t: FloatArray, log_t: FloatArray, W: FloatArray, a: FloatArray, log_loss: FloatArray
) -> xr.Dataset:
    """Return the states at some times, the data, the events and the settings of a solution as a dataset."""
    start = solution.initial.pattern
    assert start is not None  # for the type checker: the network of a run has one
    pair = pair_of(solution.data, solution.initial, solution.loss)
    pattern = replayed(solution.events, start, t, log_t)
    variables: dict[str, _xarray.Variable] = {
        "W": (("time", "neuron", "input"), W, "first-layer weights"),
        "a": (("time", "neuron", "output")[: a.ndim], a, "output weights"),
        "log_loss": (("time",), log_loss, "log of the loss, with the reduction of the run"),
        "pattern": (("time", "neuron", "sample"), pattern, "sign of the pre-activations, 0 on a boundary"),
        **_xarray.data_variables(pair.X, pair.targets, pair.counts),
    }
    used = solution.settings
    settings = {**vars(used), "until": None} if isinstance(used, Settings) else used
    until = str(used.until if isinstance(used, Settings) else used["until"])
    return _xarray.dataset(
        variables, solution.events, t, log_t, _xarray.about_run(solution, settings, solution.leak, until)
    )
