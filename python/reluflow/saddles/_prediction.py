"""When a flow of a given scale passes from plateau to plateau."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .._validation import FloatArray, ReadOnly, freeze
from ._stage import Stage

# Neurons this much smaller than those that leave add a hundred times less to the outputs.
_SMALLER = 10.0


@dataclass(frozen=True, eq=False, repr=False)
class Prediction(ReadOnly):
    """Times of the jumps of a flow with |w_j| = |a_j| = scale at the start. All arrays are read-only.

    Attributes
    ----------
    scale : float
    times : ndarray, shape (k,)
        When the loss is half way between two plateaus.
    losses : ndarray, shape (k + 1,)
        Losses of the plateaus, as sums.
    separated : ndarray of bool, shape (k,)
        Whether the limit shows at this scale: the neurons that leave next are ten times smaller when a jump begins.
        Elsewhere several grow together, and times and plateaus differ.
    """

    scale: float
    times: FloatArray
    losses: FloatArray
    separated: npt.NDArray[np.bool_]

    def __repr__(self) -> str:
        """One line: the scale and the times."""
        return f"Prediction(scale={self.scale:g}, times={self.times.tolist()})"


def predicted(stages: tuple[Stage, ...], scale: float, length: float) -> Prediction:
    """Predict the jumps whose orbits have arrived."""
    jumps = [stage for stage in stages if np.isfinite(stage.offset)]
    times = np.array([stage.ends * length + stage.offset for stage in jumps])
    losses = np.array([stages[0].loss, *(stages[stage.number + 1].loss for stage in jumps)])
    separated = np.array([_behind(stage) * length >= np.log(_SMALLER) for stage in jumps], dtype=np.bool_)
    for array in (times, losses, separated):
        freeze(array)
    return Prediction(scale, times, losses, separated)


def _behind(stage: Stage) -> float:
    """By how much, in units of L, the log-norms of the other neurons that grow are below those that leave."""
    others = stage.rate > 0
    others[np.concatenate(stage.wakes)] = False
    at_end = stage.power + stage.rate * (stage.ends - stage.begins)
    return -float(at_end[others].max(initial=-np.inf))
