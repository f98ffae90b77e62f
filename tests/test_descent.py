"""`descend` seen from Python: its result, its settings, and its limit, the flow."""

from __future__ import annotations

import _thread
import threading

import numpy as np
import pytest

import reluflow as rf
from toys import digits_like, one_neuron


def test_the_kept_states_are_every_so_many_steps_and_the_ends() -> None:
    data, net = digits_like()
    run = rf.descend(data, net, step=0.01, n_steps=25, save_every=10)
    assert run.step_index.tolist() == [0, 10, 20, 25]
    np.testing.assert_allclose(run.t, [0.0, 0.1, 0.2, 0.25], rtol=1e-15)
    assert run.W.shape == (4, net.width, net.dim)
    assert run.a.shape == (4, net.width)
    assert run.log_loss.shape == (4,)
    np.testing.assert_array_equal(run.W[0], net.W)
    np.testing.assert_array_equal(run.W[-1], run.final.W)
    np.testing.assert_array_equal(run.a[-1], run.final.a)


def test_without_save_every_the_two_ends_are_kept() -> None:
    run = rf.descend(*digits_like(), step=0.01, n_steps=25)
    assert run.step_index.tolist() == [0, 25]
    assert (run.steps_done, run.status, run.success) == (25, "reached_steps", True)
    assert run.message == "all steps were taken"
    assert run.seconds > 0


@pytest.mark.parametrize("loss", ["logistic", "exponential"])
@pytest.mark.parametrize("reduction", ["sum", "mean"])
@pytest.mark.parametrize("leak", [0.0, 0.3])
def test_one_step_goes_against_the_gradient(loss: str, reduction: str, leak: float) -> None:
    data, start = digits_like(n=7, d=3, width=4)
    net = rf.Network(50 * start.W, 50 * start.a, leak=leak)
    run = rf.descend(data, net, step=0.1, n_steps=1, loss=loss, reduction=reduction)

    def value(W: np.ndarray, a: np.ndarray) -> float:
        q = data.y * rf.Network(W, a, leak=leak)(data.X)
        losses = np.log1p(np.exp(-q)) if loss == "logistic" else np.exp(-q)
        return float(losses.sum() if reduction == "sum" else losses.mean())

    h = 1e-6  # central differences: h² of truncation, 1e-16 / h of rounding
    for j in range(net.width):
        bump = np.zeros(net.width)
        bump[j] = h
        slope = (value(net.W, net.a + bump) - value(net.W, net.a - bump)) / (2 * h)
        assert run.final.a[j] == pytest.approx(net.a[j] - 0.1 * slope, abs=1e-9)
        for x in range(net.dim):
            side = np.zeros_like(net.W)
            side[j, x] = h
            slope = (value(net.W + side, net.a) - value(net.W - side, net.a)) / (2 * h)
            assert run.final.W[j, x] == pytest.approx(net.W[j, x] - 0.1 * slope, abs=1e-9)
    assert np.exp(run.log_loss[0]) == pytest.approx(value(net.W, net.a), rel=1e-13)
    assert run.final.leak == leak


def test_the_error_against_the_flow_halves_with_the_step() -> None:
    data, net = one_neuron()
    exact = rf.integrate(data, net, until=2.0).final
    errors = [
        abs(rf.descend(data, net, step=step, n_steps=round(2.0 / step)).final.W[0, 0] - exact.W[0, 0])
        for step in (0.02, 0.01, 0.005)
    ]
    assert errors[0] / errors[1] == pytest.approx(2.0, abs=0.05)
    assert errors[1] / errors[2] == pytest.approx(2.0, abs=0.03)


def test_minibatches_of_all_samples_are_gradient_descent() -> None:
    data, net = digits_like()
    plain = rf.descend(data, net, step=0.01, n_steps=20)
    batch = rf.descend(data, net, step=0.01, n_steps=20, batch_size=data.n)
    np.testing.assert_allclose(batch.final.W, plain.final.W, rtol=1e-12, atol=1e-15)


def test_minibatches_depend_on_the_seed_and_on_nothing_else() -> None:
    data, net = digits_like()
    first, again, other = (rf.descend(data, net, n_steps=30, batch_size=7, seed=seed).final for seed in (1, 1, 2))
    assert first == again
    assert first != other


def test_the_settings_hold_every_argument() -> None:
    data, net = digits_like()
    run = rf.descend(data, net, step=0.02, n_steps=3, batch_size=5, seed=4, loss="exponential", reduction="mean")
    assert run.settings == {
        "step": 0.02,
        "n_steps": 3,
        "batch_size": 5,
        "seed": 4,
        "loss": "exponential",
        "reduction": "mean",
        "weight_decay": 0.0,
        "save_every": None,
        "version": rf.__version__,
    }
    assert run.data is data
    assert run.initial is net


def test_every_array_is_read_only() -> None:
    run = rf.descend(*digits_like(), n_steps=2)
    for array in (run.t, run.step_index, run.W, run.a, run.log_loss, run.final.W):
        assert not array.flags.writeable


def test_a_step_that_is_too_large_is_an_outcome() -> None:
    data, _ = digits_like(n=7, d=3, width=4)
    run = rf.descend(data, rf.Network.init(4, 3, scale=1.0), step=1e200, n_steps=50)
    assert (run.status, run.success) == ("non_finite", False)
    assert run.message == "a weight is not finite; the step size is too large"
    assert run.steps_done < 50


def test_ctrl_c_returns_the_steps_so_far() -> None:
    timer = threading.Timer(0.3, _thread.interrupt_main)
    timer.start()
    run = rf.descend(*digits_like(n=400, d=50, width=100), n_steps=10**7)
    timer.join()
    assert (run.status, run.success) == ("interrupted", False)
    assert 0 < run.steps_done < 10**7
    assert run.step_index[-1] == run.steps_done
    assert "W=" not in repr(run)


@pytest.mark.parametrize("rates", [(0.5, 0.3), (3.0, 0.7), (1e-3, 5.0)])
def test_with_two_rates_a_start_on_a_boundary_is_on_it(rates):
    data = rf.Dataset([[-2.0, 2.0, -1.0]], [1.0])
    net = rf.Network([[2.0, 3.0, 2.0]], [1.0])
    found = rf.descend(data, net, step=0.01, n_steps=1, rates=rates).final
    np.testing.assert_array_equal(found.W, net.W)
    np.testing.assert_array_equal(found.a, net.a)


def test_steps_with_two_rates_are_those_of_the_layers_times_them():
    rng = np.random.default_rng(2)
    data = rf.Dataset(rng.standard_normal((5, 3)), np.where(rng.random(5) < 0.5, -1, 1))
    W, a = rng.standard_normal((4, 3)), rng.standard_normal(4)
    found = rf.descend(data, rf.Network(W, a), step=0.1, n_steps=20, rates=(0.3, 5.0), weight_decay=0.2).final
    for _ in range(20):
        Z = np.maximum(data.X @ W.T, 0.0)
        lam = data.y / (1 + np.exp(data.y * (Z @ a)))
        down_W, down_a = a[:, None] * ((Z > 0).T * lam) @ data.X - 0.2 * W, lam @ Z - 0.2 * a
        W, a = W + 0.1 * 0.3 * down_W, a + 0.1 * 5.0 * down_a
    np.testing.assert_allclose(found.W, W, rtol=1e-12)
    np.testing.assert_allclose(found.a, a, rtol=1e-12)
