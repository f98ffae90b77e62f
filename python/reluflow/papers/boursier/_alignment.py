"""[BPF] on the first phase: neurons turn while they are small."""

from __future__ import annotations

import numpy as np

from ..._validation import FloatArray
from ...datasets import Dataset
from ...networks import Network
from .._claim import Claim, Context, Number, Outcome
from ._data import directions, example, growth, orthogonal, run, start

_SCALE = 1e-24
_SHARE = 0.5  # ε: the phase is looked at when the fastest neurons have grown from λ to λ^(1 - ε)
_WIDTH = 40


def _alignment(context: Context) -> Outcome:
    """Stop at t₁ = ε log(1/λ)/max |D±| and look at directions, sizes and signs."""
    rng = np.random.default_rng(context.seed)
    draws = [example(), *(orthogonal(rng) for _ in range(context.pick(4, 40)))]
    late = first = size = 0.0
    wrong_signs = wrong_first = 0
    for data in draws:
        net = start(*directions(rng, data, _WIDTH), _SCALE)
        fastest = max(growth(data))
        end = run(data, net, _SHARE * np.log(1 / _SCALE) / fastest).final
        late, first = max(late, _largest_angle(data, net, end)), max(first, _largest_angle(data, net, net))
        size = max(size, float((np.abs(end.a) / np.abs(net.a)).max() * _SCALE**_SHARE))
        wrong_signs += _against(data, end)
        wrong_first += _against(data, net)
    numbers = (
        Number(
            "largest angle (degrees) to D± of a neuron that sees its whole class; control: at the start",
            np.degrees(late),
            0.01,
            relation="at_most",
            control=np.degrees(first),
        ),
        Number("largest growth |w_j(t₁)|/|w_j(0)| over λ^-ε", size, 1.0, 1e-6, "at_most", "exact"),
        Number(
            "samples of the other sign that a neuron sees at t₁; control: at the start",
            wrong_signs,
            0,
            control=wrong_first,
        ),
    )
    ran = (
        f"The two samples of the published code and {len(draws) - 1} draws of four orthogonal inputs, {_WIDTH} neurons,"
        f" λ = {_SCALE:g}, to t₁ = ε log(1/λ)/max |D±| with ε = {_SHARE}; seed {context.seed}."
    )
    note = (
        "With outputs of order λ the errors are y_i, and a neuron grows at most at the rate |D₊| or |D₋|, which bounds"
        " its size. The paper's rates of the alignment are not at hand; the bound of 0.01° is ours."
    )
    return Outcome(ran, numbers, note=note)


def _largest_angle(data: Dataset, first: Network, net: Network) -> float:
    """Return the largest angle to D± (of the neuron's sign) of the neurons that see their whole class at the start."""
    angles = [0.0]
    for side in (1.0, -1.0):
        mine = data.y * side > 0
        target = side * data.y[mine] @ data.X[mine]
        sees = (first.a * side > 0) & (first.W @ data.X[mine].T > 0).all(axis=1)
        angles += [_angle(w, target) for w in net.W[sees]]
    return max(angles)


def _angle(one: FloatArray, two: FloatArray) -> float:
    """Return the angle of two vectors, accurate where it is small."""
    one, two = one / np.linalg.norm(one), two / np.linalg.norm(two)
    return float(2 * np.arctan2(np.linalg.norm(one - two), np.linalg.norm(one + two)))


def _against(data: Dataset, net: Network) -> int:
    """Count the pairs of a neuron and a sample that it sees though the sample has the other sign."""
    active = net.pattern > 0 if net.pattern is not None else net.W @ data.X.T > 0
    return int((active & (np.outer(net.a, data.y) < 0)).sum())


CLAIMS = (
    Claim(
        "BPF-A",
        "BPF",
        "Abstract, the initial alignment",
        "Small neurons turn before they grow",
        "From a small start the neurons first turn, while all outputs are still small: those that see every sample of"
        " their sign align with D₊ = (1/n) Σ y_i x_i over y_i > 0, or with D₋, and no neuron goes on seeing samples of"
        " the other sign.",
        ("BPF alignment",),
        _alignment,
    ),
)
