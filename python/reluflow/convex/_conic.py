"""The conic programs, as matrices for Clarabel: a primal over neurons and a dual over λ.

A *piece* is a part of the weight space on which the network's margins are concave in the neuron u, so that asking for
margins of at least 1 is convex. There are two kinds.

- A half cell of sign s fixes the slopes σ_i on the samples of class s only. With y_i = s, φ(z) >= σ_i z: the margin
  gets σ_i x_i·u, never more than it should. With y_i = -s, it gets -φ(x_i·u), which is concave: t_i >= x_i·u, t_i >=
  α x_i·u, and -t_i enters.
- A cell fixes the pattern D on all samples, with the cone (2D - I)Xu >= 0, as [WP (14)] does.

Every cell lies in a half cell, and every point of a half cell is a neuron with the margins promised or better: both
give P*.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from .._validation import FloatArray, optional_module
from ._inputs import Deadline

EXTRA = "convex"
SOLVER_TOL = 1e-10  # asked of the interior-point method; what it misses is put right by the polish
GOOD_STATUSES = ("Solved", "AlmostSolved")  # an almost solved program still gives pieces and a start for the polish
USABLE_STATUSES = ("InsufficientProgress", "NumericalError", "MaxIterations")  # bounds computed by us decide


@dataclass(frozen=True, eq=False)
class Piece:
    """A half cell (``cone`` None) or a cell.

    Attributes
    ----------
    sign : int
        Sign s of the output weight.
    slopes : ndarray, shape (n,)
        Slope of each sample, 1 or α; those of class -s are of no account in a half cell.
    cone : ndarray, shape (n,), or None
        2D - 1 on the diagonal, entries ±1.
    """

    sign: int
    slopes: FloatArray
    cone: FloatArray | None = None

    def key(self, y: FloatArray) -> tuple[int, bool, bytes]:
        """Return what tells the piece from others."""
        seen = self.slopes if self.cone is not None else self.slopes[y == self.sign]
        return self.sign, self.cone is None, seen.tobytes()


class Answer(NamedTuple):
    """What a conic program gave.

    Attributes
    ----------
    usable : bool
        Whether there are numbers to go on with.
    status : str
        The solver's word.
    neurons : ndarray, shape (k, r)
        One a piece.
    duals : ndarray, shape (n,)
        Signed λ; 0 for samples that were left out.
    slack : float
        The largest margin violation bought at the penalty.
    """

    usable: bool
    status: str
    neurons: FloatArray
    duals: FloatArray
    slack: float


@dataclass(frozen=True, eq=False)
class Samples:
    """The samples of a program: all of them in R and y, those that take part in ``active``."""

    R: FloatArray
    y: FloatArray
    leak: float
    active: np.ndarray[tuple[int, ...], np.dtype[np.int64]]


def solve_primal(samples: Samples, pieces: Sequence[Piece], penalty: float, deadline: Deadline) -> Answer:
    """Minimise Σ|u_j| + penalty · Σ violations over one neuron a piece."""
    (samples, norms), r = _of_norm_one(samples), samples.R.shape[1]
    active, shortest = samples.active, float(norms.min())
    blocks = [_block(samples, piece) for piece in pieces]
    k, n_active = len(pieces), len(active)
    n_first = n_active + k
    width = n_first + sum(margin.shape[1] for margin, _ in blocks)
    cost = np.zeros(width)
    cost[:n_active], cost[n_active:n_first] = penalty * shortest, 1.0
    margins = sparse.hstack([sparse.eye(n_active), sparse.csc_matrix((n_active, k))] + [m for m, _ in blocks])
    inside = sparse.block_diag([b for _, b in blocks])
    inside = sparse.hstack([sparse.csc_matrix((inside.shape[0], n_first)), inside])
    slacks = sparse.eye(n_active, width)
    starts = n_first + np.cumsum([0] + [m.shape[1] for m, _ in blocks])[:-1]
    sizes = [_norm_rows(width, n_active + j, int(start), r) for j, start in enumerate(starts)]
    A = -sparse.vstack([margins, slacks, inside, *sizes])
    b = np.concatenate((-shortest / norms[active], np.zeros(A.shape[0] - n_active)))
    solution = _solve(cost, A, b, [n_active + n_active + inside.shape[0]], [r + 1] * k, deadline)
    x, z = np.asarray(solution.x), np.asarray(solution.z)
    duals = np.zeros(len(samples.y))
    duals[active] = samples.y[active] * z[:n_active] / norms[active]
    neurons = np.array([x[start : start + r] for start in starts]).reshape(k, r) / shortest
    short = x[:n_active] * norms[active] / shortest
    return _answer(solution, neurons, duals, float(short.max(initial=0.0)))


def solve_dual(samples: Samples, pieces: Sequence[Piece], penalty: float, deadline: Deadline) -> Answer:
    """Maximise yᵀλ with 0 <= y_i λ_i <= penalty and one norm constraint a half cell; the neurons are its multipliers.

    With μ = sλ, the half cell (s, σ) is  |Σ_{y_i=s} σ_i μ_i x_i + Σ_{y_i=-s} p_i x_i| <= 1  for some p_i between μ_i
    and α μ_i.
    """
    (samples, norms), r = _of_norm_one(samples), samples.R.shape[1]
    active, y, shortest = samples.active, samples.y[samples.active], float(norms.min())
    n_active = len(active)
    others = [active[y == -piece.sign] for piece in pieces]
    starts = n_active + np.cumsum([0] + [len(o) for o in others])
    cost = np.zeros(int(starts[-1]))
    cost[:n_active] = -shortest / norms[active]  # the variables are y_i λ_i |x_i|
    box = sparse.vstack([sparse.eye(n_active, len(cost)), -sparse.eye(n_active, len(cost))])
    linear, cones = [box], []
    for piece, other, start in zip(pieces, others, starts, strict=False):
        parts = _dual_piece(samples, piece, other, int(start), len(cost))
        linear.append(parts[0])
        cones.append(parts[1])
    A = -sparse.vstack([*linear, *cones])
    b = np.zeros(A.shape[0])
    b[n_active : 2 * n_active] = penalty * shortest
    n_linear = sum(part.shape[0] for part in linear)
    b[n_linear :: r + 1] = 1.0
    solution = _solve(cost, A, b, [n_linear], [r + 1] * len(pieces), deadline)
    x, z = np.asarray(solution.x), np.asarray(solution.z)
    duals = np.zeros(len(samples.y))
    duals[active] = y * x[:n_active] / norms[active]
    neurons = -z[n_linear:].reshape(len(pieces), r + 1)[:, 1:] / shortest
    short = z[n_active : 2 * n_active] * norms[active] / shortest
    return _answer(solution, neurons, duals, float(short.max(initial=0.0)))


def _of_norm_one(samples: Samples) -> tuple[Samples, FloatArray]:
    """Return the samples x_i/|x_i| and |x_i|: the solver takes margins y_i f(x_i/|x_i|) >= 1/|x_i|."""
    norms = np.linalg.norm(samples.R, axis=1)
    return replace(samples, R=samples.R / norms[:, None]), norms


def _block(samples: Samples, piece: Piece) -> tuple[Any, Any]:
    """Return the margins and the inequalities (>= 0) of a piece in its own variables (u, t)."""
    active, y = samples.active, samples.y[samples.active]
    rows = samples.R[active]
    if piece.cone is not None:
        margins = (y * piece.sign * piece.slopes[active])[:, None] * rows
        return sparse.csc_matrix(margins), sparse.csc_matrix(piece.cone[:, None] * samples.R)
    own, other = np.flatnonzero(y == piece.sign), np.flatnonzero(y == -piece.sign)
    linear = np.zeros_like(rows)
    linear[own] = piece.slopes[active[own], None] * rows[own]
    above = sparse.csc_matrix((-np.ones(len(other)), (other, np.arange(len(other)))), shape=(len(active), len(other)))
    eye = sparse.eye(len(other))
    inside = sparse.bmat(
        [[sparse.csc_matrix(-rows[other]), eye], [sparse.csc_matrix(-samples.leak * rows[other]), eye]]
    )
    return sparse.hstack([sparse.csc_matrix(linear), above]), inside


def _dual_piece(samples: Samples, piece: Piece, other: FloatArray, start: int, width: int) -> tuple[Any, Any]:
    """Return the linear rows and the norm rows of a half cell; p_i = -s·(variable), so the variables are >= 0."""
    place = {int(i): k for k, i in enumerate(samples.active)}
    rows = np.arange(len(other))
    p = sparse.csc_matrix((np.ones(len(other)), (rows, start + rows)), shape=(len(other), width))
    mu = sparse.csc_matrix((np.ones(len(other)), (rows, [place[int(i)] for i in other])), shape=(len(other), width))
    own = [int(i) for i in samples.active if samples.y[i] == piece.sign]
    body = sparse.lil_matrix((samples.R.shape[1] + 1, width))
    body[1:, [place[i] for i in own]] = (piece.slopes[own, None] * samples.R[own]).T
    body[1:, start : start + len(other)] = -samples.R[other].T
    return sparse.vstack([mu - p, p - samples.leak * mu]), body.tocsc()


def _norm_rows(width: int, at_norm: int, start: int, r: int) -> Any:
    """Return the rows (norm, u) of a neuron."""
    columns = np.concatenate(([at_norm], np.arange(start, start + r)))
    return sparse.csc_matrix((np.ones(r + 1), (np.arange(r + 1), columns)), shape=(r + 1, width))


def _solve(
    cost: FloatArray, A: Any, b: FloatArray, n_linear: Sequence[int], norms: Sequence[int], deadline: Deadline
) -> Any:
    clarabel = optional_module("clarabel", EXTRA)
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = SOLVER_TOL
    if deadline.seconds is not None:
        settings.time_limit = max(deadline.left, 1e-3)  # 0 would mean none
    cones = [clarabel.NonnegativeConeT(size) for size in n_linear] + [clarabel.SecondOrderConeT(size) for size in norms]
    quadratic = sparse.csc_matrix((len(cost), len(cost)))
    return clarabel.DefaultSolver(quadratic, cost, sparse.csc_matrix(A), b, cones, settings).solve()


def _answer(solution: Any, neurons: FloatArray, duals: FloatArray, slack: float) -> Answer:
    status = str(solution.status)
    finite = bool(np.isfinite(neurons).all() and np.isfinite(duals).all())
    return Answer(finite and status in GOOD_STATUSES + USABLE_STATUSES, status, neurons, duals, slack)
