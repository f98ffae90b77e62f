"""Spike-freeness, decided exactly.

X is spike-free [WP, Def. 2] if for every |u| <= 1 there is |z| <= 1 with (Xu)₊ = Xz. Two things must hold.

1. (Xu)₊ lies in the range of X for every u: the range is closed under the positive part, a linear sublattice of R^n. A
   finite-dimensional one is spanned by non-negative vectors of disjoint support, so this says: up to positive factors
   the distinct directions r_1 ... r_k of the samples are linearly independent. ([WP, (30)] drops this part: X = [1;
   -1].)
2. With t = Ru, R the matrix of the directions, the shortest z has Rz = t₊, and |z|² = t₊ᵀ Q t₊ with Q = (R Rᵀ)⁻¹. It is
   at most |u|², which is at least tᵀ Q t, for all t if and only if Q has no positive entry off its diagonal: with t₋ =
   t₊ - t the difference is t₋ᵀ Q t₋ - 2 t₊ᵀ Q t₋, and t₊ can be made large.

So X is spike-free iff its distinct directions are independent and the inverse of their Gram matrix is an M-matrix. For
two samples in the plane that is x_1·x_2 >= 0.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from .._validation import FloatArray, IntArray, ReadOnly, freeze
from ..datasets import Dataset
from ._verdict import Verdict, check_data

DIRECTION_TOL = 1e-12  # distance of unit samples that counts as one direction; rounding alone gives about 1e-16
INDEPENDENT_TOL = 1e-12  # least singular value, relative to the greatest, of independent directions
CORRELATION_TOL = 1e-12  # an entry of Q this small, relative to the diagonal, is zero: orthogonal samples are allowed
N_WITNESS_TRIES = 20  # random points on a boundary; one is enough unless it lies on a second boundary


@dataclass(frozen=True, eq=False)
class SpikeFreeness(ReadOnly):
    """Why X is spike-free or not.

    Attributes
    ----------
    group : ndarray of int, shape (n,)
        Which distinct direction each sample has.
    independent : bool
        Whether the distinct directions are linearly independent.
    inverse_gram : ndarray, shape (k, k), or None
        Q, the inverse Gram matrix of the distinct unit directions; spike-free iff no entry off its diagonal is
        positive. None if they are dependent.
    u : ndarray, shape (d,), or None
        If not spike-free, a unit vector with (Xu)₊ outside the range of X, or with |X⁺(Xu)₊| > 1.
    spike : float
        |X⁺(Xu)₊| at u, 1 if spike-free. It is the greatest over all u if k = 2.
    outside : float
        |(I - XX⁺)(Xu)₊| / |Xu| at u: 0 to rounding if the directions are independent.
    """

    group: IntArray
    independent: bool
    inverse_gram: FloatArray | None
    u: FloatArray | None
    spike: float
    outside: float


def is_spike_free(data: Dataset) -> Verdict[SpikeFreeness]:
    """Tell whether X is spike-free: for every |u| <= 1 there is |z| <= 1 with (Xu)₊ = Xz.

    The answer is exact and needs no enumeration of sign patterns: X is spike-free iff its distinct directions are
    linearly independent and the inverse of their Gram matrix has no positive entry off the diagonal.

    Parameters
    ----------
    data : Dataset

    Returns
    -------
    Verdict
        The number is the greatest correlation Q_ij / √(Q_ii Q_jj), i ≠ j, of the inverse Gram matrix, not above 0 if
        spike-free; inf if the directions are dependent. The witness is Q, or a unit vector u that no z matches.

    References
    ----------
    [WP] Definition 2; Ergen & Pilanci 2021. The form (30) there is not equivalent: it drops the condition on the range.

    Examples
    --------
    >>> import reluflow as rf
    >>> verdict = rf.conditions.is_spike_free(rf.datasets.wang_pilanci("obtuse"))
    >>> verdict.holds, round(verdict.witness.spike, 6), verdict.witness.u.round(6)
    (False, 1.222195, array([ 0.961744, -0.273951]))
    >>> rf.conditions.is_spike_free(rf.datasets.wang_pilanci("spike_free")).holds
    True
    """
    check_data(data)
    group, directions = _directions(data.X)
    sizes = np.linalg.svd(directions, compute_uv=False)
    independent = len(directions) <= data.d and bool(sizes[-1] > INDEPENDENT_TOL * sizes[0])
    if not independent:
        return _verdict(math.inf, group, None, _outside_witness(data.X, directions), data.X)
    Q = np.linalg.inv(directions @ directions.T).astype(np.float64)
    scale = np.sqrt(np.diag(Q))
    correlation = Q / np.outer(scale, scale)
    np.fill_diagonal(correlation, -math.inf)
    value = float(correlation.max()) if len(Q) > 1 else 0.0
    if value <= CORRELATION_TOL:
        return _verdict(value, group, Q, None, data.X)
    i, j = divmod(int(correlation.argmax()), len(Q))
    # On the plane of t_i > 0 > t_j the ratio t₊ᵀQt₊ / tᵀQt is greatest at t_j / t_i = -Q_ij / Q_jj: 1 / (1 -
    # correlation²).
    t = np.zeros(len(Q))
    t[i], t[j] = 1.0, -Q[i, j] / Q[j, j]
    u = np.linalg.pinv(directions) @ t
    return _verdict(value, group, Q, u / np.linalg.norm(u), data.X)


def _verdict(
    value: float, group: IntArray, Q: FloatArray | None, u: FloatArray | None, X: FloatArray
) -> Verdict[SpikeFreeness]:
    spike, outside = 1.0, 0.0
    for array in (group, Q, u):
        if array is not None:
            freeze(array)
    if u is not None:
        spike, outside = _measure(X, u)
    return Verdict(
        name="spike-free [WP, Definition 2]",
        holds=u is None,
        value=value,
        meaning="greatest correlation in the inverse Gram matrix of the directions, at most 0",
        witness=SpikeFreeness(group, Q is not None, Q, u, spike, outside),
    )


def _directions(X: FloatArray) -> tuple[IntArray, FloatArray]:
    """Group samples that are positive multiples of each other; return the groups and their unit directions."""
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    group = np.full(len(X), -1, dtype=np.int64)
    leaders: list[int] = []
    for i in range(len(X)):
        if group[i] < 0:
            same = (group < 0) & (np.linalg.norm(unit - unit[i], axis=1) <= DIRECTION_TOL)
            group[same] = len(leaders)
            leaders.append(i)
    directions: FloatArray = unit[leaders]
    return group, directions


def _measure(X: FloatArray, u: FloatArray) -> tuple[float, float]:
    """Return |X⁺(Xu)₊| and |(I - XX⁺)(Xu)₊| / |Xu|."""
    image = X @ u
    rectified = np.maximum(image, 0)
    z = np.linalg.lstsq(X, rectified, rcond=None)[0]
    return float(np.linalg.norm(z)), float(np.linalg.norm(rectified - X @ z) / np.linalg.norm(image))


def _outside_witness(X: FloatArray, directions: FloatArray) -> FloatArray:
    """Return a unit u with (Xu)₊ outside the range of X, for dependent directions.

    A dependency Σ c_i r_i = 0 makes h(u) = Σ c_i (r_i·u)₊ vanish wherever (Xu)₊ is in the range. Of two opposite
    directions, r and -r, c = (1, 1) is one and h(r) = 1. Else h has a kink on the boundary of every direction with c_i
    ≠ 0, so among a point of that boundary and two points beside it, closer than any other boundary, one has h ≠ 0.
    """
    opposite = np.argwhere(directions @ directions.T <= DIRECTION_TOL - 1)
    if len(opposite):
        pair: FloatArray = directions[int(opposite[0, 0])]
        return pair
    c = np.linalg.svd(directions.T)[2][-1]  # a null vector of the columns
    index = int(np.abs(c).argmax())
    leader: FloatArray = directions[index]
    others = np.delete(directions, index, axis=0)
    rng = np.random.default_rng(0)
    best: FloatArray = leader
    best_outside = -1.0
    span = np.linalg.svd(X, full_matrices=False)[0][:, : np.linalg.matrix_rank(X)]
    for _ in range(N_WITNESS_TRIES):
        on_boundary = rng.standard_normal((X.shape[1],))
        on_boundary -= (on_boundary @ leader) * leader
        nearest = float(np.abs(others @ on_boundary).min())
        for shift in (0.0, -nearest, nearest):
            u = on_boundary + shift * leader
            if not u.any():  # drawn along the leader, or in one dimension
                continue
            rectified = np.maximum(X @ u, 0)
            outside = float(np.linalg.norm(rectified - span @ (span.T @ rectified)) / np.linalg.norm(X @ u))
            if outside > best_outside:
                best, best_outside = u / np.linalg.norm(u), outside
    return best
