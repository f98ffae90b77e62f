"""Tangent kernel and signs of layered runs, and gradient descent beside them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import reluflow as rf
from reluflow import analysis
from reluflow.layered._gradient import duals

DATA = rf.datasets.wang_pilanci("acute")
TWO = rf.Network.init(6, 2, seed=1)


def as_layers(net: rf.Network) -> rf.DeepNetwork:
    layers = [rf.Dense(net.width), rf.Dense(1, activation="linear")]
    return rf.DeepNetwork(layers, np.concatenate([net.W.ravel(), net.a.ravel()]), dim=net.dim)


@pytest.fixture(scope="module")
def two() -> rf.Solution:
    return rf.integrate(DATA, TWO, until=20.0)


@pytest.fixture(scope="module")
def layers() -> rf.DeepSolution:
    return rf.integrate(DATA, as_layers(TWO), until=20.0)


@pytest.mark.parametrize("t", [0.0, 1.0, 2.0, 20.0])
def test_two_layers_have_the_kernel_and_the_signs_of_two_layers(
    two: rf.Solution, layers: rf.DeepSolution, t: float
) -> None:
    mine, theirs = (analysis.tangent_kernel(run, [t])[0].to_numpy() for run in (layers, two))
    np.testing.assert_allclose(mine, theirs, rtol=1e-7, atol=1e-12)
    assert analysis.pattern_distance(layers, [t], other=two).n_pairs.tolist() == [0]
    assert t < 1 or (two.pattern(t) == 0).any()  # neurons slide


def deep(loss: str, outputs: int) -> rf.DeepSolution:
    rng = np.random.default_rng(3)
    X = rng.standard_normal((12, 3))
    y: Any = rng.integers(0, 3, 12) if loss == "cross_entropy" else rng.choice([-1.0, 1.0], (12, outputs))
    last = [rf.Dense(4), rf.Dense(outputs, activation="linear")]
    net = rf.DeepNetwork.init([rf.Dense(5), *last], dim=3, seed=2, scale=0.5)
    return rf.integrate((X, y), net, until=8.0, loss=loss, reduction="mean")


@pytest.mark.parametrize(("loss", "outputs"), [("logistic", 1), ("squared", 2), ("cross_entropy", 3)])
@pytest.mark.parametrize("t", [0.9, 3.1, 7.3])
def test_outputs_of_layers_follow_their_tangent_kernel(loss: str, outputs: int, t: float) -> None:
    sol, h = deep(loss, outputs), 1e-5
    X = sol.data[0]
    before, here, after = (sol(time)(X).reshape(len(X), -1) for time in (t - h, t, t + h))
    kernel = analysis.tangent_kernel(sol, [t])[0].to_numpy().reshape(len(X) * outputs, -1)
    pull = duals(here, sol._problem.targets, loss).ravel() / len(X)
    np.testing.assert_allclose((after - before).ravel() / (2 * h), kernel @ pull, rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(kernel, kernel.T)


def test_units_slide_in_one_of_these_runs() -> None:
    assert (analysis.pattern_distance(deep("squared", 2)).n_pairs > 0).any()
    assert any("slide" in deep(*run).events.kind for run in (("logistic", 1), ("squared", 2), ("cross_entropy", 3)))


def test_the_kernel_of_several_outputs_has_a_dimension_for_each() -> None:
    sol = deep("squared", 2)
    kernel = analysis.tangent_kernel(sol, [0.0, 8.0])
    assert kernel.dims == ("time", "sample", "output", "other", "other_output")
    first, last = (k.reshape(24, 24) for k in kernel.to_numpy())
    row = analysis.kernel_distance(sol, [0.0, 8.0]).iloc[1]
    assert row.distance == pytest.approx(np.linalg.norm(last - first) / np.linalg.norm(first), rel=1e-12)
    y = sol._problem.targets.ravel()
    assert row.target_alignment == pytest.approx(y @ last @ y / (np.linalg.norm(last) * (y @ y)), rel=1e-12)


def test_descent_beside_layers_has_the_numbers_of_two_layers(two: rf.Solution, layers: rf.DeepSolution) -> None:
    mine, theirs = (analysis.compare_with_descent(run, steps=[0.1, 0.01]) for run in (layers, two))
    columns = ["step", "n_steps", "error", "loss", "mean_loss", "normalised_margin"]
    np.testing.assert_allclose(mine[columns], theirs[columns], rtol=1e-6)
    assert mine.status.tolist() == ["reached_steps"] * 2
    large, small = analysis.suggest_steps(layers)
    assert large == 10 * small


def test_descent_that_diverges_and_targets_without_margins() -> None:
    sol = deep("squared", 2)
    row = analysis.compare_with_descent(sol, steps=[1e-2]).iloc[0]
    assert row.error < 0.05
    assert np.isnan(row.normalised_margin)
    run = rf.descend(sol.data, sol.initial, step=1e-2, n_steps=800, loss="squared", reduction="mean")
    assert row.error == pytest.approx(analysis.relative_error(run.final, sol.final), rel=1e-12)
    assert row.mean_loss == pytest.approx(np.exp(run.log_loss[-1]), rel=1e-12)
    line = rf.DeepNetwork.init([rf.Dense(1, "linear"), rf.Dense(1, "linear")], dim=1, scale=1.0, seed=0)
    large = rf.integrate(([[100.0]], [1.0]), line, until=20.0, loss="squared")
    assert np.isinf(analysis.compare_with_descent(large, steps=[0.5]).error[0])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda sol, two: analysis.tangent_kernel(sol, [21.0]), "times must lie in the run, from 0 to 20"),
        (lambda sol, two: analysis.pattern_distance(sol, [-1.0]), "times must lie in the run, from 0 to 20"),
        (lambda sol, two: analysis.kernel_distance(sol, [1.0], other=deep("logistic", 1)), "other must have 6 neurons"),
        (lambda sol, two: analysis.relative_error(sol.final, two.final), "net must be a Network of two layers"),
        (
            lambda sol, two: analysis.relative_error(sol.final, deep("logistic", 1).final),
            "net must have the layers of the reference, DeepNetwork",
        ),
    ],
)
def test_what_does_not_fit_is_refused(two: rf.Solution, layers: rf.DeepSolution, call: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call(layers, two)
