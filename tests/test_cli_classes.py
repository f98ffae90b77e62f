"""`reluflow run` and `sweep` with `--loss cross_entropy`: an output for each class, by two layers or by more."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import reluflow as rf
from reluflow.cli import main

RUN = ["run", "--loss", "cross_entropy", "--width", "5", "--scale", "0.3", "--until", "0.02"]
SWEEP = ["sweep", "--grid", "seed=0:2", "--width", "4", "--until", "0.1"]


def call(capsys: Any, *arguments: object) -> tuple[Any, str, str]:
    """Exit code, standard output and standard error of one call."""
    with pytest.raises(SystemExit) as end:
        main([str(argument) for argument in arguments])
    out, err = capsys.readouterr()
    return end.value.code, out, err


def table(folder: Path) -> Path:
    X = np.random.default_rng(1).standard_normal((9, 2))
    with (folder / "data.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["u", "v", "kind"], *([*x, "abc"[i % 3]] for i, x in enumerate(X.tolist()))])
    return folder / "data.csv"


def test_a_run_of_classes_writes_its_files_and_is_inspected(capsys: Any, tmp_path: Path) -> None:
    asked = ("--data", table(tmp_path), "--label", "kind", "--weight-decay", "0.1", "--out", tmp_path / "out")
    code, text, err = call(capsys, *RUN, *asked)
    assert (code, err) == (0, "")
    assert "outputs=3" in text
    sol = rf.load(tmp_path / "out" / "run.npz")
    assert isinstance(sol, rf.flow.TwoLayerSolution)
    assert (sol.t_end, sol.data.classes, sol.settings["weight_decay"]) == (0.02, ("a", "b", "c"), 0.1)
    record = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert record["stats"]["n_events"] == len(sol.events)
    code, text, _ = call(capsys, "inspect", tmp_path / "out" / "run.npz", "--events", "1", "--out", tmp_path / "again")
    assert code == 0
    assert "reached_time" in text
    assert {path.name for path in (tmp_path / "again").iterdir()} == {"layers.png", "events.png", "loss_and_norm.png"}


def test_the_same_run_by_layers_and_by_name(capsys: Any, tmp_path: Path) -> None:
    place = tmp_path / "deep"
    assert call(capsys, "run", "--data", "iris", "--loss", "cross_entropy", "--layers", "3,2", "--until", "1e-3",
                "--out", place, "--no-figures", "-q")[0] == 0  # fmt: skip
    sol = rf.load(place / "run.npz")
    assert sol.initial.n_outputs == 3
    code, text, _ = call(capsys, *RUN, "--data", "iris", "--bias", "1")
    assert code == 0
    assert "n = 150), Network(width=5, dim=5, outputs=3" in text


@pytest.mark.parametrize(
    ("rows", "network"),
    [
        ("x,y\n.1,0\n.5,1\n2,0\n-1,1\n", ["--label", "y", "--layers", "1"]),
        ("x,y\n.1,0\n.5,1\n2,0\n-1,1\n", ["--label", "y", "--layers", "1,3"]),
        ("x,y,z\n.1,0,1\n.5,1,2\n2,0,.1\n-1,1,3\n", ["--target", "y,z", "--loss", "squared", "--width", "1"]),
    ],
)
def test_networks_with_single_units_get_their_figures(
    capsys: Any, tmp_path: Path, rows: str, network: list[str]
) -> None:
    path = tmp_path / "data.csv"
    path.write_text(rows)
    code, _, err = call(capsys, "run", "--data", path, *network, "--until", "1", "--out", tmp_path / "out")
    assert (code, err) == (0, "")
    assert {path.name for path in (tmp_path / "out").glob("*.png")} == {"layers.png", "events.png", "loss_and_norm.png"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--data", "digits:3,8"], "--data must be one of digits, iris, wine, FILE.csv or FILE.parquet with --loss"),
        (["--data", "none.csv"], "--data must name a file that exists"),
        (["--data", "iris", "--target", "u"], "--target must be left out with --loss cross_entropy, found 'u'"),
        (["--data", "iris", "--weight-decay", "-1"], "weight_decay must be a finite number of at least 0"),
        ([], "--data must be given"),
    ],
)
def test_options_that_do_not_fit_are_named(capsys: Any, arguments: list[str], message: str) -> None:
    code, _, err = call(capsys, *RUN, *arguments)
    assert code == 2
    assert message in err


def test_the_classes_of_a_file_need_their_column(capsys: Any, tmp_path: Path) -> None:
    code, _, err = call(capsys, *RUN, "--data", table(tmp_path))
    assert code == 2
    assert "--label must name the column of data.csv that holds the classes" in err


def test_a_run_of_classes_is_not_proved(capsys: Any, tmp_path: Path) -> None:
    call(capsys, *RUN, "--data", "iris", "--out", tmp_path, "--no-figures", "-q")
    code, _, err = call(capsys, "prove", tmp_path / "run.npz")
    assert code == 2
    assert "RUN must hold a run of one output with both layers trained" in err


@pytest.mark.parametrize(
    "several", [["--loss", "cross_entropy", "--label", "kind"], ["--loss", "squared", "--target", "u,v"]]
)
def test_a_sweep_of_several_outputs_keeps_by_default_what_they_have(
    capsys: Any, tmp_path: Path, several: list[str]
) -> None:
    data = table(tmp_path)
    if "--target" in several:
        data.write_text(data.read_text().replace("kind", "x").translate(str.maketrans("abc", "123")))
    places = ("--store", tmp_path, "--out", tmp_path / "all.csv")
    code, _, err = call(capsys, *SWEEP, "--data", data, *several, *places)
    assert (code, err) == (0, "")
    with (tmp_path / "all.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [name for name in rows[0] if name not in ("seed", "status", "error", "seconds")] == ["n_events", "log_loss"]
    assert all(float(row["log_loss"]) > 0 for row in rows)


def test_a_sweep_of_several_outputs_refuses_numbers_that_they_do_not_have(capsys: Any, tmp_path: Path) -> None:
    asked = ("--data", "iris", "--loss", "cross_entropy", "--measure", "n_dead", "--store", tmp_path / "store")
    code, _, err = call(capsys, *SWEEP, *asked)
    assert code == 2
    assert "measure must name numbers among log_t, log_loss" in err
    assert not (tmp_path / "store").exists()


@pytest.mark.parametrize(("given", "scale"), [([], 1.0), (["--scale", "0.2"], 0.2)])
def test_the_record_of_layers_names_the_scale_that_was_drawn_with(
    capsys: Any, tmp_path: Path, given: list[str], scale: float
) -> None:
    place = tmp_path / "deep"
    run = ("run", "--data", "wang-pilanci", "--layers", "4,3", "--until", "0.1", "--out", place, "--no-figures", "-q")
    assert call(capsys, *run, *given)[0] == 0
    command = json.loads((place / "summary.json").read_text())["command"]
    assert (command["scale"], command["width"]) == (scale, None)
    layers = [rf.Dense(4), rf.Dense(3), rf.Dense(1)]
    assert rf.load(place / "run.npz").initial == rf.DeepNetwork.init(layers, dim=2, scale=scale, seed=0)
    code, _, err = call(capsys, "run", "--resume", place)
    assert code == 2
    assert "--resume must name the folder of a run of two layers and one output" in err
    assert "found a DeepSolution" in err
