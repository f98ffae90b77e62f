"""`SaddlePath`: all stages from vanishing weights to the end."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from .._validation import FloatArray, ReadOnly, freeze, invalid, real
from ..flow import Solution, TwoLayerSolution
from ..layered._several import pair_of
from ..limits import Limit
from ..losses import LossName, ReductionName
from ..networks import Network
from ._optimum import least_loss
from ._prediction import Prediction, predicted
from ._several_flow import problem_of
from ._stage import Stage
from ._storage import read_path, write_path


class Row(NamedTuple):
    """One stage in a table: times in units of log(1/ε)."""

    stage: int
    begins: float
    ends: float
    loss: float
    kind: str
    unstable: int
    grown: int
    wakes: int
    directions: int


@dataclass(frozen=True, eq=False, repr=False)
class SaddlePath(ReadOnly):
    """What `saddle_to_saddle` returns. All arrays are read-only.

    Attributes
    ----------
    data : Dataset
        Of K outputs as it was given, of a pair its arrays.
    directions : ndarray, shape (m, d)
        Unit vectors at the start.
    signs : ndarray, shape (m,), or (m, K)
        Of K outputs unit vectors, the directions of a_j at the start.
    leak : float
    loss, reduction : str
    rtol : float
    stages : tuple of Stage
        The rest at zero first.
    horizon : Solution, or TwoLayerSolution with K outputs, or None
        Where margins grow for ever: the run of the grown neurons alone to the direction in which they end,
        `horizon.limit`.
    status : str
        ``ended``: nothing grows at the last saddle. ``infinity``: the path ends in a direction, that of `horizon`:
        all margins grow, or, of one output, some do and the other samples rest for ever. ``saddle_at_infinity``,
        ``undecided``, ``lost``, ``max_stages``: the path is not followed further.
    message : str
    """

    data: Any
    directions: FloatArray
    signs: FloatArray
    leak: float
    loss: LossName | Literal["cross_entropy"]
    reduction: ReductionName
    rtol: float
    stages: tuple[Stage, ...]
    horizon: Solution | TwoLayerSolution | None
    status: str
    message: str

    @property
    def success(self) -> bool:
        """Whether the path has been followed to its end."""
        return self.status in ("ended", "infinity")

    @property
    def times(self) -> FloatArray:
        """When each stage begins, in units of log(1/ε), shape (k,)."""
        return _frozen([stage.begins for stage in self.stages])

    @property
    def losses(self) -> FloatArray:
        """Loss at each saddle, as a sum, shape (k,)."""
        return _frozen([stage.loss for stage in self.stages])

    @property
    def end(self) -> Limit | None:
        """The limit in which the path ends, with its certificate; None where it ends at zero or is not followed."""
        if self.status == "infinity":
            return None if self.horizon is None else self.horizon.limit
        return self.stages[-1].limit if self.status == "ended" else None

    @property
    def gap(self) -> float:
        """Loss at the last saddle above the least loss of networks of any width; nan for losses of margins and classes.

        Notes
        -----
        Over all widths the outputs range over a linear space: v·x_i for any v, plus any number times |x_i| for each
        line of samples. The least loss is weighted least squares there.
        """
        if self.loss != "squared":
            return float("nan")
        net = self.stages[0].network
        if net.n_outputs == 1:
            return self.stages[-1].loss - least_loss(self.data.X, self.data.y, self.data.counts)
        problem = problem_of(pair_of(self.data, net, self.loss), self.loss, net.n_outputs)
        return self.stages[-1].loss - least_loss(problem.X, problem.targets, problem.counts)

    def start(self, scale: float) -> Network:
        """Return the network with |w_j| = |a_j| = scale that a full flow starts from.

        Raises
        ------
        ValueError
            `scale` is not in (0, 1).
        """
        size = np.exp(-_length(scale))
        return Network(size * self.directions, size * self.signs, leak=self.leak)

    def predict(self, scale: float) -> Prediction:
        """Return when the flow from `start(scale)` passes from plateau to plateau.

        Parameters
        ----------
        scale : float
            ε, the size |w_j| = |a_j| of all neurons at the start, in (0, 1).

        Returns
        -------
        Prediction
            Times t = ends L + offset with L = log(1/ε). Left out is what tends to zero with ε, as a power of it: the
            time at which neurons leave a saddle that is not yet reached, and neurons that come close behind. Jumps that
            leave a saddle at infinity are known less well, see `Prediction.known`.

        Raises
        ------
        ValueError
            `scale` is not in (0, 1).

        Examples
        --------
        >>> import reluflow as rf
        >>> data = rf.Dataset([[1.0, 0.0], [0.0, 1.0]], [2.0, -1.0])
        >>> path = rf.saddle_to_saddle(data, [[1.0, 0.5], [0.5, 1.0]], [1, -1])
        >>> path.predict(1e-10).times.round(6).tolist()
        [11.51071, 22.688797]
        """
        return predicted(self.stages, real(scale, "scale", "lie in (0, 1)"), _length(scale))

    def table(self) -> tuple[Row, ...]:
        """Return one row a stage; `pandas.DataFrame(path.table())` makes a table of them."""
        return tuple(
            Row(
                stage.number,
                stage.begins,
                stage.ends,
                stage.loss,
                stage.kind,
                stage.index,
                len(stage.grown),
                sum(map(len, stage.wakes)),
                len(stage.wakes),
            )
            for stage in self.stages
        )

    def summary(self) -> str:
        """Return a few lines of text: the outcome and one line a stage."""
        lines = [f"{self.status}: {self.message}", "stage  begins    loss          kind           grown  wakes"]
        for row in self.table():
            lines.append(
                f"{row.stage:<6} {row.begins:<9.6g} {row.loss:<13.8g} {row.kind:<14} {row.grown:<6} {row.wakes}"
            )
        return "\n".join(lines + [f"{stage.number}: {note}" for stage in self.stages for note in stage.notes])

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the path with its orbits to one .npz file, whole or not at all; `SaddlePath.load` reads it back.

        Raises
        ------
        OSError
            The system cannot write, for want of the folder or of a right; what was there is still there.
        """
        write_path(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> SaddlePath:
        """Read a path that `save` wrote.

        Raises
        ------
        OSError
            There is no such file, or it cannot be read.
        ValueError
            The file holds no path of saddles, or is damaged; the message names the path and what is wrong.
        """
        return cls(**read_path(path))

    def __repr__(self) -> str:
        """One line: the outcome, the number of stages and the last loss."""
        sizes = f"{len(self.stages)} stages, {len(self.signs)} neurons"
        return f"SaddlePath({self.status}, {sizes}, loss={self.losses[-1]:.6g})"


def _length(scale: object) -> float:
    """Return L = log(1/ε)."""
    size = real(scale, "scale", "lie in (0, 1)")
    if not 0 < size < 1:
        raise invalid("scale", "lie in (0, 1)", repr(size))
    return float(-np.log(size))


def _frozen(values: list[float]) -> FloatArray:
    array = np.array(values)
    freeze(array)
    return array
