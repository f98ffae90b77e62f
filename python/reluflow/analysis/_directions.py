"""Directions of the neurons in two or three dimensions, and how fast they gather."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .._validation import FloatArray, ReadOnly, invalid, real_array, shown
from ._kernels import lengths, mass_shares, scaled
from ._sectors import groups
from ._states import Source, states


@dataclass(frozen=True, eq=False)
class Directions(ReadOnly):
    """Unit directions of the neurons, seen in a few dimensions.

    Attributes
    ----------
    t, log_t : ndarray, shape (k,)
    coords : ndarray, shape (k, m, c)
        w_j/|w_j| in the basis; shorter than 1 where the direction points out of it; nan where w_j = 0.
    sign : ndarray, shape (m,)
        Sign of a_j at the end, or when it was last not 0.
    size : ndarray, shape (k, m)
        |w_j|.
    share : ndarray, shape (m,)
        Share of |θ|² at the end.
    basis : ndarray, shape (c, d)
        Orthonormal rows.
    explained : float
        Share of |W|² at the end that lies in the basis.
    """

    t: FloatArray
    log_t: FloatArray
    coords: FloatArray
    sign: FloatArray
    size: FloatArray
    share: FloatArray
    basis: FloatArray
    explained: float


def directions(
    source: Source,
    times: npt.ArrayLike | None = None,
    *,
    basis: npt.ArrayLike | None = None,
    n_axes: int = 2,
) -> Directions:
    """Project the neurons' directions on two or three axes.

    Parameters
    ----------
    source : Solution or States
    times : array_like, optional
    basis : array_like, shape (c, d), optional
        Orthonormal rows. Without it: the coordinates themselves for d = `n_axes`, else the leading right singular
        vectors of W at the last time ([PL] Fig. 1b), each with its largest entry positive.
    n_axes : int, optional
        2 or 3, used without a basis. Data of fewer dimensions get axes of zeros.

    Raises
    ------
    ValueError
        A basis whose rows are not orthonormal or have another length than d.

    Examples
    --------
    >>> import reluflow as rf
    >>> data = rf.datasets.wang_pilanci("obtuse")
    >>> sol = rf.integrate(data, rf.Network.init(10, 2, seed=1), until=1e4)
    >>> found = rf.analysis.directions(rf.analysis.ends(sol))
    >>> found.coords[-1, 1].round(3)
    array([ 0.962, -0.274])
    """
    run = states(source, times)
    axes = axes_of(run.W[-1], basis, n_axes)
    size = lengths(run.W)
    with np.errstate(invalid="ignore", divide="ignore"):
        coords = (run.W / size[:, :, None]) @ axes.T
    last = scaled(run.W[-1].ravel()).reshape(run.W[-1].shape)
    total = float((last**2).sum())
    return Directions(
        t=run.t,
        log_t=run.log_t,
        coords=coords,
        sign=run.signs,
        size=size,
        share=mass_shares(run.sizes[-1]),
        basis=axes,
        explained=float(((last @ axes.T) ** 2).sum()) / total if total > 0 else 1.0,
    )


def angles_to_group(source: Source, times: npt.ArrayLike | None = None) -> FloatArray:
    """Angle between each neuron's direction and the mean direction of its last group, shape (k, m), in radians.

    Groups are those of `groups` by sign and angle: who ends together. It is nan where one of the two is zero and has no
    direction.

    Examples
    --------
    >>> import reluflow as rf
    >>> data = rf.datasets.wang_pilanci("obtuse")
    >>> sol = rf.integrate(data, rf.Network.init(10, 2, seed=1), until=1e4)
    >>> angles = rf.analysis.angles_to_group(rf.analysis.ends(sol))
    >>> angles.max(axis=1).round(2)
    array([1.45, 0.  ])
    """
    run = states(source, times)
    label = groups(run, same_sector=False)["group"].to_numpy()
    sums = np.zeros((label.max() + 1, run.data.d))
    np.add.at(sums, label, run.W[-1])
    mean = _units(sums)[label]
    out = np.empty(run.a.shape)
    for k, W in enumerate(run.W):
        out[k] = 2.0 * np.arcsin(np.minimum(0.5 * np.linalg.norm(_units(W) - mean, axis=1), 1.0))
    return out


def _units(W: FloatArray) -> FloatArray:
    size = lengths(W)[:, None]
    return np.divide(W, size, out=np.full_like(W, np.nan), where=size > 0)


def axes_of(W: FloatArray, basis: npt.ArrayLike | None, n_axes: int = 2) -> FloatArray:
    """Return orthonormal rows: those of `basis`, the coordinates of W (m, d), or its leading singular vectors."""
    return _leading(W, n_axes) if basis is None else _checked(basis, W.shape[1])


def _leading(W: FloatArray, n_axes: int) -> FloatArray:
    if not isinstance(n_axes, (int, np.integer)) or n_axes not in (2, 3):
        raise invalid("n_axes", "be the integer 2 or 3", shown(n_axes))
    d = W.shape[1]
    axes = np.zeros((n_axes, d))
    if d <= n_axes:
        axes[:d, :] = np.eye(d)
        return axes
    _, _, Vt = np.linalg.svd(W, full_matrices=False)
    rows = Vt[:n_axes]
    lead = np.argmax(np.abs(rows), axis=1)
    axes[: len(rows)] = rows * np.sign(rows[np.arange(len(rows)), lead])[:, None]
    return axes


def _checked(basis: npt.ArrayLike, d: int) -> FloatArray:
    axes = real_array(basis, "basis", "(c, d)")
    if axes.shape[1] != d or axes.shape[0] not in (2, 3):
        raise invalid("basis", f"have two or three rows of {d} entries", f"the shape {axes.shape}")
    error = float(np.abs(axes @ axes.T - np.eye(len(axes))).max())
    if error > 1e-8:  # a basis typed by hand or from a float32 library still passes
        raise invalid("basis", "have orthonormal rows", f"an error of {error:.2g} in basis @ basis.T")
    return axes
