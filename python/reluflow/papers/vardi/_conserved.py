"""Lemmas C.1 to C.3 along flows of layered networks: every depth, every kind of layer, both activations and losses."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise, product

import numpy as np

from ..._validation import FloatArray
from ...datasets import Dataset
from ...flow import integrate
from ...layered import DeepNetwork, DeepSolution, Dense, Diagonal, Layer, Shared
from ...losses import LossName
from .._claim import Number
from ._checks import LOSSES

DEPTHS = (2, 3, 4, 5)
ACTIVATIONS = ("linear", "relu")
SAMPLES, INPUTS, WIDTH = 6, 4, 4
END = 3.0
SCALE = 0.8  # of the random start, without balance
FILTER = [[0, 1, -1, -1], [-1, 0, 1, -1], [-1, -1, 0, 1]]  # one filter of two weights on three patches
MASK = [[1, 1, 0, 0], [0, 1, 1, 0], [0, 0, 1, 1], [1, 0, 0, 1]]
_ENDED = 0.9  # of the runs: where many boundaries of a layered network meet, one in 320 ends with `undecided_event`
KINDS = ("fully connected", "sparse", "diagonal", "shared filter")


@dataclass(frozen=True)
class Drift:
    """How far sums and differences of squared norms move along one run, relative to |θ|².

    Attributes
    ----------
    kind, status : str
    success : bool
        Whether the run ended as asked, or at rest.
    layers, neurons : float
        Of |u_l|² - |u_(l+1)|², and of a neuron's in- minus outgoing weights (nan with shared weights).
    layer_sums, neuron_sums : float
        Of the sums in the place of the differences, which nothing keeps.
    """

    kind: str
    status: str
    success: bool
    layers: float
    neurons: float
    layer_sums: float
    neuron_sums: float


def network(kind: str, depth: int, activation: str) -> list[Layer]:
    """Return the layers of a network of this kind; from the second hidden layer on, filters give way to dense ones."""
    last, dense = Dense(1), Dense(WIDTH, activation=activation)
    if kind == "diagonal":
        return [*[Diagonal(activation)] * (depth - 1), last]
    first: dict[str, Layer] = {
        "fully connected": dense,
        "sparse": Dense(WIDTH, activation=activation, mask=MASK),
        "shared filter": Shared(FILTER, activation=activation),
    }
    inner: Layer = Dense(WIDTH, activation=activation, mask=MASK) if kind == "sparse" else dense
    return [first[kind], *[inner] * (depth - 2), last]


def drift(kind: str, depth: int, activation: str, loss: LossName, seed: int) -> Drift:
    """Run one random network on random data and measure what moves."""
    rng = np.random.default_rng([seed, depth])
    X = rng.standard_normal((SAMPLES, INPUTS))
    y = np.where(X @ rng.standard_normal(INPUTS) > 0, 1.0, -1.0)
    start = DeepNetwork.init(network(kind, depth, activation), dim=INPUTS, scale=SCALE, seed=seed)
    run = integrate(Dataset(X, y), start, until=END, loss=loss)
    layers, neurons = _squares(run, kind)
    total = run.final.norm**2
    found = []
    for sign in (-1, 1):
        found.append(_moved(layers[:, :-1] + sign * layers[:, 1:]) / total)
        found.append(
            float("nan") if neurons is None else _moved(neurons[:, 0] + sign * neurons[:, 1]) / total,
        )
    return Drift(kind, run.status, run.success, *found)


def _squares(run: DeepSolution, kind: str) -> tuple[FloatArray, FloatArray | None]:
    """Return |u_l|² at the kept states, (k, m), and each hidden neuron's in- and outgoing |.|², (k, 2, neurons)."""
    layers, neurons = [], []
    for theta in run.theta:
        views = run.initial._with(np.array(theta)).layers
        layers.append([float(view.u @ view.u) for view in views])
        met = [((below.W**2).sum(axis=1), (above.W**2).sum(axis=0)) for below, above in pairwise(views)]
        neurons.append(np.concatenate([np.array(pair) for pair in met], axis=1))
    return np.array(layers), None if kind == "shared filter" else np.array(neurons)


def _moved(values: FloatArray) -> float:
    return float(np.abs(values - values[0]).max())


def layered_drifts(seed: int, draws: int) -> list[Drift]:
    """Run every kind, depth, activation and loss."""
    return [
        drift(kind, depth, activation, loss, seed + draw)
        for kind, depth, activation, loss, draw in product(KINDS, DEPTHS, ACTIVATIONS, LOSSES, range(draws))
    ]


def drift_numbers(found: Sequence[Drift]) -> list[Number]:
    """Compare the drifts of all runs, up to their ends, and count those that did not end as asked."""
    numbers = []
    for kind in KINDS:
        runs = [one for one in found if one.kind == kind]
        others = Counter(one.status for one in runs if not one.success)
        numbers += [
            Number(
                f"{kind}, depths 2 to 5: largest drift of |u_l|² - |u_(l+1)|² over |θ|²; control: of their sum",
                max(one.layers for one in runs),
                0.0,
                1e-8,
                control=max(one.layer_sums for one in runs),
            ),
            Number(
                f"{kind}: runs of {len(runs)} that ended as asked or at rest",
                len(runs) - others.total(),
                _ENDED * len(runs),
                0,
                "at_least",
                "exact",
            ),
            Number(
                f"{kind}: how the others ended",
                ", ".join(f"{name} {n}" for name, n in sorted(others.items())) or "none",
            ),
        ]
        if kind != "shared filter":
            name = f"{kind}, depths 2 to 5: largest drift of a neuron's in- minus outgoing squares; control: of the sum"
            numbers.append(
                Number(
                    name,
                    max(one.neurons for one in runs),
                    0.0,
                    1e-8,
                    control=max(one.neuron_sums for one in runs),
                )
            )
    return numbers
