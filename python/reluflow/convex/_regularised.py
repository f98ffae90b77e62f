"""The convex program of training with weight decay, by column generation, with a proven value."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._validation import FloatArray, freeze, leak_value, positive
from ..datasets import Dataset
from ..losses import LossName, ReductionName, check_loss, check_reduction, check_targets, reduction_factor
from ._inputs import Deadline, check_inputs, fixed, fixed_bool, rectify, row_space
from ._objective import Objective
from ._regularised_columns import Generation, Outcome
from ._regularised_polish import Network
from ._regularised_solution import RegularisedSolution
from ._solution import BoolArray, ConvexStats

GAP_TOL = 1e-10  # relative, as for the max-margin program
ON_BOUNDARY = 1e-9  # of the patterns that are reported


def regularised(
    data: Dataset,
    weight_decay: float,
    *,
    loss: LossName = "logistic",
    reduction: ReductionName = "sum",
    leak: float = 0.0,
    gap_tol: float = GAP_TOL,
    max_seconds: float | None = None,
) -> RegularisedSolution:
    """Solve the convex program of two-layer networks with weight decay and prove its value.

    The least L(f) + γ/2 |θ|² over networks of any width is the least L(f) + γ Σ|u_j| over Σ_j s_j φ(u_j·x)
    [Pilanci & Ergen 2020, Theorem 1, for the squared loss and the ReLU].

    Parameters
    ----------
    data : Dataset
        Its weights count, as in a run.
    weight_decay : float
        γ > 0, as in `reluflow.integrate`.
    loss : {"logistic", "exponential", "squared"}, optional
    reduction : {"sum", "mean"}, optional
        Whether L is the sum over the samples or their mean: γ with the mean is nγ with the sum, where weighted samples
        are as many as their weights add up to.
    leak : float, optional
        Slope α of φ on the negative side.
    gap_tol : float, optional
        Relative gap of "optimal".
    max_seconds : float, optional
        Time limit; what was found by then comes back with the status "time_limit" and its proven gap.

    Returns
    -------
    RegularisedSolution

    Raises
    ------
    ValueError
        An argument out of its range, or targets that the loss cannot take.
    ImportError
        The extra ``convex`` is not installed.

    Notes
    -----
    A neuron is linear in a closed cell of the sign patterns. The program over a few cells is solved as a conic
    program, cells in which |λᵀφ(Xu)| > γ join it, until there are none. The solver's numbers are starting points only:
    Newton's method on the active set follows, the value is that of the network, and λ is scaled until it is feasible.

    Examples
    --------
    Orthonormal samples: the outputs are the targets, those of one sign together brought nearer to zero by γ.

    >>> import numpy as np, reluflow as rf
    >>> data = rf.Dataset(np.eye(3), [3.0, 4.0, -1.0])
    >>> solution = rf.convex.regularised(data, 0.5, loss="squared")
    >>> solution.outputs.round(9).tolist(), round(solution.value, 9), solution.status
    ([2.7, 3.6, -0.5], 2.75, 'optimal')
    """
    setup = Setup.of(data, weight_decay, loss, reduction, leak)
    deadline = Deadline(None if max_seconds is None else positive(max_seconds, "max_seconds"))
    nothing = Network(np.empty((0, setup.objective.R.shape[1])), np.empty(0))
    return setup.solve(nothing, positive(gap_tol, "gap_tol"), deadline)


@dataclass(frozen=True, eq=False)
class Setup:
    """The problem of a data set, in coordinates of the row space of the samples that count."""

    data: Dataset
    objective: Objective
    basis: FloatArray
    used: BoolArray
    weight_decay: float
    loss: LossName
    reduction: ReductionName

    @classmethod
    def of(cls, data: Dataset, weight_decay: float, loss: str, reduction: str, leak: float) -> Setup:
        """Check the arguments; see `regularised`."""
        check_inputs(data)
        decay, name, how = positive(weight_decay, "weight_decay"), check_loss(loss), check_reduction(reduction)
        check_targets(data, name)
        used = data.counts > 0
        X = data.X[used]
        basis = row_space(X)
        counts = data.counts[used] * reduction_factor(how, data.total)
        R = np.ascontiguousarray(X @ basis)
        objective = Objective(R, data.y[used], counts, name, leak_value(leak), decay)
        return cls(data, objective, basis, used, decay, name, how)

    def solve(self, start: Network, gap_tol: float, deadline: Deadline) -> RegularisedSolution:
        """Solve the program, from the cells of a network in these coordinates and those that lack first."""
        outcome = Generation(self.objective, gap_tol, deadline).run(start)
        return self._solution(outcome, deadline)

    def _solution(self, outcome: Outcome, deadline: Deadline) -> RegularisedSolution:
        found, leak, X = outcome.found, self.objective.leak, self.data.X
        sizes = np.linalg.norm(found.net.neurons, axis=1)
        order = np.lexsort((-sizes, -found.net.signs))
        neurons, signs = found.net.neurons[order] @ self.basis.T, found.net.signs[order].astype(np.int8)
        freeze(signs)
        limits = -ON_BOUNDARY * np.outer(np.linalg.norm(neurons, axis=1), np.linalg.norm(X, axis=1))
        duals = np.zeros(self.data.n)
        duals[self.used] = found.duals
        return RegularisedSolution(
            value=found.upper,
            lower=found.lower,
            neurons=fixed(neurons),
            signs=signs,
            patterns=fixed_bool(neurons @ X.T >= limits),
            duals=fixed(duals),
            outputs=fixed(rectify(X @ neurons.T, leak) @ signs),
            weight_decay=self.weight_decay,
            loss=self.loss,
            reduction=self.reduction,
            leak=leak,
            status=outcome.status,
            message=outcome.message,
            stats=ConvexStats(outcome.n_rounds, outcome.n_cells, found.norm.n_nodes, deadline.elapsed),
            data=self.data,
        )
