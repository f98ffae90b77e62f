"""The sectors of the units of every layer through time, from the events of a layered run alone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .._validation import FloatArray, IntArray, ReadOnly, freeze_all, instance, integer
from ..layered import DeepSolution
from ..layered._xarray import patterns_of_layers
from ._sectors import number_rows
from ._timeline import log_grid, rank_by_stay


@dataclass(frozen=True, eq=False)
class LayerTimeline(ReadOnly):
    """The sectors of all units that are not linear, layer by layer, on a grid of log times.

    The sector of a unit is the row of its signs on the samples; units of two layers are in no sector together.

    Attributes
    ----------
    log_t : ndarray, shape (k,)
    layers : tuple of int
        Numbers of the layers that are not linear.
    sector : tuple of ndarray, shape (k, size) each
        Of each of these layers the number of the sector of each unit; 0 is the one in which units of the layer spent
        most of the grid, together.
    peak : tuple of ndarray, shape (number of sectors,) each
        Most units of the layer that were in each sector at one time.
    is_off : tuple of ndarray of bool, shape (k, size) each
        Whether a unit is positive on no sample.
    order : tuple of ndarray, shape (size,) each
        Units of the layer sorted by their last sector, then by the time of their last event.
    n_sectors, n_zero : ndarray, shape (k, number of these layers)
        Occupied sectors, and pairs of unit and sample at zero: on a boundary, or without live input.
    """

    log_t: FloatArray
    layers: tuple[int, ...]
    sector: tuple[IntArray, ...]
    peak: tuple[IntArray, ...]
    is_off: tuple[npt.NDArray[np.bool_], ...]
    order: tuple[IntArray, ...]
    n_sectors: IntArray
    n_zero: IntArray


def layer_timeline(solution: DeepSolution, *, n_times: int = 400) -> LayerTimeline:
    """Follow the sector of every unit of a layered run, from the events alone: no state is evaluated.

    Parameters
    ----------
    solution : DeepSolution
    n_times : int, optional
        Length of the grid, at least 2, which is that of `timeline`: around the events, even in log t.

    Raises
    ------
    ValueError
        `solution` is not the run of a DeepNetwork, or `n_times` is no such number.

    Examples
    --------
    >>> import reluflow as rf
    >>> data = rf.datasets.wang_pilanci("obtuse")
    >>> net = rf.DeepNetwork.init([rf.Dense(4), rf.Dense(3), rf.Dense(1)], dim=2, seed=1)
    >>> found = rf.analysis.layer_timeline(rf.integrate(data, net, until=10.0), n_times=3)
    >>> found.layers, [sector.shape for sector in found.sector]
    ((1, 2), [(3, 4), (3, 3)])
    """
    instance(solution, "solution", DeepSolution, "a DeepSolution, the run of a DeepNetwork (two layers have timeline)")
    log_t = log_grid(solution, integer(n_times, "n_times", least=2))
    patterns = patterns_of_layers(solution, np.full(len(log_t), np.inf), log_t)
    nodes = solution.initial.nodes[1:]
    layers = tuple(number for number, node in enumerate(nodes, start=1) if node.leak is not None)
    bent = [patterns[number - 1] for number in layers]
    sectors = [rank_by_stay(number_rows(pattern)) for pattern in bent]
    members = [
        np.array([np.bincount(row, minlength=int(sector.max(initial=0)) + 1) for row in sector]) for sector in sectors
    ]
    found = LayerTimeline(
        log_t=log_t,
        layers=layers,
        sector=tuple(sectors),
        peak=tuple(np.max(counts, axis=0) for counts in members),
        is_off=tuple(np.asarray((pattern <= 0).all(axis=2)) for pattern in bent),
        order=tuple(_order(solution, number, sector[-1]) for number, sector in zip(layers, sectors, strict=True)),
        n_sectors=_columns([np.count_nonzero(counts, axis=1) for counts in members], len(log_t)),
        n_zero=_columns([np.count_nonzero(pattern == 0, axis=(1, 2)) for pattern in bent], len(log_t)),
    )
    freeze_all(vars(found))
    return found


def _order(solution: DeepSolution, layer: int, last_sector: IntArray) -> IntArray:
    events = solution.events.of(layer=layer)
    last_event = np.full(len(last_sector), -np.inf)
    np.maximum.at(last_event, np.asarray(events.unit), np.asarray(events.log_t))
    return np.lexsort((last_event, last_sector))


def _columns(counts: list[npt.NDArray[np.int64]], n_times: int) -> IntArray:
    return np.column_stack(counts) if counts else np.zeros((n_times, 0), dtype=np.int64)
