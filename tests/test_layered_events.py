"""What happens at kinks of layered networks: every side, every hold and the velocity, by the written formulas."""

from __future__ import annotations

import numpy as np
import pytest

import reluflow as rf
from layered_twin import Model, Sides
from layered_twin_rules import is_admissible
from layered_twin_run import follow
from survey_layered import END, as_asked, distance, problem, runs_of


def sides_of(model: Model, sol: rf.layered.DeepSolution, t: float) -> Sides:
    """The sides that a run has at a time; 0 where a unit slides or nothing reaches it."""
    sides = [np.sign(model.X).astype(int), *(np.array(layer) for layer in sol.pattern(t))]
    for v, node in enumerate(model.nodes):
        if v and node.leak is None:
            sides[v][:] = 1
    for v, alive in enumerate(model.live(sides)):
        if v and model.nodes[v].leak is not None:
            sides[v][~alive] = 0
    return sides


def quiet_times(sol: rf.layered.DeepSolution, most: int = 12) -> list[float]:
    """Times between events, at most so many, where the wait is longest: events closer than 1e-6 are one."""
    times = np.unique([0.0, *sol.events.t, sol.t_end])
    times = times[np.append(True, np.diff(times) > 1e-6)]
    longest = np.argsort(np.diff(times))[::-1][:most]
    return sorted(float((times[k] + times[k + 1]) / 2.0) for k in longest)


# A unit that left just now, a unit that slides under an empty one, a shared boundary whose member gets an input, a unit
# that slides alone on a weight (exp), and samples that share all boundaries above the one unit they pass (deep5).
STARTS = [
    ("exp", 4),
    ("deep5", 1),
    ("deep5", 6),
    ("relu_out", 7),
    ("relu", 1),
    ("relu", 36),
    ("narrow", 36),
    ("narrow_leaky", 6),
    ("bias", 2),
    ("residual", 0),
    ("residual", 6),
    ("residual", 7),
    ("conv", 6),
    ("mask", 0),
]


@pytest.mark.parametrize(("kind", "seed"), STARTS)
def test_a_run_has_the_sides_and_the_velocity_of_the_network(kind: str, seed: int) -> None:
    (X, y), net, loss = problem(kind, seed)
    sol = rf.integrate((X, y), net, until=END, loss=loss, rtol=1e-10)
    assert sol.status == "reached_time", sol.message
    model = Model(net, X, y, loss)
    for t in quiet_times(sol):
        theta, sides = sol(t).theta, sides_of(model, sol, t)
        held = model.held(sides)
        z, _ = model.forward(theta, None)
        for v, alive in enumerate(model.live(sides)):
            if v == 0 or model.nodes[v].leak is None:
                continue
            assert np.abs(z[v][alive & (sides[v] == 0)]).max(initial=0.0) < 1e-9
            assert (np.sign(z[v]) == sides[v])[alive & (sides[v] != 0)].all()
        h = 1e-7
        slope = (sol(t + h).theta - sol(t - h).theta) / (2.0 * h)
        velocity, _ = model.velocity(theta, sides, held)
        assert slope == pytest.approx(velocity, abs=1e-6 * max(1.0, float(np.abs(velocity).max())))


# Units that slide below one on a shared boundary: what it sends down is a part of the multiplier of all its members.
@pytest.mark.parametrize(("kind", "seed"), [("relu", 37), ("mask", 45), ("bias", 56)])
def test_what_slides_has_a_velocity_that_is_a_subgradient(kind: str, seed: int) -> None:
    (X, y), net, loss = problem(kind, seed)
    sol = rf.integrate((X, y), net, until=END, loss=loss, rtol=1e-10)
    assert sol.status == "reached_time", sol.message
    model = Model(net, X, y, loss)
    for t in quiet_times(sol, most=5):
        sides = sides_of(model, sol, t)
        assert is_admissible(model, sol(t).theta, sides, model.held(sides))


# Two units that a third one above them, which slides, makes vanish at one instant; what an event hides from a series; a
# unit that reads one weight that slides at zero and one other (k2 124).
@pytest.mark.parametrize(
    ("kind", "seed"),
    [("exp", 47), ("exp", 52), ("deep5", 20), ("deep5", 21), ("k2", 57), ("k2", 124), ("residual", 6), ("mask", 0)],
)
def test_ends_depend_neither_on_the_tolerance_nor_on_the_order(kind: str, seed: int) -> None:
    runs = runs_of(kind, seed)
    assert all(map(as_asked, runs)), [run.message for run in runs]
    assert distance(runs) < 1e-8


# Two weights of a unit come to zero, and with them its pre-activation on three samples: whether the third goes up or
# down was read off the rounding of a rate that is zero.
def test_runs_that_come_to_a_vanishing_row_end_alike() -> None:
    runs = runs_of("ce", 81)
    assert len({run.status for run in runs}) == 1, [run.message for run in runs]
    assert distance(runs) < 1e-8


@pytest.mark.slow
def test_a_run_agrees_with_the_slow_twin() -> None:
    (X, y), net, loss = problem("residual", 8)
    sol = rf.integrate((X, y), net, until=END, loss=loss, rtol=1e-11)
    assert len(sol.events) > 30
    run = follow(Model(net, X, y, loss), net.theta, END)
    found = sorted((e.t, e.layer, e.unit, e.sample, e.kind) for e in sol.events)
    assert [row[1:] for row in found] == [row[1:] for row in sorted(run.events)]
    assert [row[0] for row in found] == pytest.approx([row[0] for row in sorted(run.events)], abs=1e-9)
    assert np.abs(sol.final.theta - run.theta).max() < 1e-10 * np.abs(run.theta).max()


@pytest.mark.parametrize("factor", [1e-3, 1e-18, 1e-30])
def test_inputs_of_any_size_have_their_sides_at_the_start(factor: float) -> None:
    """Inputs below 1e-15 counted as zero, and all sides were open."""
    rng = np.random.default_rng(3)
    X, y = factor * rng.standard_normal((6, 3)), rng.choice([-1.0, 1.0], 6)
    net = rf.Network.init(4, 3, scale=0.5, seed=1)
    own = rf.integrate(rf.Dataset(X, y), net, until=1 / factor)
    sol = rf.integrate(rf.Dataset(X, y), net, until=1 / factor, rates=(1.0, 1.0))
    assert sol.status == "reached_time", sol.message
    assert len(sol.events) == len(own.events) == 7
    np.testing.assert_allclose(sol.final.W, own.final.W, atol=1e-8)


def test_parts_of_an_event_table_are_tables() -> None:
    data = rf.datasets.wang_pilanci("obtuse")
    net = rf.DeepNetwork.init([rf.Dense(4), rf.Dense(3), rf.Dense(1)], dim=data.d, scale=0.5, seed=1)
    events = rf.integrate(data, net, until=20.0).events
    every = list(events)
    assert len(every) == 4
    assert list(events[-3:]) == every[-3:]
    assert list(events[events.code == events.code[0]]) == [event for event in every if event.kind == every[0].kind]
    assert list(events[[2, 0]]) == [every[2], every[0]]
    assert events[np.int64(1)] == every[1] == events[1]
