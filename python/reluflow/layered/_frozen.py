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
        self._held_of = {int(v): np.flatnonzero(self.held[:, 0] == v) for v in np.unique(self.held[:, 0])}
        self._slopes = _slopes(nodes, self.sides)
        self._mu: Numbers = np.zeros(len(self.held))
        self._back: Numbers = np.zeros(len(self.held))

    def pre_activations(self, theta: Numbers) -> list[Numbers]:
        """Return z of every node, (n, size) each; that of node 0 is X."""
        self.outputs(theta)
        return self._z

    def held_values(self, theta: Numbers) -> Numbers:
        """Return z at the held places, shape (h,)."""
        z = self.pre_activations(theta)
        values: Numbers = np.zeros((*theta.shape[:-1], len(self.held)), dtype=theta.dtype)
        for v, of_node in self._held_of.items():
            values[..., of_node] = z[v][..., self.held[of_node, 2], self.held[of_node, 1]]
        return values

    def contradicted(self, theta: FloatArray) -> float:
        """Return the largest z on the wrong side of the pattern, in units of its layer's largest, or of what slides."""
        worst = 0.0
        for v, z in enumerate(self.pre_activations(theta)):
            if v == 0 or self.nodes[v].leak is None:
                continue
            largest = float(np.abs(z).max())
            if largest > 0:
                worst = max(worst, float(np.maximum(-self.sides[v] * z, 0.0).max()) / largest)
        held = np.abs(self.held_values(theta))
        return max(worst, float(held.max()) if len(held) else 0.0)

    def pull(self, theta: Numbers, lam: Numbers, mu: Numbers) -> Pull:
        """Return Σ λ_ik ∇f_k(x_i) + Σ μ_a ∇z_a, with λ of the shape (n, K) and μ (h,)."""
        self.outputs(theta)
        self._mu = mu
        self._back = np.zeros((*theta.shape[:-1], len(self.held)), dtype=np.result_type(theta, lam, mu))
        return Pull(self.descent(lam, self.count), self._back)

    def gradients(self, theta: FloatArray, samples: IntArray, along: FloatArray | None = None) -> FloatArray:
        """Return ∇(c·f)(x_i), one row for each of the samples; c of the shape (k, K), or 1 for the only output."""
        c = np.ones((len(samples), 1)) if along is None else along
        return self._one_each(samples).gradients(theta, c[:, None, :])

    def normals(self, theta: FloatArray) -> FloatArray:
        """Return ∇z_a at each held place, shape (h, P)."""
        alone = self._one_each(self.held[:, 2], self.held[:, :2])
        return alone.gradients(theta, np.zeros((len(self.held), 1, self.nodes[-1].size)))

    def _one_each(self, samples: IntArray, ends: IntArray | None = None) -> _OneSampleEach:
        """Return the network on one sample for each of `samples`, where what slides sends nothing."""
        sides = [side[samples][:, None, :] for side in self.sides]
        return _OneSampleEach(self.nodes, self.X[samples][:, None, :], sides, ends, self.count)

    def _slope(self, v: int, leak: float) -> FloatArray:
        return self._slopes[v]

    def _to_z(self, v: int, from_h: Numbers) -> Numbers:
        found = super()._to_z(v, from_h)
        if v in self._held_of:
            of_node = self._held_of[v]
            _, u, i = self.held[of_node].T
            self._back[..., of_node] = from_h[..., i, u]
            found[..., i, u] = self._mu[..., of_node]
        return found


class _OneSampleEach(Backward):
    """A frozen network on B inputs X (B, 1, d), each with sides of its own, for gradients at one θ.

    `ends`, shape (B, 2), are node and unit of pre-activations that are differentiated beside the outputs.
    """

    def __init__(
        self, nodes: tuple[Node, ...], X: FloatArray, sides: list[IntArray], ends: IntArray | None, count: int
    ) -> None:
        super().__init__(nodes, X)
        self._slopes = _slopes(nodes, sides)
        self._ends = np.zeros((0, 2), dtype=np.int64) if ends is None else ends
        self._count = count

    def gradients(self, theta: FloatArray, along: FloatArray) -> FloatArray:
        """Return ∇(c·f) of each input, of c (B, 1, K), plus ∇z at its end; shape (B, P)."""
        self.outputs(theta)
        return np.asarray(self.descent(along, self._count))

    def _slope(self, v: int, leak: float) -> FloatArray:
        return self._slopes[v]

    def _to_z(self, v: int, from_h: Numbers) -> Numbers:
        found = super()._to_z(v, from_h)
        own = np.flatnonzero(self._ends[:, 0] == v)
        found[own, 0, self._ends[own, 1]] += 1.0
        return found


def _slopes(nodes: tuple[Node, ...], sides: list[IntArray]) -> list[FloatArray]:
    """Return the slope of each unit on each sample, 0 of what slides, by node; of linear ones it is not asked."""
    leaks = [0.0 if node.leak is None else node.leak for node in nodes]
    return [np.where(side > 0, 1.0, np.where(side < 0, leak, 0.0)) for side, leak in zip(sides, leaks, strict=True)]
