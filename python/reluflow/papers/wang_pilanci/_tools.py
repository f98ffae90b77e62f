"""What the claims share: numbers with a source, the examples of App. F, runs of the flow."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from ..._validation import FloatArray, optional_module
from ...convex import certify, max_margin_vectors
from ...datasets import Dataset, wang_pilanci
from ...early import early_alignment
from ...flow import Solution, Stop, integrate
from ...networks import Network
from .._claim import Claim, Context, Number, Outcome, Value

if TYPE_CHECKING:
    import pandas as pd

EXACT = 1e-9  # what is computed twice by different routes agrees to this
SMALL = 1e-4  # size of the weights at the start, small enough for the two phases to be apart
WIDTH = 10  # neurons in the experiments of App. F
SETTLED = 1e-3  # radians that the direction still turns when a run ends; the polish does the rest
LATE = 1e5  # log t at which a run ends in any case
STEP = 0.1  # step size of gradient descent; the paper gives none
ITERATIONS = (1, 10, 100, 1000, 10_000)  # those that App. F draws

__all__ = [
    "EXACT",
    "ITERATIONS",
    "SMALL",
    "STEP",
    "WIDTH",
    "Claim",
    "Context",
    "Number",
    "Outcome",
    "angle",
    "certified_gap",
    "exact",
    "frame",
    "in_print",
    "obtuse",
    "printed",
    "run_to_limit",
    "shown",
    "spike_free",
    "survivors",
    "svm_value",
    "unit",
    "wide_set",
]


def printed(
    name: str,
    value: Value,
    expected: Value,
    tolerance: float = 0.0,
    relation: str = "equal",
    *,
    control: Value | None = None,
    wrong: Value | None = None,
) -> Number:
    """Return a number beside what the paper says; the control is what a wrong constant or condition would give."""
    return Number(name, value, expected, tolerance, relation, "paper", control, wrong)


def in_print(
    name: str,
    value: Value,
    expected: Value,
    tolerance: float = 0.0,
    relation: str = "equal",
    *,
    control: Value | None = None,
) -> Number:
    """Return a number beside a formula or word as printed, on which no result rests."""
    return Number(name, value, expected, tolerance, relation, "print", control)


def exact(name: str, value: Value, expected: Value, tolerance: float = EXACT, relation: str = "equal") -> Number:
    """Return a number beside what is derived, without which the run is not to be believed."""
    return Number(name, value, expected, tolerance, relation, "exact")


def shown(name: str, value: Value) -> Number:
    """Return a number that is only shown."""
    return Number(name, value)


def obtuse() -> Dataset:
    """Return the example of App. F.1, y = (1, -1)."""
    return wang_pilanci("obtuse")


def spike_free() -> Dataset:
    """Return the example of App. F.2, y = (1, 1)."""
    return wang_pilanci("spike_free")


def wide_set(n: int, d: int, seed: int) -> Dataset:
    """Draw n Gaussian samples with random labels, both of them present: data without any of the paper's conditions."""
    rng = np.random.default_rng(seed)
    y = rng.choice([-1.0, 1.0], n)
    y[:2] = 1.0, -1.0
    return Dataset(rng.standard_normal((n, d)), y, name=f"Gaussian, seed {seed}")


def unit(vectors: Any) -> FloatArray:
    """Return the vectors divided by their lengths, along the last axis."""
    rows = np.asarray(vectors, dtype=float)
    return np.asarray(rows / np.linalg.norm(rows, axis=-1, keepdims=True))


def angle(one: Any, other: Any) -> FloatArray:
    """Return the angle between vectors along the last axis, accurate also where it is small."""
    a, b = unit(one), unit(other)
    return np.asarray(2 * np.arctan2(np.linalg.norm(a - b, axis=-1), np.linalg.norm(a + b, axis=-1)))


def run_to_limit(data: Dataset, net: Network) -> Solution:
    """Run the flow until its direction has nearly settled: no event is to come, and the limit can be polished."""
    return integrate(data, net, until=Stop(direction=SETTLED, log_time=LATE))


def survivors(data: Dataset, net: Network) -> tuple[int, int]:
    """Return how many neurons with a > 0 and with a < 0 survive the early phase of vanishing weights."""
    early = early_alignment(data, net.W, np.sign(net.a))
    alive = early.status == "extremal"
    return int(np.count_nonzero(alive & (net.a > 0))), int(np.count_nonzero(alive & (net.a < 0)))


def certified_gap(data: Dataset, solution: Solution) -> float:
    """Return (P - P*)/P of the limit; infinity where it does not separate the data or is not certified."""
    if not solution.limit.certified or solution.limit.margin <= 0:
        return float("inf")
    return certify(solution.limit.network, data).gap


def svm_value(data: Dataset) -> float:
    """Return |w₊| + |w₋|, the sum of the lengths of the max-margin vectors of the two classes."""
    vectors = max_margin_vectors(data)
    return float(np.linalg.norm(vectors.plus.w) + np.linalg.norm(vectors.minus.w))


def frame(rows: Iterable[dict[str, Any]], caption: str) -> pd.DataFrame:
    """Return rows as a table with a caption."""
    pandas = optional_module("pandas", "analysis")
    table: pd.DataFrame = pandas.DataFrame(list(rows))
    table.attrs["caption"] = caption
    return table
