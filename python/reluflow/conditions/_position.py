"""General position: every rank-many samples are linearly independent."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from .._validation import FloatArray, Seed, generator, integer
from ..datasets import Dataset
from ._verdict import Verdict, check_data

MAX_SUBSETS = 200_000  # about a second of work for small ranks
MAX_WORK = 2e8  # multiply-adds in all the decompositions, about r³ each: bounds the time where the rank is large
CHUNK = 4096  # subsets decomposed in one call; bounds the memory
DEPENDENT_TOL = 1e-12  # least singular value of unit rows that counts as zero; rounding alone gives about 1e-15


@dataclass(frozen=True)
class Subset:
    """The samples closest to being dependent among those looked at.

    Attributes
    ----------
    samples : tuple of int
        rank-many samples, or two samples that are parallel.
    n_checked, n_subsets : int
        How many subsets of that size were decomposed, and how many there are.
    """

    samples: tuple[int, ...]
    n_checked: int
    n_subsets: int


def general_position(data: Dataset, *, max_subsets: int = MAX_SUBSETS, seed: Seed = 0) -> Verdict[Subset]:
    """Tell whether every r = rank X samples are linearly independent.

    Then the boundaries of any neuron in the span of the data meet independently [PL, Lemma A.3], and the number of sign
    patterns is 2 Σ_{k<r} C(n-1, k) [WP, Sec. 3]. Parallel samples are looked for first. All subsets are decomposed
    where they are few; else a random choice of them, which can refute but not prove.

    Parameters
    ----------
    data : Dataset
    max_subsets : int, optional
        Decompose at most so many subsets; less where the rank is large.
    seed : int, optional
        Seed of the random choice.

    Returns
    -------
    Verdict
        The number is the least singular value found of r unit samples in r coordinates, above 1e-12 in general
        position. None (not decided) if only a random choice was looked at.

    References
    ----------
    [PL] Lemma A.3 and its footnote, which asks it of the samples together with 0; [WP] Sec. 3.

    Examples
    --------
    >>> import reluflow as rf
    >>> rf.conditions.general_position(rf.Dataset([[1, 0], [0, 1], [2, 0]], [1, 1, -1])).witness.samples
    (0, 2)
    """
    check_data(data)
    limit = integer(max_subsets, "max_subsets")
    rng = generator(seed)
    unit = _coordinates(data.X)
    rank = unit.shape[1]
    total = math.comb(data.n, rank)
    pair = _parallel(unit) if rank > 1 else None
    if pair is not None:
        return _verdict(False, pair[1], Subset(pair[0], 0, total))
    allowed = max(1, min(limit, int(MAX_WORK / rank**3)))
    value, samples, checked = math.inf, tuple(range(rank)), 0
    for block in _subsets(data.n, rank, total, allowed, rng):
        least = np.linalg.svd(unit[block], compute_uv=False)[:, -1]
        checked += len(block)
        if least.min() < value:
            value, samples = float(least.min()), tuple(int(i) for i in block[least.argmin()])
    holds = False if value <= DEPENDENT_TOL else (True if total <= allowed else None)
    return _verdict(holds, value, Subset(samples, checked, total))


def _verdict(holds: bool | None, value: float, witness: Subset) -> Verdict[Subset]:
    meaning = f"least singular value of rank-many unit samples, above {DEPENDENT_TOL:g}"
    return Verdict("general position [PL, Lemma A.3]", holds, value, meaning, witness)


def _coordinates(X: FloatArray) -> FloatArray:
    """Return the samples as unit vectors in coordinates of their span."""
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    _, sizes, basis = np.linalg.svd(unit, full_matrices=False)
    rank = int(np.count_nonzero(sizes > max(X.shape) * np.finfo(np.float64).eps * sizes[0]))
    rows: FloatArray = unit @ basis[:rank].T
    coordinates: FloatArray = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return coordinates


def _parallel(unit: FloatArray) -> tuple[tuple[int, int], float] | None:
    """Return two parallel samples and the sine between them, if there are any."""
    cosines = unit @ unit.T
    close = np.argwhere(np.triu(np.abs(cosines), 1) > 1 - 1e-9)  # candidates: the sine below is sharper than the cosine
    for i, j in close:
        sine = float(np.linalg.norm(unit[i] - cosines[i, j] * unit[j]))
        if sine <= DEPENDENT_TOL:
            return (int(i), int(j)), sine
    return None


def _subsets(
    n: int, size: int, total: int, allowed: int, rng: np.random.Generator
) -> Iterator[np.ndarray[tuple[int, int], np.dtype[np.int64]]]:
    """Yield index blocks of shape (k, size): all subsets if they are few enough, else `allowed` random ones."""
    if total <= allowed:
        every = itertools.combinations(range(n), size)
        while block := list(itertools.islice(every, CHUNK)):
            yield np.array(block, dtype=np.int64)
        return
    for start in range(0, allowed, CHUNK):
        count = min(CHUNK, allowed - start)
        yield np.array([rng.permutation(n)[:size] for _ in range(count)], dtype=np.int64)
