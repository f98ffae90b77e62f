"""[PL] on luck: with what probability a random start has a neuron that lives."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..._validation import FloatArray, optional_module
from ...datasets import Dataset, phuong_lampert, wang_pilanci
from ...early import early_alignment
from ...figures import panels, style
from .._claim import Claim, Context, Number, Outcome

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WIDTHS = (1, 2, 3, 4, 5, 6)
_ERRORS = 4.5  # standard errors that a share may be off: by chance less than once in a hundred thousand runs
_BLOCK = 20_000  # neurons followed at once


def _probability(context: Context) -> Outcome:
    """Follow every neuron of many random starts to its end, and count the starts that keep one alive."""
    n_starts = context.pick(1000, 10_000)
    cases = {
        "two samples at 90°": (Dataset([[1.0, 0.0], [0.0, 1.0]], [1, -1]), 0.5),
        "two samples at 125.1°": (wang_pilanci("obtuse"), _plane_survival(wang_pilanci("obtuse"))),
        "recipe of Section 5.1": (phuong_lampert(40, 20, seed=context.seed), None),
    }
    numbers, shares = [], {}
    one_class = _alive(Dataset([[1.0, 0.0]], [1]), n_starts * max(WIDTHS), context.seed)  # a quarter lives
    for name, (data, exact) in cases.items():
        context.progress(name)
        alive = _alive(data, n_starts * max(WIDTHS), context.seed).reshape(n_starts, max(WIDTHS))
        shares[name] = np.array([alive[:, :p].any(axis=1).mean() for p in WIDTHS])
        slack = _ERRORS * np.sqrt(shares[name] * (1 - shares[name]) / n_starts) + 1 / n_starts
        below = shares[name] + slack < 1 - 0.5 ** np.array(WIDTHS)
        numbers.append(
            Number(
                f"{name}: widths below the bound 1 - 2⁻ᵖ; control: one class alone",
                int(below.sum()),
                0,
                control=int((1 - (1 - one_class.mean()) ** np.array(WIDTHS) < 1 - 0.5 ** np.array(WIDTHS)).sum()),
            )
        )
        if exact is not None:
            error = _ERRORS * (exact * (1 - exact) / alive.size) ** 0.5
            numbers.append(Number(f"{name}: share of neurons that live", alive.mean(), exact, error, source="exact"))
        else:
            numbers.append(
                Number(
                    f"{name}: share of neurons that live; control: one class alone",
                    alive.mean(),
                    0.5,
                    relation="at_least",
                    control=one_class.mean(),
                )
            )
    table = optional_module("pandas", "analysis").DataFrame(
        {"p": WIDTHS, "bound": 1 - 0.5 ** np.array(WIDTHS), **shares}
    )
    table.attrs["caption"] = "Share of starts with p neurons of which one lives"
    ran = (
        f"{n_starts:,} random balanced starts with up to {max(WIDTHS)} neurons of vanishing size, each neuron followed"
        f" event by event to its end (`early_alignment`), seed {context.seed}."
    )
    note = (
        "For two samples at an angle θ ≥ 90° a direction lives with probability (90° + θ)/360° exactly, which is the"
        " bound ½ only at a right angle."
    )
    return Outcome(ran, tuple(numbers), {"survival": _figure(shares, n_starts)}, {"survival": table}, note)


def _plane_survival(data: Dataset) -> float:
    """Return (90° + θ)/360° for two samples at the angle θ."""
    unit = data.X / np.linalg.norm(data.X, axis=1, keepdims=True)
    return float((90 + np.degrees(np.arccos(unit[0] @ unit[1]))) / 360)


def _alive(data: Dataset, n_neurons: int, seed: int) -> FloatArray:
    rng = np.random.default_rng(seed)
    parts = []
    for first in range(0, n_neurons, _BLOCK):
        count = min(_BLOCK, n_neurons - first)
        early = early_alignment(data, rng.standard_normal((count, data.d)), rng.choice([-1.0, 1.0], count))
        parts.append(early.status == "extremal")
    return np.concatenate(parts).astype(np.float64)


def _figure(shares: dict[str, FloatArray], n_starts: int) -> Figure:
    with style():
        figure, ax = panels(1, width=4.6, height=3.0)
        p = np.array(WIDTHS)
        ax.plot(p, 1 - 0.5**p, color="#767676", linestyle=(0, (4, 2)), label="bound $1 - 2^{-p}$")
        for (name, values), colour in zip(shares.items(), ("#0072B2", "#D55E00", "#009E73"), strict=True):
            ax.plot(p, values, "o-", color=colour, label=name)
        ax.set_xticks(p)
        ax.set_ylim(0.4, 1.02)
        ax.set_xlabel("width $p$")
        ax.set_ylabel("share of starts with a living neuron")
        ax.legend(loc="lower right")
    figure.set_label(
        f"Share of {n_starts:,} random starts with a living neuron, against the width, and the bound 1 - 2⁻ᵖ."
    )
    return figure


CLAIMS = (
    Claim(
        "PL-P",
        "PL",
        "Theorem 1, probability",
        "A neuron lives with probability at least 1 - 2⁻ᵖ",
        "A neuron with a > 0 that is active on one positive sample stays so, and one with a < 0 on a negative sample;"
        " one of the two happens with probability ½, so that of p neurons one lives with probability at least 1 - 2⁻ᵖ.",
        ("B-004-p",),
        _probability,
    ),
)
