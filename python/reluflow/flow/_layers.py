"""Runs of layered networks with the callback and the live line of every run."""

from __future__ import annotations

from typing import Any

from .._validation import invalid
from ..layered import DeepNetwork, DeepSolution
from ..layered._integrate import Layered, integrate_layers
from ._arguments import thread_count
from ._outcome import BranchingError
from ._progress import Listeners, Progress, Reporter
from ._stop import Stop


def refuse(atol: float | None, n_threads: int | None, weight_decay: float, save_at_log_norm: object) -> None:
    """Refuse what a layered network does not have; check the threads.

    Raises
    ------
    ValueError
        `atol` is given, as its tolerance is relative to its largest parameter, or weight decay, or norms to save at, or
        `n_threads` is no number of threads.
    """
    thread_count(n_threads)
    if weight_decay != 0.0:
        raise invalid("weight_decay", "be 0 for a layered network", repr(weight_decay))
    if save_at_log_norm is not None:
        raise invalid("save_at_log_norm", "be left out for a layered network", "norms")
    if atol is not None:
        raise invalid("atol", "be left out for a layered network", repr(atol))


def run_layers(
    data: object, net: DeepNetwork | DeepSolution, until: Stop | float, listening: Listeners, **options: Any
) -> DeepSolution:
    """Integrate and report; `options` are those of `reluflow.integrate`.

    Raises
    ------
    ValueError
        A bad argument.
    BranchingError
        A branch point, with ``on_branch="raise"``.
    """
    asked = Layered(criteria=Stop.of(until).as_dict(), **options)
    reporter = Reporter(listening, lambda report: Progress(**report, width_groups=0))
    try:
        solution = integrate_layers(data, net, asked, reporter.hook)
    finally:
        reporter.close()
    if solution.status == "branch":
        raise BranchingError(solution)
    return solution
