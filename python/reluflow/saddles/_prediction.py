"""When a flow of a given scale passes from plateau to plateau."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .._validation import FloatArray, ReadOnly, freeze
from ._passing import loss_along
from ._stage import Stage

# A network has come to a saddle when its loss is above that of the saddle by less than this part of its last fall: its
# errors are then off by a hundredth of what they changed by.
_SETTLED = 1e-4
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
        Whether the limit shows at this scale: when a jump begins, the network has come to the saddle that it leaves and
        the neurons that leave next are ten times smaller, and the next orbit begins after this jump. Elsewhere several
        grow together, or the way to a saddle is not done in time, and times and plateaus differ.
    known : ndarray of bool, shape (k,)
        Whether the time is known to o(1). It is not once a saddle at infinity has been left, or is being left: what the
        growing samples still add, of the order log log(1/ε), is then missing.
    """

    scale: float
    times: FloatArray
    losses: FloatArray
    separated: npt.NDArray[np.bool_]
    known: npt.NDArray[np.bool_]

    def __repr__(self) -> str:
        """One line: the scale and the times."""
        return f"Prediction(scale={self.scale:g}, times={self.times.tolist()})"


def predicted(stages: tuple[Stage, ...], scale: float, length: float) -> Prediction:
    """Predict the jumps whose orbits have arrived."""
    jumps = [stage for stage in stages if np.isfinite(stage.offset)]
    times = np.array([stage.ends * length + stage.offset for stage in jumps])
    losses = np.array([stages[0].loss, *(stages[stage.number + 1].loss for stage in jumps)])
    separated = np.array([_behind(stage) * length >= np.log(_SMALLER) for stage in jumps], dtype=np.bool_)
    leaves = np.array([stage.ends * length + stage.departs for stage in jumps])
    separated[:-1] &= times[:-1] < leaves[1:]
    for k in range(1, len(jumps)):
        separated[k] &= _settles(jumps[k - 1], jumps[k], length, losses[k - 1 : k + 1])
    known = np.array([not stage.at_infinity for stage in jumps], dtype=np.bool_)
    for array in (times, losses, separated, known):
        freeze(array)
    return Prediction(scale, times, losses, separated, known)


def _settles(before: Stage, stage: Stage, length: float, losses: FloatArray) -> bool:
    """Tell whether the orbit from one saddle comes to the next before that is left."""
    left = (stage.ends - before.ends) * length + stage.departs - before.departs
    if left <= 0:
        return False
    for leg in before.legs:
        if left < leg.t_end:
            above = loss_along(leg, left) - losses[1]
            return bool(above <= _SETTLED * (losses[0] - losses[1]))
        left -= leg.t_end
    return True


def _behind(stage: Stage) -> float:
    """By how much, in units of L, the log-norms of the other neurons that grow are below those that leave."""
    others = stage.rate > 0
    others[np.concatenate(stage.wakes)] = False
    at_end = stage.power + stage.rate * (stage.ends - stage.begins)
    return -float(at_end[others].max(initial=-np.inf))
