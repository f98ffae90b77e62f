"""Newton on the max-margin problem of K classes in one pattern, on known active constraints.

With P_c = Q_c Q_cᵀ the projection off the boundaries that the neurons of one pattern row hold, their part of the
outputs is linear in Z_c = Σ_j w_j a_jᵀ, and min ½|θ|² subject to f_y - f_k >= 1 is the convex program

    min Σ_c |Z_c|_*  s.t.  the margins of (S_c X P_c Z_c)_c are at least 1,

with the nuclear norm. Its dual asks for |M_c| <= 1 of M_c = Λᵀ S_c X P_c, and θ solves it exactly where w = Mᵀa,
a = M w and |M_c| <= 1 for all rows. A turn of the neurons of one row changes no output, so that as many neurons as Z_c
has directions stand for all: they are the unknowns, with the multipliers μ of the active (sample, class).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from .._least_distance import least_norm
from .._linear_algebra import svd
from .._validation import FloatArray, IntArray, PatternArray
from ..kinks._boundaries import Boundaries, slopes, span
from ..networks import Network
from ._kkt import symmetric_least_squares

# Neurons of a row that are this part of |θ| away from those that stand for it are left to vanish.
_STANDS_FOR = 1e-7
# A neuron that the polish leaves with this part of |θ| is zero.
_VANISHED = 1e-9
# Rounds of linearised problems, which find the active constraints, and of these how many must agree at the end.
_ROUNDS, _AGREEING = 60, 4
# The constraints of the smallest margins, so many times the least, are looked at first; others join when violated.
_NEAR, _MOST_NEAR = 3.0, 400
_NEWTON_STEPS = 30
# Changes of the active set by Newton's own solution.
_SET_CHANGES = 60
_SIGN_TOL = 1e-11
# More equations than this are not set up: their eigenvalues take minutes.
LARGEST = 2500


@dataclass(frozen=True, eq=False)
class Row:
    """The neurons of one pattern row.

    Attributes
    ----------
    members : ndarray, shape (k,)
    pattern : ndarray, shape (n,)
    Q : ndarray, shape (d, e)
        Orthonormal columns off the boundaries that are held.
    A : ndarray, shape (n, e)
        S X Q.
    """

    members: IntArray
    pattern: PatternArray
    Q: FloatArray
    A: FloatArray


def rows_of(found: Boundaries, X: FloatArray, net: Network) -> list[Row]:
    """Sort the neurons that can move by their pattern rows."""
    assert net.pattern is not None  # for the type checker: the network of a run has one
    slope = slopes(net.pattern, net.leak)
    moving = np.flatnonzero(slope.any(axis=1) & (net.W.any(axis=1) | net.a.any(axis=1)))
    patterns, number = np.unique(net.pattern[moving], axis=0, return_inverse=True)
    rows = []
    for c, pattern in enumerate(patterns):
        held = span(found.normal[np.unique(found.boundary[pattern == 0])])
        Q = svd(held, full_matrices=True)[2][len(held) :].T if len(held) else np.eye(net.dim)
        A = slopes(pattern, net.leak)[:, None] * X @ Q
        rows.append(Row(moving[number.ravel() == c], pattern, Q, A))
    return rows


@dataclass(frozen=True, eq=False)
class Margins:
    """The margins f_y - f_k of the neurons that stand for all, x = (q_l, a_l) one after the other.

    Attributes
    ----------
    maps : tuple of ndarray, shapes (n, e)
        A of the row of each.
    own, other, sample : ndarray, shape (r,)
        Of each constraint: y, k, and the sample.
    n_outputs : int
    """

    maps: tuple[FloatArray, ...]
    sample: IntArray
    own: IntArray
    other: IntArray
    n_outputs: int

    def of(self, chosen: npt.NDArray[np.bool_] | IntArray) -> Margins:
        """Return some of the constraints."""
        return replace(self, sample=self.sample[chosen], own=self.own[chosen], other=self.other[chosen])

    def split(self, x: FloatArray) -> list[tuple[FloatArray, FloatArray]]:
        """Return (q_l, a_l) of each neuron."""
        first, parts = 0, []
        for A in self.maps:
            last = first + A.shape[1]
            parts.append((x[first:last], x[last : last + self.n_outputs]))
            first = last + self.n_outputs
        return parts

    def values(self, x: FloatArray) -> FloatArray:
        """Return the margins, shape (r,)."""
        total = np.zeros(len(self.sample))
        for A, (q, a) in zip(self.maps, self.split(x), strict=True):
            total += (A @ q)[self.sample] * (a[self.own] - a[self.other])
        return total

    def jacobian(self, x: FloatArray) -> FloatArray:
        """Return their derivatives, shape (r, P)."""
        columns, places = [], np.arange(len(self.sample))
        for A, (q, a) in zip(self.maps, self.split(x), strict=True):
            columns.append((a[self.own] - a[self.other])[:, None] * A[self.sample])
            turn, z = np.zeros((len(self.sample), self.n_outputs)), (A @ q)[self.sample]
            turn[places, self.own] += z
            turn[places, self.other] -= z
            columns.append(turn)
        return np.hstack(columns)

    def duals(self, mu: FloatArray, n: int) -> FloatArray:
        """Return Λ of multipliers, shape (n, K)."""
        lam = np.zeros((n, self.n_outputs))
        np.add.at(lam, (self.sample, self.own), mu)
        np.subtract.at(lam, (self.sample, self.other), mu)
        return lam

    def curvature(self, mu: FloatArray, size: int) -> FloatArray:
        """Return I - Σ μ ∂²(margin), shape (P, P)."""
        H, first = np.eye(size), 0
        lam = self.duals(mu, len(self.maps[0]))
        for A in self.maps:
            middle, last = first + A.shape[1], first + A.shape[1] + self.n_outputs
            M = lam.T @ A
            H[middle:last, first:middle], H[first:middle, middle:last] = -M, -M.T
            first = last
        return H


@dataclass(frozen=True, eq=False)
class Polished:
    """A solution of the equations.

    Attributes
    ----------
    x, mu : ndarray
        Of the neurons that stand for all and do not vanish, and of all constraints.
    kept : ndarray of int
        Which these neurons are.
    error : float
        Largest residual of the equations on the active set.
    free_duals, free_neurons : int
        Dimensions in which either is not determined.
    """

    x: FloatArray
    mu: FloatArray
    kept: IntArray
    error: float
    free_duals: int
    free_neurons: int


def stand_ins(rows: list[Row], net: Network) -> tuple[list[int], list[FloatArray], FloatArray]:
    """Return for each neuron that stands for others its row, their shares in it, and (q, a) of all."""
    number, shares, x = [], [], []
    least = _STANDS_FOR * net.norm
    for c, row in enumerate(rows):
        held = np.hstack((net.W[row.members] @ row.Q, net.a[row.members]))
        left, sizes, right = svd(held, full_matrices=False)
        for k in np.flatnonzero(sizes > least):
            number.append(c)
            shares.append(left[:, k])
            x.append(sizes[k] * right[k])
    return number, shares, np.concatenate(x) if x else np.empty(0)


def polish_margins(margins: Margins, x: FloatArray) -> Polished | None:
    """Solve for x and μ from a network whose margins are all positive; None where no solution is found."""
    values = margins.values(x)
    x = x / np.sqrt(values.min())
    values = margins.values(x)
    near = np.argsort(values, kind="stable")[:_MOST_NEAR]
    near = np.sort(near[values[near] <= _NEAR * values.min()])
    x, mu = _linearised(margins, x, near)
    active = mu > 0
    for _ in range(_SET_CHANGES):
        if not active.any():
            return None
        found = _newton(margins, active, x, np.maximum(mu, 0.0))
        values = margins.values(found.x)
        total = max(float(np.abs(found.mu).sum()), np.finfo(np.float64).tiny)
        wrong = np.where(active, -found.mu / total, 1.0 - values)
        worst = int(np.argmax(wrong))
        if wrong[worst] <= _SIGN_TOL:
            return _without_vanished(margins, active, found)
        active[worst] ^= True
        x, mu = (found.x, found.mu) if found.error < 1e-3 else (x, mu)
    return None


def _linearised(margins: Margins, x: FloatArray, near: IntArray) -> tuple[FloatArray, FloatArray]:
    """Solve min ½|x'|² s.t. the margins, linear around x, are at least 1, and go half the way, again and again."""
    mu, same, before = np.zeros(len(margins.sample)), 0, np.empty(0, dtype=np.int64)
    for _ in range(_ROUNDS):
        part = margins.of(near)
        J, values = part.jacobian(x), part.values(x)
        found = least_norm(J, 1.0 + values)
        if found.w is None:
            break
        mu[:] = 0.0
        mu[near] = found.multipliers
        x = 0.5 * (x + found.w)
        active = np.flatnonzero(mu > 0)
        same = same + 1 if np.array_equal(active, before) else 0
        before = active
        violated = np.flatnonzero(margins.values(x) < 0.9)
        if np.isin(violated, near).all() and same >= _AGREEING:
            break
        near = np.union1d(near, violated)
    return x, mu


def _newton(margins: Margins, active: npt.NDArray[np.bool_], x: FloatArray, mu: FloatArray) -> Polished:
    part, k = margins.of(active), int(active.sum())
    own, n_turns = mu[active], _turns(margins)
    best: tuple[FloatArray, FloatArray, float] = (x, own, np.inf)
    lost = (0, 0)
    for _ in range(_NEWTON_STEPS):
        J, H = part.jacobian(x), part.curvature(own, len(x))
        gap = np.concatenate((part.values(x) - 1.0, H @ x))  # ∇ of the margins is (the curvature's part) x
        error = float(np.abs(gap).max())
        if not error < best[2]:
            break
        best = x, own, error
        matrix = np.block([[np.zeros((k, k)), J], [J.T, -H]])
        step, lost = symmetric_least_squares(matrix, np.concatenate((-gap[:k], gap[k:])), k)
        own, x = own + step[:k], x + step[k:]
    full = np.zeros(len(mu))
    full[active] = best[1]
    return Polished(best[0], full, np.arange(len(margins.maps)), best[2], lost[0], max(0, lost[1] - n_turns))


def _turns(margins: Margins) -> int:
    """Dimension of the turns of neurons of one row, which change nothing."""
    kinds = [id(A) for A in margins.maps]
    return sum(kinds.count(kind) * (kinds.count(kind) - 1) // 2 for kind in set(kinds))


def _without_vanished(margins: Margins, active: npt.NDArray[np.bool_], found: Polished) -> Polished:
    """Leave out neurons that are nothing beside the others, and polish again."""
    parts = [np.concatenate(part) for part in margins.split(found.x)]
    least = _VANISHED * float(np.linalg.norm(found.x))
    kept = [k for k, part in enumerate(parts) if np.linalg.norm(part) > least]
    if len(kept) == len(parts):
        return found
    fewer = replace(margins, maps=tuple(margins.maps[k] for k in kept))
    again = _newton(fewer, active, np.concatenate([parts[k] for k in kept]), found.mu)
    return replace(again, kept=np.array(kept))
