"""Dense output: the state at any time of a run, integrated again from the last checkpoint before it.

Between two checkpoints the core is called once, whatever the number of times in between. The pattern at a checkpoint is
exact, for it comes from replaying the events.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from .. import _core
from .._validation import FloatArray, IntArray, PatternArray, freeze, invalid
from ..datasets import Dataset
from ..losses import core_weights
from ._events import EventTable, pattern_at
from ._scale import hold
from ._settings import Settings

# How the core is asked for times t and for log times.
_OPTIONS = {"t": ("until_time", "save_at"), "log_t": ("until_log_time", "save_at_log")}


@dataclass(frozen=True, eq=False)
class Dense:
    """What dense output needs of a run: the kept steps with the final state as the last, and the events."""

    data: Dataset
    leak: float
    settings: Settings
    raw: dict[str, Any]
    events: EventTable

    @cached_property
    def t(self) -> FloatArray:
        """Times of the nodes, shape (K,)."""
        return np.append(self.raw["checkpoint_t"], self.raw["final_t"])

    @cached_property
    def log_t(self) -> FloatArray:
        """Logarithms of the times of the nodes, shape (K,)."""
        return np.append(self.raw["checkpoint_log_t"], self.raw["final_log_t"])

    @cached_property
    def n_events(self) -> IntArray:
        """Number of events up to each node, shape (K,)."""
        if "checkpoint_events" in self.raw:
            return np.append(self.raw["checkpoint_events"], len(self.events))
        # A file of an older version: nodes at one time cannot be told apart.
        plain = np.searchsorted(self.events.t, self.t, side="right")
        logs = np.searchsorted(self.events.log_t, self.log_t, side="right")
        return np.where(np.isfinite(self.t), plain, logs)

    def rest(self, clock: str) -> float:
        """When the network came to rest, in `clock`; infinity when it did not.

        The state from then on is the final one, but for neurons that weight decay takes to zero.
        """
        log_t = float(self.raw["stats"].get("rest_log_t", np.inf))
        if clock == "log_t":
            return log_t
        with np.errstate(over="ignore"):  # log t is rounded: the next time that is surely not before it
            return float(np.exp(log_t)) * (1.0 + abs(log_t) * np.finfo(float).eps) if log_t > -np.inf else 0.0

    def state(self, node: int) -> tuple[FloatArray, FloatArray]:
        """Weights at a node."""
        if node == len(self.raw["checkpoint_t"]):
            return self.raw["final_W"], self.raw["final_a"]
        return self.raw["checkpoint_W"][node], self.raw["checkpoint_a"][node]

    def states(self, times: FloatArray, clock: str) -> tuple[FloatArray, FloatArray]:
        """Weights at `times`, in any order; `clock` is "t" or "log_t"; shapes (k, m, d) and (k, m).

        Raises
        ------
        ValueError
            A time outside the run.
        RuntimeError
            The core did not come from a checkpoint to a time after it.
        """
        nodes: FloatArray = getattr(self, clock)
        check_inside(times, nodes, clock)
        m, d = self.raw["final_W"].shape
        W, a = np.empty((len(times), m, d)), np.empty((len(times), m))
        node_of = np.searchsorted(nodes, times, side="right") - 1
        if clock == "t" and self.t[0] == 0.0:  # the first of all times that doubles hold as 0
            node_of[times == 0.0] = np.searchsorted(self.log_t, self.log_t[0], side="right") - 1
        if self.settings.weight_decay == 0:
            node_of[times >= self.rest(clock)] = len(nodes) - 1
        pattern, done = np.array(self.raw["pattern0"]), 0
        for node in np.unique(node_of).tolist():
            self.events._apply(pattern, done, int(self.n_events[node]))
            done = max(done, int(self.n_events[node]))
            here = np.flatnonzero(node_of == node)
            wanted, place = np.unique(times[here], return_inverse=True)
            if node == len(nodes) - 1:
                W[here], a[here] = self.state(node)
                continue
            found = self._from_node(node, pattern, wanted, clock)
            W[here], a[here] = found[0][place], found[1][place]
        freeze(W)
        freeze(a)
        return W, a

    def _from_node(
        self, node: int, pattern: PatternArray, times: FloatArray, clock: str
    ) -> tuple[FloatArray, FloatArray]:
        """Weights at increasing `times`, all from this node on and before the next one."""
        W, a = self.state(node)
        exact = int(times[0] == getattr(self, clock)[node])
        later = times[exact:]
        if not len(later):
            return W[None], a[None]
        raw = self._run(node, pattern, later, clock)
        if not exact:
            return raw["W"], raw["a"]
        return np.concatenate((W[None], raw["W"])), np.concatenate((a[None], raw["a"]))

    def _run(self, node: int, pattern: PatternArray, times: FloatArray, clock: str) -> dict[str, Any]:
        W, a = self.state(node)
        until, save = _OPTIONS[clock]
        used = self.settings
        t = float(self.t[node])
        start = {"start_time": t} if np.isfinite(t) else {"start_log_time": float(self.log_t[node])}
        options = {
            "rtol": used.rtol,
            "atol": used.atol,
            "on_branch": used.on_branch,
            "pattern": pattern,
            "at_rest": bool(self.log_t[node] == self.rest("log_t")),
            until: float(times[-1]),
            save: times,
            **start,
        }
        held = hold(np.ascontiguousarray(W), np.ascontiguousarray(a), float(self.log_t[node]))
        options |= {
            "exponent": held.exponent,
            "weights": core_weights(self.data, used.reduction),
            "weight_decay": used.weight_decay,
            "past_stall": True,
        }
        raw = _core.integrate(
            self.data.X, self.data.y, held.W, held.a, self.leak, used.loss, used.reduction, options, None
        )
        if len(raw["t"]) != len(times):
            raise RuntimeError(f"dense output ended early: {raw['status']} ({raw['message']})")
        return raw

    def pattern(self, time: float, clock: str) -> PatternArray:
        """Pattern at a time: the first one, changed by all events up to and at that time."""
        check_inside(np.array([time]), getattr(self, clock), clock)
        if clock == "t" and time == 0.0:  # the first of all times that doubles hold as 0
            clock, time = "log_t", float(self.log_t[0])
        return pattern_at(self.events, self.raw["pattern0"], time, clock)


def check_inside(times: FloatArray, nodes: FloatArray, clock: str) -> None:
    """Refuse a time outside the run."""
    outside = ~((times >= nodes[0]) & (times <= nodes[-1]))
    if outside.any():
        expected = f"lie in the run, [{float(nodes[0])!r}, {float(nodes[-1])!r}]"
        raise invalid(clock, expected, repr(float(times[outside][0])))
