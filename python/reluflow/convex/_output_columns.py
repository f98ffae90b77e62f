"""The least Σ_j |a_j||w_j| of networks of K outputs under linear conditions on their outputs, between two bounds.

With unit vectors u_l, v_l and sizes s_l >= 0 it is min Σ s_l s.t. C(Σ s_l φ(Xu_l) v_lᵀ) >= 1 (the margins of classes)
or = F (outputs that are given). Any multipliers, with Λ = Cᵀμ, bound it from below by their value over the dual norm
max |Λᵀφ(Xu)|; a few neurons bound it from above, and the linear program in their sizes has multipliers again. The
neuron that these ask for most joins, round after round.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.optimize import linprog

from .._validation import FloatArray, IntArray
from ..networks import Network
from ._inputs import Deadline
from ._output_norm import OutputNorm, output_norm
from ._regularised_solution import relative_gap

# Rounds of the linear program; it converges slowly where many neurons of nearly the same direction are needed.
_ROUNDS = 12
# Evaluations of the norm of one output in a round.
_POINTS = 400
# How closely the dual norm is bounded, as a part of the gap that counts as none.
_NORM_PART = 0.1
# Of a gap that is still open, the part that the norm of the next round need not be known better than.
_ROUGH = 0.1
_NAN = float("nan")


class Conditions(NamedTuple):
    """What the outputs F (n, K) must satisfy: signs · F summed at places >= 1, or F itself equal to `outputs`.

    Attributes
    ----------
    X : ndarray, shape (n, d)
    leak : float
    own : ndarray, shape (n,), or None
        The class of each sample, for margins f_y - f_k >= 1.
    outputs : ndarray, shape (n, K)
        The outputs of the network, which are kept where there are no classes.
    """

    X: FloatArray
    leak: float
    own: IntArray | None
    outputs: FloatArray

    def parts(self, F: FloatArray) -> FloatArray:
        """Return what is bounded of outputs (n, K): the margins of all other classes, or the outputs."""
        if self.own is None:
            return F.ravel()
        places = np.arange(len(F))
        return (F[places, self.own][:, None] - F)[self.others]

    def duals(self, mu: FloatArray) -> FloatArray:
        """Return Λ of multipliers."""
        if self.own is None:
            return mu.reshape(self.outputs.shape)
        lam = np.zeros(self.outputs.shape)
        lam[self.others] = -mu
        lam[np.arange(len(lam)), self.own] = -lam.sum(axis=1)
        return lam

    @property
    def others(self) -> npt.NDArray[np.bool_]:
        """Which pairs of a sample and a class are bounded, shape (n, K)."""
        assert self.own is not None  # for the type checker: it is asked of classes
        return np.asarray(np.arange(self.outputs.shape[1])[None, :] != self.own[:, None])

    @property
    def wanted(self) -> FloatArray:
        """What the parts are bounded by."""
        return self.outputs.ravel() if self.own is None else np.ones(int(self.others.sum()))

    def responses(self, U: FloatArray) -> FloatArray:
        """Return φ(Xu) of each row of U, shape (n, l)."""
        Z = self.X @ U.T
        return np.maximum(Z, self.leak * Z)


# Where nothing was looked into.
NO_NORM = OutputNorm(_NAN, _NAN, np.empty(0), np.empty(0), 0)


class OutputBounds(NamedTuple):
    """Bounds of the least value, with the multipliers of the lower one."""

    lower: float
    upper: float
    duals: FloatArray
    norm: OutputNorm


def output_bounds(conditions: Conditions, mu: FloatArray, net: Network, gap: float, deadline: Deadline) -> OutputBounds:
    """Bound the least value from the multipliers and the neurons of a network that satisfies the conditions."""
    sizes = np.linalg.norm(net.W, axis=1), np.linalg.norm(net.a, axis=1)
    live = (sizes[0] > 0) & (sizes[1] > 0)
    value = float(sizes[0] @ sizes[1])
    U, V = net.W[live] / sizes[0][live, None], net.a[live] / sizes[1][live, None]
    found, norm = _lower(conditions, mu, gap, deadline)
    upper = value
    for _ in range(_ROUNDS):
        if relative_gap(upper, found.lower) <= gap or deadline.passed or not norm.lower > 0:
            break
        U, V = np.vstack((U, norm.u)), np.vstack((V, norm.v))
        solved = _program(conditions, U, V)
        if solved is None:
            break
        upper = min(upper, solved[0])
        # Far from the end a rough bound of the norm finds the next neuron as well.
        trial, norm = _lower(conditions, solved[1], max(gap, _ROUGH * relative_gap(upper, found.lower)), deadline)
        if trial.lower > found.lower:
            found = trial
    return found._replace(lower=min(found.lower, value), upper=upper)


def _lower(conditions: Conditions, mu: FloatArray, gap: float, deadline: Deadline) -> tuple[OutputBounds, OutputNorm]:
    lam = conditions.duals(mu)
    norm = output_norm(conditions.X, lam, conditions.leak, rtol=_NORM_PART * gap, deadline=deadline, max_points=_POINTS)
    if not norm.upper > 0:
        return OutputBounds(0.0, np.inf, np.zeros_like(lam), norm), norm
    return OutputBounds(float(mu @ conditions.wanted) / norm.upper, np.inf, lam / norm.upper, norm), norm


def _program(conditions: Conditions, U: FloatArray, V: FloatArray) -> tuple[float, FloatArray] | None:
    """Solve for the sizes of given neurons; return the value and the multipliers, or None if that fails.

    The solver has tolerances for numbers of size one, so columns and right sides are brought to it. Of margins the
    value is made one of a network that has them: what rounding leaves of the least is divided out.
    """
    H = conditions.responses(U)
    columns = np.column_stack([conditions.parts(np.outer(h, v)) for h, v in zip(H.T, V, strict=True)])
    size, unit = float(np.abs(columns).max()), float(np.abs(conditions.wanted).max())
    columns, wanted, cost = columns / size, conditions.wanted / unit, np.ones(columns.shape[1])
    if conditions.own is None:
        found = linprog(cost, A_eq=columns, b_eq=wanted, bounds=(0, None), method="highs")
        if found.x is None:
            return None
        return float(found.x.sum()) * unit / size, np.asarray(found.eqlin.marginals) / size
    found = linprog(cost, A_ub=-columns, b_ub=-wanted, bounds=(0, None), method="highs")
    if found.x is None:
        return None
    least = float((columns @ found.x).min())
    value = float(found.x.sum()) / least / size if least > 0 else np.inf
    return value, np.maximum(-np.asarray(found.ineqlin.marginals), 0.0) / size
