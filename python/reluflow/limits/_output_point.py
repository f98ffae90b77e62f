"""What kind of point a critical point of K outputs is, as far as convexity of the loss in the outputs proves it.

Let Λ = -∂L/∂F at the point, and H(w) = Σ_i λ_i φ(w·x_i) in R^K. As in `_point`, for every network θ'

    L(θ') + γ/2 |θ'|² - (the same at θ) >= Σ_j [ γ/2 (|w'_j|² + |a'_j|²) - a'_j·H(w'_j) ].

- |H(u)| <= γ on the unit ball: the point is a global minimum among networks of any width.
- Near a neuron that stands clear of its other boundaries, and on attracting ones alone with multipliers inside their
  intervals, leaving these boundaries costs more than anything else gains, and along them H is linear, w -> M w. If its
  largest singular value is at most γ, the terms of the sum are not negative: a local minimum.
- A neuron at zero can take (w, a) = ε (u, H(u)/|H(u)|), which changes L + γ/2 |θ|² by ε² (γ - |H(u)|) + O(ε⁴).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from .._linear_algebra import least_squares, svd
from .._validation import FloatArray, IntArray, PatternArray, freeze
from ..kinks._boundaries import Boundaries, off, slopes, span
from ..networks import Network
from ._checks import _within, unit_rows
from ._point import FALL_TOL, OFF_TOL, ZERO_TOL, Escape

# Steps u <- gradient of |H| at u, after which it does not grow further.
_CLIMBS = 30


@dataclass(frozen=True, eq=False)
class OutputPoint:
    """A critical point: its kind, and what its certificate rests on.

    Attributes
    ----------
    kind : str
    gradient : float
        Norm of the least subgradient of the whole objective.
    excess : float
        How far held multipliers are outside their intervals.
    violation : float
        The largest pre-activation that contradicts the pattern, in units of |w_j||x_i|.
    pull : ndarray, shape (m, d + K)
        What the loss does to θ, with the held multipliers.
    escape : Escape or None
    note : str
    """

    kind: str
    gradient: float
    excess: float
    violation: float
    pull: FloatArray
    escape: Escape | None = None
    note: str = ""

    def undecided(self) -> OutputPoint:
        """Return the same with nothing decided."""
        return replace(self, kind="not decided", escape=None, note="")

    def leaving(self, neuron: int, w: FloatArray, a: FloatArray, count: int) -> OutputPoint:
        """Return the same as a saddle, which the neuron leaves, alone or as the first of several."""
        for array in (w, a):
            freeze(array)
        note = (
            f"{count} neurons leave the saddle together, and of these the escape has the fastest" if count > 1 else ""
        )
        return replace(self, kind="saddle", escape=Escape(neuron, w, a, 2), note=note)


def output_point(found: Boundaries, X: FloatArray, net: Network, lam: FloatArray, decay: float) -> OutputPoint:
    """Tell the kind of a critical point from its multipliers λ; whether it is one, its numbers say.

    `net` carries its pattern, `lam` has the shape (n, K), `decay` is γ beside the summed loss.
    """
    assert net.pattern is not None  # for the type checker: the networks of limits have one
    unit = float(np.linalg.norm(lam, axis=1) @ np.linalg.norm(X, axis=1))
    W, a, strict = np.zeros_like(net.W), np.zeros_like(net.a), True
    excess = 0.0
    for j in range(net.width):
        own = _pull(found, X, net, lam @ net.a[j], net.pattern[j])
        W[j], a[j] = own.w, lam.T @ np.maximum(X @ net.W[j], net.leak * (X @ net.W[j]))
        if net.W[j].any() or net.a[j].any():
            excess = max(excess, own.excess)
            strict = strict and own.slack > ZERO_TOL * unit
    pull = np.hstack((W, a))
    gradient = float(np.linalg.norm(pull - decay * net.theta))
    point = OutputPoint("not decided", gradient, excess, _violation(X, net), pull)
    if not unit > 0 or bound_of_response(found, X, lam, net.leak) <= decay * (1 + ZERO_TOL) + ZERO_TOL * unit * (
        decay == 0
    ):
        return replace(point, kind="global")
    resting = np.flatnonzero(~net.W.any(axis=1))
    if len(resting):
        escape = _escape(found, X, net, lam / unit, resting, decay / unit)
        return point if escape is None else replace(point, kind="saddle", escape=escape)
    if strict and is_off(X, net) and _is_bounded(found, X, net, lam, decay, unit):
        return replace(point, kind="local minimum")
    return point


@dataclass(frozen=True)
class _Pull:
    w: FloatArray
    excess: float
    slack: float  # how far inside their intervals the multipliers are; negative where a boundary repels


def _pull(found: Boundaries, X: FloatArray, net: Network, duals: FloatArray, row: PatternArray) -> _Pull:
    """Return Σ μ_i s_i x_i for the duals μ of one neuron, its held boundaries at what comes nearest to balance."""
    drive = (slopes(row, net.leak) * duals) @ X
    held = np.unique(found.boundary[row == 0])
    if not len(held):
        return _Pull(drive, 0.0, np.inf)
    normals = found.normal[held]
    ends = np.array([found.edges(int(k), duals, net.leak) for k in held])
    low, high = np.sort(ends, axis=1).T
    need = least_squares(normals.T, -drive)
    if len(held) > len(span(normals)):
        need = _within(normals, drive, np.column_stack((low, high)), need)
    given = np.clip(need, low, high)
    repels = (ends[:, 1] > ends[:, 0]).any()
    slack = -np.inf if repels else float(np.minimum(need - low, high - need).min())
    return _Pull(drive + given @ normals, float(np.abs(need - given).max()), slack)


def _violation(X: FloatArray, net: Network) -> float:
    live = net.W.any(axis=1)
    seen = X.any(axis=1)  # x = 0 has no boundary
    Z = unit_rows(net.W[live]) @ (X[seen] / np.linalg.norm(X[seen], axis=1, keepdims=True)).T
    assert net.pattern is not None
    signs = net.pattern[live][:, seen]
    return max(0.0, float(np.where(signs == 0, np.abs(Z), -signs * Z).max(initial=0.0)))


def is_off(X: FloatArray, net: Network) -> bool:
    """Whether every neuron stands clear of the boundaries that its pattern does not hold."""
    sizes = np.outer(np.linalg.norm(net.W, axis=1), np.linalg.norm(X, axis=1))
    assert net.pattern is not None
    return bool((np.abs(net.W @ X.T) > OFF_TOL * sizes)[(net.pattern != 0) & X.any(axis=1)].all())


def _is_bounded(found: Boundaries, X: FloatArray, net: Network, lam: FloatArray, decay: float, unit: float) -> bool:
    """Whether |M| <= γ for the linear map of every neuron along the boundaries that it holds."""
    assert net.pattern is not None
    for row in net.pattern:
        held = span(found.normal[np.unique(found.boundary[row == 0])])
        M = off(lam.T @ (slopes(row, net.leak)[:, None] * X), held)
        if np.linalg.norm(M, 2) > decay + ZERO_TOL * unit:
            return False
    return True


def bound_of_response(found: Boundaries, X: FloatArray, lam: FloatArray, leak: float) -> float:
    """Bound |H(u)| over the unit vectors u; zero if and only if H is."""
    members = [found.members(k) for k in range(len(found.normal))]
    jumps = [np.linalg.norm(lam[rows].T @ np.abs(found.reach[rows])) for rows in members]
    return 0.5 * (1 + leak) * float(np.linalg.norm(lam.T @ X, 2)) + 0.5 * (1 - leak) * float(np.sum(jumps))


def climb_response(X: FloatArray, lam: FloatArray, leak: float, starts: FloatArray) -> tuple[float, FloatArray]:
    """Return the largest |H(u)| that climbs from `starts` reach, and u; |H| never falls on the way."""
    best, at = 0.0, np.zeros(X.shape[1])
    for start in starts:
        w = start
        for _ in range(_CLIMBS):
            size = float(np.linalg.norm(w))
            if size == 0:
                break
            w = w / size
            Z = X @ w
            H = lam.T @ np.maximum(Z, leak * Z)
            value = float(np.linalg.norm(H))
            if value > best:
                best, at = value, w
            w = (np.where(Z > 0, 1.0, leak) * (lam @ H)) @ X
    return best, at


def starts_of(found: Boundaries, X: FloatArray, lam: FloatArray) -> FloatArray:
    """Directions to climb from: the normals, and the singular vectors of Λᵀ X."""
    right = svd(lam.T @ X, full_matrices=False)[2]
    return np.vstack((found.normal, -found.normal, right, -right))


def _escape(
    found: Boundaries, X: FloatArray, net: Network, lam: FloatArray, rows: IntArray, least: float
) -> Escape | None:
    """Find the neuron with w = 0 that leaves, along the direction in which the objective falls."""
    starts = starts_of(found, X, lam)
    for j in rows:
        if net.a[j].any():
            toward = lam @ net.a[j] / np.linalg.norm(net.a[j])
            value, w = climb_response(X, toward[:, None], net.leak, starts)
            falls = float(toward @ np.maximum(X @ w, net.leak * (X @ w)))
            if value > FALL_TOL and falls > 0:
                freeze(w)
                return Escape(int(j), w, np.zeros(net.n_outputs), 1)
            continue
        value, w = climb_response(X, lam, net.leak, starts)
        if value > least + FALL_TOL:
            a = lam.T @ np.maximum(X @ w, net.leak * (X @ w)) / value
            for array in (w, a):
                freeze(array)
            return Escape(int(j), w, a, 2)
    return None
