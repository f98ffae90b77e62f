"""The slow drift of the direction far out: the flow of θ/|θ| in s = log |θ|, one vector for each group of neurons.

Where log t is beyond e^600 the margins of the support samples are one number to more digits than doubles have, and the
neurons of a group (of one sign and pattern) are parallel. Samples that almost depend on each other, as in raw units,
then leave motions with rates of 10⁻⁴ to 10⁻⁷ beside those of rate 1, to which the steps of the integrator are tied. An
implicit method takes steps as long as the slow ones let it, up to the first event, which is left to the integrator
(docs/design/drift.md).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from .._validation import FloatArray, IntArray, PatternArray
from ..datasets import Dataset
from ..kinks._boundaries import slopes
from ..limits._checks import clipped_pulls
from ..limits._groups import Groups, groups
from ..networks import Network
from ._drift_equations import Factors, packed, unpacked

# Groups with less of all mass than this move no margin; they follow the others.
_FAINT = 1e-8
# A group that falls below this part of all mass is followed no further as one of the others.
_VANISHES = 1e-11
# Neurons of a group that differ by more than this have not aligned yet; faint ones may lag behind their pull by more.
_ALIGNED, _FOLLOWS = 1e-8, 1e-2
# The margins of the support, and the weights that the state carries, are those of the drift to these parts.
_SAME_MARGIN, _SAME_WEIGHTS = 1e-6, 1e-3
# Samples with less of the largest weight are outside the support.
_LEAST_WEIGHT = 1e-30
# Groups with a smaller pull than this, of 1, stand.
_STANDS = 1e-9
# Tolerances of the implicit steps: those of a run to its limit.
_RTOL, _ATOL = 1e-6, 1e-8
_MOST_STEPS = 300
# Systems of more unknowns cost more than legs do.
_MOST_UNKNOWNS = 400
# Events are looked for at so many places of a step, and one is known to this in log |θ|.
_LOOKS, _KNOWN = 8, 0.25
# What an event brings below zero may be below by this: rounding.
_ROUNDING = 1e-10
# A drift ends so long before an event that is left to the integrator.
_BEFORE = 5.0
# Simple events are passed here. So many at one place are left to the integrator; after so many of all it shows, by its
# next leg, how far the run has come.
_NO_PROGRESS, _MOST_TRIES, _MOST_EVENTS = 1.0, 5, 20
# The margins of the support are one number again, to rounding, after so many corrections.
_LEVELLINGS = 3
# A drift over less than this of log |θ| is not worth it.
_SHORTEST = 20.0
# Beyond this log |θ| no limit is sought.
_LARGEST = 1e10


@dataclass(frozen=True, eq=False)
class Drifted:
    """Where a drift has come to.

    Attributes
    ----------
    length : float
        By how much log |θ| has grown.
    W, a : ndarray, shapes (m, d), (m,)
        As a part of |θ|, but for the next.
    log_parts : ndarray, shape (m,)
        Logarithms of what the sizes of neurons outside the heavy groups have become, as parts of |θ|, of what W and a
        say of them.
    pattern : ndarray, shape (m, n), int8
    weights : ndarray, shape (n,)
        Shares of the samples in Σ |λ_i|.
    events, steps : int
    rests : bool
        No event ends it.
    """

    length: float
    W: FloatArray
    a: FloatArray
    log_parts: FloatArray
    pattern: PatternArray
    weights: FloatArray
    events: int
    steps: int
    rests: bool


def drift(data: Dataset, net: Network, weights: FloatArray, log_sizes: FloatArray) -> Drifted | None:
    """Follow the drift of a state with its pattern to the first event; None where that is near, or it does not drift.

    `weights` are those of the samples. `log_sizes` are the neurons' own, of which `net` may say too much where they are
    far below those of the others.
    """
    try:
        with np.errstate(over="raise", divide="raise", invalid="raise"):
            start = _Drift.of(data, net, weights, log_sizes)
            return None if start is None else start.run()
    except (FloatingPointError, ValueError):  # an implicit step tried a state far off
        return None


@dataclass(frozen=True, eq=False)
class _State:
    """A time s, the y of the heavy groups, and the logarithms of the masses of the faint ones as parts of all."""

    s: float
    y: FloatArray
    log_faint: FloatArray


@dataclass(frozen=True, eq=False)
class _Room:
    """What events bring below zero.

    Attributes
    ----------
    above : ndarray, shape (n,)
        Margins less the least one, as parts of that; of the support λ, as parts of its sum.
    sides : ndarray, shape (H, n)
        Of heavy groups.
    of_held : float
        The least of multipliers of boundaries that groups hold, to the ends of their intervals.
    of_others : float
        The least of all else.
    """

    above: FloatArray
    sides: FloatArray
    of_held: float
    of_others: float

    @property
    def least(self) -> float:
        """The least of all."""
        return min(float(self.above.min()), float(self.sides.min(initial=1.0)), self.of_held, self.of_others)


@dataclass(frozen=True, eq=False)
class _Drift:
    """What stays the same up to the first event: groups, the heavy ones of them, the support."""

    data: Dataset
    net: Network
    groups: Groups
    heavy: IntArray
    faint: IntArray
    support: IntArray
    D: FloatArray
    start: _State

    @classmethod
    def of(cls, data: Dataset, net: Network, weights: FloatArray, log_sizes: FloatArray) -> _Drift | None:
        """Sort a state; None if its neurons, margins or weights are not those of a drift."""
        sorted_, support = groups(data, net), np.flatnonzero(weights > _LEAST_WEIGHT * weights.max())
        members = [sorted_.members(c) for c in range(len(sorted_))]
        log_mass = np.array([np.logaddexp.reduce(2 * log_sizes[rows]) for rows in members])
        log_mass -= np.logaddexp.reduce(log_mass)
        is_heavy = log_mass > np.log(_FAINT)
        heavy, faint = np.flatnonzero(is_heavy), np.flatnonzero(~is_heavy)
        if not len(support) <= len(heavy) * (data.d + 1) <= _MOST_UNKNOWNS:
            return None
        v = [_direction(net, members[c], log_sizes) for c in heavy]
        if any(one is None for one in v):
            return None
        D = _gradients(data, sorted_, heavy, support)
        y = packed(np.array(v), log_mass[heavy])
        found = cls(data, net, sorted_, heavy, faint, support, D, _State(0.0, y, log_mass[faint]))
        return found if found._is_drifting(weights) else None

    def _is_drifting(self, weights: FloatArray) -> bool:
        v, log_mass = unpacked(self.start.y, len(self.heavy))
        margins = np.einsum("c,ckd,cd->k", np.exp(log_mass), self.D, v)
        if not (margins.min() > 0 and np.ptp(margins) <= _SAME_MARGIN * margins.min()):
            return False
        factors = Factors.of(self.D, self.start.y)
        if not factors.is_unique:
            return False
        dual, own = factors.duals(), weights[self.support]
        if not np.abs(dual / dual.sum() - own / own.sum()).max() <= _SAME_WEIGHTS:
            return False
        pulls = self._pulls(factors)
        sizes = np.linalg.norm(pulls, axis=1)
        for c in self.faint[sizes[self.faint] > _STANDS]:
            rows = self.groups.members(int(c))
            behind = self.net.W[rows] / self.net.a[rows, None] - pulls[c] / sizes[c]
            if not np.abs(behind).max() <= _FOLLOWS:
                return False
        return True

    def _pulls(self, factors: Factors) -> FloatArray:
        """Return the pulls of all groups, shape (C, d)."""
        pulls = self.groups.pulls(self._signed(factors.duals()))
        pulls[self.heavy] = factors.pulls()
        return pulls

    def _signed(self, dual: FloatArray) -> FloatArray:
        lam = np.zeros(self.data.n)
        lam[self.support] = self.data.y[self.support] * dual
        return lam

    def _room(self, state: _State) -> _Room:
        """Return what events bring below zero."""
        factors = Factors.of(self.D, state.y)
        dual, pulls = factors.duals(), self._pulls(factors)
        share = dual / np.abs(dual).sum() if factors.is_unique else np.full(len(dual), -1.0)
        v, log_mass = unpacked(state.y, len(self.heavy))
        f = np.einsum("c,cn,cn->n", np.exp(log_mass), self.groups.slope[self.heavy], v @ self.data.X.T)
        above = self.data.y * f / factors.margin - 1
        above[self.data.counts == 0] = 1.0
        above[self.support] = share
        sides = self._sides(v, pulls)
        excess = clipped_pulls(self.groups, self._signed(share), self.net.leak).excess
        others = log_mass - np.log(_VANISHES), np.log(_FAINT) - state.log_faint, sides[self.faint].ravel()
        of_others = min(float(part.min(initial=1.0)) for part in others)
        return _Room(above, sides[self.heavy], -float(excess.max()), of_others)

    def _sides(self, v: FloatArray, pulls: FloatArray) -> FloatArray:
        """Return how far all groups are on their sides of the boundaries that they do not hold, (C, n); 1 elsewhere."""
        directions = pulls.copy()
        directions[self.heavy] = v
        size, norms = np.linalg.norm(directions, axis=1), np.linalg.norm(self.data.X, axis=1)
        Z = (directions / np.maximum(size, _STANDS)[:, None]) @ (self.data.X / np.where(norms > 0, norms, 1)[:, None]).T
        signs = self.groups.sign[:, None] * self.groups.pattern
        counts = (size > _STANDS)[:, None] & (signs != 0) & (norms > 0)
        return np.asarray(np.where(counts, signs * Z, 1.0))

    def run(self) -> Drifted | None:
        """Go from event to event, up to one that is not of the simple kinds, or to the largest |θ|."""
        drift, state, events, steps, tries = self, self.start, 0, 0, 0
        clear = drift, state, events  # before the last events that follow one another at one place
        while True:
            before, after, taken = drift._to_event(state)
            steps += taken
            if before.s - state.s >= _NO_PROGRESS:
                clear, tries = (drift, before, events), 0
            changed = None if after is None or events == _MOST_EVENTS else drift._changed(after)
            if after is None or changed is None:
                # Held neurons that are let go leave in the leg; faint ones are not where their pull has jumped to.
                if drift._room(before).of_others >= -_ROUNDING:
                    clear = drift, before, events
                break
            if tries == _MOST_TRIES:
                break
            drift, state, events, tries = changed, after, events + 1, tries + 1
        drift, state, events = clear
        if state.s < _SHORTEST:
            return None
        return replace(drift._end(state, self), events=events, steps=steps, rests=after is None)

    def _to_event(self, state: _State) -> tuple[_State, _State | None, int]:
        """Take implicit steps to the first event.

        Returns a state some way before it, one close behind it if there is one, and how many steps were taken.
        """
        if self._room(state).least < -_ROUNDING:
            return state, state, 0
        from scipy.integrate import Radau  # not at the start of every program: few runs come here

        solver = Radau(
            lambda _, y: Factors.of(self.D, y).velocity(),
            state.s,
            state.y,
            _LARGEST,
            jac=lambda _, y: Factors.of(self.D, y).derivative(self.D),
            rtol=_RTOL,
            atol=_ATOL,
            first_step=1.0,
        )
        for steps in range(_MOST_STEPS):
            if solver.status != "running":
                break
            if solver.step() is not None:  # it says why it failed
                break
            dense = solver.dense_output()
            for at in np.linspace(state.s, solver.t, _LOOKS + 1)[1:]:
                further = self._onward(state, float(at), dense(at))
                if self._room(further).least < -_ROUNDING:
                    return *self._closer(state, further, dense), steps + 1
                state = further
        return state, None, steps + 1

    def _closer(self, begin: _State, after: _State, dense: Callable[[float], FloatArray]) -> tuple[_State, _State]:
        """Return a state some way before an event and one close behind it."""
        before = begin
        while after.s - before.s > max(_KNOWN, np.finfo(np.float64).eps * after.s):
            middle = 0.5 * (before.s + after.s)
            between = self._onward(before, middle, dense(middle))
            before, after = (before, between) if self._room(between).least < -_ROUNDING else (between, after)
        way = max(begin.s, after.s - _BEFORE)
        return self._onward(begin, way, dense(way)), after

    def _onward(self, state: _State, s: float, y: FloatArray) -> _State:
        """Return the state at s, with the faint groups that have followed their pulls."""
        if not len(self.faint):
            return _State(s, y, state.log_faint)
        rates = [np.linalg.norm(self._pulls(Factors.of(self.D, at))[self.faint], axis=1) - 1 for at in (state.y, y)]
        return _State(s, y, state.log_faint + (s - state.s) * (rates[0] + rates[1]))

    def _changed(self, state: _State) -> _Drift | None:
        """Return the drift behind a simple event: a sample joins or leaves, or a heavy group crosses a boundary."""
        room = self._room(state)
        if min(room.of_held, room.of_others) < -_ROUNDING:
            return None
        i = int(np.argmin(room.above))
        if room.above[i] <= room.sides.min(initial=1.0):
            support = np.setxor1d(self.support, [i])
            if not 0 < len(support) <= len(self.heavy) * (self.data.d + 1):
                return None
            return replace(self, support=support, D=self._gradients(self.groups, support))
        c, i = divmod(int(np.argmin(room.sides)), self.data.n)
        rows = self.groups.boundaries.members(int(self.groups.boundaries.boundary[i]))
        pattern = self.groups.pattern.copy()
        pattern[np.ix_([self.heavy[c]], rows)] *= -1
        crossed = replace(self.groups, pattern=pattern, slope=slopes(pattern, self.net.leak))
        return replace(self, groups=crossed, D=self._gradients(crossed, self.support))

    def _gradients(self, sorted_: Groups, support: IntArray) -> FloatArray:
        return _gradients(self.data, sorted_, self.heavy, support)

    def _end(self, state: _State, first: _Drift) -> Drifted:
        """Return the network of a state, and the weights of the samples."""
        y = state.y
        for _ in range(_LEVELLINGS):
            y = Factors.of(self.D, y).levelled()
        factors = Factors.of(self.D, y)
        pulls, dual = self._pulls(factors), factors.duals()
        v, log_mass = unpacked(y, len(self.heavy))
        W, a, log_parts = self.net.W.copy(), self.net.a.copy(), np.full(self.net.width, -state.s)
        assert self.net.pattern is not None  # for the type checker: the network of a run has one
        pattern = self.net.pattern.copy()
        before = unpacked(first.start.y, len(self.heavy))[1]
        for k, c in enumerate(self.heavy):
            rows = self.groups.members(int(c))
            a[rows] *= np.exp(0.5 * (log_mass[k] - before[k]))
            W[rows] = a[rows, None] * v[k]
            log_parts[rows] = 0.0
            pattern[rows] = self.groups.pattern[c]
        for k, c in enumerate(self.faint):
            rows, size = self.groups.members(int(c)), np.linalg.norm(pulls[c])
            log_parts[rows] = 0.5 * (state.log_faint[k] - first.start.log_faint[k])
            if size > _STANDS:
                W[rows] = a[rows, None] * pulls[c] / size
        weights = np.zeros(self.data.n)
        weights[self.support] = np.maximum(dual, 0.0) / np.maximum(dual, 0.0).sum()
        return Drifted(state.s, W, a, log_parts, pattern, weights, events=0, steps=0, rests=False)


def _gradients(data: Dataset, sorted_: Groups, heavy: IntArray, support: IntArray) -> FloatArray:
    """Return D, shape (H, k, d)."""
    return np.array([data.y[support, None] * sorted_.map(int(c), support) for c in heavy])


def _direction(net: Network, rows: IntArray, log_sizes: FloatArray) -> FloatArray | None:
    """Return w/a of a heavy group; None if its neurons are not parallel yet."""
    parts = np.exp(2 * (log_sizes[rows] - log_sizes[rows].max()))
    own: npt.NDArray[np.float64] = net.W[rows] / net.a[rows, None]
    middle = parts @ own / parts.sum()
    behind = np.abs(own - middle).max(axis=1)
    is_aligned = (behind <= np.where(parts > _FAINT, _ALIGNED, _FOLLOWS)).all()
    return np.asarray(middle) if is_aligned else None
