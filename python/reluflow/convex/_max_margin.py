"""The convex max-margin programs of [WP]: primal (14), dual (15), and K of them for K classes (7), (8)."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from .._validation import FloatArray, generator, integer, invalid, leak_value, positive, read_array
from ..datasets import Dataset
from ._arrangements import sample_arrangements
from ._bounds import DualNorm
from ._columns import ALL_SAMPLES, Found, Generation, Outcome, Solver
from ._conic import Piece, Samples, solve_dual, solve_primal
from ._feasibility import Contradiction, contradiction
from ._inputs import Deadline, check_data, fixed, fixed_bool, rectify, row_space, unit_size
from ._pricing import Cells, HalfCells
from ._separators import max_margin_vectors, svm
from ._solution import BoolArray, ConvexStats, MaxMarginSolution

Patterns: TypeAlias = "str | npt.ArrayLike"

GAP_TOL = 1e-10  # relative; what the polish reaches on small data with room to spare
N_SAMPLED = 200  # directions drawn for patterns="sampled": a program of up to 400 neurons
N_FIRST = 4  # samples of each class whose half cells are there from the start; more of them make the first rounds slow
ON_BOUNDARY = 1e-9  # |x·u| beside |x||u| that counts as lying on the boundary


def max_margin(
    data: Dataset,
    *,
    patterns: Patterns = "all",
    leak: float = 0.0,
    gap_tol: float = GAP_TOL,
    n_samples: int = N_SAMPLED,
    seed: int = 0,
    max_seconds: float | None = None,
) -> MaxMarginSolution:
    """Solve the convex max-margin program of two-layer networks and prove its value.

    P* = min Σ|u_j| over networks Σ_j s_j φ(u_j·x) with margins y_i f(x_i) >= 1: the least ½|θ|² of a network of any
    width with all margins at least 1 [WP (13), (14)]. The largest normalised margin q_min/|θ|² is 1/(2P*).

    Parameters
    ----------
    data : Dataset
    patterns : "all", "sampled", or array_like of bool, shape (p, n)
        "all": the optimum over all sign patterns, by column generation; no list of them is made, so there can be any
        number. "sampled": only those met by ``n_samples`` random directions. An array: only those, each row the
        pattern 1(Xw >= 0) of a cell; the neurons stay in the closed cells.
    leak : float, optional
        Slope α of φ on the negative side.
    gap_tol : float, optional
        Relative gap of "optimal".
    n_samples, seed : int, optional
        For patterns="sampled".
    max_seconds : float, optional
        Time limit; what was found by then comes back with the status "time_limit" and its proven gap.

    Returns
    -------
    MaxMarginSolution

    Raises
    ------
    ValueError
        An argument out of its range, or patterns of another shape.
    ImportError
        The extra ``convex`` is not installed.

    Notes
    -----
    The solver's numbers are starting points only. The neurons are scaled until every margin is at least 1, the duals
    until they are feasible (branch and bound on the signs of the samples with λ_i of one sign, see
    `dual_feasibility`), after Newton's method on the active set; value and lower come from these two points.

    Examples
    --------
    >>> import reluflow as rf
    >>> data = rf.Dataset([[1.65, -0.47], [-0.47, 1.35]], [1, -1])
    >>> solution = rf.convex.max_margin(data)
    >>> round(solution.value, 6), solution.status
    (1.282432, 'optimal')
    >>> solution.positive.round(4)
    array([[ 0.5606, -0.1597]])
    """
    checked = check_data(data)
    given = _given_patterns(checked, patterns, integer(n_samples, "n_samples"), seed)
    return _run(checked, given, leak_value(leak), positive(gap_tol, "gap_tol"), max_seconds, solve_primal)


def dual(
    data: Dataset, *, leak: float = 0.0, gap_tol: float = GAP_TOL, max_seconds: float | None = None
) -> MaxMarginSolution:
    """Solve the dual program, max yᵀλ s.t. y_i λ_i >= 0 and |λᵀφ(Xu)| <= 1 on the unit ball [WP (15), (129)].

    The conic program is written in λ, and the neurons are its multipliers; otherwise as `max_margin`, which writes it
    in the neurons.

    Parameters
    ----------
    data : Dataset
    leak : float, optional
        Slope α of φ on the negative side.
    gap_tol : float, optional
        Relative gap of "optimal".
    max_seconds : float, optional
        Time limit.

    Returns
    -------
    MaxMarginSolution
        `lower` is D* from below, `duals` attains it.

    Raises
    ------
    ValueError
        An argument out of its range.
    ImportError
        The extra ``convex`` is not installed.

    Notes
    -----
    [WP] prints (Xᵀu)₊ for (Xu)₊ in (8) and (15), and (129) with the labels of its two constraints exchanged; the pair
    is right.

    Examples
    --------
    >>> import reluflow as rf
    >>> data = rf.Dataset([[1.65, -0.47], [-0.47, 1.35]], [1, -1])
    >>> rf.convex.dual(data).duals.round(6)
    array([ 0.582875, -0.699557])
    """
    checked = check_data(data)
    return _run(checked, None, leak_value(leak), positive(gap_tol, "gap_tol"), max_seconds, solve_dual)


def _run(
    data: Dataset, given: BoolArray | None, leak: float, gap_tol: float, max_seconds: float | None, solver: Solver
) -> MaxMarginSolution:
    deadline = Deadline(None if max_seconds is None else positive(max_seconds, "max_seconds"))
    reason = contradiction(data.X, data.y)
    if reason is not None:
        return _infeasible(data, reason, leak, given is not None, deadline)
    basis, size = row_space(data.X), unit_size(data.X)
    R = np.ascontiguousarray(data.X @ basis) / size
    if given is None:
        half_cells = HalfCells(R, data.y, leak)
        samples = Samples(R, data.y, leak, _first_samples(data))
        outcome = Generation(samples, half_cells, solver, gap_tol, deadline).run(_first_pieces(data, basis, half_cells))
    else:
        cells = Cells(R, data.y, leak, given)
        samples = Samples(R, data.y, leak, np.arange(data.n))
        first = [cells.piece(sign, j) for j in range(min(len(given), ALL_SAMPLES)) for sign in (1, -1)]
        outcome = Generation(samples, cells, solver, gap_tol, deadline).run(first)
    return _solution(data, _of_inputs(outcome, size), basis, leak, given is not None, deadline)


def _of_inputs(outcome: Outcome, size: float) -> Outcome:
    """Return what was found for inputs that were divided by `size` as it is for the inputs themselves."""
    found = outcome.found
    scaled = replace(
        found,
        neurons=found.neurons / size,
        upper=found.upper / size,
        duals=found.duals / size,
        lower=found.lower / size,
    )
    return replace(outcome, found=scaled)


def _first_samples(data: Dataset) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
    """Return all samples, or the support of the classes' own separators where there are many."""
    if data.n <= ALL_SAMPLES:
        return np.arange(data.n)
    support = [vector.support for vector in max_margin_vectors(data)]
    first = np.union1d(*support)
    return first if len(first) else np.arange(ALL_SAMPLES)


def _first_pieces(data: Dataset, basis: FloatArray, room: HalfCells) -> list[Piece]:
    """Return the half cells of separators and class means: enough to start from."""
    vectors = max_margin_vectors(data)
    linear = svm(data)
    pieces = []
    for sign, vector in ((1, vectors.plus), (-1, vectors.minus)):
        directions = [sign * (data.y @ data.X), sign * linear.w, vector.w]
        own = data.X[data.y == sign]
        directions += list(own[:N_FIRST])
        pieces += [room.piece(sign, basis.T @ w) for w in directions if w.any()]
    return pieces


def _given_patterns(data: Dataset, patterns: Patterns, n_samples: int, seed: int) -> BoolArray | None:
    generator(seed)  # a bad one is told whether it is used or not
    if isinstance(patterns, str):
        if patterns == "all":
            return None
        if patterns == "sampled":
            return sample_arrangements(data.X, n_samples, seed=seed).patterns
        raise invalid("patterns", "be 'all', 'sampled' or an array", repr(patterns))
    given = read_array(patterns, "patterns", f"(p, {data.n})")
    if given.ndim != 2 or given.shape[1] != data.n or len(given) == 0:
        raise invalid("patterns", f"have the shape (p, {data.n}), p >= 1", f"the shape {given.shape}")
    if not np.isin(given, (0, 1)).all():
        raise invalid("patterns", "hold 0 and 1, or False and True, only", f"the dtype {given.dtype}")
    return np.unique(given.astype(np.bool_), axis=0)


def _infeasible(
    data: Dataset, reason: Contradiction, leak: float, restricted: bool, deadline: Deadline
) -> MaxMarginSolution:
    norm = DualNorm(0.0, 0.0, np.zeros(data.d), 1, "proven", 0)
    found = Found(np.empty((0, data.d)), np.empty(0), float("inf"), reason.ray, float("inf"), norm)
    message = f"no two-layer network of any width separates the data: {reason.message}"
    return _solution(data, Outcome(found, "infeasible", message, 0, 0), np.eye(data.d), leak, restricted, deadline)


def _solution(
    data: Dataset, outcome: Outcome, basis: FloatArray, leak: float, restricted: bool, deadline: Deadline
) -> MaxMarginSolution:
    found = outcome.found
    sizes = np.linalg.norm(found.neurons, axis=1)
    alive = sizes > 0
    neurons, signs = found.neurons[alive] @ basis.T, found.signs[alive]
    order = np.lexsort((-sizes[alive], -signs))
    neurons, signs = neurons[order], signs[order]
    heights = neurons @ data.X.T
    limits = -ON_BOUNDARY * np.outer(np.linalg.norm(neurons, axis=1), np.linalg.norm(data.X, axis=1))
    stats = ConvexStats(outcome.n_rounds, outcome.n_pieces, found.norm.n_nodes, deadline.elapsed)
    fixed_signs = signs.astype(np.int8)
    fixed_signs.flags.writeable = False
    return MaxMarginSolution(
        value=found.upper,
        lower=found.lower,
        neurons=fixed(neurons),
        signs=fixed_signs,
        patterns=fixed_bool(heights >= limits),
        duals=fixed(found.duals),
        margins=fixed(data.y * (rectify(heights.T, leak) @ signs)),
        leak=leak,
        restricted=restricted,
        status=outcome.status,
        message=outcome.message,
        stats=stats,
        data=data,
    )
