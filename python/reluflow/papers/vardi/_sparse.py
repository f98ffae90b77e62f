"""Theorems 4.1 and 4.4, diagonal and convolutional networks: what holds at their points, without their flow."""

from __future__ import annotations

import math

import numpy as np

from ..._validation import FloatArray
from ...datasets import Dataset
from ...flow import integrate
from ...networks import Network
from .._claim import Claim, Context, Number, Outcome
from ._checks import LATE, LOSSES, PRINTED, exactly, in_print, kkt_residual, printed, small
from ._drawing import curves
from ._limits import smaller_nearby
from ._other_networks import ACTIVATIONS, convolution, diagonal

ROOT_HALF = 1 / math.sqrt(2)
SIZES = (1e-6, 1e-4, 1e-2, 0.1, 0.4)
LARGEST_RELU = 0.029437  # e up to which the second patch of Theorem 4.4 stays active
PATCHES = np.array([[4.0, ROOT_HALF], [-4.0, ROOT_HALF]])  # of the input of Theorem 4.4


def theorem_4_1(context: Context) -> Outcome:
    """Check the KKT point and the smaller networks of the diagonal network; run its flow, which has one live neuron."""
    theta = np.array([1.0, 0.0, 1.0, 0.0])
    x = np.array([1.0, 2.0])
    numbers: list[Number] = []
    for name, phi in ACTIVATIONS.items():
        margin = diagonal(x, 2, phi)
        numbers.append(
            small(f"{name}: KKT residual of w_1 = w_2 = (1, 0) with λ = 1", kkt_residual(margin, theta, [1.0]))
        )
        paths = [diagonal_path(e) for e in SIZES]
        numbers += smaller_nearby(name, margin, theta, paths, [2 - e for e in SIZES])
    numbers += _single_neuron(np.array([1.0]), "the first coordinate alone: weight of the limit")
    best = np.array([0, ROOT_HALF, 0, ROOT_HALF])
    numbers += [
        exactly("|θ|² of the best network, β = (0, 1/2)", float(best @ best), 1.0),
        exactly("its margin", float(diagonal(x, 2, ACTIVATIONS["ReLU"])(best)[0]), 1.0),
    ]
    return Outcome(
        "x = (1, 2), y = 1; the coordinate that starts at 0 stays there, so the flow is that of one neuron with one"
        " input, run exactly with both losses",
        tuple(numbers),
    )


def diagonal_path(e: float) -> FloatArray:
    return np.array([math.sqrt(1 - e), math.sqrt(e / 2)] * 2)


def _single_neuron(x: FloatArray, name: str) -> list[Number]:
    """Run the flow of one neuron w = v = 1 on one input, to which symmetric starts of larger networks reduce."""
    data = Dataset(x[:, None], [1])
    numbers = []
    for loss in LOSSES:
        limit = integrate(data, Network([[1.0]], [1.0]), until=LATE, loss=loss).limit
        size = 1 / math.sqrt(limit.margin)  # |θ̃| at margin 1
        numbers.append(printed(f"{loss}: {name}", float(size * limit.network.W[0, 0]), 1.0))
    return numbers


def remark_4_1(context: Context) -> Outcome:
    """Compare the linear predictor of Theorem 4.1 with the least ℓ1 norm, and do the same for a good case."""
    x, s = np.array([1.0, 2.0]), np.array([1.0, 1.0])
    beta = np.array([1.0, 0.0])
    even = np.array([ROOT_HALF] * 4)  # x = (1, 1): no weight is zero, so Theorem 4.2 (1) applies
    residual = kkt_residual(diagonal(s, 2, ACTIVATIONS["linear"]), even, [1.0])
    return Outcome(
        "x = (1, 2) and x = (1, 1), y = 1: β = w_1 ∘ w_2 against min |β|_1 with β·x >= 1, which is 1 / max_i |x_i|",
        (
            printed("β of Theorem 4.1: β·x", float(beta @ x), 1.0),
            printed("its ℓ1 norm", float(np.abs(beta).sum()), 1.0),
            exactly("least ℓ1 norm, at (0, 1/2)", float(1 / np.abs(x).max()), 0.5),
            small("x = (1, 1): KKT residual of w_1 = w_2 = (1, 1)/√2", residual),
            exactly("x = (1, 1): ℓ1 norm of its β, which is the least", float(2 * ROOT_HALF**2), 1 / float(s.max())),
        ),
    )


def theorem_4_4(context: Context) -> Outcome:
    """Check the convolutional network: KKT point, smaller networks, best ones, and where the printed margin holds."""
    theta = np.array([0.0, 1.0, ROOT_HALF, ROOT_HALF])
    numbers: list[Number] = []
    margins = {name: convolution(PATCHES, phi) for name, phi in ACTIVATIONS.items()}
    for name, margin in margins.items():
        numbers.append(small(f"{name}: KKT residual with λ = 1", kkt_residual(margin, theta, [1.0])))
        numbers += smaller_nearby(
            name, margin, theta, [filter_path(e) for e in SIZES], [2 - e / 2 + e**2 for e in SIZES]
        )
    numbers += _single_neuron(np.array([1.0]), "the symmetric line: size of the filter in the limit")
    flat, tip = float(np.linalg.norm(PATCHES[0] - PATCHES[1])), float(np.linalg.norm(PATCHES[0]))
    linear = np.linalg.svd(PATCHES, compute_uv=False)[0]
    numbers += [
        exactly(
            "linear: |θ|² of the best network, 2 over the largest singular value of the patches",
            float(2 / linear),
            0.353553,
            PRINTED,
        ),
        exactly("the patches' largest singular value is |x⁽¹⁾ - x⁽²⁾|/√2", float(linear), flat / math.sqrt(2)),
        exactly("ReLU: |θ|² of the best network, 2/|x⁽¹⁾|", 2 / tip, 0.492366, PRINTED),
        exactly("ReLU: least norm of the filter with v frozen", math.sqrt(2) / tip, 0.348155, PRINTED),
        exactly("linear: least norm of the filter with v frozen", 1 / float(np.linalg.norm(theta[2:] @ PATCHES)), 1.0),
    ]
    return Outcome("x = (4, 1/√2, -4, 1/√2), y = 1, one filter for two patches", tuple(numbers))


def filter_path(e: float) -> FloatArray:
    root = math.sqrt(e)
    return np.array([root, 1 - e, ROOT_HALF + root / 2, ROOT_HALF - root / 2])


def printed_margin(context: Context) -> Outcome:
    """Compare the margin 1 + 3e of Appendix C.7 with the ReLU network's."""
    e = np.linspace(0, 0.5, 501)
    found = {
        name: np.array([float(convolution(PATCHES, phi)(filter_path(size))[0]) for size in e])
        for name, phi in ACTIVATIONS.items()
    }
    error = np.abs(found["ReLU"] - (1 + 3 * e))
    # w'·x⁽²⁾ = -4√e + (1 - e)/√2 changes sign where √e = -2√2 + 3.
    last = (3 - 2 * math.sqrt(2)) ** 2
    at = float(convolution(PATCHES, ACTIVATIONS["ReLU"])(filter_path(0.1))[0])
    return Outcome(
        "the networks θ' of Appendix C.7 for e in [0, 1/2]",
        (
            small("linear: largest error of 1 + 3e", float(np.abs(found["linear"] - (1 + 3 * e)).max())),
            exactly("ReLU: e at which the second patch falls silent", last, LARGEST_RELU, PRINTED),
            small("ReLU: largest error of 1 + 3e below it", float(error[e <= last].max())),
            in_print("ReLU: largest error of 1 + 3e for e in (0, 1/2)", float(error.max()), 0.0),
            exactly("ReLU: margin at e = 0.1, where 1 + 3e = 1.3", at, 1.645, 5e-4),
            Number(
                "ReLU: least margin over e in [0, 1/2]", float(found["ReLU"].min()), 1.0, 1e-12, "at_least", "exact"
            ),
        ),
        {
            "margin": curves(
                {"$1 + 3e$, linear": (e, found["linear"]), "ReLU": (e, found["ReLU"])},
                labels=("$e$", r"margin of $\theta'$"),
                levels=(1.0,),
            )
        },
    )


CLAIMS = (
    Claim(
        "VSS-T4.1-point",
        "VSS",
        "Theorem 4.1",
        "A diagonal network: the limit is no local optimum",
        "Where a coordinate starts at 0, the limit of a diagonal network is a KKT point with smaller feasible"
        " networks nearby.",
        ("S002-4.1", "B-002-R3.1/R3.2"),
        theorem_4_1,
    ),
    Claim(
        "VSS-R4.1",
        "VSS",
        "Remark 4.1, Problem (3)",
        "The predictor of a diagonal network need not have the least ℓ1 norm",
        "The linear predictor that Theorem 4.1 ends with is not the solution of the ℓ1 problem; with no zero weights"
        " it is.",
        ("B-002-R4.1",),
        remark_4_1,
    ),
    Claim(
        "VSS-T4.4-point",
        "VSS",
        "Theorem 4.4",
        "Shared weights: the limit is no local optimum",
        "A convolutional network, linear or ReLU, can end at a KKT point without zero inputs that is no local optimum.",
        ("S002-4.4", "B-002-(4)"),
        theorem_4_4,
    ),
    Claim(
        "VSS-D24",
        "VSS",
        "Appendix C.7",
        "The margin 1 + 3e of a ReLU network",
        "The networks that improve the limit of Theorem 4.4 have the margin 1 + 3e, for linear and ReLU networks.",
        ("D-24",),
        printed_margin,
        "misprint",
        "Φ(θ') = 1 + 3e is printed in Appendix C.7 for linear and ReLU networks. The second patch falls silent at e "
        "= (3 - 2√2)² = 0.0294, and the ReLU margin is larger than 1 + 3e from there on. The networks stay feasible, "
        "so Theorem 4.4 holds.",
    ),
)
