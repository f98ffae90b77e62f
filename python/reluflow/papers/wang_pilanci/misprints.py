"""Printed numbers and formulas that are not right, with the computation: (128), (130), (30), (64), Remark 1, (47)."""

from __future__ import annotations

from itertools import product

import numpy as np

from ..._validation import FloatArray
from ...conditions import is_spike_free
from ...convex import dual, dual_feasibility, max_margin, to_network
from ...datasets import Dataset, counterexample, wang_pilanci
from ._tools import EXACT, Claim, Context, Number, Outcome, exact, in_print, obtuse, printed, shown, spike_free
from .programs import cone_value

LAST_DIGIT = 0.005  # half a unit of the last digit that (128), (130) and X print
PRINTED_U = {"u of (128)": (0.58, -0.16), "u' of (128)": (-0.23, 0.66), "u of (130)": (0.43, 0.59)}

__all__ = ["CLAIMS", "rounding_range"]


def rounding_range(data: Dataset) -> tuple[FloatArray, FloatArray]:
    """Return the least and the largest entries of the optimal neurons over all corners of X ± 0.005, shape (k, d)."""
    found = []
    for signs in product((-1.0, 1.0), repeat=data.X.size):
        moved = Dataset(data.X + LAST_DIGIT * np.reshape(signs, data.X.shape), data.y)
        found.append(_neurons(moved))
    return np.min(found, axis=0), np.max(found, axis=0)


def _neurons(data: Dataset) -> FloatArray:
    """Return the optimal neurons of F.1 and F.2 in closed form: x_i/|x_i|² for two labels, X⁻¹1 for one."""
    if (data.y > 0).all():
        return np.asarray(np.linalg.solve(data.X, np.ones((2, 1))).T, dtype=float)
    return np.asarray(data.X / (data.X**2).sum(axis=1, keepdims=True))


def _printed_neurons(context: Context) -> Outcome:
    numbers: list[Number] = []
    for data, names in ((obtuse(), list(PRINTED_U)[:2]), (spike_free(), list(PRINTED_U)[2:])):
        solution = max_margin(data)
        closed = _neurons(data)
        low, high = rounding_range(data)
        for k, name in enumerate(names):
            for axis in (0, 1):
                value, place = float(closed[k, axis]), f"{name}, entry {axis + 1}"
                numbers.append(in_print(place, value, PRINTED_U[name][axis], LAST_DIGIT))
                numbers.append(shown(f"{place}, over roundings of X: least", float(low[k, axis])))
                numbers.append(shown(f"{place}, over roundings of X: largest", float(high[k, axis])))
        off = float(np.abs(np.sort(solution.neurons, axis=0) - np.sort(closed, axis=0)).max())
        numbers.append(exact(f"{names[0]} and others: convex program beside the closed form", off, 0.0))
    first = np.array(PRINTED_U["u of (128)"])
    numbers += [
        exact(
            "largest first entry over roundings is below 0.575",
            float(rounding_range(obtuse())[1][0, 0]),
            0.575,
            relation="at_most",
        ),
        shown("x₁·u of the printed vector", float(obtuse().X[0] @ first)),
        shown("|u| of the printed vector; the optimum has 0.582875", float(np.linalg.norm(first))),
    ]
    return Outcome("(14) solved on both datasets, and in closed form at all roundings of X", tuple(numbers))


def _least_margin(data: Dataset, neurons: list[tuple[str, float]]) -> float:
    """Return the least margin of Σ s (u·x)₊ over printed vectors u with signs s."""
    total = sum(sign * np.maximum(data.X @ np.array(PRINTED_U[name]), 0.0) for name, sign in neurons)
    return float((data.y * total).min())


def _roles(context: Context) -> Outcome:
    # In (7) u is the positive part and u' the negative one; in (14) the other way round.
    second, first = [("u of (130)", 1.0)], [("u of (128)", 1.0), ("u' of (128)", -1.0)]
    turned = [[(name, -sign) for name, sign in part] for part in (second, first)]
    numbers = (
        in_print("(130) in (14): least margin", _least_margin(spike_free(), turned[0]), 1.0, 0.02),
        exact("(130) in (7): least margin, to the printed digits", _least_margin(spike_free(), second), 1.0, 0.02),
        exact("(128) in (7) with y = (1, -1): least margin", _least_margin(obtuse(), first), 1.0, 0.02),
        exact("(128) in (14) with y = (1, -1): least margin", _least_margin(obtuse(), turned[1]), -1.0, 0.05),
    )
    return Outcome("the printed solutions of App. F in both forms of the convex program", numbers)


def _spike_free_test(context: Context) -> Outcome:
    data = counterexample("opposite")
    X, pull_back = data.X, np.linalg.pinv(data.X)
    images = [np.maximum(X @ np.array([u]), 0.0) for u in (1.0, -1.0)]
    off = [float(np.linalg.norm(image - X @ pull_back @ image)) for image in images]
    allowed = [image for image, size in zip(images, off, strict=True) if size < EXACT]
    by_30 = max((float(np.linalg.norm(pull_back @ image)) for image in allowed), default=0.0) <= 1
    by_29 = bool(is_spike_free(data))
    numbers = (
        printed("spike-free by (30), and by (29)", by_30, by_29),
        exact("|(I - XX⁺)(X·1)₊|", off[0], np.sqrt(0.5)),
        exact("spike-free by (29)", by_29, False),
    )
    return Outcome(
        "x₁ = 1, x₂ = -1 in one dimension: (X·1)₊ = (1, 0), its projection on the range is (1/2, -1/2)", numbers
    )


def _spike_free_dual(context: Context) -> Outcome:
    data = wang_pilanci("acute")
    every = np.ones(2)
    lengths = np.linalg.norm(data.X, axis=1)
    plus, solution = (data.y > 0).astype(float), dual(data)
    best = solution.duals
    both = dual_feasibility(data, data.y).value
    first_only = dual_feasibility(data, plus * data.y).value
    limits = [1.0 / cone_value(data, row, every) for row in np.eye(2)]
    outputs = data.X @ (1000.0 * data.X[1])  # all positive: the samples are less than 90 degrees apart
    far = float(((1 - plus) * best) @ outputs)
    numbers = (
        printed("(64) at λ = (1, -1): max of λᵀ(Xu)₊, beside max of λᵀY₊(Xu)₊", both, first_only, 1e-6),
        printed("Remark 1, second form, at the optimal λ", cone_value(data, plus * best, every), 1.0, 1e-6, "at_most"),
        printed("optimum under the second form, beside D*", float(sum(limits)), solution.lower, 1e-6),
        exact("Remark 1, first form, at the optimal λ", cone_value(data, best, every), 1.0),
        exact("X is spike-free", bool(is_spike_free(data)), True),
        exact("optimum under the second form is 1/|x₁| + 1/|x₂|", float(sum(limits)), float((1 / lengths).sum())),
        exact("D* is P*", solution.lower, max_margin(data).value),
        exact("Remark 1: λᵀY₋Xu far out in the cone, where |u| <= 1 is not asked for", far, -1.0, relation="at_most"),
        shown("D*", solution.lower),
    )
    return Outcome("the inputs of App. F.2 with y = (1, -1)", numbers)


def _both_parts(context: Context) -> Outcome:
    data = obtuse()
    net = to_network(max_margin(data))
    products = net.W * net.a[:, None]
    active = (data.X @ net.W.T > 0).T.astype(float)
    doubled = sum(active[j] * (data.X @ (2 * products[j])) for j in range(net.width))
    split = np.where(net.a[:, None] > 0, products, 0.0), np.where(net.a[:, None] < 0, -products, 0.0)
    right = sum(active[j] * (data.X @ (split[0][j] - split[1][j])) for j in range(net.width))
    boundaries = (2 * active - 1)[None] * (np.stack((products, -products)) @ data.X.T)
    cone = (2 * active - 1)[None] * (np.stack(split) @ data.X.T)
    outputs = net(data.X)
    numbers = (
        in_print(
            "(51) with u' = w a and u = -w a: output over that of the network",
            float((doubled / outputs).max()),
            1.0,
            1e-9,
        ),
        in_print("least (2D - I)Xu over both parts", float(boundaries.min()), 0.0, 1e-12, "at_least"),
        exact("the same output, split by the sign of a", float((right / outputs).max()), 1.0),
        exact("least (2D - I)Xu, split by the sign of a", float(cone.min()), 0.0, 1e-12, "at_least"),
        exact("the printed output is twice that of the network", float((doubled / outputs).max()), 2.0),
    )
    return Outcome("the optimal network of App. F.1 put into (45)-(51)", numbers)


CLAIMS: tuple[Claim, ...] = (
    Claim(
        "WP-D3",
        "WP",
        "(128), (130)",
        "The printed optimal neurons",
        "The optimal neurons are (0.58, -0.16) and (-0.23, 0.66) on App. F.1, and (0.43, 0.59) on F.2.",
        ("D-3", "S000-F1", "S000-F2"),
        _printed_neurons,
        "misprint",
        "On F.1 u = x₁/|x₁|² = (0.5606, -0.1597); no rounding of X gives 0.58, and the printed vector has margin "
        "1.032 and length 0.6017 against 0.5829. On F.2 it is (0.4386, 0.5881); 0.43 is within the roundings of X.",
    ),
    Claim(
        "WP-D4",
        "WP",
        "(7), (14), (128), (130)",
        "Which of u, u' is positive",
        "The solutions of App. F solve (14), where u' is the positive part.",
        ("D-4",),
        _roles,
        "misprint",
        "(7), (45), (46) have u - u', (14) and the poster u' - u. With y = (1, 1) a vector named u solves (7) only; "
        "(46) has the sign of (7), (47) in the same proof that of (14).",
    ),
    Claim(
        "WP-D6",
        "WP",
        "Definition 2, (29), (30)",
        "The second form of spike-free",
        "X is spike-free iff |X⁺(Xu)₊| <= 1 for all unit u with (I - XX⁺)(Xu)₊ = 0.",
        ("D-6", "B-000-10", "S000-D"),
        _spike_free_test,
        "differs",
        "'This is equivalent to say that' the maximum is taken over u with '(I - XX⁺)(Xu)₊ = 0' (Definition 2, "
        "(30)). For x = 1 and -1 no u ≠ 0 has (Xu)₊ in the range of X: (30) holds vacuously, and (29) fails. "
        "Corrected: (30) needs (I - XX⁺)(Xu)₊ = 0 for all u.",
    ),
    Claim(
        "WP-D7",
        "WP",
        "(64), (66), Remark 1",
        "The dual constraint on spike-free data",
        "On spike-free data max λᵀ(Xu)₊ = max λᵀY₊(Xu)₊, so that the dual constraint splits into one for each label.",
        ("D-7", "B-000-11"),
        _spike_free_dual,
        "differs",
        "'or equivalently max λᵀY₊Xu ≤ 1, min λᵀY₋Xu ≥ -1' (Remark 1). The step λᵀY₊Xz = λᵀXz of (66) is wrong: at λ "
        "= (1, -1) the two sides of (64) are 1.4037 and 1.7156. The second form is strictly stronger than the first: "
        "it rejects the optimal λ, and its optimum is 1.2824 instead of 1.5674. Corrected: the first form alone, max "
        "|λᵀXu| over Xu >= 0 in the ball; the minimum of the second lacks |u| <= 1.",
    ),
    Claim(
        "WP-D15",
        "WP",
        "(47), (48), (50)",
        "A neuron is either u or u'",
        "A KKT point of the network gives one of the convex program by u'_j = w_j a_j and u_j = -w_j a_j.",
        ("D-15",),
        _both_parts,
        "misprint",
        "Both at once double the output and leave the cell: w a must go to u' where a > 0 and -w a to u where a < 0. "
        "(50) prints Zᵀ(2D - I) for Xᵀ(2D - I); D.7 names Theorem 1 for Theorem 3; (80) and (83) have n for the "
        "number of neurons.",
    ),
)
