"""Samples of very different sizes in one data set: none is so small that it moves nothing, given time."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_ivp

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


@pytest.mark.parametrize("small", [1e-15, 1e-20, 1e-30])
@pytest.mark.parametrize("side", [1.0, -1.0])
def test_an_output_weight_passes_zero_beside_a_fitted_sample(small: float, side: float) -> None:
    """The neuron slides on the boundary of the fitted sample, whose pull is rounding, far above that of the tiny one.

    It has no part in the rate of the output weight, as w is zero there; yet that was said not to be known, and the
    output weight stuck at zero."""
    net = rf.Network(np.eye(2), [0.5, 0.5 * side])
    sol = rf.integrate(([[small, 0.0], [0.0, 1.0]], [-1.0, 0.5 * side]), net, until=1.0 / small, loss="squared")
    assert sol.status == "reached_time"
    assert sol.final.a[0] == pytest.approx(0.5 * np.cosh(1.0) - np.sinh(1.0), rel=1e-9)
    assert sol.final.W[0, 0] == pytest.approx(np.cosh(1.0) - 0.5 * np.sinh(1.0), rel=1e-9)


def held_at_a_fitted_sample() -> np.ndarray:
    """(a, w) of one neuron that the pull -1 along the first axis moves by one unit of time, with a w₁ kept at 1/2."""

    def velocity(_, state):
        a, first, second = state
        pull = first * second / (a * a + second * second)  # of the fitted sample: (a w₁)' = 0
        return [-first + pull * second, -a, pull * a]

    square = (0.25 + np.hypot(0.25, 1.0)) / 2  # a² - w₁² = 1/4 and a w₁ = 1/2, once it is fitted
    start = [np.sqrt(square), 1.0, 0.5 / np.sqrt(square)]
    return solve_ivp(velocity, (0.0, 1.0), start, method="DOP853", rtol=1e-12, atol=1e-14).y[:, -1]


@pytest.mark.parametrize("small", [1e-10, 1e-12, 1e-14])
def test_a_tiny_sample_turns_a_neuron_that_a_fitted_one_holds(small: float) -> None:
    """Late steps ended Newton's method at the rounding of outputs, and what that left moved the neuron between nodes:
    none was longer than 10⁵, and the run had no end."""
    until = rf.Stop(time=1.0 / small, seconds=5.0)
    sol = rf.integrate(
        ([[small, 0.0], [0.0, 1.0]], [-1.0, 0.5]), rf.Network([[1.0, 0.0]], [0.5]), until=until, loss="squared"
    )
    assert sol.status == "reached_time"
    assert sol.stats["steps"] < 500
    np.testing.assert_allclose([sol.final.a[0], *sol.final.W[0]], held_at_a_fitted_sample(), rtol=1e-8)


@pytest.mark.parametrize("rtol", [1e-7, 1e-9, 1e-11])
def test_polynomials_of_a_late_step_do_not_tell_where_a_tiny_sample_drives(rtol: float) -> None:
    """At log t = -300 what drives neurons 3 and 4 beside their boundaries has e^-120 of all weight, and grows by far
    more than these polynomials follow: where the step begins even their sign is wrong. They took both neurons across
    boundaries that repel, and the run ended 2e-2 off."""
    rng = np.random.default_rng(246)
    X = rng.integers(-2, 3, (15, 5)).astype(float)
    y = np.where(X[:, 0] > 0, 1.0, -1.0)
    y[rng.random(15) < 0.2] *= -1
    W = rng.integers(-2, 3, (5, 5)).astype(float)
    a = np.linalg.norm(W, axis=1) * np.exp(rng.uniform(0.1, 3, 5)) * rng.choice([-1.0, 1.0], 5)
    assert X.any(axis=1).all()
    assert W.any(axis=1).all()
    size = np.sqrt(600.0 / -np.min(y * (a @ np.maximum(W @ X.T, 0))))  # the least margin is -600

    def run(rtol: float) -> rf.Solution:
        net = rf.Network(size * W, size * a)
        return rf.integrate(rf.Dataset(X, y), net, until=1e-3, loss="exponential", rtol=rtol)

    assert rf.analysis.relative_error(run(rtol).final, run(1e-12).final) < 1e-8
