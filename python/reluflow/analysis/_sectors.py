"""Who stands in which sector, and when: timelines, groups of neurons, counts of events."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from scipy.sparse.csgraph import connected_components

from .._validation import FloatArray, IntArray, PatternArray, optional_module, positive, truth
from ..flow import MultiClassSolution
from ._classes import class_table
from ._kernels import lengths, mass_shares, scaled
from ._series import dead, sector_keys
from ._states import Source, States, states

if TYPE_CHECKING:
    import pandas as pd

# Directions closer than this (radians, about one degree) count as one. What a neuron keeps of its first direction is
# its first size over its last, up to 1e-2 in practice; clusters on real data are tens of degrees apart.
ANGLE_TOL = 0.02


def sectors(source: Source | MultiClassSolution, times: npt.ArrayLike | None = None) -> pd.DataFrame:
    """List the sectors that are occupied at each time, largest first.

    Returns
    -------
    pandas.DataFrame
        One row a time and sector: ``t``, ``log_t``, ``sector`` (a number that names the same sign pattern at all
        times), ``n_neurons``, ``n_active``, ``n_held`` samples of the sector, ``share`` of |θ|². Of K classes the
        first column is ``class``, and sectors are numbered within a class.

    Examples
    --------
    >>> import reluflow as rf
    >>> data = rf.datasets.wang_pilanci("obtuse")
    >>> sol = rf.integrate(data, rf.Network.init(10, 2, seed=1), until=1e4)
    >>> table = rf.analysis.sectors(rf.analysis.ends(sol))
    >>> table.loc[table["t"] == 1e4, ["n_neurons", "n_active"]].to_dict("records")
    [{'n_neurons': 6, 'n_active': 1}, {'n_neurons': 2, 'n_active': 1}, {'n_neurons': 2, 'n_active': 0}]
    """
    if isinstance(source, MultiClassSolution):
        return class_table(source, lambda one: sectors(one, times))
    pandas = optional_module("pandas", "analysis")
    run = states(source, times)
    ids = sector_ids(run)
    rows = [row for k in range(len(run)) for row in _occupied(run, ids, k)]
    columns = ["t", "log_t", "sector", "n_neurons", "n_active", "n_held", "share"]
    table: pd.DataFrame = pandas.DataFrame(rows, columns=columns)
    return table


def sector_ids(source: Source, times: npt.ArrayLike | None = None) -> IntArray:
    """Return the number of the sector of each neuron, shape (k, m); sectors are numbered by first appearance.

    Examples
    --------
    >>> import reluflow as rf
    >>> data = rf.datasets.wang_pilanci("obtuse")
    >>> sol = rf.integrate(data, rf.Network.init(10, 2, seed=1), until=1e4)
    >>> rf.analysis.sector_ids(rf.analysis.ends(sol))
    array([[0, 1, 0, 2, 0, 2, 2, 2, 1, 2],
           [2, 1, 2, 2, 2, 2, 2, 3, 1, 3]])
    """
    return number_rows(states(source, times).pattern)


def number_rows(pattern: PatternArray) -> IntArray:
    """Give the rows of patterns (k, m, n) numbers by first appearance, shape (k, m): equal rows, equal numbers."""
    keys = sector_keys(pattern)
    _, first, inverse = np.unique(keys.ravel(), return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    ids: IntArray = rank[inverse].reshape(keys.shape)
    return ids


def _occupied(run: States, ids: IntArray, k: int) -> list[tuple[float, float, int, int, int, int, float]]:
    found, first, members = np.unique(ids[k], return_index=True, return_counts=True)
    total = scaled(run.sizes[k]) ** 2
    rows = []
    for i in np.argsort(-members, kind="stable"):
        pattern = run.pattern[k, first[i]]
        share = float(total[ids[k] == found[i]].sum() / max(total.sum(), np.finfo(float).tiny))
        active, held = int((pattern > 0).sum()), int((pattern == 0).sum())
        rows.append((float(run.t[k]), float(run.log_t[k]), int(found[i]), int(members[i]), active, held, share))
    return rows


def groups(
    source: Source | MultiClassSolution,
    times: npt.ArrayLike | None = None,
    *,
    angle_tol: float = ANGLE_TOL,
    same_sector: bool = True,
) -> pd.DataFrame:
    """Group the neurons at the last time by sign of a_j, by sector and by angle.

    Two neurons of one sign and (with `same_sector`) one sector are joined when the angle between their rows of W is
    at most `angle_tol`; a group is what such joins connect.

    Parameters
    ----------
    source : Solution or States, or MultiClassSolution
    times : array_like, optional
    angle_tol : float, optional
        In radians.
    same_sector : bool, optional
        False joins by sign and angle alone.

    Returns
    -------
    pandas.DataFrame
        One row a neuron: ``neuron``, ``group`` (0 is the one with the largest share), ``sign``, ``sector``,
        ``n_active``, ``n_held``, ``dead``, ``size`` |θ_j|, ``share`` of |θ|², ``group_share``, ``angle`` in radians to
        the group's mean direction.

    Examples
    --------
    >>> import reluflow as rf
    >>> data = rf.datasets.wang_pilanci("obtuse")
    >>> sol = rf.integrate(data, rf.Network.init(10, 2, seed=1), until=1e4)
    >>> table = rf.analysis.groups(sol)
    >>> table.groupby("group")["neuron"].agg(list).head(2).to_dict()
    {0: [0, 2, 3, 4, 5, 6], 1: [1, 8]}
    """
    truth(same_sector, "same_sector")
    if isinstance(source, MultiClassSolution):
        return class_table(source, lambda one: groups(one, times, angle_tol=angle_tol, same_sector=same_sector))
    pandas = optional_module("pandas", "analysis")
    run = states(source, times)
    label = _labels(run, positive(angle_tol, "angle_tol"), same_sector)
    share = mass_shares(run.sizes[-1])
    group_share = np.bincount(label, weights=share)
    order = np.argsort(-group_share, kind="stable")
    rank = np.argsort(order, kind="stable")
    pattern = run.pattern[-1]
    table: pd.DataFrame = pandas.DataFrame(
        {
            "neuron": np.arange(run.width),
            "group": rank[label],
            "sign": run.signs.astype(int),
            "sector": sector_ids(run)[-1],
            "n_active": (pattern > 0).sum(axis=1),
            "n_held": (pattern == 0).sum(axis=1),
            "dead": dead(pattern, run.leak),
            "size": run.sizes[-1],
            "share": share,
            "group_share": group_share[label],
            "angle": _angle_to_mean(run, label),
        }
    )
    return table


def _labels(run: States, angle_tol: float, same_sector: bool) -> IntArray:
    rows = _unit(run)
    # |u - v| = 2 sin(angle/2) is exact for small angles, where the arc cosine of u.v is not.
    gap = np.sqrt(np.maximum(_squared_distances(rows), 0.0))
    joined = gap <= 2.0 * np.sin(0.5 * min(angle_tol, np.pi))
    joined &= run.signs[:, None] == run.signs[None, :]
    if same_sector:
        ids = sector_ids(run)[-1]
        joined &= ids[:, None] == ids[None, :]
    return np.asarray(connected_components(joined, directed=False)[1], dtype=np.int64)


def _squared_distances(rows: FloatArray) -> FloatArray:
    out = np.zeros((len(rows), len(rows)))
    for column in rows.T:  # one input at a time keeps the memory at m x m
        out += np.subtract.outer(column, column) ** 2
    return out


def _unit(run: States) -> FloatArray:
    W = run.W[-1]
    size = lengths(W)[:, None]
    return np.asarray(np.divide(W, size, out=np.zeros_like(W), where=size > 0))


def _angle_to_mean(run: States, label: IntArray) -> FloatArray:
    sums = np.zeros((label.max() + 1, run.data.d))
    np.add.at(sums, label, run.W[-1])
    length = lengths(sums)[:, None]
    mean = np.divide(sums, length, out=np.zeros_like(sums), where=length > 0)
    half = 0.5 * np.linalg.norm(_unit(run) - mean[label], axis=1)
    return np.asarray(2.0 * np.arcsin(np.minimum(half, 1.0)))
