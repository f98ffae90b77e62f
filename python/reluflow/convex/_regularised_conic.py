"""The regularised program over some cells, as matrices for Clarabel.

Variables: the outputs f, what the loss needs beside them, one norm t and one neuron u a cell. With the slopes D and the
cone ±1 of a cell of sign s,

    minimise Σ c ℓ(f) + γ Σ t   s.t.  f = Σ s D X u,  (t, u) in the second-order cone,  ±Xu >= 0.

The multipliers of the first line are -λ. The losses:

- squared: a quadratic objective in f;
- exponential: l with (-y f, 1, l) in the exponential cone {(x, y, z) : y e^(x/y) <= z};
- logistic: l >= log(1 + e^(-y f)) is e^(-l) + e^(-y f - l) <= 1, two exponential cones.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

from .._validation import FloatArray, optional_module
from ._conic import EXTRA, GOOD_STATUSES, SOLVER_TOL, USABLE_STATUSES, Answer, Piece
from ._inputs import Deadline
from ._objective import Objective

N_EXTRA = {"squared": 0, "exponential": 1, "logistic": 3}  # variables a sample beside its output


def solve_cells(objective: Objective, cells: Sequence[Piece], deadline: Deadline) -> Answer:
    """Solve the program over ``cells``.

    For the solver, inputs and targets are brought to size one, and loss and penalty to sizes that are each other's
    inverse: with a small decay it would end at 1e-4 otherwise.
    """
    unit = (float(np.abs(objective.y).max()) or 1.0) if objective.loss == "squared" else 1.0  # of outputs
    size = float(np.linalg.norm(objective.R, axis=1).max())
    amount = float(np.sqrt(objective.counts.max() * objective.decay / (size * unit)))
    n, r = objective.R.shape
    k, n_first = len(cells), n * (1 + N_EXTRA[objective.loss])
    width = n_first + k + k * r
    R, y, counts = objective.R / size, objective.y / unit, objective.counts / amount
    cost = np.zeros(width)
    cost[n_first : n_first + k] = objective.decay / (size * amount * unit)
    quadratic, linear, exponential = _loss_rows(objective.loss, y, counts, cost)
    effect = sparse.csc_matrix(np.hstack([piece.sign * piece.slopes[:, None] * R for piece in cells]))
    outputs = sparse.hstack([-sparse.eye(n, n_first + k), effect])
    cones: Any = sparse.block_diag([piece.cone[:, None] * R for piece in cells if piece.cone is not None])
    inside = sparse.hstack([sparse.csc_matrix((cones.shape[0], n_first + k)), cones])
    order = (n_first + np.column_stack((np.arange(k), k + np.arange(k * r).reshape(k, r)))).ravel()
    norms = sparse.csc_matrix((np.ones(len(order)), (np.arange(len(order)), order)), shape=(len(order), width))
    A = sparse.vstack([outputs, linear[0], -inside, -norms, exponential[0]], format="csc")
    b = np.concatenate((np.zeros(n), linear[1], np.zeros(inside.shape[0] + len(order)), exponential[1]))
    sizes = (n, len(linear[1]) + inside.shape[0], [r + 1] * k, len(exponential[1]) // 3)
    solution = run_solver(quadratic, cost, A, b, sizes, deadline)
    x, z, status = np.asarray(solution.x), np.asarray(solution.z), str(solution.status)
    neurons, duals = x[n_first + k :].reshape(k, r) * (unit / size), -amount * unit * z[:n]
    usable = bool(np.isfinite(neurons).all() and np.isfinite(duals).all())
    return Answer(usable and status in GOOD_STATUSES + USABLE_STATUSES, status, neurons, duals, 0.0)


def _loss_rows(loss: str, y: FloatArray, counts: FloatArray, cost: FloatArray) -> tuple[Any, Any, Any]:
    """Put the loss into ``cost``; return the quadratic form, the linear rows and the exponential cones, (A, b) each."""
    n, width = len(counts), len(cost)
    eye, nothing = sparse.eye(n, format="csc"), sparse.csc_matrix((0, width))
    if loss == "squared":
        cost[:n] = -counts * y
        diagonal = np.concatenate((counts, np.zeros(width - n)))
        return sparse.diags(diagonal, format="csc"), (nothing, np.empty(0)), (nothing, np.empty(0))
    cost[n : 2 * n] = counts
    margin = sparse.diags(y, format="csc")
    flat = sparse.csc_matrix((width, width))
    if loss == "exponential":
        return flat, (nothing, np.empty(0)), _cones([(margin, 0)], [(-eye, 1)], n, width)
    together = _placed([(eye, 2), (eye, 3)], n, width)
    first = _cones([(eye, 1)], [(-eye, 2)], n, width)
    second = _cones([(margin, 0), (eye, 1)], [(-eye, 3)], n, width)
    both = sparse.vstack([first[0], second[0]]), np.concatenate((first[1], second[1]))
    return flat, (together, np.ones(n)), both


def _placed(parts: Sequence[tuple[Any, int]], n: int, width: int) -> Any:
    """Return n rows with blocks at the places of the loss variables: 0 the outputs, 1 the first beside them, ..."""
    rows = sparse.lil_matrix((n, width))
    for block, place in parts:
        rows[:, place * n : (place + 1) * n] = block
    return rows.tocsc()


def _cones(x: Sequence[tuple[Any, int]], z: Sequence[tuple[Any, int]], n: int, width: int) -> tuple[Any, FloatArray]:
    """Return the rows of n exponential cones (x, 1, z)."""
    stacked = sparse.vstack([_placed(x, n, width), sparse.csc_matrix((n, width)), _placed(z, n, width)], format="csr")
    order = np.arange(3 * n).reshape(3, n).T.ravel()
    return stacked[order], np.tile([0.0, 1.0, 0.0], n)


def run_solver(quadratic: Any, cost: FloatArray, A: Any, b: FloatArray, sizes: Any, deadline: Deadline) -> Any:
    """Call Clarabel; ``sizes`` are the rows of the zero and the linear cone, the norms, and the exponential cones."""
    clarabel = optional_module("clarabel", EXTRA)
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = SOLVER_TOL
    if deadline.seconds is not None:
        settings.time_limit = max(deadline.left, 1e-3)  # 0 would mean none
    n_zero, n_linear, norms, n_exponential = sizes
    cones = [clarabel.ZeroConeT(n_zero), clarabel.NonnegativeConeT(n_linear)]
    cones += [clarabel.SecondOrderConeT(size) for size in norms]
    cones += [clarabel.ExponentialConeT() for _ in range(n_exponential)]
    return clarabel.DefaultSolver(quadratic, cost, sparse.csc_matrix(A), b, cones, settings).solve()
