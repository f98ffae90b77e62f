"""Events of layered networks that are decided by the local minima of the loss to first order.

Every start here ended as undecided, or in places that depended on the tolerance, when sides were tried one by one.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

import reluflow as rf
import survey_layered_discrete as discrete
from layered_twin import Model
from layered_twin_rules import is_admissible
from survey_layered import END, as_asked, distance, problem, runs_of
from test_layered_events import quiet_times, sides_of

# Units that wake with two inputs and slide at once (relu 357); a shared boundary of which one member also reads a unit
# that slides (exp 348); weights of a unit that vanish together (ce 300); patches that vanish together (convconv 201).
STARTS = [
    ("relu", 357),
    ("exp", 300),
    ("exp", 348),
    ("narrow", 304),
    ("narrow_leaky", 327),
    ("deep5", 304),
    ("deep5", 334),
    ("bias", 303),
    ("ce", 300),
    ("k2", 345),
    ("k2", 354),
    ("residual", 208),
    ("conv", 300),
    ("convconv", 201),
    ("diag_dense", 325),
]


@pytest.mark.parametrize(("kind", "seed"), STARTS)
def test_ends_depend_neither_on_the_tolerance_nor_on_the_order(kind: str, seed: int) -> None:
    runs = runs_of(kind, seed)
    assert all(map(as_asked, runs)), [run.message for run in runs]
    assert distance(runs) < 1e-7


@pytest.mark.parametrize(("kind", "seed"), [("narrow_leaky", 332), ("narrow_leaky", 327), ("exp", 348)])
def test_what_is_held_jointly_has_a_velocity_that_is_a_subgradient(kind: str, seed: int) -> None:
    (X, y), net, loss = problem(kind, seed)
    sol = rf.integrate((X, y), net, until=END, loss=loss, rtol=1e-10)
    assert sol.status == "reached_time", sol.message
    model = Model(net, X, y, loss)
    for t in quiet_times(sol, most=4):
        sides = sides_of(model, sol, t)
        assert is_admissible(model, sol(t).theta, sides, model.held(sides))


def wide(seed: int) -> tuple[rf.Dataset, rf.DeepNetwork]:
    rng = np.random.default_rng([seed, 77])
    X = rng.standard_normal((20, 4))
    y = np.where(rng.random(20) < 0.5, 1.0, -1.0)
    net = rf.DeepNetwork.init([rf.Dense(8), rf.Dense(6), rf.Dense(1)], dim=4, scale=0.5, seed=seed)
    return rf.Dataset(X, y), net


def test_an_empty_unit_wakes_and_slides() -> None:
    data, net = wide(334)
    sol = rf.integrate(data, net, until=1.21, rtol=1e-10)
    assert sol.status == "reached_time", sol.message
    model = Model(net, np.asarray(data.X), np.asarray(data.y), "logistic")
    times = np.unique([0.0, *sol.events.t, sol.t_end])
    found = 0
    for event in sol.events:
        if event.kind != "slide":
            continue
        k = int(np.searchsorted(times, event.t))
        before = model.live(sides_of(model, sol, 0.5 * (times[k - 1] + times[k])))
        if before[event.layer][event.sample, event.unit]:
            continue
        z, h = model.forward(sol(0.5 * (times[k] + times[k + 1])).theta, None)
        assert abs(z[event.layer][event.sample, event.unit]) < 1e-12
        assert np.count_nonzero(h[event.layer - 1][event.sample] > 1e-6) == 2  # it has inputs; they cancel
        found += 1
    assert found == 1


# More than six boundaries met, all sides of which were too many; a unit that had just left its boundary tangentially
# (331); ways to go on that do not last were taken for a branch (338).
@pytest.mark.parametrize("seed", [310, 331, 338, 341])
def test_many_boundaries_may_meet(seed: int) -> None:
    data, net = wide(seed)
    until = rf.Stop(log_time=4.0)
    runs = [rf.integrate(data, net, until=until, rtol=rtol, on_branch="active") for rtol in (1e-10, 1e-12)]
    assert [run.status for run in runs] == ["reached_log_time"] * 2, [run.message for run in runs]
    theta = runs[0].final.theta
    assert np.abs(runs[1].final.theta - theta).max() < 1e-7 * np.abs(theta).max()


def test_ways_to_go_on_are_listed_and_are_flows() -> None:
    (X, y), net, loss = problem("deep5", 332)
    ends = []
    for policy in ("active", "inactive", "stay"):
        sol = rf.integrate((X, y), net, until=0.05, loss=loss, rtol=1e-10, on_branch=policy)
        assert sol.status == "reached_time", sol.message
        (point,) = sol.branchings
        assert set(point.options) == {(1,), (-1,), (0,)}
        model = Model(net, X, y, loss)
        t = 0.5 * (point.t + min((e.t for e in sol.events if e.t > point.t), default=sol.t_end))
        sides = sides_of(model, sol, t)
        assert is_admissible(model, sol(t).theta, sides, model.held(sides))
        ends.append(sol.final.theta)
    assert min(np.abs(one - other).max() for one, other in combinations(ends, 2)) > 1e-6


# Two weights of unit 0 of the second layer vanish with unit 5 of the first: every pre-activation that reads them does.
# Decided one after the other, they took one side or another as the tolerance went.
def test_weights_that_vanish_with_a_unit_below_are_one_event() -> None:
    rows, net, loss, _ = discrete.problem("ternary", "three", 2)
    runs = [rf.integrate(rows, net, until=5.0, rtol=rtol, loss=loss) for rtol in (1e-8, 1e-9, 1e-10, 1e-12)]
    for sol in runs:
        assert sol.status == "reached_time", sol.message
        met = {(e.layer, e.unit, e.sample, e.kind) for e in sol.events if abs(e.t - 4.5445742) < 1e-6}
        below = {(1, 5, sample, "slide") for sample in (0, 3, 4, 6, 7, 9)}
        assert met == below | {(2, 0, sample, "slide") for sample in (3, 5, 6, 9)}
        assert np.abs(sol.final.theta - runs[0].final.theta).max() < 1e-8


@pytest.mark.parametrize("rtol", [1e-7, 1e-9, 1e-11])
def test_where_all_that_a_layer_reads_has_died_a_held_unit_leaves(rtol: float) -> None:
    """One input, equal samples: unit 6 of the first layer dies, unit 3 is held at zero, and descent goes through 3.

    It may also rest there for ever, as it would beside its boundary."""
    signs = [1, 1, -1, -1, 1, -1, -1, -1, -1, 1, -1, 1, -1]
    net = rf.DeepNetwork.init([rf.Dense(7), rf.Dense(7), rf.Dense(1)], dim=1, scale=3.0, seed=137)
    ends = {}
    for policy in ("active", "inactive"):
        sol = rf.integrate(rf.Dataset(np.ones((13, 1)), signs), net, until=30.0, rtol=rtol, on_branch=policy)
        assert sol.success, sol.message
        (point,) = sol.branchings
        unit = point.places.index((1, 3, 0))
        assert {option[unit] for option in point.options} == {0, 1}
        ends[policy] = sol.final([[1.0]]).item()
    # 5 of 13 are positive: descent ends at the best constant
    assert ends["active"] == pytest.approx(np.log(5 / 8), abs=1e-3)
    assert ends["inactive"] == 0.0


def test_where_more_ways_meet_than_are_looked_at_one_is_taken() -> None:
    """The run gave up at its start, though any of them is a solution."""
    X = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    layers = [rf.Dense(width, bias=True) for width in (3, 4, 4, 4, 1)]
    net = rf.DeepNetwork.init(layers, dim=2, scale=1.0, seed=0)
    sol = rf.integrate((X, np.array([-1.0, 1.0, 1.0, -1.0])), net, loss="logistic", until=1.0)
    assert sol.status == "reached_time", sol.message
    assert not sol.branchings[0].lists_all
    assert "not all ways to go on are listed" in sol.message


def test_units_that_do_not_feel_each_other_decide_each_for_itself() -> None:
    """Of 14 units without weights each leaves to the same side; all together had more cells than are looked at."""
    X = np.random.default_rng(0).standard_normal((2, 2))
    net = rf.DeepNetwork([rf.Dense(14), rf.Dense(1)], np.r_[np.zeros(28), np.ones(14)], dim=2)
    sol = rf.integrate((X, np.ones(2)), net, loss="logistic", until=1.0)
    assert sol.status == "reached_time", sol.message
    (start,) = sol.branchings  # nothing moves them where they are inactive: they may rest as well
    assert {len(set(option)) for option in start.options} == {1}
    rows = np.asarray(sol.final.theta)[:28].reshape(14, 2)
    assert np.abs(rows - rows[0]).max() < 1e-12


@pytest.mark.parametrize(("seed", "leak"), [(1, 0.0), (2, 0.0), (3, 0.2)])
def test_units_that_share_no_parameter_are_decided_each_by_itself(seed: int, leak: float) -> None:
    """Each unit begins on the boundaries of most samples. All together had more cells than are looked at."""
    rng = np.random.default_rng(seed)
    X = np.repeat(np.eye(5), 2, axis=0) * rng.choice([1.0, 2.0], (10, 1))
    data = rf.Dataset(X, np.repeat(rng.choice([-1.0, 1.0], 5), 2))
    W = np.eye(5)[rng.integers(0, 5, 16)] * rng.choice([-0.7, 0.7], (16, 1))
    net = rf.Network(W, rng.standard_normal(16), leak=leak)
    one = rf.integrate(data, net, until=3.0, loss="squared")
    assert one.status == "reached_time"
    other = rf.integrate(data, net, until=3.0, loss="squared", rates=(1.0, 1.0))
    assert other.status == "reached_time", other.message
    assert np.abs(other.final.W - one.final.W).max() < 1e-7
    assert np.abs(other.final.a - one.final.a).max() < 1e-7


def test_what_reads_nothing_but_what_stays_has_no_side() -> None:
    # On sample 5 all of layer 2 stays at zero while layer 1 moves. What reads it got a side by the rounding of rates
    # that add up to zero, of 2e-13, and the run ended `undecided_event` at rtol 1e-9 as the series had none.
    rng = np.random.default_rng([123, 777])
    n, dim = int(rng.integers(5, 12)), int(rng.integers(2, 5))
    X = np.round(2.0 * rng.standard_normal((n, dim)), 2)
    y = rng.integers(-1, 2, n).astype(float)
    layers = [rf.Dense(3), rf.Dense(3), rf.Dense(4), rf.Dense(1)]
    net = rf.DeepNetwork.init(layers, dim=dim, scale=0.1, seed=123, leak=0.1)
    runs = [rf.integrate((X, y), net, loss="squared", until=28.0, rtol=rtol) for rtol in (1e-9, 1e-11)]
    assert [sol.status for sol in runs] == ["reached_time"] * 2, [sol.message for sol in runs]
    np.testing.assert_allclose(runs[0].final.theta, runs[1].final.theta, rtol=0, atol=1e-6)
