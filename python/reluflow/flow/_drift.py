"""The slow drift of the direction far out: the flow of θ/|θ| in s = log |θ|, one vector for each group of neurons.

Where log t is beyond e^600 the margins of the support samples are one number to more digits than doubles have, and the
neurons of a group (of one sign and pattern) are parallel. Samples that almost depend on each other, as in raw units,
then leave motions with rates of 10⁻⁴ to 10⁻⁷ beside those of rate 1, to which the steps of the integrator are tied. An
implicit method takes steps as long as the slow ones let it, and passes the events of single groups and samples
(docs/design/drift.md).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from time import perf_counter

import numpy as np
import numpy.typing as npt

from .._validation import FloatArray, IntArray, PatternArray
from ..datasets import Dataset
from ..limits._groups import groups
from ..networks import Network
from ._drift_equations import Factors, Frame, bases, packed, unpacked
from ._drift_piece import FAINT, ROUNDING, STANDS, Piece, State, gradients

# The y of a time.
Path = Callable[[float], FloatArray]
# Neurons of a group that differ by more than this have not aligned yet; faint ones may lag behind their pull by more.
_ALIGNED, _FOLLOWS = 1e-8, 1e-2
# The margins of the support, and the weights that the state carries, are those of the drift to these parts.
_SAME_MARGIN, _SAME_WEIGHTS = 1e-6, 1e-3
# Samples with less of the largest weight are outside the support.
_LEAST_WEIGHT = 1e-30
# Tolerances of the implicit steps: those of a run to its limit.
_RTOL, _ATOL = 1e-6, 1e-8
# What Newton's method may leave of them. The 1e-3 that scipy derives from the tolerance is below the rounding of what
# drives slow directions times a long step, and such steps were halved until it was not.
_NEWTON_PART = 0.03
# Work of a drift: where steps are as short as rounding makes them each one is tried many times.
_MOST_STEPS, _MOST_EVALUATIONS = 300, 6000
# Systems of more unknowns cost more than legs do.
_MOST_UNKNOWNS = 600
# Events are looked for at so many places of a step, and one is known to this in log |θ|.
_LOOKS, _KNOWN = 8, 0.25
# A drift ends so long before an event that is left to the integrator.
_BEFORE = 5.0
# Most events are passed here. So many at one place, and what follows so many of all, are left to the integrator. Once
# log |θ| is so many times as large without one the limit is asked for.
_NO_PROGRESS, _MOST_TRIES, _MOST_EVENTS, _FAR = 1.0, 5, 20, 10.0
# The margins of the support are one number again, to rounding, after so many corrections.
_LEVELLINGS = 3
# A drift over less than this of log |θ| is not worth it.
_SHORTEST = 20.0
# One that does not make log |θ| so many times as large, by no event, may be at rest.
_COMES_FAR = 1.5
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
    is_far : bool
        It ends where it has come far without an event, not for one.
    rests : bool
        It has spent its work without an event, and not come far.
    """

    length: float
    W: FloatArray
    a: FloatArray
    log_parts: FloatArray
    pattern: PatternArray
    weights: FloatArray
    events: int
    steps: int
    is_far: bool
    rests: bool


@dataclass
class _Work:
    """What a drift has cost, and the time of `perf_counter` at which it ends."""

    deadline: float
    steps: int = 0
    evaluations: int = 0

    def is_spent(self) -> bool:
        is_much = self.steps >= _MOST_STEPS or self.evaluations >= _MOST_EVALUATIONS
        return is_much or perf_counter() > self.deadline


def drift(
    data: Dataset,
    net: Network,
    weights: FloatArray,
    log_sizes: FloatArray,
    *,
    log_norm: float,
    deadline: float = math.inf,
) -> Drifted | None:
    """Follow the drift of a state with its pattern; None where an event is near that ends it, or it does not drift.

    `weights` are those of the samples. `log_sizes` are the neurons' own, of which `net` may say too much where they are
    far below those of the others. `log_norm` is log |θ|; `deadline` the time of `perf_counter` at which the drift ends.
    """
    try:
        with np.errstate(over="raise", divide="raise", invalid="raise"):
            begin = _begin(data, net, weights, log_sizes, log_norm)
            return None if begin is None else _run(*begin, _Work(deadline))
    except (FloatingPointError, ValueError):  # an implicit step tried a state far off
        return None


def _begin(
    data: Dataset, net: Network, weights: FloatArray, log_sizes: FloatArray, log_norm: float
) -> tuple[Piece, State] | None:
    """Sort a state; None if its neurons, margins or weights are not those of a drift."""
    sorted_, support = groups(data, net), np.flatnonzero(weights > _LEAST_WEIGHT * weights.max())
    members = [sorted_.members(c) for c in range(len(sorted_))]
    log_mass = np.array([np.logaddexp.reduce(2 * log_sizes[rows]) for rows in members])
    log_mass -= np.logaddexp.reduce(log_mass)
    is_heavy = log_mass > np.log(FAINT)
    heavy, faint = np.flatnonzero(is_heavy), np.flatnonzero(~is_heavy)
    if not len(support) <= len(heavy) * (data.d + 1):
        return None
    D = gradients(data, sorted_, heavy, support)
    if len(heavy) * (bases(D).shape[2] + 1) > _MOST_UNKNOWNS:
        return None
    v = [_direction(net, members[c], log_sizes) for c in heavy]
    if any(one is None for one in v):
        return None
    piece = Piece(data, net, sorted_, heavy, faint, support, D)
    state = State(log_norm, packed(np.array(v), log_mass[heavy]), log_mass[faint])
    return (piece, state) if _is_drifting(piece, state, weights) else None


def _direction(net: Network, rows: IntArray, log_sizes: FloatArray) -> FloatArray | None:
    """Return w/a of a heavy group; None if its neurons are not parallel yet."""
    parts = np.exp(2 * (log_sizes[rows] - log_sizes[rows].max()))
    own: npt.NDArray[np.float64] = net.W[rows] / net.a[rows, None]
    middle = parts @ own / parts.sum()
    behind = np.abs(own - middle).max(axis=1)
    is_aligned = (behind <= np.where(parts > FAINT, _ALIGNED, _FOLLOWS)).all()
    return np.asarray(middle) if is_aligned else None


def _is_drifting(piece: Piece, state: State, weights: FloatArray) -> bool:
    v, log_mass = unpacked(state.y, len(piece.heavy))
    margins = np.einsum("c,ckd,cd->k", np.exp(log_mass), piece.D, v)
    if not (margins.min() > 0 and np.ptp(margins) <= _SAME_MARGIN * margins.min()):
        return False
    factors = Factors.of(piece.D, state.y)
    if not factors.is_unique:
        return False
    dual, own = factors.duals(), weights[piece.support]
    if not np.abs(dual / dual.sum() - own / own.sum()).max() <= _SAME_WEIGHTS:
        return False
    pulls = piece.pulls(factors)
    sizes = np.linalg.norm(pulls, axis=1)
    for c in piece.faint[sizes[piece.faint] > STANDS]:
        rows = piece.groups.members(int(c))
        behind = piece.net.W[rows] / piece.net.a[rows, None] - pulls[c] / sizes[c]
        if not np.abs(behind).max() <= _FOLLOWS:
            return False
    return True


def _run(first: Piece, start: State, work: _Work) -> Drifted | None:
    """Go from event to event, up to one that is left to the integrator."""
    piece, state, events, tries = first, start, 0, 0
    clear = piece, state, events  # before the last events that follow one another at one place
    while True:
        before, after = _to_event(piece, state, work)
        if before.s - state.s >= _NO_PROGRESS:
            clear, tries = (piece, before, events), 0
        changed = None if after is None or events == _MOST_EVENTS else piece.changed(after)
        if after is None or changed is None:
            # What happens there happens in the leg, but for a faint group that is not where its pull has jumped to.
            if not piece.has_faint_behind(piece.room(before)):
                clear = piece, before, events
            break
        if tries == _MOST_TRIES:
            break
        (piece, state), events, tries = changed, events + 1, tries + 1
    is_far = after is None and before.s >= _end_of_stretch(state)
    piece, state, events = clear
    if state.s - start.s < _SHORTEST:
        return None
    rests = events == 0 and after is None and state.s < _COMES_FAR * start.s
    return replace(_end(piece, state, start), events=events, steps=work.steps, is_far=is_far, rests=rests)


def _end_of_stretch(state: State) -> float:
    """Return log |θ| at which a stretch ends that begins at a state."""
    return min(_FAR * state.s, _LARGEST)


def _to_event(piece: Piece, state: State, work: _Work) -> tuple[State, State | None]:
    """Take implicit steps to the first event.

    Returns a state some way before it, and one close behind it if there is one.
    """
    if piece.room(state).least < -ROUNDING:
        return state, state
    end = _end_of_stretch(state)
    if not state.s < end:
        return state, None
    from scipy.integrate import Radau  # not at the start of every program: few runs come here

    frame = Frame.of(piece.D, state.s, state.y)
    solver = Radau(
        lambda _, y: Factors.of(frame.D, y).velocity(),
        state.s,
        frame.reduced(state.y),
        end,
        jac=lambda _, y: Factors.of(frame.D, y).derivative(frame.D),
        rtol=_RTOL,
        atol=_ATOL,
        first_step=min(1.0, end - state.s),
    )
    solver.newton_tol = _NEWTON_PART
    while solver.status == "running" and not work.is_spent():
        before = solver.nfev
        is_taken = solver.step() is None
        work.steps, work.evaluations = work.steps + 1, work.evaluations + solver.nfev - before
        if not is_taken:
            break
        path = _path(frame, solver.dense_output())
        for at in np.linspace(state.s, solver.t, _LOOKS + 1)[1:]:
            further = _onward(piece, state, float(at), path)
            if piece.room(further).least < -ROUNDING:
                return _closer(piece, state, further, path)
            state = further
    return state, None


def _path(frame: Frame, dense: Callable[[float], FloatArray]) -> Path:
    """Return the y of a time in a step."""
    return lambda s: frame.whole(s, dense(s))


def _closer(piece: Piece, begin: State, after: State, path: Path) -> tuple[State, State]:
    """Return a state some way before an event and one close behind it."""
    before = begin
    while after.s - before.s > max(_KNOWN, np.finfo(np.float64).eps * after.s):
        middle = 0.5 * (before.s + after.s)
        between = _onward(piece, before, middle, path)
        before, after = (before, between) if piece.room(between).least < -ROUNDING else (between, after)
    way = max(begin.s, after.s - _BEFORE)
    return _onward(piece, begin, way, path), after


def _onward(piece: Piece, state: State, s: float, path: Path) -> State:
    """Return the state at s, with the faint groups that have followed their pulls, those in the middle of the way."""
    if not len(piece.faint):
        return State(s, path(s), state.log_faint)
    pulls = piece.pulls(Factors.of(piece.D, path(0.5 * (state.s + s))))[piece.faint]
    rates = 2 * (np.linalg.norm(pulls, axis=1) - 1)
    return State(s, path(s), state.log_faint + (s - state.s) * rates)


def _end(piece: Piece, state: State, start: State) -> Drifted:
    """Return the network of a state, and the weights of the samples."""
    y, net, sorted_, length = state.y, piece.net, piece.groups, state.s - start.s
    for _ in range(_LEVELLINGS):
        y = Factors.of(piece.D, y).levelled()
    factors = Factors.of(piece.D, y)
    pulls, dual = piece.pulls(factors), np.maximum(factors.duals(), 0.0)
    v, log_mass = unpacked(y, len(piece.heavy))
    W, a, log_parts = net.W.copy(), net.a.copy(), np.full(net.width, -length)
    assert net.pattern is not None  # for the type checker: the network of a run has one
    pattern = net.pattern.copy()
    pattern[sorted_.of >= 0] = sorted_.pattern[sorted_.of[sorted_.of >= 0]]
    before = unpacked(start.y, len(piece.heavy))[1]
    for k, c in enumerate(piece.heavy):
        rows = sorted_.members(int(c))
        a[rows] *= np.exp(0.5 * (log_mass[k] - before[k]))
        W[rows] = a[rows, None] * v[k]
        log_parts[rows] = 0.0
    for k, c in enumerate(piece.faint):
        rows, size = sorted_.members(int(c)), np.linalg.norm(pulls[c])
        log_parts[rows] = 0.5 * (state.log_faint[k] - start.log_faint[k])
        if size > STANDS:
            W[rows] = a[rows, None] * pulls[c] / size
    weights = np.zeros(piece.data.n)
    weights[piece.support] = dual / dual.sum()
    return Drifted(length, W, a, log_parts, pattern, weights, events=0, steps=0, is_far=False, rests=False)
