"""Proofs against a second prover with other mathematics, other code and other arithmetic (`flint_checker`)."""

from __future__ import annotations

import numpy as np
import pytest
from flint import arb

import reluflow as rf
from flint_checker import Checker, NotDecidedError
from flint_series import UNIT
from proof_runs import benchmark, case_run

# With the times up to which the balls stay small enough to check in seconds. Of the stored runs these are all that do
# not begin on a boundary and meet no two boundaries of one neuron at one instant.
SHORT = [("P1", 2.5), ("P1s", 3.0), ("random_103", 3.0), ("ortho2d_401", 1.5), ("origin_passage", 1.9)]
LONG = [
    ("P1", 10.0),
    ("P1s", 10.0),
    ("long_ortho_601", 5.0),
    ("random_101", 6.0),
    ("random_103", 12.0),
    ("random_105", 2.0),
    ("random_107", 2.0),
    ("random_111", 2.0),
    ("simult_mirror_209", 6.0),
]


def problem(name: str, until: float) -> tuple[rf.Solution, dict[str, object]]:
    """Return a run, and what its checker needs beside data and start."""
    if name in ("P1", "P1s"):
        return benchmark(name, until)[0], {}
    case, run, _ = case_run(name)
    return run, {"leak": case.leak, "loss": case.loss, "reduction": case.reduction}


def checker_of(run: rf.Solution, options: dict[str, object]) -> Checker:
    return Checker(run.data.X, run.data.y, run.initial.W, run.initial.a, **options)


def assert_agree(run: rf.Solution, options: dict[str, object], until: float) -> None:
    """Compare enclosures of both provers: of each event one of the same kind has to overlap, and so the states."""
    checker = checker_of(run, options)
    checker.run(until)
    assert checker.radius < 1e-14
    for digits in (16, 32):
        assert_overlap(rf.prove(run, at=[until], digits=digits), checker, until)


def assert_overlap(proof: rf.proof.Proof, checker: Checker, until: float) -> None:
    assert proof.proved_until >= until
    found = proof.events
    inside = np.flatnonzero(found.t_lo <= until).tolist()
    left = {k: arb(found.t[k]) + arb(found.t_low[k]) + UNIT * arb(found.t_radius[k]) for k in inside}
    assert len(checker.events) == len(left)
    for event in checker.events:
        same = [
            k
            for k, t in left.items()
            if (found.neuron[k], found.sample[k], found.kind[k]) == (event.neuron, event.sample, event.kind)
            and t.overlaps(event.lo.union(event.hi))
        ]
        assert len(same) == 1, (event.neuron, event.sample, event.kind, float(event.lo.mid()))
        del left[same[0]]
    state = proof(until)
    rows = zip(np.c_[state.W, state.a], np.c_[state.W_low, state.a_low], state.radius, checker.neurons, strict=True)
    for high, low, radius, neuron in rows:
        parts = zip([*neuron.w, neuron.a], high.tolist(), low.tolist(), strict=True)
        apart = sum(((v.mid() - arb(one) - arb(two)) ** 2 for v, one, two in parts), arb(0))
        assert apart <= (checker.radius + float(radius)) ** 2


@pytest.mark.parametrize(("name", "until"), SHORT)
def test_a_second_prover_finds_the_same_events_at_the_same_times(name: str, until: float) -> None:
    assert_agree(*problem(name, until), until)


@pytest.mark.thorough
@pytest.mark.parametrize(("name", "until"), LONG)
def test_a_second_prover_agrees_for_longer(name: str, until: float) -> None:
    assert_agree(*problem(name, until), until)


@pytest.mark.parametrize("seed", [0, 1, 3, 7])
def test_a_second_prover_agrees_on_random_problems(seed: int) -> None:
    rng = np.random.default_rng(seed)
    data = rf.Dataset(rng.standard_normal((4, 3)), rng.choice([-1.0, 1.0], 4))
    leak, loss = (0.0, 0.2)[seed % 2], ("logistic", "exponential")[seed // 2 % 2]
    net = rf.Network.init(4, 3, scale=0.3, seed=seed, leak=leak)
    until = 1.2 if loss == "logistic" else 0.6
    run = rf.integrate(data, net, until=until, loss=loss)
    assert len(run.events) > 0
    assert_agree(run, {"leak": leak, "loss": loss}, until)


def test_a_slope_changes_by_more_digits_than_a_double_has_where_a_boundary_is_crossed() -> None:
    # 1 - 0.1 is no double. The step goes on for a moment after the crossing, which 32 digits see.
    data = rf.Dataset([[2.01, -1.19, 0.68, 1.09], [-1.91, -0.24, 0.7, 2.51]], [1, 1])
    net = rf.Network([[1.57e-4, 5.68e-4, -0.78e-4, 2.11e-4]], [-6.31e-4], leak=0.1)
    run = rf.integrate(data, net, until=0.05, reduction="mean")
    assert len(run.events) == 1
    assert_agree(run, {"leak": 0.1, "reduction": "mean"}, 0.025)


def test_the_second_prover_sees_data_that_differ_in_the_twelfth_digit() -> None:
    run, options = problem("P1", 1.0)
    proof = rf.prove(run, at=[1.0], digits=16)
    checker = Checker(run.data.X * (1 + 1e-12), run.data.y, run.initial.W, run.initial.a, **options)
    checker.run(1.0)
    lo, hi = proof.events.t_lo, proof.events.t_hi
    assert not any(event.lo >= lo[k] and event.hi <= hi[k] for k, event in enumerate(checker.events))


def test_the_second_prover_refuses_what_it_does_not_know() -> None:
    run, options = problem("simult_sym_201", 1.0)
    with pytest.raises(NotDecidedError, match="two events of one neuron"):
        checker_of(run, options).run(1.0)
    with pytest.raises(NotDecidedError, match="start on a boundary"):
        checker_of(*problem("degenerate_303", 1.0))
