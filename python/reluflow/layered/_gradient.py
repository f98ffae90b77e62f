"""The loss of a layered network and its gradient by backpropagation, with the slope at a kink that of z < 0."""

from __future__ import annotations

import numpy as np
from scipy.special import expit, log_softmax, softmax

from .._validation import FloatArray
from ..losses import log_total
from ._graph import Node


class Backward:
    """A network's wiring on inputs: θ to outputs, and duals back to what moves θ.

    Parameters
    ----------
    nodes : tuple of Node
    X : ndarray, shape (n, d)
    """

    def __init__(self, nodes: tuple[Node, ...], X: FloatArray) -> None:
        self.nodes = nodes
        self._z = [X]
        self._h = [X]
        self._matrices: list[list[FloatArray]] = [[]]

    def outputs(self, theta: FloatArray) -> FloatArray:
        """Return f, shape (n, K), and keep what `descent` needs of it."""
        self._z, self._h, self._matrices = self._z[:1], self._h[:1], [[]]
        for node in self.nodes[1:]:
            z = np.zeros((len(self._z[0]), node.size))
            if node.bias is not None:
                z += np.where(node.bias >= 0, theta[node.bias], 0.0)
            matrices = []
            for edge in node.edges:
                A = np.where(edge.idx >= 0, theta[edge.idx], 0.0)
                matrices.append(A if edge.const is None else A + edge.const)
                z += (self._z if edge.tap == "z" else self._h)[edge.src] @ matrices[-1].T
            self._matrices.append(matrices)
            self._z.append(z)
            self._h.append(z if node.leak is None else np.where(z > 0, z, node.leak * z))
        return self._h[-1]

    def descent(self, duals: FloatArray, n_parameters: int) -> FloatArray:
        """Return -∇L at the θ of the last `outputs`, for the duals -∂ℓ/∂f, shape (n, K)."""
        out = np.zeros(n_parameters)
        from_h = [np.zeros_like(z) for z in self._z]
        from_z = [np.zeros_like(z) for z in self._z]
        from_h[-1] += duals
        for v in range(len(self.nodes) - 1, 0, -1):
            node = self.nodes[v]
            slope = 1.0 if node.leak is None else np.where(self._z[v] > 0, 1.0, node.leak)
            delta = slope * from_h[v] + from_z[v]
            for edge, A in zip(node.edges, self._matrices[v], strict=True):
                skips = edge.tap == "z"
                used = edge.idx >= 0
                np.add.at(out, edge.idx[used], (delta.T @ (self._z if skips else self._h)[edge.src])[used])
                if edge.src:
                    (from_z if skips else from_h)[edge.src] += delta @ A
            if node.bias is not None:
                np.add.at(out, node.bias[node.bias >= 0], delta.sum(axis=0)[node.bias >= 0])
        return out


def duals(outputs: FloatArray, targets: FloatArray, loss: str, counts: FloatArray | None = None) -> FloatArray:
    """Return -c ∂ℓ/∂f, shape (n, K), with what the samples count; for cross-entropy the targets are one-hot."""
    if counts is not None:
        return counts[:, None] * duals(outputs, targets, loss)
    if loss == "squared":
        return targets - outputs
    if loss == "cross_entropy":
        return np.asarray(targets - softmax(outputs, axis=1))
    q = targets * outputs
    return np.asarray(targets * (np.exp(-q) if loss == "exponential" else expit(-q)))


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
