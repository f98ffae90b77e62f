"""The benchmark problems against their stored reference runs: every event, and the states along the way."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import compare
import reluflow as rf
from problems_path import problems

# End of the compared stretch.
ENDS = {"P1": 1e12, "P1s": 1e12, "P2": 1e4, "P3": 10.0}
RTOL = 1e-10
# Neurons of P4 that the check at two tolerances takes.
WIDE = 200


@cache
def solve(name: str, rtol: float = RTOL) -> rf.Solution:
    p, ref = problems.load(name), problems.reference(name)
    data, net = rf.Dataset(p.X, p.y), rf.Network(p.W, p.a, leak=p.leak)
    times = ref.t[ref.t <= ENDS[name]]
    return rf.integrate(data, net, until=float(times[-1]), rtol=rtol, save_at=times)


def stored_events(name: str) -> list[compare.Event]:
    ref = problems.reference(name)
    return compare.from_table(ref.event_t, ref.event_neuron, ref.event_sample, ref.event_kind)


@pytest.mark.parametrize("name", list(ENDS))
def test_states_are_those_of_the_reference(name):
    sol, ref = solve(name), problems.reference(name)
    assert sol.success, sol.message
    for k, t in enumerate(sol.t):
        W, a = ref.state(t)
        total = np.sqrt(np.sum((sol.W[k] - W) ** 2) + np.sum((sol.a[k] - a) ** 2))
        assert total <= 1e-7 * np.sqrt(np.sum(W**2) + np.sum(a**2)), f"t = {t!r}: {total:.2e}"
        compare.assert_same_state(sol.W[k], sol.a[k], W, a, 1e-7, f"at t = {t!r}")


@pytest.mark.parametrize("name", list(ENDS))
def test_events_are_those_of_the_reference(name):
    p, sol = problems.load(name), solve(name)
    first = np.sign(p.W @ p.X.T).astype(int)
    assert np.array_equal(sol.pattern0, first)
    want, have = (compare.rest_as_death(first, ev) for ev in (stored_events(name), compare.from_solution(sol)))
    compare.assert_same_events(want, have, first, rtol=1e-8)


@pytest.mark.parametrize("name", list(ENDS))
def test_balance_loss_and_patterns_of_the_problems(name):
    sol = solve(name)
    balance = sol.a**2 - np.sum(sol.W**2, axis=2)
    size = sol.a**2 + np.sum(sol.W**2, axis=2)
    assert np.all(np.abs(balance - balance[0]) <= 1e-12 * np.max(size, axis=0))
    assert np.all(np.diff(sol.log_loss) <= 0)
    assert np.array_equal(compare.replay(sol.pattern0, compare.from_solution(sol)), sol.final.pattern)


@pytest.mark.parametrize("name", list(ENDS))
def test_the_default_tolerance_meets_the_figures_too(name):
    """Final states within 1e-7 of the references at the default rtol."""
    sol, ref = solve(name, 1e-9), problems.reference(name)
    W, a = ref.state(float(sol.t[-1]))
    off = np.sqrt(np.sum((sol.W[-1] - W) ** 2) + np.sum((sol.a[-1] - a) ** 2))
    assert off <= 1e-7 * np.sqrt(np.sum(W**2) + np.sum(a**2))


def test_the_plane_problems_reach_their_accuracy():
    for name in ("P1", "P1s"):
        sol, ref = solve(name, 1e-12), problems.reference(name)
        k = int(np.flatnonzero(sol.t == 1e4)[0])
        W, a = ref.state(1e4)
        compare.assert_same_state(sol.W[k], sol.a[k], W, a, 1e-10, f"of {name} at t = 1e4")


def test_the_wide_problem_shares_its_data_with_the_digits():
    p3, p4 = problems.load("P3"), problems.load("P4")
    assert np.array_equal(p3.X, p4.X)
    assert p4.W.shape == (2000, 64)
    size = np.linalg.norm(p4.W, axis=1)
    assert np.allclose(size, 1e-3, rtol=1e-15, atol=0)
    assert np.all(np.abs(p4.a) == 1e-3)


def test_the_wide_problem_starts_as_a_finer_tolerance_says():
    p = problems.load("P4")
    data, net = rf.Dataset(p.X, p.y), rf.Network(p.W[:WIDE], p.a[:WIDE])
    coarse, fine = (rf.integrate(data, net, until=1e-3, rtol=rtol) for rtol in (1e-9, 1e-11))
    first = np.sign(p.W[:WIDE] @ p.X.T).astype(int)
    assert len(fine.events) > 5000
    compare.assert_same_events(compare.from_solution(fine), compare.from_solution(coarse), first, rtol=1e-8)
    compare.assert_same_state(coarse.final.W, coarse.final.a, fine.final.W, fine.final.a, 1e-8, "at t = 1e-3")


def test_an_unknown_problem_is_refused():
    with pytest.raises(ValueError, match="name must be one of P1, P1s, P2, P3, P4, found 'P5'"):
        problems.load("P5")
