"""Crossings of networks with more than one hidden layer that share a step: what each does to all layers is kept."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import reluflow as rf

END = 0.3
SEEDS = {"dense": 1, "bias": 2, "leak": 3, "residual": 4, "two outputs": 5, "convolution": 6}


def problem(kind: str) -> tuple[tuple[np.ndarray, Any], rf.DeepNetwork, str]:
    rng = np.random.default_rng(SEEDS[kind])
    X = rng.standard_normal((400, 8))
    loss = "squared" if kind == "two outputs" else "logistic"
    y = rng.standard_normal((400, 2)) if loss == "squared" else rng.choice([-1.0, 1.0], 400)
    bias = kind == "bias"
    first: rf.layered.Layer = rf.Dense(12, bias=bias)
    if kind == "convolution":
        first = rf.Conv1d(4, 3)
    second: rf.layered.Layer = rf.Residual(rf.Dense(12)) if kind == "residual" else rf.Dense(12, bias=bias)
    last = rf.Dense(2 if loss == "squared" else 1, activation="linear")
    dim: Any = (1, 8) if kind == "convolution" else 8
    leak = 0.1 if kind == "leak" else 0.0
    return (X, y), rf.DeepNetwork.init([first, second, last], dim=dim, scale=1.5, seed=SEEDS[kind], leak=leak), loss


def run(kind: str, rtol: float, end: float = END, **options: Any) -> tuple[rf.DeepSolution, Any]:
    data, net, loss = problem(kind)
    options = {"until": end, "reduction": "mean", **options}
    sol = rf.integrate(data, net, loss=loss, rtol=rtol, **options)
    e = sol.events
    rows = sorted(zip(e.layer.tolist(), e.unit.tolist(), e.sample.tolist(), e.kind.tolist(), strict=True))
    return sol, rows


@pytest.mark.parametrize("kind", SEEDS)
@pytest.mark.parametrize("rtol", [1e-6, 1e-9])
def test_events_and_states_are_right_to_the_tolerance(kind: str, rtol: float) -> None:
    exact, rows = run(kind, 1e-13)
    sol, found = run(kind, rtol)
    assert len(rows) > 20
    assert found == rows
    assert np.abs(np.sort(sol.events.t) - np.sort(exact.events.t)).max() < 20 * rtol * END
    assert np.abs(sol.final.theta - exact.final.theta).max() < 5 * rtol * np.abs(exact.final.theta).max()


@pytest.mark.parametrize("kind", ["dense", "leak", "residual", "convolution"])
def test_crossings_share_steps_where_the_tolerance_allows_it(kind: str) -> None:
    sol, rows = run(kind, 1e-6)
    assert sol.stats["steps"] < 0.6 * len(rows)
    tight, _ = run(kind, 1e-12)
    assert tight.stats["steps"] > 0.8 * len(rows)


def test_the_numbers_agree_with_a_solver_that_goes_straight_through() -> None:
    from scipy.integrate import solve_ivp

    from reluflow.layered._gradient import Backward, duals

    data, net, loss = problem("dense")
    network, targets = Backward(net.nodes, data[0]), data[1][:, None]

    def velocity(t: float, theta: np.ndarray) -> np.ndarray:
        lam = duals(network.outputs(theta), targets, loss)
        return np.asarray(network.descent(lam / len(data[0]), len(theta)))

    there = solve_ivp(velocity, (0.0, END), net.theta, method="DOP853", rtol=1e-10, atol=1e-12).y[:, -1]
    sol, _ = run("dense", 1e-7)
    assert sol.stats["steps"] < len(sol.events)
    assert np.abs(sol.final.theta - there).max() < 1e-6


def test_a_layer_far_smaller_than_the_others_is_followed_by_its_own_size() -> None:
    data, net, loss = problem("dense")
    theta = np.array(net.theta)
    theta[: 12 * 8] *= 1e-7  # ReLU(c z) = c ReLU(z): the same function
    theta[12 * 8 : 12 * 8 + 144] *= 1e7
    small = net._with(theta)
    exact, sol = (rf.integrate(data, small, until=1e-14, loss=loss, reduction="mean", rtol=r) for r in (1e-13, 1e-6))
    e, f = (
        {(*map(int, row),) for row in zip(s.events.layer, s.events.unit, s.events.sample, strict=True)}
        for s in (exact, sol)
    )
    assert len(e) > 5
    assert e == f
    W, V = (np.array(s.final.layers[0].W) for s in (exact, sol))
    assert np.abs(W - V).max() < 1e-5 * np.abs(W).max()


def test_states_saved_between_shared_crossings_are_those_of_their_times() -> None:
    times = np.linspace(END / 10, END, 10)
    often, _ = run("dense", 1e-6, save_at=times)
    for k in (2, 6):
        alone, _ = run("dense", 1e-12, float(times[k]))
        assert np.abs(often.theta[k] - alone.final.theta).max() < 5e-6 * np.abs(alone.final.theta).max()


def test_a_number_of_events_ends_a_run_exactly() -> None:
    sol, _ = run("dense", 1e-6, until=rf.Stop(events=17))
    assert (sol.status, len(sol.events)) == ("reached_events", 17)
    assert sol.t_end == sol.events.t[-1]


def test_signs_follow_the_events_of_shared_steps() -> None:
    sol, _ = run("dense", 1e-6)
    X = sol.data[0]
    h = X
    for layer, sides in zip(sol.final.layers[:2], sol.pattern(sol.t_end)[:2], strict=True):
        z = h @ layer.W.T
        away = np.abs(z) > 1e-4 * np.abs(z).max()
        np.testing.assert_array_equal(np.sign(z)[away], sides[away])
        h = np.maximum(z, 0.0)
