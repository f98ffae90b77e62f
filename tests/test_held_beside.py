"""A neuron that samples of both labels hold beside their boundary, nearer to it than any tolerance, stays beside it."""

from __future__ import annotations

import numpy as np
import pytest

import compare
import hostile
import reluflow as rf


@pytest.mark.parametrize("rtol", [1e-7, 1e-8, 1e-9])
@pytest.mark.parametrize("seed", [736, 905, 945])
def test_a_neuron_held_beside_a_boundary_within_the_tolerance_stays_there(seed, rtol):
    """Samples of both labels hold it at a distance below every tolerance, and the other side would pull it on.

    An error of the size of the tolerance took it across: what truncation makes of the distance, or an event of another
    neuron that the step left out of the weights. The runs ended up to a tenth off, by chance of the tolerance, of where
    they were cut and of where `sol(t)` began anew.
    """
    problem = hostile.problem("contradictory_part", seed)
    end = problem.until.log_time
    tight = problem.run(rtol=1e-12)
    whole = problem.run(rtol=rtol)
    assert whole.status == tight.status == "reached_log_time"
    compare.assert_same_state(whole.final.W, whole.final.a, tight.final.W, tight.final.a, 10 * rtol, "at the end")
    for part in (0.3, 0.5, 0.67, 0.75, 0.85, 0.95):
        first = problem.run(rtol=rtol, until=rf.Stop(log_time=part * end))
        options = {**problem.options, "rtol": rtol}
        second = rf.integrate(problem.data, first, until=problem.until, **options)
        compare.assert_same_state(
            second.final.W, second.final.a, tight.final.W, tight.final.a, 10 * rtol, f"cut at {part * end}"
        )
        dense = whole(float(np.exp(part * end)))
        compare.assert_same_state(dense.W, dense.a, first.final.W, first.final.a, 10 * rtol, f"within, {part * end}")


def test_a_neuron_that_its_samples_alone_move_never_crosses_their_boundary():
    """One sample with both labels is all that drives it: at z = 0 nothing does, so that z falls for ever."""
    problem = hostile.problem("contradictory_part", 945)
    options = {**problem.options, "rtol": 1e-13}
    first = problem.run(rtol=1e-13, until=rf.Stop(log_time=1.5))
    second = rf.integrate(problem.data, first, until=problem.until, **options)
    side = first.final.pattern[0, 0]
    driving = np.flatnonzero(first.final.pattern[0] > 0)
    assert [*driving] == [0, 3]
    assert np.array_equal(problem.data.X[0], problem.data.X[3])
    assert problem.data.y[0] == -problem.data.y[3]
    assert not np.any(second.events.neuron == 0)
    assert second.final.pattern[0, 0] == side
    assert abs(second.final.W[0] @ problem.data.X[0]) < 1e-13


def test_a_neuron_that_two_such_samples_move_stays_between_their_boundaries():
    """x x' < 0, so that each pulls it away from the boundary of the other: both pre-activations stay positive."""
    problem = hostile.problem("contradictory_part", 905)
    sol = problem.run(rtol=1e-12)
    X, y = problem.data.X, problem.data.y
    early = sol(float(np.exp(-2.0)))
    assert [*np.flatnonzero(early.W[1] @ X.T > 0)] == [0, 1, 4, 5]
    assert np.array_equal(X[[0, 1]], X[[4, 5]])
    assert np.array_equal(y[[0, 1]], -y[[4, 5]])
    assert X[0] @ X[1] < 0
    assert not np.any(early.W[0] @ X[[0, 1]].T > 0)  # the other neuron is active on neither
    assert not np.any(sol.final.W[0] @ X[[0, 1]].T > 0)
    assert not np.any((sol.events.neuron == 1) & (sol.events.log_t > -2.0))
