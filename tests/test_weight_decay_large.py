"""Weight decay from large starts: margins beyond the range of doubles, of either sign, against scipy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.special import expit

import reluflow as rf


@pytest.mark.parametrize("loss", ["logistic", "exponential"])
@pytest.mark.parametrize("size", [20.0, 27.0, 40.0, 1000.0])
def test_margins_beyond_the_range_of_doubles_decay(loss: str, size: float) -> None:
    # One neuron and one sample: w = a, and (log a)' is the weight of the margin a² less the decay of 1.
    data = rf.Dataset([[1.0, 0.0]], [1])
    net = rf.Network([[size, 0.0]], [size])
    sol = rf.integrate(data, net, until=rf.Stop(time=9.0, seconds=60), loss=loss, weight_decay=1.0)
    assert sol.status == "reached_time"
    assert sol.stats["steps"] < 1000

    def rate(t: float, log_a: np.ndarray) -> np.ndarray:
        margin = np.exp(2 * log_a)
        return (np.exp(-margin) if loss == "exponential" else expit(-margin)) - 1.0

    exact = solve_ivp(rate, (0, 9), [np.log(size)], "Radau", rtol=1e-11, atol=1e-12, dense_output=True).sol
    for t in (1e-3, 1.0, 5.0, 9.0):
        assert np.log(sol(t).a[0]) == pytest.approx(exact(t)[0], abs=1e-9)


def test_other_samples_count_again_when_large_margins_have_decayed() -> None:
    # All margins are above 708 at the start. Until t = 1 the decay alone acts; from there on scipy follows.
    data = rf.Dataset([[1.0, 0.3], [-0.2, 1.0], [0.5, -1.0]], [1, -1, 1], weights=[1, 2, 0.5])
    W = np.array([[90.0, 20.0], [-10.0, 80.0], [30.0, -70.0]])
    a = np.array([60.0, -90.0, 80.0])
    net = rf.Network(W, a, leak=0.1)
    assert (data.y * net(data.X)).min() > 708
    sol = rf.integrate(data, net, until=rf.Stop(time=4.6, seconds=60), weight_decay=1.0)
    assert sol.status == "reached_time"
    np.testing.assert_allclose(sol(1.0).theta, net.theta / np.e, rtol=1e-13)

    def field(t: float, theta: np.ndarray) -> np.ndarray:
        w, out = theta[:6].reshape(3, 2), theta[6:]
        z = w @ data.X.T
        slopes = np.where(z > 0, 1.0, 0.1)
        duals = data.counts * data.y * expit(-data.y * (out @ (slopes * z)))
        return np.r_[((out[:, None] * slopes * duals) @ data.X).ravel() - theta[:6], (slopes * z) @ duals - out]

    start = np.r_[W.ravel(), a] / np.e
    end = solve_ivp(field, (1.0, 4.6), start, "Radau", rtol=1e-10, atol=1e-11).y[:, -1]
    assert (np.sign(end[:6].reshape(3, 2) @ data.X.T) == sol.final.pattern).all()
    np.testing.assert_allclose(np.r_[sol.final.W.ravel(), sol.final.a], end, rtol=0, atol=1e-7)


@pytest.mark.parametrize("size", [30.0, 300.0, 3000.0])
def test_the_fall_of_a_huge_loss_takes_no_more_steps_with_decay(size: float) -> None:
    # Margins of -1.3 size² and more: the loss falls as without decay until t = 1e-14, and scipy follows from there on.
    X = np.array([[1.0, 0.3], [0.4, 1.0], [-1.0, 0.5]])
    data = rf.Dataset(X, [1, 1, -1])
    net = rf.Network(size * np.array([[1.0, 0.5], [-0.3, -1.0]]), size * np.array([-1.2, 1.3]), leak=0.1)
    stop = rf.Stop(time=2.0, seconds=60)
    sol = rf.integrate(data, net, until=stop, loss="exponential", weight_decay=1.0)
    assert sol.status == "reached_time"
    assert sol.stats["steps"] < 500
    early = rf.integrate(data, net, until=1e-14, loss="exponential").final
    np.testing.assert_allclose(sol(1e-14).theta, early.theta, rtol=0, atol=1e-11 * size)

    def field(t: float, theta: np.ndarray) -> np.ndarray:
        w, out = theta[:4].reshape(2, 2), theta[4:]
        z = w @ X.T
        slopes = np.where(z > 0, 1.0, 0.1)
        duals = data.y * np.exp(-data.y * (out @ (slopes * z)))
        return np.r_[((out[:, None] * slopes * duals) @ X).ravel() - theta[:4], (slopes * z) @ duals - out]

    start = np.r_[early.W.ravel(), early.a]
    end = solve_ivp(field, (1e-14, 2.0), start, "Radau", rtol=1e-10, atol=1e-11 * size, first_step=1e-20).y[:, -1]
    np.testing.assert_allclose(np.r_[sol.final.W.ravel(), sol.final.a], end, rtol=0, atol=1e-7 * size)


@pytest.mark.parametrize("size", [100.0, 1000.0])
def test_a_run_that_ends_within_rounding_of_its_stop_is_not_at_rest(size: float) -> None:
    # Neurons that no sample drives decay at a rate which is below the noise of gradients at this size.
    data = rf.Dataset([[-1.0, 0.0, 10.0], [0.0, 1.0, 10.0]], [-1, -1])
    net = rf.Network(size * np.array([[-2.0, 1.0, -2.0], [2.0, -2.0, -1.0]]), size * np.array([4.4, -1.4]))
    for cut in np.geomspace(0.5, 90.0, 40):
        sol = rf.integrate(data, net, until=float(cut), weight_decay=1.5e-4, reduction="mean")
        sol = rf.integrate(data, sol, until=150.0)
        assert sol.status == "reached_time"
        np.testing.assert_allclose(sol.final.theta, net.theta * np.exp(-1.5e-4 * 150.0), rtol=1e-12)


@pytest.mark.parametrize("loss", ["logistic", "exponential"])
def test_layered_networks_decay_from_weights_of_samples_of_1e_174(loss: str) -> None:
    """In the clock of such weights orders of the decay were beyond doubles, and the run ended `stationary` at once."""
    theta = np.array([20.0, 20.0])
    net = rf.DeepNetwork([rf.Dense(1), rf.Dense(1)], theta, dim=1)
    options = {"until": 4.0, "loss": loss, "weight_decay": 1.0}
    deep = rf.integrate((np.array([[1.0]]), np.array([1.0])), net, rtol=1e-9, **options)
    two = rf.integrate(rf.Dataset([[1.0]], [1.0]), rf.Network([[20.0]], [20.0]), **options)
    assert deep.status == two.status == "reached_time", deep.message
    np.testing.assert_allclose(deep.final.theta, [two.final.W[0, 0], two.final.a[0]], rtol=1e-8)


@pytest.mark.parametrize("seed", [0, 3, 6, 9])
def test_a_critical_point_is_found_for_inputs_of_any_size(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, d, size = int(rng.integers(3, 7)), 1 + seed % 2, 1e20
    X, y = size * rng.standard_normal((n, d)), rng.choice([-1.0, 1.0], n)
    net = rf.Network.init(4, d, scale=0.3 / np.sqrt(size), seed=seed)
    until = rf.Stop(limit=True, seconds=20)
    sol = rf.integrate(rf.Dataset(X, y), net, until=until, loss="exponential", weight_decay=0.01 * size)
    assert (sol.status, sol.limit.certified) == ("reached_limit", True), sol.message
    assert sol.limit.residuals.stationarity < 1e-12
