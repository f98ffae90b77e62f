"""Beyond the digits of log t: how a layered run to its limit goes on, and the legs that it takes.

A homogeneous network of degree L that is held smaller by 2^-k has margins smaller by 2^-kL and the same direction. What
the flow does to it depends on the weights of the samples alone, and these stay the same: the logarithm of what a sample
counts takes up what its margin loses of its distance from the least one. That is some tens of margins of 10⁷ and more
(docs/design/layered.md). The clocks of the legs are not the flow's, and only the last state is kept.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from .._validation import FloatArray
from ..layered import DeepSolution
from ..layered._frozen import Frozen
from ..layered._graph import degree_of
from ..layered._integrate import Hook, Layered, core_options

# Ends of the legs after which the limit is asked for, by log |θ|.
LOG_NORMS = (8.0, 10.0, 12.0, 14.0, 18.0, 24.0, 32.0, 44.0, 60.0, 80.0, 110.0, 150.0, 200.0, 260.0, 340.0)
# The least margin at which a leg ends, and about that with which the next begins: weights have relative errors of a
# margin times the rounding, and what the scaling takes for the direction is off by the inverse of a margin.
_MOST = 4e10
_AGAIN = 1e7
# A sample of which the weight is smaller by more e-foldings has none.
NO_WEIGHT = 600.0
# Parameters of which less is left lose their digits.
_SMALLEST = 1e-290


@dataclass
class LayersBeyond:
    """The state of a run beyond the digits of log t, and the work that was done to come there."""

    whole: DeepSolution
    asked: Layered

    def __post_init__(self) -> None:
        """Begin at the end of the run."""
        self._state = dict(self.whole._end)
        self._log_counts: FloatArray = np.zeros(len(self.whole._problem.X))
        if self.whole._problem.counts is not None:
            with np.errstate(divide="ignore"):  # samples that do not count
                self._log_counts = np.log(self.whole._problem.counts)
        self._loss = self.whole._problem.loss
        self._degree = degree_of(self.whole.initial.nodes)[0]
        self._shift = 0
        self._sums = {"n_steps": 0, "order_sum": 0, "n_event_sets": 0, "seconds": 0.0}
        self._events = 0

    @property
    def is_possible(self) -> bool:
        """Whether a network has margins that grow for ever, and a state whose parameters have all their digits."""
        theta = np.asarray(self._state["theta"])
        q, used = self._margins()
        is_whole = not ((theta != 0) & (np.abs(theta) < _SMALLEST)).any()
        least = float(q[used].min()) if used.any() else 0.0
        return self._degree > 0 and is_whole and least >= math.ldexp(_AGAIN, -self._degree)

    @property
    def log_norm(self) -> float:
        """The logarithm of |θ| of the flow."""
        return math.log(float(np.linalg.norm(self._state["theta"]))) + self._shift * math.log(2)

    def _frozen(self) -> Frozen:
        whole, state = self.whole, self._state
        return Frozen(whole.initial.nodes, whole._problem.X, state["sides"], state["modes"], whole.initial.n_parameters)

    def _margins(self) -> tuple[FloatArray, npt.NDArray[np.bool_]]:
        """Return y f, and of which samples it moves a parameter."""
        problem, state, frozen = self.whole._problem, self._state, self._frozen()
        q = problem.targets[:, 0] * np.asarray(frozen.outputs(state["theta"]))[:, 0]
        moves = frozen.gradients(state["theta"], np.arange(len(q))).any(axis=1)
        return np.asarray(q), np.asarray(moves & np.isfinite(self._log_counts))

    def lower(self) -> None:
        """Hold the state smaller by a power of two where its margins are large, with the same weights."""
        q, used = self._margins()
        by = round(math.log2(float(q[used].min()) / _AGAIN) / self._degree)
        if by <= 0:
            return
        below = np.where(used, q - self._log_counts, np.inf)  # -log of the weights
        first = int(np.argmin(below))
        kept = np.ldexp(q - q[first], -by * self._degree) - np.minimum(below - below[first], NO_WEIGHT)
        self._log_counts = np.where(used, np.minimum(kept, 0.0), self._log_counts)
        self._hold_smaller(by)
        self._state["log_t"] = math.ldexp(self._state["log_t"], -by * self._degree)
        self._state["t"] = math.exp(self._state["log_t"]) if self._state["log_t"] < math.log(1e300) else math.inf

    def _hold_smaller(self, by: int) -> None:
        self._state["theta"] = np.ldexp(self._state["theta"], -by)
        if "balance" in self._state:  # not in files of earlier versions
            self._state["balance"] = np.ldexp(self._state["balance"], -2 * by)
        self._shift += by

    def leg(self, log_norm: float, criteria: dict[str, float | int], hook: Hook | None, period: float) -> Any:
        """Integrate up to a norm of the flow, or as far as margins have digits; return what the core tells of it."""
        q, used = self._margins()
        own = math.log(float(np.linalg.norm(self._state["theta"])))
        room = math.log(_MOST / float(q[used].min())) / self._degree
        end = min(own + room, log_norm - self._shift * math.log(2))
        return self._run({**criteria, "log_norm": end}, hook, period)

    def _run(self, criteria: dict[str, float | int], hook: Hook | None, period: float) -> Any:
        """Integrate from the state with what the samples count by now, and take the end for the state."""
        asked, n = replace(self.asked, criteria=criteria), len(self._log_counts)
        counts = np.where(np.isfinite(self._log_counts), np.exp(self._log_counts), 0.0)
        problem = replace(self.whole._problem, counts=counts, loss=self._loss)
        model = problem.new_model(self._state)
        options = core_options(asked.settings(-math.inf, n), asked, n)
        raw = model.run(self._state, {**options, "hook_period": period}, self._telling(hook))
        self._state = dict(model.states(2)[-1])
        for name in self._sums:
            self._sums[name] += raw[name]
        self._events += len(raw["events"]["t"])
        return raw

    def _telling(self, hook: Hook | None) -> Hook | None:
        """Return a hook that is told of the whole run, at the last time that the flow's own clock has shown."""
        if hook is None:
            return None
        whole, stats = self.whole, self.whole.stats
        clock = {"t": whole.t_end, "log_t": whole.log_t_end, "log_loss": whole.log_loss_end}
        before = {
            "steps": stats["steps"] + self._sums["n_steps"],
            "events": stats["n_events"] + self._events,
            "seconds": stats["seconds"] + self._sums["seconds"],
        }
        return lambda report: hook(
            {**report, **clock, **{name: report[name] + count for name, count in before.items()}}
        )

    def solution(self) -> DeepSolution:
        """Return the whole run, with the state that its limit is polished from."""
        whole = self.whole
        beyond = {name: self._state[name] for name in ("theta", "sides", "modes")}
        beyond |= {"log_norm": self.log_norm, "n_events": self._events}
        raw = {**whole._raw, **{name: whole._raw[name] + count for name, count in self._sums.items()}, "beyond": beyond}
        return DeepSolution(whole._problem, whole.initial, whole.settings, raw)
