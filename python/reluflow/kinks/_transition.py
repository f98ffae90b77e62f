"""What one neuron does where walls meet: the complementarity problem of the kinks, with λ given.

A neuron stands on k walls with unit normals N. Each wall pulls with c_w N_w, where c_w is its lower edge below the
wall, its upper edge above, and anything in between on it. With s the sign of the output weight, the rates are
v = s N (drive + Nᵀ c). Wanted: c with c_w at its upper edge where v_w > 0, at its lower edge where v_w < 0, and v_w = 0
in between. Walls with s (upper - lower) < 0 are valleys: without others, c is the solution of a convex box problem,
the least-norm element of the subdifferential. The others are ridges, and several solutions may exist.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np
import numpy.typing as npt

from .._validation import FloatArray

Sides = tuple[int, ...]

# A rate below this part of the pulls that make it up is rounding: the neuron does not leave that wall.
RATE_TOL = 1e-12
# Walls are dependent where a normal has less than this outside the span of the others.
_DEPENDENT_TOL = 1e-7
# Singular values of a Gram matrix below this part of the largest are zero: the square of the line above.
_GRAM_TOL = 1e-14
# With more ridges in one corner all their 3^k choices are not tried.
_MAX_RIDGES = 8
# Changes of the active set that a box problem of k walls may take; it needs about k.
_CHANGES_PER_WALL = 20


@dataclass(frozen=True, eq=False)
class Corner:
    """The walls through a neuron's place, and the pull of the samples that are not on them.

    Attributes
    ----------
    normals : ndarray, shape (k, d)
    lower, upper : ndarray, shape (k,)
        Edges of the walls' pulls.
    drive : ndarray, shape (d,)
        Σ λ_i s_i x_i over the samples that are on none of the walls.
    sign : float
        Sign of the output weight.
    scale : float
        Σ |λ_i| |x_i| over all samples, against which rates are zero.
    """

    normals: FloatArray
    lower: FloatArray
    upper: FloatArray
    drive: FloatArray
    sign: float
    scale: float


def continuations(corner: Corner) -> list[Sides] | None:
    """Every way on: for each wall +1 (leaves upwards), -1 (leaves downwards) or 0 (stays).

    None where dependent walls are ridges or stay held, for the box is not the Clarke set then, and where too many walls
    are ridges to try them all: nothing is decided.
    """
    gain = corner.sign * (corner.upper - corner.lower)
    ridges = np.flatnonzero(gain > 0)
    is_dependent = not _independent(corner.normals)
    if len(ridges) > (0 if is_dependent else _MAX_RIDGES):
        return None
    found: list[Sides] = []
    for choice in product((1, -1, 0), repeat=len(ridges)):
        sides = _solve(corner, ridges, np.array(choice, dtype=np.int64))
        if is_dependent and (sides is None or not _independent(corner.normals[np.array(sides) == 0])):
            return None
        if sides is not None and sides not in found:
            found.append(sides)
    return found


def _independent(normals: FloatArray) -> bool:
    k, d = normals.shape
    return k <= d and (k < 2 or float(np.linalg.svd(normals, compute_uv=False)[-1]) > _DEPENDENT_TOL)


def _solve(corner: Corner, ridges: npt.NDArray[np.intp], choice: npt.NDArray[np.int64]) -> Sides | None:
    """Find the continuation with these sides of the ridges; None if there is none."""
    k = len(corner.normals)
    gram = corner.normals @ corner.normals.T
    rest = corner.normals @ corner.drive
    low, high = np.minimum(corner.lower, corner.upper), np.maximum(corner.lower, corner.upper)
    c = np.zeros(k)
    c[ridges] = np.where(choice > 0, corner.upper[ridges], np.where(choice < 0, corner.lower[ridges], 0.0))
    pinned = ridges[choice == 0]
    valleys = np.setdiff1d(np.arange(k), ridges)
    rest = rest + gram @ c
    # Pinned ridges have rate zero whatever the valleys do: they are eliminated.
    lift = np.linalg.solve(gram[np.ix_(pinned, pinned)], np.column_stack((gram[pinned][:, valleys], rest[pinned])))
    reduced = gram[np.ix_(valleys, valleys)] - gram[np.ix_(valleys, pinned)] @ lift[:, :-1]
    right = rest[valleys] - gram[np.ix_(valleys, pinned)] @ lift[:, -1]
    inner = box_minimum(reduced, right, low[valleys], high[valleys])
    if inner is None:
        return None
    c[valleys] = inner
    c[pinned] = -lift[:, :-1] @ inner - lift[:, -1]
    rate = corner.sign * (corner.normals @ corner.drive + gram @ c)
    sides = np.where(np.abs(rate) <= RATE_TOL * corner.scale, 0, np.sign(rate)).astype(np.int64)
    noise = RATE_TOL * corner.scale
    outside = (c[pinned] < low[pinned] - noise) | (c[pinned] > high[pinned] + noise)
    if (sides[ridges] != choice).any() or outside.any():
        return None
    return tuple(sides.tolist())


def box_minimum(gram: FloatArray, right: FloatArray, low: FloatArray, high: FloatArray) -> FloatArray | None:
    """Minimise ½ cᵀ gram c + rightᵀ c over low <= c <= high by an active-set method; gram may be singular.

    None if the set of active bounds does not settle.
    """
    k = len(right)
    c = np.clip(np.zeros(k), low, high)
    free = low < high
    c[free] = 0.5 * (low + high)[free]
    for _ in range(_CHANGES_PER_WALL * (k + 1)):
        inside = np.flatnonzero(free)
        target = c.copy()
        if len(inside):
            slope = (gram @ c + right)[inside]
            target[inside] -= np.linalg.lstsq(gram[np.ix_(inside, inside)], slope, rcond=_GRAM_TOL)[0]
        blocked = _first_bound(c, target, low, high)
        if blocked is not None:
            part, wall = blocked
            c = c + part * (target - c)
            c[wall] = high[wall] if target[wall] > high[wall] else low[wall]
            free[wall] = False
            continue
        c = target
        slope = gram @ c + right
        # A bound is left where the objective falls inwards, beyond the rounding of its gradient.
        fall = np.where(c <= low, -slope, slope) * (~free & (low < high))
        noise = RATE_TOL * (np.abs(gram) @ np.abs(c) + np.abs(right))
        if (fall <= noise).all():
            return c
        free[int(np.argmax(fall - noise))] = True
    return None


def _first_bound(c: FloatArray, target: FloatArray, low: FloatArray, high: FloatArray) -> tuple[float, int] | None:
    """How far along c -> target the first bound is met, and which variable meets it."""
    step = target - c
    room = np.where(step > 0, high - c, c - low)
    with np.errstate(divide="ignore", invalid="ignore"):
        part = np.where(np.abs(step) > room, room / np.abs(step), np.inf)
    wall = int(np.argmin(part)) if len(part) else -1
    return None if wall < 0 or not part[wall] < 1 else (float(part[wall]), wall)
