"""[PL] on the early phase: extremal directions, their sectors, and where small neurons end."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..._validation import FloatArray, PatternArray
from ...analysis import ExtremalDirection, early_objective, extremal_directions, plane_sectors
from ...datasets import Dataset, orthogonally_separable, phuong_lampert, wang_pilanci
from ...early import early_alignment
from ...figures import panels, style
from ...flow import Stop, integrate
from ...networks import Network
from .._claim import Claim, Context, Number, Outcome

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_ROUNDING = 1e-9  # of unit vectors that come out of small projections
_BARELY_LEARNT = 0.69  # a mean loss just below log 2, where the network begins to be seen
_TINY = 1e-6  # a scale of the start at which the early phase is over long before the network fits anything

# Two positive samples, and two negative ones of which the first is orthogonal to both: its sector entry is 0.
_ZERO_X = [[1.0, 1.0, 0.0], [1.0, 2.0, 0.0], [0.0, 0.0, 1.0], [-1.0, -0.5, 0.3]]
WITH_ZERO = Dataset(_ZERO_X, [1, 1, -1, -1], name="with an orthogonal sample")


def predicted_sector(data: Dataset, sign: int) -> PatternArray:
    """Return the extremal sector of (13) for sign +1, (14) for sign -1."""
    own = data.y == sign
    against = (data.X @ data.X[own].T < 0).any(axis=1)
    return np.where(own, 1, np.where(against, -1, 0)).astype(np.int8)


def _lemma2(context: Context) -> Outcome:
    """Look into every cell of small separable data, and compare what is extremal with the printed sectors."""
    draws = [orthogonally_separable(8, 3, seed=context.seed + k) for k in range(context.pick(4, 60))]
    draws += [orthogonally_separable(10, 2, seed=context.seed + k) for k in range(context.pick(3, 40))]
    draws += [wang_pilanci("obtuse"), WITH_ZERO]
    counts, sectors, directions, values = [], 0, 0.0, 0.0
    for data in draws:
        found = extremal_directions(data)
        for sign in (1, -1):
            mine = [e for e in found if e.sign == sign]
            counts.append(len(mine))
            total = data.X[data.y == sign].sum(axis=0)
            size = float(np.linalg.norm(total))
            sectors += bool((mine[0].sector == predicted_sector(data, sign)).all())
            directions = max(directions, float(np.linalg.norm(mine[0].direction - total / size)))
            values = max(values, abs(mine[0].value / (sign * size / 2) - 1.0))
    zeros = int((predicted_sector(WITH_ZERO, 1) == 0).sum())
    numbers = (
        Number("fewest extremal directions of one sign", min(counts), 1),
        Number("most extremal directions of one sign", max(counts), 1),
        Number("sectors that are those of (13) and (14)", sectors, len(counts)),
        Number("entries 0 in the positive sector where a sample is orthogonal to all positive ones", zeros, 1),
        Number("largest error of the direction Σ x_i / |Σ x_i|", directions, 0.0, _ROUNDING, source="exact"),
        Number("largest relative error of G = ±½|Σ x_i|", values, 0.0, _ROUNDING, source="exact"),
    )
    ran = f"{len(draws)} separable data sets in 2 and 3 dimensions, all cells of each searched."
    note = "The sums run over the samples of one class: the extremal directions are the class sums, in closed form."
    return Outcome(ran, numbers, {"objective": _objective_figure(wang_pilanci("obtuse"))}, note=note)


def _objective_figure(data: Dataset) -> Figure:
    """Draw G on the circle, with the boundaries of the sectors and the two extremal directions."""
    angle = np.linspace(0.0, 2 * np.pi, 721)
    value = early_objective(data, np.column_stack((np.cos(angle), np.sin(angle))))
    sectors = plane_sectors(data)
    with style():
        figure, ax = panels(1, width=5.2, height=2.7)
        ax.plot(np.degrees(angle), value, color="#000000")
        for boundary in np.degrees(sectors.boundaries):
            ax.axvline(boundary, color="#D9D9D9", linewidth=0.8, zorder=0)
        for extremal in sectors.extremal:
            at = np.degrees(np.arctan2(extremal.direction[1], extremal.direction[0])) % 360
            colour, text = ("#D55E00", "positive") if extremal.sign > 0 else ("#0072B2", "negative")
            ax.plot(at, extremal.value, "o", color=colour, markersize=6, label=f"{text} extremal direction")
        ax.set_xticks(range(0, 361, 60))
        ax.set_xlabel("direction of $w$ (degrees)")
        ax.set_ylabel("$G(w)$")
        ax.legend(loc="upper center")
    figure.set_label(
        "G on the circle for two samples at 125.1°: one strict maximum, one strict minimum; boundaries in grey."
    )
    return figure


def _lemma1(context: Context) -> Outcome:
    """Follow neurons of vanishing size, and the flow from a tiny start, to the end of the early phase."""
    m = context.pick(60, 300)
    recipe = phuong_lampert(context.pick(60, 500), 20, seed=context.seed)
    fates, flow_fates, first = [], [], []
    for data in (recipe, wang_pilanci("obtuse"), orthogonally_separable(20, 3, seed=context.seed)):
        net = Network.init(m, data.d, scale=_TINY, seed=context.seed)
        sign = np.sign(net.a)
        first.append(_fate(np.sign(net.W @ data.X.T).astype(np.int8), sign, data))
        fates.append(_fate(early_alignment(data, net.W, sign).sector, sign, data))
        last = integrate(data, net, until=Stop(mean_loss=_BARELY_LEARNT)).final.pattern
        assert last is not None  # networks of a solution carry their pattern
        flow_fates.append(_fate(last, sign, data))
    fate, flow_fate = np.concatenate(fates), np.concatenate(flow_fates)
    numbers = (
        Number(
            "neurons of vanishing size outside the three kinds; control: at the start",
            int((fate == "other").sum()),
            0,
            control=int((np.concatenate(first) == "other").sum()),
        ),
        Number(
            "neurons of the flow outside the three kinds; control: at the start",
            int((flow_fate == "other").sum()),
            0,
            control=int((np.concatenate(first) == "other").sum()),
        ),
        Number("neurons that end differently in the two", int((fate != flow_fate).sum()), 0, source="exact"),
        *(Number(f"neurons {kind}", int((fate == kind).sum())) for kind in ("dead", "in σ⁺", "in σ⁻")),
    )
    ran = (
        f"{m} neurons each on {recipe.n} samples of the recipe of Section 5.1 in 20 dimensions, on the two planar"
        f" samples at 125.1° and on 20 samples in 3 dimensions: `early_alignment`, and the flow from scale {_TINY:g}"
        f" to a mean loss of {_BARELY_LEARNT:g}."
    )
    return Outcome(ran, numbers)


def _fate(pattern: PatternArray, sign: FloatArray, data: Dataset) -> np.ndarray[tuple[int], np.dtype[np.str_]]:
    """Name the kind of each neuron of Lemma 1, or "other"."""
    in_plus = (pattern == predicted_sector(data, 1)).all(axis=1) & (sign > 0)
    in_minus = (pattern == predicted_sector(data, -1)).all(axis=1) & (sign < 0)
    dead = (pattern <= 0).all(axis=1)
    return np.select([dead, in_plus, in_minus], ["dead", "in σ⁺", "in σ⁻"], "other")


def _lemma_a1(context: Context) -> Outcome:
    """Compute g(w) of (31) at every extremal direction, also of data whose directions lie on boundaries."""
    rng = np.random.default_rng(context.seed)
    error, plain, on_boundaries, searched = 0.0, 0.0, 0, 0
    for _ in range(context.pick(6, 80)):
        data = Dataset(rng.standard_normal((7, 3)), [1, -1, 1, -1, 1, -1, 1])
        for found in extremal_directions(data):
            pull = projected_pull(data, found)
            size = float(np.linalg.norm(pull))
            error = max(error, float(np.linalg.norm(pull / size - found.sign * found.direction)))
            whole = unit_pull(data, found)
            plain = max(plain, float(np.linalg.norm(whole - found.sign * found.direction)))
            on_boundaries += bool((found.sector == 0).any())
            searched += 1
    numbers = (
        Number("largest distance of g(w)/|g(w)| from ±w; control: without P_w", error, 0.0, 1e-7, control=plain),
        Number("extremal directions that lie on a boundary", on_boundaries, 1, relation="at_least", source="exact"),
        Number("extremal directions", searched),
    )
    return Outcome("Random data, n = 7, d = 3, random labels: all extremal directions of each.", numbers)


def unit_pull(data: Dataset, found: ExtremalDirection) -> FloatArray:
    """Return the direction of ½ Σ y_i 1[w·x_i > 0] x_i, without the projection."""
    pull = 0.5 * (data.y * (found.sector > 0)) @ data.X
    return np.asarray(pull / np.linalg.norm(pull))


def projected_pull(data: Dataset, found: ExtremalDirection) -> FloatArray:
    """Return g(w) = ½ Σ y_i 1[w·x_i > 0] P_w x_i, P_w the projection off the samples on whose boundaries w lies."""
    held = data.X[found.sector == 0]
    pull = 0.5 * (data.y * (found.sector > 0)) @ data.X
    if len(held):
        pull = pull - np.linalg.pinv(held) @ (held @ pull)
    return np.asarray(pull)


def _lemma_a2(context: Context) -> Outcome:
    """Check (37), and the three terms of the equation that its proof cites by a wrong number."""
    rng = np.random.default_rng(context.seed)
    data = Dataset(rng.standard_normal((8, 3)), [1, -1, 1, 1, -1, -1, 1, -1])
    boundary_error = formula_error = wrong = 0.0
    for _ in range(context.pick(50, 2000)):
        w = np.cross(
            data.X[0], rng.standard_normal(3)
        )  # on the boundary of the first sample, where the lemma says most
        w /= np.linalg.norm(w)
        v = rng.standard_normal(3)
        z, dz = data.X @ w, data.X @ v
        z[0] = 0.0
        with np.errstate(divide="ignore"):
            eps = 0.25 * np.min(np.where(z * dz < 0, -z / dz, 1.0))  # half of the paper's eps_max, at most 1/4
        moved = w + eps * v
        active = (z + eps * dz > 0) * 0.5 * data.y
        left = float(early_objective(data, [moved / np.linalg.norm(moved)])[0])
        right = (float(early_objective(data, [w])[0]) + eps * float(active @ dz)) / float(np.linalg.norm(moved))
        formula_error = max(formula_error, abs(left - right))
        half = (float(early_objective(data, [w])[0]) + 0.5 * eps * float(active @ dz)) / float(np.linalg.norm(moved))
        wrong = max(wrong, abs(left - half))
        newly = (z + eps * dz > 0) & (z <= 0)
        boundary_error = max(boundary_error, float(np.abs(z[newly]).max(initial=0.0)))
    numbers = (
        Number("largest error of (37); control: ε/2", formula_error, 0.0, 1e-12, source="exact", control=wrong),
        Number("largest |w·x_i| where the second term of (39) is not 0", boundary_error, 0.0, source="exact"),
        Number("equation that has the three terms", "(39)", "(47)", source="print"),
    )
    ran = "8 random samples in 3 dimensions, random w on the boundary of one of them and random steps."
    return Outcome(ran, numbers)


CLAIMS = (
    Claim(
        "PL-L1",
        "PL",
        "Lemma 1",
        "Every neuron dies or reaches an extremal sector",
        "From a small balanced start there is a time at which every neuron is inactive on all samples, or positive and"
        " in the positive extremal sector σ⁺, or negative and in σ⁻.",
        ("B-004-L1",),
        _lemma1,
    ),
    Claim(
        "PL-L2",
        "PL",
        "Lemma 2",
        "One extremal sector of each sign",
        "On separable data G(w) = ½ Σ y_i (w·x_i)₊ has exactly one strict local maximum and one strict local minimum"
        " on the sphere. The sector of the maximum is +1 on its class, -1 on samples of the other class that have a"
        " negative product with some sample of its own, 0 on those orthogonal to all; the minimum likewise.",
        ("B-004-L2", "B-004-G"),
        _lemma2,
    ),
    Claim(
        "PL-LA1",
        "PL",
        "Lemma A.1",
        "Extremal directions are fixed by the pull",
        "At an extremal direction g(w) = C w, where g projects off the samples on whose boundaries w lies.",
        ("B-004-A1",),
        _lemma_a1,
    ),
    Claim(
        "PL-LA2",
        "PL",
        "Lemma A.2",
        "G near a direction",
        "For small steps G((w+εv)/|w+εv|) is (G(w) + ε Σ ½ y_i 1[(w+εv)·x_i > 0] v·x_i)/|w+εv|; the proof takes apart"
        " the three terms of equation (47).",
        ("D-44",),
        _lemma_a2,
        "misprint",
        "The formula holds. Its proof speaks of the first and second term in eq. (47), but (47) is the set of sign"
        " matrices in the proof of the next lemma; the three terms stand in (39).",
    ),
)
