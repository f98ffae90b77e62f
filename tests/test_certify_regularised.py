"""Certificates with weight decay: ends of flows that are global and that are not, residuals, and refusals."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import reluflow as rf
from reluflow import convex

LOSSES = ("squared", "logistic", "exponential")
CORNER = rf.Dataset([[1.0, 0.0], [0.0, 1.0]], [1.0, -1.0])


def problem(seed, loss, *, n=8, d=2, weighted=False):
    rng = np.random.default_rng(seed)
    y = rng.normal(size=n)
    weights = rng.uniform(0.3, 2.0, size=n) if weighted else None
    return rf.Dataset(rng.normal(size=(n, d)), y if loss == "squared" else np.sign(y), weights=weights)


def objective(data, net, loss, decay, reduction="sum"):
    """L + γ/2 |θ|², written out."""
    f = net(data.X)
    q = f - data.y if loss == "squared" else data.y * f
    values = {"squared": q**2 / 2, "logistic": np.logaddexp(0.0, -q), "exponential": np.exp(-q)}[loss]
    return float(data.counts @ values) / (data.counts.sum() if reduction == "mean" else 1) + 0.5 * decay * net.norm**2


# --- ends of flows ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("loss", "leak"), [("squared", 0.0), ("logistic", 0.2), ("exponential", 0.0)])
def test_the_end_of_a_wide_run_is_global(loss, leak) -> None:
    net = rf.Network.init(20, 2, scale=0.1, seed=2, leak=leak)
    sol = rf.integrate(CORNER, net, until=rf.Stop(seconds=60), loss=loss, weight_decay=0.2)
    found = rf.certify(sol, CORNER)
    assert found.verdict == "global", found.message
    assert found.gap <= 1e-9
    assert found.residual <= 1e-7
    assert found.value == pytest.approx(objective(CORNER, found.network, loss, 0.2), rel=1e-12)
    assert found.value == pytest.approx(convex.regularised(CORNER, 0.2, loss=loss, leak=leak).value, rel=1e-9)
    assert (found.weight_decay, found.loss, found.reduction) == (0.2, loss, "sum")


@pytest.mark.parametrize("loss", LOSSES)
def test_a_run_that_lost_a_sign_ends_at_a_critical_point_that_is_not_global(loss) -> None:
    # Both output weights are positive: the second sample cannot be fitted.
    net = rf.Network([[0.1, 0.02], [0.1, -0.02]], [0.11, 0.11])
    sol = rf.integrate(CORNER, net, until=rf.Stop(seconds=60), loss=loss, weight_decay=0.2)
    found = rf.certify(sol, CORNER, kkt_tol=1e-6)
    assert found.verdict == "critical_not_global", found.message
    assert found.convex is not None
    assert found.upper == found.convex.value < 0.9 * found.value
    assert found.lower == pytest.approx(found.upper, rel=1e-9)
    assert found.dual_norm_lower > 1.1 * found.weight_decay
    better = found.convex.network
    assert objective(CORNER, better, loss, 0.2) == pytest.approx(found.upper, rel=1e-12)


def test_of_the_mean_the_decay_counts_n_times() -> None:
    data, net = rf.Dataset([[1.0]] * 4, [2.0] * 4), rf.Network([[0.5]], [0.5])
    sol = rf.integrate(data, net, until=200.0, loss="squared", reduction="mean", weight_decay=0.5)
    # f = y - γ, whatever n is.
    assert sol.final([[1.0]])[0] == pytest.approx(1.5, abs=1e-9)
    found = rf.certify(sol, data)
    assert (found.verdict, found.reduction) == ("global", "mean")
    assert found.value == pytest.approx(0.5 * 0.25 + 0.5 * 1.5, rel=1e-9)
    summed = rf.certify(sol.final, data, weight_decay=2.0, loss="squared")
    assert summed.verdict == "global"
    assert summed.value == pytest.approx(4 * found.value, rel=1e-12)
    assert rf.certify(sol.final, data, weight_decay=0.5, loss="squared").verdict == "not_critical"


def test_descent_is_certified_by_its_settings() -> None:
    net = rf.Network.init(12, 2, scale=0.3, seed=3)
    run = rf.descend(CORNER, net, step=0.05, n_steps=20_000, loss="squared", weight_decay=0.1)
    found = rf.certify(run, CORNER)
    assert found.verdict == "global", found.message
    assert found.network is run.final


# --- networks --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("leak", [0.0, 0.3])
@pytest.mark.parametrize("loss", LOSSES)
def test_the_optimum_of_the_program_is_critical_and_proves_itself(loss, leak) -> None:
    # Many of its neurons lie on boundaries, where the slopes have to be found.
    n_boundaries = n_alone = 0
    for seed in (1, 2, 3):
        data = problem(seed, loss, weighted=True)
        solution = convex.regularised(data, 0.01, loss=loss, leak=leak)
        found = rf.certify(solution.network, data, weight_decay=0.01, loss=loss)
        assert found.verdict == "global", found.message
        # Its own duals prove it, unless the solver's rounding leaves a neuron a little beside its boundary.
        n_alone += found.convex is None and found.residual <= 1e-7
        assert found.residual <= 1e-6
        units = solution.neurons / np.linalg.norm(solution.neurons, axis=1)[:, None]
        n_boundaries += np.count_nonzero(np.abs(units @ data.X.T) <= 1e-9 * np.linalg.norm(data.X, axis=1))
    assert n_boundaries > 0
    assert n_alone >= 2


@pytest.mark.parametrize("loss", LOSSES)
def test_away_from_boundaries_the_residual_is_the_gradient(loss) -> None:
    data, decay = problem(4, loss, weighted=True), 0.3
    net = rf.Network.init(3, 2, scale=0.5, seed=5, leak=0.1)
    found = rf.certify(net, data, weight_decay=decay, loss=loss)
    theta, step, slopes = net.theta, 1e-6, []
    for j, k in np.ndindex(theta.shape):
        ends = []
        for way in (step, -step):
            moved = theta.copy()
            moved[j, k] += way
            ends.append(objective(data, rf.Network(moved[:, :-1], moved[:, -1], leak=0.1), loss, decay))
        slopes.append((ends[0] - ends[1]) / (2 * step))
    assert found.residual == pytest.approx(np.linalg.norm(slopes) / (decay * net.norm), rel=1e-6)
    assert found.verdict == "not_critical"
    assert found.lower <= found.upper <= found.value


def test_at_zero_every_network_is_critical_and_the_decay_says_whether_it_is_global() -> None:
    zero = rf.Network(np.zeros((2, 2)), np.zeros(2))
    # v = max(|λ₊|, |λ₋|) = 1 for λ = y.
    for decay, verdict in ((1.01, "global"), (0.99, "critical_not_global")):
        found = rf.certify(zero, CORNER, weight_decay=decay, loss="squared")
        assert found.verdict == verdict, found.message
        assert (found.residual, found.value) == (0.0, 1.0)
        assert found.dual_norm_upper == pytest.approx(1.0, rel=1e-12)


def test_a_width_that_is_too_small_is_told() -> None:
    narrow = rf.integrate(CORNER, rf.Network([[1.0, -0.2]], [1.1]), until=200.0, loss="squared", weight_decay=0.1)
    found = rf.certify(narrow, CORNER)
    assert found.verdict == "critical_not_global"
    assert found.message.endswith("that network has 2 neurons, this one 1")


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10**6), loss=st.sampled_from(LOSSES))
@example(seed=84302, loss="exponential")  # a subgradient of 1e186
def test_the_bounds_hold_for_any_network(seed, loss) -> None:
    rng = np.random.default_rng(seed)
    data = problem(seed, loss, n=int(rng.integers(1, 6)))
    decay, scale = 10.0 ** rng.uniform(-2, 1), 10.0 ** rng.uniform(-3, 1)
    nets = [rf.Network.init(3, 2, scale=scale, balanced=False, seed=seed + k) for k in range(2)]
    found = rf.certify(nets[0], data, weight_decay=decay, loss=loss)
    slack = 1 + 1e-10
    assert 0 <= found.lower <= found.upper * slack <= found.value * slack**2
    assert found.lower <= objective(data, nets[1], loss, decay) * slack
    assert found.dual_norm_lower <= found.dual_norm_upper


def test_a_loss_beyond_the_doubles_is_not_critical() -> None:
    far = rf.Network([[100.0, 0.0]], [-100.0])
    found = rf.certify(far, CORNER, weight_decay=0.1, loss="exponential")
    assert (found.verdict, found.value, found.gap) == ("not_critical", np.inf, 1.0)
    assert found.upper == found.convex.value


# --- refusals --------------------------------------------------------------------------------------------------------


def test_errors_times_inputs_whose_squares_overflow_prove_nothing() -> None:
    data = rf.Dataset([[1e90, 0.0], [0.0, 1e90]], [1.0, -1.0])
    certificate = rf.certify(rf.Network(np.eye(2), [1.0, 1.0]), data, weight_decay=1e90, loss="squared")
    assert certificate.verdict == "not_critical"
    assert certificate.lower == pytest.approx(certificate.convex.value)


def test_without_decay_the_certificate_is_of_the_margin() -> None:
    sol = rf.integrate(CORNER, rf.Network([[0.1, -0.1], [-0.1, 0.1]], [0.15, -0.15]), until=rf.Stop(log_time=1e3))
    assert isinstance(rf.certify(sol, CORNER), convex.Certificate)


def test_questions_that_do_not_fit_are_named() -> None:
    net = rf.Network([[0.1, 0.0]], [0.1])
    sol = rf.integrate(CORNER, net, until=1.0, loss="logistic", weight_decay=0.1)
    decay = {"weight_decay": 0.1, "loss": "logistic"}
    rows = [
        (sol, CORNER, {"weight_decay": 0.2}, "weight_decay must be that of the run, 0.1 .* found 0.2"),
        (sol, CORNER, {"loss": "squared"}, "loss must be that of the run, 'logistic' .* found 'squared'"),
        (net, CORNER, {"loss": "logistic"}, "loss must be left out without weight_decay"),
        (net, CORNER, {"reduction": "sum"}, "reduction must be left out without weight_decay"),
        (net, CORNER, {"weight_decay": 0.1}, "loss must be given beside weight_decay, found None"),
        (net, CORNER, {**decay, "weight_decay": 0.0}, "weight_decay must be a finite number above 0, found 0.0"),
        (net, rf.Dataset([[1.0, 1.0]], [0.5]), decay, r"data\.y must hold \+1 and -1 only for the logistic loss"),
        (net, rf.Dataset([[1.0]], [1]), decay, "solution must have 1 inputs, as the data have, found 2"),
        (3, CORNER, decay, "solution must be a Network or hold one"),
    ]
    for solution, data, options, message in rows:
        with pytest.raises(ValueError, match=message):
            rf.certify(solution, data, **options)


def test_classes_with_decay_are_certified_one_by_one() -> None:
    data = rf.datasets.MultiClassDataset(np.eye(3), [0, 1, 2])
    nets = rf.Network.init(4, 3, classes=3, scale=0.1, seed=1)
    sol = rf.integrate(data, nets, until=1.0, weight_decay=0.2)
    with pytest.raises(ValueError, match=r"weight_decay must be left out for K classes .* found 0\.2"):
        rf.certify(sol, data)
    assert isinstance(rf.certify(sol[0], data.binary(0)), convex.RegularisedCertificate)


def test_a_certificate_shows_itself_in_a_line_and_in_a_notebook() -> None:
    data = rf.Dataset([[2.0]], [1.0])
    found = rf.certify(rf.Network([[0.0]], [0.0]), data, weight_decay=3.0, loss="squared")
    assert repr(found).startswith("RegularisedCertificate(global: L + γ/2 |θ|² = 0.5, 0.5 <= least <= 0.5, residual 0")
    shown = found._repr_html_()
    assert "<th" in shown
    assert "squared, sum, weight decay 3" in shown
    assert "0.6666666667" in shown
