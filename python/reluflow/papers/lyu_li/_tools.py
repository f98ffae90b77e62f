"""Starts, runs and small formulas that the claims of [LLWA] share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from ..._validation import FloatArray, optional_module
from ...analysis import distance_to_linear
from ...datasets import Dataset, symmetrise
from ...flow import Solution, Stop, integrate
from ...limits import Limit
from ...networks import Network
from .._claim import Number

if TYPE_CHECKING:
    import pandas as pd

SYMMETRIC_LEAK = 0.5
_HALF = ((0.9, 0.1), (0.5, 0.6), (0.4, -0.3))
SMALL = 1e-10  # σ of "sufficiently small"
FITTED = 1e-3  # mean loss from which the limit is read; the polish does the rest


def symmetric_example() -> Dataset:
    """Return three samples in the unit disc and their negatives, no boundary of which holds the mean."""
    return symmetrise(np.array(_HALF), name="three symmetric pairs")


def gaussian(width: int, dim: int, rng: np.random.Generator, *, leak: float, spread: float = 1.0) -> Network:
    """Draw a start of the symmetric case at σ = 1: w ~ N(0, I), a ~ N(0, spread²), not balanced."""
    W, a = rng.standard_normal((width, dim)), spread * rng.standard_normal(width)
    return Network(W, a, leak=leak)


def balanced(width: int, dim: int, rng: np.random.Generator, *, leak: float) -> Network:
    """Draw a start of the other case at σ = 1: w ~ N(0, I), a = ±|w|."""
    W = rng.standard_normal((width, dim))
    return Network(W, rng.choice(np.array([-1.0, 1.0]), width) * np.linalg.norm(W, axis=1), leak=leak)


def he(width: int, dim: int, rng: np.random.Generator, *, leak: float, factor: float = 1e-3) -> Network:
    """Draw `factor` times the initialisation of He et al.: variance 2 over the number of inputs of each layer."""
    W = np.sqrt(2.0 / dim) * rng.standard_normal((width, dim))
    return Network(factor * W, factor * np.sqrt(2.0 / width) * rng.standard_normal(width), leak=leak)


def scaled(net: Network, factor: float) -> Network:
    """Return the network with all weights multiplied."""
    return Network(factor * net.W, factor * net.a, leak=net.leak)


def fit(data: Dataset, net: Network, *, mean_loss: float = FITTED) -> Solution:
    """Run the flow of the mean loss until the data are fitted."""
    return integrate(data, net, until=Stop(mean_loss=mean_loss), reduction="mean")


def settle(data: Dataset, net: Network, *, turn: float = 1e-2) -> Solution:
    """Run the flow of the mean loss until the direction has at most `turn` radians to go."""
    return integrate(data, net, until=Stop(direction=turn), reduction="mean")


def limit_of_flow(data: Dataset, net: Network) -> Limit:
    """Return the limit of the flow of the mean loss, from later and later states until it is certified."""
    for turn in (1e-2, 1e-3, 1e-5):
        limit = settle(data, net, turn=turn).limit
        if limit.certified:
            break
    return limit


def signed(data: Dataset) -> FloatArray:
    """Return the rows y_i x_i."""
    return data.y[:, None] * data.X


def mean(data: Dataset) -> FloatArray:
    """Return μ, the mean of y_i x_i."""
    return np.asarray(signed(data).mean(axis=0))


def one_sided_means(data: Dataset, leak: float) -> tuple[FloatArray, FloatArray]:
    """Return μ⁺ and μ⁻, the means of y x⁺ and y x⁻."""
    slopes = np.where(data.y > 0, 1.0, leak)[:, None]
    opposite = np.where(data.y > 0, leak, 1.0)[:, None]
    return np.asarray((slopes * signed(data)).mean(axis=0)), np.asarray((opposite * signed(data)).mean(axis=0))


def unit(vector: FloatArray) -> FloatArray:
    """Return the vector at length 1."""
    return np.asarray(vector / np.linalg.norm(vector))


def m_norm(W: FloatArray, a: FloatArray) -> float:
    """Return |θ|_M, the largest |w_k| or |a_k| (Definition 5.1)."""
    return float(max(np.linalg.norm(np.atleast_2d(W), axis=1).max(), np.abs(a).max()))


def from_linear(net: Network, slope: FloatArray) -> float:
    """Return how far f is from <slope, x>: its even part under a Gaussian input and the error of its odd part."""
    found = distance_to_linear(net)
    return max(found.distance, float(np.linalg.norm(found.coefficients - slope) / np.linalg.norm(slope)))


def slope_of(x: npt.ArrayLike, y: npt.ArrayLike) -> float:
    """Return the exponent p of the least-squares fit y ~ x^p."""
    u, v = np.log(np.asarray(x, dtype=np.float64)), np.log(np.asarray(y, dtype=np.float64))
    u = u - u.mean()
    return float(u @ v / (u @ u))


def sheet(rows: Iterable[Iterable[float | str]], columns: Sequence[str]) -> pd.DataFrame:
    """Return a table of rows."""
    pandas = optional_module("pandas", "analysis")
    table: pd.DataFrame = pandas.DataFrame([list(row) for row in rows], columns=list(columns))
    return table


def unit_ball(data: Dataset) -> Dataset:
    """Return the data divided by the largest |x_i|, as the analysis of the paper assumes |x_i| <= 1."""
    return Dataset(data.X / np.linalg.norm(data.X, axis=1).max(), data.y, name=data.name)


def frequency(name: str, share: float, chance: float, n: int, *, other: float) -> Number:
    """Return a share of n draws beside its chance, judged where four standard errors tell it from another chance."""
    error = four_errors(chance, n)
    judged = error < abs(chance - other)
    return Number(name, share, chance, error, control=other) if judged else Number(name, share)


def four_errors(share: float, n: int) -> float:
    """Return four standard errors of a frequency over n draws."""
    return 4.0 * float(np.sqrt(share * (1.0 - share) / n))
