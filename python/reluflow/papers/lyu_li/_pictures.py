"""[LLWA] Figures 1 and 2: decision boundaries of KKT points and of trained networks on the three data sets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..._validation import FloatArray
from ...analysis import DecisionPlane
from ...convex import certify, leaky_linear_margin, max_margin, svm, to_network
from ...datasets import Dataset, lyu_figure1, lyu_kkt
from ...descent import descend
from ...figures import panels, style
from ...networks import Network
from .._claim import Claim, Context, Number, Outcome
from ._one_neuron import one_neuron
from ._shading import shaded
from ._symmetric import linear_optimum
from ._tools import SMALL, SYMMETRIC_LEAK, balanced, fit, gaussian, he, scaled, settle

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LEAK = SYMMETRIC_LEAK
_PANELS = ("left", "middle", "right")
_ORANGE = "#E08000"
_HALF = {"left": 2.6, "middle": 2.0, "right": 1.3}  # half widths of the squares
_STEPS = {"left": 0.02, "middle": 0.01, "right": 0.001}  # below 2 over the sharpness that the largest input gives
# Nets for the pictures of the paper are trained from 0.001 times the initialisation of He et al.; the width is ours.
_WIDTH = 20
# A boundary is linear if it strays over less than this part of what a boundary that is not linear does. From 0.001
# times the He initialisation it strays by up to a third: the linear direction is unstable in the middle, and a start of
# finite size leaves it in time.
_STRAYS = 0.4


def flow_limit(panel: str, seed: int) -> Network:
    """Return the limit of the flow from small weights, with both signs among the neurons."""
    data = lyu_figure1(panel)
    for k in range(50):
        rng = np.random.default_rng([seed, k])
        if panel == "left":
            limit = settle(data, scaled(gaussian(6, data.d, rng, leak=LEAK), SMALL)).limit
        else:
            limit = fit(data, scaled(balanced(6, data.d, rng, leak=LEAK), SMALL), mean_loss=1e-6).limit
        if limit.certified and (limit.network.a > 0).any():
            return limit.network
    raise RuntimeError("no start of fifty was certified")


def optimum(data: Dataset) -> Network:
    """Return the network of greatest margin, scaled to |θ| = 1."""
    best = to_network(max_margin(data, leak=LEAK))
    return scaled(best, 1 / best.norm)


def on_plane(data: Dataset, net: Network, half: float, n_grid: int = 241, across: float = 0.0) -> DecisionPlane:
    """Return the outputs on the first two inputs, the third (if there is one) at its constant value.

    The first input goes up to `across` on either side, or up to `half` as the second one.
    """
    u, v = np.linspace(-(across or half), across or half, n_grid), np.linspace(-half, half, n_grid)
    U, V = np.meshgrid(u, v)
    inputs = np.zeros((U.size, data.d))
    inputs[:, 0], inputs[:, 1] = U.ravel(), V.ravel()
    inputs[:, 2:] = data.X[0, 2:]
    return DecisionPlane(u, v, net(inputs).reshape(U.shape), data.X[:, :2], data.y, np.eye(2, data.d))


def _boundaries(context: Context) -> Outcome:
    rows, drawn = [], []
    for panel in _PANELS:
        data = lyu_figure1(panel)
        kkt = Network(*lyu_kkt(leak=LEAK).limit, leak=LEAK) if panel == "left" else flow_limit(panel, context.seed)
        best = Network(*_linear_pair(data), leak=LEAK) if panel == "left" else optimum(data)
        found = certify(kkt, data)
        rows.append((found.verdict, 0.5 / found.value, 0.5 / found.upper))
        drawn.append((data, kkt, best))
    margins = {"left": (0.356107, 0.375), "middle": (0.055902, 0.127604), "right": (0.0625, 0.110476)}
    numbers = [
        Number("all three KKT points certified, not global", " ".join(row[0] for row in rows), " ".join(_NOT_GLOBAL))
    ]
    for panel, (_, mine, greatest) in zip(_PANELS, rows, strict=True):
        wanted = margins[panel]
        numbers += [
            Number(f"{panel}: margin of the KKT point", mine, wanted[0], 1e-6, source="exact"),
            Number(f"{panel}: greatest margin", greatest, wanted[1], 1e-6, source="exact"),
        ]
    limit = flow_limit("left", context.seed)
    left = lyu_figure1("left")
    margin = float((left.y * limit(left.X)).min())
    numbers.append(Number("left: margin of the flow from small weights, the greatest", margin, 0.375, 1e-8))
    ran = "α = 1/2; left: the printed KKT point and w*; middle and right: limits of the flow and the convex optimum"
    return Outcome(ran, tuple(numbers), {"boundaries": _figure1(drawn)}, note=_NUMBERS)


_NOT_GLOBAL = ("kkt_not_global",) * 3
_NUMBERS = (
    "No numbers are printed for the middle and right data; they are those of the catalogue of data sets. Far samples"
    " (x = 20 in the middle, the hint at x = 60 on the right) lie outside the square pictures, at the arrows."
)


def _linear_pair(data: Dataset) -> tuple[FloatArray, FloatArray]:
    w = svm(data).direction
    return np.array([w, -w]) / 2, np.array([0.5, -0.5])


@style()
def _figure1(drawn: list[tuple[Dataset, Network, Network]]) -> Figure:
    """Draw the boundaries near 0, and below with all samples, the first input compressed where some are far."""
    figure, axes = panels(3, 2, height=4.9)
    for column, panel, (data, kkt, best) in zip(axes.T, _PANELS, drawn, strict=True):
        half = _HALF[panel]
        for ax, across in zip(column, (0.0, 1.1 * float(np.abs(data.X[:, 0]).max())), strict=True):
            for net, colour, width in ((best, "black", 1.5), (kkt, _ORANGE, 1.8)):
                plane = on_plane(data, net, half, across=across, n_grid=801 if across else 241)
                ax.contour(plane.u, plane.v, plane.values, levels=[0.0], colors=colour, linewidths=width)
            _samples(ax, data, half, n_hints=3 if panel == "right" else 0, across=across)
        column[0].set_title(f"{panel.capitalize()}, near 0")
        column[1].set_title("all samples")
    from matplotlib.lines import Line2D

    handles = [
        Line2D([], [], color=_ORANGE, label="KKT margin"),
        Line2D([], [], color="black", label="global max margin"),
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=2)
    return figure


def _samples(ax: Any, data: Dataset, half: float, n_hints: int, across: float) -> None:
    """Draw the samples, hints as crosses, and arrows to those outside."""
    across = across or half
    for k, (x, y) in enumerate(zip(data.X[:, :2], data.y, strict=True)):
        colour = "#D55E00" if y > 0 else "#0072B2"
        if abs(x[0]) > across or abs(x[1]) > half:
            tip = (half * 0.97, float(np.clip(x[1], -half, half)))
            ax.annotate("", tip, (half * 0.72, tip[1]), arrowprops={"arrowstyle": "->", "color": colour})
            continue
        shape = {"marker": "x"} if k < n_hints else {"marker": "o", "edgecolors": "white", "linewidths": 0.5}
        ax.scatter(x[0], x[1], s=34, c=colour, zorder=5, **shape)
    ax.set_aspect("equal" if across == half else "auto")
    ax.set_xlim(-across, across)
    ax.set_ylim(-half, half)


def trained(panel: str, context: Context) -> tuple[Network, Network, Network]:
    """Return a start of 0.001 × He, and the networks of gradient descent and of the exact flow from it."""
    data = lyu_figure1(panel)
    for k in range(50):
        start = he(_WIDTH, data.d, np.random.default_rng([context.seed, k]), leak=LEAK)
        if (start.a > 0).any() and (start.a < 0).any():
            break
    n_steps = context.pick(20_000, 400_000)
    net = descend(data, start, step=_STEPS[panel], n_steps=n_steps, reduction="mean").final
    return start, net, fit(data, start, mean_loss=1e-6).final


def _trained(context: Context) -> Outcome:
    figure, axes = panels(3, 2, height=4.6)
    numbers = []
    for column, panel in zip(axes.T, _PANELS, strict=True):
        context.progress(panel)
        data = lyu_figure1(panel)
        wanted = _expected(panel, data)
        bent = _bent(panel, data)  # of a KKT point or optimum that is not linear
        start, *nets = trained(panel, context)
        first = _far_from(wanted, start, data)
        for ax, how, net in zip(column, ("gradient descent", "exact flow"), nets, strict=True):
            plane = on_plane(data, net, _HALF[panel])
            off = float(np.mean(plane.values * _linear(panel, plane, data) < 0))  # points on the line are on no side
            numbers += [
                Number(
                    f"{panel}, {how}: part of the square on the wrong side of the line",
                    off,
                    _STRAYS * bent,
                    0,
                    "at_most",
                    control=bent,
                ),
                Number(
                    f"{panel}, {how}: largest |f/|θ|² - f∞| on the samples, relative; control: the start",
                    _far_from(wanted, net, data),
                    0.2,
                    0,
                    "at_most",
                    control=first,
                ),
            ]
            with style():
                shaded(_inside(plane), ax, size=26.0)
                ax.set_title(f"{panel}, {how}")
    figure.set_label("Outputs of trained networks, the lighter the higher; black: the boundary; dots: the classes")
    ran = (
        f"α = 1/2, {_WIDTH} neurons from 0.001 × He; gradient descent of the mean loss, steps 0.02, 0.01, 0.001,"
        f" {context.pick(20_000, 400_000)} of them; exact flow to mean loss 1e-6"
    )
    return Outcome(ran, tuple(numbers), {"outputs": figure}, note=_NUMBERS)


def _far_from(wanted: FloatArray, net: Network, data: Dataset) -> float:
    """Return the largest |f/|θ|² - f∞| on the samples over the largest |f∞|."""
    return float(np.abs(net(data.X) / net.norm**2 - wanted).max() / np.abs(wanted).max())


def _bent(panel: str, data: Dataset) -> float:
    """Return the part of the square on the wrong side for the nonlinear KKT point (left) or the optimum."""
    net = Network(*lyu_kkt(leak=LEAK).limit, leak=LEAK) if panel == "left" else optimum(data)
    plane = on_plane(data, net, _HALF[panel])
    return float(np.mean(np.sign(plane.values) != np.sign(_linear(panel, plane, data))))


def _inside(plane: DecisionPlane) -> DecisionPlane:
    """Leave out the samples outside the square."""
    inside = np.abs(plane.points).max(axis=1) <= plane.u[-1]
    return DecisionPlane(plane.u, plane.v, plane.values, plane.points[inside], plane.y[inside], plane.basis)


def _direction(panel: str, data: Dataset) -> FloatArray:
    return svm(data).direction if panel == "left" else leaky_linear_margin(data, leak=LEAK).plus.direction


def _expected(panel: str, data: Dataset) -> FloatArray:
    """Return f∞ on the samples: (1+α)/4 <w*, x> or ½φ(<w⁺, x>)."""
    if panel == "left":
        return np.asarray(data.X @ linear_optimum(data, LEAK)[1])
    return one_neuron(data, _direction(panel, data))


def _linear(panel: str, plane: DecisionPlane, data: Dataset) -> FloatArray:
    w = _direction(panel, data)
    constant = float(data.X[0, 2:] @ w[2:])
    return np.asarray(plane.u[None, :] * w[0] + plane.v[:, None] * w[1] + constant)


CLAIMS = (
    Claim(
        "LLWA-F1",
        "LLWA",
        "Figure 1",
        "KKT points and greatest margins on three data sets",
        "Left, symmetric data have a nonlinear KKT direction of suboptimal margin. Middle and right, a linear"
        " classifier is a KKT direction of smaller margin than the nonlinear optimum, and the flow goes there.",
        ("003 Fig 1", "S003-L", "S003-MID", "S003-HINT"),
        _boundaries,
    ),
    Claim(
        "LLWA-F2",
        "LLWA",
        "Figure 2",
        "Trained networks are linear",
        "Networks trained from 0.001 times the He initialisation have linear decision boundaries on all three"
        " data sets.",
        ("003 Fig 2",),
        _trained,
    ),
)
