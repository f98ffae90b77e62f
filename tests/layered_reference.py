"""A slow and obvious flow of a layered network without events: scipy on the gradient by finite formulas.

It knows no kinks: it is right as long as no pre-activation changes its sign, and for linear networks always.
"""

from __future__ import annotations

import numpy as np
from scipy.integrate import solve_ivp

import reluflow as rf


def gradient(net: rf.DeepNetwork, theta: np.ndarray, X: np.ndarray, dual: np.ndarray) -> np.ndarray:
    """Σ_i λ_i ∇f(x_i) by backpropagation, one sample and one node at a time; `dual` (n, K)."""
    moved = net._with(theta)
    z = moved.pre_activations(X)
    out = np.zeros(len(theta))
    for i in range(len(X)):
        delta = [np.zeros(node.size) for node in net.nodes]
        above_h = [np.zeros(node.size) for node in net.nodes]
        above_z = [np.zeros(node.size) for node in net.nodes]
        above_h[-1] += dual[i]
        for v in range(len(net.nodes) - 1, 0, -1):
            node = net.nodes[v]
            slope = 1.0 if node.leak is None else np.where(z[v][i] > 0, 1.0, node.leak)
            delta[v] = slope * above_h[v] + above_z[v]
            for number, edge in enumerate(node.edges):
                source = net.nodes[edge.src]
                before = z[edge.src][i]
                after = before if source.leak is None else np.maximum(before, source.leak * before)
                sent = before if edge.tap == "z" else after
                (above_z if edge.tap == "z" else above_h)[edge.src] += moved.matrix(v, number).T @ delta[v]
                for row, col in np.argwhere(edge.idx >= 0):
                    out[edge.idx[row, col]] += delta[v][row] * sent[col]
            if node.bias is not None:
                for unit in np.flatnonzero(node.bias >= 0):
                    out[node.bias[unit]] += delta[v][unit]
    return out


def duals(outputs: np.ndarray, targets: np.ndarray, loss: str) -> np.ndarray:
    """-∂ℓ/∂f, written from the definitions."""
    if loss == "squared":
        return targets - outputs
    if loss == "exponential":
        return targets * np.exp(-targets * outputs)
    if loss == "logistic":
        return targets / (1.0 + np.exp(targets * outputs))
    exps = np.exp(outputs - outputs.max(axis=1, keepdims=True))
    return targets - exps / exps.sum(axis=1, keepdims=True)


def reference(net: rf.DeepNetwork, X: np.ndarray, targets: np.ndarray, loss: str, t: float) -> np.ndarray:
    """θ(t) by DOP853 at 1e-11."""

    def rate(_: float, theta: np.ndarray) -> np.ndarray:
        outputs = net._with(theta.copy())(X).reshape(len(X), -1)
        return gradient(net, theta, X, duals(outputs, targets, loss))

    return solve_ivp(rate, (0.0, t), net.theta, method="DOP853", rtol=1e-11, atol=1e-12).y[:, -1]
