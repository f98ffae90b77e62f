"""Weight decay on the command line: it reaches the flow, the files, the report and the run that goes on."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import reluflow as rf
from reluflow.cli import main

PLANAR = ("--data", "wang-pilanci", "--width", "6", "--seed", "1", "--scale", "0.1")
BARE = ("--no-figures", "--no-euler")


def call(*arguments: object) -> int:
    with pytest.raises(SystemExit) as end:
        main([str(argument) for argument in arguments])
    return int(str(end.value.code))


@pytest.mark.parametrize("reduction", ["sum", "mean"])
def test_the_option_reaches_the_flow_its_files_and_the_report(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], reduction: str
) -> None:
    arguments = ("--weight-decay", "0.125", "--reduction", reduction, "--until", "3", *BARE, "--out", tmp_path)
    assert call("run", *PLANAR, *arguments) == 0
    text = capsys.readouterr().out
    sol = rf.load(tmp_path / "run.npz")
    assert isinstance(sol, rf.Solution)
    net = rf.Network.init(6, 2, seed=1, scale=0.1)
    data = rf.datasets.wang_pilanci("obtuse")
    options: dict[str, Any] = {"reduction": reduction, "weight_decay": 0.125}
    np.testing.assert_array_equal(sol.final.W, rf.integrate(data, net, until=3.0, **options).final.W)
    assert sol.settings.weight_decay == 0.125

    record = json.loads((tmp_path / "summary.json").read_text())
    losses = np.log1p(np.exp(-data.y * sol.final(data.X)))
    objective = (losses.sum() if reduction == "sum" else losses.mean()) + 0.5 * 0.125 * (sol.final.theta**2).sum()
    assert record["weight_decay"] == 0.125
    assert record["objective"] == pytest.approx(objective, rel=1e-12)
    assert record["command"]["weight_decay"] == 0.125
    assert "6 neurons, weight decay 0.125" in text
    assert f"{objective:.6g}" in text


def test_a_run_without_it_shows_nothing_of_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert call("run", *PLANAR, "--until", "1", *BARE) == 0
    text = capsys.readouterr().out
    assert "decay" not in text
    assert "objective" not in text


def test_gradient_descent_beside_the_run_has_the_same_decay(tmp_path: Path) -> None:
    assert call("run", *PLANAR, "--weight-decay", "0.5", "--until", "3", "--no-figures", "--out", tmp_path) == 0
    runs = json.loads((tmp_path / "summary.json").read_text())["descent"]
    assert [run["error"] < 0.1 for run in runs] == [True, True]


def test_a_run_that_goes_on_keeps_its_decay(tmp_path: Path) -> None:
    assert call("run", *PLANAR, "--weight-decay", "0.25", "--until", "2", *BARE, "--out", tmp_path) == 0
    half = rf.load(tmp_path / "run.npz")
    assert isinstance(half, rf.Solution)
    assert call("run", "--resume", tmp_path, "--until", "4", *BARE) == 0
    sol = rf.load(tmp_path / "run.npz")
    assert isinstance(sol, rf.Solution)
    expected = rf.integrate(half.data, half, until=4.0, weight_decay=0.25)
    assert sol.settings.weight_decay == 0.25
    np.testing.assert_array_equal(sol.final.W, expected.final.W)


def test_inspect_names_the_decay_of_a_saved_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("run", *PLANAR, "--weight-decay", "0.25", "--until", "2", *BARE, "--quiet", "--out", tmp_path) == 0
    assert call("inspect", tmp_path / "run.npz") == 0
    text = capsys.readouterr().out
    assert "weight decay 0.25" in text
    assert "objective L + γ/2 |θ|²" in text


def test_a_sweep_takes_it_as_an_option_and_in_its_grid(tmp_path: Path) -> None:
    measure = ("--measure", "log_loss", "--until", "3", "--quiet", "--store", tmp_path / "store")
    found: dict[str, list[dict[str, str]]] = {}
    for name, options in (("grid", ("--grid", "weight_decay=0,0.5")), ("option", ("--weight-decay", "0.5"))):
        table = tmp_path / f"{name}.csv"
        assert call("sweep", *PLANAR, *options, "--grid", "seed=1:2", *measure, "--out", table) == 0
        with table.open(newline="") as lines:
            found[name] = list(csv.DictReader(lines))
    net = rf.Network.init(6, 2, seed=1, scale=0.1)
    data = rf.datasets.wang_pilanci("obtuse")
    decayed = rf.integrate(data, net, until=3.0, weight_decay=0.5)
    by_decay = {row["weight_decay"]: float(row["log_loss"]) for row in found["grid"]}
    # The sums of a saved state and of the last one differ by a rounding on some processors.
    assert by_decay["0.5"] == pytest.approx(decayed.log_loss_end, rel=1e-14, abs=0)
    assert [float(row["log_loss"]) for row in found["option"]] == [by_decay["0.5"]]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--weight-decay", "-1", "--until", "1"], "weight_decay must be"),
        (["--weight-decay", "nan", "--until", "1"], "weight_decay must be"),
        (["--weight-decay", "much", "--until", "1"], "--weight-decay"),
        (["--weight-decay", "0.1", "--until", "limit"], "until must"),
        (
            ["--weight-decay", "-0.1", "--until", "1", "--layers", "4"],
            "weight_decay must be a finite number of at least",
        ),
    ],
)
def test_bad_decay_ends_with_2_and_one_line(
    capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    start = PLANAR if "--layers" not in arguments else PLANAR[:2]
    assert call("run", *start, *arguments) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert message in err


def test_a_run_that_goes_on_takes_no_other_decay(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("run", *PLANAR, "--until", "2", *BARE, "--quiet", "--out", tmp_path) == 0
    assert call("run", "--resume", tmp_path, "--until", "4", "--weight-decay", "0.5") == 2
    assert "--weight-decay must be left out with --resume, found both" in capsys.readouterr().err
