"""A sample that drives no neuron keeps its weight while all others fall, and may be met late: it dwarfs them then."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from sklearn.datasets import make_classification

import reluflow as rf

NEURON, SAMPLE = 7, 5


def test_a_sample_that_drove_nobody_is_met_late() -> None:
    """At log t = 46.7 its weight is 1e21 times all others, and the neuron that meets it is elsewhere at once.

    Events of that instant were looked for on the scale of the step before, in which they have no distance, and the
    run ended with a neuron on the wrong side.
    """
    X, labels = make_classification(60, n_features=6, n_informative=3, flip_y=0.15, random_state=7)
    data = rf.Dataset(np.c_[X, np.ones(60)], 2.0 * labels - 1.0)
    net = rf.Network.init(30, 7, scale=1e-2, seed=7)
    sols = [rf.integrate(data, net, until=rf.Stop(log_time=60.0), rtol=rtol) for rtol in (1e-9, 1e-11)]
    for sol in sols:
        assert sol.status == "reached_log_time", sol.message
        met = [event for event in sol.events if event.sample == SAMPLE and event.log_t > 30]
        assert [(event.neuron, event.kind) for event in met] == [(NEURON, "cross_up")]
        assert abs(met[0].log_t - 46.66881) < 1e-5
        margins = data.y * sol.final(data.X)
        assert margins[SAMPLE] > 50
    assert (sols[0].final.pattern == sols[1].final.pattern).all()
    assert np.linalg.norm(sols[0].final.theta - sols[1].final.theta) < 1e-8 * sols[1].final.norm


@pytest.mark.parametrize("rtol", [1e-6, 1e-9, 1e-12])
def test_a_sample_that_is_met_while_it_weighs_nothing(rtol: float) -> None:
    """At t = 7e-83 it weighs e^-190 of the other one, whose margin rises from -1,385 to 9: at t = 1 it is by far the
    heavier. One step, which followed the other weight alone, went from before the one to behind the other.

    scipy follows the flow from where the neuron has met it in the time s of dt = ds / Σ |ℓ'|.
    """
    data = rf.Dataset(np.array([[0.5, 1.0], [1.3, -0.2]]), np.array([-1.0, 1.0]))
    net = rf.Network(np.array([[-64.0, 66.0], [5.0, 40.0]]), np.array([92.0, -41.0]))
    rule = {"loss": "exponential", "reduction": "sum", "rtol": rtol}
    sol = rf.integrate(data, net, until=1.0, **rule)
    assert [(e.neuron, e.sample, e.kind) for e in sol.events] == [(1, 1, "cross_up"), (1, 1, "slide")]
    met = rf.integrate(data, net, until=1e-80, **rule)
    signs = data.y[:, None] * data.X

    def rate(_: float, state: np.ndarray) -> np.ndarray:
        W, a = state[:4].reshape(2, 2), state[4:6]
        z = data.X @ W.T
        active = np.array([[True, True], [False, True]])  # the first neuron meets the first sample alone
        q = data.y * ((z * active) @ a)
        least = q.min()
        p = np.exp(least - q)
        total = p.sum()
        g = (signs * (p / total)[:, None]).T @ active
        return np.r_[(a * g).T.ravel(), np.sum(W.T * g, axis=0), np.exp(least) / total]

    def comes_back(_: float, state: np.ndarray) -> float:
        return float(data.X[1] @ state[2:4])

    comes_back.terminal, comes_back.direction = True, -1.0  # type: ignore[attr-defined]
    start = np.r_[met.final.W.ravel(), met.final.a, 1e-80]
    flow = solve_ivp(rate, (0.0, 1.0), start, "DOP853", events=comes_back, rtol=1e-12, atol=1e-12, first_step=1e-6)
    end = flow.y_events[0][0]
    assert sol.events[1].t == pytest.approx(end[6], rel=1e-5)
    np.testing.assert_allclose(sol(sol.events[1].t).W.ravel(), end[:4], rtol=1e-6)


@pytest.mark.parametrize("rtol", [1e-7, 1e-9, 1e-11])
def test_a_margin_that_falls_behind_a_crossing(rtol: float) -> None:
    """At t = 0.1193 a neuron meets a sample that is right by a margin of hundreds, and turns it over within 0.001.

    The event moved nobody then, since the sample weighed nothing. The step went on with it at a margin of -400, where
    it should have held the neuron at 0.8 from 0.12026 on. The other core ends a step at each such event.
    """
    X = [[2.636, 0.044, 0.0071, 0.0368], [-2.756, -0.1394, 0.0096, -0.0528], [-1.592, -0.1143, 0.0176, -0.0116]]
    X += [[0.0546, 0.1706, -0.0128, 0.0221], [-0.8889, 0.0578, 0.0066, -0.0286]]
    y = [1.0, -1.0, 1.0, 1.0, 1.0]
    W = np.array([[-251.0, 858.4, 610.6, -48.63], [-231.1, -43.32, -1016.1, -222.3]])
    a = np.array([-1084.0, -1066.4])
    rule = {"until": 0.2, "reduction": "sum", "rtol": rtol}
    sol = rf.integrate(rf.Dataset(X, y), rf.Network(W, a, leak=0.1), **rule)
    layers = rf.DeepNetwork([rf.Dense(2), rf.Dense(1)], np.r_[W.ravel(), a], dim=4, leak=0.1)
    other = rf.integrate((X, y), layers, loss="logistic", **rule)
    assert [(e.neuron, e.sample, e.kind) for e in sol.events] == [(e.unit, e.sample, e.kind) for e in other.events]
    np.testing.assert_allclose(np.r_[sol.final.W.ravel(), sol.final.a], other.final.theta, atol=1e-6)
