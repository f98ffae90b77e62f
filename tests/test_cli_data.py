"""The command line on data from files: labels, the positive class, targets, a bias."""

from __future__ import annotations

import json
import sys

import numpy as np
import pytest

import reluflow as rf
from reluflow.cli import main
from reluflow.cli._table import number


def call(capsys, *arguments):
    """Exit code, standard output and standard error of one call."""
    with pytest.raises(SystemExit) as end:
        main([str(argument) for argument in arguments])
    out, err = capsys.readouterr()
    return end.value.code, out, err


def test_a_csv_file_runs_with_its_labels(capsys, tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("u,v,sick\n1.65,-0.47,yes\n-0.47,1.35,no\n")
    code, _, err = call(capsys, "run", "--data", path, "--label", "sick", "--positive", "yes", "--width", "4",
                        "--until", "1", "--no-euler", "--no-figures", "--out", tmp_path)  # fmt: skip
    assert (code, err) == (0, "")
    np.testing.assert_array_equal(rf.load(tmp_path / "run.npz").data.y, [1.0, -1.0])


def test_a_file_whose_name_is_no_utf_8_runs_and_all_is_written(capsys, tmp_path):
    path = tmp_path / ("café.csv" if sys.platform == "darwin" else "caf\udce9.csv")  # a Mac has no such names
    path.write_text("u,v,y\n1.65,-0.47,1\n-0.47,1.35,0\n")
    code, _, err = call(capsys, "run", "--data", path, "--label", "y", "--width", "4", "--until", "1", "--no-euler",
                        "--out", tmp_path / "out")  # fmt: skip
    assert (code, err) == (0, "")
    names = {file.name for file in (tmp_path / "out").iterdir()}
    assert names >= {"run.npz", "summary.json", "events.csv", "plane.png"}
    record = json.loads((tmp_path / "out" / "summary.json").read_text(encoding="utf-8"))
    assert record["command"]["data"] == str(path)
    assert record["data"]["name"].startswith("caf")
    assert rf.load(tmp_path / "out" / "run.npz").data.name == record["data"]["name"]


@pytest.mark.parametrize(
    ("column", "positive", "labels"),
    [
        (["0", "1", "other"], "1", [-1, 1, -1]),  # a column of text
        (["0", "1", "2"], "1", [-1, 1, -1]),
        (["0", "1", "2"], "1.0", [-1, 1, -1]),
        (["0.5", "1.5", "0.5"], "0.5", [1, -1, 1]),
        (["True", "False", "True"], "False", [-1, 1, -1]),
        (["yes", "no", "True"], "True", [-1, -1, 1]),
        (["1_0", "10", "a"], "1_0", [1, -1, -1]),
    ],
)
def test_the_positive_class_is_found_as_the_file_has_it(capsys, tmp_path, column, positive, labels):
    path = tmp_path / "table.csv"
    path.write_text("u,kind\n" + "".join(f"{row},{label}\n" for row, label in enumerate(column, 1)))
    code, _, err = call(capsys, "run", "--data", path, "--label", "kind", "--positive", positive, "--width", "2",
                        "--until", "1", "--no-euler", "--no-figures", "--out", tmp_path)  # fmt: skip
    assert (code, err) == (0, "")
    assert rf.load(tmp_path / "run.npz").data.y.tolist() == labels


@pytest.mark.parametrize("positive", ["1_0", "ten", "nan"])
def test_a_positive_class_that_does_not_occur_is_named(capsys, tmp_path, positive):
    path = tmp_path / "table.csv"
    path.write_text("u,kind\n1,10\n2,20\n")
    code, _, err = call(capsys, "run", "--data", path, "--label", "kind", "--positive", positive, "--until", "1")
    assert code == 2
    assert f"positive must be a class that occurs (10, 20), found {positive!r}" in err


def write_targets(tmp_path):
    path = tmp_path / "fit.csv"
    path.write_text("x,price\n-1.0,1.1\n-0.5,0.6\n0.0,0.1\n0.5,0.6\n1.0,1.1\n")
    return path


def test_a_csv_file_runs_with_its_targets_and_a_bias(capsys, tmp_path):
    code, text, err = call(capsys, "run", "--data", write_targets(tmp_path), "--target", "price", "--bias", "1",
                           "--loss", "squared", "--width", "8", "--scale", "0.1", "--until", "30", "--no-euler",
                           "--out", tmp_path)  # fmt: skip
    assert (code, err) == (0, "")
    sol = rf.load(tmp_path / "run.npz")
    np.testing.assert_array_equal(sol.data.y, [1.1, 0.6, 0.1, 0.6, 1.1])
    assert sol.final([[0.25]]).shape == (1,)
    error = np.sqrt(np.mean((sol.final(sol.data.X) - sol.data.y) ** 2))
    assert f"{error:.6g}" in text
    assert "margin" not in text
    assert (tmp_path / "fit.png").is_file()
    assert json.loads((tmp_path / "summary.json").read_text())["rmse"] == pytest.approx(error)


def test_two_inputs_with_a_bias_get_a_picture_of_the_outputs(capsys, tmp_path):
    path = tmp_path / "xor.csv"
    path.write_text("u,v,odd\n0,0,no\n0,1,yes\n1,0,yes\n1,1,no\n")
    code, _, err = call(capsys, "run", "--data", path, "--label", "odd", "--positive", "yes", "--bias", "1",
                        "--width", "6", "--scale", "0.1", "--until", "5", "--no-euler", "--out", tmp_path)  # fmt: skip
    assert (code, err) == (0, "")
    assert (tmp_path / "outputs.png").is_file()
    assert not (tmp_path / "plane.png").exists()


def test_a_regression_of_two_inputs_and_a_bias_gets_it_too(capsys, tmp_path):
    path = tmp_path / "plane.csv"
    path.write_text("u,v,height\n0,0,0.5\n0,1,1.5\n1,0,-0.5\n1,1,2.5\n")
    code, _, err = call(capsys, "run", "--data", path, "--target", "height", "--bias", "1", "--loss", "squared",
                        "--width", "6", "--scale", "0.1", "--until", "5", "--no-euler", "--out", tmp_path)  # fmt: skip
    assert (code, err) == (0, "")
    assert (tmp_path / "outputs.png").is_file()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--target", "price"], '--target must come with "--loss squared", found --loss logistic'),
        (
            ["--target", "cost", "--loss", "squared"],
            "target must name columns of the file ('x', 'price'), found 'cost'",
        ),
        (["--target", "price", "--loss", "squared"], "X must have no row of zeros, found zeros only at row 2"),
        (["--target", "price", "--label", "x", "--loss", "squared"], "--target must stand without --label"),
        (["--target", "price", "--bias", "0", "--loss", "squared"], "--bias must be a finite number other than 0"),
        (["--loss", "squared"], "--label must name the column of fit.csv that holds the labels (--target that of real"),
    ],
)
def test_bad_targets_end_with_2_and_one_line(capsys, tmp_path, options, message):
    code, _, err = call(capsys, "run", "--data", write_targets(tmp_path), *options, "--until", "1")
    assert code == 2
    assert message in err
    assert err.count("\n") == 1


IRIS = "('setosa', 'versicolor', 'virginica')"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ("iris:foo,bar", f"name two different classes of iris {IRIS}, found 'iris:foo,bar'"),
        ("iris:setosa,setosa", f"name two different classes of iris {IRIS}, found 'iris:setosa,setosa'"),
        (
            "wine:class_0,b",
            "name two different classes of wine ('class_0', 'class_1', 'class_2'), found 'wine:class_0,b'",
        ),
        ("digits:3,3", "name two different classes of digits (0, 1, 2, 3, 4, 5, ...), found 'digits:3,3'"),
        ("digits:3,33", "name two different classes of digits (0, 1, 2, 3, 4, 5, ...), found 'digits:3,33'"),
        ("iris", "name two classes, as in iris:setosa,versicolor, found 'iris'"),
        ("iris:", "name two classes, as in iris:setosa,versicolor, found 'iris'"),
        ("wang-pilanci:dull", "have the form wang-pilanci[:obtuse|acute|spike_free], found 'wang-pilanci:dull'"),
        (
            "wang-pilanci:acute,obtuse",
            "have the form wang-pilanci[:obtuse|acute|spike_free], found 'wang-pilanci:acute",
        ),
        ("orthogonal:1,3", "have the form orthogonal:n,d, found 'orthogonal:1,3': n must be an integer of at least 2"),
        ("phuong-lampert:9,0", "have the form phuong-lampert[:n,d], found 'phuong-lampert:9,0': d must be"),
    ],
)
@pytest.mark.parametrize("command", ["run", "sweep"])
def test_data_that_no_name_stands_for_name_their_option(capsys, tmp_path, command, data, message):
    more = ("--grid", "seed=0:2", "--store", tmp_path) if command == "sweep" else ()
    code, _, err = call(capsys, command, "--data", data, "--until", "1", *more)
    assert code == 2
    assert err.startswith(f"reluflow: --data must {message}")
    assert err.count("\n") == 1


@pytest.mark.parametrize("command", [["run"], ["run", "--layers", "3"], ["sweep", "--grid", "seed=0:2"]])
def test_losses_of_the_command_line_are_listed_with_that_of_classes(capsys, command):
    code, _, err = call(capsys, *command, "--data", "iris", "--loss", "hinge", "--until", "1")
    assert code == 2
    expected = "--loss must be one of 'logistic', 'exponential', 'squared', 'cross_entropy', found 'hinge'"
    assert err == f"reluflow: {expected}\n"


@pytest.mark.parametrize("values", ["5:2", "0:0"])
def test_a_range_without_values_is_named(capsys, tmp_path, values):
    given = ("--data", "wang-pilanci", "--until", "1", "--store", tmp_path)
    code, _, err = call(capsys, "sweep", *given, "--grid", f"seed={values}")
    assert code == 2
    assert (
        f"--grid must have the form name=value,value or name=first:end with first below end, found 'seed={values}'"
        in err
    )


def test_no_table_says_that_a_zero_is_negative() -> None:
    """The margin of a network that is 0 on a sample with the label -1 is -1 times 0."""
    assert (number(-0.0), number(0.0), number(-0.5), number(float("nan"))) == ("0", "0", "-0.5", "-")


def write_words(tmp_path):
    path = tmp_path / "words.csv"
    path.write_text("town,age,size,sick\nRome,1,2.5,yes\nParis,3,0.5,no\nRome,2,,no\nOslo,-1,1,yes\n", encoding="utf-8")
    return str(path)


def test_columns_of_words_are_left_out_by_naming_the_others(capsys, tmp_path):
    given = ("run", "--data", write_words(tmp_path), "--label", "sick", "--positive", "yes", "--until", "1")
    code, _, err = call(capsys, *given)
    assert (code, err) == (
        2,
        "reluflow: column 'town' must hold numbers, or be left out (features names the inputs, --features in the "
        "shell), found 'Rome' at row 0\n",
    )
    code, _, err = call(capsys, *given, "--features", "age,size")
    assert code == 2
    assert "--missing drop in the shell), found nan at row 2" in err
    out = tmp_path / "out"
    code, text, _ = call(capsys, *given, "--features", "age, size", "--missing", "drop", "--out", str(out))
    assert code == 0
    assert "n = 3, d = 2" in text
    assert rf.load(out / "run.npz").data.feature_names == ("age", "size")


@pytest.mark.parametrize(
    ("given", "found"),
    [
        (["--features", "age,weight"], "features must name columns of the file"),
        (["--missing", "skip"], "--missing must be one of 'raise', 'drop', found 'skip'"),
    ],
)
def test_columns_that_are_not_there_are_named(capsys, tmp_path, given, found):
    code, _, err = call(capsys, "run", "--data", write_words(tmp_path), "--label", "sick", "--until", "1", *given)
    assert code == 2
    assert found in err


@pytest.mark.parametrize("given", [["--features", "age"], ["--missing", "drop"]])
def test_data_by_name_have_no_columns(capsys, given):
    for loss in ("logistic", "cross_entropy"):
        code, _, err = call(capsys, "run", "--data", "iris", "--loss", loss, "--until", "1", *given)
        assert code == 2
        assert f"{given[0]} must be left out with data by name, found '{given[1]}'" in err


def test_a_sweep_says_what_was_wrong_with_points(capsys, tmp_path):
    given = ("--data", "wang-pilanci", "--width", "2", "--until", "0.1", "--store", tmp_path)
    code, out, err = call(capsys, "sweep", *given, "--grid", "leak=0,1")
    assert (code, err) == (1, "")
    assert "leak must lie in [0, 1), found 1.0" in out
