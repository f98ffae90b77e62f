"""Neurons on the common boundary of samples of opposite directions, some of which weigh nothing beside the others."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import brentq

import hostile
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


def margin_at(time: float, output: float, begin: float = 0.0) -> float:
    """Follow q = |a| z with a² - z² = output² from `begin` on: q' = e^-q (a² + z²), and a² + z² = √(output⁴ + 4 q²)."""

    def time_of(q: float) -> float:
        return float(quad(lambda s: np.exp(s) / np.sqrt(output**4 + 4 * s * s), begin, q, points=[0.0], limit=200)[0])

    return float(brentq(lambda q: time_of(q) - time, -1.0, 20.0, xtol=1e-14))


@pytest.mark.parametrize("rtol", [1e-6, 1e-9, 1e-12])
@pytest.mark.parametrize("start", [(3.0, 30.0), (10.0, 20.0), (30.0, 30.0)])
def test_a_neuron_crosses_between_opposite_samples_however_their_weights_compared(start: Any, rtol: float) -> None:
    """Samples x and -x of labels 1 and -1 pull a neuron with a < 0 the same way, in turn, at its boundary alike.

    So it moves as if there were one sample, from a margin of -90 and less to one that is right. Nothing acts for the
    second sample before, and one step takes its weight from e^-90 of the other to the same: the neuron stood there as
    if that were nothing, and a run ended with it, at every tolerance.
    """
    z, along = start
    size = np.hypot(z, along)
    net = rf.Network([start], [-size])
    sol = rf.integrate(([[1.0, 0.0], [-1.0, 0.0]], [1, -1]), net, until=2.0, loss="exponential", rtol=rtol)
    assert [(event.sample, event.kind) for event in sol.events] == [(0, "cross_down"), (1, "cross_up")]
    want = margin_at(2.0, along, begin=-size * z)
    assert sol.final.a[0] * sol.final.W[0, 0] == pytest.approx(want, abs=100 * rtol + 1e-11)


@pytest.mark.parametrize("other", [[1.0, -1.0], [-1.0, 0.0]])
def test_a_neuron_at_rest_between_opposite_samples_leaves_once_both_weigh(other: Any) -> None:
    """It meets the boundary where the second neuron keeps x at a margin of -91, so that the weight of -x is not seen.

    From then on it feels -x alone, like a neuron that starts there. It was taken for one that is held for ever, since
    no two samples pull against each other on one side. It leaves where it is seen that it does, a few 10^-10 late.
    """
    W = np.array([[27.0, 12.5], [25.6, 15.6]])
    net = rf.Network(W, -np.linalg.norm(W, axis=1))
    sol = rf.integrate(([[0.0, 1.0], [0.0, -1.0], other], [1, -1, -1]), net, until=1e-4, loss="exponential")
    assert sol.events[0].log_t < -80.0
    assert sol.final.a[0] * sol.final.W[0, 1] == pytest.approx(margin_at(1e-4, 27.0), rel=1e-5)


@pytest.mark.parametrize("rtol", [1e-5, 1e-7, 1e-9, 1e-11, 1e-13])
def test_a_late_step_moves_the_end_of_an_interval_that_an_idle_sample_makes(rtol: float) -> None:
    """Neurons 1 and 5 leave once the pull of the others reaches what x_15, on which nobody is active, pulls.

    Its margin stands still and its weight grows as the mass falls; a late step took it for constant. They left too
    early, at log t = 9.412 to 9.417, came back at once, and did so again in each of the next steps: 81 or 93 events.
    """
    problem = hostile.problem("contradictory_part", 1072, log_t=9.6)
    sol = problem.run(rtol=rtol)
    X, y = problem.data.X, problem.data.y
    left = [e for e in sol.events if e.log_t > 7.0]
    assert [(e.neuron, e.sample, e.kind) for e in left] == [
        (neuron, sample, kind)
        for neuron in (1, 5)
        for sample, kind in ((2, "leave_down"), (11, "leave_down"), (15, "leave_up"))
    ]
    before = sol(float(np.exp(left[0].log_t)) * (1.0 - 1e-9))
    z = before.W @ X.T
    pulls = (y / (1.0 + np.exp(y * (before.a @ np.maximum(z, 0.0)))))[:, None] * X
    others = pulls[z[1] > 1e-9].sum(axis=0)
    assert others @ X[2] == pytest.approx(-pulls[15] @ X[2], rel=max(1e-8, 10.0 * rtol))
