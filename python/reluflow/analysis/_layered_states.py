"""A layered run seen at k times, with its parameters and the signs of its units."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from .._validation import FloatArray, PatternArray, ReadOnly, freeze, integer, invalid, real_array
from ..layered import DeepNetwork, DeepSolution
from ..layered._frozen import Frozen
from ..layered._model import Problem
from ..layered._xarray import log_losses, patterns_of_layers
from ._kernels import off_span


@dataclass(frozen=True, eq=False)
class LayeredStates(ReadOnly):
    """A run of layers seen at k times.

    `reluflow.analysis` takes it in the place of the run: `series`, `margins`, `losses`, `errors`,
    `layer_singular_values`, `row_plane`, `pattern_distance`, `tangent_kernel` and `kernel_distance`.

    Attributes
    ----------
    source : DeepSolution
    t, log_t : ndarray, shape (k,)
    pattern : ndarray, shape (k, m, n), int8
        Signs of the m units that are not linear, layer by layer, on each sample; 0 on a boundary or without live input.
    """

    source: DeepSolution
    t: FloatArray
    log_t: FloatArray
    pattern: PatternArray

    def __len__(self) -> int:
        """Return the number k of times."""
        return len(self.t)

    @property
    def initial(self) -> DeepNetwork:
        """The network that the run started from."""
        return self.source.initial

    @property
    def data(self) -> Any:
        """The data of the run."""
        return self.source.data

    @property
    def _problem(self) -> Problem:
        return self.source._problem

    @cached_property
    def theta(self) -> FloatArray:
        """The parameters at each time, shape (k, P)."""
        found = np.empty((len(self), self.initial.n_parameters))
        for k, (t, log_t) in enumerate(zip(self.t.tolist(), self.log_t.tolist(), strict=True)):
            found[k] = self.source._state(*((t, "t") if np.isfinite(t) else (log_t, "log_t")))["theta"]
        freeze(found)
        return found

    @cached_property
    def log_loss(self) -> FloatArray:
        """Log of the loss of the run at each time, with its reduction, shape (k,)."""
        found = log_losses(self._problem, self.theta)
        freeze(found)
        return found

    def at(self, index: int) -> DeepNetwork:
        """Return the network at the time number `index`, from the end if it is negative."""
        count = len(self)
        found = integer(index, "index", least=-count, most=count - 1)
        return self.initial._with(np.array(self.theta[found]))

    @property
    def X(self) -> FloatArray:
        """The inputs, shape (n, d)."""
        return self.source._problem.X

    @property
    def targets(self) -> FloatArray:
        """Real targets, labels, or one-hot rows of cross-entropy, shape (n, K)."""
        return self.source._problem.targets

    @property
    def K(self) -> int:
        """Number of outputs."""
        return int(self.targets.shape[1])

    @property
    def loss(self) -> str:
        """Name of the loss."""
        return self.source.loss

    @property
    def reduction(self) -> str:
        """Whether losses of the samples are added or averaged."""
        return self.source.reduction

    def kernel(self, index: int) -> FloatArray:
        """Return the tangent kernel at one time, shape (n K, n K): ∇f · P ∇f, with P off the normals of what slides."""
        state = self.source._state(float(self.log_t[index]), "log_t")
        net, theta = self.source.initial, np.array(state["theta"])
        frozen = Frozen(net.nodes, self.X, state["sides"], state["modes"], net.n_parameters)
        samples = np.repeat(np.arange(len(self.X)), self.K)
        moved = frozen.gradients(theta, samples, np.tile(np.eye(self.K), (len(self.X), 1)))
        if len(frozen.held):
            moved = off_span(moved, frozen.normals(theta))
        return np.asarray(moved @ moved.T)


def layered_states(
    source: DeepSolution, times: npt.ArrayLike | None, log_times: npt.ArrayLike | None = None
) -> LayeredStates:
    """See a layered run at times, or at logarithms of times; without both at those of the run.

    Raises
    ------
    ValueError
        A time is outside the run.
    """
    t, log_t = source.t, source.log_t
    with np.errstate(divide="ignore", over="ignore"):
        if times is not None:
            t = real_array(times, "times", "(k,)")
            outside = t[(t < source.t_start) | (t > source.t_end)]
            if len(outside):
                raise invalid(
                    "times", f"lie in the run, from {source.t_start:g} to {source.t_end:g}", f"{outside[0]:g}"
                )
            log_t = np.log(t)
        elif log_times is not None:
            log_t = real_array(log_times, "log_times", "(k,)")
            t = np.exp(log_t)
    return seen(source, t, log_t)


def seen(source: DeepSolution, t: FloatArray, log_t: FloatArray) -> LayeredStates:
    """See a layered run at times inside it and their logarithms, -inf for t = 0."""
    nodes = source.initial.nodes[1:]
    bent = [p for p, node in zip(patterns_of_layers(source, t, log_t), nodes, strict=True) if node.leak is not None]
    none = np.zeros((len(t), 0, len(source._problem.X)), dtype=np.int8)
    return LayeredStates(source, t, log_t, np.concatenate([none, *bent], axis=1))
