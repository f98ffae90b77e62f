"""Layered networks as immutable values."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from .._digest import content_digest, hash_of
from .._files import read_archive, write_archive
from .._html import card
from .._validation import FloatArray, Seed, freeze, generator, integer, invalid, leak_value, positive, real_array
from ._balance import balance_weights
from ._graph import Node, Spec, nodes_of, parameter_count, spec_of
from ._layers import Layer, as_layers, build, input_shape
from ._torch import check_module, module_of, network_parts

_FORMAT, _SCHEMA = "reluflow layered network", 1


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
    balance : ndarray, shape (number of them,)
        The quantities θᵀEθ that the flow keeps, see `DeepSolution.balance`.

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
        seed: Seed = 0,
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
        seed : int, numpy.random.Generator or None, optional
            Seed of `numpy.random.default_rng`; the same number gives the same bits. A Generator is drawn from; None is
            another start every time.

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
        draws = generator(seed).standard_normal(built.n_parameters)
        net = cls.__new__(cls)
        net._set(tuple(built.nodes), positive(scale, "scale") * draws * np.array(built.scales))
        return net

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the network to one .npz file, whole or not at all; `DeepNetwork.load` reads it back exactly.

        Raises
        ------
        OSError
            The system cannot write, for want of the folder or of a right; what was there is still there.
        """
        write_archive(path, {"theta": self.theta}, {"format": _FORMAT, "schema": _SCHEMA, "spec": self.spec})

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> DeepNetwork:
        """Read a network that `save` wrote: the same graph and the same bits.

        Raises
        ------
        OSError
            There is no such file, or it cannot be read.
        ValueError
            The file holds no layered network, or is damaged; the message names the path and what is wrong.

        Examples
        --------
        >>> import tempfile, pathlib
        >>> import reluflow as rf
        >>> net = rf.DeepNetwork.init([rf.Dense(3), rf.Dense(1)], dim=2, seed=1)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     net.save(pathlib.Path(folder, "net.npz"))
        ...     rf.DeepNetwork.load(pathlib.Path(folder, "net.npz")) == net
        True
        """
        arrays, record = read_archive(path, (_FORMAT,), _SCHEMA)
        try:
            return cls.from_nodes(record["spec"], arrays["theta"])
        except Exception as error:  # whatever the wrong kind of value in a damaged file leads to
            raise invalid("path", "hold a whole network", f"{os.fspath(path)!r}, damaged: {error}") from error

    @classmethod
    def from_torch(cls, module: Any, *, dim: int | tuple[int, ...] | None = None) -> DeepNetwork:
        """Take the weights of a torch module: Linear, Conv1d, Conv2d and Flatten, with ReLU or LeakyReLU behind them.

        Parameters
        ----------
        module : torch.nn.Module
            Layers one after the other, such as a ``Sequential`` of them, with biases or without. A layer without an
            activation behind it is linear. Convolutions have no padding, groups, dilation or bias. Its precision and
            device do not matter; θ is float64.
        dim : int or tuple of int, optional
            The shape of an input, (channels, length) or (channels, height, width), which convolutions need.

        Raises
        ------
        ValueError
            Other layers or options, a slope outside [0, 1), or a module whose outputs are not those of its layers.
            An ImportError without torch (extra ``torch``).
        """
        nodes, theta = network_parts(module, dim)
        if len(theta) != parameter_count(nodes):
            raise invalid("module", "have layers of which each takes what the one before gives", "others")
        net = cls.__new__(cls)
        net._set(nodes, theta)
        check_module(module, net, dim)
        return net

    def to_torch(self) -> Any:
        """Return a torch module with these weights, in double precision, of a network of dense layers.

        Returns
        -------
        torch.nn.Sequential
            A Linear for each layer, behind it a ReLU, or a LeakyReLU if its leak is above 0. Outputs have the shape
            (n, K), also with K = 1.

        Raises
        ------
        ValueError
            A layer that is not dense: masked, shared or fixed weights, skips, biases for some units alone. An
            ImportError without torch (extra ``torch``).
        """
        return module_of(self.nodes, self.theta)

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

    @property
    def balance(self) -> FloatArray:
        """The quantities θᵀEθ that the flow keeps: for a unit with weights of its own Σ in² - Σ out²."""
        found: FloatArray = balance_weights(self.nodes, self.n_parameters) @ self.theta**2
        return found

    def matrix(self, node: int, edge: int = 0) -> FloatArray:
        """Return const + θ[idx] of an edge of a node, shape (size, source size).

        Raises
        ------
        ValueError
            There is no such node, or it has no such edge: node 0, the inputs, has none.
        """
        edges = self.nodes[integer(node, "node", least=1, most=len(self.nodes) - 1)].edges
        if not edges:
            raise invalid("node", "be one with an edge", f"node {node}, which has none")
        wire = edges[integer(edge, "edge", least=0, most=len(edges) - 1)]
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

    @cached_property
    def fingerprint(self) -> str:
        """32 hexadecimal digits of all that `==` compares: equal where networks are equal, in every process."""
        return content_digest(self.spec, self.theta)

    def __hash__(self) -> int:
        """Return a hash that is the same in every process."""
        return hash_of(self.fingerprint)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle and copy by spec and parameters."""
        return (DeepNetwork.from_nodes, (self.spec, self.theta))

    def __repr__(self) -> str:
        """One line: sizes, number of parameters, norm."""
        sizes = "-".join(str(node.size) for node in self.nodes)
        return f"DeepNetwork({sizes}, {self.n_parameters} parameters, norm={self.norm:.6g})"

    def _repr_html_(self) -> str:
        """Show layers, norm and degree of homogeneity as a table in a notebook."""
        rows = [("inputs", f"{self.dim}")]
        for number, node in enumerate(self.nodes[1:], start=1):
            kind = "linear" if node.leak is None else "ReLU" if node.leak == 0 else f"leak {node.leak:g}"
            bias = "" if node.bias is None else ", with bias"
            rows.append((f"layer {number}", f"{node.size} units, {kind}{bias}"))
        return card("DeepNetwork", (*rows, ("parameters", f"{self.n_parameters}"), ("|θ|", f"{self.norm:.6g}")))
