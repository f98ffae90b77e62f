"""The two-dimensional examples of [WP], App. F, and small data on which statements of the papers fail."""

from __future__ import annotations

import numpy as np

from .._validation import one_of
from ._dataset import Dataset

OBTUSE = ((1.65, -0.47), (-0.47, 1.35))  # [WP, App. F.1]; the rows are printed over one another there
ACUTE = ((1.65, 0.47), (0.47, 1.35))  # [WP, App. F.2]

_WANG_PILANCI = {
    "obtuse": (OBTUSE, (1, -1)),
    "acute": (ACUTE, (1, -1)),
    "spike_free": (ACUTE, (1, 1)),
}
_COUNTEREXAMPLES = {
    "sliding": (((1, 1), (0, 3)), (1, -1)),
    "opposite": (((1,), (-1,)), (1, 1)),
    "corner": (((1, 0), (0, 1)), (1, -1)),
}


def wang_pilanci(example: str) -> Dataset:
    """Return a two-dimensional example of [WP], App. F.

    Parameters
    ----------
    example : {"obtuse", "acute", "spike_free"}
        - "obtuse": App. F.1, X = [[1.65, -0.47], [-0.47, 1.35]], y = (1, -1). Orthogonally separable (125.095 degrees),
          not spike-free. P* = 1/|x_1| + 1/|x_2| = 1.282432, greatest normalised margin 1/(2 P*) = 0.389884.
          (The first entry of u in (128) is printed 0.58; the mathematics gives 0.5606.)
        - "spike_free": App. F.2, X = [[1.65, 0.47], [0.47, 1.35]], y = (1, 1). One neuron u = (0.438553, 0.588059) is
          optimal, P* = 0.733582. (Its captions say "non-spike-free"; it is spike-free.)
        - "acute": the inputs of F.2 with the labels of F.1, y = (1, -1): neurons slide on boundaries. Not in
          the paper.

    Returns
    -------
    Dataset
        n = 2, d = 2.

    Raises
    ------
    ValueError
        ``example`` is none of the three.

    References
    ----------
    [WP] Wang & Pilanci, The Convex Geometry of Backpropagation, ICLR 2022, App. F. The order of the two labels
    in F.1 cannot be read off the print; everything is symmetric under y -> -y.

    Examples
    --------
    >>> import reluflow as rf
    >>> rf.datasets.wang_pilanci("obtuse").y
    array([ 1., -1.])
    """
    X, y = _WANG_PILANCI[one_of(example, "example", tuple(_WANG_PILANCI))]
    return Dataset(X, y, name=f"Wang-Pilanci, {example.replace('_', '-')}")


def counterexample(example: str) -> Dataset:
    """Return small data on which a printed statement fails.

    Parameters
    ----------
    example : {"sliding", "opposite", "corner"}
        - "sliding": x_1 = (1, 1) labelled +1, x_2 = (0, 3) labelled -1. Positive neurons slide on the boundary of x_2
          to (1, 0), where cos(u, Xᵀ D(u) y) = 1/√2; no unit vector does better, so the alignment of [WP, Thm 1] never
          reaches 1 - δ for δ < 0.29. The projected direction of [PL, (31)] is reached.
        - "opposite": x = 1 and -1, both labelled +1. Not spike-free, though [WP, (30)] holds vacuously.
        - "corner": X = I, y = (1, -1). Orthogonally separable with orthogonal samples; with random signs a
          network of width m fits both only with probability 1 - 2 (3/4)^m + 2^-m, against [WP, Thm 4]'s "almost all".

    Returns
    -------
    Dataset

    Raises
    ------
    ValueError
        ``example`` is none of the three.

    Examples
    --------
    >>> import reluflow as rf
    >>> rf.datasets.counterexample("sliding").X
    array([[1., 1.],
           [0., 3.]])
    """
    X, y = _COUNTEREXAMPLES[one_of(example, "example", tuple(_COUNTEREXAMPLES))]
    return Dataset(np.array(X, dtype=np.float64), y, name=f"counterexample, {example}")
