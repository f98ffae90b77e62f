"""How infinitesimal neurons move while the grown network rests: to extremal directions, growing at constant rates."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .._validation import FloatArray, IntArray, PatternArray
from ..datasets import Dataset
from ..early._alignment import events_of
from ..flow._events import EventTable
from ..kinks._boundaries import acts, exact_signs
from ..kinks._constant_duals import STATUSES, Frozen, start
from ._neurons import Neurons

# Neurons whose times to grow agree to this part grow at one instant: rates are known to 1e-12 or so.
TIE_TOL = 1e-9
# Directions that agree to this part are one direction: they are computed from one gradient.
_SAME_TOL = 1e-9


@dataclass(frozen=True, eq=False)
class Rest:
    """What infinitesimal neurons do under constant λ. After their last events log |w_j| = `log_size` + rate_j t.

    Attributes
    ----------
    status : ndarray of str, shape (m,)
        As `EarlyAlignment.status`, or ``grown``.
    direction : ndarray, shape (m, d)
        Unit vectors; rows of grown neurons are their weights.
    pattern : ndarray, shape (m, n), int8
    rate : ndarray, shape (m,)
        d log |w_j| / dt, negative where a neuron decays.
    log_size : ndarray, shape (m,)
        The constant of log |w_j|, with t = 0 at the beginning of the rest.
    events : EventTable
    reasons : dict
        Why a neuron is undecided, by its number.
    """

    status: npt.NDArray[np.str_]
    direction: FloatArray
    pattern: PatternArray
    rate: FloatArray
    log_size: FloatArray
    events: EventTable
    reasons: dict[int, str]

    def waits(self, power: FloatArray) -> FloatArray:
        """Time until each neuron has grown, in units of L; infinite for those that do not grow, shape (m,)."""
        waits = np.full(len(power), np.inf)
        np.divide(-power, self.rate, out=waits, where=self.rate > 0)
        return waits


def rest(data: Dataset, neurons: Neurons, lam: FloatArray) -> Rest:
    """Move the infinitesimal neurons under constant λ to where they end."""
    rows = np.flatnonzero(~neurons.grown)
    pattern = exact_signs(neurons.w, data.X) if neurons.pattern is None else np.array(neurons.pattern)
    status = np.full(len(neurons.a), "grown", dtype="<U9")
    direction, log_size, rate = np.array(neurons.w), np.array(neurons.log_size), np.zeros(len(neurons.a))
    if not len(rows) or not lam.any():
        status[rows] = np.where(acts(pattern[rows], neurons.leak), "rest", "dead")
        return Rest(status, direction, pattern, rate, log_size, _no_events(), {})
    flow = start(data.X, lam, neurons.leak, neurons.w[rows], neurons.a[rows], pattern[rows])
    flow.slides = neurons.pattern is not None
    flow.run()
    status[rows] = np.array(STATUSES)[flow.status]
    rate[rows], change, direction[rows] = _lines(flow, status[rows])
    log_size[rows] += change
    pattern[rows] = flow.pattern
    reasons = {int(rows[j]): why for j, why in flow.reasons.items()}
    return Rest(status, direction, pattern, rate, log_size, _of_rows(events_of(flow), rows), reasons)


def _lines(flow: Frozen, status: npt.NDArray[np.str_]) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Rates, constants of log |w_j| and directions after the last events.

    In the last sector η + |w| grows like e^(γ t), η = |w| cos of the angle to the extremal direction, and η tends to
    |w|: log |w| tends to log_norm + log((1 + cos)/2) + γ (t - t_last).
    """
    size = np.linalg.norm(flow.pull, axis=1)
    unit = np.divide(flow.pull, size[:, None], out=np.zeros_like(flow.pull), where=size[:, None] > 0)
    direction = flow.w / np.linalg.norm(flow.w, axis=1, keepdims=True)
    grows, decays = status == "extremal", status == "decaying"
    cosine = flow.sign * np.einsum("jd,jd->j", direction, unit)
    rate = np.where(grows, size, np.where(decays, -size, 0.0))
    turn = np.where(grows, np.log1p(np.where(grows, cosine, 0.0)) - np.log(2.0), 0.0)
    direction[grows] = flow.sign[grows, None] * unit[grows]
    return rate, flow.log_norm + turn - rate * flow.t, direction


def clusters(neurons: IntArray, rest: Rest, sign: FloatArray) -> tuple[IntArray, ...]:
    """Sort neurons by their direction and sign: each cluster leaves the saddle as one neuron."""
    found: list[list[int]] = []
    for j in neurons.tolist():
        for other in found:
            k = other[0]
            if sign[j] == sign[k] and np.linalg.norm(rest.direction[j] - rest.direction[k]) <= _SAME_TOL:
                other.append(j)
                break
        else:
            found.append([j])
    return tuple(np.array(part, dtype=np.int64) for part in found)


def _no_events() -> EventTable:
    empty = np.empty(0)
    whole = np.empty(0, dtype=np.int32)
    return EventTable(empty, empty, whole, whole, np.empty(0, dtype=np.uint8), np.empty(0, dtype=np.int64))


def _of_rows(table: EventTable, rows: IntArray) -> EventTable:
    neuron = rows[table.neuron].astype(np.int32)
    return EventTable(table.t, table.log_t, neuron, table.sample, table.code, table.tie)
