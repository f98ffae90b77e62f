"""Assumption A.5 of [LLWA]: networks with non-positive output weights cannot reach the margin of one positive neuron.

The search itself, with the formula, is in `_cuts`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from .._validation import FloatArray, IntArray, ReadOnly, freeze, integer
from ..datasets import Dataset
from ..datasets._margin import leak_of_samples
from ..datasets._margin import linear_margin as solve
from ._cuts import CutSearch
from ._lyu import positive_shares
from ._verdict import Verdict, check_data

MAX_NEGATIVE = 10  # negative samples in S: 2^10 least-squares problems a cut
MAX_CUTS = 300  # each is one linear program and one maximisation; examples of the paper need fewer than 10


@dataclass(frozen=True, eq=False)
class OneSignMargin(ReadOnly):
    """How large a normalised margin networks with a_k <= 0 reach on the support of w⁺.

    Attributes
    ----------
    support : ndarray of int, shape (s,)
        S, the samples with y_i w⁺·x_i⁺ = γ⁺.
    bound : float
        γ⁺/2, the margin of the one positive neuron w⁺; 0 if (x⁺, y) cannot be separated.
    lower, upper : float
        Bounds of the greatest margin v.
    multipliers : ndarray, shape (s,)
        λ with V(λ) = upper: the proof that no such network has more.
    W : ndarray, shape (m, d); a : ndarray, shape (m,)
        A network with a <= 0 and |θ| = 1 whose margin on S is at least `lower`.
    """

    support: IntArray
    bound: float
    lower: float
    upper: float
    multipliers: FloatArray
    W: FloatArray
    a: FloatArray


def one_sign_margin(data: Dataset, *, leak: float, max_cuts: int = MAX_CUTS) -> Verdict[OneSignMargin]:
    """Tell whether every network with all a_k <= 0 has a normalised margin below γ⁺/2 on the support of w⁺.

    w⁺ is the max-margin separator of the (x_i⁺, y_i), x⁺ = x for y = +1 and αx for y = -1, and γ⁺ its margin.

    Parameters
    ----------
    data : Dataset
    leak : float
        α in [0, 1).
    max_cuts : int, optional
        Give up (verdict None) after so many cutting planes. More than 10 negative samples in the support give None as
        well.

    Returns
    -------
    Verdict
        The number is the upper bound of the greatest such margin over γ⁺/2, below 1. For the reversed case (Assumption
        A.9, which must read a_k >= 0 to say anything) call it on the data with flipped labels.

    Raises
    ------
    ValueError
        ``leak`` outside [0, 1).

    References
    ----------
    [LLWA] Assumption A.5, Lemma G.10, Theorem A.7.

    Examples
    --------
    >>> import reluflow as rf
    >>> verdict = rf.conditions.one_sign_margin(rf.datasets.lyu_figure1("right"), leak=0.5)
    >>> verdict.holds, round(verdict.witness.bound, 12), verdict.witness.support
    (True, 0.0625, array([1, 2]))
    """
    check_data(data)
    slope, limit = leak_of_samples(leak), integer(max_cuts, "max_cuts")
    share = positive_shares(data, slope)
    found = solve(data.X * share[:, None], data.y) if share.all() else None
    if found is None or not found.separable:  # γ⁺ <= 0: the margin 0 of the zero output is not below it
        return _verdict(False, OneSignMargin(_NONE, 0.0, 0.0, math.inf, _EMPTY, np.zeros((0, data.d)), _EMPTY))
    support = found.support
    # Linear programs have tolerances for numbers of size one; a power of two divides without rounding.
    size = float(2.0 ** np.round(np.log2(np.linalg.norm(data.X[support], axis=1).max())))
    search = CutSearch(data.X[support] / size, data.y[support], slope)
    bound = found.margin / 2
    holds: bool | None = None
    if int((data.y[support] < 0).sum()) <= MAX_NEGATIVE:
        holds = search.compare(bound / size, found.multipliers[support] / found.multipliers[support].sum(), limit)
    W, a = search.network()
    witness = OneSignMargin(support, bound, size * search.lower, size * search.upper, search.multipliers, W, a)
    return _verdict(holds, witness)


_NONE: IntArray = np.zeros(0, dtype=np.int64)
_EMPTY: FloatArray = np.zeros(0)


def _verdict(holds: bool | None, witness: OneSignMargin) -> Verdict[OneSignMargin]:
    for array in (witness.support, witness.multipliers, witness.W, witness.a):
        freeze(array)
    return Verdict(
        name="one sign is not enough [LLWA, Assumption A.5]",
        holds=holds,
        value=witness.upper / witness.bound if witness.bound > 0 else math.inf,
        meaning="greatest margin without positive neurons over γ⁺/2, below 1",
        witness=witness,
    )
