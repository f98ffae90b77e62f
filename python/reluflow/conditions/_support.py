"""The assumption of [PL] that the support examples of each class span the space."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._validation import FloatArray, IntArray, ReadOnly
from ..datasets import Dataset, MaxMargin
from ._linear import linear_margin
from ._verdict import Verdict, check_data


@dataclass(frozen=True, eq=False)
class SupportSpan(ReadOnly):
    """Support examples of both classes.

    Attributes
    ----------
    positive, negative : ndarray of int
        Samples with w₊·x_i = 1 among y_i = +1, and with w₋·x_i = 1 among y_i = -1; empty if the class has no separator.
    positive_rank, negative_rank : int
        Dimension of their spans.
    w_positive, w_negative : ndarray, shape (d,)
        w₊ and w₋; zeros if there is none.
    """

    positive: IntArray
    negative: IntArray
    positive_rank: int
    negative_rank: int
    w_positive: FloatArray
    w_negative: FloatArray


def support_span(data: Dataset) -> Verdict[SupportSpan]:
    """Tell whether the support examples of each class span R^d.

    A support example of a class attains w·x_i = 1 for the shortest w with w·x_i >= 1 on that class. The paper assumes
    the spans for a lemma on the direction of linear networks and thinks it can be lifted; its own experiment violates
    it.

    Parameters
    ----------
    data : Dataset

    Returns
    -------
    Verdict
        The number is the smaller of the two dimensions, to be d. A class without samples or without a separator has 0.

    References
    ----------
    [PL] Sec. 2 and (6), (7).

    Examples
    --------
    >>> import reluflow as rf
    >>> print(rf.conditions.support_span(rf.datasets.wang_pilanci("obtuse")))
    support examples span the space [PL, Sec. 2]: fails, 1 (least dimension of the two spans, to be 2)
    """
    check_data(data)
    unit = data.X / np.linalg.norm(data.X, axis=1, keepdims=True)  # a span does not ask for lengths
    classes = {"positive": np.flatnonzero(data.y > 0), "negative": np.flatnonzero(data.y < 0)}
    support: dict[str, IntArray] = {}
    rank: dict[str, int] = {}
    w: dict[str, FloatArray] = {}
    for kind, members in classes.items():
        found: MaxMargin | None = linear_margin(data, samples=kind) if len(members) else None
        usable = found is not None and found.separable
        support[kind] = members[found.support] if found is not None and usable else members[:0]
        w[kind] = found.w if found is not None else np.zeros(data.d)
        rank[kind] = int(np.linalg.matrix_rank(unit[support[kind]])) if len(support[kind]) else 0
    least = min(rank.values())
    return Verdict(
        name="support examples span the space [PL, Sec. 2]",
        holds=least == data.d,
        value=float(least),
        meaning=f"least dimension of the two spans, to be {data.d}",
        witness=SupportSpan(
            support["positive"], support["negative"], rank["positive"], rank["negative"], w["positive"], w["negative"]
        ),
    )
