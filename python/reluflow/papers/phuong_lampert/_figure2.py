"""[PL] Figure 2: a residual network of four layers on the data of Section 5.1, by SGD and by the flow."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..._validation import FloatArray, optional_module
from ...analysis import layer_raster
from ...convex import max_margin_vectors
from ...datasets import Dataset, phuong_lampert
from ...descent import descend
from ...figures import layer_raster as draw_raster
from ...figures import panels, style
from ...figures._style import BLUE, GREY, VERMILION
from ...flow import Stop, integrate
from ...layered import DeepNetwork, DeepSolution, Dense, Residual
from .._claim import Claim, Context, Number, Outcome
from ._figure1 import FACTOR, STEP

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

HIGH = 0.9  # a correlation that the paper calls high
NEAR = 0.9  # cosine of a row with one of two directions that counts as aligned
HIDDEN = 3  # layers whose matrices the figure shows
# What is left of the start stays, and two singular values of each matrix grow, with four layers like (log t)^¼: it is
# long until the third is a twentieth of the second, nothing in a picture of both. The mean cosine of Figure 2g is then
# near 1.
ON, ZERO, ALIGNED = 3e3, 0.05, 0.99
N_ANGLES = 720  # directions of the plane that are tried
BATCHES = 10  # in an epoch, as 500 samples in batches of 50
LETTERS = "abcdefg"
# Events that leave a pre-activation on a side; after the others it is zero.
SIDES = [f"{verb}_{side}" for verb in ("cross", "leave", "wake", "start") for side in ("up", "down")]


@dataclass(frozen=True)
class Size:
    """Samples, inputs, width of each layer, and epochs; an epoch takes the time 1."""

    n: int
    d: int
    width: int
    epochs: int

    @property
    def text(self) -> str:
        """In words."""
        return f"n = {self.n}, d = {self.d}, width {self.width}, {self.epochs} epochs"


PRINTED = Size(500, 20, 100, 500)
FULL, QUICK = Size(250, 20, 30, 500), Size(50, 10, 16, 150)  # of the flow: each event takes a step of its own


def residual_start(size: Size, seed: int) -> DeepNetwork:
    """Draw uniform weights in ±1/√fan_in, the usual default of the time, and multiply them by 0.05."""
    rng = np.random.default_rng(seed)
    d, p = size.d, size.width
    parts = [
        FACTOR * rng.uniform(-1, 1, (rows, reads)) / reads**0.5 for rows, reads in ((p, d), (p, p), (p, p), (1, p))
    ]
    layers = [Dense(p), Residual(Dense(p)), Residual(Dense(p)), Dense(1)]
    return DeepNetwork(layers, np.concatenate([part.ravel() for part in parts]), dim=d)


def matrices(net: DeepNetwork) -> list[FloatArray]:
    """Return W_1, W_2, W_3: what multiplies the outputs of the activation, without the skips."""
    return [net.matrix(layer) for layer in range(1, HIDDEN + 1)]


def two_directions(W: FloatArray) -> tuple[FloatArray, float]:
    """Return the two directions of the leading singular plane near which most of |W|² lies, and that share.

    Examples
    --------
    >>> two_directions(np.array([[1.0, 0.0, 0.0], [0.0, 2.0, 0.0]]))[1]
    1.0
    """
    plane = np.linalg.svd(W)[2][:2]
    angles = np.linspace(0, 2 * np.pi, N_ANGLES, endpoint=False)
    tried = np.stack((np.cos(angles), np.sin(angles)), axis=1) @ plane
    sizes = np.linalg.norm(W, axis=1)
    cosines = W @ tried.T / sizes[:, None]
    near = cosines >= NEAR
    weights = np.array(sizes**2)
    chosen = []
    for _ in range(2):
        best = int(np.argmax(weights @ near))
        mean = (weights * near[:, best]) @ (W @ plane.T) @ plane  # the direction of what is near, not of the cap
        chosen.append(mean / max(float(np.linalg.norm(mean)), np.finfo(float).tiny))
        weights = np.where(near[:, best], 0.0, weights)
    return np.array(chosen), float(1 - weights.sum() / np.sum(sizes**2))


def closest(W: FloatArray, data: Dataset) -> FloatArray:
    """Return the cosine of each row with the closer one of the two max-margin directions."""
    vectors = max_margin_vectors(data)
    two = np.stack([vector / np.linalg.norm(vector) for vector in (vectors.plus.w, vectors.minus.w)], axis=1)
    found: FloatArray = (W @ two).max(axis=1) / np.linalg.norm(W, axis=1)
    return found


def misplaced(run: DeepSolution, part: float = 1.0) -> int:
    """Return how many pre-activations of hidden layers at the end are not on the side where their events leave them.

    Parameters
    ----------
    run : DeepSolution
    part : float
        The part of the events that is replayed; with less than all of them sides come out wrong.
    """
    X = run.data.X
    sides = [np.sign(z) for z in run.initial.pre_activations(X)]
    events = run.events
    side_of = {kind: 1 if kind.endswith("up") else -1 for kind in SIDES}
    for event in list(events)[: round(part * len(events))]:
        sides[event.layer][event.sample, event.unit] = side_of.get(event.kind, 0)
    ends = run.final.pre_activations(X)
    wrong = 0
    for side, z in zip(sides[1:-1], ends[1:-1], strict=True):
        wrong += int(np.sum(np.where(side == 0, np.abs(z) > 1e-9 * np.abs(z).max(), np.sign(z) != side)))
    return wrong


def _figure2(context: Context) -> Outcome:
    """Train by SGD and by the flow from the same start to the same time; in full by SGD as printed as well."""
    size = context.pick(QUICK, FULL)
    data, start = phuong_lampert(size.n, size.d, seed=context.seed), residual_start(size, context.seed)
    context.progress("SGD")
    sgd = _sgd(data, start, size, context.seed)
    context.progress("flow")
    run = integrate(data, start, until=float(size.epochs), reduction="mean", rtol=1e-7)
    context.progress("flow, late")
    on = integrate(data, run, until=Stop(log_time=ON), rtol=1e-7)
    nets = [("SGD", start, sgd, data), ("flow", start, run.final, data)]
    if not context.quick:
        context.progress("SGD as printed")
        printed, first = phuong_lampert(seed=context.seed), residual_start(PRINTED, context.seed)
        nets.insert(0, ("SGD, as printed", first, _sgd(printed, first, PRINTED, context.seed), printed))
    numbers = [number for name, first, net, used in nets for number in _numbers(name, first, net, used)]
    numbers += _late_numbers(on, run.final)
    figures = {}
    for name, _, net, used in nets:
        code = name.replace(", ", "-").replace(" ", "-")
        figures[f"figure2-{code}"] = _figure(net, used, run if name == "flow" else None)
        figures[f"figure2-{code}"].set_label(_CAPTION.format(name=name))
    ran = (
        f"{size.text}, seed {context.seed}: SGD with {BATCHES} batches an epoch, step 0.1, and the exact flow of the"
        f" mean loss from the same start to t = {size.epochs}, {len(run.events):,} events, and on to log t = {ON:g},"
        " rtol 1e-7" + ("" if context.quick else f"; SGD alone as printed: {PRINTED.text}, batches of 50")
    )
    both = (*numbers, *_flow_numbers(run, sgd))
    nets.append((f"flow, log t = {ON:g}", start, on.final, data))
    return Outcome(ran, both, figures, {"layers": _table(nets), "events": _event_table(run)}, _NOTE)


_CAPTION = (
    "{name}: (a-c) the 10 largest singular values of W₁, W₂, W₃, (d-f) their rows on their two leading singular"
    " directions, (g) cosines of the rows of W₁ with the closer max-margin direction."
)
_NOTE = (
    "The paper does not print its default of the weights, its biases or its mean. 'Rank two' is two singular values"
    " that grow above what is left of the start, which does not move: the third is that of the start, and becomes"
    " nothing beside them late. W_l is what multiplies the activation's output, without the skip. The flow is run at a"
    " smaller size than the printed one: every event takes a step of its own, and the printed size has about 36,000 of"
    " them."
)


def _sgd(data: Dataset, start: DeepNetwork, size: Size, seed: int) -> DeepNetwork:
    steps, batch = BATCHES * size.epochs, size.n // BATCHES
    return descend(data, start, step=STEP, n_steps=steps, batch_size=batch, seed=seed, reduction="mean").final


def _numbers(name: str, start: DeepNetwork, net: DeepNetwork, data: Dataset) -> list[Number]:
    """Compare one trained network with the figure, beside its start."""
    numbers = []
    for layer, (W, first) in enumerate(zip(matrices(net), matrices(start), strict=True), start=1):
        values, at_first = (np.linalg.svd(matrix, compute_uv=False) for matrix in (W, first))
        place = f"{name}, W_{layer}: "
        numbers += [
            Number(place + "third singular value over the second, judged later", values[2] / values[1]),
            Number(
                place + "third singular value over the largest of the start; control: the second",
                float(values[2] / at_first[0]),
                1.0,
                0.05,
                "at_most",
                control=float(values[1] / at_first[0]),
            ),
            Number(
                place + f"share of |W|² in rows within a cosine {NEAR} of two directions; control: at the start",
                two_directions(W)[1],
                0.8,
                0.0,
                "at_least",
                control=two_directions(first)[1],
            ),
        ]
    cosines = closest(net.matrix(1), data)
    numbers.append(
        Number(
            f"{name}: mean cosine of the rows of W_1 with the closer max-margin direction, by |row|²; control: at the"
            " start",
            _mean_cosine(net, data),
            0.8,
            0.0,
            "at_least",
            control=_mean_cosine(start, data),
        )
    )
    numbers.append(Number(f"{name}: rows of {len(cosines)} above {HIGH}", float((cosines > HIGH).sum())))
    return numbers


def _late_numbers(on: DeepSolution, shown: DeepNetwork) -> list[Number]:
    """Check rank two and the directions where the flow goes on from the time of the figure."""
    numbers, late = [], f"flow, log t = {ON:g}"
    for layer, (W, then) in enumerate(zip(matrices(on.final), matrices(shown), strict=True), start=1):
        name = f"{late}, W_{layer}: third singular value over the second; control: at the time of the figure"
        numbers.append(Number(name, _third(W), ZERO, 0.0, "at_most", control=_third(then)))
    name = f"{late}: mean cosine of the rows of W_1 with the closer max-margin direction; control: at the figure's time"
    cosine, before = (_mean_cosine(net, on.data) for net in (on.final, shown))
    return [*numbers, Number(name, cosine, ALIGNED, 0.0, "at_least", control=before)]


def _third(W: FloatArray) -> float:
    """Return the third singular value over the second."""
    values = np.linalg.svd(W, compute_uv=False)
    return float(values[2] / values[1])


def _mean_cosine(net: DeepNetwork, data: Dataset) -> float:
    """Return the mean of `closest` over the rows of W_1, by |row|²."""
    W = net.matrix(1)
    return float(np.average(closest(W, data), weights=np.sum(W**2, axis=1)))


def _flow_numbers(run: DeepSolution, sgd: DeepNetwork) -> list[Number]:
    """Check the run itself, and that SGD follows it."""
    balance = run.balance
    drift = np.abs(balance - balance[0]).max() / np.sum(run.final.theta**2)
    difference = np.linalg.norm(sgd.theta - run.final.theta) / run.final.norm
    return [
        Number("flow: status", run.status, "reached_time", source="exact"),
        Number("flow: events", float(len(run.events)), 100.0, relation="at_least", source="exact"),
        Number(
            "flow: pre-activations that are not where their events leave them; control: without the last tenth",
            float(misplaced(run)),
            0.0,
            source="exact",
            control=float(misplaced(run, 0.9)),
        ),
        Number("flow: drift of |W_1|² - |W_4|² over |θ|²", float(drift), 1e-6, relation="at_most", source="exact"),
        Number("|θ| between SGD and the flow, relative", float(difference), 0.2, relation="at_most", source="exact"),
    ]


def _table(nets: list[tuple[str, DeepNetwork, DeepNetwork, Dataset]]) -> pd.DataFrame:
    rows = []
    for name, _, net, _ in nets:
        for layer, W in enumerate(matrices(net), start=1):
            values = np.linalg.svd(W, compute_uv=False)
            row = {"network": name, "layer": layer, **{f"σ{'₁₂₃'[k]}": float(values[k]) for k in range(3)}}
            rows.append({**row, "share near two directions": two_directions(W)[1]})
    found: pd.DataFrame = optional_module("pandas", "analysis").DataFrame(rows)
    found.attrs["caption"] = "The matrices after training"
    return found


def _event_table(run: DeepSolution) -> pd.DataFrame:
    events = run.events
    layers = list(range(1, HIDDEN + 1))
    found: pd.DataFrame = optional_module("pandas", "analysis").DataFrame(
        {
            "layer": layers,
            "events": [int((events.layer == layer).sum()) for layer in layers],
            "before t = 3": [int(((events.layer == layer) & (events.t < 3)).sum()) for layer in layers],
        }
    )
    found.attrs["caption"] = "Events of the flow"
    return found


def _figure(net: DeepNetwork, data: Dataset, run: DeepSolution | None) -> Figure:
    """Draw the seven panels, and for the flow its events."""
    with style():
        figure, axes = panels(4, 2, height=4.2, squeeze=False)
        for layer, W in enumerate(matrices(net)):
            _draw_values(axes[0, layer], W)
            _draw_rows(axes[1, layer], W)
            for row in (0, 1):
                axes[row, layer].set_title(f"({LETTERS[3 * row + layer]})  $W_{layer + 1}$", loc="left")
        axes[0, 3].hist(closest(net.matrix(1), data), bins=np.linspace(-1, 1, 41).tolist(), color=BLUE)
        axes[0, 3].set_title("(g)", loc="left")
        axes[0, 3].set(xlabel=r"cosine with $w_\pm$", ylabel="rows of $W_1$", xlim=(-1.02, 1.02))
        if run is None:
            axes[1, 3].set_axis_off()
        else:
            draw_raster(layer_raster(run), axes[1, 3])
            axes[1, 3].set_title("events", loc="left")
    return figure


def _draw_values(ax: Axes, W: FloatArray) -> None:
    values = np.linalg.svd(W, compute_uv=False)[:10]
    rank = np.arange(1, len(values) + 1)
    ax.plot(rank, values, linestyle="none", marker="o", markersize=3, color=BLUE, clip_on=False)
    ax.vlines(rank, 0, values, colors=BLUE, linewidth=0.8)
    ax.set(xlabel="rank", ylabel="singular value", xlim=(0.5, len(values) + 0.5))
    ax.set_ylim(bottom=0)


def _draw_rows(ax: Axes, W: FloatArray) -> None:
    plane = np.linalg.svd(W)[2][:2]
    rows = W @ plane.T
    directions: Any = two_directions(W)[0] @ plane.T
    reach = float(np.linalg.norm(rows, axis=1).max())
    for x, y in directions:
        ax.plot((0, reach * x), (0, reach * y), color=VERMILION, linewidth=0.7)
    ax.plot(rows[:, 0], rows[:, 1], linestyle="none", marker="o", markersize=2, color=GREY)
    ax.set_aspect("equal", adjustable="datalim")
    ax.set(xlabel="first direction", ylabel="second")


CLAIMS = (
    Claim(
        "PL-F2",
        "PL",
        "Figure 2 a-g, Section 5.2",
        "A residual network of four layers",
        "The three weight matrices of a residual network of width 100 on the same data have rank two up to what is left"
        " of their start, their rows align along two directions, and those of the first layer are near the max-margin"
        " directions.",
        ("S004-5.2", "004 Fig 2"),
        _figure2,
        reason="'All rank two' (Section 5.2) is up to the start, as in Section 5.1: at the time of the figure the third"
        " singular value is a tenth of the second, in W_1 more. It stays, and two grow, so that the flow from the same"
        " start has rank two in the limit; there the rows of W_1 have the max-margin directions, as is conjectured.",
        quick=f"{QUICK.text} for SGD and the flow; without the run of SGD at the printed size.",
    ),
)
