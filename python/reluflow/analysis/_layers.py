"""Runs of layered networks: singular values of every layer, rows of a layer in a plane, events by layer."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .._validation import FloatArray, IntArray, ReadOnly, freeze, instance, integer, invalid, shown
from ..layered import LAYERED_KINDS, DeepSolution
from ._layered_states import LayeredStates

_SOURCE = "a DeepSolution, the run of a DeepNetwork"


@dataclass(frozen=True, eq=False)
class LayerSpectra(ReadOnly):
    """The singular values of every layer's matrix along a run.

    Attributes
    ----------
    t, log_t : ndarray, shape (k,)
    values : tuple of ndarray, shape (k, min(size, inputs)) each
        Of layer 1, 2, ..., in falling order.
    """

    t: FloatArray
    log_t: FloatArray
    values: tuple[FloatArray, ...]


@dataclass(frozen=True, eq=False)
class RowPlane(ReadOnly):
    """The rows of one layer's matrix in the plane that holds most of them at the end.

    Attributes
    ----------
    layer : int
        Its number, from 1.
    t, log_t : ndarray, shape (k,)
    rows : ndarray, shape (k, size, 2)
        Coordinates of each row along `basis`.
    basis : ndarray, shape (2, inputs)
        The two leading right singular vectors of the last matrix.
    share : ndarray, shape (k,)
        Part of |W|² in that plane: 1 where W has rank two and lies in it.
    """

    layer: int
    t: FloatArray
    log_t: FloatArray
    rows: FloatArray
    basis: FloatArray
    share: FloatArray


@dataclass(frozen=True, eq=False)
class LayerRaster(ReadOnly):
    """The events of a layered run as points of a picture: one row a unit, layer below layer.

    Attributes
    ----------
    t, log_t : ndarray, shape (E,)
    row : ndarray, shape (E,)
        Place of the unit, from the top: layer by layer, then by number.
    kind : ndarray, shape (E,)
        Codes of the kinds.
    kinds : tuple of str
        The name of each code.
    sizes : tuple of int
        Units of layer 1, 2, ...
    """

    t: FloatArray
    log_t: FloatArray
    row: IntArray
    kind: npt.NDArray[np.uint8]
    kinds: tuple[str, ...]
    sizes: tuple[int, ...]


def _check(solution: object, *, or_states: bool = False) -> None:
    kinds = (DeepSolution, LayeredStates) if or_states else (DeepSolution,)
    instance(solution, "solution", kinds, _SOURCE + (", or states of one" if or_states else ""))


def layer_singular_values(solution: DeepSolution | LayeredStates) -> LayerSpectra:
    """Return the singular values of every layer's matrix at the kept states of a layered run, or at those of `sample`.

    The matrix of a layer is that of its first edge with its fixed entries: of `Residual`, what stands beside the
    identity; of a convolution, the whole band matrix.

    Raises
    ------
    ValueError
        `solution` is not the run of a DeepNetwork.

    Examples
    --------
    >>> import reluflow as rf
    >>> data = rf.datasets.wang_pilanci("obtuse")
    >>> net = rf.DeepNetwork.init([rf.Dense(4), rf.Dense(3), rf.Dense(1)], dim=2, seed=1)
    >>> sol = rf.integrate(data, net, until=1.0)
    >>> [values.shape[1] for values in rf.analysis.layer_singular_values(sol).values]
    [2, 3, 1]
    """
    _check(solution, or_states=True)
    states = [solution.initial._with(np.array(theta)).layers for theta in solution.theta]
    values = []
    for layer in range(len(solution.initial.nodes) - 1):
        found = np.array([np.linalg.svd(state[layer].W, compute_uv=False) for state in states])
        freeze(found)
        values.append(found)
    return LayerSpectra(solution.t, solution.log_t, tuple(values))


def row_plane(solution: DeepSolution | LayeredStates, layer: int = 1) -> RowPlane:
    """Project the rows of a layer's matrix on the plane of its two leading right singular vectors at the end.

    Parameters
    ----------
    solution : DeepSolution or LayeredStates
    layer : int, optional
        From 1, the first layer after the inputs.

    Raises
    ------
    ValueError
        Not the run of a DeepNetwork, no such layer, or one that reads fewer than two units.

    Examples
    --------
    >>> import reluflow as rf
    >>> data = rf.datasets.wang_pilanci("obtuse")
    >>> net = rf.DeepNetwork.init([rf.Dense(4), rf.Dense(3), rf.Dense(1)], dim=2, seed=1)
    >>> sol = rf.integrate(data, net, until=1.0)
    >>> rf.analysis.row_plane(sol, 2).rows.shape[1:]
    (3, 2)
    """
    _check(solution, or_states=True)
    last = len(solution.initial.nodes) - 1
    if integer(layer, "layer") > last:
        raise invalid("layer", f"be a layer of the network, 1 to {last}", shown(layer))
    W = np.array([solution.initial._with(np.array(theta)).layers[layer - 1].W for theta in solution.theta])
    if W.shape[2] < 2:
        raise invalid("layer", "name a layer that reads two units or more", f"{layer}, which reads {W.shape[2]}")
    basis = np.linalg.svd(W[-1])[2][:2]
    rows = W @ basis.T
    total = (W**2).sum(axis=(1, 2))
    share = (rows**2).sum(axis=(1, 2)) / np.where(total > 0, total, 1.0)
    for array in (rows, basis, share):
        freeze(array)
    return RowPlane(layer, solution.t, solution.log_t, rows, basis, share)


def layer_raster(solution: DeepSolution) -> LayerRaster:
    """Arrange the events of a layered run for a picture, units layer by layer.

    Raises
    ------
    ValueError
        `solution` is not the run of a DeepNetwork.

    Examples
    --------
    >>> import reluflow as rf
    >>> data = rf.datasets.wang_pilanci("obtuse")
    >>> net = rf.DeepNetwork.init([rf.Dense(4), rf.Dense(3), rf.Dense(1)], dim=2, seed=1)
    >>> rf.analysis.layer_raster(rf.integrate(data, net, until=1.0)).sizes
    (4, 3, 1)
    """
    _check(solution)
    sizes = tuple(node.size for node in solution.initial.nodes[1:])
    first = np.concatenate(([0], np.cumsum(sizes)))
    events = solution.events
    row = first[events.layer - 1] + events.unit
    freeze(row)
    return LayerRaster(events.t, events.log_t, row, events.code, LAYERED_KINDS, sizes)
