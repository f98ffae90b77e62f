"""What the claims of [VSS] compare: networks scaled to least margin 1, and KKT residuals of any homogeneous network."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from ..._validation import FloatArray, optional_module
from ...datasets import Dataset
from ...datasets._construction import Construction, Weights
from ...flow import Solution, Stop, integrate
from ...losses import LossName
from ...networks import Network
from .._claim import Number

LOSSES: tuple[LossName, ...] = ("logistic", "exponential")
LATE = Stop(log_time=1e4)  # log t: the direction is then within 1e-2 of its limit, and the polish does the rest
ROUNDING = 1e-9  # for numbers that the claim derives exactly
PRINTED = 1e-6  # for numbers rounded to six decimals

# The step of the complex-step derivative: its square vanishes beside 1, so the derivative has no error but rounding.
STEP = 1e-40

Margins = Callable[[Any], Any]  # θ, shape (p,), real or complex -> margins, shape (n,)


def relu(z: npt.ArrayLike) -> Any:
    """Return max(z, 0), by the real part where z is complex."""
    values = np.asarray(z)
    return np.where(values.real > 0, values, 0)


def gradients(margins: Margins, theta: FloatArray) -> FloatArray:
    """Return ∂q_i/∂θ, shape (n, p), exact to rounding where the margins are differentiable.

    Examples
    --------
    >>> gradients(lambda theta: [theta[0] * theta[1]], np.array([2.0, 3.0]))
    array([[3., 2.]])
    """
    columns = []
    for k in range(len(theta)):
        moved = theta.astype(np.complex128)
        moved[k] += 1j * STEP
        columns.append(np.imag(margins(moved)) / STEP)
    return np.array(columns).T


def kkt_residual(margins: Margins, theta: FloatArray, duals: npt.ArrayLike) -> float:
    """Return the largest violation of the KKT conditions of min ½|θ|² s.t. q_i(θ) >= 1 [VSS, Problem (2)]."""
    q, multipliers = np.asarray(margins(theta)), np.asarray(duals, dtype=np.float64)
    stationarity = np.abs(theta - multipliers @ gradients(margins, theta)).max()
    complementarity = np.abs(multipliers * (q - 1)).max()
    return float(max(stationarity, complementarity, (1 - q).max(), -multipliers.min()))


def net(weights: Weights) -> Network:
    """Return the ReLU network with these weights."""
    return Network(weights.W, weights.a)


def scaled(network: Network, data: Dataset) -> Network:
    """Return the network with least margin 1."""
    factor = 1 / np.sqrt(float((data.y * network(data.X)).min()))
    return Network(factor * network.W, factor * network.a)


def norm2(weights: Weights | Network) -> float:
    """Return |θ|²."""
    return float(np.sum(weights.W**2) + np.sum(weights.a**2))


def distance(first: Weights | Network, second: Weights | Network) -> float:
    """Return |θ - θ'|."""
    return float(np.sqrt(np.sum((first.W - second.W) ** 2) + np.sum((first.a - second.a) ** 2)))


def run(case: Construction, loss: LossName, **options: Any) -> Solution:
    """Integrate from the construction's start until the late phase, on the branch that keeps its symmetry."""
    start = net(case.start or case.limit)
    solution: Solution = integrate(case.data, start, until=LATE, loss=loss, **{"on_branch": "stay", **options})
    return solution


def table(columns: Mapping[str, Iterable[Any]]) -> Any:
    """Return a data frame."""
    return optional_module("pandas", "analysis").DataFrame(columns)


def exactly(name: str, value: float | bool | str, expected: float | bool | str, tolerance: float = ROUNDING) -> Number:
    """Return a number that must hold, whatever is printed."""
    return Number(name, value, expected, tolerance if isinstance(expected, float) else 0.0, source="exact")


def printed(
    name: str,
    value: float | bool | str,
    expected: float | bool | str,
    tolerance: float = ROUNDING,
    *,
    control: float | bool | str | None = None,
) -> Number:
    """Return a number beside the one in the paper; the control is what a wrong constant or another network gives."""
    return Number(name, value, expected, tolerance if isinstance(expected, float) else 0.0, control=control)


def in_print(name: str, value: float | bool | str, expected: float | bool | str, tolerance: float = ROUNDING) -> Number:
    """Return a number beside a formula as printed, on which no result rests."""
    return Number(name, value, expected, tolerance if isinstance(expected, float) else 0.0, source="print")


def small(name: str, value: float, most: float = ROUNDING) -> Number:
    """Return an error that must be at most this."""
    return Number(name, value, most, relation="at_most", source="exact")
