"""Theorems 4.3 and 5.4: a local optimum that is not a global one, and the problems (4) and (11) that show it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...convex import layer_margin, to_network
from ...datasets import vardi_shamir_srebro
from ...datasets._construction import Construction
from ...flow import integrate
from ...networks import Network
from .._claim import Claim, Context, Number, Outcome
from ._checks import LATE, LOSSES, PRINTED, exactly, net, norm2, printed, relu, scaled, small
from ._drawing import FIRST, SECOND, THIRD, arrows
from ._limits import judged, reached, shrunk_margin
from ._plain import Plain, beaten_examples, duality_gap, layer_gaps, moved_outputs, plain_limits

if TYPE_CHECKING:
    from matplotlib.figure import Figure

VIOLATION = 2.061553  # max |λᵀ(Xu)₊| at λ = (2, 2, 1)


def theorem_4_3(context: Context) -> Outcome:
    """Run the flow with both losses and judge its limit."""
    case = vardi_shamir_srebro("4.3")
    assert case.better is not None
    numbers = [
        exactly("loss at the start, logistic", _start_loss(case, "logistic"), 0.218563, PRINTED),
        exactly("loss at the start, exponential", _start_loss(case, "exponential"), 0.229114, PRINTED),
    ]
    for loss in LOSSES:
        _, certificate, found = reached(case, loss)
        numbers += found
    numbers += judged(case, certificate, local=True, violation=VIOLATION)
    better, other = case.better(0.5), vardi_shamir_srebro("3.2")
    margins = net(better)(case.data.X)
    numbers += [
        printed(
            "no pre-activation of the limit is zero; control: Theorem 3.2",
            bool((case.limit.W @ case.data.X.T != 0).all()),
            True,
            control=bool((other.limit.W @ other.data.X.T != 0).all()),
        ),
        exactly("|θ'|² of the better network", norm2(better), 7.8125),
        Number(
            "its least margin; control: the limit scaled to its norm",
            float(margins.min()),
            1.0,
            1e-12,
            "at_least",
            control=shrunk_margin(case, norm2(better)),
        ),
        exactly("its greatest margin", float(margins.max()), 1.030776, PRINTED),
    ]
    assert certificate.convex is not None
    best = to_network(certificate.convex)
    numbers.append(exactly("neurons of the best network, so width 2 attains it", float(best.width), 2.0))
    plain, loose = plain_limits(context.pick(3, 40), context.seed)
    numbers += _random_numbers(plain, loose)
    return Outcome(
        "samples (±1, 1/4), (0, -1), start (0, 3), 3 and (0, -2), 2; both losses to log t = 1e4, limit polished;"
        f" {len(plain)} limits without zero inputs of random flows of 2 to 4 neurons (d = 3, n = 4 to 6)",
        tuple(numbers),
        {"networks": _figure(case, scaled_limit=certificate.network, best=best)},
    )


def _random_numbers(plain: list[Plain], loose: int) -> list[Number]:
    """Return what limits of random flows without zero inputs are, of which `loose` have no certified one."""
    worse = sum(one.certificate.local_optimum is not True for one in plain)
    return [
        Number("limits of random flows without zero inputs", len(plain), 2, 0.0, "at_least", "exact"),
        exactly("random flows without a certified limit", loose, 0),
        Number("of these, not certified as a local optimum", worse, 0, control=beaten_examples()),
        Number(
            "largest relative gap of Problem (11) at them: with their signs kept they are optimal; control: 0.9 λ",
            max(map(duality_gap, plain)),
            0.0,
            1e-6,
            control=min(duality_gap(one, 0.9) for one in plain),
        ),
        Number("of these, not the global optimum", sum(one.certificate.verdict != "global" for one in plain)),
    ]


def _start_loss(case: Construction, loss: str) -> float:
    assert case.start is not None
    q = net(case.start)(case.data.X)
    return float(np.sum(np.log1p(np.exp(-q)) if loss == "logistic" else np.exp(-q)))


def _figure(case: Construction, *, scaled_limit: Network, best: Network) -> Figure:
    """Draw u_j = v_j w_j: Σ|u_j| is half the squared norm."""
    assert case.better is not None
    better = net(case.better(0.5))
    groups = {
        f"{name}: $|\\theta|^2 = {norm2(network):.4g}$": (network.a[:, None] * network.W, colour)
        for name, network, colour in (
            ("limit", scaled_limit, FIRST),
            ("better", better, SECOND),
            ("best", best, THIRD),
        )
    }
    return arrows(groups, case.data)


def problem_11(context: Context) -> Outcome:
    """Prove the value of Problem (11) at the limit of Theorem 4.3 by its dual, in a few lines."""
    case = vardi_shamir_srebro("4.3")
    W, v = case.limit
    active = (W @ case.data.X.T >= 0).astype(np.float64)
    u = v[:, None] * W
    margins = np.einsum("ji,jk,ik->i", active, u, case.data.X)
    pulls = np.linalg.norm(active @ (case.multipliers[:, None] * case.data.X), axis=1)
    return Outcome(
        "numpy at the printed limit: Σ|u_l| with the patterns A_ij frozen, and the dual λ = (2, 2, 1)",
        (
            exactly("Σ|u_l| of the limit", float(np.linalg.norm(u, axis=1).sum()), 5.0),
            small("largest |margin - 1| in Problem (11)", float(np.abs(margins - 1).max())),
            exactly("Σ λ_i, a lower bound as |Σ_i λ_i A_ij x_i| <= 1", float(case.multipliers.sum()), 5.0),
            small("largest |Σ_i λ_i A_ij x_i| - 1", float((pulls - 1).max())),
        ),
        note="Primal and dual agree: with the signs of the pre-activations kept, nothing is smaller than the limit.",
    )


def theorem_5_4(context: Context) -> Outcome:
    """Solve Problem (4) for both layers at the limit of Theorem 4.3."""
    case = vardi_shamir_srebro("5.4")
    assert case.better is not None
    limit = reached(case, "logistic")[1].network
    own = layer_margin(case.data, limit, 1)
    best = layer_margin(case.data, limit, 1, scope="global")
    outputs = layer_margin(case.data, limit, 2)
    better = case.better(0.5)
    random, loose = plain_limits(context.pick(3, 40), context.seed + 1)
    gaps = np.array([layer_gaps(one) for one in random])
    cross = vardi_shamir_srebro("5.3")
    frozen = vardi_shamir_srebro("3.2")
    assert cross.better is not None
    assert frozen.better is not None
    crossed = float(np.sum(cross.limit.W**2) / np.sum(cross.better(0.25).W ** 2)) - 1
    return Outcome(
        f"the limit of Theorem 4.3; each layer optimised with the other one frozen; {len(random)} limits"
        " of random flows in which no neuron has a zero input",
        (
            Number("random limits without zero inputs", len(random), 2, 0.0, "at_least", "exact"),
            exactly("random flows without a certified limit", loose, 0),
            Number(
                "random limits: largest excess of the first layer over the optimum with its signs kept",
                float(gaps[:, 0].max()),
                0.0,
                1e-6,
                control=crossed,
            ),
            Number(
                "random limits: the same of the output layer; control: output weights moved",
                float(gaps[:, 1].max()),
                0.0,
                1e-6,
                control=min(moved_outputs(one) for one in random),
            ),
            exactly("norm² of the first layer", float(np.sum(limit.W**2)), 5.0),
            printed("least norm² of the first layer with its signs kept", 2 * own.value, 5.0),
            printed("norm² of the output layer", float(np.sum(limit.a**2)), 5.0),
            printed("least norm² of the output layer", 2 * outputs.value, 5.0),
            printed(
                "the better network changes the first layer only; control: that of Theorem 3.2",
                bool((better.a == case.limit.a).all()),
                True,
                control=bool((frozen.better(0.1).a == frozen.limit.a).all()),
            ),
            exactly("norm² of its first layer", float(np.sum(better.W**2)), 2.8125),
            Number("least norm² of the first layer over all signs", 2 * best.value, 2.8125, 1e-9, "at_most", "exact"),
        ),
    )


def equalities(context: Context) -> Outcome:
    """Find α and β of the limit in Appendix C.6, from the printed start and from starts all around it."""
    case = vardi_shamir_srebro("4.3")
    rng = np.random.default_rng(context.seed)
    assert case.start is not None
    starts = [net(case.start)]
    for _ in range(context.pick(5, 100)):
        W = case.start.W + rng.uniform(-0.2, 0.2, (2, 2))
        starts.append(Network(W, case.start.a + rng.uniform(-1, 1, 2)))
    limits = [scaled(integrate(case.data, start, until=LATE).limit.network, case.data) for start in starts]
    alphas, betas = np.array([limit.a for limit in limits]).T
    margins = np.array([relu(case.data.X @ limit.W.T) @ limit.a for limit in limits])
    return Outcome(
        f"the printed start and {len(starts) - 1} starts around it, with and without balance, seed {context.seed}",
        (
            Number("least α", float(alphas.min()), 2.0, 1e-9, "at_least", wrong=2.01),
            Number("least β", float(betas.min()), 1.0, 1e-9, "at_least", wrong=1.01),
            small("largest |α - 2|", float(np.abs(alphas - 2).max())),
            small("largest |β - 1|", float(np.abs(betas - 1).max())),
            small("largest |margin - 1|, as both neurons need an active constraint", float(np.abs(margins - 1).max())),
        ),
        note="The paper needs α >= 2 and β >= 1 only; both are equalities. A neuron that is not zero has a"
        " multiplier at one of its samples, so that margin is 1: α²/4 = 1, β² = 1. Misprints beside it: the sums of"
        " Lemma C.3 have x_i^j for x_i^l, and C.7 writes Ψ for Φ.",
    )


CLAIMS = (
    Claim(
        "VSS-T4.3",
        "VSS",
        "Theorem 4.3, Lemma C.6",
        "Non-zero inputs to all neurons: a local optimum, not a global one",
        "Where no pre-activation of the limit is zero, the limit is a local optimum of the max-margin problem. It need"
        " not be a global one: here a network of width two is smaller.",
        ("S002-C6",),
        theorem_4_3,
    ),
    Claim(
        "VSS-E11",
        "VSS",
        "Problem (11)",
        "With its signs kept, the limit is optimal",
        "The convex problem with the activity of each neuron on each sample frozen has the limit of Theorem 4.3 as its"
        " optimum.",
        ("B-002-(11)",),
        problem_11,
    ),
    Claim(
        "VSS-T5.4",
        "VSS",
        "Theorem 5.4",
        "Each layer a local optimum, the first one not global",
        "With non-zero inputs to all neurons each layer of the limit is a local optimum of its own problem; the first"
        " layer need not be a global one.",
        ("S002-C6", "B-002-(4)"),
        theorem_5_4,
    ),
    Claim(
        "VSS-D26",
        "VSS",
        "Appendix C.6",
        "α and β of the limit, exactly",
        "The proof bounds the limit by α >= 2 and β >= 1.",
        ("D-26",),
        equalities,
    ),
)
