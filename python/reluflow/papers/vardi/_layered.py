"""Theorems 4.1, 4.4 and 5.1 as flows of layered networks, from the starts of the paper."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from ..._validation import FloatArray
from ...datasets import Dataset
from ...flow import integrate
from ...layered import DeepNetwork, DeepSolution, Dense, Diagonal, Layer, Shared
from ...losses import LossName
from .._claim import Claim, Context, Number, Outcome
from ._checks import LOSSES
from ._deep import deep_path, path_norm
from ._limits import SIZES as DEEP_SIZES
from ._limits import smaller_nearby
from ._sparse import PATCHES, ROOT_HALF, SIZES, diagonal_path, filter_path

END = 1e4  # a time at which the loss is far below its threshold ln 2
ANGLE = 1e-9  # of a direction that stands still, to rounding
MOVED = 1e-2  # of the start of a control
KINDS = ("linear", "relu")
X_41, START_41 = np.array([1.0, 2.0]), np.array([1.0, 0.0, 1.0, 0.0])  # of Theorem 4.1
START_44 = np.array([0.0, 1.0, ROOT_HALF, ROOT_HALF])  # of Theorem 4.4
FILTER = [[0, 1, -1, -1], [-1, -1, 0, 1]]  # one filter for two patches of two inputs


def flow(layers: Sequence[Layer], x: FloatArray, theta: FloatArray, loss: LossName) -> DeepSolution:
    """Run a network with one output on one sample with the label 1."""
    net = DeepNetwork(layers, theta, dim=len(x))
    return integrate(Dataset(x[None], [1]), net, until=END, loss=loss, on_branch="stay")


def _turn(run: DeepSolution, limit: FloatArray) -> float:
    """Return the largest angle between θ(t) and the printed direction over the run."""
    end = limit / np.linalg.norm(limit)
    states = np.array([run(t).theta for t in np.append(0.0, np.geomspace(1e-2, END, 30))])
    states /= np.linalg.norm(states, axis=1, keepdims=True)
    return float(2 * np.arcsin(np.linalg.norm(states - end, axis=1).max() / 2))


@dataclass(frozen=True)
class Beside:
    """Smaller networks that tend to the limit: for each size e their weights and |θ'|²."""

    path: Callable[[float], FloatArray]
    norm: Callable[[float], float]
    sizes: tuple[float, ...] = SIZES


def scaled_end(run: DeepSolution) -> FloatArray:
    """Return the weights at the end of a run on one sample, scaled to margin 1."""
    depth = len(run.initial.nodes) - 1
    found: FloatArray = np.array(run.final.theta) / float(run.final(run.data.X)[0]) ** (1 / depth)
    return found


def diagonal_end(kind: str) -> FloatArray:
    """Return where the flow of Theorem 4.1 ends, at margin 1."""
    return scaled_end(flow([Diagonal(kind), Dense(1)], X_41, START_41, "logistic"))


def filter_end(kind: str) -> FloatArray:
    """Return where the flow of Theorem 4.4 ends, at margin 1."""
    return scaled_end(flow([Shared(FILTER, activation=kind), Dense(1)], PATCHES.ravel(), START_44, "logistic"))


def deep_end(kind: str, depth: int) -> FloatArray:
    """Return where the flow of Theorem 5.1 ends, at margin 1."""
    return scaled_end(flow([*[Diagonal(kind)] * (depth - 1), Dense(1)], np.ones(2), np.ones(2 * depth), "logistic"))


def _improving(place: str, run: DeepSolution, beside: Beside) -> list[Number]:
    """Compare the flow's end, scaled to margin 1, with the smaller networks beside it, all by the network that ran."""
    X, reached = run.data.X, scaled_end(run)

    def margin(theta: FloatArray) -> FloatArray:
        return run.initial._with(np.array(theta))(X)

    paths, norms = [beside.path(e) for e in beside.sizes], [beside.norm(e) for e in beside.sizes]
    return smaller_nearby(place + "beside the flow's end at margin 1", margin, reached, paths, norms)


def _numbers(
    layers: dict[str, Sequence[Layer]],
    x: FloatArray,
    theta: FloatArray,
    limit: FloatArray,
    loss: LossName,
    beside: Beside,
) -> list[Number]:
    """Compare the flow from the printed start with the printed direction, beside a start that is moved."""
    numbers = []
    aside = theta + MOVED * np.linspace(1, 2, len(theta))
    for kind, layer in layers.items():
        run = flow(layer, x, theta, loss)
        place = f"{kind}, {loss}: "
        numbers += [
            Number(
                place + "largest angle of θ(t) from the printed direction; control: the start moved by 0.01 and more",
                _turn(run, limit),
                0.0,
                ANGLE,
                control=_turn(flow(layer, x, aside, loss), limit),
            ),
            Number(
                place + f"log of the loss at t = {END:g}; control: at the start",
                float(run.log_loss_end),
                -10.0,
                0.0,
                "at_most",
                control=float(run.log_loss[0]),
            ),
            Number(place + "status", run.status, "reached_time", source="exact"),
            *_improving(place, run, beside),
        ]
    return numbers


_WHY = (
    "The direction is the same at all times, and the loss falls below ln 2: by Theorem 2.1 the limit is this direction."
    " The networks beside it are evaluated by the network that ran; that it is a KKT point is checked in the claim of"
    " the point."
)


def diagonal_flow(context: Context) -> Outcome:
    """Run the diagonal network of depth 2."""
    x, theta = X_41, START_41
    layers = {kind: [Diagonal(kind), Dense(1)] for kind in KINDS}
    near = Beside(diagonal_path, lambda e: 2 - e)
    numbers = [number for loss in LOSSES for number in _numbers(dict(layers), x, theta, theta, loss, near)]
    ran = f"x = (1, 2), y = 1, start w_1 = w_2 = (1, 0); linear and ReLU, both losses, exact flow to t = {END:g}"
    return Outcome(ran, tuple(numbers), note=_WHY)


def filter_flow(context: Context) -> Outcome:
    """Run the network with one filter for two patches."""
    theta = START_44
    layers = {kind: [Shared(FILTER, activation=kind), Dense(1)] for kind in KINDS}
    near, x = Beside(filter_path, lambda e: 2 - e / 2 + e**2), PATCHES.ravel()
    numbers = [number for loss in LOSSES for number in _numbers(dict(layers), x, theta, theta, loss, near)]
    ran = (
        "x = (4, 1/√2, -4, 1/√2), y = 1, start w = (0, 1), v = (1/√2, 1/√2); linear and ReLU, both losses, exact flow"
        f" to t = {END:g}"
    )
    return Outcome(ran, tuple(numbers), note=_WHY)


def deep_diagonal_flow(context: Context) -> Outcome:
    """Run diagonal networks of depth 3 to 5."""
    numbers = []
    for depth in context.pick((3,), (3, 4, 5)):
        theta = np.ones(2 * depth)
        layers = {f"{kind}, depth {depth}": [*[Diagonal(kind)] * (depth - 1), Dense(1)] for kind in KINDS}
        near = Beside(partial(deep_path, depth), partial(path_norm, depth), DEEP_SIZES)
        for loss in LOSSES:
            numbers += _numbers(dict(layers), np.ones(2), theta, theta, loss, near)
    depth_text = "depth 3" if context.quick else "depths 3 to 5"
    ran = f"x = (1, 1), y = 1, start all 1; {depth_text}, linear and ReLU, both losses, exact flow to t = {END:g}"
    return Outcome(ran, tuple(numbers), note=_WHY)


CLAIMS = (
    Claim(
        "VSS-T4.1",
        "VSS",
        "Theorem 4.1",
        "Flows of diagonal networks",
        "The flow of a diagonal network of depth 2 can end at a KKT point that is no local optimum.",
        ("S002-4.1",),
        diagonal_flow,
    ),
    Claim(
        "VSS-T4.4",
        "VSS",
        "Theorem 4.4",
        "Flows of convolutional networks",
        "The flow of a network with shared weights can end at a KKT point without zero inputs that is no local"
        " optimum.",
        ("S002-4.4", "B-002-C1..C3"),
        filter_flow,
    ),
    Claim(
        "VSS-T5.1",
        "VSS",
        "Theorem 5.1",
        "Flows of deep diagonal networks",
        "The flow of a diagonal network of depth 3 or more can end at a KKT point that is no local optimum.",
        ("S002-5.1",),
        deep_diagonal_flow,
        quick="Depth 3 alone.",
    ),
)
