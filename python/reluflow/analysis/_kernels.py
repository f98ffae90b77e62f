"""The arithmetic of one instant: outputs, margins, log-domain losses, and the field each neuron follows.

Every function here takes plain arrays of one network state and works for any scale of the
parameters; nothing overflows, because losses and their derivatives are kept as logarithms.
"""

from __future__ import annotations

import numpy as np
from scipy.special import log_expit, logsumexp

from .._validation import FloatArray, PatternArray

# From this margin on, log1p(e^-q) and e^-q agree to the last bit of a double, so log(loss) is -q.
_FLAT_MARGIN = 37.0
# Rank decisions for walls that depend on each other, relative to the largest singular value.
_RANK_TOL = 1e-10


def outputs(X: FloatArray, W: FloatArray, a: FloatArray, leak: float) -> FloatArray:
    """Return the n outputs of the network, shape (n,)."""
    Z = X @ W.T
    values: FloatArray = np.maximum(Z, leak * Z) @ a
    return values


def log_losses(q: FloatArray, loss: str) -> FloatArray:
    """Return log of the loss of every margin, any shape; exact in the limit q -> +-inf."""
    if loss == "exponential":
        return -q
    mid = np.clip(q, None, _FLAT_MARGIN)
    return np.where(q > _FLAT_MARGIN, -q, np.log(np.logaddexp(0.0, -mid)))


def log_slopes(q: FloatArray, loss: str) -> FloatArray:
    """Return log(-l'(q)) of every margin, the size of its dual variable."""
    return -q if loss == "exponential" else np.asarray(log_expit(-q))


def log_total(q: FloatArray, loss: str) -> float:
    """Return the log of the summed loss."""
    return float(logsumexp(log_losses(q, loss)))


def inverse_loss(log_sum: FloatArray, loss: str) -> FloatArray:
    """Return the margin at which one sample alone would have the whole summed loss.

    It is the numerator of the smoothed margin: l^-1(L), from log L ([LLWA] section 3).
    """
    if loss == "exponential":
        return -log_sum
    small = np.exp(np.minimum(log_sum, 0.0))  # used where L <= 1 only
    below = -log_sum - np.log(np.where(small > 0, np.expm1(small) / np.where(small > 0, small, 1.0), 1.0))
    large = np.exp(np.maximum(log_sum, 0.0))  # log(e^L - 1) = L + log(1 - e^-L), used where L > 1 only
    return np.where(log_sum <= 0.0, below, -large - np.log1p(-np.exp(-large)))


def dual_weights(q: FloatArray, loss: str) -> FloatArray:
    """Return the weights p_i = l'(q_i) / sum l', which add up to one and never underflow together."""
    slopes = log_slopes(q, loss)
    return np.exp(slopes - logsumexp(slopes))


def slopes_of(pattern: PatternArray, leak: float) -> FloatArray:
    """Slope of the activation: 1 where active, the leak where inactive, 0 where held.

    The share of a held sample is put back by the projection of `project_held`.
    """
    return np.where(pattern > 0, 1.0, np.where(pattern < 0, leak, 0.0))


def project_held(G: FloatArray, X: FloatArray, pattern: PatternArray) -> FloatArray:
    """Project row j of G away from the walls that neuron j is held on, shape (m, d)."""
    out = np.array(G)
    held = pattern == 0
    rows = np.flatnonzero(held.any(axis=1))
    if rows.size == 0:
        return out
    sets, member = np.unique(held[rows], axis=0, return_inverse=True)
    for k, mask in enumerate(sets):
        _, s, Vt = np.linalg.svd(X[mask], full_matrices=False)
        basis = Vt[s > _RANK_TOL * s[0]] if s[0] > 0 else Vt[:0]
        mine = rows[member.ravel() == k]
        out[mine] -= (out[mine] @ basis.T) @ basis
    return out


def drive(X: FloatArray, weights: FloatArray, pattern: PatternArray, leak: float) -> FloatArray:
    """Return g_j = P_j sum_i weights_i s_ji x_i, the pull on each neuron's direction, shape (m, d).

    `weights` are the dual variables lambda_i or any vector in their place: y for the early
    phase ([WP] Theorem 1), p_i y_i for the late one. Held walls are projected out ([PL] Lemma A.3).
    """
    return project_held((slopes_of(pattern, leak) * weights) @ X, X, pattern)


def cosines(A: FloatArray, B: FloatArray) -> FloatArray:
    """Cosine between rows of A and rows of B (last axis); nan where one of them is zero."""
    size = np.linalg.norm(A, axis=-1) * np.linalg.norm(B, axis=-1)
    dot = np.einsum("...d,...d->...", A, B)
    return np.asarray(np.divide(dot, size, out=np.full(dot.shape, np.nan), where=size > 0))
