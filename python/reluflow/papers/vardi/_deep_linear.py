"""Theorem 3.1 as flows: deep linear networks from random starts, and the laws by which they come to their limit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from ..._validation import FloatArray
from ...convex import svm
from ...datasets import Dataset
from ...flow import Stop, integrate
from ...layered import DeepNetwork, Dense
from ...losses import LossName
from .._claim import Claim, Context, Number, Outcome
from ._checks import LOSSES, table
from ._drawing import curves

DEPTHS = (2, 3, 4, 5)
WIDTH, INPUTS, SAMPLES = 4, 3, 6
SCALE = 0.3  # of the random start
SHOWN = 12  # kept states in each factor ten of log t
WRONG = 0.9  # a wrong constant in the place of the bound


@dataclass(frozen=True)
class Course:
    """What one run shows at its kept states.

    Attributes
    ----------
    log_t, margin : ndarray, shape (k,)
    rank : ndarray, shape (k,)
        Largest σ₂/σ₁ of a layer.
    turn : ndarray, shape (k,)
        Largest 1 - |<left vector of a layer, right vector of the next>|, of the leading singular vectors.
    angle, aside : ndarray, shape (k,)
        Angle of the product of the layers to the max-margin direction, and to Σ y_i x_i.
    norms : ndarray, shape (k, m)
        |W_l| q^(-1/m): the layers scaled to margin 1.
    status : str
    losses : tuple of float
        Logarithm of the loss at the first and at the last kept state.
    size : float
        C = γ^(-1/m).
    """

    log_t: FloatArray
    margin: FloatArray
    rank: FloatArray
    turn: FloatArray
    angle: FloatArray
    aside: FloatArray
    norms: FloatArray
    status: str
    losses: tuple[float, float]
    size: float

    @property
    def depth(self) -> int:
        """Number of layers."""
        return int(self.norms.shape[1])

    def exponent(self, values: FloatArray) -> float:
        """Return m d log(values)/d log(margin) over the last factor ten of log t; nan of a run that ended early."""
        if len(values) <= SHOWN:
            return float("nan")
        rise = np.log(values[-1] / values[-1 - SHOWN]) / np.log(self.margin[-1] / self.margin[-1 - SHOWN])
        return float(self.depth * rise)

    def excess(self, constant: float = 1.0) -> FloatArray:
        """Return |θ|² at margin 1 over `constant` times the bound m γ^(-2/m), minus 1."""
        found: FloatArray = np.sum(self.norms**2, axis=1) / (constant * self.depth * self.size**2) - 1
        return found

    @property
    def spread(self) -> FloatArray:
        """Largest |W_l|² minus the least, over |θ|²."""
        squares = self.norms**2
        found: FloatArray = np.ptp(squares, axis=1) / squares.sum(axis=1)
        return found


def course(depth: int, loss: LossName, seeds: Sequence[int], end: float) -> Course:
    """Run a random deep linear network on random data that a linear function separates, to log t = `end`."""
    rng = np.random.default_rng([*seeds, depth])
    X = rng.standard_normal((SAMPLES, INPUTS))
    y = np.where(X @ rng.standard_normal(INPUTS) > 0, 1.0, -1.0)
    layers = [*[Dense(WIDTH, activation="linear")] * (depth - 1), Dense(1)]
    start = DeepNetwork.init(layers, dim=INPUTS, scale=SCALE, seed=int(rng.integers(2**31)))
    at = np.geomspace(10, end, round(SHOWN * np.log10(end / 10)) + 1)
    run = integrate(Dataset(X, y), start, until=Stop(log_time=end), loss=loss, save_at_log=at)
    states = [[layer.W for layer in start._with(np.array(theta)).layers] for theta in run.theta]
    return _course(states, X, y, run)


def _course(states: list[list[FloatArray]], X: FloatArray, y: FloatArray, run: Any) -> Course:
    best = svm(Dataset(X, y))
    pairs = [_leading(layers) for layers in states]
    products = np.array([_product(layers) for layers in states])
    margin = np.min(y * (products @ X.T), axis=1)
    depth = len(states[0])
    norms = np.array([[np.linalg.norm(W) for W in layers] for layers in states])
    return Course(
        log_t=run.log_t,
        margin=margin,
        rank=np.array([rank for rank, _ in pairs]),
        turn=np.array([turn for _, turn in pairs]),
        angle=_angles(products, best.w),
        aside=_angles(products, y @ X),
        norms=norms * margin[:, None] ** (-1 / depth),
        status=run.status,
        losses=(float(run.log_loss[0]), float(run.log_loss[-1])),
        size=float(best.margin ** (-1 / depth)),
    )


def _product(layers: list[FloatArray]) -> FloatArray:
    product = layers[0]
    for W in layers[1:]:
        product = W @ product
    found: FloatArray = product[0]
    return found


def _leading(layers: list[FloatArray]) -> tuple[float, float]:
    """Return the largest σ₂/σ₁, and the largest 1 - |<u, v>| of the leading vectors that meet."""
    parts = [np.linalg.svd(W) for W in layers]
    rank = max(sizes[1] / sizes[0] for _, sizes, _ in parts[:-1])
    # 1 - |<u, v>| = |u - v|²/2 with the nearer sign: without the cancellation of the first form
    gaps = [
        min(float(np.sum((below[0][:, 0] - sign * above[2][0]) ** 2)) for sign in (1, -1)) / 2
        for below, above in pairwise(parts)
    ]
    return float(rank), max(gaps)


def _angles(vectors: FloatArray, direction: FloatArray) -> FloatArray:
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    gaps = np.linalg.norm(unit - direction / np.linalg.norm(direction), axis=1)
    angles: FloatArray = 2 * np.arcsin(gaps / 2)
    return angles


def theorem_3_1(context: Context) -> Outcome:
    """Run deep linear networks of depth 2 to 5 and compare the laws of their ends with the global optimum."""
    end, draws = 1e4, context.pick(1, 2)
    numbers, shown = [], {}
    for depth in DEPTHS:
        for loss in LOSSES:
            courses = [course(depth, loss, (context.seed, draw), end) for draw in range(draws)]
            numbers += _numbers(courses, f"depth {depth}, {loss}: ", end)
            shown[depth, loss] = courses[0]
    lines = {f"depth {depth}": shown[depth, "exponential"] for depth in DEPTHS}
    return Outcome(
        f"random data (n = {SAMPLES}, d = {INPUTS}) with the labels of a random linear function, {draws} for each depth"
        f" 2 to 5; widths {WIDTH}, random starts of scale {SCALE}, seed {context.seed}; both losses, exact flow to"
        f" log t = {end:g}, exponents over its last factor ten",
        tuple(numbers),
        figures=_figures(lines),
        tables={"ends": _ends(shown)},
        note=_NOTE,
    )


_NOTE = (
    "No finite time decides, so the laws of the ends are compared, as exponents in the least margin q, which is log t"
    " to first order. W⁽ˡ⁺¹⁾ᵀW⁽ˡ⁺¹⁾ - W⁽ˡ⁾W⁽ˡ⁾ᵀ keeps its value and |W⁽ˡ⁾| grows like q^(1/m). So σ₂/σ₁ falls like"
    " q^(-1/m), 1 - |<v_l, v_l'>| of the leading vectors that meet like q^(-4/m), the difference of two |W⁽ˡ⁾|² over"
    " |θ|² like q^(-2/m), and |θ|² at margin 1 comes to its bound m γ^(-2/m) like q^(-2/m) or faster: the layers tend"
    " to C = γ^(-1/m). The product comes to the max-margin direction like 1/q where the support vectors span the"
    " inputs, else like q^(-1/m), as what the start has across them stays."
)


def _farthest(values: Sequence[float], expected: float) -> float:
    return max(values, key=lambda value: abs(value - expected))


def _norm(courses: list[Course]) -> float:
    return _farthest([float(norm / run.size) for run in courses for norm in run.norms[-1]], 1.0)


def _laws(courses: list[Course], place: str) -> list[Number]:
    """Compare the exponents that are known exactly."""
    laws = {
        "σ₂/σ₁ of a layer, largest: ": ([run.exponent(run.rank) for run in courses], -1, 0.12),
        "1 - |<v_l, v_l'>|, largest: ": ([run.exponent(run.turn) for run in courses], -4, 0.3),
        "largest difference of |W_l|² over |θ|²: ": ([run.exponent(run.spread) for run in courses], -2, 0.1),
    }
    return [
        Number(place + name + "exponent in q, times m", _farthest(found, law), law, slack, wrong=1.25 * law)
        for name, (found, law, slack) in laws.items()
    ]


def _numbers(courses: list[Course], place: str, end: float) -> list[Number]:
    """Compare runs with the theorem; of several runs the one that is farthest off counts."""
    return [
        *_laws(courses, place),
        Number(
            place + f"|θ|² at margin 1 over m γ^(-2/m), minus 1: exponent in q, times m; control: {WRONG} of the bound",
            max(run.exponent(run.excess()) for run in courses),
            -2,
            0.3,
            "at_most",
            control=min(run.exponent(run.excess(WRONG)) for run in courses),
        ),
        Number(place + "|W_l| at margin 1 over C = γ^(-1/m), farthest layer at the end", _norm(courses), 1.0, 0.06),
        Number(
            place + "least |θ|² at margin 1 over m γ^(-2/m)",
            1 + min(float(run.excess().min()) for run in courses),
            1,
            1e-9,
            "at_least",
            wrong=1 / WRONG,
        ),
        Number(
            place + "angle to the max-margin direction: exponent in q, times m; control: the angle to Σ y_i x_i",
            max(run.exponent(run.angle) for run in courses),
            -1,
            0.15,
            "at_most",
            control=min(run.exponent(run.aside) for run in courses),
        ),
        Number(
            place + f"log of the loss at log t = {end:g}; control: at log t = 10",
            max(run.losses[1] for run in courses),
            -0.9 * end,
            0.0,
            "at_most",
            control=max(run.losses[0] for run in courses),
        ),
        Number(
            place + "runs that ended as asked",
            sum(run.status == "reached_log_time" for run in courses),
            len(courses),
            source="exact",
        ),
    ]


def _ends(shown: dict[tuple[int, LossName], Course]) -> Any:
    runs = shown.values()
    return table(
        {
            "depth": [depth for depth, _ in shown],
            "loss": [loss for _, loss in shown],
            "log t": [run.log_t[-1] for run in runs],
            "least margin": [run.margin[-1] for run in runs],
            "σ₂/σ₁": [run.rank[-1] for run in runs],
            "1 - |<v, v'>|": [run.turn[-1] for run in runs],
            "angle to max-margin": [run.angle[-1] for run in runs],
            "|W₁| at margin 1": [run.norms[-1, 0] for run in runs],
            "C": [run.size for run in runs],
            "|θ|²/mC² - 1": [run.excess()[-1] for run in runs],
        }
    )


def _figures(lines: dict[str, Course]) -> dict[str, Any]:
    axes: dict[str, Any] = {"xscale": "log", "yscale": "log"}
    rank = curves(
        {name: (run.log_t, run.rank) for name, run in lines.items()}, labels=("log t", "largest σ₂/σ₁"), **axes
    )
    rank.set_label("Second over first singular value of the layers of deep linear networks: q^(-1/m) with q ≈ log t.")
    turned = curves(
        {name: (run.log_t, run.angle) for name, run in lines.items()},
        labels=("log t", "angle to the max-margin direction"),
        **axes,
    )
    turned.set_label("Angle of the product of the layers to the max-margin direction of the data.")
    return {"rank": rank, "direction": turned}


CLAIMS = (
    Claim(
        "VSS-T3.1",
        "VSS",
        "Theorem 3.1, Appendix C.2",
        "Flows of deep linear networks",
        "The flow of a fully connected linear network of any depth tends to a global optimum: layers C v_l v_{l-1}ᵀ of"
        " rank one that are aligned and equal in norm, with the max-margin direction as their product.",
        ("S002-3.1", "B-002-C5"),
        theorem_3_1,
        quick="One data set for each depth instead of two.",
    ),
)
