"""The shape of the learnt network: rank, agreement with max-margin vectors, closeness to simpler networks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from .._validation import FloatArray, ReadOnly, integer, invalid, optional_module, real_array
from ..networks import Network
from ._inputs import check_net
from ._kernels import cosines, lengths, scaled
from ._states import Source, States, states

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr


def singular_values(source: Source, times: npt.ArrayLike | None = None, *, n_values: int | None = None) -> xr.DataArray:
    """Return the largest singular values of W at each time ([PL] Fig. 1a), dimensions time and rank.

    Examples
    --------
    >>> import reluflow as rf
    >>> data = rf.datasets.wang_pilanci("obtuse")
    >>> sol = rf.integrate(data, rf.Network.init(10, 2, seed=1), until=1e4)
    >>> rf.analysis.singular_values(sol)[-1].round(2).to_numpy()
    array([3.6 , 1.86])
    """
    xarray = optional_module("xarray", "analysis")
    run = states(source, times)
    most = min(run.W.shape[1:])
    keep = most if n_values is None else min(integer(n_values, "n_values"), most)
    values = np.linalg.svd(run.W, compute_uv=False)[:, :keep]
    coords = {"time": run.t, "log_t": ("time", run.log_t), "rank": np.arange(1, keep + 1)}
    array: xr.DataArray = xarray.DataArray(values, dims=("time", "rank"), coords=coords, name="singular_value")
    array.attrs["units"] = "1"
    array["time"].attrs["units"] = "time"
    return array


def correlations(
    source: Source,
    w_plus: npt.ArrayLike | None,
    w_minus: npt.ArrayLike | None,
    times: npt.ArrayLike | None = None,
) -> pd.DataFrame:
    """Correlate each neuron at the last time with its max-margin direction ([PL] Fig. 1c).

    Parameters
    ----------
    source : Solution or States
    w_plus, w_minus : array_like, shape (d,), or None
        The max-margin vectors of the classes, for example from `reluflow.convex.max_margin_vectors`; None for a class
        without samples.
    times : array_like, optional

    Returns
    -------
    pandas.DataFrame
        One row a neuron: ``neuron``, ``sign``, ``own`` cosine with w₊ if a_j > 0 and with w₋ if a_j < 0, ``plus`` and
        ``minus`` cosines with either, ``size`` |θ_j|, ``share`` of |θ|².

    Examples
    --------
    >>> import reluflow as rf
    >>> data = rf.datasets.wang_pilanci("obtuse")
    >>> sol = rf.integrate(data, rf.Network.init(10, 2, seed=1), until=1e4)
    >>> best = rf.convex.max_margin_vectors(data)
    >>> table = rf.analysis.correlations(sol, best.plus.w, best.minus.w)
    >>> table.loc[table["share"] > 0.01, "own"].min().round(4).item()
    1.0
    """
    pandas = optional_module("pandas", "analysis")
    run = states(source, times)
    plus = _cosine_with(run, w_plus, "w_plus")
    minus = _cosine_with(run, w_minus, "w_minus")
    size = run.sizes[-1]
    table: pd.DataFrame = pandas.DataFrame(
        {
            "neuron": np.arange(run.width),
            "sign": run.signs.astype(int),
            "own": np.where(run.signs > 0, plus, np.where(run.signs < 0, minus, np.nan)),
            "plus": plus,
            "minus": minus,
            "size": size,
            "share": size**2 / max(float((size**2).sum()), np.finfo(float).tiny),
        }
    )
    return table


def _cosine_with(run: States, vector: npt.ArrayLike | None, name: str) -> FloatArray:
    if vector is None:
        return np.full(run.width, np.nan)
    direction = real_array(vector, name, "(d,)")
    if len(direction) != run.data.d:
        raise invalid(name, f"have {run.data.d} entries, one for each input", f"{len(direction)}")
    return cosines(run.W[-1], np.broadcast_to(direction, run.W[-1].shape))


@dataclass(frozen=True)
class LinearDistance(ReadOnly):
    """How far a network is from a linear function of its input, x ~ N(0, I).

    Attributes
    ----------
    distance : float
        The part of f that no linear function explains, (E f² - |β|²)^½ / (E f²)^½: 0 for a linear network, 1 for an
        even one.
    coefficients : ndarray, shape (d,)
        β = (1 + leak)/2 Σ_j a_j w_j, the best linear function and the odd part of f: f(x) - f(-x) = 2 β·x.
    cosine : float
        Cosine between β and the direction that was given, nan without one.
    """

    distance: float
    coefficients: FloatArray
    cosine: float


def distance_to_linear(net: Network, direction: npt.ArrayLike | None = None) -> LinearDistance:
    """Measure how linear a network is ([LLWA] Section 4: on symmetric data the limit is linear).

    φ(z) = (1+α)/2 z + (1-α)/2 |z|, so f is β·x plus an even function; both sizes under a standard Gaussian have
    closed forms, E|u||v| = 2/π ((1-ρ²)^½ + ρ arcsin ρ) for unit Gaussians of correlation ρ.

    Parameters
    ----------
    net : Network
    direction : array_like, shape (d,), optional
        A linear classifier to compare β with, for example the max-margin one.

    Examples
    --------
    >>> import reluflow as rf
    >>> pair = rf.Network([[1.0, 2.0], [-1.0, -2.0]], [1.0, -1.0])
    >>> found = rf.analysis.distance_to_linear(pair)
    >>> found.distance, found.coefficients
    (0.0, array([1., 2.]))
    """
    check_net(net)
    exponent = np.frexp(net.norm)[1]  # at weights of norm about 1 no product underflows
    W, a = np.ldexp(net.W, -exponent), np.ldexp(net.a, -exponent)
    row = lengths(W)
    scale = max(float(np.abs(a * row).max()), np.finfo(float).tiny)
    mass = a * row / scale
    beta = 0.5 * (1.0 + net.leak) * ((a / scale) @ W)
    rho = np.clip(_gram(W, row), -1.0, 1.0)
    kernel = (2.0 / np.pi) * (np.sqrt(1.0 - rho**2) + rho * np.arcsin(rho))
    even2 = max(0.25 * (1.0 - net.leak) ** 2 * float(mass @ kernel @ mass), 0.0)
    total = even2 + float(beta @ beta)
    cosine = np.nan
    if direction is not None:
        other = real_array(direction, "direction", "(d,)")
        if len(other) != net.dim:
            raise invalid("direction", f"have {net.dim} entries, as the rows of W", f"{len(other)}")
        cosine = float(cosines(beta, other))
    coefficients = np.ldexp(scale * beta, 2 * exponent)
    return LinearDistance(float(np.sqrt(even2 / total)) if total > 0 else 0.0, coefficients, cosine)


def _gram(W: FloatArray, row: FloatArray) -> FloatArray:
    unit = np.divide(W, row[:, None], out=np.zeros_like(W), where=row[:, None] > 0)
    return np.asarray(unit @ unit.T)


@dataclass(frozen=True)
class Embedding(ReadOnly):
    """The nearest network of two neurons, spread over m ([LLWA] Section 5.2).

    Attributes
    ----------
    error : float
        |θ - π_b(θ̂)| / |θ|: 0 where all neurons of one sign point the same way.
    error_plus, error_minus : float
        The same for each sign alone; nan if there is no such neuron.
    W : ndarray, shape (2, d)
    a : ndarray, shape (2,)
        The two neurons θ̂, the positive one first; zeros for a sign without neurons.
    b : ndarray, shape (m,)
        The embedding vector: neuron j is b_j/|b₊| times θ̂₁ or b_j/|b₋| times θ̂₂.
    """

    error: float
    error_plus: float
    error_minus: float
    W: FloatArray
    a: FloatArray
    b: FloatArray


def embedding_error(net: Network) -> Embedding:
    """Measure how close a network is to two neurons embedded in m ([LLWA] Section 5.2).

    The embedding vector b is chosen for the smallest error: for each sign of a_j the rows (w_j, a_j) are
    replaced by their best approximation of rank one.

    Examples
    --------
    >>> import reluflow as rf
    >>> net = rf.Network([[1.0, 0.0], [2.0, 0.0], [0.0, 1.0]], [1.0, 2.0, -1.0])
    >>> rf.analysis.embedding_error(net).a.round(6)
    array([ 2.236068, -1.      ])
    """
    check_net(net)
    scale = max(float(np.abs(net.theta).max()), np.finfo(float).tiny)
    theta = net.theta / scale
    b, pair, left, whole = np.zeros(net.width), np.zeros((2, net.dim + 1)), np.zeros(2), np.zeros(2)
    for k, sign in enumerate((1.0, -1.0)):
        mine = np.sign(net.a) == sign
        if mine.any():
            b[mine], pair[k], left[k], whole[k] = _rank_one(theta[mine], sign)
    rest = float((theta[net.a == 0] ** 2).sum())
    total = whole.sum() + rest
    with np.errstate(invalid="ignore"):
        each = np.sqrt(left / whole)
    error = float(np.sqrt((left.sum() + rest) / total)) if total > 0 else 0.0
    return Embedding(error, float(each[0]), float(each[1]), scale * pair[:, :-1], scale * pair[:, -1], b)


def _rank_one(rows: FloatArray, sign: float) -> tuple[FloatArray, FloatArray, float, float]:
    """Best b (of the given sign, as a rule) and neuron, what is left over and the whole, both squared."""
    U, s, Vt = np.linalg.svd(rows, full_matrices=False)
    flip = np.sign(Vt[0, -1]) * sign or 1.0
    return sign * flip * U[:, 0], flip * s[0] * Vt[0], float((s[1:] ** 2).sum()), float((s**2).sum())


def shape(
    source: Source, times: npt.ArrayLike | None = None, *, direction: npt.ArrayLike | None = None
) -> pd.DataFrame:
    """Follow the shape of the network along a run, one row a time.

    Parameters
    ----------
    source : Solution or States
    times : array_like, shape (k,), optional
    direction : array_like, shape (d,), optional
        A linear classifier to compare the best linear function with.

    Returns
    -------
    pandas.DataFrame
        Columns: ``t``, ``log_t``; ``stable_rank`` |W|²/|W|₂² of the first layer; ``distance_to_linear`` and
        ``cosine`` as in `distance_to_linear`; ``embedding_error``, ``embedding_error_plus`` and
        ``embedding_error_minus`` as in `embedding_error`.

    Examples
    --------
    >>> import reluflow as rf
    >>> data = rf.datasets.wang_pilanci("obtuse")
    >>> sol = rf.integrate(data, rf.Network.init(10, 2, seed=1), until=1e4)
    >>> last = rf.analysis.shape(sol).iloc[-1]
    >>> round(float(last["embedding_error"]), 3), round(float(last["distance_to_linear"]), 3)
    (0.0, 0.38)
    """
    pandas = optional_module("pandas", "analysis")
    run = states(source, times)
    rows = []
    for k in range(len(run)):
        net = run.at(k)
        line, pair = distance_to_linear(net, direction), embedding_error(net)
        values = np.linalg.svd(scaled(net.W.ravel()).reshape(net.W.shape), compute_uv=False)
        rank = float((values**2).sum() / values[0] ** 2) if values[0] > 0 else np.nan
        rows.append((rank, line.distance, line.cosine, pair.error, pair.error_plus, pair.error_minus))
    columns = ["stable_rank", "distance_to_linear", "cosine", *_EMBEDDING]
    table: pd.DataFrame = pandas.DataFrame(rows, columns=columns)
    table.insert(0, "t", run.t)
    table.insert(1, "log_t", run.log_t)
    return table


_EMBEDDING = ("embedding_error", "embedding_error_plus", "embedding_error_minus")
