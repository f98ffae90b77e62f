"""A stretch of the slow drift without events: its groups and support, what ends it, and what comes behind that."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from .._linear_algebra import least_squares
from .._validation import FloatArray, IntArray
from ..datasets import Dataset
from ..kinks._boundaries import off
from ..limits._checks import clipped_pulls
from ..limits._groups import Groups
from ..networks import Network
from ._drift_equations import Factors, packed, unpacked

# Groups with less of all mass than this move no margin; they follow the others.
FAINT = 1e-8
# A group that falls below this part of all mass is followed no further as one of the others.
_VANISHES = 1e-11
# Rates across a boundary are known to so many ulp of what acts on a group.
_RATE_ULPS = 16.0
# Groups with a smaller pull than this, of 1, stand.
STANDS = 1e-9
# What an event brings below zero may be below by this: rounding.
ROUNDING = 1e-10


@dataclass(frozen=True, eq=False)
class State:
    """A time s, the y of the heavy groups, and the logarithms of the masses of the faint ones as parts of all."""

    s: float
    y: FloatArray
    log_faint: FloatArray


@dataclass(frozen=True, eq=False)
class Room:
    """What events bring below zero.

    Attributes
    ----------
    above : ndarray, shape (n,)
        Margins less the least one, as parts of that; of the support λ, as parts of its sum.
    sides : ndarray, shape (C, n)
        Of all groups.
    held : ndarray, shape (C,)
        The least of the multipliers of boundaries that a group holds, to the ends of their intervals.
    of_others : float
        The least of all else.
    """

    above: FloatArray
    sides: FloatArray
    held: FloatArray
    of_others: float

    @property
    def least(self) -> float:
        """The least of all."""
        return min(*(float(part.min(initial=1.0)) for part in (self.above, self.sides, self.held)), self.of_others)


@dataclass(frozen=True, eq=False)
class Piece:
    """What stays the same up to the next event: groups, the heavy ones of them, the support.

    Attributes
    ----------
    data : Dataset
    net : Network
    groups : Groups
    heavy, faint : ndarray of int
        Numbers of groups.
    support : ndarray of int
        Samples.
    D : ndarray, shape (H, k, d)
    """

    data: Dataset
    net: Network
    groups: Groups
    heavy: IntArray
    faint: IntArray
    support: IntArray
    D: FloatArray

    def pulls(self, factors: Factors) -> FloatArray:
        """Return the pulls of all groups, shape (C, d)."""
        pulls = self.groups.pulls(self._signed(factors.duals()))
        pulls[self.heavy] = factors.pulls()
        return pulls

    def _signed(self, dual: FloatArray) -> FloatArray:
        lam = np.zeros(self.data.n)
        lam[self.support] = self.data.y[self.support] * dual
        return lam

    def room(self, state: State) -> Room:
        """Return what events bring below zero."""
        factors = Factors.of(self.D, state.y)
        dual, pulls = factors.duals(), self.pulls(factors)
        share = dual / np.abs(dual).sum() if factors.is_unique else np.full(len(dual), -1.0)
        v, log_mass = unpacked(state.y, len(self.heavy))
        f = np.einsum("c,cn,cn->n", np.exp(log_mass), self.groups.slope[self.heavy], v @ self.data.X.T)
        above = self.data.y * f / factors.margin - 1
        above[self.data.counts == 0] = 1.0
        above[self.support] = share
        sides = self._sides(v, pulls)
        excess = clipped_pulls(self.groups, self._signed(share), self.net.leak).excess
        others = log_mass - np.log(_VANISHES), np.log(FAINT) - state.log_faint
        of_others = min(float(part.min(initial=1.0)) for part in others)
        return Room(above, sides, -excess, of_others)

    def has_faint_behind(self, room: Room) -> bool:
        """Whether a faint group is not where its pull has jumped to."""
        return float(room.sides[self.faint].min(initial=1.0)) < -ROUNDING

    def _sides(self, v: FloatArray, pulls: FloatArray) -> FloatArray:
        """Return how far all groups are on their sides of the boundaries that they do not hold, (C, n); 1 elsewhere."""
        directions = pulls.copy()
        directions[self.heavy] = v
        size, norms = np.linalg.norm(directions, axis=1), np.linalg.norm(self.data.X, axis=1)
        Z = (directions / np.maximum(size, STANDS)[:, None]) @ (self.data.X / np.where(norms > 0, norms, 1)[:, None]).T
        signs = self.groups.sign[:, None] * self.groups.pattern
        counts = (size > STANDS)[:, None] & (signs != 0) & (norms > 0)
        return np.asarray(np.where(counts, signs * Z, 1.0))

    def changed(self, state: State) -> tuple[Piece, State] | None:
        """Return the drift behind an event, and the state there; None if it is left to the integrator.

        A sample joins or leaves, or a group meets or leaves a boundary.
        """
        room = self.room(state)
        if room.of_others < -ROUNDING:
            return None
        i, sides, held = int(np.argmin(room.above)), float(room.sides.min(initial=1.0)), float(room.held.min())
        if room.above[i] <= min(sides, held):
            return self._with_support(np.setxor1d(self.support, [i]), state)
        if sides <= held:
            group, i = divmod(int(np.argmin(room.sides)), self.data.n)
            return self._met(state, group, int(self.groups.boundaries.boundary[i]))
        return self._released(state, int(np.argmin(room.held)))

    def _with_support(self, support: IntArray, state: State) -> tuple[Piece, State] | None:
        if not 0 < len(support) <= len(self.heavy) * (self.data.d + 1):
            return None
        return replace(self, support=support, D=gradients(self.data, self.groups, self.heavy, support)), state

    def _placed(self, group: int, boundary: int, side: int, state: State) -> tuple[Piece, State] | None:
        """Put a group on a side of a boundary, or onto it; samples whose multipliers that makes negative go."""
        placed = self.groups.placed(group, boundary, side, self.net.leak)
        drift = replace(self, groups=placed, D=gradients(self.data, placed, self.heavy, self.support))
        if side == 0 and group in self.heavy:
            v, log_mass = unpacked(state.y, len(self.heavy))
            on = np.where((self.heavy == group)[:, None], off(v, placed.bases[group]), v)
            state = replace(state, y=packed(on, log_mass))
        while True:
            factors = Factors.of(drift.D, state.y)
            if not factors.is_unique:
                return None
            dual = factors.duals()
            if dual.min() >= -ROUNDING * np.abs(dual).sum():
                return drift, state
            fewer = drift._with_support(np.delete(drift.support, np.argmin(dual)), state)
            if fewer is None:
                return None
            drift = fewer[0]

    def _met(self, state: State, group: int, boundary: int) -> tuple[Piece, State] | None:
        """Let a group cross a boundary that it has met, or stay on it if it would come back."""
        rows = self.groups.boundaries.members(boundary)
        side = -int(self.groups.pattern[group, rows[0]] * np.sign(self.groups.boundaries.reach[rows[0]]))
        crossed = self._placed(group, boundary, side, state)
        if crossed is None or not np.isin(rows, self.support).any():
            return crossed
        factors = Factors.of(crossed[0].D, state.y)
        rate = crossed[0].pulls(factors)[group]
        if group in self.heavy:
            v = unpacked(state.y, len(self.heavy))[0][int(np.flatnonzero(self.heavy == group)[0])]
            rate = rate - v * (rate @ v)
        onward = side * self.groups.sign[group] * float(rate @ self.groups.boundaries.normal[boundary])
        if abs(onward) <= _RATE_ULPS * np.finfo(np.float64).eps * np.abs(factors.duals() * factors.size).sum():
            return None
        if onward < 0:
            return self._placed(group, boundary, 0, state)
        return crossed if group in self.heavy else None  # the pull of a faint one jumps

    def _released(self, state: State, group: int) -> tuple[Piece, State] | None:
        """Let a group leave the boundary whose multiplier has left its interval, to the side where it has."""
        lam = self._signed(Factors.of(self.D, state.y).duals())
        held = self.groups.held_boundaries(group)
        normals = self.groups.boundaries.normal[held]
        if len(held) > len(self.groups.bases[group]):
            return None
        need = least_squares(normals.T, -((self.groups.slope[group] * lam) @ self.data.X))
        lower, upper = np.array([self.groups.boundaries.edges(int(k), lam, self.net.leak) for k in held]).T
        above, below = self.groups.sign[group] * (upper - need), self.groups.sign[group] * (need - lower)
        k = int(np.argmax(np.maximum(above, below)))
        return self._placed(group, int(held[k]), 1 if above[k] > below[k] else -1, state)


def gradients(data: Dataset, sorted_: Groups, heavy: IntArray, support: IntArray) -> FloatArray:
    """Return D, shape (H, k, d)."""
    return np.array([data.y[support, None] * sorted_.map(int(c), support) for c in heavy])
