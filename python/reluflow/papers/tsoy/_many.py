"""[TK] Figure 2: a wide network on clouds at two angles."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..._validation import FloatArray
from ...datasets import Dataset
from ...figures import panels, style
from ...flow import Solution, Stop, integrate
from .._claim import Claim, Context, Number, Outcome
from ._clouds import AXES_SKEWED, SKEWED, far, skew, torch_start

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_SCALE = 2.0**-7
_END = 512.0  # 2^13 epochs with steps of 2^-4
_SQUARE = np.array([0.0, 90.0, 180.0, 270.0])
_NEAR = 5.0  # degrees, a little more than the deviation of a cloud seen from zero
_QUANTILE = 0.95  # as the code takes it


class _Case(NamedTuple):
    angle: float
    data: Dataset
    sol: Solution


def _wide(context: Context) -> Outcome:
    """Run both angles, and compare the directions at the end with those at the start and with each other."""
    n, width = context.pick((64, 64), (128, 512))
    cases = []
    for angle in (np.pi / 2, SKEWED):
        rng = np.random.default_rng(context.seed)
        data = skew(rng, n, angle)
        net = torch_start(rng, width, _SCALE)
        cases.append(_Case(angle, data, integrate(data, net, until=Stop(time=_END), reduction="mean")))
    square, skewed = cases
    off = float(np.quantile(far(square.sol.final.W, _SQUARE), _QUANTILE))
    start = float(np.quantile(far(square.sol(0.0).W, _SQUARE), _QUANTILE))
    rotated = float(np.quantile(far(skewed.sol.final.W, _SQUARE), _QUANTILE))
    ends = [_shares(case.sol.final.W, axes) for case, axes in zip(cases, (_SQUARE, AXES_SKEWED), strict=True)]
    starts = [_shares(case.sol(0.0).W, axes) for case, axes in zip(cases, (_SQUARE, AXES_SKEWED), strict=True)]
    misplaced = _shares(skewed.sol.final.W, _SQUARE)
    wrong = [float(np.mean(np.sign(case.sol(_END)(case.data.X)) != case.data.y)) for case in cases]
    constant = min(float(np.mean(case.data.y == sign)) for case in cases for sign in (-1, 1))
    numbers = (
        Number("α = 90°: 0.95 quantile of the angle (degrees) to the nearest axis; controls: at the start", off, 2.0,
               relation="at_most", control=start),
        Number("largest share of |W|² farther than 5° from 0°, 90°, 180°, 270°, or at 60° from -30°, 90°, 150°, 270°;"
               " control: at the start", 1 - min(sum(share) for share in ends), 0.02, relation="at_most",
               control=1 - max(sum(share) for share in starts)),
        Number("α = 60°: least share of one of the four directions; control: of those for 90°", min(ends[1]), 0.05,
               relation="at_least", source="exact", control=min(misplaced)),
        Number("α = 60°: the same quantile is large, the directions are others; control: α = 90°", rotated, 10.0,
               relation="at_least", control=off),
        Number("largest share of points on the wrong side; control: of a constant", max(wrong), 0.0, control=constant),
    )  # fmt: skip
    ran = (
        f"{square.data.n} points, {width} neurons from torch's start times 2⁻⁷, mean logistic loss, to t = {_END:g}, as"
        f" long as 2¹³ epochs; the code has 512 points and 4,096 neurons. Seed {context.seed}, not torch's draws."
    )
    note = "The bounds of 2°, 10° and the shares are ours."
    return Outcome(ran, numbers, {"alignment": _figure(cases)}, note=note)


def _shares(W: FloatArray, axes: FloatArray) -> list[float]:
    """Return the share of |W|² within five degrees of each direction."""
    size = (W**2).sum(axis=1)
    return [float(size[far(W, np.array([axis])) <= _NEAR].sum() / size.sum()) for axis in axes]


def _figure(cases: list[_Case]) -> Figure:
    with style():
        figure, axes = panels(2, 2, width=6.4, height=4.6)
        for (scales, shares), case in zip(axes.T, cases, strict=True):
            t = np.linspace(0.0, _END, 100)
            scales.plot(t, [float(np.linalg.norm(case.sol(float(when)).W)) for when in t])
            scales.set_title(rf"$\alpha = {np.degrees(case.angle):.0f}°$")
            scales.set_xlabel("$t$")
            scales.set_ylabel(r"scale $(\sum |w_j|^2)^{1/2}$")
            W = case.sol.final.W
            size = (W**2).sum(axis=1)
            shares.scatter(size / size.sum(), np.arctan2(W[:, 1], W[:, 0]), s=6)
            shares.set_xlabel("share of a neuron")
            shares.set_ylabel("angle (radians)")
    figure.set_label("The scale of the network over time, and share and angle of each neuron at the end.")
    return figure


CLAIMS = (
    Claim(
        "TK-F2",
        "TK",
        "Figure 2",
        "Alignment of a wide network",
        "A wide network with a small random start ends with its neurons in a few directions: for classes on orthogonal"
        " axes these are the axes, for α = 60° four others.",
        ("TK Fig 2",),
        _wide,
        quick="64 neurons instead of 512.",
    ),
)
