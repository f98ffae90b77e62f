"""[PL] on data: orthogonal separability, the max-margin vectors, the recipe of Section 5.1."""

from __future__ import annotations

import numpy as np

from ..._validation import FloatArray, optional_module
from ...conditions import orthogonal_separability, support_span
from ...convex import max_margin, max_margin_vectors
from ...datasets import Dataset, orthogonally_separable, phuong_lampert, wang_pilanci
from ...flow import Stop, integrate
from ...networks import Network
from .._claim import Claim, Context, Number, Outcome

_ROUNDING = 1e-9  # of quantities of size 1 that a quadratic program solves to rounding
_RECIPE_D = 4  # the literal filter keeps one draw in 2^d: a dimension in which it can be run
_KS_LEVEL = 2.7  # of two samples, times (1/n + 1/m)^½: passed by chance once in a million times


def _separable(context: Context) -> Outcome:
    """Every sample separates separable data linearly; one sample that is turned round breaks the condition."""
    n_draws = context.pick(20, 500)
    found = separators = broken = equivalent = mixed = 0
    rng = np.random.default_rng(context.seed)
    for draw in range(n_draws):
        data = orthogonally_separable(12, 4, seed=context.seed + draw)
        found += orthogonal_separability(data).holds is True
        separators += _all_separate(data)
        turned = data.X.copy()
        turned[0] = -turned[0] + 0.1 * turned[1]
        broken += orthogonal_separability(Dataset(turned, data.y)).holds is False
        for free in (Dataset(turned, data.y), _planar(rng), data):
            by_definition, by_planes = orthogonal_separability(free).holds is True, _all_separate(free)
            equivalent += by_definition == by_planes
            mixed += by_definition
    recipe = phuong_lampert(seed=context.seed)
    numbers = (
        Number("separable draws that are found separable", found, n_draws),
        Number("draws in which each sample is the normal of a separating hyperplane", separators, n_draws),
        Number(
            "(1) and 'every sample is the normal of a separating hyperplane' agree; control: (1) always true",
            equivalent,
            3 * n_draws,
            control=mixed,
        ),
        Number("draws with one sample turned round that are found not separable", broken, n_draws),
        Number(
            "two samples at 125.1° are separable; control: at an acute angle",
            bool(orthogonal_separability(wang_pilanci("obtuse"))),
            True,
            control=bool(orthogonal_separability(wang_pilanci("acute"))),
        ),
        Number(
            "data of Section 5.1 (n = 500, d = 20) are separable; control: one label changed",
            bool(orthogonal_separability(recipe)),
            True,
            control=bool(orthogonal_separability(Dataset(recipe.X, [-recipe.y[0], *recipe.y[1:]]))),
        ),
    )
    return Outcome(f"{n_draws} random separable data sets with n = 12, d = 4, seeds from {context.seed}.", numbers)


def _planar(rng: np.random.Generator) -> Dataset:
    """Draw three samples in the plane with labels +1, +1, -1: separable or not, as it comes."""
    return Dataset(rng.standard_normal((3, 2)), [1, 1, -1])


def _all_separate(data: Dataset) -> bool:
    """Whether y_i x_i·x_j y_j is positive within classes and at least 0 between them, for all i and j."""
    products = data.y[:, None] * (data.X @ data.X.T) * data.y
    same = np.equal.outer(data.y, data.y)
    return bool((products[same] > 0).all() and (products[~same] >= 0).all())


def _max_margin_vectors(context: Context) -> Outcome:
    """Check (6) and (7) by their optimality conditions, and what they mean for the convex program."""
    n_draws = context.pick(10, 100)
    worst = {"margin": np.inf, "dual": 0.0, "other": -np.inf, "value": 0.0, "wrong": 0.0}
    for draw in range(n_draws):
        data = orthogonally_separable(12, 3, seed=context.seed + draw)
        plus, minus = max_margin_vectors(data)
        for separator, side in ((plus, 1.0), (minus, -1.0)):
            own = data.y == side
            q = data.X @ separator.w
            worst["margin"] = min(worst["margin"], float(q[own].min()))
            represented = separator.multipliers @ data.X
            worst["dual"] = max(worst["dual"], float(np.abs(represented - separator.w).max()))
            worst["wrong"] = max(worst["wrong"], float(np.abs(1.1 * represented - separator.w).max()))
            worst["other"] = max(worst["other"], float(q[~own].max()))
        lengths = 1 / plus.margin + 1 / minus.margin
        worst["value"] = max(worst["value"], abs(lengths / max_margin(data).value - 1.0))
    acute = wang_pilanci("acute")
    across = float((acute.X[1] @ max_margin_vectors(acute).plus.w).max())
    numbers = (
        Number("least margin of w± on its own class", worst["margin"], 1.0, _ROUNDING),
        Number(
            "largest error of w± = Σ α_i x_i with α ≥ 0 on the support; control: 1.1 α",
            worst["dual"],
            0.0,
            _ROUNDING,
            control=worst["wrong"],
        ),
        Number(
            "largest w±·x_i on the other class; control: two samples at an acute angle",
            worst["other"],
            0.0,
            _ROUNDING,
            "at_most",
            control=across,
        ),
        Number("relative error of |w₊| + |w₋| = P*", worst["value"], 0.0, 1e-7, source="exact"),
    )
    ran = f"{n_draws} random separable data sets with n = 12, d = 3, seeds from {context.seed}."
    note = (
        "On separable data the two separate problems give the optimum P* of the convex program over networks of every"
        " width: P* = |w₊| + |w₋|."
    )
    return Outcome(ran, numbers, note=note)


def _support_span(context: Context) -> Outcome:
    """Count the support examples of data drawn by the paper's own recipe, and run the flow without their span."""
    rows, worst, early, sure = [], 0.0, np.inf, True
    for draw in range(context.pick(3, 20)):
        span = support_span(phuong_lampert(seed=context.seed + draw)).witness
        data = phuong_lampert(context.pick(60, 200), 20, seed=context.seed + draw)
        start = Network.init(40, 20, scale=1e-2, seed=context.seed + draw)
        best = 0.5 / sum(1 / vector.margin for vector in max_margin_vectors(data))
        limit = integrate(data, start, until=Stop(log_time=60.0)).limit
        worst, sure = max(worst, abs(limit.margin / best - 1)), sure and limit.certified
        final = integrate(data, start, until=20.0).final
        early = min(early, abs(float((data.y * final(data.X)).min()) / final.norm**2 / best - 1))
        rows.append((draw, len(span.positive), span.positive_rank, len(span.negative), span.negative_rank))
    table = optional_module("pandas", "analysis").DataFrame(
        rows, columns=["draw", "support of +1", "rank", "support of -1", "rank "]
    )
    table.attrs["caption"] = "Support examples of draws of the recipe, n = 500, d = 20"
    counts = table[["support of +1", "support of -1"]].to_numpy()
    ranks = table[["rank", "rank "]].to_numpy()
    numbers = (
        Number(
            "largest relative error of the limit's margin 1/(2(|w₊| + |w₋|)); control: of the state at t = 20",
            worst,
            0.0,
            1e-6,
            control=early,
        ),
        Number("every limit is certified", sure, True, source="exact"),
        Number("largest dimension of the span, below d = 20", float(ranks.max()), 19.0, 0.0, "at_most", "exact"),
        Number("ranks equal the numbers of support examples", bool((counts == ranks).all()), True, source="exact"),
    )
    sizes = context.pick(60, 200)
    ran = f"{len(table)} draws of the recipe of Section 5.1; flows of 40 neurons on {sizes} samples of each"
    return Outcome(ran, numbers, tables={"support": table})


def _literal_filter(context: Context) -> Outcome:
    """Compare the literal filter with the folded draws that have the same law."""
    rng = np.random.default_rng(context.seed)
    n_draws = context.pick(200_000, 4_000_000)
    x = rng.standard_normal((n_draws, _RECIPE_D))
    z = np.where(np.arange(_RECIPE_D) % 2 == 0, 1.0, -1.0)
    inside = ((x > 0).all(axis=1) | (x < 0).all(axis=1)) & (x @ z >= 0)
    kept = x[inside]
    folded = phuong_lampert(len(kept), _RECIPE_D, seed=context.seed + 1)
    first = np.abs(kept[(kept > 0).all(axis=1)])
    unfolded = _ks(first @ z, np.abs(x[: len(first)]) @ z)  # the first orthant without the condition on x·z
    distances = [_ks(first @ v, folded.X[folded.y > 0] @ v) for v in (z, np.ones(_RECIPE_D), np.eye(_RECIPE_D)[0])]
    n_other = np.count_nonzero(folded.y > 0)
    critical = _KS_LEVEL * (1 / len(first) + 1 / n_other) ** 0.5
    share = 2.0**-_RECIPE_D
    error = (share * (1 - share) / n_draws) ** 0.5
    numbers = (
        Number("share of Gaussian draws kept at d = 4", len(kept) / n_draws, share, 5 * error, source="exact"),
        Number("draws needed for 500 samples at d = 20", 500 * 2.0**20),
        Number(
            "largest Kolmogorov distance between filtered and folded; control: filtered by the orthant alone",
            max(distances),
            critical,
            relation="at_most",
            control=unfolded,
        ),
    )
    ran = f"{n_draws:,} Gaussian draws with d = 4 filtered as printed; {folded.n:,} folded ones; three projections."
    note = (
        "A draw passes with probability 2·2^-d·½ = 2^-d, so the printed recipe asks for 5·10⁸ draws of 20 numbers. x ="
        " ±|g| with neighbouring entries exchanged where x·z < 0 has the same law, and is what `phuong_lampert` draws."
    )
    return Outcome(ran, numbers, note=note)


def _ks(one: FloatArray, two: FloatArray) -> float:
    """Return the Kolmogorov distance of two samples."""
    both = np.sort(np.concatenate((one, two)))
    shares = [np.searchsorted(np.sort(values), both, side="right") / len(values) for values in (one, two)]
    return float(np.abs(shares[0] - shares[1]).max())


CLAIMS = (
    Claim(
        "PL-OS",
        "PL",
        "Section 2, (1)",
        "Orthogonal separability",
        "Samples of one class have positive inner products, samples of two classes none above 0. Equivalently, the"
        " classes are separated by the hyperplane normal to any one sample.",
        ("B-004-OS", "S004-THM"),
        _separable,
    ),
    Claim(
        "PL-W",
        "PL",
        "Section 3, (6) and (7)",
        "The max-margin vectors",
        "w₊ is the shortest vector with w·x_i ≥ 1 on the positive samples, w₋ on the negative ones. Each is a"
        " combination of its support examples with coefficients ≥ 0, and has no positive product with a sample of the"
        " other class.",
        ("B-004-w",),
        _max_margin_vectors,
    ),
    Claim(
        "PL-D45",
        "PL",
        "Section 3.1, footnote 3, Section 5.1",
        "The span of the support examples can be relaxed",
        "That the support examples of either class span R^d, as Theorem 1 assumes, is not crucial: the experiment of"
        " Section 5.1 relaxes it, and the conclusion holds.",
        ("D-45",),
        _support_span,
        reason="Drawn by the recipe (n = 500, d = 20), each class has a handful of support examples, far from the 20 of"
        " a span. The limit of the flow is the network of Theorem 1 all the same.",
    ),
    Claim(
        "PL-D46",
        "PL",
        "Section 5.1",
        "The filter of the data",
        "A Gaussian draw is kept with label +1 in the first orthant and with label -1 in the opposite one, if x·z ≥ 0.",
        ("D-46",),
        _literal_filter,
    ),
)
