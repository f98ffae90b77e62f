"""Whether a layered flow that stands beside a critical point, or the KKT point of a direction, goes on from it.

Newton's method finds saddles too, and near one a flow may rest for long. It ends there only on the stable set of the
saddle: then the state differs from the point in no direction in which second derivatives are negative.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from .._linear_algebra import eigh, svd
from .._validation import FloatArray, IntArray
from ..kinks._boundaries import off
from ._boxes import RANK_TOL
from ._graph import Node
from ._vanishing import places

BoolArray = npt.NDArray[np.bool_]

# A second derivative is negative below this part of the largest one.
_CURVATURE = 1e-11
# What a unit reads has no part in a direction if it is less than this part of it: rounding.
_PART = 1e-12


def doubts_of_leaving(
    nodes: tuple[Node, ...],
    hessian: FloatArray,
    kept: FloatArray,
    state: FloatArray,
    point: FloatArray,
    others: BoolArray,
) -> list[str]:
    """Say which units take the flow away from `point`.

    Parameters
    ----------
    nodes : tuple of Node
    hessian : ndarray, shape (P, P)
        Of the Lagrangian at the point, in the pattern of the state.
    kept : ndarray, shape (k, P)
        Gradients of what the flow keeps: margins of the support, pre-activations that slide.
    state, point : ndarray, shape (P,)
        Parameters, at one scale.
    others : ndarray of bool, shape (P,)
        Parameters that are looked at: those of units that vanish are no part of this.
    """
    if not others.any():  # all units vanish
        return []
    hessian, kept = hessian[np.ix_(others, others)], kept[:, others]
    basis = span_of(kept)
    along = off(off(hessian, basis).T, basis)
    if not np.isfinite(along).all():
        return []
    values, vectors = eigh(0.5 * (along + along.T))
    downhill = vectors[:, values < -_CURVATURE * float(np.abs(values).max())]
    if not downhill.shape[1]:
        return []
    parts = np.zeros(len(state))
    parts[others] = downhill @ (downhill.T @ (state - point)[others])
    units = [
        (v - 1, u)
        for v, node in enumerate(nodes)
        for u in range(node.size if v else 0)
        # What is small beside the network may be all of a small unit.
        if np.linalg.norm(parts[own := _inputs_of(node, u)]) > _PART * np.linalg.norm(state[own])
    ]
    return [f"the flow leaves this saddle, where units move on: (layer, unit) {places(units)}"] if units else []


def span_of(rows: FloatArray) -> FloatArray:
    """Return an orthonormal basis of the rows, itself as rows."""
    if not len(rows):
        return np.empty((0, rows.shape[1]))
    _, sizes, right = svd(rows, full_matrices=False)
    return np.asarray(right[sizes > RANK_TOL * sizes[0]])


def _inputs_of(node: Node, unit: int) -> IntArray:
    """Return the parameters that a unit reads with, its bias among them."""
    used = [edge.idx[unit] for edge in node.edges]
    if node.bias is not None:
        used.append(node.bias[[unit]])
    found = np.unique(np.concatenate(used))
    return found[found >= 0]
