"""Late steps of layered networks, to log t = 1e10: closed forms, the two-layer core, runs without an idle sample."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import reluflow as rf
from reluflow.layered import DeepSolution
from test_layered_limit import layers, linear, separable

FAR = 1e10
# Explicit steps alone would take some thousand to log t = 250.
MOST_STEPS = 500


def start(widths: list[int], d: int, seed: int, **options: Any) -> rf.DeepNetwork:
    return rf.DeepNetwork.init(layers(widths), dim=d, scale=0.5, seed=seed, **options)


def run(data: Any, net: Any, log_time: float = FAR, **options: Any) -> DeepSolution:
    sol = rf.integrate(data, net, until=rf.Stop(log_time=log_time, steps=2000), **options)
    assert sol.status == "reached_log_time", sol.message
    assert sol.log_t_end == log_time
    return sol


def rows(sol: Any) -> list[tuple[Any, ...]]:
    return [tuple(event)[2:] for event in sol.events]


def apart(one: rf.DeepNetwork, two: rf.DeepNetwork) -> float:
    return float(np.abs(one.theta - two.theta).max() / np.abs(two.theta).max())


# --- closed forms ---


@pytest.mark.parametrize("depth", [2, 3, 4, 5])
@pytest.mark.parametrize("log_time", [30.0, 1e4, FAR])
def test_one_path_keeps_its_time(depth: int, log_time: float) -> None:
    """θ' = θ^(L-1) exp(-θ^L) in all L layers, so with x = θ^L: t = ∫ e^x x^(2/L - 2) dx / L, by parts."""
    stack = layers([1] * (depth - 1), "linear")
    net = rf.DeepNetwork.init(stack, dim=1, seed=0)._with(np.full(depth, 1.1))
    sol = run(rf.Dataset([[1.0]], [1]), net, log_time, loss="exponential", rtol=1e-10)
    theta = sol.final.theta
    np.testing.assert_allclose(theta, theta[0], rtol=1e-12)
    x, power = theta[0] ** depth, 2.0 - 2.0 / depth
    terms = np.cumprod([1.0, *((power + k) / x for k in range(8))])
    assert x - power * np.log(x) - np.log(depth) + np.log(terms.sum()) == pytest.approx(log_time, rel=1e-8)
    assert sol.log_loss_end == pytest.approx(-x, rel=1e-10)


@pytest.mark.parametrize("depth", [2, 3, 4, 5])
@pytest.mark.parametrize("loss", ["logistic", "exponential"])
def test_deep_linear_networks_come_to_their_limit(depth: int, loss: Any) -> None:
    """[VSS, Theorem 3.1]; before, depth 5 ended 0.26 rad from it."""
    data, _ = linear()
    net = rf.DeepNetwork.init(layers([3] * (depth - 1), "linear"), dim=2, scale=0.8, seed=1)
    sol = run(data, net, loss=loss)
    assert sol.stats["steps"] < MOST_STEPS
    assert sol.limit.certified, sol.limit.reason
    assert sol.limit.turn < 0.01
    assert sol.limit.margin == pytest.approx(2.0 / np.sqrt(5.0) * depth ** (-depth / 2.0), rel=1e-10)


@pytest.mark.parametrize("depth", [4, 5])
def test_a_run_goes_on_until_the_limit_of_a_deep_linear_network_is_certified(depth: int) -> None:
    data, _ = linear()
    net = rf.DeepNetwork.init(layers([3] * (depth - 1), "linear"), dim=2, scale=0.8, seed=1)
    sol = rf.integrate(data, net, until=rf.Stop(limit=True, steps=2000))
    assert (sol.status, sol.limit.certified) == ("reached_limit", True)
    assert sol.log_t_end > 650.0


def test_a_rectified_network_comes_to_a_certified_limit() -> None:
    sol = run(separable(4, 10, 3), start([3, 3], 3, 4))
    assert sol.stats["steps"] < MOST_STEPS
    assert sol.limit.certified, sol.limit.reason
    assert sol.limit.turn < 1e-3


# --- the two-layer core ---

SAME_KIND = {"hold": "slide", "stop": "slide", "die": "slide", "release_up": "leave_up", "release_down": "leave_down"}


@pytest.mark.parametrize(("seed", "leak"), [(1, 0.0), (6, 0.0), (1, 0.1), (3, 0.1)])
@pytest.mark.parametrize("log_time", [1e4, FAR])
def test_two_layers_agree_with_their_own_core(seed: int, leak: float, log_time: float) -> None:
    data = rf.datasets.wang_pilanci("obtuse")
    net = rf.Network.init(6, data.d, scale=0.3, seed=seed, leak=leak)
    two = rf.integrate(data, net, until=rf.Stop(log_time=log_time))
    theta = np.concatenate((two.final.W.ravel(), two.final.a))
    deep = run(
        data, rf.DeepNetwork([rf.Dense(6), rf.Dense(1)], np.r_[net.W.ravel(), net.a], dim=2, leak=leak), log_time
    )
    ours = [event for event in deep.events if event.kind != "void"]
    wanted = sorted((SAME_KIND.get(e.kind, e.kind), e.neuron, e.sample) for e in two.events)
    assert sorted((e.kind, e.unit, e.sample) for e in ours) == wanted
    times = np.sort([event.log_t for event in ours])
    np.testing.assert_allclose(times, np.sort(two.events.log_t), rtol=1e-8, atol=1e-9)
    assert np.abs(deep.final.theta - theta).max() < 1e-10 * np.abs(theta).max()
    np.testing.assert_allclose(data.y * deep.final(data.X), data.y * two.final(data.X), rtol=1e-9)


def test_many_events_on_the_way_agree_with_the_two_layer_core() -> None:
    rng = np.random.default_rng(4)
    X = rng.standard_normal((20, 5))
    data = rf.Dataset(X, np.sign(X @ rng.standard_normal(5)))
    net = rf.Network.init(10, 5, scale=0.5, seed=4)
    two = rf.integrate(data, net, until=rf.Stop(log_time=FAR))
    deep = run(data, rf.DeepNetwork([rf.Dense(10), rf.Dense(1)], np.r_[net.W.ravel(), net.a], dim=5))
    wanted = sorted((SAME_KIND.get(e.kind, e.kind), e.neuron, e.sample) for e in two.events)
    assert len(wanted) > 100
    assert sorted((e.kind, e.unit, e.sample) for e in deep.events if e.kind != "void") == wanted
    theta = np.concatenate((two.final.W.ravel(), two.final.a))
    assert np.abs(deep.final.theta - theta).max() < 1e-9 * np.abs(theta).max()


# --- one run, whatever is asked of it ---

STACKS: dict[str, tuple[Any, float]] = {
    "rectified": ([rf.Dense(6), rf.Dense(4), rf.Dense(1)], 0.0),
    "leaking": ([rf.Dense(5), rf.Dense(4), rf.Dense(1)], 0.1),
    "biases": ([rf.Dense(4), rf.Dense(4, bias=True), rf.Dense(1)], 0.0),
    "skip": ([rf.Dense(4), rf.Residual(rf.Dense(4)), rf.Dense(1)], 0.0),
    "diagonal": ([rf.Diagonal(), rf.Dense(4), rf.Dense(1)], 0.0),
    "shared": ([rf.Conv1d(2, 2), rf.Dense(3), rf.Dense(1)], 0.0),
}


def problem(kind: str) -> tuple[rf.Dataset, rf.DeepNetwork]:
    stack, leak = STACKS[kind]
    if kind == "rectified":
        return separable(0, 10, 5), rf.DeepNetwork.init(stack, dim=5, scale=0.5, seed=0)
    return separable(0, 8, 3), rf.DeepNetwork.init(stack, dim=3, scale=0.5, seed=0, leak=leak)


@pytest.mark.parametrize("kind", list(STACKS))
def test_the_end_does_not_depend_on_the_tolerance(kind: str) -> None:
    data, net = problem(kind)
    one, two = run(data, net), run(data, net, rtol=1e-11)
    assert one.stats["steps"] < MOST_STEPS
    assert rows(one) == rows(two)
    assert apart(one.final, two.final) < 1e-10
    assert np.all(np.diff(one.log_loss) <= 1e-12 * np.abs(one.log_loss[1:]))
    if kind in ("biases", "skip"):
        assert one.limit.kind == "none"


def test_a_run_cut_in_two_is_the_same_run() -> None:
    data, net = problem("rectified")
    whole = run(data, net, 1e8)
    first = run(data, net, 3e4)
    second = run(data, first, 1e8)
    assert rows(first) + rows(second) == rows(whole)
    assert len(rows(second)) > 0
    assert apart(second.final, whole.final) < 1e-11


def test_states_inside_late_steps_are_those_of_the_run() -> None:
    data, net = problem("rectified")
    times = np.geomspace(10.0, 1e8, 8)
    whole = run(data, net, 1e8)
    saved = run(data, net, 1e8, save_at_log=times)
    np.testing.assert_array_equal(saved.log_t, times)
    assert whole.stats["steps"] == saved.stats["steps"]
    for time, theta in zip(times, saved.theta, strict=True):
        assert apart(whole.at(log_t=float(time)), net._with(np.array(theta))) < 1e-10
    ends = run(data, net, float(times[4])).final
    assert apart(ends, net._with(np.array(saved.theta[4]))) < 1e-10
    q = data.y * ends(data.X)
    assert np.sort(q)[4] - q.min() < 5.0  # the support, of margins 1e5: equal but for a constant


def test_stop_rules_cut_late_steps() -> None:
    data, net = problem("rectified")

    def stopped(**rule: float) -> DeepSolution:
        return rf.integrate(data, net, until=rf.Stop(log_time=FAR, **rule))

    by_norm = stopped(log_norm=4.0)
    assert by_norm.status == "reached_log_norm"
    assert np.log(by_norm.final.norm) == pytest.approx(4.0, abs=1e-12)
    by_loss = stopped(loss=1e-200)
    assert (by_loss.status, by_loss.log_loss_end) == ("reached_loss", pytest.approx(np.log(1e-200), rel=1e-9))
    by_gradient = stopped(gradient=1e-30)
    assert by_gradient.status == "reached_gradient"
    assert -75.0 < by_gradient._raw["log_gradient_norm"] < np.log(1e-30)
    assert stopped(seconds=1e-9).status == "reached_seconds"


def test_the_balance_stays() -> None:
    data, net = problem("rectified")
    sol = run(data, net)
    assert np.abs(sol.balance - sol.balance[0]).max() < 1e-11 * sol.final.norm**2


# --- idle samples ---


def test_a_sample_that_nothing_moves_does_not_stop_the_clock() -> None:
    """Before, its weight made those of all others vanish, and runs went nowhere from log t = 700 on."""
    rng = np.random.default_rng(0)
    X = np.column_stack((1.0 + rng.random(6), rng.standard_normal(6)))
    y = np.sign(X[:, 1])
    net = start([4, 3], 2, 3)
    theta = net.theta.copy()
    theta[:8:2] = np.abs(theta[:8:2]) + 0.3  # all units of the first layer are inactive on a sample to the left
    theta[8:] = np.abs(theta[8:]) * np.where(np.arange(len(theta) - 8) % 3 == 0, -1.0, 1.0)
    net = net._with(theta)
    alone = run(rf.Dataset(X, y), net)
    beside = run(rf.Dataset(np.vstack((X, [-1.0, 0.1])), np.r_[y, 1.0]), net)
    assert beside.final([[-1.0, 0.1]])[0] == 0.0
    assert rows(beside) == rows(alone)
    assert apart(beside.final, alone.final) < 1e-12


def test_a_unit_that_slides_on_a_sample_that_nothing_moves_stays_there() -> None:
    data = separable(4, 10, 5)
    sol = run(data, start([6, 4], 5, 4))
    idle = np.flatnonzero(sol.final(data.X) == 0.0)
    assert idle.tolist() == [1]
    assert [2, 0, 1] in [[e.layer, e.unit, e.sample] for e in sol.events if e.kind == "slide"]
    assert sol._end["sides"][2][1, 0] == 0
    z = sol.final.pre_activations(data.X)[2][1, 0]
    assert abs(z) < 1e-12 * sol.final.norm
    assert sol.limit.certified, sol.limit.reason
