"""A layered network in one pattern of activity: outputs, pre-activations and pulls are polynomials in θ.

Every unit has the slope of its side on each sample. One that slides sends nothing on; what it feels is a multiplier μ,
anything between leak and 1 times what comes back to it.
"""

from __future__ import annotations

import copy
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .._validation import FloatArray, IntArray
from ._graph import Node

Numbers = npt.NDArray[Any]  # of floats, or of complex numbers where one differentiates
SLIDING = 1  # how a state of the core says that a unit slides on a sample


class Pull(NamedTuple):
    """Σ λ ∇f + Σ μ ∇z as one vector, and what comes back to each held place: its multiplier is a part of that."""

    theta: Numbers
    back: Numbers


class Frozen:
    """The network of some nodes on inputs X (n, d), with the sides and modes of a state.

    Attributes
    ----------
    held : ndarray of int, shape (h, 3)
        Node, unit and sample of each place that slides.
    """

    def __init__(
        self, nodes: tuple[Node, ...], X: FloatArray, sides: list[IntArray], modes: list[IntArray], count: int
    ) -> None:
        self.nodes, self.X, self.count = nodes, X, count
        self.slopes: list[FloatArray | None] = [None]
        places = []
        for v, node in enumerate(nodes[1:], start=1):
            if node.leak is None:
                self.slopes.append(None)
                continue
            side = np.asarray(sides[v])
            self.slopes.append(np.where(side > 0, 1.0, np.where(side < 0, node.leak, 0.0)))
            places += [(v, int(u), int(i)) for i, u in np.argwhere(np.asarray(modes[v]) == SLIDING)]
        self.held: IntArray = np.array(places, dtype=np.int64).reshape(-1, 3)
        self.sides = [np.asarray(side) for side in sides]

    def pre_activations(self, theta: Numbers) -> list[Numbers]:
        """Return z of every node, (n, size) each; that of node 0 is X."""
        z: list[Numbers] = [self.X]
        for v, node in enumerate(self.nodes[1:], start=1):
            total: Numbers = np.zeros((len(self.X), node.size), dtype=theta.dtype)
            if node.bias is not None:
                total = total + np.where(node.bias >= 0, theta[node.bias], 0.0)
            for edge, A in zip(node.edges, self._matrices(v, theta), strict=True):
                total = total + self._sent(z, edge.src, edge.tap) @ A.T
            z.append(total)
        return z

    def outputs(self, theta: Numbers) -> Numbers:
        """Return f, shape (n, K)."""
        z, last = self.pre_activations(theta), len(self.nodes) - 1
        return self._sent(z, last, "h")

    def held_values(self, theta: Numbers) -> Numbers:
        """Return z at the held places, shape (h,)."""
        z = self.pre_activations(theta)
        return np.array([z[v][i, u] for v, u, i in self.held], dtype=theta.dtype)

    def pull(self, theta: Numbers, lam: Numbers, mu: Numbers) -> Pull:
        """Return Σ λ_ik ∇f_k(x_i) + Σ μ_a ∇z_a, with λ of the shape (n, K) and μ (h,)."""
        z, kind = self.pre_activations(theta), np.result_type(theta, lam, mu)
        out: Numbers = np.zeros(self.count, dtype=kind)
        from_h: list[Numbers] = [np.zeros(one.shape, dtype=kind) for one in z]
        from_z: list[Numbers] = [np.zeros(one.shape, dtype=kind) for one in z]
        from_h[-1] = from_h[-1] + lam
        back: Numbers = np.zeros(len(self.held), dtype=kind)
        for v in range(len(self.nodes) - 1, 0, -1):
            node, slope = self.nodes[v], self.slopes[v]
            delta = (from_h[v] if slope is None else slope * from_h[v]) + from_z[v]
            for a in np.flatnonzero(self.held[:, 0] == v):
                _, u, i = self.held[a]
                back[a] = from_h[v][i, u]
                delta[i, u] = mu[a] + from_z[v][i, u]
            for edge, A in zip(node.edges, self._matrices(v, theta), strict=True):
                used = edge.idx >= 0
                np.add.at(out, edge.idx[used], (delta.T @ self._sent(z, edge.src, edge.tap))[used])
                if edge.src:
                    target = from_z if edge.tap == "z" else from_h
                    target[edge.src] = target[edge.src] + delta @ A
            if node.bias is not None:
                np.add.at(out, node.bias[node.bias >= 0], delta.sum(axis=0)[node.bias >= 0])
        return Pull(out, back)

    def gradients(self, theta: FloatArray, samples: IntArray) -> FloatArray:
        """Return ∇f(x_i) of the only output, one row for each of the samples."""
        rows = [self._only(int(i)).pull(theta, np.ones((1, 1)), np.empty(0)).theta for i in samples]
        return np.array(rows).reshape(len(samples), self.count)

    def normals(self, theta: FloatArray) -> FloatArray:
        """Return ∇z_a at each held place, shape (h, P)."""
        none = np.zeros((len(self.X), self.nodes[-1].size))
        rows = [self.pull(theta, none, unit).theta for unit in np.eye(len(self.held))]
        return np.array(rows).reshape(len(self.held), self.count)

    def _only(self, sample: int) -> Frozen:
        """Return the network on one sample, where what slides sends nothing."""
        one = copy.copy(self)
        one.X = self.X[sample : sample + 1]
        one.slopes = [None if slope is None else slope[sample : sample + 1] for slope in self.slopes]
        one.held = np.empty((0, 3), dtype=np.int64)
        return one

    def _matrices(self, v: int, theta: Numbers) -> list[Numbers]:
        found = []
        for edge in self.nodes[v].edges:
            A = np.where(edge.idx >= 0, theta[edge.idx], 0.0)
            found.append(A if edge.const is None else A + edge.const)
        return found

    def _sent(self, z: list[Numbers], v: int, tap: str) -> Numbers:
        slope = self.slopes[v]
        return z[v] if tap == "z" or slope is None else slope * z[v]
