"""The core against the slow twin where weights change their signs, and where samples count differently."""

from __future__ import annotations

import numpy as np
import pytest

import agree
import families
import twin
from twin_rules import Problem, interval_gaps


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("family", list(families.REGRESSION))
def test_the_core_agrees_with_the_twin(family, seed) -> None:
    setup = families.make(family, seed)
    fault = agree.check(setup)
    assert fault is None, f"{family} {seed}: {fault}"


def test_the_twin_stops_where_a_boundary_turns_repelling_under_a_neuron() -> None:
    # Neuron 1 rests on the boundary of sample 1 until the output there falls below its target.
    X, y = np.array([[1.0, 0.0], [0.6, 0.8]]), np.array([-3.0, 0.2])
    W, a = np.array([[0.5, 0.5], [-0.8, 0.6], [0.5, 0.1]]), np.array([1.0, 1.0, -1.0])
    slow = twin.integrate(X, y, W, a, 20.0, loss="squared")
    assert slow.status == "branch"
    assert slow.branch["neuron"] == 1
    assert {} in slow.branch["options"]
    assert {1: 1} in slow.branch["options"]


def test_gaps_of_a_multiplier_are_signed_whichever_end_is_the_larger() -> None:
    problem = Problem(np.array([[1.0, 0.0], [0.0, 1.0]]), np.zeros(2), loss="squared")
    for weight in (2.0, -2.0):
        drive = np.array([-0.5 * weight, 0.0])
        below, above, size = interval_gaps(problem, np.array([weight, 0.0]), [0], drive)[0]
        np.testing.assert_allclose([below, above, size], [0.5, 0.5, np.sign(weight)])
