"""[PL] Figure 1: rank, directions and correlations on the data of Section 5.1, by SGD and by the flow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..._validation import FloatArray, optional_module
from ...analysis import correlations, directions, singular_values, state_of
from ...convex import MaxMarginVectors, max_margin_vectors
from ...datasets import Dataset, phuong_lampert
from ...descent import descend
from ...figures import correlation_histogram, neuron_plane, panels, style
from ...figures import singular_values as draw_singular_values
from ...flow import Solution, Stop, integrate
from ...networks import Network
from .._claim import Claim, Context, Number, Outcome

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

WIDTH, STEP, BATCH, EPOCHS, FACTOR = 100, 0.1, 50, 500, 0.05  # the settings of Section 5.1
_SMALL = 1e-3  # a scale at which the theorem's assumption holds
_LATE = (50.0, 1000.0)  # the log time of its last picture, quick and full
# What SGD leaves of the start stays as it is while two singular values grow like √log t: from the printed start too the
# rank is two to one per cent when log t is this.
_ON, ZERO = 1e4, 1e-2
_HIGH = 0.9  # a correlation that the paper calls high
# Draws of data and start over which most neurons are to have it: 72 of 100 do on average, with a standard deviation of
# 9 between draws. At the time of the picture they are still near the sums of the classes, whose correlation with the
# max-margin vectors is 0.88 for some draws and 0.97 for others.
_DRAWS = 5
_FEW = 5  # neurons that may be on either side of 0.9 by SGD and the flow, which differ by 1 per cent


def paper_start(d: int, seed: int) -> Network:
    """Draw uniform weights in ±1/√fan_in, the usual default of the time, and multiply them by 0.05; unbalanced."""
    rng = np.random.default_rng(seed)
    W = FACTOR * rng.uniform(-1, 1, (WIDTH, d)) / d**0.5
    return Network(W, FACTOR * rng.uniform(-1, 1, WIDTH) / WIDTH**0.5)


def _figure1(context: Context) -> Outcome:
    """Train as printed and by the flow from the same start to the same time; then as the theorem asks."""
    data = phuong_lampert(seed=context.seed)
    vectors = max_margin_vectors(data)
    start = paper_start(data.d, context.seed)
    steps = EPOCHS * data.n // BATCH
    sgd = descend(data, start, step=STEP, n_steps=steps, batch_size=BATCH, seed=context.seed, reduction="mean").final
    shown = integrate(data, start, until=STEP * steps, reduction="mean")
    flow, on = shown.final, integrate(data, shown, until=Stop(log_time=_ON)).final
    small = Network.init(WIDTH, data.d, scale=_SMALL, seed=context.seed)
    late = integrate(data, small, until=Stop(log_time=context.pick(*_LATE)), reduction="mean")
    nets = {
        "SGD, as printed": sgd,
        "flow, same start and time": flow,
        "flow, same start, late": on,
        "flow, small start, late": late.final,
    }
    table = optional_module("pandas", "analysis").DataFrame(
        [_row(name, net, data, vectors) for name, net in nets.items()]
    )
    table.attrs["caption"] = "The four networks"
    difference = float(np.linalg.norm(sgd.W - flow.W) / np.linalg.norm(flow.W))
    many = [table["above 0.9"][1], *(_high(context.seed + k, STEP * steps) for k in range(1, _DRAWS))]
    numbers = _numbers(table, start, many, difference, late, vectors)
    ran = (
        f"n = 500, d = 20, 100 neurons, seed {context.seed}. SGD with batch 50, step 0.1, 500 epochs on the mean loss"
        " from weights multiplied by 0.05 (the usual uniform default, no biases); the flow from the same start to the"
        f" same time 500 and on to log t = {_ON:g}, and from {_DRAWS - 1} other starts on other draws of the data; the"
        f" flow from a balanced start of scale {_SMALL:g} to log t = {late.log_t_end:g}."
    )
    note = (
        "The paper does not print its default of the weights, its biases or its mean. The rank is two up to what is"
        " left of the start: with the printed factor 0.05 the singular values of the first weights are still seen as a"
        " floor. They stay, and the first two grow; from a small start there is no floor."
    )
    figures = {"figure1": _figure(list(nets.items())[:2], data, vectors)}
    figures["theory"] = _figure(list(nets.items())[2:], data, vectors)
    figures["figure1"].set_label(
        "Figure 1: (a) the 10 largest singular values of W, (b) the neurons on the two leading singular directions, (c)"
        " correlations with their max-margin directions; above by SGD with the printed settings, below by the exact"
        " flow."
    )
    figures["theory"].set_label(
        "The same for the exact flow, late: above from the same start, below from a small balanced one, as the theorem"
        " asks."
    )
    return Outcome(ran, numbers, figures, {"networks": table}, note)


def _numbers(
    table: pd.DataFrame,
    start: Network,
    many: list[float],
    difference: float,
    late: Solution,
    vectors: MaxMarginVectors,
) -> tuple[Number, ...]:
    """Compare the networks of the table with the figure, and how `many` neurons correlate above 0.9 by the draw."""
    shape, ratio = table.set_index("network"), table["σ₃"] / table["σ₂"]
    return (
        Number(
            f"flow, same start: neurons of 100 with correlation above 0.9, mean of {len(many)} draws; control: at the"
            " start",
            float(np.mean(many)),
            51,
            relation="at_least",
            control=_row("start", start, late.data, vectors)["above 0.9"],
        ),
        Number(
            "SGD: neurons of 100 with correlation above 0.9, beside the flow",
            shape.iloc[0]["above 0.9"],
            shape.iloc[1]["above 0.9"],
            _FEW,
            source="exact",
        ),
        Number("flow, small start: living neurons above 0.9", shape.iloc[3]["above 0.9"], shape.iloc[3]["living"]),
        *_rank_two(table, start),
        Number(
            f"flow, same start, log t = {_ON:g}: third singular value over the second; control: at the time of the"
            " picture",
            float(ratio[2]),
            ZERO,
            0,
            "at_most",
            control=float(ratio[1]),
        ),
        Number(
            "flow, small start: third singular value over the second; control: of SGD",
            float(ratio[3]),
            ZERO,
            0,
            "at_most",
            control=float(ratio[0]),
        ),
        Number("relative difference of W between SGD and the flow", difference, 0.1, 0, "at_most", "exact"),
        Number("the late run's limit is certified", late.limit.certified, True, source="exact"),
        Number("margin of that limit", late.limit.margin, _best_margin(vectors), 1e-9, source="exact"),
    )


def _rank_two(table: pd.DataFrame, start: Network) -> tuple[Number, ...]:
    """Compare the third singular value after SGD with the others, and with those of the start."""
    first: FloatArray = np.asarray(np.linalg.svd(start.W, compute_uv=False), dtype=float)
    largest, second, third = (float(table[name][0]) for name in ("σ₁", "σ₂", "σ₃"))
    name = "SGD: third singular value over the "
    # In the picture the first is as high as the panel, and a twentieth of that looks like nothing.
    rows = (
        (f"{name}first, the height of the picture; control: at the start", third / largest, 0.05, first[2] / first[0]),
        (f"{name}largest of the start; control: the second", third / first[0], 1.05, second / first[0]),
    )
    judged = tuple(
        Number(text, float(value), most, 0.0, "at_most", control=float(control)) for text, value, most, control in rows
    )
    return *judged, Number(f"{name}second, judged later", third / second)


def _high(seed: int, time: float) -> float:
    """Return how many neurons correlate above 0.9 after the flow on another draw of data and start."""
    data = phuong_lampert(seed=seed)
    net = integrate(data, paper_start(data.d, seed), until=time, reduction="mean").final
    return float(_row("", net, data, max_margin_vectors(data))["above 0.9"])


def _row(name: str, net: Network, data: Dataset, vectors: MaxMarginVectors) -> dict[str, Any]:
    """Return one line of the table: singular values and correlations of a network."""
    values = np.linalg.svd(net.W, compute_uv=False)
    table = _correlations(net, data, vectors)
    living = table["size"] > 1e-2 * table["size"].max()
    return {
        "network": name,
        **{f"σ{'₁₂₃'[k]}": float(values[k]) for k in range(3)},
        "living": float(living.sum()),
        "above 0.9": float((table["own"][living] > _HIGH).sum()),
        "median correlation": float(table["own"].median()),
    }


def _correlations(net: Network, data: Dataset, vectors: MaxMarginVectors) -> pd.DataFrame:
    return correlations(state_of(data, net), vectors.plus.w, vectors.minus.w)


def _best_margin(vectors: MaxMarginVectors) -> float:
    return 0.5 / (1 / vectors.plus.margin + 1 / vectors.minus.margin)


def _figure(nets: list[tuple[str, Network]], data: Dataset, vectors: MaxMarginVectors) -> Figure:
    """Draw a row of three panels for each network."""
    with style():
        figure, axes = panels(3, len(nets), height=2.1 * len(nets), squeeze=False)
        for (name, net), (left, middle, right) in zip(nets, axes, strict=True):
            state = state_of(data, net)
            draw_singular_values(singular_values(state), left)
            neuron_plane(directions(state), middle)
            correlation_histogram(_correlations(net, data, vectors), right)
            left.set_title(f"(a)  {name}", loc="left")
            middle.set_title("(b)", loc="left")
            right.set_title("(c)", loc="left")
    return figure


CLAIMS = (
    Claim(
        "PL-F1",
        "PL",
        "Figure 1 a-c, Section 5.1",
        "Rank two, two directions, high correlations",
        "On 500 samples in 20 dimensions a network of 100 neurons trained by SGD has a first layer of rank two up to"
        " what is left of its start, its neurons align along two directions, and most of them correlate above 0.9 with"
        " their max-margin direction.",
        ("S004-5.1", "004 Fig 1"),
        _figure1,
        reason="'Effectively zero' (Section 5.1) is what is left of the start: the third singular value is 4% of the"
        " first after the 500 epochs that are printed, but still a quarter of the second. It does not move, and the"
        " first two grow like √log t, so that the flow from the same start has rank two in the limit.",
    ),
)
