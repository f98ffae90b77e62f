"""Wrong lists of events are refused at their fault or before."""

from __future__ import annotations

import numpy as np
import pytest

import reluflow as rf
from proof_runs import case_run
from reluflow.proof._proof import KINDS
from reluflow.proof._prove import _claims, _problem, _prove

DATA = rf.datasets.phuong_lampert(20, 4, seed=3)
START = rf.Network.init(8, 4, scale=1e-2, seed=2)


@pytest.fixture(scope="module")
def sol() -> rf.Solution:
    """78 crossings in 8 neurons, the last of them far before the end."""
    return rf.integrate(DATA, START, until=20.0, rtol=1e-11)


FAULTS = ["drop", "insert", "swap", "sample", "kind", "unknown", "truncate"]


def mutated(
    claims: dict[str, np.ndarray], width: int, n: int, rng: np.random.Generator
) -> tuple[str, dict[str, np.ndarray], float]:
    """Return a kind of fault, claims with it, and the time from which on they are wrong."""
    fault = str(rng.choice(FAULTS))
    columns = {name: column.copy() for name, column in claims.items()}
    k = int(rng.integers(len(columns["t"])))
    t = float(columns["t"][k])
    if fault == "drop":
        columns = {name: np.delete(column, k) for name, column in columns.items()}
    elif fault == "insert":
        t *= 1.0 + 1e-6
        new = {"t": t, "neuron": rng.integers(width), "sample": rng.integers(n), "kind": rng.integers(len(KINDS))}
        columns = {name: np.insert(column, k + 1, new[name]) for name, column in columns.items()}
    elif fault == "swap":
        later = np.flatnonzero((columns["neuron"] == columns["neuron"][k]) & (columns["t"] > t))
        if not len(later) or columns["sample"][later[0]] == columns["sample"][k]:
            return mutated(claims, width, n, rng)
        for name in ("sample", "kind"):
            columns[name][[k, later[0]]] = columns[name][[later[0], k]]
    elif fault == "sample":
        columns["sample"][k] = (columns["sample"][k] + 1 + rng.integers(n - 1)) % n
    elif fault == "kind":
        columns["kind"][k] = (columns["kind"][k] + 1 + rng.integers(len(KINDS) - 1)) % len(KINDS)
    elif fault == "unknown":
        columns["kind"][k] = len(KINDS)
    else:
        t = float(columns["t"][k])
        columns = {name: column[:k] for name, column in columns.items()}
    return fault, {name: np.ascontiguousarray(column) for name, column in columns.items()}, t


def assert_mutants_are_refused(sol: rf.Solution, number: int, seed: int) -> set[str]:
    rng = np.random.default_rng(seed)
    problem, claims = _problem(sol), _claims(sol)
    settings = {"until": min(sol.t_end, 1e100), "at": [], "only_states": False}
    assert _prove(problem, claims, sol.pattern0, settings)
    seen = set()
    for _ in range(number):
        fault, wrong, t = mutated(claims, sol.initial.width, sol.data.n, rng)
        proof = _prove(problem, wrong, sol.pattern0, settings)
        assert proof.status == "not_proved", (fault, t)
        assert proof.proved_until <= t * (1.0 + 1e-8), (fault, t, proof)  # times of claims are good to that
        seen.add(fault)
    return seen


SLIDING = ["random_101", "random_103", "random_107", "random_111", "simult_dup_203", "simult_sym_201"]


def test_wrong_claims_are_refused_at_their_fault_or_before(sol: rf.Solution) -> None:
    assert assert_mutants_are_refused(sol, 60, seed=0) == set(FAULTS)


@pytest.mark.parametrize("name", SLIDING)
def test_wrong_claims_of_runs_that_slide_are_refused(name: str) -> None:
    _, run, _ = case_run(name)
    assert assert_mutants_are_refused(run, 45, seed=2) == set(FAULTS)


@pytest.mark.thorough
def test_a_thousand_wrong_lists_of_events_are_refused(sol: rf.Solution) -> None:
    assert assert_mutants_are_refused(sol, 500, seed=1) == set(FAULTS)
    for name in SLIDING:
        assert_mutants_are_refused(case_run(name)[1], 150, seed=3)


def test_claims_that_end_early_are_right_until_the_next_event(sol: rf.Solution) -> None:
    claims, k = _claims(sol), 30
    shorter = {name: np.ascontiguousarray(column[:k]) for name, column in claims.items()}
    until = 0.5 * (claims["t"][k - 1] + claims["t"][k])
    settings = {"until": until, "at": [], "only_states": False}
    assert _prove(_problem(sol), shorter, sol.pattern0, settings).status == "proved"
