"""Theorem 3.2 and Figure 1: one neuron is active on both samples and grows, the other on none and stands still."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from ..._validation import FloatArray
from ...convex import certify, layer_margin
from ...datasets import Dataset, vardi_shamir_srebro
from ...flow import Solution, integrate
from ...networks import Network
from .._claim import Claim, Context, Number, Outcome
from ._checks import LATE, LOSSES, PRINTED, ROUNDING, exactly, kkt_residual, net, printed, relu, small, table
from ._deep import moved_diagonal
from ._drawing import FIRST, SECOND, THIRD, arrows, curves
from ._limits import better_table, improving, judged, limit_distance, reached
from ._other_networks import convolution, diagonal
from ._sparse import ROOT_HALF

if TYPE_CHECKING:
    from matplotlib.figure import Figure

VIOLATION = 2.061553  # max |λᵀ(Xu)₊| = 2 |x_1| at λ = (2, 2)
TIMES = (0.0, 0.5, 2.5)  # the start and the figure's t_1 < t_2
FIGURE_START = Network([[0.2, 0.9], [0.1, -0.6]], [0.6, 0.9])  # any start of the open set; this one shows the turn


def theorem_3_2(context: Context) -> Outcome:
    """Run the flow with both losses and judge its limit."""
    case = vardi_shamir_srebro("3.2")
    numbers: list[Number] = []
    for loss in LOSSES:
        _, certificate, found = reached(case, loss)
        numbers += found
    numbers += judged(case, certificate, local=False, violation=VIOLATION)
    shown = better_table(case)
    numbers += improving(case, lambda e: 8 - 4 * e + 17 * e**2 / 4, shown)
    within = np.array([0.1, 0.5, 1.0])  # e = ε²/9 for a network within ε
    near, wrong = (better_table(case, tuple(within**2 / c))["distance"].to_numpy() for c in (9, 1))
    numbers.append(
        printed(
            "the improving network of e = ε²/9 lies within ε; control: e = ε²",
            bool((near <= within).all()),
            True,
            control=bool((wrong <= within).all()),
        )
    )
    e = np.linspace(0, 1, 201)
    figure = curves(
        {"$8 - 4e + 17e^2/4$": (e, 8 - 4 * e + 17 * e**2 / 4), r"networks $\theta'$*": (shown["e"], shown["|θ'|²"])},
        labels=("$e$", r"$|\theta'|^2$"),
        levels=(case.limit_norm2,),
    )
    return Outcome(
        "samples (±1, 1/4), y = 1, two neurons, start inside the open set; both losses to log t = 1e4, limit polished",
        tuple(numbers),
        {"improving-norm": figure},
        {"improving": shown},
        "|θ'|² stays below 8 for e < 16/17, far beyond the small e of the proof.",
    )


def figure_1(context: Context) -> Outcome:
    """Draw u_1 and u_2 at two times."""
    data = vardi_shamir_srebro("3.2").data
    solution = integrate(data, FIGURE_START, until=TIMES[-1])
    early, late = (_products(solution(t)) for t in TIMES[1:])
    groups = {
        f"$u_1$ at $t_2 = {TIMES[2]:g}$": (late[:1], SECOND),
        f"$u_1$ at $t_1 = {TIMES[1]:g}$": (early[:1], FIRST),
        "$u_2$ at both times": (early[1:], THIRD),
    }
    return Outcome(
        "a start in the open set of Theorem 3.2, logistic loss",
        _figure_numbers(solution),
        {"figure-1": arrows(groups, data)},
    )


def _products(network: Network) -> FloatArray:
    return np.asarray(network.a[:, None] * network.W)


def _figure_numbers(solution: Solution) -> tuple[Number, ...]:
    states = [solution(t) for t in TIMES]
    u = np.array([_products(state) for state in states])
    lengths = np.linalg.norm(u[:, 0], axis=1)
    tilts = np.abs(np.arctan2(u[:, 0, 0], u[:, 0, 1]))
    others = np.linalg.norm(u[:, 1], axis=1), np.abs(np.arctan2(u[:, 1, 0], u[:, 1, 1]))
    return (
        printed(
            "u_1 grows from each time to the next; control: u_2",
            bool((np.diff(lengths) > 0).all()),
            True,
            control=bool((np.diff(others[0]) > 0).all()),
        ),
        printed(
            "u_1 turns towards (0, 1); control: u_2",
            bool((np.diff(tilts) < 0).all()),
            True,
            control=bool((np.diff(others[1]) < 0).all()),
        ),
        printed(
            "u_2 stands still, bit for bit; control: u_1",
            bool((u[:, 1] == u[0, 1]).all()),
            True,
            control=bool((u[:, 0] == u[0, 0]).all()),
        ),
        Number(
            "how far u_2 moves; control: u_1",
            float(np.ptp(u[:, 1], axis=0).max()),
            0.0,
            control=float(np.ptp(u[:, 0], axis=0).max()),
        ),
        Number("angle of u_1 from (0, 1) at t_2, in radians", float(tilts[-1])),
    )


def open_set(context: Context) -> Outcome:
    """Estimate the probability of the open set of starts, and run the flow from members of it."""
    case = vardi_shamir_srebro("3.2")
    rng = np.random.default_rng(context.seed)
    n_draws, n_runs = context.pick(200_000, 4_000_000), context.pick(20, 400)
    hits, members = _draw(case.data, rng, n_draws, n_runs)
    exact = math.acos(-case.data.X[0] @ case.data.X[1] / (case.data.X[0] @ case.data.X[0])) / (2 * math.pi)
    facts = [_facts(case.data, W, a) for W, a in members]
    worst = max(limit_distance_of(case.data, W, a) for W, a in members)
    deviation = 4 * math.sqrt(exact**2 / n_draws)  # of the frequency, for a chance of about exact²
    return Outcome(
        f"{n_draws} Gaussian starts tested for the event, seed {context.seed}; the flow of {len(members)} of its"
        " members",
        (
            exactly("chance of one neuron to be active on both samples", exact, 0.077979, PRINTED),
            exactly("chance of the event in either order, exact", exact**2, 0.006081, PRINTED),
            Number("chance of the event, Monte Carlo", hits / n_draws, exact**2, deviation, source="exact"),
            printed(
                "no start of the event meets an activation event; control: a neuron on one sample",
                all(fact[0] for fact in facts),
                True,
                control=_facts(case.data, np.array([[1.0, 0.1], [0.0, -1.0]]), np.array([-2.0, 1.0]))[0],
            ),
            printed(
                "the inactive neuron stands still, bit for bit; control: the active one",
                all(fact[1] for fact in facts),
                True,
                control=_facts(case.data, members[0][0][::-1], members[0][1][::-1])[1],
            ),
            exactly("|w_1[1]| falls, v_1 rises, v_1² - |w_1|² stays", all(fact[2] for fact in facts), True),
            small("largest distance of a limit from the printed KKT point", worst),
        ),
        {"starts": _starts_figure(case.data, members)},
    )


Member = tuple[FloatArray, FloatArray]


def _draw(data: Dataset, rng: np.random.Generator, n_draws: int, n_keep: int) -> tuple[int, list[Member]]:
    """Count the draws of (W, v) in the event, in either order of the neurons, and keep the first of them, ordered."""
    hits = 0
    members: list[Member] = []
    for start in range(0, n_draws, 100_000):
        size = min(100_000, n_draws - start)
        W, v = rng.standard_normal((size, 2, 2)), rng.standard_normal((size, 2))
        Z = W @ data.X.T
        on, off = np.all(Z > 0, axis=2), np.all(Z < 0, axis=2)
        for first in (0, 1):
            found = np.flatnonzero(on[:, first] & off[:, 1 - first] & (v[:, first] > 0))
            hits += len(found)
            order = [first, 1 - first]
            members += [(W[k][order], v[k][order]) for k in found[: n_keep - len(members)]]
    return hits, members


def _facts(data: Dataset, W: FloatArray, a: FloatArray) -> tuple[bool, bool, bool]:
    solution = integrate(data, Network(W, a), until=1e4)
    first = solution.W[:, 0]
    balance = solution.a[:, 0] ** 2 - np.sum(first**2, axis=1)
    frozen = bool((solution.W[:, 1] == W[1]).all() and (solution.a[:, 1] == a[1]).all())
    slack = 1e-9 * float(np.abs(solution.a[:, 0]).max()) ** 2
    steps = np.concatenate((np.diff(np.abs(first[:, 0])), -np.diff(solution.a[:, 0])))
    monotone = bool((steps <= slack).all()) and float(np.ptp(balance)) <= 100 * slack
    return len(solution.events) == 0, frozen, monotone


def limit_distance_of(data: Dataset, W: FloatArray, a: FloatArray) -> float:
    """Return the distance of the limit from the printed KKT point."""
    return limit_distance(vardi_shamir_srebro("3.2"), integrate(data, Network(W, a), until=LATE))


def _starts_figure(data: Dataset, members: list[Member]) -> Figure:
    directions = np.array([W / np.linalg.norm(W, axis=1, keepdims=True) for W, _ in members[:40]])
    groups = {"$w_1(0)$": (directions[:, 0], FIRST), "$w_2(0)$": (directions[:, 1], SECOND)}
    return arrows(groups, data)


def remark_3_1(context: Context) -> Outcome:
    """Flatten the two samples: the limit gets worse than the optimum without bound."""
    heights = (0.25, 0.1, 0.01, 1e-4)
    expected = (1.4358, 2.2416, 7.0712, 70.71)
    ratios, numbers = [], []
    for h, ratio in zip(heights, expected, strict=True):
        case = vardi_shamir_srebro("3.2", h=h)
        solution = integrate(case.data, net(case.start or case.limit), until=LATE)
        certificate = certify(solution, case.data)
        ratios.append(math.sqrt(certificate.value / certificate.upper))
        numbers += [
            exactly(f"h = {h:g}: |θ̃|/|θ*|", ratios[-1], ratio, 5e-5 * ratio),
            small(f"h = {h:g}: relative error of |θ̃|² = 2/h", abs(2 * certificate.value * h / 2 - 1)),
            small(f"h = {h:g}: gap of the proof of |θ*|²", certificate.upper / certificate.lower - 1),
        ]
    numbers += _other_heights()
    numbers.append(
        Number(
            "largest ratio reached; control: at h = 1/4", max(ratios), 70.0, relation="at_least", control=min(ratios)
        )
    )
    grid = np.geomspace(1e-4, 0.4, 60)
    figure = curves(
        {
            r"$\sqrt{\sqrt{1+h^2}/(2h)}$": (grid, np.sqrt(np.hypot(1, grid) / (2 * grid))),
            "flow and certificate*": (np.array(heights), np.array(ratios)),
        },
        labels=("height $h$ of the samples", r"$|\tilde\theta|/|\theta^*|$"),
        levels=(1.0,),
        xscale="log",
        yscale="log",
    )
    return Outcome(
        "samples (±1, h), the flow to log t = 1e4, its limit certified against the convex program",
        tuple(numbers),
        {"ratio": figure},
        {
            "heights": table(
                {"h": heights, "ratio": ratios, "derived": [math.sqrt(math.hypot(1, h) / (2 * h)) for h in heights]}
            )
        },
    )


def _other_heights() -> list[Number]:
    """Theorem 4.3 as h -> 0: P = 1/h + 1 against an optimum that stays bounded. Theorem 4.1 with x = (1, s): 2, 2/s."""
    numbers = []
    for h in (0.1, 0.01):
        case = vardi_shamir_srebro("4.3", h=h)
        certificate = certify(integrate(case.data, net(case.start or case.limit), until=LATE), case.data)
        numbers += [
            exactly(f"Theorem 4.3, h = {h:g}: P of the limit", certificate.value, 1 / h + 1, 1e-6),
            exactly(
                f"Theorem 4.3, h = {h:g}: P* of the optimum", certificate.upper, 2 * math.hypot(1 + h / 2, 0.5), 1e-7
            ),
        ]
    for spread in (4.0, 100.0):
        x = np.array([[spread, ROOT_HALF], [-spread, ROOT_HALF]])
        theta = np.array([0.0, 1.0, ROOT_HALF, ROOT_HALF])
        margin = convolution(x, relu)
        ratio = math.sqrt(float(theta @ theta) / (2 / float(np.linalg.norm(x[0]))))
        numbers += [
            small(f"Theorem 4.4, x = ±{spread:g}: KKT residual", kkt_residual(margin, theta, [1.0])),
            exactly(f"Theorem 4.4, x = ±{spread:g}: |θ̃|/|θ*|", ratio, (spread**2 + 0.5) ** 0.25),
        ]
    for h in (0.1, 0.01):
        case = vardi_shamir_srebro("5.4", h=h)
        network = certify(integrate(case.data, net(case.start or case.limit), until=LATE), case.data).network
        first = layer_margin(case.data, network, 1)
        least = layer_margin(case.data, network, 1, scope="global")
        numbers.append(
            Number(
                f"Theorem 5.4, h = {h:g}: first layer over the least one, at least (1/(5h))^½",
                math.sqrt(first.current / least.value),
                math.sqrt(1 / (5 * h)),
                relation="at_least",
                wrong=math.sqrt(1 / h),
            )
        )
    s = 1e4
    beside = Network([[0.0, s**-0.5]], [s**-0.5])  # the neuron of the second coordinate alone
    numbers.append(
        exactly("Theorem 4.1, x = (1, 1e4): |θ|² of the limit over a feasible one", 2 / beside.norm**2, s, 1e-6 * s)
    )
    return numbers


def remark_3_2(context: Context) -> Outcome:
    """Move the samples of Theorems 3.2 and 4.3 a little: the verdicts stay."""
    rng = np.random.default_rng(context.seed)
    n_draws = context.pick(8, 60)
    numbers: list[Number] = []
    for theorem, local in (("3.2", False), ("4.3", True)):
        case = vardi_shamir_srebro(theorem)
        right = 0
        for _ in range(n_draws):
            moved = Dataset(case.data.X + 0.01 * rng.uniform(-1, 1, case.data.X.shape), case.data.y)
            solution = integrate(moved, net(case.start or case.limit), until=LATE)
            found = certify(solution, moved)
            right += solution.limit.certified and found.verdict == "kkt_not_global" and found.local_optimum is local
        numbers.append(
            printed(f"Theorem {theorem}: moved data with the theorem's verdict", float(right), float(n_draws))
        )
    layers = points = 0
    case = vardi_shamir_srebro("5.4")
    for _ in range(n_draws):
        moved = Dataset(case.data.X + 0.01 * rng.uniform(-1, 1, case.data.X.shape), case.data.y)
        network = certify(integrate(moved, net(case.start or case.limit), until=LATE), moved).network
        own, best = layer_margin(moved, network, 1), layer_margin(moved, network, 1, scope="global")
        layers += own.current <= own.value * (1 + PRINTED) and best.value < 0.9 * own.current
        points += _diagonal_beaten(np.array([1.0, 2.0]) + 0.01 * rng.uniform(-1, 1, 2))
    numbers += [
        printed("Theorem 5.4: moved data, first layer locally but not globally optimal", float(layers), float(n_draws)),
        Number(
            "Theorem 4.1: moved inputs with a smaller feasible network beside the KKT point",
            float(points),
            float(n_draws),
            control=float(_diagonal_beaten(np.array([2.0, 1.0])) * n_draws),
        ),
        *moved_diagonal(),
    ]
    return Outcome(
        f"{n_draws} times the data sets, every coordinate moved by up to 0.01, the same starts, seed {context.seed};"
        " Theorems 4.1 and 5.1 at their KKT points",
        tuple(numbers),
        note="For Theorem 5.1 the start has to move with the data: kept at (1, 1) it leads to the best network.",
    )


def _diagonal_beaten(x: FloatArray) -> bool:
    """Tell whether (x_1^-½, 0) twice is a KKT point of the diagonal network with a smaller feasible one 0.01 away."""
    margin = diagonal(x, 2, relu)
    theta = np.array([x[0] ** -0.5, 0.0] * 2)
    e = 1e-5
    near = np.array([((1 - e) / x[0]) ** 0.5, (e / x[1]) ** 0.5] * 2)
    feasible = float(margin(near)[0]) >= 1 - 1e-12
    return kkt_residual(margin, theta, [1 / x[0]]) < ROUNDING and feasible and bool(near @ near < theta @ theta)


CLAIMS = (
    Claim(
        "VSS-F1",
        "VSS",
        "Figure 1",
        "One vector grows and turns up, the other stands still",
        "In the flow of Theorem 3.2 u_1 = v_1 w_1 grows and turns to (0, 1); u_2 does not move.",
        ("002 Fig 1",),
        figure_1,
    ),
    Claim(
        "VSS-T3.2",
        "VSS",
        "Theorem 3.2",
        "Two fully connected neurons: the limit is no local optimum",
        "From starts with one neuron active on both samples and one on none, the flow tends to a KKT point of the"
        " max-margin problem that is not even a local optimum: feasible networks as close as one likes are smaller.",
        ("S002-3.2",),
        theorem_3_2,
    ),
    Claim(
        "VSS-T3.2-open",
        "VSS",
        "Theorem 3.2, Appendix C.3",
        "The starts of Theorem 3.2 are an open set of positive probability",
        "The condition on the start holds with constant probability, and from all these starts the flow ends at the"
        " same KKT point, without any activation event.",
        ("S002-3.2", "B-002-R3.1/R3.2"),
        open_set,
    ),
    Claim(
        "VSS-R3.1",
        "VSS",
        "Remark 3.1",
        "Unbounded suboptimality",
        "As the angle between the samples tends to π, the norm of the limit exceeds the optimal one by any factor; so"
        " it does in Theorems 4.1, 4.3, 4.4 and 5.4.",
        ("S002-R3.1", "B-002-R3.1/R3.2"),
        remark_3_1,
    ),
    Claim(
        "VSS-R3.2",
        "VSS",
        "Remark 3.2",
        "Small changes of the data keep the verdicts",
        "Theorems 3.2, 4.1, 4.3, 5.1 and 5.4 hold for slightly moved inputs, too.",
        ("B-002-R3.1/R3.2",),
        remark_3_2,
    ),
)
