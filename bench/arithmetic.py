"""The arithmetic of the comparison: equal errors, lines through measured runs, growth."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from points import Point


def fastest_within(points: Sequence[Point], error: float) -> Point | None:
    """The fastest measured run with at most that error."""
    return min((p for p in points if p.finished and p.error <= error), key=lambda p: p.seconds, default=None)


def on_line(points: Sequence[Point], error: float) -> tuple[float, str]:
    """Seconds that Euler needs for an error, and how they are known.

    Between two measured errors: a straight line in the logarithms. Outside: error ~ h and seconds ~ 1/h from the
    nearest run.
    """
    finite = sorted((p for p in points if p.finished), key=lambda p: p.error)
    if not finite:
        return np.nan, "no stable step"
    errors, seconds = np.array([p.error for p in finite]), np.array([p.seconds for p in finite])
    if errors[0] <= error <= errors[-1]:
        return float(np.exp(np.interp(np.log(error), np.log(errors), np.log(seconds)))), "interpolated"
    k = 0 if error < errors[0] else -1
    return float(seconds[k] * errors[k] / error), "extrapolated"


def order(points: Sequence[Point]) -> float:
    """Slope of log error over log h between the two smallest steps (1 for Euler on a line)."""
    finite = sorted((p for p in points if p.finished), key=lambda p: p.setting)[:2]
    if len(finite) < 2:
        return np.nan
    (low, high) = finite
    return float(np.log(high.error / low.error) / np.log(high.setting / low.setting))


def exponent(sizes: Sequence[float], values: Sequence[float]) -> float:
    """The p of the least-squares fit value ~ size^p."""
    if len(sizes) < 2:
        return np.nan
    return float(np.polyfit(np.log(sizes), np.log(values), 1)[0])


def per_event(point: Point) -> float:
    """Seconds of a run for each event that it located."""
    return point.seconds / point.n_events if point.n_events else np.nan


def whole_run(point: Point, n_events: int) -> tuple[float, str]:
    """Seconds for all the events of a case at the price of those that a run located before it was ended."""
    if point.finished:
        return point.seconds, "measured"
    return per_event(point) * n_events, "extrapolated"
