"""[LLWA] lemmas inside the proofs that a computer can see: homogeneity, nearby starts, sums of kinks, local maxima."""

from __future__ import annotations

import numpy as np

from ..._validation import FloatArray
from ...analysis import early_objective, extremal_directions
from ...convex import leaky_linear_margin
from ...datasets import Dataset, lyu_figure1, symmetric
from ...flow import integrate
from ...networks import Network
from .._claim import Claim, Context, Number, Outcome
from ._phase_one import linear_flow
from ._phase_two import aligned
from ._tools import (
    SYMMETRIC_LEAK,
    balanced,
    gaussian,
    m_norm,
    mean,
    one_sided_means,
    scaled,
    signed,
    symmetric_example,
    unit,
    unit_ball,
)

LEAK = SYMMETRIC_LEAK
_NEAR = 2e-3  # of the networks among which a local maximum is looked for
_FAR = 30.0  # of a start that is not as near as Lemma E.6 asks, in units of what it asks


def output_gradient(net: Network, x: FloatArray) -> FloatArray:
    """Return ∂f(x)/∂θ as rows (w, a), away from the walls."""
    z = net.W @ x
    slopes = np.where(z > 0, 1.0, net.leak)
    return np.column_stack((np.outer(net.a * slopes, x), slopes * z))


def _homogeneous(context: Context) -> Outcome:
    rng = np.random.default_rng(context.seed)
    scale, euler, wrong = 0.0, 0.0, np.inf
    for _ in range(context.pick(50, 2000)):
        net, x, c = gaussian(4, 3, rng, leak=LEAK), rng.standard_normal(3), float(np.exp(rng.standard_normal()))
        here, there = output_gradient(net, x), output_gradient(scaled(net, c), x)
        scale = max(scale, float(np.abs(there - c * here).max() / np.abs(there).max()))
        f, product = float(net(x[None])[0]), float((here * net.theta).sum())
        size = float(np.abs(here * net.theta).sum())
        euler = max(euler, abs(product - 2 * f) / size)
        wrong = min(wrong, abs(product - f) / abs(f))
    steps, short = [], []
    for seed in range(context.pick(3, 30)):
        data = Dataset(rng.standard_normal((7, 3)), rng.choice(np.array([-1.0, 1.0]), 7), name=f"draw {seed}")
        ends = [end for end in extremal_directions(data, leak=LEAK, reduction="mean") if (end.sector != 0).all()]
        for end in ends:
            w = end.direction
            slopes = np.where(data.X @ w > 0, 1.0, LEAK)
            pull = (slopes * data.y) @ data.X / (2 * data.n)
            value = float(early_objective(data, w[None], leak=LEAK, reduction="mean")[0])
            steps.append(float(np.abs(pull - value * w).max()))
            short.append(float(np.abs(pull - 2 * value * w).max()))
    numbers = (
        Number("B.2: largest relative |∂f(cθ) - c ∂f(θ)|, L = 2", scale, 0, 1e-12),
        Number("B.3: largest relative |<∂f, θ> - 2f|; control: L = 1", euler, 0, 1e-12, control=wrong),
        Number(
            "B.4, B.5: largest |∇G(w) - G(w) w| at local maxima of |G|; control: 2G",
            max(steps),
            0,
            1e-8,
            control=max(short),
        ),
        Number("local maxima inside cells", len(steps), 1, 0, "at_least", "exact"),
    )
    return Outcome("random networks of four leaky neurons; all local maxima and minima of G on random data", numbers)


def _nearby_starts(context: Context) -> Outcome:
    """Start r^(1+κ) beside r θ^ and compare with the flow from r θ^ and with the exponential, up to t0."""
    rows, kept, far = [], True, []
    for k, data in enumerate((symmetric_example(), unit_ball(lyu_figure1("middle")))):
        for j in range(context.pick(4, 40)):
            found, same, away = _beside(data, np.random.default_rng([context.seed, k, j]))
            rows += found
            kept &= same
            far.append(away)
    first, second, third, fourth = np.max(rows, axis=0)
    numbers = (
        Number("E.5 (1): live neurons keep the activation pattern of θ^", kept, True),
        Number("E.5 (2): largest |θ|_M/(2 e^(λt) |θ^|_M)", first, 1, 0, "at_most", control=2 * first),
        Number("E.5 (3): largest |θ - e^(λt) θ^| of live neurons over its bound", second, 1, 0, "at_most"),
        Number("E.5 (4): the same of the others over 2C r^κ e^(λt)", third, 1, 0, "at_most", control=2.5 * third),
        Number("E.6: largest distance of the two flows over 4C r^κ e^(λt)", fourth, 1, 0, "at_most", control=max(far)),
    )
    ran = "well-aligned θ^ of three neurons and a zero one, r = 1e-4, κ = C = 1, starts moved at random, up to t0"
    note = "Controls: half of the bound in (2), two fifths in (4), a start 30 times as far in E.6."
    return Outcome(ran, numbers, note=note)


def _beside(data: Dataset, rng: np.random.Generator) -> tuple[list[tuple[float, ...]], bool, float]:
    """Return four ratios to the bounds at seven times, whether the patterns are kept, and E.6 for a far start."""
    net, rate = aligned(data, 3, rng)
    live = net.a != 0
    size, kappa, r = m_norm(net.W, net.a), 1.0, 1e-4
    noise = gaussian(net.width, data.d, rng, leak=LEAK)
    part = r ** (1 + kappa) / m_norm(noise.W, noise.a)
    off = float(np.abs(net.W[live] @ data.X.T).min()) / size
    end, late = np.log(rate * off / (16 * net.width * size**2)) / (2 * rate), -np.log(r) / rate
    one, two, away = (
        integrate(
            data,
            Network(r * net.W + c * part * noise.W, r * net.a + c * part * noise.a, leak=LEAK),
            until=late + end,
            reduction="mean",
            rtol=1e-12,
        )
        for c in (1.0, 0.0, _FAR)
    )
    rows: list[tuple[float, ...]] = []
    kept = True
    for t in end - np.linspace(0, min(6 / rate, late + end), 7):
        here, there, lead = one(late + t), two(late + t), np.exp(rate * t)
        kept &= bool((np.sign(here.W[live] @ data.X.T) == np.sign(net.W[live] @ data.X.T)).all())
        gap_W, gap_a, bound = here.W - lead * net.W, here.a - lead * net.a, r**kappa * lead
        cubic = 4 * net.width * size**3 / rate * np.exp(3 * rate * t)
        rows.append(
            (
                m_norm(here.W, here.a) / (2 * lead * size),
                m_norm(gap_W[live], gap_a[live]) / (bound + cubic),
                m_norm(gap_W[~live], gap_a[~live]) / (2 * bound),
                m_norm(here.W - there.W, here.a - there.a) / (4 * bound),
            )
        )
    far = m_norm(away.final.W - two.final.W, away.final.a - two.final.a)
    return rows, kept, float(far / (4 * r**kappa * np.exp(rate * end)))


def _exchanged(context: Context) -> Outcome:
    """Draw u1, u2 that classify symmetric data with margin 1, and exchange them under the slopes."""
    rng, least, free, tried = np.random.default_rng(context.seed), np.inf, np.inf, 0
    for k in range(context.pick(10, 100)):
        data = symmetric(8, 3, seed=context.seed + k)
        for _ in range(200):
            w = mean(data)
            u1, u2 = (w + 0.7 * np.linalg.norm(w) * rng.standard_normal(3) for _ in range(2))
            size = float((data.y * _two(data.X, u1, u2)).min())
            if size <= 0:
                continue
            tried += 1
            least = min(least, float((data.y * _swapped(data.X, u1, u2)).min() / size))
        shifted = data.X + 0.5 * unit(w)
        size = float((data.y * _two(shifted, u1, u2)).min())
        free = min(free, float((data.y * _swapped(shifted, u1, u2)).min()) / max(abs(size), 1e-3))
    numbers = (
        Number(
            "least y_i(h_i⁽¹⁾<u2, x_i> + h_i⁽²⁾<u1, x_i>) at least margin 1; control: data that are not symmetric",
            least,
            1,
            1e-9,
            "at_least",
            control=free,
        ),
        Number("pairs with positive margins", tried, 20, 0, "at_least", "exact"),
    )
    return Outcome("random u1, u2 near μ on random symmetric data (n = 8, d = 3), α = 1/2", numbers)


def _phi(z: FloatArray) -> FloatArray:
    return np.asarray(np.maximum(z, LEAK * z))


def _two(X: FloatArray, u1: FloatArray, u2: FloatArray) -> FloatArray:
    """Return φ(<u1, x>) - φ(-<u2, x>)."""
    return _phi(X @ u1) - _phi(-X @ u2)


def _swapped(X: FloatArray, u1: FloatArray, u2: FloatArray) -> FloatArray:
    """Return h⁽¹⁾<u2, x> + h⁽²⁾<u1, x> with the slopes h⁽¹⁾ of φ at <u1, x> and h⁽²⁾ at -<u2, x>."""
    one, two = X @ u1, X @ u2
    return np.asarray(np.where(one > 0, 1, LEAK) * two + np.where(-two > 0, 1, LEAK) * one)


def _linear_growth(context: Context) -> Outcome:
    """Follow balanced neurons in the cone of the labels: G.6 for the linear system, G.7 for the flow beside it."""
    data = unit_ball(lyu_figure1("middle"))
    plus, minus = (vector / 2 for vector in one_sided_means(data, LEAK))
    rates = [float(np.linalg.norm(vector)) for vector in (plus, minus)]
    growth, share, wrong = [], [], []
    for k in range(context.pick(6, 60)):
        rng = np.random.default_rng([context.seed, k])
        net = scaled(_in_cone(data, rng), 1e-4)
        start = m_norm(net.W, net.a)
        end = np.log(np.sqrt(rates[0] / (4 * net.width)) / start) / rates[0]
        run = integrate(data, net, until=end, reduction="mean", rtol=1e-12)
        for t in np.linspace(end / 10, end, 10):
            W, a = _pair_of_linear(net, plus, minus, t)
            growth.append(m_norm(W, a) / (np.exp(rates[0] * t) * start))
            now, bound = run(t), 4 * net.width * start**3 / rates[0] * np.exp(3 * rates[0] * t)
            share.append(m_norm(now.W - W, now.a - a) / bound)
            V, c = _pair_of_linear(net, 2 * plus, 2 * minus, t)
            wrong.append(m_norm(now.W - V, now.a - c) / bound)
    numbers = (
        Number(
            "G.6: largest |θ~(t)|_M/(e^(λ⁺t) |θ~(0)|_M); control: λ⁺/2",
            max(growth),
            1,
            1e-9,
            "at_most",
            control=max(growth) * np.exp(rates[0] * end / 2),
        ),
        Number(
            "G.7: largest |θ - θ~|_M over its bound; control: θ~ with the printed λ⁺ = |μ⁺|",
            max(share),
            1,
            0,
            "at_most",
            control=max(wrong),
        ),
    )
    ran = (
        "balanced starts of four neurons whose a_k w_k separate the middle data, size 1e-4, up to the end of the bound"
    )
    return Outcome(ran, numbers, note="With λ± = |μ±|/2, half of what is printed (LLWA-S5.1).")


def _in_cone(data: Dataset, rng: np.random.Generator) -> Network:
    """Draw four balanced neurons with y_i a_k <w_k, x_i> > 0 for all samples."""
    rows: list[FloatArray] = []
    center = leaky_linear_margin(data, leak=LEAK).plus.direction
    while len(rows) < 4:
        w = center + 0.3 * rng.standard_normal(data.d)
        if (signed(data) @ w > 0).all():
            rows.append(w)
    a = np.linalg.norm(rows, axis=1) * np.array([1.0, 1.0, -1.0, -1.0])
    return Network(np.array(rows) * np.sign(a)[:, None], a, leak=LEAK)


def _pair_of_linear(net: Network, plus: FloatArray, minus: FloatArray, t: float) -> tuple[FloatArray, FloatArray]:
    """Return the linear flow at time t: neurons with a > 0 by one matrix, the others by the other one."""
    W, a = linear_flow(net, plus, t)
    V, c = linear_flow(net, minus, t)
    up = net.a > 0
    return np.where(up[:, None], W, V), np.where(up, a, c)


def _local_maximum(context: Context) -> Outcome:
    """Look around π_b(w⁺, 1)/√2 among networks with the signs of Q."""
    data = lyu_figure1("middle")
    found = leaky_linear_margin(data, leak=LEAK).plus
    best, tilted = -np.inf, -np.inf
    for k in range(context.pick(20, 300)):
        rng = np.random.default_rng([context.seed, k])
        b = np.append(np.abs(rng.standard_normal(2)), [0.0, 0.0])
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
        f = np.einsum("kmn,km->kn", _phi(rows[..., :-1] @ data.X.T), rows[..., -1])
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
        Number("Assumption A.6: starts on data with random labels that branch", counts["A.6"], 0),
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
        "LLWA-B2",
        "LLWA",
        "Theorems B.2, B.3, Lemmas B.4, B.5",
        "Homogeneous functions",
        "∂f(cθ) = c^(L-1) ∂f(θ), <∂f, θ> = L f with L = 2 for two layers, and ∇G(w) = G(w) w where |G| is maximal.",
        ("B-003-B", "B-003-G"),
        _homogeneous,
    ),
    Claim(
        "LLWA-E5",
        "LLWA",
        "Lemmas E.5, E.6",
        "Starts beside a well-aligned one",
        "From starts within C r^(1+κ) of r θ^ live neurons keep their pattern, the flow stays near e^(λt) θ^, and"
        " within 4C r^κ e^(λt) of the flow from r θ^.",
        ("B-003-E4",),
        _nearby_starts,
    ),
    Claim(
        "LLWA-F.1",
        "LLWA",
        "Lemma F.1",
        "Two neurons under each other's slopes",
        "If y_i(φ(<u1, x_i>) - φ(-<u2, x_i>)) >= 1 on symmetric data, then also y_i(h_i⁽¹⁾<u2, x_i> + h_i⁽²⁾<u1, x_i>)"
        " >= 1.",
        ("B-003-5.5 / F.3",),
        _exchanged,
    ),
    Claim(
        "LLWA-G6",
        "LLWA",
        "Lemmas G.6, G.7",
        "Growth in the cone of the labels",
        "The linear system grows at most like e^(λ⁺t), and the flow stays within (4m |θ(T0)|_M³/λ⁺) e^(3λ⁺(t - T0))"
        " of it.",
        ("B-003-A7 / G.9 / 6.2",),
        _linear_growth,
    ),
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
