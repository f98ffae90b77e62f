"""The benchmarks check an answer before they time it, and keep what they measured."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import against
import fitted
import growth
import layers
import own
import plan
import points
import regression
import reluflow as rf
import tables
from points import Case, Point
from store import Progress, Store

SMALL = Case("P1", 1.0, (1e-2, 1e-3), ("scipy RK45",), 20.0)
RIGHT = points.stored(SMALL)
EFFORT = plan.Effort(flow_rtols=(1e-5, 1e-9), peer_rtols=(1e-4, 1e-6))


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "bench.json", {"code": "a"}, resume=False, say=Progress())


@pytest.mark.slow
def test_every_method_comes_closer_with_a_tighter_setting(store: Store) -> None:
    result = against.compare(SMALL, EFFORT, store)
    assert result.default.error < 1e-8
    assert result.n_events == len(RIGHT.event_t) == result.default.n_events
    assert [p.setting for p in result.flow] == [1e-5, 1e-9]
    assert result.euler[1].error < 0.2 * result.euler[0].error
    loose, tight = result.peers
    assert tight.error < loose.error < 0.1
    assert [p.method for p in result.peers] == ["scipy RK45"] * 2
    again = against.compare(SMALL, EFFORT, Store(store.path, {"code": "a"}, resume=True, say=Progress()))
    assert again == result  # nothing is measured twice


@pytest.mark.parametrize(
    "wrong",
    [
        lambda right: replace(right, W=right.W + 1e-3),
        lambda right: replace(right, event_t=np.append(right.event_t, 1.0)),
        lambda right: replace(right, event_t=right.event_t * (1 + 1e-4)),
    ],
    ids=["state", "number of events", "times of events"],
)
def test_a_wrong_answer_is_not_timed(wrong: Callable[[points.Target], points.Target]) -> None:
    own.checked(SMALL, RIGHT)
    with pytest.raises(SystemExit, match="P1, t = 1 is wrong"):
        own.checked(SMALL, wrong(RIGHT))


def test_a_wrong_answer_of_the_squared_loss_is_not_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    assert regression.measured("S2")["n_events"] == 130
    right = regression.problems.reference("S2")
    monkeypatch.setattr(regression.problems, "reference", lambda name: replace(right, event_t=right.event_t * 1.001))
    with pytest.raises(SystemExit, match="S2 is wrong"):
        regression.checked("S2")


@pytest.mark.parametrize("name", ["D2", "quiet"])
def test_a_wrong_answer_of_layers_is_not_timed(name: str) -> None:
    start = layers.load(name)
    theta, event_t = layers.target(start)
    assert layers.checked(name, start, (theta, event_t))["n_events"] == len(event_t)
    with pytest.raises(SystemExit, match=f"{name} is wrong"):
        layers.checked(name, start, (theta * (1 + 1e-6), event_t))
    with pytest.raises(SystemExit, match=f"{name} is wrong"):
        layers.checked(name, start, (theta, np.append(event_t, start.end)))


def test_the_velocity_that_scipy_gets_is_that_of_the_flow() -> None:
    for name in ("D1", "ten", "quiet"):
        start = layers.load(name)
        short = start.end * 1e-6
        sol = rf.integrate(start.data, start.net, until=short, loss=start.loss, reduction=start.reduction)
        slope = (sol.final.theta - start.net.theta) / short
        velocity = layers.velocity_of(start, np.inf)(0.0, start.net.theta)
        assert np.linalg.norm(slope - velocity) < 1e-3 * np.linalg.norm(velocity)


def test_the_velocity_that_diffrax_gets_is_that_of_scipy() -> None:
    pytest.importorskip("diffrax")
    from peers.layered_with_diffrax import velocity_of

    for name in ("D2", "ten", "quiet"):
        start = layers.load(name)
        velocity = layers.velocity_of(start, np.inf)(0.0, start.net.theta)
        assert np.linalg.norm(velocity_of(start)(start.net.theta) - velocity) < 1e-12 * np.linalg.norm(velocity)


@pytest.mark.parametrize("wrong", ["gradient_norm", "relative_error"])
def test_a_wrong_fit_is_not_timed(wrong: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, size in (("N", 12), ("M", 8)):
        monkeypatch.setattr(fitted, name, size)
    row = fitted.measured(1.0)
    assert (row.status, row.n_events) == ("reached_mean_loss", row.n_tight)
    assert row.gradient < fitted.MAX_GRADIENT
    home = fitted if wrong == "gradient_norm" else fitted.rf.analysis
    monkeypatch.setattr(home, wrong, lambda *_: 1e-6)
    with pytest.raises(SystemExit, match="scale 1 is wrong"):
        fitted.measured(1.0)


def test_the_gradient_of_a_fit_is_that_of_finite_differences() -> None:
    samples = fitted.data()
    net = rf.Network.init(3, fitted.D, scale=1.0, seed=1)
    theta = np.column_stack((net.W, net.a))

    def loss(values: np.ndarray) -> float:
        return 0.5 * float(((rf.Network(values[:, :-1], values[:, -1])(samples.X) - samples.y) ** 2).sum())

    found = np.zeros_like(theta)
    for place in np.ndindex(theta.shape):
        step = np.zeros_like(theta)
        step[place] = 1e-6
        found[place] = (loss(theta + step) - loss(theta - step)) / 2e-6
    assert fitted.gradient_norm(net, samples) == pytest.approx(float(np.linalg.norm(found)), rel=1e-6)


def test_a_late_run_holds_the_events_of_the_reference(monkeypatch: pytest.MonkeyPatch) -> None:
    row = own.late("P1", 1e4, 1e-9)
    assert (row.n_events, row.status) == (10, "reached_log_time")
    assert row.error < 1e-9
    right = own.problems.reference("P1")
    monkeypatch.setattr(own.problems, "reference", lambda name: replace(right, event_t=right.event_t * 1.001))
    with pytest.raises(SystemExit, match="P1 to log t = 10000 is wrong"):
        own.late("P1", 1e4, 1e-9)


def test_the_error_of_event_times_is_of_the_first_ones_in_order() -> None:
    known = np.array([1.0, 2.0, 4.0])
    assert points.event_error(np.array([2.0, 1.001]), known) == pytest.approx(1e-3)
    assert points.event_error(np.array([]), known) == 0.0
    assert points.event_error(np.array([1.0, 2.0, 4.0, 4.0]), known) == np.inf


def test_a_short_run_is_timed_in_batches() -> None:
    calls: list[int] = []
    result, seconds = points.timed(lambda: calls.append(1) or len(calls), max_repeats=2)
    assert result == len(calls) > 100
    assert seconds < 1e-3


def test_an_interrupted_bench_goes_on_where_it_was(store: Store) -> None:
    assert store.measure("a", lambda: 1) == 1

    def stop() -> Any:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        store.measure("b", stop)
    later = Store(store.path, {"code": "a"}, resume=True, say=Progress())
    assert later.measure("a", stop) == 1
    assert later.measure("b", lambda: 2) == 2
    assert later.sittings == 2
    assert json.loads(store.path.read_text(encoding="utf-8"))["records"] == {"a": 1, "b": 2}
    assert list(store.path.parent.iterdir()) == [store.path]


def test_numbers_of_other_code_are_not_mixed_in(store: Store) -> None:
    store.measure("a", lambda: 1)
    assert Store(store.path, {"code": "b"}, resume=True, say=Progress()).records == {}
    assert Store(store.path, {"code": "a"}, resume=False, say=Progress()).records == {}


def test_a_point_survives_the_file_with_an_infinite_error() -> None:
    point = Point("scipy RK45", 1e-4, np.inf, 2.0, 7, 0.5, ended="time limit")
    extra = replace(point, error=1e-3, n_events=11, event_error=np.inf, ended="finished")
    assert Point.from_json(json.loads(json.dumps(extra.as_json(), allow_nan=False))).event_error is None
    assert Point.from_json(json.loads(json.dumps(point.as_json(), allow_nan=False))) == point
    assert not point.finished


@pytest.mark.slow
def test_peak_memory_is_that_of_this_process() -> None:
    record = growth.measured("size", 60, 5, 10, seconds=60.0)
    assert 0.02 < record["memory"] < growth.peak() + 0.2
    block = np.ones(2**27)  # one GiB, in the parent
    again = growth.measured("size", 60, 5, 10, seconds=60.0)
    assert again["memory"] < 0.5 < growth.peak()
    assert block[-1] == 1.0


@pytest.mark.slow
def test_the_quick_bench_writes_the_whole_page(tmp_path: Path) -> None:
    against.main(["--quick", "--out", str(tmp_path)])
    text = (tmp_path / "benchmarks.md").read_text(encoding="utf-8")
    for title in (
        "Time for equal error",
        "Low accuracy",
        "What each peer missed",
        "Growth with the sizes",
        "The squared loss",
        "Two threads",
    ):
        assert f"## {title}" in text
    for name in ("P1", "P2"):
        assert (tmp_path / "benchmarks" / f"{name}.png").read_bytes().startswith(b"\x89PNG")
    records = json.loads((tmp_path / "bench.json").read_text(encoding="utf-8"))["records"]
    assert records["growth | size | n = 500, d = 20, m = 20"]["n_events"] >= plan.QUICK.large[-1]
    assert records["growth | whole | n = 500, d = 20, m = 20, rtol = 0.001"]["n_events"] > plan.QUICK.large[-1]
    assert tables.TARGETS[0] == 1e-3
