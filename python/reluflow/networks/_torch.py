"""Weights from and to torch: Linear-ReLU-Linear. A bias of the hidden layer is the last column of W.

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
_EXPECTED = "be Linear, ReLU or LeakyReLU, Linear, in this order (rf.DeepNetwork.from_torch takes other layers)"
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
        Other layers, an output bias, weights that are not real floats, or a module that does not
        compute what its layers say.
    ImportError
        torch is not installed.
    """
    torch = optional_module("torch", EXTRA)
    instance(module, "module", torch.nn.Module, "a torch.nn.Module")
    first, activation, second = _layers(torch, module)
    W = np.column_stack([numbers_of(first.weight), *([] if first.bias is None else [numbers_of(first.bias)])])
    a = numbers_of(second.weight).T
    leak = leak_value(float(activation.negative_slope) if isinstance(activation, torch.nn.LeakyReLU) else 0.0)
    X = probes(first.in_features)
    Z = (X if first.bias is None else np.column_stack((X, np.ones(_PROBES)))) @ W.T
    check_outputs(module, X, np.maximum(Z, leak * Z) @ a, np.abs(Z) @ np.abs(a))
    return W, a[:, 0] if a.shape[1] == 1 else a, leak, None if first.bias is None else 1.0


def _layers(torch: Any, module: Any) -> tuple[Any, Any, Any]:
    layers = leaf_modules(module)
    kinds = (torch.nn.Linear, (torch.nn.ReLU, torch.nn.LeakyReLU), torch.nn.Linear)
    if len(layers) != 3 or not all(isinstance(layer, kind) for layer, kind in zip(layers, kinds, strict=True)):
        raise invalid("module", _EXPECTED, ", ".join(type(layer).__name__ for layer in layers) or "no layer")
    first, activation, second = layers
    if second.in_features != first.out_features:
        raise invalid("module", _EXPECTED, f"{second.in_features} inputs after {first.out_features} neurons")
    if second.bias is not None:
        reason = "use Linear(m, K, bias=False), or rf.DeepNetwork.from_torch for biases in every layer"
        raise invalid("module", "have no output bias", f"one ({reason})")
    return first, activation, second


def leaf_modules(module: Any) -> list[Any]:
    """Return the parts of a torch module that have no parts, in their order."""
    return [part for part in module.modules() if not list(part.children())]


def numbers_of(tensor: Any) -> FloatArray:
    """Return the numbers of a torch tensor as doubles.

    Raises
    ------
    ValueError
        They are no real floats.
    """
    if not tensor.is_floating_point():
        raise invalid("module", "have weights that are real floats", str(tensor.dtype))
    return np.asarray(tensor.detach().cpu().double().numpy(), dtype=np.float64)


def probes(size: int) -> FloatArray:
    """Return the inputs at which a module is asked for its outputs."""
    return np.random.default_rng(0).standard_normal((_PROBES, size))


def check_outputs(module: Any, X: FloatArray, expected: FloatArray, sizes: FloatArray) -> None:
    """Compare the outputs of a module at X with those of its weights: a forward of its own or a hook would differ.

    Parameters
    ----------
    module : torch.nn.Module
    X : ndarray, shape (n, ...)
    expected, sizes : ndarray, shape (n, K)
        What its weights give, and the size of what is added up for that.

    Raises
    ------
    ValueError
        Other outputs.
    """
    torch = optional_module("torch", EXTRA)
    try:
        with torch.no_grad():
            found = copy.deepcopy(module).cpu().double()(torch.tensor(X)).numpy()
    except RuntimeError as error:  # torch's, of shapes that do not fit
        raise invalid("module", f"take inputs of the shape {X.shape}", str(error)) from error
    if found.shape != expected.shape:
        raise invalid("module", f"return the shape {expected.shape} for {len(X)} inputs", f"{found.shape}")
    if not (np.abs(expected - found) <= _PROBE_TOL * sizes).all():
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
    second = torch.nn.Linear(m, net.n_outputs, bias=False, **options)
    with torch.no_grad():
        first.weight.copy_(torch.tensor(net.W[:, :-1] if split else net.W, **options))
        second.weight.copy_(torch.tensor(net.a[None] if net.n_outputs == 1 else net.a.T.copy(), **options))
        if split:
            first.bias.copy_(torch.tensor(net.W[:, -1] if net.bias is None else net.bias, **options))
    activation = torch.nn.ReLU() if net.leak == 0 else torch.nn.LeakyReLU(net.leak)
    return torch.nn.Sequential(first, activation, second)
