"""The conserved quantities of a layered network: θᵀEθ for every diagonal E that leaves f as it is to first order."""

from __future__ import annotations

import numpy as np

from .._linear_algebra import svd
from .._validation import FloatArray
from ._graph import Node


def balance_weights(nodes: tuple[Node, ...], n_parameters: int) -> FloatArray:
    """Return the diagonals E as rows, shape (k, P): f(e^{εE}θ) = f(θ) for all θ, so that θᵀEθ is conserved.

    A scale c_(v,u) of each unit's z makes entry (u, s) of an edge scale by c_(v,u) - c_(w,s); a bias by c_(v,u). Fixed
    entries, shared parameters, inputs and outputs give linear conditions; the rows are a basis of what is left.
    """
    offsets = np.concatenate(([0], np.cumsum([node.size for node in nodes])))
    units = int(offsets[-1])
    conditions: list[tuple[int, int, int]] = []  # c_target - c_source (source -1: none) = E_g (g = -1: 0)
    for position, node in enumerate(nodes):
        if position in (0, len(nodes) - 1):
            conditions += [(int(offsets[position]) + u, -1, -1) for u in range(node.size)]
        for edge in node.edges:
            for row, col in np.argwhere((edge.idx >= 0) | (_fixed(edge.const, edge.idx.shape) != 0)).tolist():
                target, source = int(offsets[position]) + row, int(offsets[edge.src]) + col
                conditions.append((target, source, int(edge.idx[row, col])))
                if edge.idx[row, col] >= 0 and edge.const is not None and edge.const[row, col] != 0:
                    conditions.append((target, source, -1))
        if node.bias is not None:
            conditions += [(int(offsets[position]) + u, -1, int(g)) for u, g in enumerate(node.bias) if g >= 0]
    return _null_rows(conditions, units, n_parameters)


def _fixed(const: FloatArray | None, shape: tuple[int, ...]) -> FloatArray:
    return np.zeros(shape) if const is None else const


def _null_rows(conditions: list[tuple[int, int, int]], units: int, n_parameters: int) -> FloatArray:
    """Solve the conditions for the units' scales; a parameter's entry is the one its first use gives."""
    first: dict[int, tuple[int, int]] = {}
    equations = []
    for target, source, g in conditions:
        row = np.zeros(units)
        row[target] += 1.0
        if source >= 0:
            row[source] -= 1.0
        if g >= 0 and g not in first:
            first[g] = (target, source)
            continue
        if g >= 0:
            other, origin = first[g]
            row[other] -= 1.0
            if origin >= 0:
                row[origin] += 1.0
        if row.any():
            equations.append(row)
    basis = _null_space(np.array(equations), units)
    weights = np.zeros((len(basis), n_parameters))
    for g, (target, source) in first.items():
        weights[:, g] = basis[:, target] - (basis[:, source] if source >= 0 else 0.0)
    kept: FloatArray = weights[np.abs(weights).max(axis=1, initial=0.0) > 0]
    return kept


def _null_space(equations: FloatArray, units: int) -> FloatArray:
    """Return a basis of {c : equations c = 0} with entries 0 and 1 where units are scaled together."""
    parent = list(range(units + 1))  # the last one stands for the scale 0

    def root(u: int) -> int:
        while parent[u] != u:
            u = parent[u]
        return u

    for row in equations:
        used = np.flatnonzero(row)
        if len(used) == 1:
            parent[root(int(used[0]))] = root(units)
        elif len(used) == 2 and row[used].sum() == 0.0:
            parent[root(int(used[0]))] = root(int(used[1]))
    groups = [root(u) for u in range(units)]
    names = sorted({g for g in groups if g != root(units)})
    reduced = np.array([[float(g == name) for name in names] for g in groups])
    if not names:
        return np.zeros((0, units))
    left = equations @ reduced
    left = left[np.abs(left).max(axis=1, initial=0.0) > 0]
    if not len(left):
        return np.ascontiguousarray(reduced.T)
    _, sizes, rows = svd(left)
    rank = int((sizes > 1e-10).sum())
    found: FloatArray = rows[rank:] @ reduced.T
    return found
