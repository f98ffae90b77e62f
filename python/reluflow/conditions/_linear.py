"""Linear separability and the max-margin separators of the data and of each class."""

from __future__ import annotations

import numpy as np

from .._validation import one_of
from ..datasets import Dataset, MaxMargin
from ..datasets._margin import linear_margin as solve
from ._verdict import Verdict, check_data


def linear_margin(data: Dataset, *, samples: str = "all") -> MaxMargin:
    """Return the max-margin separator without bias, argmin |w|² s.t. y_i w·x_i >= 1.

    Parameters
    ----------
    data : Dataset
    samples : {"all", "positive", "negative"}, optional
        Which samples count. "positive" gives w₊ and "negative" w₋ of [PL, (6), (7)]: argmin |w|² s.t. w·x_i >= 1 over
        one class, so that both are positive on their class.

    Returns
    -------
    MaxMargin
        Separator, margin, multipliers and support; `multipliers` and `support` count the chosen samples only.

    Raises
    ------
    ValueError
        ``samples`` is none of the three, or names a class without samples.

    References
    ----------
    Lawson & Hanson, Solving Least Squares Problems, ch. 23 (least distance programming).

    Examples
    --------
    >>> import reluflow as rf
    >>> found = rf.conditions.linear_margin(rf.datasets.wang_pilanci("obtuse"), samples="positive")
    >>> found.w.round(6)
    array([ 0.560576, -0.159679])
    """
    check_data(data)
    kind = one_of(samples, "samples", ("all", "positive", "negative"))
    if kind == "all":
        return solve(data.X, data.y)
    chosen = data.X[data.y > 0 if kind == "positive" else data.y < 0]
    if len(chosen) == 0:
        raise ValueError(f"samples must name a class that occurs, found no {kind} sample")
    return solve(chosen, np.ones(len(chosen)))


def linear_separability(data: Dataset) -> Verdict[MaxMargin]:
    """Tell whether some w has y_i w·x_i > 0 for all samples.

    Parameters
    ----------
    data : Dataset

    Returns
    -------
    Verdict
        The number is the margin max_{|w|=1} min_i y_i w·x_i. The witness is the max-margin separator, or multipliers
        λ >= 0, Σ λ_i = 1, with Σ λ_i y_i x_i = 0 (up to its `residual`), which exclude one.

    References
    ----------
    [LLWA] Assumption 3.2 and Definition 3.3.

    Examples
    --------
    >>> import reluflow as rf
    >>> rf.conditions.linear_separability(rf.datasets.counterexample("opposite")).witness.multipliers
    array([0.5, 0.5])
    """
    found = linear_margin(data)
    return Verdict(
        name="linear separability [LLWA, Assumption 3.2]",
        holds=found.separable,
        value=found.margin,
        meaning="margin of the best unit vector, above 0",
        witness=found,
    )
