"""Where one neuron of vanishing size with K outputs goes under constant duals λ_i in R^K: event by event.

Between two events (w, a) follows w' = P Mᵀa, a' = M w with M = Λᵀ S X and P the projection off the boundaries that it
holds, so that each of its singular pairs grows like e^{σt} or falls like e^{-σt}. Whatever ends this, a boundary that
is met or a multiplier that reaches an end of its interval, is the first zero of a linear function of (w, a): steps that
a bound of the second derivative allows never pass one. What is not clear to rounding is left undecided.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .._linear_algebra import least_squares, svd
from .._validation import FloatArray
from ..kinks._boundaries import Boundaries, slopes, span

# Singular values within this part of the largest grow alike.
_EQUAL = 1e-11
# A function below this part of its terms is zero.
_ZERO = 1e-11
# A rate below this part of Σ |λ||x| is none.
_REST = 1e-12
# Events, and steps between two of them, after which a neuron is given up.
_EVENTS, _STEPS = 200, 2000
# Part of what the bounds allow that a step takes.
_PART = 0.9


@dataclass(frozen=True, eq=False)
class End:
    """The end of a neuron.

    Attributes
    ----------
    rate : float or None
        It grows like e^(rate t), 0 if it does not; None where this is not decided.
    sides : ndarray, shape (p,)
        Side of each boundary on which it ends; 0 where it slides.
    """

    rate: float | None
    sides: FloatArray


@dataclass(frozen=True, eq=False)
class _Motion:
    """The linear flow in one row: singular triples of M P, and the functions of (w, a) that stay positive in it."""

    sizes: FloatArray
    left: FloatArray
    right: FloatArray
    of_w: FloatArray
    of_a: FloatArray
    kinds: tuple[tuple[str, int, int], ...]

    @cached_property
    def grows(self) -> FloatArray:
        """The functions along what grows."""
        return np.asarray(self.of_w @ self.right.T + self.of_a @ self.left.T)

    @cached_property
    def falls(self) -> FloatArray:
        """The functions along what falls."""
        return np.asarray(self.of_w @ self.right.T - self.of_a @ self.left.T)

    @cached_property
    def terms(self) -> FloatArray:
        """The size of each function."""
        return np.asarray(np.linalg.norm(self.of_w, axis=1) + np.linalg.norm(self.of_a, axis=1))


@dataclass(frozen=True, eq=False)
class _Parts:
    """A state as its parts along the singular pairs, which grow and fall, and what stands still."""

    up: FloatArray
    down: FloatArray
    w: FloatArray
    a: FloatArray

    @classmethod
    def of(cls, motion: _Motion, w: FloatArray, a: FloatArray) -> _Parts:
        along_w, along_a = motion.right @ w, motion.left @ a
        rest = w - motion.right.T @ along_w, a - motion.left.T @ along_a
        return cls(0.5 * (along_w + along_a), 0.5 * (along_w - along_a), *rest)

    @property
    def size(self) -> float:
        """Sum of the sizes of all parts."""
        return float(sum(np.linalg.norm(part) for part in (self.up, self.down, self.w, self.a)))

    def state(self, motion: _Motion) -> tuple[FloatArray, FloatArray]:
        """Return (w, a)."""
        w, a = motion.right.T @ (self.up + self.down), motion.left.T @ (self.up - self.down)
        return w + self.w, a + self.a

    def later(self, motion: _Motion, time: float) -> _Parts:
        """Return the parts after some time, all of them smaller by one factor where they are large."""
        up, down = self.up * np.exp(motion.sizes * time), self.down * np.exp(-motion.sizes * time)
        factor = 1.0 / max(1.0, float(np.abs(up).max()))
        return _Parts(factor * up, factor * down, factor * self.w, factor * self.a)

    def derivative(self, motion: _Motion, order: int) -> FloatArray:
        """Return a derivative of all functions."""
        up, down = motion.sizes**order * self.up, (-motion.sizes) ** order * self.down
        moving = motion.grows @ up + motion.falls @ down
        return moving if order else moving + motion.of_w @ self.w + motion.of_a @ self.a

    def bound(self, motion: _Motion, order: int) -> FloatArray:
        """Bound the sizes of the terms of a derivative."""
        up, down = motion.sizes**order * np.abs(self.up), motion.sizes**order * np.abs(self.down)
        return np.asarray(np.abs(motion.grows) @ up + np.abs(motion.falls) @ down)

    def allowed(self, motion: _Motion) -> FloatArray:
        """Return for each function a time, within which it has no zero if the time is at most that of one e-folding."""
        g, slope = np.maximum(self.derivative(motion, 0), 0.0), self.derivative(motion, 1)
        bend = math.e * self.bound(motion, 2)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(bend > 0, (slope + np.sqrt(slope**2 + 2 * bend * g)) / bend, np.inf)

    def is_led(self, motion: _Motion) -> bool:
        """Whether every function stays positive for ever.

        It does where the part that grows the fastest outweighs all others, now and so for ever, and where no part that
        grows is negative and what falls cannot outweigh what stands still. Terms that are rounding count as zero.
        """
        top = motion.sizes >= (1 - _EQUAL) * motion.sizes[0]
        up, down = motion.grows * self.up, motion.falls * self.down
        still = motion.of_w @ self.w + motion.of_a @ self.a
        others = np.abs(up[:, ~top]).sum(axis=1) + np.abs(down).sum(axis=1) + np.abs(still)
        leads = up[:, top].sum(axis=1) > others
        is_none = _ZERO * motion.terms[:, None] * np.abs(self.up)
        stays = (up >= -is_none).all(axis=1) & (still + np.minimum(down, 0.0).sum(axis=1) > 0)
        return bool((leads | stays).all())


class Follower:
    """The flow of single neurons under the duals `lam`, shape (n, K)."""

    def __init__(self, found: Boundaries, X: FloatArray, lam: FloatArray, leak: float) -> None:
        self.found, self.X, self.lam, self.leak = found, X, lam, leak
        self.unit = float(np.linalg.norm(lam, axis=1) @ np.linalg.norm(X, axis=1))
        self.edges = np.array([self._edges(k) for k in range(len(found.normal))])  # (p, 2, K)

    def _edges(self, k: int) -> FloatArray:
        ends = [self.found.edges(k, column, self.leak) for column in self.lam.T]
        return np.array(ends).T

    def end(self, w: FloatArray, a: FloatArray, sides: FloatArray) -> End:
        """Follow (w, a) from the sides given to its end."""
        sides = sides.astype(np.float64)
        undecided, left = End(None, sides), -1
        for _ in range(_EVENTS):
            size = float(np.hypot(np.linalg.norm(w), np.linalg.norm(a)))
            w, a = w / size, a / size
            motion = self._motion(sides)
            if motion.sizes.max(initial=0.0) <= _REST * self.unit:
                return End(0.0, sides)
            start = 0.0 if left < 0 else self._after_leaving(motion, motion.kinds.index(("meets", left, 0)), w, a)
            ended = self._until_event(motion, w, a, start)
            if ended is None:
                return undecided
            w, a, first = ended
            if first < 0:
                return End(float(motion.sizes[0]), sides)
            changed = self._after(motion.kinds[first], sides, w, a)
            if changed is None:
                return undecided
            sides = changed
            k = motion.kinds[first][1]
            left = k if motion.kinds[first][0] == "leaves" else -1
            if motion.kinds[first][0] == "meets":  # it is on the boundary, exactly
                normal = self.found.normal[k]
                w = w - (normal @ w) * normal
        return undecided

    def only_shrinks(self, w: FloatArray, a: FloatArray, sides: FloatArray) -> bool:
        """Whether (w, a) has no part that grows but for rounding, and shrinks for ever on the sides it is on.

        So does a balanced neuron that sliding leaves only a ray, on which it points against its gradient.
        """
        motion = self._motion(sides)
        parts = _Parts.of(motion, w, a)
        fallen = motion.sizes[np.abs(parts.down) > _ZERO * parts.size]
        if np.abs(parts.up).max(initial=0.0) > _ZERO * parts.size:
            return False
        if len(fallen) and np.ptp(fallen) > _EQUAL * motion.sizes[0]:
            return False
        still = motion.of_w @ parts.w + motion.of_a @ parts.a
        least = -_ZERO * motion.terms * parts.size
        return bool((still >= least).all() and (still + motion.falls @ parts.down >= least).all())

    def _motion(self, sides: FloatArray) -> _Motion:
        normal, held = self.found.normal, np.flatnonzero(sides == 0)
        M = self._map(sides)
        base = span(normal[held])
        projected = M - (M @ base.T) @ base
        left, sizes, right = svd(projected, full_matrices=False)
        moves = sizes > _ZERO * sizes[0]
        left, sizes, right = left[:, moves], sizes[moves], right[moves]
        free = np.flatnonzero(sides)
        of_w = [sides[k] * normal[k] for k in free]
        of_a = [np.zeros(self.lam.shape[1])] * len(free)
        kinds = [("meets", int(k), 0) for k in free]
        if len(held):
            needs = -least_squares(normal[held].T, M.T)  # multipliers are needs @ a
            for need, k in zip(needs, held, strict=True):
                lower, upper = self.edges[k]
                for room, to in ((lower - need, -1), (need - upper, 1)):
                    if np.linalg.norm(room) > _REST * self.unit:  # else it stays at the end of its interval for ever
                        of_a.append(room)
                        of_w.append(np.zeros(len(self.X[0])))
                        kinds.append(("leaves", int(k), to))
        return _Motion(sizes, left.T, right, np.array(of_w), np.array(of_a), tuple(kinds))

    def _map(self, sides: FloatArray) -> FloatArray:
        slope = slopes(self.found.signs(sides), self.leak)
        return np.asarray(self.lam.T @ (slope[:, None] * self.X))

    def _after_leaving(self, motion: _Motion, own: int, w: FloatArray, a: FloatArray) -> float:
        """Return a time in which a function that is zero with its rate grows, as its second derivative says; or nan."""
        parts = _Parts.of(motion, w, a)
        bend = parts.derivative(motion, 2)[own]
        third = math.e * float(parts.bound(motion, 3)[own])
        if bend <= _ZERO * third / float(motion.sizes[0]):
            return np.nan
        step = min(_PART * 3 * float(bend) / third, 1.0 / float(motion.sizes[0]))
        others = np.arange(len(motion.kinds)) != own
        return min(step, _PART * float(parts.allowed(motion)[others].min(initial=np.inf)))

    def _until_event(
        self, motion: _Motion, w: FloatArray, a: FloatArray, start: float
    ) -> tuple[FloatArray, FloatArray, int] | None:
        """Return the state at the first zero of a function, and its number, -1 if there is none; None if unclear.

        In the time `start` nothing happens.
        """
        if not start >= 0:
            return None
        parts = _Parts.of(motion, w, a).later(motion, start)
        sizes = motion.sizes
        for _ in range(_STEPS):
            g, slope = parts.derivative(motion, 0), parts.derivative(motion, 1)
            noise = _ZERO * motion.terms * parts.size
            near = np.flatnonzero((g <= noise) & (slope <= 0))
            if len(near):
                is_clear = len(near) == 1 and slope[near[0]] < -noise[near[0]] * sizes[0]
                return (*parts.state(motion), int(near[0])) if is_clear else None
            if parts.is_led(motion):
                return *parts.state(motion), -1
            step = min(_PART * float(parts.allowed(motion).min(initial=np.inf)), 1.0 / float(sizes[0]))
            if not step > 0:
                return None
            parts = parts.later(motion, step)
        return None

    def _after(self, kind: tuple[str, int, int], sides: FloatArray, w: FloatArray, a: FloatArray) -> FloatArray | None:
        """Return the sides after an event; None where the rates do not say them clearly."""
        what, k, to = kind
        changed = sides.copy()
        if what == "leaves":
            changed[k] = to
            return changed if to * self._rate(changed, k, a) >= -self._noise(a) else None
        came_from = sides[k]
        changed[k] = -came_from
        beyond = -came_from * self._rate(changed, k, a)
        is_clear = abs(beyond) > self._noise(a)
        if not is_clear and self._moves_off(changed, k):
            return None
        if beyond < 0 or not is_clear:
            changed[k] = 0.0
        return changed

    def _rate(self, sides: FloatArray, k: int, a: FloatArray) -> float:
        """Rate of w along the normal of boundary k, off the boundaries that are held."""
        base = span(self.found.normal[np.flatnonzero(sides == 0)])
        pull = self._map(sides).T @ a
        return float(self.found.normal[k] @ (pull - base.T @ (base @ pull)))

    def _moves_off(self, sides: FloatArray, k: int) -> bool:
        """Whether a neuron on these sides can move along the normal of boundary k at all; else it stays on it."""
        base = span(self.found.normal[np.flatnonzero(sides == 0)])
        normal = self.found.normal[k]
        return bool(np.linalg.norm(self._map(sides) @ (normal - base.T @ (base @ normal))) > _ZERO * self.unit)

    def _noise(self, a: FloatArray) -> float:
        return _ZERO * self.unit * float(np.linalg.norm(a))
