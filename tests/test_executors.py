"""Ensembles on executors, and in processes that fork: the same bits, errors that stay with their run, nothing hangs."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import Any

import cloudpickle
import numpy as np
import pytest

import reluflow as rf

DATA = rf.datasets.wang_pilanci("obtuse")
NETS = [rf.Network.init(10, 2, scale=1e-2, seed=seed) for seed in range(5)]


class AsSent(Executor):
    """Runs a task at once, as a worker would see it: from its bytes, and back through bytes."""

    def __init__(self) -> None:
        self.tasks: list[Any] = []

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        self.tasks.append(args[0])
        sent, arguments = cloudpickle.loads(cloudpickle.dumps((fn, args)))
        try:
            future.set_result(cloudpickle.loads(cloudpickle.dumps(sent(*arguments))))
        except Exception as error:
            future.set_exception(error)
        return future


class Broken(AsSent):
    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        if 2 in args[0].indices:
            future: Future[Any] = Future()
            future.set_exception(RuntimeError("the worker is gone"))
            return future
        return super().submit(fn, *args, **kwargs)


class Busy(AsSent):
    """Does the first task; the others wait for ever."""

    def __init__(self) -> None:
        super().__init__()
        self.waiting: list[Future[Any]] = []

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        if not self.tasks:
            return super().submit(fn, *args, **kwargs)
        self.waiting.append(Future())
        return self.waiting[-1]


def test_a_run_on_an_executor_has_the_bits_of_the_run_alone() -> None:
    runs = rf.integrate_many(DATA, NETS, until=1e3, executor=AsSent()).collect()
    for net, run in zip(NETS, runs, strict=True):
        alone = rf.integrate(DATA, net, until=1e3)
        assert (run.result.final, run.result.events) == (alone.final, alone.events)


def test_runs_are_packed_and_reduced_at_the_worker() -> None:
    executor = AsSent()
    here = os.getpid()
    runs = rf.integrate_many(
        DATA, NETS, until=10.0, executor=executor, chunk=2, reduce=lambda sol: (len(sol.t), os.getpid() == here)
    ).collect()
    assert [len(task.indices) for task in executor.tasks] == [2, 2, 1]
    assert [run.index for run in runs] == [0, 1, 2, 3, 4]
    assert all(run.value[0] > 1 and run.value[1] for run in runs)


def test_an_error_stays_with_its_run_and_a_lost_task_with_its_runs() -> None:
    def fail(sol: rf.Solution) -> float:
        return 1.0 / (not np.array_equal(sol.initial.W, NETS[1].W))

    errors = [run.error for run in rf.integrate_many(DATA, NETS, until=1.0, executor=AsSent(), reduce=fail).collect()]
    assert [type(error) for error in errors] == [type(None), ZeroDivisionError, *[type(None)] * 3]
    lost = rf.integrate_many(DATA, NETS, until=1.0, executor=Broken(), chunk=2).collect()
    assert [str(run.error) for run in lost] == ["None", "None", *["the worker is gone"] * 2, "None"]


def test_stopping_cancels_what_has_not_begun() -> None:
    executor = Busy()
    runs = rf.integrate_many(DATA, NETS, until=1e3, executor=executor)
    first = next(runs)
    runs.stop()
    assert [run.index for run in [first, *runs]] == [0]
    assert executor.waiting
    assert all(future.cancelled() for future in executor.waiting)


def test_a_callback_sees_the_runs_that_are_done() -> None:
    seen: list[rf.flow.ManyProgress] = []
    runs = rf.integrate_many(DATA, NETS, until=1e3, executor=AsSent(), chunk=1, callback=seen.append)
    assert len(runs.collect()) == 5
    assert (seen[-1].total, seen[-1].running) == (5, ())
    assert seen[-1].done <= 5


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"executor": 4}, "executor must have a method submit, as concurrent.futures.Executor, found int"),
        ({"executor": AsSent(), "n_threads": 2}, "n_threads must be left out where an executor is given, found 2"),
        ({"chunk": 2}, "chunk must be left out without an executor, found 2"),
        ({"executor": AsSent(), "chunk": 0}, "chunk must be an integer of at least 1, found 0"),
    ],
)
def test_bad_options_are_named(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match="must") as caught:
        rf.integrate_many(DATA, NETS, until=1.0, **given)
    assert str(caught.value) == message


FORKED = """
import os, sys, warnings
import reluflow as rf
warnings.simplefilter("ignore")  # newer Pythons warn of a fork beside threads, which is what this is about
data = rf.datasets.wang_pilanci("obtuse")
nets = [rf.Network.init(10, 2, scale=1e-2, seed=seed) for seed in range(20)]
runs = rf.integrate_many(data, nets, until=1e4, n_threads=2)
next(runs)
child = os.fork()
if child == 0:
    for use in (lambda: next(runs), lambda: runs.stop(), lambda: runs.interrupted):
        try:
            use()
        except RuntimeError as error:
            print(error, flush=True)
    own = rf.integrate_many(data, nets[:2], until=1.0, n_threads=2).collect()
    print(len(own), flush=True)
    sys.exit(0)  # with all destructors
_, status = os.waitpid(child, 0)
print(os.waitstatus_to_exitcode(status), len(runs.collect()))
"""


def test_a_forked_child_is_told_that_the_runs_are_not_its_own() -> None:
    ended = subprocess.run([sys.executable, "-c", FORKED], capture_output=True, text=True, timeout=60, check=True)
    lines = ended.stdout.splitlines()
    assert [line.partition(":")[0] for line in lines[:3]] == ["these runs belong to the process that began them"] * 3
    assert lines[3:] == ["2", "0 19"]
