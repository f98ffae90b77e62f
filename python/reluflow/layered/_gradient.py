"""The loss of a layered network and its gradient by backpropagation, with the slope at a kink that of z < 0."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import expit, log_softmax, softmax

from .._validation import FloatArray
from ..losses import log_total
from ._graph import Node

Numbers = npt.NDArray[Any]  # of floats, or of complex numbers where one differentiates


class Backward:
    """A network's wiring on inputs: θ to outputs, and duals back to what moves θ.

    θ is one vector (P,), or B of them, (B, P), and so is X; all that comes of these has B as its first axis.

    Parameters
    ----------
    nodes : tuple of Node
    X : ndarray, shape (n, d) or (B, n, d)
    """

    def __init__(self, nodes: tuple[Node, ...], X: FloatArray) -> None:
        self.nodes = nodes
        self._z: list[Numbers] = [X]
        self._h: list[Numbers] = [X]
        self._matrices: list[list[Numbers]] = [[]]
        self._deltas: dict[int, Numbers] = {}

    def outputs(self, theta: Numbers) -> Numbers:
        """Return f, shape (n, K), and keep what `descent` needs of it."""
        self._z, self._h, self._matrices = self._z[:1], self._h[:1], [[]]
        *of_inputs, n, _ = self._z[0].shape
        of_each = np.broadcast_shapes(theta.shape[:-1], tuple(of_inputs))
        for v, node in enumerate(self.nodes[1:], start=1):
            z: Numbers = np.zeros((*of_each, n, node.size), dtype=theta.dtype)
            if node.bias is not None:
                z += np.where(node.bias >= 0, theta.take(node.bias, axis=-1), 0.0)[..., None, :]
            matrices = []
            for edge in node.edges:
                A = np.where(edge.idx >= 0, theta.take(edge.idx, axis=-1), 0.0)
                matrices.append(A if edge.const is None else A + edge.const)
                z += (self._z if edge.tap == "z" else self._h)[edge.src] @ matrices[-1].swapaxes(-1, -2)
            self._matrices.append(matrices)
            self._z.append(z)
            self._h.append(z if node.leak is None else self._slope(v, node.leak) * z)
        return self._h[-1]

    def output_terms(self, theta: FloatArray) -> FloatArray:
        """Return the sizes of the terms of each output together, shape (n, K), of which its rounding is a part."""
        self.outputs(theta)
        node, terms = self.nodes[-1], np.zeros(self._z[-1].shape)
        if node.bias is not None:
            terms += np.where(node.bias >= 0, np.abs(theta.take(node.bias)), 0.0)
        for edge, A in zip(node.edges, self._matrices[-1], strict=True):
            terms += np.abs((self._z if edge.tap == "z" else self._h)[edge.src]) @ np.abs(A).T
        return terms

    def descent(self, duals: Numbers, n_parameters: int) -> Numbers:
        """Return -∇L at the θ of the last `outputs`, for the duals -∂ℓ/∂f, shape (n, K)."""
        kind = np.result_type(duals, self._z[-1])
        out: Numbers = np.zeros((*self._z[-1].shape[:-2], n_parameters), dtype=kind)
        from_h: list[Numbers] = [np.zeros(z.shape, dtype=kind) for z in self._z]
        from_z: list[Numbers] = [np.zeros(z.shape, dtype=kind) for z in self._z]
        from_h[-1] += duals
        for v in range(len(self.nodes) - 1, 0, -1):
            node = self.nodes[v]
            delta = self._deltas[v] = self._to_z(v, from_h[v]) + from_z[v]
            for edge, A in zip(node.edges, self._matrices[v], strict=True):
                skips = edge.tap == "z"
                moved = delta.swapaxes(-1, -2) @ (self._z if skips else self._h)[edge.src]
                used = edge.idx.T >= 0
                np.add.at(out.T, edge.idx.T[used], moved.T[used])
                if edge.src:
                    (from_z if skips else from_h)[edge.src] += delta @ A
            if node.bias is not None:
                used = node.bias >= 0
                np.add.at(out.T, node.bias[used], delta.sum(axis=-2).T[used])
        return out

    def sent(self, v: int) -> Numbers:
        """Return h of a node at the θ of the last `outputs`, shape (n, size)."""
        return self._h[v]

    def came_back(self, v: int) -> Numbers:
        """Return what came back to z of a node in the last `descent`, shape (n, size)."""
        return self._deltas[v]

    def _slope(self, v: int, leak: float) -> FloatArray:
        """Return the slopes of the units of a node that is not linear, shape (n, size)."""
        return np.where(self._z[v] > 0, 1.0, leak)

    def _to_z(self, v: int, from_h: Numbers) -> Numbers:
        """Bring what comes back to the outputs of a node to its pre-activations."""
        leak = self.nodes[v].leak
        return from_h if leak is None else self._slope(v, leak) * from_h


def duals(outputs: FloatArray, targets: FloatArray, loss: str, counts: FloatArray | None = None) -> FloatArray:
    """Return -c ∂ℓ/∂f, shape (n, K), with what the samples count; for cross-entropy the targets are one-hot."""
    if counts is not None:
        return counts[:, None] * duals(outputs, targets, loss)
    if loss == "squared":
        return targets - outputs
    if loss == "cross_entropy":
        return np.asarray(targets - softmax(outputs, axis=-1))
    q = targets * outputs
    return np.asarray(targets * (np.exp(-q) if loss == "exponential" else expit(-q)))


def complex_duals(outputs: Numbers, targets: FloatArray, loss: str, counts: FloatArray | None = None) -> Numbers:
    """Return what `duals` does, for complex outputs: each is an analytic function of them."""
    each = np.ones(outputs.shape[-2]) if counts is None else counts
    if loss == "squared":
        found: Numbers = targets - outputs
    elif loss == "cross_entropy":
        power = np.exp(outputs - outputs.real.max(axis=-1, keepdims=True))
        found = targets - power / power.sum(axis=-1, keepdims=True)
    elif loss == "exponential":
        found = targets * np.exp(-targets * outputs)
    else:
        q = targets * outputs
        small = np.exp(-q * np.sign(q.real))  # no power overflows
        found = targets * np.where(q.real > 0, small, 1.0) / (1.0 + small)
    return np.asarray(each[:, None] * found)


def log_loss(outputs: FloatArray, targets: FloatArray, loss: str, counts: FloatArray | None = None) -> float:
    """Return the logarithm of the sum of the losses, of samples that count 1 each or `counts`."""
    each = np.ones(len(outputs)) if counts is None else counts
    with np.errstate(divide="ignore"):
        if loss == "squared":
            off = np.sqrt(each)[:, None] * np.abs(targets - outputs)
            top = float(off.max())  # taken out first, so that no square leaves the doubles
            return float(2.0 * np.log(top) + np.log(0.5 * ((off / top) ** 2).sum())) if top else -np.inf
        if loss == "cross_entropy":
            return float(np.log(-each @ (targets * log_softmax(outputs, axis=1)).sum(axis=1)))
        return log_total((targets * outputs).ravel(), loss, each)
