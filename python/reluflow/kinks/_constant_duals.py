"""The flow of single neurons under constant λ, solved event by event: no ODE, and no step size.

Between two events the pull g = P Σ λ_i s_i x_i is constant. With ĝ = g/|g|, η = s w·ĝ and s the sign of a, balance
|a| = |w| gives η' = |g||a|: η grows like sinh, the rest of w stands still, and all z_i = w·x_i move monotonically.
So each pair meets its boundary at most once in a sector, the first to do so is the one with the smallest step of η, and
the time of that step is log E / |g| with E as in `_growth` (flow: [PL, Lemma A.3]; the frozen limit: [WP, Lemma 2]).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from .._validation import FloatArray, IntArray, PatternArray
from ._alike import alike
from ._boundaries import Boundaries, acts, boundaries, exact_signs, names, off, slopes, span
from ._event_kinds import EVENT_KINDS
from ._transition import Corner, continuations

STATUSES = ("extremal", "dead", "rest", "decaying", "undecided")
_EXTREMAL, _DEAD, _REST, _DECAYING, _UNDECIDED = range(5)
# Neurons whose next events come after the time asked for; no result shows it.
_LATER = 5
# A rate below this part of the gradients that make it up is rounding: the neuron does not leave that boundary.
_RATE_TOL = 1e-12
# Boundaries met within this part of |w| after the first one are met with it: rounding of a place on several boundaries.
_TIE_TOL = 1e-13
# Events a neuron may have per boundary of the data before it is given up: each boundary is crossed about once.
_EVENTS_PER_BOUNDARY = 200
# A direction this close to -s ĝ is exactly that one, up to rounding.
_OPPOSITE_TOL = 1e-15
_CODE = {name: code for code, name in enumerate(EVENT_KINDS)}
# Kind of a change of sign, by (sign before, sign after).
_CHANGE = {
    (-1, 1): _CODE["cross_up"],
    (1, -1): _CODE["cross_down"],
    (0, 1): _CODE["leave_up"],
    (0, -1): _CODE["leave_down"],
    (1, 0): _CODE["slide"],
    (-1, 0): _CODE["slide"],
}
_START = {1: _CODE["start_up"], -1: _CODE["start_down"], 0: _CODE["start_slide"]}

Columns = tuple[npt.NDArray[np.generic], ...]


@dataclass(frozen=True, eq=False)
class _Motion:
    """How k neurons move up to their next events.

    Attributes
    ----------
    rows : ndarray, shape (k,)
        Their numbers.
    size, unit : ndarray, shapes (k,) and (k, d)
        |g| and ĝ.
    along, across : ndarray, shapes (k,) and (k, d)
        η and the rest of w.
    change, comes : ndarray, shape (k, n)
        Change of z_i per unit of η, and whether it goes towards its boundary.
    """

    rows: IntArray
    size: FloatArray
    unit: FloatArray
    along: FloatArray
    across: FloatArray
    change: FloatArray
    comes: npt.NDArray[np.bool_]


@dataclass(eq=False)
class Frozen:
    """Neurons on their way; `run` moves them all to their ends.

    Attributes
    ----------
    w : ndarray, shape (m, d)
        Directions, of norm 1 after each event.
    sign : ndarray, shape (m,)
        Signs of the output weights.
    pattern : ndarray, shape (m, n), int8
    pull : ndarray, shape (m, d)
        g of each neuron.
    t : ndarray, shape (m,)
        Time of the last event.
    log_norm : ndarray, shape (m,)
        log |w_j| at the last event, 0 at the start.
    status : ndarray, shape (m,), int8
        Place in `STATUSES`; -1 on the way.
    lower, upper : ndarray, shape (p,)
        Edges of the boundaries' pulls.
    scale : float
        Σ |λ_i| |x_i|, against which pulls and rates are zero.
    reasons : dict
        For undecided neurons.
    log : list
        Events in order of their finding: arrays t, neuron, sample, code.
    until : float
        The time at which `run` ends.
    slides : bool
        Whether neurons on a boundary have slid there up to now; otherwise they were put there.
    """

    X: FloatArray
    lam: FloatArray
    leak: float
    w: FloatArray
    sign: FloatArray
    pattern: PatternArray
    boundaries: Boundaries
    lower: FloatArray
    upper: FloatArray
    scale: float
    pull: FloatArray
    t: FloatArray
    log_norm: FloatArray
    status: npt.NDArray[np.int8]
    reasons: dict[int, str] = field(default_factory=dict)
    log: list[Columns] = field(default_factory=list)
    until: float = np.inf
    slides: bool = False
    _bases: dict[bytes, FloatArray] = field(default_factory=dict)
    _decided: dict[tuple[bytes, float, tuple[int, ...]], dict[int, int] | str] = field(default_factory=dict)

    def run(self) -> None:
        """Resolve the boundaries that neurons start on, then move all neurons from event to event."""
        self._pull_again(np.arange(len(self.w)))
        for j in np.flatnonzero((self.pattern == 0).any(axis=1)).tolist():
            self._turn(np.array([j]), self._held(j), start=True)
        self._move()

    def carry(self, lam: FloatArray, until: float) -> None:
        """Go on under another constant λ, from the time reached to another: one piece of a λ that varies.

        Neurons that slide may leave at once. Undecided ones stay where they were.
        """
        self.lam, self.until, self.slides = lam, until, True
        self.lower, self.upper = self.boundaries.all_edges(lam, self.leak)
        self.scale = float(np.abs(lam) @ np.linalg.norm(self.X, axis=1))
        self._decided.clear()
        known = self.status != _UNDECIDED
        self.status[known] = -1
        self._pull_again(np.arange(len(self.w)))
        rows = np.flatnonzero((self.pattern == 0).any(axis=1) & known)
        for places in alike(self.pattern[rows], self.sign[rows]):
            self._stay(rows[places])
        self._move()
        self._stretch(np.flatnonzero(np.isin(self.status, (_EXTREMAL, _DECAYING, _LATER))))
        self.t[:] = until

    def _move(self) -> None:
        """Move all neurons from event to event."""
        for _ in range(_EVENTS_PER_BOUNDARY * len(self.boundaries.normal)):
            motion = self._motion(np.flatnonzero(self.status < 0))
            if not len(motion.rows):
                return
            self._advance(motion)
        for j in np.flatnonzero(self.status < 0).tolist():
            self._give_up(j, "the events do not come to an end")

    # --- between events ---

    def _motion(self, rows: IntArray) -> _Motion:
        """Find how these neurons move; those without a further event get their status and are left out."""
        size = np.linalg.norm(self.pull[rows], axis=1)
        inert = size <= _RATE_TOL * self.scale
        self.status[rows[inert]] = np.where(acts(self.pattern[rows], self.leak), _REST, _DEAD)[inert]
        rows, size = rows[~inert], size[~inert]
        sign, w = self.sign[rows], self.w[rows]
        unit = self.pull[rows] / size[:, None]
        along = sign * np.einsum("jd,jd->j", w, unit)
        across = w - (sign * along)[:, None] * unit
        change = sign[:, None] * (unit @ self.X.T)
        noise = np.abs(self.boundaries.reach) * (_RATE_TOL * self.scale / size)[:, None]
        comes = self.pattern[rows] * change < -noise
        opposite = (along < 0) & (np.linalg.norm(across, axis=1) <= _OPPOSITE_TOL * np.linalg.norm(w, axis=1))
        goes_on = np.any(comes, axis=1) & ~opposite
        self.status[rows[~goes_on]] = np.where(opposite, _DECAYING, _EXTREMAL)[~goes_on]
        parts = (rows, size, unit, along, across, change, comes)
        return _Motion(*(part[goes_on] for part in parts))

    def _advance(self, motion: _Motion) -> None:
        """Move neurons to their next events and change their patterns there."""
        rows, along = motion.rows, motion.along
        Z = self.w[rows] @ self.X.T
        step = np.full(Z.shape, np.inf)
        np.divide(np.maximum(self.pattern[rows] * Z, 0.0), np.abs(motion.change), out=step, where=motion.comes)
        first = step.min(axis=1)
        met = self._whole_boundaries(step <= first[:, None] + _TIE_TOL)
        t = self.t[rows] + np.log(_growth(along, first, np.linalg.norm(motion.across, axis=1))) / motion.size
        moved = motion.across + (self.sign[rows] * (along + first))[:, None] * motion.unit
        comes = t <= self.until
        self.status[rows[~comes]] = _LATER
        rows, moved, met = rows[comes], moved[comes], met[comes]
        self.t[rows] = t[comes]
        size = np.linalg.norm(moved, axis=1, keepdims=True)
        self.w[rows] = moved / size
        self.log_norm[rows] += np.log(size[:, 0])
        slow = self._cross(rows, met)
        rows, met = rows[slow], met[slow]
        for places in alike(self.pattern[rows], self.sign[rows], met):
            self._turn(rows[places], np.unique(self.boundaries.boundary[met[places[0]]]))

    def _stretch(self, rows: IntArray) -> None:
        """Move neurons without another event up to the time `until`.

        E = η + |w| grows like e^(|g| t) and |w| - η = |w across|²/E falls like its inverse.
        """
        size = np.linalg.norm(self.pull[rows], axis=1)
        unit = self.pull[rows] / size[:, None]
        along = self.sign[rows] * np.einsum("jd,jd->j", self.w[rows], unit)
        across = self.w[rows] - (self.sign[rows] * along)[:, None] * unit
        rest = np.linalg.norm(across, axis=1)
        grows = size * (self.until - self.t[rows])
        opposite = (along < 0) & (rest <= _OPPOSITE_TOL)  # shrinks along its ray, as its status says
        with np.errstate(divide="ignore", invalid="ignore"):
            before = np.where(opposite, 1.0, _exponential(along, rest))
        with np.errstate(under="ignore"):  # of a growth that is long past its turn
            ratio = rest / before * np.exp(-grows)  # |w across| over E at the end
        direction = ((1 - ratio**2) * self.sign[rows])[:, None] * unit
        direction += (2 * ratio / np.where(rest > 0, rest, 1.0))[:, None] * across
        direction[opposite] = self.w[rows[opposite]]
        self.w[rows] = direction / np.linalg.norm(direction, axis=1, keepdims=True)
        change = grows + np.log(before) + np.log1p(ratio**2) - np.log(2.0)
        self.log_norm[rows] += np.where(opposite, -grows, change)

    # --- at events ---

    def _cross(self, rows: IntArray, met: npt.NDArray[np.bool_]) -> IntArray:
        """Treat plain refractions at one boundary all at once; return the places in `rows` of the other neurons."""
        boundary = self.boundaries.boundary[met.argmax(axis=1)]
        one = (met == (self.boundaries.boundary[None, :] == boundary[:, None])).all(axis=1)
        one &= (self.pattern[rows] != 0).all(axis=1)
        gain = self.sign[rows] * (self.upper - self.lower)[boundary]
        before = self.sign[rows] * np.einsum("jd,jd->j", self.pull[rows], self.boundaries.normal[boundary])
        after = before + np.sign(before) * gain
        plain = one & (before * after > 0) & (np.abs(after) > _RATE_TOL * self.scale)
        j, i = np.nonzero(met[plain])
        neurons = rows[plain][j]
        old = self.pattern[neurons, i]
        self.pattern[neurons, i] = -old
        self._record(neurons, i, np.where(old < 0, _CODE["cross_up"], _CODE["cross_down"]))
        self._pull_again(rows[plain])
        return np.flatnonzero(~plain)

    def _whole_boundaries(self, met: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
        """Parallel samples are met together, whatever their rounding."""
        for boundary in np.flatnonzero(np.bincount(self.boundaries.boundary) > 1).tolist():
            members = self.boundaries.members(boundary)
            met[:, members] = met[:, members].any(axis=1, keepdims=True)
        return met

    def _held(self, j: int) -> IntArray:
        """Boundaries on which a neuron slides."""
        return np.unique(self.boundaries.boundary[self.pattern[j] == 0])

    def _turn(self, rows: IntArray, met: IntArray, *, start: bool = False) -> None:
        """Decide the corner of neurons that are alike: the boundaries they hold and those they meet."""
        j = int(rows[0])
        row = self.pattern[j]
        on = tuple(np.union1d(self._held(j), met).tolist())
        key = (row.tobytes(), float(self.sign[j]), on)
        if key not in self._decided:
            self._decided[key] = self._decide(row, float(self.sign[j]), list(on))
        answer = self._decided[key]
        if isinstance(answer, str):
            for one in rows.tolist():
                self._give_up(one, answer)
            return
        self._become(rows, answer, start)

    def _stay(self, rows: IntArray) -> None:
        """Decide whether neurons that are alike slide on; most do, many of one pattern."""
        j = int(rows[0])
        answer = self._decide(self.pattern[j], float(self.sign[j]), self._held(j).tolist())
        if isinstance(answer, str) or any(answer.values()):
            self._turn(rows, self._held(j))

    def _decide(self, row: PatternArray, sign: float, on: list[int]) -> dict[int, int] | str:
        """Signs of the samples on these boundaries afterwards, or why there is no single answer.

        Where λ varies, no neuron comes to slide on a boundary that repels: it leaves before, while the interval of the
        multiplier closes, to the side to which the others then pull. So the interval of such a boundary is its middle.
        """
        member = np.isin(self.boundaries.boundary, on)
        drive = (slopes(np.where(member, 0, row).astype(np.int8), self.leak) * self.lam) @ self.X
        lower, upper = self.lower[on], self.upper[on]
        if self.slides:
            held = np.isin(on, self.boundaries.boundary[row == 0]) & (sign * (upper - lower) > 0)
            middle = 0.5 * (lower + upper)
            lower, upper = np.where(held, middle, lower), np.where(held, middle, upper)
        corner = Corner(self.boundaries.normal[on], lower, upper, drive, sign, self.scale)
        found = continuations(corner)
        samples = np.flatnonzero(member)
        if found is None:
            return f"too many boundaries meet to list every continuation: samples {names(samples)}"
        if len(found) != 1:
            ways = "no continuation" if not found else f"{len(found)} continuations"
            return f"{ways} at the boundaries of samples {names(samples)}"
        side = dict(zip(on, found[0], strict=True))
        return {
            int(i): int(side[int(self.boundaries.boundary[i])] * np.sign(self.boundaries.reach[i])) for i in samples
        }

    def _become(self, rows: IntArray, signs: dict[int, int], start: bool) -> None:
        first = int(rows[0])
        old = {i: int(self.pattern[first, i]) for i in signs}
        changed = [i for i in signs if start or signs[i] != old[i]]
        self.pattern[np.ix_(rows, np.array(list(signs)))] = list(signs.values())
        self._pull_again(rows)
        stops = not start and not acts(self.pattern[first], self.leak)
        kinds = [_START[signs[i]] if start else _CHANGE[old[i], signs[i]] for i in changed]
        kinds = [_CODE["die"] if stops and kind == _CODE["slide"] else kind for kind in kinds]
        samples = np.tile(np.array(changed, dtype=np.int64), len(rows))
        self._record(np.repeat(rows, len(changed)), samples, np.tile(np.array(kinds), len(rows)))

    def _pull_again(self, rows: IntArray) -> None:
        """Compute g anew from the patterns, and put held neurons back on their boundaries."""
        self.pull[rows] = self.pulls(self.lam, rows)
        for places, basis in self._sliding(rows):
            self.w[rows[places]] = off(self.w[rows[places]], basis)

    def pulls(self, lam: FloatArray, rows: IntArray) -> FloatArray:
        """Return P Σ λ_i s_i x_i of some neurons in their present patterns, shape (k, d)."""
        found = np.asarray((slopes(self.pattern[rows], self.leak) * lam) @ self.X)
        for places, basis in self._sliding(rows):
            found[places] = off(found[places], basis)
        return found

    def _sliding(self, rows: IntArray) -> list[tuple[IntArray, FloatArray]]:
        """Places in `rows` of neurons that slide, those of one pattern together, with `span` of their boundaries."""
        places = np.flatnonzero((self.pattern[rows] == 0).any(axis=1))
        found = []
        for same in alike(self.pattern[rows[places]]):
            j = int(rows[places[same[0]]])
            key = self.pattern[j].tobytes()
            if key not in self._bases:
                self._bases[key] = span(self.boundaries.normal[self._held(j)])
            found.append((places[same], self._bases[key]))
        return found

    def _record(self, neuron: IntArray, sample: IntArray, kind: IntArray) -> None:
        if not len(neuron):
            return
        self.log.append((self.t[neuron], neuron, sample, kind))

    def _give_up(self, j: int, reason: str) -> None:
        self.status[j] = _UNDECIDED
        self.reasons[j] = reason


def start(
    X: FloatArray,
    lam: FloatArray,
    leak: float,
    W: FloatArray,
    sign: FloatArray,
    pattern: PatternArray | None = None,
) -> Frozen:
    """Put neurons with the directions of the rows of W at their start; `run` is the next thing to do.

    A pattern says exactly where they stand; without one it is read off W Xᵀ.
    """
    found = boundaries(X)
    lower, upper = found.all_edges(lam, leak)
    return Frozen(
        X=X,
        lam=lam,
        leak=leak,
        w=W / np.linalg.norm(W, axis=1, keepdims=True),
        sign=sign,
        pattern=exact_signs(W, X) if pattern is None else np.array(pattern),
        boundaries=found,
        lower=lower,
        upper=upper,
        scale=float(np.abs(lam) @ np.linalg.norm(X, axis=1)),
        pull=np.zeros(W.shape),
        t=np.zeros(len(W)),
        log_norm=np.zeros(len(W)),
        status=np.full(len(W), -1, dtype=np.int8),
    )


def _growth(along: FloatArray, step: FloatArray, across: FloatArray) -> FloatArray:
    """E = e^(|g| t) when η goes from `along` to `along + step`, |w|² = η² + across²."""
    end = along + step
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(_exponential(end, across) / _exponential(along, across))


def _exponential(eta: FloatArray, across: FloatArray) -> FloatArray:
    """η + |w|, without cancellation where η < 0."""
    size = np.hypot(eta, across)
    return np.where(eta >= 0, eta + size, across * (across / (size - eta)))
