"""What the table of events alone tells: who switched when, and the sector of every neuron through time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, overload

import numpy as np
import numpy.typing as npt

from .._validation import FloatArray, IntArray, ReadOnly, freeze, integer
from ..explorer._times import log_start
from ..flow import MultiClassSolution, TwoLayerSolution
from ..flow._events import patterns
from ..kinks import EVENT_KINDS
from ..layered import DeepSolution
from ._inputs import check_run
from ._sectors import number_rows
from ._series import dead
from ._states import last_signs
from ._times import FAR, even_times

if TYPE_CHECKING:
    from ..flow import Solution

# Events of the first instants would stretch a log axis without end: it shows this part of the time of the last one, and
# more where the middle one is early.
_LOG_FIRST, _LOG_BEFORE_MIDDLE = float(np.log(1e-6)), float(np.log(1e-3))
# Before the first event and after the last nothing changes: a factor of two in time shows what was there.
_LOG_AROUND = float(np.log(2.0))
# Far out a factor of two is nothing: a factor of log t.
_FAR_AROUND = 1.1


@dataclass(frozen=True, eq=False)
class Timeline(ReadOnly):
    """The sectors of all neurons on a grid of log times.

    Attributes
    ----------
    log_t : ndarray, shape (k,)
    sector : ndarray, shape (k, m)
        Number of the sector of each neuron; 0 is the sector in which neurons spent most of the grid, together.
    peak : ndarray, shape (number of sectors,)
        Most neurons that were in each sector at one time.
    order : ndarray, shape (m,)
        Neurons sorted by the sign of a_j (the last it had, where weight decay has taken it to 0), then by their last
        sector, then by the time of their last event.
    n_positive : int
        The first rows in that order have a_j > 0.
    n_sectors, n_held, n_dead : ndarray, shape (k,)
    """

    log_t: FloatArray
    sector: IntArray
    peak: IntArray
    order: IntArray
    n_positive: int
    n_sectors: IntArray
    n_held: IntArray
    n_dead: IntArray


@overload
def timeline(solution: Solution, *, n_times: int = 400) -> Timeline: ...
@overload
def timeline(solution: MultiClassSolution, *, n_times: int = 400) -> tuple[Timeline, ...]: ...
def timeline(solution: Solution | MultiClassSolution, *, n_times: int = 400) -> Timeline | tuple[Timeline, ...]:
    """Follow every neuron's sector, from the events alone: no state is evaluated.

    Parameters
    ----------
    solution : Solution or MultiClassSolution
    n_times : int, optional
        Length of the grid, at least 2; it is even in log t from half the time of the first event (but not before 1e-6
        of the last one or 1e-3 of the median one, whichever is earlier, nor before the run began) to twice the time of
        the last, or to the end of the run. Where the last is beyond log t = 690 it is even in arsinh(log t), from
        before the first event (but not before t = 1e-6). A run of no duration has one time.

    Returns
    -------
    Timeline, or one for each class in a tuple

    Examples
    --------
    >>> import reluflow as rf
    >>> data = rf.datasets.wang_pilanci("obtuse")
    >>> sol = rf.integrate(data, rf.Network.init(10, 2, seed=1), until=1e4)
    >>> found = rf.analysis.timeline(sol, n_times=5)
    >>> found.n_sectors, found.n_dead
    (array([3, 4, 4, 3, 3]), array([0, 1, 1, 1, 2]))
    """
    if isinstance(solution, MultiClassSolution):
        return tuple(timeline(one, n_times=n_times) for one in solution)
    check_run(solution)
    log_t = log_grid(solution, integer(n_times, "n_times", least=2))
    pattern = patterns(solution, np.full(len(log_t), np.inf), log_t)
    sector = rank_by_stay(number_rows(pattern))
    members = [np.bincount(row, minlength=int(sector.max()) + 1) for row in sector]
    found = Timeline(
        log_t=log_t,
        sector=sector,
        peak=np.max(members, axis=0),
        order=neuron_order(solution, sector[-1]),
        n_positive=int((_signs(solution) > 0).sum()),
        n_sectors=np.count_nonzero(members, axis=1),
        n_held=np.count_nonzero(pattern == 0, axis=(1, 2)),
        n_dead=dead(pattern, solution.leak).sum(axis=1),
    )
    for array in (found.log_t, found.sector, found.peak, found.order, found.n_sectors, found.n_held, found.n_dead):
        freeze(array)
    return found


@dataclass(frozen=True, eq=False)
class Raster(ReadOnly):
    """The events as points of a picture: time along, one row a neuron.

    Attributes
    ----------
    t, log_t : ndarray, shape (E,)
    row : ndarray, shape (E,)
        Place of the neuron from the top, see `Timeline.order`; with several outputs the output that a_j is largest in
        comes in place of the sign.
    kind : ndarray, shape (E,)
        Codes of the kinds.
    kinds : tuple of str
        The name of each code.
    n_positive : int or None
        Rows 0 to n_positive - 1 have a_j > 0; None with several outputs.
    n_neurons : int
    order : ndarray, shape (n_neurons,)
        The neuron of each row.
    """

    t: FloatArray
    log_t: FloatArray
    row: IntArray
    kind: npt.NDArray[np.uint8]
    kinds: tuple[str, ...]
    n_positive: int | None
    n_neurons: int
    order: IntArray


def raster(solution: Solution | TwoLayerSolution) -> Raster:
    """Arrange the events of a run for a picture, neurons sorted as in `Timeline.order`.

    Parameters
    ----------
    solution : Solution or TwoLayerSolution

    Returns
    -------
    Raster

    Raises
    ------
    ValueError
        A run of several classes, or of a layered network.

    Examples
    --------
    >>> import reluflow as rf
    >>> data = rf.datasets.wang_pilanci("obtuse")
    >>> sol = rf.integrate(data, rf.Network.init(10, 2, seed=1), until=1e4)
    >>> found = rf.analysis.raster(sol)
    >>> [found.kinds[code] for code in found.kind]
    ['die', 'cross_down', 'cross_down', 'cross_down', 'die']
    """
    if not isinstance(solution, TwoLayerSolution):
        check_run(solution)
    net = solution.final
    assert net.pattern is not None  # for the type checker: the network of a run has one
    is_one = net.n_outputs == 1
    order = neuron_order(solution, rank_by_stay(number_rows(net.pattern[None]))[-1])
    place = np.argsort(order)
    events = solution.events
    return Raster(
        t=np.asarray(events.t),
        log_t=np.asarray(events.log_t),
        row=place[np.asarray(events.neuron)],
        kind=np.asarray(events.code),
        kinds=EVENT_KINDS,
        n_positive=int((_signs(solution) > 0).sum()) if is_one else None,
        n_neurons=len(order),
        order=order,
    )


def log_grid(solution: Solution | DeepSolution, n_times: int) -> FloatArray:
    """Log times around the events: from before the first, but for the first instants, to a little after the last.

    No time is before the run began.
    """
    times = solution.events.log_t[np.isfinite(solution.events.log_t)]
    start, end = log_start(solution), solution.log_t_end
    begin, last = (float(times[0]), float(times[-1])) if times.size else (-np.inf, end)
    is_far = last > FAR
    begin -= max(_LOG_AROUND, (1.0 - 1.0 / _FAR_AROUND) * begin) if is_far else _LOG_AROUND
    last = min(_FAR_AROUND * last if is_far else last + _LOG_AROUND, end)
    middle = float(np.median(times)) if times.size else np.inf
    earliest = _LOG_FIRST if is_far else min(last + _LOG_FIRST, middle + _LOG_BEFORE_MIDDLE)
    first = max(begin, start, earliest)
    return even_times(min(first, last), last, n_times)


def neuron_order(solution: Solution | TwoLayerSolution, last_sector: IntArray) -> IntArray:
    """Sort the neurons for a picture: positive a_j first, then by last sector, then by the last event.

    Of several outputs the one that a_j is largest in comes first.
    """
    m = len(last_sector)
    last_event = np.full(m, -np.inf)
    np.maximum.at(last_event, np.asarray(solution.events.neuron), np.asarray(solution.events.log_t))
    a = solution.final.a
    return np.lexsort((last_event, last_sector, -_signs(solution) if a.ndim == 1 else a.argmax(axis=1)))


def _signs(solution: Solution | TwoLayerSolution) -> FloatArray:
    return last_signs(np.vstack((solution.initial.a, solution.a)))


def rank_by_stay(ids: IntArray) -> IntArray:
    """Renumber the sectors by the time that neurons spend in them, the longest stay first."""
    stay = np.bincount(ids.ravel())
    rank = np.argsort(np.argsort(-stay, kind="stable"), kind="stable")
    return rank[ids]
