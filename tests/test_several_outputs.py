"""Two layers with K outputs: closed forms, other methods, invariants, what a solution can do."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.special import log_softmax

import reluflow as rf
from reluflow.flow import TwoLayerSolution

RNG = np.random.default_rng
K = 3


def problem(seed: int, n: int = 12, d: int = 3) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Inputs, real targets and class numbers."""
    rng = RNG(seed)
    return rng.standard_normal((n, d)), rng.standard_normal((n, K)), np.arange(n) % K


def data_of(seed: int, loss: str) -> tuple[np.ndarray, np.ndarray]:
    X, Y, classes = problem(seed)
    return X, (Y if loss == "squared" else classes)


def loss_of(net: rf.Network, data: tuple[np.ndarray, np.ndarray], loss: str) -> float:
    f = net(data[0])
    if loss == "squared":
        return float(0.5 * ((f - data[1]) ** 2).sum())
    return float(-log_softmax(f, axis=1)[np.arange(len(f)), data[1]].sum())


def distance(first: rf.Network, second: rf.Network) -> float:
    return max(float(np.abs(first.W - second.W).max()), float(np.abs(first.a - second.a).max()))


# --- closed forms ----------------------------------------------------------------------------------------------------


def test_one_neuron_with_fixed_outputs_follows_its_closed_form() -> None:
    """z = w x obeys z' = x² (⟨a, y⟩ - |a|² z): an exponential."""
    x, w, a, y = 1.5, 0.4, np.array([0.7, -0.3]), np.array([1.0, 0.2])
    sol = rf.integrate(([[x]], [y]), rf.Network([[w]], [a]), until=2.0, loss="squared", train="first")
    end = a @ y / (a @ a)
    z = end + (w * x - end) * np.exp(-(x**2) * (a @ a) * 2.0)
    assert sol.final.W[0, 0] == pytest.approx(z / x, rel=1e-9)
    assert (sol.final.a == [a]).all()


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_two_classes_of_opposite_outputs_are_the_logistic_loss(seed: int) -> None:
    """Outputs (g, -g) lose log(1 + e^(-2gy)): with ŵ = 2^¼ w and â = 2^¾ b the logistic flow, √2 times as fast."""
    X = RNG(seed).standard_normal((10, 3))
    y = np.where(np.arange(10) % 2 == 0, 1.0, -1.0)
    small = rf.Network.init(6, 3, scale=0.4, balanced=False, seed=seed)
    two = rf.Network(small.W, np.column_stack((small.a, -small.a)))
    sol = rf.integrate((X, (y < 0).astype(int)), two, until=2.0, loss="cross_entropy", rtol=1e-11)
    other = rf.Network(2**0.25 * small.W, 2**0.75 * small.a)
    wanted = rf.integrate(rf.Dataset(X, y), other, until=2.0 * 2**0.5, rtol=1e-11)
    assert len(sol.events) == len(wanted.events) > 0
    assert [e[2:] for e in sol.events] == [e[2:] for e in wanted.events]
    assert sol.events.t == pytest.approx(wanted.events.t / 2**0.5, rel=1e-8)
    assert pytest.approx(wanted.final.W / 2**0.25, abs=1e-9) == sol.final.W
    assert sol.final.a[:, 0] == pytest.approx(wanted.final.a / 2**0.75, abs=1e-9)
    assert sol.final.a[:, 1] == pytest.approx(-sol.final.a[:, 0], abs=1e-12)


# --- other methods ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", ["squared", "cross_entropy"])
@pytest.mark.parametrize("leak", [0.0, 0.2])
def test_between_events_the_flow_is_minus_the_gradient_by_finite_differences(loss: str, leak: float) -> None:
    data = data_of(4, loss)
    net = rf.Network.init(4, 3, outputs=K, scale=0.6, leak=leak, seed=4)
    sol = rf.integrate(data, net, until=1.0, loss=loss, rtol=1e-12)  # type: ignore[call-overload]
    first = float(sol.events.t[0])
    at, h = sol(0.5 * first), 1e-5 * first
    slope_W = (sol(0.5 * first + h).W - sol(0.5 * first - h).W) / (2 * h)
    slope_a = (sol(0.5 * first + h).a - sol(0.5 * first - h).a) / (2 * h)
    for slope, part in ((slope_W, "W"), (slope_a, "a")):
        for place in np.ndindex(slope.shape):
            moved = []
            for step in (1e-6, -1e-6):
                weights = {"W": at.W.copy(), "a": at.a.copy()}
                weights[part][place] += step
                moved.append(loss_of(rf.Network(**weights, leak=leak), data, loss))
            assert slope[place] == pytest.approx(-(moved[0] - moved[1]) / 2e-6, abs=1e-6)


@pytest.mark.parametrize(("loss", "seed"), [("squared", 1), ("cross_entropy", 2), ("cross_entropy", 3)])
def test_descent_comes_to_the_flow_at_first_order(loss: str, seed: int) -> None:
    data = data_of(seed, loss)
    net = rf.Network.init(6, 3, outputs=K, scale=0.5, seed=seed)
    sol = rf.integrate(data, net, until=1.0, loss=loss)  # type: ignore[call-overload]
    errors = []
    for n_steps in (1000, 8000):
        run = rf.descend(data, net, step=1.0 / n_steps, n_steps=n_steps, loss=loss)  # type: ignore[call-overload]
        assert run.a.shape == (2, 6, K)
        errors.append(distance(run.final, sol.final))
    assert errors[0] < 0.02
    assert errors[1] < 0.3 * errors[0]


@pytest.mark.parametrize("loss", ["logistic", "exponential", "squared"])
@pytest.mark.parametrize(("seed", "leak"), [(1, 0.0), (2, 0.0), (3, 0.1)])
def test_one_output_is_the_run_of_the_other_core(loss: Any, seed: int, leak: float) -> None:
    rng = RNG(seed)
    y = np.where(rng.standard_normal(10) > 0, 1.0, -1.0)
    data = rf.Dataset(rng.standard_normal((10, 3)), y)
    net = rf.Network.init(7, 3, scale=0.4, leak=leak, seed=seed)
    one = rf.integrate(data, net, until=3.0, loss=loss, rtol=1e-12)
    other = rf.integrate(data, net, until=3.0, loss=loss, rtol=1e-12, rates=(1.0, 1.0))
    assert isinstance(other, TwoLayerSolution)
    assert sorted(e[2:] for e in other.events) == sorted(e[2:] for e in one.events)
    assert len(one.events) > 0
    assert np.sort(other.events.t) == pytest.approx(np.sort(one.events.t), rel=1e-8)
    assert distance(one.final, other.final) < 1e-9
    assert (other.final.pattern == one.final.pattern).all()
    assert (other.pattern(1.0) == one.pattern(1.0)).all()
    assert other.balance[-1] == pytest.approx(one.final.balance, abs=1e-10)


def test_a_neuron_that_loses_its_last_active_sample_dies_by_that_name() -> None:
    data = rf.Dataset([[1.0, 0.2], [0.6, 1.0]], [-1.0, -1.0])
    net = rf.Network([[0.3, 0.1], [0.2, 0.5]], [1.0, -0.5])
    one = rf.integrate(data, net, until=5.0, loss="squared")
    other = rf.integrate(data, net, until=5.0, loss="squared", rates=(1.0, 1.0))
    assert "die" in one.events.kind.tolist()
    assert [e[2:] for e in other.events] == [e[2:] for e in one.events]


# --- invariants and symmetries ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", ["squared", "cross_entropy"])
@pytest.mark.parametrize("leak", [0.0, 0.3])
def test_the_balance_stays_and_the_loss_falls(loss: str, leak: float) -> None:
    data = data_of(5, loss)
    net = rf.Network.init(8, 3, outputs=K, scale=0.5, imbalance=0.2, leak=leak, seed=5)
    sol = rf.integrate(data, net, until=4.0, loss=loss, rtol=1e-12)  # type: ignore[call-overload]
    assert len(sol.events) > 5
    assert sol.balance == pytest.approx(np.full(sol.balance.shape, 0.2), abs=1e-11)
    assert sol.final.balance == pytest.approx(sol.balance[-1], abs=1e-14)
    assert (np.diff(sol.log_loss) < 0).all()
    assert sol.log_loss[-1] == pytest.approx(np.log(loss_of(sol.final, data, loss)), abs=1e-12)
    assert (sol.events.replay(sol.initial.pattern) == sol.final.pattern).all()


def test_a_permutation_of_the_classes_permutes_the_outputs() -> None:
    X, _, classes = problem(6)
    net = rf.Network.init(8, 3, outputs=K, scale=0.5, seed=6)
    order = np.array([2, 0, 1])  # old class k is called order[k]
    permuted = rf.Network(net.W, net.a[:, np.argsort(order)])
    sol = rf.integrate((X, classes), net, until=4.0, loss="cross_entropy", rtol=1e-11)
    other = rf.integrate((X, order[classes]), permuted, until=4.0, loss="cross_entropy", rtol=1e-11)
    assert [e[2:] for e in sol.events] == [e[2:] for e in other.events]
    assert sol.final.a == pytest.approx(other.final.a[:, order], abs=1e-9)


def test_a_shift_of_all_outputs_that_the_loss_does_not_see_does_not_move() -> None:
    """Cross-entropy pushes Σ_k a_jk nowhere: its gradient is orthogonal to equal outputs."""
    data = data_of(7, "cross_entropy")
    net = rf.Network.init(8, 3, outputs=K, scale=0.5, seed=7)
    sol = rf.integrate(data, net, until=4.0, loss="cross_entropy")
    assert sol.a.sum(axis=2) == pytest.approx(np.tile(net.a.sum(axis=1), (len(sol.t), 1)), abs=1e-9)


def test_late_classes_are_driven_by_exact_duals() -> None:
    """The softmax of the own class is 1 to the last digit; its distance from 1 is known by the others."""
    X, net = np.eye(3), rf.Network(np.eye(3), (np.eye(3) - 1 / 3) * 1.5**0.5)
    sol = rf.integrate((X, np.arange(3)), net, until=rf.Stop(log_time=36.0), loss="cross_entropy", rtol=1e-6)
    assert sol.log_loss_end < -35
    assert np.abs(sol.final.a.sum(axis=1)).max() < 1e-9
    gaps = [sol.final(X)[i, i] - sol.final(X)[i, k] for i in range(3) for k in range(3) if k != i]
    assert max(gaps) - min(gaps) < 1e-6


def test_classes_by_name_by_number_and_one_hot_are_one_problem() -> None:
    X, _, classes = problem(8)
    net = rf.Network.init(5, 3, outputs=K, scale=0.5, seed=8)
    named = rf.datasets.MultiClassDataset(X, np.array(["a", "b", "c"])[classes])
    kinds: list[Any] = [(X, classes), named, (X, np.eye(K)[classes]), (X, np.eye(K, dtype=bool)[classes])]
    ends = [rf.integrate(data, net, until=1.0, loss="cross_entropy").final for data in kinds]
    assert all(end == ends[0] for end in ends)


def test_the_mean_is_the_sum_n_times_slower() -> None:
    data = data_of(9, "cross_entropy")
    net = rf.Network.init(5, 3, outputs=K, scale=0.5, seed=9)
    sum_of = rf.integrate(data, net, until=1.0, loss="cross_entropy", rtol=1e-11)
    mean = rf.integrate(data, net, until=12.0, loss="cross_entropy", reduction="mean", rtol=1e-11)
    assert distance(sum_of.final, mean.final) < 1e-9


# --- starts ----------------------------------------------------------------------------------------------------------


def test_starts_have_the_sizes_that_are_asked_for() -> None:
    net = rf.Network.init(6, 4, outputs=K, scale=0.3, imbalance=0.07, seed=1)
    assert (net.a.shape, net.n_outputs, net.theta.shape) == ((6, K), K, (6, 4 + K))
    assert np.linalg.norm(net.W, axis=1) == pytest.approx(np.full(6, 0.3))
    assert np.linalg.norm(net.a, axis=1) == pytest.approx(np.full(6, 0.4))
    assert net.balance == pytest.approx(np.full(6, 0.07))
    sizes = [0.1, 0.2, 0.3]
    pairs = rf.Network.init(6, 4, outputs=K, norms=sizes, antisymmetric=True, seed=1)
    assert np.linalg.norm(pairs.a, axis=1) == pytest.approx([*sizes, *sizes])
    assert pairs(RNG(1).standard_normal((5, 4))) == pytest.approx(np.zeros((5, K)), abs=1e-15)
    assert rf.Network.init(6, 4, outputs=1, seed=1) == rf.Network.init(6, 4, seed=1)


def test_the_outputs_of_a_network_are_those_of_its_columns(tmp_path: Path) -> None:
    net = rf.Network.init(6, 4, outputs=K, balanced=False, leak=0.1, bias_input=0.5, seed=2)
    X = RNG(2).standard_normal((5, 3))
    columns = [rf.Network(net.W, net.a[:, k], leak=0.1, bias_input=0.5)(X) for k in range(K)]
    assert net(X) == pytest.approx(np.column_stack(columns))
    net.save(tmp_path / "net.npz")
    assert rf.Network.load(tmp_path / "net.npz") == net
    assert repr(net).startswith("Network(width=6, dim=4, outputs=3, ")
    assert "outputs" in net._repr_html_()


# --- what a solution can do ------------------------------------------------------------------------------------------


def test_a_run_goes_on_where_it_stopped() -> None:
    data = data_of(10, "cross_entropy")
    net = rf.Network.init(8, 3, outputs=K, scale=0.5, seed=10)
    whole = rf.integrate(data, net, until=4.0, loss="cross_entropy", rtol=1e-11)
    first = rf.integrate(data, net, until=2.0, loss="cross_entropy", rtol=1e-11)
    assert (first.final.pattern == 0).any()  # it stops while a neuron slides
    rest = rf.integrate(data, first, until=4.0, loss="cross_entropy", rtol=1e-11)
    assert (rest.t_start, rest.t_end) == (2.0, 4.0)
    assert len(rest.events) > 0
    assert [e[2:] for e in (*first.events, *rest.events)] == [e[2:] for e in whole.events]
    assert distance(rest.final, whole.final) < 1e-9
    assert distance(whole(2.0), first.final) < 1e-9
    W, a = whole.states([0.0, 4.0])
    assert (W[0] == net.W).all()
    assert (a[1] == whole.final.a).all()
    assert whole.at(log_t=np.log(2.0)).a == pytest.approx(first.final.a, abs=1e-9)


@pytest.mark.parametrize("kind", ["pair", "classes", "bias"])
def test_a_file_holds_the_whole_run(tmp_path: Path, kind: str) -> None:
    X, Y, classes = problem(11)
    names = np.array(["a", "b", "c"])[classes]
    data: Any = (X, Y) if kind == "pair" else rf.datasets.MultiClassDataset(X, names, name="letters")
    if kind == "bias":
        data = data.with_bias(0.5)
    loss: Any = "squared" if kind == "pair" else "cross_entropy"
    net = rf.Network.init(6, 4 if kind == "bias" else 3, outputs=K, scale=0.5, seed=11)
    sol = rf.integrate(data, net, until=2.0, loss=loss, save_at=[0.5, 1.0])
    sol.save(tmp_path / "run.npz")
    there = rf.load(tmp_path / "run.npz")
    assert isinstance(there, TwoLayerSolution)
    for one in (there, pickle.loads(pickle.dumps(sol))):
        assert (one.final, one.initial) == (sol.final, sol.initial)
        assert [tuple(e) for e in one.events] == [tuple(e) for e in sol.events]
        assert one.t.tolist() == sol.t.tolist() == [0.5, 1.0]
        assert distance(one(0.7), sol(0.7)) < 1e-9
        assert (one.status, repr(one), one.settings["loss"]) == (sol.status, repr(sol), loss)
        more = rf.integrate(one.data, one, until=3.0, loss=loss)
        assert distance(more.final, rf.integrate(data, sol, until=3.0, loss=loss).final) < 1e-12
    assert (sol.final.bias is None) == (kind != "bias")
    if kind != "pair":
        assert there.data == data


def test_many_runs_are_the_single_ones() -> None:
    data = data_of(12, "squared")
    nets = [rf.Network.init(4, 3, outputs=K, scale=0.5, seed=seed) for seed in range(4)]
    alone = [rf.integrate(data, net, until=1.0, loss="squared").final for net in nets]
    for keep in ("all", "final"):
        runs = rf.integrate_many(data, nets, until=1.0, loss="squared", n_threads=2, keep=keep).collect()
        assert [run.result.final for run in runs] == alone
    assert distance(runs[0].result(0.5), rf.integrate(data, nets[0], until=0.5, loss="squared").final) < 1e-8
    with pytest.raises(ValueError, match="data\\[1\\] must") as caught:
        rf.integrate_many([data, (data[0], data[1][:, :2])], nets[:2], until=1.0, loss="squared")
    assert caught.value.__notes__ == ["in run 1"]


def test_a_descent_comes_back_from_its_file(tmp_path: Path) -> None:
    X, _, classes = problem(13)
    data = rf.datasets.MultiClassDataset(X, classes)
    net = rf.Network.init(4, 3, outputs=K, scale=0.5, seed=13)
    run = rf.descend(data, net, step=0.01, n_steps=50, loss="cross_entropy", save_every=10, batch_size=4)
    run.save(tmp_path / "descent.npz")
    there = rf.descent.DescentResult.load(tmp_path / "descent.npz")
    assert (there.final, there.data, there.settings) == (run.final, data, run.settings)
    assert (there.a == run.a).all()
    assert (run.a[-1] == run.final.a).all()


def test_a_branch_point_is_raised_with_the_solution() -> None:
    """A neuron at w = 0 between two samples that both want it can go to either."""
    data, net = ([[1.0], [-1.0]], [[1.0, 1.0], [1.0, 1.0]]), rf.Network([[0.0]], [[1.0, 0.5]])
    with pytest.raises(rf.BranchingError) as caught:
        rf.integrate(data, net, until=1.0, loss="squared", on_branch="raise")
    assert isinstance(caught.value.solution, TwoLayerSolution)
    assert caught.value.solution.branched
    goes = rf.integrate(data, net, until=1.0, loss="squared", on_branch="active")
    assert abs(goes.final.W[0, 0]) > 0.1
    assert len(goes.branchings) == 1
    (run,) = rf.integrate_many(data, [net], until=1.0, loss="squared", on_branch="raise").collect()
    assert isinstance(run.error, rf.BranchingError)
