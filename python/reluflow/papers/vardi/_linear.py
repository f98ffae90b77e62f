"""Theorems 3.1 and 4.2 (1), linear networks: runs that stay linear, and the points of deep ones."""

from __future__ import annotations

import math
from itertools import count

import numpy as np

from ..._validation import FloatArray
from ...convex import certify, svm
from ...datasets import Dataset
from ...flow import integrate
from ...networks import Network
from .._claim import Claim, Context, Number, Outcome
from ._checks import LATE, Margins, exactly, kkt_residual, printed, small
from ._other_networks import aligned_layers, deep_linear, identity, patches
from ._search import SIZE, kkt_point, least_groups


def problem_8(context: Context) -> Outcome:
    """Prove a two-layer linear network optimal by Problem (8), and run a flow that is one."""
    data, start = narrow_cone(context.seed)
    solution = integrate(data, start, until=LATE)
    found = certify(solution, data)
    best = svm(data)
    end = solution.limit.network
    size = 1 / math.sqrt(solution.limit.margin)
    u = (size * end.a)[:, None] * (size * end.W)
    pulls = np.linalg.norm(solution.limit.duals @ data.X)
    directions = u / np.linalg.norm(u, axis=1, keepdims=True)
    return Outcome(
        f"5 samples in a narrow cone, y = 1, 4 neurons that are active on all of them for ever: a linear network;"
        f" KKT points of random linear networks in which each neuron has two inputs of its own (n = 5, 3 neurons); seed"
        f" {context.seed}",
        (
            *_random_numbers(context),
            exactly("events of the run, so the ReLU network is linear all along", float(len(solution.events)), 0.0),
            Number(
                "least size of a neuron in the limit, so Theorem 4.2 (1) applies",
                float(np.linalg.norm(u, axis=1).min()),
                1e-3,
                0.0,
                "at_least",
                "exact",
            ),
            small(
                "largest |u_j/|u_j| - Σ λ_i y_i x_i|",
                float(np.abs(directions - solution.limit.duals @ data.X).max()),
                1e-8,
            ),
            exactly("|Σ λ_i y_i x_i|: the multipliers are feasible for the dual of (8)", float(pulls), 1.0),
            printed(
                "Σ|u_j| of the limit: the least norm of a separating vector",
                float(np.linalg.norm(u, axis=1).sum()),
                1 / best.margin,
            ),
            printed("|θ̃|² = 2/γ", 2 * found.value, 2 / best.margin),
            small("KKT residual", found.kkt.residual if found.kkt else math.inf),
        ),
        note="This is Theorem 3.1 for depth 2 as well, by a run. The optimum is that of linear networks.",
    )


def _random_numbers(context: Context) -> list[Number]:
    gaps, zero_gaps = random_groups(context.pick(6, 60), context.seed)
    return [
        Number(
            "random networks, no neuron zero: largest relative gap of Σ|u_l| to the optimum of (8)",
            max(gaps),
            0.0,
            1e-6,
            control=max(zero_gaps),
        ),
        Number("KKT points without zero neurons", len(gaps), 1, 0.0, "at_least", "exact"),
        Number(
            "one neuron zero: largest relative gap, so the condition is needed",
            max(zero_gaps),
            1e-3,
            0.0,
            "at_least",
            "exact",
        ),
        Number("KKT points with a zero neuron", len(zero_gaps)),
    ]


def random_groups(n_draws: int, seed: int) -> tuple[list[float], list[float]]:
    """Return relative gaps to Problem (8) of KKT points without a zero neuron, and of others with one that is zero.

    Further draws are made while there are none of either kind.

    The networks are linear, of depth 2 and without shared weights: each of three neurons sees two inputs of its own.
    """
    gaps: list[float] = []
    zero_gaps: list[float] = []
    for k in count():
        if k >= n_draws and gaps and zero_gaps:
            break
        rng = np.random.default_rng([seed, k])
        inputs = rng.standard_normal((5, 3, 2))
        y = np.where(np.einsum("nkp,kp->n", inputs, rng.standard_normal((3, 2))) > 0, 1.0, -1.0)
        best = least_groups(inputs, y)
        for zero, found in (((), gaps), ((0, 1, 6), zero_gaps)):
            point = kkt_point(patches(inputs, y, identity), 9, rng, zero)
            if point is None:
                continue
            sizes = np.linalg.norm(point[0][6:, None] * point[0][:6].reshape(3, 2), axis=1)
            if zero or sizes.min() > SIZE:
                found.append(abs(float(sizes.sum()) / best - 1))
    return gaps, zero_gaps


def narrow_cone(seed: int) -> tuple[Dataset, Network]:
    rng = np.random.default_rng(seed)
    X = np.array([2.0, 0.0, 0.0]) + 0.4 * rng.uniform(-1, 1, (5, 3))
    W = np.array([1.0, 0.0, 0.0]) + 0.2 * rng.uniform(-1, 1, (4, 3))
    return Dataset(X, [1] * 5), Network(W, np.linalg.norm(W, axis=1))


def deep_point(depth: int, rng: np.random.Generator) -> tuple[Margins, FloatArray, FloatArray, float]:
    """Return margins of a deep linear network on random data, the point of Theorem 3.1, its duals and m γ^(-2/m)."""
    X = rng.standard_normal((6, 3))
    y = np.where(X @ rng.standard_normal(3) > 0, 1.0, -1.0)
    y[0] *= -1 if abs(y.sum()) == len(y) else 1  # both classes
    best = svm(Dataset(X, y))
    if not best.success:  # the sample that changed its side is then left out
        X, y = X[1:], y[1:]
        best = svm(Dataset(X, y))
    widths = (3, *[4] * (depth - 1), 1)
    size = best.margin ** (-1 / depth)  # C^m = 1/γ
    theta = aligned_layers(best.w, size, widths, rng)
    duals = size ** (2 - 2 * depth) * best.multipliers  # the pull on each layer is then C v_l v_{l-1}ᵀ
    return deep_linear(X, y, widths), theta, duals, depth * best.margin ** (-2 / depth)


def theorem_3_1(context: Context) -> Outcome:
    """Check the points C v_l v_{l-1}ᵀ of deep linear networks: KKT, norm, and the bound that makes them optimal."""
    rng = np.random.default_rng(context.seed)
    numbers: list[Number] = []
    for depth in (2, 3, 4):
        margins, theta, duals, bound = deep_point(depth, rng)
        drawn = _random_norm(margins, len(theta), depth, rng, context.pick(300, 20_000))
        numbers += [
            small(f"depth {depth}: KKT residual", kkt_residual(margins, theta, duals)),
            printed(f"depth {depth}: |θ|² = m γ^(-2/m)", float(theta @ theta), bound),
            Number(
                f"depth {depth}: least margin; control: of 0.99 θ",
                float(margins(theta).min()),
                1.0,
                1e-9,
                "at_least",
                control=float(margins(0.99 * theta).min()),
            ),
            Number(f"depth {depth}: least |θ|² of random networks at margin 1", drawn, bound, 0.0, "at_least", "exact"),
        ]
    return Outcome(
        f"random data (n = 6, d = 3) that a linear function separates, widths 4, seed {context.seed}",
        tuple(numbers),
        note="That nothing is smaller follows from |W⁽ᵐ⁾…W⁽¹⁾| <= Π|W⁽ˡ⁾|_F and Lemma C.5; the random networks"
        " illustrate it.",
    )


def _random_norm(margins: Margins, size: int, depth: int, rng: np.random.Generator, n_draws: int) -> float:
    best = math.inf
    for _ in range(n_draws):
        theta = rng.standard_normal(size)
        q = float(margins(theta).min())
        if q > 0:
            best = min(best, float(theta @ theta) * q ** (-2 / depth))
    return best


CLAIMS = (
    Claim(
        "VSS-T3.1-point",
        "VSS",
        "Theorem 3.1",
        "Deep linear networks: the point is a KKT point, and nothing is smaller",
        "The limit of a fully connected linear network has layers C v_l v_{l-1}ᵀ and is the global optimum.",
        ("S002-3.1",),
        theorem_3_1,
    ),
    Claim(
        "VSS-T4.2-1",
        "VSS",
        "Theorem 4.2 (1), Problem (8)",
        "A linear network of depth 2 without zero neurons is optimal",
        "If no neuron of the limit is zero, the limit of a linear network of depth 2 is a global optimum.",
        ("B-002-(8)", "S002-3.1"),
        problem_8,
    ),
)
