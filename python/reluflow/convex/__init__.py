"""Convex references: what the flow's limit is compared with."""

from ._arrangements import (
    Arrangements,
    TooManyPatternsError,
    arrangements,
    expected_arrangements,
    sample_arrangements,
)
from ._max_margin import dual, max_margin
from ._separators import (
    LeakyLinearMargin,
    MaxMarginVectors,
    Separator,
    leaky_linear_margin,
    max_margin_vectors,
    svm,
)
from ._solution import ConvexStats, MaxMarginSolution

__all__ = [
    "Arrangements",
    "ConvexStats",
    "LeakyLinearMargin",
    "MaxMarginSolution",
    "MaxMarginVectors",
    "Separator",
    "TooManyPatternsError",
    "arrangements",
    "dual",
    "expected_arrangements",
    "leaky_linear_margin",
    "max_margin",
    "max_margin_vectors",
    "sample_arrangements",
    "svm",
]
