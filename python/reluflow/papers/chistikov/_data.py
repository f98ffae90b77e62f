"""[CEL]'s setting: inputs within 45 degrees of a teacher neuron, and balanced starts λ z_j."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..._validation import FloatArray
from ...datasets import Dataset
from ...flow import Solution, Stop, integrate
from ...networks import Network

EPSILON = 0.25  # the largest that Assumption 2 allows
FITTED = 1e-20  # mean loss at which a run ends; the limit takes it from there
LATE = 1e5  # time at which it ends in any case
_NEAR, _FAR = 0.2, 0.65  # lengths of what is added to the teacher; below 1/√2 angles are below 45°


class Start(NamedTuple):
    """Unscaled weights z_j, shape (m, d), and signs of the output weights."""

    z: FloatArray
    signs: FloatArray

    def network(self, scale: float) -> Network:
        """Return w_j = λ z_j with a_j = ±|w_j|."""
        return Network(scale * self.z, scale * self.signs * np.linalg.norm(self.z, axis=1))


def teacher(rng: np.random.Generator, d: int) -> FloatArray:
    """Draw a unit vector v*."""
    v = rng.standard_normal(d)
    return np.asarray(v / np.linalg.norm(v))


def correlated(rng: np.random.Generator, v: FloatArray, n: int) -> Dataset:
    """Draw n inputs within 45 degrees of the teacher, with its outputs as targets."""
    turns = rng.standard_normal((n, len(v)))
    lengths = rng.uniform(_NEAR, _FAR, (n, 1)) / np.linalg.norm(turns, axis=1, keepdims=True)
    X = v + lengths * turns
    return Dataset(X, X @ v)


def draw_start(rng: np.random.Generator, width: int, d: int) -> Start:
    """Draw z_j ~ N(0, I/(dm)) and fair signs, one neuron at least with a > 0 on some input's side by chance."""
    return Start(rng.standard_normal((width, d)) / (d * width) ** 0.5, rng.choice([-1.0, 1.0], width))


def run(data: Dataset, net: Network, until: Stop | None = None) -> Solution:
    """Integrate the flow of (1/2n) Σ (f(x_i) - y_i)²; a neuron that has deactivated stays so (Assumption 1 (v))."""
    stop = until or Stop(mean_loss=FITTED, time=LATE)
    return integrate(data, net, until=stop, loss="squared", reduction="mean", rtol=1e-11, on_branch="stay")


def pull(data: Dataset) -> float:
    """Return |γ| of γ = (1/n) Σ y_i x_i over all samples, the rate at which aligned neurons grow."""
    return float(np.linalg.norm(data.y @ data.X)) / data.n


def active(net: Network, signs: Network) -> FloatArray:
    """Return the weights of the neurons that are active on some training point, by the exact signs of another state."""
    assert signs.pattern is not None  # the networks of a run have it
    return np.asarray(net.W[(signs.pattern > 0).any(axis=1)])


def widest(W: FloatArray) -> float:
    """Return the largest angle (degrees) between two rows, accurate where it is small."""
    units = W / np.linalg.norm(W, axis=1, keepdims=True)
    square = ((units[:, None] - units[None]) ** 2).sum(axis=2)
    return float(np.degrees(2 * np.arcsin(np.minimum(0.5 * np.sqrt(square.max()), 1.0))))
