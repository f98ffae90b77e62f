"""The command line: what it prints, what it writes, how it ends."""

from __future__ import annotations

import csv
import io
import json
import re
import signal
import subprocess
import sys
import time
import tomllib
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from rich.console import Console

import reluflow as rf
from reluflow.cli import _files, _inspect, main
from reluflow.cli._progress import ProgressLine, describe

PLANAR = ["run", "--data", "wang-pilanci", "--width", "10", "--seed", "1"]
FIGURES = {"loss_and_norm.png", "events.png", "sectors.png", "directions.png", "plane.png"}
DATA_FILES = {"summary.json", "events.csv", "run.npz"}


def call(capsys, *arguments):
    """Exit code, standard output and standard error of one call."""
    with pytest.raises(SystemExit) as end:
        main([str(argument) for argument in arguments])
    out, err = capsys.readouterr()
    return end.value.code, out, err


# --- a run -----------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_run_prints_the_table_and_writes_every_file(capsys, tmp_path):
    out = tmp_path / "deep" / "folder"
    code, text, err = call(capsys, *PLANAR, "--until", "50", "--out", out)
    assert (code, err) == (0, "")
    for row in ("time", "steps", "events", "cross_down", "sectors", "held pairs", "mean loss", "margin", "seconds"):
        assert row in text
    assert text.count("Euler, step") == 2
    assert {path.name for path in out.iterdir()} == FIGURES | DATA_FILES


def test_the_files_of_a_run_agree_with_each_other(capsys, tmp_path):
    call(capsys, *PLANAR, "--until", "time=50", "--no-figures", "--out", tmp_path)
    record = json.loads((tmp_path / "summary.json").read_text())
    sol = rf.load(tmp_path / "run.npz")
    with (tmp_path / "events.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert record["t"] == sol.t_end == 50.0
    assert record["n_events"] == len(sol.events) == len(rows)
    assert [row["kind"] for row in rows] == sol.events.kind.tolist()
    assert [float(row["t"]) for row in rows] == sol.events.t.tolist()
    assert record["command"]["data"] == "wang-pilanci"
    assert record["rtol"] == 1e-9  # the default of the run: the command names none
    assert record["data"] == {"name": sol.data.name, "n": 2, "d": 2, "rank": 2}
    assert [run["step"] for run in record["descent"]] == sorted((r["step"] for r in record["descent"]), reverse=True)
    assert record["descent"][1]["error"] < record["descent"][0]["error"] < 0.1


def test_the_same_command_gives_the_same_bits(capsys, tmp_path):
    for name in ("one", "two"):
        call(capsys, *PLANAR, "--until", "50", "--no-figures", "--no-euler", "--quiet", "--out", tmp_path / name)
    one, two = (rf.load(tmp_path / name / "run.npz") for name in ("one", "two"))
    np.testing.assert_array_equal(one.W, two.W)
    assert one.events == two.events


@pytest.mark.slow
def test_figures_are_pictures_of_a_useful_size(capsys, tmp_path):
    call(capsys, *PLANAR, "--until", "50", "--no-euler", "--out", tmp_path)
    for name in FIGURES:
        with Image.open(tmp_path / name) as picture:
            assert picture.width > 1000
            assert np.asarray(picture.convert("L")).std() > 5


def test_options_reach_the_flow(capsys, tmp_path):
    options = [
        "--loss",
        "exponential",
        "--reduction",
        "mean",
        "--rtol",
        "1e-7",
        "--leak",
        "0.2",
        "--scale",
        "0.01",
        "--threads",
        "2",
    ]
    call(
        capsys,
        *PLANAR,
        *options,
        "--until",
        "mean_loss=0.5,seconds=60",
        "--no-figures",
        "--no-euler",
        "--out",
        tmp_path,
    )
    sol = rf.load(tmp_path / "run.npz")
    used = sol.settings
    assert (used.loss, used.reduction, used.rtol, sol.leak) == ("exponential", "mean", 1e-7, 0.2)
    assert sol.status == "reached_mean_loss"
    np.testing.assert_allclose(np.abs(sol.initial.a), 0.01)


@pytest.mark.parametrize("encoding", ["ascii", "cp1252"])
@pytest.mark.parametrize(
    ("arguments", "word"), [([*PLANAR, "--until", "5", "--no-euler"], "mean loss"), (["run", "--help"], "--until")]
)
def test_output_that_cannot_hold_every_letter_shows_the_rest(monkeypatch, encoding, arguments, word):
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding=encoding) for _ in range(2))
    monkeypatch.setattr(sys, "stdout", out)
    monkeypatch.setattr(sys, "stderr", err)
    with pytest.raises(SystemExit) as end:
        main(arguments)
    for stream in (out, err):
        stream.flush()
    assert (end.value.code, err.buffer.getvalue()) == (0, b"")
    text = out.buffer.getvalue().decode(encoding)
    assert word in text
    assert "?" in text  # θ or γ


def test_quiet_prints_nothing(capsys, tmp_path):
    assert call(capsys, *PLANAR, "--until", "5", "--quiet", "--no-figures", "--out", tmp_path) == (0, "", "")


def test_without_a_folder_nothing_is_written(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, text, _ = call(capsys, *PLANAR, "--until", "5", "--no-euler")
    assert code == 0
    assert "Euler" not in text
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_an_endless_run_has_no_descent_beside_it(capsys, tmp_path):
    code, text, _ = call(capsys, *PLANAR, "--until", "log_time=1000", "--out", tmp_path)
    assert code == 0
    assert "e^1000" in text
    assert json.loads((tmp_path / "summary.json").read_text())["t"] == "inf"
    assert {path.name for path in tmp_path.iterdir()} >= FIGURES


@pytest.mark.parametrize(
    "data",
    [
        "breast-cancer",
        "wine:class_0,class_1",
        "iris:setosa,versicolor",
        "orthogonal:30,4",
        "phuong-lampert:40,6",
        "wang-pilanci:acute",
    ],
)
def test_every_named_kind_of_data_runs(capsys, data):
    code, text, err = call(capsys, "run", "--data", data, "--width", "6", "--until", "events=3,time=1e-3", "--no-euler")
    assert (code, err) == (0, "")
    assert "6 neurons" in text


# --- bad input -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", "--data", "moons", "--until", "1"], "--data must be one of digits:3,8"),
        (["run", "--data", "digits:3", "--until", "1"], "--data must have the form digits:3,8"),
        (["run", "--data", "digits:3,3", "--until", "1"], "found"),
        (["run", "--data", "iris:setosa", "--until", "1"], "--data must name two classes"),
        (["run", "--data", "orthogonal:x,3", "--until", "1"], "--data must have the form orthogonal:n,d"),
        (["run", "--data", "missing.csv", "--label", "y", "--until", "1"], "--data must name a file that exists"),
        (["run", "--data", "digits:3,8", "--label", "y", "--until", "1"], "come with a file"),
        ([*PLANAR, "--until", "sunset"], "until must"),
        ([*PLANAR, "--until", "mean_loss=-1"], "mean_loss must be"),
        ([*PLANAR, "--until", "1", "--width", "0"], "width must be an integer of at least 1"),
        ([*PLANAR, "--until", "1", "--width", "2.5"], "'2.5'"),
        ([*PLANAR, "--until", "1", "--scale", "tiny"], "'tiny'"),
        ([*PLANAR, "--until", "1", "--width", "99999999999999"], "memory is not enough: Unable to allocate"),
        ([*PLANAR, "--until", "1", "--loss", "hinge"], "loss must be one of"),
        ([*PLANAR, "--until", "1", "--leak", "1"], "leak must lie in [0, 1)"),
        ([*PLANAR, "--until", "1", "--rtol", "0"], "rtol must lie in"),
        ([*PLANAR, "--until", "1", "--threads", "0"], "n_threads must be an integer of at least 1, found 0"),
        ([*PLANAR], "--until"),
        ([*PLANAR, "--until", "1", "--colour"], "No such option"),
        (["fly"], "fly"),
        (["run", "digits:3,8"], "no argument but what reluflow run --help lists, found 'digits:3,8'"),
        (["inspect", "a", "b", "c"], "found 'b c'"),
        (["inspect", "nowhere.npz"], "RUN must be a file"),
    ],
)  # fmt: skip
def test_bad_input_ends_with_one_line_and_code_2(capsys, arguments, message):
    code, out, err = call(capsys, *arguments)
    assert (code, out) == (2, "")
    assert err.startswith("reluflow: ")
    assert message in err
    assert err.count("\n") == 1


def test_a_folder_that_cannot_be_made_is_named_before_the_run(capsys, tmp_path):
    (tmp_path / "file").write_text("in the way")
    code, _, err = call(capsys, *PLANAR, "--until", "1", "--out", tmp_path / "file")
    assert code == 2
    assert "--out must name a folder that can be made" in err


def test_a_missing_library_is_named_before_the_run(capsys, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    code, _, err = call(capsys, *PLANAR, "--until", "1", "--out", tmp_path)
    assert code == 2
    assert err == 'reluflow: matplotlib is needed here and is not installed: pip install "reluflow[viz]"\n'
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_is_no_run_is_named(capsys, tmp_path):
    (tmp_path / "run.npz").write_bytes(b"not a run")
    code, _, err = call(capsys, "inspect", tmp_path / "run.npz")
    assert code == 2
    assert "run.npz" in err
    assert err.count("\n") == 1


# --- the other commands ----------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_inspect_shows_a_saved_run_and_its_first_events(capsys, tmp_path):
    call(capsys, *PLANAR, "--until", "50", "--no-figures", "--no-euler", "--out", tmp_path)
    sol = rf.load(tmp_path / "run.npz")
    code, text, _ = call(capsys, "inspect", tmp_path / "run.npz", "--events", "3", "--out", tmp_path / "again")
    assert code == 0
    for event in sol.events[:3]:
        assert f"{event.t:.10g}" in text
    assert f"{sol.events[4].t:.10g}" not in text
    assert {path.name for path in (tmp_path / "again").iterdir()} == FIGURES


@pytest.mark.parametrize("name", ["see [/i]", "train[clean]", "a :key: b", "c [bold]d[/bold]"])
def test_names_and_paths_are_printed_as_they_are(capsys, tmp_path, name):
    data = rf.Dataset([[1.0, 2.0], [2.0, 1.0]], [1, -1], name=name)
    rf.integrate(data, rf.Network.init(3, 2, seed=0), until=1.0).save(tmp_path / "run.npz")
    code, text, err = call(capsys, "inspect", tmp_path / "run.npz")
    assert (code, err) == (0, "")
    assert text.startswith(f"{name} (n = 2, d = 2)")
    out = tmp_path / "runs[a]"
    assert call(capsys, *PLANAR, "--until", "1", "--no-figures", "--no-euler", "--out", out)[1].endswith(f"to {out}\n")


def test_info_says_how_to_install_what_is_missing(capsys, monkeypatch):
    monkeypatch.setitem(_inspect.EXTRAS, "film", (("no_such_module",), "films"))
    monkeypatch.setenv("COLUMNS", "120")
    assert 'missing no_such_module: pip install "reluflow[film]"' in call(capsys, "info")[1]


def test_info_names_the_version_and_the_extras(capsys):
    code, text, _ = call(capsys, "info")
    assert code == 0
    assert f"reluflow {rf.__version__}" in text
    assert text.count("installed") >= 5


def test_info_knows_every_extra_of_the_package_and_what_it_brings():
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    of_users = extras["all"][0].partition("[")[2].rstrip("]").split(",")
    assert set(_inspect.EXTRAS) == {*of_users, "torch"}
    modules = {"scikit-learn": "sklearn", "pillow": "PIL", "imageio-ffmpeg": "imageio_ffmpeg"}
    for name, (brought, _) in _inspect.EXTRAS.items():
        stated = [line.partition(">=")[0] for line in extras[name]]
        assert sorted(brought) == sorted(modules.get(library, library) for library in stated)


def test_the_version_can_be_asked_for(capsys):
    assert call(capsys, "--version") == (0, f"reluflow {rf.__version__}\n", "")


@pytest.mark.parametrize("command", [[], ["run"], ["inspect"], ["prove"], ["info"]])
def test_every_command_has_help_that_names_its_options(capsys, command):
    code, text, err = call(capsys, *command, "--help")
    assert (code, err) == (0, "")
    assert "Usage: reluflow" in text
    wanted = {"run": ["--data", "--until", "--leak", "--quiet", "Examples"], "inspect": ["--events", "Example"]}
    for word in wanted.get(command[0] if command else "", []):
        assert word in text


@pytest.mark.parametrize("command", ["run", "sweep"])
def test_the_help_and_the_docs_name_every_criterion_of_a_stop(capsys, command):
    docs = (Path(__file__).parents[1] / "docs" / "cli.md").read_text(encoding="utf-8")
    _, text, _ = call(capsys, command, "--help")
    for field in fields(rf.Stop):
        criterion = "limit=true" if field.name == "limit" else f"{field.name}="
        assert re.search(rf"\b{criterion}", text)
        assert f"`{criterion}`" in docs


def test_no_command_shows_the_help_and_is_bad_input(capsys):
    code, text, err = call(capsys)
    assert code == 2
    assert "Usage: reluflow" in text + err


# --- interruption, progress, files -----------------------------------------------------------------------------------


def started(out: Path, process: subprocess.Popen[bytes]) -> bool:
    deadline = time.monotonic() + 60.0
    while not out.exists() and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.02)
    return out.exists()


@pytest.mark.slow
def test_ctrl_c_writes_what_there_is_and_ends_with_130(tmp_path):
    out = tmp_path / "out"
    command = [sys.executable, "-m", "reluflow.cli", "run", "--data", "digits:3,8", "--width", "400", "--until", "1000",
               "--no-figures", "--out", str(out)]  # fmt: skip
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert started(out, process)
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (130, b"")
    assert {path.name for path in out.iterdir()} == DATA_FILES
    record = json.loads((out / "summary.json").read_text())
    sol = rf.load(out / "run.npz")
    assert record["status"] == sol.status == "interrupted"
    assert record["descent"] == []
    assert 0 < sol.t_end < 1000


def test_the_live_line_says_where_the_run_is():
    report = rf.flow.Progress(
        t=0.25, log_t=np.log(0.25), log_loss=np.log(7.14), steps=1234, events=5678, seconds=1.5, width_groups=3
    )
    line = describe(report, np.log(357))
    assert line == "t = 2.500e-01   mean loss 2.000e-02   5,678 events   1,234 steps   1.5 s"
    late = rf.flow.Progress(t=np.inf, log_t=1e4, log_loss=-1e4, steps=1, events=2, seconds=3.0, width_groups=3)
    assert describe(late, 0.0).startswith("log t = 1e+04   mean loss 1e-4343")


def test_the_live_line_is_shown_on_a_terminal_only(tmp_path):
    for terminal in (True, False):
        with (tmp_path / f"{terminal}").open("w") as file:
            console = Console(file=file, force_terminal=terminal)
            with ProgressLine(console, 2, "sum", quiet=False) as line:
                line.say("on the way")
        assert ("on the way" in (tmp_path / f"{terminal}").read_text()) == terminal


def test_a_record_with_infinities_is_strict_json(tmp_path):
    _files.write_json(tmp_path / "a.json", {"a": float("nan"), "b": [float("inf"), -float("inf")], "c": {"d": 1.5}})
    text = (tmp_path / "a.json").read_text()
    assert json.loads(text, parse_constant=pytest.fail) == {"a": None, "b": ["inf", "-inf"], "c": {"d": 1.5}}


@pytest.mark.slow
def test_the_main_job_shows_the_digits(capsys, tmp_path):
    code, text, _ = call(capsys, "run", "--data", "digits:3,8", "--width", "50", "--scale", "1e-3",
                         "--until", "mean_loss=0.01", "--out", tmp_path)  # fmt: skip
    assert code == 0
    record = json.loads((tmp_path / "summary.json").read_text())
    assert record["mean_loss"] == pytest.approx(0.01)
    assert record["n_wrong"] == 0
    assert record["n_events"] > 5000
    assert record["n_held"] > 0
    assert record["n_sectors"] <= 10
    assert all(run["error"] > 1e-4 for run in record["descent"])
    assert "leave_down" in text
