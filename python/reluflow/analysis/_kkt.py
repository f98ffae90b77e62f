"""How nearly a state is a KKT point of the max-margin problem, in the sense of Lyu and Li."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from .._validation import FloatArray, invalid, optional_module
from ..flow import MultiClassSolution
from ..losses import duals_of, is_of_margins, shares
from ._classes import class_table
from ._kernels import drive, lengths
from ._states import Source, States, states

if TYPE_CHECKING:
    import pandas as pd


# Weights of samples are known this well, or they are not told: differences of margins carry their rounding.
_WEIGHT_TOL = 1e-3


def kkt_residuals(source: Source | MultiClassSolution, times: npt.ArrayLike | None = None) -> pd.DataFrame:
    """Return the (ε, δ) for which θ/√q_min is an approximate KKT point of min ½|θ|², q_i >= 1, along a run.

    With the multipliers λ_i ∝ -ℓ'(q_i) of the flow itself, scaled as in Lyu and Li (2020, Section C):
    ε = |θ̃ - Σ λ_i h_i| = (2 (1 - β))^½ / γ^½ with β the cosine between θ and its velocity, and
    δ = max_i λ_i (q_i/q_min - 1).

    Parameters
    ----------
    source : Solution or States, or MultiClassSolution
    times : array_like, optional

    Returns
    -------
    pandas.DataFrame
        One row a time: ``t``, ``log_t``, ``beta``, ``epsilon``, ``delta``, ``normalised_margin`` γ, ``multiplier_sum``
        Σ λ_i, which tends to ½|θ̃|² = 1/(2γ). All but times and β are nan while some margin is not positive. From
        margins of about 1e13 on (log t the same) their rounding hides the λ_i, and all but the times are nan: there
        ``sol.limit.residuals`` tells.

    Raises
    ------
    ValueError
        The run has a loss of errors, which has no margins.

    Examples
    --------
    >>> import reluflow as rf
    >>> data = rf.datasets.wang_pilanci("obtuse")
    >>> sol = rf.integrate(data, rf.Network.init(10, 2, seed=1), until=1e4)
    >>> last = rf.analysis.kkt_residuals(sol).iloc[-1]
    >>> round(float(last["epsilon"]), 3), round(float(last["delta"]), 3), round(float(last["multiplier_sum"]), 3)
    (0.014, 0.009, 1.282)
    """
    if isinstance(source, MultiClassSolution):
        return class_table(source, lambda one: kkt_residuals(one, times))
    pandas = optional_module("pandas", "analysis")
    run = states(source, times)
    if not is_of_margins(run.loss):
        raise invalid("source", "be a run with a loss of margins", f"the loss {run.loss!r}")
    rows = [_residuals(run, k) for k in range(len(run))]
    columns = ["beta", "epsilon", "delta", "normalised_margin", "multiplier_sum"]
    table: pd.DataFrame = pandas.DataFrame(rows, columns=columns)
    table.insert(0, "t", run.t)
    table.insert(1, "log_t", run.log_t)
    return table


def velocity(run: States, k: int) -> tuple[FloatArray, FloatArray, float]:
    """Return the velocity of (W, a) at time number k divided by Σ|λ|, and its Euclidean norm."""
    X, y = run.data.X, run.data.y
    if is_of_margins(run.loss):
        weights = shares(run.margins[k], run.loss, run.data.counts) * y  # of any margins, where λ leaves the floats
    else:
        weights = duals_of(run.data, run.loss_arguments[k], run.loss)
        weights = weights / np.abs(weights).sum() if weights.any() else weights
    Z = run.W[k] @ X.T
    W_dot = run.a[k][:, None] * drive(X, weights, run.pattern[k], run.leak)
    a_dot = (np.maximum(Z, run.leak * Z) * (run.pattern[k] != 0)) @ weights
    return W_dot, a_dot, float(np.hypot(lengths(W_dot.ravel()), lengths(a_dot)))


def _residuals(run: States, k: int) -> tuple[float, float, float, float, float]:
    W_dot, a_dot, speed = velocity(run, k)
    W, a, norm = run.W[k], run.a[k], float(run.norm[k])
    used = run.data.counts > 0  # the constraints are those of the samples that count
    q = run.margins[k][used]
    smallest = float(q.min())
    if speed == 0.0 or norm == 0.0 or np.finfo(np.float64).eps * smallest > _WEIGHT_TOL:
        return (np.nan,) * 5
    # |θ̂ - v̂|² = 2 (1 - β), taken from the difference: 1 - β would lose half of the digits.
    gap = np.sqrt(((W / norm - W_dot / speed) ** 2).sum() + ((a / norm - a_dot / speed) ** 2).sum())
    beta = 1.0 - 0.5 * gap**2
    if smallest <= 0.0:
        return beta, np.nan, np.nan, np.nan, np.nan
    gamma = smallest / norm**2
    multipliers = shares(q, run.loss, run.data.counts[used]) * norm / speed
    delta = float((multipliers * (q / smallest - 1.0)).max())
    return beta, float(gap / np.sqrt(gamma)), delta, gamma, float(multipliers.sum())
