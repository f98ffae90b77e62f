"""Layered networks on data with wrong labels: margins that stay finite beside others that grow, and idle samples."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import reluflow as rf
from reluflow.layered._frozen import Frozen


def survey(seed: int) -> tuple[rf.Dataset, rf.DeepNetwork, Any]:
    """Random labels, or those of a hyperplane of which a tenth is turned over, with a network and a loss."""
    rng = np.random.default_rng([seed, 501])
    n, d = int(rng.integers(4, 21)), int(rng.integers(2, 4))
    X = rng.standard_normal((n, d))
    if seed % 2 == 0:
        y = rng.choice([-1.0, 1.0], n)
    else:
        y = np.sign(X @ rng.standard_normal(d))
        y[rng.permutation(n)[: max(1, round(n / 10))]] *= -1
    scale = [0.01, 0.1, 0.3, 1.0][(seed // 6) % 4]
    hidden = [rf.Dense(width) for width in [(3, 3), (4, 4), (6,)][seed % 3]]
    net = rf.DeepNetwork.init([*hidden, rf.Dense(1)], dim=d, scale=scale, seed=seed)
    return rf.Dataset(X, y), net, ["logistic", "exponential"][int(rng.integers(2))]


def multipliers_of_slides(sol: Any, log_t: float) -> list[tuple[float, float]]:
    """Return μ and what comes back to each place that slides, for weights in units of the largest."""
    state = sol._state(log_t, "log_t")
    theta, data = np.asarray(state["theta"]), sol._problem
    frozen = Frozen(sol.initial.nodes, data.X, state["sides"], state["modes"], len(theta))
    q = data.targets[:, 0] * np.asarray(frozen.outputs(theta))[:, 0]
    moves = frozen.gradients(theta, np.arange(len(q))).any(axis=1)
    lam = data.targets * np.exp(-(q - q[moves].min()))[:, None]
    drive, N = frozen.pull(theta, lam, np.zeros(len(frozen.held))).theta, frozen.normals(theta)
    mu = np.linalg.lstsq(N.T, -drive)[0]
    return list(zip(mu, frozen.pull(theta, lam, mu).back, strict=True))


def test_the_weight_of_an_idle_sample_hides_no_multiplier() -> None:
    """A sample with f = 0 holds a unit and weighs e^36 times as much as all that moves.

    Its rounding is no error of what the unit feels at another boundary, where it goes on.
    """
    data, net, loss = survey(37)
    sol = rf.integrate(data, net, loss=loss, until=rf.Stop(log_time=33.0))
    assert sol.status == "reached_log_time"
    last = sol.events[-1]
    assert 31 < last.log_t < 32
    assert (last.unit, last.sample, last.kind) == (2, 13, "cross_up")
    for mu, back in multipliers_of_slides(sol, 33.0):
        assert min(0.0, back) - 1e-9 <= mu <= max(0.0, back) + 1e-9


@pytest.mark.parametrize("seed", [8, 95])
def test_the_limit_beside_samples_at_rest_is_that_of_the_two_layer_core(seed: int) -> None:
    data, net, loss = survey(seed)
    width = net.n_parameters // (data.d + 1)
    W, a = net.theta[: width * data.d].reshape(width, data.d), net.theta[width * data.d :]
    two = rf.integrate(data, rf.Network(W, a), loss=loss, until=rf.Stop(limit=True, seconds=30)).limit
    sol = rf.integrate(data, net, loss=loss, until=rf.Stop(limit=True, seconds=30))
    assert (sol.status, two.certified) == ("reached_limit", True)
    assert (sol.limit.kind, sol.limit.margin) == ("direction", 0.0)
    np.testing.assert_allclose(sol.limit.network(data.X).ravel(), two.network(data.X), rtol=0, atol=1e-12)
    rests = two.reason.split(";")[0]
    assert "margins that stay finite" in rests
    assert rests in sol.limit.reason


@pytest.mark.parametrize("seed", [12, 15])
def test_a_deep_limit_beside_samples_at_rest_is_a_kkt_point(seed: int, tmp_path: Path) -> None:
    data, net, loss = survey(seed)
    sol = rf.integrate(data, net, loss=loss, until=rf.Stop(limit=True, seconds=60))
    assert sol.status == "reached_limit", sol.message
    found = sol.limit
    assert "margins that stay finite" in found.reason
    assert np.ptp(found.layer_norms) < 1e-9  # as of every KKT point of layers in a row
    q = data.y * found.network(data.X).ravel()
    grows = q > 1e-3 * q.max()
    assert np.abs(q[~grows]).max() < 1e-12
    # The least of those that grow is that of the multipliers: (L Σ λ)^(-L/2).
    assert q[grows].min() == pytest.approx((3 * np.abs(found.duals).sum()) ** -1.5, rel=1e-9)
    assert set(found.support) <= set(np.flatnonzero(grows))
    sol.save(tmp_path / "run.npz")
    again = rf.load(tmp_path / "run.npz").limit
    assert again.reason == found.reason
    np.testing.assert_array_equal(again.network.theta, found.network.theta)


@pytest.mark.parametrize(("outweighs", "is_certified"), [(1e3, True), (1e9, False)])
def test_what_rounding_hides_is_not_certified(
    outweighs: float, is_certified: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Multipliers of samples at rest cancel. If they are so large that rounding leaves 1e-3 of θ, nothing is shown."""
    data, net, loss = survey(98)
    sol = rf.integrate(data, net, loss=loss, until=rf.Stop(limit=True, seconds=60))
    monkeypatch.setattr("reluflow.layered._balanced._OUTWEIGHS", outweighs)
    assert sol.limit.certified
    del sol.__dict__["limit"]
    assert sol.limit.certified == is_certified
    assert ("stationarity does not hold" in sol.limit.reason) != is_certified


def multiple(seed: int, n: int, width: int, scale: float) -> tuple[rf.Dataset, rf.DeepNetwork]:
    """Return points of which the last is twice the first, with the other label, and a network of one hidden layer."""
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((n, 3)), rng.choice([-1.0, 1.0], n)
    X[-1], y[-1] = 2.0 * X[0], -y[0]
    return rf.Dataset(X, y), rf.DeepNetwork.init([rf.Dense(width), rf.Dense(1)], dim=3, scale=scale, seed=seed)


def check_against_two_layers(data: rf.Dataset, net: rf.DeepNetwork) -> None:
    """Check that the limit is certified, and that of the core of two layers."""
    W, a = net.theta[:12].reshape(4, 3), net.theta[12:]
    two = rf.integrate(data, rf.Network(W, a), until=rf.Stop(limit=True, seconds=30)).limit
    sol = rf.integrate(data, net, until=rf.Stop(limit=True, seconds=60))
    assert (sol.status, two.certified) == ("reached_limit", True), sol.message
    np.testing.assert_allclose(sol.limit.network(data.X).ravel(), two.network(data.X), rtol=0, atol=1e-9)


@pytest.mark.parametrize("seed", [7, 25, 29])
def test_idle_samples_on_one_boundary_leave_no_residual(seed: int) -> None:
    """Both hold the same units, with weights that are far above all others: rounding of these is no multiplier."""
    check_against_two_layers(*multiple(seed, 7, 4, 0.3))


def test_samples_at_rest_may_become_idle() -> None:
    """All units that they see come to slide: then all that moves grows, and the run goes on as it did."""
    check_against_two_layers(*multiple(8, 7, 4, 0.3))


def test_a_direction_that_is_far_away_is_waited_for() -> None:
    """It falls with |θ| to some power below one, and is 0.1 away at log |θ| = 10.8 only."""
    check_against_two_layers(*multiple(20, 7, 4, 0.3))


def test_what_slides_above_decides_about_what_slides_below() -> None:
    """In the limit a unit reads nothing of the samples at rest, and slides: all in its intervals is a multiplier.

    What comes back to the units below, and how much these may bear, is in proportion to it.
    """
    data, net, loss = survey(115)
    sol = rf.integrate(data, net, loss=loss, until=rf.Stop(limit=True, seconds=60))
    assert sol.status == "reached_limit", sol.message
    found = sol.limit
    assert np.ptp(found.layer_norms) < 1e-9
    q = data.y * found.network(data.X).ravel()
    grows = q > 1e-3 * q.max()
    assert np.abs(q[~grows]).max() < 1e-12
    assert q[grows].min() == pytest.approx((3 * np.abs(found.duals).sum()) ** -1.5, rel=1e-9)
