"""Sectors, groups of neurons, and what the events alone tell."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

import reluflow as rf
import runs
from reluflow import analysis
from reluflow.analysis._timeline import log_grid


def test_sectors_count_each_neuron_once_and_share_the_whole_norm():
    run = analysis.sample(runs.holding(), 12)
    table = analysis.sectors(run)
    for _, at in table.groupby("t"):
        assert at["n_neurons"].sum() == run.width
        assert at["share"].sum() == pytest.approx(1.0)
        assert at["n_neurons"].is_monotonic_decreasing


def test_one_number_names_one_pattern_at_all_times():
    run = analysis.sample(runs.holding(), 12)
    ids = analysis.sector_ids(run)
    named: dict[int, tuple[int, ...]] = {}
    for number, row in zip(ids.ravel().tolist(), run.pattern.reshape(-1, run.data.n).tolist(), strict=True):
        assert named.setdefault(number, tuple(row)) == tuple(row)
    assert len(named) == len(set(named.values()))


def test_neurons_of_one_direction_form_one_group_and_scale_does_not_matter():
    data = rf.Dataset([[1.0, 0.2], [0.1, 1.0]], [1, -1])
    W = np.array([[1.0, 0.5], [1e-6, 0.5e-6], [-1.0, 2.0], [1.0, 0.5], [2.0, 1.001]])
    table = analysis.groups(analysis.state_of(data, rf.Network(W, [1.0, 1e-6, -1.0, -1.0, 2.0])), angle_tol=0.01)
    group = table["group"].tolist()
    assert group[0] == group[1] == group[4]
    assert len({group[0], group[2], group[3]}) == 3  # another direction, and another sign
    assert group[0] == 0  # it has the largest share
    assert table["angle"].max() < 0.01


def test_boundaries_part_neurons_of_one_direction_unless_asked_not_to():
    data = rf.Dataset([[1.0, 0.0]], [1])
    both = analysis.state_of(data, rf.Network([[1e-5, 1.0], [-1e-5, 1.0]], [1.0, 1.0]))
    assert analysis.groups(both)["group"].nunique() == 2
    assert analysis.groups(both, same_sector=False)["group"].nunique() == 1


def test_the_planar_example_ends_in_two_groups_and_two_dead_neurons():
    table = analysis.groups(runs.planar())
    alive = table[~table["dead"]]
    assert alive["group"].nunique() == 2
    assert alive["share"].sum() > 0.999
    assert table["dead"].sum() == 2


def test_the_timeline_agrees_with_a_replay_at_every_time():
    sol = runs.iris()
    found = analysis.timeline(sol, n_times=30)
    for k in (0, 7, 20, 29):
        upto = int(np.searchsorted(sol.events.log_t, found.log_t[k], side="right"))
        pattern = np.array(sol.pattern0)
        sol.events.apply(pattern, 0, upto)
        distinct = {tuple(row) for row in pattern.tolist()}
        assert found.n_sectors[k] == len(distinct) == len(np.unique(found.sector[k]))
        assert found.n_held[k] == (pattern == 0).sum()
        for one, two in ((0, 1), (3, 9), (4, 17)):
            assert (found.sector[k, one] == found.sector[k, two]) == (pattern[one] == pattern[two]).all()


def test_the_timeline_numbers_sectors_by_their_stay():
    found = analysis.timeline(runs.holding(), n_times=100)
    stay = np.bincount(found.sector.ravel())
    assert (np.diff(stay) <= 0).all()
    assert found.peak.max() <= 12
    assert sorted(found.order.tolist()) == list(range(12))


def test_the_raster_has_each_event_in_the_row_of_its_neuron():
    sol = runs.holding()
    found = analysis.raster(sol)
    order = analysis.timeline(sol).order
    np.testing.assert_array_equal(order[found.row], sol.events.neuron)
    assert [found.kinds[code] for code in found.kind] == sol.events.kind.tolist()
    positive = set(np.flatnonzero(sol.final.a > 0).tolist())
    assert set(order[: found.n_positive].tolist()) == positive


@pytest.mark.parametrize("save_at", [None, [1e4]])
def test_neurons_keep_the_sign_of_their_output_where_weight_decay_takes_it_to_zero(save_at):
    start = rf.Network.init(10, 2, scale=1e-2, seed=1)
    start = rf.Network(np.vstack((start.W, np.zeros((1, 2)))), np.append(start.a, 0.0))
    sol = rf.integrate(rf.datasets.wang_pilanci("obtuse"), start, until=1e4, weight_decay=1.0, save_at=save_at)
    assert not sol.final.a.any()
    positive = set(np.flatnonzero(start.a > 0).tolist())
    assert len(positive) == 4
    for found in (analysis.raster(sol), analysis.timeline(sol, n_times=5)):
        assert found.n_positive == 4
        assert set(found.order[:4].tolist()) == positive
    np.testing.assert_array_equal(analysis.ends(sol).signs, np.sign(start.a))  # the neuron of zeros has none


def test_a_run_without_events_has_a_timeline_and_a_raster():
    sol = rf.integrate(rf.Dataset([[1.0]], [1]), rf.Network([[0.1]], [0.1]), until=1.0)
    assert len(sol.events) == 0
    assert analysis.timeline(sol, n_times=5).n_sectors.tolist() == [1] * 5
    assert len(analysis.raster(sol).row) == 0


def test_the_timeline_begins_before_the_first_event_and_ends_after_the_last():
    """One neuron dies once: it lives at the first time of the grid and is dead at the last."""
    data = rf.datasets.wang_pilanci("obtuse")
    sol = rf.integrate(data, rf.Network.init(1, 2, scale=1e-2, seed=0), until=10.0)
    assert sol.events.kind.tolist() == ["die"]
    found = analysis.timeline(sol, n_times=8)
    assert found.n_dead[[0, -1]].tolist() == [0, 1]
    assert found.log_t[0] < sol.events.log_t[0] < found.log_t[-1]


@pytest.mark.parametrize("until", [0.5, 20.0])
def test_the_timeline_of_a_run_that_goes_on_shows_no_time_before_it(until):
    """The first run has events up to t = 2.2: the second has some if it begins at 0.5, and none from 20 on."""
    data = rf.datasets.wang_pilanci("obtuse")
    before = rf.integrate(data, rf.Network.init(6, 2, scale=1e-2, seed=1), until=until)
    sol = rf.integrate(data, before, until=100.0)
    assert (len(sol.events) > 0) == (until < 2)
    found = analysis.timeline(sol, n_times=8)
    assert found.log_t[0] >= np.log(sol.t_start)
    assert found.log_t[-1] <= sol.log_t_end
    if not len(sol.events):  # nothing tells where to look: all of the run
        np.testing.assert_allclose(np.exp(found.log_t[[0, -1]]), [20.0, 100.0])


@pytest.mark.parametrize(("first", "before"), [(-3.0, np.log(2.0)), (2e5, 2e5 / 11)])
def test_the_timeline_far_out_begins_before_its_first_event(first, before):
    """Where log t is beyond 690 a factor of two in t is nothing: what was before then takes a part of log t itself."""
    seen = SimpleNamespace(events=SimpleNamespace(log_t=np.array([first, 1e6])), log_t_end=1e7, t_start=0.0)
    grid = log_grid(seen, 50)
    assert grid[0] == pytest.approx(first - before)
    assert 1e6 < grid[-1] < 1e7


@pytest.mark.parametrize("last", [100.0, 600.0, 800.0])
def test_one_late_event_does_not_hide_those_before(last):
    """The timeline showed the last six decades alone where log t of the last event was below 1e4."""
    early = np.linspace(-1.0, 3.0, 30)
    seen = SimpleNamespace(events=SimpleNamespace(log_t=np.append(early, last)), log_t_end=1e3, t_start=0.0)
    grid = log_grid(seen, 200)
    assert grid[0] == pytest.approx(-1.0 - np.log(2.0))
    assert last < grid[-1] < 1.2 * last
