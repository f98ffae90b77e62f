"""Where the neurons point when something happens: the events of a run as points in the plane of directions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from .._validation import FloatArray, freeze, instance, optional_module
from ..kinks import EVENT_KINDS
from ._directions import Directions
from ._inputs import check_run
from ._kernels import lengths

if TYPE_CHECKING:
    import pandas as pd

    from ..flow import Solution

# States evaluated at a time: a wide run with many events must not fill the memory.
_BLOCK = 256


@dataclass(frozen=True, eq=False)
class EventMarks:
    """The events of a run with the direction of the neuron that each happens to.

    Attributes
    ----------
    t, log_t : ndarray, shape (E,)
    neuron, sample : ndarray, shape (E,)
    kind : ndarray, shape (E,)
        Codes of the kinds.
    kinds : tuple of str
        The name of each code.
    coords : ndarray, shape (E, c)
        w_j/|w_j| in the basis of the directions; nan where w_j = 0.
    size : ndarray, shape (E,)
        |w_j|.
    """

    t: FloatArray
    log_t: FloatArray
    neuron: npt.NDArray[np.int32]
    sample: npt.NDArray[np.int32]
    kind: npt.NDArray[np.uint8]
    kinds: tuple[str, ...]
    coords: FloatArray
    size: FloatArray


def event_marks(solution: Solution, directions: Directions) -> EventMarks:
    """Find the direction of the neuron of each event, at the time of the event, for marks in a picture of directions.

    Parameters
    ----------
    solution : Solution
    directions : Directions
        Of the same run, from `directions`: its basis is used.

    Returns
    -------
    EventMarks

    Examples
    --------
    >>> import reluflow as rf
    >>> data = rf.datasets.wang_pilanci("obtuse")
    >>> sol = rf.integrate(data, rf.Network.init(10, 2, seed=1), until=1e4)
    >>> seen = rf.analysis.directions(rf.analysis.sample(sol))
    >>> marks = rf.analysis.event_marks(sol, seen)
    >>> x = data.X[marks.sample]  # each event lies on a boundary: w_j is orthogonal to its sample
    >>> float(abs((marks.coords * x).sum(axis=1)).max()) < 1e-7
    True
    """
    check_run(solution)
    instance(directions, "directions", Directions, "what analysis.directions returns")
    events = solution.events
    rows = np.empty((len(events), solution.data.d))
    for first in range(0, len(events), _BLOCK):
        part = slice(first, first + _BLOCK)
        rows[part] = _rows(solution, part)
    size = lengths(rows)
    with np.errstate(invalid="ignore", divide="ignore"):
        coords = (rows / size[:, None]) @ directions.basis.T
    freeze(coords)
    freeze(size)
    return EventMarks(events.t, events.log_t, events.neuron, events.sample, events.code, EVENT_KINDS, coords, size)


def _rows(solution: Solution, part: slice) -> FloatArray:
    """Weights of the neurons of these events at the times of the events, shape (events, d)."""
    events = solution.events[part]
    if np.isfinite(events.t).all():
        times, place = np.unique(events.t, return_inverse=True)
        W, _ = solution.states(times)
    else:  # only late events overflow, and none of them is at the start
        times, place = np.unique(events.log_t, return_inverse=True)
        late = times > -np.inf
        W = np.repeat(solution.initial.W[None], len(times), axis=0)
        W[late] = solution.states(log_times=times[late])[0]
    return np.asarray(W[place, events.neuron])


def last_changes(solution: Solution) -> pd.DataFrame:
    """Return the last event of each neuron, one row a neuron: when its pattern became what it is at the end.

    Parameters
    ----------
    solution : Solution

    Returns
    -------
    pandas.DataFrame
        Index: the neurons with an event. Columns t, log_t, sample, kind; of events at one time the last in the table.

    Raises
    ------
    ImportError
        pandas is not installed (extra ``analysis``).

    Examples
    --------
    >>> import reluflow as rf
    >>> data = rf.datasets.wang_pilanci("obtuse")
    >>> sol = rf.integrate(data, rf.Network.init(10, 2, seed=1), until=1e4)
    >>> int(rf.analysis.last_changes(sol)["kind"].value_counts()["die"])
    2
    """
    check_run(solution)
    optional_module("pandas", "analysis")
    return solution.events.to_pandas().groupby("neuron").tail(1).set_index("neuron").sort_index()
