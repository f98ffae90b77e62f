"""The compiled gradient descent against a slow twin, closed forms and its symmetries."""

from __future__ import annotations

import _thread
import signal
import threading
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy.special import expi

from reluflow import _core

pytestmark = pytest.mark.sanitize

Array = npt.NDArray[np.float64]


def problem(n: int = 30, m: int = 7, d: int = 4, seed: int = 0) -> tuple[Array, Array, Array, Array]:
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < 0.5, -1.0, 1.0)
    return rng.normal(size=(n, d)), y, rng.normal(size=(m, d)), rng.normal(size=m)


def descend(X: Array, y: Array, W: Array, a: Array, **changed: Any) -> dict[str, Any]:
    options: dict[str, Any] = {
        "leak": 0.0,
        "loss": "logistic",
        "reduction": "sum",
        "step": 1e-2,
        "n_steps": 20,
        "batch_size": 0,
        "seed": 0,
        "save_every": 0,
        "hook": None,
    }
    return _core.descend(X, y, W, a, **(options | changed))  # type: ignore[no-any-return]


def velocity(
    X: Array, y: Array, W: Array, a: Array, *, leak: float, loss: str, reduction: str
) -> tuple[Array, Array, float]:
    """Minus the gradient, and the loss, straight from the formulas with plain loops."""
    n, m = len(y), len(a)
    Z = [[float(W[j] @ X[i]) for i in range(n)] for j in range(m)]
    dW, da, total = np.zeros_like(W), np.zeros_like(a), 0.0
    factor = 1 / n if reduction == "mean" else 1.0
    for i in range(n):
        slope = [1.0 if Z[j][i] > 0 else leak for j in range(m)]
        q = y[i] * sum(a[j] * slope[j] * Z[j][i] for j in range(m))
        total += factor * (np.log1p(np.exp(-q)) if loss == "logistic" else np.exp(-q))
        dual = factor * y[i] * (1 / (1 + np.exp(q)) if loss == "logistic" else np.exp(-q))
        for j in range(m):
            da[j] += dual * slope[j] * Z[j][i]
            dW[j] += a[j] * dual * slope[j] * X[i]
    return dW, da, total


@pytest.mark.parametrize("reduction", ["sum", "mean"])
@pytest.mark.parametrize("loss", ["logistic", "exponential"])
@pytest.mark.parametrize("leak", [0.0, 0.3])
def test_every_kept_state_and_loss_agrees_with_the_slow_twin(leak: float, loss: str, reduction: str) -> None:
    X, y, W, a = problem()
    rule = {"leak": leak, "loss": loss, "reduction": reduction}
    found = descend(X, y, W, a, **rule, step=1e-3, n_steps=10, save_every=1)
    for k in range(11):
        dW, da, total = velocity(X, y, W, a, **rule)  # type: ignore[arg-type]
        np.testing.assert_allclose(found["W"][k], W, rtol=1e-12, atol=1e-13)
        np.testing.assert_allclose(found["a"][k], a, rtol=1e-12, atol=1e-13)
        np.testing.assert_allclose(found["log_loss"][k], np.log(total), rtol=1e-12, atol=1e-13)
        W, a = W + 1e-3 * dW, a + 1e-3 * da


@pytest.mark.parametrize("shape", [(64, 64, 64), (65, 3, 193), (129, 65, 1), (1, 1, 1)])
def test_shapes_at_the_edges_of_a_tile_agree_with_numpy(shape: tuple[int, int, int]) -> None:
    X, y, W, a = problem(*shape)
    found = descend(X, y, W, a, step=1e-3, n_steps=1, loss="exponential")
    Z = W @ X.T
    dual = y * np.exp(-y * (a @ np.maximum(Z, 0)))
    S = (Z > 0) * dual
    np.testing.assert_allclose(found["W"][-1], W + 1e-3 * a[:, None] * (S @ X), rtol=1e-11)
    np.testing.assert_allclose(found["a"][-1], a + 1e-3 * (S * Z).sum(axis=1), rtol=1e-11)


@pytest.mark.parametrize(("leak", "expected"), [(0.0, 0.0), (0.25, 0.25)])
def test_the_slope_at_a_zero_pre_activation_is_the_leak(leak: float, expected: float) -> None:
    X, y = np.array([[1.0, 0.0]]), np.array([1.0])
    W, a = np.array([[0.0, 1.0]]), np.array([1.0])
    found = descend(X, y, W, a, leak=leak, loss="exponential", step=1.0, n_steps=1)
    assert found["W"][-1].tolist() == [[expected, 1.0]]


def test_descent_follows_the_closed_form_at_first_order() -> None:
    # One balanced neuron on one sample x = 1, exponential loss: u' = u exp(-u^2), so 2t = Ei(u(t)^2) - Ei(u(0)^2).
    start, end = 0.5, 1.5
    time = (expi(end**2) - expi(start**2)) / 2
    errors = []
    for n_steps in (1000, 2000, 4000):
        found = descend(
            np.ones((1, 1)),
            np.ones(1),
            np.array([[start]]),
            np.array([start]),
            loss="exponential",
            step=time / n_steps,
            n_steps=n_steps,
        )
        errors.append(abs(found["W"][-1, 0, 0] - end))
    assert errors[0] < 1e-3
    np.testing.assert_allclose(np.log2(np.divide(errors[:-1], errors[1:])), 1.0, atol=0.01)


def test_the_order_of_neurons_and_samples_changes_nothing() -> None:
    X, y, W, a = problem()
    neurons, samples = np.arange(7)[::-1], np.random.default_rng(1).permutation(30)
    plain = descend(X, y, W, a)
    moved = descend(X[samples].copy(), y[samples], W[neurons].copy(), a[neurons].copy())
    np.testing.assert_allclose(moved["W"][-1], plain["W"][-1][neurons], rtol=1e-10)
    np.testing.assert_allclose(moved["a"][-1], plain["a"][-1][neurons], rtol=1e-10)


def test_a_rotation_of_the_inputs_rotates_the_weights() -> None:
    X, y, W, a = problem()
    Q = np.linalg.qr(np.random.default_rng(2).normal(size=(4, 4)))[0]
    plain, turned = descend(X, y, W, a), descend(X @ Q, y, W @ Q, a)
    np.testing.assert_allclose(turned["W"][-1], plain["W"][-1] @ Q, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(turned["log_loss"], plain["log_loss"], rtol=1e-10)


def test_the_same_seed_gives_the_same_bits_and_another_seed_another_path() -> None:
    X, y, W, a = problem()
    first, again, other = (descend(X, y, W, a, batch_size=7, seed=seed, save_every=3) for seed in (5, 5, 6))
    for key in ("step_index", "t", "W", "a", "log_loss"):
        assert first[key].tobytes() == again[key].tobytes()
    assert first["W"][-1].tobytes() != other["W"][-1].tobytes()


def test_a_batch_of_all_samples_is_the_full_descent() -> None:
    X, y, W, a = problem()
    assert descend(X, y, W, a, batch_size=30)["W"].tobytes() == descend(X, y, W, a)["W"].tobytes()


@pytest.mark.parametrize("batch_size", [1, 5, 10])
def test_an_epoch_of_batches_visits_every_sample_once(batch_size: int) -> None:
    X, y, W, a = problem()
    n_batches = 30 // batch_size
    tiny = 1e-9  # so small that the state hardly moves, and the steps of an epoch add up to one full step
    batches = descend(X, y, W, a, batch_size=batch_size, step=tiny, n_steps=n_batches, seed=3)
    full = descend(X, y, W, a, step=tiny * n_batches, n_steps=1)
    np.testing.assert_allclose(batches["W"][-1] - W, full["W"][-1] - W, rtol=1e-4, atol=1e-14)


def test_the_short_last_batch_of_an_epoch_counts_as_an_estimate_of_the_whole() -> None:
    X, y, W, a = problem(n=3)
    step = 1e-9
    found = descend(X, y, W, a, batch_size=2, step=step, n_steps=2, seed=0, save_every=1)
    last_move = (found["W"][2] - found["W"][1]) / step
    alone = [
        3 * velocity(X[[i]], y[[i]], W, a, leak=0.0, loss="logistic", reduction="sum")[0] for i in range(3)
    ]  # the last batch is one sample, which stands for three
    assert min(np.abs(last_move - one).max() for one in alone) < 1e-5


def test_kept_steps_are_the_multiples_and_the_last() -> None:
    found = descend(*problem(), n_steps=7, save_every=3, step=0.5)
    assert found["step_index"].tolist() == [0, 3, 6, 7]
    assert found["t"].tolist() == [0.0, 1.5, 3.0, 3.5]
    assert found["W"].shape == (4, 7, 4)
    assert found["a"].shape == (4, 7)
    assert (found["steps_done"], found["status"]) == (7, "reached_steps")


def test_no_steps_give_the_start_back() -> None:
    X, y, W, a = problem()
    found = descend(X, y, W, a, n_steps=0)
    assert found["step_index"].tolist() == [0]
    assert found["W"][0].tobytes() == W.tobytes()


@pytest.mark.parametrize("label", [1.0, -1.0])
def test_the_logistic_loss_is_finite_at_huge_margins(label: float) -> None:
    huge = np.array([[1e4]])
    found = descend(np.ones((1, 1)), np.array([label]), huge, huge[0], step=1e-6, n_steps=3)
    assert found["status"] == "reached_steps"
    expected = -1e8 if label > 0 else np.log(1e8)
    np.testing.assert_allclose(found["log_loss"][0], expected, rtol=1e-14)
    assert np.isfinite(found["W"]).all()


def test_a_step_out_of_the_finite_numbers_is_a_status_and_leaves_the_last_finite_state() -> None:
    W = np.array([[1e4]])
    found = descend(np.ones((1, 1)), np.array([-1.0]), W, W[0], loss="exponential", n_steps=3)
    assert (found["status"], found["steps_done"]) == ("non_finite", 0)
    assert found["W"].tolist() == [[[1e4]]]
    assert found["log_loss"].tolist() == [1e8]


def test_results_are_read_only_and_inputs_untouched() -> None:
    X, y, W, a = problem()
    before = [array.copy() for array in (X, y, W, a)]
    found = descend(X, y, W, a)
    for key in ("step_index", "t", "W", "a", "log_loss"):
        assert not found[key].flags.writeable
    for array, copy in zip((X, y, W, a), before, strict=True):
        assert array.tobytes() == copy.tobytes()


def test_the_callback_can_end_the_run() -> None:
    reports: list[dict[str, Any]] = []

    def stop_at_the_second(report: dict[str, Any]) -> bool:
        reports.append(report)
        return len(reports) == 2

    found = descend(*problem(), n_steps=10**9, step=1e-6, hook=stop_at_the_second)
    assert found["status"] == "stopped_by_callback"
    assert [sorted(report) for report in reports] == [["log_loss", "seconds", "step", "t"]] * 2
    assert 0 < reports[0]["step"] < reports[1]["step"] == found["steps_done"] == found["step_index"][-1]
    assert reports[1]["log_loss"] == found["log_loss"][-1]


def test_an_error_in_the_callback_reaches_the_caller() -> None:
    def fail(report: dict[str, Any]) -> bool:
        raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine"):
        descend(*problem(), n_steps=10**9, step=1e-6, hook=fail)


def test_ctrl_c_in_the_callback_gives_the_result_so_far() -> None:
    found = descend(*problem(), n_steps=10**9, step=1e-6, hook=lambda report: signal.raise_signal(signal.SIGINT))
    assert found["status"] == "interrupted"
    assert found["step_index"].tolist() == [0, found["steps_done"]]


def test_ctrl_c_while_stepping_gives_the_result_so_far() -> None:
    # The timer's thread runs only because the steps hold no GIL.
    timer = threading.Timer(0.2, _thread.interrupt_main)
    timer.start()
    found = descend(*problem(), n_steps=10**9, step=1e-6)
    timer.join()
    assert found["status"] == "interrupted"
    assert found["steps_done"] > 0


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"step": 0.0}, "step must be positive and finite, found 0"),
        ({"step": float("nan")}, "step must be positive and finite, found nan"),
        ({"n_steps": -1}, "n_steps must be in 0"),
        ({"batch_size": 31}, r"batch_size must be in 0\.\.30, found 31"),
        ({"leak": 1.0}, r"leak must be in \[0, 1\), found 1"),
        ({"loss": "hinge"}, "loss must be 'logistic', 'exponential' or 'squared', found 'hinge'"),
        ({"reduction": "max"}, "reduction must be 'sum' or 'mean', found 'max'"),
    ],
)
def test_an_option_out_of_range_is_refused_by_name(changed: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        descend(*problem(), **changed)


def test_arrays_of_another_kind_are_refused_by_name() -> None:
    X, y, W, a = problem()
    with pytest.raises(ValueError, match="X must be an array of float64, found float32"):
        descend(X.astype(np.float32), y, W, a)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="W must be C-contiguous"):
        descend(X, y, np.asfortranarray(W), a)
    with pytest.raises(ValueError, match="y must be an array of 1 axes, found 2 axes"):
        descend(X, y[:, None], W, a)
    with pytest.raises(ValueError, match="a must be of length 7, found 6"):
        descend(X, y, W, a[:6])
    with pytest.raises(ValueError, match="each row of W must be of length 4, found 3"):
        descend(X, y, W[:, :3].copy(), a)
