"""A layered run seen at k times, with the signs of its units: the tangent kernel of its outputs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .._validation import FloatArray, PatternArray, ReadOnly, invalid, real_array
from ..layered import DeepSolution
from ..layered._frozen import Frozen
from ..layered._xarray import patterns_of_layers
from ._kernels import off_span


@dataclass(frozen=True, eq=False)
class LayeredStates(ReadOnly):
    """A run at k times.

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
    nodes = source.initial.nodes[1:]
    bent = [p for p, node in zip(patterns_of_layers(source, t, log_t), nodes, strict=True) if node.leak is not None]
    none = np.zeros((len(t), 0, len(source._problem.X)), dtype=np.int8)
    return LayeredStates(source, t, log_t, np.concatenate([none, *bent], axis=1))
