"""Layered networks from and to torch. The tests that need torch are left out where it is not installed."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

import reluflow as rf


@pytest.fixture(name="torch", scope="module")
def torch_if_it_is_there() -> Any:
    torch = pytest.importorskip("torch")
    torch.manual_seed(1)
    return torch


def modules(torch: Any) -> list[tuple[Any, Any]]:
    nn = torch.nn
    return [
        (
            nn.Sequential(nn.Linear(3, 5), nn.ReLU(), nn.Linear(5, 4, bias=False), nn.LeakyReLU(0.2), nn.Linear(4, 2)),
            None,
        ),
        (nn.Sequential(nn.Linear(3, 4, dtype=torch.float32), nn.Identity(), nn.Linear(4, 1), nn.ReLU()), None),
        (
            nn.Sequential(nn.Conv1d(2, 3, 2, stride=2, bias=False), nn.ReLU(), nn.Flatten(), nn.Linear(9, 1)),
            (2, 6),
        ),
        (
            nn.Sequential(
                nn.Conv2d(1, 2, (2, 3), bias=False),
                nn.ReLU(),
                nn.Conv2d(2, 3, 2, bias=False),
                nn.ReLU(),
                nn.Flatten(),
                nn.Linear(12, 2),
            ),
            (1, 4, 5),
        ),
    ]


def test_a_network_computes_what_its_module_computes(torch: Any) -> None:
    for module, dim in modules(torch):
        net = rf.DeepNetwork.from_torch(module, dim=dim)
        X = np.random.default_rng(0).standard_normal((7, net.dim))
        with torch.no_grad():
            expected = module.double()(torch.tensor(X).reshape(7, *(dim or (net.dim,)))).numpy()
        np.testing.assert_allclose(net(X).reshape(7, -1), expected, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("leak", [0.0, 0.3])
def test_there_and_back_keeps_every_bit(torch: Any, bias: bool, leak: float) -> None:
    layers = [rf.Dense(6, bias=bias), rf.Dense(5, "linear"), rf.Dense(4), rf.Dense(3, bias=bias)]
    net = rf.DeepNetwork.init(layers, dim=2, leak=leak, seed=2)
    net = net._with(np.where(net.theta == 0.0, 0.25, net.theta))  # biases that are seen
    module = net.to_torch()
    assert rf.DeepNetwork.from_torch(module) == net
    assert module(torch.zeros(2, 2, dtype=torch.float64)).shape == (2, 3)


def refused(torch: Any) -> list[tuple[Any, Any, str]]:
    nn = torch.nn
    hooked = nn.Sequential(nn.Linear(3, 5), nn.ReLU(), nn.Linear(5, 1))
    hooked.register_forward_hook(lambda module, inputs, output: output + 1)
    flat = nn.Flatten()
    return [
        (nn.Sequential(nn.Linear(3, 5), nn.Tanh(), nn.Linear(5, 1)), None, "found Tanh"),
        (nn.Sequential(nn.ReLU(), nn.Linear(5, 1)), None, "ReLU behind no layer"),
        (nn.Sequential(nn.Linear(3, 5), nn.ReLU(), nn.ReLU(), nn.Linear(5, 1)), None, "ReLU behind no layer"),
        (nn.Sequential(nn.Linear(3, 5), nn.ReLU(), nn.Linear(4, 1)), None, "takes what the one before gives"),
        (nn.Sequential(nn.Conv1d(1, 2, 2, bias=False), flat, nn.Linear(4, 1)), None, "the shape (1, length)"),
        (nn.Sequential(nn.Conv1d(1, 2, 2), flat, nn.Linear(4, 1)), (1, 3), "convolutions without a bias"),
        (nn.Sequential(nn.Conv1d(1, 2, 2, bias=False, padding=1), flat, nn.Linear(8, 1)), (1, 3), "padding=0"),
        (nn.Sequential(nn.Conv1d(1, 2, 2, bias=False), nn.Linear(4, 1)), (1, 3), "take inputs of the shape"),
        (nn.Linear(3, 1), 4, "dim must be left out"),
        (hooked, None, "compute what its layers say"),
        (nn.Identity(), None, "found no layer"),
        ("a module", None, "be a torch.nn.Module"),
    ]


def test_what_no_layers_are_is_refused_with_a_reason(torch: Any) -> None:
    for module, dim, message in refused(torch):
        with pytest.raises(ValueError, match=r"module|dim") as caught:
            rf.DeepNetwork.from_torch(module, dim=dim)
        assert message in str(caught.value)


@pytest.mark.parametrize(
    "layer",
    [rf.Diagonal(), rf.Conv1d(2, 2), rf.Residual(rf.Dense(3)), rf.Dense(2, mask=[[1, 0, 1], [1, 1, 1]])],
)
def test_layers_that_are_not_dense_are_named(layer: Any) -> None:
    net = rf.DeepNetwork.init([rf.Dense(3), layer, rf.Dense(1)], dim=2)
    with pytest.raises(ValueError, match=r"net must have dense layers in a row.*found layer 2"):
        net.to_torch()


def test_torch_is_asked_for_only_when_it_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    net = rf.DeepNetwork.init([rf.Dense(3), rf.Dense(1)], dim=2)
    for call in (net.to_torch, lambda: rf.DeepNetwork.from_torch(net)):
        with pytest.raises(ImportError, match=r"reluflow\[torch\]"):
            call()
