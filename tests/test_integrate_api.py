"""`integrate` seen from Python: stops, saved times, callbacks, Ctrl-C, the live line."""

from __future__ import annotations

import _thread
import io
import itertools
import sys
import threading
import time
from typing import Any

import numpy as np
import pytest

import reluflow as rf
from reluflow.flow import _progress
from toys import digits_like, long_run, on_a_ridge, one_neuron

# --- how a run ends --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("stop", "status"),
    [
        (rf.Stop(time=2.0), "reached_time"),
        (rf.Stop(log_time=0.5), "reached_log_time"),
        (rf.Stop(loss=20.0), "reached_loss"),
        (rf.Stop(mean_loss=0.3), "reached_mean_loss"),
        (rf.Stop(events=40), "reached_events"),
    ],
)
def test_the_status_names_the_criterion_that_held(stop: rf.Stop, status: str) -> None:
    sol = rf.integrate(*digits_like(), until=stop)
    assert (sol.status, sol.success) == (status, True)
    assert sol.message.endswith("was reached")


def test_the_first_criterion_that_holds_ends_the_run() -> None:
    data, net = digits_like()
    by_events = rf.integrate(data, net, until=rf.Stop(events=40))
    assert rf.integrate(data, net, until=rf.Stop(events=40, time=100.0)).status == "reached_events"
    early = rf.Stop(events=40, time=by_events.t_end / 2)
    assert rf.integrate(data, net, until=early).status == "reached_time"


def test_the_run_ends_at_the_very_time_asked_for() -> None:
    assert rf.integrate(*digits_like(), until=0.1 + 0.2).t_end == 0.1 + 0.2


@pytest.mark.parametrize("reduction", ["sum", "mean"])
def test_a_loss_stop_ends_at_that_loss(reduction: str) -> None:
    data, net = digits_like()
    by_loss = rf.integrate(data, net, until=rf.Stop(loss=0.3), reduction="mean")
    assert by_loss.log_loss_end == pytest.approx(np.log(0.3), abs=1e-12)
    by_mean = rf.integrate(data, net, until=rf.Stop(mean_loss=0.3), reduction=reduction)
    shift = np.log(data.n) if reduction == "sum" else 0.0
    assert by_mean.log_loss_end == pytest.approx(np.log(0.3) + shift, abs=1e-12)
    q = data.y * by_mean.final(data.X)
    assert np.log1p(np.exp(-q)).mean() == pytest.approx(0.3, abs=1e-12)


def test_the_event_count_of_the_stop_is_reached_by_whole_sets() -> None:
    sol = rf.integrate(*digits_like(), until=rf.Stop(events=40))
    assert len(sol.events) >= 40
    assert np.count_nonzero(sol.events.tie < sol.events.tie[-1]) < 40


def test_too_many_events_end_the_run_without_success() -> None:
    sol = rf.integrate(*digits_like(), until=30.0, max_events=25)
    assert (sol.status, sol.success, sol.message) == ("max_events", False, "max_events was reached")
    assert len(sol.events) >= 25


def test_the_seconds_of_the_stop_end_a_long_run() -> None:
    sol = rf.integrate(*long_run(), until=rf.Stop(time=1e3, seconds=0.2))
    assert sol.status == "reached_seconds"
    assert sol.stats["seconds"] >= 0.2


def test_a_network_at_rest_is_reported() -> None:
    sol = rf.integrate(rf.Dataset([[1.0]], [1]), rf.Network([[-1.0]], [1.0]), until=rf.Stop(loss=0.1))
    assert (sol.status, sol.success) == ("stationary", True)
    np.testing.assert_array_equal(sol.final.W, [[-1.0]])


def test_the_mean_loss_runs_n_times_slower_than_the_sum() -> None:
    data, net = digits_like()
    by_sum = rf.integrate(data, net, until=1.0)
    by_mean = rf.integrate(data, net, until=1.0 * data.n, reduction="mean")
    np.testing.assert_allclose(by_mean.events.t, data.n * by_sum.events.t, rtol=1e-7)
    np.testing.assert_allclose(by_mean.final.W, by_sum.final.W, atol=1e-9)


def test_the_same_call_gives_the_same_bits() -> None:
    first, second = (rf.integrate(*digits_like(), until=10.0) for _ in range(2))
    assert first.final == second.final
    assert first.events == second.events
    np.testing.assert_array_equal(first.t, second.t)


# --- saved times -----------------------------------------------------------------------------------------------------


def test_the_states_are_those_at_the_saved_times() -> None:
    sol = rf.integrate(*digits_like(), until=10.0, save_at=(0, 0.5, 10))
    assert sol.t.tolist() == [0.0, 0.5, 10.0]
    np.testing.assert_array_equal(sol.W[0], sol.initial.W)
    np.testing.assert_allclose(sol.W[2], sol.final.W, rtol=0, atol=1e-14)
    assert sol.t_end == 10.0


def test_log_times_are_saved_too() -> None:
    sol = rf.integrate(*digits_like(), until=10.0, save_at_log=[-1.0, 2.0])
    np.testing.assert_allclose(sol.log_t, [-1.0, 2.0], rtol=1e-15)
    plain = rf.integrate(*digits_like(), until=10.0, save_at=np.exp([-1.0, 2.0]))
    np.testing.assert_allclose(sol.W, plain.W, atol=1e-13)


def test_saving_changes_nothing_in_the_run() -> None:
    plain = rf.integrate(*digits_like(), until=10.0)
    saved = rf.integrate(*digits_like(), until=10.0, save_at=np.linspace(0, 10, 57))
    assert saved.final == plain.final
    assert saved.events == plain.events


def test_times_that_were_not_reached_are_in_the_message() -> None:
    sol = rf.integrate(*digits_like(), until=rf.Stop(events=40), save_at=[1e-3, 1e6, 1e7])
    assert sol.t.tolist() == [1e-3]
    assert sol.message.endswith("; 2 of 3 times of save_at were not reached, the first is 1000000.0")


# --- callback and Ctrl-C ---------------------------------------------------------------------------------------------


def test_a_callback_sees_the_run_go_forward_and_stops_it() -> None:
    seen: list[rf.flow.Progress] = []

    def third_time(progress: rf.flow.Progress) -> bool:
        seen.append(progress)
        return len(seen) == 3

    sol = rf.integrate(*long_run(), until=1e3, callback=third_time)
    assert (sol.status, sol.success) == ("stopped_by_callback", False)
    assert len(seen) == 3
    for before, after in itertools.pairwise(seen):
        assert before.t < after.t
        assert before.log_loss > after.log_loss
        assert before.steps < after.steps
        assert before.seconds < after.seconds
    assert 0 < seen[-1].t <= sol.t_end < 1e3
    assert sol(sol.t_end / 2).norm > 0


def test_a_callback_with_period_zero_sees_every_step() -> None:
    calls: list[rf.flow.Progress] = []
    sol = rf.integrate(*long_run(), until=0.05, callback=calls.append, callback_period=0)
    assert sorted({call.steps for call in calls}) == list(range(calls[0].steps, calls[-1].steps + 1))
    assert len(calls) >= sol.stats["steps"] - 1


@pytest.mark.parametrize("period", [-1.0, float("nan"), "0"])
def test_a_period_that_is_none_is_named(period: object) -> None:
    with pytest.raises(ValueError, match="callback_period must be a number of seconds, at least 0"):
        rf.integrate(*long_run(), until=0.05, callback_period=period)  # type: ignore[call-overload]


def test_classes_have_one_period() -> None:
    data = rf.datasets.iris()
    with pytest.raises(ValueError, match=r"callback_period must be 0\.1 with several classes, found 0"):
        rf.integrate(data, rf.Network.init(4, 4, classes=3), until=0.1, callback_period=0)


def test_an_error_in_a_callback_comes_through() -> None:
    def broken(_: rf.flow.Progress) -> None:
        raise ZeroDivisionError("from the callback")

    with pytest.raises(ZeroDivisionError, match="from the callback"):
        rf.integrate(*long_run(), until=1e3, callback=broken)


def test_the_callback_cannot_change_what_it_sees() -> None:
    progress = _progress.Progress(1.0, 0.0, -1.0, 10, 3, 0.5, 4)
    with pytest.raises(AttributeError):
        progress.t = 2.0  # type: ignore[misc]


def test_ctrl_c_returns_the_solution_so_far() -> None:
    timer = threading.Timer(0.3, _thread.interrupt_main)
    timer.start()
    sol = rf.integrate(*long_run(), until=1e3)
    timer.join()
    assert (sol.status, sol.success) == ("interrupted", False)
    assert 0 < sol.t_end < 1e3
    assert len(sol.events) > 0


# --- the live line ---------------------------------------------------------------------------------------------------


STOP = rf.Stop(time=1e3, seconds=0.45)


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Show the line from the first report on."""
    monkeypatch.setattr(_progress, "QUIET_SECONDS", 0.0)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """Put a terminal in the place of the standard error, in the test itself: pytest sets its own after the fixtures."""
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    return screen


@pytest.mark.usefixtures("impatient")
def test_a_terminal_shows_one_line_that_is_rewritten_and_removed(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = terminal(monkeypatch)
    monkeypatch.setitem(sys.modules, "rich.console", None)
    rf.integrate(*long_run(), until=STOP, progress=True)
    texts = screen.getvalue().split("\r")
    assert "\n" not in screen.getvalue()
    assert len(texts) >= 4
    assert all("log loss = " in text and "steps, " in text for text in texts[1:-2])
    assert texts[-2].strip() == texts[-1] == ""
    assert len(texts[-2]) == max(map(len, texts))


@pytest.mark.usefixtures("impatient")
def test_a_terminal_with_rich_shows_the_line_too(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = terminal(monkeypatch)
    rf.integrate(*long_run(), until=STOP, progress=True)
    assert "log loss = " in screen.getvalue()
    assert "steps, " in screen.getvalue()


@pytest.mark.usefixtures("impatient")
def test_a_file_gets_whole_lines_now_and_then(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rf.integrate(*long_run(), until=STOP, progress=True)
    seldom = capsys.readouterr()
    assert (seldom.out, seldom.err.count("\n")) == ("", 1)
    monkeypatch.setattr(_progress, "LOG_SECONDS", 0.0)
    rf.integrate(*long_run(), until=STOP, progress=True)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) >= 2
    assert all("log loss = " in line for line in lines)


def test_a_short_run_shows_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    rf.integrate(*long_run(), until=STOP, progress=True)
    assert capsys.readouterr() == ("", "")


def test_a_callback_that_has_asked_to_stop_is_not_asked_again() -> None:
    """Runs side by side go on to the end of their steps, and the core asks in the meantime."""
    seen: list[object] = []

    def stop(progress: object) -> bool:
        seen.append(progress)
        return len(seen) == 2

    reporter = _progress.Reporter(_progress.listeners(False, stop), lambda report: _progress.Progress(**report))
    assert reporter.hook is not None
    report = {"t": 1.0, "log_t": 0.0, "log_loss": -1.0, "steps": 10, "events": 3, "seconds": 0.5, "width_groups": 4}
    assert [reporter.hook(report) for _ in range(4)] == [False, True, True, True]
    assert len(seen) == 2


@pytest.mark.usefixtures("impatient")
def test_progress_and_callback_work_together(capsys: pytest.CaptureFixture[str]) -> None:
    calls: list[Any] = []
    rf.integrate(*long_run(), until=STOP, progress=True, callback=calls.append)
    assert calls
    assert capsys.readouterr().err


def test_the_line_says_log_t_where_t_overflows() -> None:
    assert str(_progress.Progress(np.inf, 1e5, -2e5, 10, 3, 7.2, 4)).startswith("log t = 100000, log loss = -2e+05")
    assert str(_progress.Progress(2.0, 0.7, -1.0, 10, 3, 7.2, 4)) == "t = 2, log loss = -1, 10 steps, 3 events, 7 s"


# --- starts ----------------------------------------------------------------------------------------------------------


def test_a_start_on_a_boundary_is_decided_or_reported() -> None:
    sol = rf.integrate(*on_a_ridge(), until=1.0)
    assert sol.pattern0.tolist() == [[0, 1]]
    assert sol.events.kind.tolist() == ["branch", "start_up"], "the default does not stay on a repelling boundary"
    stayed = rf.integrate(*on_a_ridge(), until=1.0, on_branch="stay")
    assert stayed.events.kind.tolist() == ["branch", "start_slide"]


def test_a_carried_pattern_replaces_the_signs_of_the_products() -> None:
    data = rf.Dataset([[0.0, 1.0], [1.0, 0.0]], [1, 1])
    net = rf.Network([[1.0, 1e-17]], [1.0], pattern=[[0, 1]])
    sol = rf.integrate(data, net, until=1.0, on_branch="stay")
    assert sol.pattern0.tolist() == [[0, 1]]


def test_the_arguments_are_not_changed() -> None:
    data, net = digits_like()
    X, W = data.X.copy(), net.W.copy()
    rf.integrate(data, net, until=5.0)
    np.testing.assert_array_equal(data.X, X)
    np.testing.assert_array_equal(net.W, W)


def test_two_threads_integrate_side_by_side() -> None:
    alone = rf.integrate(*digits_like(), until=20.0)
    found: list[rf.Solution] = []
    threads = [
        threading.Thread(target=lambda: found.append(rf.integrate(*digits_like(), until=20.0))) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [sol.final == alone.final for sol in found] == [True] * 4


def test_python_runs_while_the_core_does() -> None:
    ticks: list[float] = []
    done = threading.Event()

    def tick() -> None:
        while not done.wait(0.01):
            ticks.append(time.perf_counter())

    thread = threading.Thread(target=tick)
    thread.start()
    rf.integrate(*long_run(), until=rf.Stop(time=1e3, seconds=0.5))
    done.set()
    thread.join()
    assert len(ticks) > 5


def test_one_neuron_gains_what_the_closed_form_says() -> None:
    from toys import one_neuron_time

    sol = rf.integrate(*one_neuron(), until=100.0, loss="exponential")
    assert one_neuron_time(float(sol.final.W[0, 0])) == pytest.approx(100.0, rel=1e-8)
    np.testing.assert_allclose(sol.final.balance, 0.0, atol=1e-15)
