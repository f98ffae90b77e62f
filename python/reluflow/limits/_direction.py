"""The limit direction: support samples, live groups and multipliers of the max-margin problem in the last pattern."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from .._linear_algebra import svd
from .._validation import FloatArray, IntArray, freeze
from ..kinks._boundaries import names, off, span
from ..kinks._constant_duals import start
from ..losses import is_of_margins
from ..networks import Network
from ._at_rest import beside_boundaries, standing
from ._checks import UNKNOWN, Residuals, of_core, residuals_of, stay_on_dependent
from ._core import Core
from ._groups import spread
from ._kkt import ROUNDINGS, Free, Point, polish, tolerance
from ._late_phase import late_phase
from ._limit import Limit
from ._nearest import nearest
from ._on_the_way import events_to_come
from ._path import solve
from ._state import State

# The cone program looks first at so many samples of the smallest margins, or at so many times as many as have weight if
# that is more. Others join when they are violated. Its work grows with the square of their number.
_FIRST_SAMPLES, _PER_WEIGHT = 40, 2
# Largest residual of a certified limit; polished ones reach 1e-15.
CERTIFIED_TOL = 1e-11
_NO_MASS = 1e-13  # masses below this part of the largest are rounding of a zero: their group may leave its cell
_FAINT = 1e-11  # neurons that keep so small a part of |θ|² are nothing beside the limit
# Where multipliers and masses are large and cancel, their rounding alone is more; no residual above this is certified.
_LARGEST_TOL = 1e-8
# Equations that are left with more than this are not solved. Where multipliers cancel so far that the rounding of their
# products is more than this too, it is the interior point method that has not told the sets apart.
_UNSOLVED = 1e-6
MAX_TURN = 0.5  # a state that is further than this from its limit (radians) has not shown that it goes there
# Groups that grow as fast as the fastest, to this part of it, are taken for live ones of the state, and weights and
# masses from this part of the largest on for parts of it.
_TOGETHER = 0.01
_COUNTS = 1e-9
# So many e-foldings below weights at rest others are lost in the rounding of those.
_LOST = 30.0
# A group outside the limit may grow as fast as the live ones up to this rounding.
_RATE_TOL = 1e-9
_OUTSIDE = 1e-6  # a direction beyond no boundary of a cell by more than this part of |x| is in it
_STANDS = 1e-9  # beside samples at rest, groups with a pull below this stay finite: it is rounding
# Rows of samples are dependent where no more than this part of them is left, and singular values of them below it zero.
_RANK_TOL = 1e-11
# The same for the values of the live groups at all samples, whose rank says how many masses they determine.
_VALUE_RANK_TOL = 1e-9


@dataclass(frozen=True, eq=False)
class _Solution:
    """Multipliers (n,), vectors z_c = A_c u_c (C, d), live groups, and how many dimensions of either are free.

    `is_one_function`: no free masses change the value at any sample. `error`: what is left of the equations.
    """

    lam: FloatArray
    z: FloatArray
    live: IntArray
    free: Free
    is_one_function: bool
    error: float


def direction(state: State, core: Core) -> Limit:
    """Polish the limit direction of a state; the margins of `core` stay finite."""
    found = _solve(state, core)
    if found is None or not found.z.any():
        return unpolished(state, "the max-margin problem in the last pattern has no solution that could be found")
    cancels = float(np.abs(found.lam) @ np.linalg.norm(state.data.X, axis=1))
    if found.error > _UNSOLVED and np.finfo(np.float64).eps * cancels**2 > _UNSOLVED:
        return unpolished(
            state,
            "the max-margin problem in the last pattern is beyond doubles: what its multipliers move the neurons by is "
            f"{1 / cancels:.1g} of their sum; with features of one size (standardised) it is not",
        )
    wide, split_error = spread(state.groups, state.net, found.z)
    net = wide._with(wide.W / wide.norm, wide.a / wide.norm)
    residuals = residuals_of(state.groups, net, found.lam, state.data.y, core)
    turn = _angle(state.net, net)
    reasons, notes = _doubts(state, core, residuals, found, turn), _notes(state, found, core)
    reasons = reasons or events_to_come(state, core, found.lam, found.live)
    if not reasons:
        reasons, outside = _growing(state, core, found)
        if outside:
            notes += outside
            split_error = float("nan")
    limit = _limit(state, net, found.lam, residuals, (turn, split_error), (reasons, notes), found.free.masses)
    return replace(limit, margin=0.0) if core.rests.any() else limit  # rounding is left of margins at rest


def unpolished(state: State, reason: str) -> Limit:
    """Return the state's own direction, where nothing could be polished; its residuals are nan."""
    net, size = state.net, state.net.norm
    directed = is_of_margins(state.loss) and size > 0
    scaled = net._with(net.W / size, net.a / size) if directed else net
    nan = float("nan")
    return _limit(state, scaled, state.signed_weights, UNKNOWN, (nan, nan), ([reason], []))


def _limit(
    state: State,
    net: Network,
    lam: FloatArray,
    residuals: Residuals,
    distances: tuple[float, float],
    texts: tuple[list[str], list[str]],
    freedom: int = 0,
) -> Limit:
    reasons, notes = texts
    pattern = state.pattern if residuals.sign <= CERTIFIED_TOL else None
    net = net._with(net.W, net.a, pattern)
    support, held = np.flatnonzero(lam), state.held_pairs(net)
    for array in (lam, support, held):
        freeze(array)
    size, directed = net.norm, is_of_margins(state.loss)
    margin = float((state.data.y * net(state.data.X)).min()) / size**2 if size > 0 else 0.0
    return Limit(
        kind="direction" if directed else "finite",
        network=net,
        margin=margin if directed else float("nan"),
        duals=lam,
        support=support,
        held=held,
        residuals=residuals,
        certified=not reasons,
        reason="; ".join(reasons + notes),
        freedom=freedom,
        turn=distances[0],
        split_error=distances[1],
        gradient_norm=float("nan"),
    )


# --- the convex program ---


def _solve(state: State, core: Core) -> _Solution | None:
    """Solve the program on the samples of the smallest margins; violated ones join."""
    data, groups = state.data, state.groups
    grows = np.flatnonzero(~core.rests)
    order = grows[np.argsort(state.margins[grows], kind="stable")]
    weigh = int((state.log_weights[grows] > state.log_weights[grows].max() + np.log(_COUNTS)).sum())
    samples = np.sort(order[: max(_FIRST_SAMPLES, _PER_WEIGHT * weigh)])
    fixed, back, forth = _core_rows(state, core)
    while True:
        D = np.concatenate((_signed_maps(state, samples), fixed), axis=1)
        point = _point(state, D, samples, _rows_at_rest(state, core, samples, forth))
        if point is None:
            return None
        lam, k = np.zeros(data.n), len(samples)
        lam[samples] = data.y[samples] * point.dual[:k]
        lam[core.rests] = data.y[core.rests] * (back @ point.dual[k:])
        values = data.y * groups.values(point.z)
        joining = np.setdiff1d(grows[values[grows] < 1 - tolerance(D, point)], samples)
        if not len(joining):
            live = np.flatnonzero(point.live)
            is_one = not point.free.masses or _is_one_function(state, lam, live, point.free.masses)
            if core.rests.any():
                lam = standing(state, core, lam, live) if point.free.duals else lam
                lam = beside_boundaries(state, core, lam, live)
            has_mass = point.mass[:, None] > _NO_MASS * point.mass.max()
            z = groups.on_boundaries(np.where(has_mass, point.z, 0.0))
            free = point.free._replace(duals=point.free.duals + _n_beside(D, point, k))
            return _Solution(lam, z, live, free, is_one, point.error)
        samples = np.union1d(samples, joining)


def _n_beside(D: FloatArray, point: Point, k: int) -> int:
    """Count the samples, of k, at the least margin that have no multiplier, and could share those of the support."""
    margins = np.einsum("ckd,cd->k", D, point.z)
    is_sample = np.arange(D.shape[1]) < k
    beside = is_sample & ~point.support & (np.abs(margins - 1) <= tolerance(D, point))
    if not beside.any():
        return 0
    rows = D[point.live].transpose(1, 0, 2).reshape(D.shape[1], -1)
    rows = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), np.finfo(np.float64).tiny)
    can_give = (point.dual > _COUNTS * point.dual[:k].max()) | ~is_sample
    left = off(rows[beside], span(rows[can_give]))
    return int(np.count_nonzero(np.linalg.norm(left, axis=1) <= _RANK_TOL))


def _is_one_function(state: State, lam: FloatArray, live: IntArray, free: int) -> bool:
    """Whether masses that keep the margins of the support keep the values at all samples."""
    groups = state.groups
    values = groups.slope[live] * (groups.pulls(lam)[live] @ state.data.X.T)
    return bool(np.linalg.matrix_rank(values, tol=_VALUE_RANK_TOL * np.linalg.norm(values, 2)) == len(live) - free)


def _signed_maps(state: State, samples: IntArray) -> FloatArray:
    """D_c = diag(y) B_c of all groups on some samples, shape (C, k, d)."""
    groups = state.groups
    maps = [state.data.y[samples, None] * groups.map(c, samples) for c in range(len(groups))]
    return np.array(maps).reshape(len(groups), len(samples), state.data.d)


def _core_rows(state: State, core: Core) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Independent rows (C, r, d) for the samples at rest, and the matrices from their multipliers back, and forth.

    The former is (n_rests, r), the latter (r, n_rests).
    """
    rests = np.flatnonzero(core.rests)
    D = _signed_maps(state, rests)
    if not len(rests):
        return D, np.empty((0, 0)), np.empty((0, 0))
    flat = D.transpose(1, 0, 2).reshape(len(rests), -1)
    left, sizes, rows = svd(flat, full_matrices=False)
    keep = sizes > _RANK_TOL * max(float(sizes.max(initial=0.0)), float(np.linalg.norm(state.data.X, axis=1).max()))
    fixed = rows[keep].reshape(-1, len(D), state.data.d).transpose(1, 0, 2)
    return fixed, left[:, keep] / sizes[keep], (left[:, keep] * sizes[keep]).T


def _rows_at_rest(state: State, core: Core, samples: IntArray, forth: FloatArray) -> FloatArray:
    """Return the multipliers of the rows at rest beside the largest weight of some samples.

    They are what weights at rest that cancel leave; zeros where that is less than their rounding.
    """
    above = state.log_weights[core.rests] - state.log_weights[samples].max()
    if above.max(initial=0.0) > _LOST:
        return np.zeros(len(forth))
    return np.asarray(forth @ np.exp(above))


def _point(state: State, D: FloatArray, samples: IntArray, at_rest: FloatArray) -> Point | None:
    """Solve the program; `at_rest` are the multipliers that the state gives the rows of samples at rest."""
    n_free = len(at_rest)
    path, values = solve(D, n_free), _flow_values(state, D, samples, at_rest)
    if path is None:
        return None if values is None else _accepted(D, _from_state(D, n_free, values), len(samples))
    # At the end of the path dual_i slack_i and mass_c (1 - |u_c|²) are tiny: of each product, one factor is not.
    k = len(samples)
    size = float(path.dual[:k].sum())
    room = 1 - np.linalg.norm(np.einsum("ckd,k->cd", D, path.dual), axis=1) ** 2
    sets = (path.dual > path.slack * size) & (np.arange(D.shape[1]) < k), path.mass > room * size
    point = polish(D, n_free, sets, path.dual, path.mass)
    # A group that grows as fast as the live ones is one of them where the network is not unique: the flow tells.
    u = np.einsum("ckd,k->cd", D, point.dual)
    live = (point.live | (np.abs(np.linalg.norm(u, axis=1) - 1) <= _RATE_TOL)) & ~_shrink(state, u)
    is_unique = not point.free.duals and not point.free.masses and (live == point.live).all()
    if is_unique or values is None:
        return point
    own = _accepted(D, polish(D, n_free, *nearest(D, n_free, point, live, values)), k)
    if own is None and point.error > tolerance(D, point):
        own = _accepted(D, _from_state(D, n_free, values), k)
    return point if own is None else own


def _shrink(state: State, u: FloatArray) -> npt.NDArray[np.bool_]:
    """Tell which groups have the direction opposite to s_c u_c in their own cell: their neurons shrink along it.

    One whose s_c u_c is beyond some boundaries only is to cross them, and counts in the limit of the present pattern.
    """
    z = (state.groups.sign[:, None] * u) @ state.data.X.T
    return np.asarray((state.groups.pattern * z <= _OUTSIDE * np.linalg.norm(state.data.X, axis=1)).all(axis=1))


def _accepted(D: FloatArray, point: Point, k: int) -> Point | None:
    """Return a point that solves the equations and has no multiplier or mass of the wrong sign, of k samples."""
    smallest, tol = min(float(point.dual[:k].min()), float(point.mass.min())), tolerance(D, point)
    is_solved = point.error <= tol and smallest >= -tol * float(point.dual[:k].sum())
    return point if is_solved else None


def _from_state(D: FloatArray, n_free: int, values: tuple[FloatArray, FloatArray]) -> Point:
    """Polish from the values of the state, on the sets that it shows."""
    dual, mass = values
    speed = np.linalg.norm(np.einsum("ckd,k->cd", D, dual), axis=1)
    support = (dual > _COUNTS * dual.max()) & (np.arange(len(dual)) < len(dual) - n_free)
    live = (speed > 1 - _TOGETHER) & (mass > _COUNTS * mass.max())
    return polish(D, n_free, (support, live), dual, mass)


def _flow_values(
    state: State, D: FloatArray, samples: IntArray, at_rest: FloatArray
) -> tuple[FloatArray, FloatArray] | None:
    """Scale the multipliers and masses of the state itself to |u_c| = 1 and to margins of 1, if it has both."""
    log_weights = state.log_weights[samples]
    dual = np.concatenate((np.exp(log_weights - log_weights.max()), at_rest))
    of_samples = dual[: len(samples)]
    margin = float(of_samples @ state.margins[samples]) / of_samples.sum()
    largest = float(np.linalg.norm(np.einsum("ckd,k->cd", D, dual), axis=1).max())
    if not (largest > 0 and margin > 0):
        return None
    dual /= largest
    of = state.groups.of
    mass = np.bincount(of[of >= 0], weights=state.net.a[of >= 0] ** 2, minlength=len(state.groups))
    return dual, np.asarray(mass / margin)


# --- doubts ---


def _doubts(state: State, core: Core, residuals: Residuals, found: _Solution, turn: float) -> list[str]:
    reasons = late_phase(state, core)
    if not turn <= MAX_TURN:
        reasons.append(f"the state still turns a lot, {turn:.2g} rad to the limit of its pattern: integrate further")
    if residuals.sign > CERTIFIED_TOL:
        reasons.append(f"the limit of the last pattern violates its signs by {residuals.sign:.2g}: events are to come")
    stays = stay_on_dependent(
        state.groups, found.lam + of_core(state.groups, found.lam, core, state.net.leak), state.net.leak
    )
    if stays is None:
        reasons.append("a neuron stays on many dependent boundaries of which one repels: whether it can is not checked")
    if stays is False:
        reasons.append("a neuron stays on dependent boundaries that it will leave, or may: events are to come")
    others = (residuals.stationarity, residuals.complementarity, residuals.primal)
    if not reasons and not max(others) <= _tolerance(state, found):
        reasons.append(f"the largest residual is {max(others):.2g}")
    return reasons


def _tolerance(state: State, found: _Solution) -> float:
    """Return what rounding may leave of margins Σ z_c·x_i of 1, and of sums Σ λ_i x_i of norm 1, that cancel."""
    norms = np.linalg.norm(state.data.X, axis=1)
    terms = max(float(np.linalg.norm(found.z, axis=1).sum() * norms.max()), float(np.abs(found.lam) @ norms))
    return min(max(CERTIFIED_TOL, ROUNDINGS * float(np.finfo(np.float64).eps) * terms), _LARGEST_TOL)


def _notes(state: State, found: _Solution, core: Core) -> list[str]:
    notes = []
    if core.rests.any():
        rests = np.flatnonzero(core.rests) if state.numbers is None else state.numbers[core.rests]
        notes.append(f"margins that stay finite in this pattern: samples {names(rests)}")
    if found.free.masses:
        what = "function is" if found.is_one_function else "margin and the multipliers are"
        kind = f"a continuum of dimension {found.free.masses}"
        if found.free.unknown:
            kind += f", {found.free.unknown} of it within the rounding of multipliers that cancel"
        notes.append(
            f"the network is not unique ({kind}): the {what} certified, and of the networks this is the nearest to the "
            "flow's"
        )
    if found.free.duals:
        notes.append(
            f"the multipliers are not unique ({found.free.duals} free dimensions): these are the nearest to the flow's"
        )
    return notes


def _growing(state: State, core: Core, found: _Solution) -> tuple[list[str], list[str]]:
    """Follow the neurons outside the limit to their ends under its multipliers.

    Returns what speaks against the limit, neurons that would outgrow it or start groups of their own, and what is to be
    said of others: those that will join groups it has, and those whose own groups would be nothing beside it.
    """
    groups, net = state.groups, state.net
    own = found.live[found.z[found.live].any(axis=1)]  # others of the live ones may point into cells of these
    rows = np.flatnonzero((groups.of >= 0) & ~np.isin(groups.of, own) & net.W.any(axis=1))
    stands = np.linalg.norm(groups.pulls(found.lam), axis=1) <= _STANDS
    rows = rows[~(stands & core.rests.any())[groups.of[rows]]]
    if not len(rows):
        return [], []
    lam = found.lam + of_core(state.groups, found.lam, core, state.net.leak)
    flow = start(state.data.X, lam, net.leak, net.W[rows], groups.sign[groups.of[rows]], state.pattern[rows])
    flow.run()
    reasons, notes = [], []
    rate = np.where(flow.status == 0, np.linalg.norm(flow.pull, axis=1), 0.0)
    if (rate > 1 + _RATE_TOL).any():
        reasons.append(f"neurons outside the limit will outgrow it: {names(rows[rate > 1 + _RATE_TOL])}")
    joins = np.abs(rate - 1) <= _RATE_TOL
    cells = np.column_stack((groups.sign, groups.pattern))[found.live]
    ends = np.column_stack((flow.sign, flow.pattern))
    in_group = joins & (ends[:, None] == cells[None]).all(axis=2).any(axis=1)
    if in_group.any():
        notes.append(
            f"neurons will join groups of the limit, which does not change its function: {names(rows[in_group])}"
        )
    of_starts, of_faint = _with_own_groups(state, found, rows[joins & ~in_group])
    reasons, notes = reasons + of_starts, notes + of_faint
    if flow.reasons:
        reasons.append(f"neurons outside the limit are undecided: {names(rows[sorted(flow.reasons)])}")
    return reasons, notes


def _with_own_groups(state: State, found: _Solution, rows: IntArray) -> tuple[list[str], list[str]]:
    """Say of neurons that end as fast as the limit in none of its groups: they keep the part of it that they have."""
    squares = state.net.a**2
    part = squares[rows] / squares[np.isin(state.groups.of, found.live)].sum()
    is_faint = part <= _FAINT
    reasons, notes = [], []
    if not is_faint.all():
        reasons.append(f"neurons outside the limit will start new groups of it: {names(rows[~is_faint])}")
    if is_faint.any():
        of_them = f"a part of {part[is_faint].sum():.1g} of the limit"
        notes.append(f"neurons will keep groups of their own, {of_them}: {names(rows[is_faint])}")
    return reasons, notes


def _angle(net: Network, other: Network) -> float:
    """Angle between two networks as vectors, exact for small ones too."""
    gap = np.linalg.norm(net.theta / net.norm - other.theta / other.norm)
    return float(2 * np.arcsin(min(1.0, 0.5 * float(gap))))
