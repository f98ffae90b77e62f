"""Samples of weight zero: the flow does not see them, and nor does what is said of it."""

import numpy as np
import pytest

import reluflow as rf
from reluflow.limits._core import find_core
from reluflow.limits._state import State


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


@pytest.mark.parametrize("loss", ["logistic", "exponential"])
def test_samples_that_count_nothing_change_nothing_of_which_rest(loss):
    """Six of fourteen contradict others and count nothing: with them no minimum at rest exists, and none is sought."""
    rows = "110 010 110 100 110 111 111 100 100 100 110 001 100 111"
    X = np.array([[float(one) for one in row] for row in rows.split()])
    y = np.array([-1, 1, -1, 1, 1, -1, 1, -1, 1, 1, -1, 1, -1, 1])
    weights = np.array([3.0, 0.8, 0.8, 0, 0, 0.3, 0, 2.8, 0, 0, 0, 2.3, 0, 0.7])
    W = np.array([[-0.2, 0.1, -0.1], [0.1, 0.1, -0.1], [-0.2, 0.1, -0.1], [0.05, 0.05, -0.05]])
    net, used = rf.Network(W, np.linalg.norm(W, axis=1) * [1, -1, 1, -1], leak=0.1), weights > 0
    runs = [
        rf.integrate(data, net, until=rf.Stop(limit=True), loss=loss, rtol=1e-10)
        for data in (rf.Dataset(X, y, weights=weights), rf.Dataset(X[used], y[used], weights=weights[used]))
    ]
    assert [run.status for run in runs] == ["reached_limit"] * 2
    states = [State.of(run.data, run.final, loss) for run in runs]
    cores = [find_core(one.groups, run.data, one.margins, loss, 0.1) for one, run in zip(states, runs, strict=True)]
    assert cores[0].rests.any()
    assert not cores[0].rests[~used].any()
    np.testing.assert_array_equal(cores[0].rests[used], cores[1].rests)


@pytest.mark.parametrize("loss", ["logistic", "exponential"])
def test_a_neuron_that_only_a_sample_that_counts_nothing_sees_is_at_rest(loss):
    """It slides along the boundary of a sample that holds it, inactive on the other one."""
    X, y = np.array([[1.0, 0.0], [1.0, 1.0], [-1.0, 0.5]]), np.array([-1.0, 1.0, 1.0])
    net, until = rf.Network([[1e-8, 3e-9]], [-2e-8]), rf.Stop(log_time=1e3)
    whole = rf.integrate(rf.Dataset(X, y, weights=[0.0, 1.0, 1.0]), net, until=until, loss=loss)
    assert whole.final.pattern.tolist() == [[1, 0, -1]]
    assert whole.status == "reached_log_time"
    assert "no neuron moves" in whole.message
    part = rf.integrate(rf.Dataset(X[1:], y[1:]), net, until=until, loss=loss)
    np.testing.assert_allclose(whole.final.theta, part.final.theta, rtol=1e-9)
