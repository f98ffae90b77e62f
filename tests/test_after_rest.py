"""After a run has come to rest: any time of it, and every continuation, is there at once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import reluflow as rf

# Of the first seeds those whose flow rests before t = 1e6; the others creep like log t.
RESTING = (2, 3)


def resting(seed: int) -> tuple[rf.Dataset, rf.Network]:
    """Every sample with both labels: the flow ends at a critical point."""
    rng = np.random.default_rng([seed, 23])
    X, y = rng.standard_normal((5, 2)), rng.choice([-1.0, 1.0], 5)
    return rf.Dataset(np.vstack([X, X]), np.r_[y, -y]), rf.Network.init(4, 2, scale=0.5, seed=seed)


@pytest.mark.parametrize("seed", RESTING)
def test_any_time_after_rest_is_the_final_state(seed: int) -> None:
    data, net = resting(seed)
    sol = rf.integrate(data, net, until=1e8)
    assert "no neuron moves" in sol.message
    rest = np.exp(sol.stats["rest_log_t"])
    assert rest < 1e6
    W, a = sol.states(np.linspace(1e7, 1e8, 50))
    assert (W == sol.final.W).all()
    assert (a == sol.final.a).all()
    before = sol(0.5 * rest)
    assert np.abs(before.W - sol.final.W).max() < 1e-3


@pytest.mark.parametrize("seed", RESTING)
def test_a_continuation_from_rest_rests(seed: int) -> None:
    data, net = resting(seed)
    sol = rf.integrate(data, net, until=1e8)
    later = rf.integrate(data, sol, until=1e9)
    assert later.status == "reached_time", later.message
    assert later.stats["steps"] == 0
    assert (later.final.W == sol.final.W).all()


@pytest.mark.parametrize(
    ("first", "then"),
    [((0.0, "sum"), (0.1, "sum")), ((0.1, "sum"), (0.0, "sum")), ((0.1, "sum"), (0.1, "mean"))],
)
def test_another_weight_decay_moves_what_rested(first: tuple[float, str], then: tuple[float, str]) -> None:
    data = rf.Dataset([[1.0, 0.5], [0.5, -1.0]], [1.0, -0.7])
    net = rf.Network.init(6, 2, scale=0.5, seed=3)
    options: list[dict[str, Any]] = [{"weight_decay": decay, "reduction": name} for decay, name in (first, then)]
    sol = rf.integrate(data, net, until=1e4, loss="squared", **options[0])
    assert "rest_log_t" in sol.stats
    goes_on = rf.integrate(data, sol, until=2e4, **options[1])
    anew = rf.integrate(data, rf.Network(sol.final.W, sol.final.a), until=1e4, loss="squared", **options[1])
    np.testing.assert_allclose(goes_on.final.theta, anew.final.theta, atol=1e-9)
    assert np.abs(goes_on.final.theta - sol.final.theta).max() > 1e-2


def test_a_saved_run_that_rested_answers_after_rest(tmp_path: Path) -> None:
    data, net = resting(RESTING[0])
    sol = rf.integrate(data, net, until=1e8)
    sol.save(tmp_path / "run.npz")
    again = rf.load(tmp_path / "run.npz")(0.9e8)
    assert (again.W == sol.final.W).all()
    assert (again.a == sol.final.a).all()


@pytest.mark.parametrize("log_time", [8.0, 50.0])
def test_a_neuron_that_vanishes_with_decay_is_zero_in_the_limit(log_time):
    """The state of rest is kept, in which it is far below the tolerance; where it tends to, the limit says."""
    data = rf.Dataset([[1.0, 0.2], [0.3, 1.0]], [1, 1])
    net = rf.Network([[0.6, 0.8], [-0.6, -0.8], [0.5, 0.5]], [1.0, 1.0, -0.7])
    sol = rf.integrate(data, net, weight_decay=0.05, until=rf.Stop(log_time=log_time))
    assert sol.success
    assert sol.stats["rest_log_t"] < log_time
    assert not np.any(net.W[1] @ data.X.T > 0)  # nothing but the decay moves it
    size = np.hypot(np.linalg.norm(sol.final.W, axis=1), sol.final.a)
    assert size[1] <= 1e-11 * np.max(size)
    assert sol.limit.certified
    assert not sol.limit.network.W[1].any()
    assert sol.limit.network.a[1] == 0.0
    assert np.all(sol.limit.network.a[[0, 2]] > 1e-3)


@pytest.mark.parametrize("rtol", [1e-9, 1e-11, 1e-12])
def test_a_part_that_grows_beside_samples_at_rest_is_not_at_rest(rtol: float) -> None:
    """Weights below a millionth of the largest were left out of the rate of the network; then its tails seemed still,
    and the run took the state of log t = 11.5 for that of all later times."""
    half = np.array([[-0.444, 0.175], [-0.486, 0.473], [-0.393, 0.702], [0.531, 0.505]])
    data = rf.Dataset(np.r_[half, half[:2], -half[:2]], np.array([1.0, 1, 1, 1, -1, -1, -1, 1]))
    W = np.array([[6.201e-4, -1.051e-3], [6.483e-4, 1.306e-3], [1.743e-4, 4.444e-4], [1.106e-3, 2.414e-4]])
    net = rf.Network(W, np.array([2.759e-5, 1.198e-5, -1.208e-4, 9.016e-4]))
    sol = rf.integrate(data, net, loss="exponential", until=rf.Stop(log_time=14.0), rtol=rtol)
    assert sol.status == "reached_log_time", sol.message
    assert "rest_log_t" not in sol.stats
    assert sol.final.norm == pytest.approx(11.2992043059, rel=1e-8)  # scipy's Radau from log t = 7 on agrees to 1e-9


@pytest.mark.parametrize("rtol", [1e-7, 1e-9, 1e-12])
def test_a_slow_drift_on_stiff_weights_is_not_rest(rtol: float) -> None:
    """From |θ| = 10³ on the outputs relax within 10⁻⁵, and then θ drifts by 5e-6 of itself in a unit of time.

    What rounding of margins of such a network may make of a rate is as much, and the run was taken to be at rest.
    """
    X = np.array([[0.36, -2.07, -0.42], [-0.38, 0.33, 2.2], [1.78, -0.57, -1.12]])
    y = np.array([1.0, 1.0, -1.0])
    net = rf.Network(np.array([[473.0, 462.0, 456.0], [-82.0, -849.0, -750.0]]), np.array([-26.0, 13.0]))
    sol = rf.integrate(rf.Dataset(X, y), net, until=100.0, save_at=[0.05], reduction="sum", rtol=rtol)
    assert "rest_log_t" not in sol.stats
    active = (X @ net.W.T > 0.0).astype(float)  # and stays so

    def rate(_: float, state: np.ndarray) -> np.ndarray:
        W, a = state[:6].reshape(2, 3), state[6:]
        q = y * ((X @ W.T * active) @ a)
        g = ((y / (1.0 + np.exp(q)))[:, None] * active).T @ X
        return np.r_[(a[:, None] * g).ravel(), np.sum(W * g, axis=1)]

    start = sol(0.05)
    flow = solve_ivp(rate, (0.05, 100.0), np.r_[start.W.ravel(), start.a], "Radau", rtol=1e-10, atol=1e-12)
    assert np.abs(flow.y[:6, -1] - start.W.ravel()).max() > 0.3
    np.testing.assert_allclose(np.r_[sol.final.W.ravel(), sol.final.a], flow.y[:, -1], rtol=1e-7)


@pytest.mark.parametrize("rtol", [1e-6, 1e-9])
def test_a_fall_ends_in_a_drift(rtol: float) -> None:
    """A network of |θ| = 5,000 fits what it can of the targets within 10⁻⁶; what is left moves it by 10⁻⁸ a unit.

    The fall was fast enough to say that less than the tolerance remained of it, and the run was taken to be at rest.
    With h = max(Xw, 0) constant but for 1e-6, a = h·y / |h|² at all times, and scipy follows w' = a Xᵀ(y - a h).
    """
    X = np.array([[-1, 2, 0, -2], [1, 2, 0, 1], [0, 0, -2, 2], [2, -1, -1, -1], [-2, 1, 0, 1], [1, 1, 2, 1]], float)
    y = np.array([0.36, -0.46, 0.7, -0.04, -0.35, -0.01])
    net = rf.Network(np.array([[-2000.0, 1062.0, -3227.0, -2684.0]]), np.array([466.0]))
    sol = rf.integrate(rf.Dataset(X, y), net, until=300.0, save_at=[1e-3], loss="squared", reduction="sum", rtol=rtol)
    active = (X @ net.W[0] > 0.0).astype(float)

    def rate(_: float, w: np.ndarray) -> np.ndarray:
        h = X @ w * active
        a = h @ y / (h @ h)
        return a * X.T @ (active * (y - a * h))

    start = sol(1e-3)
    flow = solve_ivp(rate, (1e-3, 300.0), start.W[0], "RK45", rtol=1e-9, atol=1e-9)
    assert np.abs(flow.y[:, -1] - start.W[0]).max() > 1e-3
    np.testing.assert_allclose(sol.final.W[0] - start.W[0], flow.y[:, -1] - start.W[0], rtol=1e-3)


@pytest.mark.parametrize("leak", [0.0, 0.5])
def test_beside_a_network_at_rest_a_small_neuron_goes_on_to_fade(leak: float) -> None:
    """One that decay outweighs: none of the samples pulls it, or a leak lets them pull it by less than the decay."""
    # Neuron 0 rests where 1 - a² = 0.1; that, times the leak, pulls neuron 1 along the ray on which it shrinks.
    data = rf.Dataset([[1.0]], [1.0])
    net = rf.Network([[0.7], [-1e-8]], [0.7, 1e-8], leak=leak)
    times = np.array([200.0, 400.0, 600.0])
    sol = rf.integrate(data, net, until=600.0, loss="squared", weight_decay=0.1, save_at=times)
    assert "no neuron moves" in sol.message
    expected = sol(200.0).a[1] * np.exp(-(0.1 + 0.1 * leak) * (times - 200.0))
    np.testing.assert_allclose(sol.a[:, 1], expected, rtol=1e-6)
    np.testing.assert_allclose(sol.final.a[1], expected[-1], rtol=1e-6)
    np.testing.assert_allclose(sol(500.0).a[1], expected[0] * np.exp(-0.1 * (1 + leak) * 300.0), rtol=1e-6)


def test_beside_neurons_at_rest_one_of_the_other_sign_falls_twice_as_fast() -> None:
    """Both see the same pull, which the decay of the first balances."""
    sol = rf.integrate(
        ([[1.0]], [1.0]), rf.Network([[0.7], [1e-8]], [0.7, -1e-8]), until=600.0, loss="squared", weight_decay=0.1
    )
    assert "no neuron moves" in sol.message
    np.testing.assert_allclose(sol.final.a[1], sol(200.0).a[1] * np.exp(-80.0), rtol=1e-6)


@pytest.mark.parametrize("decay", [1e-6, 1e-7])
def test_a_fit_is_not_the_end_of_a_slow_decay(decay: float) -> None:
    """a² - |w|² falls as e^(-2 γ t), whatever the samples do; they were fitted ten thousand times sooner."""
    rng = np.random.default_rng(0)
    X, y = 100 * rng.standard_normal((5, 8)), 10 * rng.standard_normal(5)
    net = rf.Network.init(10, 8, scale=0.5, seed=1, imbalance=0.1)
    sol = rf.integrate((X, y), net, until=3 / decay, loss="squared", weight_decay=decay)
    assert sol.status == "reached_time"
    np.testing.assert_allclose(sol.final.balance, net.balance * np.exp(-6.0), rtol=1e-6)
