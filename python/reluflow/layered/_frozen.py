"""A layered network in one pattern of activity: outputs, pre-activations and pulls are polynomials in θ.

Every unit has the slope of its side on each sample. One that slides sends nothing on; what it feels is a multiplier μ,
anything between leak and 1 times what comes back to it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .._validation import FloatArray, IntArray
from ._gradient import Backward, Numbers
from ._graph import SLIDING, Node


class Pull(NamedTuple):
    """Σ λ ∇f + Σ μ ∇z as one vector, and what comes back to each held place: its multiplier is a part of that."""

    theta: Numbers
    back: Numbers


class Frozen(Backward):
    """The network of some nodes on inputs X (n, d), with the sides and modes of a state.

    Attributes
    ----------
    held : ndarray of int, shape (h, 3)
        Node, unit and sample of each place that slides.
    """

    def __init__(
        self, nodes: tuple[Node, ...], X: FloatArray, sides: list[IntArray], modes: list[IntArray], count: int
    ) -> None:
        super().__init__(nodes, X)
        self.X, self.count = X, count
        self.sides = [np.asarray(side) for side in sides]
        places = [
            (v, int(u), int(i))
            for v, node in enumerate(nodes)
            if v and node.leak is not None
            for i, u in np.argwhere(np.asarray(modes[v]) == SLIDING)
        ]
        self.held: IntArray = np.array(places, dtype=np.int64).reshape(-1, 3)
        self._mu: Numbers = np.zeros(len(self.held))
        self._back: Numbers = np.zeros(len(self.held))

    def pre_activations(self, theta: Numbers) -> list[Numbers]:
        """Return z of every node, (n, size) each; that of node 0 is X."""
        self.outputs(theta)
        return self._z

    def held_values(self, theta: Numbers) -> Numbers:
        """Return z at the held places, shape (h,)."""
        z = self.pre_activations(theta)
        values = [z[v][..., i, u] for v, u, i in self.held]
        return np.array(values, dtype=theta.dtype).reshape(len(self.held), *theta.shape[:-1]).T

    def pull(self, theta: Numbers, lam: Numbers, mu: Numbers) -> Pull:
        """Return Σ λ_ik ∇f_k(x_i) + Σ μ_a ∇z_a, with λ of the shape (n, K) and μ (h,)."""
        self.outputs(theta)
        self._mu = mu
        self._back = np.zeros((*theta.shape[:-1], len(self.held)), dtype=np.result_type(theta, lam, mu))
        return Pull(self.descent(lam, self.count), self._back)

    def gradients(self, theta: FloatArray, samples: IntArray, along: FloatArray | None = None) -> FloatArray:
        """Return ∇(c·f)(x_i), one row for each of the samples; c of the shape (k, K), or 1 for the only output."""
        c = np.ones((len(samples), 1)) if along is None else along
        rows = [self._only(int(i)).pull(theta, row[None], np.empty(0)).theta for i, row in zip(samples, c, strict=True)]
        return np.array(rows).reshape(len(samples), self.count)

    def normals(self, theta: FloatArray) -> FloatArray:
        """Return ∇z_a at each held place, shape (h, P)."""
        none = np.zeros((len(self.X), self.nodes[-1].size))
        rows = [self.pull(theta, none, unit).theta for unit in np.eye(len(self.held))]
        return np.array(rows).reshape(len(self.held), self.count)

    def _only(self, sample: int) -> Frozen:
        """Return the network on one sample, where what slides sends nothing."""
        row = slice(sample, sample + 1)
        nothing = [np.zeros((1, node.size), dtype=np.int64) for node in self.nodes]
        return Frozen(self.nodes, self.X[row], [side[row] for side in self.sides], nothing, self.count)

    def _slope(self, v: int, leak: float) -> FloatArray:
        side = self.sides[v]
        return np.where(side > 0, 1.0, np.where(side < 0, leak, 0.0))

    def _to_z(self, v: int, from_h: Numbers) -> Numbers:
        found = super()._to_z(v, from_h)
        for a in np.flatnonzero(self.held[:, 0] == v):
            _, u, i = self.held[a]
            self._back[..., a] = from_h[..., i, u]
            found[..., i, u] = self._mu[..., a]
        return found
