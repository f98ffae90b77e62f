"""The core against the trusted 40-digit trajectories."""

from __future__ import annotations

from functools import cache
from itertools import pairwise

import numpy as np
import pytest

import cases
import compare
import reluflow as rf

NAMES = [name for name in cases.names() if cases.load(name).end == "completed"]
BRANCHES = [name for name in cases.names() if cases.load(name).end == "branch"]
RTOL = 1e-10
LADDER = (1e-4, 1e-6, 1e-8, 1e-10)


@cache
def solve(name: str, rtol: float = RTOL) -> rf.Solution:
    """The core's run of a case, kept at its checkpoints."""
    case = cases.load(name)
    clock = "t" if case.clock == "t" else "log_t"
    times = [p[clock] for p in case.checkpoints]
    stop = rf.Stop(time=times[-1]) if clock == "t" else rf.Stop(log_time=times[-1])
    save = {"save_at": times} if clock == "t" else {"save_at_log": times}
    data, net = rf.Dataset(case.X, case.y), rf.Network(case.W, case.a, leak=case.leak)
    return rf.integrate(data, net, until=stop, loss=case.loss, reduction=case.reduction, rtol=rtol, **save)


def worst_error(name: str, rtol: float) -> float:
    case, sol = cases.load(name), solve(name, rtol)
    return max(
        float(np.max(compare.state_error(sol.W[k], sol.a[k], np.array(p["W"]), np.array(p["a"]))))
        for k, p in enumerate(case.checkpoints)
    )


def test_every_kind_of_case_is_there():
    assert len(NAMES) == 13
    assert BRANCHES == ["branch_ridge_start_321"]


@pytest.mark.parametrize("name", NAMES)
def test_events_are_identical(name):
    case, sol = cases.load(name), solve(name)
    assert sol.success, sol.message
    assert np.array_equal(sol.pattern0, case.pattern)
    compare.assert_same_events(case.events, compare.from_solution(sol), case.pattern, rtol=1e-9)


@pytest.mark.parametrize("name", NAMES)
def test_tied_events_come_back_as_one_set(name):
    case, sol = cases.load(name), solve(name)
    found = {}
    for e, tie in zip(compare.from_solution(sol), sol.events.tie, strict=True):
        found.setdefault((e.neuron, e.sample), []).append((e.t, tie))
    sets: dict[int, list[tuple[float, int]]] = {}
    for e, tie in zip(case.events, case.ties, strict=True):
        near = [x for x in found[e.neuron, e.sample] if compare.close(x[0], e.t, 1e-9)]
        if len(near) == 1:
            sets.setdefault(tie, []).append(near[0])
    for members in sets.values():
        times = [t for t, _ in members]
        assert max(times) - min(times) <= 1e-12 * max(times)


@pytest.mark.parametrize("name", NAMES)
def test_states_at_the_checkpoints(name):
    case, sol = cases.load(name), solve(name)
    assert len(sol.t) == len(case.checkpoints)
    for k, p in enumerate(case.checkpoints):
        where = f"of {name} at log t = {p['log_t']!r}"
        compare.assert_same_state(sol.W[k], sol.a[k], p["W"], p["a"], 1e-8, where)


@pytest.mark.parametrize("name", NAMES)
def test_log_loss_norm_and_margin_at_the_checkpoints(name):
    case, sol = cases.load(name), solve(name)
    for k, p in enumerate(case.checkpoints):
        assert sol.log_t[k] == pytest.approx(p["log_t"], abs=1e-12)
        assert abs(sol.log_loss[k] - p["log_loss"]) <= 1e-9 * max(1.0, abs(p["log_loss"]))
        net = rf.Network(sol.W[k], sol.a[k], leak=case.leak)
        assert net.norm == pytest.approx(p["theta_norm"], rel=1e-9)
        assert np.min(case.y * net(case.X)) / net.norm**2 == pytest.approx(p["margin"], abs=1e-9)


@pytest.mark.parametrize("name", NAMES)
def test_the_error_stays_within_the_tolerance_over_the_ladder(name):
    for rtol in LADDER:
        assert worst_error(name, rtol) <= max(100 * rtol, 1e-12)


def test_the_error_falls_over_four_decades():
    worst = [max(worst_error(name, rtol) for name in NAMES) for rtol in LADDER]
    assert all(fine < coarse for coarse, fine in pairwise(worst)), worst
    assert worst[-1] < 1e-4 * worst[0], worst


@pytest.mark.parametrize("name", NAMES)
def test_replay_of_the_events_gives_the_final_pattern(name):
    sol = solve(name)
    replayed = compare.replay(sol.pattern0, compare.from_solution(sol))
    assert np.array_equal(replayed, sol.final.pattern)


@pytest.mark.parametrize("policy", ["inactive", "active", "stay"])
@pytest.mark.parametrize("name", BRANCHES)
def test_a_start_on_a_ridge_is_reported_with_its_options(name, policy):
    case = cases.load(name)
    data, net = rf.Dataset(case.X, case.y), rf.Network(case.W, case.a, leak=case.leak)
    sol = rf.integrate(data, net, until=1.0, on_branch=policy, loss=case.loss, reduction=case.reduction)
    first = sol.branchings[0]
    assert first.t == case.branch["t"]
    assert [first.neuron] == case.branch["neurons"]
    assert options(first.options) == expected_options(case)
    wanted = {"inactive": -1, "active": 1, "stay": 0}[policy]
    assert first.choice == {first.samples[0]: wanted}
    start = [e.kind for e in sol.events if e.t == 0 and e.neuron == first.neuron and e.kind != "branch"]
    assert start == [{-1: "start_down", 1: "start_up", 0: "start_slide"}[wanted]]


@pytest.mark.parametrize("name", BRANCHES)
def test_a_start_on_a_ridge_raises_if_asked(name):
    case = cases.load(name)
    data, net = rf.Dataset(case.X, case.y), rf.Network(case.W, case.a, leak=case.leak)
    with pytest.raises(rf.BranchingError) as caught:
        rf.integrate(data, net, until=1.0, on_branch="raise", loss=case.loss, reduction=case.reduction)
    first = caught.value.solution.branchings[0]
    assert options(first.options) == expected_options(case)
    assert first.choice is None


def options(ways) -> set[tuple[tuple[int, int], ...]]:
    return {tuple(sorted(way.items())) for way in ways}


def expected_options(case: cases.Case) -> set[tuple[tuple[int, int], ...]]:
    neuron = str(case.branch["neurons"][0])
    return options({int(i): s for i, s in way[neuron].items()} for way in case.branch["alternatives"])
