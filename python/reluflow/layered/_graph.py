"""The wiring of a layered network: nodes in topological order with index matrices, checked once."""

from __future__ import annotations

import copy
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from .._validation import FloatArray, freeze, invalid, leak_value, real_array

IndexArray = npt.NDArray[np.int64]
Spec = list[dict[str, Any]]
# How a state of the core says that a unit slides on a sample, or reads nothing live there.
SLIDING, EMPTY = 1, 2


@dataclass(frozen=True, eq=False)
class Edge:
    """One edge: matrix = const + θ[idx], applied to what node `src` sends.

    Attributes
    ----------
    src : int
        The earlier node.
    tap : str
        ``"h"``: its output after the activation; ``"z"``: before it (a skip).
    idx : ndarray of int, shape (size, source size)
        Index of the parameter of each entry, -1 for none.
    const : ndarray, shape (size, source size), or None
        Fixed entries.
    """

    src: int
    tap: str
    idx: IndexArray
    const: FloatArray | None


@dataclass(frozen=True, eq=False)
class Node:
    """One layer of units: their number, activation, biases and what they read.

    Attributes
    ----------
    size : int
    leak : float or None
        Slope of the activation below zero; None: linear.
    bias : ndarray of int, shape (size,), or None
        Index of each unit's bias parameter, -1 for none.
    edges : tuple of Edge
    """

    size: int
    leak: float | None
    bias: IndexArray | None
    edges: tuple[Edge, ...]


def nodes_of(spec: object) -> tuple[Node, ...]:
    """Read and check a spec; node 0 holds the inputs.

    Raises
    ------
    ValueError
        The spec is no list of nodes, or a node does not fit; the message names the node.
    """
    if isinstance(spec, str):
        try:
            spec = json.loads(spec)
        except json.JSONDecodeError as error:
            raise invalid("spec", "be a list of nodes, or JSON text of one", f"text that is no JSON: {error}") from None
    if not isinstance(spec, Sequence) or not all(isinstance(node, dict) for node in spec):
        raise invalid("spec", "be a list of nodes (dicts)", f"a value of type {type(spec).__name__}")
    if len(spec) < 2:
        raise invalid("spec", "hold the inputs and one layer or more", f"{len(spec)} nodes")
    nodes: list[Node] = []
    for position, given in enumerate(spec):
        nodes.append(_node(dict(given), position, nodes))
    for position, node in enumerate(nodes[1:], start=1):
        _check_paths(f"spec[{position}]", node, is_last=position == len(nodes) - 1)
    _check_read(nodes)
    return tuple(nodes)


def _node(given: dict[str, Any], position: int, before: list[Node]) -> Node:
    name = f"spec[{position}]"
    unknown = sorted(set(given) - {"size", "leak", "bias", "edges"})
    if unknown:
        raise invalid(name, "have the keys size, leak, bias and edges", f"{unknown[0]!r}")
    size = given.get("size")
    if isinstance(size, bool) or not isinstance(size, (int, np.integer)) or size < 1:
        raise invalid(f"{name}.size", "be a number of units, at least 1", repr(size))
    leak = given.get("leak")
    slope = None if leak is None else leak_value(leak)
    bias = None if given.get("bias") is None else _indices(given["bias"], f"{name}.bias", (int(size),))
    edges = tuple(_edge(dict(edge), name, int(size), before) for edge in given.get("edges") or ())
    if position == 0 and (edges or bias is not None or slope is not None):
        raise invalid(name, "be the inputs: a size alone", "edges, a bias or a leak")
    if position > 0 and not edges and bias is None:
        raise invalid(f"{name}.edges", "hold an edge from an earlier node", "none")
    return Node(int(size), slope, bias, edges)


def _edge(given: dict[str, Any], name: str, size: int, before: list[Node]) -> Edge:
    src = given.get("src")
    if isinstance(src, bool) or not isinstance(src, (int, np.integer)) or not 0 <= src < len(before):
        raise invalid(f"{name}.edges.src", f"name an earlier node, 0 to {len(before) - 1}", repr(src))
    tap = given.get("tap", "h")
    if tap not in ("h", "z"):
        raise invalid(f"{name}.edges.tap", 'be "h" or "z"', repr(tap))
    shape = (size, before[int(src)].size)
    idx = _indices(given.get("idx"), f"{name}.edges.idx", shape)
    const = given.get("const")
    if const is None:
        return Edge(int(src), tap, idx, None)
    fixed = real_array(const, f"{name}.edges.const", f"{shape}")
    if fixed.shape != shape:
        raise invalid(f"{name}.edges.const", f"hold finite numbers of the shape {shape}", f"the shape {fixed.shape}")
    return Edge(int(src), tap, idx, fixed)


def _indices(value: object, name: str, shape: tuple[int, ...]) -> IndexArray:
    try:
        raw = np.array(value)
    except ValueError:
        raise invalid(name, f"hold indices of the shape {shape}", "rows of different lengths") from None
    if raw.shape != shape or raw.dtype.kind not in "iu":
        raise invalid(name, f"hold integers of the shape {shape}", f"{raw.dtype} of the shape {raw.shape}")
    if raw.size and raw.min() < -1:
        raise invalid(name, "hold -1 and indices from 0 on", str(raw.min()))
    found: IndexArray = np.ascontiguousarray(raw, dtype=np.int64)
    freeze(found)
    return found


def _check_paths(name: str, node: Node, *, is_last: bool) -> None:
    """Every unit reads something; an output may have fixed entries that are all zero."""
    reads = np.zeros(node.size, dtype=bool) if node.bias is None else node.bias >= 0
    for edge in node.edges:
        reads = reads | (edge.idx >= 0).any(axis=1)
        if edge.const is not None:
            reads = reads | (is_last | (edge.const != 0).any(axis=1))
    if not reads.all():
        raise invalid(name, "connect every unit to an earlier one", f"unit {int(np.argmin(reads))} without any input")


def _check_read(nodes: list[Node]) -> None:
    read = {edge.src for node in nodes for edge in node.edges}
    for position in range(len(nodes) - 1):
        if position not in read:
            raise invalid(f"spec[{position}]", "be read by a later node", "no edge from it")


def parameter_count(nodes: tuple[Node, ...]) -> int:
    """Return one more than the largest parameter index."""
    largest = -1
    for node in nodes:
        for indices in [edge.idx for edge in node.edges] + ([] if node.bias is None else [node.bias]):
            largest = max(largest, int(indices.max(initial=-1)))
    return largest + 1


def spec_of(nodes: tuple[Node, ...]) -> Spec:
    """Write nodes as the plain lists that `nodes_of` reads."""
    spec: Spec = []
    for node in nodes:
        edges = [
            {
                "src": edge.src,
                "tap": edge.tap,
                "idx": edge.idx.tolist(),
                "const": None if edge.const is None else edge.const.tolist(),
            }
            for edge in node.edges
        ]
        bias = None if node.bias is None else node.bias.tolist()
        spec.append({"size": node.size, "leak": node.leak, "bias": bias, "edges": edges})
    return copy.deepcopy(spec)


def without_zero_units(
    nodes: tuple[Node, ...], theta: FloatArray, modes: Sequence[npt.ArrayLike] | None = None
) -> tuple[Node, ...]:
    """Leave out what units read and send whose every weight, in and out, is zero and belongs to them alone.

    Such a unit stays so: each derivative has a zero of the other side as a factor. All its boundaries meet where it is,
    so that it would have to be decided in every direction. A run that goes on, from a state with `modes`, leaves out
    those that it has left out before: one that has decayed to zero since is on boundaries that the state knows of.
    """
    indices = [edge.idx for node in nodes for edge in node.edges] + [n.bias for n in nodes if n.bias is not None]
    used = np.concatenate([idx.ravel() for idx in indices])
    # The last one is for the index -1: there is no parameter.
    is_zero = np.append((theta == 0.0) & (np.bincount(used[used >= 0], minlength=len(theta)) == 1), True)
    quiet = [np.ones(node.size, dtype=bool) for node in nodes]
    quiet[0][:] = quiet[-1][:] = False
    for position, node in enumerate(nodes):
        if node.bias is not None:
            quiet[position] &= is_zero[node.bias]
        for edge in node.edges:
            entries = is_zero[edge.idx] if edge.const is None else is_zero[edge.idx] & (edge.const == 0.0)
            quiet[position] &= entries.all(axis=1)
            quiet[edge.src] &= entries.all(axis=0)
    if modes is not None:
        for units, mode in zip(quiet, modes, strict=True):
            units &= (np.asarray(mode) == EMPTY).all(axis=0)
    if not any(units.any() for units in quiet):
        return nodes
    return tuple(_without(node, quiet[position], quiet) for position, node in enumerate(nodes))


def _without(node: Node, rows: npt.NDArray[np.bool_], quiet: list[npt.NDArray[np.bool_]]) -> Node:
    edges = tuple(replace(edge, idx=np.where(rows[:, None] | quiet[edge.src], -1, edge.idx)) for edge in node.edges)
    return replace(node, bias=None if node.bias is None else np.where(rows, -1, node.bias), edges=edges)


def core_graph(nodes: tuple[Node, ...]) -> tuple[list[Any], list[Any]]:
    """Return nodes and edges in the form of the compiled core."""
    listed = [(node.size, node.leak is None, node.leak or 0.0, node.bias) for node in nodes]
    edges = [
        (edge.src, position, edge.tap, edge.idx, edge.const)
        for position, node in enumerate(nodes)
        for edge in node.edges
    ]
    return listed, edges


def degree_of(nodes: tuple[Node, ...]) -> tuple[int, str]:
    """Return the degree of homogeneity of a network in its parameters, or 0 and why it has none."""
    degrees = [0]
    for v, node in enumerate(nodes[1:], start=1):
        found = set()
        for edge in node.edges:
            if (edge.idx >= 0).any():
                found.add(degrees[edge.src] + 1)
            if edge.const is not None and edge.const.any():
                found.add(degrees[edge.src])
        if node.bias is not None and (node.bias >= 0).any():
            found.add(1)
        if len(found) != 1:
            return 0, f"paths of layer {v - 1} have different numbers of parameters (biases or skips)"
        degrees.append(found.pop())
    return degrees[-1], ""


def norm_of(node: Node, theta: FloatArray) -> float:
    """Return the norm of the parameters of a layer."""
    used = [edge.idx[edge.idx >= 0] for edge in node.edges]
    if node.bias is not None:
        used.append(node.bias[node.bias >= 0])
    return float(np.linalg.norm(theta[np.unique(np.concatenate(used))])) if used else 0.0
