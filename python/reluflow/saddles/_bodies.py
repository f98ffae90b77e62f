"""What moves as one in the limit process with several outputs: a cluster that has grown, or an infinitesimal neuron.

Neurons of one direction, output and sector that leave a saddle together stay in one ratio: inside a sector (w, a)
follows one linear flow. So one body stands for them, and rounding does not part them where their differences would
grow.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .._validation import FloatArray, IntArray
from ..networks import Network
from ._several_rest import OutputRest, Small
from ._units import Unit

# Directions and outputs that agree to this part are one: they are those of one matrix.
_SAME_TOL = 1e-9


@dataclass(frozen=True, eq=False)
class Body:
    """Some neurons that move as one.

    Attributes
    ----------
    members : ndarray of int
        Their numbers.
    share : ndarray
        The size of each as a part of that of the body: the squares add up to one.
    unit : Unit
        The body: its weights, or of an infinitesimal one directions.
    is_grown : bool
    power, log_size : float
        log |w| = power L + log_size of an infinitesimal one, which is a single neuron.
    is_new : bool
        Whether no run has seen it yet, so that its sides are to be decided.
    """

    members: IntArray
    share: FloatArray
    unit: Unit
    is_grown: bool = False
    power: float = -1.0
    log_size: float = 0.0
    is_new: bool = False


def at_start(directions: FloatArray, heads: FloatArray) -> tuple[Body, ...]:
    """Put all neurons at |w_j| = |a_j| = ε."""
    none = np.empty(0, dtype=np.int8)
    return tuple(
        Body(np.array([j]), np.ones(1), Unit(w, a, none, none, ()), is_new=True)
        for j, (w, a) in enumerate(zip(directions, heads, strict=True))
    )


def small_of(bodies: Sequence[Body]) -> list[Small | None]:
    """Return the infinitesimal neurons by their numbers, and None for those that have grown."""
    found: list[Small | None] = [None] * sum(len(body.members) for body in bodies)
    for body in bodies:
        if not body.is_grown:
            unit = body.unit
            found[int(body.members[0])] = Small(unit.w, unit.a, None if body.is_new else unit, body.log_size)
    return found


def leaving(
    bodies: Sequence[Body], rest: OutputRest, waking: IntArray, power: FloatArray, log_size: FloatArray
) -> tuple[Body, ...]:
    """Return the bodies as they leave: those that wake have grown, and make one body of each cluster."""
    found = [body for body in bodies if body.is_grown]
    for j in range(len(power)):
        unit = rest.units[j]
        if unit is not None and j not in waking:
            found.append(Body(np.array([j]), np.ones(1), unit, False, float(power[j]), float(log_size[j])))
    for part in clusters_of(waking, rest, by_sector=True):
        sizes = np.exp(log_size[part])
        whole, unit = float(np.linalg.norm(sizes)), rest.units[int(part[0])]
        assert unit is not None  # for the type checker: only infinitesimal neurons wake
        found.append(Body(part, sizes / whole, unit.at(whole * unit.w, whole * unit.a), True, 0.0))
    return tuple(sorted(found, key=lambda body: int(body.members[0])))


def clusters_of(neurons: IntArray, rest: OutputRest, *, by_sector: bool = False) -> tuple[IntArray, ...]:
    """Sort neurons by their direction and output, and `by_sector` by their pattern too."""
    found: list[list[int]] = []
    at = np.hstack((rest.direction, rest.output))
    for j in neurons.tolist():
        for other in found:
            k = other[0]
            same = not by_sector or bool((rest.pattern[j] == rest.pattern[k]).all())
            if same and np.linalg.norm(at[j] - at[k]) <= _SAME_TOL:
                other.append(j)
                break
        else:
            found.append([j])
    return tuple(np.array(part, dtype=np.int64) for part in found)


def network_of(bodies: Sequence[Body], leak: float) -> Network:
    """Return the grown bodies as a network of one neuron each, infinitesimal ones at zero."""
    W = np.array([body.unit.w * body.is_grown for body in bodies])
    a = np.array([body.unit.a * body.is_grown for body in bodies])
    return Network(W, a, leak=leak, pattern=np.array([body.unit.sides for body in bodies]))


def spread(bodies: Sequence[Body], leak: float) -> Network:
    """Return the network of all neurons, infinitesimal ones at zero."""
    m = sum(len(body.members) for body in bodies)
    unit = bodies[0].unit
    W, a = np.zeros((m, len(unit.w))), np.zeros((m, len(unit.a)))
    pattern = np.zeros((m, len(unit.sides)), dtype=np.int8)
    for body in bodies:
        pattern[body.members] = body.unit.sides
        if body.is_grown:
            W[body.members] = body.share[:, None] * body.unit.w
            a[body.members] = body.share[:, None] * body.unit.a
    return Network(W, a, leak=leak, pattern=pattern)
