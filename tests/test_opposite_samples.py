"""Neurons on the common boundary of samples of opposite directions, some of which weigh nothing beside the others."""

from __future__ import annotations

from typing import Any

import pytest

import reluflow as rf

X = [[-2.0, 2.0], [-1.0, -2.0], [1.0, -1.0], [2.0, 1.0]]
Y = [-1.0, -1.0, -1.0, 1.0]


@pytest.mark.parametrize("loss", ["logistic", "exponential"])
@pytest.mark.parametrize("weights", [None, [2.0, 1.0, 1.0, 1.0]])
def test_an_idle_sample_does_not_hide_what_its_opposite_holds(loss: Any, weights: Any) -> None:
    """Neuron 3 slides where x_0 and x_2 = -x_0/2 meet; x_0 has no margin, and e^37 times the weight of x_2.

    The far end of its multiplier was read as a difference in which x_2 was lost, from log t = 32 on. So it left, came
    back at once, and left again, thousands of times, and a run to the limit did not end.
    """
    data = rf.Dataset(X, Y, weights=weights)
    net = rf.Network.init(4, 2, scale=1e-3, seed=237)
    sol = rf.integrate(data, net, until=rf.Stop(log_time=200.0, events=100), loss=loss)
    assert sol.status == "reached_log_time", sol.message
    assert sol.events.log_t.max() < 32.0
    assert sol.final.pattern is not None
    assert sol.final.pattern[3, [0, 2]].tolist() == [0, 0]
    W = sol.final.W[3]
    assert W @ X[0] == pytest.approx(0.0, abs=1e-12)
    assert W @ X[2] == pytest.approx(0.0, abs=1e-12)
    ended = rf.integrate(data, net, until=rf.Stop(limit=True, events=100), loss=loss)
    assert ended.status in ("reached_limit", "limit_not_certified"), ended.message
