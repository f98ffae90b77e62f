"""Saddles that are far: long orbits, neurons carried apart, scales that do not show them, and who waits for them."""

from __future__ import annotations

import signal

import numpy as np
import pytest

import reluflow as rf
from reluflow import saddles
from reluflow.saddles import _orbit
from reluflow.saddles._sides import kept_off
from saddle_flows import half_times


def of_small_curvature(smallest: float, seed: int = 1) -> tuple[rf.Dataset, np.ndarray, list[int]]:
    """Gaussian data whose last feature is so much smaller: curvatures are that squared."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((6, 3)) * [1.0, 1.0, smallest]
    y = rng.standard_normal(6)
    return rf.Dataset(X, y), rng.standard_normal((5, 3)), [1, -1, 1, -1, 1]


@pytest.mark.parametrize("smallest", [1e-3, pytest.param(1e-4, marks=pytest.mark.slow)])
def test_orbits_come_to_critical_points_of_tiny_curvature(smallest):
    path = rf.saddle_to_saddle(*of_small_curvature(smallest))
    assert path.status == "ended"  # it was "lost": 60 legs of some hundred time units did not suffice
    for stage in path.stages[1:]:
        assert stage.limit is not None
        assert stage.limit.certified
        assert stage.limit.turn <= 1e-8
    near = rf.saddle_to_saddle(*of_small_curvature(1e-2))
    assert path.times == pytest.approx(near.times, rel=1e-3)
    assert path.losses == pytest.approx(near.losses, abs=1e-3)
    assert max(sum(leg.t_end for leg in stage.legs) for stage in path.stages) > 1e5
    assert "carried apart" in path.stages[0].notes[-1]


@pytest.mark.parametrize("seed", range(4))
def test_neurons_carried_apart_end_where_those_of_one_run_end(seed, monkeypatch):
    problem = of_small_curvature(0.5, seed)
    together = rf.saddle_to_saddle(*problem)
    monkeypatch.setattr(_orbit, "_MANY_STEPS", 0)
    apart = rf.saddle_to_saddle(*problem)
    assert [leg.final.width for stage in apart.stages for leg in stage.legs].count(5) == 1  # only the first one
    assert apart.times == pytest.approx(together.times, rel=1e-9)
    for one, two in zip(together.stages, apart.stages, strict=True):
        assert one.status.tolist() == two.status.tolist()
        assert (one.sector == two.sector).all()
        assert pytest.approx(two.network.W, abs=1e-8) == one.network.W
        bound = 1e-4 / min(1.0, one.rate[np.concatenate(one.wakes)].min()) if one.wakes else 0.0
        assert one.offset == pytest.approx(two.offset, abs=bound, nan_ok=True)
        idle = np.flatnonzero(np.isin(one.status, ("dead", "rest")))  # they follow signs of errors that are rounding
        assert set_of_events(one, idle) == set_of_events(two, idle)


def set_of_events(stage: saddles.Stage, but: np.ndarray) -> set[tuple[int, int, str]]:
    """Events of the neurons that are infinitesimal on an orbit, but of some."""
    left_out = np.concatenate([stage.grown, *stage.wakes, but])
    found = {(int(e.neuron), int(e.sample), e.kind) for e in stage.carried if e.neuron not in but}
    for leg, rows in zip(stage.legs, stage.rows, strict=True):
        found |= {(int(rows[e.neuron]), int(e.sample), e.kind) for e in leg.events if rows[e.neuron] not in left_out}
    return found


def test_scales_at_which_a_saddle_is_not_reached_in_time_are_told():
    rng = np.random.default_rng(1)
    X, y = rng.integers(-3, 4, (5, 2)).astype(float), rng.integers(-3, 4, 5).astype(float)
    X[0], y[0] = 1.0, 2.0
    path = rf.saddle_to_saddle(rf.Dataset(X, y), rng.standard_normal((6, 2)), rng.choice([-1, 1], 6))
    assert path.predict(1e-30).separated.tolist() == [True, False]
    off, _ = half_times(path, 1e-30)
    assert abs(off[0]) < 1e-12
    assert abs(off[1]) > 1.0  # the neurons that are ten times smaller leave before the way to the saddle is done
    assert path.predict(1e-120).separated.all()
    off, _ = half_times(path, 1e-120)
    assert np.abs(off).max() < 1e-9


def test_jumps_that_come_after_the_next_orbit_has_begun_are_told():
    path = rf.saddle_to_saddle(*of_small_curvature(1e-3))
    said = path.predict(1e-60)
    assert not said.separated.any()
    begins = path.stages[1].ends * np.log(1e60) + path.stages[1].departs
    assert begins < said.times[0]


def test_one_neuron_stands_for_the_grown_ones_of_one_direction(tmp_path):
    rng = np.random.default_rng(1)
    X = rng.standard_normal((6, 3)) * [1.0, 1.0, 1e-3]
    data = rf.Dataset(X, rng.standard_normal(6))
    D = rng.standard_normal((5, 3))
    twice = np.concatenate((D, D + 1e-4 * rng.standard_normal((5, 3))))
    path = rf.saddle_to_saddle(data, twice, [1, -1, 1, -1, 1] * 2)
    alone = rf.saddle_to_saddle(data, D, [1, -1, 1, -1, 1])
    assert path.losses == pytest.approx(alone.losses, abs=1e-9)
    for stage in path.stages[:-1]:
        for leg, rows in zip(stage.legs, stage.rows, strict=True):
            assert leg.final.width == len(rows)
    last = path.stages[0].legs[-1]
    assert last.final.width == len(alone.stages[0].rows[-1])
    path.save(tmp_path / "path.npz")
    back = saddles.SaddlePath.load(tmp_path / "path.npz")
    for one, two in zip(path.stages, back.stages, strict=True):
        assert one.carried == two.carried
        assert [rows.tolist() for rows in one.rows] == [rows.tolist() for rows in two.rows]


def test_a_callback_stops_a_path_and_an_interrupt_keeps_its_stages(monkeypatch):
    problem = of_small_curvature(1e-2)
    whole = rf.saddle_to_saddle(*problem)
    seen = []
    stopped = rf.saddle_to_saddle(*problem, callback=lambda now: seen.append(now) or now.stage == 1)
    assert stopped.status == "stopped_by_callback"
    assert not stopped.success
    assert stopped.times.tolist() == whole.times[:2].tolist()
    assert seen[-1].loss == stopped.losses[1]
    assert str(seen[-1]).startswith("saddle 1 at 1.14")

    def interrupt(now: saddles.SaddleProgress) -> None:
        if now.stage == 1:
            signal.raise_signal(signal.SIGINT)

    broken = rf.saddle_to_saddle(*problem, callback=interrupt)
    assert broken.status == "interrupted"
    assert broken.times.tolist() == whole.times[:2].tolist()
    limit_of = _orbit.limit_of

    def late(data: rf.Dataset, net: rf.Network, loss: str) -> saddles.Stage:
        if np.count_nonzero(net.a) > 2:
            raise KeyboardInterrupt
        return limit_of(data, net, loss)

    monkeypatch.setattr(_orbit, "limit_of", late)  # between the legs
    between = rf.saddle_to_saddle(*problem)
    assert between.status == "interrupted"
    assert between.losses.tolist() == whole.losses[:2].tolist()
    assert between.stages[-1].legs == ()


def test_a_neuron_kept_off_nearly_parallel_boundaries_crosses_no_other():
    # The least shift off the first two is 2,000 times as long as they are away. It crossed the third one, and the next
    # leg of the orbit was refused (digits 0 against 1).
    X = np.array([[1.0, 0.0, 0.0, 0.0], [1.0, 1e-3, 0.0, 0.0], [0.0, -1.0, 1e-6, 1.0]])
    pattern = np.array([[-1, 1, 1]], dtype=np.int8)
    net = rf.Network([[0.0, 0.0, 1.0, 0.0]], [1.0], pattern=pattern)
    moved, found = kept_off(net, X, np.array([False]), 1.0)
    assert found.all()
    assert (pattern * (moved.W @ X.T) > 0).all()
    assert np.abs(moved.W - net.W).max() < 1e-3


@pytest.mark.thorough
def test_digits_are_followed_to_their_end():
    # The second orbit took 30,000 explicit steps a leg: what they leave of layers near the limit of their stability
    # barred late steps. The first one was "lost" where a neuron slides on a boundary that comes to repel.
    digits = pytest.importorskip("sklearn.datasets").load_digits()
    kept = np.isin(digits.target, (3, 8))
    data = rf.Dataset(digits.data[kept] / 16, np.where(digits.target[kept] == 3, 1.0, -1.0))
    rng = np.random.default_rng(0)
    path = rf.saddle_to_saddle(data, rng.standard_normal((10, 64)), np.where(np.arange(10) % 2 == 0, 1, -1))
    assert path.status == "ended"
    assert len(path.stages) == 3
    assert path.end is not None
    assert path.end.certified
    for stage in path.stages:
        assert sum(leg.stats["steps"] for leg in stage.legs) < 3000
