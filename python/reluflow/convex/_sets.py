"""The rectified ellipsoid Q = {φ(Xu) : |u| <= 1}, its spikes, extreme points and polar set Q*, as arrays for figures.

[WP, Fig. 1, 2, 6, 8, 9]. Whether X is spike-free is decided in `reluflow.conditions.is_spike_free`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .._least_distance import project_on_cone
from .._validation import FloatArray, ReadOnly, integer, invalid, leak_value, real_array, shown
from ..datasets import Dataset
from ..datasets._dataset import check_sizes_of_rows
from ._arrangements import arrangements
from ._bounds import dual_norm
from ._inputs import Deadline, check_data, check_duals, fixed, fixed_bool, matrix_of, rectify, row_space
from ._solution import BoolArray

GOLDEN_ANGLE = np.pi * (3 - np.sqrt(5))  # turns between the points of a Fibonacci sphere
SPIKE_TOL = 1e-12  # a spike shorter than this beside |x_i| is none, an extreme point below it beside Σ |λ_i||x_i| is 0


@dataclass(frozen=True, eq=False)
class Ellipsoid(ReadOnly):
    """The ellipsoid of the data and its rectified form, on unit vectors u.

    Attributes
    ----------
    u : ndarray, shape (k, d)
    plain : ndarray, shape (k, n)
        Xu.
    rectified : ndarray, shape (k, n)
        φ(Xu), the boundary of Q seen from 0.
    """

    u: FloatArray
    plain: FloatArray
    rectified: FloatArray


@dataclass(frozen=True, eq=False)
class Spikes(ReadOnly):
    """One-dimensional spikes of Q: where one sample alone is active.

    Attributes
    ----------
    samples : ndarray of int, shape (k,)
        The samples i for which some u has x_i·u > 0 and x_k·u <= 0 for all others.
    u : ndarray, shape (k, d)
        The unit u with the largest x_i·u among them.
    length : ndarray, shape (k,)
        x_i·u: the spike goes from 0 to length times the i-th unit vector.
    """

    samples: npt.NDArray[np.int64]
    u: FloatArray
    length: FloatArray


@dataclass(frozen=True, eq=False)
class ExtremePoints(ReadOnly):
    """The points of Q that are extreme along λ in each cell [WP (11)].

    Attributes
    ----------
    patterns : ndarray of bool, shape (p, n)
    highest, lowest : ndarray, shape (p, d)
        The u of the closed cell and unit ball with the largest and the least λᵀφ(Xu); zeros where 0 is extreme.
    maximum, minimum : ndarray, shape (p,)
        λᵀφ(Xu) there.
    """

    patterns: BoolArray
    highest: FloatArray
    lowest: FloatArray
    maximum: FloatArray
    minimum: FloatArray


def unit_vectors(dimension: int, count: int) -> FloatArray:
    """Return unit vectors spread over the circle (dimension 2) or the sphere (3), shape (count, dimension).

    Parameters
    ----------
    dimension : {2, 3}
    count : int

    Raises
    ------
    ValueError
        Another dimension, or ``count`` is not positive.

    Examples
    --------
    >>> from reluflow.convex import unit_vectors
    >>> (unit_vectors(2, 4).round(12) + 0.0).tolist()
    [[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]]
    """
    if not np.isscalar(dimension) or dimension not in (2, 3):
        raise invalid("dimension", "be 2 or 3", shown(dimension))
    return _unit_vectors(dimension, integer(count, "count"))


def _unit_vectors(dimension: int, n: int) -> FloatArray:
    if dimension == 2:
        angles = 2 * np.pi * np.arange(n) / n
        return np.column_stack((np.cos(angles), np.sin(angles)))
    height = 1 - (2 * np.arange(n) + 1) / n
    radius, angle = np.sqrt(1 - height**2), GOLDEN_ANGLE * np.arange(n)
    return np.column_stack((radius * np.cos(angle), radius * np.sin(angle), height))


def rectified_outline(X: npt.ArrayLike, *, n_points: int = 720, leak: float = 0.0) -> Ellipsoid:
    """Return points of the ellipsoid {Xu : |u| = 1} and of its rectified form, for inputs of dimension 2 or 3.

    Parameters
    ----------
    X : array_like, shape (n, d), d = 2 or 3
    n_points : int, optional
    leak : float, optional

    Returns
    -------
    Ellipsoid

    Raises
    ------
    ValueError
        d is neither 2 nor 3.

    Examples
    --------
    >>> from reluflow.convex import rectified_outline
    >>> rectified_outline([[1.0, 0.0], [0.0, 1.0]], n_points=4).rectified.round(12).tolist()
    [[1.0, 0.0], [0.0, 1.0], [0.0, 0.0], [0.0, 0.0]]
    """
    inputs = matrix_of(X)
    if inputs.shape[1] not in (2, 3):
        raise invalid("X", "have 2 or 3 columns", f"{inputs.shape[1]}")
    u = _unit_vectors(inputs.shape[1], integer(n_points, "n_points"))
    plain = u @ inputs.T
    return Ellipsoid(fixed(u), fixed(plain), fixed(rectify(plain, leak_value(leak))))


def spikes(X: npt.ArrayLike) -> Spikes:
    """Return the one-dimensional spikes of the rectified ellipsoid (ReLU).

    Parameters
    ----------
    X : array_like, shape (n, d)

    Returns
    -------
    Spikes

    Raises
    ------
    ValueError
        X is no finite matrix.

    Examples
    --------
    >>> from reluflow.convex import spikes
    >>> found = spikes([[1.65, -0.47], [-0.47, 1.35]])
    >>> found.samples.tolist(), found.length.round(6).tolist()
    ([0, 1], [1.715634, 1.429475])
    """
    inputs = matrix_of(X)
    samples, rows = [], []
    for i in range(len(inputs)):
        point = project_on_cone(inputs[i], -np.delete(inputs, i, axis=0))[0]
        if np.linalg.norm(point) > SPIKE_TOL * np.linalg.norm(inputs[i]):
            samples.append(i)
            rows.append(point)
    points = np.array(rows).reshape(len(rows), inputs.shape[1])
    lengths = np.linalg.norm(points, axis=1)
    return Spikes(np.array(samples, dtype=np.int64), fixed(points / lengths[:, None]), fixed(lengths))


def extreme_points(data: Dataset, duals: npt.ArrayLike, *, leak: float = 0.0) -> ExtremePoints:
    """Return, for each sign pattern, the u that maximise and minimise λᵀφ(Xu) in its closed cell and the unit ball.

    Parameters
    ----------
    data : Dataset
    duals : array_like, shape (n,)
    leak : float, optional

    Returns
    -------
    ExtremePoints

    Raises
    ------
    ValueError
        A bad argument, or too many patterns (`TooManyPatternsError`).

    Examples
    --------
    >>> import reluflow as rf
    >>> data = rf.Dataset([[1.65, -0.47], [-0.47, 1.35]], [1, -1])
    >>> found = rf.convex.extreme_points(data, rf.convex.dual(data).duals)
    >>> round(float(found.maximum.max()), 9), round(float(found.minimum.min()), 9)
    (1.0, -1.0)
    """
    checked = check_data(data)
    weights, alpha = check_duals(duals, checked), leak_value(leak)
    patterns = arrangements(checked.X).patterns
    sums = (np.where(patterns, 1.0, alpha) * weights) @ checked.X
    cones = np.where(patterns, 1.0, -1.0)
    rounding = SPIKE_TOL * float(np.abs(weights) @ np.linalg.norm(checked.X, axis=1))
    ends = []
    for sign in (1.0, -1.0):
        points = np.array(
            [project_on_cone(sign * c, s[:, None] * checked.X)[0] for c, s in zip(sums, cones, strict=True)]
        )
        length = np.linalg.norm(points, axis=1)
        length = np.where(length <= rounding, 0.0, length)
        units = points / np.where(length > 0, length, np.inf)[:, None]
        ends.append((units + 0.0, sign * length + 0.0))  # no zero is negative
    (highest, maximum), (lowest, minimum) = ends
    return ExtremePoints(fixed_bool(patterns), fixed(highest), fixed(lowest), fixed(maximum), fixed(minimum))


def polar_set(
    X: npt.ArrayLike, directions: npt.ArrayLike, *, leak: float = 0.0, vectors: npt.ArrayLike | None = None
) -> FloatArray:
    """Return the points of the boundary of Q* = {λ : |λᵀφ(Xu)| <= 1 on the unit ball} in given directions.

    Parameters
    ----------
    X : array_like, shape (n, d)
    directions : array_like, shape (k, n)
        Directions of λ, not zero; for n = 2 or 3 `unit_vectors` gives them.
    leak : float, optional
    vectors : array_like, shape (p, d), optional
        Only these u instead of the whole ball: the polar set of finitely many points, such as the spikes.

    Returns
    -------
    ndarray, shape (k, n)
        λ with max |λᵀφ(Xu)| = 1; infinite where the set is unbounded.

    Raises
    ------
    ValueError
        Shapes that do not fit, or a direction that is zero.

    Examples
    --------
    >>> from reluflow.convex import polar_set
    >>> polar_set([[1.65, -0.47], [-0.47, 1.35]], [[1.0, 0.0], [0.0, -1.0]]).round(6) + 0.0
    array([[ 0.582875,  0.      ],
           [ 0.      , -0.699557]])
    """
    inputs, ways = matrix_of(X), real_array(directions, "directions", "(k, n)")
    if ways.shape[1] != len(inputs):
        raise invalid("directions", f"have {len(inputs)} columns, one a sample", f"{ways.shape[1]}")
    if not ways.any(axis=1).all():
        raise invalid("directions", "have no row of zeros", f"zeros at row {int(np.argmin(ways.any(axis=1)))}")
    ways = ways / 2.0 ** np.floor(np.log2(np.abs(ways).max(axis=1, keepdims=True)))  # products stay in range
    alpha = leak_value(leak)
    if vectors is not None:
        given = _given_vectors(vectors, inputs.shape[1])
        sizes = np.abs(rectify(given @ inputs.T, alpha) @ ways.T).max(axis=0)
    else:
        sizes = _gauges(inputs, ways, alpha)
    with np.errstate(divide="ignore", invalid="ignore"):
        return fixed(
            np.where(sizes[:, None] > 0, ways / sizes[:, None], np.where(ways == 0, 0.0, np.sign(ways) * np.inf))
        )


def _given_vectors(vectors: npt.ArrayLike, d: int) -> FloatArray:
    given = real_array(vectors, "vectors", "(p, d)")
    if not len(given) or given.shape[1] != d:
        raise invalid("vectors", f"have at least one row, and {d} columns as X", f"the shape {given.shape}")
    check_sizes_of_rows(given, "vectors")
    return given


def _gauges(X: FloatArray, ways: FloatArray, leak: float) -> FloatArray:
    """Return max over the unit ball of |λᵀφ(Xu)| for each λ."""
    R = np.ascontiguousarray(X @ row_space(X))
    nothing = np.empty((0, R.shape[1]))
    return np.array([dual_norm(R, way, leak, neurons=nothing, deadline=Deadline()).lower for way in ways])
