"""Times worth looking at: grids for smooth curves, and the few that show a run at a glance."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np

from .._validation import FloatArray, integer
from ..explorer._times import log_start, plain_times, spread
from ..flow import Solution, TwoLayerSolution
from ..flow._events import replayed
from ..layered import DeepSolution
from ._inputs import check_run
from ._layered_states import LayeredStates, layered_states, seen
from ._output_states import any_states

AnySolution: TypeAlias = "Solution | TwoLayerSolution | DeepSolution"

# Beyond this log time, where t overflows, what is even in log t would have one place for all that came before.
FAR = 690.0


def sample(solution: AnySolution, n_times: int = 200) -> Any:
    """Return the states of a run on a grid for smooth curves: start, end, and times between them.

    Half of the times are even in log t, from 1e-6 of the last time or 1e-3 of the median event, whichever is
    earlier; the others are times that the solution holds, which lie close where much happens. A run of no duration,
    whose stop is reached by its start, has one.

    Parameters
    ----------
    solution : Solution, TwoLayerSolution or DeepSolution
    n_times : int, optional
        Number of times beside the start, at least 2; a few less come back where some fall together.

    Examples
    --------
    >>> import reluflow as rf
    >>> data = rf.datasets.wang_pilanci("obtuse")
    >>> sol = rf.integrate(data, rf.Network.init(10, 2, seed=1), until=1e4)
    >>> run = rf.analysis.sample(sol, 50)
    >>> float(run.t[0]), float(run.t[-1])
    (0.0, 10000.0)
    """
    _check(solution)
    return _at(solution, spread(solution, integer(n_times, "n_times", least=2)))


def snapshots(solution: AnySolution, n_times: int = 4) -> Any:
    """Return the few states that show a run at a glance: the start, the median event, the end, and even ones between.

    Parameters
    ----------
    solution : Solution, TwoLayerSolution or DeepSolution
    n_times : int, optional
        At least 2. After the start they are even in log t from the median event to the end; in arsinh(log t) where
        that is beyond log t = 690.

    Examples
    --------
    >>> import reluflow as rf
    >>> data = rf.datasets.wang_pilanci("obtuse")
    >>> sol = rf.integrate(data, rf.Network.init(10, 2, seed=1), until=1e4)
    >>> rf.analysis.snapshots(sol, 4).t.round(2)
    array([0.000e+00, 4.500e-01, 6.713e+01, 1.000e+04])
    """
    _check(solution)
    n_late = integer(n_times, "n_times", least=2) - 1
    last = solution.log_t_end
    inside = solution.events.log_t
    inside = inside[(inside > log_start(solution)) & (inside < last)]
    middle = float(np.median(inside)) if len(inside) else last
    return _at(solution, even_times(middle, last, n_late) if n_late > 1 else np.array([last]))


def even_times(first: float, last: float, n: int) -> FloatArray:
    """Return log times that are even; where the last is far out, even in arsinh(log t): all but it would be late.

    One time where the first is the last: a run of no duration has no others, and -inf cannot be divided.
    """
    if first >= last:
        return np.array([last])
    if last <= FAR:
        return np.linspace(first, last, n)
    found = np.sinh(np.linspace(np.arcsinh(first), np.arcsinh(last), n))
    found[-1] = last
    return found


def ends(solution: AnySolution) -> Any:
    """Return the states at the start and at the end of a run.

    Examples
    --------
    >>> import reluflow as rf
    >>> data = rf.datasets.wang_pilanci("obtuse")
    >>> sol = rf.integrate(data, rf.Network.init(10, 2, seed=1), until=1e4)
    >>> rf.analysis.ends(sol).t
    array([    0., 10000.])
    """
    _check(solution)
    return _at(solution, np.array([solution.log_t_end]))


def _check(solution: object) -> None:
    if not isinstance(solution, (TwoLayerSolution, DeepSolution)):
        check_run(solution)


def _at(solution: AnySolution, log_times: FloatArray) -> Any:
    """States at the start, at the log times, and exactly at the end whatever its logarithm rounds to."""
    if isinstance(solution, DeepSolution):
        return _of_layers(solution, log_times)
    if not np.isfinite(solution.t_end):
        if solution.t_start > 0:
            return any_states(solution, log_times=np.unique(np.append(log_start(solution), log_times)))
        return _with_start(solution, any_states(solution, log_times=np.unique(log_times)))
    return any_states(solution, plain_times(solution, log_times))


def _with_start(solution: Any, late: Any) -> Any:
    """Put the start in front: at t = 0 it has no finite log time to ask for."""
    log_t = np.concatenate(([-np.inf], late.log_t))
    t = np.concatenate(([0.0], late.t))
    return replace(
        late,
        t=t,
        log_t=log_t,
        W=np.concatenate((solution.initial.W[None], late.W)),
        a=np.concatenate((np.asarray(solution.initial.a).reshape(1, *late.a.shape[1:]), late.a)),
        pattern=replayed(solution.events, solution.initial.pattern, t, log_t),
    )


def _of_layers(solution: DeepSolution, log_times: FloatArray) -> LayeredStates:
    if np.isfinite(solution.t_end):
        return layered_states(solution, plain_times(solution, log_times))
    log_t = np.unique(np.append(log_start(solution), log_times))
    with np.errstate(over="ignore"):
        return seen(solution, np.exp(log_t), log_t)
