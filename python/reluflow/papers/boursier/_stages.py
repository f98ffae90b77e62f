"""[BPF] on the saddle: one sign of targets is fitted, then the other."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..._validation import FloatArray
from ...datasets import Dataset
from ...figures import panels, style
from ...flow import Solution
from ...networks import Network
from ...saddles import saddle_to_saddle
from .._claim import Claim, Context, Number, Outcome
from ._data import directions, example, growth, orthogonal, run, start

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_SCALES = (1e-20, 1e-40)
_PICTURED = 1e-6  # the scale of the published code for the figure
# While neurons with a < 0 are small f(x₁) grows like exp(2|D₋|t), up to the second jump. Half way from the first, at
# the saddle, it is -exp(-|D₋|Δ), -3e-4 to -1.2e-3 at this scale by the draw; it may be so many times as large.
_HALF_WAY = 1.1
_WIDTH = 60
_GREEN, _BLUE = "#009E73", "#0072B2"


def _saddles(context: Context) -> Outcome:
    """Look half way between the two jumps, time both at two scales, and follow the limit of vanishing weights."""
    rng = np.random.default_rng(context.seed)
    draws = [orthogonal(rng) for _ in range(context.pick(3, 30))]
    fitted = other = steep = loss_error = jumping = rate_error = exchanged = 0.0
    kinds = set()
    for data in draws:
        z, signs = directions(rng, data, _WIDTH)
        rates = growth(data)
        runs = [run(data, start(z, signs, scale)) for scale in _SCALES]
        jumps = np.array([_jumps(sol) for sol in runs])
        slow, fast = (jumps[1] - jumps[0]) / np.log(_SCALES[0] / _SCALES[1]), 1 / np.array(rates)
        rate_error = max(rate_error, float(np.abs(slow / fast - 1).max()))
        exchanged = max(exchanged, float(np.abs(slow / fast[::-1] - 1).max()))
        between = runs[1](float(jumps[1].mean()))
        error = between(data.X) - data.y
        fitted = max(fitted, float(np.abs(error[data.y > 0]).max()))
        other = max(other, float(np.abs(between(data.X)[data.y < 0]).max()))
        steep = max(steep, _slope(data, between))
        jumping = max(jumping, _slope(data, runs[1](float(jumps[1, 0]))))
        loss_error = max(loss_error, abs(_loss(data, between) / float(0.5 * (data.y[data.y < 0] ** 2).mean() / 2) - 1))
        path = saddle_to_saddle(data, z, signs, reduction="mean")
        kinds.add(" → ".join(stage.kind for stage in path.stages))
    numbers = (
        Number("largest error of a positive target between the jumps; control: of a negative one",
               fitted, 1e-3, relation="at_most", control=float(np.abs(error[data.y < 0]).max())),
        Number("largest output at a negative target there; control: at a positive one",
               other, 1e-3, relation="at_most", control=float(np.abs(between(data.X)[data.y > 0]).max())),
        Number("largest gradient there; control: at the first jump", steep, 1e-3, relation="at_most", control=jumping),
        Number("largest relative error of the loss there, (1/2n) Σ y_i² over y_i < 0", loss_error, 0.0, 1e-3,
               source="exact"),
        Number("stages of the limit of vanishing weights", "; ".join(sorted(kinds)), "saddle → saddle → global"),
        Number("largest relative error of the delays 1/|D₊|, 1/|D₋| of the two jumps; control: exchanged",
               rate_error, 0.0, 1e-3, source="exact", control=exchanged),
    )  # fmt: skip
    ran = (
        f"{len(draws)} draws of four orthogonal inputs, two of either sign, {_WIDTH} neurons, λ ="
        f" {_SCALES[0]:g} and {_SCALES[1]:g}; the limit λ → 0 by `saddle_to_saddle`; seed {context.seed}."
    )
    note = (
        "A jump is where the error of a sign of targets is halved. An aligned neuron grows like e^(|D±|t), so that a"
        " jump comes later by log(λ/λ')/|D±| from a smaller start."
    )
    return Outcome(ran, numbers, note=note)


def _jumps(sol: Solution) -> tuple[float, float]:
    """Return the times at which the mean squared errors of the positive and the negative targets are a quarter."""
    found = []
    for mine in (sol.data.y > 0, sol.data.y < 0):
        rows, y = sol.data.X[mine], sol.data.y[mine]
        low, high = 0.0, sol.t_end
        while high - low > 1e-6 * high:
            middle = 0.5 * (low + high)
            done = np.linalg.norm(sol(middle)(rows) - y) < 0.5 * np.linalg.norm(y)
            low, high = (low, middle) if done else (middle, high)
        found.append(high)
    return found[0], found[1]


def _loss(data: Dataset, net: Network) -> float:
    return float(0.5 * ((net(data.X) - data.y) ** 2).mean())


def _slope(data: Dataset, net: Network) -> float:
    """Return |∂L| with φ'(0) = 0."""
    active = net.pattern > 0 if net.pattern is not None else net.W @ data.X.T > 0
    pulls = (active * (net(data.X) - data.y) / data.n) @ data.X
    return float(np.hypot(np.linalg.norm(net.a[:, None] * pulls), np.linalg.norm((net.W * pulls).sum(axis=1))))


def _pictures(context: Context) -> Outcome:
    """Redo the figure of the stages with the data, width and scale of the published code."""
    data = example()
    net = start(*directions(np.random.default_rng(context.seed), data, _WIDTH), _PICTURED)
    sol = run(data, net)
    first, second = _jumps(sol)
    times = {"start": 0.0, "aligned": 0.5 * first, "saddle": 0.5 * (first + second), "end": sol.t_end}
    end, rest = sol.final, sol(times["saddle"])
    grown = np.abs(end.a) > 1e-2
    kinks = -end.W[:, 1] / end.W[:, 0]
    tops, bottoms = kinks[grown & (end.a > 0)], kinks[grown & (end.a < 0)]
    spread = -net.W[grown & (end.a > 0), 1] / net.W[grown & (end.a > 0), 0]
    numbers = (
        Number("largest distance of the kink of a grown neuron with a > 0 from x₁ = -½; control: at the start",
               np.abs(tops + 0.5).max(), 0.0, 1e-4, control=np.abs(spread + 0.5).max()),
        Number("largest distance of the kink of a grown neuron with a < 0 from x₂ = 2; control: from x₁",
               np.abs(bottoms - 2.0).max(), 0.0, 1e-4, control=np.abs(bottoms + 0.5).max()),
        Number("f(x₂) at the saddle", rest([[2.0]])[0], 1.0, 1e-3, control=sol(times["aligned"])([[2.0]])[0]),
        Number("f(x₁) at the saddle, 0 but for what has grown half way to the second jump; control: at the end",
               rest([[-0.5]])[0], 0.0, _HALF_WAY * np.exp(-growth(data).minus * (second - first)),
               control=end([[-0.5]])[0]),
        Number("largest error at the end", np.abs(end(data.X) - data.y).max(), 0.0, 1e-9, source="exact"),
    )  # fmt: skip
    ran = (
        f"x = -½, 2 with targets -1, 1 and a bias, {_WIDTH} neurons, λ = {_PICTURED:g}, the flow of (1/2n) Σ (f - y)²"
        f" to t = {sol.t_end:g}; the code takes steps of 0.001 on (1/n) Σ (f - y)². Seed {context.seed}."
    )
    note = (
        "The two inputs (x, 1) are orthogonal, so that a neuron along one of them has its kink at the other. Which"
        " iterations the paper shows is not at hand; the stages are chosen by the jumps."
    )
    return Outcome(ran, numbers, {"stages": _figure(sol, times)}, note=note)


def _figure(sol: Solution, times: dict[str, float]) -> Figure:
    with style():
        figure, axes = panels(4, width=9.2, height=2.4, sharex=True, sharey=True)
        grid = np.linspace(-1.5, 3.0, 181)
        for ax, (name, t) in zip(axes, times.items(), strict=True):
            net = sol(t)
            ax.plot(grid, net(grid[:, None]), color=_GREEN, label="$f$")
            ax.plot([-0.5, 2.0], sol.data.y, "o", color=_GREEN)
            ax.plot(*_stars(net), "*", color=_BLUE, label="neurons")
            ax.set_title(f"{name}, $t = {t:.3g}$" if t < 1000.0 else f"{name}, $t = {t:,.0f}$")
            ax.set_xlabel("$x$, kinks $-w_2/w_1$")
        axes[0].set_xlim(-1.5, 3.0)
        axes[0].set_ylabel(r"$f(x)$, $\pm|w_j|$")
        axes[0].legend(loc="upper left")
    figure.set_label("The function, the two samples, and each neuron at its kink with the height ±|w_j|.")
    return figure


def _stars(net: Network) -> tuple[FloatArray, FloatArray]:
    """Return where each neuron has its kink, and its output weight."""
    return -net.W[:, 1] / net.W[:, 0], net.a


CLAIMS = (
    Claim(
        "BPF-S",
        "BPF",
        "Abstract, saddle to saddle",
        "Two phases, and a saddle between them",
        "From a small start the flow goes from the saddle at zero to a second one, where the targets of one sign are"
        " fitted and the outputs at the others are still zero, and from there to zero loss.",
        ("BPF saddles",),
        _saddles,
    ),
    Claim(
        "BPF-F2",
        "BPF",
        "Figure 2",
        "The state of training at different stages",
        "On two orthogonal inputs the neurons first align, then those with a > 0 fit the positive sample, then those"
        " with a < 0 the negative one; each has its kink at the sample that it does not fit.",
        ("BPF Fig 2",),
        _pictures,
    ),
)
