"""[BPF]'s setting: orthogonal inputs, real targets of both signs, small balanced starts."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from ..._validation import FloatArray
from ...datasets import Dataset
from ...flow import Solution, Stop, integrate
from ...networks import Network

LATE = 1e4  # a time by which the flow of the examples rests at its limit


class Rates(NamedTuple):
    """|D₊| and |D₋|, the rates at which neurons grow that see every sample of one sign."""

    plus: float
    minus: float


def example() -> Dataset:
    """Return the two samples of the authors' code: x = -½, 2 with a bias, which makes them orthogonal; y = -1, 1."""
    return Dataset([[-0.5], [2.0]], [-1.0, 1.0], bias_input=1.0)


def orthogonal(rng: np.random.Generator, weaker: float = 0.5, spread: float = 0.1) -> Dataset:
    """Draw four orthogonal inputs, of lengths within `spread` of 1, with two targets near 1 and two near -`weaker`."""
    n = 4
    frame = np.linalg.qr(rng.standard_normal((n + 1, n)))[0].T
    lengths = rng.uniform(1 - spread, 1 + spread, n)
    y = np.repeat([1.0, -weaker], 2) * rng.uniform(0.95, 1.05, n)
    return Dataset(lengths[:, None] * frame, y)


def growth(data: Dataset) -> Rates:
    """Return the lengths of D± = (1/n) Σ y_i x_i over the samples of one sign."""
    sums = [(data.y * side)[mine] @ data.X[mine] for side, mine in ((1, data.y > 0), (-1, data.y < 0))]
    return Rates(*(float(np.linalg.norm(total)) / data.n for total in sums))


def directions(rng: np.random.Generator, data: Dataset, width: int) -> tuple[FloatArray, FloatArray]:
    """Draw the unscaled weights z_j ~ N(0, I/m) of the code, and a sign for each neuron.

    The theorem asks for a neuron of each sign that sees all samples of that sign. Draws without are made again: of 60
    neurons none does for one draw in 1,500.
    """
    while True:
        z, signs = rng.standard_normal((width, data.d)) / width**0.5, rng.choice([-1.0, 1.0], width)
        sees = z @ data.X.T > 0
        if all(sees[signs == side][:, data.y * side > 0].all(axis=1).any() for side in (1, -1)):
            return z, signs


def start(z: FloatArray, signs: FloatArray, scale: float) -> Network:
    """Return the balanced network w_j = λ z_j, a_j = ±|w_j|."""
    return Network(scale * z, scale * signs * np.linalg.norm(z, axis=1))


def run(
    data: Dataset, net: Network, until: float = LATE, *, on_branch: Literal["stay", "inactive"] = "stay"
) -> Solution:
    """Integrate the flow of (1/2n) Σ (f(x_i) - y_i)².

    The paper has φ'(0) = 0: a neuron on the boundary of a sample stays there, also where the boundary has come to repel
    it, and leaving it would be a flow as well.
    """
    return integrate(
        data, net, until=Stop(time=until), loss="squared", reduction="mean", rtol=1e-11, on_branch=on_branch
    )
