"""[CEL] Section 4: neurons cross the inputs' boundaries as their yardsticks do, and align or deactivate."""

from __future__ import annotations

import numpy as np

from ..._validation import FloatArray
from ...datasets import Dataset
from ...early import EarlyAlignment, early_alignment
from ...flow import EventTable, Stop
from .._claim import Claim, Context, Number, Outcome
from ._data import EPSILON, Start, correlated, draw_start, pull, run, teacher

# λ, or less: outputs grow like λ² exp(2|γ|t), and have to be below the bound, of about λ^½, at the last crossing.
_SCALES = (1e-9, 1e-12, 1e-15)
_EARLY = 1.5
_ROUNDING = 1e-14  # of the time of a crossing, before it is magnified by exp(|γ|t), as errors of the weights are
_ALIGNED = 1e-24  # λ for Lemma 5, or less
# Least T₁ of Lemma 5 over the time of the last crossing. From there on a neuron sees every input, its cosine to γ is
# positive, and 1 - cos stays below 2 exp(-2|γ|t); at T₁ it has to be below λ^ε = exp(-|γ| T₁).
_LATE = 3.0
_OVER = 700.0  # exp of more overflows
_WIDTH, _D, _N = 30, 3, 6
_AFTER = 1.0  # time for which deactivated neurons are watched


def _yardstick(data: Dataset, start: Start) -> EarlyAlignment:
    """Follow α_j: the flow of vanishing neurons, with the outputs left out of the errors."""
    return early_alignment(data, start.z, start.signs, loss="squared", reduction="mean")


def _crossings(early: EarlyAlignment) -> dict[int, list[tuple[int, float]]]:
    """Return for each neuron the samples that it meets, in order, with the times."""
    met: dict[int, list[tuple[int, float]]] = {}
    events = early.events
    for j, i, t in zip(events.neuron, events.sample, events.t, strict=True):
        met.setdefault(int(j), []).append((int(i), float(t)))
    return met


def _crossing(context: Context) -> Outcome:
    """Compare every crossing of the first phase with that of the yardstick, and with one of other targets."""
    rng = np.random.default_rng(context.seed)
    n_draws = context.pick(6, 30)
    ratio, control, n_met, orders, other_orders, kept, grown, moved = 0.0, np.inf, 0, 0, 0, 0.0, np.inf, 0.0
    errors = dict.fromkeys(_SCALES, 0.0)
    for _ in range(n_draws):
        v = teacher(rng, _D)
        data, start = correlated(rng, v, _N), draw_start(rng, _WIDTH, _D)
        early = _yardstick(data, start)
        other = _crossings(_yardstick(Dataset(data.X, data.y[::-1] ** 8), start))
        met = _crossings(early)
        last = float(early.t_last.max()) + 1.0
        for place in _SCALES:
            scale = min(place, float(np.exp(-_EARLY * pull(data) * (last - 1.0))))
            sol = run(data, start.network(scale), Stop(time=last + _AFTER))
            found = _crossings_of(sol.events, last)
            orders, other_orders = orders + _reordered(met, found), other_orders + _reordered(other, found)
            n_met += sum(len(samples) for samples in met.values())
            worst, error = _against(met, found, scale, pull(data))
            ratio, errors[place] = max(ratio, worst), max(error, errors[place])
            control = min(control, _against(other, found, scale, pull(data))[0])
            minus = (early.status == "dead") & (start.signs < 0) & (early.pattern0 > 0).any(axis=1)
            plus = (early.status == "extremal") & (start.signs > 0)
            sizes = np.linalg.norm(sol(last).W, axis=1) / np.linalg.norm(scale * start.z, axis=1)
            kept, grown = max(kept, float(sizes[minus].max(initial=0.0))), min(grown, float(sizes[plus].max()))
            moved = max(moved, float(np.abs(sol.final.W[minus] - sol(last).W[minus]).max(initial=0.0) / scale))
    numbers = (
        Number("neurons that meet the samples in another order than their yardstick; control: that of other targets",
               orders, 0, control=other_orders),
        Number("largest |τ - t| over λ^(1 - (1 + (3ℓ - 1)/(3 n_j)) ε); control: of other targets",
               ratio, 1.0, relation="at_most", control=control),
        Number("largest size at T₀ of a deactivated neuron with a < 0, over its first; control: the largest with a > 0",
               kept, 1.0, 1e-9, "at_most", control=grown),
        Number("largest move of these neurons after T₀, over λ", moved, 0.0, 1e-12, source="exact"),
        *(Number(f"largest |τ - t| at λ = {place:g} or less", errors[place]) for place in _SCALES),
    )  # fmt: skip
    ran = (
        f"{n_draws} draws of {_N} inputs in {_D} dimensions within 45° of the teacher, {_WIDTH} neurons, λ = 1e-9,"
        f" 1e-12 and 1e-15 or less, to T₀ + 1; {n_met} crossings, seed {context.seed}."
    )
    note = (
        f"ε = {EPSILON}. Assumption 2 asks for a λ that no computer holds (its exponent is 9nΔ²/δ³ · 3/ε); the bounds"
        " are found far above it. Errors are of the order λ², as the outputs are."
    )
    return Outcome(ran, numbers, note=note)


def _crossings_of(events: EventTable, last: float) -> dict[int, list[tuple[int, float]]]:
    """Return the crossings up to a time."""
    met: dict[int, list[tuple[int, float]]] = {}
    for j, i, t, kind in zip(events.neuron, events.sample, events.t, events.kind, strict=True):
        if t <= last and kind != "branch":
            met.setdefault(int(j), []).append((int(i), float(t)))
    return met


def _reordered(met: dict[int, list[tuple[int, float]]], found: dict[int, list[tuple[int, float]]]) -> int:
    """Count the neurons that meet other samples, or in another order."""
    return sum([i for i, _ in found.get(j, [])] != [i for i, _ in samples] for j, samples in met.items())


def _against(
    met: dict[int, list[tuple[int, float]]], found: dict[int, list[tuple[int, float]]], scale: float, rate: float
) -> tuple[float, float]:
    """Return the largest |τ - t| over the bound of Lemma 3 and rounding, and the largest |τ - t|."""
    ratio = worst = 0.0
    for j, samples in met.items():
        times = dict(found.get(j, []))
        for stage, (i, tau) in enumerate(samples, start=1):
            off = abs(tau - times.get(i, np.inf))
            bound = scale ** (1 - (1 + (3 * stage - 1) / (3 * len(samples))) * EPSILON)
            rounding = _ROUNDING * np.exp(min(rate * tau, _OVER))
            ratio, worst = max(ratio, float(off / (bound + rounding))), max(worst, off)
    return ratio, worst


def _aligned(context: Context) -> Outcome:
    """Look at the neurons with a > 0 at T₁ = ε log(1/λ)/|γ|."""
    rng = np.random.default_rng(context.seed)
    n_draws = context.pick(4, 40)
    length, later, cosine, first, logs, wrong = 0.0, np.inf, 0.0, 0.0, 0.0, np.inf
    for _ in range(n_draws):
        v = teacher(rng, _D)
        data, start = correlated(rng, v, _N), draw_start(rng, _WIDTH, _D)
        early = _yardstick(data, start)
        plus = (start.signs > 0) & (early.pattern0 > 0).any(axis=1)
        small = min(_ALIGNED, float(np.exp(-_LATE * early.t_last[plus].max() * pull(data) / EPSILON)))
        t1 = EPSILON * np.log(1 / small) / pull(data)
        sol = run(data, start.network(small), Stop(time=2 * t1))
        net = sol(t1)
        sizes = np.linalg.norm(net.W, axis=1)[plus] / np.linalg.norm(start.z, axis=1)[plus]
        after = np.linalg.norm(sol.final.W, axis=1)[plus] / np.linalg.norm(start.z, axis=1)[plus]
        length = max(length, float(sizes.max()) / (2 * small ** (1 - EPSILON)))
        later = min(later, float(after.max()) / (2 * small ** (1 - EPSILON)))
        target = data.y @ data.X / np.linalg.norm(data.y @ data.X)
        off, before = (_short(W[plus], target) for W in (net.W, start.z))
        cosine, first = max(cosine, off / small**EPSILON), max(first, before / small**EPSILON)
        yard = np.array([_yard_size(early, start, j, t1) for j in np.flatnonzero(plus).tolist()])
        own = np.log(np.linalg.norm(net.W[plus] / small, axis=1))
        logs = max(logs, float(np.abs(yard - own).max()))
        wrong = min(wrong, float(np.abs(t1 * pull(data) - own).max()))
    numbers = (
        Number("largest |w_j|/(2 |z_j| λ^(1 - ε)) at T₁; control: at 2 T₁", length, 1.0, relation="at_most",
               control=later),
        Number("largest (1 - cos to γ)/λ^ε at T₁; control: at the start", cosine, 1.0, relation="at_most",
               control=first),
        Number("largest difference of log |w_j/λ| and log |α_j|; control: of |γ| T₁", logs, 0.0, 1e-8, control=wrong),
    )  # fmt: skip
    ran = f"{n_draws} draws as for Lemma 3, λ = {_ALIGNED:g} or less, to T₁ = ε log(1/λ)/|γ| with ε = {EPSILON}."
    note = (
        "λ is so small that T₁ is three times the last crossing, or later. The bound λ^(1 - 3ε) of the last number,"
        " 1e-6 or less, is met."
    )
    return Outcome(ran, numbers, note=note)


def _short(W: FloatArray, target: FloatArray) -> float:
    """Return the largest 1 - cos of a row to a unit vector, accurate where it is small."""
    units = W / np.linalg.norm(W, axis=1, keepdims=True)
    return float(0.5 * ((units - target) ** 2).sum(axis=1).max())


def _yard_size(early: EarlyAlignment, start: Start, j: int, t1: float) -> float:
    """Return log |α_j| at T₁, from sector to sector by the closed form: α' = ±|α| γ_I keeps what is across γ_I."""
    alpha, now = start.z[j].copy(), 0.0
    sees = early.pattern0[j] > 0
    stops = [(t, i) for i, t in _crossings(early).get(j, [])] + [(t1, -1)]
    for t, i in stops:
        pulls = (sees * early.duals) @ early.data.X
        rate = float(np.linalg.norm(pulls))
        unit = pulls / rate
        along, size = float(alpha @ unit), float(np.linalg.norm(alpha))
        # (α·γ̂ ± |α|)' = ±|γ| (α·γ̂ ± |α|), for a > 0.
        plus, minus = (along + size) * np.exp(rate * (t - now)), (along - size) * np.exp(-rate * (t - now))
        alpha = alpha + (0.5 * (plus + minus) - along) * unit
        now = t
        if i >= 0:
            sees = sees ^ (np.arange(len(sees)) == i)
    return float(np.log(np.linalg.norm(alpha)))


CLAIMS = (
    Claim(
        "CEL-L3",
        "CEL",
        "Proposition 2, Lemmas 3 and 4",
        "The yardstick of alignment",
        "In the first phase each neuron meets the boundaries of the inputs in the order of its yardstick, the same flow"
        " without the outputs, and at almost the same times. With a > 0 it comes to see every input; with a < 0 it"
        " loses all, without having grown, and stays where it is.",
        ("CEL P2", "CEL L3", "CEL L4"),
        _crossing,
    ),
    Claim(
        "CEL-L5",
        "CEL",
        "Lemma 5",
        "Aligned and still small",
        "At T₁ = ε log(1/λ)/|γ| each neuron with a > 0 that saw an input has |w_j| < 2 |z_j| λ^(1-ε), a cosine to γ ="
        " (1/n) Σ y_i x_i of at least 1 - λ^ε, and the length of its yardstick.",
        ("CEL L5",),
        _aligned,
    ),
)
