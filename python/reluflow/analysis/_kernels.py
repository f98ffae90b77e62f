"""The arithmetic of one instant: outputs, and the field each neuron follows.

Every function here takes plain arrays of one network state. Losses have a home of their own, `reluflow.losses`.
"""

from __future__ import annotations

import numpy as np

from .._validation import FloatArray, PatternArray

# Rank decisions for boundaries that depend on each other, relative to the largest singular value.
_RANK_TOL = 1e-10


def outputs(X: FloatArray, W: FloatArray, a: FloatArray, leak: float) -> FloatArray:
    """Return the n outputs of the network, shape (n,)."""
    Z = X @ W.T
    values: FloatArray = np.maximum(Z, leak * Z) @ a
    return values


def slopes_of(pattern: PatternArray, leak: float) -> FloatArray:
    """Slope of the activation: 1 where active, the leak where inactive, 0 where held.

    The share of a held sample is put back by the projection of `project_held`.
    """
    return np.where(pattern > 0, 1.0, np.where(pattern < 0, leak, 0.0))


def project_held(G: FloatArray, X: FloatArray, pattern: PatternArray) -> FloatArray:
    """Project row j of G away from the boundaries that neuron j is held on, shape (m, d)."""
    out = np.array(G)
    held = pattern == 0
    rows = np.flatnonzero(held.any(axis=1))
    if rows.size == 0:
        return out
    sets, member = np.unique(held[rows], axis=0, return_inverse=True)
    for k, mask in enumerate(sets):
        mine = rows[member.ravel() == k]
        out[mine] = off_span(out[mine], X[mask])
    return out


def off_span(vectors: FloatArray, normals: FloatArray) -> FloatArray:
    """Project vectors (k, p) away from the span of the rows of `normals` (h, p), h at least 1."""
    _, sizes, axes = np.linalg.svd(normals, full_matrices=False)
    basis = axes[sizes > _RANK_TOL * sizes[0]]
    return np.asarray(vectors - (vectors @ basis.T) @ basis)


def drive(X: FloatArray, weights: FloatArray, pattern: PatternArray, leak: float) -> FloatArray:
    """Return g_j = P_j sum_i weights_i s_ji x_i, the pull on each neuron's direction, shape (m, d).

    `weights` are the dual variables lambda_i or any vector in their place: y for the early
    phase ([WP] Theorem 1), p_i y_i for the late one. Held boundaries are projected out ([PL] Lemma A.3).
    """
    return project_held((slopes_of(pattern, leak) * weights) @ X, X, pattern)


def scaled(vectors: FloatArray) -> FloatArray:
    """Return rows (last axis) times the power of two that brings the largest entry to [½, 1): no square underflows."""
    exponent = np.frexp(np.abs(vectors).max(axis=-1, initial=0.0))[1]
    return np.asarray(np.ldexp(vectors, -exponent[..., None]))


def lengths(vectors: FloatArray) -> FloatArray:
    """Return the Euclidean lengths of rows (last axis) of any size, also of those whose squares underflow."""
    exponent = np.frexp(np.abs(vectors).max(axis=-1, initial=0.0))[1]
    return np.asarray(np.ldexp(np.linalg.norm(np.ldexp(vectors, -exponent[..., None]), axis=-1), exponent))


def mass_shares(sizes: FloatArray) -> FloatArray:
    """Return |θ_j|² / Σ |θ_j|² of neurons of the given sizes, shape (m,); zeros if all are zero."""
    squares = scaled(sizes) ** 2
    return np.asarray(squares / max(float(squares.sum()), np.finfo(float).tiny))


def cosines(A: FloatArray, B: FloatArray) -> FloatArray:
    """Cosine between rows of A and rows of B (last axis); nan where one of them is zero."""
    A, B = scaled(A), scaled(B)
    size = np.linalg.norm(A, axis=-1) * np.linalg.norm(B, axis=-1)
    dot = np.einsum("...d,...d->...", A, B)
    return np.asarray(np.divide(dot, size, out=np.full(dot.shape, np.nan), where=size > 0))
