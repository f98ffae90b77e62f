"""The flow beside gradient descent: explicit Euler steps to the same time, their error and their cost."""

from __future__ import annotations

from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from .._validation import integer, invalid, optional_module, positive, real_array, truth
from ..descent import descend
from ..layered import DeepNetwork, DeepSolution
from ..layered._graph import degree_of
from ..layered._margins import margins_of
from ..layered._xarray import log_losses
from ..networks import Network
from ._inputs import check_net, check_run
from ._kernels import lengths
from ._states import state_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import pandas as pd

    from ..flow import Solution

# Work that the smaller step may take unless steps are given: a few seconds of one core at 30 Gflop/s.
_FLOP_BUDGET = 1.3e11
# What one step is taken to cost at least, in flops: no run has more than a million steps. Those of layers are made in
# numpy, a few calls a layer.
_FLOPS_PER_STEP = 1.3e5
_FLOPS_PER_LAYER = 1e6
# The larger of the two steps is this many times the smaller one.
_STEP_RATIO = 10.0


def suggest_steps(solution: Solution | DeepSolution, *, budget: float = _FLOP_BUDGET) -> tuple[float, float]:
    """Choose two step sizes, ten times apart and powers of ten, that Euler can afford to the end of a run.

    Parameters
    ----------
    solution : Solution or DeepSolution
        Its final time must be finite and above 0.
    budget : float, optional
        Floating-point operations that the smaller step may take.

    Returns
    -------
    tuple of float
        The larger step first.

    Examples
    --------
    >>> import reluflow as rf
    >>> data = rf.datasets.wang_pilanci("obtuse")
    >>> sol = rf.integrate(data, rf.Network.init(10, 2, seed=1), until=1e4)
    >>> rf.analysis.suggest_steps(sol)
    (1.0, 0.1)
    """
    most = positive(budget, "budget") / _step_cost(solution)
    end = positive(solution.t_end - solution.t_start, "the time that the solution covers")
    with np.errstate(over="ignore"):  # a budget for no step at all: the smaller of the two below is the other one
        small = 10.0 ** np.ceil(np.log10(end) - np.log10(most))
    small = min(float(small), 10.0 ** np.floor(np.log10(end)) / _STEP_RATIO)
    return float(_STEP_RATIO * small), float(small)


def _step_cost(solution: Solution | DeepSolution) -> float:
    if isinstance(solution, DeepSolution):
        nodes = solution.initial.nodes[1:]
        entries = sum(edge.idx.size for node in nodes for edge in node.edges)
        return 6.0 * len(solution._problem.X) * entries + len(nodes) * _FLOPS_PER_LAYER
    check_run(solution)
    return 4.0 * solution.final.width * solution.data.n * solution.data.d + _FLOPS_PER_STEP


def compare_with_descent(
    solution: Solution | DeepSolution,
    *,
    steps: Sequence[float] | None = None,
    max_steps: int = 10_000_000,
    progress: bool = False,
) -> pd.DataFrame:
    """Run gradient descent from the start of a flow to its final time, and measure the error.

    Parameters
    ----------
    solution : Solution or DeepSolution
        It covers a finite time.
    steps : sequence of float, optional
        Step sizes; without them those of `suggest_steps`. Each is shortened a little so that a whole number of
        steps ends at the final time.
    max_steps : int, optional
        Steps that would need more are listed with the status ``"too_many_steps"`` and not run.
    progress : bool, optional
        Show a live line on the standard error for each descent that lasts two seconds.

    Returns
    -------
    pandas.DataFrame
        One row a step size: ``step``, ``n_steps``, ``seconds``, ``error`` |θ_Euler - θ_flow|/|θ_flow| (inf where
        descent left the range of numbers), ``loss`` (summed), ``mean_loss``, ``normalised_margin`` (nan for targets
        without labels and for layers that are not homogeneous), ``status``. After Ctrl-C the rows so far; the descent
        under way has nan and the status ``"interrupted"``.

    Raises
    ------
    ValueError
        The final time of the flow is 0 or not finite.

    Examples
    --------
    >>> import reluflow as rf
    >>> data = rf.datasets.wang_pilanci("obtuse")
    >>> sol = rf.integrate(data, rf.Network.init(10, 2, scale=0.1, seed=1), until=2.0)
    >>> table = rf.analysis.compare_with_descent(sol, steps=[0.01, 0.005])
    >>> table[["n_steps", "error"]].round(4).to_dict("records")
    [{'n_steps': 200, 'error': 0.0033}, {'n_steps': 400, 'error': 0.0016}]
    """
    if not isinstance(solution, DeepSolution):
        check_run(solution)
    pandas = optional_module("pandas", "analysis")
    end = positive(solution.t_end - solution.t_start, "the time that the solution covers")
    limit = integer(max_steps, "max_steps")
    wanted: Iterable[float] = suggest_steps(solution) if steps is None else real_array(steps, "steps", "(k,)")
    wanted = [positive(step, "steps") for step in wanted]
    truth(progress, "progress")
    rows: list[tuple[Any, ...]] = []
    for step in wanted:
        rows.append(_run(solution, end, step, limit, progress))
        if rows[-1][-1] == "interrupted":
            break
    columns = ["step", "n_steps", "seconds", "error", "loss", "mean_loss", "normalised_margin", "status"]
    table: pd.DataFrame = pandas.DataFrame(rows, columns=columns)
    return table


def _run(solution: Solution | DeepSolution, end: float, step: float, limit: int, progress: bool) -> tuple[Any, ...]:
    n_steps = int(np.ceil(end / step * (1.0 - 1e-12)))  # a step that divides the time to rounding stays as it is
    if n_steps > limit:
        return step, n_steps, *(np.nan,) * 5, "too_many_steps"
    began = perf_counter()
    options: dict[str, Any] = {"step": end / n_steps, "n_steps": n_steps, "save_every": n_steps, "progress": progress}
    options |= {"loss": solution.loss, "reduction": solution.reduction}
    final: Network | DeepNetwork
    if isinstance(solution, DeepSolution):
        decay = solution.settings["weight_decay"]
        deep = descend(solution.data, solution.initial, weight_decay=decay, **options)
        final, status = deep.final, deep.status
    else:
        decay = solution.settings.weight_decay
        run = descend(solution.data, solution.initial, weight_decay=decay, **options)
        final, status = run.final, run.status
    seconds = perf_counter() - began
    if status == "interrupted":
        return end / n_steps, n_steps, seconds, *(np.nan,) * 4, status
    # Descent that leaves the range of numbers hands back its last finite state.
    error = np.inf if status == "non_finite" else relative_error(final, solution.final)
    loss = mean = np.inf
    margin = np.nan
    if np.isfinite(error):
        loss, mean, margin = _measured(solution, final)
    return end / n_steps, n_steps, seconds, error, loss, mean, margin, status


def _measured(solution: Solution | DeepSolution, net: Any) -> tuple[float, float, float]:
    """Return the summed loss, the mean loss and the normalised margin of a network on the data of a run."""
    margin = np.nan
    if isinstance(solution, DeepSolution):
        problem, L = solution._problem, degree_of(net.nodes)[0]
        log_sum = float(log_losses(problem, net.theta[None])[0] - np.log(problem.factor))
        counts = np.ones(len(problem.X)) if problem.counts is None else problem.counts
        if solution.loss != "squared" and L:
            outputs = np.asarray(net(problem.X)).reshape(len(problem.X), -1)
            size = float(np.linalg.norm(net.theta))
            margin = float(margins_of(outputs, problem.targets)[counts > 0].min()) / size**L if size > 0 else 0.0
        total = float(counts.sum())
    else:
        last, total = state_of(solution.data, net, loss=solution.loss), solution.data.total
        log_sum = float(last.log_loss_sum[0])
        if solution.data.has_labels:
            margin = float(last.normalised_margins[0, solution.data.counts > 0].min())
    with np.errstate(over="ignore"):  # a finite state can have a loss beyond the range of doubles
        loss = float(np.exp(log_sum))
    return loss, loss / total, margin


def relative_error(net: Network | DeepNetwork, reference: Network | DeepNetwork) -> float:
    """Return |θ - θ_ref|/|θ_ref|, inf where a weight is not finite or only the reference is zero.

    Raises
    ------
    ValueError
        Networks of different kinds or sizes.

    Examples
    --------
    >>> import reluflow as rf
    >>> one, two = rf.Network([[3.0]], [4.0]), rf.Network([[3.0]], [4.5])
    >>> rf.analysis.relative_error(two, one)
    0.1
    """
    if isinstance(net, DeepNetwork) and isinstance(reference, DeepNetwork):
        if net.spec != reference.spec:
            raise invalid("net", f"have the layers of the reference, {reference!r}", repr(net))
    else:
        check_net(net)
        check_net(reference, "reference")
        if net.theta.shape != reference.theta.shape:
            sizes = [f"{len(one.theta)} neurons of dim {one.dim}" for one in (reference, net)]
            raise invalid("net", f"have {sizes[0]}, as the reference", sizes[1])
    gap = net.theta - reference.theta
    if not np.isfinite(gap).all():
        return float("inf")
    distance, base = float(lengths(gap.ravel())), reference.norm
    if base == 0:
        return float("inf") if distance > 0 else 0.0
    return distance / base
