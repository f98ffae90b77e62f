"""Theorem 2.1 with its threshold, and the conserved differences of Lemmas C.1 to C.4."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np

from ..._validation import FloatArray
from ...convex import certify
from ...datasets import Dataset, vardi_shamir_srebro
from ...flow import Solution, Stop, integrate
from ...losses import LossName
from ...networks import Network
from .._claim import Claim, Context, Number, Outcome
from ._checks import LATE, LOSSES, exactly, gradients, net, printed, small
from ._conserved import END, drift_numbers, layered_drifts
from ._other_networks import ACTIVATIONS, Phi, convolution, deep, diagonal

LN2 = math.log(2)
ROUNDING = 1e-12  # a loss that tends to the threshold from above comes this near to it
THEOREMS = ("3.2", "4.2", "4.3")
FAR, SOON = 330.0, 100.0  # log |θ| just below the largest with states, and the log t of the control


def threshold(context: Context) -> Outcome:
    """Show a logistic loss below 1 from which nothing converges, then test the theorem with ln 2."""
    one = Dataset([[1.0, 0.5]], [1])
    dead = integrate(one, Network([[-1.0, 0.2]], [0.5]), until=LATE)
    wrong = float(np.logaddexp(0, 0.5))  # the loss of a margin of -0.5
    n_runs = context.pick(12, 100)
    numbers = [
        exactly("logistic loss of one sample under a dead network", math.exp(dead.log_loss_end), LN2),
        printed("the loss of the dead network, below 1, tends to 0", dead.log_loss_end < -9000, True),
        exactly("the dead network stands still, bit for bit", bool((dead.final.W == dead.initial.W).all()), True),
        exactly("kind of its limit", dead.limit.kind, "finite"),
        Number("logistic loss of the margin -0.5", wrong, 1.0, relation="at_most", source="exact"),
        printed("a logistic loss below 1 means that every sample is classified correctly", wrong >= 1, True),
    ]
    for loss in LOSSES:
        found = [_random(loss, seed) for seed in range(context.seed, context.seed + n_runs)]
        numbers += _battery(loss, found)
    return Outcome(
        f"one sample with a dead neuron; {n_runs} random runs with each loss (d = 3, n = 6, m = 12), seeds"
        f" {context.seed} to {context.seed + n_runs - 1}, to log |θ| = {FAR:g}",
        tuple(numbers),
        note="With ln 2 for the logistic loss (a sum) the theorem holds: a loss below it means that all margins are"
        " positive. Every run below it counts, and the residuals are those of the states.",
    )


def _random(loss: LossName, seed: int) -> Solution:
    """Run the flow on six random samples with the labels of a random half-space."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((6, 3))
    y = np.where(X @ rng.standard_normal(3) > 0, 1, -1)
    y[0] *= -1 if abs(y.sum()) == len(y) else 1  # both classes, and one sample may then be on the wrong side
    return integrate(Dataset(X, y), Network.init(12, 3, scale=0.1, seed=seed), until=Stop(log_norm=FAR), loss=loss)


def _battery(loss: LossName, found: list[Solution]) -> list[Number]:
    bound = math.log(LN2) if loss == "logistic" else 0.0
    below = [run for run in found if run.log_loss.min() < bound - ROUNDING]
    rates = [run.log_loss_end / run.log_t_end for run in below]
    late = max(_residual(run.final, run.data, 1e-3) for run in below)
    soon = max(_residual(run.at(log_t=SOON), run.data, 0.1) for run in below)
    return [
        Number(f"{loss}: runs below the threshold", len(below), len(found) / 2, 0, "at_least", "exact"),
        exactly(f"{loss}: of these, runs whose norm grows to e^{FAR:g}", sum(map(_far, below)), len(below)),
        Number(f"{loss}: their log L over log t there, largest, -1 if like 1/t", max(rates), -1, 1e-3, source="exact"),
        exactly(f"{loss}: runs that tend to a certified direction", sum(map(_certified, below)), len(below)),
        Number(
            f"{loss}: largest KKT residual of a state there, below 1/log |θ|; control: at log t = {SOON:g}",
            late,
            1 / FAR,
            0,
            "at_most",
            "exact",
            control=soon,
        ),
    ]


def _far(run: Solution) -> bool:
    return run.status == "reached_log_norm"


def _certified(run: Solution) -> bool:
    """Whether the run has a certified direction for its limit, at its end or when it has gone on as far as needed."""
    limit = run.limit
    if not limit.certified:
        limit = integrate(run.data, run.initial, until=Stop(limit=True), loss=run.loss).limit
    return limit.certified and limit.kind == "direction"


def _residual(state: Network, data: Dataset, near: float) -> float:
    """Return the KKT residual of a state, with multipliers on margins within the part `near` of the least."""
    found = certify(state, data, support_tol=near).kkt
    return math.inf if found is None else found.residual


def starts_below(context: Context) -> Outcome:
    """Compare the losses at the starts of all constructions with the threshold."""
    cases = {f"Theorem {theorem}": vardi_shamir_srebro(theorem) for theorem in THEOREMS}
    margins: dict[str, FloatArray] = {
        name: net(case.start)(case.data.X) for name, case in cases.items() if case.start is not None
    }
    margins |= {"Theorem 4.1": np.array([1.0]), "Theorem 4.4": np.array([1.0]), "Theorem 5.1": np.array([2.0])}
    numbers = []
    for name, q in margins.items():
        if name == "Theorem 3.2":
            continue  # any start of the open set will do: its loss may be above
        logistic, exponential = float(np.logaddexp(0, -q).sum()), float(np.exp(-q).sum())
        numbers += [
            Number(f"{name}: logistic loss at the start", logistic, LN2, relation="at_most", source="exact"),
            Number(
                f"{name}: exponential loss at the start; control: wrong on every sample",
                exponential,
                1.0,
                relation="at_most",
                control=float(np.exp(q).sum()),
            ),
        ]
    return Outcome("the printed starts, numpy", tuple(numbers))


def invariants(context: Context) -> Outcome:
    """Measure how far the conserved differences drift along runs with many events, and what the limits have left."""
    n_runs = context.pick(4, 40)
    neuron, layer, first, last = [], [], [], []
    n_events = 0
    drifts = layered_drifts(context.seed, context.pick(1, 5))
    for seed in range(context.seed, context.seed + n_runs):
        solution = _free(seed)
        n_events += len(solution.events)
        W, a = solution.W, solution.a
        sizes = np.sum(W**2, axis=2) + a**2
        differences = np.sum(W**2, axis=2) - a**2
        neuron.append(float((np.abs(differences - differences[0]) / sizes.max(axis=0)).max()))
        layer.append(float((np.abs(np.sum(differences - differences[0], axis=1)) / sizes.sum(axis=1).max()).max()))
        first.append(_uneven(solution.initial))
        last.append(_uneven(integrate(solution.data, solution, until=Stop(log_norm=30.0)).final))
    return Outcome(
        f"{n_runs} random runs without balance at the start (d = 3, n = 8, m = 10), {n_events} events, to log t ="
        " 1e4 and on to log |θ| = 30, rtol 1e-9; rates at random weights of networks of depth 2 to 5, fully connected,"
        f" diagonal and with shared weights; {len(drifts)} flows of layered networks of depth 2 to 5, linear and ReLU,"
        f" fully connected, sparse, diagonal and with a shared filter, both losses, to t = {END:g}",
        (
            *_rates(context),
            *drift_numbers(drifts),
            Number("events met", float(n_events), 1.0, relation="at_least", source="exact"),
            small("largest drift of |w_j|² - v_j², relative to the neuron", max(neuron), 1e-7),
            small("largest drift of |W|² - |v|², relative to |θ|²", max(layer), 1e-7),
            Number(
                "largest | |w_j| - |v_j| | over |θ| at log |θ| = 30; control: at the start",
                max(last),
                0,
                1e-9,
                control=min(first),
            ),
        ),
        note="Runs that far have depth 2. For every depth the rates are compared: d/dt |W⁽ˡ⁾|² ="
        " 2 <W⁽ˡ⁾, Σ λ_i ∂q_i/∂W⁽ˡ⁾> is the same for all layers, as each layer is homogeneous of degree 1; likewise for"
        " a neuron's rows and columns."
        " The control has the activation z², of degree 2.",
    )


def _uneven(state: Network) -> float:
    """Return the largest | |w_j| - |a_j| | over |θ|."""
    return float(np.abs(np.linalg.norm(state.W, axis=1) - np.abs(state.a)).max() / state.norm)


def _rates(context: Context) -> list[Number]:
    """Compare the rates of growth of the layers and neurons of random networks of every kind and depth 2 to 5."""
    rng = np.random.default_rng([context.seed, 1])
    X, y = rng.standard_normal((4, 3)), np.array([1.0, -1.0, 1.0, -1.0])
    numbers = []
    for name, phi in ACTIVATIONS.items():
        layers, neurons = _spread(X, y, phi, rng)
        squared = _spread(X, y, lambda z: z * z, rng)
        numbers += [
            Number(
                f"{name}, depths 2 to 5: largest difference of two layers' rates", layers, 0, 1e-9, control=squared[0]
            ),
            Number(f"{name}, depths 2 to 5: and of a neuron's in- and outgoing", neurons, 0, 1e-9, control=squared[1]),
        ]
    return numbers


def _spread(X: FloatArray, y: FloatArray, phi: Phi, rng: np.random.Generator) -> tuple[float, float]:
    """Return the largest differences of the rates <W, ∂f> between layers, and between the sides of a neuron."""
    layers = neurons = 0.0
    for depth in (2, 3, 4, 5):
        widths = (3, *[4] * (depth - 1), 1)
        sizes = [a * b for a, b in pairwise(widths)]
        rate = np.zeros(sum(sizes))
        while not rate.any():  # a deep ReLU network may be dead on every sample
            theta = rng.standard_normal(sum(sizes))
            rate = theta * (rng.exponential(size=len(y)) @ gradients(deep(X, y, widths, phi), theta))
        parts = [
            part.reshape(b, a)
            for part, (a, b) in zip(np.split(rate, np.cumsum(sizes)[:-1]), pairwise(widths), strict=True)
        ]
        scale = float(np.abs(rate).sum())
        layers = max(layers, float(np.ptp([part.sum() for part in parts])) / scale)
        for below, above in pairwise(parts):
            neurons = max(neurons, float(np.abs(below.sum(axis=1) - above.sum(axis=0)).max()) / scale)
        x = np.abs(rng.standard_normal(3))
        rate = np.reshape(point := np.abs(rng.standard_normal(3 * depth)), (depth, 3)) * np.reshape(
            gradients(diagonal(x, depth, phi), point)[0], (depth, 3)
        )
        neurons = max(neurons, float(np.ptp(rate, axis=0).max() / rate.sum()))
    filters, point = np.abs(rng.standard_normal((2, 2))), np.abs(rng.standard_normal(4))
    rate = point * gradients(convolution(filters, phi), point)[0]
    return max(layers, float(abs(rate[:2].sum() - rate[2:].sum()) / rate.sum())), neurons


def _free(seed: int) -> Solution:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((8, 3))
    y = np.where(X @ rng.standard_normal(3) > 0, 1, -1)
    return integrate(
        Dataset(X, y), Network(0.3 * rng.standard_normal((10, 3)), 0.3 * rng.standard_normal(10)), until=LATE
    )


def product_bound(context: Context) -> Outcome:
    """Test Lemma C.5, the inequality of means, on random numbers and at equality."""
    rng = np.random.default_rng(context.seed)
    worst = {}
    for m in (2, 3, 5, 10):
        a = np.exp(rng.uniform(0, 1, (context.pick(10_000, 200_000), 1)) * rng.standard_normal((1, m)))
        a = a * rng.choice(np.array([-1.0, 1.0]), a.shape)
        a[:, 0] *= np.sign(a.prod(axis=1))  # real numbers with a product C^m of at least 0
        size = rng.uniform(0, 1, len(a)) * a.prod(axis=1) ** (1 / m)  # any C up to the greatest one, and that one
        size[::2] = a[::2].prod(axis=1) ** (1 / m)
        worst[m] = float((np.sum(a**2, axis=1) / (m * size**2)).min())
    return Outcome(
        f"random real a_1 … a_m of either sign, m = 2, 3, 5, 10, with Π a_j >= C^m; seed {context.seed}",
        tuple(
            Number(f"m = {m}: least ratio of Σ a_j² to m C²", value, 1.0, 1e-12, "at_least", wrong=1.01)
            for m, value in worst.items()
        )
        + tuple(
            Number(f"m = {m}: the bound is met nearly", value, 1.001, 0.0, "at_most", "exact")
            for m, value in worst.items()
        ),
    )


CLAIMS = (
    Claim(
        "VSS-T2.1",
        "VSS",
        "Theorem 2.1",
        "From which loss on the flow converges",
        "Once the loss is below 1, and so every sample is classified correctly, the loss tends to 0, the norm to"
        " infinity, and the direction to a KKT point of the max-margin problem.",
        ("B-002-2.1", "D-23"),
        threshold,
        "differs",
        "'L(θ(t₀)) < 1, namely, Φ classifies every x_i correctly' for 'either the exponential or the logistic loss' "
        "(Theorem 2.1). True for the exponential loss. The logistic loss is ln 2 = 0.693 < 1 at a margin of 0, and "
        "0.974 < 1 at -0.5: a dead network has the loss ln 2 for ever. Corrected: the threshold is ln 2 for the "
        "logistic loss.",
    ),
    Claim(
        "VSS-T2.1-starts",
        "VSS",
        "Theorem 2.1, Appendix C",
        "The paper's own starts are below the right threshold",
        "All printed starts have a loss from which Theorem 2.1 applies.",
        ("B-002-2.1", "D-23"),
        starts_below,
    ),
    Claim(
        "VSS-LC1",
        "VSS",
        "Lemmas C.1 to C.4",
        "Conserved differences of norms",
        "The differences of the squared norms of incoming and outgoing weights, of a neuron or of layers, do not"
        " change; so the two norms of each neuron agree in the limit.",
        ("B-002-C1..C3", "B-002-C4"),
        invariants,
    ),
    Claim(
        "VSS-LC5",
        "VSS",
        "Lemma C.5",
        "A product bounds a sum of squares",
        "If the product of m numbers is at least C^m, the sum of their squares is at least m C².",
        ("B-002-C5",),
        product_bound,
    ),
)
