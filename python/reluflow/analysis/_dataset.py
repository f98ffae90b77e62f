"""A solution at chosen times as one xarray dataset."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from .._validation import real_array
from ..flow import Solution, TwoLayerSolution
from ..flow._xarray import dataset
from ..layered import DeepSolution
from ..layered._xarray import dataset_of_layers, log_losses
from ._inputs import check_run
from ._states import states

if TYPE_CHECKING:
    import xarray as xr


def to_xarray(solution: Solution | TwoLayerSolution | DeepSolution, times: npt.ArrayLike | None = None) -> xr.Dataset:
    """Return a solution as a dataset with the dimensions time, neuron, input, sample and event.

    Parameters
    ----------
    solution : Solution, TwoLayerSolution or DeepSolution
    times : array_like, optional
        Times of the states, by dense output; without it those the solution holds.

    Returns
    -------
    xarray.Dataset
        Variables ``W``, ``a``, ``log_loss``, ``pattern`` (int8) over time; ``X``, ``y``; the events as ``event_t``,
        ``event_log_t``, ``event_neuron``, ``event_sample``, ``event_kind`` (codes, with their names in the attribute
        ``flag_meanings``), ``event_tie``. Units and long names are attributes; those of the dataset hold the
        version, the settings, the status and (as JSON) the statistics. Everything is of a type that netCDF and Zarr
        store, so ``to_netcdf`` and ``to_zarr`` give back the same dataset bit for bit. Several outputs have the
        dimension output; of layers `DeepSolution.to_xarray` says what there is. ``weight`` is there where samples count
        otherwise than one each.

    Raises
    ------
    ValueError
        The runs of several classes, each of which is a dataset of its own, or times outside the run.
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
    if not isinstance(solution, (TwoLayerSolution, DeepSolution)):
        check_run(solution)
    if times is None:
        return solution.to_xarray()
    if isinstance(solution, Solution):
        run = states(solution, times)
        return dataset(solution, run.t, run.log_t, run.W, run.a, run.log_loss)
    t = real_array(times, "times", "(k,)")
    with np.errstate(divide="ignore"):
        log_t = np.log(t)
    if isinstance(solution, DeepSolution):
        theta = solution.states(t)
        return dataset_of_layers(solution, t, log_t, theta, log_losses(solution._problem, theta))
    theta = np.array([solution._theta(float(one)) for one in t])
    return dataset(solution, t, log_t, *solution.states(t), log_losses(solution.layered._problem, theta))
