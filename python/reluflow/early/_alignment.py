"""`early_alignment`: the flow in the limit of vanishing initialisation, exactly, neuron by neuron."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple, overload

import numpy as np
import numpy.typing as npt

from .._validation import (
    FloatArray,
    PatternArray,
    ReadOnly,
    freeze,
    integer,
    invalid,
    is_table,
    leak_value,
    place,
    real,
    real_array,
    shown,
)
from ..datasets import Dataset, MultiClassDataset
from ..datasets._arrays import has_several, one_target_of
from ..flow._events import EventTable
from ..kinks._constant_duals import STATUSES, Frozen, start
from ..layered._problem import ArrayData
from ..losses import LossName, ReductionName, check_loss, early_duals
from ._outputs import OutputAlignment, align_outputs


class Visit(NamedTuple):
    """One sector on a neuron's way: entered at time `t` by events of these kinds, the first one by the start."""

    t: float
    sector: PatternArray
    kinds: tuple[str, ...]


@dataclass(frozen=True, eq=False, repr=False)
class EarlyAlignment(ReadOnly):
    """Where m neurons of vanishing size go under constant λ, and how. All arrays are read-only.

    Times are those of the flow itself: in this limit they do not depend on the size of the neurons.

    Attributes
    ----------
    data : Dataset
    signs : ndarray, shape (m,)
        Signs of the output weights.
    leak : float
    duals : ndarray, shape (n,)
        λ_i = -y_i ℓ'(0).
    status : ndarray of str, shape (m,)
        ``extremal``: the direction converges to `direction`, the neuron grows. ``dead``: of leak 0, inactive on all
        samples (or resting on a boundary with all others inactive), it never moves again. ``rest``: the samples
        that it acts on pull it nowhere, or it slides on all of them. ``decaying``: it points exactly against its pull
        and shrinks. ``undecided``: see `reasons`.
    direction : ndarray, shape (m, d)
        Unit vectors: the extremal direction ±P g / |P g| that is reached, or else the direction at the last event.
    sector : ndarray, shape (m, n), int8
        The last sector; 0 where a boundary is held.
    rate : ndarray, shape (m,)
        |P g| there: an extremal neuron grows like e^(rate t).
    t_last : ndarray, shape (m,)
        Time of the last event; 0 without events.
    pattern0 : ndarray, shape (m, n), int8
        Exact signs at the start, 0 on a boundary.
    events : EventTable
        All events in order of time; replayed from `pattern0` they give `sector`.
    reasons : dict
        Why a neuron is undecided, by its number.
    last : ndarray, shape (m, d)
        Unit directions of the neurons at their last event.
    """

    data: Dataset
    signs: FloatArray
    leak: float
    duals: FloatArray
    status: npt.NDArray[np.str_]
    direction: FloatArray
    sector: PatternArray
    rate: FloatArray
    t_last: FloatArray
    pattern0: PatternArray
    events: EventTable
    reasons: dict[int, str]
    last: FloatArray

    def itinerary(self, neuron: int) -> tuple[Visit, ...]:
        """Return the sectors that a neuron visits, in order, with the time at which it enters each.

        Raises
        ------
        ValueError
            There is no such neuron.
        """
        j = integer(neuron, "neuron", least=0)
        if j >= len(self.signs):
            raise invalid("neuron", f"be below {len(self.signs)}, the number of neurons", shown(j))
        events = self.events.of(neuron=j)
        signs = np.array(self.pattern0[j : j + 1])
        visits = [] if len(events) and events.t[0] == 0 else [Visit(0.0, _frozen(signs[0]), ())]
        for tie in np.unique(events.tie).tolist():
            now = events[events.tie == tie]
            for sample, kind in zip(now.sample.tolist(), now.code.tolist(), strict=True):
                signs[0, sample] = _SIGN_AFTER[kind]
            visits.append(Visit(float(now.t[0]), _frozen(signs[0]), tuple(now.kind.tolist())))
        return tuple(visits)

    def time_within(self, gap: float) -> FloatArray:
        """Return the time from which each neuron's cosine with its extremal direction is at least 1 - gap, shape (m,).

        In the last sector the cosine is tanh(rate (t - t_last) + atanh c) with c its value at `t_last`: with one sector
        this is the exact form of the alignment time of [WP, (26)]. The answer is never before `t_last`, and
        nan for neurons that are not extremal.

        Raises
        ------
        ValueError
            ``gap`` is not in (0, 1).
        """
        part = real(gap, "gap", "lie in (0, 1)")
        if not 0 < part < 1:
            raise invalid("gap", "lie in (0, 1)", repr(part))
        cosine = np.clip(np.einsum("jd,jd->j", self.last, self.direction), -1.0, 1.0)
        times = np.full(len(self.signs), np.nan)
        good = self.status == "extremal"
        with np.errstate(divide="ignore"):
            wait = (np.arctanh(1 - part) - np.arctanh(cosine[good])) / self.rate[good]
        times[good] = self.t_last[good] + np.maximum(wait, 0.0)
        return times

    def counts(self) -> dict[str, int]:
        """Return how many neurons have each status; statuses that do not occur are left out."""
        return {name: number for name in STATUSES if (number := int(np.count_nonzero(self.status == name)))}

    def __repr__(self) -> str:
        """One line: the numbers of neurons by status, and of events."""
        counts = ", ".join(f"{number} {name}" for name, number in self.counts().items())
        return f"EarlyAlignment({len(self.signs)} neurons: {counts}; {len(self.events)} events)"


_SIGN_AFTER = (1, -1, 0, 1, -1, 0, 0, 1, -1, 0)


def _frozen(row: PatternArray) -> PatternArray:
    copy = row.copy()
    freeze(copy)
    return copy


@overload
def early_alignment(
    data: Dataset,
    directions: npt.ArrayLike,
    signs: npt.ArrayLike,
    *,
    leak: float = 0.0,
    loss: LossName = "logistic",
    reduction: ReductionName = "sum",
) -> EarlyAlignment: ...
@overload
def early_alignment(
    data: MultiClassDataset | ArrayData,
    directions: npt.ArrayLike,
    signs: npt.ArrayLike,
    *,
    leak: float = 0.0,
    loss: Literal["squared", "cross_entropy"],
    reduction: ReductionName = "sum",
) -> OutputAlignment: ...
def early_alignment(
    data: Dataset | MultiClassDataset | ArrayData,
    directions: npt.ArrayLike,
    signs: npt.ArrayLike,
    *,
    leak: float = 0.0,
    loss: LossName | Literal["cross_entropy"] = "logistic",
    reduction: ReductionName = "sum",
) -> EarlyAlignment | OutputAlignment:
    """Follow balanced neurons of vanishing size, |w_j| = |a_j| -> 0, from sector to sector to where they end.

    While the network is small all λ_i are -y_i ℓ'(0), and each neuron moves by itself. Its flow is solved exactly from
    event to event, with the same rules at the boundaries as in `reluflow.integrate`.

    Parameters
    ----------
    data : Dataset
        n samples in d dimensions, or (X, targets) or (X, targets, weights). For K outputs also a `MultiClassDataset`.
    directions : array_like, shape (m, d)
        Directions of w_j; lengths mean nothing, but no row may be zero.
    signs : array_like, shape (m,)
        Signs of a_j, +1 or -1. For K outputs directions of a_j, shape (m, K).
    leak : float, optional
        Slope of the activation on the negative side, in [0, 1).
    loss, reduction : optional
        As for `reluflow.integrate`; they set the unit of time alone.

    Returns
    -------
    EarlyAlignment, or OutputAlignment for K outputs
        One status a neuron; branchings and dependent boundaries are an outcome, ``undecided``, not an exception.

    Raises
    ------
    ValueError
        A bad argument; the message names it, what was found and what is expected.

    Notes
    -----
    Extremal directions are those of [PL, Def. 2, Lemma A.1]: w ∥ ±P g(w) with P the projector off the held boundaries.
    A neuron may also end at a direction that is no strict local extremum of G, if it starts in its stable set.

    Examples
    --------
    >>> import reluflow as rf
    >>> data = rf.datasets.wang_pilanci("obtuse")
    >>> early = rf.early_alignment(data, [[0.5, -0.87], [0.0, 1.0], [-1.0, -1.0]], [1, -1, 1])
    >>> early.status.tolist()
    ['extremal', 'extremal', 'dead']
    >>> early.direction[:2].round(4)
    array([[ 0.9617, -0.274 ],
           [-0.3288,  0.9444]])
    """
    is_given = isinstance(data, (Dataset, tuple))
    if isinstance(data, MultiClassDataset) or has_several(data) or (is_given and is_table(signs)):
        X = real_array(data[0], "data[0]", "(n, d)") if isinstance(data, tuple) else data.X
        return align_outputs(data, checked_directions(directions, X.shape[1]), signs, leak_value(leak), loss, reduction)
    data = one_target_of(data, expected="a Dataset, a pair (X, targets), or for K outputs a MultiClassDataset")
    rows = checked_directions(directions, data.d)
    sides = checked_signs(signs, len(rows))
    slope = leak_value(leak)
    flow = start(data.X, early_duals(data, check_loss(loss), reduction), slope, rows, sides)
    pattern0 = flow.pattern.copy()
    flow.run()
    return _result(data, flow, pattern0)


def checked_directions(value: npt.ArrayLike, d: int) -> FloatArray:
    rows = real_array(value, "directions", "(m, d)")
    if not len(rows) or rows.shape[1] != d:
        raise invalid("directions", f"have rows of {d} entries, the columns of X", f"the shape {rows.shape}")
    # The largest entry first, so that no length overflows or underflows.
    size = np.abs(rows).max(axis=1, keepdims=True)
    if not size.all():
        raise invalid("directions", "have no row of zeros", f"zeros only at row {int(np.argmin(size))}")
    return np.asarray(rows if (np.log2(size) % 1 == 0).all() else rows / 2.0 ** np.floor(np.log2(size)))


def checked_signs(value: npt.ArrayLike, m: int) -> FloatArray:
    signs = real_array(value, "signs", "(m,)")
    if len(signs) != m:
        raise invalid("signs", f"have one sign for each of the {m} rows of directions", f"{len(signs)} signs")
    other = np.abs(signs) != 1
    if other.any():
        raise invalid("signs", "hold +1 and -1 only", place(signs, other))
    return signs


def _result(data: Dataset, flow: Frozen, pattern0: PatternArray) -> EarlyAlignment:
    status = np.array(STATUSES)[flow.status]
    rate = np.linalg.norm(flow.pull, axis=1)
    direction = flow.w / np.linalg.norm(flow.w, axis=1, keepdims=True)
    last = direction.copy()
    good = status == "extremal"
    direction[good] = (flow.sign[good] / rate[good])[:, None] * flow.pull[good]
    rate[(status == "dead") | (status == "rest")] = 0.0
    arrays = (status, direction, flow.pattern, rate, flow.t, pattern0, last)
    for array in arrays:
        freeze(array)
    return EarlyAlignment(
        data=data,
        signs=flow.sign,
        leak=flow.leak,
        duals=flow.lam,
        status=status,
        direction=direction,
        sector=flow.pattern,
        rate=rate,
        t_last=flow.t,
        pattern0=pattern0,
        events=events_of(flow),
        reasons=dict(sorted(flow.reasons.items())),
        last=last,
    )


def events_of(flow: Frozen) -> EventTable:
    t, neuron, sample, code = (np.concatenate([part[k] for part in flow.log] or [np.empty(0)]) for k in range(4))
    order = np.argsort(t, kind="stable")
    t = t[order].astype(np.float64)
    with np.errstate(divide="ignore"):
        log_t = np.log(t)
    columns = neuron[order].astype(np.int32), sample[order].astype(np.int32), code[order].astype(np.uint8)
    return EventTable(t, log_t, *columns, np.unique(t, return_inverse=True)[1].astype(np.int64))
