"""Linear separators that the papers compare networks with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from .._validation import FloatArray, IntArray
from ..datasets import Dataset
from ..datasets._margin import leak_of_samples, linear_margin
from ._inputs import check_data, fixed


@dataclass(frozen=True, eq=False)
class Separator:
    """The solution of min ½|w|² s.t. c_i·w >= 1, for rows c_i that the function which returns it names.

    Attributes
    ----------
    w : ndarray, shape (d,)
        The solution; zeros if there is none.
    margin : float
        1/|w| = max over unit w of min_i c_i·w; 0 if there is no solution.
    multipliers : ndarray, shape (n,)
        α >= 0 with w = Σ α_i c_i and Σ α_i = |w|². If infeasible: α >= 0 with Σ α_i = 1 and Σ α_i c_i = 0. Samples
        that do not take part have 0.
    support : ndarray of int
        Samples with c_i·w = 1.
    status : str
        "optimal" or "infeasible".
    message : str
    """

    w: FloatArray
    margin: float
    multipliers: FloatArray
    support: IntArray
    status: str
    message: str

    @property
    def success(self) -> bool:
        """Whether there is a separator."""
        return self.status == "optimal"

    @property
    def direction(self) -> FloatArray:
        """The unit vector w/|w|; zeros if there is no separator."""
        return self.w * self.margin


class MaxMarginVectors(NamedTuple):
    """w₊ and w₋ of [PL] (6), (7)."""

    plus: Separator
    minus: Separator


class LeakyLinearMargin(NamedTuple):
    """What one leaky neuron of either sign attains [LLWA, App. A]: γ⁺ = plus.margin, w⁺ = plus.direction."""

    plus: Separator
    minus: Separator


def svm(data: Dataset) -> Separator:
    """Return the hard-margin separator without bias, min ½|w|² s.t. y_i w·x_i >= 1 [WP (1)].

    Parameters
    ----------
    data : Dataset

    Returns
    -------
    Separator
        Status "infeasible", with multipliers that prove it, if no w separates the classes.

    Raises
    ------
    ValueError
        ``data`` is no Dataset.

    Examples
    --------
    >>> import reluflow as rf
    >>> from reluflow.convex import svm
    >>> svm(rf.Dataset([[2.0, 0.0], [0.0, -1.0]], [1, -1])).w
    array([0.5, 1. ])
    """
    checked = check_data(data)
    return _separator(checked.y[:, None] * checked.X, np.arange(checked.n), checked.n, "all samples")


def max_margin_vectors(data: Dataset) -> MaxMarginVectors:
    """Return the max-margin vectors of the two classes, each on its own samples alone [PL (6), (7)].

    w₊ = argmin |w|² s.t. w·x_i >= 1 for y_i = 1, and w₋ the same for y_i = -1 (with +1 on the right side too).

    Parameters
    ----------
    data : Dataset

    Returns
    -------
    MaxMarginVectors
        A class without samples has w = 0; one that lies in no half-space has the status "infeasible".

    Raises
    ------
    ValueError
        ``data`` is no Dataset.

    Notes
    -----
    For orthogonally separable data |w₊| + |w₋| is the value of `max_margin` [WP Prop. 4].

    Examples
    --------
    >>> import reluflow as rf
    >>> from reluflow.convex import max_margin_vectors
    >>> plus, minus = max_margin_vectors(rf.Dataset([[2.0, 0.0], [0.0, -1.0]], [1, -1]))
    >>> plus.w, minus.w
    (array([0.5, 0. ]), array([ 0., -1.]))
    """
    checked = check_data(data)

    def one(label: int) -> Separator:
        rows = np.flatnonzero(checked.y == label)
        return _separator(checked.X[rows], rows, checked.n, f"the samples of class {label:+d}")

    return MaxMarginVectors(one(1), one(-1))


def leaky_linear_margin(data: Dataset, *, leak: float) -> LeakyLinearMargin:
    """Return w⁺, γ⁺ and w⁻, γ⁻ of [LLWA, App. A]: the margins of one leaky neuron that classifies everything.

    w⁺ = argmax over unit w of min_i y_i w·x_i⁺ with x_i⁺ = x_i if y_i = 1 and leak·x_i else; x_i⁻ the other way
    round. The paper's definition of x⁻ prints x⁺ twice. A single neuron with a > 0 has the normalised margin γ⁺/2 at
    best [LLWA Lemma A.4]; with a < 0 it is γ⁻/2, attained by w = -w⁻.

    Parameters
    ----------
    data : Dataset
    leak : float
        In (0, 1) as in the paper. With 0 the rows of one class vanish and nothing separates.

    Returns
    -------
    LeakyLinearMargin

    Raises
    ------
    ValueError
        ``data`` is no Dataset or ``leak`` lies outside [0, 1).

    Examples
    --------
    >>> import reluflow as rf
    >>> from reluflow.convex import leaky_linear_margin
    >>> plus, minus = leaky_linear_margin(rf.Dataset([[2.0, 0.0], [0.0, -1.0]], [1, -1]), leak=0.5)
    >>> plus.w, minus.w
    (array([0.5, 2. ]), array([1., 1.]))
    """
    checked = check_data(data)
    alpha = leak_of_samples(leak)

    def one(label: int) -> Separator:
        rows = (checked.y * np.where(checked.y == label, 1.0, alpha))[:, None] * checked.X
        return _separator(rows, np.arange(checked.n), checked.n, f"all samples with the leak on class {-label:+d}")

    return LeakyLinearMargin(one(1), one(-1))


def _separator(rows: FloatArray, index: IntArray, n: int, what: str) -> Separator:
    """Separate ``rows``, which belong to the samples ``index`` of n."""
    multipliers = np.zeros(n)
    if len(rows) == 0:
        message = f"there is nothing to separate among {what}"
        return Separator(fixed(np.zeros(rows.shape[1])), float("inf"), fixed(multipliers), index, "optimal", message)
    if not rows.any(axis=1).all():
        zero = int(index[np.argmin(rows.any(axis=1))])
        multipliers[zero] = 1.0
        message = f"the row of sample {zero} vanishes"
        return Separator(fixed(np.zeros(rows.shape[1])), 0.0, fixed(multipliers), index[:0], "infeasible", message)
    found = linear_margin(np.ascontiguousarray(rows), np.ones(len(rows)))
    multipliers[index] = found.multipliers
    status = "optimal" if found.separable else "infeasible"
    message = f"separates {what}" if found.separable else f"no half-space holds {what}"
    return Separator(fixed(found.w), found.margin, fixed(multipliers), index[found.support], status, message)
