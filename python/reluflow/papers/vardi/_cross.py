"""Theorems 4.2 (part 2) and 5.3: four neurons on four samples, a start on boundaries from which the flow branches."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..._validation import FloatArray
from ...analysis import series
from ...convex import layer_margin
from ...datasets import vardi_shamir_srebro
from ...datasets._construction import Construction
from ...flow import Solution, Stop, integrate
from ...networks import Network
from .._claim import Claim, Context, Number, Outcome
from ._checks import LOSSES, ROUNDING, exactly, net, printed, small
from ._drawing import FIRST, SECOND, arrows, curves
from ._limits import better_table, improving, judged, limit_distance, reached, shrunk_margin

if TYPE_CHECKING:
    from matplotlib.figure import Figure

VIOLATION = 1.414214  # max |λᵀ(Xu)₊| = √2 at λ = (1, 1, 1, 1)
NAMES = {"stay": "symmetric", "inactive": "boundaries inactive", "active": "boundaries active"}
SYMMETRIC, BEST = 4.0, 2 * np.sqrt(2)  # P of the symmetric limit and P*


def theorem_4_2(context: Context) -> Outcome:
    """Run the symmetric branch with both losses and judge its limit."""
    case = vardi_shamir_srebro("4.2")
    numbers: list[Number] = []
    for loss in LOSSES:
        _, certificate, found = reached(case, loss)
        numbers += found
    numbers += judged(case, certificate, local=False, violation=VIOLATION)
    shown = better_table(case)
    numbers += improving(case, lambda e: 8 + 8 * e * (e - 1), shown)
    far = np.abs(shown["distance"] - 2 * np.sqrt(2) * shown["e"]).max()
    twice = np.abs(shown["distance"] - 2 * shown["e"]).max()
    numbers.append(
        printed(
            "distance 2√2 e of the improving network: largest error; control: 2e", float(far), 0.0, control=float(twice)
        )
    )
    return Outcome(
        "samples (0, 1), (1, 0), (0, -1), (-1, 0), w_i = 2x_i, v_i = 2, on boundaries from the start on; both losses",
        tuple(numbers),
        {"improving": _improving_figure(case)},
        {"improving": shown},
    )


def _improving_figure(case: Construction) -> Figure:
    assert case.better is not None
    groups = {
        r"$\tilde w_j = x_j$": (case.limit.W, FIRST),
        "$w'_j$ for $e = 0.15$": (case.better(0.15).W, SECOND),
    }
    return arrows(groups)


def theorem_5_3(context: Context) -> Outcome:
    """Compare the first layer of the limit of Theorem 4.2 with what it could be."""
    case = vardi_shamir_srebro("5.3")
    assert case.better is not None
    found = reached(case, "logistic")[1]
    sizes = (1e-3, 1e-2, 0.1, 0.5)
    networks = [case.better(e) for e in sizes]
    first = np.array([np.sum(network.W**2) for network in networks])
    expected = np.array([4 + 8 * e * (e - 1) for e in sizes])
    margins = [float(net(network)(case.data.X).min()) for network in networks]
    best = layer_margin(case.data, found.network, 1, scope="global")
    outputs = layer_margin(case.data, found.network, 2)
    other = vardi_shamir_srebro("3.2")
    assert other.better is not None
    return Outcome(
        "the limit of Theorem 4.2, its two layers optimised by turns with the other one frozen",
        (
            printed("norm² of the first layer of the limit", float(np.sum(found.network.W**2)), 4.0),
            printed(
                "the improving network changes the first layer only; control: that of Theorem 3.2",
                all((n.a == case.limit.a).all() for n in networks),
                True,
                control=bool((other.better(0.1).a == other.limit.a).all()),
            ),
            small("largest error of 4 + 8e(e - 1)", float(np.abs(first - expected).max())),
            Number(
                "least margin of the improving networks; control: the limit scaled to their norms",
                min(margins),
                1.0,
                1e-12,
                "at_least",
                control=shrunk_margin(case, float(first.min()) + 4.0),
            ),
            printed(
                "the first layer is smaller for each of them; control: e = 1.5",
                bool((first < 4).all()),
                True,
                control=bool(np.sum(case.better(1.5).W ** 2) < 4),
            ),
            Number("least norm² of the first layer, all patterns tried", 2 * best.value, 2.0, 1e-9, "at_most", "exact"),
            exactly("norm² of the best output layer", 2 * outputs.value, 4.0),
        ),
        note="The output layer of the limit is the best one: that problem is convex.",
    )


def branching(context: Context) -> Outcome:
    """Follow every continuation of the start of Theorem 4.2, and starts 1e-8 away from it."""
    case = vardi_shamir_srebro("4.2")
    late = Stop(log_time=context.pick(1e8, 1e12))
    runs = {policy: _branch(case, policy, late) for policy in ("stay", "inactive", "active")}
    rng = np.random.default_rng(context.seed)
    moved = [_moved(case, rng, late) for _ in range(context.pick(4, 40))]
    ends = np.array([_value(solution) for solution in moved])
    numbers = _fragility(case, runs, ends, late)
    return Outcome(
        f"the start of Theorem 4.2 with three choices at its branch points, and {len(moved)} starts moved by 1e-8"
        f" times a Gaussian (seed {context.seed}); logistic loss",
        numbers,
        {
            "branches": _branches_figure(
                {
                    **{f"boundaries {p}" if p != "stay" else "symmetric": s for p, s in runs.items()},
                    "moved by 1e-8": moved[0],
                }
            )
        },
    )


def _fragility(case: Construction, runs: dict[str, Solution], ends: FloatArray, late: Stop) -> tuple[Number, ...]:
    others = [0.5 / runs[policy].limit.margin for policy in ("inactive", "active")]
    return (
        Number(
            "one constant σ'(0) = 0, ½ or 1: largest turn of a neuron's pull from its direction",
            max(_turn(case, slope, slope) for slope in (0.0, 0.5, 1.0)),
            0.0,
            1e-12,
            control=_turn(case, 0.0, 1.0),
        ),
        Number(
            "one constant σ'(0): distance of the limit from the printed one",
            limit_distance(case, runs["stay"]),
            0.0,
            ROUNDING,
            control=limit_distance(case, runs["active"]),
        ),
        Number("one constant σ'(0): P of the limit", 0.5 / runs["stay"].limit.margin, SYMMETRIC, ROUNDING),
        exactly("Clarke's subdifferential: branch points at the start", float(len(runs["stay"].branchings)), 4.0),
        *(
            exactly(f"Clarke's subdifferential, boundaries {name}: P of the limit", value, BEST)
            for name, value in zip(("inactive", "active"), others, strict=True)
        ),
        Number(
            f"starts moved by 1e-8: largest P at log t = {late.log_time:g}, near 2√2",
            float(ends.max()),
            1.02 * BEST,
            relation="at_most",
            source="exact",
            control=SYMMETRIC,
        ),
    )


def _turn(case: Construction, first: float, second: float) -> float:
    """Return how far the pull on neuron 1 is from its direction if σ'(0) is one value on x_2 and one on x_4."""
    start = net(case.start or case.limit)
    Z = start.W @ case.data.X.T
    slopes = np.where(Z > 0, 1.0, np.where(Z < 0, 0.0, np.array([first, first, second, second])))
    pull = slopes[0] @ (case.data.y[:, None] * case.data.X)  # the four margins are equal, so are the weights
    w = start.W[0] / np.linalg.norm(start.W[0])
    return float(np.linalg.norm(pull - (pull @ w) * w))


def _branch(case: Construction, policy: str, until: Stop) -> Solution:
    return integrate(case.data, net(case.start or case.limit), until=until, on_branch=policy)


def _moved(case: Construction, rng: np.random.Generator, until: Stop) -> Solution:
    start = net(case.start or case.limit)
    W = start.W + 1e-8 * rng.standard_normal(start.W.shape)
    return integrate(case.data, Network(W, start.a + 1e-8 * rng.standard_normal(4)), until=until)


def _value(solution: Solution) -> float:
    """Return P = |θ|²/(2 q_min) of the last state."""
    final = solution.final
    return 0.5 * final.norm**2 / float((solution.data.y * final(solution.data.X)).min())


def _branches_figure(runs: dict[str, Solution]) -> Figure:
    lines = {}
    for label, solution in runs.items():
        found = series(solution)
        late = found[found["log_t"] > 0]
        lines[label] = late["log_t"].to_numpy(), 0.5 / late["normalised_margin"].to_numpy()
    labels = r"$\log t$", r"$|\theta|^2/(2q_{\min})$"
    return curves(lines, labels=labels, levels=(SYMMETRIC, BEST), xscale="log")


CLAIMS = (
    Claim(
        "VSS-T4.2",
        "VSS",
        "Theorem 4.2 (2)",
        "No neuron is zero, and still no local optimum",
        "For ReLU networks it does not help that all neurons of the limit are non-zero: four neurons on a cross end"
        " at a KKT point from which small turns of all of them save norm.",
        ("S002-4.2",),
        theorem_4_2,
    ),
    Claim(
        "VSS-T5.3",
        "VSS",
        "Theorem 5.3",
        "The first layer alone is no local optimum either",
        "With the output layer frozen, the first layer of the limit of Theorem 4.2 is no local optimum of its problem.",
        ("S002-5.3", "B-002-(4)"),
        theorem_5_3,
    ),
    Claim(
        "VSS-D25",
        "VSS",
        "Theorem 4.2 (2), Appendix C.5",
        "How fragile the start of Theorem 4.2 is",
        "With a fixed σ'(0), as the paper has it, the flow from the printed start keeps its symmetry and tends to the"
        " printed point.",
        ("D-25",),
        branching,
        reason="A remark, not a correction. The start lies on boundaries: w_1·x_2 = 0 with a_1 y_2 > 0. With one"
        " constant σ'(0) in [0, 1] the pulls of x_2 and x_4 = -x_2 cancel, and the limit has P = 4. In terms of"
        " Clarke's subdifferential the start is a branch point with other continuations, and they, as well as starts"
        " 1e-8 away, tend to the global optimum 2√2.",
    ),
)
