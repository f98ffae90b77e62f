"""Layered networks from and to torch: layers in a row, with an activation behind each or none."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from .._validation import FloatArray, instance, invalid, leak_value, optional_module
from ..networks._torch import EXTRA, check_outputs, leaf_modules, numbers_of, probes
from ._convolutions import Conv1d, Conv2d
from ._graph import Node
from ._layers import Dense, Layer, build, input_shape

if TYPE_CHECKING:
    from ._network import DeepNetwork

_KINDS = "be Linear, Conv1d, Conv2d and Flatten one after the other, each with ReLU or LeakyReLU behind it or nothing"
_PLAIN = {"padding": 0, "dilation": 1, "groups": 1, "bias": None}  # what a convolution may have of these


def network_parts(module: Any, dim: object) -> tuple[tuple[Node, ...], FloatArray]:
    """Read the layers of a torch module: the nodes of a network and its parameters.

    Raises
    ------
    ValueError
        A layer that has no like here, or inputs that do not fit; the message says which.
    ImportError
        torch is not installed.
    """
    torch = optional_module("torch", EXTRA)
    instance(module, "module", torch.nn.Module, "a torch.nn.Module")
    parts = list(_with_activations(torch, leaf_modules(module)))
    if not parts:
        raise invalid("module", _KINDS, "no layer")
    layers = [_layer(torch, part, "linear" if leak is None else "relu") for part, leak in parts]
    nodes = build(layers, _inputs(torch, parts[0][0], dim), 0.0).nodes
    own = (replace(node, leak=leak) for node, (_, leak) in zip(nodes[1:], parts, strict=True))
    numbers = [
        numbers_of(tensor).ravel() for part, _ in parts for tensor in (part.weight, part.bias) if tensor is not None
    ]
    return (nodes[0], *own), np.concatenate(numbers)


def check_module(module: Any, net: DeepNetwork, dim: object) -> None:
    """Compare the outputs of a module with those of the network of its layers.

    Raises
    ------
    ValueError
        They differ: a forward of the module's own, a hook, or layers in another order.
    """
    X = probes(net.dim)
    sizes = net._with(np.abs(net.theta))(np.abs(X)).reshape(len(X), -1)  # what is added up for each output, at most
    shape = dim if isinstance(dim, tuple) else (net.dim,)
    check_outputs(module, X.reshape(len(X), *shape), net(X).reshape(len(X), -1), sizes)


def _with_activations(torch: Any, parts: list[Any]) -> Iterator[tuple[Any, float | None]]:
    """Yield each layer with weights and the leak of the activation behind it, None where there is none."""
    weighted: Any = None
    for part in parts:
        if isinstance(part, (torch.nn.Flatten, torch.nn.Identity)):
            continue
        if isinstance(part, (torch.nn.ReLU, torch.nn.LeakyReLU)):
            if weighted is None:
                raise invalid("module", _KINDS, f"{type(part).__name__} behind no layer")
            yield weighted, leak_value(float(getattr(part, "negative_slope", 0.0)))
            weighted = None
            continue
        if weighted is not None:
            yield weighted, None
        weighted = part
    if weighted is not None:
        yield weighted, None


def _layer(torch: Any, part: Any, activation: str) -> Layer:
    if isinstance(part, torch.nn.Linear):
        return Dense(part.out_features, activation, bias=part.bias is not None)
    if not isinstance(part, (torch.nn.Conv1d, torch.nn.Conv2d)):
        raise invalid("module", _KINDS, type(part).__name__)
    for name, plain in _PLAIN.items():
        found = getattr(part, name)
        values = set(found) if isinstance(found, tuple) else {found}
        if plain is None and found is not None:
            raise invalid("module", "have convolutions without a bias", f"one in {part}")
        if plain is not None and values != {plain}:
            raise invalid("module", f"have convolutions with {name}={plain}", f"{name}={found} in {part}")
    if len(set(part.stride)) > 1:
        raise invalid("module", "have convolutions with one stride along both axes", f"stride={part.stride}")
    if isinstance(part, torch.nn.Conv1d):
        return Conv1d(part.out_channels, part.kernel_size[0], part.stride[0], activation)
    return Conv2d(part.out_channels, part.kernel_size, part.stride[0], activation)


def _inputs(torch: Any, first: Any, dim: object) -> tuple[int, ...]:
    """Return the shape of an input: that of the first layer, or the one given for a convolution."""
    if isinstance(first, torch.nn.Linear):
        shape = (first.in_features,) if dim is None else input_shape(dim)
        if prod(shape) != first.in_features:
            raise invalid("dim", f"be left out, or the shape of {first.in_features} inputs", repr(dim))
        return (first.in_features,)
    axes = ("length",) if isinstance(first, torch.nn.Conv1d) else ("height", "width")
    expected = f"be the shape ({first.in_channels}, {', '.join(axes)}) of an input"
    if not isinstance(dim, tuple) or len(dim) != 1 + len(axes) or dim[0] != first.in_channels:
        raise invalid("dim", expected, repr(dim))
    return input_shape(dim)


def module_of(nodes: tuple[Node, ...], theta: FloatArray) -> Any:
    """Return a torch Sequential with the weights of a network of dense layers, in double precision.

    Raises
    ------
    ValueError
        A layer that is not dense; the message names it.
    ImportError
        torch is not installed.
    """
    _check_dense(nodes)
    torch = optional_module("torch", EXTRA)
    double = {"dtype": torch.float64}
    parts = []
    for node, before in zip(nodes[1:], nodes, strict=False):
        linear = torch.nn.Linear(before.size, node.size, bias=node.bias is not None, **double)
        with torch.no_grad():
            linear.weight.copy_(torch.tensor(theta[node.edges[0].idx], **double))
            if node.bias is not None:
                linear.bias.copy_(torch.tensor(theta[node.bias], **double))
        parts.append(linear)
        if node.leak is not None:
            parts.append(torch.nn.ReLU() if node.leak == 0 else torch.nn.LeakyReLU(node.leak))
    return torch.nn.Sequential(*parts)


def _check_dense(nodes: tuple[Node, ...]) -> None:
    seen: set[int] = set()
    for number, node in enumerate(nodes[1:], start=1):
        edge = node.edges[0] if len(node.edges) == 1 else None
        is_plain = edge is not None and (edge.src, edge.tap, edge.const) == (number - 1, "h", None)
        indices = [] if edge is None else [edge.idx.ravel(), *([] if node.bias is None else [node.bias])]
        own = np.concatenate(indices).tolist() if indices else []
        if not is_plain or min(own) < 0 or len(set(own)) < len(own) or not seen.isdisjoint(own):
            raise invalid(
                "net", "have dense layers in a row, whose weights are all parameters of their own", f"layer {number}"
            )
        seen.update(own)
