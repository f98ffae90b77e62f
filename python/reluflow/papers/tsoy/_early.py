"""[TK] on the early phase: few directions, whatever the width."""

from __future__ import annotations

import numpy as np

from ...early import early_alignment
from .._claim import Claim, Context, Number, Outcome
from ._clouds import AXES_SKEWED, SKEWED, far, skew

_AXES = {np.pi / 2: np.array([0.0, 90.0, 180.0, 270.0]), SKEWED: AXES_SKEWED}
_SAME = 6  # digits by which two directions are one
_NOISE = 11.6  # degrees, arcsin 0.2: a neuron ends at right angles to the outermost point of a cloud of radius 0.2


def _clusters(context: Context) -> Outcome:
    """Follow vanishing neurons to their end, at three widths and for both angles between the classes."""
    widths = context.pick((30, 300, 1000), (100, 1000, 3000))
    numbers, known = [], {tuple(axis) for axis in np.eye(2).tolist()}  # what another set of directions would be
    for angle, axes in _AXES.items():
        rng = np.random.default_rng(context.seed)
        data = skew(rng, context.pick(32, 128), angle)
        sets, worst, spread = [], 0.0, 0.0
        for width in widths:
            W, signs = rng.standard_normal((width, 2)), rng.choice([-1.0, 1.0], width)
            early = early_alignment(data, W, signs)
            living = early.status == "extremal"
            ends = early.direction[living]
            sets.append({tuple(row) for row in (ends.round(_SAME) + 0.0).tolist()})
            worst, spread = max(worst, float(far(ends, axes).max())), max(spread, float(far(W, axes).max()))
        name = f"α = {np.degrees(angle):.0f}°"
        numbers += [
            Number(f"{name}: directions of {widths[-1]:,} neurons; control: at the start", len(sets[-1]), 4,
                   control=len({tuple(row) for row in W.round(_SAME).tolist()})),
            Number(f"{name}: the directions of all widths are the same; control: and those of the case before",
                   sets[0] == sets[1] == sets[2], True, control=sets[0] == sets[1] == known),
            Number(f"{name}: largest angle to {', '.join(f'{axis:.0f}°' for axis in axes)}; control: at the start",
                   worst, _NOISE, relation="at_most", source="exact", control=spread),
        ]  # fmt: skip
        known = sets[0]
    counts = ", ".join(f"{width:,}" for width in widths)
    ran = f"Two clouds a class, axes at 90° and 60°, {counts} neurons, seed {context.seed}."
    note = (
        "For points at α = 60° a neuron for one class is pushed out of the other's cloud until it is orthogonal to it:"
        " the directions are -30°, 90°, 150°, 270°, and not those of the clouds. The bound for clouds is ours."
    )
    return Outcome(ran, tuple(numbers), note=note)


CLAIMS = (
    Claim(
        "TK-E",
        "TK",
        "Abstract, the early phase",
        "Features cluster around a few directions",
        "From a small start the neurons cluster early in training around a few directions, which do not depend on the"
        " number of neurons.",
        ("TK early",),
        _clusters,
    ),
)
