"""What a sweep takes: arrays as data, the stop in the grid, and each parameter in one place only."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import reluflow as rf
from reluflow.cli import main
from reluflow.sweeps._points import FLOW, START

DATA = rf.datasets.wang_pilanci("obtuse")
RNG = np.random.default_rng(0)
X = RNG.standard_normal((6, 2))
CLASSES = np.array([0, 1, 2, 0, 1, 2])


def run(**given: Any) -> Any:
    return rf.sweep(**{"data": DATA, "grid": {"seed": [0, 1]}, "measure": ends, "until": 1.0, "width": 3, **given})


def ends(sol: Any) -> Any:
    return sol.final.a


def test_the_page_names_every_parameter_that_a_grid_varies() -> None:
    page = (Path(__file__).parent.parent / "docs" / "sweeps.md").read_text(encoding="utf-8")
    (said,) = re.findall(r"The grid varies any of (.*?)\. What it does not name", page, re.DOTALL)
    assert set(re.findall(r"`(\w+)`", said)) == {*START, *FLOW}


def test_the_grid_may_hold_the_times_of_the_stop() -> None:
    """Each point is the run to its own time."""
    found = rf.sweep(DATA, grid={"until": [1.0, 20.0]}, measure=ends, width=3)
    assert found["value"].dims[0] == "until"
    for until in (1.0, 20.0):
        alone = rf.integrate(DATA, rf.Network.init(3, 2, seed=0), until=until)
        np.testing.assert_array_equal(found["value"].sel(until=until), alone.final.a)


@pytest.mark.parametrize(
    ("arrays", "same", "options"),
    [
        ((DATA.X, DATA.y), DATA, {}),
        ((X.tolist(), X[:, 0], np.arange(1.0, 7.0)), rf.Dataset(X, X[:, 0], weights=np.arange(1.0, 7.0)), "squared"),
        ((X, X**2), rf.Dataset(X, X**2), "squared"),
        ((X, CLASSES), rf.datasets.MultiClassDataset(X, CLASSES), "cross_entropy"),
        ((X, np.eye(3)[CLASSES]), rf.datasets.MultiClassDataset(X, CLASSES), "cross_entropy"),
    ],
)
@pytest.mark.parametrize("made", [False, True])
def test_arrays_are_swept_as_the_data_that_they_are(arrays: Any, same: Any, options: Any, made: bool) -> None:
    given = {"loss": options} if options else {}
    found = run(data=(lambda seed: arrays) if made else arrays, **given)
    assert (found["error"] == "").all()
    np.testing.assert_array_equal(found["value"], run(data=same, **given)["value"])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"grid": {"scale": [0.1]}, "scale": 5.0}, "scale must be left out where grid has it, found 5.0"),
        ({"grid": {"until": [1.0]}}, "until must be left out where grid has it, found 1.0"),
        ({"grid": {"loss": ["logistic"]}, "loss": "squared"}, "loss must be left out where grid has it"),
        ({"until": None}, "until must be a Stop, or a time above 0, unless grid has it, found None"),
        ({"data": (X, X[:, 0], X, X)}, "data must be a Dataset, a MultiClassDataset, (X, y), (X, y, weights), or a"),
        ({"data": (X, X[:4, 0])}, "data[1] must have one entry for each of the 6 rows of data[0], found 4 entries"),
        ({"data": (X, CLASSES[:4]), "loss": "cross_entropy"}, "data[1] must have one label for each of the 6 rows of"),
        ({"data": (X, [0] * 6), "loss": "cross_entropy"}, "data[1] must hold at least two classes, found 0 in all"),
        ({"data": (0 * X, CLASSES)}, "data[0] must have no row of zeros"),
    ],
)
def test_arguments_that_contradict_or_lack_are_named(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match="must") as caught:
        run(**given)
    assert str(caught.value).startswith(message)


def test_an_argument_that_says_what_it_says_anyway_contradicts_nothing() -> None:
    found = run(grid={"scale": [1e-2]}, scale=1e-3)
    assert found["value"].sizes["scale"] == 1


def call(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as end:
        main(["sweep", "--width", "3", *arguments])
    out, err = capsys.readouterr()
    return int(str(end.value.code)), out, err


def test_the_command_line_takes_stops_in_the_grid_and_draws_data_from_its_own_seed(capsys, tmp_path) -> None:  # type: ignore[no-untyped-def]
    given = ("--store", str(tmp_path), "--data", "orthogonal:6,3", "--seed", "7", "--grid", "seed=0:2")
    code, out, err = call(capsys, *given, "--grid", "until=0.1,0.2")
    assert (code, err) == (0, "")
    assert "4  reached_time" in out
    code, _, err = call(capsys, *given)
    assert (code, "--until must be given" in err) == (2, True)
