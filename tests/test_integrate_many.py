"""Ensembles of runs on threads: same bits, bounded memory, errors and Ctrl-C that lose nothing."""

from __future__ import annotations

import _thread
import gc
import threading
import weakref
from typing import Any

import numpy as np
import pytest

import reluflow as rf
from toys import digits_like, long_run, on_a_ridge

DATA = rf.datasets.wang_pilanci("obtuse")
NETS = [rf.Network.init(10, 2, scale=1e-2, seed=seed) for seed in range(12)]


def ensemble(**options: Any) -> rf.flow.Runs:
    return rf.integrate_many(DATA, NETS, **{"until": 1e4, **options})


@pytest.mark.parametrize("n_threads", [1, 2, 3, 40])
def test_every_run_has_the_bits_of_the_run_alone(n_threads: int) -> None:
    runs = ensemble(n_threads=n_threads).collect()
    assert [run.index for run in runs] == list(range(12))
    for net, run in zip(NETS, runs, strict=True):
        alone = rf.integrate(DATA, net, until=1e4)
        assert run.result.final == alone.final
        assert run.result.events == alone.events
        assert np.array_equal(run.result.W, alone.W)


def test_each_network_may_have_its_own_data() -> None:
    problems = [digits_like(seed=seed) for seed in range(3)]
    data, nets = [data for data, _ in problems], [net for _, net in problems]
    for run in rf.integrate_many(data, nets, until=2.0, n_threads=2):
        assert run.value.final == rf.integrate(data[run.index], nets[run.index], until=2.0).final


def test_runs_come_as_they_end() -> None:
    data, net = digits_like(n=200, d=40, width=60)
    until = rf.Stop(time=10.0, events=1000)
    order = [run.index for run in rf.integrate_many([data, DATA], [net, NETS[0]], until=until, n_threads=2)]
    assert order == [1, 0]


def test_runs_come_in_the_order_of_the_networks_when_asked() -> None:
    data, net = digits_like(n=200, d=40, width=60)
    problems, nets = [data, DATA, DATA], [net, NETS[0], NETS[1]]
    runs = rf.integrate_many(problems, nets, until=rf.Stop(time=10.0, events=1000), n_threads=2)
    assert [run.index for run in runs.in_order()] == [0, 1, 2]


def test_solutions_are_continued() -> None:
    first = [run.result for run in ensemble(until=10.0).collect()]
    for run in rf.integrate_many(DATA, first, until=100.0):
        assert run.result.t_start == 10.0
        assert run.result.final == rf.integrate(DATA, first[run.index], until=100.0).final


@pytest.mark.parametrize(("first", "then"), [(1e9, 2e10), (5e10, 1e11), (1e40, 1e41)])
def test_solutions_are_continued_with_the_same_bits_at_any_log_time(first: float, then: float) -> None:
    sol = rf.integrate(DATA, NETS[1], until=rf.Stop(log_time=first))
    until = rf.Stop(log_time=then)
    alone = rf.integrate(DATA, sol, until=until)
    (run,) = rf.integrate_many(DATA, [sol], until=until)
    assert run.result.final == alone.final
    assert np.array_equal(run.result.log_t, alone.log_t)


def test_a_solution_at_rest_is_continued_without_a_step() -> None:
    data = rf.datasets.MultiClassDataset(np.repeat(np.eye(3), 3, axis=0), [0, 1, 2] * 3)
    sol = rf.integrate(data, rf.Network.init(4, 3, classes=3, scale=1.0, seed=1), until=1e6)
    later = rf.integrate(data, sol, until=1e7)
    (run,) = rf.integrate_many(data.binary(0), [sol[0]], until=1e7)
    assert (later[0].stats["steps"], run.result.stats["steps"]) == (0, 0)
    assert later[0].final == run.result.final == sol[0].final


def test_the_end_alone_can_be_kept() -> None:
    data, net = digits_like()
    (run,) = rf.integrate_many(data, [net], until=3.0, keep="final")
    whole = rf.integrate(data, net, until=3.0)
    sol = run.result
    assert (sol.t.tolist(), sol.W.shape) == ([3.0], (1, *net.W.shape))
    assert sol.final == whole.final
    assert sol.events == whole.events
    assert sol.log_loss[0] == whole.log_loss_end
    assert rf.analysis.relative_error(sol(1.5), whole(1.5)) < 1e-8
    (saved,) = rf.integrate_many(data, [net], until=3.0, keep="final", save_at=[1.0, 2.0])
    assert saved.result.t.tolist() == [1.0, 2.0]


def test_a_reduced_run_leaves_no_solution_behind() -> None:
    alive: list[weakref.ref[rf.Solution]] = []

    def last_loss(sol: rf.Solution) -> float:
        alive.append(weakref.ref(sol))
        return sol.log_loss_end

    runs = ensemble(reduce=last_loss, n_threads=2).collect()
    gc.collect()
    assert len(alive) == 12
    assert all(link() is None for link in alive)
    assert [run.value for run in runs] == [run.value.log_loss_end for run in ensemble().collect()]


def test_an_error_of_one_run_loses_no_other() -> None:
    def picky(sol: rf.Solution) -> int:
        if sol.initial.W[0, 0] == NETS[3].W[0, 0]:
            raise KeyError("three")
        return len(sol.events)

    runs = ensemble(reduce=picky).collect()
    assert [run.index for run in runs if run.error is not None] == [3]
    assert isinstance(runs[3].error, KeyError)
    assert runs[4].value == len(rf.integrate(DATA, NETS[4], until=1e4).events)
    with pytest.raises(KeyError):
        _ = runs[3].result


def test_a_branch_point_is_the_error_of_its_run() -> None:
    data, ridge = on_a_ridge()
    runs = rf.integrate_many(data, [ridge, rf.Network([[1.0, 1.0]], [1.0])], until=1.0, on_branch="raise").collect()
    assert isinstance(runs[0].error, rf.BranchingError)
    assert runs[0].error.solution.status == "branch"
    assert runs[1].result.status == "reached_time"


@pytest.mark.parametrize("n_threads", [1, 2])
def test_ctrl_c_gives_what_is_done(n_threads: int) -> None:
    data, net = long_run()
    timer = threading.Timer(0.3, _thread.interrupt_main)
    runs = rf.integrate_many([DATA, data, data, data], [NETS[0], net, net, net], until=1e3, n_threads=n_threads)
    timer.start()
    found = runs.collect()
    timer.join()
    assert runs.interrupted
    assert found[0].result.status == "reached_time"
    assert [run.result.status for run in found[1:]] == ["interrupted"] * n_threads
    assert found[-1].result.t_end < 1e3


def test_the_callback_counts_the_runs_and_stops_them() -> None:
    data, net = long_run()
    seen: list[rf.flow.ManyProgress] = []

    def enough(progress: rf.flow.ManyProgress) -> bool:
        seen.append(progress)
        return len(seen) == 2

    runs = rf.integrate_many([DATA, data], [NETS[0], net], until=1e3, callback=enough, n_threads=2)
    assert [run.result.status for run in runs.collect()] == ["reached_time", "stopped_by_callback"]
    assert not runs.interrupted
    assert (seen[-1].done, seen[-1].total) == (1, 2)
    assert str(seen[-1]).startswith("1 of 2 runs done, 1 under way")


def test_the_caller_can_stop() -> None:
    data, net = long_run()
    runs = rf.integrate_many(data, [net] * 5, until=rf.Stop(events=300), n_threads=1)
    first = next(runs)
    runs.stop()
    assert first.result.status == "reached_events"
    assert runs.collect() == []


def test_no_network_is_no_run() -> None:
    assert rf.integrate_many(DATA, [], until=1.0).collect() == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"nets": NETS[0]}, "nets must be a sequence of Networks or Solutions, found a value of type Network"),
        ({"nets": [1]}, "nets[0] must be a Network or a Solution, found a value of type int"),
        ({"nets": [NETS[0], rf.Network([[1.0]], [1.0])]}, "net must have dim 2, the columns of X, found dim 1"),
        ({"data": [DATA]}, "data must hold one Dataset for each of the 12 nets, found 1"),
        ({"data": 3}, "data must be a Dataset or a sequence of them, found a value of type int"),
        ({"keep": "some"}, "keep must be one of 'all', 'final', found 'some'"),
        ({"reduce": 3}, "reduce must be None or callable, found a value of type int"),
        ({"n_threads": 0}, "n_threads must be an integer of at least 1, found 0"),
        ({"rtol": 2.0}, "rtol must lie in [1e-14, 1), found 2.0"),
        ({"nets": [], "rtol": 2.0}, "rtol must lie in [1e-14, 1), found 2.0"),
    ],
)
def test_a_bad_argument_is_named_before_any_run(options: dict[str, Any], message: str) -> None:
    arguments = {"data": DATA, "nets": NETS, "until": 1.0, **options}
    with pytest.raises(ValueError, match="must") as caught:
        rf.integrate_many(arguments.pop("data"), arguments.pop("nets"), **arguments)
    assert str(caught.value) == message


def test_an_ensemble_that_nobody_waits_for_ends_and_lets_go() -> None:
    data, net = long_run()
    runs = rf.integrate_many(data, [net] * 4, until=1e3, n_threads=2)
    link = weakref.ref(net)
    del runs, net
    gc.collect()
    assert link() is None
