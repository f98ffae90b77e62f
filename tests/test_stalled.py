"""Where the loss stalls: samples that drive nothing, neurons that decay for ever, flows that end nowhere or at rest."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, make_moons

import compare
import hostile
import reluflow as rf


def noisy(n: int, d: int, m: int, seed: int, leak: float = 0.0) -> tuple[rf.Dataset, rf.Network]:
    """Random points with random labels, a few of them twice with both labels."""
    rng = np.random.default_rng([seed, 5])
    X, y = rng.standard_normal((n, d)), rng.choice([-1.0, 1.0], n)
    twice = max(1, n // 4)
    data = rf.Dataset(np.vstack([X, X[:twice]]), np.r_[y, -y[:twice]])
    return data, rf.Network.init(m, d, scale=0.1, leak=leak, seed=seed)


@pytest.mark.parametrize("loss", ["exponential", "logistic"])
@pytest.mark.parametrize("log_time", [1e3, 1e6])
def test_a_sample_that_no_neuron_sees_does_not_end_the_run(loss: str, log_time: float) -> None:
    """x = 1 is learnt, x = -1 of the same class drives nothing: beside its weight the other's would underflow."""
    data = rf.Dataset([[1.0], [-1.0]], [1, 1])
    sol = rf.integrate(data, rf.Network([[0.5]], [0.5]), until=rf.Stop(log_time=log_time), loss=loss)
    assert sol.status == "reached_log_time", sol.message
    assert sol.stats["steps"] < 500
    q = float(sol.final.a[0] * sol.final.W[0, 0])
    series = sum(np.prod(np.arange(1.0, k + 1)) / q**k for k in range(1, 6))
    assert q - np.log(2 * q) + np.log1p(series) == pytest.approx(log_time, rel=1e-9)
    assert np.exp(sol.log_loss_end) == pytest.approx(1.0 if loss == "exponential" else np.log(2), rel=1e-12)


def test_a_neuron_that_decays_for_ever_keeps_its_sign_and_ends_at_zero() -> None:
    """One positive neuron on samples that are all negative, in one dimension: w = a = e^{-...}, and no way back."""
    data = rf.Dataset([[1.0], [2.0], [-1.0]], [-1, -1, 1])
    net = rf.Network([[0.3], [-0.2]], [0.3, 0.2])
    sol = rf.integrate(data, net, until=rf.Stop(log_time=30.0))
    assert sol.success, sol.message
    assert (sol.a[:, 0] >= 0).all()
    assert (np.diff(sol.a[:, 0]) <= 0).all()
    assert sol.a[-1, 0] == 0.0
    assert sol.final.a[1] > 1.0
    assert sol.stats["steps"] < 400  # to e^-2000 it took 800
    assert np.diff(sol.log_loss).max() <= 1e-15


def test_a_decayed_neuron_on_a_held_line_does_not_come_back() -> None:
    """In two dimensions a neuron held on one boundary decays along it; its rounding must not make it grow elsewhere."""
    X = [[1.25807732, -0.38130561], [-0.99921558, 0.07166512], [1.91042097, -0.86987166], [-0.79711641, -1.1188657]]
    X += [[-0.45370188, 1.73941071], [0.16837773, -0.50799568]] + [[-u, -v] for u, v in X[:3]]
    data = rf.Dataset(X, [-1, -1, 1, -1, -1, -1, -1, 1, -1])
    W = [[0.09975064, 0.00705758], [0.02763229, 0.09610648], [0.08183047, 0.05747847]]
    net = rf.Network(W, -np.linalg.norm(W, axis=1))
    sol = rf.integrate(data, net, until=rf.Stop(log_time=12.0), loss="exponential", reduction="mean")
    assert sol.success, sol.message
    assert (sol.a <= 0).all()
    assert abs(sol.final.a[0]) < 1e-100
    assert np.diff(sol.log_loss).max() <= 1e-15
    assert sol.events.t[-1] < 20.0


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("leak", [0.0, 0.1])
@pytest.mark.parametrize("stop", [rf.Stop(log_time=1e4), rf.Stop(direction=1e-6)], ids=["log_time", "direction"])
def test_noisy_data_end_with_a_clear_status_in_few_steps(seed: int, leak: float, stop: rf.Stop) -> None:
    sol = rf.integrate(*noisy(9, 2, 5, seed, leak), until=stop, max_events=5000)
    assert sol.status in ("stationary", "stalled", "reached_log_time"), sol.message
    assert sol.stats["steps"] < (5000 if leak else 3000)
    assert np.diff(sol.log_loss).max() <= 1e-12
    if sol.status != "reached_log_time" or "no neuron moves" in sol.message:
        assert "the norm of the gradient is " in sol.message


@pytest.mark.parametrize("part", [-2e-13, -1e-13, 0.0, 1e-13, 2e-13, 3e-13])
def test_steps_over_a_stalled_loss_do_not_hang_on_rounding(part: float) -> None:
    """Late steps whose error is summed up by samples are a thousandth of those whose error is that of the groups. Which
    ones were taken hung on the iterations of one step: 640 steps or 6,200 for starts that differ by 1e-13."""
    data, net = noisy(9, 2, 5, 5, 0.1)
    net = rf.Network(net.W * (1.0 + part), net.a * (1.0 + part), leak=0.1)
    sol = rf.integrate(data, net, until=rf.Stop(log_time=1e4), max_events=5000)
    assert sol.status == "reached_log_time", sol.message
    assert sol.stats["steps"] < 1500
    assert 16.0 < float(sol.message.split("from log t = ")[1].split(" ")[0]) < 18.0


@pytest.mark.parametrize("leak", [0.0, 0.1])
def test_a_stalled_loss_is_followed_as_far_as_its_digits_go(leak: float) -> None:
    """Up to there the tolerances agree: balanced weights of order one do not spoil a gradient of 1e-6."""
    data, net = noisy(10, 3, 6, 1, leak)
    runs = [rf.integrate(data, net, until=rf.Stop(log_time=10.0), rtol=rtol) for rtol in (1e-9, 7e-10, 5e-10, 1e-11)]
    assert all(run.success for run in runs)
    assert runs[0].stats["steps"] < 2000
    size = np.linalg.norm(runs[-1].final.theta, axis=1)
    offs = [np.linalg.norm(run.final.theta - runs[-1].final.theta, axis=1) for run in runs[:-1]]
    assert all((off <= 1e-9 * np.linalg.norm(size)).all() for off in offs)
    # At some tolerances, other ones on another processor, a late step passes the layer of an event that moves
    # a neuron by less than rtol |θ|; the smallest has 0.006 of it.
    assert sum((off <= 3e-8 * size).all() for off in offs) >= 2


@pytest.mark.parametrize(("kind", "seed"), [("late_bias", 109), ("late_bias", 432), ("late_integers", 439)])
def test_noise_on_a_slow_motion_is_no_rest(kind: str, seed: int) -> None:
    """Some samples balance, and neurons grow with log t for ever on the others: in a moment that noise took, such runs
    were at rest with success, and stood still for the rest of the time."""
    sol = hostile.problem(kind, seed, log_t=20.0).run()
    assert "rest_log_t" not in sol.stats, sol.message
    early, late = 12.0, min(sol.log_t_end, 18.0)
    middle = (early + late) / 2
    size = [np.linalg.norm(sol(min(np.exp(u), sol.t_end)).a) for u in (early, middle, late)]
    assert size[2] - size[1] > 0.8 * (size[1] - size[0]) > 0
    assert sol.success or sol.status == "stalled", sol.message


@pytest.mark.parametrize("cut", [14.5, 15.0, 15.2, 15.8])
def test_a_late_run_that_goes_on_is_not_at_rest_from_its_first_step(cut: float) -> None:
    problem = hostile.problem("late_integers", 439, log_t=16.0)
    whole = problem.run()
    first = problem.run(until=rf.Stop(log_time=cut))
    second = rf.integrate(problem.data, first, until=problem.until, **problem.options)
    assert first.success
    assert whole.success
    assert "rest_log_t" not in second.stats, second.message
    assert np.abs(second.final.a - whole.final.a).max() < 1e-6 * np.abs(whole.final.a).max()


@pytest.mark.parametrize("rtol", [0.8e-9, 0.9e-9, 1e-9, 1.1e-9, 1.2e-9])
def test_what_explicit_steps_leave_of_layers_bars_no_late_steps(rtol: float) -> None:
    """A stalled loss on iris: of some 20,000 steps to log t = 8 nearly all were explicit at some tolerances."""
    data = rf.datasets.iris().binary(1)
    net = rf.Network.init(20, data.d, scale=1e-2, seed=0)
    sol = rf.integrate(data, net, until=rf.Stop(log_time=8), rtol=rtol)
    assert sol.status == "reached_log_time"
    assert sol.stats["steps"] < 12_000
    tight = rf.integrate(data, net, until=rf.Stop(log_time=8), rtol=1e-11)
    size = np.abs(tight.final.a).max()
    assert np.abs(sol.final.a - tight.final.a).max() < 1e-8 * size


def most_events_of_a_pair(sol: rf.Solution) -> int:
    """The number of events of that neuron and sample which has most."""
    return np.max(np.unique(np.c_[sol.events.neuron, sol.events.sample], axis=0, return_counts=True)[1], initial=0)


@pytest.mark.parametrize(("seed", "rtol", "cut"), [(745, 1e-9, 6.0), (745, 1e-11, 8.0), (1131, 3e-10, 10.2)])
def test_a_multiplier_that_tends_to_its_end_does_not_leave_by_the_errors_of_steps(seed: int, rtol: float, cut: float):
    """The multiplier tends to an end of its interval as the loss stalls; pairs of samples answer at a rate of 1e5.

    Explicit steps leave errors of the tolerance in these weights. Neurons left for them and slid again, a hundred
    thousand times: by what a series did beyond the part of a step that was taken, and at the begin of late steps.
    """
    problem = hostile.problem("contradictory_part", seed, log_t=12.0)
    tight = problem.run(rtol=1e-12)
    options = {**problem.options, "rtol": rtol}
    whole = rf.integrate(problem.data, problem.net, until=problem.until, **options)
    first = rf.integrate(problem.data, problem.net, until=rf.Stop(log_time=cut), **options)
    second = rf.integrate(problem.data, first, until=problem.until, **options)
    for sol in (whole, second):
        assert sol.status == "reached_log_time", sol.message
        assert most_events_of_a_pair(sol) < 50
        compare.assert_same_state(sol.final.W, sol.final.a, tight.final.W, tight.final.a, 1e-9, "at the end")


def test_a_neuron_does_not_leave_and_come_back_along_a_stalled_loss() -> None:
    problem = hostile.problem("contradictory_part", 369, log_t=12.0)
    sol = problem.run(rtol=1e-7)
    assert sol.status == "reached_log_time", sol.message
    assert len(sol.events) < 50
    assert most_events_of_a_pair(sol) < 10


def test_late_steps_over_few_sectors_are_worth_their_work() -> None:
    """Classes that cannot be separated: 8,548 steps when late steps had a system for the kernels between the nodes."""
    data = rf.datasets.iris("versicolor", "virginica")
    data = rf.Dataset(np.c_[data.X, np.ones(data.n)], data.y)
    net = rf.Network.init(60, data.d, scale=1e-3, seed=0)
    sol = rf.integrate(data, net, until=rf.Stop(log_time=8.0))
    assert sol.status == "reached_log_time"
    assert sol.stats["steps"] < 6000
    tight = rf.integrate(data, net, until=rf.Stop(log_time=8.0), rtol=1e-11)
    assert len(sol.events) == len(tight.events)
    assert rf.analysis.relative_error(sol.final, tight.final) < 1e-6


def raw_cancer() -> rf.Dataset:
    X, labels = load_breast_cancer(return_X_y=True)
    return rf.Dataset(X / 1000.0, np.where(labels == 0, 1.0, -1.0))


def creeping_runs(log_time: float) -> list[rf.Solution]:
    """The same run at two tolerances."""
    net = rf.Network.init(20, 30, scale=1e-3, seed=0)
    until = rf.Stop(log_time=log_time)
    return [
        rf.integrate(raw_cancer(), net, until=until, loss="exponential", n_threads=1, rtol=rtol)
        for rtol in (1e-9, 1e-10)
    ]


def test_late_steps_follow_a_kernel_that_turns_where_a_stalled_loss_creeps_without_events() -> None:
    """Up to log t = 9 it took 5,058 steps and to 11 some 10,000: late steps had the kernel of their start alone."""
    runs = creeping_runs(11.0)
    for sol in runs:
        assert sol.status == "reached_log_time", sol.message
        assert abs(len(sol.events) - len(runs[0].events)) <= 4  # one that comes and goes
    assert runs[0].stats["steps"] < 4500
    assert runs[0].log_loss_end == pytest.approx(runs[1].log_loss_end, abs=1e-11)
    assert runs[0].final.norm == pytest.approx(runs[1].final.norm, rel=1e-9)


def test_a_loss_that_creeps_for_long_is_followed_until_all_samples_are_right() -> None:
    """It was `stalled` at log t = 14: late steps iterated on the rounding of what their margins are sums of, 1e7, and a
    thousand of them were taken for noise."""
    runs = creeping_runs(18.0)
    for sol in runs:
        assert sol.status == "reached_log_time", sol.message
        assert (sol.final(sol.data.X) * sol.data.y).min() > 5.0
    assert runs[0].stats["steps"] < 8000  # by processor and build 5,700 to 7,100
    assert runs[0].log_loss_end == pytest.approx(runs[1].log_loss_end, abs=1e-8)
    assert runs[0].final.norm == pytest.approx(runs[1].final.norm, rel=1e-8)


@pytest.mark.thorough
def test_joins_in_a_diverged_step_are_not_believed() -> None:
    """26,975 steps: every tenth refused step was followed by one a billionth as long."""
    raw = raw_cancer()
    data = rf.Dataset(np.c_[raw.X, np.ones(raw.n)], raw.y)
    net = rf.Network.init(20, data.d, scale=0.1, seed=0, leak=0.1)
    sol = rf.integrate(data, net, until=rf.Stop(log_time=13.0), loss="exponential", n_threads=1)
    assert sol.status == "reached_log_time", sol.message
    assert sol.stats["steps"] < 16_000
    assert np.diff(sol.log_loss).max() <= 1e-12


@pytest.mark.thorough
def test_steps_between_events_are_not_taken_for_noise() -> None:
    """The run was `stalled` at log t = 13, a thousand steps after it was foreseen that rounding would end it at 16."""
    data = rf.datasets.iris("versicolor", "virginica")
    data = rf.Dataset(np.c_[data.X, np.ones(data.n)], data.y)
    net = rf.Network.init(60, data.d, scale=1e-3, seed=0)
    runs = [rf.integrate(data, net, until=rf.Stop(log_time=15.5), rtol=rtol, n_threads=1) for rtol in (1e-10, 1e-11)]
    for sol in runs:
        assert sol.success, sol.message
    assert rf.analysis.relative_error(runs[0].final, runs[1].final) < 1e-6


def test_a_flow_that_grows_over_a_stalled_loss_is_not_at_rest() -> None:
    """Its rate is below what rounding of margins makes of others, but known better: it was taken for noise."""
    net = rf.Network.init(20, 30, scale=1e-3, seed=0)
    begun = rf.integrate(raw_cancer(), net, until=rf.Stop(log_time=9.7), loss="exponential", n_threads=1)
    sol = rf.integrate(begun.data, begun, until=rf.Stop(log_time=12.0), n_threads=1)
    assert sol.status == "reached_log_time", sol.message
    assert "rest_log_t" not in sol.stats
    assert sol.final.norm > 2.0 * begun.final.norm


def test_what_late_steps_have_kept_counts_as_no_work() -> None:
    """5,686 steps when every late step factored the kernel of its errors, and was as much work as that."""
    data = rf.datasets.digits(3, 8)
    net = rf.Network.init(4, data.d, scale=0.1, seed=1)
    sol = rf.integrate(data, net, until=rf.Stop(time=100.0), loss="squared", rtol=1e-8, n_threads=1)
    assert sol.status == "reached_time"
    assert sol.stats["steps"] < 4500
    assert sol.log_loss_end == pytest.approx(0.4482507069, abs=2e-8)  # at a tolerance of 1e-10


def test_what_little_moves_neurons_that_slide_keeps_them_on_their_boundaries() -> None:
    """Rounding of the gradient that holds them, times a late step, made the next one begin with a layer."""
    X, labels = make_moons(60, noise=0.3, random_state=2)
    data = rf.Dataset(np.c_[X, np.ones(60)], 2.0 * labels - 1)
    net = rf.Network.init(20, 3, scale=1.0, seed=2)
    sol = rf.integrate(data, net, loss="exponential", until=rf.Stop(log_time=14.0))
    assert sol.status == "reached_log_time", sol.message
    assert ((sol.log_t > 8.0) & (sol.log_t < 14.0)).sum() < 600  # 1,840 before, 300 now
