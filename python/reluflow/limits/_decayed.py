"""The finite limit with weight decay: a critical point of L + γ/2 |θ|².

There a live neuron has γ w_j = a_j g_c and γ a_j = g_c·w_j, with g_c = u_c the pull on its group: |u_c| = γ, and the
neurons of a group are one vector v_c = Σ a_j w_j = s_c u_c with s_c = |v_c|/γ. In the pattern of the state the values
f = Σ s_c B_c u_c with u_c = B_cᵀ λ(f) are those of the minimum of L(Σ B_c v_c) + γ Σ |v_c|, which is convex (a group
lasso). Its equations f - K(s) λ(f) = 0 and |u_c|² = γ² are solved by Newton; groups with |u_c| < γ vanish. The last
digits are those of the vectors, where γ is far below |λ|.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from .._linear_algebra import least_squares
from .._validation import FloatArray, freeze
from ..kinks._boundaries import off
from ..losses import duals, duals_of, is_of_margins, log_curvatures, loss_arguments
from ..networks import Network
from ._checks import Residuals, clipped_pulls, pattern_violation
from ._direction import CERTIFIED_TOL, unpolished
from ._finite import doubts_of_point, point_tolerance
from ._groups import Groups
from ._kkt import symmetric_least_squares, weighted_gram
from ._limit import Limit
from ._point import Point, point_with_decay
from ._state import State
from ._vanishing import doubts_of_vanishing

# Newton steps on the equations: from a state near the point some 5 are taken.
_STEPS = 40
# More of them in λ, from where it is this near to λ(f).
_LAST_STEPS = 6
_NEAR = 1e-3
# Steps in the vectors of the groups: the values are there already, and one or two add what rounding has left of these.
_VECTOR_STEPS = 6
# Directions that are softer than the stiffest by this factor are rounding.
_SOFTEST = 1e-14


_Values: TypeAlias = tuple[FloatArray, FloatArray, FloatArray]  # f, λ and the sizes of the live groups


class _Found(NamedTuple):
    """Values f, their λ, sizes s_c of all groups, and in how many dimensions these are not determined."""

    f: FloatArray
    lam: FloatArray
    sizes: FloatArray
    freedom: int


def decayed(state: State, decay: float) -> Limit:
    """Polish the critical point next to a state, with γ = `decay` beside the summed loss, or say that none is near."""
    found = _solve(state, decay)
    net = _network(state, found.sizes > 0, _vectors(state, found, decay))
    size = max(state.net.norm, float(np.linalg.norm(state.data.X, axis=1).max()) ** -0.5)
    distance = float(np.linalg.norm(state.net.theta - net.theta)) / size
    if not distance <= 1.0:
        return unpolished(state, f"the critical point of the last pattern is {distance:.2g} |θ| away")
    return _limit(state, net, decay, distance, found)


def _solve(state: State, decay: float) -> _Found:
    """Newton on the live groups; those whose size turns negative leave."""
    groups, net = state.groups, state.net
    pulls = groups.pulls(state.duals)
    vectors = np.zeros_like(pulls)
    moving = groups.of >= 0
    np.add.at(vectors, groups.of[moving], net.a[moving, None] * net.W[moving])
    sizes = np.linalg.norm(vectors, axis=1) / decay
    # In the limit either s_c or what |u_c| lacks of γ is zero, and the other is not: the smaller one tends to zero.
    lacks = 1 - np.linalg.norm(pulls, axis=1) / decay
    live = (lacks <= 0) | (sizes > lacks * sizes.max(initial=0.0))
    while True:
        found = _newton(state, np.where(live, sizes, 0.0), live, decay)
        worst = int(np.argmin(found.sizes)) if len(found.sizes) else 0
        if not len(found.sizes) or found.sizes[worst] >= 0.0:
            return found
        live[worst] = False


def _newton(state: State, sizes: FloatArray, live: npt.NDArray[np.bool_], decay: float) -> _Found:
    """Newton in f, then in λ: errors y - f that are small beside f have few digits, and s B u multiplies the rest."""
    groups, data = state.groups, state.data
    B = np.array([groups.map(int(c)) for c in np.flatnonzero(live)]).reshape(-1, data.n, data.d)
    f, s = state.net(data.X), sizes[live]
    best = (f, duals(data, f, state.loss), s)
    least, freedom = np.inf, 0
    for _ in range(_STEPS):
        lam = duals(data, f, state.loss)
        at = _Equations.at(state, B, (f, lam, s), decay)
        error = max(float(np.abs(at.gap).max()), at.missed)
        if not error < least:
            break
        least, best = error, (f, lam, s)
        turned, grown, freedom = at.step()
        f, s = f + weighted_gram(B, s) @ turned + grown @ at.effect - at.gap, s + grown
    best = _sharpened(state, B, best, decay)
    return _Found(*best[:2], _placed(best[2], live), freedom)


def _sharpened(state: State, B: FloatArray, point: _Values, decay: float) -> _Values:
    """Newton in λ with f = Σ s_c B_c u_c, while λ comes nearer to λ(f)."""
    _, lam, s = point
    f = weighted_gram(B, s) @ lam
    least = np.inf
    for _ in range(_LAST_STEPS):
        at = _Equations.at(state, B, (f, lam, s), decay)
        apart = float(np.abs(at.apart).max()) / max(float(np.abs(lam).max()), np.finfo(np.float64).tiny)
        error = max(apart, at.missed)
        if not error < min(least, _NEAR):
            break
        least, point = error, (f, lam, s)
        turned, grown, _ = at.step()
        lam, s = lam + turned, s + grown
        f = weighted_gram(B, s) @ lam
    return point


class _Equations(NamedTuple):
    """f - K(s) λ = `gap`, λ(f) - λ = `apart` and ½(γ² - |u_c|²) = `missing`, all to be zero, about (f, λ, s)."""

    B: FloatArray
    s: FloatArray
    root: FloatArray  # of -dλ/df
    effect: FloatArray  # B_c u_c
    gap: FloatArray
    apart: FloatArray
    missing: FloatArray
    decay: float

    @classmethod
    def at(cls, state: State, B: FloatArray, point: _Values, decay: float) -> _Equations:
        f, lam, s = point
        data = state.data
        root = np.sqrt(data.counts * np.exp(log_curvatures(loss_arguments(data, f, state.loss), state.loss)))
        u = np.einsum("ckd,k->cd", B, lam)
        effect = np.einsum("ckd,cd->ck", B, u)
        missing = 0.5 * (decay**2 - (u * u).sum(axis=1))
        return cls(B, s, root, effect, f - s @ effect, duals(data, f, state.loss) - lam, missing, decay)

    @property
    def missed(self) -> float:
        return float(np.abs(self.missing).max(initial=0.0)) / self.decay**2

    def step(self) -> tuple[FloatArray, FloatArray, int]:
        """Return δλ and δs, and in how many dimensions s is free."""
        n, k = len(self.root), len(self.s)
        gram = weighted_gram(self.B, self.s)
        coupled = -self.effect * self.root
        # Sizes in a unit in which they couple like 1: as large as the inputs squared, they would hide the ones beside.
        size = float(np.abs(coupled).max(initial=0.0)) or 1.0
        coupled /= size
        inner = np.eye(n) + self.root[:, None] * gram * self.root
        matrix = np.block([[inner, coupled.T], [coupled, np.zeros((k, k))]])
        first = self.root * (gram @ self.apart - self.gap)
        second = (self.missing - self.effect @ self.apart) / size
        found, (_, freedom) = symmetric_least_squares(matrix, np.concatenate((first, second)), n)
        # δλ = apart - root ε, which gives δf also where its root vanishes.
        return self.apart - self.root * found[:n], found[n:] / size, freedom


def _placed(sizes: FloatArray, live: npt.NDArray[np.bool_]) -> FloatArray:
    full = np.zeros(len(live))
    full[live] = sizes
    return full


def _vectors(state: State, found: _Found, decay: float) -> FloatArray:
    """Newton on B_cᵀ λ(Σ B v) = γ v_c/|v_c| in the vectors of the live groups, which begin as s_c u_c.

    Where λ is far above γ, pulls are differences, off by a part ε |λ| |x| / γ from rounding, and so are the s_c u_c. Of
    vectors outputs have all digits, and λ(f) with them.
    """
    groups, data = state.groups, state.data
    live = np.flatnonzero(found.sizes > 0)
    full = found.sizes[:, None] * groups.pulls(found.lam)
    if not len(live):
        return full
    B = np.array([groups.map(int(c)) for c in live])
    flat = np.moveaxis(B, 0, 1).reshape(data.n, -1)
    bases = [groups.bases[c] for c in live]
    v = np.array([off(of_group, basis) for of_group, basis in zip(full[live], bases, strict=True)])
    least = np.inf
    for _ in range(_VECTOR_STEPS):
        f = flat @ v.ravel()
        sizes = np.linalg.norm(v, axis=1)
        if not sizes.all():
            break
        along = v / sizes[:, None]
        lacks = np.einsum("ckd,k->cd", B, duals(data, f, state.loss)) - decay * along
        error = float(np.abs(lacks).max())
        if not error < least:
            break
        least, full[live] = error, v
        bends = data.counts * np.exp(log_curvatures(loss_arguments(data, f, state.loss), state.loss))
        matrix = flat.T @ (bends[:, None] * flat)
        for c, direction in enumerate(along):
            own = slice(c * data.d, (c + 1) * data.d)
            matrix[own, own] += decay / sizes[c] * (np.eye(data.d) - np.outer(direction, direction))
        turned = least_squares(matrix, lacks.ravel(), _SOFTEST).reshape(v.shape)
        v = np.array([off(of_group, basis) for of_group, basis in zip(v + turned, bases, strict=True)])
    return full


def _network(state: State, live: npt.NDArray[np.bool_], vectors: FloatArray) -> Network:
    """Build the balanced network of these vectors of its groups, split in each as the state is."""
    groups, net = state.groups, state.net
    W, a = np.zeros_like(net.W), np.zeros_like(net.a)
    for c in np.flatnonzero(live):
        rows = groups.members(int(c))
        share = np.abs(net.a[rows]) * np.linalg.norm(net.W[rows], axis=1)
        size = float(np.linalg.norm(vectors[c]))
        if not share.any() or size == 0.0:
            continue
        share = np.sqrt(share / share.sum())
        a[rows] = groups.sign[c] * np.sqrt(size) * share
        W[rows] = a[rows, None] * vectors[c] / size
    return Network(W, a, leak=net.leak)


def _limit(state: State, net: Network, decay: float, distance: float, found: _Found) -> Limit:
    data = state.data
    lam = duals_of(data, loss_arguments(data, net(data.X), state.loss), state.loss)
    pulls = clipped_pulls(state.groups, lam, net.leak)
    gradient = _gradient(state.groups, net, pulls.g, decay)
    unit = float(np.abs(lam) @ np.linalg.norm(data.X, axis=1)) + decay
    live = np.isin(np.arange(len(pulls.g)), state.groups.of[net.a != 0])
    grows = float((np.linalg.norm(pulls.g[~live], axis=1) - decay).max(initial=0.0))
    excess = float(pulls.excess[live].max(initial=0.0))
    sign = max(excess / unit, grows / unit, pattern_violation(state.groups, net))
    residuals = Residuals(gradient / (unit * (net.norm if net.norm > 0 else 1.0)), 0.0, 0.0, sign)
    tolerance = point_tolerance(state, net, unit)
    reasons = doubts_of_point(residuals, distance, f"it is {residuals.stationarity:.2g} of its terms", tolerance)
    limit = Network(net.W, net.a, leak=net.leak, pattern=state.pattern if sign <= CERTIFIED_TOL else None)
    point = point_with_decay(state.groups, limit, lam, decay) if not reasons else Point("not decided")
    if not reasons and point.kind != "global":
        vanish = np.flatnonzero((state.groups.of >= 0) & (net.a == 0) & state.net.W.any(axis=1))
        reasons = doubts_of_vanishing(state, vanish, lam, decay, unit)
        point = Point("not decided") if reasons else point
    support, held = np.arange(data.n), state.held_pairs(net)
    for array in (support, held, lam):
        freeze(array)
    said = [*reasons, "the network is not unique in its pattern, its outputs are"] if found.freedom else reasons
    return Limit(
        kind="finite",
        network=limit,
        margin=_margin(state, net),
        duals=lam,
        support=support,
        held=held,
        residuals=residuals,
        certified=not reasons,
        reason="; ".join(said),
        freedom=found.freedom,
        turn=distance,
        split_error=distance,
        gradient_norm=gradient,
        point=point.kind,
        escape=point.escape,
    )


def _gradient(groups: Groups, net: Network, g: FloatArray, decay: float) -> float:
    """Norm of the least subgradient of L + γ/2 |θ|²; neurons of no group are zero."""
    moving = np.flatnonzero(groups.of >= 0)
    own, W, a = g[groups.of[moving]], net.W[moving], net.a[moving]
    first = np.linalg.norm(a[:, None] * own - decay * W)
    second = np.linalg.norm(np.einsum("jd,jd->j", own, W) - decay * a)
    return float(np.hypot(first, second))


def _margin(state: State, net: Network) -> float:
    if not is_of_margins(state.loss):
        return float("nan")
    return float((state.data.y * net(state.data.X)).min() / net.norm**2) if net.norm > 0 else 0.0
