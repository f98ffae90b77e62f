"""The solution of the regularised program, as a value."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from .._html import card
from .._validation import FloatArray, ReadOnly
from ..datasets import Dataset
from ..losses import LossName, ReductionName
from ..networks import Network
from ._mapping import network_of
from ._solution import BoolArray, ConvexStats, SignArray


@dataclass(frozen=True, eq=False)
class RegularisedSolution(ReadOnly):
    """A network and feasible duals of the regularised program, with their values.

    Attributes
    ----------
    value : float
        L(f) + γ Σ|u_j| of the network: an upper bound of the least objective.
    lower : float
        Value of the duals: a lower bound of the objective for networks of any width.
    neurons : ndarray, shape (k, d)
        u_j; none if the zero network is best.
    signs : ndarray of int8, shape (k,)
        Sign of the output weight.
    patterns : ndarray of bool, shape (k, n)
        1(Xu_j >= 0), a sample on the boundary (to 1e-9) counting as active.
    duals : ndarray, shape (n,)
        λ, with max over unit u of |λᵀφ(Xu)| at most γ: it attains `lower`.
    outputs : ndarray, shape (n,)
        f(x_i) of the network. Those of the optimum are unique, its neurons need not be.
    weight_decay : float
        γ.
    loss, reduction : str
    leak : float
    status : str
        "optimal" (gap <= gap_tol), "inaccurate" (the gap is larger, and proven), "time_limit", "round_limit" or
        "solver_failed".
    message : str
    stats : ConvexStats
    """

    value: float
    lower: float
    neurons: FloatArray
    signs: SignArray
    patterns: BoolArray
    duals: FloatArray
    outputs: FloatArray
    weight_decay: float
    loss: LossName
    reduction: ReductionName
    leak: float
    status: str
    message: str
    stats: ConvexStats
    data: Dataset = field(repr=False)

    def __repr__(self) -> str:
        """One line: what was proven, and by how many neurons."""
        numbers = f"value={self.value:.10g}, gap={self.gap:.1e}, {len(self.neurons)} neurons"
        return f"RegularisedSolution({self.status}, {numbers})"

    def _repr_html_(self) -> str:
        """Show what was proven as a table in a notebook."""
        rows = [
            ("status", f"{self.status}: {self.message}"),
            ("objective", f"{self.value:.10g}; no network has less than {self.lower:.10g}"),
            ("loss", f"{self.loss}, {self.reduction}, weight decay {self.weight_decay:g}"),
            ("neurons", str(len(self.neurons))),
        ]
        return card("Regularised solution", rows)

    @property
    def success(self) -> bool:
        """Whether the optimum is proven to the tolerance asked for."""
        return self.status == "optimal"

    @property
    def gap(self) -> float:
        """(value - lower) / value, computed from feasible points of both programs; 0 where the value is 0."""
        return relative_gap(self.value, self.lower)

    @property
    def network(self) -> Network:
        """The balanced network, L + ½γ|θ|² = `value`: one neuron of zeros if there is none."""
        return network_of(self.neurons, self.signs.astype(np.float64), self.leak, max(len(self.neurons), 1))


def relative_gap(value: float, lower: float) -> float:
    """Return (value - lower) / value: 0 where nothing is left to gain, 1 at most where the value is infinite."""
    if not np.isfinite(value):
        return 1.0
    return (value - lower) / value if value > 0 else 0.0
