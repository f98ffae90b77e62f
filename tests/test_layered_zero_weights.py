"""Layered networks with weights that are exactly zero, and inputs that cancel: sides that rates do not tell."""

from __future__ import annotations

import numpy as np
import pytest

import reluflow as rf

Problem = tuple[list[list[float]], list[float], list[rf.layered.Layer], list[float], float, str]

STARTS: dict[str, Problem] = {
    # the sides that a weight of zero sends to a sample on which its input wakes
    "wakes": (
        [[2.0], [1.0]], [1.0, 1.0], [rf.Dense(1, bias=True), rf.Dense(1), rf.Dense(1)], [1, -1, 0, 1], 0.0, "squared",
    ),
    # all that a unit reads and all that reads it is zero
    "two rows": (
        [[1, 2], [-2, -2], [-1, -1]], [1, 0, 0], [rf.Dense(1), rf.Dense(2), rf.Dense(1)],
        [1, -1, 0, 0, -1, 0], 0.1, "squared",
    ),
    # duals of two samples cancel for an instant: what is pulled leaves by its third order
    "four layers": (
        [[-2, 0], [-2, -1], [-2, 0]], [-1, 1, 1],
        [rf.Dense(2, bias=True), rf.Dense(2), rf.Dense(2, bias=True), rf.Dense(1)],
        [0, 1, -1, -1, 1, 1, 1, 0, 0, -1, 0, 1, 0, -1, 1, 1, 1, -1], 0.0, "exponential",
    ),
    # a second matrix and biases of zero, and a sample of zeros
    "second matrix": (
        [[0, 0], [-0.004182866305828175, -0.9263847648154261], [0.27212364352286766, -0.4287979904905125],
         [-1.155923431409828, 0.9364295911030335], [-0.04883777754840065, 0.5869947590840764]], [1, 1, 1, 1, 1],
        [rf.Dense(2, bias=True), rf.Dense(2, bias=True), rf.Dense(1)],
        [-0.8709186516695574, 0.18888161931684094, -0.004897508939190402, 0.35463900820834754, 0, 0, 0, 0, 0, 0, 0, 0,
         0.6325308777744859, -0.3846999009669628], 0.0, "logistic",
    ),
}  # fmt: skip


def end(problem: Problem, theta: np.ndarray, X: np.ndarray | None = None) -> np.ndarray:
    given, y, layers, _, leak, loss = problem
    X = np.array(given, dtype=float) if X is None else X
    net = rf.DeepNetwork(layers, theta, dim=X.shape[1], leak=leak)
    sol = rf.integrate((X, np.array(y, dtype=float)), net, until=1.0, loss=loss, max_events=100)
    assert sol.status == "reached_time", sol.message
    return np.asarray(sol.final.theta)


@pytest.mark.parametrize("name", STARTS)
def test_a_weight_of_zero_is_the_limit_of_small_ones(name: str) -> None:
    """Rates of what reads through it are zero: they took the inactive side, and runs went wrong or gave up."""
    theta = np.array(STARTS[name][3], dtype=float)
    found = end(STARTS[name], theta)
    for seed in range(3):
        moved = theta + 1e-8 * np.random.default_rng(seed).random(theta.size) * (theta == 0.0)
        np.testing.assert_allclose(found, end(STARTS[name], moved), atol=1e-5)


def test_a_unit_that_wakes_another_is_that_of_small_steps() -> None:
    """Euler's method, written out for one unit a layer."""
    w, b, v, a = 1.0, -1.0, 0.0, 1.0
    x, y, step = np.array([2.0, 1.0]), np.ones(2), 1e-5
    for k in range(100_000):
        z = w * x + b
        h = np.where((z > 0.0) | (k == 0), z, 0.0)
        g = np.maximum(v * h, 0.0)
        force = (y - a * g) * a * (z >= 0.0)
        w, b, v, a = (
            w + step * (force * v) @ x, b + step * (force * v).sum(), v + step * (force * h).sum(),
            a + step * ((y - a * g) * g).sum(),
        )  # fmt: skip
    np.testing.assert_allclose(end(STARTS["wakes"], np.array([1.0, -1.0, 0.0, 1.0])), [w, b, v, a], atol=1e-4)


@pytest.mark.parametrize("leak", [0.0, 0.1])
@pytest.mark.parametrize("label", [-1.0, 1.0])
def test_inputs_that_cancel_under_one_weight_are_no_boundary(leak: float, label: float) -> None:
    """The unit is zero on that sample for good. It met a boundary without a normal, which nothing decided."""
    layers: list[rf.layered.Layer] = [rf.Shared([[0, 0], [1, 2]]), rf.Dense(1)]
    problem: Problem = ([[1, -1], [0.5, 1]], [label, 1], layers, [], leak, "logistic")
    theta = np.array([0.5, 0.3, -0.2, 1.0, -1.0])
    near = np.array([[1.0, -1.0 + 1e-8], [0.5, 1.0]])
    np.testing.assert_allclose(end(problem, theta), end(problem, theta, near), atol=1e-6)
