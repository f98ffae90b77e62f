"""Samples of weight zero: the flow does not see them, and nor does what is said of it."""

import numpy as np
import pytest

import reluflow as rf


def problems(loss, seed):
    """The same problem with and without a sample that counts nothing, and a start."""
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((5, 2)), rng.choice([-1.0, 1.0], 5)
    if loss == "squared":
        y = rng.standard_normal(5)
    weights = np.array([1.0, 2.0, 0.0, 1.0, 1.0])
    used = weights > 0
    net = rf.Network.init(12, 2, seed=seed, scale=0.1)
    return rf.Dataset(X, y, weights=weights), rf.Dataset(X[used], y[used], weights=weights[used]), net


@pytest.mark.parametrize("loss", ["logistic", "exponential", "squared"])
@pytest.mark.parametrize("decay", [0.0, 0.1])
def test_a_limit_is_that_of_the_samples_that_count(loss, decay):
    for seed in range(4):
        data, counted, net = problems(loss, seed)
        whole, part = (
            rf.integrate(one, net, until=rf.Stop(limit=True), loss=loss, weight_decay=decay) for one in (data, counted)
        )
        assert whole.status == part.status == "reached_limit"
        used = data.counts > 0
        np.testing.assert_allclose(whole.limit.duals[used], part.limit.duals, rtol=1e-6, atol=1e-9)
        assert (whole.limit.duals[~used] == 0).all()
        np.testing.assert_allclose(whole.limit.network(counted.X), part.limit.network(counted.X), rtol=1e-6, atol=1e-9)
        assert whole.limit.network.pattern.shape == (12, 5)
        numbers = np.flatnonzero(used)
        assert whole.limit.support.tolist() == numbers[part.limit.support].tolist()
        assert set(map(tuple, whole.limit.held)) == {(j, numbers[i]) for j, i in part.limit.held}


def test_a_sample_that_counts_nothing_is_not_named_at_rest():
    data = rf.Dataset([[1.0, 1.0], [1.0, 0.0], [1.0, 0.0], [0.0, 1.0]], [1, 1, -1, 1], weights=[0, 1, 1, 1])
    sol = rf.integrate(data, rf.Network.init(8, 2, seed=0, scale=0.1), until=rf.Stop(limit=True))
    assert sol.limit.certified
    assert "samples 1, 2" in sol.limit.reason


@pytest.mark.parametrize("loss", ["logistic", "exponential"])
def test_margins_and_residuals_along_a_run_are_of_the_samples_that_count(loss):
    for seed in range(4):
        data, counted, net = problems(loss, seed)
        whole, part = (rf.integrate(one, net, until=rf.Stop(log_time=10.0), loss=loss) for one in (data, counted))
        times = part.t[part.t > 0][::4]
        for table in (rf.analysis.kkt_residuals, lambda sol, t: rf.analysis.series(sol, t)[["normalised_margin"]]):
            one, other = table(whole, times), table(part, times)
            np.testing.assert_allclose(one.to_numpy(), other.to_numpy(), rtol=1e-5, atol=1e-7)
        rows = rf.analysis.series(whole)
        separated = rows["smoothed_margin"] > 0
        assert (rows["smoothed_margin"] <= rows["normalised_margin"] * (1 + 1e-9))[separated].all()
