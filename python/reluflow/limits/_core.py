"""Which margins can grow in a pattern, and where the others come to rest: the finite part of the loss's minimum."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.optimize import linprog

from .._linear_algebra import least_squares, svd
from .._validation import FloatArray
from ..datasets import Dataset
from ..kinks._boundaries import slopes, span
from ..losses import is_of_margins, log_curvatures, log_total, log_weights
from ._groups import Groups
from ._rays import ON_BOUNDARY, climbing

# Singular values below this part of the largest are zero.
_RANK_TOL = 1e-11
# A row whose part in the range of the pattern is below this part of |x_i| is out of reach.
_ROW_TOL = 1e-11
# The linear program puts the growing samples at 1 and the others at 0.
_GROWS = 0.5
# Samples are taken to rest, and this is then proved, where the margins of all others are larger by this factor.
_APART = 10.0
# Of the margins of the others a direction must keep this part while those at rest stand still.
_KEPT = 0.5
# Multipliers of those at rest must cancel to this part of their sum, and each be larger than this part of the largest.
_CANCELS = 1e-9
_LEAST_SHARE = 1e-6
# Newton steps for the values at rest; some 20 are taken.
_VALUE_STEPS = 200
# A step that falls by more than this part of the one before falls slowly.
_SLOW = 0.25
# A step is halved until the loss falls by this part of what its slope promises, or the step is tiny, or the fall is
# within the rounding of the loss.
_ENOUGH = 0.1
_LEAST_PART = 1e-10
_NOISE = 1e-12
# Values beyond this mean that there is no minimum after all.
_MAX_VALUE = 1e4


@dataclass(frozen=True, eq=False)
class Core:
    """The samples whose margins stay finite.

    Attributes
    ----------
    rests : ndarray of bool, shape (n,)
    values : ndarray, shape (n,)
        Limits of f(x_i) on them; 0 elsewhere.
    duals : ndarray, shape (n,)
        λ_i = -y_i ℓ'(q_i) there; 0 elsewhere. They pull no group anywhere.
    """

    rests: npt.NDArray[np.bool_]
    values: FloatArray
    duals: FloatArray


def no_core(n: int) -> Core:
    """All margins grow."""
    return Core(np.zeros(n, dtype=np.bool_), np.zeros(n), np.zeros(n))


def find_core(groups: Groups, data: Dataset, margins: FloatArray, loss: str, leak: float) -> Core | None:
    """Split the samples, and minimise the loss of those at rest from the margins given.

    Late in a run the margins show the split, and multipliers prove it; else it is found by a linear program. Samples
    that count nothing take no part: they do not rest. None where the minimum is not found.
    """
    basis = reached_range(groups)
    if not is_of_margins(loss):
        return _fitted(basis, data)
    basis[data.counts == 0] = 0.0
    core = _split(basis, data, margins, loss)
    # A group that its boundaries do not hold at that minimum leaves them as far as the values ask for, which is next to
    # nothing beside its size: values move with it.
    while core is not None and core.rests.any():
        moved = _moved(groups, core, leak)
        wider = np.hstack((basis, moved))
        wider = span(wider.T).T if moved.shape[1] else basis
        freed = _at_rest(wider, core.rests, data, margins, loss) if wider.shape[1] > basis.shape[1] else None
        if freed is None or not _hold_each_other(wider, data.y, freed):
            break
        basis, core = wider, freed
    return core


def _split(basis: FloatArray, data: Dataset, margins: FloatArray, loss: str) -> Core | None:
    y, used = data.y, data.counts > 0
    seen = _apart(basis, margins)
    if seen is not None:
        core = _at_rest(basis, seen & used, data, margins, loss)
        if core is not None and _is_proved(basis, y, margins, core, used & ~seen):
            return core
    return _at_rest(basis, resting(basis, y) & used, data, margins, loss)


def _moved(groups: Groups, core: Core, leak: float) -> FloatArray:
    """Return how values change as groups leave boundaries of samples at rest on which these do not hold them."""
    found = [np.empty((len(core.rests), 0))]
    for c in range(len(groups)):
        if not core.rests[groups.pattern[c] == 0].any():
            continue
        along = climbing(groups, c, core.duals, leak)
        if along is None or not len(along):
            continue
        z = along @ groups.X.T
        z[np.abs(z) <= ON_BOUNDARY * np.linalg.norm(groups.X, axis=1)] = 0.0
        sides = np.where(groups.pattern[c] == 0, np.sign(z).astype(np.int8), groups.pattern[c])
        found.append((slopes(sides, leak) * z).T)
    return np.hstack(found)


def _at_rest(
    basis: FloatArray, rests: npt.NDArray[np.bool_], data: Dataset, margins: FloatArray, loss: str
) -> Core | None:
    """Minimise the loss of the samples at rest; None where the minimum is not found."""
    y = data.y
    values, duals = np.zeros(len(y)), np.zeros(len(y))
    if rests.any():
        found = minimum_at_rest(basis[rests], y[rests], data.counts[rests], margins[rests], loss)
        if found is None:
            return None
        values[rests] = found
        duals[rests] = data.counts[rests] * y[rests] * np.exp(log_weights(y[rests] * found, loss))
    return Core(rests, values, duals)


def _apart(basis: FloatArray, margins: FloatArray) -> npt.NDArray[np.bool_] | None:
    """Find the samples whose margins lie far below all others, with those out of reach.

    None without such a gap, unless all others are positive.
    """
    within = np.linalg.norm(basis, axis=1) > _ROW_TOL
    if not within.any():
        return np.asarray(~within)
    ordered = np.sort(margins[within])
    gaps = np.divide(ordered[1:], ordered[:-1], out=np.zeros(len(ordered) - 1), where=ordered[:-1] > 0)
    if not gaps.max(initial=0.0) >= _APART:
        return np.asarray(~within) if ordered[0] > 0 else None
    return np.asarray(~within | (margins < ordered[1 + int(np.argmax(gaps))]))


def _is_proved(
    basis: FloatArray, y: FloatArray, margins: FloatArray, core: Core, others: npt.NDArray[np.bool_]
) -> bool:
    """Whether all others can grow while those at rest stand still, and none at rest can grow unless another one falls.

    The first is shown by a direction, that of the state less what moves those at rest; the second by positive
    multipliers of those at rest that cancel.
    """
    rests, signed = core.rests, y[:, None] * basis
    state = least_squares(basis, y * margins, _RANK_TOL)
    if rests.any():
        if not _hold_each_other(basis, y, core):
            return False
        _, sizes, rows = svd(basis[rests], full_matrices=False)
        held = rows[sizes > _RANK_TOL * sizes.max(initial=0.0)]
        state = state - held.T @ (held @ state)
    return bool(np.all(signed[others] @ state > _KEPT * margins[others]))


def _hold_each_other(basis: FloatArray, y: FloatArray, core: Core) -> bool:
    """Whether positive multipliers of the samples at rest, of one size, cancel."""
    lam = np.abs(core.duals[core.rests])
    pull = np.abs(lam @ (y[:, None] * basis)[core.rests]).max(initial=0.0)
    return bool(lam.min() > _LEAST_SHARE * lam.max() and pull <= _CANCELS * lam.sum())


def _fitted(basis: FloatArray, data: Dataset) -> Core:
    """All values rest: those of weighted least squares over the range of `basis`."""
    root = np.sqrt(data.counts)
    z = least_squares(root[:, None] * basis, root * data.y, _RANK_TOL)
    values = basis @ z
    return Core(np.ones(data.n, dtype=np.bool_), values, data.counts * (data.y - values))


def reached_range(groups: Groups) -> FloatArray:
    """Return `value_range` with rows of zeros for samples out of reach.

    A sample that groups hardly drive has a row of rounding, which would be all that its value is fitted with.
    """
    basis = value_range(groups)
    basis[np.linalg.norm(basis, axis=1) <= _ROW_TOL] = 0.0
    return basis


def value_range(groups: Groups) -> FloatArray:
    """Columns that span what the groups can add to the values f, orthonormal, shape (n, r)."""
    n = len(groups.X)
    found, reach = np.empty((n, 0)), np.zeros(n)
    for c in range(len(groups)):
        rows = groups.map(c)
        found, reach = np.hstack((found, rows)), np.maximum(reach, np.linalg.norm(rows, axis=1))
        if found.shape[1] > 2 * n or c == len(groups) - 1:
            vectors, sizes, _ = svd(found, full_matrices=False)
            keep = sizes > _RANK_TOL * sizes.max(initial=0.0)
            found = vectors[:, keep] * sizes[keep]
    # Rounding in the rows of samples that no group drives would grow where a column is small, as in raw units.
    found[reach <= _ROW_TOL * np.linalg.norm(groups.X, axis=1)] = 0.0
    return np.asarray(found / np.linalg.norm(found, axis=0))


def resting(basis: FloatArray, y: FloatArray) -> npt.NDArray[np.bool_]:
    """Find the samples whose margins grow in no direction in which no margin falls."""
    n, r = basis.shape
    rows = np.linalg.norm(basis, axis=1)
    within = rows > _ROW_TOL
    if r == n or not within.any():
        return np.asarray(~within)
    signed = (y[within] / rows[within])[:, None] * basis[within]
    k = len(signed)
    found = linprog(
        np.r_[np.zeros(r), -np.ones(k)],
        A_ub=np.hstack((-signed, np.eye(k))),
        b_ub=np.zeros(k),
        bounds=[(None, None)] * r + [(0.0, 1.0)] * k,
    )
    rests = np.ones(n, dtype=np.bool_)
    if found.x is not None:
        rests[np.flatnonzero(within)] = found.x[r:] < _GROWS
    return rests


def minimum_at_rest(
    basis: FloatArray, y: FloatArray, counts: FloatArray, margins: FloatArray, loss: str
) -> FloatArray | None:
    """Minimise Σ c_i ℓ(y_i f_i) over f in the range of `basis` by Newton steps with a line search."""
    z = least_squares(basis, y * margins, _RANK_TOL)
    if np.abs(basis @ z).max() > _MAX_VALUE:
        z = np.zeros_like(z)  # a sample far off the others: from there no weight is a number
    eps, last = np.finfo(np.float64).eps, np.inf
    for _ in range(_VALUE_STEPS):
        q = y * (basis @ z)
        slope, curvature = -counts * np.exp(log_weights(q, loss)), counts * np.exp(log_curvatures(q, loss))
        root = np.sqrt(curvature)
        pull = np.divide(-y * slope, root, out=np.zeros_like(root), where=root > 0)  # both underflow together
        step = least_squares(root[:, None] * basis, pull, _RANK_TOL)
        fall = -float((basis.T @ (y * slope)) @ step)
        part = _line_search(q, y * (basis @ step), fall, loss, counts)
        z = z + part * step
        # So near the minimum each step falls by far less than the one before, unless what falls is rounding.
        is_rounding = fall <= eps * np.abs(slope).sum() and fall > _SLOW * last
        if part == 0.0 or fall <= eps**2 * len(y) or is_rounding:
            return np.asarray(basis @ z)
        last = fall
        if not np.abs(basis @ z).max() <= _MAX_VALUE:
            return None
    return None


def _line_search(q: FloatArray, move: FloatArray, fall: float, loss: str, counts: FloatArray) -> float:
    """Part of a Newton step that keeps a share of the fall of the loss that its slope promises; 0 at the rounding."""
    start = np.exp(log_total(q, loss, counts))
    part = 1.0
    while fall > 0 and part > _LEAST_PART:
        with np.errstate(over="ignore"):  # a trial far off
            gain = start - np.exp(log_total(q + part * move, loss, counts))
        # A small promise may be one of a huge step, along which the loss is flat here and steep there.
        is_noise = max(part * fall, -gain) <= _NOISE * start
        if gain >= _ENOUGH * part * fall or is_noise:
            return part
        part /= 2
    return 0.0
