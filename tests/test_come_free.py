"""Samples at rest that a neuron sets free at a boundary: they move by themselves, and hardly any time passes."""

from __future__ import annotations

import numpy as np
import pytest

import reluflow as rf
from certificate import certify_alone
from reluflow.losses import LossName

Problem = tuple[rf.Dataset, rf.Network, LossName]


def three_in_a_cone() -> Problem:
    """Samples 0, 2 and 3 rest until neuron 0 comes to the boundary of 3; then all can be separated."""
    data = rf.Dataset([[1.048, 1.0], [-2.039, 1.0], [1.563, 1.0], [1.862, 1.0]], [1, 1, -1, 1])
    W = [[0.124, 0.958], [-1.664, -1.732], [-0.226, -1.323], [0.964, -0.921]]
    W += [[-1.562, -1.537], [0.533, 0.056], [1.289, -1.8], [-0.103, 0.633]]
    a = [0.966, -2.402, 1.342, 1.333, 2.191, 0.536, -2.214, -0.641]
    return data, rf.Network(W, a), "logistic"


def opposite_neighbours() -> Problem:
    """Samples 2 to 4 rest, of which 3 and 4 are close to each other, beside output weights much larger than w."""
    x = [0.349, 0.473, -1.883, -0.477, -0.484, -0.274, 0.295]
    data = rf.Dataset(np.c_[x, np.ones(7)], [1, 1, -1, -1, 1, 1, 1])
    W = [[-0.133, 0.015], [-0.056, 0.11], [-0.077, -0.004], [0.049, -0.053]]
    W += [[0.137, -0.021], [0.024, -0.119], [-0.045, 0.03], [-0.048, -0.03]]
    a = [0.672, 0.646, 0.91, 9.05, -0.2, 17.782, 0.339, -4.6]
    return data, rf.Network(W, a, leak=0.1), "exponential"


PROBLEMS = pytest.mark.parametrize("problem", [three_in_a_cone(), opposite_neighbours()], ids=["cone", "neighbours"])


def run(problem: Problem, until: rf.Stop, rtol: float = 1e-9) -> rf.Solution:
    data, net, loss = problem
    return rf.integrate(data, net, loss=loss, reduction="sum", until=until, rtol=rtol)


def direction(net: rf.Network) -> np.ndarray:
    return np.asarray(net.theta / net.norm)


@PROBLEMS
def test_free_samples_move_in_the_time_of_the_flow(problem: Problem) -> None:
    """While the loss falls from one to e⁻⁵ next to no part of t passes; at the end it is 1/t, as for separable data."""
    sol = run(problem, rf.Stop(log_time=1e4))
    assert sol.success
    assert "which then came free" in sol.message
    assert np.diff(sol.log_loss).max() <= 1e-12
    falls = (sol.log_loss < 0.3) & (sol.log_loss > -5.0)
    assert np.count_nonzero(falls) > 10
    assert np.ptp(sol.log_t[falls]) < 5e-4
    assert -sol.log_loss_end == pytest.approx(sol.log_t_end, rel=1e-3)


@PROBLEMS
def test_events_behind_a_stall_do_not_depend_on_the_tolerance(problem: Problem) -> None:
    """The run stalls at another log t and has another share of the tails."""
    sols = [run(problem, rf.Stop(log_time=1e4), rtol) for rtol in (1e-8, 1e-9, 1e-11)]
    first = sols[0]
    for sol in sols[1:]:
        assert list(zip(sol.events.neuron, sol.events.sample, strict=True)) == list(
            zip(first.events.neuron, first.events.sample, strict=True)
        )
        np.testing.assert_allclose(sol.events.log_t, first.events.log_t, rtol=1e-6)
        np.testing.assert_allclose(sol.final.theta, first.final.theta, rtol=0, atol=1e-6 * first.final.norm)


@PROBLEMS
def test_the_limit_is_that_of_the_flow(problem: Problem) -> None:
    """The direction comes to it like 1 / log t."""
    found = run(problem, rf.Stop(limit=True))
    assert found.status == "reached_limit", found.message
    late = run(problem, rf.Stop(log_time=1e8))
    assert np.linalg.norm(direction(late.final) - direction(found.limit.network)) < 5e-4


def test_the_loss_of_weights_that_are_put_back_is_no_rise() -> None:
    """Once all samples are free, weights that a late step knows replace those of the margins: the state is the same."""
    X = [[0.6, -1.7], [0.3, -1.4], [-0.5, -0.4], [-1.2, -0.4], [0.5, -0.4], [0.6, 1.3], [-0.4, -1.0]]
    X += [[-0.6, 0.8], [-0.8, -1.0], [0.2, -0.1], [-1.0, -0.6], [-1.1, 0.5], [0.4, 1.4], [0.4, -0.7]]
    y = [-1, -1, -1, -1, 1, 1, 1, -1, 1, 1, -1, 1, -1, 1]
    W = [[0.46, 3.07, -2.3], [-1.15, -0.49, -0.52], [-0.57, -1.07, 0.85], [-0.35, -0.3, 0.4], [-0.08, 1.56, 1.28]]
    W += [[1.06, -0.25, 0.46], [-0.77, -0.1, -0.89], [0.44, 0.88, -0.47], [0.88, -0.09, 0.99], [-1.69, 1.46, -2.65]]
    net = rf.Network(W, [-0.67, -0.27, 1.75, 1.17, -1.15, -1.07, 1.71, 0.4, 0.73, -0.54], leak=0.1)
    sol = rf.integrate(rf.Dataset(np.c_[X, np.ones(14)], y), net, loss="exponential", until=rf.Stop(limit=True))
    assert sol.status == "reached_limit", sol.message
    assert sol.limit.margin > 0
    assert certify_alone(sol.data, sol.limit) < 1e-10
