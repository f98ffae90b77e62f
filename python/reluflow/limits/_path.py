"""The max-margin problem of one pattern as a cone program, by a primal-dual interior-point method.

With the pattern fixed and each group one vector z_c = A_c u_c, the problem is min Σ |z_c| s.t. Σ_c D_c z_c - r = 1,
r >= 0 ([VSS, (11)]; [WP, (14)] without its cones), and its dual max Σ l_i s.t. l >= 0, |D_cᵀ l| <= 1. Rows of samples
whose margins stay finite come last: they ask for Σ_c D_c z_c = 0, and their l has any sign.

The cones are (τ_c, z_c) with |z_c| <= τ_c, and their dual slacks (1, -D_cᵀ l). The method is Mehrotra's with Nesterov
and Todd's scaling (Vandenberghe, The CVXOPT linear and quadratic cone program solvers, 2010). It tells the support
samples and the live groups apart, whatever the state that asks; the last digits are Newton's.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve_triangular

from .._validation import FloatArray

# The method ends at this duality gap, as a part of the optimal value, and at these errors of the margins.
_LAST_GAP = 1e-12
_LAST_LACK = 1e-7
# Where rounding lets it come no nearer (samples that depend on each other), this gap still tells the sets apart.
_LEAST_GAP = 1e-6
# A smaller pivot of the Cholesky factor has lost so many digits that the factor is had by QR, which takes longer.
_CANCELS = 1e-4
# 10 to 25 steps are taken.
_MAX_STEPS = 100
# A step goes at most this part of the way to the boundary.
_BOUNDARY = 0.98
# The target of a step is this power of what the step without one would leave (Mehrotra).
_CENTRING_POWER = 3


@dataclass(frozen=True, eq=False)
class PathEnd:
    """Multipliers (k,), slacks of the margins (k,; 0 for the last rows), and sizes of the groups' vectors (C,)."""

    dual: FloatArray
    slack: FloatArray
    mass: FloatArray


@dataclass(frozen=True, eq=False)
class _Cones:
    """Values in the product of C second-order cones (head, tail) and half-lines; also their steps."""

    head: FloatArray
    tail: FloatArray
    line: FloatArray

    def times(self, other: _Cones) -> _Cones:
        """Jordan product."""
        head = self.head * other.head + np.einsum("cd,cd->c", self.tail, other.tail)
        tail = self.head[:, None] * other.tail + other.head[:, None] * self.tail
        return _Cones(head, tail, self.line * other.line)

    def under(self, other: _Cones) -> _Cones:
        """Return the v with self.times(v) = other."""
        mixed = np.einsum("cd,cd->c", self.tail, other.tail)
        head = (self.head * other.head - mixed) / _det(self)
        tail = (other.tail - head[:, None] * self.tail) / self.head[:, None]
        return _Cones(head, tail, other.line / self.line)

    def plus(self, part: float, step: _Cones) -> _Cones:
        return _Cones(self.head + part * step.head, self.tail + part * step.tail, self.line + part * step.line)

    def is_inside(self) -> bool:
        return bool((_det(self) > 0).all() and (self.line > 0).all())

    def dot(self, other: _Cones) -> float:
        return float(self.head @ other.head + (self.tail * other.tail).sum() + self.line @ other.line)

    def room(self, step: _Cones) -> float:
        """Return the largest part of a step that stays in the cones."""
        falls = step.line < 0
        line = float((-self.line[falls] / step.line[falls]).min(initial=np.inf))
        # The smallest positive root of det(self + part step) = 0.
        square = _det(step)
        mixed = self.head * step.head - np.einsum("cd,cd->c", self.tail, step.tail)
        root = np.sqrt(np.maximum(mixed**2 - square * _det(self), 0.0))
        with np.errstate(divide="ignore", invalid="ignore"):
            part = np.where((square < 0) | (mixed < 0), _det(self) / (root - mixed), np.inf)
        part = np.where(part > 0, part, np.inf)
        return min(line, float(part.min(initial=np.inf)))


def _det(value: _Cones) -> FloatArray:
    size = np.linalg.norm(value.tail, axis=1)
    return np.asarray((value.head - size) * (value.head + size))


@dataclass(frozen=True, eq=False)
class _Scaling:
    """The scaling W = β (2 v vᵀ - J) with W⁻¹ x = W s, on the half-lines the root of x/s."""

    beta: FloatArray
    head: FloatArray
    tail: FloatArray
    line: FloatArray

    @classmethod
    def of(cls, x: _Cones, s: _Cones) -> _Scaling | None:
        """Scale x and s to one point; None where that is on the boundary of a cone but for rounding."""
        size_x, size_s = np.sqrt(_det(x)), np.sqrt(_det(s))
        head = x.head / size_x + s.head / size_s
        tail = x.tail / size_x[:, None] - s.tail / size_s[:, None]
        square = _det(_Cones(head, tail, x.line))
        if not (square > 0).all():
            return None
        norm = np.sqrt(square)
        head, tail = head / norm, tail / norm[:, None]
        root = np.sqrt(2 * (head + 1))
        return cls(np.sqrt(size_x / size_s), (head + 1) / root, tail / root[:, None], np.sqrt(x.line / s.line))

    def apply(self, value: _Cones) -> _Cones:
        """W value."""
        twice = 2 * (self.head * value.head + np.einsum("cd,cd->c", self.tail, value.tail))
        head = self.beta * (twice * self.head - value.head)
        tail = self.beta[:, None] * (twice[:, None] * self.tail + value.tail)
        return _Cones(head, tail, self.line * value.line)

    def undo(self, value: _Cones) -> _Cones:
        """W⁻¹ value: the same with v reflected and β inverted."""
        inverse = _Scaling(1 / self.beta, self.head, -self.tail, 1 / self.line)
        return inverse.apply(value)


def solve(D: FloatArray, n_free: int = 0) -> PathEnd | None:
    """Solve the problem for D of shape (C, k, d), the last `n_free` rows free; None where no solution is reached."""
    n_groups, k, d = D.shape
    if not D[:, : k - n_free].any():
        return None
    unit = float(np.linalg.norm(D, axis=2).max())
    D = D / unit
    right = np.where(np.arange(k) < k - n_free, 1.0, 0.0)
    dual = right * 0.5 / float(np.linalg.norm(np.einsum("ckd,k->cd", D, right), axis=1).max(initial=1e-3))
    x = _Cones(np.ones(n_groups), np.zeros((n_groups, d)), np.ones(k - n_free))
    nearest: PathEnd | None = None
    for _ in range(_MAX_STEPS):
        s = _slack(D, dual, len(x.line))
        lack = right - _margins(D, x)
        gap = x.dot(s)
        if gap <= _LEAST_GAP * float(dual @ right) and np.abs(lack).max() <= _LAST_LACK:
            nearest = _end(x, dual, unit)
            if gap <= _LAST_GAP * float(dual @ right):
                break
        is_inside = x.is_inside() and s.is_inside()  # but for rounding
        step = _mehrotra(D, x, s, lack, gap / (n_groups + k - n_free)) if is_inside else None
        if step is None:
            break
        x, dual = x.plus(step[0], step[1]), dual + step[0] * step[2]
    return nearest


def _end(x: _Cones, dual: FloatArray, unit: float) -> PathEnd:
    return PathEnd(dual / unit, _padded(x.line, len(dual)), np.linalg.norm(x.tail, axis=1) / unit)


def _slack(D: FloatArray, dual: FloatArray, n_lines: int) -> _Cones:
    return _Cones(np.ones(len(D)), -np.einsum("ckd,k->cd", D, dual), dual[:n_lines])


def _margins(D: FloatArray, x: _Cones) -> FloatArray:
    """Compute A x = Σ D_c z_c - r, shape (k,)."""
    return np.asarray(np.einsum("ckd,cd->k", D, x.tail) - _padded(x.line, D.shape[1]))


def _padded(line: FloatArray, k: int) -> FloatArray:
    return np.asarray(np.r_[line, np.zeros(k - len(line))])


def _mehrotra(
    D: FloatArray, x: _Cones, s: _Cones, lack: FloatArray, gap: float
) -> tuple[float, _Cones, FloatArray] | None:
    """Length and direction (x, dual) of one predictor-corrector step."""
    scaling = _Scaling.of(x, s)
    if scaling is None:
        return None
    point = scaling.apply(s)
    factor = _factor(D, scaling)
    identity = _Cones(np.ones(len(D)), np.zeros_like(x.tail), np.ones_like(x.line))
    square = point.times(point)
    wanted = _Cones(-square.head, -square.tail, -square.line)
    step = _newton(D, factor, scaling, point.under(wanted), lack)
    if step is None:
        return None
    reach = min(1.0, x.room(step[0]), s.room(step[1]))
    centring = (1 - reach) ** _CENTRING_POWER
    bent = scaling.undo(step[0]).times(scaling.apply(step[1]))
    wanted = wanted.plus(-1.0, bent).plus(centring * gap, identity)
    step = _newton(D, factor, scaling, point.under(wanted), lack)
    if step is None:
        return None
    length = min(1.0, _BOUNDARY * min(x.room(step[0]), s.room(step[1])))
    return length, step[0], step[2]


def _factor(D: FloatArray, scaling: _Scaling) -> tuple[FloatArray, FloatArray]:
    """Scale the rows of A W, and factor (A W)(A W)ᵀ = Rᵀ R; where samples almost cancel without forming the product."""
    k = D.shape[1]
    # W = β (2 v vᵀ - J) on (0, D_cᵀ l): the head 2 v_0 v·x, the tail x + 2 v (v·x).
    along = np.einsum("ckd,cd->ck", D, scaling.tail)
    heads = 2 * scaling.beta[:, None] * scaling.head[:, None] * along
    tails = scaling.beta[:, None, None] * (D + 2 * along[:, :, None] * scaling.tail[:, None, :])
    wide = np.concatenate((heads.T, tails.transpose(1, 0, 2).reshape(k, -1), np.diag(_padded(scaling.line, k))), axis=1)
    size = np.linalg.norm(wide, axis=1)
    wide /= np.where(size > 0, size, 1.0)[:, None]
    try:
        R = np.linalg.cholesky(wide @ wide.T).T
    except np.linalg.LinAlgError:
        R = np.zeros((k, k))
    if np.diagonal(R).min() < _CANCELS:
        R = np.asarray(np.linalg.qr(wide.T, mode="r"))
    return np.where(size > 0, size, 1.0), R


def _solved(factor: tuple[FloatArray, FloatArray], right: FloatArray) -> FloatArray | None:
    """Solve the normal equations; None where samples depend on each other or they overflow."""
    size, R = factor
    if not (np.isfinite(R).all() and np.isfinite(right).all()):
        return None
    try:
        move = solve_triangular(R, solve_triangular(R, right / size, trans="T")) / size
    except np.linalg.LinAlgError:
        return None
    return move if np.isfinite(move).all() else None


def _newton(
    D: FloatArray, factor: tuple[FloatArray, FloatArray], scaling: _Scaling, wanted: _Cones, lack: FloatArray
) -> tuple[_Cones, _Cones, FloatArray] | None:
    """Solve for the steps (x, s, dual) with W⁻¹ dx + W ds = wanted, A dx = lack, ds = -Aᵀ d(dual)."""
    part = scaling.apply(wanted)
    right = lack - _margins(D, part)
    move = _solved(factor, right)
    if move is None:
        return None
    ds = _Cones(np.zeros(len(D)), -np.einsum("ckd,k->cd", D, move), move[: len(wanted.line)])
    back = scaling.apply(scaling.apply(ds))
    return part.plus(-1.0, back), ds, move
