"""Early alignment with K outputs: neurons of vanishing size under constant duals λ_i in R^K.

At zero λ_i = c_i y_i for the squared loss and c_i (one-hot - 1/K) for cross-entropy. In a sector with slopes S the
neuron follows w' = Mᵀa, a' = M w with M = Λᵀ S X, so that (w, a) turns to the largest singular pair of M: a critical
direction of u -> |Λᵀ φ(Xu)|. The flow itself is integrated, one neuron at a time and so small that its outputs are
below the rounding of λ; where it ends is then computed from its last sector.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from .._validation import FloatArray, PatternArray, ReadOnly, freeze, invalid, real_array
from ..flow import EventTable, Stop, TwoLayerSolution, integrate
from ..kinks._boundaries import acts, boundaries, off, slopes, span
from ..layered._several import Pair, pair_of
from ..losses import check_reduction, reduction_factor
from ..networks import Network

# A neuron starts with this size and ends with that: its outputs, the square, are nothing beside λ, and 160 e-foldings
# separate singular values that differ by a fifth.
_SIZE, _END = 1e-130, 1e-60
# A neuron may take this many times as long as one that all samples drive.
_PATIENCE = 1e4
# The state agrees with the largest singular pair of its sector within this part.
_AGREES = 1e-6
# Singular values within this part of the largest are equal to it; a pull below this part of Σ |λ||x| is zero.
_EQUAL, _ZERO = 1e-9, 1e-12


@dataclass(frozen=True, eq=False, repr=False)
class OutputAlignment(ReadOnly):
    """Where m neurons of vanishing size with K outputs go. All arrays are read-only.

    Attributes
    ----------
    data
        As it was given.
    leak : float
    duals : ndarray, shape (n, K)
        λ_i at zero.
    status : ndarray of str, shape (m,)
        ``extremal``: (w, a) converges to `direction` and `output`, and grows. ``dead``: of leak 0, inactive on all
        samples, it never moves again. ``rest``: the samples that it acts on pull it nowhere, or it slides on all of
        them. ``undecided``: see `reasons`.
    direction : ndarray, shape (m, d)
        Unit vectors: the direction of w that is reached, or else the last one.
    output : ndarray, shape (m, K)
        Unit vectors: the same of a.
    sector : ndarray, shape (m, n), int8
        The last sector; 0 where a boundary is held.
    rate : ndarray, shape (m,)
        |Λᵀ φ(Xu)| of the direction u that is reached: the neuron grows like e^(rate t); 0 if it does not.
    log_size : ndarray, shape (m,)
        Of a neuron that starts with |w| = |a| = ε, log |w(t)| tends to log ε + rate t + log_size while it is small;
        nan where it is undecided.
    t_last : ndarray, shape (m,)
        Time of the last event; 0 without events.
    pattern0 : ndarray, shape (m, n), int8
        Signs at the start.
    events : EventTable
        All events in order of time.
    reasons : dict
        Why a neuron is undecided, by its number.
    """

    data: Any
    leak: float
    duals: FloatArray
    status: npt.NDArray[np.str_]
    direction: FloatArray
    output: FloatArray
    sector: PatternArray
    rate: FloatArray
    log_size: FloatArray
    t_last: FloatArray
    pattern0: PatternArray
    events: EventTable
    reasons: dict[int, str]

    def counts(self) -> dict[str, int]:
        """Return how many neurons have each status; statuses that do not occur are left out."""
        names = ("extremal", "dead", "rest", "undecided")
        return {name: number for name in names if (number := int(np.count_nonzero(self.status == name)))}

    def __repr__(self) -> str:
        """One line: the numbers of neurons by status, and of events."""
        counts = ", ".join(f"{number} {name}" for name, number in self.counts().items())
        return f"OutputAlignment({len(self.status)} neurons: {counts}; {len(self.events)} events)"


def align_outputs(
    data: Any, directions: FloatArray, outputs: npt.ArrayLike, leak: float, loss: Any, reduction: Any
) -> OutputAlignment:
    """Follow neurons with output directions (m, K) to where they end.

    Raises
    ------
    ValueError
        A bad argument; the message names it.
    """
    heads = heads_of(outputs, len(directions))
    units = directions / np.linalg.norm(directions, axis=1, keepdims=True)
    check_reduction(reduction)
    pair = pair_of(data, Network(_SIZE * units, _SIZE * heads, leak=leak), loss)
    duals = _duals(pair, loss, heads.shape[1], reduction)
    weights = np.linalg.norm(duals, axis=1) @ np.linalg.norm(pair.X, axis=1)
    runs, ends = [], []
    for w, a in zip(units, heads, strict=True):
        run = None
        if weights > 0:
            until = Stop(log_norm=float(np.log(_END)), time=float(_PATIENCE * np.log(_END / _SIZE) / weights))
            net = Network([_SIZE * w], [_SIZE * a], leak=leak)
            run = integrate(pair.data, net, until=until, loss=loss, reduction=reduction, rtol=1e-12)
        runs.append(run)
        ends.append(_end(pair.X, duals, w, a, leak, run, float(weights)))
    return _gathered(data, leak, duals, pair.X, units, runs, ends)


def heads_of(outputs: npt.ArrayLike, m: int) -> FloatArray:
    heads = real_array(outputs, "signs", "(m, K)")
    if len(heads) != m or heads.shape[1] < 2:
        expected = f"have {m} rows, a direction of a_j in R^K for each row of directions"
        raise invalid("signs", expected, f"the shape {heads.shape}")
    size = np.linalg.norm(heads, axis=1, keepdims=True)
    if not size.all():
        raise invalid("signs", "have no row of zeros", f"zeros only at row {int(np.argmin(size))}")
    return np.asarray(heads / size)


def _duals(pair: Pair, loss: str, K: int, reduction: str) -> FloatArray:
    targets = pair.target_rows if loss == "squared" else pair.target_rows - 1.0 / K
    counts = pair.each
    return np.asarray(reduction_factor(reduction, pair.total) * counts[:, None] * targets)


@dataclass(frozen=True)
class End:
    """What becomes of one neuron, as in `OutputAlignment`."""

    status: str
    w: FloatArray
    a: FloatArray
    row: PatternArray
    rate: float = 0.0
    log_size: float = np.nan
    reason: str = ""


def _end(X: FloatArray, duals: FloatArray, w: FloatArray, a: FloatArray, leak: float, run: Any, unit: float) -> End:
    """Tell where a neuron ends from the last sector of its run."""
    row = np.sign(X @ w).astype(np.int8)
    if run is None:
        return end_in_sector(X, duals, w, a, row, leak, unit, is_large=False)
    row, w, a = run.final.pattern[0], run.final.W[0] / _SIZE, run.final.a[0] / _SIZE
    if not run.success:
        return End("undecided", *_units(w, a), row, reason=run.message)
    end = end_in_sector(X, duals, w, a, row, leak, unit, is_large=run.status == "reached_log_norm")
    return replace(end, log_size=end.log_size - end.rate * run.t_end)


def end_in_sector(
    X: FloatArray,
    duals: FloatArray,
    w: FloatArray,
    a: FloatArray,
    row: PatternArray,
    leak: float,
    unit: float,
    *,
    is_large: bool,
) -> End:
    """Tell where a neuron ends from its state in the last sector; `is_large`: it has grown by many orders.

    There the part of (w, a) along (v, u) of a largest singular pair grows like e^(rate t) from its beginning on, and
    the other parts are left behind: the constant of log |w| is exact once the last event is over. Here `log_size` is
    the logarithm of that part.
    """
    slope = slopes(row, leak)
    if not acts(row, leak):
        return End("dead", *_units(w, a), row, log_size=_log(w))
    found = boundaries(X)
    M = off(duals.T @ (slope[:, None] * X), span(found.normal[np.unique(found.boundary[row == 0])]))
    left, sizes, right = np.linalg.svd(M, full_matrices=False)
    if not sizes[0] > _ZERO * unit:
        return End("rest", *_units(w, a), row, log_size=_log(w))
    top = sizes > (1 - _EQUAL) * sizes[0]
    share = 0.5 * (right[top] @ w + left[:, top].T @ a)  # along (v, u)/√2 of each largest pair, times √2
    direction, output = share @ right[top], left[:, top] @ share
    size = float(np.linalg.norm(share))
    missing = np.hypot(np.linalg.norm(w - direction), np.linalg.norm(a - output))
    leaves = (-row * (X @ direction) > _EQUAL * size * np.linalg.norm(X, axis=1)).any()
    if not is_large or leaves or not missing < _AGREES * size:
        reason = "it has not come to the largest singular pair of its sector while it is small"
        return End("undecided", *_units(w, a), row, reason=reason)
    return End("extremal", direction / size, output / size, row, float(sizes[0]), float(np.log(size)))


def _log(w: FloatArray) -> float:
    return float(np.log(np.linalg.norm(w)))


def _units(w: FloatArray, a: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return two vectors at length 1, where they have one."""
    return tuple(v / (float(np.linalg.norm(v)) or 1.0) for v in (w, a))  # type: ignore[return-value]


def _gathered(
    data: Any,
    leak: float,
    duals: FloatArray,
    X: FloatArray,
    units: FloatArray,
    runs: list[TwoLayerSolution | None],
    ends: list[End],
) -> OutputAlignment:
    tables = [(j, run.events) for j, run in enumerate(runs) if run is not None]
    t = np.concatenate([table.t for _, table in tables] or [np.empty(0)])
    order = np.argsort(t, kind="stable")
    neuron = np.concatenate([np.full(len(table), j) for j, table in tables] or [np.empty(0)])
    sample, code = (
        np.concatenate([getattr(table, name) for _, table in tables] or [np.empty(0)]) for name in ("sample", "code")
    )
    with np.errstate(divide="ignore"):
        log_t = np.log(t[order])
    columns = neuron[order].astype(np.int32), sample[order].astype(np.int32), code[order].astype(np.uint8)
    events = EventTable(t[order], log_t, *columns, np.unique(t[order], return_inverse=True)[1].astype(np.int64))
    last = np.array([run.events.t[-1] if run is not None and len(run.events) else 0.0 for run in runs])
    signs = [unit if run is None else run.initial.W[0] for unit, run in zip(units, runs, strict=True)] @ X.T
    arrays: dict[str, Any] = {
        "duals": duals,
        "status": np.array([end.status for end in ends]),
        "direction": np.array([end.w for end in ends]),
        "output": np.array([end.a for end in ends]),
        "sector": np.array([end.row for end in ends], dtype=np.int8),
        "rate": np.array([end.rate for end in ends]),
        "log_size": np.array([end.log_size for end in ends]),
        "t_last": last,
        "pattern0": np.sign(signs).astype(np.int8),
    }
    for array in arrays.values():
        freeze(array)
    reasons = {j: end.reason for j, end in enumerate(ends) if end.reason}
    return OutputAlignment(data=data, leak=leak, events=events, reasons=reasons, **arrays)
