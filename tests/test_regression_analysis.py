"""What is measured along a regression: held-out losses, errors, patterns, the tangent kernel, the fit on a line."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import reluflow as rf
from reluflow import analysis

GRID = np.linspace(-1, 1, 12)
DATA = rf.Dataset(GRID[:, None], np.sin(4 * GRID), weights=np.linspace(0.5, 1.5, 12), bias_input=1.0)
TEST = rf.Dataset(GRID[:, None] + 0.05, np.sin(4 * GRID + 0.2), weights=np.linspace(2.0, 1.0, 12))


@pytest.fixture(scope="module")
def sol() -> rf.Solution:
    net = rf.Network.init(20, 2, scale=0.05, seed=1)
    return rf.integrate(DATA, net, until=30.0, loss="squared", rtol=1e-11, reduction="mean")


def test_losses_are_weighted_means_on_both_sets(sol: rf.Solution) -> None:
    table = analysis.losses(sol, [0.5, 30.0], test=TEST)
    for row, t in enumerate((0.5, 30.0)):
        for data, prefix in ((DATA, ""), (TEST, "test_")):
            q = sol(t)(data.X[:, :1]) - data.y
            mean = (data.counts * q**2).sum() / data.counts.sum()
            assert table[f"{prefix}loss"][row] == pytest.approx(mean / 2, rel=1e-12)
            assert table[f"{prefix}rmse"][row] == pytest.approx(np.sqrt(mean), rel=1e-12)


def test_losses_of_labels_count_wrong_samples() -> None:
    data = rf.datasets.wang_pilanci("obtuse")
    run = rf.integrate(data, rf.Network.init(10, 2, seed=1), until=100.0)
    table = analysis.losses(run, test=rf.Dataset(-data.X, data.y))
    assert (table.wrong.iloc[-1], table.test_wrong.iloc[-1]) == (0.0, 1.0)
    assert table.loss.iloc[-1] == pytest.approx(np.exp(run.log_loss_end) / data.n)


@pytest.mark.parametrize(
    ("test", "message"),
    [
        ([[1.0]], "test must be a Dataset"),
        (rf.Dataset([[1.0, 2.0, 3.0]], [1.0]), "test must have 2 inputs, as the data of the run, found 3"),
        (rf.Dataset([[1.0]], [1.0], bias_input=2.0), r"test must have the bias input of the data of the run, 1\.0"),
    ],
)
def test_held_out_samples_that_do_not_fit_are_refused(sol: rf.Solution, test: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        analysis.losses(sol, test=test)


def test_held_out_targets_have_to_fit_the_loss() -> None:
    data = rf.datasets.wang_pilanci("obtuse")
    run = rf.integrate(data, rf.Network.init(4, 2, seed=1), until=1.0)
    with pytest.raises(ValueError, match=r"test\.y must hold \+1 and -1 only for the logistic loss"):
        analysis.losses(run, test=rf.Dataset(data.X, [0.3, 1.0]))


def test_errors_are_outputs_less_targets(sol: rf.Solution) -> None:
    found = analysis.errors(sol, [1.0, 30.0])
    assert found.dims == ("time", "sample")
    np.testing.assert_allclose(found[1], sol.final(DATA.X) - DATA.y, rtol=1e-13)


def test_patterns_differ_by_the_signs_that_have_changed(sol: rf.Solution) -> None:
    table = analysis.pattern_distance(sol, [0.0, 2.0, 30.0])
    differs = sol.pattern(2.0) != sol.pattern(0.0)
    assert table.n_pairs.tolist()[:2] == [0, differs.sum()]
    assert table.share[1] == pytest.approx(differs.mean())
    assert table.n_neurons[1] == differs.any(axis=1).sum()


def test_patterns_and_kernels_of_two_runs_are_compared_at_the_same_times(sol: rf.Solution) -> None:
    other = rf.integrate(DATA, rf.Network.init(20, 2, scale=0.05, seed=2), until=30.0, loss="squared")
    times = [0.0, 3.0]
    table = analysis.pattern_distance(sol, times, other=other)
    assert table.n_pairs.tolist() == [(sol.pattern(t) != other.pattern(t)).sum() for t in times]
    mine, theirs = (analysis.tangent_kernel(run, times).to_numpy() for run in (sol, other))
    distance = np.linalg.norm(mine - theirs, axis=(1, 2)) / np.linalg.norm(theirs, axis=(1, 2))
    np.testing.assert_allclose(analysis.kernel_distance(sol, times, other=other).distance, distance, rtol=1e-12)
    assert (analysis.kernel_distance(sol, times, other=sol).distance == 0).all()
    wide = rf.integrate(DATA, rf.Network.init(21, 2, scale=0.05), until=1.0, loss="squared")
    with pytest.raises(ValueError, match="other must have 20 neurons and 12 samples, as source, found 21 and 12"):
        analysis.pattern_distance(sol, [0.0, 1.0], other=wide)


@pytest.mark.parametrize("leak", [0.0, 0.3])
def test_the_tangent_kernel_is_that_of_the_gradients_of_the_outputs(leak: float) -> None:
    rng = np.random.default_rng(3)
    data = rf.Dataset(rng.standard_normal((5, 3)), rng.standard_normal(5))
    net = rf.Network(rng.standard_normal((4, 3)), rng.standard_normal(4), leak=leak)
    gradients = []
    for x in data.X:
        z = net.W @ x
        slope = np.where(z > 0, 1.0, leak)
        gradients.append(np.concatenate([slope * z, ((net.a * slope)[:, None] * x).ravel()]))
    found = analysis.tangent_kernel(analysis.state_of(data, net, loss="squared"))[0]
    np.testing.assert_allclose(found, np.array(gradients) @ np.array(gradients).T, rtol=1e-12)


@pytest.mark.parametrize("t", [0.7, 3.0, 12.0])
def test_the_outputs_of_the_flow_follow_the_tangent_kernel_also_where_neurons_slide(sol: rf.Solution, t: float) -> None:
    h = 1e-4
    rate = (sol(t + h)(DATA.X) - sol(t - h)(DATA.X)) / (2 * h)
    kernel = analysis.tangent_kernel(sol, [t])[0].to_numpy()
    duals = DATA.counts * (DATA.y - sol(t)(DATA.X)) / DATA.n
    np.testing.assert_allclose(rate, kernel @ duals, atol=1e-6)
    assert t < 1 or (sol.pattern(t) == 0).any()


def test_a_fit_in_one_dimension_has_its_kinks_where_the_slope_changes(sol: rf.Solution) -> None:
    curves = analysis.fit_curves(sol, [30.0])
    np.testing.assert_array_equal(curves.f[0], sol.final(curves.x[:, None]))
    inside = np.flatnonzero(np.abs(curves.kinks[0]) < 1.0)
    j = inside[np.argmax(np.abs(curves.jumps[0][inside]))]
    where, h = curves.kinks[0, j], 1e-4
    left, at, right = sol.final([[where - h], [where], [where + h]])
    near = np.abs(curves.kinks[0] - where) < h
    assert (right - 2 * at + left) / h == pytest.approx(curves.jumps[0][near].sum(), rel=1e-2)


def test_a_fit_needs_one_input() -> None:
    data = rf.datasets.wang_pilanci("obtuse")
    run = rf.integrate(data, rf.Network.init(4, 2, seed=1), until=1.0)
    with pytest.raises(ValueError, match="source must be a run on one input, alone or beside a bias"):
        analysis.fit_curves(run)
    line = rf.integrate(rf.Dataset([[1.0], [-2.0]], [0.5, 1.0]), rf.Network.init(4, 1), until=1.0, loss="squared")
    assert set(analysis.fit_curves(line, [1.0]).kinks[0].tolist()) == {0.0}
    with pytest.raises(ValueError, match="x must hold increasing numbers"):
        analysis.fit_curves(line, x=[1.0, 0.0])
