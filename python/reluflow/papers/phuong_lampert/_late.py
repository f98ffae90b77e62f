"""[PL] on the late phase: where the directions and norms go, and that it is a KKT point."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..._validation import FloatArray
from ...analysis import States, decision_plane, series, states, tail_fit
from ...conditions import orthogonal_separability, support_span
from ...convex import MaxMarginVectors, certify, dual, max_margin_vectors
from ...datasets import Dataset, orthogonally_separable, wang_pilanci
from ...figures import decision, panels, style
from ...flow import Solution, Stop, integrate
from ...networks import Network
from .._claim import Claim, Context, Number, Outcome

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_PLANAR_LOG_T = 1754.0  # where the planar example is looked at
_DRAWS = 10_000  # of data; in three dimensions the supports of one in 170 span them
_SPANNING_LOG_T = 2e4  # late enough for the last power of log t to be seen
# Both classes have two support examples, which span the plane as Theorem 1 assumes.
_SPANNING = Dataset([[1.0, 0.3], [1.2, -0.4], [-1.0, 0.5], [-0.9, -0.3]], [1, 1, -1, -1], name="spanning supports")


class _Late(NamedTuple):
    """A run to a late time, with the vectors that it should go to."""

    sol: Solution
    vectors: MaxMarginVectors
    sign: FloatArray
    run: States


def _late_run(data: Dataset, log_t: float, seed: int, width: int = 10) -> _Late:
    """Integrate to a late time from a start in which each label has a neuron active on all of its samples.

    Such a neuron stays so [Lemma 3], and the limit has both groups; the others are drawn as they come.
    """
    start = Network.init(width, data.d, scale=1e-2, seed=seed)
    W, a = start.W.copy(), np.abs(start.a)
    for j, side in enumerate((1.0, -1.0)):
        W[j] = data.X[data.y == side].sum(axis=0)
        W[j] *= a[j] / np.linalg.norm(W[j])
    signs = np.where(np.arange(width) < 2, np.where(np.arange(width) < 1, 1.0, -1.0), np.sign(start.a))
    sol = integrate(data, Network(W, signs * a), until=Stop(log_time=log_t))
    grid = states(sol, log_times=np.geomspace(5.0, log_t, 60))
    return _Late(sol, max_margin_vectors(data), np.sign(sol.final.a), grid)


def _spanning(seed: int) -> Dataset:
    """Draw orthogonally separable data in the plane or in space, whose support examples of either class span it."""
    d = 2 + seed % 2
    for attempt in range(_DRAWS):
        rng = np.random.default_rng([seed, attempt])
        axis = np.eye(d)[0]
        X = np.vstack([sign * axis + 0.35 * rng.standard_normal((d + 2, d)) for sign in (1.0, -1.0)])
        data = Dataset(X, np.repeat([1, -1], d + 2), name=f"spanning supports, seed {seed}")
        if orthogonal_separability(data).holds is True:
            span = support_span(data).witness
            if min(span.positive_rank, span.negative_rank) == d:
                return data
    raise RuntimeError(f"no draw of {_DRAWS} has supports that span")


def _split(late: _Late) -> tuple[FloatArray, FloatArray]:
    """Return |W₊|²/log t and |W₋|²/log t along the grid."""
    W2 = (late.run.W**2).sum(axis=2)
    plus, minus = (W2[:, late.sign == s].sum(axis=1) / late.run.log_t for s in (1.0, -1.0))
    return np.asarray(plus), np.asarray(minus)


def _canonical(late: _Late) -> tuple[FloatArray, FloatArray]:
    """Return the limit's W/|W| and a/|a|, and the same put together from w₊, w₋ and the masses, as W, a stacked."""
    net = late.sol.limit.network
    W, a = net.W / np.linalg.norm(net.W), net.a / np.linalg.norm(net.a)
    plus, minus = late.vectors.plus.w, late.vectors.minus.w
    u = np.where(late.sign > 0, np.linalg.norm(W, axis=1) / np.linalg.norm(plus), 0.0)
    z = np.where(late.sign < 0, np.linalg.norm(W, axis=1) / np.linalg.norm(minus), 0.0)
    built_W = np.outer(u, plus) + np.outer(z, minus)
    built_a = u * np.linalg.norm(plus) - z * np.linalg.norm(minus)
    return np.column_stack((W, a)), np.column_stack((built_W, built_a))


def _theorem(context: Context) -> Outcome:
    """Theorem 1 on the planar example and on random data: limit, approach and rate."""
    log_t = context.pick(_PLANAR_LOG_T, 20_000.0)
    planar = _late_run(wang_pilanci("obtuse"), log_t, context.seed)
    spanning = _late_run(_SPANNING, _SPANNING_LOG_T, context.seed)
    some, few = (range(context.seed, context.seed + count) for count in context.pick((2, 1), (20, 10)))
    drawn = [*((_spanning(k), k) for k in some), *((orthogonally_separable(20, 3, seed=k), k) for k in few)]
    lates = [planar, spanning, *(_late_run(data, _SPANNING_LOG_T, k) for data, k in drawn)]
    ran = (
        f"The planar example to log t = {log_t:g}; four planar samples with spanning supports and {len(drawn)} random"
        " separable data sets (most with supports that span the space, others with n = 20, d = 3), to log t ="
        f" {_SPANNING_LOG_T:g}: 10 neurons, scale 1e-2, two of them active on their classes from the start; limits by"
        " `sol.limit`."
    )
    note = (
        "The paper shows that |W±|²/log t has a limit; it is |w±|, and both together tend to P*.\n\nThe span of the"
        " support examples, which the theorem assumes, is not needed for the limit: in the planar example each class"
        " has one. It shows in the approach of Σ |a_j| w_j: what the start has outside the span is never pulled"
        " and fades like 1/√log t, else it ends like 1/log t. Single neurons differ by their starts, like 1/√log t."
    )
    numbers = _theorem_numbers(lates)
    return Outcome(ran, numbers, {"rate": _rate_figure(planar, spanning)}, note=note)


def _theorem_numbers(lates: list[_Late]) -> tuple[Number, ...]:
    """Compare limits, approach and rates; the first run is the planar example, the second the spanning one."""
    planar, spanning = lates[:2]
    errors_W = errors_a = rate = far = near = 0.0
    for late in lates:
        limit, built = _canonical(late)
        errors_W = max(errors_W, float(np.linalg.norm(limit[:, :-1] - built[:, :-1])))
        errors_a = max(errors_a, float(np.linalg.norm(limit[:, -1] - built[:, -1])))
        for values, vector in zip(_split(late), late.vectors, strict=True):
            fit = tail_fit(late.run.log_t, values, loglog=True)
            rate = max(rate, abs(fit.limit * vector.margin - 1.0))
        distance = _distance(late, built[:, :-1])
        far, near = max(far, float(distance[0])), max(near, float(distance[-1]))
    at = _at(planar, _PLANAR_LOG_T)
    certified = all(late.sol.limit.certified for late in lates)
    return (
        Number("every limit is certified", certified, True, source="exact"),
        Number(
            "largest |W/|W| - (u w₊ᵀ + z w₋ᵀ)| of a limit; control: w₊, w₋ exchanged",
            errors_W,
            0.0,
            1e-6,
            control=_exchanged(spanning)[0],
        ),
        Number(
            "largest |a/|a| - (u|w₊| - z|w₋|)| of a limit; control: 1.1 |w₊|",
            errors_a,
            0.0,
            1e-6,
            control=_exchanged(spanning)[1],
        ),
        Number("largest distance of W/|W| from its limit at log t = 5", far),
        Number(
            "largest distance of W/|W| from its limit; control: at log t = 5", near, 0.02, 0, "at_most", control=far
        ),
        Number("planar example: last power of log t, Σ |a_j| w_j", _power(planar), -0.5, 0.02, source="exact"),
        Number("spanning supports: last power of log t, Σ |a_j| w_j", _power(spanning), -1.0, 0.02, source="exact"),
        Number("relative error of lim |W±|²/log t = |w±|, by a fit", rate, 0.0, 2e-3, source="exact"),
        *(
            Number(f"planar example: |W{'₊₋'[k]}|²/log t at log t = 1754", at[k], exact, 2e-6, source="exact")
            for k, exact in enumerate(_planar_norms(planar.sol.data))
        ),
        Number("planar example: total, to go to P* = 1.282432", at[0] + at[1]),
    )


def _exchanged(late: _Late) -> tuple[float, float]:
    """Return the distance of W with w₊ and w₋ exchanged, and that of a with 1.1 |w₊|."""
    other = late._replace(vectors=MaxMarginVectors(late.vectors.minus, late.vectors.plus))
    limit, built = _canonical(other)
    right = _canonical(late)[1][:, -1]
    stretched = np.where(late.sign > 0, 1.1, 1.0) * right
    return float(np.linalg.norm(limit[:, :-1] - built[:, :-1])), float(np.linalg.norm(limit[:, -1] - stretched))


def _planar_norms(data: Dataset) -> list[float]:
    """Return |W±|²/log t of one sample a class: q = |W±|²|x| obeys q' = 2|x| q e^-q, so Ei(q) = 2|x| t."""
    norms = []
    for size in np.linalg.norm(data.X, axis=1):
        q = _PLANAR_LOG_T
        for _ in range(60):  # a contraction with the factor 1/q
            q = _PLANAR_LOG_T + np.log(2 * size * q) - np.log1p(1 / q)
        norms.append(float(q / size / _PLANAR_LOG_T))
    return norms


def _distance(late: _Late, target: FloatArray) -> FloatArray:
    """Return |W/|W| - target| along the grid."""
    W = late.run.W / np.linalg.norm(late.run.W, axis=(1, 2), keepdims=True)
    return np.asarray(np.linalg.norm(W - target, axis=(1, 2)))


def _power(late: _Late) -> float:
    """Return the slope of the log distance of Σ |a_j| w_j of both signs from w±, as directions, against log log t."""
    square, x = np.zeros(len(late.run.log_t)), np.log(late.run.log_t)
    for sign, vector in zip((1.0, -1.0), late.vectors, strict=True):
        total = (np.abs(late.run.a)[:, :, None] * late.run.W)[:, late.sign == sign].sum(axis=1)
        total /= np.linalg.norm(total, axis=1, keepdims=True)
        square += ((total - vector.w / np.linalg.norm(vector.w)) ** 2).sum(axis=1)
    return float(0.5 * np.log(square[-1] / square[-6]) / (x[-1] - x[-6]))


def _at(late: _Late, log_t: float) -> tuple[float, float]:
    net = late.sol.at(log_t=log_t)
    W2 = (net.W**2).sum(axis=1)
    return float(W2[late.sign > 0].sum() / log_t), float(W2[late.sign < 0].sum() / log_t)


def _rate_figure(late: _Late, other: _Late) -> Figure:
    """Draw |W±|²/log t with its limit, and the distance of the direction from its limit, against log t."""
    with style():
        figure, (left, right) = panels(2, height=2.6)
        names = (("$\\|W_+\\|_F^2/\\log t$", "#D55E00"), ("$\\|W_-\\|_F^2/\\log t$", "#0072B2"))
        for values, vector, (text, colour) in zip(_split(late), late.vectors, names, strict=True):
            left.plot(late.run.log_t, values, color=colour, label=text)
            left.axhline(1 / vector.margin, color=colour, linestyle=(0, (4, 2)), linewidth=0.8)
        left.set_xscale("log")
        left.set_xlabel(r"$\log t$")
        left.legend(loc="upper right")
        for run, colour, text in ((late, "#000000", "planar example"), (other, "#009E73", "spanning supports")):
            right.loglog(run.run.log_t, _distance(run, _canonical(run)[1][:, :-1]), color=colour, label=text)
        log_t = other.run.log_t
        right.loglog(log_t, 2 / log_t, color="#767676", linestyle=(0, (4, 2)), linewidth=0.8, label=r"$2/\log t$")
        right.loglog(log_t, 0.02 * log_t**-0.5, ":", color="#767676", linewidth=0.8, label=r"$0.02/\sqrt{\log t}$")
        right.set_ylabel(r"$\|W/\|W\|_F-(uw_+^\top+zw_-^\top)\|_F$")
        right.set_xlabel(r"$\log t$")
        right.legend(loc="lower left")
    figure.set_label(
        "Theorem 1 on two samples at 125.1°: the squared norms of the two groups over log t with their limits |w₊| and"
        " |w₋| (dashed), and the distance of W/|W| from its limit."
    )
    return figure


def _corollary(context: Context) -> Outcome:
    """Compare the function of the limit with its closed form, on random inputs."""
    rng = np.random.default_rng(context.seed)
    error, exchanged, certified = 0.0, 0.0, True
    for k in range(context.pick(3, 30)):
        late = _late_run(orthogonally_separable(20, 3, seed=context.seed + k), 60.0, context.seed + k)
        inputs = rng.standard_normal((500, 3))
        found, other = late.sol.limit.network(inputs), MaxMarginVectors(late.vectors.minus, late.vectors.plus)
        error = max(error, float(np.abs(found - _closed_form(late.vectors, inputs)).max()))
        exchanged = max(exchanged, float(np.abs(found - _closed_form(other, inputs)).max()))
        certified &= late.sol.limit.certified
    planar = _late_run(wang_pilanci("obtuse"), _PLANAR_LOG_T, context.seed)
    net = planar.sol.final
    scaled = planar.sol.data.y * net(planar.sol.data.X) / net.norm**2
    constant = _constant(planar.vectors)
    numbers = (
        Number(
            "largest error of f/|θ|² = u(w₊·x)₊ - z(w₋·x)₊ in the limit; control: w₊, w₋ exchanged",
            error,
            0.0,
            1e-9,
            control=exchanged,
        ),
        Number("every limit is certified", certified, True, source="exact"),
        Number("planar example: u = z = 1/(2(|w₊| + |w₋|))", constant, 0.389884, 5e-7, source="exact"),
        Number("planar example: f(x₁)/|θ|² at log t = 1754", scaled[0], 0.389906, 2e-6, source="exact"),
        Number("planar example: -f(x₂)/|θ|² at log t = 1754", scaled[1], 0.389866, 2e-6, source="exact"),
    )
    ran = "Random separable data (n = 20, d = 3, 10 neurons) to log t = 60 and their limits at 500 random inputs."
    note = "The paper leaves the constants open. Where both classes have a living neuron they are equal."
    return Outcome(ran, numbers, {"function": _function_figure(planar)}, note=note)


def _constant(vectors: MaxMarginVectors) -> float:
    return 0.5 / (1 / vectors.plus.margin + 1 / vectors.minus.margin)


def _closed_form(vectors: MaxMarginVectors, inputs: FloatArray) -> FloatArray:
    plus, minus = (np.maximum(inputs @ vector.w, 0.0) for vector in vectors)
    return np.asarray(_constant(vectors) * (plus - minus))


def _function_figure(late: _Late) -> Figure:
    with style():
        figure, ax = panels(1)
        decision(decision_plane(late.sol.data, late.sol.limit.network, extent=2.5), ax)
    figure.set_label("The limit's function for two samples at 125.1°: two rectified max-margin classifiers.")
    return figure


def _smoothed_margin(context: Context) -> Outcome:
    """Follow the smoothed margin of the positive half, (19), and the loss, (21)."""
    falls, limits = 0.0, 0.0
    loss_ratio: list[float] = []
    plain: list[float] = []
    for k in range(context.pick(3, 30)):
        late = _late_run(orthogonally_separable(20, 3, seed=context.seed + k), 3000.0, context.seed + k)
        for side, vector in zip((1.0, -1.0), late.vectors, strict=True):
            half = series(_half(late, side))
            gamma = half["smoothed_margin"].to_numpy()
            falls = max(falls, float(np.maximum(gamma[:-1] - gamma[1:], 0.0).max()))
            rise = float(gamma[-1] - gamma[0])
            limits = max(limits, abs(float(gamma[-1]) * 2 / vector.margin - 1.0))
            scaled = (half["log_loss"] + half["log_t"] + np.log(half["log_t"])).to_numpy()  # log(ℓ⁺ t log t)
            loss_ratio.append(float(scaled[-1] - scaled[len(scaled) // 2]))
            alone = (half["log_loss"] + half["log_t"]).to_numpy()
            plain.append(float(alone[-1] - alone[len(alone) // 2]))
    numbers = (
        Number("largest fall of the smoothed margin; control: it starts below", falls, 0.0, 1e-9, control=rise),
        Number("largest relative error of its limit 1/(2|w±|)", limits, 0.0, 5e-3, source="exact"),
        Number(
            "largest change of log(ℓ⁺ t log t) over the last decades of log t; control: of log(ℓ⁺ t)",
            max(map(abs, loss_ratio)),
            0.0,
            0.1,
            control=max(map(abs, plain)),
        ),
    )
    return Outcome("Random separable data (n = 20, d = 3, 10 neurons) to log t = 3000, both halves.", numbers)


def _half(late: _Late, side: float) -> States:
    """Return the neurons of one sign on the samples of that class, as a run of their own."""
    run, rows, mine = late.run, late.sol.data.y == side, late.sign == side
    part = Dataset(run.data.X[rows], run.data.y[rows])
    return replace(run, data=part, W=run.W[:, mine], a=run.a[:, mine], pattern=run.pattern[:, mine][:, :, rows])


def _kkt_point(context: Context) -> Outcome:
    """Build the network of (75), (76) with the given norms, and have it certified."""
    rng = np.random.default_rng(context.seed)
    residual, tilted, multipliers, bare, norms, verdicts = 0.0, 0.0, 0.0, 0.0, 0.0, set()
    draws = [orthogonally_separable(12, 3, seed=context.seed + k) for k in range(context.pick(5, 60))]
    for data in [wang_pilanci("obtuse"), *draws]:
        vectors = max_margin_vectors(data)
        plus, minus = vectors.plus.w, vectors.minus.w
        u = _share(rng, float(np.linalg.norm(plus)) ** -0.5)
        z = _share(rng, float(np.linalg.norm(minus)) ** -0.5)
        W = np.vstack((np.outer(u, plus), np.outer(z, minus)))
        a = np.concatenate((np.linalg.norm(plus) * u, -np.linalg.norm(minus) * z))
        found = certify(Network(W, a), data)
        verdicts.add(found.verdict)
        assert found.kkt is not None  # its margins are positive
        residual = max(residual, found.kkt.residual)
        printed = vectors.plus.multipliers * vectors.plus.margin + vectors.minus.multipliers * vectors.minus.margin
        multipliers = max(multipliers, float(np.abs(np.abs(found.kkt.duals) - printed).max()))
        bare = max(bare, float(np.abs(np.abs(found.kkt.duals) - printed / vectors.plus.margin).max()))
        other = certify(Network(W + 0.1 * rng.standard_normal(W.shape) * np.abs(W).min(), a), data).kkt
        tilted = max(tilted, other.residual if other else 0.0)
        norms = max(norms, abs(found.value - 1 / vectors.plus.margin - 1 / vectors.minus.margin))
    planar = dual(wang_pilanci("obtuse")).duals
    numbers = (
        Number("largest KKT residual; control: weights moved", residual, 0.0, 1e-8, control=tilted),
        Number("largest error of λ_i = α_i/|w±|; control: without |w₊|", multipliers, 0.0, 1e-7, control=bare),
        Number("largest error of ½|θ|² = |w₊| + |w₋|", norms, 0.0, 1e-8, source="exact"),
        Number("verdicts found", ", ".join(sorted(verdicts)), "global", source="exact"),
        Number("planar example: λ₁ of the convex dual", planar[0], 0.582875, 1e-6, source="exact"),
        Number("planar example: |λ₂| of the convex dual", -planar[1], 0.699557, 1e-6, source="exact"),
    )
    ran = f"{len(draws)} random separable data sets and the planar example; three neurons a class with random shares."
    note = "The point is not only a KKT point: it is the global optimum, certified against the convex program."
    return Outcome(ran, numbers, note=note)


def _share(rng: np.random.Generator, norm: float) -> FloatArray:
    """Return three random positive weights of the given length."""
    weights = rng.uniform(0.2, 1.0, 3)
    return np.asarray(weights * norm / np.linalg.norm(weights))


CLAIMS = (
    Claim(
        "PL-T1",
        "PL",
        "Theorem 1",
        "Two max-margin directions, norms that grow like log t",
        "From a small balanced start on separable data W/|W| tends to u w₊ᵀ + z w₋ᵀ with u, z ≥ 0 of disjoint"
        " supports, and a/|a| to u|w₊| - z|w₋|: every neuron ends along w₊ or along w₋. |W±|²/log t has a limit.",
        ("B-004-T1", "B-004-T1x"),
        _theorem,
    ),
    Claim(
        "PL-C1",
        "PL",
        "Corollary 1",
        "The function that is learnt",
        "f(x)/|θ|² tends to u (w₊·x)₊ - z (w₋·x)₊ with constants u, z ≥ 0.",
        ("B-004-C1",),
        _corollary,
    ),
    Claim(
        "PL-19",
        "PL",
        "Theorem 1, (19)-(21)",
        "The smoothed margin of each half",
        "-log(exp(ℓ⁺) - 1)/(2|W₊|²) never falls and converges, and ℓ⁺ is of the order 1/(t log t).",
        ("B-004-(19)-(21)",),
        _smoothed_margin,
    ),
    Claim(
        "PL-LC1",
        "PL",
        "Lemma C.1",
        "The limit is a KKT point of the max-margin problem",
        "With |u| = |w₊|^-½ and |z| = |w₋|^-½ the network u w₊ᵀ + z w₋ᵀ is a KKT point of min ½|θ|² subject to margins"
        " of at least 1, with multipliers α_i/|w±|.",
        ("B-004-C.1",),
        _kkt_point,
    ),
)
