"""The rest with several outputs: each infinitesimal neuron by itself, under constant λ_i in R^K, to where it ends.

At the size 1e-130 a neuron adds nothing to the outputs, so that the targets λ_i of a squared loss are λ_i for it to all
digits. It is integrated with its events until it has grown by 160 e-foldings, in legs between which it is made small
again and put on its side of the boundaries that it only approaches.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from .._validation import FloatArray, PatternArray
from ..early._outputs import End, end_in_sector
from ..flow import Stop, TwoLayerSolution, integrate
from ..flow._events import EventTable
from ..kinks._boundaries import boundaries, exact_signs, off, slopes, span
from ..layered._several import Pair
from ..networks import Network
from ._carried import in_order, shifted
from ._differences import Entry
from ._rest import Rest
from ._several_flow import OutputFlow, run_of_units
from ._sides import side_kept
from ._units import Unit, log2_size, units_of

_SIZE_LOG2 = -432  # about 1e-130
# A neuron has ended when it has grown by so many e-foldings, 12 in a leg, or as long as it may take for each of them:
# so many times the time that one takes which all samples drive.
_GROWTH, _LEG, _PATIENCE = 160.0, 12.0, 1e4
_RTOL = 1e-12
# A pre-activation below this part of |w||x| is one that only tends to zero: in a leg it falls to 6e-13, above rounding.
_NEAR = 1e-7
# A pull below this part of the largest that λ could make is none.
_LEAST_PULL = 1e-12


# A pull on a neuron that is this part of the largest in its sector is none: it is known to some 1e-7.
_BALANCED_PART = 1e-5
_BALANCED = (
    "it points along neurons that have grown in its sector, where nothing pulls on it, and what is left of its way "
    "there, which is not followed, grows"
)


@dataclass(frozen=True, eq=False)
class OutputRest(Rest):
    """What infinitesimal neurons do under constant λ.

    Attributes
    ----------
    output : ndarray, shape (m, K)
        Unit vectors to which a_j turns; rows of grown neurons are their output weights.
    units : tuple of Unit or None
        The infinitesimal neurons once they have turned, with |w| = |a| = 1.
    entries : tuple of Entry or None
        The same where they enter their last sectors.
    samples : tuple
        X, λ and the leak.
    """

    output: FloatArray
    units: tuple[Unit | None, ...]
    entries: tuple[Entry | None, ...]
    samples: tuple[FloatArray, FloatArray, float]

    def map_of(self, neuron: int) -> tuple[FloatArray, float]:
        """Return M of the last sector of a neuron, and the size that λ could make of it."""
        X, lam, leak = self.samples
        return sector_map(X, lam, self.pattern[neuron], leak), pull_of(X, lam)


class Small(NamedTuple):
    """An infinitesimal neuron: its state, or None of one that has just been given, with its weights.

    `is_shadow`: it points where others of its sector have grown.
    """

    w: FloatArray
    a: FloatArray
    unit: Unit | None
    log_size: float
    is_shadow: bool = False


class _Settled(NamedTuple):
    end: End
    unit: Unit
    log_size: float
    events: EventTable
    entry: Entry


def settle(flow: OutputFlow, small: Small, lam: FloatArray, neuron: int) -> _Settled:
    """Follow one neuron under constant λ, shape (n, K), to where it ends."""
    X, K = flow.problem.X, lam.shape[1]
    weights = pull_of(X, lam)
    pair = Pair(X, lam, Network(small.w[None], small.a[None], leak=flow.leak))
    unit = _as_given(small, X) if small.unit is None else small.unit
    is_new = small.unit is None
    left = _PATIENCE * _GROWTH / weights if weights > 0 else 0.0
    grown, time, log_size, reason = 0.0, 0.0, small.log_size, ""
    tables: list[EventTable] = []
    entry = _entry(unit.w, unit.a, 0.0, log_size)
    if not is_new and _is_balanced(X, lam, unit, flow.leak, weights, small.is_shadow):
        end = End("undecided", unit.w, unit.a, unit.sides, reason=_BALANCED)
        return _Settled(end, unit, log_size, in_order(tables), entry)
    while grown < _GROWTH and left > 0 and (is_new or _is_pulled(X, lam, unit, flow.leak, weights)):
        unit = unit.scaled(_SIZE_LOG2 - round(log2_size(unit.w)))
        unit = unit if is_new else side_kept(unit, X, _NEAR)[0]
        size = log2_size(unit.w)
        until = Stop(log_norm=_log_norm(unit) + _LEG, time=left)
        run = _leg(flow, pair, unit, until, is_new=is_new)
        tables.append(shifted(run.events, np.array([neuron]), time))
        if len(run.events):
            t = float(run.events.t[-1])
            at = run(t)
            gain = float(np.log(2.0)) * (log2_size(at.W[0]) - size)
            entry = _entry(at.W[0], at.a[0], time + t, log_size + gain)
        unit, is_new = units_of(run.layered._end, X.shape[1], K)[0], False
        gain = float(np.log(2.0)) * (log2_size(unit.w) - size)
        grown, log_size, time, left = grown + gain, log_size + gain, time + run.t_end, left - run.t_end
        if run.status == "interrupted":
            raise KeyboardInterrupt
        if run.status != "reached_log_norm":
            reason = "" if run.success else run.message
            break
    unit = unit.scaled(-round(log2_size(unit.w)))
    if reason:
        end = End("undecided", unit.w, unit.a, unit.sides, reason=reason)
        return _Settled(end, unit, log_size, in_order(tables), entry)
    is_large = grown >= _GROWTH
    end = end_in_sector(X, lam, unit.w, unit.a, unit.sides, flow.leak, weights, is_large=is_large)
    if end.status == "extremal":
        log_size += end.log_size - float(np.log(np.linalg.norm(unit.w))) - end.rate * time
        unit = unit.at(end.w, end.a)
    return _Settled(end, unit, log_size, in_order(tables), entry)


def _entry(w: FloatArray, a: FloatArray, time: float, log_size: float) -> Entry:
    exponent = -round(log2_size(w))
    y = np.concatenate((np.ldexp(w, exponent), np.ldexp(a, exponent)))
    return Entry(y / float(np.linalg.norm(y[: len(w)])), time, log_size)


def _leg(flow: OutputFlow, pair: Pair, unit: Unit, until: Stop, *, is_new: bool) -> TwoLayerSolution:
    """Integrate a neuron under the targets of the pair; of a new one the sides of its boundaries are decided first."""
    if not is_new:
        return run_of_units(pair, [unit], until, ("squared", "sum"), flow.leak, _RTOL, flow.watch)
    net = Network(unit.w[None], unit.a[None], leak=flow.leak)
    run: TwoLayerSolution = integrate(pair.data, net, until=until, loss="squared", rtol=_RTOL, callback=flow.watch.hook)
    return run


def _as_given(small: Small, X: FloatArray) -> Unit:
    """Return a neuron that no run has seen yet."""
    sides = exact_signs(small.w[None], X)[0]
    return Unit(small.w, small.a, sides, np.zeros_like(sides), ())


def _log_norm(unit: Unit) -> float:
    return float(np.log(2.0)) * log2_size(np.concatenate((unit.w, unit.a)))


def _is_pulled(X: FloatArray, lam: FloatArray, unit: Unit, leak: float, weights: float) -> bool:
    """Tell whether a neuron has an active sample and anything pulls on it."""
    return float(np.linalg.norm(sector_map(X, lam, unit.sides, leak), 2)) > _LEAST_PULL * weights


def _is_balanced(X: FloatArray, lam: FloatArray, unit: Unit, leak: float, weights: float, is_shadow: bool) -> bool:
    """Tell whether a neuron points where nothing pulls on it, while its sector has pulls on other directions.

    It does along neurons that have grown in its sector: it came there with them, and what is left of its way, which is
    smaller by a power of ε and below rounding here, decides where it goes.
    """
    M = sector_map(X, lam, unit.sides, leak)
    largest = float(np.linalg.norm(M, 2))
    if largest <= _LEAST_PULL * weights:
        return False
    pull = np.hypot(np.linalg.norm(M.T @ unit.a), np.linalg.norm(M @ unit.w))
    size = np.hypot(np.linalg.norm(unit.w), np.linalg.norm(unit.a))
    return is_shadow or bool(pull <= _BALANCED_PART * largest * size)


def pull_of(X: FloatArray, lam: FloatArray) -> float:
    """Bound what λ can make of M in any sector."""
    return float(np.linalg.norm(lam, axis=1) @ np.linalg.norm(X, axis=1))


def sector_map(X: FloatArray, lam: FloatArray, row: PatternArray, leak: float) -> FloatArray:
    """Return M = Λᵀ S X off the boundaries that a row of signs slides on: w' = Mᵀa and a' = M w there."""
    return np.asarray(lam.T @ sector_of(X, row, leak))


def sector_of(X: FloatArray, row: PatternArray, leak: float) -> FloatArray:
    """Return S X off the boundaries that a row of signs slides on, shape (n, d)."""
    rows = slopes(row, leak)[:, None] * X
    if (row != 0).all():
        return np.asarray(rows)
    found = boundaries(X)
    return off(rows, span(found.normal[np.unique(found.boundary[row == 0])]))


def rest_of_outputs(flow: OutputFlow, small: list[Small | None], lam: FloatArray) -> OutputRest:
    """Move the infinitesimal neurons under constant λ to where they end; None stands for one that has grown."""
    m, (n, K), d = len(small), lam.shape, flow.problem.X.shape[1]
    status = np.full(m, "grown", dtype="<U9")
    direction, output, pattern = np.zeros((m, d)), np.zeros((m, K)), np.zeros((m, n), dtype=np.int8)
    rate, log_size = np.zeros(m), np.zeros(m)
    units: list[Unit | None] = [None] * m
    entries: list[Entry | None] = [None] * m
    reasons, tables = {}, []
    for j, one in enumerate(small):
        if one is None:
            continue
        found = settle(flow, one, lam, j)
        end, units[j], entries[j] = found.end, found.unit, found.entry
        status[j], direction[j], output[j] = end.status, end.w, end.a
        pattern[j], rate[j], log_size[j] = found.unit.sides, end.rate, found.log_size
        tables.append(found.events)
        if end.reason:
            reasons[j] = end.reason
    events = in_order(tables)
    events = events[np.argsort(events.t, kind="stable")]
    return OutputRest(
        status,
        direction,
        pattern,
        rate,
        log_size,
        events,
        reasons,
        output,
        tuple(units),
        tuple(entries),
        (flow.problem.X, lam, flow.leak),
    )
