"""Theorems 2 and 4: where the flow ends, how often, and the data on which the theorems fail."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from ..._validation import FloatArray
from ...analysis import sample, series
from ...conditions import orthogonal_separability
from ...convex import certify, dual_feasibility, max_margin, max_margin_multiclass
from ...datasets import Dataset, counterexample, orthogonally_separable
from ...early import early_alignment
from ...figures import norm_growth, panels, style
from ...flow import Solution, Stop, integrate
from ...networks import MultiClassNetwork, Network
from ._sets import three_classes
from ._tools import (
    WIDTH,
    Claim,
    Context,
    Number,
    Outcome,
    certified_gap,
    exact,
    frame,
    obtuse,
    printed,
    run_to_limit,
    shown,
    spike_free,
    survivors,
    unit,
)
from ._trajectory import fitting_start

if TYPE_CHECKING:
    from matplotlib.figure import Figure

GAP = 1e-8  # relative gap to P* that counts as none
SIGMAS = 4.0  # standard deviations that a frequency may be off: one claim in 16,000 fails by chance
LATE = 1e5  # log t of the run whose growth is compared with its limit
COSINES = (0.0, -0.17, -0.3, -0.45)  # between the three unit samples of D-9
SMALL_START = 1e-6  # of the neurons that keep their single samples

__all__ = ["CLAIMS", "fits", "survival"]


def survival(data: Dataset) -> float:
    """Return the chance that a random direction survives the early phase, for two samples at 90 degrees or more.

    It is (90° + angle)/360° for either sign; for two positive samples and a > 0 the directions active on some sample.
    """
    cosine = data.X[0] @ data.X[1] / np.prod(np.linalg.norm(data.X, axis=1))
    turn = float(np.degrees(np.arccos(cosine)))
    return (180.0 + turn) / 360.0 if (data.y > 0).all() else (90.0 + turn) / 360.0


def fits(p: float, width: int, labels: int = 2) -> float:
    """Return the chance that neurons of random signs, each alive with chance p, keep one of each label."""
    if labels == 1:
        return 1.0 - (1.0 - p / 2) ** width
    return 1.0 - 2.0 * (1.0 - p / 2) ** width + (1.0 - p) ** width


def _frequency(name: str, hits: float, tries: int, chance: float) -> Number:
    return exact(name, hits / tries, chance, SIGMAS * np.sqrt(chance * (1 - chance) / tries))


def _theorem_4(context: Context) -> Outcome:
    count = context.pick(25, 100)
    gaps, fitted, both = [], 0, 0
    for seed in range(context.seed, context.seed + count):
        data = orthogonally_separable(8, 4, seed=seed)
        assert isinstance(data, Dataset)
        net = Network.init(WIDTH, 4, seed=seed)
        limit = run_to_limit(data, net)
        if min(survivors(data, net)) > 0:
            both += 1
            gaps.append(certified_gap(data, limit))
        fitted += int(limit.final(data.X) @ data.y > 0 and (data.y * limit.final(data.X) > 0).all())
        context.progress(f"{seed - context.seed + 1} of {count} seeds")
    numbers = (
        printed(
            "largest relative gap of the limit to P*; control: three classes, see WP-T2",
            max(gaps),
            0.0,
            GAP,
            control=_gap_of_classes(),
        ),
        printed("limits that are global", sum(gap <= GAP for gap in gaps), both),
        exact("runs that separate the data, beside those that keep both signs", fitted, both),
        shown("seeds that keep neurons of both signs", both),
    )
    return Outcome(
        f"{count} orthogonally separable sets (n = 8, d = 4), ten balanced neurons of size 1e-3 each", numbers
    )


def _gap_of_classes() -> float:
    """Return the gap of a run on one class of three, whose negatives are not all on one side of each other."""
    data = three_classes(-0.17).binary(0)
    return certified_gap(data, run_to_limit(data, _single_starts(data.X, both=False)))


def _chances(context: Context) -> Outcome:
    tries, runs = context.pick(10_000, 200_000), context.pick(40, 600)
    numbers: list[Number] = [
        printed(
            "App. F.1, m = 10: chance that the flow ends at the global optimum",
            fits(survival(obtuse()), WIDTH),
            1.0,
            1e-3,
        )
    ]
    rows = []
    for name, data, labels in (("F.1", obtuse(), 2), ("F.2", spike_free(), 1), ("X = I", counterexample("corner"), 2)):
        p = survival(data)
        alive, hits = _draws(data, tries, context.seed)
        numbers.append(_frequency(f"{name}: a neuron survives", alive, tries, p))
        for width in (2, WIDTH):
            chance = fits(p, width, labels)
            found = hits(width, labels)
            numbers.append(
                _frequency(
                    f"{name}, m = {width}: every label keeps a neuron", found * (tries // width), tries // width, chance
                )
            )
            rows.append({"data": name, "m": width, "survival": p, "success, exact": chance, "success, drawn": found})
    wrong, done = _by_the_flow(runs, context.seed)
    numbers.append(exact("App. F.1: runs of the flow that end otherwise than the early phase says", wrong, 0))
    numbers.append(
        _frequency("App. F.1, m = 10: runs of the flow that end at P*", done, runs, fits(survival(obtuse()), WIDTH))
    )
    table = frame(rows, "Chance that every label keeps a neuron: exact, and drawn")
    return Outcome(
        f"{tries} random neurons in the limit of vanishing weights, and {runs} runs of the flow",
        tuple(numbers),
        {},
        {"chances": table},
    )


def _draws(data: Dataset, tries: int, seed: int) -> tuple[int, Callable[[int, int], float]]:
    """Draw neurons; return how many survive (with a > 0 if all labels are 1) and a function for networks of them."""
    net = Network.init(tries, 2, seed=seed)
    one_label = bool((data.y > 0).all())
    sign = np.sign(net.a)
    alive = early_alignment(data, net.W, sign).status == "extremal"
    upright = early_alignment(data, net.W, np.ones(tries)).status == "extremal" if one_label else alive

    def hits(width: int, labels: int) -> float:
        groups = tries // width
        plus = (alive & (sign > 0))[: groups * width].reshape(groups, width).any(axis=1)
        minus = (alive & (sign < 0))[: groups * width].reshape(groups, width).any(axis=1)
        return float((plus if labels == 1 else plus & minus).mean())

    return int(upright.sum()), hits


def _by_the_flow(runs: int, seed: int) -> tuple[int, int]:
    """Return how many runs on F.1 end otherwise than the early phase says, and how many at the global optimum."""
    data = obtuse()
    wrong = done = 0
    for number in range(seed, seed + runs):
        net = Network.init(WIDTH, 2, scale=1e-4, seed=number)
        good = certified_gap(data, integrate(data, net, until=1e3)) <= GAP
        wrong += int(good != (min(survivors(data, net)) > 0))
        done += int(good)
    return wrong, done


def _growth(context: Context) -> Outcome:
    data = obtuse()
    net, number = fitting_start(data, context.seed)
    sol = integrate(data, net, until=Stop(log_time=LATE))
    lengths = np.linalg.norm(data.X, axis=1)
    size = (np.linalg.norm(sol.final.W, axis=1) ** 2) / sol.log_t_end
    plus, minus = float(size[net.a > 0].sum()), float(size[net.a < 0].sum())
    optimum = max_margin(data).value
    numbers = (
        printed("P of the limit, beside P*", 0.5 / sol.limit.margin, optimum, 1e-9),
        exact("|W₊|²/log t, to log log t/log t", plus, 1 / lengths[0], 2e-4),
        exact("|W₋|²/log t", minus, 1 / lengths[1], 2e-4),
        exact("the largest normalised margin 1/(2P*)", sol.limit.margin, 0.5 / float((1 / lengths).sum())),
        exact(
            "duals of the limit, beside y/|x|: largest error",
            float(np.abs(sol.limit.duals - data.y / lengths).max()),
            0.0,
        ),
    )
    table = series(sample(sol))
    with style():
        figure, ax = panels(1)
        norm_growth(table, ax, limit=2 * optimum)
    return Outcome(
        f"App. F.1, ten neurons of size 1e-4 (seed {number}), to log t = {LATE:g}", numbers, {"growth": figure}
    )


def _single_starts(X: FloatArray, k: int = 0, *, both: bool) -> Network:
    """Return a network for class k with one neuron for each sample alone, or one on both negatives too."""
    away = X - 0.2 * (X.sum(axis=0) - X)  # the other samples see it from behind
    rows, signs = list(unit(away)), [1.0 if i == k else -1.0 for i in range(len(X))]
    if both:
        rows.append(unit(X.sum(axis=0) - X[k]))
        signs.append(-1.0)
    return Network(SMALL_START * np.array(rows), SMALL_START * np.array(signs))


def _all_classes(cosine: float) -> list[Number]:
    """Return the numbers of the whole problem (4): K networks from starts that keep single samples, and with both."""
    classes = three_classes(cosine)
    optimum = max_margin_multiclass(classes).value
    sums = []
    for both in (False, True):
        nets = MultiClassNetwork(_single_starts(classes.X, k, both=both) for k in range(3))
        sol = integrate(classes, nets, until=Stop(direction=1e-3, log_time=LATE))
        sums.append(sum(0.5 / solution.limit.margin for solution in sol))
    place = f"all three classes, cos = {cosine:g}: "
    return [
        printed(place + "½|Θ|² of the limit, beside the value of (7)", sums[0], optimum, 1e-6),
        exact(place + "½|Θ|² of the limit is 9", sums[0], 9.0, 1e-8),
        exact(place + "with a neuron on both negatives it is the value of (7)", sums[1], optimum, 1e-8),
    ]


def _theorem_2(context: Context) -> Outcome:
    numbers: list[Number] = []
    for cosine in COSINES:
        classes = three_classes(cosine)
        data = classes.binary(0)
        optimum = 1 + np.sqrt(2 / (1 + cosine))
        sol = run_to_limit(data, _single_starts(data.X, both=False))
        place = f"cos = {cosine:g}: "
        numbers += [
            printed(place + "P of the limit, beside P*", 0.5 / sol.limit.margin, optimum, 1e-6),
            exact(place + "P of the limit is 3", 0.5 / sol.limit.margin, 3.0),
            exact(place + "P* is 1 + (2/(1 + cos))^½", max_margin(data).value, optimum),
            exact(
                place + "support value of λ is (2 + 2 cos)^½ or 1",
                dual_feasibility(data, sol.limit.duals).value,
                max(1.0, np.sqrt(2 + 2 * cosine)),
                1e-8,
            ),
            exact(place + "orthogonally separable among classes", bool(orthogonal_separability(classes)), True),
            exact(place + "class 1 against the rest is not", bool(orthogonal_separability(data)), False),
        ]
    numbers += _all_classes(-0.17)
    numbers += _three_class_runs(context)
    figure = _two_endings()
    return Outcome(
        "class 1 of 3 against the rest and all three, one neuron for each sample alone; random starts of ten on X = I",
        tuple(numbers),
        {"value": figure},
    )


def _three_class_runs(context: Context) -> list[Number]:
    """Return how often random starts on X = I end at the optimum of class 1, and the run with a neuron on both."""
    data = three_classes(0.0).binary(0)
    runs, done, wrong = context.pick(25, 400), 0, 0
    for seed in range(context.seed, context.seed + runs):
        net = Network.init(WIDTH, 3, scale=1e-6, seed=seed)
        active = net.W @ data.X.T > 0
        covered = (active[:, 0] & (net.a > 0)).any() and (active[:, 1] & active[:, 2] & (net.a < 0)).any()
        good = _gap_of_network(data, run_to_limit(data, net)) <= GAP
        done, wrong = done + int(good), wrong + int(good != bool(covered))
    chance = 1 - 0.75**WIDTH - 0.875**WIDTH + 0.625**WIDTH
    with_both = certify(run_to_limit(data, _single_starts(data.X, both=True)), data)
    return [
        exact("X = I, a neuron active on both negatives added: P", with_both.value, 1 + np.sqrt(2), 1e-8),
        exact("X = I: runs that end otherwise than their first patterns say", wrong, 0),
        _frequency("X = I, m = 10: runs of class 1 that end at P*", done, runs, chance),
    ]


def _gap_of_network(data: Dataset, solution: Solution) -> float:
    """Return (P - P*)/P of the limit's network; on X = I the limit is one of a continuum that has one function."""
    limit = solution.limit
    return certify(limit.network, data).gap if limit.margin > 0 else float("inf")


def _two_endings() -> Figure:
    """Draw P = ½|θ|²/q_min along the two runs on X = I."""
    data = three_classes(0.0).binary(0)
    with style():
        figure, ax = panels(1, height=2.8)
        for both, colour, label in ((False, "#D55E00", "single samples only"), (True, "#0072B2", "and one on both")):
            sol = integrate(data, _single_starts(data.X, both=both), until=Stop(log_time=2000.0))
            table = series(sample(sol, 400))
            good = table["normalised_margin"] > 0
            ax.plot(table["log_t"][good], 0.5 / table["normalised_margin"][good], color=colour, label=label)
        ax.axhline(1 + np.sqrt(2), color="#767676", linewidth=0.8, linestyle=(0, (4, 3)), label=r"$P^*=1+\sqrt{2}$")
        ax.set_xlim(2, 2000)
        ax.set_ylim(2.2, 3.3)
        ax.set_xscale("log")
        ax.set_xlabel(r"$\log t$")
        ax.set_ylabel(r"$P=|\theta|^2/(2q_{\min})$")
        ax.legend(loc="upper right")
    return figure


CLAIMS: tuple[Claim, ...] = (
    Claim(
        "WP-T4",
        "WP",
        "Theorem 4",
        "Orthogonally separable data: the limit is the convex optimum",
        "From small balanced starts that keep neurons of both signs the flow ends at a global optimum of the "
        "max-margin problem.",
        ("B-000-21", "B-001"),
        _theorem_4,
        reason="With both signs alive; how often that is, see WP-D10.",
    ),
    Claim(
        "WP-D10",
        "WP",
        "Theorem 4, D.7, poster",
        "Not for almost all starts",
        "For almost all small balanced starts the limit is a global optimum.",
        ("D-10", "S000-F1", "S000-F2", "S000-D", "B-001"),
        _chances,
        "differs",
        "'For almost all initializations which are sufficiently close to zero' (Theorem 4). All neurons of one sign "
        "can die, or there are none: with random signs the chance of one sign is 2^-m. Corrected: for those that "
        "keep a neuron of each sign. Two samples at an angle of 90° or more: a neuron survives with p = (90° + "
        "angle)/360°, and both labels are fitted with 1 - 2(1 - p/2)^m + (1 - p)^m: 0.9426 on F.1 with m = 10, "
        "0.8883 for orthogonal samples.",
    ),
    Claim(
        "WP-T4b",
        "WP",
        "Theorem 4, App. F.1",
        "The late phase on App. F.1",
        "θ/|θ| tends to the optimum; the weights of each sign grow so that |W±|²/log t tends to the length of its "
        "optimal neuron.",
        ("S000-F1", "B-000-21"),
        _growth,
    ),
    Claim(
        "WP-T2",
        "WP",
        "Theorem 2, E.3",
        "Three classes or more",
        "On data that are orthogonally separable among K classes the flow from a small balanced start ends at the "
        "optimum of (7).",
        ("D-9", "S000-MC", "S000-D", "B-000-21"),
        _theorem_2,
        "differs",
        "'converges to the global optimum of the convex program (7)' (Theorem 2). For K >= 3 two negatives of one "
        "class's problem can be of different classes, with x·x' <= 0 and one label: Theorem 4 does not apply. X = I: "
        "neurons that are active on one sample each, with the right signs as (9) asks, keep these patterns; the "
        "limit has P = 3, λ = (1, -1, -1) with support value √2, and P* = 1 + √2. Corrected: it holds for K = 2; on "
        "X = I runs end at the optimum exactly where their first patterns cover both labels of each class's problem.",
    ),
)
