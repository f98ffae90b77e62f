"""Layered runs at chosen times, and the sectors of their units through time."""

from __future__ import annotations

import numpy as np
import pytest

import reluflow as rf
from reluflow import analysis
from reluflow.analysis._layered_states import layered_states

X = np.random.default_rng(0).standard_normal((12, 3))
DATA = rf.Dataset(X, np.sign(X[:, 0] * X[:, 1]))
SEPARATED = rf.Dataset(X, np.sign(X[:, 0]))
LAYERS = [rf.Dense(9, "relu"), rf.Dense(4, "linear"), rf.Dense(7, "relu"), rf.Dense(1)]


@pytest.fixture(scope="module")
def short() -> rf.layered.DeepSolution:
    return rf.integrate(DATA, rf.DeepNetwork.init(LAYERS, dim=3, scale=0.9, seed=1), until=6.0)


@pytest.fixture(scope="module")
def late() -> rf.layered.DeepSolution:
    """Its loss is below the least of floats, and its time above the greatest."""
    net = rf.DeepNetwork.init(LAYERS, dim=3, scale=0.9, seed=1)
    return rf.integrate(SEPARATED, net, until=rf.Stop(log_time=900.0))


def test_the_states_are_those_of_the_run(short: rf.layered.DeepSolution, late: rf.layered.DeepSolution) -> None:
    for sol in (short, late):
        for found in (analysis.sample(sol, 12), analysis.snapshots(sol, 5), analysis.ends(sol)):
            assert isinstance(found, analysis.LayeredStates)
            assert (found.at(0), found.at(-1)) == (sol.initial, sol.final)
            assert (np.diff(found.log_t) > 0).all()
            assert found.log_t[-1] == sol.log_t_end
            for k in range(1, len(found)):
                assert found.at(k) == (sol(found.t[k]) if np.isfinite(found.t[k]) else sol.at(log_t=found.log_t[k]))
    few = analysis.snapshots(short, 5)
    for k, t in enumerate(few.t):
        bent = np.concatenate([sides.T for layer, sides in enumerate(short.pattern(t)) if layer in (0, 2)])
        live = few.pattern[k] != 0
        np.testing.assert_array_equal(few.pattern[k][live], bent[live])


def test_a_continued_run_begins_where_it_does(short: rf.layered.DeepSolution) -> None:
    """Beyond the range of t the start was left out, of two layers too."""
    found = analysis.ends(rf.integrate(DATA, short, until=rf.Stop(log_time=900.0)))
    np.testing.assert_allclose(found.log_t, [short.log_t_end, 900.0])
    np.testing.assert_allclose(found.theta[0], short.final.theta, rtol=1e-12)
    two = rf.integrate(DATA, rf.Network.init(5, 3, scale=0.5, seed=2), until=6.0)
    both = analysis.ends(rf.integrate(DATA, two, until=rf.Stop(log_time=900.0)))
    np.testing.assert_allclose(both.log_t, [two.log_t_end, 900.0])
    np.testing.assert_allclose(both.W[0], two.final.W, rtol=1e-12)


def test_tables_of_states_are_those_of_the_run_at_their_times(short: rf.layered.DeepSolution) -> None:
    seen = analysis.sample(short, 10)
    for table in (analysis.series, analysis.losses, analysis.pattern_distance, analysis.kernel_distance):
        np.testing.assert_allclose(table(seen), table(short, seen.t), rtol=1e-8, atol=1e-12)
    for values in (analysis.margins, analysis.errors, analysis.tangent_kernel):
        np.testing.assert_allclose(values(seen), values(short, seen.t), rtol=1e-8, atol=1e-12)
    last = analysis.layer_singular_values(seen).values[2][-1]
    np.testing.assert_allclose(last, np.linalg.svd(short.final.layers[2].W, compute_uv=False))
    assert len(analysis.row_plane(seen).rows) == len(seen)
    for function in (analysis.series, analysis.margins, analysis.losses, analysis.errors, analysis.tangent_kernel):
        with pytest.raises(ValueError, match="times must be left out, for LayeredStates carry their times"):
            function(seen, [1.0])


def test_late_states_have_a_loss_below_all_floats(late: rf.layered.DeepSolution) -> None:
    table = analysis.series(analysis.sample(late, 8))
    assert np.isinf(table.t.iloc[-1])
    assert table.log_loss.iloc[-1] == pytest.approx(late.log_loss_end, rel=1e-9)
    assert table.log_loss.is_monotonic_decreasing


def test_units_of_one_sector_have_the_same_signs(short: rf.layered.DeepSolution) -> None:
    found = analysis.layer_timeline(short, n_times=30)
    assert found.layers == (1, 3)
    assert [len(order) for order in found.order] == [9, 7]
    replayed = np.split(layered_states(short, np.exp(found.log_t)).pattern, [9], axis=1)
    for k in range(len(found.log_t)):
        for place, pattern in enumerate(replayed):
            signs, sector = pattern[k], found.sector[place][k]
            same = (signs[:, None] == signs[None]).all(axis=2)
            np.testing.assert_array_equal(same, sector[:, None] == sector[None])
            np.testing.assert_array_equal(found.is_off[place][k], (signs <= 0).all(axis=1))
            assert found.n_sectors[k, place] == len(np.unique(sector))
            assert found.n_zero[k, place] == (signs == 0).sum()
    for sector, peak in zip(found.sector, found.peak, strict=True):
        stay = np.bincount(sector.ravel())
        assert (np.diff(stay) <= 0).all()
        assert peak[0] == (sector == 0).sum(axis=1).max()


def test_the_picture_has_a_row_for_each_unit_in_its_order(short: rf.layered.DeepSolution) -> None:
    found = analysis.layer_timeline(short, n_times=30)
    ax = rf.figures.layer_timeline(found)
    shown = ax.collections[0].get_array()
    assert shown.shape == (16, 30)
    assert [text.get_text() for text in ax.get_yticklabels()] == ["1", "3"]
    off = np.vstack([off[:, order].T for off, order in zip(found.is_off, found.order, strict=True)])
    np.testing.assert_array_equal(shown == shown[off].min(), off)
    first = found.sector[0][:, found.order[0]].T
    assert len(np.unique(shown[:9][(first == 0) & ~off[:9]])) <= 1


def test_what_has_no_sectors_is_refused(short: rf.layered.DeepSolution) -> None:
    with pytest.raises(ValueError, match="solution must be a DeepSolution, the run of a DeepNetwork"):
        analysis.layer_timeline(rf.integrate(DATA, rf.Network.init(3, 3, seed=0), until=1.0))  # type: ignore[arg-type]
    net = rf.DeepNetwork.init([rf.Dense(3, activation="linear"), rf.Dense(1)], dim=3, seed=0)
    linear = analysis.layer_timeline(rf.integrate(DATA, net, until=0.5))
    assert (linear.layers, linear.n_sectors.shape[1]) == ((), 0)
    with pytest.raises(ValueError, match="timeline must be of a network with a layer that is not linear"):
        rf.figures.layer_timeline(linear)
    with pytest.raises(ValueError, match=r"timeline must be what analysis\.layer_timeline returns"):
        rf.figures.layer_timeline(short)  # type: ignore[arg-type]


def test_a_run_that_begins_beyond_all_floats_is_seen_from_its_start(late: rf.layered.DeepSolution) -> None:
    """Only its end was shown: the logarithm of its start was taken from t, which is infinite."""
    two = rf.integrate(SEPARATED, rf.Network.init(5, 3, scale=0.5, seed=2), until=rf.Stop(log_time=900.0))
    several = rf.integrate((X, SEPARATED.y), rf.Network.init(4, 3, scale=0.5, seed=2), until=900.0, train="first")
    assert (several.t_start, several.log_t_start) == (0.0, -np.inf)
    for before in (late, two):
        longer = rf.integrate(SEPARATED, before, until=rf.Stop(log_time=1000.0))
        assert (longer.log_t_start, longer.t_start) == (900.0, np.inf)
        assert "t from e^900 to e^1000" in repr(longer)
        assert "from e^900 to e^1000" in longer.summary()
        for seen in (analysis.ends(longer), analysis.sample(longer, 4), analysis.snapshots(longer, 3)):
            assert (seen.log_t[0], seen.log_t[-1]) == (900.0, 1000.0)
            assert len(seen) == len(np.unique(seen.log_t)) > 1
