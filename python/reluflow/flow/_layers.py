"""Runs of layered networks with the callback and the live line of every run."""

from __future__ import annotations

from typing import Any

from .._validation import invalid
from ..layered import DeepNetwork, DeepSolution
from ..layered._integrate import Layered, integrate_layers
from ._outcome import BranchingError
from ._progress import Listeners, Progress, Reporter
from ._stop import Stop


def refuse(options: dict[str, Any], what: str = "for a layered network") -> dict[str, Any]:
    """Return options without those that a layered network lacks: an absolute tolerance, norms to save at.

    Its own tolerance is relative to its largest parameter.

    Raises
    ------
    ValueError
        One of them is given.
    """
    for name in ("atol", "save_at_log_norm"):
        if options[name] is not None:
            raise invalid(name, f"be left out {what}", repr(options[name]))
    return {name: value for name, value in options.items() if name not in ("atol", "save_at_log_norm")}


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
    asked = Layered(criteria=Stop.of(until).as_dict(), **refuse(options))
    reporter = Reporter(listening, lambda report: Progress(**report))
    try:
        solution = integrate_layers(data, net, asked, reporter.hook, listening.period)
    finally:
        reporter.close()
    if solution.status == "branch":
        raise BranchingError(solution)
    return solution
