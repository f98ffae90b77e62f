"""A fit in one dimension through time: the function f(x) on a grid, and its kinks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from .._validation import FloatArray, ReadOnly, freeze, invalid, real_array
from ..datasets import MultiClassDataset
from ._kernels import outputs
from ._output_states import AnySource, OutputStates, any_states
from ._states import States

# The grid goes this part of the spread of the samples beyond them, and has so many points.
_BEYOND = 0.1
_POINTS = 401


@dataclass(frozen=True, eq=False)
class FitCurves(ReadOnly):
    """A function of one input at k times.

    Attributes
    ----------
    data : Dataset
    t, log_t : ndarray, shape (k,)
    x : ndarray, shape (p,)
        Increasing inputs.
    f : ndarray, shape (k, p), or (k, p, K) with several outputs
        Outputs at them.
    kinks : ndarray, shape (k, m)
        Where each neuron changes its slope, -b_j / w_j; nan for a neuron without a kink.
    jumps : ndarray, shape (k, m), or (k, m, K)
        By how much the slope of f grows there, (1 - leak) a_j |w_j|.
    """

    data: Any
    t: FloatArray
    log_t: FloatArray
    x: FloatArray
    f: FloatArray
    kinks: FloatArray
    jumps: FloatArray

    @property
    def inputs(self) -> FloatArray:
        """Inputs of the samples, without the bias, shape (n,)."""
        X = self.data[0] if isinstance(self.data, tuple) else self.data.X
        return np.asarray(X[:, 0])

    @property
    def targets(self) -> FloatArray:
        """Targets of the samples, shape (n,) or (n, K); of classes one-hot rows."""
        if isinstance(self.data, MultiClassDataset):
            return np.asarray(np.eye(self.data.K)[self.data.labels])
        y = np.asarray(self.data[1] if isinstance(self.data, tuple) else self.data.y)
        return y if y.ndim == self.f.ndim - 1 else np.asarray(np.eye(self.f.shape[2])[y])


def fit_curves(source: AnySource, times: npt.ArrayLike | None = None, *, x: npt.ArrayLike | None = None) -> FitCurves:
    """Follow the function f of a network of one input, beside a bias or without.

    Parameters
    ----------
    source : Solution, TwoLayerSolution, States, OutputStates or DescentResult
        A run on data with one input; `analysis.snapshots` gives a few states that show it.
    times : array_like, shape (k,), optional
        Where to look, by dense output; without it the times of the solution.
    x : array_like, shape (p,), optional
        Increasing inputs; by default an even grid a little beyond the samples.

    Returns
    -------
    FitCurves

    Raises
    ------
    ValueError
        Data of more inputs, or inputs `x` that do not increase.

    Examples
    --------
    >>> import numpy as np
    >>> import reluflow as rf
    >>> grid = np.linspace(-1, 1, 9)
    >>> data = rf.Dataset(grid[:, None], np.abs(grid), bias_input=1.0)
    >>> sol = rf.integrate(data, rf.Network.init(10, 2, scale=0.1, seed=1), until=100.0, loss="squared")
    >>> curves = rf.analysis.fit_curves(sol, [1.0, 100.0], x=[-0.5, 0.5])
    >>> curves.f[1].round(2)
    array([0.5, 0.5])
    """
    run = any_states(source, times)
    inputs, bias = (run.data.X, run.data.bias_input) if isinstance(run, States) else (run.X, run.bias_input)
    if inputs.shape[1] != (1 if bias is None else 2):
        expected = "be a run on one input, alone or beside a bias (data.with_bias(1.0))"
        found = f"{inputs.shape[1]} inputs{'' if bias is None else ', one of them the bias'}"
        raise invalid("source", expected, found)
    grid = _grid(inputs[:, 0]) if x is None else _given(x)
    X = grid[:, None] if bias is None else np.column_stack((grid, np.full(len(grid), bias)))
    heads = run.a[..., 0] if isinstance(run, OutputStates) and run.K == 1 else run.a
    f = np.array([outputs(X, W, a, run.leak) for W, a in zip(run.W, heads, strict=True)])
    slope = run.W[:, :, 0]
    offset = np.zeros_like(slope) if bias is None else bias * run.W[:, :, 1]
    size = np.abs(slope)
    jumps = (1.0 - run.leak) * heads * (size if heads.ndim == 2 else size[:, :, None])
    bends = jumps != 0 if heads.ndim == 2 else (jumps != 0).any(axis=2)
    kinks = np.divide(-offset, slope, out=np.full(slope.shape, np.nan), where=bends)
    for array in (grid, f, kinks, jumps):
        freeze(array)
    return FitCurves(run.data, run.t, run.log_t, grid, f, kinks, jumps)


def _grid(inputs: FloatArray) -> FloatArray:
    low, high = float(inputs.min()), float(inputs.max())
    beyond = _BEYOND * (high - low) if high > low else max(abs(high), 1.0)
    return np.linspace(low - beyond, high + beyond, _POINTS)


def _given(x: npt.ArrayLike) -> FloatArray:
    grid = real_array(x, "x", "(p,)")
    if not len(grid) or (np.diff(grid) <= 0).any():
        raise invalid("x", "hold increasing numbers", f"{len(grid)} that do not increase")
    return grid
