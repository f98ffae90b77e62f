"""Sign patterns of the data: the cells that the boundaries x_i·w = 0 cut the weight space into.

[WP] writes P = {diag(1(Xw >= 0)) : w}. Here a pattern is that of an *open* cell, with a point w inside it. [WP]'s set
has more members when w may lie on boundaries (w = 0 gives all ones, which may be the pattern of no cell). The convex
programs do not miss them: their closed cone is a face of an open cell's cone, and on it both patterns give the same
(Xu)_+.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import comb

import numpy as np
import numpy.typing as npt

from .. import _core
from .._validation import FloatArray, ReadOnly, Seed, generator, integer
from ._inputs import fixed, fixed_bool, matrix_of, row_space

DEFAULT_LIMIT = 1_000_000  # patterns; at n = 60, d = 8 they take 0.1 GB and a few seconds
N_POSITION_TESTS = 64  # random subsets looked at to tell whether data are in general position
HOPELESS = 1000  # expected patterns over the limit: then a few dependent subsets do not bring the count below it
SAMPLE_BATCH = 4096  # directions drawn at a time, to bound the memory


class TooManyPatternsError(ValueError):
    """The data have more sign patterns than the limit.

    Attributes
    ----------
    expected : int
        The number of patterns in general position, an upper bound otherwise.
    limit : int
    """

    def __init__(self, expected: int, limit: int, exact: bool) -> None:
        self.expected, self.limit = expected, limit
        bound = f"about {_readable(expected)}" if exact else f"more than that, at most {_readable(expected)},"
        super().__init__(
            f"limit must be at least the number of patterns, found {limit} where {bound} are expected; "
            "sample_arrangements draws some of them, and max_margin needs no list of them"
        )


@dataclass(frozen=True, eq=False)
class Arrangements(ReadOnly):
    """Sign patterns of X with a witness each.

    Attributes
    ----------
    patterns : ndarray of bool, shape (p, n)
        1(Xw >= 0) for each cell found.
    witnesses : ndarray, shape (p, d)
        A unit w strictly inside each cell, in the row space of X (for X = 0, which has one cell, any).
    n_expected : int
        2 Σ_{k<r} C(n' - 1, k) for n' distinct boundaries and rank r: the number of cells in general position [Cover
        1965], an upper bound otherwise.
    complete : bool
        Whether all cells are there.
    coverage : float
        The chance that one more random direction falls into a cell of the list: 1 if complete, else the Good-Turing
        estimate 1 - (cells met once) / (directions drawn).
    """

    patterns: npt.NDArray[np.bool_]
    witnesses: FloatArray
    n_expected: int
    complete: bool
    coverage: float

    def __repr__(self) -> str:
        """One line: how many cells, of which data, and whether these are all."""
        n, d = self.patterns.shape[1], self.witnesses.shape[1]
        found = "complete" if self.complete else f"coverage={self.coverage:.4g}"
        return f"Arrangements({len(self)} patterns, n={n}, d={d}, {found})"

    def __len__(self) -> int:
        """Return the number of patterns."""
        return len(self.patterns)

    @property
    def fraction(self) -> float:
        """The number found over the number expected in general position."""
        return len(self.patterns) / self.n_expected

    @property
    def general_position(self) -> bool:
        """Whether all cells were found and are as many as in general position."""
        return self.complete and len(self.patterns) == self.n_expected


def expected_arrangements(n_boundaries: int, rank: int) -> int:
    """Return 2 Σ_{k<rank} C(n_boundaries - 1, k), the number of cells of that many boundaries in general position.

    Parameters
    ----------
    n_boundaries : int
        Number of distinct boundaries.
    rank : int
        Dimension that their normals span.

    Notes
    -----
    [WP] bounds it by 2r(e(n-1)/r)^r, which is 0 at n = r = 1 where there are 2 cells.

    Examples
    --------
    >>> from reluflow.convex import expected_arrangements
    >>> expected_arrangements(20, 4)
    2320
    """
    boundaries, dimension = integer(n_boundaries, "n_boundaries"), integer(rank, "rank")
    return 2 * sum(comb(boundaries - 1, k) for k in range(dimension))


def arrangements(X: npt.ArrayLike, *, limit: int = DEFAULT_LIMIT) -> Arrangements:
    """Enumerate all sign patterns 1(Xw >= 0) of open cells, each with a w inside.

    Parameters
    ----------
    X : array_like, shape (n, d)
        Data, one row a sample. Rows of zeros (pattern 1), repeated and proportional rows, opposite rows and rank
        deficiency are all handled; rows parallel to rounding (1e-11) are one boundary, and cells thinner than that are
        not counted.
    limit : int, optional
        The largest number of patterns to return.

    Returns
    -------
    Arrangements

    Raises
    ------
    ValueError
        X is no finite matrix.
    TooManyPatternsError
        There are more patterns than ``limit``; the message gives the expected number. Data in general position
        are refused at once, others when the limit is reached.

    Notes
    -----
    Deletion and restriction: the cells that boundary i cuts in two are the cells of boundaries 0..i-1 inside boundary
    i, one dimension lower. It ends in the plane, where the cells are read off the sorted angles; no linear program is
    solved.

    Examples
    --------
    >>> from reluflow.convex import arrangements
    >>> found = arrangements([[1.65, -0.47], [-0.47, 1.35]])
    >>> sorted(found.patterns.astype(int).tolist())
    [[0, 0], [0, 1], [1, 0], [1, 1]]
    """
    inputs = matrix_of(X)
    most = integer(limit, "limit")
    if not inputs.any():
        whole = np.ones((1, len(inputs)), dtype=np.bool_)
        return Arrangements(fixed_bool(whole), fixed(np.eye(1, inputs.shape[1])), 1, True, 1.0)
    basis, expected = _prepared(inputs)
    rows = np.ascontiguousarray(inputs @ basis)
    if expected > most:
        share = _independent_share(rows)
        # r independent boundaries alone make 2^r cells.
        if share == 1 or 2 ** rows.shape[1] > most or expected * share > HOPELESS * most:
            raise TooManyPatternsError(expected, most, exact=share == 1)
    found = _core.arrangements(rows, most, None)
    if found["status"] == "interrupted":
        raise KeyboardInterrupt
    if found["status"] != "complete":
        raise TooManyPatternsError(expected, most, exact=False)
    patterns = found["patterns"].view(np.bool_)
    return Arrangements(patterns, fixed(found["points"] @ basis.T), expected, True, 1.0)


def sample_arrangements(X: npt.ArrayLike, count: int, seed: Seed = 0) -> Arrangements:
    """Draw random directions w and return the distinct patterns 1(Xw >= 0) that they meet.

    Parameters
    ----------
    X : array_like, shape (n, d)
    count : int
        Number of directions, uniform on the sphere of the row space of X.
    seed : int, optional

    Returns
    -------
    Arrangements
        With `fraction`, the share of the expected number found, and `coverage`.

    Raises
    ------
    ValueError
        X is no finite matrix, or ``count`` is no positive integer.

    Examples
    --------
    >>> from reluflow.convex import sample_arrangements
    >>> found = sample_arrangements([[1.0, 0.2], [-0.3, 1.0], [1.0, 1.0]], 1000, seed=1)
    >>> len(found), found.n_expected, found.coverage
    (6, 6, 1.0)
    """
    inputs = matrix_of(X)
    draws = integer(count, "count")
    rng = generator(seed)
    basis, expected = _prepared(inputs)
    seen: dict[bytes, tuple[FloatArray, int]] = {}
    for first in range(0, draws, SAMPLE_BATCH):
        directions = rng.standard_normal((min(SAMPLE_BATCH, draws - first), basis.shape[1]))
        for w, key in zip(directions, np.packbits(directions @ (inputs @ basis).T >= 0, axis=1), strict=True):
            kept, times = seen.get(key.tobytes(), (w / np.linalg.norm(w), 0))
            seen[key.tobytes()] = (kept, times + 1)
    witnesses = np.array([w for w, _ in seen.values()]) @ basis.T
    once = sum(times == 1 for _, times in seen.values())
    patterns = fixed_bool(inputs @ witnesses.T >= 0).T
    return Arrangements(patterns, fixed(witnesses), expected, len(seen) == expected, 1 - once / draws)


def _prepared(X: FloatArray) -> tuple[FloatArray, int]:
    """Return a basis of the row space and the number of cells in general position."""
    if not X.any():
        return np.eye(X.shape[1]), 1
    basis = row_space(X)
    return basis, expected_arrangements(_core.count_boundaries(np.ascontiguousarray(X @ basis)), basis.shape[1])


def _independent_share(rows: FloatArray) -> float:
    """Return the share of random subsets of r rows that are independent: 1 in general position."""
    rng = np.random.default_rng(0)
    n, rank = rows.shape
    independent = 0
    for _ in range(N_POSITION_TESTS):
        subset = rows[rng.choice(n, size=min(rank, n), replace=False)]
        independent += int(np.linalg.matrix_rank(subset) == len(subset))
    return independent / N_POSITION_TESTS


def _readable(number: int) -> str:
    return f"{number:,}" if number < 10**12 else f"10^{len(str(number)) - 1}"
