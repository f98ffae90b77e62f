"""Grids of times that show a run, a solution of any kind: dense where much happens."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._validation import FloatArray

# Curves start at this fraction of the last time: six decades show the early phase of every run seen.
_LOG_FIRST = float(np.log(1e-6))
# A long run starts earlier still: three decades before the middle of its events.
_LOG_BEFORE_EVENTS = float(np.log(1e-3))


def spread(solution: Any, count: int) -> FloatArray:
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


def log_start(solution: Any) -> float:
    """Return the log of the time at which a run starts, -inf at 0."""
    if np.isinf(solution.t_start):
        return float(solution.log_t_start)
    return float(np.log(solution.t_start)) if solution.t_start > 0 else -np.inf


def plain_times(solution: Any, log_times: FloatArray) -> FloatArray:
    """Return the start, the times between, and exactly the end whatever its logarithm rounds to."""
    times = np.exp(log_times)
    inside = times[(times > solution.t_start) & (times < solution.t_end * (1.0 - 1e-12))]
    return np.unique(np.concatenate(([solution.t_start], inside, [solution.t_end])))


def frames(solution: Any, count: int) -> tuple[FloatArray, FloatArray, tuple[Any, ...]]:
    """Return times of a run, dense where much happens, with the start and the end; their logarithms; the networks."""
    log_t = spread(solution, count)
    if np.isfinite(solution.t_end):
        t = plain_times(solution, log_t)
        with np.errstate(divide="ignore"):
            return t, np.log(t), tuple(solution(t))
    if solution.t_start > 0:
        log_t = np.unique(np.append(log_start(solution), log_t))
    networks = tuple(solution.at(log_t=float(one)) for one in log_t)
    with np.errstate(over="ignore"):
        t = np.exp(log_t)
    if solution.t_start > 0:
        return t, log_t, networks
    return np.append(0.0, t), np.append(-np.inf, log_t), (solution.initial, *networks)
