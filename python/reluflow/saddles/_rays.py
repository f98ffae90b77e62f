"""Neurons that can move along one line alone: put on it exactly, so that rounding does not turn them as they shrink."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from .._validation import FloatArray, PatternArray
from ..kinks._boundaries import off, span
from ..networks import Network

# What of a neuron is off its line by less than this part is rounding, or was infinitesimal when the neuron grew.
_PART = 1e-12
# Samples whose directions agree to this part span one line.
_PARALLEL = 1e-12


def put_on_rays(net: Network, X: FloatArray, known: npt.NDArray[np.bool_]) -> tuple[Network, npt.NDArray[np.bool_]]:
    """Project neurons on the line of their active samples, where it is one line and they are on it but for rounding.

    Inside a sector only the part of w along its active samples moves. Where these span one line within the boundaries
    that the neuron holds, what is off it stands still: if the sign of the pull turns, the neuron shrinks along the line
    towards the origin, and rounding, which does not shrink, would carry it to other sectors.

    Parameters
    ----------
    net : Network
        With its pattern.
    X : ndarray, shape (n, d)
    known : ndarray of bool, shape (m,)
        Neurons that were on their line and have not left their sector: they are on it however small they have become.

    Returns
    -------
    Network
    ndarray of bool, shape (m,)
        Which neurons are on such a line now.
    """
    pattern, W = net.pattern, np.array(net.W)
    found = np.zeros(net.width, dtype=np.bool_)
    if pattern is None or net.leak > 0:
        return net, found
    for j in np.flatnonzero(W.any(axis=1)):
        line = _line(pattern[j], X)
        if line is None:
            continue
        scale = float(np.abs(W[j]).max())
        w = W[j] / scale
        along = float(w @ line) * line
        found[j] = known[j] or np.linalg.norm(w - along) <= _PART * np.linalg.norm(w)
        if found[j]:
            W[j] = scale * along
    return Network(W, net.a, leak=net.leak, pattern=pattern), found


def _line(row: PatternArray, X: FloatArray) -> FloatArray | None:
    """Return the unit vector that the active samples span within the boundaries held; None if they span more."""
    active, held = X[row > 0], X[row == 0]
    if not len(active):
        return None
    if len(held):
        sizes = np.linalg.norm(active, axis=1)
        basis = span(held)
        active = off(active, basis)
        active = active[np.linalg.norm(active, axis=1) > _PARALLEL * sizes]
        if not len(active):
            return None
    units = active / np.linalg.norm(active, axis=1, keepdims=True)
    beside = units - np.outer(units @ units[0], units[0])
    return None if np.linalg.norm(beside, axis=1).max() > _PARALLEL else units[0]
