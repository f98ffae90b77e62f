"""Singular values and least squares of matrices on which the fast method of LAPACK gives up, too.

Divide and conquer, which numpy uses, fails on some finite matrices of more than 25 rows and columns ("SVD did not
converge"). Those are done again by QR iterations, which take some times longer and converge.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg

from ._validation import FloatArray


def svd(matrix: FloatArray, *, full_matrices: bool = True) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return U, s, V with matrix = U S V, S the diagonal matrix of s in the shape of the matrix."""
    try:
        left, sizes, right = np.linalg.svd(matrix, full_matrices=full_matrices)
    except np.linalg.LinAlgError:
        if not np.isfinite(matrix).all():
            raise
        left, sizes, right = scipy.linalg.svd(matrix, full_matrices=full_matrices, lapack_driver="gesvd")
    return left, sizes, right


def eigh(matrix: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the eigenvalues of a symmetric matrix, smallest first, and its eigenvectors as columns."""
    try:
        values, vectors = np.linalg.eigh(matrix)
    except np.linalg.LinAlgError:
        if not np.isfinite(matrix).all():
            raise
        values, vectors = scipy.linalg.eigh(matrix, driver="ev")
    return values, vectors


def least_squares(matrix: FloatArray, aim: FloatArray, rcond: float | None = None) -> FloatArray:
    """Return the x of least norm for which |matrix x - aim| is least; `rcond` as in numpy.linalg.lstsq."""
    try:
        found = np.linalg.lstsq(matrix, aim, rcond=rcond)[0]
    except np.linalg.LinAlgError:
        if not (np.isfinite(matrix).all() and np.isfinite(aim).all()):
            raise
        cut = np.finfo(np.float64).eps * max(matrix.shape) if rcond is None else rcond
        found = scipy.linalg.lstsq(matrix, aim, cond=cut, lapack_driver="gelss")[0]
    return np.asarray(found)
