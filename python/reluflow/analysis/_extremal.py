"""G(w), its extremal directions and their sectors ([PL] Definition 2): where small neurons turn to."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .._least_distance import project_on_cone
from .._validation import FloatArray, PatternArray, ReadOnly, leak_value, real_array
from ..convex import arrangements
from ..datasets import Dataset
from ..early import early_alignment
from ..kinks._boundaries import Boundaries, boundaries
from ..losses import LossName, ReductionName, early_duals
from ._inputs import check_data
from ._kernels import slopes_of

# A pull this small against Σ |λ_i||x_i| is rounding: the cone's best direction is then the origin.
_ZERO_TOL = 1e-10
# Two unit vectors closer than this are one extremal direction.
_SAME_TOL = 1e-7
# A sample with |x_i·w| below this times |x_i| lies on the boundary of an extremal direction.
_BOUNDARY_TOL = 1e-9


@dataclass(frozen=True, eq=False)
class ExtremalDirection(ReadOnly):
    """A strict local maximum (sign +1) or minimum (sign -1) of G on the unit sphere.

    Attributes
    ----------
    sign : int
    direction : ndarray, shape (d,)
        A unit vector.
    value : float
        G there.
    sector : ndarray, shape (n,), int8
        Its sign pattern, 0 on a boundary.
    """

    sign: int
    direction: FloatArray
    value: float
    sector: PatternArray


@dataclass(frozen=True, eq=False)
class _Early:
    """G as sums over boundaries: everything the searches below need."""

    data: Dataset
    lam: FloatArray
    leak: float
    boundaries: Boundaries

    def pull(self, signs: PatternArray) -> FloatArray:
        return np.asarray((slopes_of(signs, self.leak) * self.lam) @ self.data.X)

    @property
    def rounding(self) -> float:
        """Pulls up to this size are zero."""
        return _ZERO_TOL * float(np.abs(self.lam) @ np.linalg.norm(self.data.X, axis=1))


def early_objective(
    data: Dataset,
    directions: npt.ArrayLike,
    *,
    leak: float = 0.0,
    loss: LossName = "logistic",
    reduction: ReductionName = "sum",
) -> FloatArray:
    """Evaluate G(w) = -Σ_i ℓ'(0) y_i φ(w·x_i) ([PL] (12)), what a small neuron's direction climbs or descends.

    Parameters
    ----------
    data : Dataset
    directions : array_like, shape (p, d)
    leak, loss, reduction
        As for `reluflow.integrate`; the mean divides by n as in [LLWA].

    Returns
    -------
    ndarray, shape (p,)

    Examples
    --------
    >>> import reluflow as rf
    >>> data = rf.Dataset([[1.0, 0.0], [0.0, 1.0]], [1, -1])
    >>> rf.analysis.early_objective(data, [[1.0, 0.0], [0.0, 2.0]])
    array([ 0.5, -1. ])
    """
    check_data(data)
    rows = real_array(directions, "directions", "(p, d)")
    Z = rows @ data.X.T
    slope = leak_value(leak)
    return np.asarray(np.maximum(Z, slope * Z) @ early_duals(data, loss, reduction))


def extremal_directions(
    data: Dataset,
    *,
    leak: float = 0.0,
    loss: LossName = "logistic",
    reduction: ReductionName = "sum",
    limit: int = 5000,
) -> list[ExtremalDirection]:
    """Find all extremal directions with G > 0 (maxima) or G < 0 (minima), by looking into every cell of the data.

    In each cell G is linear, so its best direction there is the projection of its gradient on the cell's cone; it
    is a strict local maximum of G exactly if all cells that touch it agree.

    Parameters
    ----------
    data : Dataset
    leak, loss, reduction
        As for `reluflow.integrate`.
    limit : int, optional
        The cells number up to 2 n^(r-1)/(r-1)!; more than this are refused.

    Returns
    -------
    list of ExtremalDirection
        Maxima first, each kind sorted by |G|, largest first.

    Raises
    ------
    ValueError
        The data have more than `limit` cells; use `extremal_from` then.

    Examples
    --------
    >>> import reluflow as rf
    >>> data = rf.Dataset([[1.65, -0.47], [-0.47, 1.35]], [1, -1])
    >>> for found in rf.analysis.extremal_directions(data):
    ...     print(found.sign, found.direction.round(6), found.sector)
    1 [ 0.961744 -0.273951] [ 1 -1]
    -1 [-0.328792  0.944402] [-1  1]
    """
    check_data(data)
    cells = np.where(arrangements(data.X, limit=limit).patterns, 1, -1).astype(np.int8)
    found: list[ExtremalDirection] = []
    for sign in (1, -1):
        early = _early(data, leak, loss, reduction, sign)
        best = np.array([_cell_best(early, cell) for cell in cells])
        kept = [_extremal(early, sign, u) for u in _distinct(best) if _all_agree(early, u, cells, best)]
        found += sorted(kept, key=lambda e: -abs(e.value))
    return found


def extremal_from(
    data: Dataset,
    directions: npt.ArrayLike,
    signs: npt.ArrayLike,
    *,
    leak: float = 0.0,
    loss: LossName = "logistic",
    reduction: ReductionName = "sum",
) -> list[ExtremalDirection]:
    """Find the extremal directions that are reached from given ones, for data with too many cells to list.

    From each direction a neuron of vanishing size is followed, up G (sign +1) or down (sign -1), as `early_alignment`
    does. Directions that die on the way find nothing, nor do those whose way branches, and those that end where G
    still grows to one side, as starts exactly on a boundary and data of whole numbers can; `early_alignment` tells.

    Parameters
    ----------
    data : Dataset
    directions : array_like, shape (p, d)
        For example the rows of W at the start; none may be zero.
    signs : array_like, shape (p,)
        +1 or -1, for example the signs of a.
    leak, loss, reduction
        As for `reluflow.integrate`.

    Returns
    -------
    list of ExtremalDirection
        Without repeats, maxima first, each kind sorted by |G|.

    Examples
    --------
    >>> import reluflow as rf
    >>> data = rf.datasets.digits(3, 8)
    >>> net = rf.Network.init(4, 64, seed=0)
    >>> found = rf.analysis.extremal_from(data, net.W, net.a / abs(net.a))
    >>> [(e.sign, round(e.value, 2)) for e in found]
    [(1, 73.05), (1, 73.05), (-1, -69.97)]
    """
    check_data(data)
    ends = early_alignment(data, directions, signs, leak=leak, loss=loss, reduction=reduction)
    found: list[ExtremalDirection] = []
    for sign in (1, -1):
        early = _early(data, leak, loss, reduction, sign)
        reached = _distinct(ends.direction[(ends.signs == sign) & (ends.status == "extremal")])
        kept = [_extremal(early, sign, u) for u in reached if _is_strict(early, u)]
        found += sorted(kept, key=lambda e: -abs(e.value))
    return found


def _early(data: Dataset, leak: float, loss: str, reduction: str, sign: int) -> _Early:
    return _Early(data, sign * early_duals(data, loss, reduction), leak_value(leak), boundaries(data.X))


def _cell_best(early: _Early, cell: PatternArray) -> FloatArray:
    """Return the unit vector where G is largest in the closure of a cell; zeros if G is positive nowhere there."""
    point, _ = project_on_cone(early.pull(cell), cell[:, None] * early.data.X)
    size = np.linalg.norm(point)
    return np.asarray(point / size if size > early.rounding else np.zeros_like(point))


def _distinct(rows: FloatArray) -> list[FloatArray]:
    kept: list[FloatArray] = []
    for row in rows:
        if row.any() and all(np.linalg.norm(row - other) > _SAME_TOL for other in kept):
            kept.append(row)
    return kept


def _sector(data: Dataset, u: FloatArray) -> PatternArray:
    z = data.X @ u
    on_boundary = np.abs(z) <= _BOUNDARY_TOL * np.linalg.norm(data.X, axis=1)
    return np.where(on_boundary, 0, np.sign(z)).astype(np.int8)


def _all_agree(early: _Early, u: FloatArray, cells: PatternArray, best: FloatArray) -> bool:
    sector = _sector(early.data, u)
    touching = ((cells == sector) | (sector == 0)).all(axis=1)
    return bool((np.linalg.norm(best[touching] - u, axis=1) <= _SAME_TOL).all())


def _is_strict(early: _Early, u: FloatArray) -> bool:
    """Whether G falls to every side of a direction that is the best one of a closed cell.

    Where the boundaries through it are independent, each has to push back by itself: from below up, from above down.
    """
    sector = _sector(early.data, u)
    on = np.unique(early.boundaries.boundary[sector == 0])
    if not len(on):
        return True
    rest, _, rank, _ = np.linalg.lstsq(early.boundaries.normal[on].T, early.pull(sector), rcond=None)
    if rank == len(on):
        below, above = (rest + edges[on] for edges in early.boundaries.all_edges(early.lam, early.leak))
        return bool((below >= -early.rounding).all() and (above <= early.rounding).all())
    touched = arrangements(early.data.X[sector == 0]).patterns
    cells = np.tile(sector, (len(touched), 1))
    cells[:, sector == 0] = np.where(touched, 1, -1)
    return _all_agree(early, u, cells, np.array([_cell_best(early, cell) for cell in cells]))


def _extremal(early: _Early, sign: int, u: FloatArray) -> ExtremalDirection:
    z = early.data.X @ u
    value = sign * float(np.maximum(z, early.leak * z) @ early.lam)
    return ExtremalDirection(sign, u, value, _sector(early.data, u))
