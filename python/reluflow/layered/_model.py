"""A layered network on data with a loss: the compiled core's model, made when it is first needed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import _core
from .._validation import FloatArray
from ._graph import core_graph, without_zero_units
from ._network import DeepNetwork


@dataclass
class Problem:
    """What a run is about.

    Attributes
    ----------
    data
        The user's data.
    net : DeepNetwork
        Its graph counts, not its parameters.
    X : ndarray, shape (n, d)
    targets : ndarray, shape (n, K)
    loss : str
    factor : float
        1 for a sum, 1 over the sum of the counts for a mean.
    counts : ndarray, shape (n,), or None
        What each sample counts in the loss; None for one each.
    decay : ndarray, shape (P,), or None
        γ of each parameter; None for no weight decay.
    """

    data: Any
    net: DeepNetwork
    X: FloatArray
    targets: FloatArray
    loss: str
    factor: float
    counts: FloatArray | None = None
    decay: FloatArray | None = None

    def __post_init__(self) -> None:
        """No compiled model yet."""
        self._model: Any = None

    @property
    def content(self) -> tuple[Any, ...]:
        """The numbers that the flow depends on, the same however the user's data hold them."""
        return self.X, self.targets, self.loss, self.factor, self.counts, self.decay

    def new_model(self, begin: FloatArray | dict[str, Any]) -> Any:
        """Make a compiled model and keep it for dense output.

        Parameters
        ----------
        begin : ndarray or dict
            Parameters, or a stored state, from which the run goes on.
        """
        if isinstance(begin, dict):
            used = without_zero_units(self.net.nodes, np.asarray(begin["theta"]), begin["modes"])
        else:
            used = without_zero_units(self.net.nodes, begin)
        nodes, edges = core_graph(used)
        X, targets = np.ascontiguousarray(self.X), np.ascontiguousarray(self.targets)
        count = self.net.n_parameters
        what = self.loss, self.factor, self.counts, self.decay
        self._model = _core.LayeredModel(nodes, edges, count, X, targets, *what)
        return self._model

    def state_at(self, stored: list[dict[str, Any]], time: float, in_log: bool, rtol: float) -> dict[str, Any]:
        """Return the state at a time from the run that the model keeps, or from stored states."""
        model = self._model
        if model is None:
            model = self.new_model(stored[0])
            model.restore(stored)
        state: dict[str, Any] = model.state_at(time, in_log, rtol)
        return state

    def __getstate__(self) -> dict[str, Any]:
        """Leave the compiled model out of pickles."""
        return {**self.__dict__, "_model": None}
