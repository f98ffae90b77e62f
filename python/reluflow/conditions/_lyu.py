"""The assumptions of [LLWA] on the means of the data: 4.5, A.1, A.2, A.3.

With x⁺ = x for y = +1 and αx for y = -1 (x⁻ the other way round), μ, μ⁺ and μ⁻ are the means of y x, y x⁺ and y x⁻. A
neuron with all samples of one class active moves near zero along μ⁺ or μ⁻. (The paper's definition of x⁻ has a
misprint.) Means are those of the loss: a sample counts as often as its weight says.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .._validation import FloatArray, ReadOnly, freeze, invalid, leak_value, real_array
from ..datasets import Dataset
from ._linear import linear_margin
from ._verdict import Verdict, check_data

ROUNDING = 1e-12  # a cosine or a relative difference this small is zero
N_ARC = 33  # directions tried between the max-margin separator and the mean in the search of A.1


@dataclass(frozen=True, eq=False)
class Means(ReadOnly):
    """Mean vectors of the signed data.

    Attributes
    ----------
    mean, positive, negative : ndarray, shape (d,)
        μ, μ⁺, μ⁻.
    sample : int
        The sample that decides the condition; -1 where none does.
    """

    mean: FloatArray
    positive: FloatArray
    negative: FloatArray
    sample: int


@dataclass(frozen=True, eq=False)
class Direction(ReadOnly):
    """A candidate for the principal direction of Assumption A.1.

    Attributes
    ----------
    w : ndarray, shape (d,)
        The unit vector with the least ratio found.
    margin : float
        min y_i w·x_i.
    spread : float
        mean |Px_i| max |Px_i|, P the projector that takes w out.
    """

    w: FloatArray
    margin: float
    spread: float


def mean_off_boundaries(data: Dataset) -> Verdict[Means]:
    """Tell whether the mean of y x lies on no boundary: μ·x_i ≠ 0 for all samples.

    Parameters
    ----------
    data : Dataset

    Returns
    -------
    Verdict
        The number is the least |cos(μ, x_i)|, above 1e-12, and 0 if μ is; the witness names the sample.

    References
    ----------
    [LLWA] Assumption 4.5, for symmetric data.

    Examples
    --------
    >>> import reluflow as rf
    >>> rf.conditions.mean_off_boundaries(rf.datasets.lyu_figure1("left")).holds
    True
    """
    check_data(data)
    means = _means(data, 0.0)
    size = size_of_mean(means.mean, data)
    unit = means.mean / size if size > 0 else np.zeros(data.d)
    cosines = np.abs(data.X @ unit) / np.linalg.norm(data.X, axis=1)
    sample = int(np.where(data.counts > 0, cosines, math.inf).argmin())
    return Verdict(
        name="mean off the boundaries [LLWA, Assumption 4.5]",
        holds=bool(cosines[sample] > ROUNDING),
        value=float(cosines[sample]),
        meaning=f"least |cos(μ, x_i)|, above {ROUNDING:g}",
        witness=_at(means, sample),
    )


def principal_direction(data: Dataset, *, leak: float, w: npt.ArrayLike | None = None) -> Verdict[Direction]:
    """Tell whether a unit w exists with mean |Px_i| max |Px_i| < α γ(w) μ·w, γ(w) = min y_i w·x_i > 0.

    Directions on the arc between the max-margin separator and μ are tried. A hit is a proof. A miss is one only if
    Assumption A.2 fails, which A.1 implies; else the verdict is None, and you can try a direction of your own.

    Parameters
    ----------
    data : Dataset
    leak : float
        α in [0, 1); with 0 the assumption fails.
    w : array_like, shape (d,), optional
        Try this direction alone.

    Returns
    -------
    Verdict
        The number is the ratio of the left side to the right one, below 1; inf where the right one is not positive.

    Raises
    ------
    ValueError
        ``leak`` outside [0, 1), ``w`` of another length or zero.

    References
    ----------
    [LLWA] Assumption A.1 and Lemma G.1 (A.1 implies A.2; the text has the direction of "weaker" reversed in App. G.2).

    Examples
    --------
    >>> import reluflow as rf
    >>> rf.conditions.principal_direction(rf.datasets.lyu_figure1("right"), leak=0.5, w=[1, 0]).holds
    True
    """
    check_data(data)
    slope = leak_value(leak)
    candidates = _arc(data) if w is None else _given(w, data.d)
    used = data.counts > 0
    signed, counts = (data.X * data.y[:, None])[used], data.counts[used]
    mean = np.average(signed, axis=0, weights=counts)
    best, value = None, math.inf
    for direction in candidates:
        found = _direction(signed, counts, direction)
        ratio = _ratio(found, slope * found.margin * float(mean @ direction))
        if best is None or ratio < value:
            best, value = found, ratio
    assert best is not None
    refuted = w is not None or not mean_dominance(data, leak=slope).holds
    return Verdict(
        name="principal direction [LLWA, Assumption A.1]",
        holds=True if value < 1 else (False if refuted else None),
        value=value,
        meaning="mean |Px_i| max |Px_i| / (α γ μ·w), below 1",
        witness=best,
    )


def mean_dominance(data: Dataset, *, leak: float) -> Verdict[Means]:
    """Tell whether μ·y_i x_i > (1-α)/(nα) Σ_j max(-y_i x_i·y_j x_j, 0) for all samples that count.

    Then every neuron is drawn to μ⁺ or μ⁻ while the weights are small.

    Parameters
    ----------
    data : Dataset
    leak : float
        α in [0, 1); with 0 the assumption fails.

    Returns
    -------
    Verdict
        The number is the least difference of the sides, above 0 (-inf for α = 0); the witness names the sample.

    Raises
    ------
    ValueError
        ``leak`` outside [0, 1).

    References
    ----------
    [LLWA] Assumption A.2.

    Examples
    --------
    >>> import reluflow as rf
    >>> rf.conditions.mean_dominance(rf.datasets.lyu_figure1("middle"), leak=0.5).holds
    True
    """
    check_data(data)
    slope = leak_value(leak)
    means = _means(data, slope)
    signed = data.X * data.y[:, None]
    against = np.maximum(-signed @ signed.T, 0) @ data.counts / data.counts.sum()
    gaps = np.full(data.n, -math.inf) if slope == 0 else signed @ means.mean - (1 - slope) / slope * against
    sample = int(np.where(data.counts > 0, gaps, math.inf).argmin())
    # The rounding of the sums; a difference below it has no sign.
    noise = data.n * np.finfo(np.float64).eps * float(np.max(np.sum(signed**2, axis=1)))
    return Verdict(
        name="mean dominance [LLWA, Assumption A.2]",
        holds=bool(gaps[sample] > noise),
        value=float(gaps[sample]),
        meaning="least of μ·y_i x_i minus the sum against it, above 0",
        witness=_at(means, sample),
    )


def larger_positive_mean(data: Dataset, *, leak: float) -> Verdict[Means]:
    """Tell whether |μ⁺| > |μ⁻|, so that positive neurons grow faster while the weights are small.

    Parameters
    ----------
    data : Dataset
    leak : float
        α in [0, 1).

    Returns
    -------
    Verdict
        The number is κ = 1 - |μ⁻|/|μ⁺|, above 0: from small weights of size σ negative neurons keep a share of about
        σ^κ. If it fails with κ < 0, the reversed case (Assumption A.8) holds: flip the labels.

    Raises
    ------
    ValueError
        ``leak`` outside [0, 1).

    References
    ----------
    [LLWA] Assumptions A.3 and A.8.

    Examples
    --------
    >>> import reluflow as rf
    >>> rf.conditions.larger_positive_mean(rf.datasets.lyu_figure1("right"), leak=0.5).holds
    True
    """
    check_data(data)
    means = _means(data, leak_value(leak))
    positive, negative = size_of_mean(means.positive, data), size_of_mean(means.negative, data)
    kappa = 1 - negative / positive if positive > 0 else (-math.inf if negative > 0 else 0.0)
    return Verdict(
        name="larger positive mean [LLWA, Assumption A.3]",
        holds=kappa > ROUNDING,
        value=kappa,
        meaning="κ = 1 - |μ⁻|/|μ⁺|, above 0",
        witness=means,
    )


def positive_shares(data: Dataset, leak: float) -> FloatArray:
    """Return the factor of x⁺ = factor * x for each sample."""
    return np.where(data.y > 0, 1.0, leak)


def size_of_mean(mean: FloatArray, data: Dataset) -> float:
    """Return the norm of a mean of the samples; 0 where it is what rounding leaves of samples that cancel."""
    size = float(np.linalg.norm(mean))
    return size if size > ROUNDING * float(np.linalg.norm(data.X, axis=1).mean()) else 0.0


def _means(data: Dataset, leak: float) -> Means:
    signed = data.X * data.y[:, None]
    share = positive_shares(data, leak)[:, None]
    opposite = np.where(data.y > 0, leak, 1.0)[:, None]
    parts = (signed, share * signed, opposite * signed)
    vectors = [np.asarray(np.average(part, axis=0, weights=data.weights), dtype=np.float64) for part in parts]
    for vector in vectors:
        freeze(vector)
    return Means(vectors[0], vectors[1], vectors[2], -1)


def _at(means: Means, sample: int) -> Means:
    return Means(means.mean, means.positive, means.negative, sample)


def _arc(data: Dataset) -> list[FloatArray]:
    """Return unit vectors from the max-margin separator to μ."""
    mean = _means(data, 0.0).mean
    size = size_of_mean(mean, data)
    start = linear_margin(data).direction
    end = mean / size if size > 0 else start
    arc = [(1 - t) * start + t * end for t in np.linspace(0, 1, N_ARC)]
    return [v / np.linalg.norm(v) if np.any(v) else np.eye(data.d)[0] for v in arc]


def _given(w: npt.ArrayLike, d: int) -> list[FloatArray]:
    vector = real_array(w, "w", "(d,)")
    if len(vector) != d or not np.any(vector):
        raise invalid("w", f"be a vector of {d} entries, not all 0", f"{vector.tolist()}")
    vector = vector / np.abs(vector).max()  # its square stays in the range of doubles
    return [vector / np.linalg.norm(vector)]


def _direction(signed: FloatArray, counts: FloatArray, w: FloatArray) -> Direction:
    along = signed @ w
    off = np.linalg.norm(signed - np.outer(along, w), axis=1)
    return Direction(w, float(along.min()), float(np.average(off, weights=counts) * off.max()))


def _ratio(found: Direction, bound: float) -> float:
    return found.spread / bound if bound > 0 and found.margin > 0 else math.inf
