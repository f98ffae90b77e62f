"""Two-dimensional pictures in numbers: sectors of the weight plane, decision values on a plane through 0."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .._validation import FloatArray, PatternArray, ReadOnly, integer, invalid, positive
from ..datasets import Dataset
from ..datasets._bias import appended, bare_inputs
from ..datasets._dataset import MAX_ROW_NORM
from ..layered import DeepNetwork
from ..layered._explore import first_rows
from ..losses import LossName
from ..networks import Network
from ._directions import Directions, axes_of, directions
from ._extremal import ExtremalDirection, extremal_directions
from ._inputs import check_data, check_net
from ._states import Source, state_of, states

# Two boundaries closer than this angle are drawn as one.
_SAME_ANGLE = 1e-9


@dataclass(frozen=True, eq=False)
class PlaneSectors(ReadOnly):
    """The sectors of two-dimensional data.

    Attributes
    ----------
    data : Dataset
    boundaries : ndarray, shape (p,)
        Angles in [0, 2π) of the rays where some x_i·w = 0, increasing; boundary k opens sector k.
    pattern : ndarray, shape (p, n), int8
        Sign pattern of sector k, between boundaries k and k + 1.
    extremal : tuple of ExtremalDirection
    """

    data: Dataset
    boundaries: FloatArray
    pattern: PatternArray
    extremal: tuple[ExtremalDirection, ...]


def plane_sectors(data: Dataset, *, leak: float = 0.0, loss: LossName = "logistic") -> PlaneSectors:
    """Cut the weight plane of two-dimensional data into its sectors.

    Raises
    ------
    ValueError
        The data do not have two inputs.

    Examples
    --------
    >>> import numpy as np, reluflow as rf
    >>> found = rf.analysis.plane_sectors(rf.Dataset([[1.0, 0.0], [0.0, 1.0]], [1, -1]))
    >>> np.degrees(found.boundaries).round(6)
    array([  0.,  90., 180., 270.])
    >>> found.pattern.tolist()
    [[1, 1], [-1, 1], [-1, -1], [1, -1]]
    """
    check_data(data)
    if data.d != 2:
        raise invalid("data", "have two inputs", f"{data.d}")
    normal = np.arctan2(data.X[:, 1], data.X[:, 0])
    angles = np.sort(np.concatenate((normal + np.pi / 2, normal - np.pi / 2)) % (2 * np.pi))
    angles[angles > 2 * np.pi - _SAME_ANGLE] = 0.0
    angles = np.sort(angles)
    boundaries = angles[np.concatenate(([True], np.diff(angles) > _SAME_ANGLE))]
    middle = boundaries + 0.5 * (np.diff(boundaries, append=boundaries[0] + 2 * np.pi))
    inside = np.column_stack((np.cos(middle), np.sin(middle)))
    pattern = np.sign(inside @ data.X.T).astype(np.int8)
    return PlaneSectors(data, boundaries, pattern, tuple(extremal_directions(data, leak=leak, loss=loss)))


@dataclass(frozen=True, eq=False)
class WeightPlane(ReadOnly):
    """Paths of the neurons in the plane of their directions, with the radius on a logarithmic scale.

    Attributes
    ----------
    paths : Directions
    radius : ndarray, shape (k, m)
        1 + log10(|w_j| / floor): decades above a floor just below the smallest neuron; nan where w_j = 0.
    floor : float
    sectors : PlaneSectors or None
        For two-dimensional data.
    """

    paths: Directions
    radius: FloatArray
    floor: float
    sectors: PlaneSectors | None


def weight_plane(source: Source, times: npt.ArrayLike | None = None) -> WeightPlane:
    """Prepare the picture of the neurons in the weight plane.

    The radius is logarithmic, for on a linear scale the early phase, where directions turn, is a dot at the origin.

    Examples
    --------
    >>> import reluflow as rf
    >>> data = rf.datasets.wang_pilanci("obtuse")
    >>> sol = rf.integrate(data, rf.Network.init(10, 2, seed=1), until=1e4)
    >>> plane = rf.analysis.weight_plane(sol)
    >>> plane.radius.shape == (len(sol.t), 10), plane.sectors.pattern.tolist()
    (True, [[1, 1], [-1, 1], [-1, -1], [1, -1]])
    """
    run = states(source, times)
    paths = directions(run)
    size = np.where(paths.size > 0, paths.size, np.nan)
    floor = float(10.0 ** np.floor(np.log10(np.nanmin(size)))) if np.isfinite(size).any() else 1.0
    floor = max(floor, float(np.finfo(float).smallest_subnormal))  # the decade below the smallest double is 0
    sectors = plane_sectors(run.data, leak=run.leak, loss=run.loss) if run.data.d == 2 else None
    return WeightPlane(paths, 1.0 + np.log10(size / floor), floor, sectors)


@dataclass(frozen=True, eq=False)
class DecisionPlane(ReadOnly):
    """Outputs of a network on a plane through 0.

    Attributes
    ----------
    u, v : ndarray, shape (g,)
        Coordinates along the two axes.
    values : ndarray, shape (g, g)
        f at u[column] basis[0] + v[row] basis[1].
    points : ndarray, shape (n, 2)
        The samples, projected.
    y : ndarray, shape (n,)
    basis : ndarray, shape (2, d)
    """

    u: FloatArray
    v: FloatArray
    values: FloatArray
    points: FloatArray
    y: FloatArray
    basis: FloatArray


def _extent(value: float) -> float:
    found = positive(value, "extent")
    if found > MAX_ROW_NORM:
        raise invalid("extent", f"be at most {MAX_ROW_NORM:g}, the largest input", repr(found))
    return found


def _first_rows(data: Dataset, net: Network | DeepNetwork) -> FloatArray:
    """Return the rows of the first layer of a network with one output on the inputs of these data."""
    if not isinstance(net, DeepNetwork):
        check_net(net)
        rows: FloatArray = state_of(data, net).W[0]
        return rows
    if net.n_outputs > 1:
        raise invalid("net", "have one output", f"{net.n_outputs} outputs")
    if net.dim != data.d:
        raise invalid("net", f"take the {data.d} inputs of the data", f"a network of {net.dim} inputs")
    return first_rows(net)


def decision_plane(
    data: Dataset,
    net: Network | DeepNetwork,
    *,
    basis: npt.ArrayLike | None = None,
    n_grid: int = 201,
    extent: float | None = None,
) -> DecisionPlane:
    """Evaluate a network on a plane through 0: that of two inputs, else the plane of its leading directions.

    The constant input of a bias is none of the d inputs here: it keeps its value on the plane.

    Parameters
    ----------
    data : Dataset
    net : Network or DeepNetwork
        With one output.
    basis : array_like, shape (2, d), optional
        Orthonormal rows, by default as in `directions`, of the first layer.
    n_grid : int, optional
        Points along each axis.
    extent : float, optional
        Half width of the square, above 0; without it 1.2 times the largest coordinate of a projected sample.

    Raises
    ------
    ValueError
        A basis that is not orthonormal or has another shape, a bad grid, or a network of several outputs.

    Examples
    --------
    >>> import reluflow as rf
    >>> data = rf.datasets.wang_pilanci("obtuse")
    >>> sol = rf.integrate(data, rf.Network.init(10, 2, seed=1), until=1e4)
    >>> plane = rf.analysis.decision_plane(data, sol.final, n_grid=5, extent=2.0)
    >>> plane.values.shape, bool(plane.values[0, -1] > 0 > plane.values[-1, 0])
    ((5, 5), True)
    """
    check_data(data)
    bare = bare_inputs(data)
    axes = axes_of(_first_rows(data, net)[:, : bare.shape[1]], basis)
    if len(axes) != 2:
        raise invalid("basis", "have two rows", f"the shape {axes.shape}")
    points = bare @ axes.T
    half = 1.2 * float(np.abs(points).max()) if extent is None else _extent(extent)
    u = np.linspace(-half, half, integer(n_grid, "n_grid", least=2))
    U, V = np.meshgrid(u, u)
    inputs = appended(np.column_stack((U.ravel(), V.ravel())) @ axes, data.bias_input)
    return DecisionPlane(u, u, net(inputs).reshape(U.shape), points, data.y, axes)
