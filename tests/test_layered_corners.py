"""Corners of layered runs: boundaries of one neuron that meet where it slides already."""

from __future__ import annotations

import numpy as np
import pytest

import reluflow as rf
from layered_draws import drawn

LINE = np.array([-0.07, -0.25, 0.7, 0.0])
OTHER = np.array([0.37, 0.93, 0.68, 0.0])
BIAS = np.array([0.0, 0.0, 0.0, 1.0])
INPUTS = np.array([c * LINE + BIAS for c in (0.28, 0.1, 0.77)] + [c * OTHER + BIAS for c in (1.0, -0.88, 0.25, -1.34)])
LABELS = np.array([-1.0, 1.0, 1.0, 1.0, -1.0, -1.0, 1.0])
NEURON = np.array([-0.48, 0.42, -0.2, 0.1])


def meeting(policy: str, layered: bool) -> rf.Solution | rf.layered.DeepSolution:
    """One neuron slides on sample 0 and meets samples 1 and 2, in the plane of the three, at once."""
    net: rf.Network | rf.DeepNetwork = rf.Network(NEURON[None], np.array([0.44]), leak=0.1)
    if layered:
        net = rf.DeepNetwork([rf.Dense(1), rf.Dense(1)], np.append(NEURON, 0.44), dim=4, leak=0.1)
    options = {"loss": "exponential", "weight_decay": 0.1, "until": 5.0, "on_branch": policy}
    return rf.integrate(rf.Dataset(INPUTS, LABELS), net, **options)


@pytest.mark.parametrize("policy", ["inactive", "active"])
def test_what_slides_may_leave_where_boundaries_of_its_plane_meet(policy: str) -> None:
    """It was kept where it can also stay: the two ways in which it leaves were not seen."""
    two, sol = meeting(policy, layered=False), meeting(policy, layered=True)
    assert sol.success, sol.message
    (point,) = sol.branchings
    assert [(p[0], p[1]) for p in point.places] == [(1, 0)] * 3
    samples = [p[2] for p in point.places]
    found = {tuple(option[samples.index(k)] for k in range(3)) for option in point.options}
    assert found == {(1, 1, 1), (0, -1, 1), (-1, -1, -1)}
    assert point.t == pytest.approx(two.branchings[0].t, rel=1e-8)
    expected = np.append(two.final.W[0], two.final.a)
    np.testing.assert_allclose(sol.final.theta, expected, rtol=0, atol=1e-8)


def test_what_only_nearly_parallel_rows_force_is_not_zero() -> None:
    """Two units read two others and slide; one left and comes back by what steps miss.

    At rtol 1e-7 one of the two met its boundary, the other did not.
    """
    theta = [drawn(72).ends(rtol).final.theta for rtol in (1e-6, 1e-7, 1e-9)]
    for loose in theta[:2]:
        assert np.abs(loose - theta[2]).max() < 1e-6 * np.abs(theta[2]).max()


def test_a_unit_that_was_never_active_vanishes_with_what_it_reads() -> None:
    """Its bias is zero to the last bit. At rtol 1e-7 what it reads came to zero with others, and it stayed beside."""
    runs = [drawn(1170).ends(rtol) for rtol in (1e-7, 1e-9)]
    assert len(runs[0].events) == len(runs[1].events)
    theta = runs[1].final.theta
    assert np.abs(runs[0].final.theta - theta).max() < 1e-6 * np.abs(theta).max()


def test_what_is_in_the_span_of_what_stays_does_too() -> None:
    """It was so but for the tolerance, left by a rate of that, and came back, a thousand times in one instant."""
    runs = [drawn(26).ends(rtol) for rtol in (1e-6, 1e-7, 1e-9)]
    assert [len(run.events) for run in runs] == [len(runs[2].events)] * 3
    theta = runs[2].final.theta
    for run in runs[:2]:
        assert np.abs(run.final.theta - theta).max() < 1e-6 * np.abs(theta).max()


def test_dependent_boundaries_leave_together_at_an_event_of_others() -> None:
    """A unit slides on three samples in two dimensions, and none of them can leave while the two others stay."""
    runs = [drawn(1120).ends(rtol) for rtol in (1e-7, 1e-9)]
    assert [run.status for run in runs] == ["reached_time"] * 2, [run.message for run in runs]
    assert len(runs[0].events) == len(runs[1].events)
    theta = runs[1].final.theta
    assert np.abs(runs[0].final.theta - theta).max() < 1e-6 * np.abs(theta).max()


def test_what_rested_leaves_where_both_sides_move_it() -> None:
    """A unit that it reads wakes, and what it shares its boundary by is another: it was taken for what slid only now.

    It stood between two sides that both take it away, until an event that local minima decided at one tolerance."""
    runs = [drawn(1384).ends(rtol) for rtol in (1e-7, 1e-9, 1e-11)]
    assert [run.status for run in runs] == ["reached_time"] * 3
    for run in runs:
        (point,) = [point for point in run.branchings if abs(point.t - 24.420208) < 1e-5]
        assert point.places == ((2, 3, 3),)
        assert set(point.options) == {(1,), (-1,)}
        assert len(run.branchings) == len(runs[0].branchings)
    theta = runs[2].final.theta
    for run in runs[:2]:
        assert np.abs(run.final.theta - theta).max() < 1e-6 * np.abs(theta).max()


def test_what_rests_does_so_in_one_way_whoever_decides_the_event() -> None:
    """A boundary comes to repel what slides on it, and nothing moves that on its inactive side.

    At rtol 1e-9 local minima decide, as a contact comes with another; they had but the way in which it leaves."""
    runs = [drawn(1059).ends(rtol) for rtol in (1e-7, 1e-9, 1e-11)]
    for run in runs:
        (point,) = run.branchings
        assert point.t == pytest.approx(2.59128996, abs=1e-6)
        unit = point.places.index((2, 2, 1))
        assert [option[unit] for option in point.options] == [0, 1]
    theta = runs[2].final.theta
    for run in runs[:2]:
        assert np.abs(run.final.theta - theta).max() < 1e-6 * np.abs(theta).max()


def test_normals_that_come_to_depend_on_each_other_are_followed() -> None:
    """Two units slide on a sample, and what they read vanishes on it: parallel normals tell them apart less and less.

    Normals at an angle of 1e-5 were kept as independent and then refused, so that the run was undecided."""
    runs = [drawn(30061).ends(rtol) for rtol in (1e-7, 1e-9, 1e-11)]
    assert [run.status for run in runs] == ["reached_time"] * 3, [run.message for run in runs]
    theta = runs[2].final.theta
    for run in runs[:2]:
        assert np.abs(run.final.theta - theta).max() < 1e-6 * np.abs(theta).max()
