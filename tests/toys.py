"""Small problems with known answers that the tests of the Python side share."""

from __future__ import annotations

import math

import numpy as np

import reluflow as rf

# One neuron on one sample x = 1, y = 1 with w = a = u: u' = λ u with λ = e^(-u²) for the exponential loss, so that
# s = u² obeys s' = 2 s e^(-s).
ONE_START = 0.5


def one_neuron() -> tuple[rf.Dataset, rf.Network]:
    return rf.Dataset([[1.0]], [1]), rf.Network([[ONE_START]], [ONE_START])


def one_neuron_time(w: float) -> float:
    """Time at which the weight of `one_neuron` is `w` under the exponential loss: ∫ e^s / (2 s) ds, in closed form."""
    from scipy.special import expi

    return float(expi(w * w) - expi(ONE_START**2)) / 2


def digits_like(n: int = 60, d: int = 8, width: int = 12, seed: int = 3) -> tuple[rf.Dataset, rf.Network]:
    """Random data with random labels: crossings, holds and releases within a few units of time."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) / math.sqrt(d)
    y = np.where(rng.random(n) < 0.5, -1.0, 1.0)
    return rf.Dataset(X, y), rf.Network.init(width, d, scale=1e-2, seed=seed)


def long_run() -> tuple[rf.Dataset, rf.Network]:
    """A run that lasts much longer than the 0.1 s between two calls of a callback."""
    return digits_like(n=400, d=50, width=100, seed=5)


def on_a_ridge() -> tuple[rf.Dataset, rf.Network]:
    """A start on the boundary of a sample that both pulls the neuron up and lets it stay: a branch point at t = 0."""
    data = rf.Dataset([[0.0, 1.0], [1.0, 0.0]], [1, 1])
    return data, rf.Network([[1.0, 0.0]], [1.0])
