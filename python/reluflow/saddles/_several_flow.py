"""What all orbits of a path with several outputs share, and how neurons are integrated that have a state already."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np

from .. import _core
from .._validation import FloatArray
from ..flow import Stop, TwoLayerSolution
from ..flow._progress import Listeners, Progress, Reporter
from ..flow._two_layers import TwoLayerRun
from ..layered import DeepSolution
from ..layered._integrate import Layered
from ..layered._model import Problem
from ..layered._problem import targets_of
from ..layered._several import Pair
from ..layered._two_layers import AsLayers
from ..limits._output_problem import OutputProblem
from ..losses import ReductionName, reduction_factor
from ..networks import Network
from ._units import Unit, state_of
from ._watch import Watch

# An error below this part of the terms that it is the sum of is rounding, as in `_saddle`.
_FIT_TOL, _ZERO_PART = 1e-12, 1e-14
_QUIET = Listeners(False, None)


@dataclass(frozen=True)
class OutputFlow:
    """What all orbits of a path share.

    Attributes
    ----------
    data
        As it was given, of a pair its arrays.
    pair : Pair
    problem : OutputProblem
    loss : str
        ``squared`` or ``cross_entropy``.
    reduction : {"sum", "mean"}
    leak, rtol : float
    watch : Watch
    """

    data: Any
    pair: Pair
    problem: OutputProblem
    loss: Literal["squared", "cross_entropy"]
    reduction: ReductionName
    leak: float
    rtol: float
    watch: Watch

    def run(self, units: Sequence[Unit], time: float, steps: int) -> TwoLayerSolution:
        """Integrate neurons for some time or some steps, each of them accurate to a part of its own size."""
        return run_of_units(
            self.pair,
            units,
            Stop(time=time, steps=steps),
            (self.loss, self.reduction),
            self.leak,
            self.rtol,
            self.watch,
            self.data,
        )

    @property
    def factor(self) -> float:
        """What the sum of the losses is multiplied by."""
        return reduction_factor(self.reduction, self.pair.total)

    @cached_property
    def log_unit(self) -> float:
        """Logarithm of the size of a neuron whose outputs matter."""
        outputs = float(np.abs(self.problem.targets).max()) if self.loss == "squared" else 1.0
        return 0.5 * float(np.log(outputs / np.linalg.norm(self.problem.X, axis=1).max()))

    def outputs(self, net: Network) -> FloatArray:
        """Return the outputs of a network, which are the targets where the difference is rounding, shape (n, K)."""
        X, Y = self.problem.X, self.problem.targets
        f = net(X)
        if self.loss != "squared":
            return f
        products = np.abs(X) @ np.abs(net.W).T
        Z = X @ net.W.T
        terms = (np.where(Z + _FIT_TOL * products < 0, net.leak, 1.0) * products) @ np.abs(net.a) + np.abs(Y)
        return np.where(np.abs(f - Y) <= _FIT_TOL * terms + _ZERO_PART * terms.max(), Y, f)

    def loss_at(self, f: FloatArray) -> float:
        """Return the loss as a sum at outputs f."""
        return loss_of_outputs(self.problem, f)


def loss_of_outputs(problem: OutputProblem, f: FloatArray) -> float:
    """Return the loss as a sum at outputs f, shape (n, K)."""
    if problem.loss == "squared":
        return 0.5 * float(problem.counts @ ((f - problem.targets) ** 2).sum(axis=1))
    own = (problem.targets * f).sum(axis=1)
    return float(problem.counts @ (np.logaddexp.reduce(f, axis=1) - own))


def problem_of(pair: Pair, loss: str, K: int) -> OutputProblem:
    """Return what is minimised."""
    return OutputProblem(pair.X, pair.target_rows, pair.each, loss, 0.0)


def run_of_units(
    pair: Pair,
    units: Sequence[Unit],
    until: Stop,
    objective: tuple[str, ReductionName],
    leak: float,
    rtol: float,
    watch: Watch | None = None,
    data: Any = None,
) -> TwoLayerSolution:
    """Integrate neurons that have a state, from time 0, each of them accurate to a part of its own size."""
    loss, reduction = objective
    state = state_of(units, leak)
    net = Network(np.array([unit.w for unit in units]), np.array([unit.a for unit in units]), leak=leak)
    reader = AsLayers(net)
    criteria = until.as_dict()
    criteria.pop("limit", None)  # the legs ask for it
    asked = Layered(criteria=criteria, loss=loss, reduction=reduction, rtol=rtol)
    settings = {
        "loss": loss,
        "reduction": reduction,
        "weight_decay": 0.0,
        "rtol": rtol,
        "atol": None,
        "save_at": None,
        "save_at_log": None,
        "save_at_log_norm": None,
        "on_branch": "inactive",
        "max_events": None,
        "train": "both",
        "rates": None,
        "until": until.as_dict(),
        "version": _core.__version__,
    }
    layers = reader.layers()
    # What is continued is of the same flow: in another one all that is at zero would be decided anew.
    problem = Problem(
        pair.data, layers, pair.X, targets_of(pair.data, layers, loss, len(pair.X)), loss, 1.0, pair.counts
    )
    begin = DeepSolution(problem, layers, asked.settings(0.0, pair.total), _raw(state))
    run = TwoLayerRun(
        data=pair.data if data is None else data,
        pair=pair._replace(net=net),
        reader=reader,
        origin=begin,
        asked=asked,
        settings=settings,
    )
    hook = None if watch is None else watch.hook
    return run.go(Reporter(_QUIET._replace(callback=hook), lambda report: Progress(**report)).hook)


def _raw(state: dict[str, Any]) -> dict[str, Any]:
    """Return the record of a run that has not begun: one state."""
    steps = {
        "t": np.zeros(1),
        "log_t": np.full(1, -np.inf),
        "log_loss": np.full(1, np.nan),
        "theta": state["theta"][None].copy(),
    }
    return {"checkpoints": [state], "steps": steps}
