"""[CEL] Sections 6 and 7: the limit is the teacher, and not always the shortest interpolator."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from ..._validation import FloatArray
from ...convex import certify
from ...datasets import Dataset
from ...early import early_alignment
from ...networks import Network
from .._claim import Claim, Context, Number, Outcome
from ._data import active, correlated, draw_start, pull, run, teacher, widest

# λ over exp(-|γ|t), with t the last crossing of a neuron that lives: it grows from then on, ends with a size of about
# exp(-|γ|t), and its angle to the teacher with λ over it.
_SCALES = (1e-5, 1e-7)
_WIDTH, _D, _N = 30, 3, 6
_SPLIT = 361  # directions of a cone of two vectors that are tried for M
_CLEAR = 0.02  # |M| above which the grid's error cannot change its sign


def _limits(context: Context) -> Outcome:
    """Take the limits from three scales, and measure how far they are from the teacher alone."""
    rng = np.random.default_rng(context.seed)
    n_draws = context.pick(4, 40)
    loss, start_loss, slopes = 0.0, np.inf, []
    size, off, large, uneven = 0.0, 0.0, np.inf, np.inf
    for _ in range(n_draws):
        v = teacher(rng, _D)
        data, start = correlated(rng, v, _N), draw_start(rng, _WIDTH, _D)
        angles = []
        early = early_alignment(data, start.z, start.signs, loss="squared", reduction="mean")
        last = early.t_last[(early.status == "extremal") & (start.signs > 0)].max(initial=0.0)
        for scale in (1.0, *_SCALES):
            sol = run(data, start.network(scale * np.exp(-pull(data) * last) if scale < 1.0 else scale))
            net = sol.limit.network
            living = active(net, sol.final)
            angles.append(widest(np.vstack((living, v))))
            error = abs(float((living**2).sum()) - 1.0)
            if scale < 1.0:
                loss = max(loss, float(0.5 * ((net(data.X) - data.y) ** 2).mean()))
            else:
                uneven = min(uneven, error)
        large, start_loss = min(large, angles[0]), min(start_loss, float(0.5 * (data.y**2).mean()))
        off = max(off, angles[-1])
        size = max(size, error)
        slopes.append(np.log(angles[-2] / angles[-1]) / np.log(_SCALES[-2] / _SCALES[-1]))
    numbers = (
        Number("largest loss of a limit; control: of f = 0", loss, 0.0, 1e-18, control=start_loss),
        Number("largest angle (degrees) of an active neuron to another or to v* at the least λ; control: at λ = 1", off,
               1e-2, relation="at_most", control=large),
        Number("largest error of Σ |w_j|² = 1 over active neurons at the least λ; control: at λ = 1", size, 0.0,
               1e-9, control=uneven),
        Number("exponent of λ in the angle, median", float(np.median(slopes)), 1.0, 0.02, source="exact", wrong=0.5),
    )  # fmt: skip
    ran = (
        f"{n_draws} draws of {_N} inputs in {_D} dimensions within 45° of the teacher, {_WIDTH} neurons, λ = 1,"
        f" and 1e-5 and 1e-7 times the size that the last neuron will have, to their limits; seed {context.seed}."
    )
    note = "Theorem 7 is on the limit λ → 0 and names no rate; the angles fall like λ, as in the tables of Appendix I."
    return Outcome(ran, numbers, note=note)


def _norms(context: Context) -> Outcome:
    """Draw inputs with M of either sign and certify the teacher against the convex program of interpolation."""
    rng = np.random.default_rng(context.seed)
    n_draws = context.pick(4, 30)
    found: dict[bool, list[float]] = {True: [], False: []}
    ends = 0.0
    while min(len(gaps) for gaps in found.values()) < n_draws:
        v = teacher(rng, _D)
        data = correlated(rng, v, _D)
        m = measure(data, v)
        if abs(m) < _CLEAR or len(found[m > 0]) == n_draws:
            continue
        proof = certify(Network([v], [1.0]), data, loss="squared")
        found[m > 0].append(float(1.0 - proof.lower))
        if m > 0:
            limit = run(data, draw_start(rng, _WIDTH, _D).network(1e-6)).limit
            ends = max(ends, abs(float((np.abs(limit.network.a) * np.linalg.norm(limit.network.W, axis=1)).sum()) - 1))
    numbers = (
        Number("M < 0: largest 1 - least Σ |a_j||w_j|; control: the least of M > 0", max(found[False]), 0.0, 1e-7,
               control=min(found[True])),
        Number("M > 0: least 1 - least Σ |a_j||w_j|; control: the largest of M < 0", min(found[True]), 1e-6,
               relation="at_least", control=max(found[False])),
        Number("M > 0: the flow from λ = 1e-6 ends at Σ |a_j||w_j| = 1, largest error; control: if at the least norm",
               ends, 0.0, 1e-6, control=min(found[True])),
    )  # fmt: skip
    ran = (
        f"{n_draws} draws of {_D} inputs in {_D} dimensions within 45° of the teacher with M > {_CLEAR} and as many"
        f" with M < -{_CLEAR}; the teacher against the convex program with its dual; seed {context.seed}."
    )
    note = (
        "Σ |a_j||w_j| is half of |θ|² for balanced networks, and 1 for the teacher. M is taken on a grid of the cones;"
        " draws near 0 are left out."
    )
    return Outcome(ran, numbers, note=note)


def measure(data: Dataset, v: FloatArray) -> float:
    """Return M = max cos∠(p, q) - sin∠(p, v*) over the cones of complementary columns of X⁻¹, for three inputs."""
    chi = np.linalg.inv(data.X.T)  # rows with χ_k·x_i = δ_ki
    best = -np.inf
    for pair in combinations(range(3), 2):
        alone = chi[next(k for k in range(3) if k not in pair)]
        share = np.linspace(0.0, 1.0, _SPLIT)[:, None]
        lengths = np.linalg.norm(chi[list(pair)], axis=1, keepdims=True)
        cone = share * (chi[pair[0]] / lengths[0]) + (1 - share) * (chi[pair[1]] / lengths[1])
        cone /= np.linalg.norm(cone, axis=1, keepdims=True)
        unit = alone / np.linalg.norm(alone)
        shared = cone @ unit
        best = max(best, float((shared - _sine(cone, v)).max()), float(shared.max() - _sine(unit[None], v)[0]))
    return best


def _sine(units: FloatArray, v: FloatArray) -> FloatArray:
    return np.asarray(np.linalg.norm(units - np.outer(units @ v, v), axis=1))


CLAIMS = (
    Claim(
        "CEL-T7",
        "CEL",
        "Theorem 7",
        "The limit is the teacher alone",
        "The flow ends at zero loss, and as λ tends to 0 the limit has rank one: every neuron that is not zero points"
        " along v* with a > 0, and their squares add up to |v*| = 1.",
        ("CEL T7",),
        _limits,
    ),
    Claim(
        "CEL-T8",
        "CEL",
        "Theorem 8",
        "The limit need not have the least norm",
        "For n = d, networks of rank one along v* have the least norm of all interpolators if M < 0, and if M > 0 they"
        " do not.",
        ("CEL T8",),
        _norms,
    ),
)
