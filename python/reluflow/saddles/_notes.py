"""What is said of a stage, and of a path that ends at a critical point."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .._validation import IntArray
from ..kinks._boundaries import names
from ._passing import Leg
from ._rest import Rest
from ._saddle import Saddle


def end_of_rest(still: Rest, wait: float, saddle: Saddle) -> tuple[str, str]:
    """Status and message of a path that ends at a critical point."""
    if still.reasons:
        j, why = next(iter(still.reasons.items()))
        return "undecided", f"infinitesimal neuron {j} could go on in several ways: {why}"
    if np.isfinite(wait):
        return "max_stages", "max_stages was reached, and neurons still grow"
    if not saddle.duals.any():
        return "ended", "every sample is fitted"
    return "ended", "no infinitesimal neuron grows any more"


def notes_of(saddle: Saddle, still: Rest, wakes: tuple[IntArray, ...], legs: Sequence[Leg]) -> tuple[str, ...]:
    """Say what is special about a stage."""
    notes = []
    if saddle.freedom and saddle.duals.any():
        what = "direction" if saddle.at_infinity else "saddle"
        notes.append(f"the {what} is one of a continuum of dimension {saddle.freedom}, all with these duals")
    if len(wakes) > 1:
        parts = " and ".join(f"neurons {names(part)}" for part in wakes)
        notes.append(
            f"a tie: {parts} leave at one time; the orbit depends on the directions at the start, through the "
            "ratio of their sizes"
        )
    if saddle.duals.any() and (standing := np.flatnonzero(still.status == "rest")).size:
        notes.append(f"nothing pulls on neurons {names(standing)}: they keep their size")
    n_branchings = sum(len(leg.branchings) for leg in legs)
    if n_branchings:
        notes.append(f"the orbit branches {n_branchings} times; undecided samples were left inactive")
    return tuple(notes)
