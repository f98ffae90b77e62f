"""The margins of a layered network in one pattern: their gradients along what slides, and their weights."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from .._validation import FloatArray, IntArray
from ..kinks._boundaries import off, span
from ._frozen import Frozen


class Margins(NamedTuple):
    """Gradients (r, P), weights -∂L/∂q (r,) and samples (r,) of the margins q."""

    rows: FloatArray
    weights: FloatArray
    samples: IntArray


def margins_at(
    frozen: Frozen, theta: FloatArray, targets: FloatArray, lam: FloatArray, used: npt.NDArray[np.bool_]
) -> Margins:
    """Return the margins y f of the samples used, or f_y - f_k of every other class k; λ = -∂L/∂f, shape (n, K)."""
    if targets.shape[1] == 1:
        samples, outputs = np.nonzero(used[:, None])
        along = targets[samples]
    else:
        samples, outputs = np.nonzero(used[:, None] & (targets != 1.0))
        along = targets[samples] - np.eye(targets.shape[1])[outputs]
    rows = frozen.gradients(theta, samples, along)
    return Margins(off(rows, span(frozen.normals(theta))), np.abs(lam[samples, outputs]), samples)


def margins_of(f: FloatArray, targets: FloatArray) -> FloatArray:
    """Return y f, or the output of a sample's class less the largest of the others, shape (n,)."""
    if targets.shape[1] == 1:
        return np.asarray(targets[:, 0] * f[:, 0])
    own = (targets * f).sum(axis=1)
    return np.asarray(own - np.where(targets == 1.0, -np.inf, f).max(axis=1))
