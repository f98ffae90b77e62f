"""What kind of critical point a finite limit is, as far as convexity of the loss in the outputs proves it.

Let λ = -∂L/∂f at the point, and h(w) = Σ_i λ_i φ(w·x_i). L is convex in the outputs, so that for every network θ'

    L(θ') >= L(θ) - Σ_i λ_i (f'(x_i) - f(x_i)) = L(θ) - Σ_j a'_j h(w'_j) + Σ_j a_j h(w_j),

and the last sum is zero at a critical point. Hence:

- h = 0 for all w: the point is a global minimum among networks of any width. With one normal n_k for each boundary,
  h(w) = ½(1 + leak) w·Σ λ_i x_i + ½(1 - leak) Σ_k |n_k·w| Σ_{i on k} λ_i|x_i|, and the |n_k·w| are independent of each
  other and of what is linear, so that h = 0 means that each of these sums is zero.
- a'_j h(w'_j) <= 0 for all (w'_j, a'_j) near (w_j, a_j), for each neuron j: a local minimum. For w_j and a_j other than
  zero this holds where the neuron stands clear of its other boundaries, all those that it stands on attract, and its
  least subgradient is zero.
- A neuron at zero can take (w, a) = ε (u, ±1), which changes L by ∓ε² h(u) + O(ε⁴): with h(u) other than zero the point
  is a saddle. A neuron with w = 0 and a other than zero has the slope -a h(u).

With weight decay γ the same holds of L + γ/2 |θ|² with γ/2 (|w|² + a²) - a h(w) in place of -a h(w). It is zero at a
critical point and nowhere negative if |h| <= γ on the unit ball, so that the point is a global minimum; near a live
neuron that stands clear of its other boundaries and on attracting ones alone it is not negative, as |g| = γ there; and
a neuron at zero leaves along u if |h(u)| > γ.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._linear_algebra import least_squares
from .._validation import FloatArray, IntArray, PatternArray, freeze
from ..kinks._boundaries import slopes
from ..networks import Network
from ._groups import Groups

# A pull counts as zero below this part of Σ |λ_i||x_i|: the pulls of a certified point are smaller.
ZERO_TOL = 1e-9
# A direction in which the loss falls must do so by this part at least: what lies between is left undecided.
FALL_TOL = 1e-6
# A pre-activation below this part of |w_j||x_i| may be on its boundary in the limit, whatever its sign was on the way.
OFF_TOL = 1e-9
# Steps w <- gradient of h at w, after which h does not grow further; some 5 are taken.
_CLIMBS = 20
# Entries of the table of pre-activations of those that climb at once.
_TABLE = 1_000_000


@dataclass(frozen=True, eq=False)
class Escape:
    """A direction in which one neuron leaves a saddle, and the loss falls.

    Attributes
    ----------
    neuron : int
    w : ndarray, shape (d,)
        Unit direction of its input weights.
    a : float, or ndarray, shape (K,)
        Direction of its output weight: ±1 for a neuron at zero, 0 where the output weight stays; with K outputs a
        vector.
    order : {1, 2}
        The loss falls like this power of the distance.
    """

    neuron: int
    w: FloatArray
    a: float | FloatArray
    order: int


@dataclass(frozen=True, eq=False)
class Point:
    """The kind of a critical point, and the escape from a saddle."""

    kind: str
    escape: Escape | None = None


def point_of(groups: Groups, net: Network, lam: FloatArray) -> Point:
    """Tell the kind of a critical point from its multipliers λ; its residuals have been certified before.

    `net` carries the pattern of the limit.
    """
    unit = float(np.abs(lam) @ np.linalg.norm(groups.X, axis=1))
    if not unit > 0 or _bound_of_h(groups, lam, net.leak) <= ZERO_TOL * unit:
        return Point("global")
    zero_w = ~net.W.any(axis=1)
    if zero_w.any():
        escape = _escape_of_zero(groups, net, lam / unit, np.flatnonzero(zero_w))
        return Point("not decided") if escape is None else Point("saddle", escape)
    if (net.a == 0).any() or net.pattern is None or not _is_off(groups.X, net.W, net.pattern):
        return Point("not decided")
    is_minimum = _all_attract(groups, net, net.pattern, lam, ZERO_TOL * unit)
    return Point("local minimum" if is_minimum else "not decided")


def point_with_decay(groups: Groups, net: Network, lam: FloatArray, decay: float) -> Point:
    """Tell the kind of a critical point of L + γ/2 |θ|², γ = `decay`; its residuals have been certified before."""
    if _bound_of_h(groups, lam, net.leak) <= decay * (1 + ZERO_TOL):
        return Point("global")
    unit = float(np.abs(lam) @ np.linalg.norm(groups.X, axis=1))
    zero = ~net.W.any(axis=1)
    if zero.any():
        escape = _escape_of_zero(groups, net, lam / unit, np.flatnonzero(zero), decay / unit)
        return Point("not decided") if escape is None else Point("saddle", escape)
    if net.pattern is None or not _is_off(groups.X, net.W, net.pattern) or _any_repels(groups, net, lam, unit):
        return Point("not decided")
    return Point("local minimum")


def _any_repels(groups: Groups, net: Network, lam: FloatArray, unit: float) -> bool:
    """Whether a neuron stands on a boundary that does not attract it."""
    found, pattern = groups.boundaries, net.pattern
    assert pattern is not None
    edges = np.column_stack(found.all_edges(lam, net.leak))
    held = [np.unique(found.boundary[row == 0]) for row in pattern]
    ranges = [np.sign(a) * (edges[on, 1] - edges[on, 0]) for a, on in zip(net.a, held, strict=True)]
    return any((one > ZERO_TOL * unit).any() for one in ranges)


def _bound_of_h(groups: Groups, lam: FloatArray, leak: float) -> float:
    """Bound |h(w)| over the unit vectors w; zero if and only if h is."""
    jumps = np.bincount(groups.boundaries.boundary, weights=lam * np.abs(groups.boundaries.reach))
    return 0.5 * (1 + leak) * float(np.linalg.norm(lam @ groups.X)) + 0.5 * (1 - leak) * float(np.abs(jumps).sum())


def _escape_of_zero(groups: Groups, net: Network, lam: FloatArray, rows: IntArray, least: float = 0.0) -> Escape | None:
    """Find the largest |h(u)| that climbs from the samples reach, for a neuron with w = 0; it must exceed `least`."""
    X, leak = groups.X, net.leak
    starts = np.vstack((groups.boundaries.normal, -groups.boundaries.normal, lam @ X, -(lam @ X)))
    best = {sign: _highest(X, lam, leak, starts, sign) for sign in (1.0, -1.0)}
    for j in rows:
        sign = float(np.sign(net.a[j])) or max(best, key=lambda s: best[s][0])
        value, w = best[sign]
        if value > least + FALL_TOL:
            freeze(w)
            return Escape(int(j), w, 0.0 if net.a[j] else sign, 1 if net.a[j] else 2)
    return None


def _highest(X: FloatArray, lam: FloatArray, leak: float, starts: FloatArray, sign: float) -> tuple[float, FloatArray]:
    """Climb on `sign` h over the unit vectors from all starts; give the largest value above zero and where it is."""
    highest, top = 0.0, X[0]
    at_once = max(1, _TABLE // len(X))
    for first in range(0, len(starts), at_once):
        W = starts[first : first + at_once]
        for _ in range(_CLIMBS):
            norms = np.linalg.norm(W, axis=1)
            W = W[norms > 0] / norms[norms > 0, None]
            if not len(W):
                break
            Z = W @ X.T
            values = sign * (np.maximum(Z, leak * Z) @ lam)
            k = int(values.argmax())
            if values[k] > highest:
                highest, top = float(values[k]), np.array(W[k])
            W = sign * (np.where(Z > 0, 1.0, leak) * lam) @ X
    return highest, top


def _is_off(X: FloatArray, W: FloatArray, pattern: PatternArray) -> bool:
    """Whether every neuron stands clear of the boundaries that its pattern does not hold."""
    sizes = np.outer(np.linalg.norm(W, axis=1), np.linalg.norm(X, axis=1))
    return bool((np.abs(W @ X.T) > OFF_TOL * sizes)[pattern != 0].all())


def _all_attract(groups: Groups, net: Network, pattern: PatternArray, lam: FloatArray, zero: float) -> bool:
    """Whether a_j h(w) <= 0 near every w_j: no boundary under it repels, and multipliers balance the pull on it."""
    found = groups.boundaries
    edges = np.column_stack(found.all_edges(lam, net.leak))
    drives = (slopes(pattern, net.leak) * lam) @ groups.X
    for j, row in enumerate(pattern):
        held = np.unique(found.boundary[row == 0])
        rest = drives[j]
        if len(held):
            if (np.sign(net.a[j]) * (edges[held, 1] - edges[held, 0]) > zero).any():
                return False
            need = least_squares(found.normal[held].T, -rest)
            low, high = np.sort(edges[held], axis=1).T
            rest = rest + np.clip(need, low, high) @ found.normal[held]
        if np.linalg.norm(rest) > zero:
            return False
    return True
