"""Units of a layered network that vanish in a limit, followed under its multipliers to where their directions end.

Let all that a unit reads with, w, and all that reads it, a, be zero in the limit. To first order it feels nothing of
other such units: its inputs h_i are those of the limit, and so is what comes back to the units above, λ_i for each of
its readers. It is a neuron of vanishing size on data h_i with outputs a and duals λ_i, and ends as such a one does.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._validation import FloatArray, IntArray
from ..kinks._boundaries import boundaries
from ..limits._output_follow import Follower
from ..limits._output_leaving import rate_in_the_end
from ._frozen import Frozen
from ._graph import Node

# A unit of which less than this part is left in the limit vanishes there; so does one that is less beside the limit.
_LEFT, _NOTHING = 1e-3, 1e-13
# A rate exceeds another by more than this part of what can be: rounding.
_RATE_TOL = 1e-9


@dataclass(frozen=True, eq=False)
class Vanishing:
    """A unit that vanishes: its node and number, and its parameters.

    Attributes
    ----------
    node, unit : int
    reads : ndarray of int
        Parameters with which it reads the outputs `inputs`, then its bias, if it has one.
    inputs : ndarray of int, shape (k, 2)
        Node and unit of what it reads.
    read_by : ndarray of int
        Parameters with which the units `readers` read it.
    readers : ndarray of int, shape (l, 2)
    """

    node: int
    unit: int
    reads: IntArray
    inputs: IntArray
    read_by: IntArray
    readers: IntArray

    @property
    def parameters(self) -> IntArray:
        """All of them."""
        return np.concatenate((self.reads, self.read_by))


def vanishing_units(nodes: tuple[Node, ...], state: FloatArray, point: FloatArray) -> list[Vanishing]:
    """Find the units that vanish in `point` and share no weight."""
    uses = np.zeros(len(point), dtype=np.int64)
    for node in nodes[1:]:
        for edge in node.edges:
            np.add.at(uses, edge.idx[edge.idx >= 0], 1)
        if node.bias is not None:
            np.add.at(uses, node.bias[node.bias >= 0], 1)
    least = _NOTHING * float(np.abs(point).max(initial=0.0))
    found = []
    for v, node in enumerate(nodes[1:-1], start=1):
        for u in range(node.size if node.leak is not None else 0):
            one = _unit(nodes, v, u)
            if one is None or not len(one.read_by) or (uses[one.parameters] != 1).any():
                continue
            before, after = (float(np.abs(of[one.parameters]).max()) for of in (state, point))
            if after <= max(_LEFT * before, least):
                found.append(one)
    return found


def _unit(nodes: tuple[Node, ...], v: int, u: int) -> Vanishing | None:
    """Return a unit that reads outputs, and whose output is read, through parameters alone; None for another one."""
    reads, inputs, read_by, readers = [], [], [], []
    for edge in nodes[v].edges:
        if edge.tap != "h" or (edge.const is not None and edge.const[u].any()):
            return None
        used = np.flatnonzero(edge.idx[u] >= 0)
        reads += edge.idx[u, used].tolist()
        inputs += [(edge.src, int(k)) for k in used]
    bias = nodes[v].bias
    if bias is not None and bias[u] >= 0:
        reads.append(int(bias[u]))
    for later, node in enumerate(nodes):
        for edge in node.edges:
            if edge.src != v:
                continue
            if edge.tap != "h" or (edge.const is not None and edge.const[:, u].any()):
                return None
            used = np.flatnonzero(edge.idx[:, u] >= 0)
            read_by += edge.idx[used, u].tolist()
            readers += [(later, int(k)) for k in used]
    pairs = (np.array(of, dtype=np.int64).reshape(-1, 2) for of in (inputs, readers))
    places, above = pairs
    return Vanishing(v, u, np.array(reads, dtype=np.int64), places, np.array(read_by, dtype=np.int64), above)


def ends_of(
    units: list[Vanishing], frozen: Frozen, state: FloatArray, point: FloatArray, lam: FloatArray, mu: FloatArray
) -> list[tuple[float | None, float]]:
    """Return for each unit the rate at which it grows in the end, None where this is not decided, and its rounding.

    `lam`, shape (n, K), are the duals of the limit `point`, and `mu` the multipliers of what slides.
    """
    alone = np.array(point)
    for one in units:
        alone[one.parameters] = 0.0
    frozen.pull(alone, lam, mu)
    return [_end(one, frozen, state) for one in units]


def _end(one: Vanishing, frozen: Frozen, state: FloatArray) -> tuple[float | None, float]:
    columns = [frozen.sent(v)[:, u] for v, u in one.inputs]
    columns += [np.ones(len(frozen.X))] * (len(one.reads) - len(one.inputs))
    X = np.ascontiguousarray(np.column_stack(columns))
    back = np.column_stack([frozen.came_back(v)[:, u] for v, u in one.readers])
    found = boundaries(X)
    side = frozen.sides[one.node][:, one.unit] * np.sign(found.reach)
    sides = np.zeros(len(found.normal))
    sides[found.boundary] = side
    leak = frozen.nodes[one.node].leak or 0.0
    follower = Follower(found, X, back, leak)
    if (sides[found.boundary] != side).any() or not follower.unit > 0:
        return 0.0, follower.unit  # a unit that feels nothing, or whose sides are those of its way to zero
    w, a = state[one.reads], state[one.read_by]
    size = float(max(np.abs(w).max(initial=0.0), np.abs(a).max()))
    if size == 0:  # it stays so
        return 0.0, follower.unit
    return rate_in_the_end(follower, w / size, a / size, sides), follower.unit


def doubts_of_vanishing(units: list[Vanishing], ends: list[tuple[float | None, float]], least: FloatArray) -> list[str]:
    """Say which units grow, beside what parameters lose: `least`, the decay of each or the growth of the limit."""
    leave, unclear = [], []
    for one, (rate, unit) in zip(units, ends, strict=True):
        allowed = float(least[one.parameters].mean())
        if rate is None:
            unclear.append((one.node - 1, one.unit))
        elif rate > allowed + _RATE_TOL * (unit + allowed):
            leave.append((one.node - 1, one.unit))
    reasons = []
    if leave:
        reasons.append(f"the flow leaves this saddle, where units grow: (layer, unit) {places(leave)}")
    if unclear:
        reasons.append(f"where units go that vanish in the limit is not decided: (layer, unit) {places(unclear)}")
    return reasons


def places(units: list[tuple[int, int]]) -> str:
    """Write a list of (layer, unit) for a message: at most five, then how many more."""
    shown = ", ".join(f"({layer}, {unit})" for layer, unit in units[:5])
    return shown + (f" and {len(units) - 5} more" if len(units) > 5 else "")
