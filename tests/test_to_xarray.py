"""Runs of layers and of several outputs as datasets: every state, pattern and event under its name."""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray

import reluflow as rf

RNG = np.random.default_rng(2)
X = RNG.integers(-2, 3, (8, 3)).astype(float)
LABELS = np.sign(RNG.standard_normal(8))
COUNTS = np.array([1.0, 2.0, 1.0, 0.5, 1.0, 1.0, 3.0, 1.0])


@functools.cache
def deep(**options: Any) -> rf.layered.DeepSolution:
    """A run in which units slide and run out of live inputs."""
    net = rf.DeepNetwork.init([rf.Dense(4, bias=True), rf.Dense(3), rf.Dense(1)], dim=3, scale=1.0, seed=2)
    return rf.integrate((X, LABELS, COUNTS), net, until=8.0, **options)


@functools.cache
def classes() -> rf.flow.TwoLayerSolution:
    data = rf.datasets.MultiClassDataset(X, [0, 1, 2, 0, 1, 2, 0, 1], name="three")
    net = rf.Network.init(6, 3, outputs=3, scale=0.5, seed=1)
    return rf.integrate(data, net, loss="cross_entropy", reduction="mean", until=3.0)


def kinds_of(found: xarray.Dataset) -> list[str]:
    names = found["event_kind"].attrs["flag_meanings"].split()
    return [names[code] for code in found["event_kind"].to_numpy()]


def test_layers_have_their_matrices_biases_and_events() -> None:
    sol = deep()
    found = sol.to_xarray()
    sizes = {"time": len(sol.t), "input": 3, "unit_1": 4, "unit_2": 3, "output": 1, "sample": 8}
    assert dict(found.sizes) == {**sizes, "event": len(sol.events)}
    for number, layer in enumerate(sol.final.layers, start=1):
        np.testing.assert_array_equal(found[f"W{number}"][-1], layer.W)
    np.testing.assert_array_equal(found["b1"][-1], sol.final.layers[0].b)
    np.testing.assert_array_equal(found["log_loss"], sol.log_loss)
    np.testing.assert_array_equal(found["weight"], COUNTS)
    assert kinds_of(found) == sol.events.kind.tolist()
    np.testing.assert_array_equal(found["event_layer"], sol.events.layer)
    np.testing.assert_array_equal(found["event_set"], sol.events.event_set)
    assert found.attrs["version"] == rf.__version__
    assert "time=8.0" in found.attrs["until"]
    assert json.loads(found.attrs["stats"])["n_events"] == len(sol.events)


def test_the_patterns_of_layers_are_those_of_the_run() -> None:
    sol = deep()
    assert {"slide", "void"} <= set(sol.events.kind)
    times = np.linspace(0.0, 8.0, 9)
    found = rf.analysis.to_xarray(sol, times)
    for k, t in enumerate(times):
        z = sol(float(t)).pre_activations(X)
        for layer, sides in enumerate(sol.pattern(float(t))[:2], start=1):
            signs = found[f"pattern{layer}"][k].to_numpy().T
            empty = (signs == 0) & (sides != 0)  # without a live input: z is zero, whatever side it is next
            assert np.abs(z[layer][empty]).max(initial=0.0) < 1e-12
            np.testing.assert_array_equal(signs[~empty], sides[~empty])
            clear = np.abs(z[layer]) > 1e-7
            np.testing.assert_array_equal(signs[clear], np.sign(z[layer][clear]))


def test_layers_with_fixed_or_shared_weights_have_their_free_parameters() -> None:
    layers = [rf.Conv1d(2, 2), rf.Diagonal(), rf.Dense(2, mask=[[1, 0, 1, 1], [1, 1, 0, 1]]), rf.Dense(2)]
    net = rf.DeepNetwork.init(layers, dim=3, seed=1)
    sol = rf.integrate((X, np.eye(2)[(LABELS > 0).astype(int)]), net, loss="squared", until=0.5)
    found = sol.to_xarray()
    assert [name for name in found.data_vars if str(name)[0] in "Wu"] == ["u1", "u2", "u3", "W4"]
    for number, layer in enumerate(sol.final.layers[:3], start=1):
        np.testing.assert_array_equal(found[f"u{number}"][-1], layer.u)
    assert found["y"].dims == ("sample", "output")


def test_several_outputs_have_a_dimension() -> None:
    sol = classes()
    found = sol.to_xarray()
    assert found["a"].dims == ("time", "neuron", "output")
    np.testing.assert_array_equal(found["a"], sol.a)
    np.testing.assert_array_equal(found["pattern"][-1], sol.final.pattern)
    np.testing.assert_array_equal(found["y"], [0, 1, 2, 0, 1, 2, 0, 1])
    assert (found.attrs["data"], found.attrs["reduction"]) == ("three", "mean")
    assert kinds_of(found) == sol.events.kind.tolist()


@pytest.mark.parametrize("run", [deep, classes])
def test_other_times_have_the_states_of_these_times(run: Any) -> None:
    sol = run()
    found = rf.analysis.to_xarray(sol, [0.5, 1.5])
    kept = rf.analysis.to_xarray(sol, sol.t)
    xarray.testing.assert_allclose(kept, sol.to_xarray(), rtol=1e-9, atol=1e-12)
    for k, t in enumerate((0.5, 1.5)):
        net = sol(t)
        first = net.W if isinstance(net, rf.Network) else net.layers[0].W
        np.testing.assert_array_equal(found["W" if run is classes else "W1"][k], first)


@pytest.mark.parametrize("run", [deep, classes])
def test_netcdf_gives_back_the_same_dataset_bit_for_bit(run: Any, tmp_path: Path) -> None:
    found = run().to_xarray()
    found.to_netcdf(tmp_path / "run.nc", engine="h5netcdf")
    with xarray.open_dataset(tmp_path / "run.nc", engine="h5netcdf") as read:
        xarray.testing.assert_identical(found, read.load())


def test_a_file_gives_the_same_dataset(tmp_path: Path) -> None:
    for run in (deep, classes):
        run().save(tmp_path / "run.npz")
        again = rf.load(tmp_path / "run.npz")
        assert isinstance(again, (rf.layered.DeepSolution, rf.flow.TwoLayerSolution))
        xarray.testing.assert_identical(again.to_xarray(), run().to_xarray())


def test_weight_decay_is_no_part_of_the_loss_that_is_shown() -> None:
    sol = deep(weight_decay=0.05)
    np.testing.assert_allclose(rf.analysis.to_xarray(sol, sol.t[1:3])["log_loss"], sol.log_loss[1:3], atol=1e-9)
    assert sol.to_xarray().attrs["weight_decay"] == 0.05
