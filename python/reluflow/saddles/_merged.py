"""Grown neurons of one direction, sign and pattern move as one: a run of one in place of each such cluster."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from .._validation import FloatArray, PatternArray
from ..networks import Network

# Directions that agree to this part are one: neurons that leave a saddle together have one to rounding.
_SAME_TOL = 1e-9


class Merged:
    """A network of one neuron for each cluster, the first one; infinitesimal neurons are not in it.

    Inside a sector (w, a) follows one linear flow, so that the ratio of the sizes in a cluster stays.

    Attributes
    ----------
    network : Network
    rows : ndarray, shape (k,)
        Which of the m neurons those of `network` are.
    first : ndarray, shape (m,)
        The neuron that stands for each; -1 for infinitesimal ones.
    share : ndarray, shape (m,)
        Size of each, as a part of that of the one neuron.
    """

    def __init__(self, net: Network, grown: npt.NDArray[np.bool_]) -> None:
        """Find the clusters of the grown neurons of a network that carries its pattern."""
        assert net.pattern is not None  # for the type checker: networks at the end of a run have one
        m = net.width
        sizes = np.linalg.norm(net.W, axis=1)
        units = net.W / np.where(sizes > 0, sizes, 1.0)[:, None]
        self.first = np.full(m, -1)
        for j in np.flatnonzero(grown & (sizes > 0)).tolist():
            of = np.unique(self.first[:j])
            of = of[of >= 0]
            like = (np.sign(net.a[of]) == np.sign(net.a[j])) & (net.pattern[of] == net.pattern[j]).all(axis=1)
            like &= np.linalg.norm(units[of] - units[j], axis=1) <= _SAME_TOL
            self.first[j] = of[like][0] if like.any() else j
        members = np.flatnonzero(self.first >= 0)
        squares = np.bincount(self.first[members], weights=sizes[members] ** 2, minlength=m)
        self.share = np.zeros(m)
        self.share[members] = sizes[members] / np.sqrt(squares[self.first[members]])
        self.rows = np.flatnonzero(squares > 0)
        share = self.share[self.rows]
        W, a = net.W[self.rows] / share[:, None], net.a[self.rows] / share
        self.network = Network(W, a, leak=net.leak, pattern=net.pattern[self.rows])

    def split(self, net: Network) -> tuple[FloatArray, FloatArray, PatternArray]:
        """Share out what the neurons of a later network of this width stand for; other rows are zero."""
        assert net.pattern is not None
        place = np.zeros(len(self.first), dtype=np.int64)
        place[self.rows] = np.arange(len(self.rows))
        of = place[np.maximum(self.first, 0)]
        return self.share[:, None] * net.W[of], self.share * net.a[of], np.array(net.pattern[of])
