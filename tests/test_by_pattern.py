"""Runs to their limits over a stalled loss, beside the samples that the pattern of the network lets rest."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog
from sklearn.datasets import make_circles, make_moons

import reluflow as rf
from certificate import certify_alone
from reluflow.flow._beside_rest import BesideRest
from reluflow.flow._past_rounding import PastRounding
from reluflow.flow._solution import Solution
from reluflow.kinks._boundaries import exact_signs
from reluflow.limits._groups import Groups, groups
from reluflow.limits._holding import SUM, holding
from runs import with_legs


def circles() -> tuple[rf.Dataset, rf.Network]:
    """Two circles with noise: margins at rest have all sizes up to log t, and no gap tells them from the others."""
    X, labels = make_circles(200, noise=0.1, factor=0.6, random_state=0)
    data = rf.Dataset(np.c_[X, np.ones(len(X))], 2.0 * labels - 1.0)
    return data, rf.Network.init(40, 3, scale=1e-2, seed=0)


def groups_of(data: rf.Dataset, W: np.ndarray, a: np.ndarray) -> Groups:
    return groups(data, rf.Network(W, a)._with(W, a, exact_signs(W, data.X)))


def test_the_multipliers_of_samples_that_contradict_each_other() -> None:
    """Thrice (1, 0), once with the other label, and (0, 1), (0, 2) alone: the former rest, as they are given 3 to 1."""
    X = np.array([[1.0, 0.0], [1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 2.0]])
    y = np.array([1.0, 1.0, -1.0, 1.0, 1.0])
    data = rf.Dataset(X, y)
    found = holding(groups_of(data, np.ones((1, 2)), np.ones(1)), data, 0.0, np.array([3.0, 1.0, 4.0, 1e-9, 1e-9]))
    assert found == pytest.approx(SUM * np.array([3 / 8, 1 / 8, 4 / 8, 0, 0]), abs=1e-12)


def test_a_weight_of_next_to_nothing_is_lifted() -> None:
    """Two pairs of samples with both labels, of weight 1 and 1e-14: the second pair holds as well with a larger one."""
    X = np.array([[1.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 1.0, 0.0], [3.0, 3.0, 1.0]])
    y = np.array([1.0, -1.0, 1.0, -1.0, 1.0])
    data = rf.Dataset(X, y)
    found = holding(groups_of(data, np.ones((1, 3)), np.ones(1)), data, 0.0, np.array([1.0, 1.0, 1e-14, 1e-14, 1e-16]))
    assert found[4] == 0.0
    assert found[0] == pytest.approx(found[1], rel=1e-9)
    assert found[0] > 0.2
    assert found[2] == pytest.approx(found[3], rel=1e-9)
    assert 1e-5 < found[2] < 1e-2


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_group_stays_on_its_boundary(sign: float) -> None:
    """(1, 1, 0) and (1, 0, 0) pull it along e_2 by their multiplier; that of (0, 1, 0), undriven, exceeds it.

    With the labels turned round a group of the other sign is held.
    """
    X = np.array([[1.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [1.0, 0.0, 1.0]])
    y = sign * np.array([1.0, -1.0, -1.0, 1.0])
    data = rf.Dataset(X, y)
    own = groups_of(data, np.array([[1.0, 0.0, 0.0]]), np.array([sign]))
    assert list(own.pattern[0]) == [1, 1, 0, 1]
    found = holding(own, data, 0.0, np.array([1e-14, 1e-14, 1.0, 1e-16]))
    assert found[3] == 0.0
    assert found[0] == pytest.approx(found[1], rel=1e-9)
    assert 1e-5 < found[0] < 1e-2
    assert found[2] > found[0] + 1e-5
    # Of the other sign, it is on a boundary that repels: no multipliers hold it there.
    other = groups_of(data, np.array([[1.0, 0.0, 0.0]]), np.array([-sign]))
    assert holding(other, data, 0.0, np.array([1e-14, 1e-14, 1.0, 1e-16])) is None


def test_nothing_is_held_where_all_margins_grow_or_none() -> None:
    W, a = np.ones((1, 2)), np.ones(1)
    grows, stays = rf.Dataset(np.eye(2), [1.0, 1.0]), rf.Dataset([[1.0, 0.5], [1.0, 0.5]], [1.0, -1.0])
    assert holding(groups_of(grows, W, a), grows, 0.0, np.ones(2)) is None
    assert holding(groups_of(stays, W, a), stays, 0.0, np.ones(2)) is None


def test_a_sample_that_does_not_count_holds_nothing() -> None:
    X, y = [[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 1.0], [1.0, 0.0]], [1.0, -1.0, 1.0, -1.0, -1.0]
    data = rf.Dataset(X, y, weights=[1.0, 1.0, 1.0, 0.0, 0.0])
    found = holding(groups_of(data, np.ones((1, 2)), np.ones(1)), data, 0.0, np.array([1.0, 1.0, 1e-3, 0.0, 0.0]))
    assert found == pytest.approx([SUM / 2, SUM / 2, 0.0, 0.0, 0.0], abs=1e-12)


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(3, 14), m=st.integers(1, 4), leak=st.sampled_from([0.0, 0.2]))
def test_samples_at_rest_are_those_of_gordans_theorem(seed: int, n: int, m: int, leak: float) -> None:
    """Multipliers that cancel prove that their samples rest; a direction found by scipy that the others grow."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-2, 3, (n, 2)).astype(float)
    X[~X.any(axis=1)] = 1.0
    y = rng.choice([-1.0, 1.0], n)
    net = rf.Network(rng.standard_normal((m, 2)), rng.choice([-1.0, 1.0], m), leak=leak)
    data = rf.Dataset(X, y)
    lam = holding(groups(data, net), data, leak, np.exp(-10 * rng.random(n)))
    slopes = np.where(net.W @ X.T > 0, 1.0, leak)
    moves = y[:, None] * np.hstack([slopes[j, :, None] * X for j in range(m)])
    reached = moves.any(axis=1)
    grows = linprog(
        np.r_[np.zeros(2 * m), -np.ones(n)],
        A_ub=np.hstack((-moves, np.eye(n))),
        b_ub=np.zeros(n),
        bounds=[(None, None)] * (2 * m) + [(0.0, 1.0)] * n,
    ).x[2 * m :]
    rests = grows < 0.5
    if lam is None:
        assert rests.all() or not (rests & reached).any()
        return
    np.testing.assert_array_equal(lam > 0, rests)
    assert lam[rests].min() >= 1e-5
    assert lam[rests & reached].sum() == pytest.approx(SUM)
    assert np.abs(lam @ moves).max() < 1e-11  # what a certificate allows; found by a linear program


@pytest.mark.slow
def test_the_way_is_that_of_the_flow() -> None:
    """From log t = 15.9 to 22 beside 86 samples at rest, through 120 events: the flow's but for 1e-5 of it.

    The flow is followed in steps that rounding limits, six times as many.
    """

    def compare(run: Callable[[Solution | None, rf.Stop], Solution]) -> Solution:
        done = run(None, rf.Stop(log_time=30.0))
        assert done.status == "stalled"
        assert BesideRest.of(done) is None
        past, beside = PastRounding(done), BesideRest.by_pattern(done)
        assert beside is not None
        for log_t in (16.0, 18.0, 20.0, 22.0):
            exact, found = run(past.start(), rf.Stop(log_time=log_t)), run(beside.start(), rf.Stop(log_time=log_t))
            assert exact.status == found.status == "reached_log_time"
            past.take(exact)
            beside.take(found)
            assert np.linalg.norm(found.final.theta - exact.final.theta) < 1e-5 * exact.final.norm
            np.testing.assert_array_equal(found.final.pattern, exact.final.pattern)
        return done

    with_legs(*circles(), "exponential", compare)


def moons() -> tuple[rf.Dataset, rf.Network]:
    X, labels = make_moons(200, noise=0.15, random_state=1)
    data = rf.Dataset(np.c_[X, np.ones(len(X))], 2.0 * labels - 1.0)
    return data, rf.Network.init(20, 3, scale=0.1, seed=1)


@pytest.mark.slow
def test_no_gap_changes_the_roles_of_the_pattern() -> None:
    """Their margins are shifted: weights read off the true ones left 22 of 56 samples at rest, which held nothing."""

    def change(run: Callable[[Solution | None, rf.Stop], Solution]) -> Solution:
        done = run(None, rf.Stop(log_time=30.0))
        by_gap, beside = BesideRest.of(done), BesideRest.by_pattern(done)
        assert by_gap is not None
        assert beside is not None
        assert not beside.has_roles_of(by_gap)
        assert not beside.change_roles()
        assert beside.has_roles_of(BesideRest.by_pattern(done))
        return done

    with_legs(*moons(), "exponential", change)


@pytest.mark.slow
@pytest.mark.parametrize(("draw", "resting"), [(circles, 101), pytest.param(moons, 47, marks=pytest.mark.thorough)])
def test_limits_beside_samples_that_only_the_pattern_tells(
    draw: Callable[[], tuple[rf.Dataset, rf.Network]], resting: int
) -> None:
    """Both ended uncertified, the second with 22 samples at rest of the 47 that come to rest."""
    data, net = draw()
    sol = rf.integrate(data, net, loss="exponential", until=rf.Stop(limit=True))
    assert sol.status == "reached_limit", sol.message
    n_resting = int((np.abs(data.y * sol.limit.network(data.X)) < 1e-9).sum())
    assert n_resting == resting
    assert certify_alone(data, sol.limit, n_resting) <= 1e-9
