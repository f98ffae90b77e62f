"""Runs of layered networks: other cores, slow references, invariants, storage."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import reluflow as rf
from layered_cases import load
from layered_reference import duals, gradient, reference

RNG = np.random.default_rng


def points(seed: int, n: int = 8, d: int = 3) -> rf.Dataset:
    rng = RNG(seed)
    y = rng.choice([-1.0, 1.0], n)
    y[0], y[1] = 1.0, -1.0
    return rf.Dataset(rng.standard_normal((n, d)), y)


def as_layers(net: rf.Network) -> rf.DeepNetwork:
    theta = np.concatenate((net.W.ravel(), net.a))
    return rf.DeepNetwork([rf.Dense(net.width), rf.Dense(1)], theta, dim=net.dim, leak=net.leak)


# What a unit does that has lost its last active sample has two names: it rests for ever in two layers; in general it
# slides, with multiplier zero, until something below it moves.
SAME_KIND = {"hold": "slide", "stop": "slide", "die": "slide", "release_up": "leave_up", "release_down": "leave_down"}


@pytest.mark.parametrize("loss", ["logistic", "exponential"])
@pytest.mark.parametrize(("seed", "leak"), [(1, 0.0), (2, 0.0), (3, 0.1), (4, 0.2)])
def test_two_dense_layers_agree_with_the_core_of_two_layers(seed: int, leak: float, loss: str) -> None:
    data = points(seed)
    net = rf.Network.init(5, 3, scale=0.4, leak=leak, seed=seed, balanced=False)
    two = rf.integrate(data, net, until=4.0, loss=loss, rtol=1e-12)
    deep = rf.integrate(data, as_layers(net), until=4.0, loss=loss, rtol=1e-12)
    assert deep.status == two.status == "reached_time"
    assert len(two.events) > 0
    wanted = sorted((SAME_KIND.get(e.kind, e.kind), e.neuron, e.sample) for e in two.events)
    assert sorted((e.kind, e.unit, e.sample) for e in deep.events if e.kind != "void") == wanted
    times = np.sort([e.t for e in deep.events if e.kind != "void"])
    assert times == pytest.approx(np.sort(two.events.t), rel=1e-9)
    theta = np.concatenate((two.final.W.ravel(), two.final.a))
    assert np.abs(deep.final.theta - theta).max() < 1e-10 * np.abs(theta).max()
    assert deep.log_loss_end == pytest.approx(two.log_loss_end, rel=1e-10)


@pytest.mark.parametrize("loss", ["logistic", "exponential", "squared", "cross_entropy"])
def test_a_linear_network_agrees_with_a_method_of_runge_and_kutta(loss: str) -> None:
    rng = RNG(5)
    outputs = 3 if loss == "cross_entropy" else 2 if loss == "squared" else 1
    layers = [rf.Dense(3, "linear", bias=True), rf.Residual(rf.Dense(3, "linear")), rf.Dense(outputs)]
    net = rf.DeepNetwork.init(layers, dim=3, scale=0.7, seed=2)
    X = rng.standard_normal((3, 3))
    if loss == "cross_entropy":
        y = np.array([0, 1, 2])
        targets = np.eye(3)[y]
    else:
        y = targets = rng.choice([-1.0, 1.0], (3, outputs)) if loss != "squared" else rng.standard_normal((3, 2))
    sol = rf.integrate((X, y), net, until=0.2, loss=loss, rtol=1e-12)
    wanted = reference(net, X, targets, loss, 0.2)
    assert np.abs(sol.final.theta - wanted).max() < 1e-10


def test_between_its_events_a_run_follows_the_gradient() -> None:
    case = load("deep3_relu")
    sol = rf.integrate(case.data, case.net, until=1.0, loss="logistic", rtol=1e-12)
    slides = sol.events.t[np.isin(sol.events.kind, ["slide"])]
    quiet = float(slides[0]) / 2.0  # before the first slide
    X, y = case.data
    h = 1e-5
    slope = (sol(quiet + h).theta - sol(quiet - h).theta) / (2 * h)
    theta = sol(quiet).theta
    outputs = case.net._with(theta.copy())(X)[:, None]
    assert slope == pytest.approx(gradient(case.net, theta, X, duals(outputs, y[:, None], "logistic")), abs=1e-8)


def test_a_sliding_unit_stays_at_zero() -> None:
    case = load("deep3_relu")
    sol = rf.integrate(case.data, case.net, until=5.0, loss="logistic", rtol=1e-12)
    slide = next(event for event in sol.events if event.kind == "slide")
    left = next(e.t for e in sol.events if e[2:5] == slide[2:5] and e.kind.startswith("leave"))
    for t in np.linspace(slide.t, left, 5)[1:-1]:
        z = sol(float(t)).pre_activations(case.data[0])[slide.layer][slide.sample, slide.unit]
        assert abs(z) < 1e-12
        assert sol.pattern(float(t))[slide.layer - 1][slide.sample, slide.unit] == 0


@pytest.mark.parametrize("name", ["deep3_relu", "conv_relu", "residual", "bias_squared", "narrow_void"])
def test_what_a_network_conserves_stays_and_the_loss_falls(name: str) -> None:
    case = load(name)
    sol = rf.integrate(case.data, case.net, until=float(case.times[-1]), loss=case.loss, rtol=1e-12)
    assert sol.balance.shape[1] > 0
    assert np.abs(sol.balance - sol.balance[0]).max() < 1e-11 * sol.final.norm**2
    assert (np.diff(sol.log_loss) <= 1e-12).all()


def test_the_balance_of_dense_layers_is_that_of_each_unit() -> None:
    net = rf.DeepNetwork.init([rf.Dense(3), rf.Dense(2), rf.Dense(1)], dim=2, seed=4)
    sol = rf.integrate(points(3, d=2), net, until=0.1)
    W1, W2, W3 = (layer.W for layer in net.layers)
    wanted = [*((W1**2).sum(1) - (W2**2).sum(0)), *((W2**2).sum(1) - (W3**2).sum(0))]
    assert sorted(sol.balance[0]) == pytest.approx(sorted(wanted))


def test_the_order_of_units_and_samples_does_not_matter() -> None:
    data = points(7)
    net = rf.DeepNetwork.init([rf.Dense(4), rf.Dense(3), rf.Dense(1)], dim=3, seed=7)
    swap, turn = [2, 0, 3, 1], [5, 3, 0, 1, 7, 2, 4, 6]
    W1, W2, W3 = (layer.W for layer in net.layers)
    theta = np.concatenate((W1[swap].ravel(), W2[:, swap].ravel(), W3.ravel()))
    other = rf.DeepNetwork([rf.Dense(4), rf.Dense(3), rf.Dense(1)], theta, dim=3)
    first = rf.integrate(data, net, until=3.0, rtol=1e-12)
    second = rf.integrate(rf.Dataset(data.X[turn], data.y[turn]), other, until=3.0, rtol=1e-12)
    assert first.status == second.status == "reached_time"
    assert len(first.events) == len(second.events) > 0
    assert pytest.approx(first.final.layers[0].W[swap], abs=1e-10) == second.final.layers[0].W


def test_a_rotation_of_the_inputs_turns_the_first_layer() -> None:
    data = points(8)
    turn = np.linalg.qr(RNG(1).standard_normal((3, 3)))[0]
    net = rf.DeepNetwork.init([rf.Dense(4), rf.Dense(3), rf.Dense(1)], dim=3, seed=8)
    theta = np.concatenate(((net.layers[0].W @ turn.T).ravel(), net.theta[12:]))
    first = rf.integrate(data, net, until=3.0, rtol=1e-12)
    second = rf.integrate(rf.Dataset(data.X @ turn.T, data.y), net._with(theta), until=3.0, rtol=1e-12)
    assert [e[2:] for e in first.events] == [e[2:] for e in second.events]
    assert second.final.layers[0].W @ turn == pytest.approx(first.final.layers[0].W, abs=1e-9)


def test_a_run_cut_in_two_is_the_same_run() -> None:
    case = load("deep3_relu")
    whole = rf.integrate(case.data, case.net, until=5.0, loss="logistic", rtol=1e-12)
    first = rf.integrate(case.data, case.net, until=0.85, loss="logistic", rtol=1e-12)  # while units slide
    second = rf.integrate(case.data, first, until=5.0, loss="logistic", rtol=1e-12)
    assert second.t_start == 0.85
    rows = [e[2:] for e in first.events] + [e[2:] for e in second.events]
    assert rows == [e[2:] for e in whole.events]
    assert second.final.theta == pytest.approx(whole.final.theta, abs=1e-11)


def test_the_solution_at_a_time_is_the_state_kept_there() -> None:
    case = load("bias_squared")
    sol = rf.integrate(case.data, case.net, until=2.0, loss="squared", rtol=1e-12)
    assert np.abs(sol(0.5).theta - case.theta[1]).max() < 1e-11
    assert sol(0.0) == sol.initial
    assert sol(2.0) == sol.final
    with pytest.raises(ValueError, match="lie in the run, from 0 to 2"):
        sol(2.5)


def test_a_stored_solution_comes_back_whole(tmp_path: Path) -> None:
    case = load("narrow_void")
    sol = rf.integrate(case.data, case.net, until=8.0, rtol=1e-12)
    sol.save(tmp_path / "run.npz")
    for back in (rf.load(tmp_path / "run.npz"), pickle.loads(pickle.dumps(sol))):
        assert back.status == sol.status
        assert [tuple(e) for e in back.events] == [tuple(e) for e in sol.events]
        assert np.array_equal(back.theta, sol.theta)
        assert back(3.0).theta == pytest.approx(sol(3.0).theta, abs=1e-11)
        again = rf.integrate(case.data, back, until=9.0, rtol=1e-12)
        assert again.final == rf.integrate(case.data, sol, until=9.0, rtol=1e-12).final
    assert [path.name for path in tmp_path.iterdir()] == ["run.npz"]


@pytest.mark.parametrize("row", [[0.0, 0.0], [1e-120, 0.0]])
@pytest.mark.parametrize(
    ("loss", "targets", "net"),
    [
        ("logistic", [1, -1, 1], rf.DeepNetwork.init([rf.Dense(3, bias=True), rf.Dense(1)], dim=2, seed=0)),
        ("exponential", [1, -1, 1], rf.DeepNetwork.init([rf.Dense(3, bias=True), rf.Dense(1)], dim=2, seed=0)),
        ("cross_entropy", [0, 1, 1], rf.DeepNetwork.init([rf.Dense(3, bias=True), rf.Dense(2)], dim=2, seed=0)),
        ("cross_entropy", [0, 1, 1], rf.Network([[1.0, 2.0], [-1.0, 1.0]], [[1.0, -1.0], [0.5, 0.2]])),
    ],
)
def test_a_run_on_rows_that_no_dataset_takes_comes_back(
    loss: Any, targets: list[int], net: Any, row: list[float], tmp_path: Path
) -> None:
    data = [[1.0, 2.0], row, [-1.0, 1.0]], targets, [1.0, 2.0, 3.0]
    sol = rf.integrate(data, net, until=1.0, loss=loss)
    sol.save(tmp_path / "run.npz")
    back = rf.load(tmp_path / "run.npz")
    assert np.array_equal(back.final.theta, sol.final.theta)
    for ours, given in zip(back.data, data, strict=True):
        assert np.array_equal(ours, given)
    assert (
        rf.integrate(back.data, back, until=2.0, loss=loss).final == rf.integrate(data, sol, until=2.0, loss=loss).final
    )


def test_each_rule_ends_a_run() -> None:
    case = load("deep3_relu")

    def run(**rule: float) -> rf.layered.DeepSolution:
        return rf.integrate(case.data, case.net, until=rf.Stop(**rule), rtol=1e-10)

    by_loss = run(loss=3.0)
    assert (by_loss.status, by_loss.log_loss_end) == ("reached_loss", pytest.approx(np.log(3.0), abs=1e-9))
    assert len(run(events=7).events) >= 7
    assert run(events=7).status == "reached_events"
    assert run(log_time=1.0).t_end == pytest.approx(np.e)
    assert run(seconds=1e-9).status == "reached_seconds"


def test_a_callback_sees_the_run_and_can_end_it() -> None:
    case = load("deep3_relu")
    seen = []
    sol = rf.integrate(case.data, case.net, until=1e6, callback=lambda p: seen.append(p.t) or len(seen) > 2)
    assert sol.status in ("stopped_by_callback", "reached_time")
    assert seen == sorted(seen)


def test_a_run_whose_states_are_thinned_out_keeps_whole_ones() -> None:
    rng = np.random.default_rng(0)
    data = rf.Dataset(rng.normal(size=(357, 64)), np.sign(rng.normal(size=357)))
    net = rf.DeepNetwork.init([rf.Dense(10), rf.Dense(1)], dim=64, seed=0)
    sol = rf.integrate(data, net, until=0.05)
    assert sol.status == "reached_time"
    assert len(sol.t) < sol.stats["steps"]
    np.testing.assert_array_equal(sol(0.0).theta, net.theta)


@pytest.mark.parametrize("scale", [1e-12, 1e-15, 1e-40, 1e-200])
def test_a_bias_grows_out_of_any_start(scale: float) -> None:
    """Series in times like the start have last terms below all doubles, and steps stayed as short as the first one."""
    X, y = np.array([[1.0, 0.5], [0.3, -1.0], [-0.7, 0.2]]), np.array([0.3, -0.2, 0.1])
    net = rf.DeepNetwork([rf.Dense(1, bias=True)], scale * np.array([1.0, -0.5, 2.0]), dim=2)
    until = rf.Stop(time=2.0, seconds=10.0)
    sol = rf.integrate((X, y), net, until=until, loss="squared")
    assert sol.status == "reached_time"
    assert sol.stats["steps"] < 100
    A = np.c_[X, np.ones(3)]
    rates, V = np.linalg.eigh(A.T @ A)
    grown = V @ ((1.0 - np.exp(-2.0 * rates)) / rates * (V.T @ A.T @ y))
    np.testing.assert_allclose(sol.final.theta, grown, atol=1e-9)
