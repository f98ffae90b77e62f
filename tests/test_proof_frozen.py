"""Proofs that a run tends to its KKT point: where the pattern is frozen, and where that is not decided."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import reluflow as rf
from problems_path import problems
from reluflow.proof._frozen import _is_frozen, _two_may_vanish, why_not_tending
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


def test_one_pattern_may_lack_a_sample_of_its_own_but_no_two_may_vanish_together() -> None:
    y = np.array([1.0, 1.0, -1.0])
    both, first, second, negative = (1.0, (1, 1, -1)), (1.0, (1, -1, -1)), (1.0, (-1, 1, -1)), (-1.0, (-1, -1, 1))
    assert not _two_may_vanish({both, negative}, y, 0.0)
    assert not _two_may_vanish({first, second, negative}, y, 0.0)
    assert not _two_may_vanish({both, first, negative}, y, 0.0)  # only `first` has no sample of its own
    # `first` and `second` may vanish together: `both` gives their samples a margin.
    assert _two_may_vanish({both, first, second, negative}, y, 0.0)


@pytest.mark.parametrize("leak", [0.1, 1e-6])
def test_with_a_leak_no_group_has_a_sample_of_its_own_but_there_are_two_groups_at_most(leak: float) -> None:
    """Frozen for every sample means z_k of the sign s y_k: one pattern a sign, and both give margins to all samples."""
    y = np.array([1.0, 1.0, -1.0])
    up, down = (1.0, (1, 1, -1)), (-1.0, (-1, -1, 1))
    for sign, pattern in (up, down):
        margins = y * sign * np.array(pattern) * np.where(np.array(pattern) > 0, 1.0, leak)
        assert (margins > 0).all()
    assert not _two_may_vanish({up, down}, y, leak)
    assert not _two_may_vanish({up}, y, leak)
    assert not _two_may_vanish({(1.0, (-1, -1))}, -np.ones(2), leak)  # all it does goes through the leak


def test_a_group_that_acts_through_its_leak_alone_is_proved_to_stay() -> None:
    data = rf.Dataset([[1.0, 0.3], [0.2, 1.0]], [-1, -1])
    run = to_limit(data, rf.Network([[-0.3, -0.2]], [0.4], leak=0.5))
    assert (run.limit.network.W @ data.X.T < 0).all()
    found = rf.prove_limit(run, rf.prove(run, until=100.0))
    assert found.tends, found


def test_with_a_leak_the_small_group_of_two_comes_back() -> None:
    """The step of the proof that rules out limits without a group, on a run that starts beside one.

    The group of sign +1 alone has a KKT point, held by the sample of label -1, to which it gives leak |z|. Of this
    sample the other group has 1/leak as much, so that |g| is 1/leak there: it grows with that power of |θ|.
    """
    leak, x = 0.1, np.array([0.2, 0.9])
    data = rf.Dataset(np.array([[1.0, 0.1], -x]), [1, -1])
    v = leak * x / (leak * x @ (leak * x))
    assert v @ data.X[0] > 1.0  # the point: v·x = 1 / leak, and the other margin larger
    assert np.linalg.norm(1.0 / np.linalg.norm(leak * x) * x) == pytest.approx(1.0 / leak)
    w, tiny = np.array([0.6, 0.8]), 1e-6
    net = rf.Network([w, -tiny * w], [1.0, -tiny], leak=leak)
    run = to_limit(data, net)
    sizes = np.abs(run.limit.network.a)
    assert sizes.min() > 0.1 * sizes.max()
    found = rf.prove_limit(run, rf.prove(run, until=1e6))
    assert found.tends, found
    gaps = []
    for t in (1e6, 1e12, 1e24):
        a = np.abs(rf.integrate(data, net, until=t).final.a)
        gaps.append(abs(float(a[1] / a[0] - sizes[1] / sizes[0])))
    assert gaps[2] < gaps[1] < gaps[0]


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
