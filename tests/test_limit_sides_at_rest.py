"""Neurons that come to lie on the boundary of samples at rest stay on the side on which the value there keeps them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import trapezoid
from sklearn.datasets import load_iris

import reluflow as rf
from certificate import certify_alone
from reluflow.flow._beside_rest import BesideRest
from reluflow.limits._limit_of import limit_of
from reluflow.limits._sides import Seen, ends_of, told_sides
from reluflow.limits._state import State
from runs import with_legs

# Seven samples of a cube. The first, with both labels, rests at log 2, and two neurons of one group hold it there.
CUBE = [[-1, 1, 1, 1], [1, -1, 1, -1], [-1, -1, 1, -1], [-1, 1, 1, 1], [-1, -1, -1, -1], [1, 1, 1, 1], [-1, 1, 1, 1]]
CUBE_LABELS = [-1, -1, 1, 1, 1, -1, 1]
CUBE_WEIGHTS = [
    [-0.0003879448275549705, 0.00014694588016776663, 0.0008165862742637451, 0.00040136339613761534],
    [0.00013835133278965888, 0.0005538977243540131, 0.0002712965418117147, 0.0007748899315849802],
]


# Samples of both labels in one place and on one ray. A neuron that only shrinks holds the former with one that grows.
PAIRS = [
    *[[-0.378, 0.626], [-0.381, -0.752], [-2.068, -1.367], [2.205, 1.256], [0.876, -0.048], [0.832, 0.592]],
    *[[0.83, -2.307], [-0.378, 0.626], [-0.762, -1.504]],
]
PAIR_LABELS = [1, 1, -1, -1, -1, -1, -1, -1, -1]
PAIR_WEIGHTS = np.array([[-0.337, 0.941], [-0.517, 0.856]])


def pairs(scale: float = 1.0) -> tuple[rf.Dataset, rf.Network]:
    """Return the data and a network whose first neuron has `scale` times the output weight that balances it."""
    sizes = np.linalg.norm(PAIR_WEIGHTS, axis=1)
    return rf.Dataset(PAIRS, PAIR_LABELS), rf.Network(PAIR_WEIGHTS, sizes * [scale, -1.0])


def test_ends_of_neurons_that_hold_a_value_together() -> None:
    """Σ a z stays v while a = α e^τ grows, so that z' = -α v e^-τ / Σ α²: z comes to z - a v / Σ a²."""
    z, a = np.array([0.225195, 0.052558]), np.array([2.921764, 0.669348])
    value, tau = a @ z, 30.0
    steps = np.linspace(0.0, tau, 300_001)
    grown = trapezoid(np.exp(-steps), steps)
    assert ends_of(z, a) == pytest.approx(z - a * value / (a @ a) * grown, abs=1e-9)
    assert (ends_of(np.array([0.2, 0.2]), np.array([1.5, 1.5])) == 0).all()


def test_a_neuron_that_only_shrinks_leaves_its_side_to_another() -> None:
    """Its part of the value at rest keeps its sign, and so does that of the neuron that grows."""
    data, net = pairs()
    sol = rf.integrate(data, net, loss="exponential", until=rf.Stop(limit=True))
    assert sol.limit.certified, sol.limit.reason
    assert sol.limit.network(data.X)[[0, 1, 2, 6, 7, 8]] == pytest.approx(np.zeros(6), abs=1e-12)
    early = limit_of(data, sol.at(log_t=6.0), "exponential")
    assert early.certified, early.reason
    assert early.network(data.X) == pytest.approx(sol.limit.network(data.X), abs=1e-12)


@pytest.mark.parametrize(("balance", "certified"), [(1.0, True), (0.5, False), (2.0, False)])
def test_small_neurons_count_that_hold_a_value_with_one_that_grows(balance: float, certified: bool) -> None:
    """One that is not balanced comes to a = 0 or w = 0 and takes the sign of its part with it, and the other across."""
    data, net = pairs()
    at = rf.integrate(data, net, loss="exponential", until=rf.Stop(log_time=15.0)).final
    W, a, x = np.array(at.W), np.array(at.a), data.X[0]
    W[0], a[0] = 1e-4 * W[0], 1e-4 * balance * a[0]
    W[1] -= (W[1] @ x + a[0] / a[1] * (W[0] @ x)) / (x @ x) * x  # the value at rest stays zero
    limit = limit_of(data, at._with(W, a, at.pattern), "exponential")
    assert a[0] ** 2 < 1e-9 * a[1] ** 2
    assert limit.certified == certified, limit.reason


def test_what_neurons_that_stand_hold_of_a_value_is_as_large_as_the_value() -> None:
    """The second neuron holds more than the values at rest, and the first, which grows with a < 0, the difference.

    Both are stored smaller from log t = 4e10 on, where the parts of values are not what the values say.
    """
    X = [[1, 0, 0], [1, 0, 0], [0, 1, 0], [0, 1, 0], [1, 1, 0], [0, 0, 1]]
    data = rf.Dataset(X, [1, 1, 1, 1, -1, -1])
    W = np.array([[0.02, 0.02, 1.0], [1.0, 1.0, -1.0]])
    net = rf.Network(W, np.linalg.norm(W, axis=1) * [-1.0, 1.0])
    early = rf.integrate(data, net, until=rf.Stop(log_time=100.0))
    late = rf.integrate(data, net, until=rf.Stop(log_time=1e11))
    assert np.log(late.final.norm) > 12.5
    for sol in (early, late):
        assert (sol.final.pattern[0] == 1).all()
        assert sol.limit.certified, sol.limit.reason
        assert certify_alone(data, sol.limit, 5) < 1e-12


def test_samples_in_a_line_with_those_that_a_neuron_drives_tell_its_side() -> None:
    """Petals of two species, in millimetres. Of five samples at rest in a line the one neuron that grows drives three.

    On the boundaries of the other two it seemed to be about to cross, at any norm; the limit is that from there on.
    """
    X, kind = load_iris(return_X_y=True)
    X = X[kind > 0][:, 2:]
    X = np.c_[(X - X.mean(axis=0)) / X.std(axis=0), np.ones(len(X))]
    data = rf.Dataset(X, np.where(kind[kind > 0] == 1, 1.0, -1.0))
    sol = rf.integrate(data, rf.Network.init(20, 3, scale=0.1, seed=0), until=rf.Stop(limit=True))
    assert sol.status == "reached_limit", sol.message
    limit = sol.limit
    (j,) = np.flatnonzero(limit.network.a)
    z = sol._raw["beyond_W"][j] @ data.X.T / np.linalg.norm(data.X, axis=1)
    assert np.abs(limit.network.W[j] @ data.X[[23, 33, 69, 50, 78]].T).max() < 1e-12
    assert (np.sign(z[[23, 33, 69, 50, 78]]) == [1, 1, 1, -1, -1]).all()
    assert certify_alone(data, limit, 79) < 1e-12


def test_a_side_that_rounding_decides_is_not_taken() -> None:
    """Far out the distance from the boundary is below the digits, and a long leg comes to the other side."""
    data, net = pairs()
    found = []

    def run_far(run):
        beside = BesideRest.of(run(None, rf.Stop(log_time=17.4)))
        for mark in (100.0, 1e4):
            leg = run(beside.start(), rf.Stop(log_time=mark))
            assert not len(beside.unsure(leg))
            beside.take(leg)
        for mark in (14.0, beside.log_norm + 0.05):
            leg = run(beside.start(), rf.Stop(log_norm=mark))
            found.append((leg._raw["final_pattern"][1, 0], beside.unsure(leg).tolist()))
        return leg

    with_legs(data, net, "exponential", run_far)
    assert found == [(-1, [1]), (1, [])]


def test_two_neurons_hold_a_value_until_one_crosses() -> None:
    """Neuron 0 crosses at log t = 1.8e7; both were taken to slide onto the boundary, where the value would be 0.

    How far from it they are is beyond the digits, so that rounding decides which starts are certified, and where.
    """
    data = rf.Dataset(np.array(CUBE, dtype=np.float64), CUBE_LABELS)
    n_certified = 0
    for seed in range(10):
        near = 1.0 + (seed > 0) * 1e-15 * np.random.default_rng(seed).standard_normal(np.shape(CUBE_WEIGHTS))
        sol = rf.integrate(data, rf.Network(CUBE_WEIGHTS * near, [1e-3, 1e-3]), until=rf.Stop(limit=True))
        if sol.status != "reached_limit":
            assert "below the digits of the run is on which side of them neurons stay" in sol.message
            continue
        limit = sol.limit
        assert limit.network(data.X) == pytest.approx([0, 0, (2 / 3) ** 0.5, 0, (2 / 3) ** 0.5, 0, 0], abs=1e-12)
        assert limit.network.pattern[:, 0].tolist() == [-1, 1]
        n_certified += 1
    assert n_certified > 0


def test_a_neuron_crosses_where_weights_at_rest_jump() -> None:
    """Samples on one line hold each other at values: across it their own weights repel a neuron near to it."""
    X = [
        [-1, -1, 1],
        [1, -1, -1],
        [1, -1, -1],
        [-1, 1, -1],
        [1, -1, 1],
        [1, 1, -1],
        [1, 1, 1],
        [-2, -2, 2],
        [1, -1, -1],
    ]
    data = rf.Dataset(np.array(X, dtype=np.float64), [1, 1, 1, 1, -1, 1, 1, -1, -1])
    net = rf.Network.init(5, 3, scale=0.1, seed=327, leak=0.1)
    sol = rf.integrate(data, net, loss="exponential", until=rf.Stop(limit=True))
    assert sol.limit.certified, sol.limit.reason
    assert [event.log_t for event in sol.events if event.log_t > 4] == [pytest.approx(8.07, abs=0.01)] * 3
    early = limit_of(data, sol.at(log_t=8.0), "exponential")
    assert abs(early.network(data.X) - sol.limit.network(data.X)).max() > 0.3
    assert not early.certified


@pytest.mark.parametrize(("seed", "turn"), [(0, 0.0), (4, 0.0), (7, 1.1)])
def test_a_pair_of_both_labels_holds_neurons_beside_it_though_others_that_vanish_see_it(seed: int, turn: float) -> None:
    """Its value is zero in the limit, so that the largest margin is that of sample 2 across the pair: |x ⨯ x₂| / 2|x|.

    Neurons with a < 0 stay active on the pair and vanish; they were taken to tell its multipliers.
    """
    cos, sin = np.cos(turn), np.sin(turn)
    data = rf.Dataset(np.array([[1.0, 0.3], [1.0, 0.3], [-0.2, 2.0]]) @ [[cos, sin], [-sin, cos]], [1, -1, 1])
    sol = rf.integrate(data, rf.Network.init(6, 2, scale=0.3, seed=seed), until=rf.Stop(limit=True))
    assert sol.status == "reached_limit", sol.message
    assert sol.limit.network(data.X) == pytest.approx([0.0, 0.0, 2.06 / (2 * np.hypot(1.0, 0.3))], abs=1e-9)


def whole_numbers(seed: int) -> rf.Dataset:
    """Points of a cube of 64, some of them twice, with random labels, and a constant column."""
    rng = np.random.default_rng(seed)
    return rf.Dataset(np.c_[rng.integers(0, 4, (40, 3)), np.ones(40)], rng.choice([-1.0, 1.0], 40))


@pytest.mark.parametrize("mass", [1e-2, 1.0, 30.0])
def test_values_tell_less_of_a_side_the_more_others_move_them(mass: float) -> None:
    """A move of neuron 0 across the boundary changes a value that neuron 1 moves as well, each by its own gradient."""
    data = rf.Dataset([[2.0, 0.0], [2.0, 0.0], [0.0, 1.0]], [1, -1, 1])
    net = rf.Network([[-1e-4, 1.0], [0.7 * mass**0.5, 0.2]], [1.0, -(mass**0.5)], leak=0.25)
    state, rests = State.of(data, net, "logistic"), np.array([True, True, False])
    own, others = (0.25 * 2.0) ** 2, (0.25 * 2e-4) ** 2 + mass * (2.0**2 + (0.7 * 2.0) ** 2)
    left = Seen(state, rests).left_of(np.array([0]), np.array([0.25]), 0)
    assert left == pytest.approx(others / (own + others), rel=1e-9)
    assert not told_sides(state, rests)[1].any()


def test_values_tell_the_sides_of_neurons_that_move_them_alone() -> None:
    """Neuron 1 crosses, since it is beside neuron 0; neuron 2 sees nothing of the samples at rest, unless one is -x."""
    X, net = (
        [[2.0, 0.0], [2.0, 0.0], [0.0, 1.0], [-1.0, 1.0]],
        rf.Network([[3e-4, 1], [1e-4, 1], [-2e-4, 1]], [1, 1, 1]),
    )
    for last, of_third in (([-1.0, 1.0], 0), ([-1.0, 0.0], -1)):
        data, rests = rf.Dataset([*X[:3], last], [1, -1, 1, 1]), np.array([True, True, False, of_third != 0])
        sides, told = told_sides(State.of(data, net, "logistic"), rests)
        of_last = abs(of_third)
        assert sides.tolist() == [[1, 1, 0, -of_last], [0] * 4, [of_third, of_third, 0, of_last]]
        assert told.astype(int).tolist() == [[1, 1, 0, of_last], [1, 1, 0, of_last], [of_last, of_last, 0, of_last]]


@pytest.mark.parametrize("seed", [20, 24])
def test_neurons_cross_boundaries_at_rest_that_others_drive(seed: int) -> None:
    """Far out they came to such boundaries in every leg, and runs ended as if the values there told their sides."""
    data, net = whole_numbers(seed), rf.Network.init(30, 4, scale=0.01, seed=seed)
    limits = [rf.integrate(data, net, until=rf.Stop(limit=True), rtol=rtol).limit for rtol in (None, 1e-9)]
    assert [limit.certified for limit in limits] == [True, True], [limit.reason for limit in limits]
    assert limits[0].network(data.X) == pytest.approx(limits[1].network(data.X), abs=1e-9)


def test_weights_that_rounding_hides_give_no_roles() -> None:
    """Samples came free, and others with weights of 1e-24 were held at rest, and let go, for 20,000 steps."""
    data, net = whole_numbers(31), rf.Network.init(30, 4, scale=0.01, seed=31)
    sol = rf.integrate(data, net, until=rf.Stop(limit=True))
    assert sol.limit.certified, sol.limit.reason
    assert sol.stats["steps"] < 12_000


def test_a_neuron_alone_crosses_a_boundary_where_the_value_at_rest_is_zero() -> None:
    """The value of a sample of both labels is zero and keeps the one neuron that drives it on neither side."""
    X = [[-1, 1, -1, 1, 1], [1, -1, 1, -1, 1], [-1, -1, 1, 1, 1], [-1, -1, 1, -1, -1], [-1, -1, 1, 1, 1]]
    X += [[1, -1, 1, 1, -1], [1, -1, -1, -1, 1], [1, 1, 1, -1, 1], [-1, -1, 1, 1, -1]]
    data = rf.Dataset(X, [1, -1, -1, 1, 1, 1, 1, -1, 1])
    W = [[-6.2, -0.6, -0.1, -2.7, 5.3], [-4.4, 2.2, -0.2, -0.1, -8.8], [-2.8, -3.4, -3.7, -3.0, -4.2]]
    net = rf.Network(W, [-2.5, 0.1, 3.3])
    sol = rf.integrate(data, net, until=rf.Stop(limit=True))
    assert sol.status == "reached_limit", sol.message
    later = rf.integrate(data, net, until=rf.Stop(log_time=1e5)).final
    values = sol.limit.network(data.X)
    assert later(data.X) / later.norm**2 == pytest.approx(values, abs=0.02 * values.max())
