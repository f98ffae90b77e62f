"""Samples that count for more or less than others by many powers of ten."""

import math

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import expi

import reluflow as rf


def margin_at(log_time: float, start: float, weight: float) -> float:
    """Follow q = a² = w² of one balanced neuron and e^-q: q' = 2 c q e^-q, so that 2 c t = Ei(q) - Ei(q_0)."""
    log_end = math.log(2 * weight) + log_time
    end = math.log(math.exp(log_end) + expi(start))
    return float(brentq(lambda q: math.log(expi(q)) - end, start, 700.0, xtol=1e-13))


@pytest.mark.parametrize("log_time", [1.0, 10.0, 100.0])
def test_samples_of_one_weight_whose_margins_differ_by_their_counts(log_time: float) -> None:
    """Each has a neuron that sees it alone. Time is an integral over the mass, to which both of them add."""
    data = rf.Dataset(np.eye(2), [1, 1], weights=[1.0, 1e40])
    starts = np.array([5.0, 5.0 + math.log(1e40)])
    net = rf.Network(np.diag(np.sqrt(starts)) - 0.1 * np.eye(2)[::-1], np.sqrt(starts))
    sol = rf.integrate(data, net, loss="exponential", until=rf.Stop(log_time=log_time))
    want = [margin_at(log_time, start, count) for start, count in zip(starts, data.counts, strict=True)]
    np.testing.assert_allclose(sol.final(data.X), want, rtol=1e-8)


def test_samples_that_drive_nobody_do_not_tell_that_the_others_rest() -> None:
    """The second sample contradicts the first one, but counts too little to hold it before log t = 345.

    No neuron sees the third, whose loss is soon all that is left, by 80 and more e-foldings.
    """
    data = rf.Dataset([[1.0, 0.0], [1.0, 0.0], [-1.0, 0.5], [0.5, 1.0]], [1, -1, 1, 1], weights=[1.0, 1e-150, 1.0, 1.0])
    net = rf.Network([[1.0, 0.0], [0.3, 1.0]], [1.0, 1.1])
    sol = rf.integrate(data, net, until=rf.Stop(log_time=300.0))
    assert "rest_log_t" not in sol.stats
    assert sol.final(data.X)[0] == pytest.approx(margin_at(300.0, 1.0, 1.0), rel=0.02)


def test_a_neuron_that_grows_beside_others_at_rest_is_followed() -> None:
    """It is 1e-150 at first and grows by a factor e in a unit of time; heavy samples make steps a hundredth as long.

    At t = 131 the others had rested for 50 steps, and the run ended as if this neuron did.
    """
    X = [[11, 7, 4, 10], [9, 13, -10, 0], [13, 5, -13, -4], [9, 17, 0, 6], [-1, 1, 0, 7], [-2, -1, -3, -9]]
    data = rf.Dataset(np.array(X) / 10, [1.0, 2.0, 1.0, -2.0, 0.0, -1.0], weights=[1e-6, 1e4, 1.0, 1e4, 1e4, 1.0])
    net = rf.Network.init(6, 4, scale=1e-150, seed=1)
    sol, loose = (rf.integrate(data, net, loss="squared", until=150.0, rtol=rtol) for rtol in (1e-12, 1e-9))
    assert "rest_log_t" not in sol.stats
    np.testing.assert_allclose(sol.final.a[4], loose.final.a[4], rtol=1e-6)
    growth = np.log(np.abs(sol.final.a[4] / sol(131.0).a[4]))
    assert growth == pytest.approx(19.0, rel=0.1)
