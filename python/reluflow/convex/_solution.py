"""The solution of a convex max-margin program, as a value."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from .._digest import fingerprint_of
from .._validation import FloatArray, ReadOnly
from ..datasets import Dataset

BoolArray: TypeAlias = npt.NDArray[np.bool_]
SignArray: TypeAlias = npt.NDArray[np.int8]


@dataclass(frozen=True)
class ConvexStats:
    """What a solution cost.

    Attributes
    ----------
    n_rounds : int
        Conic programs solved.
    n_pieces : int
        Pieces of the weight space in the last of them.
    n_nodes : int
        Nodes of branch and bound in the last proof, or cells looked into.
    seconds : float
    """

    n_rounds: int
    n_pieces: int
    n_nodes: int
    seconds: float

    @property
    def fingerprint(self) -> str:
        """32 hexadecimal digits of the counts, without the time."""
        return fingerprint_of(self)


@dataclass(frozen=True, eq=False)
class MaxMarginSolution(ReadOnly):
    """A feasible network and feasible duals of [WP (14), (15)], with their values.

    Attributes
    ----------
    value : float
        Σ|u_j| of a network with all margins >= 1: an upper bound of P*. Infinity if there is none.
    lower : float
        yᵀλ of feasible duals: a lower bound of P*, or, if ``restricted``, of the optimum over the given patterns.
    neurons : ndarray, shape (k, d)
        u_j.
    signs : ndarray of int8, shape (k,)
        +1 for [WP]'s u' in (14), -1 for u. (In [WP (7), (128), (130)] the roles are exchanged.)
    patterns : ndarray of bool, shape (k, n)
        1(Xu_j >= 0), a sample on the boundary (to 1e-9) counting as active.
    duals : ndarray, shape (n,)
        λ with the sign of y; max over unit u of |λᵀφ(Xu)| <= 1. If the status is "infeasible", a ray along which the
        dual is unbounded.
    margins : ndarray, shape (n,)
        y_i f(x_i), at least 1.
    leak : float
    restricted : bool
        Whether only given patterns were allowed.
    status : str
        "optimal" (gap <= gap_tol), "inaccurate" (the gap is larger, and proven), "infeasible", "time_limit",
        "round_limit" or "solver_failed".
    message : str
    stats : ConvexStats
    """

    value: float
    lower: float
    neurons: FloatArray
    signs: SignArray
    patterns: BoolArray
    duals: FloatArray
    margins: FloatArray
    leak: float
    restricted: bool
    status: str
    message: str
    stats: ConvexStats
    data: Dataset = field(repr=False)

    def __repr__(self) -> str:
        """One line: what was proven, and by how many neurons."""
        numbers = f"value={self.value:.10g}, gap={self.gap:.1e}, {len(self.neurons)} neurons"
        return f"MaxMarginSolution({self.status}, {numbers})"

    @property
    def success(self) -> bool:
        """Whether the optimum is proven to the tolerance asked for."""
        return self.status == "optimal"

    @property
    def gap(self) -> float:
        """(value - lower) / value, computed from feasible points of both programs; infinity without a network."""
        return (self.value - self.lower) / self.value if np.isfinite(self.value) else float("inf")

    @property
    def margin(self) -> float:
        """The normalised margin q_min/|θ|² of the network, 1 / (2 value); 0 without a network."""
        return 0.5 / self.value

    @property
    def positive(self) -> FloatArray:
        """Neurons with a positive output weight, [WP (14)]'s u', shape (k', d)."""
        return self.neurons[self.signs > 0]

    @property
    def negative(self) -> FloatArray:
        """Neurons with a negative output weight, [WP (14)]'s u, shape (k - k', d)."""
        return self.neurons[self.signs < 0]
