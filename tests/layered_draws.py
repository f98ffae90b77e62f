"""Layered problems drawn at random: data of all kinds, widths, depths, losses, biases, leaks and scales."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np

import reluflow as rf

LOSSES = ["squared", "squared", "logistic", "exponential", "cross_entropy"]
UNTIL = {1.0: 1e2, 0.3: 1e2, 0.1: 1e3, 1e-2: 1e4, 1e-3: 1e5, 1e-4: 1e6, 1e-30: 1e9}


class Draw(NamedTuple):
    X: np.ndarray
    y: np.ndarray
    net: rf.DeepNetwork
    loss: str
    until: float

    def ends(self, rtol: float) -> rf.DeepSolution:
        return rf.integrate((self.X, self.y), self.net, loss=self.loss, until=self.until, rtol=rtol)


def drawn(seed: int) -> Draw:
    rng = np.random.default_rng([seed, 99])
    depth = int(rng.choice([2, 2, 2, 3, 3, 4]))
    kind, dim, n = (int(rng.integers(low, high)) for low, high in ((0, 5), (2, 6), (4, 11)))
    X = _inputs(rng, kind, n, dim)
    loss = str(rng.choice(LOSSES))
    outputs, y = _targets(rng, loss, n)
    bias, starts_at_zero = bool(rng.random() < 0.4), bool(rng.random() < 0.6)
    widths = [dim, *(int(width) for width in rng.integers(2, 9, depth)), outputs]
    leak = float(rng.choice([0, 0, 0, 0.1, 0.5]))
    scale = float(rng.choice(list(UNTIL), p=[0.2, 0.15, 0.25, 0.15, 0.1, 0.1, 0.05]))
    theta = []
    for inputs, width in pairwise(widths):
        theta.append(scale * (rng.standard_normal((width, inputs)) * np.sqrt(2 / inputs)).ravel())
        if bias:
            theta.append(rng.standard_normal(width) * scale * (0.0 if starts_at_zero else 1.0))
    layers = [rf.Dense(width, bias=bias) for width in widths[1:]]
    return Draw(X, y, rf.DeepNetwork(layers, np.concatenate(theta), dim=dim, leak=leak), loss, UNTIL[scale])


def _inputs(rng: np.random.Generator, kind: int, n: int, dim: int) -> np.ndarray:
    if kind <= 1:
        return rng.standard_normal((n, dim))
    if kind == 2:
        return rng.choice([-1.0, 1.0], (n, dim))
    X = rng.integers(0 if kind == 3 else -2, 2 if kind == 3 else 3, (n, dim)).astype(float)
    X[(X == 0).all(1), 0] = 1.0
    return X


def _targets(rng: np.random.Generator, loss: str, n: int) -> tuple[int, np.ndarray]:
    if loss == "cross_entropy":
        classes = int(rng.integers(2, 4))
        y = rng.integers(0, classes, n)
        y[:classes] = np.arange(classes)
        return classes, y
    if loss != "squared":
        return 1, rng.choice([-1.0, 1.0], n)
    outputs = 2 if rng.random() < 0.25 else 1
    shape = (n, 2) if outputs == 2 else (n,)
    return outputs, rng.standard_normal(shape) if rng.random() < 0.5 else rng.choice([-1.0, 1.0], shape)
