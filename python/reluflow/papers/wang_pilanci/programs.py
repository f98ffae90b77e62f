"""Propositions 1 and 2: the convex programs, their duals, and the number of their cells."""

from __future__ import annotations

import math

import numpy as np
from scipy.optimize import nnls

from ..._validation import FloatArray, optional_module
from ...convex import (
    MaxMarginSolution,
    arrangements,
    dual,
    extreme_points,
    max_margin,
    max_margin_multiclass,
    to_network,
)
from ...datasets import Dataset, MultiClassDataset, orthogonally_separable, vardi_shamir_srebro
from ...networks import Network
from ._tools import Claim, Context, Number, Outcome, exact, in_print, obtuse, printed, run_to_limit, shown, wide_set

GAP = 1e-8  # relative, of an optimum that both programs prove
EXAMPLE = (0.7, -0.4)  # the λ of the example of (129) on App. F.1, in the cell where x₁ alone is active

__all__ = ["CLAIMS", "cone_value"]


def _network_error(solution: MaxMarginSolution, factor: float = 1.0) -> float:
    """Return how far the network of a solution is from ½|θ|² = factor · value and margins of at least 1."""
    net, data = to_network(solution), solution.data
    short = float((1 - data.y * net(data.X)).max())
    return max(abs(0.5 * net.norm**2 - factor * solution.value), short)


def _proposition_1(context: Context) -> Outcome:
    rng = np.random.default_rng(context.seed)
    sets = [orthogonally_separable(9, 4, classes=3, seed=context.seed), MultiClassDataset(np.eye(3), [0, 1, 2])]
    for _ in range(context.pick(1, 20)):
        sets.append(MultiClassDataset(rng.standard_normal((8, 3)), np.arange(8) % 4))
    gap, error, loose = 0.0, 0.0, 0.0
    for data in sets:
        assert isinstance(data, MultiClassDataset)
        found = max_margin_multiclass(data)
        duals = sum(dual(data.binary(k)).lower for k in range(data.K))
        gap = max(gap, abs(found.value - duals) / found.value)
        loose = abs(found.value - 1.1 * duals) / found.value
        error = max(error, *(_network_error(program) for program in found.programs))
    unit_classes = max_margin_multiclass(np.eye(3), [0, 1, 2]).value
    numbers = (
        printed(
            "largest relative gap between (7) and (8); control: 1.1 in place of 1 in (8)", gap, 0.0, GAP, control=loose
        ),
        printed(
            "largest error of ½|Θ|² = (7) and of the margins of its network; control: 1.1 times (7)",
            error,
            0.0,
            GAP,
            control=min(_network_error(program, 1.1) for program in found.programs),
        ),
        exact("value of (7) for X = I with three classes, 3 (1 + √2)", unit_classes, 3 * (1 + np.sqrt(2)), GAP),
    )
    return Outcome(
        f"{len(sets)} datasets of three or four classes, some orthogonally separable, some Gaussian", numbers
    )


def _proposition_2(context: Context) -> Outcome:
    gap, error, below, above, reached = 0.0, 0.0, -np.inf, -np.inf, 0
    count = context.pick(6, 60)
    for seed in range(context.seed, context.seed + count):
        data = wide_set(6, 3, seed) if seed % 2 else orthogonally_separable(6, 3, seed=seed)
        assert isinstance(data, Dataset)
        found = max_margin(data)
        lower = dual(data).lower
        gap, loose = max(gap, abs(found.value - lower) / found.value), abs(found.value - 1.1 * lower) / found.value
        error = max(error, _network_error(found) / found.value)
        final = run_to_limit(data, Network.init(20, 3, seed=seed)).final
        margin = float((data.y * final(data.X)).min()) / final.norm**2
        if margin > 0:  # a label that has lost all its neurons is not fitted
            below = max(below, found.value - 0.5 / margin)
            above = max(above, 1.1 * found.value - 0.5 / margin)
            reached += 1
    numbers = (
        printed("largest relative gap between (14) and (15); control: 1.1 for 1", gap, 0.0, GAP, control=loose),
        printed(
            "largest relative error of ½|θ|² = (14) and of the margins of its network; control: 1.1 times (14)",
            error,
            0.0,
            GAP,
            control=_network_error(found, 1.1) / found.value,
        ),
        printed(
            "P* minus ½|θ|² of the flow's end at margin 1, largest; control: 1.1 P*",
            below,
            0.0,
            GAP,
            "at_most",
            control=above,
        ),
        exact("ends that fit the data", reached, count // 2, relation="at_least"),
    )
    return Outcome(
        f"{count} datasets (n = 6, d = 3), orthogonally separable or Gaussian in turn; networks of width 20", numbers
    )


def _width(context: Context) -> Outcome:
    data = obtuse()
    rng = np.random.default_rng(context.seed)
    W = rng.standard_normal((context.pick(10_000, 1_000_000), 2))
    best = max(float((sign * data.y * np.maximum(W @ data.X.T, 0.0)).min(axis=1).max()) for sign in (1.0, -1.0))
    pair = vardi_shamir_srebro("3.2").data
    one_neuron = 1.0 / float(np.abs(pair.X[:, 1]).min())  # w = (0, 1/h) is the shortest w with w·x >= 1 for both
    two = to_network(max_margin(data))
    numbers = (
        printed("width 1 on App. F.1: some network has margins above 0", best > 0, True),
        exact("width 1 on App. F.1: largest least margin of random neurons", best, 0.0, 1e-12, "at_most"),
        exact("width 2 attains P*: ½|θ|²", 0.5 * two.norm**2, max_margin(data).value),
        exact("x = (±1, 1/4): least ½|θ|² of width 1, over P*", one_neuron / max_margin(pair).value, np.sqrt(17) / 2),
    )
    return Outcome(f"{len(W)} random neurons of either sign on App. F.1; two positive samples at (±1, 1/4)", numbers)


def cone_value(data: Dataset, duals: FloatArray, active: FloatArray, *, minus: bool = False) -> float:
    """Return min over z >= 0 of |XᵀDλ ± Xᵀ(2D - I)z|, by non-negative least squares.

    Parameters
    ----------
    data : Dataset
    duals : ndarray, shape (n,)
    active : ndarray of 0 and 1, shape (n,)
        The diagonal of D.
    minus : bool, optional
        Whether z has the sign of the first line of (129) instead of that of (53).
    """
    sign = -1.0 if minus else 1.0
    boundaries = sign * ((2 * active - 1)[:, None] * data.X).T
    return float(nnls(boundaries, -(active * duals) @ data.X)[1])


def _socp(context: Context) -> Outcome:
    worst, pair, unmoved, alone = 0.0, 0.0, 0.0, 0.0
    for seed in range(context.seed, context.seed + context.pick(5, 50)):
        data = wide_set(6, 3, seed)
        lam = np.random.default_rng(seed).standard_normal(6)
        found = extreme_points(data, lam)
        for active, top, bottom in zip(found.patterns.astype(float), found.maximum, found.minimum, strict=True):
            up, down = cone_value(data, lam, active), cone_value(data, -lam, active)
            worst = max(worst, abs(up - top), abs(down + bottom))
            lines = [cone_value(data, sign * lam, active, minus=True) for sign in (1.0, -1.0)]
            pair = max(pair, abs(max(up, down) - max(lines)))
            unmoved = max(unmoved, float(np.linalg.norm((active * lam) @ data.X)) - top)
            alone = max(alone, abs(max(up, down) - lines[0]))
    solved = [wide_set(6, 3, seed) for seed in range(context.seed, context.seed + context.pick(2, 20))]
    gap = max(abs(second_order_dual(data) / max_margin(data).value - 1) for data in solved)
    bare = abs(second_order_dual(solved[0], multipliers=False) / max_margin(solved[0]).value - 1)
    data, lam, active = obtuse(), np.array(EXAMPLE), np.array([1.0, 0.0])
    first = cone_value(data, lam, active, minus=True)
    numbers = (
        printed(
            "largest error of max over the cone = min over z of (53); control: z = 0", worst, 0.0, 1e-8, control=unmoved
        ),
        printed(
            "largest difference of the two lines of (129) from the two of (53); control: the first line alone",
            pair,
            0.0,
            1e-8,
            control=alone,
        ),
        printed("optimum of (129) over P*, largest relative difference; control: z = 0", gap, 0.0, 1e-6, control=bare),
        exact("App. F.1, λ = (0.7, -0.4), cell of x₁: the first line of (129) bounds -λᵀDXu", first, 0.0),
        exact(
            "and the second one, with its z, λᵀDXu",
            cone_value(data, lam, active),
            float(0.7 * np.linalg.norm(data.X[0])),
        ),
    )
    return Outcome(
        f"all cells of Gaussian data (n = 6, d = 3) and random λ; (129) itself solved on {len(solved)} of them",
        numbers,
        note="The two lines of (129) have each other's z beside (53); the pair is the same, and so is the optimum.",
    )


def second_order_dual(data: Dataset, *, multipliers: bool = True) -> float:
    """Solve (129): max yᵀλ with Yλ >= 0 and, for every cell, |XᵀDλ ∓ Xᵀ(2D - I)z_±| <= 1 for some z_± >= 0.

    Parameters
    ----------
    data : Dataset
    multipliers : bool, optional
        False leaves z out.
    """
    cvxpy = optional_module("cvxpy", "convex")
    lam = cvxpy.Variable(data.n)
    constraints = [cvxpy.multiply(data.y, lam) >= 0]
    for active in np.asarray(arrangements(data.X).patterns, dtype=float):
        pull = (active[:, None] * data.X).T @ lam
        boundaries = ((2 * active - 1)[:, None] * data.X).T
        for sign in (1.0, -1.0):
            z = cvxpy.Variable(data.n, nonneg=True)
            constraints.append(cvxpy.norm(pull - (sign * boundaries @ z if multipliers else 0)) <= 1)
    return float(cvxpy.Problem(cvxpy.Maximize(data.y @ lam), constraints).solve(solver=cvxpy.CLARABEL))


def cover_bound(n: int, rank: int) -> float:
    """Return 2r (e(N - 1)/r)^r."""
    return float(2 * rank * (math.e * (n - 1) / rank) ** rank)


def _arrangements(context: Context) -> Outcome:
    rng = np.random.default_rng(context.seed)
    numbers: list[Number] = []
    for n, d in ((2, 2), (6, 2), (8, 3), context.pick((10, 4), (20, 5))):
        found = arrangements(rng.standard_normal((n, d)))
        numbers += [
            printed(
                f"N = {n}, r = {d}: cells, at most the bound",
                len(found),
                cover_bound(n, d),
                relation="at_most",
                wrong=2 * sum(math.comb(n - 1, k) for k in range(d - 1)),  # the number for rank r - 1
            ),
            exact(f"N = {n}, r = {d}: cells are 2 Σ C(N-1, k)", len(found), found.n_expected),
        ]
    one = len(arrangements([[1.0]]))
    numbers.append(in_print("N = r = 1: cells, at most the bound", one, cover_bound(1, 1), relation="at_most"))
    numbers.append(exact("N = r = 1: cells", one, 2))
    return Outcome("Gaussian data, all sign patterns enumerated", tuple(numbers))


def _dimensions(context: Context) -> Outcome:
    data = Dataset([[1.0, 2.0], [0.0, 3.0]], [1, -1])
    value = max_margin(data).value
    turned = dual(Dataset(data.X.T, data.y)).lower
    symmetric = obtuse()
    same = dual(Dataset(symmetric.X.T, symmetric.y)).lower
    numbers = (
        in_print("optimum of (15) with (Xᵀu)₊, beside P*", turned, value, 1e-6),
        exact("optimum of (15) with (Xu)₊, beside P*", dual(data).lower, value, GAP),
        exact("App. F.1 hides it: there X is symmetric", same, max_margin(symmetric).value, GAP),
        shown("P*", value),
    )
    return Outcome(
        "X = [[1, 2], [0, 3]], y = (1, -1): square, so that the printed form has a meaning, but not symmetric", numbers
    )


CLAIMS: tuple[Claim, ...] = (
    Claim(
        "WP-P1",
        "WP",
        "Proposition 1, (7), (8)",
        "The convex program of K classes",
        "The least ½|Θ|² with all margins at least 1 is the value of (7), a sum over the classes, and of its dual (8).",
        ("B-000-4", "S000-MC"),
        _proposition_1,
    ),
    Claim(
        "WP-P2",
        "WP",
        "Proposition 2, (13)-(15)",
        "The convex program of two classes",
        "The least ½|θ|² of a two-layer network with margins at least 1 is the value of (14), and of its dual (15).",
        ("B-000-2", "B-000-3"),
        _proposition_2,
    ),
    Claim(
        "WP-D11",
        "WP",
        "Proposition 2",
        "The equivalence needs enough neurons",
        "(13) is equivalent to (14), whatever the width m is.",
        ("D-11",),
        _width,
        "differs",
        "'The problem (13) is equivalent to' (14) (Proposition 2), with no word on the width m. With m = 1 (13) is "
        "infeasible on App. F.1, where (14) is 1.2824; on x = (±1, 1/4), y = (1, 1) it is 4, where (14) is 1.9403. "
        "Corrected: they are equivalent for m at least the number of non-zero (u, u') of an optimum of (14).",
    ),
    Claim(
        "WP-E129",
        "WP",
        "(53), (129)",
        "The dual as a second-order cone program",
        "The maximum of λᵀDXu over a closed cell is the least |XᵀDλ + Xᵀ(2D - I)z| over z >= 0, and (129) is "
        "equivalent to (15).",
        ("B-000-5", "D-13"),
        _socp,
    ),
    Claim(
        "WP-D18",
        "WP",
        "Section 2",
        "The number of cells",
        "The number of sign patterns is at most 2r (e(N - 1)/r)^r.",
        ("B-000-1", "D-18"),
        _arrangements,
        "misprint",
        "The bound 2r (e(N - 1)/r)^r of Section 2 is 0 for one sample, which has two patterns. It holds on all other "
        "data tried; in general position the number is 2 Σ_{k<r} C(N - 1, k).",
    ),
    Claim(
        "WP-D12",
        "WP",
        "(8), (15), poster",
        "(Xᵀu)₊ in the dual",
        "The constraint of the dual is max |λᵀ(Xᵀu)₊| <= 1.",
        ("D-12",),
        _dimensions,
        "misprint",
        "For N ≠ d it has no meaning, and for N = d the optimum is another one than P*; it must be (Xu)₊, as (16) has "
        "it. In the same way W₁ of class k is a d by m matrix.",
    ),
)
