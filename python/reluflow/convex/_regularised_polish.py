"""The optimum of the regularised program on an active set, to rounding, by Newton's method.

The active set says which neurons there are, in which cells, and on which boundaries. A neuron on boundaries lies in
their common null space, u = B v with orthonormal columns of B, and in its cell it is linear. What is left,

    min over v of Σ c ℓ(Σ s D X B v) + γ Σ |v|,

is convex, and smooth because no v is zero. The outputs at the optimum are unique, whatever neurons make them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve, null_space

from .._linear_algebra import least_squares
from .._validation import FloatArray
from ._objective import Objective

GONE_RTOL = 1e-9  # a neuron that has shrunk to this, beside the sum, leaves the active set
RANK_RTOL = 1e-9  # of the boundaries that meet in a neuron
MAX_STEPS = 60  # 5 to 15 are taken
RIDGE = 1e-13  # times the largest diagonal entry: parts of one neuron in two cells make the Hessian singular
LEAST_STEP = 2.0**-20  # of the line search
SMALL_RTOL = 1e-2  # a neuron below this, beside the sum, that a step takes past zero is tried at zero
NOISE_RTOL = 1e-14  # a value that rises by less than this has not risen: near the end the gradient tells, not the value
REFINEMENTS = 2  # of the duals: the second one takes out the rounding of the first
NEAR = 1e-6  # a gradient below this beside γ that no longer halves has reached rounding


class Network(NamedTuple):
    """Neurons of the convex program, shape (k, r), and their signs."""

    neurons: FloatArray
    signs: FloatArray


def used_neurons(net: Network, rtol: float) -> Network:
    """Leave out neurons that are below ``rtol`` beside the sum of all."""
    sizes = np.linalg.norm(net.neurons, axis=1)
    used = sizes > rtol * sizes.sum()
    return Network(net.neurons[used], net.signs[used])


def joined(net: Network, rtol: float) -> Network:
    """Add up neurons of one sign whose unit vectors are within ``rtol``: an interior point can split one."""
    order = np.argsort(-np.linalg.norm(net.neurons, axis=1), kind="stable")
    leaders: list[int] = []
    sums = np.zeros_like(net.neurons)
    units = net.neurons / np.linalg.norm(net.neurons, axis=1)[:, None]
    for j in order:
        alike = [k for k in leaders if net.signs[k] == net.signs[j] and np.linalg.norm(units[k] - units[j]) <= rtol]
        if not alike:
            leaders.append(int(j))
        sums[alike[0] if alike else j] += net.neurons[j]
    return Network(sums[leaders], net.signs[leaders])


def polish(objective: Objective, net: Network, boundary_rtol: float) -> tuple[Network, FloatArray] | None:
    """Return the optimum on the active set of a network and its duals, None if there is nothing to polish.

    Parameters
    ----------
    objective : Objective
    net : Network
        Near the optimum.
    boundary_rtol : float
        |x·u| up to this times |x||u| is a boundary that the neuron is on.
    """
    active = active_set(objective, net, boundary_rtol)
    if active is None:
        return None
    found = _newton(objective, active.effects, active.starts)
    return active.network(found), _stationary(objective, active.effects, found)


class Active(NamedTuple):
    """The neurons of an active set: where each may move, and what it does to the outputs there."""

    signs: FloatArray
    bases: list[FloatArray]
    effects: list[FloatArray]
    starts: list[FloatArray]

    def network(self, found: list[FloatArray]) -> Network:
        """Return the network with coordinates ``found`` in place of the starts, without neurons that are gone."""
        neurons = np.array([basis @ v for basis, v in zip(self.bases, found, strict=True)])
        return used_neurons(Network(neurons, self.signs), GONE_RTOL)

    def part(self, kept: list[int]) -> Active:
        """Return the active set of some of the neurons."""
        lists = ([row[j] for j in kept] for row in (self.bases, self.effects, self.starts))
        return Active(self.signs[kept], *lists)


def active_set(objective: Objective, net: Network, boundary_rtol: float) -> Active | None:
    """Return the active set of a network: neurons of one cell are one; None if it has no neurons."""
    merged, boundaries = _merged(objective, net, boundary_rtol)
    bases, starts = [], []
    for u, boundary in zip(merged.neurons, boundaries, strict=True):
        rows = objective.R[boundary]
        unit = rows / np.linalg.norm(rows, axis=1)[:, None]
        basis = null_space(unit, rcond=RANK_RTOL) if len(rows) else np.eye(len(u))
        bases.append(basis)
        starts.append(basis.T @ u)
    kept = [j for j, v in enumerate(starts) if np.linalg.norm(v) > 0]
    if not kept:
        return None
    slopes = np.where(merged.neurons @ objective.R.T > 0, 1.0, objective.leak)
    effects = [merged.signs[j] * slopes[j][:, None] * (objective.R @ bases[j]) for j in kept]
    return Active(merged.signs[kept], [bases[j] for j in kept], effects, [starts[j] for j in kept])


def _merged(objective: Objective, net: Network, boundary_rtol: float) -> tuple[Network, list[FloatArray]]:
    """Add up the neurons of one sign and one closed cell with the same boundaries; return those boundaries too."""
    heights = net.neurons @ objective.R.T
    sizes = np.outer(np.linalg.norm(net.neurons, axis=1), np.linalg.norm(objective.R, axis=1))
    marks = np.where(np.abs(heights) <= boundary_rtol * sizes, 0, np.sign(heights)).astype(np.int8)
    groups: dict[tuple[float, bytes], list[int]] = {}
    for j, sign in enumerate(net.signs):
        groups.setdefault((float(sign), marks[j].tobytes()), []).append(j)
    members = list(groups.values())
    neurons = np.array([net.neurons[group].sum(axis=0) for group in members]).reshape(
        len(members), net.neurons.shape[1]
    )
    first = [group[0] for group in members]
    return Network(neurons, net.signs[first]), [marks[j] == 0 for j in first]


def _newton(objective: Objective, effects: list[FloatArray], starts: list[FloatArray]) -> list[FloatArray]:
    """Minimise the loss of Σ effect v plus γ Σ|v|, from v = ``starts``; no step raises the value."""
    now, before = _value(objective, effects, starts), np.inf
    found = list(starts)
    for _ in range(MAX_STEPS):
        live = _live(found)
        gradient, hessian = _derivatives(objective, [effects[j] for j in live], [found[j] for j in live])
        size = float(np.abs(gradient).max(initial=0.0))
        if size == 0 or (before <= NEAR * objective.decay and size > 0.5 * before):
            break
        step = _solved(hessian, -gradient)
        if step is None:
            break
        ends = np.cumsum([len(found[j]) for j in live])
        moves = dict(zip(live, np.split(step, ends[:-1]), strict=True))
        fewer = _without_passing(found, moves)
        if fewer is not None and (after := _value(objective, effects, fewer)) <= now + NOISE_RTOL * abs(now):
            found, now, before = fewer, after, np.inf
            continue
        share = 1.0
        while share > LEAST_STEP:
            new = [v + share * moves[j] if j in moves else np.zeros_like(v) for j, v in enumerate(found)]
            after = _value(objective, effects, new)
            if after <= now + NOISE_RTOL * abs(now):
                break
            share *= 0.5
        else:
            break
        found, now, before = new, after, size
    return found


def _stationary(objective: Objective, effects: list[FloatArray], neurons: list[FloatArray]) -> FloatArray:
    """Return the duals of the outputs, moved as little as rounding may have moved them so that every neuron is at rest.

    f_i is rounded in proportion to |x_i|, and λ_i to that times the curvature of its loss. Beside the λ_i of a large
    sample that is much: the loss of one that is fitted has λ_i = c (y - f), and only |λ_i||x_i| <= γ is asked for.
    """
    f = np.sum([effect @ v for effect, v in zip(effects, neurons, strict=True)], axis=0)
    duals, rounding = objective.duals(f), objective.curvatures(f) * np.linalg.norm(objective.R, axis=1)
    live = _live(neurons)
    if not live or not np.isfinite(rounding).all():
        return duals
    effect = np.hstack([effects[j] for j in live])
    units = np.concatenate([neurons[j] / np.linalg.norm(neurons[j]) for j in live])
    for _ in range(REFINEMENTS):
        rest = objective.decay * units - duals @ effect
        duals = duals + rounding * least_squares((rounding[:, None] * effect).T, rest)
    return duals


def _without_passing(neurons: list[FloatArray], moves: dict[int, FloatArray]) -> list[FloatArray] | None:
    """Put the small neurons that a step takes past zero at zero, None if there are none: they are in no optimum."""
    total = sum(float(np.linalg.norm(v)) for v in neurons)
    passing = {
        j
        for j, move in moves.items()
        if neurons[j] @ move <= -(neurons[j] @ neurons[j]) and np.linalg.norm(neurons[j]) < SMALL_RTOL * total
    }
    if not passing:
        return None
    return [np.zeros_like(v) if j in passing else v for j, v in enumerate(neurons)]


def _live(neurons: list[FloatArray]) -> list[int]:
    """Return the places of the neurons that have not shrunk to nothing."""
    sizes = np.array([np.linalg.norm(v) for v in neurons])
    return [int(j) for j in np.flatnonzero(sizes > GONE_RTOL * sizes.sum())]


def _value(objective: Objective, effects: list[FloatArray], neurons: list[FloatArray]) -> float:
    f = np.sum([effect @ v for effect, v in zip(effects, neurons, strict=True)], axis=0)
    return objective.loss_value(f) + objective.decay * sum(float(np.linalg.norm(v)) for v in neurons)


def _derivatives(
    objective: Objective, effects: list[FloatArray], neurons: list[FloatArray]
) -> tuple[FloatArray, FloatArray]:
    """Return gradient and Hessian in all v together."""
    effect = np.hstack(effects)
    f = effect @ np.concatenate(neurons)
    gradient = -(objective.duals(f) @ effect)
    hessian = effect.T @ (objective.curvatures(f)[:, None] * effect)
    end = 0
    for v in neurons:
        part, end = slice(end, end + len(v)), end + len(v)
        size = float(np.linalg.norm(v))
        unit = v / size
        gradient[part] += objective.decay * unit
        hessian[part, part] += objective.decay / size * (np.eye(len(v)) - np.outer(unit, unit))
    return gradient, hessian


def _solved(hessian: FloatArray, right: FloatArray) -> FloatArray | None:
    """Solve with a ridge that is raised until the matrix is positive."""
    ridge = RIDGE * float(np.abs(np.diag(hessian)).max())
    while ridge > 0 and np.isfinite(ridge):
        try:
            found: FloatArray = cho_solve(cho_factor(hessian + ridge * np.eye(len(right))), right)
        except np.linalg.LinAlgError:
            ridge *= 100.0
            continue
        return found if np.isfinite(found).all() else None
    return None
