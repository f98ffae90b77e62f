"""What is said of a run in a few lines: names and values, for text and for notebooks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._times import time_text

if TYPE_CHECKING:
    from ..layered import DeepSolution
    from ._solution import Solution
    from ._two_layer_solution import TwoLayerSolution


def facts(solution: Solution | TwoLayerSolution) -> tuple[tuple[str, str], ...]:
    """Return the names and values of the summary of a run: the outcome, the work and the events."""
    stats, initial, data = solution.stats, solution.initial, solution.data
    counts = ", ".join(f"{kind} {number}" for kind, number in stats["events"].items()) or "none"
    outputs = "" if initial.n_outputs == 1 else f", outputs {initial.n_outputs}"
    network = f"width {initial.width}, dim {initial.dim}{outputs}, leak {solution.leak:g}"
    loss = f"{solution.loss}, {solution.reduction}: log loss = {solution.log_loss_end:.8g} at the end"
    return (
        ("status", f"{solution.status}: {solution.message}"),
        ("time", f"from {start_of(solution)} to {end_of(solution)} (log t = {solution.log_t_end:.10g})"),
        ("network", f"{network}, |θ| = {solution.final.norm:.6g} at the end"),
        ("data", f"arrays of {len(data[0])} samples" if isinstance(data, tuple) else repr(data)),
        ("loss", loss),
        ("events", counts),
        ("branchings", str(len(solution.branchings))),
        ("work", f"{stats['steps']} steps in {stats['seconds']:.3g} s"),
    )


def head(solution: Solution | TwoLayerSolution) -> str:
    """Return what the one line of a run begins with: its kind, the outcome, the time span, the numbers of states."""
    span = f"{solution.status}, t from {start_of(solution)} to {end_of(solution)}"
    return f"{type(solution).__name__}({span}, {len(solution.t)} states, {len(solution.events)} events"


def start_of(solution: Solution | TwoLayerSolution) -> str:
    """Return the first time as text, also where it overflows."""
    return time_text(solution.t_start, solution.log_t_start)


def end_of(solution: Solution | TwoLayerSolution | DeepSolution) -> str:
    """Return the last time as text, also where it overflows."""
    return time_text(solution.t_end, solution.log_t_end)
