"""The finite limit: a critical point of the loss in the last pattern, where every pull on a live group vanishes."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from .._validation import FloatArray, freeze
from ..losses import is_of_margins, log_curvatures, loss_arguments
from ..networks import Network
from ._checks import Residuals, clipped_pulls, pattern_violation
from ._core import Core
from ._direction import CERTIFIED_TOL, unpolished
from ._kernel import tangent_kernel
from ._limit import Limit
from ._point import Point, point_of
from ._state import State, output_terms

# Gauss-Newton steps for the weights; from a state near the point some 5 are taken.
_WEIGHT_STEPS = 30
# Singular values below this part of the largest are zero.
_RANK_TOL = 1e-11
# The flow runs into the set of critical points at right angles, up to the square of its distance: a distance above
# this part of |θ| leaves the point uncertain by more than the square of it.
MAX_DISTANCE = 1e-4
# A state further than this from the critical point of its pattern has nothing to do with it.
_FAR = 1.0
# Gauss-Newton steps that lead so far away do not come back.
_LOST = 30.0
# Roundings of the terms of an output that its multiplier may be off by, as they add up over neurons and dimensions.
_ROUNDINGS = 8.0
# A neuron adds nothing to the outputs below this part of them: 16 roundings.
_NOTHING = 16.0 * float(np.finfo(np.float64).eps)
# One of which the polish takes more than this part is on its way to zero.
TAKEN_AWAY = 0.5
# Beside an output weight that stays, w below this part of it that adds nothing is what rounding has left of zero.
_ROUNDED = 1e-6
# No residual above this is certified, whatever rounding leaves.
_LARGEST_TOL = 1e-8


def finite(state: State, core: Core) -> Limit:
    """Polish the critical point next to a state none of whose margins can grow for ever, or say that none is near."""
    net = _without_vanished(state, _take_values(state, core.values))
    distance = float(np.linalg.norm(state.net.theta - net.theta)) / _unit(state)
    if not distance <= _FAR:
        of_margins = f"the smallest margin is {state.margins.min():.3g}, and " if is_of_margins(state.loss) else ""
        far = f"the critical point of the last pattern is {distance:.2g} |θ| away"
        return unpolished(state, f"the late phase is not reached: {of_margins}{far}")
    return _limit(state, net, distance)


def _unit(state: State) -> float:
    """Return |θ|, or the size of a neuron with a margin of 1, where the network itself is smaller."""
    return float(max(state.net.norm, np.linalg.norm(state.data.X, axis=1).max() ** -0.5))


def _limit(state: State, net: Network, distance: float) -> Limit:
    here = State.of(state.data, net._with(net.W, net.a, state.pattern), state.loss)
    fits = here.is_fitted
    lam = here.duals if fits else here.known_duals
    pulls = clipped_pulls(here.groups, lam, net.leak)
    moving = np.flatnonzero(here.groups.of >= 0)
    g = pulls.g[here.groups.of[moving]]
    along = np.einsum("jd,jd->j", g, net.W[moving])
    gradient = float(np.hypot(np.linalg.norm(net.a[moving, None] * g), np.linalg.norm(along)))
    unit = float((here.error_sizes if fits else np.abs(lam)) @ np.linalg.norm(state.data.X, axis=1))
    unit = max(unit, float(np.finfo(np.float64).tiny))  # no target and no network: nothing pulls
    sign = max(float(pulls.excess.max(initial=0.0)) / unit, pattern_violation(here.groups, net))
    residuals = Residuals(gradient / (unit * net.norm) if net.norm > 0 else gradient, 0.0, 0.0, sign)
    tolerance = point_tolerance(state, net, unit)
    reasons = doubts_of_point(residuals, distance, f"its norm is {gradient:.2g}", tolerance)
    pattern = state.pattern if sign <= CERTIFIED_TOL else None
    support, held = np.arange(state.data.n), here.held_pairs(net)
    limit = net._with(net.W, net.a, pattern)
    point = Point("not decided")
    if not reasons:
        point = Point("global") if fits else point_of(here.groups, limit, lam)
        # A neuron of rounding may be on its way to zero or rest there: near zero it would have other ways to go.
        nothing = is_nothing(net.W, net.a[:, None], state.data.X, net(state.data.X))[moving].any()
        point = Point("not decided") if point.kind == "local minimum" and nothing else point
    for array in (support, held, lam):
        freeze(array)
    return Limit(
        kind="finite",
        network=limit,
        margin=_margin(here, net),
        duals=lam,
        support=support,
        held=held,
        residuals=residuals,
        certified=not reasons,
        reason="; ".join(reasons),
        freedom=_freedom(here),
        turn=distance,
        split_error=distance**2,
        gradient_norm=gradient,
        curvature=_curvature(here, net),
        point=point.kind,
        escape=point.escape,
    )


def _margin(state: State, net: Network) -> float:
    if not is_of_margins(state.loss):
        return float("nan")
    return float(state.margins.min() / net.norm**2) if net.norm > 0 else 0.0


def _freedom(state: State) -> int:
    """Count the dimensions of the groups' vectors Σ a_j w_j in which no output changes."""
    groups = state.groups
    if not len(groups):
        return 0
    maps = np.concatenate([groups.map(c) for c in range(len(groups))], axis=1)
    reach = sum(state.data.rank - len(basis) for basis in groups.bases)
    return int(reach - np.linalg.matrix_rank(maps, tol=_RANK_TOL * np.linalg.norm(maps, 2)))


def _curvature(state: State, net: Network) -> float:
    """Smallest eigenvalue that is not rounding of J diag(c ℓ'') Jᵀ, the Hessian where the pulls vanish; or nan."""
    root = np.sqrt(state.data.counts * np.exp(log_curvatures(state.margins, state.loss)))
    gram = root[:, None] * tangent_kernel(state.groups, net) * root
    sizes = np.linalg.eigvalsh(gram)
    sizes = sizes[sizes > _RANK_TOL * sizes[-1]]
    return float(sizes[0]) if sizes.size else float("nan")


def point_tolerance(state: State, net: Network, unit: float) -> float:
    """Return what rounding of the outputs leaves of the gradient, a part of its terms `unit`, see `rounding_left`."""
    data = state.data
    sizes = output_terms(data.X, net) + (0.0 if is_of_margins(state.loss) else np.abs(data.y))
    bends = data.counts * np.exp(log_curvatures(loss_arguments(data, net(data.X), state.loss), state.loss))
    return rounding_left(float((bends * sizes) @ np.linalg.norm(data.X, axis=1)) / unit)


def rounding_left(terms: float) -> float:
    """Return the part of the gradient's terms that rounding may leave, where those of the outputs are `terms` as large.

    Outputs of neurons that cancel have terms far larger than what the duals come to.
    """
    return min(max(CERTIFIED_TOL, _ROUNDINGS * float(np.finfo(np.float64).eps) * terms), _LARGEST_TOL)


def doubts_of_point(residuals: Residuals, distance: float, gradient: str, tolerance: float) -> list[str]:
    """Return why a critical point at this distance is not certified; `gradient` says how large it is there."""
    reasons = []
    if not distance <= MAX_DISTANCE:
        reasons.append(f"the state is still {distance:.2g} |θ| away from the critical point: integrate further")
    if not residuals.sign <= CERTIFIED_TOL:
        reasons.append(f"the critical point violates the last pattern by {residuals.sign:.2g}: events are to come")
    if not residuals.stationarity <= tolerance:
        reasons.append(f"the gradient does not vanish: {gradient}")
    return reasons


def _take_values(state: State, values: FloatArray) -> Network:
    """Find the weights nearest to the state's whose network has these values in the pattern, by Gauss-Newton."""
    groups, X = state.groups, state.data.X
    moving = np.flatnonzero(groups.of >= 0)
    own = groups.of[moving]
    W, a = np.array(state.net.W), np.array(state.net.a)
    W[state.shrinks], a[state.shrinks] = 0.0, 0.0
    tolerance = 4 * np.finfo(np.float64).eps * max(1.0, float(np.abs(values).max()))
    size = _unit(state)
    for _ in range(_WEIGHT_STEPS):
        if not np.hypot(np.linalg.norm(W - state.net.W), np.linalg.norm(a - state.net.a)) <= _LOST * size:
            break
        active = groups.slope[own] * (W[moving] @ X.T)
        gap = values - a[moving] @ active
        if np.abs(gap).max() <= tolerance:
            break
        gram = tangent_kernel(groups, Network(W, a, leak=state.net.leak))
        lam = _solved(gram, gap)
        W[moving] += a[moving, None] * groups.pulls(lam)[own]
        a[moving] += active @ lam
    return state.net._with(W, a)


def _without_vanished(state: State, net: Network) -> Network:
    """Take for zero what falls for ever and is rounding: w beside an output weight that stays, or a whole neuron.

    The polish takes such a neuron away: its product a w falls like 1/t. The side on which rounding has left w says
    nothing, and the output weight follows from a² - |w|², which the flow keeps.
    """
    old, a = state.net, net.a
    size, old_size = np.linalg.norm(net.W, axis=1), np.linalg.norm(old.W, axis=1)
    moved = np.hypot(np.linalg.norm(net.W - old.W, axis=1), a - old.a)
    nothing = is_nothing(net.W, a[:, None], state.data.X, net(state.data.X))
    whole = nothing & (moved > TAKEN_AWAY * np.hypot(old_size, old.a))
    rounded = nothing & ~whole & (size <= _ROUNDED * np.abs(a)) & (old_size < np.abs(old.a))
    kept = np.sqrt(np.abs(old.a - old_size)) * np.sqrt(np.abs(old.a + old_size))
    a = np.where(whole, 0.0, np.where(rounded, np.copysign(kept, a), a))
    return net._with(np.where((whole | rounded)[:, None], 0.0, net.W), a)


def is_nothing(W: FloatArray, a: FloatArray, X: FloatArray, f: FloatArray) -> npt.NDArray[np.bool_]:
    """Tell which neurons add to outputs `f` no more than rounding, `a` of the shape (m, K), shape (m,)."""
    reach = np.linalg.norm(W, axis=1) * np.linalg.norm(a, axis=1) * float(np.linalg.norm(X, axis=1).max())
    return np.asarray(reach <= _NOTHING * max(1.0, float(np.abs(f).max())))


def _solved(gram: FloatArray, gap: FloatArray) -> FloatArray:
    """Least squares with a symmetric matrix of products, from its eigenvectors, which takes a fifth of the time."""
    sizes, vectors = np.linalg.eigh(gram)
    kept = sizes > _RANK_TOL * sizes[-1]
    basis = vectors[:, kept]
    return np.asarray(basis @ ((gap @ basis) / sizes[kept]))
