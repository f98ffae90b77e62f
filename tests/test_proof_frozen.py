"""Proofs that a run tends to its KKT point: where the pattern is frozen, and where that is not decided."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import reluflow as rf
from problems_path import problems
from reluflow.proof._frozen import _all_needed, _is_frozen, why_not_tending
from reluflow.proof._start import exact_signs

SEPARABLE = rf.datasets.phuong_lampert(20, 4, seed=1)


def to_limit(data: rf.Dataset, net: rf.Network, loss: str = "logistic") -> rf.Solution:
    return rf.integrate(data, net, until=rf.Stop(limit=True), loss=loss)


@pytest.fixture(scope="module")
def sol() -> rf.Solution:
    return to_limit(SEPARABLE, rf.Network.init(8, 4, scale=1e-2, seed=1))


def test_orthogonally_separable_data_are_proved_from_when_the_last_neuron_has_settled(sol: rf.Solution) -> None:
    early = rf.prove_limit(sol, rf.prove(sol, until=0.1))
    assert early
    assert not early.tends
    assert early.why_undecided == "a neuron sees samples that may push it over a boundary"
    assert "not decided: a neuron sees" in repr(early)
    assert "the loss at t = 1.0" in rf.prove_limit(sol, rf.prove(sol, until=1.0)).why_undecided
    late = rf.prove_limit(sol, rf.prove(sol, until=10.0))
    assert late.tends
    assert late.why_undecided == ""
    assert repr(late).endswith("the run tends to it)")


def test_without_a_proof_it_is_not_decided(sol: rf.Solution) -> None:
    assert rf.prove_limit(sol).why_undecided == "no proof of the run was given"


@pytest.mark.parametrize("leak", [0.0, 0.3])
@pytest.mark.parametrize("loss", ["logistic", "exponential"])
def test_nothing_happens_after_a_frozen_state(leak: float, loss: str) -> None:
    frozen = 0
    for seed in range(20, 28):
        data = rf.datasets.phuong_lampert(12, 4, seed=seed)
        run = to_limit(data, rf.Network.init(6, 4, scale=1e-2, seed=100 + seed, leak=leak), loss)
        for until in (0.3, 3.0, 30.0):
            proof = rf.prove(run, until=until)
            found = rf.prove_limit(run, proof)
            if found.tends:
                frozen += 1
                assert (run.events.t <= proof.proved_until).all()
                then = run(proof.proved_until)
                moving = np.abs(then.W - run.final.W).max(axis=1) > 1e-9  # the others rest, perhaps on a boundary
                assert moving.sum() >= 2
                assert np.array_equal(np.sign(data.X @ then.W[moving].T), np.sign(data.X @ run.final.W[moving].T))
    assert frozen >= 8


def test_the_patterns_of_run_and_limit_have_to_be_the_same(sol: rf.Solution) -> None:
    proof = rf.prove(sol, until=10.0)
    first, second = ((sign, (sign * SEPARABLE.y).astype(np.int8)) for sign in (1.0, -1.0))
    assert why_not_tending(proof, [first, second]) == ""
    assert why_not_tending(proof, [first]) == "the run has neurons of patterns that vanish in the limit"
    other = (1.0, -first[1])
    assert why_not_tending(proof, [first, second, other]) == "the limit has patterns that the run has not"


def test_patterns_are_needed_where_one_alone_gives_a_sample_its_margin() -> None:
    y = np.array([1.0, 1.0, -1.0])
    both, first, second, negative = (1.0, (1, 1, -1)), (1.0, (1, -1, -1)), (1.0, (-1, 1, -1)), (-1.0, (-1, -1, 1))
    assert _all_needed({both, negative}, y, 0.0)
    assert _all_needed({first, second, negative}, y, 0.0)
    assert not _all_needed({both, first, negative}, y, 0.0)
    assert not _all_needed({first, second, negative}, y, 0.1)


def test_neurons_that_slide_leave_it_undecided() -> None:
    rng = np.random.default_rng(2)
    data = rf.Dataset(rng.normal(size=(8, 4)), rng.permutation(np.repeat([-1, 1], 4)))
    run = to_limit(data, rf.Network.init(12, 4, scale=0.1, seed=2))
    assert len(run.limit.held)
    found = rf.prove_limit(run, rf.prove(run, until=20.0))
    assert found
    assert not found.tends
    assert "is not certainly off all boundaries at t = 20.0" in found.why_undecided


def test_what_may_push_a_neuron_over_a_boundary() -> None:
    X = np.array([[1.0, 0.0], [0.6, 0.8], [-0.6, 0.8], [-1.0, -0.1]])
    gram, y = exact_signs(X, X), np.array([1.0, 1.0, 1.0, -1.0])
    assert _is_frozen(1.0, np.array([1, 1, -1, -1]), gram, y, 0.0) is False  # (0.6, 0.8) pulls at (-0.6, 0.8)
    assert _is_frozen(1.0, np.array([1, -1, -1, -1]), gram, y, 0.0) is False  # (1, 0) pulls at (0.6, 0.8)
    assert _is_frozen(1.0, np.array([1, 1, -1, -1])[[0, 1, 3]], gram[np.ix_([0, 1, 3], [0, 1, 3])], y[[0, 1, 3]], 0.0)
    # It sees a sample of the other sign, which pushes it off.
    assert not _is_frozen(1.0, np.array([-1, -1, 1]), gram[np.ix_([0, 1, 3], [0, 1, 3])], y[[0, 1, 3]], 0.0)
    # A leak lets the inactive ones act, too: one of the own sign pulls at its boundary.
    own, both = np.array([1, -1]), np.array([1.0, 1.0])
    square = exact_signs(np.eye(2), np.eye(2))
    assert _is_frozen(1.0, own, square, both, 0.0)
    assert not _is_frozen(1.0, own, square, both, 0.1)


def test_proofs_of_other_problems_are_refused(sol: rf.Solution) -> None:
    proof = rf.prove(sol, until=10.0)
    scaled = {**proof.problem, "W": 2.0 * proof.problem["W"]}
    with pytest.raises(ValueError, match="proof must be about the problem of sol, found other start"):
        rf.prove_limit(sol, replace(proof, problem=scaled))
    with pytest.raises(ValueError, match="found other data"):
        rf.prove_limit(sol, replace(proof, problem={**proof.problem, "y": -proof.problem["y"]}))
    with pytest.raises(ValueError, match="found other leak, loss, reduction or time"):
        rf.prove_limit(sol, replace(proof, problem={**proof.problem, "loss": "exponential"}))
    with pytest.raises(ValueError, match="proof must be"):
        rf.prove_limit(sol, sol)


def test_a_certificate_will_do(sol: rf.Solution, tmp_path: object) -> None:
    path = f"{tmp_path}/certificate.json"
    rf.prove(sol, until=10.0, at=[10.0]).save(path)
    assert rf.prove_limit(sol, rf.proof.load(path)).tends


@pytest.mark.slow
def test_the_recipe_of_orthogonally_separable_data_is_proved_from_start_to_limit() -> None:
    problem = problems.load("P2")
    run = to_limit(rf.Dataset(problem.X, problem.y), rf.Network(problem.W, problem.a))
    proof = rf.prove(run, until=10.0)
    assert (proof.status, len(proof.events)) == ("proved", 24656)
    assert rf.prove_limit(run, proof).tends
