"""[LLWA] Section 3, Section 5.3 and App. F: the late phase and two neurons."""

from __future__ import annotations

import numpy as np

from ..._validation import FloatArray
from ...convex import certify, max_margin, svm, to_network
from ...datasets import Dataset, lyu_figure1, symmetric, vardi_shamir_srebro
from ...flow import Stop, integrate
from ...networks import Network
from .._claim import Claim, Context, Number, Outcome
from ._smoothed import SMOOTHED
from ._tools import (
    SYMMETRIC_LEAK,
    balanced,
    limit_of_flow,
    mean,
    scaled,
    settle,
    slope_of,
    symmetric_example,
    unit,
)

_KKT_TOL = 1e-8
# Where the states of Theorem 3.1 are looked at: log t = 100, and log |θ| = 330, just below the largest with states. On
# most draws the KKT residual falls like 1/√log t; where the direction drifts along a valley, like 1/log |θ| or so.
_SOON, _LATE = 100.0, 330.0


def kkt_directions(w: FloatArray) -> tuple[FloatArray, ...]:
    """Return the three KKT directions (w1, w2, a1, a2) with a1 >= 0 >= a2 of symmetric data, as rows (w, a)."""
    zero = np.zeros(len(w) + 1)
    plus, minus = np.append(w, 1), np.append(-w, -1)
    return np.array([plus, minus]) / 2, np.array([plus, zero]) / np.sqrt(2), np.array([zero, minus]) / np.sqrt(2)


def _pairs(context: Context) -> Outcome:
    leak, errors, widths = SYMMETRIC_LEAK, [], []
    for k in range(context.pick(12, 150)):
        data, w = _separated(k, context.seed)
        rng = np.random.default_rng([context.seed, k])
        W = 10.0 ** rng.uniform(-4, 0) * _with_product(rng, w)
        limit = limit_of_flow(data, Network(W, np.linalg.norm(W, axis=1) * [1, -1], leak=leak))
        errors.append(float(np.abs(limit.network.theta - kkt_directions(w)[0]).max()))
        widths.append(limit.certified)
    printed = np.concatenate((w, -w, [1.0, -1.0])) / 4
    data = symmetric_example()
    w = svm(data).direction
    residuals = [_residual(rows, data) for rows in kkt_directions(w)]
    off = [_residual(rows, data) for rows in kkt_directions(unit(mean(data)))]
    found, first = _ends_of_pairs(context, data, w)
    numbers = (
        Number("largest distance of the limit from ½(w*, -w*, 1, -1)", max(errors), 0, 1e-7, source="exact"),
        Number("all limits certified", all(widths), True, source="exact"),
        Number(
            "norm of the printed direction ¼(w*, -w*, 1, -1)", float(np.linalg.norm(printed)), 1, 1e-12, source="print"
        ),
        Number("norm of ½(w*, -w*, 1, -1)", 2 * float(np.linalg.norm(printed)), 1, 1e-12, source="exact"),
        Number(
            "KKT residual of the three directions, the largest; control: with μ for w*",
            max(residuals),
            0,
            _KKT_TOL,
            control=max(off),
        ),
        Number(
            "limits of other pairs a1 >= 0 >= a2, farthest from the three; control: their starts",
            found,
            0,
            1e-6,
            control=first,
        ),
    )
    ran = f"{len(errors)} pairs as in the theorem on symmetric data with n = 6 to 20; random balanced pairs beside them"
    note = "The printed ¼(w*, -w*, 1, -1) has norm 1/2; the proofs in App. F have ½, the limit of θ/|θ|."
    return Outcome(ran, numbers, note=note)


def _separated(k: int, seed: int) -> tuple[Dataset, FloatArray]:
    data = symmetric_example() if k == 0 else symmetric(6 + 2 * (k % 8), 2 + k % 3, seed=seed + k)
    return data, svm(data).direction


def _with_product(rng: np.random.Generator, w: FloatArray) -> FloatArray:
    """Draw w1 with <w1, w*> > 0 and w2 with <w2, w*> < 0."""
    W = rng.standard_normal((2, len(w)))
    return np.asarray(W * np.sign(W @ w)[:, None] * np.array([[1.0], [-1.0]]))


def _residual(rows: FloatArray, data: Dataset) -> float:
    found = certify(Network(rows[:, :-1], rows[:, -1], leak=SYMMETRIC_LEAK), data).kkt
    return np.inf if found is None else found.residual


def _ends_of_pairs(context: Context, data: Dataset, w: FloatArray) -> tuple[float, float]:
    """Return how far limits of pairs with any w1, w2 are from the three directions at most, and their starts."""
    far = first = 0.0
    for k in range(context.pick(10, 150)):
        rng = np.random.default_rng([context.seed, 1, k])
        start = scaled(balanced(2, 2, rng, leak=SYMMETRIC_LEAK), 0.3)
        start = Network(start.W, abs(start.a) * [1, -1], leak=SYMMETRIC_LEAK)
        end = limit_of_flow(data, start).network.theta
        far = max(far, min(float(np.abs(end - rows).max()) for rows in kkt_directions(w)))
        first = max(first, min(float(np.abs(start.theta / start.norm - rows).max()) for rows in kkt_directions(w)))
    return far, first


def _stable(context: Context) -> Outcome:
    """Start far out, near a direction of greatest margin, ever closer."""
    eps = np.geomspace(1e-1, 1e-4, 4)
    moved, gaps, sure = np.zeros(len(eps)), [], True
    for k in range(context.pick(3, 20)):
        data = (symmetric_example(), lyu_figure1("middle"), symmetric(10, 3, seed=context.seed + k))[k % 3]
        rng = np.random.default_rng([context.seed, k])
        best = _split(to_network(max_margin(data, leak=SYMMETRIC_LEAK)), rng)
        margin = float((data.y * best(data.X)).min())
        for i, e in enumerate(eps):
            noise = rng.standard_normal(best.theta.shape)
            rows = best.theta + e * noise / np.linalg.norm(noise)
            size = np.sqrt(20 / margin)  # margins about 20: the loss is far below ln 2/n
            start = Network(size * rows[:, :-1], size * rows[:, -1], leak=SYMMETRIC_LEAK)
            limit = settle(data, start, turn=1e-4).limit
            moved[i] = max(moved[i], float(np.linalg.norm(limit.network.theta - best.theta)))
            gaps.append(abs(limit.margin - margin) / margin)
            sure &= limit.certified
    local, away, all_local = _local(context)
    numbers = (
        Number("all limits certified", sure and all_local, True, source="exact"),
        Number(
            "[VSS] 4.3, a local maximum that is not global: largest relative difference of the limit's margin from its;"
            " control: γ*",
            max(local),
            0,
            1e-7,
            control=away,
        ),
        Number(
            "largest relative difference of the limit's margin from γ*; control: the local maximum",
            max(gaps),
            0,
            1e-7,
            control=away,
        ),
        Number("largest distance of the limit at ε = 1e-4; control: at ε = 0.1", moved[-1], 0, 1e-3, control=moved[0]),
        Number("exponent of that distance in ε", slope_of(eps, np.maximum(moved, 1e-15)), 0.5, 0, "at_least", "exact"),
    )
    ran = (
        "greatest margins on three kinds of data, ε = 0.1 to 1e-4 away, neurons split in three, margins about 20; the"
        " limit of [VSS] Theorem 4.3, which is a local maximum only"
    )
    return Outcome(ran, numbers)


def _local(context: Context) -> tuple[list[float], float, bool]:
    """Start 1e-2 around the limit of [VSS] Theorem 4.3; return relative differences of margins from its, and of γ*.

    Beside them whether all limits are certified.
    """
    case = vardi_shamir_srebro("4.3")
    best = _unit_norm(Network(*case.limit))
    margin = float((case.data.y * best(case.data.X)).min())
    found, sure = [], True
    for k in range(context.pick(6, 60)):
        rng = np.random.default_rng([context.seed, 3, k])
        rows = best.theta + 1e-2 * rng.standard_normal(best.theta.shape)
        size = np.sqrt(20 / margin)
        start = Network(size * rows[:, :-1], size * rows[:, -1])
        limit = integrate(case.data, start, until=Stop(direction=1e-4)).limit
        found.append(abs(limit.margin / margin - 1))
        sure &= limit.certified
    return found, 1 - margin / max_margin(case.data).margin, sure


def _unit_norm(net: Network) -> Network:
    return scaled(net, 1 / net.norm)


def _split(net: Network, rng: np.random.Generator) -> Network:
    """Return the network at norm 1 with every neuron split in three, which leaves f as it is."""
    shares = rng.uniform(0.2, 1, (net.width, 3))
    shares /= np.linalg.norm(shares, axis=1, keepdims=True) * net.norm
    rows = (shares[:, :, None] * net.theta[:, None, :]).reshape(-1, net.dim + 1)
    return Network(rows[:, :-1], rows[:, -1], leak=net.leak)


def _below_threshold(context: Context) -> Outcome:
    """Run far out from random networks that fit, and look at every run: loss, norm, state and limit."""
    n_runs = context.pick(12, 60)
    rows, ended, certified, nearer = [], 0, 0, 0
    for k in range(n_runs):
        rng = np.random.default_rng([context.seed, k])
        data = Dataset(rng.standard_normal((4, 3)), np.where(np.arange(4) < 2, 1, -1))
        start = _fitting(data, rng)
        run = integrate(data, start, until=Stop(log_norm=_LATE), reduction="mean")
        limit = run.limit
        if not limit.certified:
            limit = integrate(data, start, until=Stop(limit=True), reduction="mean").limit
        soon, end = run.at(log_t=_SOON), limit.network
        ended += run.status == "reached_log_norm"
        certified += limit.certified
        nearer += _apart(run.final, end) < _apart(soon, end) < _apart(start, end)
        residuals = [
            _kkt_residual(net, data, near) for net, near in ((soon, 0.1), (run.final, 1e-3), (end, 1e-7), (start, 1.0))
        ]
        threshold = run.log_loss[0] - np.log(np.log(2) / data.n)
        rows.append((threshold, run.log_loss[0], run.log_loss_end / run.log_t_end, *residuals))
    numbers = (
        *_tending(np.array(rows)),
        Number(f"runs whose norm grows to e^{_LATE:g}, of {n_runs}", ended, n_runs),
        Number(f"runs that tend to a certified limit, of {n_runs}", certified, n_runs, source="exact"),
        Number(f"runs with a direction nearer to it at log t = 100 than at the start, and nearer still at the end, of"
               f" {n_runs}", nearer, n_runs),
    )  # fmt: skip
    ran = f"{n_runs} random data sets (n = 4, d = 3), 12 neurons that fit them, not balanced, α = 1/2"
    note = (
        "Every run counts. The residuals are those of the states, by least squares over all multipliers, and know"
        " nothing of the limit."
    )
    return Outcome(ran, numbers, note=note)


def _tending(table: FloatArray) -> tuple[Number, ...]:
    """Compare losses and KKT residuals of runs with Theorem 3.1, from the rows of `_below_threshold`."""
    threshold, at_first, rate, soon, late, limit, start = table.T
    return (
        Number("largest log of L(θ(0)) over ln 2/n, below 0", threshold.max(), 0, 0, "at_most", "exact"),
        Number(
            f"largest log L over log t at log |θ| = {_LATE:g}, -1 if like 1/t; control: log L of a start over log t ="
            " 100",
            rate.max(),
            -1,
            1e-3,
            control=at_first.max() / _SOON,
        ),
        Number(
            f"largest KKT residual of a state at log |θ| = {_LATE:g}, below 1/log |θ|; control: the least at log t ="
            " 100",
            late.max(),
            1 / _LATE,
            0,
            "at_most",
            control=soon.min(),
        ),
        Number("largest KKT residual of a limit; control: of a start", limit.max(), 0, _KKT_TOL, control=start.min()),
    )


def _apart(one: Network, two: Network) -> float:
    """Return the distance of the directions θ/|θ| of two networks."""
    return float(np.linalg.norm(one.theta / one.norm - two.theta / two.norm))


def _kkt_residual(net: Network, data: Dataset, near: float) -> float:
    """Return the KKT residual of a network, with multipliers on margins within the part `near` of the least."""
    found = certify(net, data, support_tol=near).kkt
    return np.inf if found is None else found.residual


def _fitting(data: Dataset, rng: np.random.Generator) -> Network:
    """Return a random network with output weights that make every margin at least 4 (L < ln 2/n)."""
    W = rng.standard_normal((12, data.d))
    Z = data.X @ W.T
    a = np.linalg.lstsq(np.maximum(Z, SYMMETRIC_LEAK * Z), data.y, rcond=None)[0]
    net = Network(W, a, leak=SYMMETRIC_LEAK)
    return scaled(net, 2.0 / np.sqrt(float((data.y * net(data.X)).min())))


CLAIMS = (
    Claim(
        "LLWA-T3.1",
        "LLWA",
        "Theorem 3.1",
        "From a small loss to a KKT direction",
        "Where L(θ(0)) < ln 2/n, the loss goes to 0, the norm to infinity and the direction to a KKT point.",
        ("B-003-3.1",),
        _below_threshold,
    ),
    SMOOTHED,
    Claim(
        "LLWA-T5.5",
        "LLWA",
        "Theorem 5.5, Lemmas F.2, F.3",
        "Two neurons on symmetric data",
        "Two balanced neurons of opposite sign on the right sides tend to (w*, -w*, 1, -1), scaled to norm 1; there are"
        " only two other KKT directions with a1 >= 0 >= a2.",
        ("B-003-5.5 / F.3", "D-28"),
        _pairs,
        "misprint",
        "¼(w*, -w*, 1, -1) is printed in Theorem 5.5: a vector of norm 1/2 where a unit vector stands. The factor is "
        "1/2, as in Lemma F.3.",
    ),
    Claim(
        "LLWA-T5.6",
        "LLWA",
        "Theorem 5.6",
        "Directions of greatest margin hold the flow",
        "From far out and close to such a direction the flow ends at a direction of the same margin, close to it.",
        ("B-003-5.6",),
        _stable,
    ),
)
