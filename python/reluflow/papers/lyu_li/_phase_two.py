"""[LLWA] Section 5.2 and App. E: wide networks follow two neurons, from a limit trajectory that leaves 0."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..._validation import FloatArray
from ...analysis import early_objective, embedding_error, extremal_directions
from ...datasets import Dataset, lyu_figure1, orthogonally_separable
from ...figures import panels, style
from ...flow import integrate
from ...networks import Network
from .._claim import Claim, Context, Number, Outcome
from ._phase_one import HALF, early_vector
from ._symmetric import good_start
from ._tools import (
    SYMMETRIC_LEAK,
    four_errors,
    gaussian,
    m_norm,
    mean,
    scaled,
    slope_of,
    symmetric_example,
    unit,
    unit_ball,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_DRAWS = 100_000
_TIGHT = 1e-12  # rtol where a difference of two runs is what is measured


def roots(b: FloatArray) -> tuple[float, float]:
    """Return b₊ > 0 and b₋ < 0, the signed root sums of squares of the entries of each sign."""
    return float(np.sqrt((b[b > 0] ** 2).sum())), -float(np.sqrt((b[b < 0] ** 2).sum()))


def embedded(pair: Network, b: FloatArray) -> Network:
    """Return π_b of two neurons with a_1 > 0 > a_2: neuron k is b_k/b₊ or b_k/b₋ times one of them."""
    plus, minus = roots(b)
    share = np.where(b > 0, b / plus, b / minus)
    which = np.where(b > 0, 0, 1)
    return Network(share[:, None] * pair.W[which], share * pair.a[which], leak=pair.leak)


def two_neurons(net: Network, data: Dataset) -> tuple[Network, FloatArray]:
    """Return θ^ = (b₊ μ/|μ|, b₋ μ/|μ|, b₊, b₋) and b of a start at σ = 1, as in Lemma 5.4."""
    along = unit(mean(data))
    b = (net.W @ along + net.a) / (2 * np.sqrt(net.width) * m_norm(net.W, net.a))
    ends = np.array(roots(b))
    return Network(np.outer(ends, along), ends, leak=net.leak), b


def _commutes(context: Context) -> Outcome:
    leak, worst, outputs, loose, back = 0.5, [], [], [], []
    for k in range(context.pick(6, 60)):
        rng = np.random.default_rng([context.seed, k])
        data = (symmetric_example(), lyu_figure1("middle"), orthogonally_separable(8, 3, seed=k))[k % 3]
        W = 0.1 * rng.standard_normal((2, data.d))
        pair = Network(W, np.linalg.norm(W, axis=1) * [1, -1], leak=leak)
        b = rng.standard_normal(7)
        b[:2] = abs(b[0]), -abs(b[1])
        end = 30.0
        two = integrate(data, pair, until=end, reduction="mean", rtol=_TIGHT)
        many = integrate(data, embedded(pair, b), until=end, reduction="mean", rtol=_TIGHT)
        for t in np.linspace(0, end, 8):
            here, there = embedded(two(t), b), many(t)
            worst.append(float(np.abs(here.theta - there.theta).max() / here.norm))
            outputs.append(float(np.abs(two(t)(data.X) - here(data.X)).max()))
            loose.append(float(np.abs(two(t)(data.X) - scaled(here, 1.1)(data.X)).max()))
        back.append(embedding_error(many.final).error)
    numbers = (
        Number(
            "largest |φ(π_b θ^, t) - π_b φ(θ^, t)|/|θ|; control: 1.1 b",
            max(worst),
            0,
            1e-8,
            control=_unshared(data, pair, b),
        ),
        Number(
            "largest difference of the outputs of θ^ and π_b θ^; control: 1.1 b",
            max(outputs),
            0,
            1e-12,
            control=max(loose),
        ),
        Number(
            "largest distance of the end from two embedded neurons; control: random neurons",
            max(back),
            0,
            1e-8,
            control=embedding_error(gaussian(7, data.d, rng, leak=leak)).error,
        ),
    )
    ran = f"{len(back)} pairs of neurons, spread over 7, on three kinds of data; both flows to t = 30, rtol {_TIGHT:g}"
    return Outcome(ran, numbers)


def _unshared(data: Dataset, pair: Network, b: FloatArray) -> float:
    """Return the same difference for an embedding whose squares of shares add up to 1.21 and not to 1."""
    start = scaled(embedded(pair, b), 1.1)
    many = integrate(data, start, until=30.0, reduction="mean", rtol=_TIGHT).final
    here = scaled(embedded(integrate(data, pair, until=30.0, reduction="mean", rtol=_TIGHT).final, b), 1.1)
    return float(np.abs(here.theta - many.theta).max() / here.norm)


def _order(context: Context) -> Outcome:
    net = gaussian(6, 2, np.random.default_rng(context.seed), leak=SYMMETRIC_LEAK)
    pair, _ = two_neurons(net, symmetric_example())
    printed = [np.size(part) for part in (pair.a[0], pair.W[0], pair.a[1], pair.W[1])]
    right = [np.size(part) for part in (pair.W[0], pair.W[1], pair.a[0], pair.a[1])]
    numbers = (
        Number("sizes of (w1, w2, a1, a2) in (b₊ μ/|μ|, b₋ μ/|μ|, b₊, b₋)", str(right), "[2, 2, 1, 1]", source="exact"),
        Number("sizes in the printed order (b₊, b₊ μ/|μ|, b₋, b₋ μ/|μ|)", str(printed), "[2, 2, 1, 1]", source="print"),
    )
    return Outcome("θ^ of a start of 6 neurons in the plane", numbers)


def _trajectory(context: Context) -> Outcome:
    """Follow θ(T12 + t) as σ falls, beside the two-neuron limit."""
    data, leak = symmetric_example(), SYMMETRIC_LEAK
    rate = float(np.linalg.norm(early_vector(data, leak)))
    net = _good(np.random.default_rng(context.seed), leak)
    pair, b = two_neurons(net, data)
    times = np.array([-2.0, 0.0, 5.0, 20.0])
    limit = [_shifted(data, pair, 1e-9, rate, t) for t in times]
    cauchy = [
        max(_apart(_shifted(data, pair, r, rate, t), end) for t, end in zip(times, limit, strict=True))
        for r in (1e-2, 1e-3)
    ]
    size = np.sqrt(net.width) * m_norm(net.W, net.a)
    sigmas = np.geomspace(1e-2, 1e-8, context.pick(7, 13))
    early = [_shifted(data, pair, r, 1.5 * rate, 0.0) for r in (1e-2, 1e-3, 1e-9)]
    drift = [_apart(one, early[2]) for one in early[:2]]
    errors = np.empty((len(sigmas), len(times)))
    for i, sigma in enumerate(sigmas):
        run = integrate(data, scaled(net, sigma), until=_t12(sigma * size, rate) + times[-1], reduction="mean")
        for k, t in enumerate(times):
            errors[i, k] = _apart(run(_t12(sigma * size, rate) + t), embedded(limit[k], b))
    share = _good_share(context)
    numbers = (
        Number(
            "|θ~(0)|, not 0; control: with T2 for 1.5 λ0", limit[1].norm, 0.01, 0, "at_least", control=early[2].norm
        ),
        Number(
            "|φ(rθ^, T2(r) + t) - θ~(t)| at r = 1e-3 over that at r = 1e-2; control: with T2 for 1.5 λ0",
            cauchy[1] / cauchy[0],
            0.02,
            0,
            "at_most",
            control=drift[1] / drift[0],
        ),
        Number(
            "largest |θ(T12 + t) - π_b θ~(t)|/|θ~| at σ = 1e-8; control: at σ = 1e-2",
            float(errors[-1].max()),
            0,
            1e-4,
            control=float(errors[0].max()),
        ),
        Number("exponent of the error in σ", slope_of(sigmas[2:], errors[2:].max(axis=1)), 0.5, 0, "at_least", "exact"),
        Number("share of good embedding vectors, m = 6", share, 1 - 2.0**-5, four_errors(1 - 2.0**-5, _DRAWS)),
    )
    ran = "one Gaussian start of 6 neurons at σ = 1e-2 to 1e-8, at T12 - 2, T12, T12 + 5 and T12 + 20; θ~ from r = 1e-9"
    return Outcome(ran, numbers, {"approach": _approach(sigmas, errors, times)}, note=HALF)


def _good_share(context: Context) -> float:
    """Return how often b has both signs and no zero, over draws of six neurons."""
    rng, along = np.random.default_rng([context.seed, 1]), unit(mean(symmetric_example()))
    b = rng.standard_normal((_DRAWS, 6, 2)) @ along + rng.standard_normal((_DRAWS, 6))
    return float(((b > 0).any(axis=1) & (b < 0).any(axis=1) & (b != 0).all(axis=1)).mean())


def _good(rng: np.random.Generator, leak: float) -> Network:
    while True:
        net = gaussian(6, 2, rng, leak=leak)
        if good_start(net, symmetric_example()):
            return net


def _t12(size: float, rate: float) -> float:
    return -float(np.log(size)) / rate


def _shifted(data: Dataset, pair: Network, r: float, rate: float, t: float) -> Network:
    """Return φ(r θ^, T2(r) + t)."""
    end = -np.log(r) / rate + t
    return integrate(data, scaled(pair, r), until=end, reduction="mean", rtol=_TIGHT).final


def _apart(one: Network, other: Network) -> float:
    return float(np.linalg.norm(one.theta - other.theta) / other.norm)


@style()
def _approach(sigmas: FloatArray, errors: FloatArray, times: FloatArray) -> Figure:
    figure, ax = panels(1)
    for k, t in enumerate(times):
        ax.loglog(sigmas, errors[:, k], "o-", markersize=3, label=f"$t = {t:g}$")
    ax.set_xlabel(r"$\sigma_{\mathrm{init}}$")
    ax.set_ylabel(r"$\|\theta(T_{12}+t)-\pi_b(\tilde\theta(t))\| \,/\, \|\tilde\theta(t)\|$")
    ax.legend()
    return figure


def _well_aligned(context: Context) -> Outcome:
    """Check the bound of Theorem E.4 at several times, on symmetric and other data."""
    shares, steps, slower = [], [], []
    for k, data in enumerate((symmetric_example(), unit_ball(lyu_figure1("middle")), unit_ball(lyu_figure1("right")))):
        rng = np.random.default_rng([context.seed, k])
        for _ in range(context.pick(3, 30)):
            net, rate = aligned(data, int(rng.integers(1, 5)), rng)
            size = m_norm(net.W, net.a)
            live = net.a != 0
            off = float(np.abs(net.W[live] @ data.X.T).min()) / size
            end = np.log(rate * off / (16 * net.width * size**2)) / (2 * rate)
            for t in end - np.array([0.0, 0.5, 2.0, 5.0]) / rate:
                near = _shifted(data, net, 1e-10, rate, t)
                bound = 4 * net.width * size**3 / rate * np.exp(3 * rate * t)
                lead = np.exp(rate * t)
                shares.append(m_norm(near.W - lead * net.W, near.a - lead * net.a) / bound)
                slow = np.exp(0.9 * rate * t)
                slower.append(m_norm(near.W - slow * net.W, near.a - slow * net.a) / bound)
                other = _shifted(data, net, 1e-8, rate, t)
                steps.append(_apart(other, near))
    numbers = (
        Number(
            "largest |lim φ(rθ^, T2(r) + t) - e^(λt) θ^|_M over its bound; control: e^(0.9 λt)",
            max(shares),
            1,
            0,
            "at_most",
            control=max(slower),
        ),
        Number(
            "largest relative difference between r = 1e-8 and r = 1e-10; control: T2 with 1.1 λ",
            max(steps),
            0,
            1e-9,
            control=_apart(_shifted(data, net, 1e-8, 1.1 * rate, 0.0), _shifted(data, net, 1e-10, 1.1 * rate, 0.0)),
        ),
    )
    ran = f"{len(shares) // 4} well-aligned networks on symmetric, middle and hinted data in the unit ball, up to t0"
    return Outcome(ran, numbers, note="λ = max |G| over unit vectors; the last neuron is zero (condition 4).")


def aligned(data: Dataset, live: int, rng: np.random.Generator) -> tuple[Network, float]:
    """Return a well-aligned network (Definition E.3) with one zero neuron, and λ = max |G|."""
    leak = SYMMETRIC_LEAK
    ends = np.array([found.direction for found in extremal_directions(data, leak=leak, reduction="mean")])
    values = early_objective(data, ends, leak=leak, reduction="mean")
    rate = float(np.abs(values).max())
    best = np.flatnonzero(np.abs(values) > rate * (1 - 1e-9))
    which = rng.choice(best, live)
    sizes = rng.uniform(0.1, 1.0, live)
    W = np.vstack((sizes[:, None] * ends[which], np.zeros(data.d)))
    return Network(W, np.append(np.sign(values[which]) * sizes, 0.0), leak=leak), rate


CLAIMS = (
    Claim(
        "LLWA-L5.3",
        "LLWA",
        "Lemmas 5.3, E.1, E.2",
        "Two neurons inside many",
        "Spreading two neurons over m by a vector b and letting them flow can be exchanged, and the outputs are equal.",
        ("B-003-5.3",),
        _commutes,
    ),
    Claim(
        "LLWA-S5.2",
        "LLWA",
        "Section 5.2",
        "The order of θ^",
        "The two-neuron start is (w1, w2, a1, a2).",
        ("D-30",),
        _order,
        "misprint",
        "'θ^ := (b₊, b₊ μ/|μ|, b₋, b₋ μ/|μ|)' (Section 5.2): a scalar stands for w1 and a vector for w2. Right is "
        "(b₊ μ/|μ|, b₋ μ/|μ|, b₊, b₋).",
    ),
    Claim(
        "LLWA-L5.4",
        "LLWA",
        "Lemma 5.4, Lemmas E.7 to E.9",
        "The limit trajectory",
        "Shifted by T2(r) the flow from r θ^ has a limit θ~(t), not 0, and θ(T12 + t) tends to π_b θ~(t) as σ -> 0.",
        ("B-003-5.4",),
        _trajectory,
    ),
    Claim(
        "LLWA-E4",
        "LLWA",
        "Theorem E.4",
        "Near the exponential",
        "From a well-aligned θ^ the shifted limit exists. It stays within (4m |θ^|_M³/λ) e^(3λt) of"
        " e^(λt) θ^ up to t0.",
        ("B-003-E4",),
        _well_aligned,
    ),
)
