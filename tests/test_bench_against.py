"""The comparison with Euler and scipy: what it measures, how it extrapolates, what it writes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import against
import methods
import page
import problems
from methods import Case, Point

SMALL = Case("P1", 1.0, (1e-2, 1e-3), peers=True)
EFFORT = against.Effort(flow_rtols=(1e-5, 1e-9), peer_rtols=(1e-4, 1e-6), peer_seconds=20.0)


def euler_point(error: float, seconds: float) -> Point:
    return Point("Euler", error, error, seconds, 1, 1.0)


@pytest.fixture(scope="module")
def result() -> page.Result:
    return against.compare(SMALL, EFFORT, against.Progress())


def test_every_method_comes_closer_with_a_tighter_setting(result: page.Result) -> None:
    assert result.default.error < 1e-8
    assert [p.setting for p in result.flow] == [1e-5, 1e-9]
    assert result.euler[1].error < 0.2 * result.euler[0].error
    assert [p.method for p in result.peers] == ["RK45"] * 2 + ["DOP853"] * 2 + ["LSODA"] * 2
    for loose, tight in zip(result.peers[::2], result.peers[1::2], strict=True):
        assert tight.error < loose.error < 0.1


def test_scipys_velocity_is_one_euler_step_of_descent() -> None:
    problem = problems.load("P3")
    data, net = methods.start(problem)
    after = methods.rf.descend(data, net, step=1e-3, n_steps=1).final
    theta = np.concatenate([problem.W.ravel(), problem.a])
    moved = theta + 1e-3 * methods.velocity(problem)(0.0, theta)
    np.testing.assert_allclose(moved, np.concatenate([after.W.ravel(), after.a]), rtol=1e-12, atol=1e-18)


def test_a_method_without_seconds_left_is_not_reached_and_ends_its_sweep() -> None:
    points = methods.sweep_peer(SMALL, "RK45", (1e-4, 1e-6), 0.0)
    assert len(points) == 1
    assert points[0].error == np.inf
    assert points[0].reached < SMALL.t
    assert "stopped at t" in str(points[0])


def test_a_wrong_state_or_a_missing_event_ends_the_bench(monkeypatch: pytest.MonkeyPatch) -> None:
    right = problems.reference("P1")
    moved = replace(right, W=right.W + 1e-3)
    monkeypatch.setattr(problems, "reference", lambda name: moved)
    with pytest.raises(SystemExit, match="P1 to t = 1 is wrong"):
        methods.checked(SMALL)
    more = replace(right, event_t=np.append(right.event_t, 0.5))
    monkeypatch.setattr(problems, "reference", lambda name: more)
    with pytest.raises(SystemExit, match=f"expected {np.sum(more.event_t <= 1.0)} events"):
        methods.checked(SMALL)


def test_eulers_time_is_interpolated_between_runs_and_extrapolated_outside() -> None:
    line = [euler_point(1e-2, 0.1), euler_point(1e-3, 1.0), euler_point(np.inf, 9.0)]
    assert methods.on_line(line, 10**-2.5) == (pytest.approx(10**-0.5), "interpolated")
    assert methods.on_line(line, 1e-6) == (pytest.approx(1000.0), "extrapolated")
    assert methods.on_line(line, 1e-1) == (pytest.approx(0.01), "extrapolated")
    assert methods.order(line) == pytest.approx(1.0)
    assert methods.on_line(line[2:], 1e-3)[1] == "no stable step"


def test_the_fastest_run_is_chosen_among_those_that_are_near_enough() -> None:
    runs = [euler_point(1e-2, 0.1), euler_point(1e-4, 0.5), euler_point(1e-5, 0.4)]
    assert methods.fastest_within(runs, 1e-3) is runs[2]
    assert methods.fastest_within(runs, 1e-6) is None


def test_a_late_run_holds_the_events_of_the_reference(monkeypatch: pytest.MonkeyPatch) -> None:
    row = methods.late("P1", 1e4)
    assert (row.n_events, row.status) == (10, "reached_log_time")
    right = problems.reference("P1")
    monkeypatch.setattr(problems, "reference", lambda name: replace(right, event_t=right.event_t * 1.001))
    with pytest.raises(SystemExit, match="P1 to log t = 10000 is wrong"):
        methods.late("P1", 1e4)


def test_the_page_holds_every_table_and_the_pictures_appear_whole(result: page.Result, tmp_path: Path) -> None:
    tables = against.tables([result], [methods.late("P1", 1e3)], EFFORT)
    picture = tmp_path / "benchmarks" / "P1.png"
    page.draw([result], picture)
    page.write(tmp_path / "benchmarks.md", page.page(tables, "make bench", [0.5, 1.5], [picture]))
    text = (tmp_path / "benchmarks.md").read_text(encoding="utf-8")
    for table in tables:
        assert f"## {table.title}" in text
        assert all(len(row) == len(table.head) for row in table.rows)
    assert "0.5 at the start of the run, 1.5 at its end" in text
    assert "(benchmarks/P1.png)" in text
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert sorted(path.name for path in tmp_path.rglob("*.*")) == ["P1.png", "benchmarks.md"]


def test_numbers_are_printed_with_three_digits_and_ratios_with_two() -> None:
    assert [page.seconds(v) for v in (0.001154, 1.1, 10512.0, np.nan)] == ["0.00115", "1.10", "10,500", "–"]
    assert [page.times(v, 1.0) for v in (0.061, 1.84, 12.3, 33127.0)] == ["0.061×", "1.8×", "12×", "33,000×"]
