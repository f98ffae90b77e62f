"""Which flow a run has: what is asked for, else that of the solution it goes on from, else the default."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._validation import invalid
from ..layered import DeepSolution
from ._multiclass import MultiClassSolution
from ._solution import Solution
from ._two_layer_solution import TwoLayerSolution

DEFAULTS: dict[str, Any] = {"loss": "logistic", "reduction": "sum", "weight_decay": 0.0}
_SOLUTIONS = (Solution, MultiClassSolution, TwoLayerSolution, DeepSolution)


def flow_of(starts: Sequence[object], asked: dict[str, Any]) -> dict[str, Any]:
    """Fill in what is None of the options that say which flow it is: loss, reduction and weight decay.

    Raises
    ------
    ValueError
        The starts are runs of several flows, and which one to go on with is not said.
    """
    return {name: _option(starts, name) if value is None else value for name, value in asked.items()}


def _option(starts: Sequence[object], name: str) -> Any:
    found = {_of_run(start, name) for start in starts if isinstance(start, _SOLUTIONS)}
    if len(found) > 1:
        raise invalid(name, "be given where the runs that go on differ in it", " and ".join(map(repr, sorted(found))))
    return found.pop() if found else DEFAULTS[name]


def _of_run(solution: Any, name: str) -> Any:
    settings = solution.settings
    return settings.get(name, DEFAULTS[name]) if isinstance(settings, dict) else getattr(settings, name)
