"""Sweeps over a grid: the bits of single runs, results kept as they come, nothing run twice, nothing lost."""

from __future__ import annotations

import csv
import os
import re
import signal
import subprocess
import sys
import time
from concurrent.futures import Executor, Future
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

import reluflow as rf
from reluflow.cli import main

DATA = rf.datasets.wang_pilanci("obtuse")
GRID: dict[str, Any] = {"scale": [1e-3, 1e-2], "seed": range(4)}
OPTIONS: dict[str, Any] = {"until": 50.0, "width": 6}


def ends(sol: rf.Solution) -> dict[str, Any]:
    return {"n": len(sol.events), "a": sol.final.a}


def run(**given: Any) -> xr.Dataset:
    return rf.sweep(**{"data": DATA, "grid": GRID, "measure": ends, **OPTIONS, **given})


def counted(**given: Any) -> tuple[xr.Dataset, int]:
    """The result, and how many points were run for it."""
    calls: list[rf.sweeps.SweepProgress] = []
    found = run(**given, executor=Counting(calls))
    return found, len(calls)


class Counting(Executor):
    """Runs each task at once and counts its points."""

    def __init__(self, points: list[Any]) -> None:
        self.points = points

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        self.points.extend(args[0].points)
        future.set_result(fn(*args))
        return future


def test_every_point_has_the_bits_of_the_run_alone() -> None:
    found = run()
    assert found["n"].dims == ("scale", "seed")
    assert found["a"].dims == ("scale", "seed", "a_0")
    for scale in GRID["scale"]:
        for seed in GRID["seed"]:
            alone = rf.integrate(DATA, rf.Network.init(6, 2, scale=scale, seed=seed), until=50.0)
            point = found.sel(scale=scale, seed=seed)
            assert (int(point["n"]), str(point["status"].item())) == (len(alone.events), alone.status)
            np.testing.assert_array_equal(point["a"], alone.final.a)
    assert (found["seconds"] > 0).all()
    assert (found["error"] == "").all()


def test_a_phase_diagram_is_one_expression() -> None:
    found = rf.sweep(DATA, grid={"leak": [0.0, 0.5], "width": [2, 4]}, measure=["n_events", "norm"], until=1.0)
    assert found["norm"].mean("width").shape == (2,)
    assert found.attrs["rtol"] == 1e-9


def test_data_may_be_made_of_the_parameters_of_a_point() -> None:
    def made(n: int, seed: int) -> rf.Dataset:
        return rf.datasets.orthogonally_separable(n, 3, seed=seed)

    found = rf.sweep(made, grid={"n": [4, 6], "seed": [0, 1]}, measure=lambda sol: sol.data.n, until=0.1, width=3)
    np.testing.assert_array_equal(found["value"], [[4, 4], [6, 6]])


def test_classes_are_swept_too() -> None:
    data = rf.datasets.orthogonally_separable(6, 3, classes=3)
    found = rf.sweep(data, grid={"seed": [0, 1]}, measure=lambda sol: [len(one.events) for one in sol], until=0.1)
    assert found["value"].shape == (2, 3)


def test_finished_points_are_not_run_again(tmp_path: Path) -> None:
    first, n_first = counted(store=tmp_path)
    again, n_again = counted(store=tmp_path)
    assert (n_first, n_again) == (8, 0)
    assert again.identical(first)
    assert counted(store=tmp_path, resume=False)[1] == 8


@pytest.mark.parametrize(
    "other",
    [
        {"until": 60.0},
        {"width": 7},
        {"grid": {"scale": [1e-3, 1e-2], "seed": range(5)}},
        {"measure": lambda sol: {"n": len(sol.events), "a": -sol.final.a}},
        {"data": rf.datasets.wang_pilanci("acute")},
    ],
)
def test_what_a_result_depends_on_has_a_store_of_its_own(tmp_path: Path, other: dict[str, Any]) -> None:
    run(store=tmp_path)
    assert counted(store=tmp_path, **other)[1] >= 8
    assert len(list(tmp_path.iterdir())) == 2


def test_a_number_that_the_data_or_the_measure_reads_from_its_module_counts(tmp_path: Path) -> None:
    module: dict[str, Any] = {"rf": rf, "slope": 1.0}
    exec("def made(seed): return rf.Dataset([[1.0, slope], [-0.3, 1.0]], [1, -1])", module)
    exec("def measure(sol): return sol.data.X[0, 1] * slope", module)
    given = {"data": module["made"], "measure": module["measure"], "grid": {"seed": [0, 1]}, "store": tmp_path}
    assert run(**given)["value"].to_numpy().tolist() == [1.0, 1.0]
    module["slope"] = 2.0
    assert run(**given)["value"].to_numpy().tolist() == [4.0, 4.0]
    assert counted(**given)[1] == 0


def test_a_measure_that_changes_what_it_reads_is_stored_under_one_name(tmp_path: Path) -> None:
    module: dict[str, Any] = {"seen": []}
    exec("def measure(sol): return len(seen.append(1) or seen)", module)
    found = run(measure=module["measure"], store=tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [f"{found.attrs['key']}.zarr"]


def test_a_point_that_raises_is_an_error_and_is_tried_again(tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    broken.touch()

    def fragile(sol: rf.Solution) -> float:
        if sol.initial.norm > 0.02 and broken.exists():
            raise ZeroDivisionError("no luck")
        return sol.final.norm

    found, n_points = counted(measure=fragile, store=tmp_path / "store", chunk=2)
    assert n_points == 8
    assert (found["status"].sel(scale=1e-2) == "error").all()
    assert set(found["error"].sel(scale=1e-2).to_numpy()) == {"ZeroDivisionError: no luck"}
    assert np.isnan(found["value"].sel(scale=1e-2)).all()
    assert np.isfinite(found["value"].sel(scale=1e-3)).all()
    broken.unlink()
    mended, n_points = counted(measure=fragile, store=tmp_path / "store", chunk=2)
    assert n_points == 4
    assert (mended["status"] == "reached_time").all()


def test_a_measure_that_changes_its_mind_is_an_error_of_that_point() -> None:
    found = run(measure=lambda sol: np.zeros(2 if sol.initial.norm > 0.01 else 3))
    assert set(found["status"].sel(scale=1e-2).to_numpy()) == {"error"}
    assert "names and shapes" in str(found["error"].sel(scale=1e-2)[0].item())


def test_a_measure_that_takes_a_name_of_the_grid_is_an_error_and_leaves_the_grid_alone(tmp_path: Path) -> None:
    found = run(measure=lambda sol: {"scale": sol.final.norm}, store=tmp_path)
    assert set(found["status"].to_numpy().ravel()) == {"error"}
    assert "name what it returns otherwise than the grid, found 'scale'" in str(found["error"][0, 0].item())
    assert found["scale"].to_numpy().tolist() == GRID["scale"]


def test_a_chunk_that_a_kill_has_cut_short_is_run_again(tmp_path: Path) -> None:
    first, _ = counted(store=tmp_path, chunk=2)
    chunk = next(path for path in tmp_path.rglob("n/1.0"))
    chunk.write_bytes(chunk.read_bytes()[:5])
    again, n_points = counted(store=tmp_path, chunk=2)
    assert n_points == 2
    assert again.drop_vars("seconds").identical(first.drop_vars("seconds"))


def test_the_store_is_readable_by_xarray(tmp_path: Path) -> None:
    found = run(store=tmp_path)
    there = xr.open_zarr(next(tmp_path.iterdir()), consolidated=False)
    np.testing.assert_array_equal(there["n"], found["n"])
    np.testing.assert_array_equal(there["seed"], found["seed"])


def test_a_callback_ends_a_sweep_and_the_next_call_goes_on(tmp_path: Path) -> None:
    seen: list[rf.sweeps.SweepProgress] = []

    def enough(report: rf.sweeps.SweepProgress) -> bool:
        seen.append(report)
        return report.done >= 3

    part = run(measure=slow_norm, store=tmp_path, n_threads=1, callback=enough)
    done = int((part["status"] != "").sum())
    assert 3 <= done < 8
    np.testing.assert_array_equal(np.isnan(part["value"]), part["status"] == "")
    assert counted(measure=slow_norm, store=tmp_path)[1] == 8 - done
    assert re.fullmatch(r"\d of 8 points, \d+ s, about \d+ s left", str(seen[-1]))


class Losing(Counting):
    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        if args[0].points[0]["seed"] == 2:
            future: Future[Any] = Future()
            future.set_exception(OSError("the machine is gone"))
            return future
        return super().submit(fn, *args, **kwargs)


def test_a_lost_task_is_told_when_all_others_are_stored(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="the machine is gone") as caught:
        run(store=tmp_path, executor=Losing([]))
    assert "2 tasks of the sweep were lost" in caught.value.__notes__[0]
    assert counted(store=tmp_path)[1] == 2


def test_a_measure_may_use_what_is_around_it() -> None:
    import math

    def fact(k: int) -> int:
        return 1 if k < 2 else k * fact(k - 1)

    found = run(measure=lambda sol: math.log(sol.final.norm) + fact(3))
    assert (found["status"] == "reached_time").all()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"grid": {"colour": [1]}}, "grid must name parameters among width, scale, balanced"),
        ({"grid": {}}, "grid must name at least one parameter, found none"),
        ({"grid": {"seed": 3}}, "grid['seed'] must be a sequence of values, found 3"),
        ({"grid": {"seed": [1, 1]}}, "grid['seed'] must hold each value once, found 1 repeated"),
        ({"grid": {"seed": []}}, "grid['seed'] must hold at least one value, found none"),
        ({"grid": {"seed": [[1]]}}, "grid['seed'] must be a sequence of numbers or texts"),
        ({"grid": {"seed": [-1]}}, "seed must be an integer of at least 0, a numpy Generator or None, found -1"),
        (
            {"data": lambda status: DATA, "grid": {"status": [1]}},
            "grid must name parameters otherwise than status, error, seconds, found 'status'",
        ),
        ({"measure": "colour"}, "measure must name numbers among log_t"),
        ({"measure": 3}, "measure must be a function of the solution, or names of numbers, found 3"),
        ({"until": -1.0}, "until must be a Stop, or a time above 0, found -1.0"),
        ({"data": lambda n: DATA}, "grid must name each parameter that data ask for, found no n"),
        ({"data": lambda seed: None}, "data must be a function that returns a Dataset or a MultiClassDataset"),
        ({"store": 3}, "store must be a folder, found a value of type int"),
        (
            {"data": 3},
            "data must be a Dataset, a MultiClassDataset, (X, y), (X, y, weights), or a function",
        ),
        ({"executor": 3}, "executor must have a method submit"),
        ({"chunk": 0}, "chunk must be an integer of at least 1, found 0"),
        ({"loss": "hinge"}, "loss must be one of"),
    ],
)
def test_bad_arguments_speak_before_any_run(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match="must") as caught:
        run(**given)
    assert message in str(caught.value)


LONG = """
import sys
import reluflow as rf
data = rf.datasets.wang_pilanci("obtuse")
def tell(report):
    print(report.done, flush=True)
rf.sweep(data, grid=dict(seed=range(500)), measure="norm", until=100.0, n_threads=1, store=sys.argv[1], callback=tell)
"""


# The first hung one time in five.
MORE = [pytest.param(signal.SIGINT, marks=pytest.mark.thorough)] * 2


@pytest.mark.parametrize("number", [*[signal.SIGINT] * 2, *MORE, signal.SIGKILL])
def test_a_sweep_that_is_ended_by_a_signal_keeps_its_points(tmp_path: Path, number: signal.Signals) -> None:
    command = [sys.executable, "-c", LONG, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdout is not None
        while int(process.stdout.readline()) < 2:
            pass
        process.send_signal(number)
        try:
            process.wait(timeout=60)
        finally:
            process.kill()  # one that hangs must not hang the tests
    assert process.returncode in (-number, 128 + number, 1)
    there = xr.open_zarr(next(path for path in tmp_path.iterdir() if path.suffix == ".zarr"), consolidated=False)
    assert 2 <= int(there["norm"].notnull().sum()) < 500


# --- Dask ------------------------------------------------------------------------------------------------------------


def slow_norm(sol: rf.Solution) -> float:
    """Long enough for a worker to be killed in the middle."""
    time.sleep(0.1)
    return sol.final.norm


@pytest.mark.slow
@pytest.mark.filterwarnings("default")  # what Dask says of a worker that is gone, and of ports in use, is its own
def test_a_worker_killed_half_way_loses_nothing_and_changes_no_bit(tmp_path: Path) -> None:
    from dask.distributed import Client, LocalCluster

    killed: list[int] = []
    expected = run(measure=slow_norm, grid={"scale": [1e-3, 1e-2], "seed": range(16)})
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None, local_directory=str(tmp_path)
        ) as cluster,
        Client(cluster) as client,
    ):
        workers = client.run(os.getpid)

        def kill_one(report: rf.sweeps.SweepProgress) -> bool:
            if report.done >= 8 and not killed:
                killed.append(next(iter(workers.values())))
                os.kill(killed[0], signal.SIGKILL)
            return False

        found = run(
            measure=slow_norm,
            grid={"scale": [1e-3, 1e-2], "seed": range(16)},
            executor=client.get_executor(),
            store=tmp_path / "store",
            chunk=2,
            callback=kill_one,
        )
        runs = rf.integrate_many(
            DATA, [rf.Network.init(6, 2, seed=1)], until=50.0, executor=client.get_executor(), reduce=slow_norm
        ).collect()
    assert killed
    assert found.drop_vars("seconds").identical(expected.drop_vars("seconds"))
    assert runs[0].result == float(expected["value"].sel(scale=1e-3, seed=1))


# --- the command line ------------------------------------------------------------------------------------------------


def call(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as end:
        main(["sweep", "--data", "wang-pilanci", *arguments])
    out, err = capsys.readouterr()
    return int(str(end.value.code)), out, err


def test_the_command_line_sweeps_stores_and_writes_a_table(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    command = ["--grid", "scale=1e-3,1e-2", "--grid", "seed=0:3", "--until", "20", "--width", "6", "--measure",
               "n_events,norm", "--store", str(tmp_path / "store"), "--out", str(tmp_path / "all.csv")]  # fmt: skip
    code, text, err = call(capsys, *command)
    assert (code, err) == (0, "")
    assert "6  reached_time" in text
    with (tmp_path / "all.csv").open(encoding="utf-8", newline="") as file:
        table = {(float(row["scale"]), int(row["seed"])): row for row in csv.DictReader(file)}
    alone = rf.integrate(DATA, rf.Network.init(6, 2, scale=1e-2, seed=2), until=20.0)
    assert float(table[1e-2, 2]["n_events"]) == len(alone.events)
    assert float(table[1e-2, 2]["norm"]) == pytest.approx(alone.final.norm)
    seconds = [float(row["seconds"]) for row in table.values()]
    call(capsys, *command[:-1], str(tmp_path / "again.nc"), "--quiet")
    assert xr.open_dataset(tmp_path / "again.nc")["seconds"].to_numpy().ravel().tolist() == seconds


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--grid", "seed", "--until", "1"], "--grid must have the form name=value,value or name=first:end"),
        (["--grid", "seed=0:x", "--until", "1"], "--grid must have the form"),
        (["--grid", "seed=0:2", "--grid", "seed=3", "--until", "1"], "each parameter once"),
        (["--grid", "until=1,b"], "with numbers alone or words alone, found 'until=1,b'"),
        (["--grid", "colour=1", "--until", "1"], "grid must name parameters among"),
        (["--grid", "seed=0:2", "--until", "1", "--out", "x.xls"], "--out must name a file that ends with .csv or .nc"),
        (["--grid", "seed=0:2", "--until", "1", "--out", "none/x.csv"], "--out must lie in a folder that exists"),
        (["--until", "1"], "--grid"),
    ],
)
def test_bad_options_end_with_one_line_and_code_2(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, arguments: list[str], message: str
) -> None:
    code, out, err = call(capsys, *arguments, "--store", str(tmp_path / "store"))
    assert (code, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1
    assert not (tmp_path / "store").exists()
