"""What slides at the bound of its multiplier, to what steps or rounding leave of it.

It may leave by less than a rounding of its terms and come back, or be held by duals that are rounding themselves.
"""

from __future__ import annotations

import numpy as np
import pytest

from layered_draws import drawn


# A place that had come back to its boundary was pushed off it again, as what has just left (151); what left by a rate
# below rounding of its terms had none, or the other one to second order (19, 72).
@pytest.mark.parametrize("seed", [19, 72, 151])
def test_what_leaves_by_a_hair_may_come_back(seed: int) -> None:
    runs = [drawn(seed).ends(rtol) for rtol in (1e-7, 1e-9, 1e-11)]
    assert [run.status for run in runs] == ["reached_time"] * 3, [run.message for run in runs]
    theta = runs[2].final.theta
    assert np.abs(runs[1].final.theta - theta).max() < 1e-6 * np.abs(theta).max()


# Duals of a squared loss that is fitted are rounding, by which what is held jointly seemed to leave.
@pytest.mark.parametrize("seed", [188, 214])
def test_what_is_held_jointly_is_so_to_the_rounding_of_duals(seed: int) -> None:
    runs = [drawn(seed).ends(rtol) for rtol in (1e-7, 1e-9)]
    assert [run.status for run in runs] == ["reached_time"] * 2, [run.message for run in runs]
    assert len(runs[0].events) == len(runs[1].events)
    theta = runs[1].final.theta
    assert np.abs(runs[0].final.theta - theta).max() < 1e-8 * np.abs(theta).max()


# Near rest both bounds of a multiplier were below what the series leave out, and were taken to vanish together.
def test_what_cannot_turn_leaves_at_one_bound() -> None:
    runs = [drawn(309).ends(rtol) for rtol in (1e-7, 1e-9, 1e-11)]
    assert [run.status for run in runs] == ["reached_time"] * 3, [run.message for run in runs]
    theta = runs[2].final.theta
    assert np.abs(runs[1].final.theta - theta).max() < 1e-9 * np.abs(theta).max()
