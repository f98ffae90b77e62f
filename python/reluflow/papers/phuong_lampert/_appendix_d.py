"""[PL] Appendix D: Figures 3 and 4 and Table 1, the digits 0 and 1."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..._validation import FloatArray, optional_module
from ...figures import panels, style
from ...figures._style import BLUE, GREY, ORANGE, VERMILION
from .._claim import Claim, Context, Number, Outcome
from ._digits import BATCH, CONVOLUTIONS, EPOCHS, LINEAR, SHOWN, TORCH, sizes, train

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LARGE = 0.1  # of the largest singular value
FAR = 0.5  # of the farthest row of a side: what is beyond is in the cluster of that side
# An inner product between unit features that a histogram shows as none, and a share of pairs that it does not show.
NEARLY, UNSEEN = 0.1, 0.005


@dataclass(frozen=True)
class Pairs:
    """Inner products of the features of pairs: of different digits, both 0, both 1."""

    between: FloatArray
    zeros: FloatArray
    ones: FloatArray

    @property
    def within(self) -> FloatArray:
        """Pairs of one digit."""
        return np.concatenate((self.zeros, self.ones))

    @property
    def distance(self) -> float:
        """The mean within digits minus the mean between them."""
        return float(self.within.mean() - self.between.mean())

    @property
    def to_the_right(self) -> bool:
        """Whether pairs of either digit mostly have larger inner products than pairs of both, as by chance half do."""
        return min(self.order(self.zeros), self.order(self.ones)) > 0.5

    def order(self, values: FloatArray) -> float:
        """How often one of the values is larger than the inner product of a pair of two digits: 1/2 by chance."""
        return float(np.searchsorted(np.sort(self.between), values).mean() / len(self.between))


def pairs(rows: FloatArray, digits: FloatArray) -> Pairs:
    """Compare the rows, each divided by its length.

    Examples
    --------
    >>> pairs(np.array([[1.0, 0.0], [2.0, 0.0], [0.0, 1.0], [0.0, 3.0]]), np.array([0, 0, 1, 1])).distance
    1.0
    """
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    products = unit @ unit.T
    upper = np.triu(np.ones(products.shape, dtype=bool), 1)
    zero, one = digits == 0, digits == 1
    return Pairs(
        products[upper & (zero[:, None] != zero)],
        products[upper & (zero[:, None] & zero)],
        products[upper & (one[:, None] & one)],
    )


def _figure3(context: Context) -> Outcome:
    """Compare inner products of features of samples of one digit and of two, layer by layer."""
    run = train(context)
    found = [pairs(rows, run.digits) for rows in run.features]
    shuffled = np.random.default_rng(context.seed).permutation(run.digits)
    numbers = _compared(found, [pairs(rows, shuffled) for rows in run.features], run.loss)
    ran = f"{run.data}, seed {context.seed}: Adam, {EPOCHS} epochs in batches of {BATCH}; first {SHOWN} of each digit"
    figures = {"figure3": _draw_pairs(found)}
    figures["figure3"].set_label(_CAPTION3.format(data=run.data))
    return Outcome(ran, numbers, figures, {"layers": _table(found)}, _NOTE)


def _compared(found: list[Pairs], chance: list[Pairs], loss: float) -> tuple[Number, ...]:
    """Compare the layers, pixels first, with what the figure shows; `chance` has the digits at random."""
    apart = np.diff([layer.distance for layer in found])
    seventh = found[-1]
    return (
        Number(
            f"of pixels and {len(apart)} layers, in how many pairs of either digit lie to the right of pairs of both;"
            " control: digits at random",
            sum(layer.to_the_right for layer in found),
            len(found),
            control=sum(layer.to_the_right for layer in chance),
        ),
        Number(
            f"of {len(apart)} layers, how many lie farther apart than the one below: most; control: in reverse order",
            float((apart > 0).sum()),
            len(apart) // 2 + 1,
            relation="at_least",
            control=float((apart < 0).sum()),
        ),
        Number(
            "seventh layer: distance of the means within and between digits over the largest of any layer; control: of"
            " the pixels",
            seventh.distance / max(layer.distance for layer in found),
            1.0,
            control=found[0].distance / max(layer.distance for layer in found),
        ),
        Number(
            f"seventh layer: share of pairs of two digits above {NEARLY}, of unit features; control: of the pixels",
            float((seventh.between > NEARLY).mean()),
            UNSEEN,
            relation="at_most",
            control=float((found[0].between > NEARLY).mean()),
        ),
        Number("seventh layer: largest inner product between digits", float(seventh.between.max())),
        Number(
            "seventh layer: least inner product within a digit, of unit features",
            float(seventh.within.min()),
            0.0,
            relation="at_least",
            wrong=1.0,
        ),
        Number("seventh layer: mean inner product between digits", float(seventh.between.mean())),
        Number("last batch: mean loss", loss),
    )


_CAPTION3 = "Inner products of unit features of two samples, from the pixels (0) to the seventh layer. {data}."
_CAPTION4 = "The 10 largest singular values of W7, and its rows on the two leading directions. {data}."
_NOTE = (
    "The data are the paper's where the files of MNIST are given (--mnist FOLDER), and nothing is judged on others. Not"
    " printed: the step of Adam (torch's 1e-3 here), whether features are normalised (here they are, so that layers can"
    " be compared) and taken after the activation (here they are). 'To the right' is in more than half of all pairs of"
    " pairs. On scikit-learn's digits, a thirtieth of the samples and of the steps, the seventh layer separates pairs"
    " almost without exception, but it is not orthogonally separable: inner products between the digits stay positive."
)


def _table(found: list[Pairs]) -> pd.DataFrame:
    frame: pd.DataFrame = optional_module("pandas", "analysis").DataFrame(
        {
            "layer": range(len(found)),
            "pairs of one digit above": [layer.order(layer.within) for layer in found],
            "mean within": [float(layer.within.mean()) for layer in found],
            "least within": [float(layer.within.min()) for layer in found],
            "mean between": [float(layer.between.mean()) for layer in found],
            "largest between": [float(layer.between.max()) for layer in found],
        }
    )
    frame.attrs["caption"] = "Inner products of unit features; layer 0 is the pixels"
    return frame


def _draw_pairs(found: list[Pairs]) -> Figure:
    with style():
        figure, axes = panels(4, 2, height=3.6, squeeze=False)
        for number, (layer, ax) in enumerate(zip(found, axes.flat, strict=True)):
            bins = np.linspace(min(0.0, float(layer.between.min())), 1.0, 61).tolist()
            for values, colour, name in (
                (layer.between, BLUE, "0 and 1"),
                (layer.zeros, ORANGE, "0 and 0"),
                (layer.ones, VERMILION, "1 and 1"),
            ):
                ax.hist(values, bins=bins, density=True, histtype="step", color=colour, label=name)
            ax.set_title("pixels" if number == 0 else f"layer {number}", loc="left")
            ax.set(xlabel="inner product", yticks=[])
        axes[0, 0].legend(loc="upper left", frameon=False)
    return figure


def _figure4(context: Context) -> Outcome:
    """Look at the first linear layer: its singular values, and its rows on two leading directions."""
    run = train(context)
    values, first = (np.linalg.svd(W, compute_uv=False) for W in (run.W7, run.first))
    rows = run.W7 @ np.linalg.svd(run.W7, full_matrices=False)[2][:2].T
    positive = run.W8 > 0
    along = rows @ (rows[positive].mean(axis=0) - rows[~positive].mean(axis=0))
    ahead, behind = along > FAR * along.max(), along < FAR * along.min()
    outer = ahead | behind
    at_random = np.random.default_rng(context.seed).permutation(positive)
    numbers = (
        Number(
            f"singular values above {LARGE} of the largest; control: at the start",
            float((values > LARGE * values[0]).sum()),
            10.0,
            relation="at_most",
            control=float((first > LARGE * first[0]).sum()),
        ),
        Number(
            "the same: more than the two of Section 5; control: two",
            float((values > LARGE * values[0]).sum()),
            3.0,
            relation="at_least",
            control=2.0,
        ),
        Number(
            "share of rows in the two outer clusters with the sign of W8 of their cluster; control: signs at random",
            float((ahead == positive)[outer].mean()),
            0.9,
            relation="at_least",
            control=float((ahead == at_random)[outer].mean()),
        ),
        Number("rows of the cluster of positive W8", float(ahead.sum())),
        Number("rows of the cluster of negative W8", float(behind.sum())),
        Number("rows between, the mixed cluster", float((~outer).sum())),
        Number("of these, with a positive W8", float(positive[~outer].sum())),
        Number(
            "their mean length over that of the others", float(_mean_length(rows[~outer]) / _mean_length(rows[outer]))
        ),
    )
    ran = f"{run.data}, seed {context.seed}: Adam, {EPOCHS} epochs in batches of {BATCH}"
    figure = _draw_matrix(np.array(values[:10]), rows, positive)
    figure.set_label(_CAPTION4.format(data=run.data))
    return Outcome(ran, numbers, {"figure4": figure}, note=_NOTE)


def _mean_length(rows: FloatArray) -> float:
    return float(np.linalg.norm(rows, axis=1).mean())


def _draw_matrix(values: FloatArray, rows: FloatArray, positive: Any) -> Figure:
    with style():
        figure, axes = panels(2, 1, height=2.6, squeeze=False)
        left, right = axes[0]
        rank = np.arange(1, len(values) + 1)
        left.vlines(rank, 0, values, colors=GREY, linewidth=0.8)
        left.plot(rank, values, linestyle="none", marker="o", markersize=3, color=BLUE, clip_on=False)
        left.set(xlabel="rank", ylabel="singular value of $W_7$")
        left.set_ylim(bottom=0)
        _draw_rows(right, rows, positive)
    return figure


def _draw_rows(ax: Axes, rows: FloatArray, positive: Any) -> None:
    for chosen, colour, name in ((positive, ORANGE, "$W_8 > 0$"), (~positive, BLUE, "$W_8 < 0$")):
        ax.plot(*rows[chosen].T, linestyle="none", marker="o", markersize=2.5, color=colour, label=name)
    ax.set_aspect("equal", adjustable="datalim")
    ax.set(xlabel="first direction", ylabel="second")
    ax.legend(loc="best", frameon=False)


def _table1(_: Context) -> Outcome:
    """Follow an image through the rows of the table."""
    found = sizes()
    unpadded = sizes(tuple(conv._replace(padding=0) for conv in CONVOLUTIONS))
    channels = (1, *(conv.kernels for conv in CONVOLUTIONS))
    weights = [conv.kernels * (channels[i] * conv.size**2 + 1) for i, conv in enumerate(CONVOLUTIONS)] + [
        (full.inputs + 1) * full.outputs for full in LINEAR
    ]
    names = [f"conv{tuple(conv)}" for conv in CONVOLUTIONS] + [f"fc{tuple(full)}" for full in LINEAR]
    frame: pd.DataFrame = optional_module("pandas", "analysis").DataFrame(
        {
            "layer": range(1, len(names) + 1),
            "type": names,
            "values": [*found, *(full.outputs for full in LINEAR)],
            "weights and biases": weights,
        }
    )
    frame.attrs["caption"] = "Table 1 with the values that each layer gives on an image of 28 x 28 pixels"
    numbers = (
        Number(
            "values after six convolutions: the inputs of layer 7; control: without padding",
            float(found[-1]),
            float(LINEAR[0].inputs),
            control=float(unpadded[-1]),
        ),
        Number("columns of W7 (Figure 4); control: of W8", float(LINEAR[0].inputs), 3136.0, control=128.0),
        Number("weights and biases", float(sum(weights))),
    )
    return Outcome(
        "The sizes of the layers on an image of 28 x 28 pixels, by arithmetic.", numbers, {}, {"layers": frame}
    )


CLAIMS = (
    Claim(
        "PL-F3",
        "PL",
        "Figure 3, Appendix D",
        "Inner products of features of digits",
        "On MNIST features of two samples of one digit are more alike than those of two digits, the more so the higher"
        " the layer; in the seventh they are orthogonally separable.",
        ("S004-MNIST", "004 Fig 3"),
        _figure3,
        quick="Not run.",
        full_only=True,
        needs=TORCH,
        mnist=True,
    ),
    Claim(
        "PL-F4",
        "PL",
        "Figure 4, Appendix D",
        "The first linear layer on digits",
        "On MNIST, of the 128 singular values of the first linear layer five or ten are large, and its neurons form"
        " three clusters on the two leading singular directions: two by the sign of their output, and a mixed one.",
        ("S004-MNIST", "004 Fig 4"),
        _figure4,
        quick="Not run.",
        full_only=True,
        needs=TORCH,
        mnist=True,
    ),
    Claim(
        "PL-Table1",
        "PL",
        "Table 1, Appendix D",
        "The architecture for digits",
        "Six convolutional layers and two linear ones that fit images of 28 x 28 pixels.",
        ("S004-MNIST", "004 Table 1"),
        _table1,
    ),
)
