"""What moves as one in the limit process with several outputs: a cluster that has grown, or an infinitesimal neuron.

Neurons of one direction, output and sector that leave a saddle together stay in one ratio: inside a sector (w, a)
follows one linear flow. So one body stands for them, and rounding does not part them where their differences would
grow.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from .._validation import FloatArray, IntArray
from ..kinks._boundaries import names
from ..networks import Network
from ._differences import Row, of_cluster, turned
from ._several_rest import OutputRest, Small, pull_of, sector_map
from ._units import Unit

# Directions and outputs that agree to this part are one: they are those of one matrix.
_SAME_TOL = 1e-9
# Powers of zero are known to this.
_SAME_POWER = 1e-9
# A neuron that stays behind has the direction of one that leaves if they differ by no more.
_ALONG = 1e-6
# Shares of a cluster that are found in two ways agree to this part.
_AGREES = 1e-6


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
    rows : tuple of Row
        What is left of the differences of its members.
    lost : str
        Why that is not known; empty if it is.
    is_shadow : bool
        Whether an infinitesimal neuron points where others of its sector have grown.
    """

    members: IntArray
    share: FloatArray
    unit: Unit
    is_grown: bool = False
    power: float = -1.0
    log_size: float = 0.0
    is_new: bool = False
    rows: tuple[Row, ...] = ()
    lost: str = ""
    is_shadow: bool = False

    def parted(self) -> tuple[Body, ...]:
        """Return the members by themselves, with what of the rows that have grown is in them, and of no others."""
        d = len(self.unit.w)
        y = np.outer(self.share, np.concatenate((self.unit.w, self.unit.a)))
        for row in self.rows:
            if row.power >= -_SAME_POWER:
                y += np.outer(row.mix, np.exp(row.log_size) * row.y)
        ones = np.ones(1)
        return tuple(
            Body(self.members[k : k + 1], ones, self.unit.at(y[k, :d], y[k, d:]), True, 0.0)
            for k in range(len(self.members))
        )


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
            found[int(body.members[0])] = Small(
                unit.w, unit.a, None if body.is_new else unit, body.log_size, body.is_shadow
            )
    return found


def resting(bodies: Sequence[Body], lam: FloatArray, X: FloatArray, leak: float) -> tuple[Body, ...]:
    """Turn the differences in the clusters to the singular pairs of their sectors, under constant λ."""
    weights = pull_of(X, lam)
    return tuple(
        replace(body, rows=turned(body.rows, sector_map(X, lam, body.unit.sides, leak), weights)) if body.rows else body
        for body in bodies
    )


def with_rows(bodies: Sequence[Body], rest: OutputRest) -> OutputRest:
    """Add to a rest what the differences in the clusters do, of each the first that grows, at all of its members."""
    fields = ("rate", "log_size", "direction", "output")
    rate, log_size, direction, output = (np.array(getattr(rest, name)) for name in fields)
    for body in bodies:
        row = _first(body)
        if row is not None:
            at, d = body.members, direction.shape[1]
            rate[at], log_size[at], direction[at], output[at] = row.rate, row.log_size, row.y[:d], row.y[d:]
    return replace(rest, rate=rate, log_size=log_size, direction=direction, output=output)


def _first(body: Body) -> Row | None:
    """Return the row of a cluster that grows to size one first, or None if none grows."""
    rows = [row for row in body.rows if row.rate > 0]
    return min(rows, key=lambda row: -row.power / row.rate) if rows else None


def powers_of(bodies: Sequence[Body]) -> FloatArray:
    """Return the power of each neuron, and at the members of a cluster that of its differences that grow first."""
    power = np.zeros(sum(len(body.members) for body in bodies))
    for body in bodies:
        row = _first(body)
        power[body.members] = body.power if not body.is_grown else 0.0 if row is None else row.power
    return power


def what_hides(bodies: Sequence[Body], waking: IntArray, wait: float) -> str:
    """Say which cluster that comes apart has more differences that grow, which would be lost in rounding."""
    for body in bodies:
        if body.is_grown and body.members[0] in waking:
            growing = [row for row in body.rows if row.rate > 0]
            if sum(-row.power > row.rate * wait * (1 + _SAME_POWER) for row in growing):
                return (
                    f"neurons {names(body.members)}, which have grown together in one sector, part into two "
                    "directions, and what is left of their other differences grows too, which is not followed"
                )
    return ""


def index_of(bodies: Sequence[Body], rest: OutputRest) -> int:
    """Count the infinitesimal neurons and differences that grow."""
    neurons = int(np.count_nonzero((rest.rate > 0) & (rest.status != "grown")))
    return neurons + sum(row.rate > 0 for body in bodies for row in body.rows)


def leaving(bodies: Sequence[Body], rest: OutputRest, waking: IntArray, wait: float, grows: float) -> tuple[Body, ...]:
    """Return the bodies at the end of a rest of `wait` units of T and the time `grows` beside.

    Those that wake have grown, and make one body of each cluster. A cluster whose differences wake comes apart.
    """
    before = powers_of(bodies)
    power, log_size = before + rest.rate * wait, rest.log_size + rest.rate * grows
    found: list[Body] = []
    for body in bodies:
        if body.is_grown:
            later = replace(body, rows=tuple(row.later(wait, grows) for row in body.rows))
            found += later.parted() if body.members[0] in waking else (later,)
    for body in bodies:
        j = int(body.members[0])
        unit = rest.units[j]
        if unit is not None and j not in waking:
            size, is_shadow = (float(power[j]), float(log_size[j])), body.is_shadow or _is_along(rest, j, waking)
            found.append(Body(body.members, body.share, unit, False, *size, is_shadow=is_shadow))
    new = waking[rest.status[waking] != "grown"]
    for part in clusters_of(new, rest, by_sector=True):
        sizes = np.exp(log_size[part])
        whole, unit = float(np.linalg.norm(sizes)), rest.units[int(part[0])]
        assert unit is not None  # for the type checker: only infinitesimal neurons wake
        body = Body(part, sizes / whole, unit.at(whole * unit.w, whole * unit.a), True, 0.0)
        found.append(_with_rows(body, rest, float(before[part[0]]), grows) if len(part) > 1 else body)
    return tuple(sorted(found, key=lambda body: int(body.members[0])))


def _is_along(rest: OutputRest, neuron: int, waking: IntArray) -> bool:
    """Tell whether a neuron that stays behind has turned to where some leave."""
    at = np.hstack((rest.direction, rest.output))
    return bool((np.linalg.norm(at[waking] - at[neuron], axis=1) <= _ALONG).any())


def _with_rows(body: Body, rest: OutputRest, power: float, grows: float) -> Body:
    """Add what is left of the differences of a cluster that leaves together; `power` is that before the rest."""
    first = int(body.members[0])
    entries = [entry for entry in (rest.entries[j] for j in body.members.tolist()) if entry is not None]
    M, weights = rest.map_of(first)
    rows = of_cluster(entries, M, weights, power)
    wait = -power / float(rest.rate[first])
    if not rows or np.abs(np.abs(rows[0].mix) - body.share).max() > _AGREES:
        return replace(body, lost="the differences of its neurons do not follow from where they entered the sector")
    return replace(body, rows=tuple(row.later(wait, grows) for row in rows[1:]))


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
