"""Proofs against a second prover with other mathematics, other code and other arithmetic (`flint_checker`)."""

from __future__ import annotations

import numpy as np
import pytest

import reluflow as rf
from flint_checker import Checker, NotDecidedError
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
    checker = checker_of(run, options)
    checker.run(until)
    for digits in (16, 32):
        assert_holds(rf.prove(run, at=[until], digits=digits), checker, until)
    assert checker.radius < 1e-14


def assert_holds(proof: rf.proof.Proof, checker: Checker, until: float) -> None:
    assert proof.proved_until >= until
    of_proof = [k for k in range(len(proof.events)) if proof.events.t_lo[k] <= until]
    found = proof.events
    place = {(found.neuron[k], found.sample[k], found.kind[k], found.t_lo[k]): found.t_hi[k] for k in of_proof}
    assert len(checker.events) == len(place)
    for event in checker.events:
        inside = [
            (j, i, kind, lo)
            for (j, i, kind, lo), hi in place.items()
            if (j, i, kind) == (event.neuron, event.sample, event.kind) and lo <= event.lo and event.hi <= hi
        ]
        assert len(inside) == 1, (event.neuron, event.sample, event.kind, float(event.lo.mid()))
        del place[inside[0]]
    state = proof(until)
    centres, rests = np.c_[state.W, state.a].tolist(), np.c_[state.W_low, state.a_low].tolist()
    for neuron, centre, rest, radius in zip(checker.neurons, centres, rests, state.radius, strict=True):
        true = [v.mid() for v in (*neuron.w, neuron.a)]
        apart = sum((v - c - low) ** 2 for v, c, low in zip(true, centre, rest, strict=True))
        assert apart <= (checker.radius + float(radius)) ** 2


@pytest.mark.parametrize(("name", "until"), SHORT)
def test_a_second_prover_finds_the_same_events_inside_the_enclosures(name: str, until: float) -> None:
    assert_agree(*problem(name, until), until)


@pytest.mark.slow
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


def test_the_second_prover_sees_data_that_differ_in_the_twelfth_digit() -> None:
    run, options = problem("P1", 1.0)
    proof = rf.prove(run, at=[1.0])
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
