"""Layers to build a network from: each adds nodes with index matrices to a graph."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from .._validation import instance, integer, invalid, one_of, read_array, real_array, truth
from ._graph import Edge, IndexArray, Node

ACTIVATIONS = ("relu", "linear")


@dataclass
class Builder:
    """The graph under construction: nodes, the shape of each, the number of parameters."""

    leak: float
    nodes: list[Node]
    shapes: list[tuple[int, ...]]
    n_parameters: int = 0
    scales: list[float] = field(default_factory=list)  # standard deviation of each parameter at a start of scale 1

    def new(self, count: int, fan_in: int) -> IndexArray:
        """Return the indices of so many new parameters; fan_in 0 stands for biases."""
        first = self.n_parameters
        self.n_parameters += count
        self.scales += [fan_in**-0.5 if fan_in else 0.0] * count
        return np.arange(first, first + count, dtype=np.int64)

    def add(self, edges: tuple[Edge, ...], size: int, activation: str, bias: bool, shape: tuple[int, ...]) -> None:
        """Append a node that reads `edges`."""
        indices = self.new(size, 0) if bias else None
        self.nodes.append(Node(size, None if activation == "linear" else self.leak, indices, edges))
        self.shapes.append(shape)

    @property
    def last(self) -> int:
        """Position of the last node."""
        return len(self.nodes) - 1


@dataclass(frozen=True)
class Layer:
    """A layer of a `DeepNetwork`; see `Dense`, `Diagonal`, `Conv1d`, `Conv2d`, `Residual` and `Shared`."""

    def _activation(self, is_last: bool) -> str:
        chosen = getattr(self, "activation", None)
        if chosen is None:
            return "linear" if is_last else "relu"
        return str(chosen)

    def _matrix(self, builder: Builder, name: str) -> tuple[IndexArray, Any, tuple[int, ...]]:
        """Return index matrix, fixed entries or None, and the shape of the output."""
        raise invalid(name, "be a layer with a matrix, such as Dense(10)", f"a value of type {type(self).__name__}")

    def _build(self, builder: Builder, name: str, is_last: bool) -> None:
        idx, const, shape = self._matrix(builder, name)
        reads = (idx >= 0).any(axis=1) | (False if const is None else (const != 0).any(axis=1))
        if not reads.all():  # only those of `Shared` can be without
            raise invalid(f"{name}.index", "leave every unit an input", f"none for unit {int(np.argmin(reads))}")
        edge = Edge(builder.last, "h", idx, const)
        builder.add((edge,), idx.shape[0], self._activation(is_last), bool(getattr(self, "bias", False)), shape)


def _checked_activation(activation: str | None) -> None:
    if activation is not None:
        one_of(activation, "activation", ACTIVATIONS)


@dataclass(frozen=True)
class Dense(Layer):
    """A layer whose units read all inputs, or those that a mask leaves.

    Parameters
    ----------
    width : int
        Number of units.
    activation : {"relu", "linear"}, optional
        By default "relu", and "linear" for the last layer. "relu" takes the network's leak.
    bias : bool, optional
        Whether each unit has a bias, which starts at 0.
    mask : array_like of bool, shape (width, inputs), optional
        Which entries of the matrix are parameters; the others are zero.

    Examples
    --------
    >>> from reluflow.layered import DeepNetwork, Dense
    >>> DeepNetwork.init([Dense(4), Dense(1)], dim=3, seed=1).theta.shape
    (16,)
    """

    width: int
    activation: str | None = None
    bias: bool = False
    mask: npt.ArrayLike | None = None

    def __post_init__(self) -> None:
        integer(self.width, "width")
        _checked_activation(self.activation)
        truth(self.bias, "bias")

    def _matrix(self, builder: Builder, name: str) -> tuple[IndexArray, Any, tuple[int, ...]]:
        inputs = builder.nodes[-1].size
        if self.mask is None:
            idx = builder.new(self.width * inputs, inputs).reshape(self.width, inputs)
            return idx, None, (self.width,)
        mask = np.asarray(self.mask)
        if mask.shape != (self.width, inputs):
            raise invalid(f"{name}.mask", f"have the shape ({self.width}, {inputs})", f"the shape {mask.shape}")
        chosen = mask.astype(bool)
        if not chosen.any(axis=1).all():
            unit = int(np.argmin(chosen.any(axis=1)))
            raise invalid(f"{name}.mask", "leave every unit an input", f"none for unit {unit}")
        idx = np.full(chosen.shape, -1, dtype=np.int64)
        for row in range(self.width):
            count = int(chosen[row].sum())
            idx[row, chosen[row]] = builder.new(count, count)
        return idx, None, (self.width,)


@dataclass(frozen=True)
class Diagonal(Layer):
    """A layer of as many units as inputs, each with one weight.

    Parameters
    ----------
    activation : {"relu", "linear"}, optional
        As in `Dense`.
    """

    activation: str | None = None

    def __post_init__(self) -> None:
        _checked_activation(self.activation)

    def _matrix(self, builder: Builder, name: str) -> tuple[IndexArray, Any, tuple[int, ...]]:
        size = builder.nodes[-1].size
        idx = np.full((size, size), -1, dtype=np.int64)
        np.fill_diagonal(idx, builder.new(size, 1))
        return idx, None, builder.shapes[-1]


@dataclass(frozen=True)
class Shared(Layer):
    """A layer with any sharing of weights, the function g_l of [VSS, Section 2].

    Parameters
    ----------
    index : array_like of int, shape (width, inputs)
        Number of the layer's parameter in each entry, from 0; -1 for none.
    fixed : array_like, shape (width, inputs), optional
        Fixed entries that are added, finite. Every unit has a parameter or a fixed entry that is not zero, unless the
        layer is that of a `Residual`.
    activation : {"relu", "linear"}, optional
        As in `Dense`.
    """

    index: npt.ArrayLike
    fixed: npt.ArrayLike | None = None
    activation: str | None = None

    def __post_init__(self) -> None:
        _checked_activation(self.activation)

    def _matrix(self, builder: Builder, name: str) -> tuple[IndexArray, Any, tuple[int, ...]]:
        inputs = builder.nodes[-1].size
        index = read_array(self.index, f"{name}.index", f"(width, {inputs})")
        if index.ndim != 2 or index.shape[0] < 1 or index.shape[1] != inputs:
            raise invalid(f"{name}.index", f"have the shape (width, {inputs})", f"the shape {index.shape}")
        if index.dtype.kind not in "iu":
            raise invalid(f"{name}.index", "hold integers", f"the dtype {index.dtype}")
        count = int(index.max()) + 1
        missing = np.setdiff1d(np.arange(count), index)
        if index.min() < -1 or missing.size:
            found = f"no entry with the number {missing[0]}" if missing.size else str(index.min())
            raise invalid(f"{name}.index", "number the parameters 0, 1, ... and write -1 for none", found)
        fan_in = int((index >= 0).sum(axis=1).max(initial=1))
        idx = np.where(index >= 0, builder.new(count, max(fan_in, 1))[index] if count else -1, -1).astype(np.int64)
        if self.fixed is None:
            return idx, None, (index.shape[0],)
        fixed = real_array(self.fixed, f"{name}.fixed", f"{index.shape}")
        if fixed.shape != index.shape:
            raise invalid(f"{name}.fixed", f"have the shape {index.shape}", f"the shape {fixed.shape}")
        return idx, fixed, (index.shape[0],)


@dataclass(frozen=True)
class Residual(Layer):
    """A layer beside the identity: z = z_before + W h_before, as in [PL, (30)].

    Parameters
    ----------
    layer : Layer
        The layer that makes W h_before, no `Residual` itself; it has as many units as inputs.
    """

    layer: Layer

    def __post_init__(self) -> None:
        instance(self.layer, "layer", Layer, "a layer such as Dense(10)")

    def _build(self, builder: Builder, name: str, is_last: bool) -> None:
        source = builder.last
        size = builder.nodes[source].size
        idx, const, shape = self.layer._matrix(builder, f"{name}.layer")
        if idx.shape[0] != size:
            raise invalid(name, f"have {size} units, as many as the layer before it", f"{idx.shape[0]} units")
        skip = Edge(source, "z", np.full((size, size), -1, dtype=np.int64), np.eye(size))
        bias = bool(getattr(self.layer, "bias", False))
        activation = self.layer._activation(is_last)
        builder.add((Edge(source, "h", idx, const), skip), size, activation, bias, shape)


def as_layers(layers: object) -> list[Layer]:
    """Check a list of layers.

    Raises
    ------
    ValueError
        It is no list, is empty, or holds something else.
    """
    if not isinstance(layers, Sequence) or not layers:
        found = "an empty list" if isinstance(layers, Sequence) else f"a value of type {type(layers).__name__}"
        raise invalid("layers", "be a list of layers such as [Dense(10), Dense(1)]", found)
    for position, layer in enumerate(layers):
        instance(layer, f"layers[{position}]", Layer, "a layer such as Dense(10)")
    return list(layers)


def input_shape(dim: object) -> tuple[int, ...]:
    """Check the number of inputs, or the shape of an input (channels, length) or (channels, height, width).

    Raises
    ------
    ValueError
        It is neither.
    """
    if isinstance(dim, tuple):
        return tuple(integer(size, "dim") for size in dim)
    return (integer(dim, "dim"),)


def build(layers: Sequence[Layer], shape: tuple[int, ...], leak: float) -> Builder:
    """Build the graph of `layers` on inputs of this shape."""
    builder = Builder(leak, [Node(prod(shape), None, None, ())], [shape])
    for position, layer in enumerate(layers):
        layer._build(builder, f"layers[{position}]", position == len(layers) - 1)
    return builder
