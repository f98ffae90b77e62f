"""Threads inside one run: the same bits for any number, and every way to end a run still works."""

from __future__ import annotations

import _thread
import multiprocessing
import os
import threading
from typing import Any

import numpy as np
import pytest

import reluflow as rf
from toys import digits_like

THREADS = (2, 3)


def wide(leak: float = 0.0, seed: int = 3) -> tuple[rf.Dataset, rf.Network]:
    """Wide enough for several ranges of neurons, several pieces of every loop, and for threads to be used."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((70, 30))
    X[1] = 2.0 * X[0]  # one boundary of two samples
    y = np.where(rng.random(70) < 0.5, -1.0, 1.0)
    return rf.Dataset(X, y), rf.Network.init(1000, 30, scale=1e-3, leak=leak, seed=seed)


def same(one: rf.Solution, other: rf.Solution) -> bool:
    arrays = ("t", "log_t", "W", "a", "log_loss", "pattern0")
    equal = all(np.array_equal(getattr(one, name), getattr(other, name)) for name in arrays)
    counts = all(one.stats[name] == other.stats[name] for name in ("steps", "orders", "late_steps", "event_sets"))
    return equal and counts and one.events == other.events and one.final == other.final and one.status == other.status


CASES: dict[str, dict[str, Any]] = {
    "many events": {"until": rf.Stop(events=800)},
    "leaky": {"until": rf.Stop(events=800), "leak": 0.2},
    "with saved times": {"until": 0.0015, "save_at": [0.0001, 0.001, 0.0015]},
    "loose": {"until": rf.Stop(events=800), "rtol": 1e-4},
}


@pytest.mark.parametrize("name", CASES)
def test_any_number_of_threads_gives_the_same_bits(name: str) -> None:
    options = dict(CASES[name])
    data, net = wide(options.pop("leak", 0.0))
    one = rf.integrate(data, net, **options, n_threads=1)
    assert one.stats["threads"] == 1
    assert len(one.events) > 100
    for n_threads in THREADS:
        several = rf.integrate(data, net, **options, n_threads=n_threads)
        assert several.stats["threads"] == n_threads
        assert same(one, several), n_threads


@pytest.mark.slow
def test_threads_agree_while_boundaries_are_held_and_groups_form() -> None:
    data, net = wide()
    one = rf.integrate(data, net, until=0.03, n_threads=1)
    counts = one.events.counts()
    assert counts["slide"] > 100
    assert counts["leave_up"] + counts["leave_down"] > 100
    for n_threads in (2, 3):
        assert same(one, rf.integrate(data, net, until=0.03, n_threads=n_threads))


def test_a_small_run_takes_one_thread_whatever_is_asked() -> None:
    assert rf.integrate(*digits_like(), until=1.0, n_threads=4).stats["threads"] == 1


def test_all_cores_are_the_default() -> None:
    data, net = wide()
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    assert rf.integrate(data, net, until=1e-5).stats["threads"] == cores


def test_ctrl_c_ends_a_run_on_threads() -> None:
    data, net = wide()
    timer = threading.Timer(0.3, _thread.interrupt_main)
    timer.start()
    sol = rf.integrate(data, net, until=1e3, n_threads=3)
    timer.join()
    assert sol.status == "interrupted"
    assert 0 < sol.t_end < 1e3


def test_an_exception_of_the_callback_leaves_no_thread_behind() -> None:
    data, net = wide()

    def complain(progress: rf.flow.Progress) -> None:
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        rf.integrate(data, net, until=1e3, n_threads=3, callback=complain)
    assert rf.integrate(data, net, until=1e-5, n_threads=3).success


def _end_of_a_run(_: int) -> float:
    data, net = wide()
    return float(rf.integrate(data, net, until=1e-5, n_threads=2).log_loss_end)


# Other libraries have threads where their tests ran before: newer Pythons say so, and jax does.
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded")
@pytest.mark.filterwarnings("ignore:os.fork")
def test_a_forked_process_has_threads_of_its_own() -> None:
    expected = _end_of_a_run(0)
    with multiprocessing.get_context("fork").Pool(1) as pool:
        assert pool.map_async(_end_of_a_run, [0]).get(timeout=60) == [expected]


@pytest.mark.parametrize("n_threads", [0, 1.5, True, "2"])
def test_a_bad_number_of_threads_is_named(n_threads: Any) -> None:
    with pytest.raises(ValueError, match="n_threads must be an integer of at least 1, found"):
        rf.integrate(*digits_like(), until=1.0, n_threads=n_threads)
