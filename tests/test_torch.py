"""Networks from and to torch. The tests that need torch are left out where it is not installed."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

import reluflow as rf

needs_torch = pytest.mark.usefixtures("torch")


# torch from PyPI brings gigabytes on Linux, so it is no part of the extra dev: `make torch` installs it and runs these.
@pytest.fixture(name="torch", scope="module")
def torch_if_it_is_there() -> Any:
    return pytest.importorskip("torch")


def sequential(torch: Any, *, bias: bool = True, slope: float | None = None, dtype: str = "float64") -> Any:
    torch.manual_seed(1)
    kind = getattr(torch, dtype)
    activation = torch.nn.ReLU() if slope is None else torch.nn.LeakyReLU(slope)
    return torch.nn.Sequential(
        torch.nn.Linear(3, 5, bias=bias, dtype=kind), activation, torch.nn.Linear(5, 1, bias=False, dtype=kind)
    )


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("slope", [None, 0.2])
@pytest.mark.parametrize("dtype", ["float64", "float32", "bfloat16"])
def test_a_network_computes_what_its_module_computes(torch: Any, bias: bool, slope: float | None, dtype: str) -> None:
    module = sequential(torch, bias=bias, slope=slope, dtype=dtype)
    net = rf.Network.from_torch(module)
    assert (net.width, net.dim, net.leak) == (5, 3 + bias, slope or 0.0)
    X = np.random.default_rng(0).standard_normal((7, 3))
    with torch.no_grad():
        expected = module.double()(torch.tensor(X)).numpy()[:, 0]
    np.testing.assert_allclose(net(X), expected, rtol=1e-13, atol=1e-13)
    assert net.bias_input == (1.0 if bias else None)


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("leak", [0.0, 0.3])
def test_there_and_back_keeps_every_bit(torch: Any, bias: bool, leak: float) -> None:
    net = rf.Network.init(6, 4, scale=0.3, leak=leak, seed=2, bias_input=1.0 if bias else None)
    module = net.to_torch()
    assert module[0].in_features == 4 - bias
    assert rf.Network.from_torch(module) == net
    assert module(torch.zeros(2, 4 - bias, dtype=torch.float64)).shape == (2, 1)


def test_several_outputs_go_there_and_back(torch: Any) -> None:
    net = rf.Network.init(6, 4, outputs=3, scale=0.3, seed=2, bias_input=1.0)
    module = net.to_torch()
    assert rf.Network.from_torch(module) == net
    X = np.random.default_rng(0).standard_normal((5, 3))
    np.testing.assert_allclose(module(torch.tensor(X)).detach().numpy(), net(X), rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize("layered", [False, True])
def test_a_gradient_step_of_torch_is_one_of_descend(torch: Any, layered: bool) -> None:
    data = rf.datasets.wang_pilanci("obtuse")
    net: Any = rf.Network.init(8, data.d, scale=0.5, seed=3)
    if layered:
        net = rf.DeepNetwork.init([rf.Dense(5), rf.Dense(4, bias=True), rf.Dense(1)], dim=2, seed=3)
    module = net.to_torch()
    margins = torch.tensor(data.y) * module(torch.tensor(data.X.copy()))[:, 0]
    torch.nn.functional.softplus(-margins).sum().backward()
    with torch.no_grad():
        for weight in module.parameters():
            weight -= 0.1 * weight.grad
    one = rf.descend(data, net, step=0.1, n_steps=1).final
    np.testing.assert_allclose(type(net).from_torch(module).theta, one.theta, rtol=1e-13, atol=1e-15)


def refused(torch: Any) -> list[tuple[Any, str]]:
    nn = torch.nn
    hooked = sequential(torch)
    hooked.register_forward_hook(lambda module, inputs, output: output + 1)

    class Squared(nn.Sequential):  # type: ignore[misc, name-defined]
        def forward(self, x: Any) -> Any:
            return super().forward(x) ** 2

    return [
        (nn.Sequential(nn.Linear(3, 5), nn.ReLU(), nn.Linear(5, 1)), "have no output bias"),
        (
            nn.Sequential(nn.Linear(3, 5), nn.ReLU(), nn.Linear(5, 4), nn.ReLU(), nn.Linear(4, 1)),
            "rf.DeepNetwork.from_torch",
        ),
        (nn.Sequential(nn.Linear(3, 5), nn.Tanh(), nn.Linear(5, 1, bias=False)), "found Linear, Tanh, Linear"),
        (nn.Sequential(nn.Linear(3, 5), nn.Linear(5, 1, bias=False)), "found Linear, Linear"),
        (sequential(torch, slope=1.5), "leak must lie in [0, 1), found 1.5"),
        (nn.Sequential(nn.Linear(3, 5), nn.ReLU(), nn.Linear(4, 1, bias=False)), "4 inputs after 5 neurons"),
        (hooked, "compute what its layers say"),
        (Squared(*sequential(torch)), "compute what its layers say"),
        (nn.Identity(), "found Identity"),
        ("a module", "be a torch.nn.Module"),
    ]


def test_what_the_flow_cannot_be_is_refused_with_a_reason(torch: Any) -> None:
    for module, message in refused(torch):
        with pytest.raises(ValueError, match=r"module|leak") as caught:
            rf.Network.from_torch(module)
        assert message in str(caught.value)


def test_layers_may_stand_in_a_module_of_one_s_own(torch: Any) -> None:
    class Mine(torch.nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.hidden = torch.nn.Sequential(torch.nn.Linear(2, 4, bias=False), torch.nn.ReLU())
            self.out = torch.nn.Linear(4, 1, bias=False)

        def forward(self, x: Any) -> Any:
            return self.out(self.hidden(x))

    assert rf.Network.from_torch(Mine()).width == 4


@needs_torch
def test_a_bias_needs_a_column() -> None:
    with pytest.raises(ValueError, match="bias must be False for a network with one input, found True"):
        rf.Network([[1.0]], [1.0]).to_torch(bias=True)


def test_torch_is_asked_for_only_when_it_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    net = rf.Network([[1.0]], [1.0])
    for call in (net.to_torch, lambda: rf.Network.from_torch(net)):
        with pytest.raises(ImportError, match=r"reluflow\[torch\]"):
            call()
    with pytest.raises(ValueError, match="bias must be True, False or None"):
        net.to_torch(bias="yes")  # type: ignore[arg-type]
