"""Each term of the bounds matters: without it the enclosures of some run miss the true state or the true event.

Two terms have no such run here. The error of the exponential function is hidden by the rounding of sums;
`test_proof.test_weights_are_within_their_bound` tests it against fifty digits. The residual of the weights is hidden by
the tail of the neurons, which is of the same order.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import reluflow as rf
from problems_path import problems
from reluflow import _core
from reluflow.proof._prove import _claims, _problem
from reluflow.proof._start import exact_signs

TERMS = {name: 1 << k for k, name in enumerate(_core.PROOF_TERMS)}


def prove(problem: dict[str, Any], claims: dict[str, Any], t: float, **settings: Any) -> dict[str, Any]:
    """Prove to t, with an enclosure there."""
    columns = tuple(claims[name] for name in ("t", "neuron", "sample", "kind"))
    given = {**problem, "signs": exact_signs(problem["W"], problem["X"]), "starting": []}
    return _core.prove(given, columns, {"until": t, "at": [t], "only_states": False, **settings}, None)


def agree(first: dict[str, Any], second: dict[str, Any]) -> bool:
    """Whether two proofs of one run can both be right: their balls meet for every neuron."""
    assert first["reason"] == second["reason"] == "none"
    one, other = first["states"], second["states"]
    apart = np.hypot(np.linalg.norm(one["W"][0] - other["W"][0], axis=1), one["a"][0] - other["a"][0])
    return bool((apart <= one["radius"][0] + other["radius"][0]).all())


def times_agree(first: dict[str, Any], second: dict[str, Any]) -> bool:
    """Whether the enclosures of the times of all events meet."""
    one, other = first["events"], second["events"]
    assert [*one["sample"]] == [*other["sample"]]
    return bool(((one["t_lo"] <= other["t_hi"]) & (other["t_lo"] <= one["t_hi"])).all())


def planar(until: float) -> tuple[dict[str, Any], dict[str, Any]]:
    data = rf.datasets.wang_pilanci("obtuse")
    sol = rf.integrate(data, rf.Network.init(10, 2, scale=1e-2, seed=1), until=until, rtol=1e-12)
    return _problem(sol), _claims(sol)


def test_there_is_a_test_for_every_term() -> None:
    assert set(TERMS) == {
        "rounding", "tail", "residual", "weight", "kink", "coupling", "jump", "storage", "switching", "multiplier",
    }  # fmt: skip


# --- terms of truncation: long steps make them large -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("term", "rough"), [("tail", {"order": 6, "last_term": 1e-9}), ("kink", {"kink_budget": 1e-2})]
)
def test_a_term_of_truncation_is_needed(term: str, rough: dict[str, Any]) -> None:
    problem, claims = planar(20.0)
    exact = prove(problem, claims, 20.0)
    assert agree(prove(problem, claims, 20.0, **rough), exact)
    assert not agree(prove(problem, claims, 20.0, **rough, dropped=TERMS[term]), exact)


# --- terms of the error itself: a start that is a ball makes them large ----------------------------------------------


def test_the_coupling_of_neurons_is_needed() -> None:
    problem, claims = planar(3.0)
    moved = {**problem, "a": problem["a"].copy()}
    moved["a"][4] += 1e-11
    radius = [1.1e-11 if j == 4 else 0.0 for j in range(10)]
    exact = prove(moved, claims, 3.0)
    assert agree(prove(problem, claims, 3.0, radius=radius), exact)
    assert not agree(prove(problem, claims, 3.0, radius=radius, dropped=TERMS["coupling"]), exact)


def crossing_of_a_repelling_boundary() -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """A neuron that is pulled up to a boundary slowly and away from it fast: start, claims, and a start beside it."""
    data = rf.Dataset([[1.0, 0.0], [0.3, 2.0]], [1, 1])
    sol = rf.integrate(data, rf.Network([[1.0, -0.16]], [1.0]), until=2.0, rtol=1e-12)
    assert [*sol.events.kind] == ["cross_up"]
    problem = _problem(sol)
    moved = {**problem, "W": problem["W"] + np.array([[0.0, 1e-11]])}
    return problem, _claims(sol), moved


def test_the_jump_at_a_repelling_boundary_is_needed() -> None:
    problem, claims, moved = crossing_of_a_repelling_boundary()
    t = float(claims["t"][0]) + 0.05
    exact = prove(moved, claims, t)
    assert agree(prove(problem, claims, t, radius=[1.1e-11]), exact)
    assert not agree(prove(problem, claims, t, radius=[1.1e-11], dropped=TERMS["jump"]), exact)


def test_the_distance_at_an_event_is_needed_for_its_time() -> None:
    problem, claims, moved = crossing_of_a_repelling_boundary()
    t = float(claims["t"][0]) + 0.05
    exact = prove(moved, claims, t)
    assert times_agree(prove(problem, claims, t, radius=[1.1e-11]), exact)
    assert not times_agree(prove(problem, claims, t, radius=[1.1e-11], dropped=TERMS["switching"]), exact)


def test_the_error_of_multipliers_is_needed_for_the_time_at_which_a_neuron_leaves() -> None:
    # Two neurons slide until their multiplier meets its bound at t = 8.112.
    problem = problems.load("P1s")
    data, net = rf.Dataset(problem.X, problem.y), rf.Network(problem.W, problem.a)
    sol = rf.integrate(data, net, until=9.0, rtol=1e-12)
    assert [*sol.events.kind][-2:] == ["leave_up", "leave_up"]
    given, claims = _problem(sol), _claims(sol)
    moved = {**given, "a": given["a"].copy()}
    moved["a"][4] += 1e-11
    radius = [1.1e-11 if j == 4 else 0.0 for j in range(10)]
    exact = prove(moved, claims, 9.0)
    assert times_agree(prove(given, claims, 9.0, radius=radius), exact)
    assert not times_agree(prove(given, claims, 9.0, radius=radius, dropped=TERMS["multiplier"]), exact)


# --- terms of rounding -----------------------------------------------------------------------------------------------


def test_the_rounding_of_states_is_needed() -> None:
    problem, claims = planar(0.02)
    exact = prove(problem, claims, 0.02)
    steps = {"order": 6, "longest": 2e-5}
    assert agree(prove(problem, claims, 0.02, **steps), exact)
    assert not agree(prove(problem, claims, 0.02, **steps, dropped=TERMS["storage"]), exact)


def test_the_rounding_of_sums_is_needed() -> None:
    # Thousands of equal terms round in one direction. Their flow is that of one sample, n times as fast.
    n, t = 6000, 2.0**-12
    sample = np.array([[0.1, 0.3]])
    net = rf.Network([[0.01, 0.02]], [0.03])
    sol = rf.integrate(rf.Dataset(np.repeat(sample, n, axis=0), np.ones(n)), net, until=t)
    problem, claims = _problem(sol), _claims(sol)
    single = {**problem, "X": sample, "y": np.ones(1)}
    settings = {"order": 16, "last_term": 1e-25}
    exact = prove(single, claims, n * t, **settings)
    assert agree(prove(problem, claims, t, **settings), exact)
    assert not agree(prove(problem, claims, t, **settings, dropped=TERMS["rounding"]), exact)
