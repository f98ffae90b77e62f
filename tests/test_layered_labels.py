"""Layered runs on ordinary data, normal inputs with random labels: what is decided may not depend on the tolerance."""

from __future__ import annotations

import numpy as np
import pytest

import reluflow as rf


def labels(seed: int, rtol: float) -> rf.layered.DeepSolution:
    """Two hidden layers, the first of three units, so that units above often read a single one of them."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((16, 4))
    y = rng.choice([-1.0, 1.0], 16)
    net = rf.DeepNetwork.init([rf.Dense(3), rf.Dense(8), rf.Dense(1)], dim=4, scale=1.0, seed=seed)
    return rf.integrate((X, y), net, loss="logistic", until=3.0, rtol=rtol)


def check(seed: int, rtols: tuple[float, ...] = (1e-7, 1e-8, 1e-9)) -> None:
    exact = labels(seed, 1e-11)
    for rtol in rtols:
        sol = labels(seed, rtol)
        assert sol.status == "reached_time", sol.message
        error = np.abs(sol.final.theta - exact.final.theta).max()
        assert error < 1000 * rtol * np.abs(exact.final.theta).max()


@pytest.mark.parametrize("seed", [181, 270, 464, 701, 718])
def test_what_leaves_tangentially_has_no_rate_whatever_the_tolerance_left_of_it(seed: int) -> None:
    """Its rate is a sum of velocities that have cancelled themselves: 1e-14 of their terms, and of any sign."""
    check(seed)


@pytest.mark.parametrize("seed", [196, 215, 239, 269, 309, 349, 415])
def test_normals_that_depend_on_each_other_but_for_the_tolerance(seed: int) -> None:
    """The search for the best direction put what had depended on a new vector to an end of its interval, and back."""
    check(seed)


@pytest.mark.parametrize("seed", [8, 153, 703])
def test_what_is_kept_has_no_rate_whatever_the_tolerance_left_of_its_normal(seed: int) -> None:
    """Kept by others, as its normal is in their span but for the tolerance: a rate of 1e-12 was taken for leaving."""
    check(seed)


@pytest.mark.parametrize("seed", [281, 340, 765])
def test_what_leaves_as_the_last_that_moves_it_goes_stays(seed: int) -> None:
    """Its multiplier is zero where an input is: it left first, by rounding, and rested beside its boundary on a side
    that was chance."""
    check(seed)


@pytest.mark.parametrize("seed", [472, 483, 589])
def test_of_dependent_normals_those_are_kept_that_are_far_apart(seed: int) -> None:
    """The first ones in the list were 1e-4 apart, and their multipliers could not be told."""
    check(seed)


def test_units_that_turn_at_one_instant_turn_together() -> None:
    """Weights of two units that only one sum of duals pulls come to repel with it. At 1e-7 they did so 1e-11 apart, and
    one alone was decided beside the other as one that stands on a ridge. Each of them may leave, or rest."""
    check(998)
    (point,) = labels(998, 1e-7).branchings
    assert set(point.options) == {(1, 1), (1, 0), (0, 1), (0, 0)}
    assert point.options[point.chosen] == (1, 1)
