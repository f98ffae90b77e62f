"""Neurons that `on_branch="stay"` keeps on repelling boundaries, until these push them to one side."""

from __future__ import annotations

import numpy as np
import pytest

import reluflow as rf

X = np.array([[2.0, 0.0], [1.0, 1.0], [1.2, 0.1]])


@pytest.mark.parametrize("rtol", [1e-7, 1e-9, 1e-11])
@pytest.mark.parametrize("side", [1, -1])
def test_a_neuron_leaves_a_repelling_boundary_to_the_side_that_both_rates_point_to(side: int, rtol: float) -> None:
    """The rate below, that of samples 1 and 2, is negative until t = 0.85 and the rate above positive: then both are.

    Turned round, the boundary is that of the sample (-2, 0), and the rate above comes to zero.
    """
    mirror = np.array([side, 1.0])
    data = rf.Dataset(X * mirror, [1, -1, 1])
    sol = rf.integrate(data, rf.Network([[0.0, 1.0]], [1.0]), until=2.0, on_branch="stay", rtol=rtol, max_events=20)
    assert sol.events.kind.tolist() == ["branch", "start_slide", "leave_up"]
    at = float(sol.events.t[-1])
    f = sol(at)(data.X)
    duals = data.y / (1 + np.exp(data.y * f))
    assert duals[1:] @ data.X[1:, 0] == pytest.approx(0.0, abs=1e3 * rtol)
    assert np.sign(sol.final.W[0, 0]) == side
    begin = rf.Network(sol(at).W, sol(at).a, pattern=[[1, 1, 1]])
    free = rf.integrate(data, begin, until=2.0 - at)
    assert pytest.approx(free.final.W, rel=1e3 * rtol) == sol.final.W


@pytest.mark.parametrize("rtol", [1e-9, 1e-12])
def test_runs_that_stand_on_repelling_boundaries_go_on(rtol: float) -> None:
    """Neurons on ±1 data, with samples along several of the boundaries on which they stand from the start."""
    rng = np.random.default_rng(3)
    corners = np.array(np.meshgrid(*[[-1.0, 1.0]] * 3)).reshape(3, -1).T
    for loss in ("logistic", "squared"):
        for _ in range(12):
            data = rf.Dataset(corners[:6], rng.choice([-1.0, 1.0], 6), bias_input=1.0)
            net = rf.Network(0.1 * rng.choice([-1.0, 0.0, 1.0], (8, 4)), 0.1 * rng.choice([-1.0, 1.0], 8), leak=0.1)
            sol = rf.integrate(data, net, until=50.0, loss=loss, on_branch="stay", rtol=rtol, max_events=3000)
            assert sol.status in ("reached_time", "stationary"), sol.message
