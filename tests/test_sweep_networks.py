"""Sweeps whose networks a function makes: of any depth, kind and start."""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import reluflow as rf

DATA = rf.datasets.wang_pilanci("obtuse")
CLASSES = rf.datasets.MultiClassDataset(np.eye(3), ["a", "b", "c"])


def deep(data: Any, depth: int, seed: int, scale: float = 0.5) -> rf.DeepNetwork:
    outputs = getattr(data, "K", 1)
    return rf.DeepNetwork.init([rf.Dense(4)] * depth + [rf.Dense(outputs)], dim=data.d, scale=scale, seed=seed)


def run(**given: Any) -> Any:
    grid = {"depth": [1, 3], "seed": [0, 1]}
    return rf.sweep(**{"data": DATA, "grid": grid, "measure": theta_norm, "until": 1.0, "network": deep, **given})


def theta_norm(sol: Any) -> Any:
    return sol.final.norm


def test_each_point_is_the_run_of_its_own_network() -> None:
    found = run()
    assert (found["error"] == "").all()
    for depth in (1, 3):
        for seed in (0, 1):
            alone = rf.integrate(DATA, deep(DATA, depth, seed), until=1.0)
            assert float(found["value"].sel(depth=depth, seed=seed)) == alone.final.norm


@pytest.mark.parametrize(("data", "loss"), [(DATA, "logistic"), (CLASSES, "cross_entropy")])
def test_numbers_of_layers_have_the_names_of_those_of_several_outputs(data: Any, loss: str) -> None:
    names = list(rf.sweeps._measures.MEASURES_OF_OUTPUTS)
    found = run(data=data, loss=loss, measure=names, grid={"depth": [2], "seed": [1]}, scale=0.7, reduction="mean")
    sol = rf.integrate(data, deep(data, 2, 1, 0.7), until=1.0, loss=loss, reduction="mean")
    at = found.isel(depth=0, seed=0)
    assert float(at["log_loss"]) == pytest.approx(sol.log_loss_end + np.log(data.n), rel=1e-12)
    assert float(at["mean_loss"]) == pytest.approx(np.exp(float(at["log_loss"])) / data.n, rel=1e-12)
    assert found.attrs["scale"] == 0.7
    assert not {"width", "balanced", "leak"} & set(found.attrs)


def test_workers_and_a_store_give_the_same_bits(tmp_path: Path) -> None:
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        found = run(executor=pool, store=tmp_path)
    np.testing.assert_array_equal(found["value"], run()["value"])
    again = run(store=tmp_path)
    np.testing.assert_array_equal(again["seconds"], found["seconds"])  # nothing has run again
    run(store=tmp_path, network=lambda data, depth, seed: deep(data, depth, seed, 0.1))
    assert len(list(tmp_path.iterdir())) == 2


def test_a_network_of_two_layers_may_be_made_too() -> None:
    found = run(
        grid={"imbalance": [0.0, 1.0]},
        network=lambda imbalance: rf.Network.init(5, 2, scale=0.2, imbalance=imbalance, seed=1),
        measure=lambda sol: sol.final.balance,
    )
    np.testing.assert_allclose(found["value"].sel(imbalance=1.0), 1.0, atol=1e-9)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"network": 3}, "network must be a function that makes a Network or a DeepNetwork, found a value of type int"),
        ({"network": lambda depth, seed: 3}, "network must be a function that returns a Network or a DeepNetwork"),
        ({"grid": {"seed": [1]}}, "grid must name each parameter that data and network ask for, found no depth"),
        (
            {"grid": {"depth": [1], "width": [3]}},
            r"grid must name parameters among depth, seed, scale, until, .*'width'",
        ),
        ({"width": 7}, "width must be left out where network makes the start without it, found 7"),
        ({"measure": "n_sectors"}, "several outputs and for layers, found 'n_sectors'"),
        ({"atol": 1e-9}, "atol must be left out for a layered network"),
        ({"until": -1.0}, "until must"),
    ],
)
def test_what_does_not_fit_is_named_before_any_run(given: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        run(**given)
