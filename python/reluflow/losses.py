"""The losses ℓ(q): of a margin q = y f(x) logistic log(1 + e^-q) and exponential e^-q; of an error q = f(x) - y ½ q².

What concerns margins is kept as a logarithm, so that margins of any size neither overflow nor vanish. The formulas have
their home in the core (`cpp/src/problem/loss.hpp`); this module calls it.
"""

from __future__ import annotations

import math
from typing import Literal, TypeAlias, cast, get_args

import numpy as np
import numpy.typing as npt
from scipy.special import logsumexp, softmax

from . import _core
from ._validation import FloatArray, invalid, one_of, place
from .datasets import Dataset

# Of margins, with labels +1 and -1; of errors, with real targets.
MarginLossName: TypeAlias = Literal["logistic", "exponential"]
LossName: TypeAlias = Literal["logistic", "exponential", "squared"]
ReductionName: TypeAlias = Literal["sum", "mean"]
MARGIN_LOSSES: tuple[MarginLossName, ...] = get_args(MarginLossName)
LOSSES: tuple[LossName, ...] = get_args(LossName)
REDUCTIONS: tuple[ReductionName, ...] = get_args(ReductionName)


def check_loss(loss: object) -> LossName:
    """Return the name of a loss; a ValueError lists those there are."""
    if isinstance(loss, str) and loss == "cross_entropy":
        raise invalid(
            "loss",
            f"be one of {', '.join(map(repr, LOSSES))} for two layers with one output",
            "'cross_entropy': it needs K outputs, rf.Network(W, a) with a of the shape (m, K), and class numbers",
        )
    return cast(LossName, one_of(loss, "loss", LOSSES))


def check_margin_loss(loss: object) -> MarginLossName:
    """Return the name of a loss of margins; a ValueError lists those there are."""
    return cast(MarginLossName, one_of(loss, "loss", MARGIN_LOSSES))


def is_of_margins(loss: str) -> bool:
    """Tell whether a loss takes margins, of labels +1 and -1; otherwise it takes errors, of real targets."""
    return loss in MARGIN_LOSSES


def check_targets(data: Dataset, loss: str, name: str = "data.y") -> None:
    """Refuse targets that a loss cannot take.

    Raises
    ------
    ValueError
        A loss of margins with targets that are not +1 or -1.
    """
    if is_of_margins(loss) and not data.has_labels:
        way = 'rf.datasets.binary_labels makes labels of two values; loss="squared" takes any numbers'
        raise invalid(name, f"hold +1 and -1 only for the {loss} loss ({way})", _first_other(data))


def require_labels(data: Dataset) -> None:
    """Refuse targets that are no labels, where a theorem or a program on margins is asked for.

    Raises
    ------
    ValueError
        A target that is neither +1 nor -1.
    """
    if not data.has_labels:
        way = "rf.datasets.binary_labels makes labels of two values"
        raise invalid("data.y", f"hold +1 and -1 only ({way})", _first_other(data))


def _first_other(data: Dataset) -> str:
    return place(data.y, np.abs(data.y) != 1)


def loss_arguments(data: Dataset, f: npt.ArrayLike, loss: str) -> FloatArray:
    """Return what the loss takes of the outputs f, shape (..., n): margins y f, or errors f - y."""
    values = np.asarray(f, dtype=np.float64)
    return np.asarray(data.y * values if is_of_margins(loss) else values - data.y)


def duals(data: Dataset, f: npt.ArrayLike, loss: str) -> FloatArray:
    """Return λ_i = -∂L/∂f_i of the summed loss at the outputs f, shape (..., n)."""
    return duals_of(data, loss_arguments(data, f, loss), loss)


def duals_of(data: Dataset, q: FloatArray, loss: str) -> FloatArray:
    """Return the same at margins or errors q."""
    if not is_of_margins(loss):
        return np.asarray(-data.counts * q)
    return np.asarray(data.counts * data.y * np.exp(log_weights(q, loss)))


def check_reduction(reduction: object) -> ReductionName:
    """Return "sum" or "mean"; anything else is a ValueError."""
    return cast(ReductionName, one_of(reduction, "reduction", REDUCTIONS))


def log_losses(q: npt.ArrayLike, loss: str) -> FloatArray:
    """Return log ℓ(q) of every margin, any shape."""
    return _core.log_losses(_margins(q), loss)


def log_weights(q: npt.ArrayLike, loss: str) -> FloatArray:
    """Return log(-ℓ'(q)) of every margin, the logarithm of |λ|, any shape."""
    return _core.log_weights(_margins(q), loss)


def log_curvatures(q: npt.ArrayLike, loss: str) -> FloatArray:
    """Return log ℓ''(q) of every margin, any shape."""
    return _core.log_curvatures(_margins(q), loss)


def log_total(q: npt.ArrayLike, loss: str, counts: FloatArray | None = None) -> float:
    """Return the log of Σ c ℓ(q), with what the samples count (None: one each); -inf without samples."""
    values = log_losses(q, loss)
    return float(logsumexp(values, b=counts)) if values.size else -np.inf


def shares(q: npt.ArrayLike, loss: str, counts: FloatArray | None = None) -> FloatArray:
    """Return the weights p_i = c_i ℓ'(q_i)/Σ c ℓ' of margins, which add up to one and never vanish together."""
    with np.errstate(divide="ignore"):
        return np.asarray(softmax(log_weights(q, loss) + (0.0 if counts is None else np.log(counts))))


def early_duals(data: Dataset, loss: str, reduction: str) -> FloatArray:
    """Return λ_i at f = 0, divided as the mean is: what drives a network at zero, shape (n,).

    It is y/2 for the logistic loss ([WP] prints y/4), y for the exponential and the squared one.
    """
    check_targets(data, check_loss(loss))
    return np.asarray(reduction_factor(reduction, data.total) * duals(data, np.zeros(data.n), loss))


def reduction_factor(reduction: str, total: float) -> float:
    """Return the factor of every sample's loss: 1 for the sum, 1/total for the mean of samples that count `total`."""
    return 1.0 / total if check_reduction(reduction) == "mean" else 1.0


def core_weights(data: Dataset, reduction: str) -> FloatArray | None:
    """Return what samples count for the core of two layers, which divides a mean by their number; None for one each.

    Beside their mean they add up to that number, so that the mean is the one that divides by their sum.
    """
    if data.weights is None or check_reduction(reduction) == "sum":
        return data.weights
    return np.asarray(data.weights / (data.total / data.n))


def loss_to_reach(
    loss: float | None, mean_loss: float | None, total: float, reduction: str
) -> tuple[float | None, bool]:
    """Return the logarithm of the loss that ends a run, in its reduction, and whether it is that of the mean loss.

    The larger of the two is reached first. None if no loss ends the run.
    """
    count = total if reduction == "sum" else 1.0
    if mean_loss is not None and (loss is None or mean_loss * count > loss):
        return math.log(mean_loss) + math.log(count), True
    return (None if loss is None else math.log(loss)), False


def separation_loss(loss: str, counts: npt.ArrayLike = 1.0) -> float:
    """Return the summed loss below which all margins are positive, for ever: ℓ(0) times the least weight of a sample.

    `counts` are the weights of the samples; those of weight zero have no part in the loss.

    From there on the flow converges in direction ([VSS] Theorem 2.1, which prints 1 for the logistic loss, too much;
    [LLWA] Theorem 3.1).
    """
    each = np.atleast_1d(np.asarray(counts, dtype=np.float64))
    least = float(each[each > 0].min(initial=np.inf))
    return least * float(np.exp(_core.log_separation(check_margin_loss(loss))))


def inverse_total(log_sum: FloatArray, loss: str) -> FloatArray:
    """Return the margin at which one sample alone would have the whole summed loss.

    It is the numerator of the smoothed margin: ℓ^-1(L), from log L ([LLWA] section 3).
    """
    if loss == "exponential":
        return -log_sum
    small = np.exp(np.minimum(log_sum, 0.0))  # used where L <= 1 only
    below = -log_sum - np.log(np.where(small > 0, np.expm1(small) / np.where(small > 0, small, 1.0), 1.0))
    large = np.exp(np.maximum(log_sum, 0.0))  # log(e^L - 1) = L + log(1 - e^-L), used where L > 1 only
    return np.where(log_sum <= 0.0, below, -large - np.log1p(-np.exp(-large)))


def _margins(q: npt.ArrayLike) -> FloatArray:
    return np.asarray(q, dtype=np.float64, order="C")
