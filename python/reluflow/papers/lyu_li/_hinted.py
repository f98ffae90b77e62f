"""[LLWA] Section 6 and App. A: three hints, and the assumptions that they satisfy."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..._validation import FloatArray
from ...conditions import (
    larger_positive_mean,
    mean_dominance,
    one_sign_margin,
    principal_direction,
)
from ...convex import leaky_linear_margin, max_margin, svm
from ...datasets import Dataset, hint_bounds, hinted, lyu_figure1, symmetrise
from ...limits import Limit
from ...networks import Network
from .._claim import Claim, Context, Number, Outcome
from ._one_neuron import LEAK, one_neuron
from ._tools import (
    SMALL,
    balanced,
    fit,
    frequency,
    limit_of_flow,
    one_sided_means,
    scaled,
    sheet,
    signed,
)

if TYPE_CHECKING:
    pass

BASE = Dataset([[0.6, 0.3], [0.5, -0.2], [-0.6, 0.2], [-0.5, -0.4]], [1, 1, -1, -1], name="base")
HINTS = {"H": 60.0, "K": 1.0, "eps": 0.125}


def end_of(data: Dataset, net: Network) -> Limit:
    """Return the limit from where the data are fitted, or from later where the network still turns by then."""
    limit = fit(data, net).limit
    return limit if limit.certified else limit_of_flow(data, net)


def _hints(context: Context) -> Outcome:
    data, eps = hinted(BASE, **HINTS), HINTS["eps"]
    w = svm(BASE).direction
    rows, good, other = [], [], []
    values: list[float] = []
    for width in (1, 2, 4):
        rng = np.random.default_rng([context.seed, width])
        n_runs = context.pick(24, 500)
        hits = np.zeros(n_runs, bool)
        for k in range(n_runs):
            net = balanced(width, 2, rng, leak=LEAK)
            limit = end_of(data, scaled(net, SMALL))
            hits[k] = limit.certified and bool(np.allclose(limit.network(data.X), one_neuron(data, w), atol=1e-6))
            good.append((net.a > 0).any() == hits[k])
            other.append((net.a < 0).any() == hits[k])
            values += [limit.margin] if hits[k] else []
        rows.append((width, n_runs, float(hits.mean()), 1 - 2.0**-width))
    table = sheet(rows, ["m", "starts", "share ending at one neuron", "1 - 2^-m"])
    best = max_margin(data, leak=LEAK)
    numbers = (
        Number(
            "starts whose end differs from the event 'some a_k > 0'; control: some a_k < 0",
            good.count(False),
            0,
            control=other.count(False),
        ),
        *(frequency(f"share ending at ½φ(<w*, x>), m = {m}", p, q, n, other=2 * q - 1) for m, n, p, q in rows),
        Number(
            "largest |margin - ε/2|; control: ε",
            max(abs(v - eps / 2) for v in values),
            0,
            1e-9,
            control=min(abs(v - eps) for v in values),
        ),
        Number(
            "the limit is suboptimal: γ* over its margin; control: without hints, where it is linear and optimal",
            best.margin / min(values),
            1.5,
            0,
            "at_least",
            control=_without_hints(),
        ),
        Number("greatest margin γ*", best.margin, 0.110476, 1e-6, source="exact"),
    )
    ran = f"four samples and three hints (H = 60, K = 1, ε = 1/8), α = 1/2, balanced Gaussian starts at σ = {SMALL:g}"
    return Outcome(ran, numbers, tables={"shares": table}, note=_HINT_NOTE)


def _without_hints() -> float:
    """Return γ* of the four samples and their negatives over the margin (1 + α)/4 γ_lin of the linear limit."""
    data = symmetrise(BASE.X * BASE.y[:, None])
    return max_margin(data, leak=LEAK).margin / ((1 + LEAK) / 4 * svm(data).margin)


_HINT_NOTE = (
    "No numbers are printed for these data. The flow is that of the mean loss; all inputs may be divided by H"
    " to have |x| <= 1, which only rescales weights and time."
)


def _hint_conditions(context: Context) -> Outcome:
    bounds = hint_bounds(BASE, **HINTS, leak=LEAK)
    data, small = hinted(BASE, **HINTS), hinted(BASE, **{**HINTS, "H": 40.0})
    w = svm(BASE).direction
    plus = leaky_linear_margin(data, leak=LEAK).plus
    ratio = {H: _principal(H, w) for H in (47.0, 47.3)}
    numbers = (
        Number(
            "H0: A.1 holds for w* just above; control: just below", ratio[47.3], 1, 0, "at_most", control=ratio[47.0]
        ),
        Number("and fails just below; control: just above", ratio[47.0], 1, 0, "at_least", control=ratio[47.3]),
        Number("H0", bounds.principal, 47.15, 0.01, source="exact"),
        Number("n|μ⁻| + |Σ_{j>1} y_j x_j⁺|", bounds.dominance, 33.69, 0.01, source="exact"),
        Number(
            "H = 60 and ε = 1/8 satisfy all bounds of App. A.2; control: H = 40",
            bounds.holds,
            True,
            control=hint_bounds(BASE, **{**HINTS, "H": 40.0}, leak=LEAK).holds,
        ),
        Number("A.1, A.2, A.3 and A.5 hold there", _assumptions(data), "True True True True"),
        Number(
            "A.2 holds at H = 40, where A.1 fails for w*; control: at H = 5",
            mean_dominance(small, leak=LEAK).holds is True,
            True,
            control=mean_dominance(hinted(BASE, **{**HINTS, "H": 5.0}), leak=LEAK).holds is True,
        ),
        Number(
            "|w⁺ - w*|; control: without the hints",
            float(np.linalg.norm(plus.direction - w)),
            0,
            1e-9,
            control=_apart(BASE),
        ),
        Number("γ⁺ = ε", plus.margin, HINTS["eps"], 1e-9),
        Number(
            "largest |x_i|, assumed at most 1",
            float(np.linalg.norm(data.X, axis=1).max()),
            1,
            0,
            "at_most",
            source="print",
        ),
    )
    return Outcome("bounds on H, K and ε on four samples, α = 1/2", numbers)


def _apart(data: Dataset) -> float:
    """Return |w⁺ - w*| of data without the hints."""
    return float(np.linalg.norm(leaky_linear_margin(data, leak=LEAK).plus.direction - svm(data).direction))


def _principal(H: float, w: FloatArray) -> float:
    return principal_direction(hinted(BASE, **{**HINTS, "H": H}), leak=LEAK, w=w).value


def _assumptions(data: Dataset) -> str:
    found = (
        principal_direction(data, leak=LEAK),
        mean_dominance(data, leak=LEAK),
        larger_positive_mean(data, leak=LEAK),
        one_sign_margin(data, leak=LEAK),
    )
    return " ".join(str(verdict.holds) for verdict in found)


def _implication(context: Context) -> Outcome:
    """Draw data on both sides of A.1 and A.2."""
    n_draws, both, second_only, first_only = context.pick(150, 3000), 0, 0, 0
    rng = np.random.default_rng(context.seed)
    for _ in range(n_draws):
        X = rng.standard_normal((4, 2)) * [0.3, rng.uniform(0, 0.4)]
        X[:, 0] = np.abs(X[:, 0]) + 0.2
        y = np.where(rng.random(4) < 0.5, 1.0, -1.0)
        data = Dataset(y[:, None] * X, y)
        first = _least_ratio(data) < 1
        second = mean_dominance(data, leak=LEAK).holds is True
        both += first and second
        second_only += second and not first
        first_only += first and not second
    numbers = (
        Number("data with A.1 but not A.2; control: with A.2 but not A.1", first_only, 0, control=second_only),
        Number("data with both", both, 1, 0, "at_least", "exact"),
        Number("data with A.2 but not A.1", second_only, 1, 0, "at_least", "exact"),
        Number("App. G.2: A.1 is the weaker one, so none has A.2 without A.1", second_only, 0, source="print"),
    )
    return Outcome(f"{n_draws} random data sets of four samples in the plane, α = 1/2", numbers)


def _least_ratio(data: Dataset) -> float:
    """Return mean |Px_i| max |Px_i| / (α γ(w) μ·w) of the best of 3,600 directions w in the plane; A.1 asks for < 1."""
    angle = np.linspace(0, 2 * np.pi, 3600, endpoint=False)
    along = signed(data) @ np.array([np.cos(angle), np.sin(angle)])
    off = np.abs(signed(data) @ np.array([-np.sin(angle), np.cos(angle)]))
    separates = along.min(axis=0) > 0
    if not separates.any():
        return np.inf
    bound = LEAK * along.min(axis=0) * along.mean(axis=0)
    return float(((off.mean(axis=0) * off.max(axis=0))[separates] / bound[separates]).min())


def _one_sided(context: Context) -> Outcome:
    """Show that the definition of x⁻ must be read with its own name."""
    data = lyu_figure1("middle")
    positive, negative = one_sided_means(data, LEAK)
    minus = leaky_linear_margin(data, leak=LEAK).minus
    x_minus = np.where(data.y > 0, LEAK, 1.0)[:, None] * data.X
    of_printed = float(np.linalg.norm(signed(data).mean(axis=0) - positive))  # x⁺ := x for y = 1 and for y = -1
    of_minus = float(np.linalg.norm(negative - (data.y[:, None] * x_minus).mean(axis=0)))
    attained = float((data.y * (x_minus @ minus.direction)).min())
    numbers = (
        Number("|μ⁻ - mean of y x⁻|", of_minus, 0, 1e-14, source="exact"),
        Number("γ⁻ is attained on x⁻", attained, minus.margin, 1e-9, source="exact"),
        Number(
            "|μ⁺ - mean of y x⁺| with x⁺ := x for y = -1, as the second line prints",
            of_printed,
            0,
            1e-14,
            source="print",
        ),
    )
    return Outcome("the middle data, α = 1/2", numbers)


CLAIMS = (
    Claim(
        "LLWA-T6.2",
        "LLWA",
        "Theorem 6.2",
        "Three hints mislead the flow",
        "After three hints are added, the flow from small balanced weights ends at ½φ(<w*, x>), linear and of margin"
        " ε/2, with probability 1 - 2^-m: exactly where some a_k > 0.",
        ("S003-HINT", "B-003-A7 / G.9 / 6.2"),
        _hints,
        quick="Shares of a few starts are shown and not judged; that every start ends as its signs say is.",
    ),
    Claim(
        "LLWA-A2",
        "LLWA",
        "Definition 6.1, App. A.2, Theorem 6.2",
        "What H, K and ε must satisfy",
        "H above the printed bounds and ε below its own give A.1, A.2, A.3 and A.5 with w* as the direction; inputs"
        " have |x| <= 1.",
        ("S003-HINT", "B-003-A", "D-32"),
        _hint_conditions,
        "misprint",
        "A hint of size H breaks |x| <= 1 of Theorem 6.2, so all inputs must be divided by H. The theorem's '>= 1 - "
        "δ' must read 1 - 2^-m, over balanced starts D~_init and not D_init. The bounds of App. A.2 themselves hold.",
    ),
    Claim(
        "LLWA-G2",
        "LLWA",
        "Lemmas G.1, G.2, App. G.2",
        "A.1 implies A.2",
        "Assumption A.1 implies Assumption A.2, and the text calls A.1 the weaker one.",
        ("B-003-A", "D-34"),
        _implication,
        "misprint",
        "The lemma is right, so A.1 is the stronger one; data with A.2 but without A.1 are common.",
    ),
    Claim(
        "LLWA-A1",
        "LLWA",
        "App. A.1, (6)",
        "The two one-sided inputs",
        "x⁺ = x for y = 1 and αx for y = -1; x⁻ the other way round.",
        ("B-003-A", "D-31"),
        _one_sided,
        "misprint",
        "The second line of (6) in App. A.1 prints x⁺ := x for y = -1; it must define x⁻.",
    ),
)
