"""The late phase: the core against the twin in the clock log t, and against closed forms where t overflows."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from sklearn.datasets import make_circles

import compare
import families
import hostile
import reluflow as rf
import twin
from twin_rules import Problem

# The twin goes in plain time to START, then in log t to END.
START, END = 1e5, 60.0


def separable(seed: int, orthogonal: bool) -> families.Setup:
    """Random separable data of both classes; `orthogonal`: every y_i x_i in one orthant."""
    rng = np.random.default_rng([seed, 77])
    n, d, m = int(rng.integers(2, 6)), int(rng.integers(2, 4)), int(rng.integers(3, 8))
    y = rng.choice([-1.0, 1.0], n)
    y[:2] = 1.0, -1.0
    X = rng.standard_normal((n, d))
    if orthogonal:
        X = np.abs(X) * y[:, None]
    else:
        X[:, 0] = y * (np.abs(X[:, 0]) + 0.3)
    W, a = families.start(rng, m, d, float(rng.choice([0.3, 1e-2])))
    options = rng.choice([0.0, 0.2]), str(rng.choice(["logistic", "exponential"])), str(rng.choice(["sum", "mean"]))
    return families.Setup(X, y, W, a, float(options[0]), options[1], options[2], START)


@pytest.mark.parametrize("orthogonal", [True, False])
@pytest.mark.parametrize("seed", [0, 1, 2, *(pytest.param(seed, marks=pytest.mark.thorough) for seed in range(3, 8))])
def test_late_events_and_states_are_those_of_the_twin(seed, orthogonal):
    s = separable(seed, orthogonal)
    slow = twin.Twin(Problem(s.X, s.y, s.leak, s.loss, s.reduction), s.W, s.a)
    early = slow.integrate(START, [START])
    assert early.status == "reached_time"
    late = slow.follow(END, [END])
    times = [float(np.log(START)), END]
    data, net = rf.Dataset(s.X, s.y), rf.Network(s.W, s.a, leak=s.leak)
    sol = rf.integrate(data, net, until=rf.Stop(log_time=END), rtol=1e-10, save_at_log=times, **s.options)
    assert sol.success, sol.message
    found = compare.from_solution(sol)
    want = [compare.Event(*e) for e in early.events]
    compare.assert_same_events(want, [e for e in found if e.t <= START], early.pattern0, rtol=1e-8)
    want = [compare.Event(*e) for e in late.events]
    ev = sol.events
    found = compare.from_table(ev.log_t, ev.neuron, ev.sample, ev.kind)
    compare.assert_same_events(want, [e for e in found if e.t > times[0]], late.pattern0, rtol=1e-8)
    for k, run in enumerate((early, late)):
        compare.assert_same_state(sol.W[k], sol.a[k], run.W[0], run.a[0], 1e-8, f"at log t = {times[k]:.6g}")


def test_late_steps_go_on_through_events_that_move_no_other_neuron():
    """Small neurons cross boundaries of samples that weigh nothing: a step that ends there is followed by several."""
    data = rf.datasets.wine("class_1", "class_2")
    net = rf.Network.init(30, data.d, scale=1e-3, seed=0)
    begin = rf.integrate(data, net, until=rf.Stop(log_time=1e3))
    saves = np.geomspace(1.1e3, 3e3, 5)
    end, tight = (
        rf.integrate(data, begin, until=rf.Stop(log_time=3e3), save_at_log=saves, rtol=r) for r in (1e-9, 1e-12)
    )
    assert len(end.events) > 50
    assert end.stats["steps"] <= 50 + len(end.events)
    found, wanted = ([(e.neuron, e.sample, e.kind) for e in run.events] for run in (end, tight))
    assert sorted(found) == sorted(wanted)
    assert end.events.log_t == pytest.approx(tight.events.log_t, rel=1e-7)
    for k in range(len(saves)):
        compare.assert_same_state(end.W[k], end.a[k], tight.W[k], tight.a[k], 1e-8, f"at log t = {saves[k]:.6g}")


@pytest.mark.parametrize("loss", ["exponential", "logistic"])
def test_one_sample_goes_on_where_another_stands_still_for_ever(loss):
    """x = 1 is learnt and x = -1 of the same class is not: the loss stalls, yet q of the first grows like log t."""
    data = rf.Dataset([[1.0], [-1.0]], [1, 1])
    logs = [100.0, 300.0, 400.0, 600.0]
    stop = rf.Stop(log_time=logs[-1])
    sol = rf.integrate(data, rf.Network([[0.5]], [0.5]), until=stop, loss=loss, save_at_log=logs)
    assert sol.status == "reached_log_time", sol.message
    for k, log_t in enumerate(logs):
        q = sol.a[k, 0] * sol.W[k, 0, 0]
        # t = Ei(q) / 2 up to lower terms, and Ei(q) = e^q / q (1 + 1/q + 2/q² + 6/q³ + ...).
        series = 1 / q + 2 / q**2 + 6 / q**3 + 24 / q**4 + 120 / q**5
        assert q - np.log(2 * q) + np.log1p(series) == pytest.approx(log_t, rel=1e-9)


def test_a_weight_below_the_smallest_double_ends_the_run_with_a_status():
    """The same to log t = 1000: right, or refused in words, but never a state that stands still in silence."""
    data = rf.Dataset([[1.0], [-1.0]], [1, 1])
    sol = rf.integrate(data, rf.Network([[0.5]], [0.5]), until=rf.Stop(log_time=1000.0))
    q = sol.final.a[0] * sol.final.W[0, 0]
    assert q - np.log(2 * q) + 1 / q == pytest.approx(sol.log_t_end, rel=1e-4)
    assert sol.success == (sol.log_t_end == 1000.0)
    assert sol.success or "smallest double" in sol.message


@pytest.mark.parametrize("loss", ["exponential", "logistic"])
def test_the_direction_of_two_samples_tends_to_the_margin_of_the_example(loss):
    """[WP], 2-D example: q_min / |θ|² tends to 1 / (2 P*) with P* = 1/|x₁| + 1/|x₂|."""
    X = np.array([[1.65, -0.47], [-0.47, 1.35]])
    data = rf.Dataset(X, [1, -1])
    net = rf.Network.init(10, 2, scale=1e-2, seed=1)
    sol = rf.integrate(data, net, until=rf.Stop(log_time=1e9), loss=loss)
    best = 1.0 / (2.0 * np.sum(1.0 / np.linalg.norm(X, axis=1)))
    assert np.min(data.y * sol.final(X)) / sol.final.norm**2 == pytest.approx(best, rel=1e-8)


def test_a_sample_that_drove_nobody_can_outweigh_all_others_by_far():
    """At log t = 190 a neuron crosses the boundary of a sample that others only slide along: its weight is e^190 times
    that of what drove the neurons until then, and the terms of the series after that overflow."""
    problem = hostile.problem("late_bias", 25)
    sol, tight = problem.run(), problem.run(rtol=1e-12)
    for found in (sol, tight):
        assert found.status == "reached_log_time", found.message
        assert np.all(np.diff(found.log_loss) <= 1e-9)
    compare.assert_same_state(sol.final.W, sol.final.a, tight.final.W, tight.final.a, 1e-7, "at the end")


def test_errors_that_relax_at_many_rates_are_followed_by_late_steps():
    # 3,676 steps: what late steps had cost was repaid by explicit ones a thousandth of a time constant long, and steps
    # that were too long by a hair were tried again at nearly the same length, then given up.
    pytest.importorskip("sklearn")
    data = rf.datasets.digits(3, 8)
    rng = np.random.default_rng(0)
    W = rng.standard_normal((3, data.d))
    net = rf.Network(0.3 * W / np.linalg.norm(W, axis=1, keepdims=True), [0.3, -0.3, 0.3])
    sol = rf.integrate(data, net, until=300.0, loss="squared", rtol=1e-8)
    assert sol.success
    assert sol.stats["steps"] < 2600
    fine = rf.integrate(data, net, until=300.0, loss="squared", rtol=1e-10)
    assert abs(sol.log_loss_end - fine.log_loss_end) < 1e-8


def test_newton_does_not_wait_for_rounding_in_late_steps() -> None:
    """At log t of 1e10 and more the rounding of margins moves the weights by more than Newton's method was to reach.

    Every other step was refused after fourteen iterations, or taken when one of them was small by chance: 11,872.
    """
    X, y = make_circles(60, noise=0.05, factor=0.5, random_state=0)
    data = rf.Dataset(np.c_[X, np.ones(60)], 2.0 * y - 1.0)
    net = rf.Network.init(20, 3, scale=0.1, seed=0)
    sol = rf.integrate(data, net, until=rf.Stop(limit=True))
    assert sol.status == "reached_limit"
    assert sol.stats["late_iterations"] < 7_000


def test_no_late_step_is_tried_that_the_next_event_would_end() -> None:
    """93 late steps, cut by events to about an explicit step each, were a third of the run."""
    data = rf.datasets.breast_cancer()
    net = rf.Network.init(40, data.d, scale=1e-3, seed=0)
    sol = rf.integrate(data, net, until=0.1)
    assert sol.stats["late_steps"] < 30
    assert sol.stats["late_refused"] < 10
    tight = rf.integrate(data, net, until=0.1, rtol=1e-11)
    assert len(sol.events) == len(tight.events)
    assert rf.analysis.relative_error(sol.final, tight.final) < 1e-8


def test_late_steps_between_few_events_are_tried() -> None:
    """431 steps at a low accuracy, most of them explicit ones that repaid tries which events had cut short."""
    data = rf.datasets.digits(3, 8)
    net = rf.Network.init(50, data.d, scale=1e-3, seed=3)
    sol = rf.integrate(data, net, until=rf.Stop(log_time=1e6), rtol=1e-3)
    assert sol.status == "reached_log_time", sol.message
    assert sol.stats["steps"] < 300
    assert sol.stats["late_steps"] > 30


def test_errors_of_late_steps_are_those_of_what_they_move() -> None:
    """752 steps, where the errors of weights that cancel were summed up sample by sample."""
    data = rf.datasets.breast_cancer()
    net = rf.Network.init(20, data.d, scale=1e-3, seed=0)
    begin = rf.integrate(data, net, until=rf.Stop(log_time=30.0)).final
    runs = [rf.integrate(data, begin, until=rf.Stop(log_time=1e5), rtol=rtol) for rtol in (1e-9, 1e-10)]
    assert runs[0].stats["steps"] < 650
    assert len(runs[0].events) == len(runs[1].events)
    assert rf.analysis.relative_error(runs[0].final, runs[1].final) < 1e-10


def test_far_late_steps_take_few_iterations() -> None:
    """Each took nine while kernels were not integrated between the nodes, and steps half as long were refused."""
    rng = np.random.default_rng(0)
    data = rf.Dataset(rng.standard_normal((20, 10)), rng.choice([-1.0, 1.0], 20))
    start = rf.Network.init(20, 10, scale=0.1, seed=0)
    near, far = (rf.integrate(data, start, until=rf.Stop(log_time=10.0**e), n_threads=1) for e in (40, 140))
    steps, iterations = (far.stats[key] - near.stats[key] for key in ("late_steps", "late_iterations"))
    assert len(far.events) == len(near.events)
    assert steps < 70  # two and a half time constants each
    assert iterations < 5 * steps


def test_corrections_of_late_steps_are_those_of_weights() -> None:
    """As corrections of their logarithms they left half of a weight that an event had changed, iteration after another.

    1,230 iterations in this stretch of 250 steps and 230 events. It has 150 steps since those that ended for
    nothing but the rounding of margins go on.
    """
    wine = rf.datasets.wine("class_1", "class_2")
    data = rf.Dataset(np.c_[wine.X, np.ones(wine.n)], wine.y)
    start = rf.Network.init(60, data.d, scale=0.1, seed=0, leak=0.1)
    near, far = (
        rf.integrate(data, start, loss="exponential", until=rf.Stop(log_time=log_t), n_threads=1)
        for log_t in (1e6, 1e40)
    )
    assert 100 < far.stats["late_steps"] - near.stats["late_steps"] < 200
    assert far.stats["late_iterations"] - near.stats["late_iterations"] < 1000


def test_late_steps_that_rounding_refuses_are_not_tried_again_as_they_were() -> None:
    """A random function of four bits: where multipliers are not unique, rounding of margins stays in the weights.

    Refused steps were tried again at their length or at six times that, and 11,700 steps were taken.
    """
    X = np.array(list(itertools.product([-1.0, 1.0], repeat=4)))
    y = [-1.0, 1, -1, 1, 1, 1, 1, 1, 1, 1, -1, -1, -1, 1, 1, -1]
    sol = rf.integrate(rf.Dataset(X, y), rf.Network.init(30, 4, scale=1e-2, seed=11), until=rf.Stop(limit=True))
    assert sol.status == "reached_limit", sol.message
    assert sol.limit.certified
    assert sol.stats["steps"] < 2000
    assert sol.stats["late_iterations"] < 20_000


def test_a_layer_whose_change_the_margins_ask_for_refuses_no_leap() -> None:
    """Behind 147 events: 525 steps where what the weights jump by counted for as long as the layer lasts."""
    noise = np.random.default_rng(0)
    data = rf.Dataset(noise.standard_normal((20, 10)), noise.choice([-1.0, 1.0], 20))
    net = rf.Network.init(60, 10, scale=1.0, seed=0)
    early = rf.integrate(data, net, loss="exponential", until=rf.Stop(log_time=1e3), n_threads=1)
    sols = [
        rf.integrate(data, early, until=rf.Stop(log_time=1e20), rtol=rtol, n_threads=1) for rtol in (1e-6, 1e-9, 1e-11)
    ]
    assert sols[0].stats["steps"] < 450
    ends = [sol.final.theta / sol.final.norm for sol in sols]
    assert np.linalg.norm(ends[0] - ends[2]) < 1e-7
    assert np.linalg.norm(ends[1] - ends[2]) < 1e-10
    assert len(sols[0].events) == len(sols[2].events)


def test_late_steps_with_negative_margins_go_on_through_events() -> None:
    """Each event ended one, and each step was at most twice as long as the one before: 6,587 steps."""
    data = rf.datasets.iris("versicolor", "virginica")
    data = rf.Dataset(np.c_[data.X, np.ones(data.n)], data.y)
    net = rf.Network.init(60, data.d, scale=1e-3, seed=0)
    coarse, fine = (rf.integrate(data, net, until=rf.Stop(log_time=12.0), rtol=rtol) for rtol in (1e-6, 1e-9))
    assert coarse.stats["steps"] < 4000  # 2,886
    assert abs(len(coarse.events) - len(fine.events)) < 20  # 3 of 5,501
    assert np.linalg.norm(coarse.final.theta - fine.final.theta) < 2e-5 * fine.final.norm


@pytest.mark.parametrize("rtol", [1e-8, 1e-7, 1e-6])
def test_neurons_that_leave_in_a_late_step_do_not_come_back_for_its_tolerance(rtol: float) -> None:
    """They left where the polynomial of their multiplier passed its end, by less than it is known to: at log t = 2.6e16
    13 came back in the next step, and left again."""
    data = rf.datasets.wine("class_1", "class_2")
    net = rf.Network.init(20, data.d, scale=0.1, seed=0)
    sol = rf.integrate(data, net, until=rf.Stop(log_norm=32.0), rtol=rtol)
    kinds = sol.stats["events"]
    assert (kinds["slide"], kinds["leave_up"], kinds["leave_down"]) == (82, 52, 8)  # as at 1e-9; 95, 65, 8 at 1e-8
