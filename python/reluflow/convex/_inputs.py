"""What every program here does first: check the arguments, and go to the coordinates of the row space of X."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from .._linear_algebra import svd
from .._validation import FloatArray, freeze, invalid, place, real_array
from ..datasets import Dataset
from ..datasets._dataset import check_sizes_of_rows, one_target
from ..losses import require_labels

# An entry of a dual vector is nothing if its term |λ_i||x_i| is this small beside the largest one.
ZERO_DUAL_RTOL = 1e-13


@dataclass(frozen=True)
class Deadline:
    """A time by which to be done; None is never."""

    seconds: float | None = None
    start: float = field(default_factory=time.monotonic)

    @property
    def elapsed(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self.start

    @property
    def left(self) -> float:
        """Seconds left, at least 0."""
        return float("inf") if self.seconds is None else max(0.0, self.seconds - self.elapsed)

    def part(self, share: float) -> Deadline:
        """Return a deadline at this share of the time."""
        return Deadline(None if self.seconds is None else share * self.seconds, self.start)

    @property
    def passed(self) -> bool:
        """Whether no time is left."""
        return self.left <= 0


def check_inputs(data: object) -> Dataset:
    """Return ``data`` if it is a Dataset, with targets of any kind."""
    return one_target(data, expected="a reluflow.Dataset")


def check_data(data: object) -> Dataset:
    """Return ``data`` if it is a Dataset with labels, whose samples all count: a margin is kept by all or by none."""
    checked = check_inputs(data)
    require_labels(checked)
    nothing = checked.counts == 0
    if nothing.any():
        expected = "be positive for a problem of margins: leave out the samples that count nothing"
        raise invalid("data.weights", expected, place(checked.counts, nothing))
    return checked


def matrix_of(X: npt.ArrayLike) -> FloatArray:
    """Return inputs (n, d) that are given without labels, where rows of zeros have a meaning."""
    inputs = real_array(X, "X", "(n, d)")
    check_sizes_of_rows(inputs, "X")
    return inputs


def check_duals(duals: npt.ArrayLike, data: Dataset) -> FloatArray:
    """Return the dual vector with negligible entries set to 0; raise unless there is one finite number a sample."""
    values = real_array(duals, "duals", "(n,)")
    if len(values) != data.n:
        raise invalid("duals", f"have one entry for each of the {data.n} samples", f"{len(values)} entries")
    return without_noise(values, np.linalg.norm(data.X, axis=1))


def without_noise(duals: FloatArray, norms: FloatArray, rtol: float = ZERO_DUAL_RTOL) -> FloatArray:
    """Set the entries whose terms |λ_i||x_i| are negligible beside the largest to 0."""
    sizes = np.abs(duals) * norms
    return np.where(sizes > rtol * sizes.max(initial=0.0), duals, 0.0)


def row_space(X: FloatArray) -> FloatArray:
    """Return an orthonormal basis of the row space of X, shape (d, r); the identity if the rank is full.

    The rows count by their directions: beside one 1e16 times as large, a row would be rounding.
    """
    norms = np.linalg.norm(X, axis=1)
    _, sizes, rows = svd(X / np.where(norms > 0, norms, 1.0)[:, None], full_matrices=False)
    tol = max(X.shape) * np.finfo(np.float64).eps * sizes[0]  # the rule of Dataset.rank_tol
    rank = int(np.count_nonzero(sizes > tol))
    if rank == X.shape[1]:
        return np.eye(rank)
    return np.ascontiguousarray(rows[:rank].T, dtype=np.float64)


def unit_size(X: FloatArray) -> float:
    """Return the size of the largest sample as a power of two, by which inputs can be divided without rounding.

    The solver's tolerances are those of numbers of size one.
    """
    return float(2.0 ** np.round(np.log2(np.linalg.norm(X, axis=1).max())))


def fixed(array: npt.ArrayLike) -> FloatArray:
    """Return a read-only float64 copy."""
    copy = np.array(array, dtype=np.float64)
    freeze(copy)
    return copy


def fixed_bool(array: npt.ArrayLike) -> npt.NDArray[np.bool_]:
    """Return a read-only copy of truth values."""
    copy = np.array(array, dtype=np.bool_)
    freeze(copy)
    return copy


def rectify(Z: FloatArray, leak: float) -> FloatArray:
    """Return φ(z) = max(z, leak z), entry by entry."""
    values: FloatArray = np.maximum(Z, leak * Z) + 0.0  # no -0.0
    return values
