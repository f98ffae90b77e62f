"""The peers solve the same problem, stop in time, and their answers are judged."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import points
import problems
import reluflow as rf
from peers import WAYS, sweep, with_scipy, worker
from peers.rhs import Flow
from peers.run import Answer, Budget
from points import Case

RESTARTED = "scipy DOP853 + events"


def prepared(label: str, name: str, t: float) -> worker.Run:
    return with_scipy.prepare(WAYS[label], problems.load(name), t)


@pytest.mark.parametrize("fused", [True, False])
def test_the_velocity_of_the_peers_is_one_euler_step_of_descent(fused: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    from peers import rhs

    monkeypatch.setattr(rhs, "middle", lambda: rhs._loop if fused else rhs._numpy_middle)
    flow = Flow(problems.load("P1"))
    data, net = points.start("P1")
    after = rf.descend(data, net, step=1e-3, n_steps=1).final
    expected = np.concatenate([after.W.ravel(), after.a])
    np.testing.assert_allclose(flow.theta + 1e-3 * flow.value(0.0, flow.theta), expected, rtol=1e-12, atol=1e-18)
    frozen = np.empty_like(flow.theta)
    S = flow.S.copy()
    flow(0.0, flow.theta, frozen, S)
    np.testing.assert_array_equal(frozen, flow.value(0.0, flow.theta))


def test_restarting_at_events_finds_them_all_where_none_is_held() -> None:
    case = Case("P1", 1e4, ())
    answer = prepared(RESTARTED, "P1", case.t)(1e-8, Budget(30.0))
    point = worker.judged(answer, WAYS[RESTARTED], 1e-8, points.stored(case), (1.0, 0.0))
    assert (point.n_events, point.ended) == (10, "finished")
    assert point.error < 1e-6
    assert point.event_error is not None
    assert point.event_error < 1e-6


def test_restarting_at_events_chatters_where_a_neuron_is_held() -> None:
    answer = prepared(RESTARTED, "P1s", 1e4)(1e-6, Budget(30.0))
    assert answer.ended == "chatters at a held boundary"
    point = worker.judged(answer, WAYS[RESTARTED], 1e-6, points.stored(Case("P1s", 1e4, ())), (1.0, 0.0))
    assert point.error == np.inf
    assert point.event_error is None  # more events than there are


def test_a_run_ends_when_its_seconds_are_over() -> None:
    for label in ("scipy RK45", RESTARTED):
        answer = prepared(label, "P1", 1e4)(1e-8, Budget(0.0))
        assert answer.ended == "time limit"
        assert answer.reached < 1e4


def test_a_state_that_is_not_finite_has_no_error() -> None:
    right = points.stored(Case("P1", 1.0, ()))
    answer = Answer(np.full(right.W.size + right.a.size, np.nan), 1.0, 3)
    point = worker.judged(answer, WAYS["scipy RK45"], 1e-4, right, (1.0, 0.0))
    assert point.error == np.inf
    assert not point.finished


def test_a_peer_that_fails_or_is_ended_from_outside_says_why() -> None:
    import signal

    assert sweep.ended(-signal.SIGPROF, True, "") == "time limit"
    assert sweep.ended(-signal.SIGPROF, False, "") == "not compiled in time"
    assert sweep.ended(1, True, "Traceback\nValueError: no\n") == "failed: ValueError: no"


@pytest.mark.slow
def test_a_peer_in_its_own_process_is_ended_by_its_processor_time(tmp_path: Path) -> None:
    case = Case("P1", 1.0, ())
    target = tmp_path / "target.npz"
    sweep.write_target(target, points.stored(case))
    (point,) = sweep.sweep("scipy RK45", case, (1e-4,), target, (5.0, 1e-3))
    assert point.ended == "not compiled in time"
    good, *_ = sweep.sweep("scipy RK45", case, (1e-4, 1e-6), target, (5.0, 60.0))
    assert good.error < 0.1
