"""Ctrl-C in a sweep without a store: the points so far are handed over, and nothing goes on behind."""

from __future__ import annotations

import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

import reluflow as rf

DATA = rf.datasets.wang_pilanci("obtuse")
N = 500


def slow_norm(sol: Any) -> float:
    """Long enough that the sweep is not over when it is ended."""
    time.sleep(0.02)
    return float(sol.final.norm)


def press(report: rf.sweeps.SweepProgress) -> None:
    if report.done >= 2:
        signal.raise_signal(signal.SIGINT)


def run(**given: Any) -> xr.Dataset:
    options = {"grid": {"seed": range(N)}, "measure": slow_norm, "until": 1.0, "width": 3, "callback": press}
    return rf.sweep(DATA, **{**options, **given})


@pytest.mark.parametrize("where", ["threads", "executor"])
def test_the_points_so_far_come_back(where: str) -> None:
    with ThreadPoolExecutor(1) as pool:
        found = run(n_threads=2) if where == "threads" else run(executor=pool)
    done = (found["status"] == "reached_time").to_numpy()
    assert 2 <= done.sum() < N
    assert (found["status"][~done] == "").all()
    np.testing.assert_array_equal(found["value"].notnull(), done)
    whole = run(grid={"seed": found["seed"][done].to_numpy()[:2].tolist()}, callback=None)
    np.testing.assert_array_equal(found["value"][done][:2], whole["value"])
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("reluflow-sweep")]


def test_before_the_first_point_ends_there_are_none() -> None:
    found = run(measure=lambda sol: time.sleep(0.5), n_threads=1, callback=lambda _: signal.raise_signal(signal.SIGINT))
    assert (found["status"] == "").all()
    assert found.sizes == {"seed": N}


def test_with_a_store_it_ends_the_program(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        run(store=tmp_path)
    (path,) = tmp_path.glob("*.zarr")
    assert 2 <= int(xr.open_zarr(path, consolidated=False)["value"].notnull().sum()) < N
