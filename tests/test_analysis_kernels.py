"""The arithmetic of one instant, against closed forms and slow twins."""

from __future__ import annotations

import numpy as np
import pytest

from reluflow.analysis._kernels import (
    cosines,
    drive,
    dual_weights,
    inverse_loss,
    log_losses,
    log_slopes,
    log_total,
    project_held,
)


@pytest.mark.parametrize("q", [-1e8, -50.0, -1.0, 0.0, 1.0, 30.0, 36.9, 37.1, 700.0, 1e8])
def test_log_of_the_logistic_loss_holds_over_the_whole_range(q):
    with np.errstate(over="ignore"):
        plain = np.log1p(np.exp(-np.longdouble(q)))
    expected = np.log(plain) if 0 < plain < np.inf else np.longdouble(np.log(-q) if q < 0 else -q)
    assert float(log_losses(np.array(q), "logistic")) == pytest.approx(float(expected), rel=1e-14)


def test_losses_and_slopes_of_huge_margins_stay_finite():
    q = np.array([-1e8, 0.0, 1e8])
    for loss in ("logistic", "exponential"):
        assert np.isfinite(log_losses(q, loss)).all()
        assert np.isfinite(log_slopes(q, loss)).all()
        assert np.isfinite(log_total(q, loss))
        assert dual_weights(q, loss).sum() == pytest.approx(1.0)


def test_the_slope_is_the_derivative_of_the_loss():
    q, h = np.linspace(-5, 5, 21), 1e-5
    for loss in ("logistic", "exponential"):
        rise = (np.exp(log_losses(q + h, loss)) - np.exp(log_losses(q - h, loss))) / (2 * h)
        np.testing.assert_allclose(np.exp(log_slopes(q, loss)), -rise, rtol=1e-8)


@pytest.mark.parametrize("loss", ["logistic", "exponential"])
def test_the_inverse_loss_finds_the_margin_of_one_sample(loss):
    q = np.array([-300.0, -3.0, -0.37, 0.0, 0.5, 20.0, 1e3, 1e6])
    np.testing.assert_allclose(inverse_loss(log_losses(q, loss), loss), q, rtol=1e-12, atol=1e-12)


def slow_projection(G, X, pattern):
    """Each row minus its least-squares fit by the walls that hold the neuron."""
    out = G.copy()
    for j, row in enumerate(pattern):
        held = X[row == 0]
        if len(held):
            out[j] -= held.T @ np.linalg.lstsq(held.T, G[j], rcond=None)[0]
    return out


def test_projection_on_held_walls_agrees_with_least_squares_even_for_dependent_walls():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((9, 5))
    X[3] = -2.0 * X[1]  # one wall twice
    pattern = rng.integers(-1, 2, (12, 9)).astype(np.int8)
    pattern[0, [1, 3]] = 0
    G = rng.standard_normal((12, 5))
    np.testing.assert_allclose(project_held(G, X, pattern), slow_projection(G, X, pattern), atol=1e-12)


def test_the_pull_counts_active_samples_leaky_ones_and_no_held_ones():
    X = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    pull = drive(X, np.array([1.0, 2.0, 4.0]), np.array([[1, -1, 1], [0, 1, -1]], dtype=np.int8), 0.5)
    np.testing.assert_allclose(pull, [[5.0, 5.0], [0.0, 4.0]])


def test_cosines_of_zero_vectors_are_nan():
    A, B = np.array([[3.0, 4.0], [0.0, 0.0]]), np.array([[4.0, 3.0], [1.0, 0.0]])
    found = cosines(A, B)
    assert found[0] == pytest.approx(0.96)
    assert np.isnan(found[1])
