"""[BPF] on the end: zero loss with the least variation norm."""

from __future__ import annotations

import numpy as np

from ...convex import certify
from ...datasets import Dataset
from .._claim import Claim, Context, Number, Outcome
from ._data import directions, orthogonal, run, start

_SCALE, _LARGE = 1e-40, 0.3
_WEAKER = 0.8  # of the second sign, beside targets near 1
_SPREADS = (0.0, 0.3)  # lengths of the inputs: all 1, and between 0.7 and 1.3
_WIDTH = 60


def _least_norm(context: Context) -> Outcome:
    """Compare the limits with the closed form and with the convex program, from small starts and from larger ones."""
    rng = np.random.default_rng(context.seed)
    n_draws = context.pick(4, 40)
    loss, first, excess, larger, program, left = 0.0, np.inf, 0.0, np.inf, 0.0, 0.0
    certified = True
    for spread in np.repeat(_SPREADS, n_draws):
        data = orthogonal(rng, _WEAKER, spread=spread)
        z, signs = directions(rng, data, _WIDTH)
        least = _closed_form(data)
        small, large = (certify(run(data, start(z, signs, scale)), data) for scale in (_SCALE, _LARGE))
        loss, first = max(loss, float(small.loss)), min(first, float(0.5 * (data.y**2).mean()))
        excess, larger = max(excess, small.value / least - 1), min(larger, large.value / least - 1)
        program = max(program, abs(small.lower / least - 1))
        certified &= small.verdict == "global"
        leaving = run(data, start(z, signs, _SCALE), on_branch="inactive")
        left = max(left, certify(leaving, data).value / least - 1)
    numbers = (
        Number("largest loss of a limit; control: of f = 0", loss, 0.0, 1e-20, control=first),
        Number(f"largest relative excess of Σ |a_j||w_j| over the least; control: the least from λ = {_LARGE}",
               excess, 0.0, 1e-9, control=larger),
        Number("every limit is certified by the convex program", certified, True, source="exact"),
        Number("largest relative error of the least norm, |Σ₊ y_i x_i/|x_i|²| + |Σ₋ y_i x_i/|x_i|²|", program, 0.0,
               1e-7, source="exact"),
        Number("the same excess where neurons leave boundaries that turn repelling, which is no φ'(0) = 0", left),
    )  # fmt: skip
    ran = (
        f"{n_draws} draws of four orthogonal inputs of length 1 and {n_draws} of lengths from {1 - _SPREADS[1]:g} to"
        f" {1 + _SPREADS[1]:g}, two of either sign, {_WIDTH} neurons, λ = {_SCALE:g} and {_LARGE}, to their limits;"
        f" φ'(0) = 0; seed {context.seed}."
    )
    note = (
        "The statement is on the limit λ → 0, and for φ'(0) = 0. Neurons that see a part of their class grow at a"
        " smaller rate than |D±|; their share falls like a power of λ. With inputs of uneven lengths a residual passes"
        " zero, and neurons of the other sign that rest on that sample's boundary stay, as φ'(0) = 0 has it. To leave"
        " is a flow in the sense of Clarke as well, and ends a little above the least norm. For Σ |a_j||w_j|, which is"
        " ½|θ|² of balanced neurons, one neuron a class is optimal."
    )
    return Outcome(ran, numbers, note=note)


def _closed_form(data: Dataset) -> float:
    """Return the least Σ |a_j||w_j| of an interpolator: one neuron for each sign."""
    scaled = (data.y / (data.X**2).sum(axis=1))[:, None] * data.X
    return float(sum(np.linalg.norm(scaled[mine].sum(axis=0)) for mine in (data.y > 0, data.y < 0)))


CLAIMS = (
    Claim(
        "BPF-N",
        "BPF",
        "Abstract, convergence and implicit bias",
        "Zero loss, with the least variation norm",
        "For orthogonal inputs of any lengths the flow with φ'(0) = 0 from a small start ends at zero loss, and in the"
        " limit λ → 0 its network has the least variation norm among all that fit the data.",
        ("BPF norm",),
        _least_norm,
    ),
)
