"""The losses of margins against plain formulas in many digits, and where doubles end."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext

import numpy as np
import pytest

import reluflow as rf
from reluflow import losses

LOSSES = losses.MARGIN_LOSSES


def logarithms(q: float, loss: str) -> list[float]:
    """Return log ℓ, log(-ℓ') and log ℓ'' by the plain formulas, in digits enough for e^-900 beside 1."""
    with localcontext(prec=900):
        tail = (-Decimal(q)).exp()
        share = Decimal(1) if loss == "exponential" else 1 / (1 + tail)
        value = tail if loss == "exponential" else (1 + tail).ln()
        return [float(x.ln()) for x in (value, tail * share, tail * share * share)]


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("q", [-900.0, -40.0, -3.0, 0.0, 0.5, 30.0, 36.9, 37.1, 800.0])
def test_the_logarithms_are_those_of_the_loss_and_its_derivatives(loss: str, q: float) -> None:
    found = [f(np.array([q]), loss)[0] for f in (losses.log_losses, losses.log_weights, losses.log_curvatures)]
    assert found == pytest.approx(logarithms(q, loss), rel=1e-14, abs=1e-300)


@pytest.mark.parametrize("loss", LOSSES)
def test_any_shape_goes_in_and_comes_out(loss: str) -> None:
    q = np.linspace(-2, 2, 12).reshape(2, 3, 2)
    assert losses.log_losses(q, loss).shape == q.shape
    assert losses.log_losses(q.T, loss).shape == q.T.shape
    assert np.array_equal(losses.log_weights(q.T, loss), losses.log_weights(q, loss).T)
    assert losses.log_losses(0.5, loss).shape == ()
    assert losses.log_total([], loss) == -np.inf


@pytest.mark.parametrize("loss", LOSSES)
def test_a_weight_is_the_derivative_of_the_loss(loss: str) -> None:
    q, h = np.linspace(-5, 5, 21), 1e-5
    fall = (np.exp(losses.log_losses(q - h, loss)) - np.exp(losses.log_losses(q + h, loss))) / (2 * h)
    np.testing.assert_allclose(np.exp(losses.log_weights(q, loss)), fall, rtol=1e-8)


@pytest.mark.parametrize("loss", LOSSES)
def test_shares_add_up_to_one_at_any_size(loss: str) -> None:
    for shift in (-1e8, -5.0, 0.0, 700.0, 1e8):
        p = losses.shares(shift + np.array([0.0, 1.0, 3.0]), loss)
        assert p.sum() == pytest.approx(1.0, abs=1e-15)
        assert np.all(np.diff(p) <= 0)


@pytest.mark.parametrize("loss", LOSSES)
def test_one_sample_with_the_margin_found_has_the_whole_loss(loss: str) -> None:
    logs = np.array([-1e6, -800.0, -30.0, -1e-3, 0.4, 5.0])
    q = losses.inverse_total(logs, loss)
    assert losses.log_losses(q, loss) == pytest.approx(logs, rel=1e-12)


def test_the_numbers_of_each_loss() -> None:
    assert [losses.separation_loss(loss) for loss in LOSSES] == pytest.approx([math.log(2), 1.0], rel=1e-15)
    assert losses.separation_loss("exponential", [0.0, 0.5, 2.0]) == 0.5
    data = rf.Dataset(np.eye(2), [1.0, -1.0], weights=[1.0, 3.0])
    assert losses.early_duals(data, "logistic", "mean").tolist() == [0.125, -0.375]  # the weights add up to 4
    assert losses.early_duals(data, "exponential", "sum").tolist() == [1.0, -3.0]
    assert losses.early_duals(data, "squared", "sum").tolist() == [1.0, -3.0]


def test_the_duals_are_the_derivatives_of_the_weighted_loss() -> None:
    rng = np.random.default_rng(1)
    real = rf.Dataset(rng.normal(size=(5, 2)), rng.normal(size=5), weights=[0.0, 1.0, 2.0, 0.5, 3.0])
    labels = rf.Dataset(real.X, np.sign(real.y), weights=real.weights)
    f, h = rng.normal(size=5), 1e-6
    for data, loss in ((real, "squared"), (labels, "logistic"), (labels, "exponential")):

        def total(values, data=data, loss=loss):
            return np.exp(losses.log_total(losses.loss_arguments(data, values, loss), loss, data.counts))

        slope = [(total(f - h * e) - total(f + h * e)) / (2 * h) for e in np.eye(5)]
        np.testing.assert_allclose(losses.duals(data, f, loss), slope, atol=1e-8)


@pytest.mark.parametrize("check", [losses.check_margin_loss, losses.separation_loss])
def test_another_name_is_refused(check) -> None:
    for name in ("hinge", "squared"):
        with pytest.raises(ValueError, match="loss must be one of 'logistic', 'exponential', found"):
            check(name)
    with pytest.raises(ValueError, match="loss must be one of 'logistic', 'exponential', 'squared', found"):
        losses.check_loss("hinge")
