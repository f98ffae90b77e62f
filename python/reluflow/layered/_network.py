"""Layered networks as immutable values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from .._validation import FloatArray, freeze, integer, invalid, leak_value, positive, real_array
from ._graph import Node, Spec, nodes_of, parameter_count, spec_of
from ._layers import Layer, as_layers, build, input_shape


@dataclass(frozen=True, eq=False)
class LayerView:
    """The parameters of one layer of a network.

    Attributes
    ----------
    W : ndarray, shape (size, source size)
        The matrix of its first edge, fixed entries included.
    u : ndarray
        Its free parameters, each once, in the order of their indices.
    b : ndarray, shape (size,), or None
        Its biases.
    """

    W: FloatArray
    u: FloatArray
    b: FloatArray | None


class DeepNetwork:
    """A layered network: dense, masked, diagonal, convolutional and residual layers, one output or several.

    Parameters
    ----------
    layers : sequence of Layer
        From the first hidden layer to the output layer, which is linear unless it says otherwise.
    theta : array_like, shape (P,)
        All parameters: layer by layer the weights, row by row, then the biases.
    dim : int or tuple of int
        Number of inputs, or for convolutions their shape (channels, length) or (channels, height, width).
    leak : float, optional
        Slope of the activation below zero, in [0, 1).

    Attributes
    ----------
    nodes : tuple of Node
        The graph; node 0 holds the inputs.
    theta : ndarray, shape (P,), float64, read-only
    dim, n_outputs, n_parameters : int
    layers : tuple of LayerView
        The parameters of each layer, without the inputs.
    norm : float
        |θ|.

    Raises
    ------
    ValueError
        Layers that do not fit, or parameters of another number; the message names the layer.

    Examples
    --------
    >>> from reluflow.layered import DeepNetwork, Dense
    >>> net = DeepNetwork([Dense(2), Dense(1)], [1.0, 0.0, 0.0, 2.0, 1.0, -2.0], dim=2)
    >>> net([[3.0, -1.0], [0.0, 1.0]])
    array([ 3., -4.])
    """

    nodes: tuple[Node, ...]
    theta: FloatArray

    def __init__(
        self,
        layers: Sequence[Layer],
        theta: npt.ArrayLike,
        *,
        dim: int | tuple[int, ...],
        leak: float = 0.0,
    ) -> None:
        built = build(as_layers(layers), input_shape(dim), leak_value(leak))
        self._set(tuple(built.nodes), theta)

    @classmethod
    def from_nodes(cls, spec: Spec | str, theta: npt.ArrayLike) -> DeepNetwork:
        """Build a network from nodes with index matrices.

        Parameters
        ----------
        spec : list of dict, or JSON text of one
            One dict a node, node 0 the inputs: ``size``; ``leak`` (None: linear); ``bias`` (parameter indices or
            None); ``edges``, each with ``src`` (an earlier node), ``tap`` ("h" after, "z" before its activation),
            ``idx`` (size × source size, parameter index or -1) and ``const`` (fixed entries or None). The matrix of
            an edge is const + θ[idx].
        theta : array_like, shape (P,)
            The parameters.

        Returns
        -------
        DeepNetwork

        Raises
        ------
        ValueError
            A node that does not fit, named by its position, or parameters of another number.

        Examples
        --------
        >>> from reluflow.layered import DeepNetwork
        >>> edge = {"src": 0, "tap": "h", "idx": [[0, 1]], "const": None}
        >>> spec = [{"size": 2, "leak": None, "bias": None, "edges": []},
        ...         {"size": 1, "leak": None, "bias": None, "edges": [edge]}]
        >>> DeepNetwork.from_nodes(spec, [1.0, -1.0])([[3.0, 1.0]])
        array([2.])
        """
        net = cls.__new__(cls)
        net._set(nodes_of(spec), theta)
        return net

    @classmethod
    def init(
        cls,
        layers: Sequence[Layer],
        *,
        dim: int | tuple[int, ...],
        scale: float = 1.0,
        leak: float = 0.0,
        seed: int = 0,
    ) -> DeepNetwork:
        """Draw a random network: each weight is normal with the deviation scale / √(inputs of its unit), biases are 0.

        Parameters
        ----------
        layers : sequence of Layer
        dim : int or tuple of int
            Number of inputs, or their shape.
        scale : float, optional
            Size of the weights.
        leak : float, optional
            Slope of the activation below zero.
        seed : int, optional
            Seed of `numpy.random.default_rng`; the same arguments give the same bits.

        Raises
        ------
        ValueError
            A bad argument, or layers that do not fit.

        Examples
        --------
        >>> from reluflow.layered import DeepNetwork, Dense
        >>> DeepNetwork.init([Dense(50), Dense(50), Dense(1)], dim=64, scale=0.5, seed=1).n_parameters
        5750
        """
        built = build(as_layers(layers), input_shape(dim), leak_value(leak))
        draws = np.random.default_rng(integer(seed, "seed", least=0)).standard_normal(built.n_parameters)
        net = cls.__new__(cls)
        net._set(tuple(built.nodes), positive(scale, "scale") * draws * np.array(built.scales))
        return net

    def _set(self, nodes: tuple[Node, ...], theta: npt.ArrayLike) -> None:
        parameters = real_array(theta, "theta", "(P,)")
        count = parameter_count(nodes)
        if len(parameters) != count:
            raise invalid("theta", f"hold the {count} parameters of the network", f"{len(parameters)}")
        freeze(parameters)
        object.__setattr__(self, "nodes", nodes)
        object.__setattr__(self, "theta", parameters)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a DeepNetwork cannot be changed: {name}")

    def _with(self, theta: FloatArray) -> DeepNetwork:
        """Return the same network with other parameters."""
        net = DeepNetwork.__new__(DeepNetwork)
        object.__setattr__(net, "nodes", self.nodes)
        freeze(theta)
        object.__setattr__(net, "theta", theta)
        return net

    @property
    def dim(self) -> int:
        """Number of inputs."""
        return self.nodes[0].size

    @property
    def n_outputs(self) -> int:
        """Number of outputs."""
        return self.nodes[-1].size

    @property
    def n_parameters(self) -> int:
        """Number of parameters."""
        return len(self.theta)

    @property
    def spec(self) -> Spec:
        """The graph as the plain lists that `from_nodes` reads."""
        return spec_of(self.nodes)

    @property
    def norm(self) -> float:
        """|θ|, the Euclidean norm of all parameters."""
        largest = float(np.abs(self.theta).max(initial=0.0))
        return largest * float(np.linalg.norm(self.theta / largest)) if largest else 0.0

    def matrix(self, node: int, edge: int = 0) -> FloatArray:
        """Return const + θ[idx] of an edge of a node, shape (size, source size)."""
        wire = self.nodes[node].edges[edge]
        entries = np.where(wire.idx >= 0, self.theta[wire.idx], 0.0)
        matrix: FloatArray = entries if wire.const is None else entries + wire.const
        return matrix

    @property
    def layers(self) -> tuple[LayerView, ...]:
        """The parameters of each layer, from the first one after the inputs to the outputs."""
        views = []
        for position, node in enumerate(self.nodes[1:], start=1):
            indices = [edge.idx.ravel() for edge in node.edges]
            used = np.unique(np.concatenate(indices)) if indices else np.zeros(0, dtype=np.int64)
            bias = None if node.bias is None else np.where(node.bias >= 0, self.theta[node.bias], 0.0)
            W = self.matrix(position) if node.edges else np.zeros((node.size, 0))
            views.append(LayerView(W, self.theta[used[used >= 0]], bias))
        return tuple(views)

    def pre_activations(self, X: npt.ArrayLike) -> list[FloatArray]:
        """Return z of every node on inputs X, (n, size) each; node 0 gives X.

        Raises
        ------
        ValueError
            X has another number of columns.
        """
        inputs = real_array(X, "X", "(n, d)")
        if inputs.shape[1] != self.dim:
            raise invalid("X", f"have {self.dim} columns, the inputs of the network", f"{inputs.shape[1]} columns")
        z, h = [inputs], [inputs]
        for position, node in enumerate(self.nodes[1:], start=1):
            total = np.zeros((len(inputs), node.size))
            if node.bias is not None:
                total += np.where(node.bias >= 0, self.theta[node.bias], 0.0)
            for number, edge in enumerate(node.edges):
                total += (z if edge.tap == "z" else h)[edge.src] @ self.matrix(position, number).T
            z.append(total)
            h.append(total if node.leak is None else np.maximum(total, node.leak * total))
        return z

    def __call__(self, X: npt.ArrayLike) -> FloatArray:
        """Evaluate the network on inputs X, shape (n, d); the result has the shape (n,), with K outputs (n, K)."""
        z = self.pre_activations(X)[-1]
        leak = self.nodes[-1].leak
        outputs: FloatArray = z if leak is None else np.maximum(z, leak * z)
        return outputs[:, 0] if self.n_outputs == 1 else outputs

    def __eq__(self, other: object) -> bool:
        """Tell whether graph and parameters are equal."""
        if not isinstance(other, DeepNetwork):
            return NotImplemented
        return np.array_equal(self.theta, other.theta) and (self.nodes is other.nodes or self.spec == other.spec)

    __hash__ = None  # type: ignore[assignment]  # equality goes by value, of arrays

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle and copy by spec and parameters."""
        return (DeepNetwork.from_nodes, (self.spec, self.theta))

    def __repr__(self) -> str:
        """One line: sizes, number of parameters, norm."""
        sizes = "-".join(str(node.size) for node in self.nodes)
        return f"DeepNetwork({sizes}, {self.n_parameters} parameters, norm={self.norm:.6g})"
