"""What a sweep keeps of a run: named numbers, or what a function of the user returns."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from .._validation import FloatArray, invalid
from ..analysis import summarise
from ..flow import MultiClassSolution, Solution, TwoLayerSolution
from ..layered import DeepSolution

Measured: TypeAlias = dict[str, FloatArray]
Measure: TypeAlias = Callable[[Any], Any]

# Numbers of `analysis.summarise`, by name.
MEASURES = (
    "log_t",
    "log_loss",
    "mean_loss",
    "norm",
    "min_margin",
    "normalised_margin",
    "smoothed_margin",
    "n_wrong",
    "n_sectors",
    "n_held",
    "n_dead",
    "n_groups",
    "n_events",
    "n_branchings",
)
# Those that a run of several outputs or of layers has, too.
MEASURES_OF_OUTPUTS = ("log_t", "log_loss", "mean_loss", "norm", "n_events", "n_branchings")
RESERVED = ("status", "error", "seconds")  # what stands beside the measures
UNNAMED = "value"  # what a measure that returns no mapping is called
CLASS = "class"  # the dimension of the numbers of K classes, one against the rest


class Summarised:
    """A measure: some numbers of the summary of a run."""

    def __init__(self, names: Sequence[str]) -> None:
        """Check the names."""
        for name in names:
            if name not in MEASURES:
                raise invalid("measure", "name numbers among " + ", ".join(MEASURES), repr(name))
        self.names = tuple(names)

    @property
    def fingerprint(self) -> str:
        """What tells it from other measures."""
        return ",".join(self.names)

    def __call__(self, solution: Solution | MultiClassSolution | TwoLayerSolution | DeepSolution) -> dict[str, Any]:
        """Return the numbers of one run; of K classes one against the rest, an array of K for each name."""
        if isinstance(solution, (TwoLayerSolution, DeepSolution)):
            return {name: _of_outputs(solution)[name] for name in self.names}
        if isinstance(solution, MultiClassSolution):
            each = summarise(solution)
            return {name: np.array([getattr(one, name) for one in each]) for name in self.names}
        summary = summarise(solution)
        return {name: getattr(summary, name) for name in self.names}


def _of_outputs(solution: TwoLayerSolution | DeepSolution) -> dict[str, float]:
    log_count = float(np.log(solution.data.total))
    total = solution.log_loss_end + (log_count if solution.reduction == "mean" else 0.0)
    return {
        "log_t": solution.log_t_end,
        "log_loss": total,
        "mean_loss": float(np.exp(total - log_count)),
        "norm": solution.final.norm,
        "n_events": solution.stats["n_events"],
        "n_branchings": len(solution.branchings),
    }


def dims_of(measure: Measure) -> tuple[str, ...]:
    """Return the names of the dimensions of what a measure returns, as far as they have names."""
    return (CLASS,) if isinstance(measure, Summarised) else ()


def check_measure_of_outputs(measure: Measure) -> None:
    """Refuse numbers that a run of several outputs or of layers does not have.

    Raises
    ------
    ValueError
        One of them is asked for by its name.
    """
    for name in measure.names if isinstance(measure, Summarised) else ():
        if name not in MEASURES_OF_OUTPUTS:
            known = ", ".join(MEASURES_OF_OUTPUTS)
            raise invalid("measure", f"name numbers among {known} for several outputs and for layers", repr(name))


def measure_of(measure: object) -> Measure:
    """Return the measure that is meant: a function, a name, or several.

    Raises
    ------
    ValueError
        It is none of them, or an unknown name.
    """
    if callable(measure):
        return measure
    if isinstance(measure, str):
        return Summarised([measure])
    if isinstance(measure, Sequence) and measure and all(isinstance(name, str) for name in measure):
        return Summarised(list(measure))
    raise invalid("measure", "be a function of the solution, or names of numbers", repr(measure))


def measured(measure: Measure, solution: object) -> Measured:
    """Call a measure and bring what it returns to named arrays of floats.

    Raises
    ------
    ValueError
        It returns no numbers, or names that are taken.
    """
    found = measure(solution)
    named = found if isinstance(found, Mapping) else {UNNAMED: found}
    arrays = {}
    for name, value in named.items():
        array = np.asarray(value)
        if not isinstance(name, str) or not name.isidentifier() or name in RESERVED:
            raise invalid("measure", "name what it returns by words other than " + ", ".join(RESERVED), repr(name))
        if array.dtype.kind not in "biuf":
            raise invalid("measure", "return numbers", f"{value!r} for {name!r}")
        arrays[name] = np.asarray(array, dtype=np.float64)
    if not arrays:
        raise invalid("measure", "return at least one number", "an empty mapping")
    return arrays
