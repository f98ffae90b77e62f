"""Networks of two layers run by both cores: both list the same ways to go on, and follow the same one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from itertools import pairwise

import numpy as np
import pytest

import reluflow as rf

POLICIES = ("inactive", "active", "stay")
SQUARE = np.array([[1.0, 1.0], [1.0, -1.0]])
CORNERS = {2: SQUARE, 3: np.eye(3), 4: np.kron(SQUARE, SQUARE)}
Sides = Mapping[tuple[int, int], int]


def orthogonal(seed: int) -> tuple[np.ndarray, np.ndarray, rf.Network, float]:
    """Rows of which any two are at right angles, equal or opposite, targets, a start without balance, and a decay."""
    rng = np.random.default_rng(seed)
    dim = int(rng.integers(2, 5))
    X = CORNERS[dim]
    if rng.random() < 0.5:
        n = int(rng.integers(dim, dim + 3))
        X = X[rng.integers(0, dim, n)] * rng.choice([-1.0, 1.0], (n, 1))
    y = rng.standard_normal(len(X)) if rng.random() < 0.5 else rng.choice([-1.0, 0.0, 1.0, 2.0], len(X))
    m = int(rng.integers(2, 5))
    return X, y, rf.Network(rng.standard_normal((m, dim)), rng.standard_normal(m)), float(rng.choice([0.0, 0.05]))


@cache
def runs(seed: int, policy: str) -> tuple[rf.Solution, rf.layered.DeepSolution]:
    X, y, net, decay = orthogonal(seed)
    options = {"until": 10.0, "loss": "squared", "weight_decay": decay, "on_branch": policy}
    deep = rf.DeepNetwork([rf.Dense(len(net.a)), rf.Dense(1)], np.append(net.W.ravel(), net.a), dim=X.shape[1])
    return rf.integrate(rf.Dataset(X, y), net, **options), rf.integrate((X, y), deep, **options)


def first_ways(
    points: Iterable[tuple[float, list[Sides]]], X: np.ndarray
) -> dict[tuple[int, int], tuple[float, set[int]]]:
    """For each neuron and each of its boundaries when they branch first, and the sides that it may go to.

    Two layers list what stands on a boundary again where another one of its neuron is met."""
    found: dict[tuple[int, int], tuple[float, set[int]]] = {}
    for t, options in points:
        for neuron, sample in options[0]:
            parallel = X @ X[sample] / (np.linalg.norm(X, axis=1) * np.linalg.norm(X[sample]))
            first = int(np.argmax(np.abs(parallel) > 0.5))
            sides = {option[neuron, sample] * round(parallel[first]) for option in options}
            if len(sides) > 1 and (neuron, first) not in found:
                found[neuron, first] = (t, sides)
    return found


def ways_of_two(sol: rf.Solution, X: np.ndarray) -> dict[tuple[int, int], tuple[float, set[int]]]:
    points = [
        (p.t, [{(p.neuron, sample): side for sample, side in option.items()} for option in p.options])
        for p in sol.branchings
    ]
    return first_ways(points, X)


def ways_of_layers(sol: rf.layered.DeepSolution, X: np.ndarray) -> dict[tuple[int, int], tuple[float, set[int]]]:
    points = [
        (
            p.t,
            [
                {(unit, sample): side for (_, unit, sample), side in zip(p.places, option, strict=True)}
                for option in p.options
            ],
        )
        for p in sol.branchings
    ]
    return first_ways(points, X)


@pytest.mark.parametrize("policy", POLICIES)
def test_boundaries_that_turn_are_branches_in_both_cores(policy: str) -> None:
    """Where a neuron rests and its boundary comes to repel, it leaves or rests. The layers had but the way in which it
    leaves, and their ends with the policy "stay" were up to 1.1 from those of two layers."""
    listed = 0
    for seed in range(120):
        X = orthogonal(seed)[0]
        two, deep = runs(seed, policy)
        assert two.status == deep.status == "reached_time", (seed, deep.message)
        expected, found = ways_of_two(two, X), ways_of_layers(deep, X)
        assert expected.keys() == found.keys(), seed
        for place, (t, sides) in expected.items():
            assert found[place][1] == sides, (seed, place)
            assert found[place][0] == pytest.approx(t, rel=1e-5), (seed, place)
        listed += len(expected)
        np.testing.assert_allclose(deep.final.theta, np.append(two.final.W.ravel(), two.final.a), rtol=0, atol=1e-7)
        times = [p.t for p in deep.branchings]
        assert all(later - earlier > 1e-6 for earlier, later in pairwise(times)), seed
    assert listed > 10


def test_only_the_policy_stay_rests_where_a_boundary_turns() -> None:
    """With "stay" the end is another one, and the neuron is where it was."""
    apart = 0
    for seed in range(120):
        ends = [runs(seed, policy)[1].final.theta for policy in POLICIES]
        branches = runs(seed, "inactive")[1].branchings
        for point in branches:
            chosen = point.options[point.chosen]
            assert any(chosen), seed
        apart += bool(np.abs(ends[2] - ends[0]).max() > 1e-3)
    assert apart > 3


def both(
    data: rf.Dataset, net: rf.Network, until: float, **options: str
) -> tuple[rf.Solution, rf.layered.DeepSolution]:
    theta = np.append(net.W.ravel(), net.a)
    deep = rf.DeepNetwork([rf.Dense(len(net.a)), rf.Dense(1)], theta, dim=net.W.shape[1])
    return rf.integrate(data, net, until=until, **options), rf.integrate(data, deep, until=until, **options)


def assert_same_ways(two: rf.Solution, deep: rf.layered.DeepSolution) -> None:
    """One neuron branches, once, and its boundaries have the same sides in both; layers name one sample of each."""
    (point,), (other,) = two.branchings, deep.branchings
    assert point.t == pytest.approx(other.t, rel=1e-6)
    samples = [sample for _, _, sample in other.places]
    assert {tuple(option[sample] for sample in samples) for option in point.options} == set(other.options)
    assert len(point.options) == len(other.options)
    np.testing.assert_allclose(deep.final.theta, np.append(two.final.W.ravel(), two.final.a), rtol=0, atol=1e-8)


@pytest.mark.parametrize("policy", POLICIES)
def test_what_turns_takes_others_with_it_as_one_of_several_ways(policy: str) -> None:
    """Neuron 1 rests on both samples when the residual of the first passes 0, and may go on to rest. The way in which
    it goes up on the first was dropped, as it has to leave the second at the same instant, and no branch was listed."""
    data = rf.Dataset([[1.4, -0.7, 0.8], [0.2, 1.4, 0.2]], [2.0, 1.0])
    net = rf.Network([[0.05, -0.01, 0.09], [0.08, 0.03, -0.06]], [0.1, -0.1])
    two, deep = both(data, net, 2.9, loss="squared", on_branch=policy)
    assert len(two.branchings[0].options) == 2
    assert_same_ways(two, deep)


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_a_start_on_a_boundary_that_repels_has_three_ways(loss: str, policy: str) -> None:
    """Neuron 0 is moved away from its first boundary on both sides, and may stand on it. Layers did not list that way,
    so that "stay" did not take it."""
    found = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        X = rng.integers(1, 4, (3, 2)) * rng.choice([-1.0, 1.0], (3, 2))
        W = rng.standard_normal((2, 2))
        W[0] = [-X[0, 1] / 4, X[0, 0] / 4]
        data = rf.Dataset(X, rng.choice([-1.0, 1.0], 3))
        two, deep = both(data, rf.Network(W, rng.choice([-0.5, 0.5], 2)), 0.1, loss=loss, on_branch=policy)
        if len(two.branchings) != 1 or two.branchings[0].t > 0.0:
            assert len(two.branchings) == len(deep.branchings), seed
            continue
        assert_same_ways(two, deep)
        found += len(two.branchings[0].options) == 3
    assert found > 0


def test_what_stands_goes_on_standing_where_another_boundary_of_its_unit_comes_to_hold() -> None:
    """With "stay" the second unit stands on sample 1, which repels it, and meets sample 4, which holds it. Standing was
    no longer among the ways there, and the end 0.05 off."""
    X = np.array([[-2, -3, 0], [-2, 0, -3], [-3, 1, 3], [-2, 3, 0], [-3, 3, 1.0]])
    net = rf.Network(np.array([[-2, -9, 5], [-3, -2, 2]]) / 64, np.array([-14, -4]) / 64)
    deep = rf.DeepNetwork([rf.Dense(2), rf.Dense(1)], np.append(net.W.ravel(), net.a), dim=3)
    options = {"until": 1.0, "loss": "exponential", "on_branch": "stay"}
    two = rf.integrate(rf.Dataset(X, [-1, -1, -1, -1, 1]), net, **options)
    layers = rf.integrate(rf.Dataset(X, [-1, -1, -1, -1, 1]), deep, **options)
    assert [len(point.options) for point in layers.branchings] == [len(point.options) for point in two.branchings]
    np.testing.assert_allclose(layers.final.theta, np.append(two.final.W.ravel(), two.final.a), rtol=1e-7)
