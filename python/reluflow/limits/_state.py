"""What the polish needs of a run's last state."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from scipy.special import log_softmax, softmax

from .._validation import FloatArray, IntArray, PatternArray
from ..datasets import Dataset
from ..kinks._boundaries import exact_signs, slopes
from ..losses import (
    duals_of,
    is_of_margins,
    log_losses,
    log_weights,
    loss_arguments,
    separation_loss,
)
from ..networks import Network
from ._groups import Groups, groups

# An error below this part of the terms that it is the sum of is rounding: sums of some hundred terms lose two digits.
_FIT_TOL = 1e-13
# So is one below this part of the largest: vanishing neurons leave it where the target is 0 and nothing else is active.
_ZERO_PART = 1e-15
# A pull back to the origin counts from this part of Σ p_i |x_i| on: near a critical point all pulls vanish.
_PULL_TOL = 1e-3


@dataclass(frozen=True, eq=False)
class State:
    """The last state of a run, sorted into groups.

    Attributes
    ----------
    pattern : ndarray, shape (m, n), int8
    margins : ndarray, shape (n,)
        Or the errors, of a loss of errors.
    log_weights : ndarray, shape (n,)
        log c_i |ℓ'(q_i)| but for a constant, which never underflows; c_i how often a sample counts.
    log_losses : ndarray, shape (n,)
    shrinks : ndarray of bool, shape (m,)
        Neurons of groups that shrink to the origin; they are in no group here.
    numbers : ndarray, shape (n,), or None
        What the samples are called where they are a part of those of the run.
    log_scale : float
        The flow is at a network that is larger than this one, by e to the power of it.
    """

    data: Dataset
    net: Network
    loss: str
    groups: Groups
    pattern: PatternArray
    margins: FloatArray
    log_weights: FloatArray
    log_losses: FloatArray
    shrinks: npt.NDArray[np.bool_]
    numbers: IntArray | None = None
    log_scale: float = 0.0

    @classmethod
    def of(cls, data: Dataset, net: Network, loss: str, sample_weights: FloatArray | None = None) -> State:
        """Evaluate margins, weights and groups of a network; groups that shrink to the origin are left out.

        Beyond 1e16 two margins that differ by one are the same double: there the weights of the samples are given, as
        the run carried them.
        """
        q = loss_arguments(data, net(data.X), loss)
        pattern = exact_signs(net.W, data.X) if net.pattern is None else net.pattern
        nobody = np.zeros(net.width, dtype=np.bool_)
        with np.errstate(divide="ignore"):  # samples that do not count
            log_p = log_weights(q, loss) + np.log(data.counts)
        if sample_weights is not None:
            log_p = _carried(sample_weights, log_p)
        state = cls(data, net, loss, groups(data, net), pattern, q, log_p, log_losses(q, loss), nobody)
        dropped = state._shrinking()
        return replace(state, groups=state.groups.without(dropped), shrinks=np.isin(state.groups.of, dropped))

    def log_loss(self, samples: IntArray | slice = slice(None)) -> float:
        """Logarithm of the loss of some samples, as a sum; -inf without samples."""
        with np.errstate(divide="ignore"):
            counted = self.log_losses + np.log(self.data.counts)
        return float(np.logaddexp.reduce(counted[samples], initial=-np.inf))

    def is_separated(self, samples: IntArray | slice = slice(None)) -> bool:
        """Whether the loss of these samples is so small that all their margins are positive for ever."""
        return is_of_margins(self.loss) and bool(self.log_loss(samples) < np.log(self.separation_loss(samples)))

    def separation_loss(self, samples: IntArray | slice = slice(None)) -> float:
        """Return the loss of these samples below which all their margins are positive."""
        return separation_loss(self.loss, self.data.counts[samples])

    @property
    def weights(self) -> FloatArray:
        """p_i = ℓ'(q_i)/Σ ℓ', the multipliers of the flow, shape (n,)."""
        return np.asarray(softmax(self.log_weights))

    @property
    def duals(self) -> FloatArray:
        """λ_i = -∂L/∂f_i, shape (n,)."""
        return duals_of(self.data, self.margins, self.loss)

    @property
    def signed_weights(self) -> FloatArray:
        """λ_i / Σ |λ_i|, shape (n,); zeros where all λ vanish."""
        if is_of_margins(self.loss):
            return np.asarray(self.data.y * self.weights)
        total = np.abs(self.duals).sum()
        return self.duals / (total if total > 0 else 1.0)

    def held_pairs(self, net: Network) -> IntArray:
        """Pairs (neuron, sample) on their boundaries of the neurons that do not vanish in `net`, shape (h, 2)."""
        return np.argwhere((self.pattern == 0) & ((self.groups.of >= 0) & (net.a != 0))[:, None])

    @property
    def error_sizes(self) -> FloatArray:
        """The sizes of the terms of each error, summed, times what the sample counts, shape (n,)."""
        return np.asarray(self.data.counts * (output_terms(self.data.X, self.net) + np.abs(self.data.y)))

    @property
    def _fits(self) -> npt.NDArray[np.bool_]:
        """Which errors are rounding, shape (n,)."""
        if is_of_margins(self.loss):
            return np.zeros(self.data.n, dtype=np.bool_)
        return is_rounding(self.duals, self.error_sizes)

    @property
    def is_fitted(self) -> bool:
        """Whether all errors are rounding, so that the duals have no digits to divide by, and pulls no sign."""
        return bool(self._fits.all())

    @property
    def known_duals(self) -> FloatArray:
        """λ_i without those that are rounding: beside the error of a sample that nothing fits they would count."""
        return np.where(self._fits, 0.0, self.duals)

    def _shrinking(self) -> IntArray:
        """Find the groups with one ray alone to move on, all of whose neurons are pulled back to the origin."""
        if self.is_fitted:
            return np.empty(0, dtype=np.int64)
        pulls = self.groups.pulls(self.signed_weights)
        least = _PULL_TOL * float(np.abs(self.signed_weights) @ np.linalg.norm(self.data.X, axis=1))
        found = []
        for c, basis in enumerate(self.groups.bases):
            W = self.net.W[self.groups.members(c)]
            W = W / np.maximum(np.abs(W).max(axis=1, keepdims=True), np.finfo(np.float64).tiny)  # no square underflows
            along = self.groups.sign[c] * (W @ pulls[c])
            is_back = (along < -least * np.linalg.norm(W, axis=1)).all()
            if self.data.rank - len(basis) == 1 and is_back:
                found.append(c)
        return np.array(found, dtype=np.int64)


def _carried(sample_weights: FloatArray, log_p: FloatArray) -> FloatArray:
    """Logarithms of given weights; of those that are zero, what the margins say below the range of doubles."""
    smallest = np.finfo(np.float64).smallest_subnormal
    below = np.minimum(log_softmax(log_p), np.log(smallest))
    return np.where(sample_weights > 0, np.log(np.maximum(sample_weights, smallest)), below)


def is_rounding(errors: FloatArray, sizes: FloatArray) -> npt.NDArray[np.bool_]:
    """Tell which errors are rounding beside the sizes of the terms that each is the sum of; all of one shape."""
    return np.asarray(np.abs(errors) <= _FIT_TOL * sizes + _ZERO_PART * sizes.max())


def output_terms(X: FloatArray, net: Network) -> FloatArray:
    """Sum the sizes of the products a_j w_jk x_ik that each output is made of, shape (n,), or (n, K) with K outputs.

    Rounding of an output is a part of these. Beside a boundary it is far more than a part of |a_j w_j·x_i|: neurons
    whose w·x_i cancel to zero leave an error that only the products are large beside.
    """
    pattern = exact_signs(net.W, X) if net.pattern is None else net.pattern
    slope = np.where(pattern == 0, 1.0, slopes(pattern, net.leak))
    return np.asarray((slope * (np.abs(net.W) @ np.abs(X).T)).T @ np.abs(net.a))
