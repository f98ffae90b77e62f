"""Infinitesimal neurons carried along a λ(t) that grown neurons prescribe, however long that takes.

On a piece of time λ is replaced by its mean, and the neurons move exactly, with their events. With g the gradient of a
neuron and Δg its change over a piece of length h, this leaves out h |Δg|²/(12 |g|) of log |w| where the neuron follows
its gradient, and less than h² |Δg||g|/12 where the piece is shorter than its time constant. Pieces are so short that
this is below `_TOL` of the growth.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from .._validation import FloatArray, IntArray
from ..datasets import Dataset
from ..flow._events import EventTable
from ..kinks._constant_duals import Frozen, start
from ..networks import Network

# The part of the growth of log |w| that a piece may leave out.
_TOL = 1e-6
# A piece that misses more is cut into so many.
_PARTS = 8
# Pieces of one run; it has some hundred.
_MAX_PIECES = 100_000

Duals = Callable[[FloatArray], FloatArray]


class _Piece(NamedTuple):
    """A piece of time with λ at its begin, its middle and its end."""

    begin: float
    end: float
    first: FloatArray
    middle: FloatArray
    last: FloatArray


class Carried:
    """Infinitesimal neurons under the λ(t) of one run of the grown ones.

    Attributes
    ----------
    rows : ndarray, shape (k,)
        Their numbers.
    flow : Frozen
    pieces : int
    error : float
        Bound of what the constants of log |w| miss, the largest of all neurons.
    """

    def __init__(self, data: Dataset, net: Network, rows: IntArray, lam: FloatArray) -> None:
        """Begin with the directions, the signs and the patterns of these neurons of a network."""
        assert net.pattern is not None  # for the type checker: networks at the end of a run have one
        self.rows = rows
        self.flow: Frozen = start(data.X, lam, net.leak, net.W[rows], np.sign(net.a[rows]), net.pattern[rows])
        self.pieces = 0
        self.error = 0.0

    def follow(self, duals: Duals, times: FloatArray) -> bool:
        """Move along λ(t) from the first of increasing times to the last; whether few enough pieces were enough.

        `duals` gives λ at increasing times, shape (k, n); `times` are a first guess of the ends of the pieces.
        """
        todo = _pieces(duals, times)
        while todo:
            piece = todo.pop()
            missed, growth = self._missed(piece)
            if missed > _TOL * (1.0 + growth):
                if len(todo) + self.pieces > _MAX_PIECES:
                    return False
                todo += _pieces(duals, np.linspace(piece.begin, piece.end, _PARTS + 1))
                continue
            self.flow.carry((piece.first + 4 * piece.middle + piece.last) / 6, piece.end)  # Simpson's rule
            self.pieces += 1
            self.error += missed
        return True

    def _missed(self, piece: _Piece) -> tuple[float, float]:
        """Bound what constant λ misses of any log |w| over a piece, and say by how much the fastest neuron grows."""
        everyone, h = np.arange(len(self.rows)), piece.end - piece.begin
        g = [self.flow.pulls(lam, everyone) for lam in (piece.first, piece.middle, piece.last)]
        size = np.linalg.norm(g[1], axis=1)
        # The change over the piece, and twice by how much the middle lies beside its chord.
        change = np.linalg.norm(g[2] - g[0], axis=1) + 2 * np.linalg.norm(2 * g[1] - g[0] - g[2], axis=1)
        part = h * size
        relative = np.divide(change, size, out=np.full_like(size, np.inf), where=size > 0)
        missed = h * change / 12 * np.minimum(relative, part)
        return float(missed.max(initial=0.0)), float(part.max(initial=0.0))


def _pieces(duals: Duals, times: FloatArray) -> list[_Piece]:
    """Cut a time into pieces at increasing times; the first one comes last."""
    ends = np.unique(times)
    lam = duals(np.sort(np.concatenate((ends, 0.5 * (ends[1:] + ends[:-1])))))
    pieces = [
        _Piece(float(ends[k]), float(ends[k + 1]), lam[2 * k], lam[2 * k + 1], lam[2 * k + 2])
        for k in range(len(ends) - 1)
    ]
    return pieces[::-1]


def shifted(table: EventTable, rows: IntArray, time: float) -> EventTable:
    """Give events the numbers `rows` of their neurons, and later times."""
    return _table(table.t + time, rows[table.neuron], table.sample, table.code)


def in_order(tables: list[EventTable]) -> EventTable:
    """Join tables that follow each other in time."""
    parts = ([getattr(table, name) for table in tables] for name in ("t", "neuron", "sample", "code"))
    return _table(*(np.concatenate(part) if part else np.empty(0) for part in parts))


def _table(t: FloatArray, neuron: npt.ArrayLike, sample: npt.ArrayLike, code: npt.ArrayLike) -> EventTable:
    with np.errstate(divide="ignore"):
        log_t = np.log(t)
    columns = np.asarray(neuron, np.int32), np.asarray(sample, np.int32), np.asarray(code, np.uint8)
    return EventTable(t, log_t, *columns, np.unique(t, return_inverse=True)[1].astype(np.int64))
