"""Weights of samples and weight decay with K outputs, one part trained, two rates, and layered networks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.special import log_softmax

import reluflow as rf

K = 3
WEIGHTS = np.array([1.5, 0.3, 0.0, 2.0, 1.0, 0.7, 1.1, 0.4, 2.2, 0.9])


def problem(loss: str, seed: int = 3) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X, Y = rng.standard_normal((10, 3)), rng.standard_normal((10, K))
    return X, (Y if loss == "squared" else np.arange(10) % K)


def objective(net: rf.Network, data: tuple[Any, Any, Any], loss: str, decay: float) -> float:
    f = net(data[0])
    each = 0.5 * ((f - data[1]) ** 2).sum(axis=1) if loss == "squared" else -log_softmax(f, axis=1)[range(10), data[1]]
    return float(data[2] @ each + 0.5 * decay * net.norm**2)


def start(seed: int = 4, leak: float = 0.0) -> rf.Network:
    return rf.Network.init(7, 3, outputs=K, scale=0.5, imbalance=0.2, leak=leak, seed=seed)


# --- closed forms ----------------------------------------------------------------------------------------------------


def test_one_balanced_neuron_grows_along_its_target_to_what_the_decay_leaves() -> None:
    """With a = |a| e for a unit e along y, u = |a| w follows u' = 2 u (c (|y| - u) - γ), a logistic curve."""
    y, count, decay, u0 = np.array([0.6, -0.8]) * 1.7, 0.5, 0.2, 0.01
    net = rf.Network([[u0**0.5]], [u0**0.5 * y / 1.7])
    sol = rf.integrate(([[1.0]], [y], [count]), net, until=40.0, loss="squared", weight_decay=decay, rtol=1e-12)
    top = 1.7 - decay / count
    for t in (1.0, 4.0, 40.0):
        u = np.linalg.norm(sol(t).a) * sol(t).W[0, 0]
        assert u == pytest.approx(top / (1.0 + (top - u0) / u0 * np.exp(-2 * count * top * t)), rel=1e-9)


@pytest.mark.parametrize("loss", ["squared", "cross_entropy"])
def test_what_no_sample_sees_decays_by_itself(loss: Any) -> None:
    X, targets = problem(loss)
    X[:, 2] = 0.0
    sol = rf.integrate((X, targets), start(), until=3.0, loss=loss, weight_decay=0.3, rtol=1e-12)
    assert sol.final.W[:, 2] == pytest.approx(np.exp(-0.9) * start().W[:, 2], rel=1e-10)


# --- invariants and other methods ------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", ["squared", "cross_entropy"])
@pytest.mark.parametrize("leak", [0.0, 0.2])
def test_the_balance_decays_and_the_objective_falls(loss: Any, leak: float) -> None:
    X, targets = problem(loss)
    data, decay = (X, targets, WEIGHTS), 0.15
    sol = rf.integrate(data, start(leak=leak), until=5.0, loss=loss, weight_decay=decay, rtol=1e-12)
    assert len(sol.events) > 10
    assert sol.balance == pytest.approx(np.outer(np.exp(-2 * decay * sol.t), np.full(7, 0.2)), abs=1e-11)
    losses = [objective(sol(t), data, loss, decay) for t in np.linspace(0.0, 5.0, 30)]
    assert (np.diff(losses) < 0).all()
    assert sol.log_loss[-1] == pytest.approx(np.log(objective(sol.final, data, loss, 0.0)), abs=1e-12)


@pytest.mark.parametrize("loss", ["squared", "cross_entropy"])
def test_between_events_the_flow_is_minus_the_gradient_of_the_whole_objective(loss: Any) -> None:
    data: Any = (*problem(loss), WEIGHTS)
    decay = 0.4
    sol = rf.integrate(data, start(), until=1.0, loss=loss, weight_decay=decay, rtol=1e-12)
    when = 0.5 * float(sol.events.t[0])
    at, h = sol(when), 1e-5 * when
    slope = (sol(when + h).theta - sol(when - h).theta) / (2 * h)
    for j, p in np.ndindex(slope.shape):
        moved = []
        for step in (1e-6, -1e-6):
            theta = at.theta.copy()
            theta[j, p] += step
            moved.append(objective(rf.Network(theta[:, :3], theta[:, 3:]), data, loss, decay))
        assert slope[j, p] == pytest.approx(-(moved[0] - moved[1]) / 2e-6, abs=1e-6)


@pytest.mark.parametrize("options", [{}, {"train": "first"}, {"rates": (0.4, 2.0)}])
@pytest.mark.parametrize("loss", ["squared", "cross_entropy"])
def test_descent_comes_to_the_flow_at_first_order(loss: Any, options: dict[str, Any]) -> None:
    data: Any = (*problem(loss), WEIGHTS)
    options = {**options, "loss": loss, "weight_decay": 0.2}
    sol = rf.integrate(data, start(), until=1.0, rtol=1e-11, **options)
    errors = []
    for n_steps in (500, 4000):
        run = rf.descend(data, start(), step=1.0 / n_steps, n_steps=n_steps, **options)
        assert run.t.tolist() == pytest.approx([0.0, 1.0])
        errors.append(np.abs(run.final.theta - sol.final.theta).max())
    assert errors[0] < 0.02
    assert errors[1] < 0.3 * errors[0]
    assert run.log_loss[-1] == pytest.approx(np.log(objective(run.final, data, loss, 0.0)), abs=1e-10)


@pytest.mark.parametrize("loss", ["logistic", "exponential", "squared"])
@pytest.mark.parametrize("reduction", ["sum", "mean"])
def test_one_output_is_the_run_of_the_other_core(loss: Any, reduction: Any) -> None:
    X, y = np.random.default_rng(5).standard_normal((10, 3)), np.where(np.arange(10) % 3 == 0, 1.0, -1.0)
    data, net = rf.Dataset(X, y, weights=WEIGHTS), rf.Network.init(7, 3, scale=0.5, seed=5)
    options: Any = {"until": 3.0, "loss": loss, "weight_decay": 0.2, "reduction": reduction, "rtol": 1e-12}
    one, other = rf.integrate(data, net, **options), rf.integrate(data, net, rates=(1.0, 1.0), **options)
    assert sorted(e[2:] for e in other.events) == sorted(e[2:] for e in one.events)
    assert len(one.events) > 0
    assert np.abs(one.final.theta - other.final.theta).max() < 1e-10
    assert other.log_loss_end == pytest.approx(one.log_loss_end, abs=1e-12)
    options = {"step": 1e-3, "n_steps": 50, "loss": loss, "weight_decay": 0.2, "reduction": reduction, "batch_size": 10}
    down, beside = rf.descend(data, net, **options), rf.descend(data, net, rates=(1.0, 1.0), **options)
    assert np.abs(down.final.theta - beside.final.theta).max() < 1e-12


@pytest.mark.parametrize("loss", ["logistic", "squared"])
def test_layers_with_biases_decay_as_descent_does(loss: Any) -> None:
    X, y = np.random.default_rng(6).standard_normal((10, 3)), np.where(np.arange(10) % 3 == 0, 1.0, -1.0)
    layers = [rf.Dense(5, bias=True), rf.Dense(4, bias=True), rf.Dense(1)]
    net = rf.DeepNetwork.init(layers, dim=3, scale=1.0, seed=6)
    data = rf.Dataset(X, y, weights=WEIGHTS)
    sol = rf.integrate(data, net, until=1.0, loss=loss, weight_decay=0.3, rtol=1e-11)
    errors = []
    for n_steps in (500, 4000):
        run = rf.descend(data, net, step=1.0 / n_steps, n_steps=n_steps, loss=loss, weight_decay=0.3)
        errors.append(np.abs(run.final.theta - sol.final.theta).max())
    assert len(sol.events) > 3
    assert errors[0] < 0.02
    assert errors[1] < 0.3 * errors[0]


# --- symmetries ------------------------------------------------------------------------------------------------------


def test_a_rotation_of_the_targets_rotates_the_outputs() -> None:
    X, Y = problem("squared")
    turn = np.linalg.qr(np.random.default_rng(7).standard_normal((K, K)))[0]
    net, options = start(), {"until": 4.0, "loss": "squared", "weight_decay": 0.1, "rtol": 1e-11}
    sol = rf.integrate((X, Y, WEIGHTS), net, **options)  # type: ignore[arg-type,misc]
    turned = rf.integrate((X, Y @ turn, WEIGHTS), rf.Network(net.W, net.a @ turn), **options)  # type: ignore[arg-type,misc]
    assert [e[2:] for e in sol.events] == [e[2:] for e in turned.events]
    assert len(sol.events) > 5
    assert turned.final.a == pytest.approx(sol.final.a @ turn, abs=1e-9)


@pytest.mark.parametrize("loss", ["squared", "cross_entropy"])
def test_a_whole_weight_is_as_many_repeats(loss: Any) -> None:
    X, targets = problem(loss)
    counts = np.array([1, 2, 1, 3, 1, 1, 2, 1, 1, 1])
    repeats = np.repeat(np.arange(10), counts)
    options: Any = {"step": 0.01, "n_steps": 100, "loss": loss}
    one = rf.descend((X, targets, counts), start(), **options)
    other = rf.descend((X[repeats], targets[repeats]), start(), **options)
    assert np.abs(one.final.theta - other.final.theta).max() < 1e-12
    assert one.log_loss == pytest.approx(other.log_loss, abs=1e-12)


# --- storage and what else takes them --------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["pair", "classes", "rates", "layers"])
def test_a_run_is_kept_and_continued_whole(tmp_path: Path, kind: str) -> None:
    X, classes = problem("cross_entropy")
    data: Any = (X, classes, WEIGHTS)
    net: Any = start()
    options: dict[str, Any] = {"loss": "cross_entropy", "weight_decay": 0.2, "rtol": 1e-11}
    if kind in ("classes", "layers"):
        data = rf.datasets.MultiClassDataset(X, np.array(["a", "b", "c"])[classes], weights=WEIGHTS)
    if kind == "rates":
        options["rates"] = (0.5, 2.0)
    if kind == "layers":
        net = rf.DeepNetwork.init([rf.Dense(5), rf.Dense(K)], dim=3, seed=8)
    whole = rf.integrate(data, net, until=3.0, **options)
    half = rf.integrate(data, net, until=1.0, **options)
    half.save(tmp_path / "half.npz")
    there = rf.load(tmp_path / "half.npz")
    assert there.settings["weight_decay"] == half.settings["weight_decay"]
    assert np.abs(there(0.4).theta - whole(0.4).theta).max() < 1e-8
    rest = rf.integrate(there.data, there, until=3.0, **options)
    assert np.abs(rest.final.theta - whole.final.theta).max() < 1e-8
    many = rf.integrate_many(data, [net, net], until=3.0, **options)
    assert all(np.array_equal(run.result.final.theta, whole.final.theta) for run in many)


def test_a_descent_remembers_what_was_trained(tmp_path: Path) -> None:
    data: Any = (*problem("squared"), WEIGHTS)
    run = rf.descend(data, start(), step=0.01, n_steps=9, loss="squared", rates=(0.5, 2.0), weight_decay=0.1)
    run.save(tmp_path / "descent.npz")
    there = rf.descent.DescentResult.load(tmp_path / "descent.npz")
    assert there.settings == run.settings
    assert (there.settings["rates"], there.settings["step"], there.settings["train"]) == ((0.5, 2.0), 0.01, "both")
    assert [np.array_equal(mine, theirs) for mine, theirs in zip(data, there.data, strict=True)] == [True] * 3
    first = rf.descend(data, start(), step=0.01, n_steps=9, loss="squared", train="first")
    assert (first.final.a == start().a).all()
    assert (first.final.W != start().W).any()


def test_classes_with_weights_are_data_like_others() -> None:
    X, classes = problem("cross_entropy")
    data = rf.datasets.MultiClassDataset(X, classes, weights=WEIGHTS)
    assert repr(data) == "MultiClassDataset(n=10, d=3, K=3, weighted)"
    assert data != rf.datasets.MultiClassDataset(X, classes)
    assert data.fingerprint != rf.datasets.MultiClassDataset(X, classes).fingerprint
    even, plain = (
        rf.datasets.MultiClassDataset(X, classes, weights=np.ones(10)),
        rf.datasets.MultiClassDataset(X, classes),
    )
    assert (even, even.fingerprint) == (plain, plain.fingerprint)
    assert (data.binary(1).counts == WEIGHTS).all()
    assert (data.pair(0, 2).counts == WEIGHTS[classes != 1]).all()
    assert (data.with_bias(1.0).counts == WEIGHTS).all()
    assert (rf.datasets.standardise(data).counts == WEIGHTS).all()
