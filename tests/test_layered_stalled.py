"""Layered networks where the weights of samples cancel in the gradient: they rest, or the run says that it stalls.

The parity of three bits in ±1 is odd, and what is odd of two layers without bias is linear: outputs of zero are the
best that they can do, and there no sample moves any neuron.
"""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import reluflow as rf

X = np.array(list(product([-1.0, 1.0], repeat=3)))
Y = X.prod(axis=1)
FAR = 60.0  # log t


def start(scale: float, seed: int) -> rf.DeepNetwork:
    return rf.DeepNetwork.init([rf.Dense(8), rf.Dense(1)], dim=3, scale=scale, seed=seed)


def weights(sol: rf.Solution) -> np.ndarray:
    return np.concatenate((sol.final.W.ravel(), sol.final.a))


def follow(net: rf.DeepNetwork, loss: rf.LossName, log_time: float = FAR, steps: int = 3000) -> rf.layered.DeepSolution:
    """Run to a far time; a run without end comes to that many steps."""
    until = rf.Stop(log_time=log_time, steps=steps)
    return rf.integrate((X, Y), net, until=until, loss=loss, on_branch="active")


@pytest.mark.parametrize("loss", ["logistic", "squared"])
@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("scale", [1e-1, 1e-2])
def test_outputs_that_fall_to_zero_end_at_rest(scale: float, seed: int, loss: rf.LossName) -> None:
    """Of seed 1 a unit slides: off its boundary by the tolerance it was driven for ever. Steps had no end."""
    net = start(scale, seed)
    sol = follow(net, loss)
    assert sol.status == "reached_log_time", sol.message
    assert np.abs(sol.final(X)).max() < 1e-9 * scale**2
    assert sol.stats["steps"] < 1000
    two = rf.Network(net.layers[0].W, net.layers[1].W.ravel())
    own = rf.integrate(rf.Dataset(X, Y), two, until=rf.Stop(log_time=FAR), loss=loss, on_branch="active")
    np.testing.assert_allclose(sol.final.theta, weights(own), rtol=0.0, atol=1e-6 * scale)


@pytest.mark.parametrize("loss", ["logistic", "squared"])
@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("scale", [1e-5, 1e-6, 1e-8])
def test_a_run_whose_gradient_is_hidden_by_rounding_stalls(scale: float, seed: int, loss: rf.LossName) -> None:
    """Outputs fall to zero at t of some |θ|⁻², and rounding of the gradient has moved θ by far more by then."""
    sol = follow(start(scale, seed), loss)
    assert sol.status == "stalled", sol.message
    assert "weights of samples cancel" in sol.message
    assert np.abs(sol.final(X)).max() > 1e-4 * np.abs(sol.final.theta).max() ** 2


@pytest.mark.parametrize("scale", [1e-5, 1e-6])
def test_until_then_the_state_is_known(scale: float) -> None:
    net = start(scale, 0)
    near = follow(net, "logistic", log_time=15.0)
    assert near.status == "reached_log_time", near.message
    two = rf.Network(net.layers[0].W, net.layers[1].W.ravel())
    own = rf.integrate(rf.Dataset(X, Y), two, until=rf.Stop(log_time=15.0))
    np.testing.assert_allclose(near.final.theta, weights(own), rtol=0.0, atol=1e-7 * scale)


def test_outputs_that_are_zero_move_none() -> None:
    half = start(1e-7, 2)
    W, a = half.layers[0].W, half.layers[1].W.ravel()
    net = rf.DeepNetwork([rf.Dense(16), rf.Dense(1)], np.r_[W.ravel(), W.ravel(), a, -a], dim=3)
    sol = follow(net, "logistic")
    assert sol.status == "reached_log_time", sol.message
    np.testing.assert_allclose(sol.final.theta, net.theta, rtol=0.0, atol=1e-8 * 1e-7)


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("scale", [1e-6, 1e-9])
def test_a_small_start_that_takes_long_to_grow_does_not_stall(scale: float, seed: int) -> None:
    """Three layers grow at a rate of their own size, and nothing cancels; the data can be separated."""
    rng = np.random.default_rng(seed)
    data = rng.standard_normal((6, 3))
    labels = np.sign(data @ [1.0, -1.0, 0.5])
    net = rf.DeepNetwork.init([rf.Dense(5), rf.Dense(4), rf.Dense(1)], dim=3, scale=scale, seed=seed)
    until = rf.Stop(log_time=FAR, steps=3000)
    sol = rf.integrate((data, labels), net, until=until, loss="logistic", on_branch="active")
    assert sol.status == "reached_log_time", sol.message
    assert np.abs(sol.final.theta).max() > 1.0


# Three samples at one place, which hold each other, and one at right angles, whose margin of 36 weighs e^-36 of them.
TURN = np.array([[np.cos(0.7), -np.sin(0.7)], [np.sin(0.7), np.cos(0.7)]])
HELD = np.array([[1.0, 0.0], [1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]) @ TURN.T
HELD_LABELS = np.array([1.0, 1.0, -1.0, 1.0])


def one_unit() -> rf.DeepNetwork:
    return rf.DeepNetwork([rf.Dense(1), rf.Dense(1)], np.r_[TURN @ [0.8, 6.0], np.hypot(6.0, 0.8)], dim=2)


@pytest.mark.parametrize("log_time", [46.0, 200.0])
def test_a_sample_that_still_moves_a_unit_unseen_is_no_rest(log_time: float) -> None:
    """The others move all weights of the unit, too, and cancel: it was given its first margin at all times."""
    until = rf.Stop(log_time=log_time, steps=3000)
    sol = rf.integrate((HELD, HELD_LABELS), one_unit(), until=until, loss="logistic")
    assert sol.status == "stalled"
    assert "sample 3 still moves weights" in sol.message


def test_a_sample_that_moves_nothing_in_the_time_that_is_left_does_not_stall() -> None:
    sol = rf.integrate((HELD, HELD_LABELS), one_unit(), until=rf.Stop(log_time=12.0, steps=3000), loss="logistic")
    assert sol.status == "reached_log_time", sol.message
    two = rf.Network([one_unit().theta[:2]], [one_unit().theta[2]])
    own = rf.integrate(rf.Dataset(HELD, HELD_LABELS), two, until=rf.Stop(log_time=12.0))
    np.testing.assert_allclose(sol.final.theta, weights(own), rtol=0.0, atol=1e-8)


def test_a_sample_that_others_hold_rests_whatever_it_weighs() -> None:
    """f = c x on x > 0: samples at 1 of both labels hold c near log 55, and with it the one at 12, of weight e^-48."""
    net = rf.DeepNetwork([rf.Dense(1), rf.Dense(1)], [1.0, 1.0], dim=1)
    data = (np.array([[1.0], [1.0], [12.0]]), np.array([1.0, -1.0, 1.0]), np.array([55.0, 1.0, 1.0]))
    sol = rf.integrate(data, net, until=rf.Stop(log_time=1e3, steps=3000), loss="logistic")
    assert sol.status == "reached_log_time", sol.message
    assert np.ravel(sol.final([[1.0]]))[0] == pytest.approx(np.log(55.0), rel=1e-9)
