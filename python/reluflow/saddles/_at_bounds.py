"""Grown neurons that slide at the bound of their multiplier: they leave their saddle beside the boundary instead.

On the way to a saddle at which nothing else pulls on such a neuron its multiplier tends to 0 or 1, and rounding decides
on which side of that it is. Beside the boundary, on the side of the bound, the neuron feels the same. If the next orbit
holds it there it comes back at once and slides.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from .._validation import FloatArray
from ._bodies import Body
from ._several_flow import OutputFlow
from ._sides import least_cosine
from ._units import Unit

# A multiplier that is this near to a bound is there; pulls below this part of what λ makes are none.
_AT_BOUND, _NO_PULL = 1e-8, 1e-9
# A neuron is beside a boundary at this cosine; it has come there with differences that are smaller by any power of ε.
_BESIDE = 1e-6


def beside(flow: OutputFlow, lam: FloatArray, bodies: tuple[Body, ...]) -> tuple[Body, ...]:
    """Return the bodies with those beside their boundaries that slide at a bound of a multiplier under λ."""
    return tuple(replace(body, unit=_beside(flow, lam, body.unit)) if body.is_grown else body for body in bodies)


def _beside(flow: OutputFlow, lam: FloatArray, unit: Unit) -> Unit:
    held = np.flatnonzero(unit.sides == 0)
    if not len(held):
        return unit
    X = flow.problem.X
    pulls = lam @ unit.a
    drive = (np.where(unit.sides > 0, 1.0, np.where(unit.sides < 0, flow.leak, 0.0)) * pulls) @ X
    need, _, rank, _ = np.linalg.lstsq(X[held].T, -drive, rcond=1e-10)
    unit_pull = float(np.linalg.norm(lam, axis=1).max() * np.linalg.norm(unit.a))
    sides, modes, sliding = unit.sides.copy(), unit.modes.copy(), list(unit.sliding)
    for k, i in enumerate(held.tolist()):
        alone = [boundary for boundary in sliding if [place[1] for place in boundary[2]] == [i]]
        if rank < len(held) or not alone or pulls[i] >= -_NO_PULL * unit_pull:
            continue
        part = need[k] / pulls[i]
        side = -1 if abs(part - flow.leak) <= _AT_BOUND else 1 if abs(part - 1.0) <= _AT_BOUND else 0
        if side:
            sides[i], modes[i] = side, 0
            sliding.remove(alone[0])
    return replace(unit, sides=sides, modes=modes, sliding=tuple(sliding))


def edge_of(flow: OutputFlow, lam: FloatArray, body: Body) -> str:
    """Say why what is left of the differences in a cluster is not linear at this saddle; an empty text if it is.

    Where the cluster stands beside a boundary they may be larger than its distance, and at the bound of a multiplier
    some members are held and others are not.
    """
    if not any(row.rate > 0 for row in body.rows):
        return ""
    unit = body.unit
    if (_beside(flow, lam, unit).sides != unit.sides).any():
        return "it slides at the bound of a multiplier"
    if least_cosine(unit.w, unit.sides, flow.problem.X) < _BESIDE:
        return "it stands beside a boundary"
    return ""
