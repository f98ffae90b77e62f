"""The model of the slow reference flow of layered networks with kinks; `layered_twin_run` integrates it.

A state is θ and a side of every unit on every sample: +1, -1, or 0 where z is zero: it is held, or nothing that is
not zero reaches it (empty). The velocity is the gradient of the loss projected on what keeps the held ones at zero. At
an event `layered_twin_rules` asks what holds by definition, with directional derivatives and convex hulls; there is no
Taylor series, no pivoting and no rule for a special case, and so nothing is shared with the compiled core.
"""

from __future__ import annotations

import numpy as np

import reluflow as rf
from layered_reference import duals

Place = tuple[int, int, int]  # node, sample, unit
Sides = list[np.ndarray]


class UndecidedError(Exception):
    """The rules found no continuation, or several."""


class Model:
    """A network on data with a loss; every method takes θ."""

    def __init__(self, net: rf.DeepNetwork, X: np.ndarray, targets: np.ndarray, loss: str) -> None:
        self.net, self.X, self.loss = net, np.asarray(X, dtype=float), loss
        self.targets = np.asarray(targets, dtype=float).reshape(len(X), -1)
        self.nodes = net.nodes
        self.last = len(net.nodes) - 1
        self.known: tuple[bytes, list[list[np.ndarray]]] = (b"", [])  # the matrices made last

    def matrices(self, theta: np.ndarray, fixed: bool = True) -> list[list[np.ndarray]]:
        """The matrix of every edge of every node; without its fixed entries for a direction."""
        key = theta.tobytes()
        if fixed and key == self.known[0]:
            return self.known[1]
        made: list[list[np.ndarray]] = []
        for node in self.nodes:
            row = []
            for edge in node.edges:
                A = np.where(edge.idx >= 0, theta[edge.idx], 0.0)
                row.append(A + edge.const if fixed and edge.const is not None else A)
            made.append(row)
        if fixed:
            self.known = key, made
        return made

    def bias(self, theta: np.ndarray, v: int) -> np.ndarray | float:
        b = self.nodes[v].bias
        return 0.0 if b is None else np.where(b >= 0, theta[b], 0.0)

    def slopes(self, sides: Sides) -> list[np.ndarray]:
        """Slope of every unit on every sample; 0 where the side is 0."""
        return [
            (s != 0).astype(float) if node.leak is None else np.where(s > 0, 1.0, np.where(s < 0, node.leak, 0.0))
            for node, s in zip(self.nodes, sides, strict=True)
        ]

    def forward(self, theta: np.ndarray, sides: Sides | None) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """z and h of all nodes: with the slopes of `sides`, or as written."""
        A = self.matrices(theta)
        slope = None if sides is None else self.slopes(sides)
        z, h = [self.X], [self.X]
        for v in range(1, len(self.nodes)):
            node = self.nodes[v]
            total = np.zeros((len(self.X), node.size)) + self.bias(theta, v)
            for e, edge in enumerate(node.edges):
                sent = z[edge.src] if edge.tap == "z" else h[edge.src]
                total = total + sent @ A[v][e].T
            z.append(total if sides is None else np.where(sides[v] == 0, 0.0, total))
            if slope is not None:
                h.append(slope[v] * total)
            else:
                h.append(total if node.leak is None else np.maximum(total, node.leak * total))
        return z, h

    def raw(self, theta: np.ndarray, sides: Sides) -> list[np.ndarray]:
        """z of all nodes before what is held is set to zero."""
        z, h = self.forward(theta, sides)
        A = self.matrices(theta)
        found = [self.X]
        for v in range(1, len(self.nodes)):
            total = np.zeros_like(z[v]) + self.bias(theta, v)
            for e, edge in enumerate(self.nodes[v].edges):
                total = total + (z if edge.tap == "z" else h)[edge.src] @ A[v][e].T
            found.append(total)
        return found

    def pull(
        self, theta: np.ndarray, sides: Sides, z: list[np.ndarray], h: list[np.ndarray], seeds: dict[Place, float]
    ) -> np.ndarray:
        """θ's derivative of Σ seed · z (place), the outputs' duals among the seeds at node `last`."""
        A, slope = self.matrices(theta), self.slopes(sides)
        out = np.zeros(len(theta))
        above = [np.zeros((len(self.X), node.size)) for node in self.nodes]
        skip = [np.zeros((len(self.X), node.size)) for node in self.nodes]
        given = [np.zeros((len(self.X), node.size)) for node in self.nodes]
        for (v, i, u), value in seeds.items():
            given[v][i, u] += value
        for v in range(self.last, 0, -1):
            node = self.nodes[v]
            delta = slope[v] * above[v] + np.where(sides[v] == 0, 0.0, skip[v]) + given[v]
            for e, edge in enumerate(node.edges):
                sent = z[edge.src] if edge.tap == "z" else h[edge.src]
                G = delta.T @ sent
                np.add.at(out, edge.idx[edge.idx >= 0], G[edge.idx >= 0])
                (skip if edge.tap == "z" else above)[edge.src] += delta @ A[v][e]
            if node.bias is not None:
                np.add.at(out, node.bias[node.bias >= 0], delta.sum(axis=0)[node.bias >= 0])
        return out

    def outer_seeds(self, sides: Sides, h: list[np.ndarray]) -> dict[Place, float]:
        """What the loss sends to the pre-activations of the outputs."""
        lam = duals(h[self.last], self.targets, self.loss)
        slope = self.slopes(sides)[self.last]
        return {(self.last, i, k): lam[i, k] * slope[i, k] for i in range(len(lam)) for k in range(lam.shape[1])}

    def free_velocity(self, theta: np.ndarray, sides: Sides, held: dict[Place, float] | None = None) -> np.ndarray:
        """-∇L with the slopes of `sides`, and what `held` sends from its places."""
        z, h = self.forward(theta, sides)
        seeds = self.outer_seeds(sides, h)
        for place, mu in (held or {}).items():
            seeds[place] = seeds.get(place, 0.0) + mu
        return self.pull(theta, sides, z, h, seeds)

    def normals(self, theta: np.ndarray, sides: Sides, places: list[Place]) -> np.ndarray:
        """θ's derivative of z at each place, one row each, with the slopes of `sides`."""
        z, h = self.forward(theta, sides)
        A, slope = self.matrices(theta), self.slopes(sides)
        rows = [place[1] for place in places]
        out = np.zeros((len(places), len(theta)))
        above = [np.zeros((len(places), node.size)) for node in self.nodes]
        skip = [np.zeros((len(places), node.size)) for node in self.nodes]
        for v in range(self.last, 0, -1):
            node = self.nodes[v]
            delta = slope[v][rows] * above[v] + np.where(sides[v][rows] == 0, 0.0, skip[v])
            for k, place in enumerate(places):
                if place[0] == v:
                    delta[k, place[2]] = 1.0
            for e, edge in enumerate(node.edges):
                sent = (z if edge.tap == "z" else h)[edge.src][rows]
                used = edge.idx >= 0
                G = delta[:, :, None] * sent[:, None, :]
                np.add.at(out, (slice(None), edge.idx[used]), G[:, used])
                (skip if edge.tap == "z" else above)[edge.src] += delta @ A[v][e]
            if node.bias is not None:
                np.add.at(out, (slice(None), node.bias[node.bias >= 0]), delta[:, node.bias >= 0])
        return out

    def velocity(self, theta: np.ndarray, sides: Sides, held: list[Place]) -> tuple[np.ndarray, np.ndarray]:
        """The velocity that keeps `held` at zero, and one set of multipliers."""
        free = self.free_velocity(theta, sides)
        if not held:
            return free, np.zeros(0)
        N = self.normals(theta, sides, held)
        length = np.linalg.norm(N, axis=1)
        mu = np.linalg.lstsq((N / length[:, None]).T, -free, rcond=1e-9)[0] / length
        return free + N.T @ mu, mu

    def live(self, sides: Sides) -> list[np.ndarray]:
        """Whether a unit has an input that is not zero on the sample."""
        found = [np.ones_like(self.X, dtype=bool)]
        sends = [self.X != 0]
        for v in range(1, len(self.nodes)):
            node = self.nodes[v]
            alive = np.zeros((len(self.X), node.size), dtype=bool)
            if node.bias is not None:
                alive |= node.bias >= 0
            for edge in node.edges:
                joins = (edge.idx >= 0) | (0 if edge.const is None else edge.const != 0)
                source = sends[edge.src] if edge.tap == "h" else found[edge.src] & (sides[edge.src] != 0)
                alive |= (source[:, None, :] & joins[None]).any(axis=2)
            found.append(alive)
            active = alive if node.leak is None else alive & ((sides[v] > 0) | ((sides[v] < 0) & (node.leak > 0)))
            sends.append(active)
        return found

    def held(self, sides: Sides) -> list[Place]:
        """Places whose side is 0 though something reaches them."""
        live = self.live(sides)
        return [
            (v, int(i), int(u))
            for v in range(1, len(self.nodes))
            if self.nodes[v].leak is not None
            for i, u in np.argwhere((sides[v] == 0) & live[v])
        ]


def start(model: Model, theta: np.ndarray) -> Sides:
    """The sides of the pre-activations at a start where none is zero but the empty ones."""
    z, _ = model.forward(theta, None)
    sides = [np.sign(values).astype(int) for values in z]
    for v, node in enumerate(model.nodes):
        if v and node.leak is None:
            sides[v][:] = 1
    live = model.live(sides)
    for v in range(1, len(sides)):
        if model.nodes[v].leak is not None:
            sides[v][~live[v]] = 0
    if model.held(sides):
        raise UndecidedError("a pre-activation is zero at the start")
    return sides
