"""Grids of times that show a run: dense where much happens."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .._validation import FloatArray

if TYPE_CHECKING:
    from ._solution import Solution
    from ._two_layer_solution import TwoLayerSolution

# Curves start at this fraction of the last time: six decades show the early phase of every run seen.
_LOG_FIRST = float(np.log(1e-6))
# A long run starts earlier still: three decades before the middle of its events.
_LOG_BEFORE_EVENTS = float(np.log(1e-3))


def spread(solution: Solution | TwoLayerSolution, count: int) -> FloatArray:
    """Return log times for smooth curves, at least 2, without the start; the end alone of a run of no duration.

    Half of them are even in log t, from 1e-6 of the last time or 1e-3 of the median event, whichever is earlier; the
    others are times that the solution holds, which lie close where much happens.
    """
    last, begin = solution.log_t_end, log_start(solution)
    early = last + _LOG_FIRST
    if len(solution.events):
        early = min(early, float(np.median(solution.events.log_t)) + _LOG_BEFORE_EVENTS)
    first = max(begin, early if np.isfinite(early) else last + _LOG_FIRST)
    if first >= last:  # at t = 0 both are -inf, which has no even times
        return np.array([last])
    even = np.linspace(first, last, max(count // 2, 2))
    held = solution.log_t[(solution.log_t > first) & (solution.log_t < last)]
    thinned = held[np.linspace(0, len(held) - 1, count - len(even)).round().astype(int)] if len(held) else held
    return np.unique(np.concatenate((even, thinned)))


def log_start(solution: Solution | TwoLayerSolution) -> float:
    """Return the log of the time at which a run starts, -inf at 0."""
    return float(np.log(solution.t_start)) if solution.t_start > 0 else -np.inf


def plain_times(solution: Solution | TwoLayerSolution, log_times: FloatArray) -> FloatArray:
    """Return the start, the times between, and exactly the end whatever its logarithm rounds to."""
    times = np.exp(log_times)
    inside = times[(times > solution.t_start) & (times < solution.t_end * (1.0 - 1e-12))]
    return np.unique(np.concatenate(([solution.t_start], inside, [solution.t_end])))
