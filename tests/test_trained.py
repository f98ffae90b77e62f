"""What is trained: one layer alone, and two layers at different rates, as docs/regression.md puts them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import reluflow as rf


def first_layer_alone(W: np.ndarray, a: np.ndarray) -> rf.DeepNetwork:
    last = rf.Shared(index=-np.ones((1, len(a)), dtype=int), fixed=a[None, :])
    return rf.DeepNetwork([rf.Dense(len(a)), last], W.ravel(), dim=W.shape[1])


def test_one_neuron_with_a_fixed_output_follows_its_closed_form() -> None:
    """One sample x under the exponential loss: z' = a x² e^{-az}, so e^{az} grows by a² x² t."""
    x, a, w = 1.5, 0.7, 0.2
    sol = rf.integrate(
        rf.Dataset([[x]], [1]), first_layer_alone(np.array([[w]]), np.array([a])), until=50.0, loss="exponential"
    )
    z = np.log(np.exp(a * w * x) + (a * x) ** 2 * 50.0) / a
    assert sol.final.theta == pytest.approx([z / x], rel=1e-9)


@pytest.mark.parametrize("seed", [0, 2, 3])  # in 1 a unit comes to w = 0, where more boundaries meet than inputs
def test_the_first_layer_alone_is_descent_with_fixed_outputs(seed: int) -> None:
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((12, 3)), rng.standard_normal(12)
    W, a = 0.4 * rng.standard_normal((5, 3)), rng.choice([-0.7, 0.7], 5)
    sol = rf.integrate(rf.Dataset(X, y), first_layer_alone(W, a), until=2.0, loss="squared")
    assert sol.status == "reached_time"
    ends = []
    for n_steps in (2000, 16000):
        moving = W.copy()
        for _ in range(n_steps):
            z = X @ moving.T
            errors = np.maximum(z, 0) @ a - y
            moving -= 2.0 / n_steps * a[:, None] * ((z > 0) * errors[:, None]).T @ X
        ends.append(np.abs(moving - sol.final.matrix(1)).max())
    assert ends[0] < 5e-3
    assert ends[1] < 0.4 * ends[0]
    option = rf.integrate(rf.Dataset(X, y), rf.Network(W, a), until=2.0, loss="squared", train="first")
    assert (sol.final.matrix(1) == option.final.W).all()
    assert (option.a == a).all()
    assert [(e.neuron, e.sample) for e in option.events] == [(e.unit, e.sample) for e in sol.events]


@pytest.mark.parametrize(("eta_w", "eta_a"), [(3.0, 0.5), (0.1, 2.0)])
def test_two_rates_are_equal_rates_of_a_rescaled_network(eta_w: float, eta_a: float) -> None:
    rng = np.random.default_rng(1)
    X, y = rng.standard_normal((12, 3)), np.where(rng.standard_normal(12) > 0, 1.0, -1.0)
    W, a = 0.4 * rng.standard_normal((5, 3)), 0.4 * rng.standard_normal(5)
    c, t = (eta_a / eta_w) ** 0.25, 0.5
    sol = rf.integrate(rf.Dataset(X, y), rf.Network(c * W, a / c), until=(eta_w * eta_a) ** 0.5 * t)
    ends = []
    for n_steps in (2000, 16000):
        w, b = W.copy(), a.copy()
        for _ in range(n_steps):
            z = X @ w.T
            pulls = y / (1 + np.exp(y * (np.maximum(z, 0) @ b)))
            dw, db = b[:, None] * ((z > 0) * pulls[:, None]).T @ X, pulls @ np.maximum(z, 0)
            w, b = w + t / n_steps * eta_w * dw, b + t / n_steps * eta_a * db
        ends.append(max(np.abs(w - sol.final.W / c).max(), np.abs(b - c * sol.final.a).max()))
    assert ends[0] < 5e-3
    assert ends[1] < 0.4 * ends[0]
    option = rf.integrate(rf.Dataset(X, y), rf.Network(W, a), until=t, rates=(eta_w, eta_a))
    assert option.t_end == t
    assert pytest.approx(sol.final.W / c, abs=1e-8) == option.final.W
    assert option.final.a == pytest.approx(c * sol.final.a, abs=1e-8)
    assert sorted(e[2:] for e in option.events) == sorted(e[2:] for e in sol.events)
    assert np.sort(option.events.t) == pytest.approx(np.sort(sol.events.t) / (eta_w * eta_a) ** 0.5, rel=1e-7)
    assert option.balance == pytest.approx(np.tile(option.balance[0], (len(option.t), 1)), abs=1e-9)
    assert option.balance[0] == pytest.approx(a**2 / eta_a - (W**2).sum(axis=1) / eta_w)


def test_the_most_unequal_rates_are_those_of_the_first_layer_alone() -> None:
    data = rf.Dataset([[1.0, 0.5], [-0.5, 1.0], [1.0, -2.0]], [1, -1, 1])
    net = rf.Network.init(4, 2, scale=0.1, seed=0)
    for loss in ("logistic", "squared"):
        alone = rf.integrate(data, net, until=300.0, loss=loss, weight_decay=0.1, train="first")
        slow = rf.integrate(data, net, until=300.0, loss=loss, weight_decay=0.1, rates=(1.0, 1e-12))
        np.testing.assert_allclose(slow.final.W, alone.final.W, rtol=0, atol=1e-6)
        with pytest.raises(ValueError, match=r"at most a factor of 1e\+12 apart"):
            rf.integrate(data, net, until=300.0, loss=loss, rates=(1.0, 1e-13))


def test_times_of_a_run_with_rates_are_those_of_its_network(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    data, net = rf.Dataset(rng.standard_normal((9, 3)), rng.standard_normal(9)), rf.Network.init(4, 3, scale=0.5)
    rates = (0.3, 1.7)
    whole = rf.integrate(data, net, until=2.0, loss="squared", rates=rates, rtol=1e-11)
    saved = rf.integrate(data, net, until=2.0, loss="squared", rates=rates, save_at=[0.5, 1.0, 2.0], rtol=1e-11)
    assert saved.t.tolist() == [0.5, 1.0, 2.0]
    assert saved.W[1] == pytest.approx(whole(1.0).W, abs=1e-9)
    logs = rf.integrate(data, net, until=2.0, loss="squared", rates=rates, save_at_log=[-1.0], rtol=1e-11)
    assert logs.a[0] == pytest.approx(whole.at(log_t=-1.0).a, abs=1e-9)
    stopped = rf.integrate(data, net, until=rf.Stop(log_time=0.0), loss="squared", rates=rates, rtol=1e-11)
    assert stopped.log_t_end == pytest.approx(0.0, abs=1e-14)
    assert pytest.approx(whole(1.0).W, abs=1e-9) == stopped.final.W
    rest = rf.integrate(data, stopped, until=2.0, loss="squared", rates=rates, rtol=1e-11)
    assert rest.t_start == pytest.approx(1.0)
    assert pytest.approx(whole.final.W, abs=1e-9) == rest.final.W
    whole.save(tmp_path / "run.npz")
    there = rf.load(tmp_path / "run.npz")
    assert (there.final, there.t_end, there.settings["rates"]) == (whole.final, 2.0, rates)
    seen: list[rf.flow.Progress] = []
    run = rf.integrate(data, net, until=2.0, loss="squared", rates=rates, callback=seen.append, callback_period=0.0)
    assert len({report.t for report in seen}) > 3
    for report in seen[1:]:
        assert np.abs(run.t - report.t).min() < 1e-12
        assert report.log_t == pytest.approx(np.log(report.t))


def through_zero(data: rf.Dataset, net: rf.Network, t: float) -> float:
    """w(t) of one neuron on one input with a fixed output weight: each side of zero is a linear equation."""
    w, a, x = net.W.item(), net.a.item(), data.X[:, 0]

    def line(side: float) -> tuple[float, float]:
        """k and b of w' = b - k w."""
        g = a * np.where(side * x > 0.0, 1.0, net.leak) * x
        return float(g @ g), float(g @ data.y)

    k, b = line(np.sign(w))
    if k == 0.0 or b * w >= 0.0:
        return b / k + (w - b / k) * float(np.exp(-k * t)) if k else w
    crossing = float(np.log1p(-k * w / b)) / k
    if crossing >= t:
        return b / k + (w - b / k) * float(np.exp(-k * t))
    k, b = line(-np.sign(w))
    return b / k * -float(np.expm1(-k * (t - crossing))) if b * w < 0.0 else 0.0


@pytest.mark.parametrize("seed", range(40))
def test_a_neuron_on_one_input_goes_through_zero(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 8))
    data = rf.Dataset(rng.standard_normal((n, 1)), rng.standard_normal(n))
    w, a = 0.5 * rng.standard_normal(), rng.standard_normal()
    net = rf.Network([[w]], [a], leak=float(rng.choice([0.0, 0.1, 0.5])))
    sol = rf.integrate(data, net, loss="squared", until=20.0, train="first")
    assert sol.success, sol.message
    np.testing.assert_allclose(sol.final.W.item(), through_zero(data, net, 20.0), rtol=1e-7, atol=1e-12)


@pytest.mark.parametrize("rtol", [1e-6, 1e-7, 1e-8, 1e-9, 1e-10])
def test_a_dead_neuron_decays_on_its_boundary(rtol: float) -> None:
    X = [[1, 1, 1, 1], [0, 1, 0, 1], [1, 0, 0, 1], [1, 0, 1, 1], [1, 1, 0, 1]]
    w = [0.61000618, -0.76385755, 0.12496472, -0.16969951]
    data, net = rf.Dataset(X, [1, -1, 1, 1, 1]), rf.Network([w], [-1.0])
    options = {"loss": "exponential", "rtol": rtol, "weight_decay": 0.1, "train": "first"}
    dead, later = (rf.integrate(data, net, until=t, **options) for t in (1.0, 200.0))
    assert [event.kind for event in later.events] == ["cross_down", "die"]
    assert later.success, later.message
    np.testing.assert_allclose(later.final.W, dead.final.W * np.exp(-0.1 * 199.0), rtol=100 * rtol)


def test_the_norm_that_stops_a_run_is_that_of_the_network_with_its_fixed_outputs() -> None:
    """One sample, one neuron, a = 1: w' = e^-w from w = 1. The norm of what moves alone was stopped at before."""
    data, net = rf.Dataset([[1.0, 0.0]], [1]), rf.Network([[1.0, 0.0]], [1.0])
    options = {"loss": "exponential", "train": "first"}
    for norm in (1.5, 2.0):
        sol = rf.integrate(data, net, until=rf.Stop(log_norm=np.log(norm), time=100.0), **options)
        w = np.sqrt(norm**2 - 1.0)
        assert (sol.status, sol.final.norm) == ("reached_log_norm", pytest.approx(norm, rel=1e-9))
        assert sol.t_end == pytest.approx(np.exp(w) - np.exp(1.0), rel=1e-7)
    for norm in (0.5, 1.2):  # it is larger than that at the start, by its outputs alone or with the first layer
        there = rf.integrate(data, net, until=rf.Stop(log_norm=np.log(norm), time=100.0), **options)
        assert (there.status, there.t_end) == ("reached_log_norm", 0.0)


@pytest.mark.parametrize("rates", [(0.3, 1.7), (16.0, 2.0), (3.0, 16.0)])
def test_times_that_were_asked_for_keep_their_bits_with_rates(rates: tuple[float, float]) -> None:
    times = np.sort(np.random.default_rng(3).uniform(0.0, 2.0, 40))
    data, net = rf.Dataset([[1.0, 0.5], [-0.5, 1.0]], [0.5, -1.0]), rf.Network([[0.3, 0.4], [0.5, -0.2]], [0.5, -0.5])
    sol = rf.integrate(data, net, until=2.0, loss="squared", rates=rates, save_at=times)
    assert (sol.t == times).all()
    logs = rf.integrate(data, net, until=2.0, loss="squared", rates=rates, save_at_log=np.log(times))
    assert (logs.log_t == np.log(times)).all()


#: Neuron 0 comes to its boundary without a rate, and goes and comes back by rounding alone.
GRAZING = {
    "data": rf.Dataset([[-2.0, -2.0], [-1.0, 1.0], [1.0, 0.0], [-2.0, -2.0]], [1, 1, -1, -1]),
    "net": rf.Network([[0.0, -1.0], [-1.5, 1.5], [1.5, -1.5], [-1.5, -1.5]], [1.0, 1.0, -1.5, 1.0]),
}


def test_patterns_are_made_by_the_events_of_the_run_alone(tmp_path: Path) -> None:
    """Those of a run read from a file were those of another run from its states, with events of its own."""
    sol = rf.integrate(**GRAZING, until=8.0, rates=(2.0, 16.0), rtol=1e-10)
    sol.save(tmp_path / "run.npz")
    for run in (sol, rf.load(tmp_path / "run.npz")):
        for t in np.append(np.linspace(0.0, 8.0, 30), sol.events.t):
            told = run.events.replay(run.initial.pattern, t)
            assert (run(t).pattern == told).all()
            assert (run.pattern(t) == told).all()
        for log_t in (-2.0, 1.0, 2.0):
            assert (run.at(log_t=log_t).pattern == run.events.replay(run.initial.pattern, np.exp(log_t))).all()


@pytest.mark.parametrize("seed", range(6))
def test_the_pattern_at_an_event_is_that_behind_it_with_rates(seed: int) -> None:
    """The time of an event, in the time of the layers and back, may be one before it."""
    rng = np.random.default_rng(seed)
    data = rf.Dataset(rng.standard_normal((8, 3)), rng.standard_normal(8))
    net = rf.Network(0.5 * rng.standard_normal((5, 3)), 0.5 * rng.standard_normal(5))
    sol = rf.integrate(data, net, until=3.0, loss="squared", rates=(0.3, 1.7))
    assert len(sol.events) >= 2
    for event in sol.events:
        assert (sol(event.t).pattern == sol.events.replay(sol.initial.pattern, event.t)).all()


@pytest.mark.parametrize("loss", ["squared", "cross_entropy"])
def test_an_output_whose_fixed_weights_are_zero_stays_zero(loss: str, tmp_path: Path) -> None:
    """It was refused, by the name of an argument that the caller does not know."""
    X, W, a = [[1.0, 0.5], [-0.5, 1.0], [1.0, 1.0]], [[0.5, 0.3], [-0.2, 0.6]], np.array([1.0, 0.7])
    classes, labels = [0, 1, 1], [1.0, -1.0, -1.0]
    targets = np.column_stack(([1.0, 0.0, -1.0], [2.0, 1.0, 0.5])) if loss == "squared" else classes
    wide = rf.Network(W, np.column_stack((a, 0.0 * a)))
    sol = rf.integrate((X, targets), wide, until=3.0, loss=loss, train="first")
    # The difference of two outputs, one of them zero, is the margin of the logistic loss.
    one = (X, targets[:, 0]) if loss == "squared" else (X, labels)
    alone = rf.integrate(one, rf.Network(W, a), until=3.0, loss="squared" if loss == "squared" else None, train="first")
    np.testing.assert_allclose(sol.final.W, alone.final.W, rtol=1e-8)
    assert (sol.a[..., 1] == 0.0).all()
    assert [(e.neuron, e.sample, e.kind) for e in sol.events] == [(e.neuron, e.sample, e.kind) for e in alone.events]
    sol.save(tmp_path / "run.npz")
    there = rf.load(tmp_path / "run.npz")
    assert there.final == sol.final
    np.testing.assert_allclose(there(1.0).W, sol(1.0).W, rtol=1e-9)


@pytest.mark.parametrize("rates", [(1.0, 1.0), (3.0, 0.5)])
def test_a_run_says_which_times_to_save_at_it_did_not_come_to(rates: tuple[float, float]) -> None:
    """It handed back fewer states than were asked for, with success and no word."""
    data, net = rf.Dataset([[1.0, 0.0], [0.0, 1.0]], [1, -1]), rf.Network([[1.0, 0.5]], [1.0])
    until = rf.Stop(time=3.0, loss=1.3)
    sol = rf.integrate(data, net, until=until, save_at=[1.0, 2.0], rates=rates)
    assert (sol.status, sol.success, len(sol.t)) == ("reached_loss", True, 0)
    assert sol.message.endswith("; 2 of 2 times of save_at were not reached, the first is 1.0")
    logs = rf.integrate(data, net, until=until, save_at_log=[0.5], rates=rates)
    assert logs.message.endswith("; 1 of 1 times of save_at_log were not reached, the first is 0.5")
    layers = rf.DeepNetwork([rf.Dense(1), rf.Dense(1)], np.array([1.0, 0.5, 1.0]), dim=2)
    deep = rf.integrate(data, layers, until=until, save_at_log=[0.5])
    assert deep.message.endswith("; 1 of 1 times of save_at_log were not reached, the first is 0.5")
    assert "not reached" not in rf.integrate(data, net, until=until, rates=rates).message
