"""`Stop(limit=True)` of K outputs: runs in legs are one run, end with a certificate, and say why where they do not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import reluflow as rf
from reluflow.cli import main

RNG = np.random.default_rng


def problem(seed: int, loss: str) -> tuple[tuple[np.ndarray, np.ndarray], rf.Network]:
    rng = RNG(seed)
    X = rng.standard_normal((9, 4))
    own = np.argmax(X @ rng.standard_normal((4, 3)), axis=1)
    targets = own if loss == "cross_entropy" else rng.standard_normal((9, 3))
    return (X, targets), rf.Network.init(10, 4, outputs=3, scale=0.1, seed=seed)


def integrate(data: Any, net: Any, loss: str, until: rf.Stop, **options: Any) -> rf.flow.TwoLayerSolution:
    found: rf.flow.TwoLayerSolution = rf.integrate(data, net, until=until, loss=loss, **options)  # type: ignore[call-overload]
    return found


@pytest.mark.parametrize(("loss", "seed", "kind"), [("cross_entropy", 0, "direction"), ("squared", 0, "finite")])
def test_a_run_ends_where_its_limit_is_certified(loss: str, seed: int, kind: str) -> None:
    data, net = problem(seed, loss)
    sol = integrate(data, net, loss, rf.Stop(limit=True))
    assert (sol.status, sol.success, sol.message) == ("reached_limit", True, "the limit is certified")
    assert (sol.limit.kind, sol.limit.certified) == (kind, True)
    assert sol.settings["until"] == {"limit": True}
    early = integrate(data, net, loss, rf.Stop(log_time=0.5 * sol.log_t_end))
    assert not early.limit.certified


def test_the_legs_are_one_run() -> None:
    data, net = problem(0, "cross_entropy")
    one = integrate(data, net, "cross_entropy", rf.Stop(log_time=30.0))
    legs = integrate(data, net, "cross_entropy", rf.Stop(limit=True, log_time=30.0))
    assert (legs.status, legs.limit.certified) == ("reached_log_time", False)
    assert legs.log_t_end == one.log_t_end
    for name in ("neuron", "sample", "code", "tie"):
        np.testing.assert_array_equal(getattr(legs.events, name), getattr(one.events, name))
    np.testing.assert_allclose(legs.events.log_t, one.events.log_t, atol=1e-9)
    np.testing.assert_allclose(legs.final.theta, one.final.theta, atol=1e-9)
    assert legs.stats["event_sets"] == one.stats["event_sets"]
    assert (np.diff(legs.log_t) > 0).all()
    for t in (0.7, 3.0, 30.0, 1e4):
        np.testing.assert_allclose(legs(t).theta, one(t).theta, atol=1e-9)
        np.testing.assert_array_equal(legs.pattern(t), one.pattern(t))


def test_other_criteria_end_the_run_first() -> None:
    data, net = problem(0, "cross_entropy")
    assert integrate(data, net, "cross_entropy", rf.Stop(limit=True, events=20)).stats["n_events"] >= 20
    for until in (rf.Stop(limit=True, events=20), rf.Stop(limit=True, time=7.0), rf.Stop(limit=True, steps=30)):
        sol = integrate(data, net, "cross_entropy", until)
        name = next(name for name in until.as_dict() if name != "limit")
        assert (sol.status, sol.success) == (f"reached_{name}", True)
    assert sol.stats["steps"] == 30
    sol = integrate(data, net, "cross_entropy", rf.Stop(limit=True), max_events=20)
    assert (sol.status, len(sol.events) >= 20) == ("max_events", True)


def test_a_run_without_a_certified_limit_says_how_far_it_went(monkeypatch: pytest.MonkeyPatch) -> None:
    from reluflow.flow import _layers_to_limit

    monkeypatch.setattr(_layers_to_limit, "_LOG_TIMES", (1.0, 5.0))
    data, net = problem(0, "cross_entropy")
    sol = integrate(data, net, "cross_entropy", rf.Stop(limit=True))
    assert (sol.status, sol.success) == ("limit_not_certified", False)
    assert sol.message == f"no limit is certified up to log t = 5: {sol.limit.reason}"
    assert sol.log_t_end == pytest.approx(5.0, abs=1e-12)
    further = integrate(data, sol, "cross_entropy", rf.Stop(log_time=6.0))
    assert further.status == "reached_log_time"


def test_a_run_whose_steps_lead_nowhere_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """A sample grows for ever beside two that contradict each other: steps are in proportion to t."""
    from reluflow.flow import _layers_to_limit

    monkeypatch.setattr(_layers_to_limit, "_MOST_STEPS", 300)
    data = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]), [0, 1, 0]
    net = rf.Network.init(6, 2, outputs=2, scale=0.3, seed=0)
    sol = integrate(data, net, "cross_entropy", rf.Stop(limit=True))
    assert (sol.status, sol.success) == ("limit_not_certified", False)
    assert 15.0 < sol.log_t_end < 20.0
    end = f"log t = {sol.log_t_end:.4g}, 300 steps after it was last asked for"
    assert sol.message == f"no limit is certified up to {end}: {sol.limit.reason}"
    for until in (rf.Stop(limit=True, steps=1000), rf.Stop(limit=True, steps=1000, seconds=60.0)):
        longer = integrate(data, net, "cross_entropy", until)
        assert (longer.status, longer.stats["steps"]) == ("reached_steps", 1000)


def test_a_run_can_go_on_to_its_limit_and_is_stored() -> None:
    data, net = problem(0, "cross_entropy")
    half = integrate(data, net, "cross_entropy", rf.Stop(log_time=10.0))
    rest = integrate(data, half, "cross_entropy", rf.Stop(limit=True))
    whole = integrate(data, net, "cross_entropy", rf.Stop(limit=True))
    assert rest.status == whole.status == "reached_limit"
    assert rest.limit.margin == pytest.approx(whole.limit.margin, rel=1e-12)
    assert rest.log_t[0] == half.log_t_end


def test_a_stored_run_to_its_limit_reads_back(tmp_path: Path) -> None:
    data, net = problem(0, "cross_entropy")
    sol = integrate(data, net, "cross_entropy", rf.Stop(limit=True))
    sol.save(tmp_path / "run.npz")
    again: Any = rf.load(tmp_path / "run.npz")
    assert (again.status, again.limit.certified) == ("reached_limit", True)
    np.testing.assert_array_equal(again.events.log_t, sol.events.log_t)
    np.testing.assert_allclose(again(30.0).theta, sol(30.0).theta, atol=1e-12)


def test_an_ensemble_goes_to_its_limits() -> None:
    data, net = problem(0, "cross_entropy")
    nets = [net, rf.Network.init(10, 4, outputs=3, scale=0.1, seed=1)]
    until = rf.Stop(limit=True, log_time=200.0)
    found = rf.integrate_many(data, nets, until=until, loss="cross_entropy", n_threads=1)
    runs: list[Any] = [run.value for run in sorted(found, key=lambda run: run.index)]
    alone = integrate(data, net, "cross_entropy", until)
    assert runs[0].status == alone.status == "reached_limit"
    np.testing.assert_array_equal(runs[0].final.theta, alone.final.theta)
    for run in runs:
        assert run.limit.certified or run.status != "reached_limit"


def test_the_callback_counts_the_whole_run_and_can_end_it() -> None:
    data, net = problem(0, "cross_entropy")
    seen: list[int] = []
    sol = integrate(
        data,
        net,
        "cross_entropy",
        rf.Stop(limit=True),
        callback=lambda report: seen.append(report.steps),
        callback_period=0,
    )
    assert seen == sorted(seen)
    assert seen[-1] <= sol.stats["steps"]
    ended = integrate(
        data, net, "cross_entropy", rf.Stop(limit=True), callback=lambda report: report.log_t > 12, callback_period=0
    )
    assert ended.status == "stopped_by_callback"
    assert 12 < ended.log_t_end < sol.log_t_end


def test_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (X, own), _ = problem(0, "cross_entropy")
    path = tmp_path / "data.csv"
    rows = [",".join(map(repr, map(float, x))) + f",c{k}" for x, k in zip(X, own, strict=True)]
    path.write_text("\n".join(["p,q,r,s,name", *rows]))
    words = ["run", "--data", str(path), "--label", "name", "--loss", "cross_entropy", "--until", "limit=true"]
    words += ["--width", "10", "--scale", "0.1", "--no-figures", "--out", str(tmp_path / "out")]
    with pytest.raises(SystemExit) as end:
        main(words)
    assert end.value.code == 0
    sol: Any = rf.load(tmp_path / "out" / "run.npz")
    assert sol.status in ("reached_limit", "limit_not_certified")
    assert sol.limit.certified == (sol.status == "reached_limit")
    assert sol.status in capsys.readouterr().out


@pytest.mark.parametrize("loss", ["squared", "cross_entropy"])
def test_runs_with_weight_decay_go_on_to_their_critical_point(loss: str) -> None:
    data, net = problem(0, loss)
    sol = integrate(data, net, loss, rf.Stop(limit=True), weight_decay=0.5)
    assert (sol.status, sol.limit.kind, sol.limit.certified) == ("reached_limit", "finite", True)
    assert not integrate(data, net, loss, rf.Stop(log_time=0.0), weight_decay=0.5).limit.certified


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"train": "first"}, "Stop.limit must be left out unless both layers are trained at one rate"),
        ({"rates": (1.0, 2.0)}, "Stop.limit must be left out unless both layers are trained at one rate"),
        ({"save_at": [1.0]}, "save_at must be left out where Stop.limit is given"),
        ({"save_at_log": [1.0]}, "save_at must be left out where Stop.limit is given"),
    ],
)
def test_what_it_does_not_go_with_is_said(options: dict[str, Any], message: str) -> None:
    data, net = problem(0, "squared")
    with pytest.raises(ValueError, match=message):
        integrate(data, net, "squared", rf.Stop(limit=True), **options)
