"""The losses ℓ(q) of a margin q = y f(x): logistic log(1 + e^-q) and exponential e^-q.

Everything is kept as a logarithm, so that margins of any size neither overflow nor vanish. The formulas have their home
in the core (`cpp/src/problem/loss.hpp`); this module calls it.
"""

from __future__ import annotations

from typing import Literal, TypeAlias, cast, get_args

import numpy as np
import numpy.typing as npt
from scipy.special import logsumexp, softmax

from . import _core
from ._validation import FloatArray, one_of

LossName: TypeAlias = Literal["logistic", "exponential"]
ReductionName: TypeAlias = Literal["sum", "mean"]
LOSSES: tuple[LossName, ...] = get_args(LossName)
REDUCTIONS: tuple[ReductionName, ...] = get_args(ReductionName)


def check_loss(loss: object) -> LossName:
    """Return the name of a loss; a ValueError lists those there are."""
    return cast(LossName, one_of(loss, "loss", LOSSES))


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


def log_total(q: npt.ArrayLike, loss: str) -> float:
    """Return the log of the loss summed over all margins; -inf without margins."""
    values = log_losses(q, loss)
    return float(logsumexp(values)) if values.size else -np.inf


def shares(q: npt.ArrayLike, loss: str) -> FloatArray:
    """Return the weights p_i = ℓ'(q_i)/Σ ℓ', which add up to one and never vanish together."""
    return np.asarray(softmax(log_weights(q, loss)))


def early_duals(y: FloatArray, loss: str, reduction: str) -> FloatArray:
    """Return λ_i = -y_i ℓ'(0), divided by n for the mean: what drives a network at zero, shape (n,)."""
    return np.asarray(weight_at_zero(loss) * reduction_factor(reduction, len(y)) * y)


def reduction_factor(reduction: str, n: int) -> float:
    """Return the factor of every sample's loss: 1 for the sum, 1/n for the mean."""
    return 1.0 / n if check_reduction(reduction) == "mean" else 1.0


def weight_at_zero(loss: str) -> float:
    """Return -ℓ'(0): 1/2 for the logistic loss ([WP] prints 1/4), 1 for the exponential one."""
    return float(np.exp(log_weights(np.zeros(1), check_loss(loss))[0]))


def separation_loss(loss: str) -> float:
    """Return the summed loss below which all margins are positive, for ever: ℓ(0).

    From there on the flow converges in direction ([VSS] Theorem 2.1, which prints 1 for the logistic loss, too much;
    [LLWA] Theorem 3.1).
    """
    return float(np.exp(_core.log_separation(check_loss(loss))))


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
