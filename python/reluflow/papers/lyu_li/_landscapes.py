"""[LLWA] App. I.2.1 and Figure 3: ridge, valley and refraction edge, as the flow meets them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..._validation import FloatArray
from ...datasets import Dataset
from ...figures import panels, style
from ...flow import Solution, integrate
from ...networks import Network
from .._claim import Claim, Context, Number, Outcome

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_LEAK, _END = 0.2, 2.0
_SIDE, _BOTTOM, _TOP = 0.8, 0.2, 1.4  # of the surfaces that are drawn
_LIFT = 0.004  # of paths above their surface
_RED = "#D00000"


class Landscape(NamedTuple):
    """Two samples whose first boundary is w_1 = 0, and starts of one neuron with a > 0."""

    name: str
    drive: float  # first input of the second sample, (drive, 1), labelled +1
    label: int  # of the first sample, (1, 0)
    starts: tuple[tuple[float, float], ...]
    policies: tuple[str, ...]

    @property
    def data(self) -> Dataset:
        """Return the two samples."""
        return Dataset([[1.0, 0.0], [self.drive, 1.0]], [self.label, 1])


RIDGE = Landscape("Ridge", -0.7, 1, ((0.0, 0.6),), ("active", "inactive", "stay"))
VALLEY = Landscape("Valley", 0.7, -1, ((-0.15, 0.45), (0.15, 0.6)), ("raise",))
EDGE = Landscape("Refraction edge", -0.5, -1, ((0.5, 0.3), (0.7, 0.8)), ("raise",))


def runs(landscape: Landscape) -> list[Solution]:
    """Return the flows from all starts with all policies."""
    found = []
    for start in landscape.starts:
        size = float(np.linalg.norm(start))
        for policy in landscape.policies:
            net = Network([start], [size], leak=_LEAK)
            found.append(integrate(landscape.data, net, until=_END, on_branch=policy))
    return found


def one_sided_rates(landscape: Landscape, w: FloatArray, a: float) -> tuple[float, float]:
    """Return the rates r₊ and r₋ of w_1 with the slopes 1 and α of the first sample, at w on its boundary."""
    data = landscape.data
    q = data.y * a * np.maximum(data.X @ w, _LEAK * (data.X @ w))
    pull = data.y / (1 + np.exp(q))
    slopes = [np.array([s, 1.0 if data.X[1] @ w > 0 else _LEAK]) for s in (1.0, _LEAK)]
    plus, minus = (float(a * ((s * pull) @ data.X)[0]) for s in slopes)
    return plus, minus


def _kinds(context: Context) -> Outcome:
    ridge, valley, edge = runs(RIDGE), runs(VALLEY), runs(EDGE)
    signs = {land.name: _signs(land) for land in (RIDGE, VALLEY, EDGE)}
    ends = np.array([run.final.W[0] for run in ridge])
    apart = min(float(np.linalg.norm(ends[i] - ends[j])) for i, j in ((0, 1), (0, 2), (1, 2)))
    held, passed = (float(np.abs([run.final.W[0, 0] for run in some]).max()) for some in (valley, edge))
    one = [runs(EDGE._replace(policies=(policy,)))[0].final.W[0] for policy in ("active", "inactive")]
    numbers = (
        Number("ridge: signs of the rates (r₊, r₋)", signs["Ridge"], "+-"),
        Number("valley: signs of (r₊, r₋)", signs["Valley"], "-+"),
        Number("refraction edge: signs of (r₊, r₋)", signs["Refraction edge"], "--"),
        Number("ridge: continuations of one start", len(ridge[0].branchings[0].options), 3),
        Number(
            "ridge: least distance between the ends of the three; control: of two on the edge",
            apart,
            0.05,
            0,
            "at_least",
            control=float(np.linalg.norm(one[0] - one[1])),
        ),
        Number("valley: events of both starts", _events(valley), "slide"),
        Number("valley: largest |w_1| at the end; control: on the edge", held, 0, 1e-12, control=passed),
        Number("refraction edge: events", _events(edge), "cross_down"),
        Number(
            "valley and edge: branch points; control: on the ridge",
            sum(len(run.branchings) for run in valley + edge),
            0,
            control=sum(len(run.branchings) for run in ridge),
        ),
        Number(
            "all: largest |dL/dt + |dθ/dt|²|/|dθ/dt|²; control: 1.1 |dθ/dt|²",
            max(_energy(run) for run in ridge + valley + edge),
            0,
            1e-4,
            control=_energy(edge[0], 1.1),
        ),
    )
    ran = f"one neuron, two samples, α = {_LEAK}, exact flow to t = {_END:g}; on the ridge all three continuations"
    figure = _draw(((RIDGE, ridge), (VALLEY, valley), (EDGE, edge)))
    return Outcome(ran, numbers, {"landscapes": figure}, note=_HEIGHTS)


_HEIGHTS = (
    "Heights are the loss over w at the first output weight, dashed is the boundary w_1 = 0; paths are the exact flow,"
    " from a white to a red dot. The output weight moves too."
)


def _signs(landscape: Landscape) -> str:
    w = np.array([0.0, 0.5])
    return "".join("+" if rate > 0 else "-" for rate in one_sided_rates(landscape, w, 0.5))


def _events(found: list[Solution]) -> str:
    return " ".join(sorted({event.kind for run in found for event in run.events}))


def _energy(run: Solution, factor: float = 1.0) -> float:
    """Return the largest relative difference of -dL/dt and factor · |dθ/dt|², by central differences between events."""
    step, worst = 1e-4, 0.0
    for t in np.linspace(0.05, _END - 0.05, 40):
        if len(run.events) and np.abs(run.events.t - t).min() < 2 * step:
            continue
        before, after = run(t - step), run(t + step)
        speed = float(np.sum((after.theta - before.theta) ** 2)) / (2 * step) ** 2
        fall = (_loss(before, run.data) - _loss(after, run.data)) / (2 * step)
        worst = max(worst, abs(fall - factor * speed) / speed)
    return worst


def _loss(net: Network, data: Dataset) -> float:
    return float(np.logaddexp(0, -data.y * net(data.X)).sum())


def _draw(drawn: tuple[tuple[Landscape, list[Solution]], ...]) -> Figure:
    with style():
        figure, axes = panels(3, height=2.7, subplot_kw={"projection": "3d", "computed_zorder": False})
        for ax, (landscape, found) in zip(axes, drawn, strict=True):
            _surface(ax, landscape, found[0].initial.a[0])
            for run in found:
                _path(ax, landscape, run, found[0].initial.a[0])
            ax.set_title(landscape.name)
    return figure


def _path(ax: Any, landscape: Landscape, run: Solution, a: float) -> None:
    """Draw a path on the surface as far as it stays inside, with an arrow's head at its end."""
    W, _ = run.states(np.linspace(0, _END, 400))
    inside = (np.abs(W[:, 0, 0]) <= _SIDE) & (W[:, 0, 1] <= _TOP)
    path = W[: int(np.argmin(np.append(inside, False))), 0]
    height = _heights(landscape, path, a) + _LIFT
    ax.plot(path[:, 0], path[:, 1], height, color=_RED, linewidth=1.7, zorder=10)
    ax.scatter(*path[0], height[0], color="white", edgecolors=_RED, s=14, zorder=11)
    ax.scatter(*path[-1], height[-1], color=_RED, s=14, zorder=11)


def _heights(landscape: Landscape, W: FloatArray, a: float) -> FloatArray:
    data = landscape.data
    Z = W @ data.X.T
    return np.asarray(np.logaddexp(0, -data.y * a * np.maximum(Z, _LEAK * Z)).sum(axis=-1))


def _surface(ax: Any, landscape: Landscape, a: float) -> None:
    U, V = np.meshgrid(np.linspace(-_SIDE, _SIDE, 49), np.linspace(_BOTTOM, _TOP, 49))
    height = _heights(landscape, np.stack((U, V), axis=-1), a)
    ax.plot_surface(U, V, height, cmap="Blues_r", alpha=0.9, linewidth=0.15, edgecolor="0.75", rstride=3, cstride=3)
    edge = np.linspace(_BOTTOM, _TOP, 41)
    boundary = np.column_stack((np.zeros_like(edge), edge))
    ax.plot(
        boundary[:, 0],
        boundary[:, 1],
        _heights(landscape, boundary, a) + _LIFT,
        color="0.2",
        linewidth=0.8,
        linestyle="--",
    )
    ax.set_zlim(height.min(), height.max())
    ax.set_box_aspect((1, 1, 0.7), zoom=1.05)
    ax.set_xlabel("$w_1$", labelpad=-8)
    ax.set_ylabel("$w_2$", labelpad=-8)
    ax.set_xticks([-_SIDE, 0, _SIDE])
    ax.set_yticks([_BOTTOM, _TOP])
    ax.tick_params(labelsize=6, pad=-3)
    ax.view_init(elev=38, azim=-75)


def _absolute(context: Context) -> Outcome:
    """Check L(θ) = -|<θ, w>|: rest at 0 until any t_s, then ±(t - t_s) w."""
    w = np.random.default_rng(context.seed).standard_normal(3)
    times = np.linspace(0.005, 2.995, 300)
    gaps, falls, faster, ends = [], [], [], []
    for start in (0.0, 0.5, 1.7):
        for sign in (1, -1):
            theta = sign * np.outer(np.maximum(times - start, 0), w)
            speed = np.where((times > start)[:, None], sign * w, 0.0)
            gaps.append(max(_to_subgradients(v, x, w) for v, x in zip(speed, theta, strict=True)))
            slope = np.gradient(-np.abs(theta @ w), times)
            away = np.abs(times - start) > 0.02
            falls.append(float(np.abs(slope + (speed**2).sum(axis=1))[away].max()))
            faster.append(float(np.abs(slope + 1.1 * (speed**2).sum(axis=1))[away].max()))
            ends.append(theta[-1])
    apart = min(float(np.linalg.norm(a - b)) for i, a in enumerate(ends) for b in ends[:i]) / float(np.linalg.norm(w))
    late = np.outer(np.maximum(times - times[-1], 0), w)[-1]  # t_s at the end of the time: all rest at 0
    fast = _to_subgradients(1.1 * w, w, w)
    numbers = (
        Number("largest distance of dθ/dt from -∂°L; control: 1.1 times as fast", max(gaps), 0, 1e-12, control=fast),
        Number("largest |dL/dt + |dθ/dt|²|; control: 1.1 |dθ/dt|²", max(falls), 0, 1e-10, control=max(faster)),
        Number(
            "least distance between the ends of the six, over |w|; control: with t_s at the end of the time",
            apart,
            0.1,
            0,
            "at_least",
            control=float(np.linalg.norm(late - (-late))),
        ),
    )
    return Outcome("t_s = 0, 0.5 and 1.7 with both signs, 300 times up to 3", numbers)


def _to_subgradients(v: FloatArray, theta: FloatArray, w: FloatArray) -> float:
    """Return the distance of v from -∂°L(θ) for L = -|<θ, w>|: ±w, or the segment between them on the ridge."""
    height = float(theta @ w)
    share = float(np.sign(height)) if height != 0 else float(np.clip(v @ w / (w @ w), -1, 1))
    return float(np.linalg.norm(v - share * w))


CLAIMS = (
    Claim(
        "LLWA-F3",
        "LLWA",
        "Figure 3",
        "Ridge, valley, refraction edge",
        "The flow can branch on a ridge alone; it slides along a valley and changes direction at a refraction edge.",
        ("003 Fig 3", "S003-BR"),
        _kinds,
    ),
    Claim(
        "LLWA-I2b",
        "LLWA",
        "App. I.2.1",
        "A flow that may leave at any time",
        "For L(θ) = -|<θ, w>| resting at 0 until any t_s and then moving along w or -w is a gradient flow.",
        ("S003-BR",),
        _absolute,
    ),
)
