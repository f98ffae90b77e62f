"""Weights from and to torch: Linear-ReLU-Linear with one output. A bias of the hidden layer is the last column of W.

torch is asked for when it is used, and only here.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import numpy as np

from .._validation import FloatArray, instance, invalid, leak_value, optional_module

if TYPE_CHECKING:
    from ._network import Network

EXTRA = "torch"
_EXPECTED = "be Linear, ReLU or LeakyReLU, Linear, in this order"
# The module is asked for its outputs at this many points, to see that it computes what its layers say.
_PROBES = 8
# Relative to the sizes of what is added up, in double precision: far above the rounding of sums in any order, far below
# what a hook or a forward of its own changes.
_PROBE_TOL = 1e-10


def weights_of(module: Any) -> tuple[FloatArray, FloatArray, float, float | None]:
    """Return W, a, the leak and the bias input of a torch module; it is 1 where there is a bias.

    Raises
    ------
    ValueError
        Other layers, several outputs, an output bias, weights that are not real floats, or a module that does not
        compute what its layers say.
    ImportError
        torch is not installed.
    """
    torch = optional_module("torch", EXTRA)
    instance(module, "module", torch.nn.Module, "a torch.nn.Module")
    first, activation, second = _layers(torch, module)
    W = np.column_stack([_numbers(first.weight), *([] if first.bias is None else [_numbers(first.bias)])])
    a = _numbers(second.weight)[0]
    leak = leak_value(float(activation.negative_slope) if isinstance(activation, torch.nn.LeakyReLU) else 0.0)
    _check_outputs(torch, module, first, (W, a, leak))
    return W, a, leak, None if first.bias is None else 1.0


def _layers(torch: Any, module: Any) -> tuple[Any, Any, Any]:
    layers = [part for part in module.modules() if not list(part.children())]
    kinds = (torch.nn.Linear, (torch.nn.ReLU, torch.nn.LeakyReLU), torch.nn.Linear)
    if len(layers) != 3 or not all(isinstance(layer, kind) for layer, kind in zip(layers, kinds, strict=True)):
        raise invalid("module", _EXPECTED, ", ".join(type(layer).__name__ for layer in layers) or "no layer")
    first, activation, second = layers
    if second.in_features != first.out_features:
        raise invalid("module", _EXPECTED, f"{second.in_features} inputs after {first.out_features} neurons")
    if second.out_features != 1:
        raise invalid("module", "have one output", f"{second.out_features}")
    if second.bias is not None:
        reason = "a flow has no output bias, and one that is left out would change it: use Linear(m, 1, bias=False)"
        raise invalid("module", "have no output bias", f"one ({reason})")
    return first, activation, second


def _numbers(tensor: Any) -> FloatArray:
    if not tensor.is_floating_point():
        raise invalid("module", "have weights that are real floats", str(tensor.dtype))
    return np.asarray(tensor.detach().cpu().double().numpy(), dtype=np.float64)


def _check_outputs(torch: Any, module: Any, first: Any, weights: tuple[FloatArray, FloatArray, float]) -> None:
    """Compare the outputs of the module with those of its weights: a forward of its own or a hook would differ."""
    W, a, leak = weights
    X = np.random.default_rng(0).standard_normal((_PROBES, first.in_features))
    with torch.no_grad():
        found = copy.deepcopy(module).cpu().double()(torch.tensor(X)).numpy()
    if found.shape != (_PROBES, 1):
        raise invalid("module", f"return the shape ({_PROBES}, 1) for {_PROBES} inputs", f"{found.shape}")
    Z = (X if first.bias is None else np.column_stack((X, np.ones(_PROBES)))) @ W.T
    error = np.abs(np.maximum(Z, leak * Z) @ a - found[:, 0])
    if not (error <= _PROBE_TOL * (np.abs(Z) @ np.abs(a))).all():
        raise invalid("module", "compute what its layers say", "other outputs (a forward or a hook of its own?)")


def module_of(net: Network, *, bias: bool | None) -> Any:
    """Return a torch Sequential with the weights of a network, in double precision.

    Raises
    ------
    ValueError
        `bias` is no truth value, or W has but the one column that would be the bias.
    ImportError
        torch is not installed.
    """
    instance(bias, "bias", (bool, np.bool_, type(None)), "True, False or None")
    torch = optional_module("torch", EXTRA)
    m, d = net.W.shape
    split = net.bias_input is not None if bias is None else bool(bias)
    if split and d == 1:
        raise invalid("bias", "be False for a network with one input", "True")
    options = {"dtype": torch.float64}
    first = torch.nn.Linear(d - 1 if split else d, m, bias=split, **options)
    second = torch.nn.Linear(m, 1, bias=False, **options)
    with torch.no_grad():
        first.weight.copy_(torch.tensor(net.W[:, :-1] if split else net.W, **options))
        second.weight.copy_(torch.tensor(net.a[None], **options))
        if split:
            first.bias.copy_(torch.tensor(net.W[:, -1] if net.bias is None else net.bias, **options))
    activation = torch.nn.ReLU() if net.leak == 0 else torch.nn.LeakyReLU(net.leak)
    return torch.nn.Sequential(first, activation, second)
