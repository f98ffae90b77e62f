"""Lemmas 4 to 9 and Proposition 7: extreme points on orthogonally separable data, and the steps of the proofs."""

from __future__ import annotations

from itertools import product

import numpy as np

from ..._validation import FloatArray
from ...analysis import early_objective, extremal_directions
from ...datasets import Dataset, counterexample, orthogonally_separable
from ._tools import Claim, Context, Outcome, angle, exact, printed, shown, unit, wide_set
from .programs import cone_value

CIRCLE = 3600  # directions around a point whose neighbourhood is searched
NEARBY = 0.3  # radians of that neighbourhood
_ON = 1e-9  # height of a direction over a boundary that it is on

__all__ = ["CLAIMS", "explicit_multipliers", "fixed_directions"]


def _sets(context: Context, count: int, n: int = 8, d: int = 3) -> list[Dataset]:
    found = [orthogonally_separable(n, d, seed=seed) for seed in range(context.seed, context.seed + count)]
    return [data for data in found if isinstance(data, Dataset)]


def _lemma_4(context: Context) -> Outcome:
    sets = _sets(context, context.pick(20, 200))
    number, inactive, off = 0, 0, 0.0
    for data in sets:
        ends = extremal_directions(data)
        inactive += _inactive(data)
        number = max(number, *(sum(e.sign == sign for e in ends) for sign in (1, -1)))
        for end in ends:
            off = max(off, float(angle(end.direction, data.X[data.y == end.sign].sum(axis=0))))
    free = sum(_inactive(wide_set(8, 3, seed)) for seed in range(context.seed, context.seed + 5))
    numbers = (
        printed(
            "samples of its own label at which a local maximum or minimum is not active; control: Gaussian data",
            inactive,
            0,
            control=free,
        ),
        exact("most local maxima, or minima, on the sphere of one dataset", number, 1),
        exact("largest angle to the sum of the samples of that label", off, 0.0, 1e-8),
    )
    return Outcome(f"{len(sets)} orthogonally separable sets (n = 8, d = 3), all cells looked into", numbers)


def _inactive(data: Dataset) -> int:
    """Return how many samples of their own label local maxima and minima are not active on."""
    return sum(int((end.sector[data.y == end.sign] <= 0).sum()) for end in extremal_directions(data))


def fixed_directions(data: Dataset) -> tuple[list[FloatArray], list[FloatArray]]:
    """Return all unit u with cos(u, g(u, y)) = 1 and all with -1, by trying every set of active samples.

    Parameters
    ----------
    data : Dataset
        At most a dozen samples: 2^n sets are tried.
    """
    found: tuple[list[FloatArray], list[FloatArray]] = ([], [])
    for row in product((False, True), repeat=data.n):
        active = np.array(row)
        g = (active * data.y) @ data.X
        if not np.any(np.abs(g) > 1e-12):
            continue
        for k, sign in enumerate((1.0, -1.0)):
            u = sign * unit(g)
            if np.array_equal(data.X @ u > 1e-12, active):
                found[k].append(u)
    return found


def _proposition_7(context: Context) -> Outcome:
    sets = _sets(context, context.pick(10, 100))
    others, missing = 0, 0
    for data in sets:
        ends = extremal_directions(data)
        for sign, us in zip((1, -1), fixed_directions(data), strict=True):
            tops = [end.direction for end in ends if end.sign == sign]
            others += sum(all(angle(u, top) > 1e-8 for top in tops) for u in us)
            missing += sum(all(angle(u, top) > 1e-8 for u in us) for top in tops)
    data = counterexample("corner")
    half = np.array([0.5, 0.0])
    gain = early_objective(data, 1.1 * half[None])[0] / early_objective(data, half[None])[0] - 1
    numbers = (
        printed(
            "u = e₁/2 has cos(u, g) = 1: relative gain of yᵀ(Xu)₊ within the ball beside it",
            gain,
            0.0,
            1e-12,
            "at_most",
        ),
        exact("directions with cos = ±1 that are no local extremum on the sphere", others, 0),
        exact("local extrema on the sphere without cos = ±1", missing, 0),
    )
    return Outcome(
        f"{len(sets)} orthogonally separable sets (n = 8, d = 3), every set of active samples tried; X = I", numbers
    )


def _lemma_9(context: Context) -> Outcome:
    data = counterexample("corner")
    lam = data.y
    small = float(np.linalg.norm((np.array([1, 0]) * lam) @ data.X))
    large = float(np.linalg.norm((np.array([1, 1]) * lam) @ data.X))
    turn = np.linspace(-NEARBY, NEARBY, CIRCLE)
    around = np.column_stack((np.cos(turn), np.sin(turn)))
    best = float((np.maximum(around @ data.X.T, 0.0) @ lam).max())
    orthogonal = float(data.X[1] @ (np.array([1.0, 0.0]) * lam @ data.X))
    numbers = (
        printed("|g(σ')| for σ' = (1, 1), beside |g(σ)| for σ = (1, 0)", large, small, 1e-12),
        printed("(127): x₂·g(σ) is below 0", orthogonal < 0, True),
        exact("|g(σ')| is √2", large, np.sqrt(2)),
        exact("Proposition 7 holds all the same: λᵀ(Xu)₊ around e₁ is at most that at e₁", best, 1.0, 1e-9, "at_most"),
    )
    return Outcome("X = I, y = λ = (1, -1), u₀ = e₁: orthogonally separable, and u₀ = g(u₀)/|g(u₀)|", numbers)


def explicit_multipliers(active: FloatArray, base: FloatArray, duals: FloatArray) -> FloatArray:
    """Return z of Lemma 5: -λ_n where the diagonals D_j and D₀ differ, else 0."""
    return np.where(active != base, -duals, 0.0)


def _lemma_5(context: Context) -> Outcome:
    rng = np.random.default_rng(context.seed)
    wrong, wrong_sign, wrong_above = 0.0, 0.0, -np.inf
    off, negative, above, tried = 0.0, 0.0, -np.inf, 0
    for _ in range(context.pick(200, 5000)):
        data = Dataset(rng.standard_normal((5, 3)), [1, 1, -1, -1, 1])
        lam = rng.standard_normal(5)
        base = (data.X @ rng.standard_normal(3) >= 0).astype(float)
        u0 = (base * lam) @ data.X
        active = (data.X @ rng.standard_normal(3) >= 0).astype(float)
        if not base.any():
            continue
        lam, u0 = lam / np.linalg.norm(u0), unit(u0)
        z = explicit_multipliers(active, base, lam)
        if ((active != base) & (lam > 0)).any():
            wrong_sign = max(wrong_sign, float((-z).max()))
            wrong_above = max(wrong_above, cone_value(data, lam, active) - 1)
            continue
        off = max(off, float(np.abs((active * lam + (2 * active - 1) * z) @ data.X - u0).max()))
        wrong = max(wrong, float(np.abs((active * lam + (2 * active - 1) * 1.1 * z) @ data.X - u0).max()))
        negative = max(negative, float((-z).max()))
        above = max(above, cone_value(data, lam, active) - 1)
        tried += 1
    numbers = (
        printed("largest |XᵀD_jλ + Xᵀ(2D_j - I)z_j - u₀|; control: 1.1 z_j", off, 0.0, 1e-12, control=wrong),
        printed(
            "largest negative part of z_j; control: cells that differ where λ > 0", negative, 0.0, control=wrong_sign
        ),
        printed(
            "largest max over cell j of λᵀD_jXu, minus 1; control: such cells",
            above,
            0.0,
            1e-8,
            "at_most",
            control=wrong_above,
        ),
        exact("pairs of cells compared", tried, 20, relation="at_least"),
    )
    return Outcome("Gaussian data (n = 5, d = 3), random λ and cells with (D_j - D₀)1[λ > 0] = 0", numbers)


def _lemma_6(context: Context) -> Outcome:
    rng = np.random.default_rng(context.seed)
    short, short_rest = -np.inf, -np.inf
    sets = _sets(context, context.pick(20, 200), n=6)
    for data in sets:
        lam = data.y * rng.exponential(size=data.n)
        for _ in range(50):
            base = rng.random(data.n) < 0.7
            part = base & (rng.random(data.n) < 0.6)
            whole, b = (base * lam) @ data.X, (part * lam) @ data.X
            short = max(short, float(np.linalg.norm(b) - np.linalg.norm(whole)))
            short_rest = max(short_rest, float(np.linalg.norm(whole - b) - np.linalg.norm(whole)))
    numbers = (
        printed(
            "largest |XᵀD_jλ| - |XᵀD₀λ| for D_j <= D₀; control: Gaussian data",
            short,
            0.0,
            1e-12,
            "at_most",
            control=_excess_of_parts(wide_set(6, 3, context.seed), rng),
        ),
        printed(
            "largest |Xᵀ(D₀ - D_j)λ| - |XᵀD₀λ|, the line that (62) prints; control: Gaussian data",
            short_rest,
            0.0,
            1e-12,
            "at_most",
            control=_excess_of_parts(wide_set(6, 3, context.seed), rng),
        ),
    )
    note = "(62) ends with |a|², a = Xᵀ(D₀ - D_j)λ; the conclusion needs |b|², b = XᵀD_jλ. Both are true."
    return Outcome(
        f"{len(sets)} orthogonally separable sets (n = 6, d = 3), Yλ >= 0, 50 pairs of diagonals each",
        numbers,
        note=note,
    )


def _excess_of_parts(data: Dataset, rng: np.random.Generator) -> float:
    """Return the largest |XᵀD_jλ| - |XᵀD₀λ| over 200 pairs D_j <= D₀ with Yλ >= 0."""
    excess = -np.inf
    for _ in range(200):
        lam = data.y * rng.exponential(size=data.n)
        base = rng.random(data.n) < 0.7
        part = base & (rng.random(data.n) < 0.6)
        sizes = [np.linalg.norm((mask * lam) @ data.X) for mask in (part, base)]
        excess = max(excess, float(sizes[0] - sizes[1]))
    return excess


def _lemma_8(context: Context) -> Outcome:
    """Look for directions u₀ = g/|g| of random data, and compare λᵀ(Xu)₊ around them with its value there."""
    rng = np.random.default_rng(context.seed)
    open_excess, boundary_excess, found = -np.inf, -np.inf, 0
    for seed in range(context.seed, context.seed + context.pick(30, 150)):
        data = wide_set(6, 3, seed)
        for u in fixed_directions(Dataset(data.X, data.y))[0]:
            open_excess = max(open_excess, _excess_around(data.X, data.y, u, rng))
            found += 1
    met = longer = pulled = 0
    for _ in range(context.pick(60, 300)):
        X, lam = _with_boundary(rng)
        g = [np.linalg.norm(lam[:2] @ X[:2]), np.linalg.norm(lam @ X)]
        longer += int(lam[2] != 0 and g[1] > g[0] + 1e-9)
        pulled += int(lam[2] != 0)
        if g[1] <= g[0] + 1e-12:
            met += 1
            boundary_excess = max(boundary_excess, _excess_around(X, lam, unit(lam[:2] @ X[:2]), rng))
    away = _excess_around(np.eye(2), np.ones(2), np.array([1.0, 0.0]), rng)
    numbers = (
        printed(
            "u₀ inside a cell: largest λᵀ(Xu)₊ - λᵀ(Xu₀)₊ around it; control: u₀ that does not stand still",
            open_excess,
            0.0,
            1e-12,
            "at_most",
            control=_excess_around(np.eye(2), np.ones(2), unit([1.0, 0.5]), rng),
        ),
        printed(
            "u₀ on a boundary, |g(σ')| <= |g(σ)| in the open cells beside it: the same; control: |g(σ')| larger",
            boundary_excess,
            0.0,
            1e-12,
            "at_most",
            control=away,
        ),
        exact("directions inside cells", found, 3, relation="at_least"),
        exact("directions on boundaries with the condition", met, 3, relation="at_least"),
        exact("on boundaries of samples with λ ≠ 0 the condition fails: |g + λx|² = |g|² + |λx|²", longer, pulled),
    )
    note = (
        "The statement prints y for λ in its norms and = for <=; the proof has λ and <=. A sample on whose boundary u₀ "
        "lies is orthogonal to g, so the condition asks that it has λ = 0: it is met inside cells, and on boundaries"
        " that pull nothing."
    )
    ran = (
        "Gaussian data (n = 6, d = 3), λ = y; three samples with u₀ on the boundary of the third; 2,000 directions each"
    )
    return Outcome(ran, numbers, note=note)


def _with_boundary(rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    """Draw three samples and λ with g = λ₁x₁ + λ₂x₂ on the boundary of the third sample and active on the other two."""
    while True:
        X, lam = rng.standard_normal((3, 3)), np.append(rng.exponential(size=2), rng.choice([0.0, 1.0, -1.0]))
        g = lam[:2] @ X[:2]
        X[2] -= (X[2] @ g) / (g @ g) * g
        if (X[:2] @ g > 0).all():
            return X, lam


def _excess_around(X: FloatArray, lam: FloatArray, u: FloatArray, rng: np.random.Generator) -> float:
    """Return the largest λᵀ(Xv)₊ - λᵀ(Xu)₊ over unit v within 1e-3 of u and half way to other boundaries."""
    heights = np.abs(X @ u) / np.linalg.norm(X, axis=1)
    radius = min(1e-3, 0.5 * float(heights[heights > _ON].min()))
    near = unit(u + radius * rng.uniform(0, 1, (2000, 1)) * unit(rng.standard_normal((2000, len(u)))))
    return float((np.maximum(near @ X.T, 0.0) @ lam).max() - np.maximum(X @ u, 0.0) @ lam)


def _lemma_7(context: Context) -> Outcome:
    rng = np.random.default_rng(context.seed)
    count = context.pick(20_000, 1_000_000)
    a, b = rng.standard_normal((2, count, 3))
    b = a + rng.uniform(0, 1, (count, 1)) ** 0.1 * np.linalg.norm(a, axis=1, keepdims=True) * unit(b)
    gap, size = np.linalg.norm(a - b, axis=1), np.linalg.norm(a, axis=1)
    turned = np.linalg.norm(unit(a) - unit(b), axis=1)

    def over(constant: float) -> float:
        """Return the largest distance of the directions over the bound with this constant."""
        return float((turned / (constant * gap / size)).max())

    numbers = (
        printed(
            "largest |a/|a| - b/|b|| over 2δ/c; control: over 1.2 δ/c",
            over(2),
            1.0,
            1e-12,
            "at_most",
            control=over(1.2),
        ),
        exact("the least constant is √2: largest distance over √2 δ/c", over(np.sqrt(2)), 1.0, 0.05),
        shown("pairs", count),
    )
    return Outcome("random pairs in three dimensions with δ = |a - b| below c = |a|", numbers)


CLAIMS: tuple[Claim, ...] = (
    Claim(
        "WP-L4",
        "WP",
        "Lemma 4",
        "Local extrema are active on their whole class",
        "On orthogonally separable data a local maximiser of yᵀ(Xw)₊ on the ball is active on all positive samples, a "
        "local minimiser on all negative ones.",
        ("B-000-19",),
        _lemma_4,
    ),
    Claim(
        "WP-P7",
        "WP",
        "Proposition 7",
        "Local extrema and directions that stand still",
        "On orthogonally separable data u in the ball is a local maximiser of yᵀ(Xu)₊ iff cos(u, g(u, y)) = 1.",
        ("B-000-19", "D-16"),
        _proposition_7,
        "differs",
        "'u ∈ B is a local maximizer of yᵀ(Xu)₊ in B is equivalent to cos ∠(u, g(u, y)) = 1' (Proposition 7), with B "
        "the ball. u = e₁/2 on X = I has the cosine 1, and 1.1 u has a larger value. Corrected: it holds for u on "
        "the sphere.",
    ),
    Claim(
        "WP-L5",
        "WP",
        "Lemma 5, (53)-(59)",
        "Explicit multipliers of a cell",
        "If u₀ = XᵀD₀λ has length at most 1 and D_j differs from D₀ only where λ <= 0, then z_j = -λ there proves that "
        "λᵀD_jXu <= 1 on cell j.",
        ("B-000-24",),
        _lemma_5,
    ),
    Claim(
        "WP-L6",
        "WP",
        "Lemma 6, (60)-(62)",
        "Fewer active samples pull less",
        "On orthogonally separable data with Yλ >= 0 and D_j <= D₀: |XᵀD_jλ| <= |XᵀD₀λ|.",
        ("B-000-25", "D-14"),
        _lemma_6,
    ),
    Claim(
        "WP-L7",
        "WP",
        "Lemma 7",
        "Directions of near vectors",
        "If |a - b| <= δ < c <= |a|, then a/|a| and b/|b| are at most 2δ/c apart.",
        ("B-000-26",),
        _lemma_7,
    ),
    Claim(
        "WP-L8",
        "WP",
        "Lemma 8",
        "When a direction that stands still is a local maximum",
        "If u₀ = g(u₀, λ)/|g| and no open cell beside u₀ has a longer pull, u₀ is a local maximiser of λᵀ(Xu)₊ on the "
        "ball.",
        ("B-000-19",),
        _lemma_8,
    ),
    Claim(
        "WP-L9",
        "WP",
        "Lemma 9, (127)",
        "The pull beside a boundary",
        "On orthogonally separable data with Yλ >= 0 and u₀ = g(u₀, λ)/|g|: |g(σ')| = |g(σ)| for every σ' that "
        "contains the signs σ of u₀.",
        ("D-16",),
        _lemma_9,
        "differs",
        "'for any σ′ satisfying σ ⊆ σ′, we have |g(σ′, λ)| = |g(σ, λ)|' (Lemma 9). X = I, λ = (1, -1), u₀ = e₁: σ = "
        "(1, 0) has |g| = 1, σ' = (1, 1) has √2; (127) uses x₂·g < 0, which is only <= 0. Corrected: |g(σ')|² = "
        "|g(σ)|² + |Σ λ_n x_n|² over the samples that σ' adds, for u₀ lies on their boundaries. Proposition 7 still"
        " holds there.",
    ),
)
