"""Limits are certified only where no neuron that counts has an event to come on the way there."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np
import numpy.typing as npt
import pytest

import reluflow as rf

CUBE = [list(bits) for bits in product([-1.0, 1.0], repeat=3)]
POINTS = [[1, 1, -1, 1], [1, -1, 0, 0], [1, -1, 1, -1], [1, 1, 0, 0], [-1, 1, -1, 0], [0, -1, 1, 0]]
MORE_POINTS = [
    [1, -1, 1, -1, 1, -1],
    [1, 1, 1, 1, 0, 1],
    [1, 0, 0, -1, 1, -1],
    [1, 1, -1, 1, 0, 1],
    [-1, 0, 0, -1, 1, 1],
    [1, -1, 0, 0, 0, 1],
    [1, -1, 0, 1, -1, 1],
    [1, 0, 1, -1, 0, -1],
    [1, -1, 0, -1, -1, 0],
    [1, 1, 1, -1, 0, 1],
]
COUNTED = [
    [0, -1, -1, 0, -1, 1],
    [-1, -1, 0, 1, 1, 0],
    [1, 1, 1, 1, 0, 1],
    [0, -1, 1, 0, 1, -1],
    [0, 0, -1, 0, 1, 1],
    [0, -1, -1, 0, 0, 1],
    [0, -1, -1, 0, 1, 1],
    [0, 0, 1, -1, -1, 0],
    [0, 0, 1, -1, 1, 0],
    [0, 0, 0, -1, 0, 1],
    [0, 1, -1, 1, 1, -1],
    [-1, 1, 1, 0, 1, -1],
]


@dataclass(frozen=True)
class Case:
    """Data and what `Network.init` is asked for."""

    X: npt.ArrayLike
    y: list[int]
    width: int
    scale: float
    seed: int
    leak: float = 0.0
    loss: str = "logistic"
    weights: list[float] | None = None

    @property
    def data(self) -> rf.Dataset:
        return rf.Dataset(np.array(self.X, dtype=np.float64), self.y, weights=self.weights)

    @property
    def net(self) -> rf.Network:
        return rf.Network.init(self.width, self.data.d, scale=self.scale, seed=self.seed, leak=self.leak)

    def run(self, until: rf.Stop) -> rf.Solution:
        return rf.integrate(self.data, self.net, loss=self.loss, until=until)


ON_A_BOUNDARY = Case(CUBE, [-1] * 8, 5, 0.1, 535)
OTHER_MARGINS = {
    "on a boundary": ON_A_BOUNDARY,
    "outside": Case(POINTS, [-1, -1, 1, 1, 1, 1], 5, 1.0, 61),
    "held": Case(MORE_POINTS, [1, 1, -1, 1, -1, 1, 1, -1, -1, 1], 10, 1e-3, 231, 0.1),
    "turns over": Case(
        COUNTED,
        [1, 1, 1, 1, 1, -1, -1, -1, 1, -1, -1, -1],
        5,
        1e-6,
        86,
        0.5,
        weights=[1, 2, 3, 1, 3, 3, 2, 1, 1, 2, 2, 2],
    ),
}
OTHER_NETWORKS = {
    "two at once": Case(CUBE, [1, -1, 1, -1, -1, -1, 1, -1], 10, 1.0, 541, 0.5),
    "beyond the weights": Case(
        [[1, -3, 1], [-1, 3, -3], [-1, 1, -1], [0, -2, -1], [1, -3, 3], [0, 1, 2]],
        [1, -1, 1, 1, 1, 1],
        20,
        1.0,
        296,
        0.1,
        "exponential",
    ),
}


def margin_of(net: rf.Network, data: rf.Dataset) -> float:
    return float((data.y * net(data.X)).min()) / net.norm**2


@pytest.mark.parametrize("name", OTHER_MARGINS)
def test_margins_later_in_the_run_are_those_of_the_limit(name: str) -> None:
    """Neurons outside the limit crossed boundaries, or live ones left theirs, and the flow went to another limit."""
    case = OTHER_MARGINS[name]
    limit = case.run(rf.Stop(limit=True)).limit
    assert limit.certified, limit.reason
    reasons = []
    for size in (15.0, 60.0, 200.0):
        later = case.run(rf.Stop(log_norm=size))
        assert 0.9 * limit.margin < margin_of(later.final, case.data) <= limit.margin * (1 + 1e-9)
        if size > 15.0:
            assert later.limit.margin == pytest.approx(limit.margin, rel=1e-10)
            reasons += [] if later.limit.certified else [later.limit.reason]
    # By rounding one of them may not tell whether neurons outside the limit leave the pattern on the way.
    assert len(reasons) <= 1
    assert all("or may" in reason for reason in reasons)


def test_an_euler_method_comes_to_no_margin_above_that_of_the_limit() -> None:
    """A neuron of the limit of the last pattern at log t = 30 lay on a boundary that repels; the flow crosses it."""
    data, start = ON_A_BOUNDARY.data, ON_A_BOUNDARY.run(rf.Stop(log_time=20.0)).final
    X, y, W, a = data.X, data.y, np.array(start.W), np.array(start.a)
    q = y * (a @ np.maximum(W @ X.T, 0.0))
    while q.min() < 300.0:
        p = np.exp(q.min() - q)
        slope = np.where(W @ X.T > 0, p * y / p.sum(), 0.0)
        size = float((W**2).sum() + a @ a)
        W, a = W + 0.1 / size * a[:, None] * (slope @ X), a + 0.1 / size * (slope * (W @ X.T)).sum(axis=1)
        q = y * (a @ np.maximum(W @ X.T, 0.0))
    reached = q.min() / float((W**2).sum() + a @ a)
    limit = ON_A_BOUNDARY.run(rf.Stop(limit=True)).limit
    assert limit.certified, limit.reason
    assert 0.23 < reached <= limit.margin


@pytest.mark.parametrize("name", OTHER_NETWORKS)
def test_the_split_of_a_limit_is_as_exact_as_it_says(name: str) -> None:
    """Neurons that had yet to join a group of the limit, 0.03 or 0.26 of it, were no part of the error."""
    case = OTHER_NETWORKS[name]
    sol = case.run(rf.Stop(limit=True))
    limit, later = sol.limit, case.run(rf.Stop(log_norm=float(np.log(sol.final.norm)) + 10.0)).limit
    assert limit.certified, limit.reason
    assert later.certified, later.reason
    assert limit.freedom == 0
    moved = np.linalg.norm(later.network.theta - limit.network.theta)
    assert moved <= 10 * limit.split_error, (moved, limit.split_error)
    assert later.margin == pytest.approx(limit.margin, rel=1e-12)


def test_a_limit_with_events_to_come_names_the_neurons() -> None:
    limit = ON_A_BOUNDARY.run(rf.Stop(log_time=30.0)).limit
    assert not limit.certified
    assert "neurons leave the last pattern on the way to its limit, or may: 1, 3;" in limit.reason


def test_neurons_that_will_join_are_named_where_their_group_is_as_fast_as_the_limit_already() -> None:
    """Its pull has norm one, but lies in the cell of another group, where x and -x have changed sides."""
    half = np.array([[-4, 4, -3], [7, 15, -7], [18, 4, 5], [-10, 6, 9], [0, -7, -4], [17, -2, 5]]) / 10.0
    data = rf.Dataset(np.vstack([half, -half]), [1, 1, 1, 1, -1, -1, -1, -1, -1, -1, 1, 1])
    start = rf.Network.init(10, 3, scale=1.0, balanced=False, seed=134)
    sol = rf.integrate(data, start, loss="exponential", until=rf.Stop(log_time=1e4))
    limit = sol.limit
    assert limit.certified, limit.reason
    assert "neurons will join groups of the limit, which does not change its function: 1" in limit.reason
    assert np.isnan(limit.split_error)
    later = rf.integrate(data, sol, loss="exponential", until=rf.Stop(log_norm=15.0))
    assert set(later.events.neuron.tolist()) == {1}
    np.testing.assert_array_equal(later.final.pattern[1], later.final.pattern[0])
    assert later.limit.margin == pytest.approx(limit.margin, rel=1e-12)
