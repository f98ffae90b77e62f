"""The rounds of column generation: what is kept of them when they end early, and how pieces are found."""

from __future__ import annotations

import numpy as np
import pytest

import reluflow as rf
from reluflow.convex._columns import Generation
from reluflow.convex._conic import Samples, solve_primal
from reluflow.convex._inputs import Deadline
from reluflow.convex._pricing import HalfCells
from reluflow.convex._rectified_sum import RectifiedSum

SEED = 3  # needs four rounds from the pieces below


def program():
    rng = np.random.default_rng(SEED)
    X = rng.standard_normal((14, 4))
    y = np.where(rng.standard_normal(14) > 0, 1.0, -1.0)
    cells = HalfCells(X, y, 0.0)
    first = [cells.piece(sign, u) for sign in (1, -1) for u in rng.standard_normal((6, 4))]
    return Samples(X, y, 0.0, np.arange(14)), cells, first


def run(spoil, deadline):
    """Solve round by round; `spoil` changes the answer of the round with the number given to it."""
    samples, cells, first = program()
    values = []

    def solver(*arguments):
        answer = spoil(len(values) + 1, solve_primal(*arguments))
        values.append(float(np.linalg.norm(answer.neurons, axis=1).sum()))
        return answer

    return Generation(samples, cells, solver, 1e-10, deadline).run(first), values


def test_the_best_network_of_all_rounds_is_kept_when_the_last_one_misses_a_margin():
    def spoil(round_number, answer):
        return answer if round_number < 3 else answer._replace(neurons=0 * answer.neurons)

    outcome, values = run(spoil, Deadline())
    assert len(values) >= 3
    assert outcome.found.upper == pytest.approx(min(values[:2]), rel=1e-6)
    samples = program()[0]
    margins = samples.y * (np.maximum(samples.R @ outcome.found.neurons.T, 0) @ outcome.found.signs)
    assert margins.min() >= 1 - 1e-9


def test_a_solver_that_fails_leaves_the_answer_before_it():
    def spoil(round_number, answer):
        return answer if round_number < 3 else answer._replace(usable=False, status="NumericalError")

    outcome, values = run(spoil, Deadline())
    assert outcome.status == "solver_failed"
    assert outcome.message == "the conic solver ended with NumericalError in round 3"
    assert outcome.found.upper <= min(values[:2]) * (1 + 1e-9)


def test_a_solver_that_runs_out_of_time_ends_with_the_time_limit():
    clock = Deadline(1.0, start=float("inf"))  # never passes ...

    def spoil(round_number, answer):
        if round_number < 3:
            return answer
        object.__setattr__(clock_of_rounds[0], "start", -float("inf"))  # ... until here
        return answer._replace(usable=False, status="MaxTime")

    samples, cells, first = program()
    rounds = [0]

    def solver(*arguments):
        rounds[0] += 1
        return spoil(rounds[0], solve_primal(*arguments[:3], Deadline()))

    generation = Generation(samples, cells, solver, 1e-10, clock)
    clock_of_rounds = [generation.last_round]
    outcome = generation.run(first)
    assert (outcome.status, outcome.message) == ("time_limit", "the time limit of 1 s was reached in round 3")
    assert 0 < outcome.found.lower <= outcome.found.upper < np.inf


def test_a_part_of_a_deadline_has_the_same_start():
    whole = Deadline(10.0)
    assert (whole.part(0.6).seconds, whole.part(0.6).start) == (6.0, whole.start)
    assert Deadline().part(0.6).seconds is None


@pytest.mark.parametrize("seed", [3, 4, 37])  # with a local maximum that hides from the usual starts
def test_climbs_from_anywhere_find_pieces_that_climbs_from_neurons_and_samples_miss(seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((60, 12))
    y = np.where(rng.standard_normal(60) > 0, 1.0, -1.0)
    cells = HalfCells(X, y, 0.0)
    duals = y * rng.uniform(0, 1, 60) * (np.arange(60) < 24)
    nothing = np.empty((0, 12))
    greatest = 0.0
    for sign in (1, -1):
        total = RectifiedSum.of(X, sign * duals, 0.0)
        greatest = max(greatest, float(total.climb(total.starts(nothing))[0].max(initial=0.0)))
    past = Deadline(1e-9, start=0.0)  # no time for branch and bound
    assert cells.offer(duals / greatest, nothing, set(), past)  # nothing above 1 from the usual starts
    assert not cells.offer(duals / (1.01 * greatest), nothing, set(), past)


def test_a_small_neuron_that_alone_keeps_a_margin_stays():
    for seed in (21, 47, 49):
        rng = np.random.default_rng(seed)
        X, y = rng.standard_normal((4, 3)), rng.choice([-1.0, 1.0], size=4)
        solution = rf.convex.dual(rf.Dataset(X * [[1e-8], [1e-4], [1.0], [1.0]], y))
        assert solution.margins.min() >= 1 - 1e-9
        assert 0 < solution.lower <= solution.value < np.inf
