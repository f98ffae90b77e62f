"""Stores of sweeps that a reboot or a bad disk has damaged: what is lost is run again, or the path is named."""

from __future__ import annotations

import re
from collections.abc import Callable
from concurrent.futures import Executor, Future
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import reluflow as rf
from reluflow.sweeps import _store
from reluflow.sweeps._grid import Grid
from reluflow.sweeps._points import Outcome
from test_hashes_of_objects import module_of
from test_sweep import DATA, counted, run

DAMAGES: dict[str, Callable[[Path], object]] = {
    "cut": lambda file: file.write_bytes(file.read_bytes()[:-2]),
    "half": lambda file: file.write_bytes(file.read_bytes()[:10]),
    "zero": lambda file: file.write_bytes(bytes(file.stat().st_size)),
    "empty": lambda file: file.write_bytes(b""),
    "other": lambda file: file.write_bytes(bytes(byte ^ 0x55 for byte in file.read_bytes())),
    "gone": lambda file: file.unlink(),
}


def store_in(folder: Path) -> Path:
    """The one store that a folder holds."""
    (store,) = folder.glob("*.zarr")
    return store


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("chunk", ["n/1.0", "a/0.0.0", "seconds/1.0", "error/0.1", "status/1.0"])
def test_a_block_of_which_a_part_is_damaged_is_run_again(tmp_path: Path, chunk: str, damage: str) -> None:
    first, _ = counted(store=tmp_path, chunk=3)  # along the last axis blocks of three points and of one
    DAMAGES[damage](store_in(tmp_path) / chunk)
    again, n_points = counted(store=tmp_path, chunk=3)
    assert n_points == (1 if chunk.endswith(".1") else 3)
    assert again.drop_vars("seconds").identical(first.drop_vars("seconds"))
    assert counted(store=tmp_path)[1] == 0


class Idle(Executor):
    """Takes tasks and does none."""

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        return Future()


def test_a_damaged_block_that_is_not_run_yet_is_empty(tmp_path: Path) -> None:
    first = run(store=tmp_path, chunk=2)
    for chunk in ("seconds/0.0", "a/0.1.0"):
        DAMAGES["cut"](store_in(tmp_path) / chunk)
    ended = run(store=tmp_path, executor=Idle(), callback=lambda report: True)
    is_run = ended["status"] != ""
    assert is_run.to_numpy().tolist() == [[False] * 4, [True] * 4]
    np.testing.assert_array_equal(ended["n"], first["n"].where(is_run))


def nothing(sol: rf.Solution) -> float:
    return np.nan


def test_measures_that_are_all_nan_are_not_taken_for_lost(tmp_path: Path) -> None:
    assert counted(measure=nothing, store=tmp_path)[1] == 8
    assert counted(measure=nothing, store=tmp_path)[1] == 0
    (store_in(tmp_path) / "value" / "0.1").unlink()
    assert [counted(measure=nothing, store=tmp_path)[1] for _ in range(2)] == [1, 0]


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("file", [".zgroup", ".zattrs", "n/.zarray", "status/.zarray", "seconds/.zattrs"])
def test_a_store_whose_description_is_damaged_is_named(tmp_path: Path, file: str, damage: str) -> None:
    first = run(store=tmp_path)
    DAMAGES[damage](store_in(tmp_path) / file)
    message = (
        f"store must hold a whole sweep .*resume=False.*, found {re.escape(repr(str(store_in(tmp_path))))}, damaged"
    )
    with pytest.raises(ValueError, match=message):
        run(store=tmp_path)
    assert run(store=tmp_path, resume=False).drop_vars("seconds").identical(first.drop_vars("seconds"))


def test_a_store_of_another_grid_under_the_same_name_is_refused(tmp_path: Path) -> None:
    run(store=tmp_path)
    right = store_in(tmp_path).name
    run(store=tmp_path / "other", grid={"scale": [1e-3], "seed": range(4)})
    other = store_in(tmp_path / "other")
    other.rename(other.with_name(right))
    with pytest.raises(ValueError, match=r"store must hold a whole sweep .* n has the shape \(1, 4\) over scale, seed"):
        run(store=tmp_path / "other")


def test_of_two_sweeps_that_make_one_store_at_once_the_second_takes_that_of_the_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill, others = _store._fill, []

    def filled_late(*args: Any) -> None:
        """Another process comes first while this one writes its own."""
        monkeypatch.setattr(_store, "_fill", fill)
        fill(*args)
        others.append(run(store=tmp_path))

    monkeypatch.setattr(_store, "_fill", filled_late)
    found, n_points = counted(store=tmp_path)
    assert n_points == 0
    assert found.identical(others[0])
    assert len(list(tmp_path.iterdir())) == 1


def test_what_cannot_be_renamed_is_an_error_where_no_store_has_come(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*paths: object) -> None:
        raise PermissionError("no")

    monkeypatch.setattr(_store.os, "replace", refused)
    with pytest.raises(PermissionError, match="no"):
        run(store=tmp_path)


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_two_that_write_their_first_results_at_once_keep_those_of_each_other(
    tmp_path: Path, order: tuple[int, int]
) -> None:
    grid = Grid({"seed": np.arange(2)})
    stores = [_store.open_store(tmp_path, "key", grid, 1, True, ()) for _ in range(2)]
    for place in order:
        values = {"n": np.float64(place), "a": np.full(3, float(place))}
        stores[place].write((), [Outcome(place, "reached_time", "", 1.0, values)])
    for store in stores:
        found = store.dataset({})
        assert found["n"].to_numpy().tolist() == [0.0, 1.0]
        assert found["a"].to_numpy().tolist() == [[0.0] * 3, [1.0] * 3]


# --- what names a store ----------------------------------------------------------------------------------------------

SCRIPT = """
import functools
class Measure:
    def __call__(self, sol): return {0}
    def run(self, sol): return {0}
@functools.cache
def helper(): return {0}
def by_cache(sol): return helper()
def by_class(sol): return Measure()(sol)
measures = [Measure(), Measure().run, by_cache, by_class, functools.partial(by_class)]
"""


@pytest.mark.parametrize("place", range(5))
def test_no_result_of_another_measure_is_taken(tmp_path: Path, place: int) -> None:
    for number in (1.0, 2.0, 1.0):
        measure = module_of(SCRIPT.format(number), "script").measures[place]
        assert (run(measure=measure, store=tmp_path)["value"] == number).all()
    assert counted(measure=measure, store=tmp_path)[1] == 0


def test_a_measure_that_compares_with_a_run_finds_its_results_again(tmp_path: Path) -> None:
    def measure() -> Callable[[rf.Solution], float]:
        reference = rf.integrate(DATA, rf.Network.init(6, 2, scale=1e-4), until=5.0)
        return lambda sol: float(np.abs(sol.final.W - reference.final.W).max())

    assert [counted(measure=measure(), store=tmp_path)[1] for _ in range(2)] == [8, 0]


def test_what_has_no_content_to_read_names_no_store(tmp_path: Path) -> None:
    stream = (number for number in range(100))

    def measure(sol: rf.Solution) -> float:
        return float(next(stream))

    with pytest.raises(
        ValueError, match=r"measure must hold nothing whose content .*, found a value of type generator"
    ):
        run(measure=measure, store=tmp_path)
    assert run(measure=measure, n_threads=1)["value"].to_numpy().ravel().tolist() == list(range(8))
    measure.fingerprint = "numbers"
    assert [counted(measure=measure, store=tmp_path)[1] for _ in range(2)] == [8, 0]


@pytest.mark.parametrize("below", ["", "folder"])
def test_a_store_that_cannot_be_made_is_named(tmp_path: Path, below: str) -> None:
    (tmp_path / "file").write_text("in the way")
    store = tmp_path / "file" / below
    named = re.escape(repr(str(store)))
    with pytest.raises(ValueError, match=f"store must name a folder that can be made, found {named}"):
        run(store=store)
