"""Limits beside samples at rest are certified only where no neuron that counts has an event to come on its way."""

from __future__ import annotations

import numpy as np
import pytest

import reluflow as rf
from reluflow.limits._limit_of import limit_of

CUBE = [[-1, 1, 1, 1], [-1, -1, 1, 1], [-1, 1, -1, -1], [1, -1, -1, -1], [1, 1, -1, -1], [1, -1, 1, 1], [1, -1, -1, 1]]
CUBE_LABELS = [-1, -1, 1, -1, 1, -1, -1]
HELD = [[1.0, 0.0], [2.0, 0.0], [-1.0, 1.0]]  # the first two rest; the third pulls along them, too
HELD_LABELS = [1, -1, -1]


def test_weights_that_come_to_the_multipliers_late_take_a_neuron_across() -> None:
    """The limit of the pattern was certified from log t = 2 on; at log t = 605 a neuron leaves the pattern."""
    data = rf.Dataset(np.array(CUBE, dtype=np.float64), CUBE_LABELS)
    sol = rf.integrate(data, rf.Network.init(2, 4, scale=1.0, seed=223), until=rf.Stop(log_time=1000.0))
    assert [event.log_t for event in sol.events if event.log_t > 100] == [pytest.approx(605.0, abs=1.0)]
    for log_t in (2.0, 10.0, 128.0):
        early = limit_of(data, sol.at(log_t=log_t), "logistic")
        assert not early.certified
        assert "neurons leave the last pattern on the way to its limit, or may" in early.reason
    assert sol.limit.certified, sol.limit.reason


def test_of_two_neurons_that_hold_samples_at_rest_one_crosses_their_boundary() -> None:
    """Σ a w·x of both comes to the value at rest while both grow, so that one comes to the other side.

    There x_3 pulls it along x_3/√2, faster than beside the boundary, where -1/2 was certified for f(x_3).
    """
    data = rf.Dataset(HELD, HELD_LABELS)
    sol = rf.integrate(data, rf.Network([[0.3, 1.0], [0.1, 1.0]], [-1.5, -1.5]), until=rf.Stop(limit=True))
    early = limit_of(data, sol.at(log_t=3.0), "logistic")
    assert early.network(data.X) == pytest.approx([0.0, 0.0, -0.5], abs=1e-12)
    assert not early.certified
    assert "neurons leave the last pattern on the way to its limit, or may: 1" in early.reason
    assert (sol.events.neuron == 1).all()
    assert sol.limit.certified, sol.limit.reason
    assert sol.limit.network(data.X) == pytest.approx([0.0, 0.0, -(0.5**0.5)], abs=1e-12)


@pytest.mark.parametrize("width", [1, 2])
def test_neurons_in_one_place_stay_together_on_their_side(width: int) -> None:
    data = rf.Dataset(HELD, HELD_LABELS)
    start = rf.Network(np.tile([0.2, 1.0], (width, 1)), np.full(width, -1.5))
    sol = rf.integrate(data, start, until=rf.Stop(limit=True))
    assert not len(sol.events)
    assert sol.limit.certified, sol.limit.reason
    assert sol.limit.network(data.X) == pytest.approx([0.0, 0.0, -0.5], abs=1e-12)
