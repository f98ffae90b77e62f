"""Samples of very different sizes in one data set: none is so small that it moves nothing, given time."""

from __future__ import annotations

import numpy as np
import pytest

import reluflow as rf


@pytest.mark.parametrize("small", [1e-16, 1e-20, 1e-30])
@pytest.mark.parametrize("output", [0.0, 0.5])
def test_a_tiny_sample_moves_its_neuron_beside_one_that_is_fitted(small: float, output: float) -> None:
    """The error of the tiny one stays -1: a' = x w and w' = x a, while the other sample has its target."""
    net = rf.Network(np.eye(2), [output, 0.5])
    sol = rf.integrate(([[small, 0.0], [0.0, 1.0]], [1.0, 0.5]), net, until=1.0 / small, loss="squared")
    assert sol.status == "reached_time"
    assert sol.final.a[0] == pytest.approx(output * np.cosh(1.0) + np.sinh(1.0), rel=1e-9)
    assert sol.final.W[0, 0] == pytest.approx(output * np.sinh(1.0) + np.cosh(1.0), rel=1e-9)


def test_a_tiny_sample_is_waited_for_while_the_other_is_fitted() -> None:
    net = rf.Network(np.eye(2), [0.0, 0.5])
    sol = rf.integrate(([[1e-20, 0.0], [0.0, 1.0]], [1.0, 1.0]), net, until=1e20, loss="squared")
    assert sol.final.a[0] == pytest.approx(np.sinh(1.0), rel=1e-9)
    assert sol.final.a[1] * sol.final.W[1, 1] == pytest.approx(1.0, rel=1e-9)


def test_a_tiny_sample_counts_for_margins_too() -> None:
    """Its weight stays 1/2 while the margin is tiny."""
    net = rf.Network(np.eye(2), [0.0, 0.5])
    sol = rf.integrate(([[1e-20, 0.0], [0.0, 1.0]], [1, -1]), net, until=2e20, loss="logistic")
    assert sol.status == "reached_time"
    assert sol.final.a[0] == pytest.approx(np.sinh(1.0), rel=1e-8)


def test_a_tiny_sample_that_is_fitted_lets_the_run_rest() -> None:
    net = rf.Network([[0.5, 0.1], [0.1, 1.0]], [0.0, 0.5])
    sol = rf.integrate(([[1e-20, 0.0], [0.0, 1.0]], [0.0, 1.0]), net, until=1e3, loss="squared")
    assert sol.success
    assert sol.stats["steps"] < 2000
