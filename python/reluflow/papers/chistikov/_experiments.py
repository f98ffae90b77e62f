"""[CEL] Section 8: Figures 1 and 2, with the flow in place of gradient descent."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..._validation import FloatArray, optional_module
from ...datasets import Dataset
from ...figures import panels, style
from ...flow import Stop
from .._claim import Claim, Context, Number, Outcome
from ._data import active, draw_start, pull, run, widest

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_WIDTH, _TRIALS = 200, 5
_LARGE = 2  # the power of 4 beside which the test loss is small
_FITTED = 1e-9  # loss at which the authors stop
_SCHEMES = ("centred", "uncentred")
# Tables 1 and 2: medians of five trials at λ = 4², and their standard deviations.
_PRINTED = {
    ("centred", 4): (166.5, 10.45),
    ("centred", 16): (140.5, 3.256),
    ("uncentred", 4): (172.8, 8.402),
    ("uncentred", 16): (137.2, 4.366),
}
_ALIGNED = 5.0  # degrees
_RISE = 5.0  # degrees by which medians of trials that do not align yet may rise: one in 24 did, by 2
_SPREADS = 4.0  # standard deviations that a median of five may be off
_SLOPE = 4.0**4  # of the angle between 4^-9 and 4^-13, in the same tables to three digits


def _draw(rng: np.random.Generator, scheme: str, d: int) -> Dataset:
    """Draw d inputs and the teacher by one of the two schemes; redraw where an angle exceeds 90 degrees."""
    while True:
        mean = rng.standard_normal(d)
        mean /= np.linalg.norm(mean)
        rho = 1.0 if scheme == "centred" else 2**0.5 - 1
        X = mean + (rho / d) ** 0.5 * rng.standard_normal((d + 1, d))
        v = mean if scheme == "centred" else X[-1] / np.linalg.norm(X[-1])
        if (X[:d] @ v > 0).all():
            return Dataset(X[:d], X[:d] @ v)


def _angles(context: Context) -> Outcome:
    """Take medians of the largest angle between active neurons over five trials, from 4² down to 4⁻¹³."""
    powers = context.pick((2, -3, -9, -13), (2, 0, -2, -3, -5, -7, -9, -11, -13))
    dims = context.pick((4,), (4, 16))
    rows, curves, ratios, ends = [], {}, {}, {}
    for scheme in _SCHEMES[: context.pick(1, 2)]:
        for d in dims:
            context.progress(f"{scheme}, d = {d}")
            found = _trials(context.seed, scheme, d, powers)
            curves[scheme, d] = np.median(found[:_TRIALS], axis=0)
            nine, thirteen = found[:, powers.index(-9)], found[:, powers.index(-13)]
            aligned = nine < _ALIGNED
            ratios[scheme, d] = float(np.median(nine[aligned] / thirteen[aligned]))
            ends[scheme, d] = float(np.median(thirteen[aligned]))
            rows += [(scheme, d, f"4^{power}", angle) for power, angle in zip(powers, curves[scheme, d], strict=True)]
    numbers = []
    for (scheme, d), angle in curves.items():
        value, spread = _PRINTED[scheme, d]
        numbers += [
            Number(f"{scheme}, d = {d}: median angle (degrees) at λ = 4²; control: of trials that align, at 4⁻¹³",
                   angle[0], value, _SPREADS * spread, source="print", control=ends[scheme, d]),
            Number(f"{scheme}, d = {d}: largest rise (degrees) of the median from a λ to a smaller one; control: back",
                   float(np.diff(angle).max()), 0.0, _RISE, "at_most", control=float(-np.diff(angle).min())),
            Number(f"{scheme}, d = {d}: median ratio of the angles at 4⁻⁹ and 4⁻¹³, of trials that align",
                   ratios[scheme, d], _SLOPE, 0.02 * _SLOPE, wrong=4.0**2),
        ]  # fmt: skip
    table = optional_module("pandas", "analysis").DataFrame(rows, columns=["scheme", "d", "λ", "median angle"])
    table.attrs["caption"] = "Medians over five trials of the largest angle between active neurons, degrees"
    ran = (
        f"{_TRIALS} trials each, {_WIDTH} neurons, d inputs, λ = 4^k for {len(powers)} powers, d ="
        f" {', '.join(str(d) for d in dims)}, the flow to a loss of {_FITTED:g}; the paper has gradient descent with"
        f" steps of 0.01, and d to 1024. Seed {context.seed}."
    )
    note = (
        "The inputs are within 90° of the teacher only, so that the theorems do not hold for every draw, and the spread"
        " between trials is large in between: only the two ends are compared with Tables 1 and 2. Trials that have not"
        " aligned by 4⁻⁹ count in the medians, not in the ratio."
    )
    return Outcome(ran, tuple(numbers), {"figure-1": _figure(powers, curves)}, {"angles": table}, note)


def _trials(seed: int, scheme: str, d: int, powers: tuple[int, ...]) -> FloatArray:
    """Return the angles of five trials by row, and of further ones until one has aligned by 4⁻⁹."""
    found: list[list[float]] = []
    while len(found) < _TRIALS or not any(angles[powers.index(-9)] < _ALIGNED for angles in found):
        trial = len(found)
        rng = np.random.default_rng([seed, d, trial, _SCHEMES.index(scheme)])
        data, start = _draw(rng, scheme, d), draw_start(rng, _WIDTH, d)
        nets = [run(data, start.network(4.0**power), Stop(mean_loss=_FITTED, time=1e6)).final for power in powers]
        found.append([widest(active(net, net)) for net in nets])
    return np.array(found)


def _figure(powers: tuple[int, ...], curves: dict[tuple[str, int], FloatArray]) -> Figure:
    schemes = list(dict.fromkeys(scheme for scheme, _ in curves))
    with style():
        figure, axes = panels(len(schemes), width=3.4 * len(schemes), height=2.8, squeeze=False)
        for ax, scheme in zip(axes[0], schemes, strict=True):
            for (name, d), angle in curves.items():
                if name == scheme:
                    ax.loglog([4.0**power for power in powers], angle, "o-", label=f"$d = {d}$")
            ax.set_title(scheme)
            ax.set_xlabel(r"$\lambda$")
            ax.set_ylabel("largest angle (degrees)")
            ax.legend()
    figure.set_label("The largest angle between active neurons at the end, medians of five trials.")
    return figure


def _losses(context: Context) -> Outcome:
    """Follow training and test loss of centred draws with d = 16 over a range of scales; draw the first."""
    powers = (*context.pick((-8,), tuple(range(-2, -9, -1))), _LARGE)
    n_draws, width = context.pick((2, 100), (5, _WIDTH))
    curves, least, before = {}, np.inf, np.inf
    tests = np.empty((n_draws, len(powers)))
    for draw in range(n_draws):
        context.progress(f"draw {draw + 1} of {n_draws}")
        rng = np.random.default_rng([context.seed, 16, draw])
        data, start = _draw(rng, "centred", 16), draw_start(rng, width, 16)
        inputs = rng.standard_normal((64, 16))
        wanted = np.maximum(inputs @ np.linalg.solve(data.X, data.y), 0.0)
        for k, power in enumerate(powers):
            sol = run(data, start.network(4.0**power), Stop(mean_loss=_FITTED, time=1e6))
            t = np.append(0.0, np.geomspace(0.1, sol.t_end, context.pick(60, 150)))
            nets = [sol(float(when)) for when in t]
            train, test = (np.array([0.5 * ((net(X) - y) ** 2).mean() for net in nets])
                           for X, y in ((data.X, data.y), (inputs, wanted)))  # fmt: skip
            rates = -np.diff(np.log(train)) / np.diff(t) / _rate(data)
            later = train[:-1] < 0.5 * train[0]
            if power != _LARGE:
                least, before = min(least, float(rates[later].min())), min(before, float(rates[~later].min()))
            tests[draw, k] = test[-1] / np.mean(0.5 * wanted**2)
            if draw == 0 and power != _LARGE:
                curves[power] = (t, train, test)
    medians = np.median(tests, axis=0)
    numbers = (
        Number("least rate of log L over 2 η_d |γ|/(5 η₁), from half the loss on; control: before", least, 1.0,
               relation="at_least", control=before),
        Number("median test loss at the end over that of f = 0, the largest for λ up to 4⁻²; control: for λ = 4²",
               float(medians[:-1].max()), 0.1, relation="at_most", control=float(medians[-1])),
    )  # fmt: skip
    ran = (
        f"{n_draws} centred draws with d = 16, {width} neurons, λ = {', '.join(f'4^{power}' for power in powers)}, the"
        f" flow to a loss of {_FITTED:g}; 64 normal test inputs. Seed {context.seed}; the paper's draw is not at hand."
    )
    note = (
        "The rate is that of the proof of Theorem 6, though these inputs are not all within 45° of the teacher. The"
        " bound of 0.1 is ours."
    )
    return Outcome(ran, numbers, {"figure-2": _loss_figure(curves)}, note=note)


def _rate(data: Dataset) -> float:
    """Return 2 η_d |γ|/(5 η₁), a bound of |∂L|²/L from below once the bundle has left zero."""
    eta = np.linalg.eigvalsh(data.X.T @ data.X / data.n)
    return float(2 * eta[0] * pull(data) / (5 * eta[-1]))


def _loss_figure(curves: dict[int, tuple[FloatArray, FloatArray, FloatArray]]) -> Figure:
    with style():
        figure, axes = panels(2, width=6.9, height=2.8)
        for power, (t, train, test) in curves.items():
            for ax, values in zip(axes, (train, test), strict=True):
                ax.semilogy(t, values, label=rf"$\lambda = 4^{{{power}}}$")
        for ax, label in zip(axes, ("training loss", "test loss"), strict=True):
            ax.set_xlabel("$t$")
            ax.set_ylabel(label)
        axes[0].set_xscale("log")
        axes[0].set_xlim(left=1.0)
        axes[0].legend()
    figure.set_label("Training loss, and loss on normal test inputs, over the flow's time.")
    return figure


CLAIMS = (
    Claim(
        "CEL-F1",
        "CEL",
        "Figure 1, Tables 1 and 2",
        "Angles between neurons fall with the scale",
        "At the end of training the largest angle between active neurons decreases with λ, at last in proportion to it,"
        " for both schemes of drawing and every dimension.",
        ("CEL Fig 1", "CEL Table 1", "CEL Table 2"),
        _angles,
        quick="The centred scheme in 4 dimensions alone, and four scales.",
    ),
    Claim(
        "CEL-F2",
        "CEL",
        "Figure 2",
        "Exponential convergence, and generalisation",
        "The training loss ends exponentially, and after a small start the loss on inputs of another distribution is"
        " small as well.",
        ("CEL Fig 2",),
        _losses,
        quick="The smallest scale alone, two draws, and 100 neurons instead of 200.",
    ),
)
