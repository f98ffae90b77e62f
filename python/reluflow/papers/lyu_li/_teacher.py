"""[LLWA] App. J: Table 1 and Figure 4, labels from a linear teacher in 50 dimensions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..._validation import FloatArray
from ...analysis import DecisionPlane, distance_to_linear
from ...convex import svm
from ...datasets import Dataset, linear_teacher
from ...descent import descend
from ...figures import panels, style
from ...flow import Stop, integrate
from ...limits import Limit
from ...networks import Network
from .._claim import Claim, Context, Number, Outcome
from ._shading import NEGATIVE, POSITIVE, shaded
from ._tools import SYMMETRIC_LEAK, he, sheet

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH, BIAS = 100, 0.1
SIZES = (10, 20, 30, 40, 50, 60, 70, 80, 90, 100)
PRINTED_SVM = (30.2, 19.7, 17.6, 8.0, 6.4, 6.3, 7.6, 3.9, 6.1, 2.9)
PRINTED_NET = (30.5, 18.9, 15.6, 7.1, 5.9, 5.1, 6.5, 3.1, 5.2, 2.9)
# Standard deviation of net - SVM, per cent, over draws of the data: 0.8 to 1.3 in 25 draws of each size. On average
# the net is 1.0 better, and in the ten draws of the paper 0.79.
_SPREAD = 1.3
_TEST_SEED, _N_TEST = 1_000_000, 10_000
# Learning rate 0.01 until the data are interpolated, then raised: rates and steps of our own, none are printed.
_SCHEDULE = ((0.01, 3000), (0.1, 1500), (1.0, 1500))
_FLOW_LOSS = 1e-3
# To this log t limits are waited for: for n = 90 two neurons begin to slide after 1e5, and the limit is certain at 1e6.
_LATE = 1e7
_LINEAR = 0.02  # relative distance from a linear function that counts as none
GUESSES = (
    "Not printed: the leak (here 1/2), how far points are moved from the separator (here 0.45, which brings the SVM"
    " errors near the printed ones), the schedule of the learning rate (here 0.01 for 3,000 steps, then 0.1 and 1 for"
    " 1,500 each). The caption says ReLU, the text leaky ReLU."
)


def train(data: Dataset, seed: int) -> tuple[Network, Network]:
    """Return the networks of gradient descent as in App. J and of the exact flow, from one start of 100 neurons."""
    start = he(WIDTH, data.d, np.random.default_rng(seed), leak=SYMMETRIC_LEAK)
    net = start
    for step, n_steps in _SCHEDULE:
        net = descend(data, net, step=step, n_steps=n_steps, reduction="mean").final
    flow = integrate(data, start, until=Stop(mean_loss=_FLOW_LOSS), reduction="mean")
    return net, flow.final


def flow_to_limit(data: Dataset, seed: int) -> Limit:
    """Return the limit of the exact flow from the same start, once it is certified."""
    start = he(WIDTH, data.d, np.random.default_rng(seed), leak=SYMMETRIC_LEAK)
    return integrate(data, start, until=Stop(limit=True, log_time=_LATE), reduction="mean").limit


def error(outputs: FloatArray, data: Dataset) -> float:
    """Return the share of wrong signs, in per cent."""
    return 100 * float(np.mean(np.sign(outputs) != data.y))


def _errors(context: Context) -> Outcome:
    sizes = context.pick((10, 30, 60), SIZES)
    draws = context.pick(1, 4)
    test = linear_teacher(_N_TEST, seed=context.seed + _TEST_SEED)
    rows, cosines, wrong = [], [], 0
    for n in sizes:
        context.progress(f"n = {n}")
        found = []
        for k in range(draws):
            data = linear_teacher(n, seed=context.seed + 1000 * k + n)
            best, nets = svm(data), train(data, context.seed + k)
            wrong += sum(int((data.y * net(data.X) <= 0).sum()) for net in nets)
            cosines.append([distance_to_linear(net, best.w).cosine for net in nets])
            found.append([error(f, test) for f in (test.X @ best.w, *(net(test.X) for net in nets))])
        place = SIZES.index(n)
        rows.append((n, *np.mean(found, axis=0), PRINTED_SVM[place], PRINTED_NET[place]))
    table = sheet(rows, ("n", "SVM", "gradient descent", "exact flow", "printed SVM", "printed net"))
    untrained, misses = _untrained(context.seed, test)
    numbers = (
        *_nearly(table, draws, untrained),
        # Shown without a bar: the paper prints no such number.
        Number("least cosine between the linear part of a net and the SVM", float(np.min(cosines))),
        Number("training samples misclassified by a net; control: by that one", wrong, 0, control=misses),
        Number("largest |SVM - printed SVM|, per cent", float((table["SVM"] - table["printed SVM"]).abs().max())),
    )
    ran = (
        f"n = {sizes[0]} to {sizes[-1]} Gaussian points in d = 50 and a bias input 0.1, {draws} draw(s) each,"
        f" m = {WIDTH}, leaky ReLU α = 1/2, 0.001 × He start; gradient descent beside the exact flow to mean"
        f" loss {_FLOW_LOSS:g}; {_N_TEST} test points"
    )
    table.attrs["caption"] = "Test errors in per cent"
    return Outcome(ran, numbers, tables={"errors": table}, note=GUESSES)


def _nearly(table: pd.DataFrame, draws: int, untrained: float) -> list[Number]:
    """Compare net - SVM with what is printed, within four standard errors of ours and the paper's draws together."""
    printed = float(np.subtract(PRINTED_NET, PRINTED_SVM).mean())
    numbers = []
    for how in ("gradient descent", "exact flow"):
        gaps = table[how] - table["SVM"]
        mean, one = (float(4 * _SPREAD * np.sqrt(1 / k + 1 / len(SIZES))) for k in (len(gaps) * draws, draws))
        numbers += [
            Number(f"mean of {how} - SVM, per cent; control: a net that is not trained", gaps.mean(), printed, mean,
                   control=untrained),
            Number(f"largest |{how} - SVM| of a size, per cent; control: a net that is not trained", gaps.abs().max(),
                   abs(printed), one, "at_most", control=untrained),
        ]  # fmt: skip
    return numbers


def _untrained(seed: int, test: Dataset) -> tuple[float, int]:
    """Return |error of a net at its start - error of the SVM| for n = 100, per cent, and its training errors."""
    data = linear_teacher(SIZES[-1], seed=seed + SIZES[-1])
    net = he(WIDTH, data.d, np.random.default_rng(seed), leak=SYMMETRIC_LEAK)
    apart = abs(error(net(test.X), test) - error(test.X @ svm(data).w, test))
    return apart, int((data.y * net(data.X) <= 0).sum())


def _planes(context: Context) -> Outcome:
    sizes = context.pick((10, 30), SIZES)
    columns = min(len(sizes), 5)
    n_rows = len(sizes) // columns
    wide = 1.38 * columns
    figure, axes = panels(columns, n_rows, width=wide, height=1.5 * n_rows + 0.5, squeeze=False, sharey=True)
    angles: list[float] = []
    ends: list[tuple[float, ...]] = []
    for ax, n in zip(axes.flat, sizes, strict=True):
        context.progress(f"n = {n}")
        data = linear_teacher(n, seed=context.seed + n)
        best = svm(data)
        net = train(data, context.seed)[1]
        limit = flow_to_limit(data, context.seed)
        angles.append(_angle(net, best.w))
        ends.append(_ending(n, limit, data, angles[-1]))
        with style():
            shaded(restricted(data, net), ax)
            _svm_line(ax, best.w)
            _finish(ax, n, chr(ord("a") + SIZES.index(n)))
    table, numbers = _plane_numbers(ends, angles, len(sizes), context.seed)
    figure.set_label(
        "Red and blue dots: the classes, moved 0.45 away from the separator. Red: the SVM; black: the net's boundary at"
        " mean loss 1e-3; background: its outputs, the lighter the higher; dotted: the true separator."
    )
    ran = (
        f"exact flows as for Table 1, n = {', '.join(map(str, sizes))}: drawn at mean loss 1e-3 on the plane of the"
        " teacher's axis and another input, and run to certified limits"
    )
    return Outcome(ran, numbers, {"planes": _titled(figure)}, {"limits": table}, note=GUESSES)


def _plane_numbers(
    ends: list[tuple[float, ...]], angles: list[float], n_sizes: int, seed: int
) -> tuple[pd.DataFrame, tuple[Number, ...]]:
    """Return the table of limits and the numbers of Figure 4."""
    table = sheet(ends, ("n", "certified", "distance from linear", "margin over linear", "angle of the picture"))
    table.attrs["caption"] = "Certified limits of the flow, and the pictures at mean loss 1e-3"
    sure = table[table["certified"] == 1]
    untrained = _random_angles(seed)
    numbers = (
        Number(
            "largest distance of a certified limit from a linear function, relative",
            float(sure["distance from linear"].max()),
            0,
            _LINEAR,
        ),
        Number(
            "least distance of a certified limit",
            float(sure["distance from linear"].min()),
            0.05,
            0,
            "at_least",
            "exact",
        ),
        # 1.03 to 1.11 over draws of the data: a nonlinear end of larger margin.
        Number(
            "least margin of a certified limit over the best linear one",
            float(sure["margin over linear"].min()),
            1.01,
            0,
            "at_least",
            "exact",
        ),
        Number("certified limits", len(sure), n_sizes, source="exact"),
        Number(
            "largest angle in the plane between the drawn net and SVM, degrees; control: nets that are not trained",
            max(angles),
            12,
            0,
            "at_most",
            control=max(untrained),
        ),
        Number(
            "mean of these angles, degrees", float(np.mean(angles)), 8, 0, "at_most", control=float(np.mean(untrained))
        ),
    )
    return table, numbers


def _ending(n: int, limit: Limit, data: Dataset, angle: float) -> tuple[float, ...]:
    """Return a row of the table: how far the limit is from linear, and its margin over that of the best linear f."""
    best = svm(data)
    linear = (1 + SYMMETRIC_LEAK) / 4 * best.margin
    return n, float(limit.certified), distance_to_linear(limit.network).distance, limit.margin / linear, angle


def _random_angles(seed: int) -> list[float]:
    """Return the angles to the SVM of ten networks that were not trained; one of them may be near it by chance."""
    data, rng = linear_teacher(SIZES[0], seed=seed + SIZES[0]), np.random.default_rng([seed, 1])
    w = svm(data).w
    return [_angle(he(WIDTH, data.d, rng, leak=SYMMETRIC_LEAK), w) for _ in SIZES]


def restricted(data: Dataset, net: Network) -> DecisionPlane:
    """Return the outputs on the plane of the first two inputs, the bias input at its value, and the points."""
    u = np.linspace(-3.5, 3.5, 121)
    U, V = np.meshgrid(u, u)
    inputs = np.zeros((U.size, data.d))
    inputs[:, 0], inputs[:, 1], inputs[:, -1] = U.ravel(), V.ravel(), BIAS
    return DecisionPlane(u, u, net(inputs).reshape(U.shape), data.X[:, :2], data.y, np.eye(2, data.d))


def _angle(net: Network, w: FloatArray) -> float:
    """Return the angle between the linear part of a net and the SVM in the plane, in degrees."""
    mine = distance_to_linear(net).coefficients[:2]
    cosine = mine @ w[:2] / (np.linalg.norm(mine) * np.linalg.norm(w[:2]))
    return float(np.degrees(np.arccos(np.clip(cosine, -1, 1))))


def _svm_line(ax: Axes, w: FloatArray) -> None:
    """Draw w·(u, v, 0, ..., bias) = 0 in red."""
    normal, shift = w[:2], float(w[-1] * BIAS)
    foot = -shift * normal / (normal @ normal)
    along = np.array([-normal[1], normal[0]]) / np.linalg.norm(normal)
    ends = np.array([foot - 10 * along, foot + 10 * along])
    limits = ax.get_xlim(), ax.get_ylim()
    ax.plot(*ends.T, color="#D00000", linewidth=1.3, zorder=6)
    ax.set_xlim(*limits[0])
    ax.set_ylim(*limits[1])


def _finish(ax: Axes, n: int, letter: str) -> None:
    ax.axvline(0, color="white", linewidth=0.9, linestyle=":")
    ax.set_title(f"({letter}) n = {n}", fontsize=7)
    ax.set_xticks([-3, 0, 3])
    ax.set_yticks([-3, 0, 3])


def _titled(figure: Figure) -> Figure:
    from matplotlib.lines import Line2D

    handles = [
        Line2D([], [], color=POSITIVE, marker="o", linestyle="none", markersize=4, label="y = 1"),
        Line2D([], [], color=NEGATIVE, marker="o", linestyle="none", markersize=4, label="y = -1"),
        Line2D([], [], color="#D00000", linewidth=1.3, label="SVM"),
        Line2D([], [], color="black", linewidth=1.3, label="network"),
        Line2D([], [], color="0.35", linewidth=0.8, linestyle=":", label="true separator"),
    ]
    with style():
        figure.legend(handles=handles, loc="outside lower center", ncols=5 if len(figure.axes) > 2 else 3)
    return figure


CLAIMS = (
    Claim(
        "LLWA-T1",
        "LLWA",
        "Table 1",
        "Test errors of networks and of the SVM",
        "Networks trained from moderately small weights have nearly the test error of the linear max-margin classifier,"
        " for n = 10 to 100.",
        ("003 Table 1", "S003-T1", "D-39"),
        _errors,
        reason="On data whose points are moved 0.45 away from the separator: the paper says 'mildly' and prints no"
        " number, and with this one the errors of the SVM come near the printed ones. That the errors are nearly equal"
        " does not mean that the network tends to the SVM: see LLWA-F4.",
        quick="Three of the ten sizes, one draw each.",
    ),
    Claim(
        "LLWA-F4",
        "LLWA",
        "Figure 4, App. J",
        "Decision boundaries of networks and of the SVM",
        "The network converges in direction to the max-margin linear classifier of the SVM, for n = 10 to 100; on a"
        " plane through 0 its boundary is close to the line of the SVM.",
        ("003 Fig 4", "S003-T1", "D-39"),
        _planes,
        "differs",
        "'Two-layer Leaky ReLU neural net converges in direction to the SVM max-margin linear classifier' (caption of"
        " Figure 4). At mean loss 1e-3 the pictures look like it. The certified limits of the same flows are 0.08 to"
        " 0.16 from every linear function, relative, and have a margin 6 to 9 per cent above that of the best linear"
        " one: these data are not symmetric, and Theorem 4.3 does not apply. Corrected: networks come near the linear"
        " classifier and end at a nonlinear one of larger margin. Data: points moved 0.45 away from the separator, a"
        " guess, for 'mildly' is all that is printed.",
        quick="Two of the ten sizes.",
    ),
)
