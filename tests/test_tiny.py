"""Starts whose squares leave the doubles: neurons keep a scale of their own, so that their events are right."""

from __future__ import annotations

import numpy as np
import pytest

import reluflow as rf


def start(kind: str, seed: int, scale: float, leak: float) -> tuple[rf.Dataset, rf.Network]:
    rng = np.random.default_rng([seed, 17])
    X = rng.standard_normal((7, 3)) if kind == "random" else rng.integers(-2, 3, (7, 3)).astype(float)
    X[~X.any(axis=1), 0] = 1.0
    W = rng.standard_normal((5, 3))
    a = np.linalg.norm(W, axis=1) * rng.choice([-1.0, 1.0], 5)
    return rf.Dataset(X, rng.choice([-1.0, 1.0], 7)), rf.Network(scale * W, scale * a, leak=leak)


@pytest.mark.parametrize("kind", ["random", "integers"])
@pytest.mark.parametrize("leak", [0.0, 0.1])
@pytest.mark.parametrize("loss", ["logistic", "exponential"])
@pytest.mark.parametrize("scale", [1e-50, 1e-100, 1e-130, 1e-150])
def test_a_tiny_start_grows_without_a_failure(scale: float, loss: str, leak: float, kind: str) -> None:
    for seed in range(8):
        data, net = start(kind, seed, scale, leak)
        until = rf.Stop(time=-3.0 * np.log(scale), seconds=60.0)
        sol = rf.integrate(data, net, until=until, loss=loss)
        assert sol.success or sol.status == "undecided_event", (seed, sol.message)
        assert np.max(np.diff(sol.log_loss), initial=0.0) <= 1e-12, seed


def test_the_early_phase_has_no_scale() -> None:
    """While all neurons are tiny the weights are constant: events at 1e-150 are those at 1e-60, and the shapes too."""
    for seed in range(8):
        runs = []
        for scale in (2.0**-200, 2.0**-498):
            data, net = start("random", seed, scale, 0.0)
            runs.append(rf.integrate(data, net, until=20.0))
        one, two = runs
        assert one.success
        assert two.success
        assert one.events.neuron.tolist() == two.events.neuron.tolist()
        assert one.events.sample.tolist() == two.events.sample.tolist()
        assert one.events.t == pytest.approx(two.events.t, rel=1e-9)
        sizes = np.abs(one.final.a)
        assert (np.abs(one.final.W - two.final.W * 2.0**298).max(axis=1) <= 1e-6 * sizes).all()


def test_a_neuron_that_decays_below_the_doubles_comes_back_with_its_events() -> None:
    """Two samples push a tiny neuron in by e^-1000; a large one unlearns the stronger of them, and it grows again."""
    data = rf.Dataset([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]], [-1, 1, 1])
    net = rf.Network([[1e-120, 0.0], [1.0, 0.0]], [-1e-120, 1.0])
    sol = rf.integrate(data, net, until=1e4)
    assert sol.success, sol.message
    assert np.max(np.diff(sol.log_loss), initial=0.0) <= 1e-14
    assert not np.isnan(sol.final.a).any()


def test_a_state_with_tiny_neurons_on_boundaries_is_continued():
    """Squares of 1e-180 leave the doubles: the check of a carried pattern takes sizes without them."""
    data = rf.Dataset([[1.0, 1.0], [1.0, -1.0]], [1, -1])
    net = rf.Network([[1e-180, 1e-180 * (1 + 2e-16)], [0.3, 0.1]], [1e-180 * np.sqrt(2), 0.4], pattern=[[1, 0], [1, 1]])
    assert rf.integrate(data, net, until=1.0).success


def test_rounding_takes_no_neuron_across_a_boundary_that_its_direction_tends_to() -> None:
    """On signs a tiny neuron can tend to a repelling boundary that it stays beside; a bend of 1e-17 took it across."""
    X = [[1, 1, 1, -1, 1], [-1, -1, 1, -1, 1], [1, 1, 1, 1, 1], [1, -1, 1, 1, 1], [-1, -1, -1, -1, 1], [2, 2, 2, 2, 2]]
    W = [[1, 1, -2, 0, -1], [1, -1, 2, 2, -1], [1, -1, 2, 1, 2], [2, 0, 1, -2, 1], [0, 1, -2, 0, 2], [1, 0, 0, 0, 1]]
    data = rf.Dataset(np.array(X, dtype=float), [1, -1, -1, 1, 1, -1])
    W = np.array(W) * 1e-100
    net = rf.Network(W, np.linalg.norm(W, axis=1) * [1, -1, 1, -1, 1, -1])
    runs = [rf.integrate(data, net, until=155.0, rtol=rtol) for rtol in (1e-9, 1e-12)]
    assert runs[0].events.sample.tolist() == runs[1].events.sample.tolist()
    assert runs[0].log_loss_end == pytest.approx(runs[1].log_loss_end, rel=1e-9)
    late = runs[0].t > 60.0
    kept, dense = runs[0].W[late], runs[0].states(runs[0].t[late])[0]
    assert np.max(np.abs(kept - dense).max(axis=2) / np.linalg.norm(kept, axis=2)) < 1e-6
