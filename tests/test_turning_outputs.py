"""Whole numbers, where a neuron slides as its output weight passes zero: what it does is a matter of second order."""

from __future__ import annotations

import numpy as np
import pytest

import compare
import reluflow as rf

RTOLS = [1e-6, 1e-7, 1e-9, 1e-11, 1e-13]

#: Data, start, loss and leak, and the (sample, kind) of all events.
CASES = {
    "errors of two samples balance": (
        [[0, -2, 0], [1, 1, 0], [2, 0, 0], [-2, 1, 2], [0, 2, -1]],
        [2, 2, 1, 1, -1],
        ([[0.0, 1.0, 1.0]], [-0.5]),
        ("squared", 0.0),
        [(2, "start_up"), (2, "slide"), (2, "leave_up"), (4, "slide")],
    ),
    "a sample and the leak of its own balance": (
        [[-1, 2, 0], [0, 2, 0], [2, 0, -1], [1, 0, 1]],
        [-1, 1, 1, 1],
        ([[1.0, 0.0, -1.0]], [-1.0]),
        ("exponential", 0.3),
        [(1, "start_slide"), (3, "start_down"), (1, "leave_up"), (3, "cross_up")],
    ),
    "leaks of three samples balance": (
        [[1, 2, 1], [1, 0, 0], [0, 2, 0], [1, 2, -1], [0, 0, 2], [2, 2, 0]],
        [-1, 1, 1, -1, 1, 1],
        ([[-1.0, 0.0, 1.0]], [-0.5]),
        ("exponential", 0.1),
        [(0, "start_down"), (2, "start_slide"), (2, "leave_up"), (0, "slide")],
    ),
}


def _run(case, rtol):
    X, y, (W, a), (loss, leak), _ = case
    net = rf.Network(W, a, leak=leak)
    until = rf.Stop(time=20.0)
    return rf.integrate(rf.Dataset(X, y), net, until=until, loss=loss, weight_decay=0.1, rtol=rtol)


@pytest.mark.parametrize("rtol", RTOLS)
@pytest.mark.parametrize("name", CASES)
def test_a_neuron_whose_output_turns_goes_where_the_second_order_takes_it(name, rtol):
    """At a = 0 the rate on the lower side is exactly zero, and a moment later it is positive: the only way is up.

    By the rate alone it was rounding or truncation: a branch that the flow does not have, a leave downwards and
    back, or a branching again and again at one instant, without end.
    """
    case = CASES[name]
    sol = _run(case, rtol)
    assert sol.status == "reached_time"
    assert not sol.branchings
    assert [(e.sample, e.kind) for e in sol.events] == case[-1]
    tight = _run(case, 1e-13)
    compare.assert_same_state(sol.final.W, sol.final.a, tight.final.W, tight.final.a, 10 * rtol, "at the end")


@pytest.mark.parametrize("rtol", RTOLS)
def test_ways_that_are_open_at_second_order_are_listed_at_every_tolerance(rtol):
    """The neuron slides along (1, -1, -1), and x2 alone acts: all duals are ±1/2 when a passes zero, then λ2 < 1/2.

    On the sides (-, -, +) of x0, x1 and x5 it is moved by λ2 x2 + λ5 x5, and on (-, +, +) by λ2 x2 + λ1 x1 + λ5 x5. The
    rates across x1 and x5 are zero at that instant; then λ2 - λ5 < 0 and 2 λ5 - λ1 - λ2 > 0, which is to the side.
    """
    X = [[0, 2, -2], [1, 0, 1], [1, 0, 0], [-2, 0, 2], [1, 0, 2], [-1, -1, 0]]
    data, net = rf.Dataset(X, [1, 1, 1, -1, 1, 1]), rf.Network([[1.0, -1.0, -0.5]], [-1.0])
    sol = rf.integrate(data, net, until=rf.Stop(time=3.0), loss="logistic", weight_decay=0.1, rtol=rtol)
    (branching,) = sol.branchings
    assert branching.samples == (0, 1, 5)
    leaving = {tuple(option.values()) for option in branching.options if 0 not in option.values()}
    assert leaving == {(1, 1, -1), (1, -1, -1), (-1, 1, -1), (-1, 1, 1), (-1, -1, 1)}
    assert np.allclose(branching.t, 2.2515348704, rtol=1e-7)
