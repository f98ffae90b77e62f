"""[LLWA] Theorem G.11 and Assumptions 4.6 and A.6: a local maximum among signs, and how often starts branch."""

from __future__ import annotations

import numpy as np

from ..._validation import FloatArray
from ...convex import leaky_linear_margin
from ...datasets import Dataset, lyu_figure1, symmetric
from ...flow import integrate
from ...networks import Network
from .._claim import Claim, Context, Number, Outcome
from ._proof_steps import LEAK, phi
from ._tools import balanced, mean, one_sided_means, scaled, unit

_NEAR = 2e-3  # of the networks among which a local maximum is looked for


def _local_maximum(context: Context) -> Outcome:
    """Look around π_b(w⁺, 1)/√2 among networks with the signs of Q."""
    data = lyu_figure1("middle")
    found = leaky_linear_margin(data, leak=LEAK).plus
    best, tilted = -np.inf, -np.inf
    for k in range(context.pick(20, 300)):
        rng = np.random.default_rng([context.seed, k])
        b = np.append(rng.uniform(0.3, 1.0, 2), [0.0, 0.0])
        b /= np.linalg.norm(b)
        best = max(best, _best_nearby(data, found.direction, b, rng) / (found.margin / 2))
        other = unit(found.direction + 0.1 * rng.standard_normal(data.d))
        net = Network(np.outer(b, other) / np.sqrt(2), b / np.sqrt(2), leak=LEAK)
        least = float((data.y * net(data.X)).min())
        if least > 0:
            tilted = max(tilted, _best_nearby(data, other, b, rng) / least)
    numbers = (
        Number(
            "G.11: largest margin nearby in Q over γ⁺/2; control: around another direction, over its own",
            best,
            1,
            1e-9,
            "at_most",
            control=tilted,
        ),
    )
    ran = (
        "two positive neurons along w⁺ and two zero ones on the middle data; 2,000 networks about 0.002 away from each"
    )
    return Outcome(ran, numbers)


def _best_nearby(data: Dataset, w: FloatArray, b: FloatArray, rng: np.random.Generator) -> float:
    """Return the largest normalised margin of 2,000 unit networks near π_b(w, 1)/√2 with a_k >= 0 where b_k > 0."""
    best = -np.inf
    for _ in range(2000 // 40):
        noise = _NEAR * rng.uniform(0, 1, (40, 1, 1)) ** 3 * rng.standard_normal((40, len(b), data.d + 1))
        rows = np.column_stack((np.outer(b, w), b))[None] / np.sqrt(2) + noise
        rows[..., -1] = np.where(b > 0, np.abs(rows[..., -1]), -np.abs(rows[..., -1]))
        rows /= np.linalg.norm(rows, axis=(1, 2), keepdims=True)
        f = np.einsum("kmn,km->kn", phi(rows[..., :-1] @ data.X.T), rows[..., -1])
        best = max(best, float((data.y * f).min(axis=1).max()))
    return best


def _branching(context: Context) -> Outcome:
    """Count the starts of the kinds of Assumptions 4.6 and A.6 from which the flow branches."""
    counts, total = {"4.6": 0, "A.6": 0, "Gaussian": 0}, context.pick(20, 300)
    for k in range(total):
        rng = np.random.default_rng([context.seed, k])
        data = symmetric(8, 3, seed=context.seed + k)
        ends = np.array([unit(unit(sign * mean(data)) + 0.01 * rng.standard_normal(3)) for sign in (1, -1)])
        sizes = 0.01 * rng.uniform(0.1, 1, 4)
        W = sizes[:, None] * np.repeat(ends, 2, axis=0)
        counts["4.6"] += _branches(data, Network(W, sizes * [1, 1, -1, -1], leak=LEAK))
        free = Dataset(rng.standard_normal((8, 3)), rng.choice(np.array([-1.0, 1.0]), 8))
        way = unit(unit(one_sided_means(free, LEAK)[0]) + 0.01 * rng.standard_normal(3))
        counts["A.6"] += _branches(free, Network(np.outer(sizes, way), sizes, leak=LEAK))
        counts["Gaussian"] += _branches(free, scaled(balanced(4, 3, rng, leak=LEAK), 0.01))
    ridge = Dataset([[1.0, 0.0], [-0.7, 1.0]], [1, 1])
    numbers = (
        Number(
            "Assumption 4.6: starts on symmetric data that branch; control: a start on a ridge",
            counts["4.6"],
            0,
            control=_branches(ridge, Network([[0.0, 0.6]], [0.6], leak=0.2)),
        ),
        Number(
            "Assumption A.6: starts on data with random labels that branch; control: the same",
            counts["A.6"],
            0,
            control=_branches(ridge, Network([[0.0, 0.6]], [0.6], leak=0.2)),
        ),
        Number("balanced Gaussian starts on the same data that branch", counts["Gaussian"]),
        Number("starts of each kind", total),
    )
    ran = f"{total} starts of four neurons of each kind, ε = 0.01, r = 0.01, n = 8, d = 3, α = 1/2, to mean time 200"
    note = "The assumptions ask for some r and ε on every data set; these counts are for one r and ε on random data."
    return Outcome(ran, numbers, note=note)


def _branches(data: Dataset, net: Network) -> int:
    return int(len(integrate(data, net, until=200.0, reduction="mean", on_branch="stay").branchings) > 0)


CLAIMS = (
    Claim(
        "LLWA-G11",
        "LLWA",
        "Theorem G.11",
        "One neuron is a local maximum among its signs",
        "Under A.5 the embedded neuron (w⁺, 1)/√2 has locally the greatest margin of all networks with a_k >= 0 for the"
        " neurons that carry it and a_k <= 0 for the others.",
        ("B-003-A7 / G.9 / 6.2",),
        _local_maximum,
    ),
    Claim(
        "LLWA-A46",
        "LLWA",
        "Assumptions 4.6, A.6",
        "How often starts branch",
        "Neurons of two opposite directions near ±μ, or of one direction near μ⁺, are starts from which the flow does"
        " not branch.",
        ("B-003-A", "S003-BR"),
        _branching,
    ),
)
