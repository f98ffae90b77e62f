"""Many boundaries meet, or are held jointly, in few dimensions: far more signs than cells that are not empty."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import reluflow as rf
from layered_draws import drawn


# Signs were tried one after the other, of which there were more than 100,000, or more than were tried in seconds.
@pytest.mark.parametrize(("seed", "until"), [(141, 600.0), (186, 80.0)])
def test_there_are_fewer_cells_than_signs(seed: int, until: float) -> None:
    runs = [drawn(seed)._replace(until=until).ends(rtol) for rtol in (1e-7, 1e-9)]
    assert [run.status for run in runs] == ["reached_time"] * 2, [run.message for run in runs]
    theta = runs[1].final.theta
    assert np.abs(runs[0].final.theta - theta).max() < 1e-6 * np.abs(theta).max()


# A neuron of the first layer that is zero on all samples has 1,882 cells, others have more: the search was given up.
def test_cells_in_which_nothing_open_moves_are_one() -> None:
    X = np.array(list(product((0.0, 1.0), repeat=4)))
    layers = [rf.Dense(8, bias=True), rf.Dense(8, bias=True), rf.Dense(1, bias=True)]
    net = rf.DeepNetwork.init(layers, dim=4, scale=0.5, seed=0)
    sol = rf.integrate((X, X.sum(axis=1) % 2), net, loss="squared", until=6.2)
    assert sol.status == "reached_time", sol.message


def test_there_are_fewer_signs_than_cells() -> None:
    rng = np.random.default_rng(1)
    X, y = rng.standard_normal((7, 3)), rng.choice([-1.0, 1.0], 7)
    weights = [0.1 * rng.standard_normal((b, a)) / np.sqrt(a) for a, b in ((3, 5), (5, 5), (5, 5), (5, 1))]
    theta = np.concatenate([one.ravel() for one in weights])
    net = rf.DeepNetwork([rf.Dense(5), rf.Dense(5), rf.Dense(5), rf.Dense(1)], theta, dim=3)
    runs = [rf.integrate((X, y), net, loss="squared", until=3e3, rtol=rtol) for rtol in (1e-7, 1e-9)]
    assert [run.status for run in runs] == ["reached_time"] * 2, [run.message for run in runs]
    assert [event.kind for event in runs[0].events] == [event.kind for event in runs[1].events]
    assert len(runs[0].branchings) == len(runs[1].branchings) == 1
    assert np.abs(runs[0].final.theta - runs[1].final.theta).max() < 1e-7


CUBE = np.array(list(product((0.0, 1.0), repeat=3)))
SIGNS = np.array(list(product((-1.0, 1.0), repeat=4)))


# The zero row, or units that are zero on many rows, open more cells than are looked at; the runs were given up.
@pytest.mark.parametrize(
    ("X", "y", "widths", "scale", "seed", "loss"),
    [
        (np.c_[CUBE, np.ones(8)], np.prod(2 * CUBE - 1, axis=1), (8, 8), 0.1, 114, "exponential"),
        (SIGNS, np.prod(SIGNS, axis=1), (6, 4), 0.2 * 2**0.5, 1, "squared"),
    ],
)
def test_proofs_for_both_sides_of_a_place_find_the_only_way(
    X: np.ndarray, y: np.ndarray, widths: tuple[int, ...], scale: float, seed: int, loss: str
) -> None:
    layers = [*map(rf.Dense, widths), rf.Dense(1)]
    net = rf.DeepNetwork.init(layers, dim=X.shape[1], scale=scale, seed=seed)
    runs = [rf.integrate((X, y), net, loss=loss, until=18.0, rtol=rtol) for rtol in (1e-7, 1e-9)]
    assert [run.status for run in runs] == ["reached_time"] * 2, [run.message for run in runs]
    assert [len(run.branchings) for run in runs] == [0, 0]
    theta = runs[1].final.theta
    assert np.abs(runs[0].final.theta - theta).max() < 1e-6 * np.abs(theta).max()


def test_one_way_is_enough_where_there_are_too_many_to_list() -> None:
    X = np.array(list(product((0.0, 1.0), repeat=2)))
    layers = [*(rf.Dense(8, bias=True) for _ in range(3)), rf.Dense(1, bias=True)]
    net = rf.DeepNetwork.init(layers, dim=2, scale=1.0, seed=104, leak=0.1)
    data = (X, np.prod(2 * X - 1, axis=1))
    runs = [rf.integrate(data, net, loss="exponential", until=5.0, rtol=rtol) for rtol in (1e-7, 1e-9)]
    assert [run.status for run in runs] == ["reached_time"] * 2, [run.message for run in runs]
    assert [[point.lists_all for point in run.branchings] for run in runs] == [[False]] * 2
    assert "of 1 branch not all ways to go on are listed" in runs[0].message
    theta = runs[1].final.theta
    assert np.abs(runs[0].final.theta - theta).max() < 1e-5 * np.abs(theta).max()
    with pytest.raises(rf.BranchingError, match="too many ways"):
        rf.integrate(data, net, loss="exponential", until=5.0, on_branch="raise")


# A neuron with its boundary on the zero row is inactive on all others: nothing moves it on that side, and the row pulls
# it on the other. One way was taken as the only one; of starts beside it one half goes either way.
@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_what_nothing_moves_on_its_inactive_side_may_rest_from_the_start(loss: str) -> None:
    data = (np.array([[0.0], [1.0]]), np.array([1.0, -1.0]))
    layers = [rf.Dense(1, bias=True), rf.Dense(1)]

    def run(bias: float, policy: str = "inactive") -> rf.DeepSolution:
        net = rf.DeepNetwork(layers, [-2.0, bias, 1.0], dim=1)
        return rf.integrate(data, net, loss=loss, until=0.5, on_branch=policy)

    runs = {policy: run(0.0, policy) for policy in ("inactive", "active", "stay")}
    for sol in runs.values():
        (point,) = sol.branchings
        assert point.lists_all
        assert set(point.options) == {(1,), (0,)}
    for policy, bias in (("inactive", 1e-9), ("active", 1e-9), ("stay", -1e-9)):
        np.testing.assert_allclose(runs[policy].final.theta, run(bias).final.theta, rtol=0.0, atol=1e-8)
    two = rf.Network([[-2.0, 0.0]], [1.0])
    for policy, sol in runs.items():
        other = rf.integrate((np.c_[data[0], np.ones(2)], data[1]), two, loss=loss, until=0.5, on_branch=policy)
        np.testing.assert_allclose(sol.final.theta, [*other.final.W[0], *other.final.a], rtol=0.0, atol=1e-8)
