"""Regression on ordinary data: networks of two layers end where their own core does, at every tolerance.

The squared loss of some twenty neurons on some thirty samples: a teacher, noise, a polynomial, a sine or labels. Late
in such a run neurons leave their boundaries one after the other, as errors that all but cancel change their shares; the
layered core let them go late or never, and ended up to two percent off with a good status.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import reluflow as rf

LOG_TIME = 7.0
Problem = tuple[rf.Dataset, rf.Network]


def he(width: int, dim: int, seed: int) -> rf.Network:
    rng = np.random.default_rng(seed)
    return rf.Network(
        rng.standard_normal((width, dim)) * np.sqrt(2 / dim), rng.standard_normal(width) * np.sqrt(2 / width)
    )


def problem(seed: int) -> Problem:
    rng = np.random.default_rng([seed, 77])
    kind = rng.choice(["teacher", "noise", "sine", "poly", "labels"])
    d, n, width = int(rng.integers(2, 9)), int(rng.integers(10, 60)), int(rng.integers(4, 24))
    scale = float(rng.choice([1e-3, 1e-2, 1e-1, 1.0]))
    X = rng.standard_normal((n, d))
    if kind == "sine":
        d, X = 2, np.c_[np.linspace(-1, 1, n), np.ones(n)]
        y = np.sin(rng.uniform(1, 5) * X[:, 0] + rng.uniform(0, 3))
    elif kind == "teacher":
        teacher = he(int(rng.integers(1, 6)), d, seed)
        y = teacher(X)
    elif kind == "poly":
        y = X[:, 0] * X[:, -1] + X[:, 0]
    else:
        y = rng.standard_normal(n) if kind == "noise" else rng.choice([-1.0, 1.0], n)
    return rf.Dataset(X, y), rf.Network.init(width, d, scale=scale, seed=seed)


@cache
def own(seed: int) -> rf.Solution:
    data, net = problem(seed)
    return rf.integrate(data, net, loss="squared", until=rf.Stop(log_time=LOG_TIME), rtol=1e-10)


def layered(seed: int, rtol: float) -> rf.DeepSolution:
    data, net = problem(seed)
    deep = rf.DeepNetwork([rf.Dense(net.width), rf.Dense(1)], np.r_[net.W.ravel(), net.a], dim=net.dim)
    until = rf.Stop(log_time=LOG_TIME, seconds=60.0)
    return rf.integrate((data.X, data.y[:, None]), deep, loss="squared", until=until, rtol=rtol)


def check(seed: int, rtol: float) -> rf.DeepSolution:
    sol, reference = layered(seed, rtol), own(seed)
    assert sol.status == "reached_log_time", sol.message
    theta = np.r_[reference.final.W.ravel(), reference.final.a]
    assert np.abs(sol.final.theta - theta).max() < 100 * rtol * max(1.0, np.abs(theta).max())
    return sol


@pytest.mark.parametrize(("seed", "rtol"), [(3, 1e-8), (6, 1e-8), (18, 1e-9), (19, 1e-9), (34, 1e-7)])
def test_what_implicit_steps_let_go_leaves_in_time(seed: int, rtol: float) -> None:
    """What such a step misses was bounded as if its error were that of the fastest direction, and all terms of a sum
    had one sign: up to 10⁴ times what it is, and larger than all that the errors still had to give."""
    assert len(check(seed, rtol).events) == len(own(seed).events)


@pytest.mark.parametrize(("seed", "rtol"), [(5, 1e-8), (5, 1e-9), (10, 1e-8)])
def test_what_explicit_steps_let_go_leaves_in_time(seed: int, rtol: float) -> None:
    """These wait for what is beyond all that their tolerance may leave of errors; finer ones know it better."""
    check(seed, rtol)


@pytest.mark.parametrize("seed", [42, 66, 70])
def test_units_that_leave_one_boundary_together(seed: int) -> None:
    """They pass their bounds by what a loose tolerance makes of one time. The others were beyond their bounds then."""
    assert len(check(seed, 1e-7).events) == len(own(seed).events)


@pytest.mark.parametrize(("seed", "rtol", "most"), [(105, 1e-9, 3000), (113, 1e-9, 5000)])
def test_implicit_steps_are_taken_where_they_can_be(seed: int, rtol: float, most: int) -> None:
    """The first had no implicit step any more once what rounding might have mixed into growing directions had grown for
    sixteen e-foldings; each step of the second ended shortly before a boundary that it could not resolve."""
    assert check(seed, rtol).stats["steps"] < most


def test_units_that_leave_by_hardly_more_than_rounding() -> None:
    """Two parallel units leave one boundary at one time, but for rounding: the second was beyond its bound by then, and
    its acceleration was what that excess had made of it."""
    check(5, 1e-10)
