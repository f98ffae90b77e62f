"""Ensembles and classes whose runs end where their limits are certified: the single runs, bit for bit."""

from __future__ import annotations

import signal
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import numpy as np
import pytest

import reluflow as rf

DATA = rf.datasets.wang_pilanci("obtuse")
UNTIL = rf.Stop(limit=True)
NETS = [rf.Network.init(6, 2, scale=1e-2, seed=seed) for seed in range(4)]
THREE = rf.datasets.MultiClassDataset([[2.0, 0.1], [0.1, 2.0], [-1.0, -1.0]], [3, 5, 8])


def norm_of(sol: rf.Solution) -> tuple[str, bool, float]:
    return sol.status, sol.limit.certified, sol.limit.margin


def test_each_run_of_an_ensemble_is_the_single_run() -> None:
    for run, net in zip(rf.integrate_many(DATA, NETS, until=UNTIL, n_threads=2).in_order(), NETS, strict=True):
        alone = rf.integrate(DATA, net, until=UNTIL, n_threads=1)
        assert run.result.status == alone.status == "reached_limit"
        assert np.array_equal(run.result.final.W, alone.final.W)
        assert len(run.result.events) == len(alone.events)
        assert run.result.limit.certified


def test_without_steps_the_ends_are_the_same_and_states_come_from_the_start() -> None:
    [run] = rf.integrate_many(DATA, NETS[:1], until=UNTIL, keep="final").collect()
    alone = rf.integrate(DATA, NETS[0], until=UNTIL)
    assert np.array_equal(run.result.final.W, alone.final.W)
    assert len(run.result.t) < len(alone.t)
    assert pytest.approx(alone(20.0).W, rel=1e-8) == run.result(20.0).W


def test_runs_are_reduced_here_and_at_a_worker() -> None:
    here = [run.result for run in rf.integrate_many(DATA, NETS, until=UNTIL, reduce=norm_of).collect()]
    assert [status for status, *_ in here] == ["reached_limit"] * 4
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        there = rf.integrate_many(DATA, NETS, until=UNTIL, executor=pool, reduce=norm_of).collect()
    assert [run.result for run in there] == here


def test_what_goes_wrong_in_one_run_is_its_error() -> None:
    start = rf.Network([[0.0, 0.0]], [1.0])
    runs = rf.integrate_many(DATA, [start, NETS[0]], until=UNTIL, on_branch="raise").collect()
    assert isinstance(runs[0].error, rf.BranchingError)
    assert runs[1].result.status == "reached_limit"
    with pytest.raises(ValueError, match="rtol must"):
        rf.integrate_many(DATA, NETS, until=UNTIL, rtol=2.0)


def test_a_stop_ends_the_runs_that_are_left() -> None:
    runs = rf.integrate_many(DATA, NETS * 20, until=UNTIL, n_threads=1)
    first = next(runs)
    runs.stop()
    left = list(runs)
    assert first.result.success
    assert len(left) < len(NETS) * 20 - 1
    assert {run.result.status for run in left} <= {"reached_limit", "interrupted"}


def test_every_class_ends_with_its_limit() -> None:
    start = rf.Network.init(8, 2, classes=3, seed=1)
    seen: list[tuple[int, int]] = []
    sol = rf.integrate(THREE, start, until=UNTIL, callback=lambda now: seen.append((now.done, now.running[0][0])))
    assert sol.status == "reached_limit"
    for k in range(3):
        alone = rf.integrate(THREE.binary(k), start[k], until=UNTIL)
        assert np.array_equal(sol[k].final.W, alone.final.W)
        assert sol[k].limit.certified
    assert all(done == index for done, index in seen)


def long_run(callback: object) -> rf.flow.MultiClassSolution:
    """Three classes, of which the first takes a second; the callback is called after a tenth."""
    data = rf.datasets.iris()
    start = rf.Network.init(4000, 4, classes=3, seed=1, scale=1e-8)
    return rf.integrate(data, start, until=UNTIL, callback=callback, n_threads=1)  # type: ignore[arg-type]


def test_a_callback_that_says_so_ends_all_classes() -> None:
    sol = long_run(lambda now: True)
    assert sol.status == "stopped_by_callback"
    assert max(sol[k].stats["steps"] for k in (1, 2)) <= 1


def test_ctrl_c_ends_all_classes_with_what_there_is() -> None:
    sol = long_run(lambda now: now.steps > 0 and signal.raise_signal(signal.SIGINT))
    assert sol.status == "interrupted"
    assert sol[0].stats["steps"] > 0
    assert max(sol[k].stats["steps"] for k in (1, 2)) <= 1
