"""Signals, checkpoints and resumed runs of the command line, with real processes and signals."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import reluflow as rf
from reluflow.cli import main
from reluflow.cli._progress import ProgressLine
from reluflow.cli._signals import Signals

DATA_FILES = {"summary.json", "events.csv", "run.npz"}
PLANAR = ["run", "--data", "wang-pilanci", "--width", "10", "--seed", "1", "--no-figures", "--no-euler", "--quiet"]
LONG = ["run", "--data", "digits:3,8", "--width", "100", "--no-figures", "--no-euler", "--quiet"]
CODES = {signal.SIGINT: 130, signal.SIGTERM: 143}


def begin(*arguments: object, program: tuple[str, ...] = ("-m", "reluflow.cli")) -> subprocess.Popen[bytes]:
    command = [sys.executable, *program, *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def wait_for(condition: Callable[[], bool], process: subprocess.Popen[bytes]) -> bool:
    """Whether it came true while the process lived, with a minute for a slow machine."""
    deadline = time.monotonic() + 60.0
    while not condition() and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.01)
    return condition()


def ended(process: subprocess.Popen[bytes]) -> int:
    _, errors = process.communicate(timeout=120)
    assert errors == b""
    return process.returncode


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def call(*arguments: object) -> int:
    with pytest.raises(SystemExit) as end:
        main([str(argument) for argument in arguments])
    assert isinstance(end.value.code, int)
    return end.value.code


def solution_in(folder: Path, name: str = "run.npz") -> rf.Solution:
    solution = rf.load(folder / name)
    assert isinstance(solution, rf.Solution)
    return solution


def has_moved(folder: Path) -> bool:
    """Whether there is a checkpoint of a run that has taken a step."""
    return (folder / "checkpoint.npz").exists() and solution_in(folder, "checkpoint.npz").t_end > 0


def agree(one: rf.Solution, two: rf.Solution) -> None:
    """The same end by the same events, to the accuracy of runs that were cut at different times."""
    assert (one.events.neuron.tolist(), one.events.sample.tolist()) == (
        two.events.neuron.tolist(),
        two.events.sample.tolist(),
    )
    np.testing.assert_allclose(one.events.t, two.events.t, rtol=1e-5)
    np.testing.assert_allclose(one.final.W, two.final.W, rtol=1e-5, atol=1e-7)
    np.testing.assert_array_equal(one.final.pattern, two.final.pattern)
    assert (one.status, one.initial) == (two.status, two.initial)
    np.testing.assert_allclose(one.t_end, two.t_end, rtol=1e-7)


# --- the handler -----------------------------------------------------------------------------------------------------


def test_the_first_signal_is_noted_and_the_second_raises() -> None:
    with Signals() as signals:
        assert (signals.came, signals.exit_code) == (False, 0)
        signal.raise_signal(signal.SIGTERM)
        assert (signals.came, signals.exit_code) == (True, 143)
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert signals.exit_code == 143


def test_the_first_signal_raises_where_nothing_is_lost_by_it() -> None:
    with Signals() as signals:
        with pytest.raises(KeyboardInterrupt), signals.raising():
            signal.raise_signal(signal.SIGINT)
        assert signals.exit_code == 130
        with pytest.raises(KeyboardInterrupt), signals.raising():
            pytest.fail("a signal has come already")


def test_pythons_own_handlers_come_back() -> None:
    before = [signal.getsignal(number) for number in CODES]
    with Signals():
        assert [signal.getsignal(number) for number in CODES] != before
    assert [signal.getsignal(number) for number in CODES] == before


# --- signals during a run and during a write -------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("number", CODES, ids=lambda number: number.name)
def test_a_signal_during_the_run_writes_what_there_is(number: signal.Signals, tmp_path: Path) -> None:
    out = tmp_path / "out"
    with begin(*LONG, "--until", "1e6", "--checkpoint-seconds", "1e-9", "--out", out) as process:
        assert wait_for(lambda: has_moved(out), process)
        process.send_signal(number)
        assert ended(process) == CODES[number]
    assert names(out) == DATA_FILES
    assert json.loads((out / "summary.json").read_text())["status"] == solution_in(out).status == "interrupted"
    assert solution_in(out).stats["steps"] > 0


@pytest.mark.parametrize("number", CODES, ids=lambda number: number.name)
@pytest.mark.parametrize(
    "network",
    [["--data", "digits:3,8", "--layers", "100,100"], ["--data", "digits", "--loss", "cross_entropy"]],
    ids=["layers", "outputs"],
)
def test_a_signal_interrupts_layers_and_several_outputs_too(
    number: signal.Signals,
    network: list[str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(ProgressLine, "follow", lambda *_: signal.raise_signal(number))
    assert call("run", *network, "--until", "1e6", "--out", tmp_path) == CODES[number]
    assert names(tmp_path) == DATA_FILES
    assert json.loads((tmp_path / "summary.json").read_text())["status"] == "interrupted"
    assert rf.load(tmp_path / "run.npz").status == "interrupted"
    assert "\ninterrupted: " in capsys.readouterr().out


# The command line with signals that come while it writes a run.
WRITING = """
import os, signal, sys
import numpy as np
from reluflow.cli import main
save, numbers = np.savez, [int(number) for number in sys.argv[1].split(",")]
def interrupted(file, **arrays):
    file.write(b"half")
    file.flush()
    for number in numbers:
        os.kill(os.getpid(), number)
    file.seek(0)
    save(file, **arrays)
np.savez = interrupted
main(sys.argv[2:])
"""


@pytest.mark.slow
@pytest.mark.parametrize("number", CODES, ids=lambda number: number.name)
def test_one_signal_during_the_write_waits_for_its_end(number: signal.Signals, tmp_path: Path) -> None:
    out = tmp_path / "out"
    with begin(int(number), *PLANAR, "--until", "50", "--out", out, program=("-c", WRITING)) as process:
        assert ended(process) == CODES[number]
    assert names(out) == DATA_FILES
    assert solution_in(out).status == "reached_time"


@pytest.mark.slow
def test_two_signals_during_the_write_leave_the_old_files(tmp_path: Path) -> None:
    assert call(*PLANAR, "--until", "5", "--out", tmp_path) == 0
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    with begin("2,2", *PLANAR, "--until", "50", "--out", tmp_path, program=("-c", WRITING)) as process:
        assert ended(process) == 130
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


@pytest.mark.slow
def test_a_process_killed_in_the_write_leaves_the_old_files_and_what_it_left_is_swept(tmp_path: Path) -> None:
    assert call(*PLANAR, "--until", "5", "--out", tmp_path) == 0
    before = {name: (tmp_path / name).read_bytes() for name in DATA_FILES}
    kill = int(signal.SIGKILL)
    with begin(kill, *PLANAR, "--until", "50", "--out", tmp_path, program=("-c", WRITING)) as process:
        assert ended(process) == -kill
    assert {name: (tmp_path / name).read_bytes() for name in DATA_FILES} == before
    assert names(tmp_path) > DATA_FILES
    assert call(*PLANAR, "--until", "50", "--out", tmp_path) == 0
    assert names(tmp_path) == DATA_FILES
    assert solution_in(tmp_path).t_end == 50.0


# --- checkpoints -----------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_killed_run_goes_on_from_its_checkpoint_to_the_same_end(tmp_path: Path) -> None:
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    until = ("--until", "mean_loss=0.1", "--threads", "1")
    assert call(*LONG, *until, "--out", whole) == 0
    with begin(*LONG, *until, "--checkpoint-seconds", "1e-9", "--out", cut) as process:
        assert wait_for(lambda: has_moved(cut), process)
        process.kill()
        process.wait()
    assert solution_in(cut, "checkpoint.npz").status == "running"
    assert call("run", "--resume", cut, "--no-figures", "--no-euler", "--quiet") == 0
    assert names(cut) == DATA_FILES
    agree(solution_in(whole), solution_in(cut))
    assert json.loads((cut / "summary.json").read_text())["command"]["resume"] == str(cut)


def test_the_events_of_a_resumed_run_count_from_its_start(tmp_path: Path) -> None:
    until = ("--until", "events=5")
    assert call(*PLANAR, *until, "--out", tmp_path / "whole") == 0
    out = tmp_path / "out"
    assert call(*PLANAR, "--until", "events=2", "--out", out) == 0
    assert call("run", "--resume", out, *until, "--no-figures", "--no-euler", "--quiet") == 0
    agree(solution_in(tmp_path / "whole"), solution_in(out))
    assert solution_in(out).settings.until == rf.Stop(events=5)
    assert solution_in(out).stats["n_events"] == 5


def test_a_run_with_all_its_events_does_not_go_on_to_fewer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call(*PLANAR, "--until", "events=3", "--out", tmp_path) == 0
    assert call("run", "--resume", tmp_path, "--until", "events=2") == 2
    assert "Stop.events must be above the 3 events that the run has had, found 2" in capsys.readouterr().err


def test_a_run_that_ended_leaves_no_checkpoint_and_goes_on_only_with_a_new_stop(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(*PLANAR, "--until", "5", "--checkpoint-seconds", "1e-9", "--out", tmp_path) == 0
    assert names(tmp_path) == DATA_FILES
    assert call("run", "--resume", tmp_path) == 2
    assert "--resume must name the folder of a run that was cut short, or come with --until" in capsys.readouterr().err
    further = ("--until", "50", "--no-figures", "--no-euler", "--quiet")
    assert call("run", "--resume", tmp_path, *further) == 0
    assert call(*PLANAR, "--until", "50", "--out", tmp_path / "whole") == 0
    agree(solution_in(tmp_path / "whole"), solution_in(tmp_path))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--resume", "nowhere"], "--resume must name a folder with checkpoint.npz or run.npz, found 'nowhere'"),
        (["--resume", ".", "--data", "digits:3,8"], "--data must be left out with --resume, found both"),
        (["--resume", ".", "--rtol", "1e-6"], "--rtol must be left out with --resume, found both"),
        (["--until", "1"], "--data must be given, or else --resume, found neither"),
        (["--data", "wang-pilanci"], "--until must be given, or else --resume, found neither"),
        (["--data", "wang-pilanci", "--until", "1", "--checkpoint-seconds", "-1"], "--checkpoint-seconds must be"),
    ],
)
def test_options_of_resumed_runs_are_checked(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call("run", *arguments) == 2
    assert message in capsys.readouterr().err


def test_a_new_run_does_not_replace_a_checkpoint(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "checkpoint.npz").write_bytes(b"hours of work")
    assert call(*PLANAR, "--until", "5", "--out", tmp_path) == 2
    assert "--out must name a folder without the checkpoint.npz of a run that was cut short" in capsys.readouterr().err
    assert (tmp_path / "checkpoint.npz").read_bytes() == b"hours of work"


def test_a_damaged_checkpoint_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "checkpoint.npz").write_bytes(b"half")
    assert call("run", "--resume", tmp_path) == 2
    assert str(tmp_path / "checkpoint.npz") in capsys.readouterr().err


def test_a_checkpoint_that_cannot_be_written_is_said_and_does_not_end_the_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    save = rf.Solution.save

    def full_disk(solution: rf.Solution, path: Path) -> None:
        if os.fspath(path).endswith("checkpoint.npz"):
            raise OSError(28, "No space left on device", str(path))
        save(solution, path)

    monkeypatch.setattr(rf.Solution, "save", full_disk)
    assert call(*PLANAR, "--until", "5", "--checkpoint-seconds", "1e-9", "--out", tmp_path) == 0
    assert "reluflow: no checkpoint: " in capsys.readouterr().err
    assert names(tmp_path) == DATA_FILES
