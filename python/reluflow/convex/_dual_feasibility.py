"""Whether duals lie in the polar set Q* of the rectified ellipsoid, |λᵀφ(Xu)| <= 1 on the unit ball [WP (16), (17)]."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .. import _core
from .._validation import FloatArray, integer, leak_value, one_of, positive
from ..datasets import Dataset
from ._arrangements import TooManyPatternsError, arrangements, expected_arrangements
from ._bounds import MAX_NODES, DualNorm, dual_norm
from ._inputs import Deadline, check_duals, check_inputs, fixed, fixed_bool, row_space
from ._pricing import Cells
from ._solution import BoolArray

FEASIBLE_TOL = 1e-9  # how far above 1 the maximum may be
CELLS_FIT = 5_000  # patterns that "auto" looks into one by one; 5,000 take about half a second


@dataclass(frozen=True, eq=False)
class DualFeasibility:
    """Bounds of v(λ) = max over unit u of |λᵀφ(Xu)|.

    Attributes
    ----------
    value : float
        |λᵀφ(Xu)| at `u`: a lower bound.
    upper : float
        Proven upper bound; equal to `value` up to rounding where the search was finished.
    u : ndarray, shape (d,)
        A unit maximiser (zeros if λ = 0).
    sign : int
        Sign of λᵀφ(Xu) there.
    pattern : ndarray of bool, shape (n,)
        1(Xu >= 0).
    feasible : bool or None
        upper <= 1 + tol, or False if value > 1 + tol, or None where the bounds do not tell.
    method : str
        "cones": a projection on the cone of every sign pattern of the samples with λ_i ≠ 0. "branch": branch and
        bound on the signs of the samples with λ_i > 0, and again on those with λ_i < 0.
    status : str
        "proven", "node_limit" or "stopped" (time limit).
    message : str
    n_nodes : int
        Cells or nodes looked into.
    """

    value: float
    upper: float
    u: FloatArray
    sign: int
    pattern: BoolArray
    feasible: bool | None
    method: str
    status: str
    message: str
    n_nodes: int


def dual_feasibility(
    data: Dataset,
    duals: npt.ArrayLike,
    *,
    leak: float = 0.0,
    method: str = "auto",
    tol: float = FEASIBLE_TOL,
    max_nodes: int = MAX_NODES,
    max_seconds: float | None = None,
) -> DualFeasibility:
    """Return the maximum of |λᵀφ(Xu)| over the unit ball, exactly or between two bounds, with its maximiser.

    Parameters
    ----------
    data : Dataset
        Its targets play no part.
    duals : array_like, shape (n,)
        λ, signed.
    leak : float, optional
        Slope α of φ on the negative side.
    method : {"auto", "cones", "branch"}, optional
        See `DualFeasibility.method`. "auto" takes the cones if there are at most 5,000.
    tol : float, optional
        What counts as feasible.
    max_nodes : int, optional
        Limit of "branch", for each sign of λ.
    max_seconds : float, optional
        Limit of "branch".

    Returns
    -------
    DualFeasibility

    Raises
    ------
    ValueError
        An argument out of its range, or method="cones" with too many patterns (`TooManyPatternsError`).

    Notes
    -----
    By cones: for a pattern D (slopes 1 and α on the diagonal) the maximum of λᵀDXu over its closed cone and the unit
    ball is the norm of the projection of XᵀDλ on the cone, which is min over z >= 0 of |XᵀDλ + Xᵀ(2D - I)z| [WP
    (129)]. By branch and bound: the maximum is max over σ of min over τ of |Σ_{μ_i>0} σ_i μ_i x_i + Σ_{μ_i<0} τ_i μ_i
    x_i| for μ = ±λ, see `docs/convex.md`.

    Examples
    --------
    >>> import numpy as np, reluflow as rf
    >>> data = rf.Dataset([[1.0, 0.0], [0.0, 1.0]], [1, 1])
    >>> found = rf.convex.dual_feasibility(data, [1.0, 1.0])
    >>> round(found.value**2, 12), found.feasible, found.method
    (2.0, False, 'cones')
    """
    checked = check_inputs(data)
    weights = check_duals(duals, checked)
    alpha, how = leak_value(leak), one_of(method, "method", ("auto", "cones", "branch"))
    limit, allowed = positive(tol, "tol"), integer(max_nodes, "max_nodes")
    deadline = Deadline(None if max_seconds is None else positive(max_seconds, "max_seconds"))
    support = np.flatnonzero(weights)
    if len(support) == 0:
        return _described(checked, DualNorm(0.0, 0.0, np.zeros(checked.d), 1, "proven", 0), "cones", limit)
    basis = row_space(checked.X[support])
    R = np.ascontiguousarray(checked.X[support] @ basis)
    if how == "auto":
        how = "cones" if expected_arrangements(_core.count_boundaries(R), R.shape[1]) <= CELLS_FIT else "branch"
    if how == "cones":
        found = by_cones(R, weights[support], alpha)
    else:
        start = np.empty((0, R.shape[1]))
        found = dual_norm(R, weights[support], alpha, neurons=start, deadline=deadline, max_nodes=allowed)
    return _described(checked, found._replace(u=basis @ found.u), how, limit)


def by_cones(R: FloatArray, duals: FloatArray, leak: float) -> DualNorm:
    """Look into the cone of every pattern; raises `TooManyPatternsError`."""
    patterns = arrangements(R).patterns
    nothing = np.empty((0, R.shape[1]))
    return Cells(R, np.sign(duals), leak, patterns).norm(duals, nothing, Deadline())


def _described(data: Dataset, found: DualNorm, method: str, tol: float) -> DualFeasibility:
    feasible: bool | None = None
    if found.upper <= 1 + tol:
        feasible = True
    elif found.lower > 1 + tol:
        feasible = False
    if found.status == "proven":
        message = (
            f"the maximum is {found.lower:.12g}, after {found.n_nodes} {'cells' if method == 'cones' else 'nodes'}"
        )
    else:
        message = (
            f"branch and bound ended with {found.status} after {found.n_nodes} nodes: "
            f"the maximum is between {found.lower:.12g} and {found.upper:.12g}"
        )
    pattern = fixed_bool(data.X @ found.u >= 0)
    return DualFeasibility(
        found.lower,
        found.upper,
        fixed(found.u),
        found.sign,
        pattern,
        feasible,
        method,
        found.status,
        message,
        found.n_nodes,
    )


__all__ = ["DualFeasibility", "TooManyPatternsError", "dual_feasibility"]
