"""The poster: its pictures, its statements where they go beyond the paper, and its condition on the loss."""

from __future__ import annotations

import numpy as np

from ...analysis import rectified_ellipsoid
from ...conditions import loss_below_threshold
from ...convex import dual, max_margin, unit_vectors
from ...datasets import Dataset
from ...flow import integrate
from ...networks import Network
from ._pictures import direction_figure, poster_figure, rectified_figure
from ._tools import Claim, Context, Number, Outcome, angle, exact, frame, obtuse, printed, unit, wide_set
from ._trajectory import fitting_start, pair, together

TURNS = 1_000_000  # directions of the circle that a share is counted over
SIGMAS = 4.0  # standard deviations that a frequency may be off
RARE = (
    SIGMAS**2 / 6
)  # and draws beyond them, as Bernstein's inequality has it: of what is rare one may be seen by chance
WIDTHS = (2, 10, 50)

__all__ = ["CLAIMS", "share_of_condition_9"]


def _pictures(context: Context) -> Outcome:
    data = obtuse()
    net, number = fitting_start(data, context.seed)
    runs, solution = pair(data, net), max_margin(data)
    optimal = unit(solution.neurons)
    off, early = (
        together([float(angle(optimal, w).min()) for w in W], W) for W in runs.descent.W[[-1, 1]][:, runs.alive]
    )
    sets, pictured = rectified_ellipsoid(data), (runs.descent_path(), runs.flow_path())
    numbers = (
        printed(
            "angle of the living neurons to the optimal ones after 10^4 iterations; control: after the first",
            off,
            0.0,
            0.02,
            control=early,
        ),
        exact("P of the flow's limit, beside P*", 0.5 / runs.flow.limit.margin, solution.value),
    )
    figures = {
        "sets": poster_figure(sets, dual(data).duals),
        "rectified": rectified_figure(sets, pictured, np.maximum(optimal @ data.X.T, 0.0)),
        "directions": direction_figure(data, pictured, optimal),
    }
    return Outcome(
        f"App. F.1 with ten neurons of size 1e-4 (seed {number}): the sets, and the run of WP-F3 and WP-F4",
        numbers,
        figures,
    )


def _optimal_neurons(context: Context) -> Outcome:
    least, neurons = np.inf, 0
    count = context.pick(10, 100)
    for seed in range(context.seed, context.seed + count):
        data = wide_set(6, 3, seed)
        solution = max_margin(data)
        duals = dual(data).duals
        values = np.abs(np.maximum(unit(solution.neurons) @ data.X.T, 0.0) @ duals)
        least, neurons = min(least, float(values.min())), neurons + len(values)
    numbers = (
        printed("least |λ*ᵀ(Xu)₊| over the optimal neurons, of unit length", least, 1.0, 1e-6),
        exact("optimal neurons looked at", neurons, 2 * count, relation="at_least"),
    )
    return Outcome(f"{count} Gaussian sets (n = 6, d = 3); neurons from the primal, λ* from the dual program", numbers)


def _threshold(context: Context) -> Outcome:
    one = Dataset([[1.0]], [1])
    dead = integrate(one, Network([[-0.5]], [0.5]), until=1e6)
    loss = float(np.exp(dead.log_loss_end))
    wrong = Network([[1.0]], [-0.5])
    below = loss_below_threshold(one, wrong)
    wrong_loss = float(np.exp(integrate(one, wrong, until=1e-3).log_loss[0]))
    numbers = (
        printed(
            "one sample with its only neuron dead: loss below 1 and margin above 0",
            loss < 1 and float(dead.final(one.X)[0]) > 0,
            True,
        ),
        printed("margin -1/2: loss below 1 and margin above 0", wrong_loss < 1 and float(wrong(one.X)[0]) > 0, True),
        exact("the loss of the dead network at t = 10^6 is log 2", loss, np.log(2)),
        exact("the loss at margin -1/2", wrong_loss, np.log1p(np.exp(0.5))),
        exact("loss below log 2, the condition that is right: margin -1/2", bool(below), False),
        exact("datasets with loss below log 2 and a margin of at most 0", _counterexamples(context), 0),
    )
    return Outcome("x = 1, y = 1 with one neuron; Gaussian sets with random networks", numbers)


def _counterexamples(context: Context) -> int:
    """Count random networks with a summed logistic loss below log 2 that do not separate their data."""
    rng, bad = np.random.default_rng(context.seed), 0
    for seed in range(context.pick(200, 5000)):
        data = wide_set(3, 2, seed)
        net = Network(3 * rng.standard_normal((6, 2)), 3 * rng.standard_normal(6))
        if loss_below_threshold(data, net) and (data.y * net(data.X)).min() <= 0:
            bad += 1
    return bad


def share_of_condition_9(data: Dataset, sign: float) -> float:
    """Return the share of directions of the plane with sign · yᵀ(Xu)₊ > 0, counted on a fine grid."""
    scores = np.maximum(unit_vectors(2, TURNS) @ data.X.T, 0.0) @ data.y
    return float((sign * scores > 0).mean())


def _high_probability(context: Context) -> Outcome:
    data, tries = obtuse(), context.pick(2_000, 50_000)
    plus, minus = (share_of_condition_9(data, sign) / 2 for sign in (1.0, -1.0))
    numbers: list[Number] = []
    rows = []
    for width in WIDTHS:
        chance = 1 - (1 - plus) ** width - (1 - minus) ** width + (1 - plus - minus) ** width
        net = Network.init(tries * width, 2, seed=context.seed)
        score = np.sign(np.maximum(net.W @ data.X.T, 0.0) @ data.y)
        good = [((score == s) & (np.sign(net.a) == s)).reshape(tries, width).any(axis=1) for s in (1.0, -1.0)]
        found = float((good[0] & good[1]).mean())
        sigma = np.sqrt(chance * (1 - chance) / tries)
        numbers.append(
            exact(f"m = {width}: share of starts with (9) for both signs", found, chance, SIGMAS * sigma + RARE / tries)
        )
        rows.append({"m": width, "chance": chance, "drawn": found})
    numbers.append(
        printed(
            "m = 50: the chance is high; control: m = 2",
            rows[-1]["chance"],
            0.999,
            relation="at_least",
            control=rows[0]["chance"],
        )
    )
    table = frame(rows, "Chance that neurons of both signs satisfy (9) on App. F.1")
    return Outcome(f"{tries} balanced starts on App. F.1 for each width", tuple(numbers), {}, {"chances": table})


CLAIMS: tuple[Claim, ...] = (
    Claim(
        "WP-PO-F",
        "WP",
        "Poster, pictures",
        "The ellipsoid, the rectified ellipsoid, its polar set, and the trajectories",
        "The pictures of the poster: three sets of App. F.1, and neurons on their way to the spikes.",
        ("001", "B-001", "S000-F1"),
        _pictures,
    ),
    Claim(
        "WP-PO-U",
        "WP",
        "Poster, dual problem",
        "Where optimal neurons lie",
        "With λ* the optimal dual, every optimal primal neuron maximises |λ*ᵀ(Xu)₊| over the unit ball.",
        ("B-001", "B-000-20"),
        _optimal_neurons,
    ),
    Claim(
        "WP-PO-9",
        "WP",
        "Poster, Theorem 1",
        "Neurons that satisfy (9) exist with high probability",
        "For random starts neurons with sign(yᵀ(Xw)₊) = sign(a) exist with high probability, for either sign.",
        ("B-001", "B-000-23"),
        _high_probability,
        reason="The chance tends to 1 with the width; with two neurons on App. F.1 it is small.",
    ),
    Claim(
        "WP-PO-L",
        "WP",
        "Poster, implicit regularization",
        "A loss below 1 does not separate the data",
        "If the loss is below 1 at some time, the data are separated then.",
        ("D-23", "B-001"),
        _threshold,
        "differs",
        "'L(θ(t₀)) < 1, i.e., the data is separated at time t₀' (poster, implicit regularization). True for the "
        "exponential loss. A logistic loss of log 2 = 0.693 is that of one sample with margin 0, such as a dead "
        "network has for ever, and a margin of -1/2 has 0.974. Corrected: the bound must be log 2.",
        root="VSS-T2.1",
    ),
)
