"""The arithmetic of the comparison, and what its tables say."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import arithmetic
import fitted
import growing
import layers
import missed
import page
import peers
import plan
import plots
import regression
import store
import tables
import text
from points import Case, Point


def point(error: float, seconds: float, method: str = "Euler", **more: object) -> Point:
    return Point(method, error, error, seconds, 1, 1.0, **more)  # type: ignore[arg-type]


def result(*runs: Point, name: str = "P2", t: float = 3e-3) -> tables.Result:
    flow = [Point("reluflow", 1e-9, 1e-9, 0.5, 10, t, 100, 1e-8), Point("reluflow", 1e-3, 5e-4, 0.25, 5, t, 99, 1e-3)]
    euler = [point(1e-2, 0.1), point(1e-3, 1.0)]
    return tables.Result(Case(name, t, ()), 100, flow, euler, list(runs))


def test_eulers_time_is_interpolated_between_runs_and_extrapolated_outside() -> None:
    line = [point(1e-2, 0.1), point(1e-3, 1.0), point(np.inf, 9.0)]
    assert arithmetic.on_line(line, 10**-2.5) == (pytest.approx(10**-0.5), "interpolated")
    assert arithmetic.on_line(line, 1e-6) == (pytest.approx(1000.0), "extrapolated")
    assert arithmetic.on_line(line, 1e-1) == (pytest.approx(0.01), "extrapolated")
    assert arithmetic.order(line) == pytest.approx(1.0)
    assert arithmetic.on_line(line[2:], 1e-3)[1] == "no stable step"


def test_the_fastest_run_is_chosen_among_those_that_are_near_enough() -> None:
    runs = [point(1e-2, 0.1), point(1e-4, 0.5), point(1e-5, 0.4), point(1e-7, 0.1, ended="time limit")]
    assert arithmetic.fastest_within(runs, 1e-3) is runs[2]
    assert arithmetic.fastest_within(runs, 1e-6) is None


def test_growth_is_fitted_by_least_squares_in_the_logarithms() -> None:
    assert arithmetic.exponent([1, 2, 4], [3.0, 12.0, 48.0]) == pytest.approx(2.0)
    assert np.isnan(arithmetic.exponent([1], [3.0]))


def test_the_price_of_an_event_gives_the_whole_run_or_the_run_itself() -> None:
    part = point(np.inf, 4.0, "scipy DOP853 + events", n_events=40, ended="time limit")
    assert arithmetic.per_event(part) == pytest.approx(0.1)
    assert arithmetic.whole_run(part, 1000) == (pytest.approx(100.0), "extrapolated")
    assert arithmetic.whole_run(point(1e-6, 4.0, n_events=40), 40) == (4.0, "measured")


def test_a_row_of_equal_error_holds_both_ratios_and_how_they_are_known() -> None:
    row = tables.equal_row(result(point(1e-7, 15.0, "scipy RK45"), point(1e-6, 20.0, "CVODE Adams")), 1e-6)
    assert row[2:] == ("0.500 (1e-09)", "1,000 extrapolated", "2,000×", "scipy RK45, 15.0", "30×")
    assert tables.equal_row(result(point(1e-5, 1.0, "scipy RK45")), 1e-6)[5:] == ("not reached", "")
    assert tables.equal_row(result(), 1e-12)[2] == "not reached"


def test_low_accuracy_says_how_many_events_were_located() -> None:
    table = tables.low_table([result(point(8e-4, 0.05, "scipy RK45"))])
    assert table.rows == [
        ("P2, t = 0.003", "0.250 (5e-04)", "99 of 100", "1e-03", "0.0500 (8e-04)", "1.00 interpolated"),
    ]


def test_what_a_peer_missed_is_said() -> None:
    slow = point(np.inf, 2.0, "scipy RK45", ended="time limit")
    held = point(np.inf, 2.0, "scipy DOP853 + events", n_events=7, ended="chatters at a held boundary")
    whole = point(1e-8, 2.0, "scipy DOP853 + events", n_events=100)
    assert missed.verdict([slow], result()) == "locates no event; did not come to 1e-6"
    assert missed.verdict([whole], result()) == "nothing"
    assert missed.verdict([held], result(name="P3")) == (
        "7 of 100 events; did not come to 1e-6; chatters at a held boundary; does not slide"
    )


def test_a_tool_that_is_not_installed_stands_in_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peers, "installed", lambda package: None if package == "heyoka" else "1.0")
    assert peers.missing() == ["heyoka"]
    assert missed.missed_table([]).rows == [("all", "heyoka", "–", "–", "–", "not installed, not compared")]
    assert "Not installed, so left out: heyoka." in page.machine([0.0])


def test_growth_tables_fit_what_finished_and_say_what_did_not() -> None:
    done = {"n_events": 100, "n_steps": 5, "ended": "finished"}
    widths = [{"m": 50, "seconds": 1.0, **done}, {"m": 200, "seconds": 2.0, **done}]
    table = growing.width_table([*widths, {"m": 1000, "ended": "not within 5 s"}])
    assert "m^0.50" in table.note
    assert table.rows[0][-1] == "10000.0"
    assert table.rows[2] == ("1,000", "", "", "", "not within 5 s")
    assert growing.threads_table({"P4": {"n_events": 3, "one": 2.0, "two": 1.0}}).rows[0][-1] == "2×"


def priced() -> dict[str, object]:
    logistic = {"logistic_events": 50, "logistic_seconds": 0.5}
    return {"name": "S1", "error": 1e-9, "n_events": 100, "n_steps": 9, "seconds": 2.0, **logistic}


def test_an_event_of_the_squared_loss_is_priced_beside_one_of_the_logistic_loss() -> None:
    assert regression.regression_table([priced()]).rows[0][-1] == "2×"


def fit() -> fitted.Fitted:
    return fitted.Fitted(1e-8, 1e-12, 100, 101, 50, 2.0, "reached_mean_loss")


def test_a_fit_has_its_events_beside_those_of_the_tighter_run() -> None:
    row = fitted.fitted_table([fit()]).rows[0]
    assert row == ("1e-08", "1.0e-12", "100", "101", "50", "2.00", "0.0200")


def deep() -> dict[str, object]:
    own = {"name": "D2", "error": 1e-12, "n_events": 40, "n_steps": 50, "seconds": 0.5}
    others = {"euler_error": 1e-5, "euler_seconds": 2.0, "scipy_error": None, "scipy_seconds": 20.0}
    return {**own, **others, "diffrax_error": None, "diffrax_seconds": None}


def test_a_layered_run_stands_beside_what_scipy_took_though_it_did_not_end() -> None:
    row = layers.layers_table([deep()], 20.0).rows[0]
    assert row[-1] == "40×"
    assert "no end" in row
    assert "not installed" in row


def test_the_page_holds_every_table_and_the_pictures_appear_whole(tmp_path: Path) -> None:
    chosen = result(point(1e-5, 1.0, "scipy RK45"), point(1e-6, 1.0, "heyoka + events", n_events=100))
    growths = {"width": [], "late": [], "size": [], "large": [], "whole": []}
    shown = tables.every(tables.Measured([chosen], [], growths, {}, plan.FULL, [priced()], [fit()], [deep()]))
    picture = tmp_path / "benchmarks" / "P2.png"
    plots.draw([chosen], picture)
    store.write(tmp_path / "benchmarks.md", page.page(shown, "make bench", page.machine([0.5, 1.5], 2), [picture]))
    written = (tmp_path / "benchmarks.md").read_text(encoding="utf-8")
    for table in shown:
        assert f"## {table.title}" in written
        assert all(len(row) == len(table.head) for row in table.rows)
    assert "0.5 at the start of the run, 1.5 at its end" in written
    assert "Measured in 2 sittings." in written
    assert "(benchmarks/P2.png)" in written
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert sorted(path.name for path in tmp_path.rglob("*.*")) == ["P2.png", "benchmarks.md"]


def test_numbers_are_printed_with_three_digits_and_ratios_with_two() -> None:
    assert [text.seconds(v) for v in (0.001154, 1.1, 10512.0, np.nan)] == ["0.00115", "1.10", "10,500", "–"]
    assert [text.times(v, 1.0) for v in (0.061, 1.84, 12.3, 33127.0)] == ["0.061×", "1.8×", "12×", "33,000×"]
