"""The least-norm program over some cells, for Clarabel: minimise Σ|u| with the outputs given.

Variables: one norm t and one neuron u a cell. With the slopes D and the cone ±1 of a cell of sign s,

    minimise Σ t   s.t.  Σ s D X u = f,  (t, u) in the second-order cone,  ±Xu >= 0.

The multipliers of the first line are -λ.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

from .._validation import FloatArray
from ._conic import GOOD_STATUSES, USABLE_STATUSES, Answer, Piece
from ._inputs import Deadline
from ._regularised_conic import run_solver


def solve_outputs(
    R: FloatArray, outputs: FloatArray, space: FloatArray | None, cells: Sequence[Piece], deadline: Deadline
) -> Answer:
    """Solve the program over ``cells``; ``space`` spans the outputs that there are, None if there are all.

    Inputs and outputs are brought to size one for the solver, and equations that follow from others are left out.
    """
    unit, size = float(np.abs(outputs).max()), float(np.linalg.norm(R, axis=1).max())
    rows = R / size
    r, k = rows.shape[1], len(cells)
    width = k + k * r
    effect = np.hstack([piece.sign * piece.slopes[:, None] * rows for piece in cells])
    target = outputs / unit
    if space is not None:
        effect, target = space.T @ effect, space.T @ target
    equations = sparse.hstack([sparse.csc_matrix((len(target), k)), sparse.csc_matrix(effect)])
    cones: Any = sparse.block_diag([piece.cone[:, None] * rows for piece in cells if piece.cone is not None])
    inside = sparse.hstack([sparse.csc_matrix((cones.shape[0], k)), cones])
    order = np.column_stack((np.arange(k), k + np.arange(k * r).reshape(k, r))).ravel()
    norms = sparse.csc_matrix((np.ones(width), (np.arange(width), order)), shape=(width, width))
    A = sparse.vstack([equations, -inside, -norms], format="csc")
    b = np.concatenate((target, np.zeros(inside.shape[0] + width)))
    cost = np.concatenate((np.ones(k), np.zeros(k * r)))
    flat = sparse.csc_matrix((width, width))
    solution = run_solver(flat, cost, A, b, (len(target), inside.shape[0], [r + 1] * k, 0), deadline)
    x, z, status = np.asarray(solution.x), np.asarray(solution.z), str(solution.status)
    neurons = x[k:].reshape(k, r) * (unit / size)
    duals = -z[: len(target)] / size
    if space is not None:
        duals = space @ duals
    usable = bool(np.isfinite(neurons).all() and np.isfinite(duals).all())
    return Answer(usable and status in GOOD_STATUSES + USABLE_STATUSES, status, neurons, duals, 0.0)
