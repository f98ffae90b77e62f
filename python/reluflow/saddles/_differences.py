"""What is left of the differences of neurons that have grown together in one sector, and what parts them.

Inside a sector k neurons y_j = (w_j, a_j) follow one linear flow y' = B y, and so does every combination Σ_j q_j y_j of
them, while the outputs depend on Σ_j w_j a_jᵀ alone. So with orthonormal rows q a cluster is the body, in which all of
it is, and k - 1 infinitesimal rows without events of their own. At a later saddle these grow like neurons.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from .._linear_algebra import svd
from .._validation import FloatArray

# A part of a row along a singular pair below this one of the row is none; singular values below this part of what λ
# could make are zero; and powers that agree to this are one.
_NO_PART, _NO_PULL, _SAME_POWER = 1e-9, 1e-10, 1e-9
# Neurons that differ by less than this part are alike: what rounding leaves of their difference is none.
_ALIKE = 1e-12
# The largest logarithm of a part, whose square is still a float.
_FARTHEST = 300.0


class Entry(NamedTuple):
    """A neuron where it enters its last sector, at a time of the rest: y with |w| = 1, and log |w|."""

    y: FloatArray
    time: float
    log_size: float


@dataclass(frozen=True, eq=False)
class Row:
    """A combination of the neurons of a cluster that is infinitesimal.

    Attributes
    ----------
    mix : ndarray, shape (k,)
        Unit vector: what of each neuron is in it, and what of it is in each neuron.
    y : ndarray, shape (d + K,)
        Its direction (w, a), of the length √2.
    power, log_size : float
        Its size is exp(power L + log_size), as |w| of a neuron.
    rate : float
        At which it grows while the network rests.
    """

    mix: FloatArray
    y: FloatArray
    power: float
    log_size: float
    rate: float = 0.0

    def later(self, wait: float, grows: float) -> Row:
        """Return it at the end of a rest: `wait` units of T, and the time `grows` beside them."""
        return replace(self, power=self.power + self.rate * wait, log_size=self.log_size + self.rate * grows)


class _Part(NamedTuple):
    """A row by its parts along the singular pairs, which grow, and what stays, in units of e^unit."""

    mix: FloatArray
    along: FloatArray
    rest: FloatArray
    power: float
    unit: float

    def in_units(self, unit: float) -> _Part:
        factor = float(np.exp(self.unit - unit))
        return self._replace(along=factor * self.along, rest=factor * self.rest, unit=unit)

    def without(self, other: _Part, part: float) -> _Part:
        """Take away a part of a larger row; in the limit what that changes of `mix` is zero."""
        return self._replace(along=self.along - part * other.along, rest=self.rest - part * other.rest)


class _Pairs:
    """The singular pairs of a sector: y = (v, u) grows like e^(σ t), (v, -u) decays, what is off all of them stays."""

    def __init__(self, M: FloatArray, weights: float) -> None:
        left, sizes, right = svd(M, full_matrices=False)
        kept = sizes > _NO_PULL * weights
        self.rates: FloatArray = sizes[kept]
        self.up: FloatArray = np.hstack((right[kept], left[:, kept].T))
        self.down: FloatArray = np.hstack((right[kept], -left[:, kept].T))

    def part(self, mix: FloatArray, y: FloatArray, power: float, log_size: float, time: float) -> _Part:
        """Take a row apart that has the size e^log_size at a time of the rest; of others that is left out here."""
        along = 0.5 * self.up @ y
        rest = y - along @ self.up - (0.5 * self.down @ y) @ self.down
        return _Part(mix, along * np.exp(-self.rates * time), rest, power, log_size)

    def turned(self, parts: list[_Part]) -> tuple[Row, ...]:
        """Give each row the singular pair along which it grows, the largest ones first.

        Of rows of one power one combination has all of a pair. From smaller rows it is taken away: in the limit the
        angle of that is zero.
        """
        found: list[Row] = []
        while parts:
            top = max(part.power for part in parts)
            unit = max(part.unit for part in parts if part.power >= top - _SAME_POWER)
            group = [part.in_units(unit) for part in parts if part.power >= top - _SAME_POWER]
            others = [part for part in parts if part.power < top - _SAME_POWER]
            size = np.sqrt(sum(float(part.along @ part.along + part.rest @ part.rest) for part in group))
            along = np.array([part.along for part in group]).reshape(len(group), -1)
            there = np.flatnonzero(np.linalg.norm(along, axis=0) > _NO_PART * size)
            if not len(there):
                found += [_standing(part) for part in group]
                parts = others
                continue
            i = int(there[0])
            group = _rotated(group, along[:, i])
            first = group[0]
            length = float(first.along[i])
            found.append(Row(first.mix, self.up[i], first.power, unit + float(np.log(length)), float(self.rates[i])))
            parts = [part.without(first, float(part.along[i]) / length) for part in others]
            parts += group[1:]
        return tuple(found)


def _standing(part: _Part) -> Row:
    """Return a row that nothing pulls."""
    size = float(np.linalg.norm(part.rest))
    y = np.sqrt(2.0) * part.rest / size if size > 0 else part.rest
    return Row(part.mix, y, part.power, part.unit + float(np.log(size / np.sqrt(2.0))) if size > 0 else -np.inf)


def _rotated(group: list[_Part], weights: FloatArray) -> list[_Part]:
    """Mix rows so that the first one is their sum with these weights, of length one, and the others are across."""
    first = weights / np.linalg.norm(weights)
    Q = svd(first[None, :])[2]
    Q[0] = first  # which the first row is but for its sign
    mixes, alongs, rests = (np.array([getattr(part, name) for part in group]) for name in ("mix", "along", "rest"))
    mixed = [(Q @ array.reshape(len(group), -1)) for array in (mixes, alongs, rests)]
    return [_Part(mixed[0][r], mixed[1][r], mixed[2][r], group[0].power, group[0].unit) for r in range(len(group))]


def of_cluster(entries: Sequence[Entry], M: FloatArray, weights: float, power: float) -> tuple[Row, ...]:
    """Return the rows of neurons of one power that turn to the first singular pair of M: the first one is the body.

    Sizes and `power` are those at the beginning of the rest. There are none if the neurons have entered the sector so
    late that their parts at one time are out of the range of floats.
    """
    pairs, unit = _Pairs(M, weights), np.eye(len(entries))
    reach = [one.log_size - rate * one.time for one in entries for rate in (0.0, *pairs.rates)]
    if np.abs(reach).max() > _FARTHEST:
        return ()
    parts = [pairs.part(unit[k], one.y, power, one.log_size, one.time) for k, one in enumerate(entries)]
    rows = pairs.turned(parts)
    least = max(row.log_size for row in rows) + np.log(_ALIKE)
    return tuple(row if row.log_size > least else replace(row, log_size=-np.inf, rate=0.0) for row in rows)


def turned(rows: Sequence[Row], M: FloatArray, weights: float) -> tuple[Row, ...]:
    """Turn the rows of a cluster to the singular pairs of the saddle at which it rests."""
    if not rows:
        return ()
    pairs = _Pairs(M, weights)
    live = [row for row in rows if np.isfinite(row.log_size)]
    gone = tuple(replace(row, rate=0.0) for row in rows if not np.isfinite(row.log_size))
    return pairs.turned([pairs.part(row.mix, row.y, row.power, row.log_size, 0.0) for row in live]) + gone
