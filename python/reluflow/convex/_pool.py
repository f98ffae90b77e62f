"""The pieces of the weight space that a program of column generation has at present, and what its end is worth."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .._validation import FloatArray
from ._bounds import DualNorm
from ._conic import Piece
from ._pricing import Key

IDLE_SIZE = 1e-7  # a neuron below this, beside the sum, is none


class Pool:
    """Pieces by their keys: those that are violated join; those that carry no neuron for ``patience`` rounds leave.

    Parameters
    ----------
    y : ndarray, shape (n,)
        The targets, which keys depend on.
    patience : int
        A piece without a neuron for more rounds than this leaves; it returns when it is violated again.
    """

    def __init__(self, y: FloatArray, patience: int) -> None:
        self.known: dict[Key, Piece] = {}
        self._y, self._patience = y, patience
        self._idle: dict[Key, int] = {}

    def __len__(self) -> int:
        return len(self.known)

    @property
    def pieces(self) -> list[Piece]:
        """The pieces, in the order in which they joined."""
        return list(self.known.values())

    @property
    def signs(self) -> FloatArray:
        """Signs of the output weights of the pieces."""
        return np.array([float(piece.sign) for piece in self.known.values()])

    def add(self, pieces: Sequence[Piece]) -> bool:
        """Let pieces join; return whether one of them was not there."""
        before = len(self.known)
        for piece in pieces:
            key = piece.key(self._y)
            self.known.setdefault(key, piece)
            self._idle.setdefault(key, 0)
        return len(self.known) > before

    def retire(self, neurons: FloatArray) -> None:
        """Drop the pieces that have carried no neuron for some rounds, given the neuron of each."""
        sizes = np.linalg.norm(neurons, axis=1)
        for key, size in zip(list(self.known), sizes, strict=True):
            self._idle[key] = self._idle[key] + 1 if size <= IDLE_SIZE * sizes.sum() else 0
            if self._idle[key] > self._patience:
                del self.known[key], self._idle[key]


def verdict(gap: float, gap_tol: float, norm: DualNorm, points: str, pieces: str) -> tuple[str, str]:
    """Return status and message of a program solved to its end; `points` name what the gap is computed from."""
    if gap <= gap_tol:
        return "optimal", f"the relative gap {max(gap, 0.0):.1e} is computed from {points}"
    if norm.status != "proven":
        why = f"the search for violated {pieces} ended with {norm.status} after {norm.n_nodes} nodes"
    else:
        why = "the active set could not be polished further"
    return "inaccurate", f"the proven relative gap is {gap:.1e}, above gap_tol = {gap_tol:g}: {why}"
