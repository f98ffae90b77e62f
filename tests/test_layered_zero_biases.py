"""Starts with zero biases and samples on which no unit of the first layer is active, or of which all inputs are zero.

All that reads such a sample is exactly zero at the start: dozens of boundaries meet. Signs that are the same in all
ways to go on are known from bounds; what is left falls into blocks that decide each for itself. Where these span layers
signs are tried one after the other, and bounds say what follows from each.
"""

from __future__ import annotations

import numpy as np
import pytest

import reluflow as rf

Start = tuple[np.ndarray, np.ndarray, rf.DeepNetwork, str]


def start(seed: int, widths: list[int], n: int, dim: int, loss: str, with_zero: bool) -> Start:
    rng = np.random.default_rng([seed, 99])
    X = rng.standard_normal((n, dim))
    if with_zero:
        X[0] = 0.0
    y = rng.standard_normal(n) if loss == "squared" else rng.choice([-1.0, 1.0], n)
    layers = [rf.Dense(width, bias=True) for width in [*widths, 1]]
    return X, y, rf.DeepNetwork.init(layers, dim=dim, scale=1.0, seed=seed), loss


def ends(problem: Start, net: rf.DeepNetwork, tolerances: tuple[float, ...], until: float) -> list[rf.DeepSolution]:
    X, y, _, loss = problem
    runs = [rf.integrate((X, y), net, loss=loss, until=until, rtol=rtol) for rtol in tolerances]
    assert [run.status for run in runs] == ["reached_time"] * len(runs), [run.message for run in runs]
    return runs


STARTS = [
    (3, [3, 24], 12, 2, "squared", False),
    (2, [3, 24], 12, 2, "squared", False),
    (3, [3, 12], 10, 3, "squared", False),
    (0, [2, 7, 9], 9, 2, "logistic", False),
    (0, [4, 6, 5], 8, 3, "squared", True),
    (9, [3, 14, 17], 11, 4, "logistic", False),
    (1, [3, 4, 4, 4], 12, 4, "squared", False),
    (2, [3, 4, 4, 4], 12, 4, "squared", False),
    (1, [3, 14, 17], 11, 4, "logistic", False),
    (0, [3, 16], 12, 3, "squared", True),
    (0, [8, 8, 8], 12, 3, "squared", True),
]


def ways(point: rf.layered.LayeredBranching) -> set[frozenset[tuple[tuple[int, int, int], int]]]:
    """The ways to go on, whatever the order in which places were met."""
    return {frozenset(zip(point.places, sides, strict=True)) for sides in point.options}


@pytest.mark.parametrize("given", STARTS)
def test_ends_do_not_depend_on_the_tolerance(given: tuple[int, list[int], int, int, str, bool]) -> None:
    problem = start(*given)
    runs = ends(problem, problem[2], (1e-11, 1e-9, 1e-7), 0.5)
    for run in runs[1:]:
        assert [ways(b) for b in run.branchings] == [ways(b) for b in runs[0].branchings]
        assert np.abs(run.final.theta - runs[0].final.theta).max() < 1e-7


def test_units_that_do_not_feel_each_other_multiply_their_ways() -> None:
    """Three of 24 units that read a sample of zeros alone have two ways each."""
    X, y, net, loss = start(*STARTS[0])
    for policy in ("active", "inactive"):
        sol = rf.integrate((X, y), net, loss=loss, until=0.1, on_branch=policy)
        first = sol.branchings[0]
        assert first.t == 0.0
        assert len({tuple(sides) for sides in first.options}) == len(first.options) == 8
        counts = [sum(sides) for sides in first.options]
        assert counts[first.chosen] == (max(counts) if policy == "active" else min(counts))


@pytest.mark.parametrize("which", [STARTS[1], STARTS[2], STARTS[5], STARTS[6]])
def test_small_biases_change_a_unique_way_a_little(which: tuple[int, list[int], int, int, str, bool]) -> None:
    """They are positive: with a negative one a unit that nothing else moves would be at rest."""
    given = start(*which)
    X, net = given[0], given[2]
    theta = np.asarray(net.theta)
    moved = theta + 1e-7 * np.random.default_rng(0).random(theta.size) * (theta == 0.0)
    layers = [rf.Dense(width, bias=True) for width in [*which[1], 1]]
    runs = [ends(given, one, (1e-9,), 0.5)[0] for one in (net, rf.DeepNetwork(layers, moved, dim=X.shape[1]))]
    for point in runs[0].branchings:  # a unit rests with the policy "stay" alone where its boundary turns
        assert 0 not in point.options[point.chosen]
    assert np.abs(runs[1].final.theta - runs[0].final.theta).max() < 1e-5


@pytest.mark.parametrize("widths", [[8, 8], [16, 16]])
@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_a_grid_with_zero_in_it(widths: list[int], loss: str) -> None:
    """One input, zero among its values: all units of all layers begin on their boundary there."""
    rng = np.random.default_rng([0, 99])
    X = np.linspace(-1.0, 1.0, 15)[:, None]
    y = rng.standard_normal(15) if loss == "squared" else rng.choice([-1.0, 1.0], 15)
    layers = [rf.Dense(width, bias=True) for width in [*widths, 1]]
    net = rf.DeepNetwork.init(layers, dim=1, scale=1.0, seed=0)
    runs = [rf.integrate((X, y), net, loss=loss, until=1e-3, rtol=rtol) for rtol in (1e-10, 1e-8)]
    assert [run.status for run in runs] == ["reached_time"] * 2, [run.message for run in runs]
    assert [b.options for b in runs[0].branchings] == [b.options for b in runs[1].branchings]
    assert np.abs(runs[0].final.theta - runs[1].final.theta).max() < 1e-8
