"""Samples whose weight is below the rounding of weights that cancel: a network that they move is not at rest."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import reluflow as rf

CONTRADICTORY = rf.Dataset([[1.0, 0.0], [1.0, 0.0], [1.0, 0.0], [0.0, 1.0]], [1, 1, -1, 1])
SIZE = 6.0


def start() -> rf.Network:
    """Neuron 0 drives the samples at e₁, neuron 1 the one at e₂, with a margin of 36."""
    return rf.Network([[0.5, -0.1], [-0.1 * SIZE, SIZE]], [0.5, np.hypot(SIZE, 0.1 * SIZE)])


def margin(log_time: float) -> float:
    """Of the sample at e₂: q = a z with a² - z² constant, so that dq/dt = (a² + z²) / (1 + e^q)."""
    difference = (0.1 * SIZE) ** 2

    def rate(t: float, q: np.ndarray) -> np.ndarray:
        return np.sqrt(4 * q**2 + difference**2) * np.exp(t - np.logaddexp(0.0, q))

    begin = [SIZE * np.hypot(SIZE, 0.1 * SIZE)]
    return float(solve_ivp(rate, (-5.0, log_time), begin, method="LSODA", rtol=1e-10, atol=1e-10).y[0, -1])


@pytest.mark.parametrize("log_time", [12.0, 15.0, 20.0, 46.0, 1e3])
def test_a_state_that_goes_on_unseen_is_not_given_as_that_of_a_later_time(log_time: float) -> None:
    sol = rf.integrate(CONTRADICTORY, start(), until=rf.Stop(log_time=log_time))
    assert sol.success, sol.message
    assert ("at rest, where the loss stalls" in sol.message) == (log_time > 16.0)  # e^-36 moves nothing until then
    assert sol.final([[0.0, 1.0]])[0] == pytest.approx(margin(log_time), rel=1e-8)
    assert sol.final([[1.0, 0.0]])[0] == pytest.approx(np.log(2.0), rel=1e-8)


def test_a_run_that_only_a_loss_ends_tells_the_sample_that_goes_on_unseen() -> None:
    sol = rf.integrate(CONTRADICTORY, start(), until=rf.Stop(loss=1e-3))
    assert sol.status == "stalled"
    assert "sample 3 (margin 36.1" in sol.message


def test_what_rests_until_one_time_does_not_until_a_later_one() -> None:
    first = rf.integrate(CONTRADICTORY, start(), until=rf.Stop(log_time=12))
    assert first.success
    assert rf.integrate(CONTRADICTORY, first, until=rf.Stop(log_time=15)).success
    later = rf.integrate(CONTRADICTORY, first, until=rf.Stop(log_time=1e3))
    assert later.success, later.message
    assert later.final([[0.0, 1.0]])[0] == pytest.approx(margin(1e3), rel=1e-8)


def test_gradients_that_cancel_to_nothing_hide_a_sample_too() -> None:
    """Weights of 1/2 cancel exactly, and beside them e^-1600 is zero; that sample would grow for ever."""
    data = rf.Dataset([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]], [1, -1, 1])
    net = rf.Network([[1.0, 0.0], [1.0, 0.0], [0.0, 40.0]], [1.0, -1.0, 40.0])
    grown = rf.integrate(data, net, until=rf.Stop(log_norm=5.0))
    assert grown.status == "reached_log_norm"  # 2 w² is the square of the norm, but for the two at rest
    assert grown.final([[0.0, 1.0]])[0] == pytest.approx(0.5 * (np.exp(10.0) - np.sum(grown.final.theta[:2] ** 2)))
    assert grown.log_t_end == pytest.approx(grown.final([[0.0, 1.0]])[0], rel=1e-2)
    assert rf.integrate(data, net, until=rf.Stop(loss=1e-3)).status == "stalled"
    assert rf.integrate(data, net, until=rf.Stop(log_time=1e3)).success  # nothing moves before e^1600
    assert rf.integrate(data, net, until=rf.Stop(limit=True)).limit.certified


def test_a_sample_that_others_hold_rests_whatever_it_weighs() -> None:
    """f = c x on x > 0: samples at 1 of both labels hold c near log 55, and with it the one at 12, of weight e^-48."""
    data = rf.Dataset([[1.0], [1.0], [12.0]], [1, -1, 1], weights=[55.0, 1.0, 1.0])
    sol = rf.integrate(data, rf.Network([[0.1], [-0.3]], [0.1, 0.3]), until=rf.Stop(log_time=1e3))
    assert sol.status == "reached_log_time", sol.message
    assert sol.final([[1.0]])[0] == pytest.approx(np.log(55.0), rel=1e-12)


@pytest.mark.parametrize("seed", [10, 25, 61, 122, 167, 228])
def test_a_stalled_run_that_goes_on_does_not_come_to_rest(seed: int) -> None:
    """Whole numbers with random labels: part of the network grows for ever, at a rate that is rounding."""
    rng = np.random.default_rng([seed, 9])
    n, d = int(rng.integers(5, 14)), int(rng.integers(2, 4))
    most = int(rng.choice([1, 2, 3]))
    X = rng.integers(-most, most + 1, (n, d)).astype(float)
    X = X[X.any(axis=1)]
    data = rf.Dataset(X, rng.choice([-1.0, 1.0], len(X)))
    net = rf.Network.init(
        10, d, scale=float(rng.choice([0.01, 1, 10, 100])), leak=float(rng.choice([0, 0.1, 0.5])), seed=seed
    )
    first = rf.integrate(data, net, until=rf.Stop(log_norm=40.0, seconds=20.0))
    if first.status == "stalled":
        assert rf.integrate(data, first, until=rf.Stop(log_norm=40.0)).status != "stationary"
    else:
        assert first.status != "stationary" or first.limit.kind == "finite"


def parity(width: int, scale: float) -> tuple[rf.Dataset, rf.Network]:
    """Three bits: Σ y x over any half space is zero, so that neurons are moved by their own outputs alone."""
    X = np.array(list(product([-1.0, 1.0], repeat=3)))
    return rf.Dataset(X, X.prod(axis=1)), rf.Network.init(width, 3, scale=scale, seed=2)


@pytest.mark.parametrize(
    ("scale", "loss"), [(1e-7, "logistic"), (1e-8, "logistic"), (1e-9, "exponential"), (1e-8, "squared")]
)
def test_outputs_below_the_digits_of_weights_still_move_neurons(scale: float, loss: rf.LossName) -> None:
    """Within t of some |θ|⁻² they fall to zero; the start was given as the state of every later time."""
    data, net = parity(20, scale)
    near = rf.integrate(data, net, loss=loss, until=rf.Stop(log_time=10.0))
    assert near.success, near.message
    np.testing.assert_allclose(near.final.W, net.W, rtol=0.0, atol=1e-6 * scale)
    far = rf.integrate(data, net, loss=loss, until=rf.Stop(log_time=60.0))
    assert far.status == "stalled", far.message
    assert "outputs of at most" in far.message


def test_outputs_that_are_zero_move_none() -> None:
    data, half = parity(10, 1e-7)
    net = rf.Network(np.r_[half.W, half.W], np.r_[half.a, -half.a])
    sol = rf.integrate(data, net, until=rf.Stop(log_time=60.0))
    assert sol.success, sol.message
    np.testing.assert_allclose(sol.final.W, net.W, rtol=0.0, atol=1e-20)
