"""Multipliers that come to an end of their interval and stay there, as those of flows that come to rest do.

What lets a neuron go is then smaller than what the tolerance of a step does to the weights; a neuron that leaves comes
back at once, and how often it does hangs on the steps.
"""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.special import expi

import compare
import hostile
import reluflow as rf

AT_AN_END = [
    ("collinear", 40),
    ("collinear", 83),
    ("huge", 55),
    ("integers", 23),
    ("parallel_rounding", 21),
    ("parallel_rounding", 41),
]


def changes(sol: rf.Solution, since: float = 0.0) -> Counter:
    events = sol.events
    later = [i for i in range(len(events)) if events.t[i] > since]
    return Counter((int(events.neuron[i]), int(events.sample[i]), str(events.kind[i])) for i in later)


@pytest.mark.parametrize("part", [0.3, 0.5, 0.8])
@pytest.mark.parametrize(("kind", "seed"), AT_AN_END)
def test_a_run_in_two_parts_has_the_events_of_one(kind, seed, part):
    problem = hostile.problem(kind, seed)
    whole = problem.run()
    first = problem.run(until=part * whole.t_end)
    second = rf.integrate(problem.data, first, until=problem.until, **problem.options)
    assert changes(first) + changes(second, first.t_end) == changes(whole)
    compare.assert_same_state(second.final.W, second.final.a, whole.final.W, whole.final.a, 1e-9, "at the end")


@pytest.mark.parametrize(("kind", "seed"), [*AT_AN_END, ("onehot", 5), ("parallel_rounding", 46)])
def test_a_pair_does_not_change_for_ever(kind, seed):
    """Each was held and let go up to a thousand times."""
    sol = hostile.problem(kind, seed).run()
    assert sol.success, sol.message
    pairs = Counter(zip(sol.events.neuron.tolist(), sol.events.sample.tolist(), strict=True))
    assert max(pairs.values(), default=0) <= 8


@pytest.mark.parametrize("seed", [85, 105, 182, 287, 298, 309])
@pytest.mark.parametrize("rtol", [1e-9, 1e-12])
def test_an_output_weight_that_changes_its_sign_on_a_boundary_is_one_branch(seed, rtol):
    """|a| < |w|: a passes zero, the valley becomes a ridge. What the root leaves of a may have the sign of before."""
    rng = np.random.default_rng(seed)
    data = rf.Dataset(rng.standard_normal((2, 2)), np.ones(2))
    along = np.array([-data.X[0, 1], data.X[0, 0]])
    along *= np.sign(along @ data.X[1]) / np.linalg.norm(along)
    sol = rf.integrate(data, rf.Network([along], [-0.3]), until=3.0, rtol=rtol, loss="exponential")
    assert sol.status == "reached_time", sol.message
    assert [str(kind) for kind in sol.events.kind][-2:] == ["branch", "leave_down"]
    assert len(sol.branchings) == 1


def time_of_pull(pull: float, angle: float, size: float) -> float:
    """When the pull cos e^-q of sample 1 along the boundary of sample 0 has fallen to `pull`.

    For a neuron (0, v) with a = v: q = sin v² grows by q' = 2 sin q e^-q, so that 2 sin t = Ei(q) - Ei(q at the start).
    """
    sine, cosine = np.sin(angle), np.cos(angle)
    return (expi(np.log(cosine / pull)) - expi(sine * size**2)) / (2 * sine)


@pytest.mark.parametrize("rtol", [1e-6, 1e-9, 1e-12])
@pytest.mark.parametrize("seed", range(10))
def test_a_boundary_whose_sample_drives_nobody_lets_go_when_the_others_have_decayed(seed, rtol):
    """The neuron slides on sample 0 while the pull of sample 1 is above the leak; it stayed for ever."""
    rng = np.random.default_rng(seed)
    angle, size, leak = rng.uniform(0.3, 1.2), rng.uniform(0.05, 0.5), rng.uniform(0.05, 0.3)
    data = rf.Dataset([[1.0, 0.0], [np.cos(angle), np.sin(angle)]], [-1.0, 1.0])
    net = rf.Network([[0.0, size]], [size], leak=leak)
    leave = time_of_pull(leak, angle, size)
    sol = rf.integrate(data, net, until=2 * leave, rtol=rtol, loss="exponential")
    assert [str(kind) for kind in sol.events.kind] == ["start_slide", "leave_down"]
    assert sol.events.t[1] == pytest.approx(leave, rel=max(20 * rtol, 1e-11))


@pytest.mark.parametrize("size", [0.05, 0.4, 0.5, 0.6])
@pytest.mark.parametrize("pull", [1e-4, 1e-12])
def test_a_valley_that_a_sample_of_nobody_turns_lets_go(size, pull):
    """Samples 0 and 2 share a boundary. The second neuron learns 0; nobody sees 2: its pull stands still."""
    angle = 1.0
    data = rf.Dataset([[1.0, 0.0], [np.cos(angle), np.sin(angle)], [-pull, 0.0]], [-1.0, 1.0, 1.0])
    net = rf.Network([[0.0, size], [0.05, -1.0]], [size, -0.05])
    leave = time_of_pull(pull, angle, size)
    sol = rf.integrate(data, net, until=2 * leave, loss="exponential")
    events = sol.events
    changes = [i for i in range(len(events)) if events.neuron[i] == 0 and events.sample[i] == 0]
    assert [str(events.kind[i]) for i in changes] == ["start_slide", "leave_down"]
    assert events.t[changes[1]] == pytest.approx(leave, rel=2e-8)


def test_a_neuron_at_zero_leaves_when_the_first_direction_grows() -> None:
    """Under ReLU one side of each boundary adds nothing: how soon the others change was taken from that side, as never.

    A neuron at w = 0 leaves when the largest of Σ_i λ_i φ(v·x_i) over v, with the sign of a, passes zero.
    """
    X = np.array(
        [[-1.06, -1.19], [-0.1, 1.62], [-0.7, -0.59], [-0.03, -0.49], [1.39, -0.19], [-2.13, -0.35], [-0.29, 0.22]]
    )
    data = rf.Dataset(X, [1, 1, 1, 1, 1, -1, 1])
    net = rf.Network([[0.0, 0.0], [0.0, 0.0]], [0.12, -0.14])
    for rtol in (1e-5, 1e-9, 1e-12):
        sol = rf.integrate(data, net, until=15.0, loss="exponential", rtol=rtol)
        assert sol.success, sol.message
        (left,) = np.unique(sol.events.t[(sol.events.neuron == 1) & (sol.events.t > 0)])[:1]
        state = sol(float(left))
        duals = data.y * np.exp(-data.y * state(data.X))
        rays = np.concatenate(
            [sign * np.c_[-X[:, 1], X[:, 0]] / np.linalg.norm(X, axis=1)[:, None] for sign in (1, -1)]
        )
        growth = -np.maximum(rays @ X.T, 0) @ duals  # it is piecewise linear: largest on a boundary
        assert abs(growth.max()) <= max(100 * rtol, 1e-9)
        assert np.linalg.norm(sol.final.W[1]) > 0.1


@pytest.mark.parametrize("rtol", [1e-6, 1e-8, 1e-9])
def test_a_point_with_both_labels_lets_go_where_its_pull_changes_sides(rtol: float) -> None:
    # Both neurons tend to one direction, on the boundary of a point that counts 800 times with each label. The first
    # slides on it, the second takes its value through zero: there the boundary begins to repel, and just before that
    # the pull of the others is more than it takes up.
    points = np.array([[0.52, -1.09, 0.76], [-1.13, -0.12, -0.14], [0.79, -1.21, 1.07], [0.50, -1.79, 1.44]])
    counts = [0.04, 1.5, 0.25, 800, 1.5, 0.04, 0.25, 800]
    data = rf.Dataset(np.r_[points, points], [-1, -1, 1, 1, 1, 1, -1, -1], weights=counts)
    net = rf.Network([[0.019, -0.009, -0.017], [0, 0, 0]], [0.027, 0.015], leak=0.1)
    sol = rf.integrate(data, net, until=50.0, weight_decay=1e-4, rtol=rtol)
    exact = rf.integrate(data, net, until=50.0, weight_decay=1e-4, rtol=1e-12)
    assert exact.final.pattern.all()
    assert (sol.final.pattern == exact.final.pattern).all()
    np.testing.assert_allclose(sol.final.theta, exact.final.theta, rtol=0, atol=200 * rtol)


@pytest.mark.parametrize("size", [1.0, 30.0, 55.0])
def test_a_neuron_leaves_a_boundary_whose_sample_was_too_light_to_tell(size: float) -> None:
    # The first neuron gives the sample (1, 0) a margin of -size², and that of (0, 1) at 0 a weight of e^-size² beside
    # it: no double from 28 on. The other neuron, s = (sinh, cosh) of an angle, feels (0, 1) alone, to which it goes.
    data = rf.Dataset(np.eye(2), [1, 1])
    net = rf.Network([[size, 0.0], [-3.0, 0.0]], [-size, 1.0])
    sol = rf.integrate(data, net, until=10.0, loss="exponential")
    assert len(sol.branchings) == 1  # it could stay
    angle = solve_ivp(lambda t, s: np.exp(-np.sinh(2 * s) / 2), (0, 10), [0.0], rtol=1e-11, atol=1e-12).y[0, -1]
    np.testing.assert_allclose(sol.final.theta[1], [-3.0, np.sinh(angle), np.cosh(angle)], rtol=1e-8)


@pytest.mark.parametrize("size", [6.0, 15.0, 30.0, 55.0])
def test_a_neuron_leaves_to_the_side_to_which_a_light_sample_repels_it(size: float) -> None:
    data = rf.Dataset(np.eye(2), [1, 1])
    W = np.array([[size, 0.0], [-3.0, 0.0]])
    a = [-size, 1.0]
    sol = rf.integrate(data, rf.Network(W, a, leak=0.1), until=0.01, loss="exponential")
    W[1, 1] = 1e-13
    beside = rf.integrate(data, rf.Network(W, a, leak=0.1), until=0.01, loss="exponential")
    assert sol.final.pattern[1, 1] == beside.final.pattern[1, 1] == 1
    assert [str(event.kind) for event in sol.events if event.neuron == 1 and event.t > 0] == ["leave_up"]
    np.testing.assert_allclose(sol.final.theta[1], beside.final.theta[1], rtol=0, atol=1e-6)


@pytest.mark.parametrize(("kind", "seed"), [("late_bias", 25046), ("contradictory_part", 92)])
def test_a_boundary_is_left_for_good_by_less_than_a_late_step_may_miss(kind: str, seed: int) -> None:
    # Over a stalled loss multipliers stay 1e-11 of the weights beyond their ends: less than late steps may miss of
    # weights, and far more than they do. The neurons slid on for ever, and were 3e-3 off at log t = 20.
    problem = hostile.problem(kind, seed)
    exact = problem.run(rtol=1e-12)
    for rtol in (1e-6, 1e-8, 1e-9):
        sol = problem.run(rtol=rtol)
        assert sol.status == exact.status == "reached_log_time"
        assert changes(sol) == changes(exact)
        compare.assert_same_state(sol.final.W, sol.final.a, exact.final.W, exact.final.a, max(1e-9, rtol), "at the end")


@pytest.mark.parametrize("rtol", [1e-7, 1e-9, 1e-11])
@pytest.mark.parametrize(
    ("X", "y", "W", "a"),
    [
        (
            [[-1, -1, 1], [1, -1, -1], [-1, 1, -1]],
            [0.625, 0, 0.625],
            [[2.65625, 1.109375, 1.0625], [-1.15625, -0.171875, 0.796875], [0.296875, 0.484375, -0.40625]],
            [3.0684333466974643, -1.4147313680518998, 0.698421769957094],
        ),
        (
            [[0, 1, 0], [1, 1, 0], [1, 0, 0], [0, 0, 1], [1, 1, 0]],
            [2, -2, 0, -1, -1],
            [[0.03125, 0.03125, 0.03125], [0, -0.265625, 0.109375]],
            [0.15625, 0.03125],
        ),
    ],
)
def test_an_error_that_ends_at_zero_lets_no_neuron_go(X, y, W, a, rtol):
    """The target of a sample is 0 and only positive output weights act on it, so its error is never positive: it holds.

    When the last active neuron left that sample, the error went on through zero by the series of the step. The neuron
    that slides there was then given two ways, and left.
    """
    sol = rf.integrate(rf.Dataset(X, y), rf.Network(W, a), until=rf.Stop(time=8.0), loss="squared", rtol=rtol)
    assert len(sol.branchings) == 0
    zero = y.index(0)
    left = [e for e in sol.events if e.sample == zero and e.kind.startswith("cross_down")]
    assert left  # the last active neuron
    assert (sol.final.pattern[:, zero] <= 0).all()


@pytest.mark.parametrize("seed", [9, 108, 121, 130])
def test_no_error_drives_a_neuron_from_the_origin_towards_targets_below_its_output(seed: int) -> None:
    """Targets are at most 0 and outputs at least 0, so a neuron with a > 0 at w = 0 stays there for ever.

    All boundaries meet there. An error that ended at zero went on through it by the series of the step: a branch point,
    after which the neuron went away by as much as the run is off, and took other ways later than the exact one.
    """
    rng = np.random.default_rng(seed)
    n = int(rng.integers(4, 7))
    X = rng.standard_normal((n, 2)).round(2)
    y = -rng.integers(0, 3, n).astype(float)
    W = np.vstack([np.zeros(2), rng.standard_normal((3, 2)).round(2)])
    a = np.linalg.norm(W, axis=1)
    a[0] = 0.3
    sol = rf.integrate(rf.Dataset(X, y), rf.Network(W, a), until=3.0, loss="squared")
    assert sol.status == "reached_time"
    assert len(sol.branchings) == 0
    assert {event.kind for event in sol.events if event.neuron == 0} == {"start_slide"}
    assert any(event.kind == "cross_down" and y[event.sample] == 0 for event in sol.events)


@pytest.mark.parametrize("rtol", [1e-6, 1e-9])
def test_a_sample_that_weighs_less_than_a_step_knows_wakes_no_dead_neuron(rtol: float) -> None:
    # λ of the second sample is 1e-15 of that of the first, and its series passed zero: a branch, or a way out and back.
    sol = hostile.problem("norms", 101066).run(rtol=rtol)
    assert len(sol.branchings) == 0
    dead = {event.neuron: event.t for event in sol.events if event.kind == "die"}
    assert dead
    assert all(event.t <= dead.get(event.neuron, np.inf) for event in sol.events)
