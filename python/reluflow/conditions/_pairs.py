"""Conditions on pairs of samples: orthogonal separability and symmetry."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist

from .._validation import FloatArray, IntArray, ReadOnly, freeze
from ..datasets import Dataset, MultiClassDataset
from ..datasets._dataset import one_target
from ._verdict import Verdict, check_data

SYMMETRY_RTOL = 1e-12  # of the largest |x|: a few roundings of a centring or scaling are no loss of symmetry


@dataclass(frozen=True)
class ExtremePairs:
    """The pairs of samples that decide orthogonal separability.

    Attributes
    ----------
    same : tuple of int
        The two samples of one class with the least cosine (i = j in a class of one sample).
    same_cosine : float
        It must be above 0.
    different : tuple of int, or None
        The two samples of different classes with the greatest cosine; None if there is one class only.
    different_cosine : float
        It must not be above 0; -inf if there is one class only.
    """

    same: tuple[int, int]
    same_cosine: float
    different: tuple[int, int] | None
    different_cosine: float


@dataclass(frozen=True, eq=False)
class Pairing(ReadOnly):
    """Which sample is the negative of which.

    Attributes
    ----------
    partner : ndarray of int, shape (n,)
        The sample paired with each sample; -1 where there is none. The pairing makes the sum of the distances
        |x_i + x_partner| as small as possible.
    worst : int
        The sample farthest from the negative of its partner, or the first without a partner.
    in_order : bool
        Whether the samples stand as [LLWA, Assumption 4.1] prints them: +1 first, x_{i+n/2} = -x_i.
    """

    partner: IntArray
    worst: int
    in_order: bool


def orthogonal_separability(data: Dataset | MultiClassDataset) -> Verdict[ExtremePairs]:
    """Tell whether x_i·x_j > 0 within every class and x_i·x_j <= 0 between classes.

    Products are computed in floating point. One that is zero to rounding counts as zero: it is allowed between
    classes and refused within one.

    Parameters
    ----------
    data : Dataset or MultiClassDataset

    Returns
    -------
    Verdict
        The number is the smaller of the least cosine within a class and minus the greatest cosine between classes;
        below 0 the condition fails, at 0 it holds if the zero comes from two classes. The witness names both pairs.

    References
    ----------
    [PL] Sec. 2 for two classes; [WP] Sec. 2.1 for K classes. For K >= 3 the theorem of [WP] (Theorem 2) is not
    true as printed: one class against the rest is not orthogonally separable, as the rest is not one class.

    Examples
    --------
    >>> import reluflow as rf
    >>> verdict = rf.conditions.orthogonal_separability(rf.datasets.wang_pilanci("obtuse"))
    >>> verdict.holds, round(verdict.witness.different_cosine, 6)
    (True, -0.574934)
    """
    if not isinstance(data, MultiClassDataset):
        one_target(data, expected="a Dataset or a MultiClassDataset")
    labels = data.labels if isinstance(data, MultiClassDataset) else data.y
    unit = data.X / np.linalg.norm(data.X, axis=1, keepdims=True)
    cosines = unit @ unit.T
    rounding = 2 * (data.d + 2) * np.finfo(np.float64).eps  # of a product of unit rows
    cosines[np.abs(cosines) <= rounding] = 0.0
    alike = np.equal.outer(labels, labels)
    same, same_cosine = _extreme(np.where(alike, cosines, math.inf), least=True)
    different, different_cosine = _extreme(np.where(alike, -math.inf, cosines), least=False)
    one_class = bool(alike.all())
    return Verdict(
        name="orthogonal separability [PL, Sec. 2]",
        holds=same_cosine > 0 and different_cosine <= 0,
        value=min(same_cosine, -different_cosine),
        meaning="least of the cosines within classes (above 0) and minus those between them (at least 0)",
        witness=ExtremePairs(same, same_cosine, None if one_class else different, different_cosine),
    )


def _extreme(table: FloatArray, *, least: bool) -> tuple[tuple[int, int], float]:
    flat = int(table.argmin() if least else table.argmax())
    i, j = divmod(flat, table.shape[1])
    return (i, j), float(table[i, j])


def symmetry(data: Dataset) -> Verdict[Pairing]:
    """Tell whether the samples come in pairs (x, +1), (-x, -1).

    Parameters
    ----------
    data : Dataset
        In any order.

    Returns
    -------
    Verdict
        The number is the largest |x_i + x_partner| in units of the largest |x|, inf if the classes differ in size; up
        to 1e-12 counts as symmetric. The witness is the pairing.

    References
    ----------
    [LLWA] Assumption 4.1.

    Examples
    --------
    >>> import reluflow as rf
    >>> rf.conditions.symmetry(rf.datasets.lyu_figure1("left")).witness.partner
    array([3, 4, 5, 0, 1, 2])
    """
    check_data(data)
    positive, negative = np.flatnonzero(data.y > 0), np.flatnonzero(data.y < 0)
    distances = cdist(data.X[positive], -data.X[negative])
    rows, columns = linear_sum_assignment(distances)
    partner = np.full(data.n, -1, dtype=np.int64)
    partner[positive[rows]] = negative[columns]
    partner[negative[columns]] = positive[rows]
    gaps = np.full(data.n, math.inf)
    gaps[positive[rows]] = gaps[negative[columns]] = distances[rows, columns]
    value = float(gaps.max() / np.linalg.norm(data.X, axis=1).max())
    half = data.n // 2
    in_order = data.n == 2 * half and bool((data.y[:half] > 0).all() and (data.X[half:] == -data.X[:half]).all())
    freeze(partner)
    return Verdict(
        name="symmetry [LLWA, Assumption 4.1]",
        holds=value <= SYMMETRY_RTOL,
        value=value,
        meaning=f"largest |x_i + x_partner| / max |x|, at most {SYMMETRY_RTOL:g}",
        witness=Pairing(partner, int(gaps.argmax()), in_order and value <= SYMMETRY_RTOL),
    )
