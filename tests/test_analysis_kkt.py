"""(ε, δ)-KKT residuals and the fits of slow tails."""

from __future__ import annotations

import numpy as np
import pytest

import reluflow as rf
import runs
from reluflow import analysis
from reluflow.analysis._kkt import velocity
from reluflow.losses import log_weights


def test_the_velocity_is_the_derivative_of_the_run():
    sol = runs.holding()
    for t in (0.5, 3.0, 50.0):
        run = analysis.states(sol, [t * (1 - 1e-5), t, t * (1 + 1e-5)])
        assert (run.pattern[0] == run.pattern[2]).all()
        W_dot, a_dot, speed = velocity(run, 1)
        scale = np.exp(log_weights(run.margins[1], run.loss)).sum()
        np.testing.assert_allclose(scale * W_dot, (run.W[2] - run.W[0]) / (2e-5 * t), atol=1e-6)
        np.testing.assert_allclose(scale * a_dot, (run.a[2] - run.a[0]) / (2e-5 * t), atol=1e-6)
        assert speed == pytest.approx(np.sqrt((W_dot**2).sum() + (a_dot**2).sum()))


def test_an_exact_kkt_point_has_no_residual():
    # [VSS] Theorem 3.2: one neuron (0, 2) with output weight 2 on (±1, 1/4); a dead neuron beside it.
    data = rf.Dataset([[1.0, 0.25], [-1.0, 0.25]], [1, 1])
    net = rf.Network([[0.0, 2.0], [0.0, -1e-12]], [2.0, 1e-12])
    row = analysis.kkt_residuals(analysis.state_of(data, net)).iloc[0]
    assert row["epsilon"] < 1e-11
    assert row["delta"] == 0.0
    assert row["multiplier_sum"] == pytest.approx(4.0)
    assert row["normalised_margin"] == pytest.approx(1 / 8)


def test_a_point_off_the_kkt_set_has_residuals():
    data = rf.Dataset([[1.0, 0.25], [-1.0, 0.25]], [1, 1])
    row = analysis.kkt_residuals(analysis.state_of(data, rf.Network([[0.1, 2.0]], [2.0]))).iloc[0]
    assert row["epsilon"] > 0.01
    assert row["delta"] > 0.01


def test_residuals_fall_along_a_run_and_the_multipliers_add_up_to_the_optimum():
    table = analysis.kkt_residuals(analysis.sample(runs.endless(), 30)).dropna()
    assert len(table) > 10
    assert (np.diff(table["epsilon"].tail(10)) < 0).all()
    last = table.iloc[-1]
    assert last["epsilon"] < 2e-4
    assert last["delta"] < 1e-3
    assert last["multiplier_sum"] == pytest.approx(1.282432, rel=1e-5)
    assert last["multiplier_sum"] == pytest.approx(1 / (2 * last["normalised_margin"]), rel=2e-3)


def test_a_run_with_wrong_samples_has_a_direction_but_no_residuals():
    first = analysis.kkt_residuals(runs.iris()).iloc[0]
    assert np.isnan(first["epsilon"])
    assert -1 <= first["beta"] <= 1


# --- tails -----------------------------------------------------------------------------------------------------------


def test_the_tail_fit_finds_its_own_model():
    log_t = np.geomspace(5, 500, 40)
    fit = analysis.tail_fit(log_t, 3 - 2 / log_t + 0.5 * np.log(log_t) / log_t, loglog=True, tail=1.0)
    assert (fit.limit, fit.slope, fit.loglog) == pytest.approx((3, -2, 0.5), rel=1e-9)
    assert fit.limit_error < 1e-9
    np.testing.assert_allclose(fit([10.0]), 3 - 0.2 + 0.05 * np.log(10), rtol=1e-9)


def test_the_growth_of_the_norm_points_to_the_convex_optimum():
    table = analysis.series(analysis.sample(runs.endless(), 60))
    fit = analysis.tail_fit(table["log_t"], table["norm2_per_log_t"], loglog=True)
    assert fit.limit == pytest.approx(2 * 1.282432, rel=5e-3)
    assert abs(fit.limit - 2 * 1.282432) < abs(table["norm2_per_log_t"].iloc[-1] - 2 * 1.282432)


def test_noise_shows_in_the_error_of_the_limit():
    log_t = np.linspace(10, 100, 50)
    noise = 1e-3 * np.random.default_rng(0).standard_normal(50)
    fit = analysis.tail_fit(log_t, 1 + 1 / log_t + noise)
    assert 1e-5 < fit.limit_error < 1e-2
    assert abs(fit.limit - 1) < 5 * fit.limit_error


@pytest.mark.parametrize(
    ("log_t", "values", "options", "message"),
    [
        ([1.0, 2.0], [1.0, 2.0], {}, "values must hold more than 2 finite points"),
        ([1.0, 2.0, 3.0], [1.0, 2.0], {}, "values must have the shape of log_t"),
        ([-3.0, -2.0, -1.0, 0.0], [1.0, 1.0, 1.0, 1.0], {}, "values must hold more than 2"),
        ([1.0, 2.0, 3.0], [1.0, 2.0, 3.0], {"tail": 0.0}, "tail must lie in"),
    ],
)
def test_a_tail_that_cannot_be_fitted_is_refused(log_t, values, options, message):
    with pytest.raises(ValueError, match=message):
        analysis.tail_fit(log_t, values, **options)


def test_nothing_is_said_where_margins_hide_the_multipliers():
    """All weight was on one sample, the one that rounding makes the least, and epsilon 1.2 instead of 0.15."""
    data = rf.datasets.wang_pilanci("obtuse")
    net = rf.integrate(data, rf.Network.init(10, 2, scale=1e-3, seed=1), until=rf.Stop(log_norm=40.0)).final
    scaled = net._with(net.W / net.norm, net.a / net.norm, net.pattern)
    near, far = (
        analysis.kkt_residuals(analysis.state_of(data, scaled._with(s * scaled.W, s * scaled.a, net.pattern))).iloc[0]
        for s in (1e4, 1e30)
    )
    assert near.notna().all()
    assert far[["beta", "epsilon", "delta", "normalised_margin", "multiplier_sum"]].isna().all()


def test_margins_far_below_zero_have_a_direction():
    """Weights of e^1000 leave the range of doubles, their shares do not."""
    sol = rf.integrate(([[1.0]], [1]), rf.Network([[1000.0]], [-1.0]), until=1e-300, loss="exponential")
    table = analysis.kkt_residuals(sol)
    assert table["beta"].iloc[0] == pytest.approx(-2e3 / (1e6 + 1.0))
