"""Proofs of runs that start on boundaries, and of samples that share one."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest

import reluflow as rf
from proof_runs import case_run
from reluflow import _core
from reluflow.proof._proof import KINDS
from reluflow.proof._prove import _claims, _problem, _prove


def test_a_start_on_boundaries_is_proved_with_what_the_run_says_of_them() -> None:
    _, run, _ = case_run("degenerate_303")
    assert [*run.events.kind][:3] == ["start_down"] * 3
    proof = rf.prove(run)
    assert proof
    assert len(proof.events) == len(run.events) - 3
    # A neuron that slides from the start, and one that is inactive on everything but the boundary it rests on.
    data = rf.Dataset([[1.0, 0.0], [0.2, 1.0]], [1, -1])
    for start, kinds in (
        (rf.Network([[0.0, 1.0]], [-0.5]), {"start_slide"}),
        (rf.Network([[0.0, -1.0]], [-0.5]), None),
    ):
        sol = rf.integrate(data, start, until=1.0)
        proof = rf.prove(sol)
        assert proof, proof
        if kinds:
            assert set(sol.events.kind) == kinds
            # It is thrown out or slides until the end; its other weight moves alone.
            assert np.abs(proof(1.0).W[0] - sol.final.W[0]).max() < 1e-8


def test_a_start_of_which_the_run_says_the_wrong_side_is_refused() -> None:
    _, run, _ = case_run("degenerate_303")
    claims, settings = _claims(run), {"until": run.t_end, "at": [], "only_states": False}
    up = len(KINDS) + 1
    assert claims["kind"][0] == up + 1
    claims["kind"][0] = up
    proof = _prove(_problem(run), claims, run.pattern0, settings)
    assert (proof.status, proof.proved_until) == ("not_proved", 0.0)
    short = {name: np.ascontiguousarray(column[1:]) for name, column in claims.items()}
    proof = _prove(_problem(run), short, run.pattern0, settings)
    assert (proof.reason, proof.proved_until, proof.neuron) == ("start_on_boundary", 0.0, 0)


def test_a_start_that_does_not_move_off_its_boundary_at_once_is_refused() -> None:
    # Neuron 6 has a = 0, so that its rate begins at zero.
    _, run, _ = case_run("degenerate_301")
    proof = rf.prove(run)
    assert (proof.status, proof.proved_until, proof.neuron) == ("not_proved", 0.0, 6)


def test_a_neuron_that_nothing_pulls_along_its_boundary_is_proved_to_slide() -> None:
    # Its multiplier is exactly zero, which is its bound. With inputs that are orthogonal up to rounding it is not.
    for tilt, proves in ((0.0, True), (1e-17, False)):
        data = rf.Dataset([[1.0, tilt], [0.0, 1.0]], [1, -1])
        sol = rf.integrate(data, rf.Network([[0.3, 0.5]], [-0.7]), until=3.0, rtol=1e-12)
        assert [*sol.events.kind] == ["slide"]
        proof = rf.prove(sol)
        assert bool(proof) == proves
    assert np.abs(sol.final.W[0, 1]) > 1.0


@pytest.mark.parametrize("fault", ["slide", "cross_up", "leave_up", "twice", "gone"])
def test_claims_of_one_boundary_that_contradict_each_other_are_refused(fault: str) -> None:
    _, run, _ = case_run("simult_sym_201")
    claims = _claims(run)
    assert [*run.events.sample[:2]] == [0, 4]
    assert [*run.events.kind[:2]] == ["cross_up", "cross_down"]
    if fault == "gone":
        claims = {name: np.ascontiguousarray(np.delete(column, 1)) for name, column in claims.items()}
    elif fault == "twice":
        claims["sample"][1], claims["kind"][1] = claims["sample"][0], claims["kind"][0]
    else:
        claims["kind"][1] = KINDS.index(fault)
    proof = _prove(_problem(run), claims, run.pattern0, {"until": run.t_end, "at": [], "only_states": False})
    assert proof.status == "not_proved"
    assert proof.proved_until <= float(run.events.t[0]) * (1.0 + 1e-8)


def test_samples_of_one_boundary_are_found_without_rounding() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=3)
    nearly = 3.0 * x
    nearly[1] = np.nextafter(nearly[1], 9.0)
    X = np.array([x, [1.0, 0.0, 0.0], -0.5 * x, nearly, 4.0 * x, [-3.0, 0.0, 0.0], [0.1, 0.2, 0.3]])
    exact = [[Fraction(value) for value in row] for row in X.tolist()]
    first = list(range(len(X)))
    for i, k in itertools.combinations(reversed(range(len(X))), 2):
        minors = [exact[i][a] * exact[k][b] - exact[i][b] * exact[k][a] for a in range(3) for b in range(3)]
        if not any(minors):
            first[i] = min(first[i], first[k])
    assert first == [0, 1, 0, 3, 0, 1, 6]
    assert _core.proof_boundaries(X).tolist() == first


@pytest.mark.parametrize("order", [[0, 1, 2], [1, 0, 2], [2, 1, 0]])
def test_a_neuron_rests_on_a_boundary_of_two_samples_from_either_side_of_the_first(order: list[int]) -> None:
    # x and -x of one label pull it to z = 0 from both sides: the active one on the way there, no one on it. Which of
    # them is the first one of the boundary does not matter.
    X, y = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0]])[order], [1, 1, 1]
    sol = rf.integrate(rf.Dataset(X, y), rf.Network([[0.5, -0.3]], [-0.6]), until=3.0)
    proof = rf.prove(sol)
    assert proof, proof
    assert [*proof.events.kind] == ["die", "die"]
    assert proof(3.0).W[0] == pytest.approx(sol.final.W[0])
    assert abs(proof(3.0).W[0, 0]) <= proof(3.0).radius[0]


def one_boundary(ratio: float, label: int, flip: bool) -> tuple[list[float], rf.proof.Proof]:
    """Start on the boundary of x and `ratio` x, labels 1 and `label`; the rates of z_0 on both sides, and the proof."""
    X, y = np.array([[1.0, -1.0], [-ratio, ratio], [1.0, 1.0]]), np.array([1, label, 1])
    X[:2], y[:2] = (X[1::-1], y[1::-1]) if flip else (X[:2], y[:2])
    w, a = np.array([-1.0, -1.0]), 1.5
    # All margins are 0, so that the duals are y / 2; the third sample is inactive, and no one else pulls.
    rates = []
    for side in (1.0, -1.0):
        active = X[:2] @ X[0] * side > 0.0
        rates.append(float(a * X[0] @ (0.5 * (y[:2] * active) @ X[:2])))
    sol = rf.integrate(rf.Dataset(X, y), rf.Network([w], [a]), until=0.1)
    return rates, rf.prove(sol)


@pytest.mark.parametrize("ratio", [1.0, 0.5, 3.0])
@pytest.mark.parametrize("flip", [False, True])
def test_a_start_on_one_boundary_is_proved_if_both_sides_send_the_neuron_one_way(ratio: float, flip: bool) -> None:
    # One sample of opposite labels attracts and one repels; x and -x with duals of one size change nothing together.
    rates, proof = one_boundary(ratio, -1, flip)
    assert rates[0] * rates[1] > 0.0
    assert proof, proof
    # Of one label both repel: the sides send it apart, and there are two ways to go on.
    rates, proof = one_boundary(ratio, 1, flip)
    assert rates[0] > 0.0 > rates[1]
    assert (proof.status, proof.proved_until) == ("not_proved", 0.0)


@pytest.mark.parametrize("kind", ["normal", "integer", "signs", "multiples"])
def test_random_problems_are_proved_as_they_were_integrated_or_end_with_a_reason(kind: str) -> None:
    proved, shared = 0, 0
    for seed in range(24):
        rng = np.random.default_rng(seed)
        n, d = int(rng.integers(4, 14)), int(rng.integers(2, 5))
        X = rng.normal(size=(n, d))
        if kind == "integer":
            X = rng.integers(-3, 4, size=(n, d)).astype(float)
            X = X[X.any(axis=1)]
        elif kind == "signs":
            X = rng.choice([-1.0, 1.0], size=(n, d))
        elif kind == "multiples":
            X = np.vstack([X, X[: n // 2] * rng.choice([1.0, -1.0, 2.0, -0.5], size=(n // 2, 1))])
        data = rf.Dataset(X, rng.choice([-1, 1], size=len(X)))
        leak = float(rng.choice([0.0, 0.1]))
        net = rf.Network.init(
            int(rng.integers(2, 8)), d, scale=float(rng.choice([1e-2, 0.1, 1.0])), seed=seed, leak=leak
        )
        loss = str(rng.choice(["logistic", "exponential"]))
        sol = rf.integrate(data, net, until=2.0, rtol=1e-12, loss=loss)
        proof = rf.prove(sol)
        until = proof.proved_until
        run = sorted((e.neuron, e.sample, e.kind) for e in sol.events if 0.0 < e.t < until * (1.0 - 1e-6))
        found = zip(proof.events.neuron, proof.events.sample, proof.events.kind, proof.events.t_hi, strict=True)
        assert sorted((j, i, kind) for j, i, kind, t in found if t < until * (1.0 - 1e-6)) == run
        proved += bool(proof)
        if proof:
            end = proof(2.0)
            off = np.abs(np.c_[end.W - sol.final.W, end.a - sol.final.a]).max()
            assert off <= 1e-9 * max(1.0, np.abs(sol.final.W).max())
            times = proof.events.t_lo.tolist()
            shared += len(times) > len(set(zip(times, proof.events.neuron.tolist(), strict=True)))
    assert proved >= 12
    assert shared >= 3 or kind == "normal"


def test_two_boundaries_that_are_one_to_a_neuron_that_slides_are_named_dependent() -> None:
    """Of Boolean data: on the boundary of 100 the rows 011 and 111 are one, which the neuron meets while it slides."""
    rng = np.random.default_rng(0)
    rows = np.array(list(itertools.product([0.0, 1.0], repeat=3)))[1:]
    data = rf.Dataset(rows[rng.integers(0, 7, 14)], rng.choice([-1.0, 1.0], 14))
    sol = rf.integrate(data, rf.Network.init(5, 3, scale=0.1, seed=0), until=20.0)
    proof = rf.prove(sol)
    assert proof.reason == "dependent_boundaries"
    met = [e for e in sol.events if e.neuron == proof.neuron and abs(e.t - proof.t_reason) < 1e-6]
    assert {tuple(data.X[e.sample]) for e in met} == {(0.0, 1.0, 1.0), (1.0, 1.0, 1.0)}
    held = sol.pattern(proof.proved_until * (1 - 1e-6))[proof.neuron] == 0
    assert {tuple(row) for row in data.X[held]} == {(1.0, 0.0, 0.0)}
