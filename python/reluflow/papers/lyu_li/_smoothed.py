"""[LLWA] Section 3 and App. F: the smoothed margin along the flow, and how θ and its velocity align."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.special import expit, softmax

from ..._validation import FloatArray
from ...analysis import series
from ...analysis._kernels import drive
from ...datasets import Dataset, lyu_figure1
from ...figures import panels, style
from ...flow import Solution, Stop, integrate
from ...networks import Network
from .._claim import Claim, Context, Number, Outcome
from ._tools import SYMMETRIC_LEAK, gaussian, scaled

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

# Log times from 60 on. F.8 and F.9 are on a sequence of times, not on every late one: a flow may stay near a KKT point
# up to log t = 5e4 and leave it for another, and is not aligned on the way.
_LATER = (1e2, 1e3, 1e4, 1e5, 1e6)
_APART = 0.01  # of a log time from every event, so that a difference quotient meets none


def _smoothed(context: Context) -> Outcome:
    data, leak = lyu_figure1("middle"), SYMMETRIC_LEAK
    tables, lengths, runs = [], [], []
    for k in range(context.pick(3, 20)):
        net = scaled(gaussian(8, data.d, np.random.default_rng([context.seed, k]), leak=leak), 0.3)
        run = integrate(data, net, until=Stop(log_time=60.0), reduction="mean")
        table = series(run)
        late = table[table["log_loss"] < np.log(np.log(2) / data.n)]
        tables.append(late)
        lengths.append(_path_length(run))
        runs.append((run, float(late["log_t"].iloc[0]) + 3.0))
    rate, split = _rate(*_quiet(runs))
    numbers = (
        *_monotone(tables),
        Number(
            "dγ~/dt from its radial and tangential parts, over the difference quotient (F.6)", split / rate, 1, 1e-3
        ),
        *_aligning(run, run.at(log_t=runs[-1][1])),
        Number(
            "longest path of θ/|θ| in the second half of log t over the first; control: the first over the second",
            max(lengths),
            0.5,
            0,
            "at_most",
            control=1 / max(lengths),
        ),
    )
    ran = f"{len(tables)} Gaussian starts of 8 neurons (σ = 0.3, not balanced) on the middle data, to log t = 60"
    return Outcome(ran, numbers, {"margins": _margin_figure(tables)})


def _aligning(run: Solution, before: Network) -> tuple[Number, ...]:
    """Follow a run on, and compare (1 + |θ|)|∂γ~| with that of an earlier state, and the velocity with θ."""
    data = run.data
    far = integrate(data, run, until=Stop(log_time=_LATER[-1]), reduction="mean")
    nets = [far.at(log_t=late) for late in _LATER]
    first, slacks = _slack(before, data), [_slack(net, data) for net in nets]
    low = int(np.argmin(slacks))
    return (
        Number("(1 + |θ|)|∂γ~| at log t = 60 (Theorem F.9)", _slack(run.final, data)),
        Number(
            "the least at log t = 1e2, ..., 1e6, over that early on: a sequence tends to 0; control: (1 + |θ|)² for"
            " 1 + |θ|",
            slacks[low] / first,
            0.2,
            0,
            "at_most",
            control=slacks[low] / first * (1 + nets[low].norm) / (1 + before.norm),
        ),
        Number("1 - cos(θ, dθ/dt) at log t = 60", _misaligned(run.final, data)),
        Number(
            "1 - cos(θ, dθ/dt), the least at these times: a sequence tends to 0 (F.8); control: at the start",
            min(_misaligned(net, data) for net in nets),
            0,
            1e-3,
            control=_misaligned(run.initial, data),
        ),
    )


def _monotone(tables: list[pd.DataFrame]) -> tuple[Number, Number]:
    """Return how far γ~ falls and exceeds γ, beside |θ|³ in the place of |θ|² and the mean loss in that of the sum."""
    least, cubic, above, averaged = [], [], [], []
    for late in tables:
        smoothed, margin = late["smoothed_margin"].to_numpy(), late["normalised_margin"].to_numpy()
        norm, loss = late["norm"].to_numpy(), np.exp(late["log_loss"].to_numpy())
        least.append(float(np.diff(smoothed).min()))
        cubic.append(float(np.diff(smoothed / norm).min()))
        above.append(float((smoothed - margin).max()))
        averaged.append(float((-np.log(np.expm1(loss)) / norm**2 - margin).max()))
    name = "least step of γ~ after L < ln 2/n; control: |θ|³ for |θ|²"
    return (
        Number(name, min(least), 0, 1e-12, "at_least", control=min(cubic)),
        Number("largest γ~ - γ; control: L for nL", max(above), 0, 1e-12, "at_most", control=max(averaged)),
    )


def _path_length(run: Solution) -> float:
    """Return the length of the path of θ/|θ| after half of log t over that before."""
    W, a = run.states(log_times=np.linspace(-5, run.log_t_end, 4000))
    theta = np.concatenate((W.reshape(len(a), -1), a), axis=1)
    theta /= np.linalg.norm(theta, axis=1, keepdims=True)
    steps = np.linalg.norm(np.diff(theta, axis=0), axis=1)
    return float(steps[len(steps) // 2 :].sum() / steps[: len(steps) // 2].sum())


def gradient(net: Network, data: Dataset) -> tuple[float, FloatArray]:
    """Return the mean loss and -∂L/∂θ as rows (w, a), away from the boundaries."""
    Z = net.W @ data.X.T
    q = data.y * net(data.X)
    pull = data.y * expit(-q) / data.n
    slopes = np.where(Z > 0, 1.0, net.leak)
    W = net.a[:, None] * ((slopes * pull) @ data.X)
    return float(np.mean(np.logaddexp(0, -q))), np.column_stack((W, (slopes * Z) @ pull))


def smoothed_margin(net: Network, data: Dataset) -> float:
    """Return γ~ = ℓ⁻¹(nL)/|θ|² of the mean loss."""
    total = data.n * gradient(net, data)[0]
    return -float(np.log(np.expm1(total))) / net.norm**2


def _rate(run: Solution, log_t: float) -> tuple[float, float]:
    """Return dγ~/dt by a difference quotient, and by |∂_r γ~||∂_r L| + |∂_⊥ γ~||∂_⊥ L|."""
    data, t = run.data, float(np.exp(log_t))
    step = 1e-3 * t
    quotient = (smoothed_margin(run(t + step), data) - smoothed_margin(run(t - step), data)) / (2 * step)
    net = run(t)
    loss, down = gradient(net, data)
    theta = net.theta
    total = data.n * loss
    # dγ~ = (dℓ⁻¹(nL))/|θ|² - 2 γ~ θ/|θ|², with dℓ⁻¹(s)/ds = -1/(1 - e^-s).
    climb = data.n * down / -np.expm1(-total) / net.norm**2 - 2 * smoothed_margin(net, data) * theta / net.norm**2
    radial = theta / net.norm
    along, up = float((down * radial).sum()), float((climb * radial).sum())
    split = abs(up) * abs(along) + float(np.linalg.norm(climb - up * radial) * np.linalg.norm(down - along * radial))
    return quotient, split


def _quiet(runs: list[tuple[Solution, float]]) -> tuple[Solution, float]:
    """Return a run and a log time, its own or later, with no event within a per cent of t and no neuron that slides."""
    for run, first in runs:
        for log_t in np.arange(first, first + 10.0, 0.1):
            pattern = run(float(np.exp(log_t))).pattern
            near = len(run.events) and np.abs(run.events.log_t - log_t).min() < _APART
            if pattern is not None and (pattern != 0).all() and not near:
                return run, float(log_t)
    raise RuntimeError("every run has a sliding neuron at all times looked at")


def _pull(net: Network, data: Dataset) -> FloatArray:
    """Return θ' over the loss, Σ p_i y_i ∂f(x_i), with p the softmax of the margins, for the loss itself underflows.

    A neuron that slides is held on the boundary: of the generalised gradients the flow takes the one along it.
    """
    assert net.pattern is not None  # the networks of a run have it
    Z = net.W @ data.X.T
    weights = data.y * softmax(-data.y * net(data.X))
    a = np.maximum(Z, net.leak * Z) @ weights
    return np.column_stack((net.a[:, None] * drive(data.X, weights, net.pattern, net.leak), a))


def _misaligned(net: Network, data: Dataset) -> float:
    """Return 1 - cos(θ, θ')."""
    down = _pull(net, data)
    return 1 - float((down * net.theta).sum() / (np.linalg.norm(down) * net.norm))


def _slack(net: Network, data: Dataset) -> float:
    """Return (1 + |θ|)|∂γ~|: ∂γ~ = (Σ p_i y_i ∂f_i - 2 γ~ θ)/|θ|², as the loss is far below 1."""
    q = data.y * net(data.X)
    gamma = -float(np.logaddexp.reduce(-q)) / net.norm**2
    return (1 + net.norm) * float(np.linalg.norm(_pull(net, data) - 2 * gamma * net.theta)) / net.norm**2


@style()
def _margin_figure(tables: list[pd.DataFrame]) -> Figure:
    figure, ax = panels(1)
    for k, table in enumerate(tables[:3]):
        colour = f"C{k}"
        ax.plot(table["log_t"], table["normalised_margin"], color=colour, linewidth=0.9, linestyle="--")
        ax.plot(table["log_t"], table["smoothed_margin"], color=colour)
    ax.plot([], [], color="0.3", label=r"smoothed $\tilde\gamma$")
    ax.plot([], [], color="0.3", linestyle="--", linewidth=0.9, label=r"normalised $\gamma$")
    ax.set_xlabel(r"$\log t$")
    ax.set_ylabel("margin")
    ax.legend()
    return figure


SMOOTHED = Claim(
    "LLWA-S3",
    "LLWA",
    "Section 3, Lemmas F.6, F.8, Theorem F.9",
    "The smoothed margin",
    "Once L < ln 2/n, γ~ = ℓ⁻¹(nL)/|θ|² never falls and stays below γ; its rate splits into a radial and a"
    " tangential part; along a sequence of times θ and its velocity align, and (1 + |θ|)|∂γ~| tends to 0.",
    ("B-003-Def",),
    _smoothed,
)
