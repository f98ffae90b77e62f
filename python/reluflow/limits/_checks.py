"""Residuals of a limit, computed from the network and λ alone: the certificate does not trust the solver."""

from __future__ import annotations

from dataclasses import astuple, dataclass

import numpy as np
from scipy.optimize import lsq_linear

from .._linear_algebra import least_squares
from .._validation import FloatArray
from ..kinks._boundaries import Boundaries
from ..networks import Network
from ._core import Core
from ._groups import Groups
from ._rays import ON_BOUNDARY, climbing

# λ of samples at rest is infinitely larger than that of the others in the limit. Here it is so many times as large, and
# larger still where what the others ask of a sample at rest would be more than a part of it.
_CORE_FACTOR = 1e3
_CORE_PART = 0.1


@dataclass(frozen=True)
class Residuals:
    """How well each line of the KKT conditions holds, in units of the solution; 0 is exact.

    Attributes
    ----------
    stationarity : float
        |θ - Σ λ_i h_i| / |θ| with h_i in the Clarke subdifferential of q_i; for a critical point |∇L| in units of
        |θ| Σ |λ_i||x_i|, where samples are interpolated, with the size of the outputs in place of |λ_i|.
    complementarity : float
        max |λ_i||q_i - 1| / Σ|λ|; 0 for a critical point, which has no such condition.
    primal : float
        max (1 - q_i)₊; 0 for a critical point.
    sign : float
        The largest violation of a sign: y_i λ_i >= 0 (in units of Σ|λ|), a held multiplier outside [leak, 1] (as
        a part of the pull on its neuron), or a pre-activation (in units of |w_j||x_i|) that contradicts the pattern.
    """

    stationarity: float
    complementarity: float
    primal: float
    sign: float

    @property
    def largest(self) -> float:
        """The largest of the four; nan if one is nan."""
        return float(np.max(astuple(self)))


UNKNOWN = Residuals(*[float("nan")] * 4)  # of what is no point that was polished


@dataclass(frozen=True, eq=False)
class Pulls:
    """g_c = Σ λ_i s_ci x_i of each group with held multipliers put into [leak, 1], and by how much they had to be."""

    g: FloatArray
    excess: FloatArray


def of_core(groups: Groups, lam: FloatArray, core: Core, leak: float) -> FloatArray:
    """Return multipliers of the samples at rest beside which λ decides nothing of these, shape (n,)."""
    sizes = np.abs(core.duals)
    ratios = np.abs(lam) / np.where(sizes > 0, sizes, np.inf)
    largest = max(float(ratios.max(initial=0.0)), _held_part(groups, lam, core, leak))
    return np.asarray(max(_CORE_FACTOR, largest / _CORE_PART) * core.duals)


def _held_part(groups: Groups, lam: FloatArray, core: Core, leak: float) -> float:
    """Return what λ asks of boundaries of samples at rest that hold a group, in units of what these can give."""
    largest = 0.0
    for c in range(len(groups)) if core.rests.any() else ():
        held = groups.held_boundaries(c)
        width = np.array([_width(groups.boundaries, int(k), core.duals, leak) for k in held])
        if not width.any():
            continue
        drive = (groups.slope[c] * lam) @ groups.X
        need = np.abs(least_squares(groups.boundaries.normal[held].T, -drive))
        largest = max(largest, float((need / np.where(width > 0, width, np.inf)).max()))
    return largest


def _width(boundaries: Boundaries, boundary: int, lam: FloatArray, leak: float) -> float:
    """Return the length of the interval of a multiplier; zero where samples of both labels cancel to rounding."""
    lower, upper = boundaries.edges(boundary, lam, leak)
    rows = boundaries.members(boundary)
    terms = float(np.abs(lam[rows] * boundaries.reach[rows]).sum())
    return abs(upper - lower) if abs(upper - lower) > ON_BOUNDARY * terms else 0.0


def clipped_pulls(groups: Groups, lam: FloatArray, leak: float, at_rest: FloatArray | None = None) -> Pulls:
    """Compute the pulls of all groups, the held boundaries at the multipliers that come nearest to holding.

    Multipliers solve K_HH (λ_H ∘ s_H) = -K_HA (λ_A ∘ s_A); parallel samples share one. Those of samples at rest
    (`at_rest`) pull no group, so that they say which multipliers hold and nothing else.
    """
    drives = (groups.slope * lam) @ groups.X
    beside = np.zeros_like(drives) if at_rest is None else (groups.slope * at_rest) @ groups.X
    both = lam if at_rest is None else lam + at_rest
    excess = np.zeros(len(groups))
    edges_of = np.sort(np.column_stack(groups.boundaries.all_edges(both, leak)), axis=1)
    for c in range(len(groups)):
        held = groups.held_boundaries(c)
        if not len(held):
            continue
        normals, edges = groups.boundaries.normal[held], edges_of[held]
        need, need_beside = least_squares(normals.T, -np.column_stack((drives[c], beside[c]))).T
        wanted = need + need_beside
        nearest = wanted
        if len(held) > len(groups.bases[c]):
            nearest = _within(normals, drives[c] + beside[c], edges, wanted)
        given = np.clip(nearest, edges[:, 0], edges[:, 1])
        excess[c] = np.abs(nearest - given).max()
        drives[c] += (need + (given - wanted)) @ normals
    return Pulls(drives, excess)


def _within(normals: FloatArray, drive: FloatArray, edges: FloatArray, need: FloatArray) -> FloatArray:
    """Return multipliers of dependent boundaries inside their intervals that come nearest to -drive, if need be.

    They are not unique. Where all boundaries attract, their box is the Clarke subdifferential at any rank
    (docs/design/mathematics.md, section 4), so any that balance the gradient will do.
    """
    low, high = edges.T
    if (need >= low).all() and (need <= high).all():
        return need
    open_ = low < high
    given = np.where(open_, 0.0, low)
    target = -drive - given @ normals
    given[open_] = lsq_linear(normals[open_].T, target, (low[open_], high[open_]), method="bvls", tol=1e-15).x
    return given


def stay_on_dependent(groups: Groups, lam: FloatArray, leak: float) -> bool | None:
    """Whether all groups stay on dependent boundaries of which one repels; None if there are too many to tell.

    Their box is not the Clarke set.
    """
    decided: bool | None = True
    for c, basis in enumerate(groups.bases):
        held = groups.held_boundaries(c)
        if len(held) <= len(basis):
            continue
        edges = np.array([groups.boundaries.edges(int(k), lam, leak) for k in held])
        if not (groups.sign[c] * (edges[:, 1] - edges[:, 0]) > 0).any():
            continue
        leaves = climbing(groups, c, lam, leak)
        if leaves is None:
            decided = None
        elif len(leaves):
            return False
    return decided


def residuals_of(groups: Groups, net: Network, lam: FloatArray, y: FloatArray, core: Core) -> Residuals:
    """Residuals of a direction of norm 1, with multipliers λ for margins of at least 1 on the samples that grow."""
    grows = ~core.rests
    total = float(np.abs(lam[grows]).sum())
    margins = y * net(groups.X) * 2 * total
    pulls = clipped_pulls(groups, lam, net.leak, of_core(groups, lam, core, net.leak))
    live = np.flatnonzero(net.a)
    g = pulls.g[groups.of[live]]
    gaps = (
        np.linalg.norm(net.W[live] - net.a[live, None] * g),
        np.linalg.norm(net.a[live] - np.einsum("jd,jd->j", g, net.W[live])),
    )
    return Residuals(
        stationarity=float(np.hypot(*gaps)),
        complementarity=float((np.abs(lam) * np.abs(margins - 1))[grows].max() / total),
        primal=max(0.0, float((1 - margins)[grows].max()), float(np.abs(margins[core.rests]).max(initial=0.0))),
        sign=max(
            0.0,
            float((-y * lam)[grows].max()) / total,
            float(pulls.excess[groups.of[live]].max(initial=0.0)),
            pattern_violation(groups, net),
        ),
    )


def pattern_violation(groups: Groups, net: Network) -> float:
    """Largest pre-activation of a neuron that contradicts its pattern, in units of |w_j||x_i|."""
    live = np.flatnonzero((groups.of >= 0) & net.W.any(axis=1))
    Z = unit_rows(net.W[live]) @ (groups.X / np.linalg.norm(groups.X, axis=1, keepdims=True)).T
    signs = groups.pattern[groups.of[live]]
    return max(0.0, float(np.where(signs == 0, np.abs(Z), -signs * Z).max(initial=0.0)))


def unit_rows(W: FloatArray) -> FloatArray:
    """Return rows that are not zero at norm 1; squares of neurons that have decayed below 1e-162 would vanish."""
    near = W / np.abs(W).max(axis=1, keepdims=True)
    return np.asarray(near / np.linalg.norm(near, axis=1, keepdims=True))
