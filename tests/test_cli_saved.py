"""The command line on saved runs, and on times that descent does not come to."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import reluflow as rf
from reluflow.cli import main


def call(capsys: pytest.CaptureFixture[str], *arguments: Any) -> tuple[Any, str, str]:
    with pytest.raises(SystemExit) as end:
        main([str(argument) for argument in arguments])
    return end.value.code, *capsys.readouterr()


@pytest.mark.parametrize("command", [["inspect"], ["prove", "--until", "1e-3"]])
def test_a_saved_run_is_named_by_its_file_or_its_folder(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, command: list[str]
) -> None:
    data = rf.Dataset([[1.0, 2.0], [2.0, 1.0]], [1, -1])
    rf.integrate(data, rf.Network.init(3, 2, seed=0), until=1.0).save(tmp_path / "run.npz")
    code, text, err = call(capsys, *command, tmp_path / "run.npz")
    assert code in (0, 1), err
    assert call(capsys, *command, tmp_path) == (code, text, err)


def test_a_folder_without_a_run_is_named(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code, out, err = call(capsys, "inspect", tmp_path)
    assert (code, out) == (2, "")
    assert "RUN must be a file written by reluflow run or Solution.save, or a folder with run.npz" in err


@pytest.mark.parametrize(("until", "is_compared"), [("5", True), ("log_time=60", False)])
def test_descent_that_would_diverge_is_left_out(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, until: str, is_compared: bool
) -> None:
    data = ("--data", "wang-pilanci", "--width", "10", "--seed", "1")
    code, text, _ = call(capsys, "run", *data, "--until", until, "--no-figures", "--out", tmp_path)
    assert code == 0
    assert ("Euler" in text) == is_compared
