"""A solution at chosen times as one xarray dataset."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy.typing as npt

from ..flow._xarray import dataset
from ._inputs import check_run
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
        version, the settings, the status and (as JSON) the statistics. Everything is of a type that netCDF and Zarr
        store, so ``to_netcdf`` and ``to_zarr`` give back the same dataset bit for bit.

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
    check_run(solution)
    if times is None:
        return solution.to_xarray()
    run = states(solution, times)
    return dataset(solution, run.t, run.log_t, run.W, run.a, run.log_loss)
