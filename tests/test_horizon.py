"""The late phase: t = e^(10^10), and that no choice of when it begins changes the solution."""

from __future__ import annotations

import math
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy.integrate import solve_ivp

import reluflow as rf
from problems_path import problems
from reluflow import _core

Floats = npt.NDArray[np.float64]
NAMES = ("P1", "P1s", "orthogonal")
LOSSES = ("logistic", "exponential")
# log of the summed loss below which the late phase is tried: late, soon, and from the start. Very stiff steps are late
# ones in every case.
SWITCHES = {"late": -1e300, "soon": -5.0, "at once": 10.0}


@cache
def problem(name: str) -> tuple[rf.Dataset, rf.Network]:
    """A start by name: of the benchmarks, or on six orthogonally separable samples in four dimensions."""
    if name != "orthogonal":
        made = problems.load(name)
        return rf.Dataset(made.X, made.y), rf.Network(made.W, made.a)
    y = np.repeat([1.0, -1.0], 3)
    X = np.abs(np.random.default_rng(5).standard_normal((6, 4))) * y[:, None]
    return rf.Dataset(X, y), rf.Network.init(8, 4, scale=1e-1, seed=2)


@cache
def run(name: str, log_time: float, loss: str = "logistic") -> rf.Solution:
    return rf.integrate(*problem(name), until=rf.Stop(log_time=log_time), loss=loss)


def forced(name: str, loss: str, switch: float) -> dict[str, Any]:
    """A run to log t = 1000 whose late phase may begin below that loss."""
    data, net = problem(name)
    options = {"until_log_time": 1000.0, "rtol": 1e-10, "horizon_log_loss": switch}
    return dict(_core.integrate(data.X, data.y, net.W, net.a, net.leak, loss, "sum", options, None))


def norms_square(sol: rf.Solution) -> Floats:
    return np.asarray((sol.W**2).sum((1, 2)) + (sol.a**2).sum(1))


def angle(one: rf.Network, other: rf.Network) -> float:
    chord = np.linalg.norm(one.theta / one.norm - other.theta / other.norm)
    return 2 * math.asin(min(1.0, float(chord) / 2))


def distance(one: rf.Network, other: rf.Network) -> float:
    """Largest difference of the weights, relative to the size of the network."""
    return float(np.abs(one.theta - other.theta).max()) / other.norm


def smoothed_margins(sol: rf.Solution) -> Floats:
    """-log(e^L - 1)/|θ|² or -log L/|θ|² (Lyu & Li, 2020) at the accepted steps from L < ln 2 or L < 1 on."""
    log_l = sol.log_loss
    late = log_l < (0.0 if sol.loss == "exponential" else math.log(math.log(2)))
    log_l = log_l[late]
    if sol.loss == "logistic":
        loss = np.exp(np.maximum(log_l, -30.0))
        # log(e^L - 1) = log L + L/2 + O(L²)
        log_l = np.where(log_l < -30.0, log_l, np.log(np.expm1(loss)))
    return np.asarray(-log_l / norms_square(sol)[late])


# --- how far, and at what price ---


@pytest.mark.sanitize
def test_the_planar_example_reaches_a_margin_known_in_closed_form() -> None:
    data, _ = problem("P1")
    sol = run("P1", 1e10)
    margin = float((data.y * sol.final(data.X)).min()) / sol.final.norm**2
    exact = 1 / (2 * np.sum(1 / np.linalg.norm(data.X, axis=1)))
    assert sol.status == "reached_log_time"
    assert sol.success
    assert sol.stats["late_steps"] > 0
    assert sol.stats["steps"] <= 400
    assert abs(margin - exact) <= 1e-9


def test_the_log_loss_is_finite_and_right_at_log_t_of_ten_to_the_ten() -> None:
    sol = run("P1", 1e10)
    margin = float((sol.data.y * sol.final(sol.data.X)).min()) / sol.final.norm**2
    # d(1/L)/dt = |∇L|²/L² -> 4 γ log(1/L), so that 1/L -> 4 γ t log t.
    expected = -(1e10 + math.log(1e10) + math.log(4 * margin))
    assert np.isfinite(sol.log_loss).all()
    assert sol.log_loss_end == sol.log_loss[-1]
    assert sol.log_loss_end == pytest.approx(expected, rel=1e-10)
    # The law's log log t is 2e-9 of it: log t alone would not do.
    assert sol.log_loss_end != pytest.approx(-1e10, rel=2e-9)


@pytest.mark.parametrize("name", NAMES)
def test_a_longer_run_needs_fewer_and_fewer_steps(name: str) -> None:
    log_t = run(name, 1e8).log_t
    n_steps = [int((log_t <= end).sum()) for end in (1e2, 1e4, 1e6, 1e8)]
    added = [after - before for before, after in pairwise(n_steps)]
    assert added[0] > added[1] >= added[2] > 0
    assert added[2] <= 10


@pytest.mark.slow
def test_five_hundred_samples_reach_log_t_of_a_hundred_million() -> None:
    sol = run("P2", 1e8)
    n_steps = [int((sol.log_t <= end).sum()) for end in (1e4, 1e6, 1e8)]
    assert sol.status == "reached_log_time"
    assert n_steps[2] - n_steps[1] <= n_steps[1] - n_steps[0] <= 40
    assert np.diff(smoothed_margins(sol)).min() >= 0


# --- the clock changes nothing ---


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("name", NAMES)
def test_when_the_late_phase_begins_does_not_change_the_solution(name: str, loss: str) -> None:
    runs = {when: forced(name, loss, switch) for when, switch in SWITCHES.items()}
    late = runs["late"]
    taken = {tuple(made["log_t"]) for made in runs.values()}
    assert len(taken) > 1  # the runs did not take the same steps
    for made in runs.values():
        assert made["status"] == "reached_log_time"
        assert np.abs(made["final_W"] - late["final_W"]).max() <= 1e-8
        assert np.abs(made["final_a"] - late["final_a"]).max() <= 1e-8
        assert made["final_log_loss"] == pytest.approx(late["final_log_loss"], rel=1e-9)
        assert np.array_equal(made["event_kind"], late["event_kind"])
        assert np.array_equal(made["final_pattern"], late["final_pattern"])


@pytest.mark.parametrize("loss", LOSSES)
def test_the_late_phase_is_what_a_stiff_solver_finds_in_log_time(loss: str) -> None:
    data, net = problem("P1")
    grid = [20.0, 100.0, 300.0, 1000.0]
    sol = rf.integrate(data, net, until=rf.Stop(log_time=1000.0), loss=loss, rtol=1e-10, save_at_log=grid)
    assert sol.events.log_t[-1] < grid[0]
    pattern = sol.final.pattern
    assert pattern is not None
    active = (pattern > 0).astype(float)
    shape = sol.W[0].shape

    def velocity(log_t: float, u: Floats) -> Floats:
        W, a = u[: sol.W[0].size].reshape(shape), u[sol.W[0].size :]
        q = data.y * (a @ (active * (W @ data.X.T)))
        log_weight = -np.logaddexp(0, q) if loss == "logistic" else -q
        G = (active * (data.y * np.exp(log_weight + log_t))) @ data.X
        return np.concatenate([(a[:, None] * G).ravel(), (W * G).sum(1)])

    start = np.r_[sol.W[0].ravel(), sol.a[0]]
    other = solve_ivp(velocity, (grid[0], grid[-1]), start, "LSODA", grid, rtol=1e-11, atol=1e-13)
    assert other.success
    for k in range(len(grid)):
        assert np.abs(other.y[:, k] - np.r_[sol.W[k].ravel(), sol.a[k]]).max() <= 1e-8


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("name", NAMES)
def test_the_smoothed_margin_never_falls(name: str, loss: str) -> None:
    sol = run(name, 1e6, loss)
    margins = smoothed_margins(sol)
    assert sol.stats["late_steps"] > 0
    assert len(margins) > 20
    assert np.diff(margins).min() >= 0


def test_dense_output_goes_across_clocks_and_where_time_overflows() -> None:
    data, net = problem("P1")
    sol = run("P1", 1e8)
    grid = [0.0, 3.0, 5.2, 20.0, 100.0, 700.0, 709.0, 709.8, 710.0, 1000.0, 1e5, 0.9e8]
    saved = rf.integrate(data, net, until=rf.Stop(log_time=1e8), save_at_log=grid)
    W, a = sol.states(log_times=grid)
    assert np.array_equal(saved.log_t, grid)
    assert np.isinf(saved.t[-4:]).all()
    for k, log_t in enumerate(grid):
        at = sol.at(log_t=log_t)
        assert distance(rf.Network(saved.W[k], saved.a[k]), at) <= 1e-8
        assert distance(rf.Network(W[k], a[k]), at) <= 1e-8


@pytest.mark.parametrize("log_time", [2.0, 10.0, 200.0, 800.0, 1e4])
def test_a_run_continued_from_anywhere_has_the_same_limit(log_time: float, tmp_path: Path) -> None:
    whole = run("P1", 1e8)
    half = run("P1", log_time)
    half.save(tmp_path / "half.npz")
    for start in (half, half.final, rf.load(tmp_path / "half.npz")):
        rest = rf.integrate(whole.data, start, until=rf.Stop(log_time=1e8))
        assert rest.status == "reached_log_time"
        assert angle(rest.final, whole.final) <= 1e-8
        assert angle(rest.limit.network, whole.limit.network) <= 1e-10
        assert rest.log_loss_end == pytest.approx(whole.log_loss_end, rel=1e-8)


# --- where to stop ---


@pytest.mark.parametrize("tolerance", [1e-3, 1e-6])
def test_a_stop_by_direction_leaves_as_little_to_turn_as_it_says(tolerance: float) -> None:
    sol = rf.integrate(*problem("P1"), until=rf.Stop(direction=tolerance))
    far = run("P1", 1e12)
    assert sol.status == "reached_direction"
    assert sol.stats["remaining_turn"] <= tolerance
    assert 0.1 * tolerance <= angle(sol.final, far.final) <= 3 * tolerance
    assert angle(sol.final, far.limit.network) <= 3 * tolerance


def test_margins_without_digits_for_their_differences_make_no_events() -> None:
    # From log t = 1e13 on, rounding made boundaries and branchings of nothing: 9 events became 283.
    rng = np.random.default_rng(0)
    W, a, X = rng.normal(size=(8, 3)), rng.normal(size=8), rng.normal(size=(6, 3))
    f = np.maximum(X @ W.T, 0.0) @ a
    scale = math.sqrt(3 / max(float(np.abs(f).min()), 0.05))
    data, net = rf.Dataset(X, np.sign(f)), rf.Network(scale * W, scale * a)
    sol = rf.integrate(data, net, until=rf.Stop(log_time=1e16))
    assert sol.status == "reached_log_time"
    assert sol.events.counts() == rf.integrate(data, net, until=rf.Stop(log_time=1e10)).events.counts()


@pytest.mark.slow
def test_a_plateau_is_not_the_end() -> None:
    data, net = problem("P3")
    sol = rf.integrate(data, net, until=rf.Stop(direction=1e-2, log_time=1e6))

    def mean_loss(t: float) -> float:
        return float(np.logaddexp(0.0, -data.y * sol(t)(data.X)).mean())

    assert 0.027 > mean_loss(1.2) > mean_loss(2.0) > 0.026
    assert mean_loss(3.0) < 0.002
    assert sol.status == "reached_direction"
    assert sol.log_t_end > math.log(3.0)
    assert np.diff(smoothed_margins(sol)).min() >= 0


LINE = ([[1.0], [1.0], [1.0]], [1, 1, -1])
PLANE = ([[1, 0], [2, 0], [1, 1], [2, 2], [0, 1], [-1, 0.5]], [1, -1, 1, 1, -1, 1])


@pytest.mark.sanitize
@pytest.mark.parametrize(("X", "y"), [LINE, PLANE], ids=["line", "plane"])
def test_data_that_cannot_be_separated_end_at_rest(X: list[list[float]], y: list[int]) -> None:
    data = rf.Dataset(X, y)
    net = rf.Network.init(6, data.d, scale=1e-1, seed=1)
    rest = rf.integrate(data, net, until=rf.Stop(direction=1e-3))
    assert rest.status == "stationary"
    assert rest.success
    assert "the norm of the gradient is " in rest.message
    assert math.exp(rest.stats["log_gradient_norm"]) <= 1e-9
    assert rest.stats["remaining_turn"] == math.inf
    for log_time in (50.0, 1e6):
        later = rf.integrate(data, net, until=rf.Stop(log_time=log_time))
        assert later.status == "reached_log_time"
        assert later.message == rest.message
        assert later.log_t_end == log_time
        assert np.array_equal(later.final.theta, rest.final.theta)
        assert later.log_loss_end == rest.log_loss_end


def test_the_state_at_rest_is_where_the_loss_is_least() -> None:
    # Of three equal samples two are positive, so that the loss is least where 1/(1 + e^-f) = 2/3.
    data = rf.Dataset(*LINE)
    net = rf.Network.init(6, 1, scale=1e-1, seed=1)
    rest = rf.integrate(data, net, until=rf.Stop(events=100))
    assert float(rest.final(data.X)[0]) == pytest.approx(math.log(2), abs=1e-8)


@pytest.mark.parametrize("seed", [19, 35, 38])
def test_times_below_the_range_of_doubles_are_told_apart(seed: int) -> None:
    """Margins below -745 make events at log t < -745, where t is 0 in doubles: two of them had the time of the first
    and one tie, and the state at t = 0 was that behind them."""
    data = rf.Dataset([[0, 0, 1], [0, 1, 1], [1, 0, 1], [1, 1, 1]], [-1, 1, 1, 1])
    net = rf.Network.init(3, 3, scale=30.0, seed=seed)
    sol = rf.integrate(data, net, until=1.0, loss="exponential")
    layered = rf.integrate(data, net, until=1.0, loss="exponential", rates=(1.0, 1.0))
    early = [event.log_t for event in sol.events if event.t == 0.0 and event.log_t > -np.inf]
    assert len(early) > 1
    np.testing.assert_allclose(early, [event.log_t for event in layered.events if event.t == 0.0], rtol=1e-6)
    assert len(set(sol.events.tie)) == len(set(np.round(sol.events.log_t, 6)))
    assert sol(0.0) == sol.initial
    np.testing.assert_array_equal(sol.states([0.0])[0][0], net.W)
    np.testing.assert_array_equal(sol.pattern(0.0), np.sign(net.W @ data.X.T))
