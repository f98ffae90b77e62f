"""Layered networks as values: layers, index matrices, evaluation, bad input."""

from __future__ import annotations

import copy
import json
from typing import Any

import numpy as np
import pytest

import reluflow as rf
from layered_cases import FOLDER, NAMES

DIM = 4


def test_a_spec_comes_back_as_it_was() -> None:
    for name in NAMES:
        with np.load(FOLDER / f"{name}.npz") as file:
            text, theta = str(file["spec"]), file["theta0"]
        net = rf.DeepNetwork.from_nodes(json.loads(text), theta)
        assert rf.DeepNetwork.from_nodes(net.spec, theta) == net == copy.deepcopy(net)
        assert np.array_equal(net.theta, theta)
        for given, made in zip(json.loads(text), net.spec, strict=True):
            assert {**given, "edges": list(given["edges"])} == made


def test_dense_layers_are_products_of_matrices() -> None:
    net = rf.DeepNetwork.init([rf.Dense(3, bias=True), rf.Dense(2), rf.Dense(2)], dim=DIM, leak=0.1, seed=3)
    X = np.random.default_rng(1).standard_normal((5, DIM))
    first, second, third = net.layers
    assert first.b is not None
    h = X @ first.W.T + first.b
    h = np.maximum(h, 0.1 * h) @ second.W.T
    assert net(X) == pytest.approx(np.maximum(h, 0.1 * h) @ third.W.T)
    assert [len(layer.u) for layer in net.layers] == [12, 6, 4]


def test_a_convolution_is_that_of_numpy() -> None:
    net = rf.DeepNetwork.init([rf.Conv1d(2, 3, activation="linear"), rf.Dense(1)], dim=6, seed=2)
    x = np.arange(6.0) ** 2
    kernels = net.theta[:6].reshape(2, 3)
    wanted = np.concatenate([np.correlate(x, kernel, "valid") for kernel in kernels])
    assert net.pre_activations(x[None])[1][0] == pytest.approx(wanted)


def test_a_convolution_of_images_sums_over_channels() -> None:
    net = rf.DeepNetwork.init([rf.Conv2d(2, (2, 3), stride=2), rf.Dense(1)], dim=(3, 4, 5), seed=2)
    image = np.random.default_rng(4).standard_normal((3, 4, 5))
    kernels = net.theta[:36].reshape(2, 3, 2, 3)
    wanted = [
        (kernels[c] * image[:, 2 * p : 2 * p + 2, 2 * q : 2 * q + 3]).sum()
        for c in range(2)
        for p in range(2)
        for q in range(2)
    ]
    assert net.pre_activations(image.reshape(1, -1))[1][0] == pytest.approx(wanted)


def test_convolutions_read_the_channels_of_convolutions() -> None:
    net = rf.DeepNetwork.init([rf.Conv1d(2, 3), rf.Conv1d(3, 2, stride=2), rf.Dense(1)], dim=8, seed=2)
    assert [node.size for node in net.nodes] == [8, 12, 9, 1]
    assert [len(layer.u) for layer in net.layers] == [6, 12, 9]


def test_residual_diagonal_masked_and_shared_layers() -> None:
    mask = [[1, 0, 0, 1], [0, 1, 1, 0]]
    layers = [rf.Dense(2, mask=mask), rf.Diagonal(), rf.Residual(rf.Dense(2)), rf.Shared([[0, 0]], fixed=[[0.0, 5.0]])]
    net = rf.DeepNetwork(layers, [1, 2, 3, 4, -1, 2, 1, 0, 0, 1, 3], dim=DIM)
    z = net.pre_activations([[1.0, 1.0, 1.0, 1.0]])
    assert [values[0].tolist() for values in z[1:]] == [[3, 7], [-3, 14], [-3, 28], [224]]


def test_a_unit_of_a_shared_layer_may_read_fixed_entries_or_what_a_residual_adds() -> None:
    none = [-1] * DIM
    layers = [
        rf.Residual(rf.Shared([none, [0] * 4, none, none])),
        rf.Shared([none, [0] * 4], [[0, 2.0, 0, 0], [0] * 4]),
    ]
    net = rf.DeepNetwork([*layers, rf.Dense(1)], [1, 2, 3, 4], dim=DIM)
    assert net(np.ones((1, DIM))).tolist() == [3 * 10 + 4 * 16]
    assert rf.DeepNetwork.from_nodes(net.spec, net.theta) == net


def test_the_same_seed_draws_the_same_network() -> None:
    layers = [rf.Dense(50), rf.Dense(50), rf.Dense(1)]
    net = rf.DeepNetwork.init(layers, dim=64, scale=0.5, seed=1)
    assert net == rf.DeepNetwork.init(layers, dim=64, scale=0.5, seed=1)
    assert net.theta[:3200].std() == pytest.approx(0.5 / 8, rel=0.05)


@pytest.mark.parametrize(
    ("layers", "message"),
    [
        ([], "layers must be a list of layers"),
        ([rf.Dense(2), "dense"], r"layers\[1\] must be a layer"),
        ([rf.Dense(3), rf.Residual(rf.Dense(2)), rf.Dense(1)], r"layers\[1\] must have 3 units"),
        ([rf.Conv1d(1, 9), rf.Dense(1)], r"layers\[0\] must have a kernel of at most 4"),
        ([rf.Dense(2, mask=np.zeros((2, 4))), rf.Dense(1)], r"layers\[0\].mask must leave every unit an input"),
        ([rf.Dense(2, mask=np.ones((2, 3))), rf.Dense(1)], r"layers\[0\].mask must have the shape"),
        (
            [rf.Shared([[0, 1, 1, 0], [-1] * 4])],
            r"layers\[0\].index must leave every unit an input, found none for unit 1",
        ),
        ([rf.Shared([[-1] * 4], [[0.0] * 4])], r"layers\[0\].index must leave every unit an input"),
        ([rf.Shared([[0, 2, 0, 0]])], r"layers\[0\].index must number"),
        ([rf.Shared([[0, 1]])], r"layers\[0\].index must have the shape \(width, 4\), found the shape \(1, 2\)"),
        ([rf.Shared([[0, 1], [0]])], r"layers\[0\].index must be an array of shape \(width, 4\), found 1 entries"),
        ([rf.Shared([[0.5, 1, 0, 0]])], r"layers\[0\].index must hold integers, found the dtype float64"),
        ([rf.Shared([[0, 1, 0, 0]], [[1, np.nan, 0, 0]])], r"layers\[0\].fixed must hold finite numbers only"),
        ([rf.Shared([[0, 1, 0, 0]], [[1j, 0, 0, 0]])], r"layers\[0\].fixed must hold real numbers, found"),
        ([rf.Shared([[0, 1, 0, 0]], [["a", 0, 0, 0]])], r"layers\[0\].fixed must hold real numbers, found"),
        ([rf.Shared([[0, 1, 0, 0]], [1, 0, 0, 0])], r"layers\[0\].fixed must have the shape \(1, 4\), found the shape"),
        ([rf.Residual(rf.Residual(rf.Dense(4))), rf.Dense(1)], r"layers\[0\].layer must be a layer with a matrix"),
        ([rf.Conv2d(1, 2), rf.Dense(1)], r"layers\[0\] must read inputs of the shape"),
    ],
)
def test_layers_that_do_not_fit_are_named(layers: list[object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        rf.DeepNetwork.init(layers, dim=DIM)  # type: ignore[arg-type]


@pytest.mark.parametrize("bias", ["no", np.zeros(3), [0.0, 0.0], None, 0])
def test_a_layer_has_biases_or_has_none(bias: object) -> None:
    with pytest.raises(ValueError, match="bias must be True or False, found a value of type"):
        rf.Dense(3, bias=bias)  # type: ignore[arg-type]


def spec(**change: object) -> list[dict[str, object]]:
    edge = {"src": 0, "tap": "h", "idx": [[0, 1], [2, 3]], "const": None}
    out = {"src": 1, "tap": "h", "idx": [[4, 5]], "const": None}
    middle: dict[str, object] = {"size": 2, "leak": 0.0, "bias": None, "edges": [{**edge, **change}]}
    return [
        {"size": 2, "leak": None, "bias": None, "edges": []},
        middle,
        {"size": 1, "leak": None, "bias": None, "edges": [out]},
    ]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"src": 1}, r"spec\[1\].edges.src must name an earlier node"),
        ({"tap": "x"}, r"spec\[1\].edges.tap must be"),
        ({"idx": [[0, 1]]}, r"spec\[1\].edges.idx must hold integers of the shape"),
        ({"idx": [[0.5, 1], [2, 3]]}, r"spec\[1\].edges.idx must hold integers"),
        ({"idx": [[-1, -1], [2, 3]]}, r"spec\[1\] must connect every unit"),
        ({"const": [[1.0]]}, r"spec\[1\].edges.const must hold finite numbers"),
        ({"const": [[np.nan, 0.0], [0.0, 0.0]]}, r"spec\[1\].edges.const must hold finite numbers"),
        ({"const": [[1j, 0.0], [0.0, 0.0]]}, r"spec\[1\].edges.const must hold real numbers"),
    ],
)
def test_a_node_that_does_not_fit_is_named(change: dict[str, object], message: str) -> None:
    assert rf.DeepNetwork.from_nodes(spec(), np.ones(6)).dim == 2
    with pytest.raises(ValueError, match=message):
        rf.DeepNetwork.from_nodes(spec(**change), np.ones(6))


def test_arguments_of_a_run_are_checked() -> None:
    net = rf.DeepNetwork.from_nodes(spec(), np.ones(6))
    X = [[1.0, 2.0], [0.5, -1.0]]
    data = rf.Dataset(X, [1, -1])
    with pytest.raises(ValueError, match="theta must hold the 6 parameters"):
        rf.DeepNetwork.from_nodes(spec(), np.ones(5))
    for arguments, message in (
        ({"loss": "hinge"}, "loss must"),
        ({"rtol": 2.0}, "rtol must lie in"),
        ({"atol": 1e-3}, "atol must be left out"),
        ({"save_at": [2.0, 1.0]}, "save_at must increase strictly, found 1.0 after 2.0 at entry 1"),
        ({"save_at": [0.5, 2.0]}, "save_at must hold times that are reachable, up to the stop at 1.0, found 2.0"),
        ({"save_at": [-1.0, 0.5]}, "save_at must not be before the start of the run at t = 0.0, found -1.0"),
        ({"save_at": []}, "save_at must hold at least one time, found none"),
        ({"save_at_log": [-1.0, 1.0]}, "save_at_log must hold times that are reachable, up to the stop at 0.0, found"),
        ({"save_at_log": [-1.0], "save_at": [0.5]}, "save_at_log must be left out where save_at is given"),
        ({"until": rf.Stop(direction=0.1)}, "until must name criteria of layered networks"),
        ({"loss": "cross_entropy"}, "loss must be another one"),
    ):
        with pytest.raises(ValueError, match=message):
            rf.integrate(data, net, **{"until": 1.0, **arguments})  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="net must take the 3 inputs"):
        rf.integrate(rf.Dataset(np.eye(3), [1, -1, 1]), net, until=1.0)
    with pytest.raises(ValueError, match="data must hold labels"):
        rf.integrate((X, [0.3, 1.0]), net, until=1.0)
    with pytest.raises(AttributeError):
        net.theta = np.zeros(6)  # type: ignore[misc]


@pytest.mark.parametrize(
    ("outputs", "targets", "message"),
    [
        (2, np.arange(8.0).reshape(2, 4), r"data must hold targets of the shape \(4, 2\), found the shape \(2, 4\)"),
        (2, np.arange(8.0), r"data must hold targets of the shape \(4, 2\), found the shape \(8,\)"),
        (1, np.arange(4.0).reshape(2, 2), r"data must hold targets of the shape \(4,\), found the shape \(2, 2\)"),
        (1, np.arange(3.0), r"data must hold targets of the shape \(4,\), found the shape \(3,\)"),
        (1, [1.0, np.nan, 0.0, 0.0], r"data\[1\] must hold finite numbers only, found nan at row 1"),
        (1, ["a", "b", "c", "d"], r"data\[1\] must hold real numbers, found the dtype <U1, with 'a' at row 0"),
        (1, 1j * np.ones(4), r"data\[1\] must hold real numbers, found the dtype complex128"),
        (1, np.ma.masked_array(np.ones(4), [1, 0, 0, 0]), r"data\[1\] must have no masked entries, found 1 masked"),
        (1, None, r"data\[1\] must have the shape \(n,\), found the shape \(\)"),
    ],
)
def test_targets_that_are_no_numbers_of_the_samples_are_named(outputs: int, targets: object, message: str) -> None:
    net = rf.DeepNetwork.init([rf.Dense(3), rf.Dense(outputs)], dim=2, seed=1)
    X = np.random.default_rng(0).standard_normal((4, 2))
    for start in (
        lambda: rf.integrate((X, targets), net, until=1.0, loss="squared"),  # type: ignore[arg-type]
        lambda: rf.descend((X, targets), net, n_steps=1, loss="squared"),  # type: ignore[arg-type]
    ):
        with pytest.raises(ValueError, match=message):
            start()


@pytest.mark.parametrize(("loss", "outputs"), [("squared", 1), ("logistic", 1), ("cross_entropy", 2)])
def test_no_samples_are_refused(loss: Any, outputs: int) -> None:
    net = rf.DeepNetwork.init([rf.Dense(3), rf.Dense(outputs)], dim=2, seed=1)
    with pytest.raises(ValueError, match=r"data\[0\] must hold at least one row, found none"):
        rf.integrate((np.zeros((0, 2)), np.zeros(0)), net, until=1.0, loss=loss)


def test_a_column_of_targets_is_as_good_as_a_row() -> None:
    net = rf.DeepNetwork.init([rf.Dense(3), rf.Dense(1)], dim=2, seed=1)
    X, y = np.eye(2), np.array([0.5, -1.0])
    runs = [rf.integrate((X, targets), net, until=1.0, loss="squared") for targets in (y, y[:, None], y.tolist())]
    assert all((run.final.theta == runs[0].final.theta).all() for run in runs)


def test_times_to_save_at_begin_where_a_run_goes_on() -> None:
    data = rf.Dataset([[1.0, 2.0], [0.5, -1.0]], [1, -1])
    sol = rf.integrate(data, rf.DeepNetwork.from_nodes(spec(), np.ones(6)), until=1.0)
    with pytest.raises(ValueError, match=r"save_at must not be before the start of the run at t = 1\.0, found 0\.5"):
        rf.integrate(data, sol, until=2.0, save_at=[0.5, 1.5])
    later = rf.integrate(data, sol, until=2.0, save_at=[1.0, 1.5])
    assert later.t.tolist() == [1.0, 1.5]
    assert (later.theta[0] == sol.final.theta).all()


def test_no_run_goes_back_in_time() -> None:
    data = rf.Dataset([[1.0, 2.0], [0.5, -1.0]], [1, -1])
    sol = rf.integrate(data, rf.DeepNetwork.from_nodes(spec(), np.ones(6)), until=1.0)
    several = rf.integrate(data, rf.Network.init(3, 2, seed=1), until=1.0, rates=(1.0, 1.0))
    for stop in (rf.Stop(time=0.5), rf.Stop(time=1.0), rf.Stop(log_time=-1.0), rf.Stop(log_time=0.0)):
        for done in (sol, several):
            with pytest.raises(ValueError, match="until must lie after the start"):
                rf.integrate(data, done, until=stop)
