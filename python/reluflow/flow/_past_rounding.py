"""Past the rounding of a stalled loss: where no gap tells which samples are at rest, the flow itself goes on.

What moves the neurons is lost in the rounding of weights that cancel, and the run is `stalled` once that may have moved
θ by 1e-9. Here it goes on until that may be 1e-7. Only the last state is kept: a limit is computed from its pattern.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from ._beyond import NO_WORK, with_last_state, with_work
from ._solution import Solution

# Ends of the legs, by log t. They are short, since what is left of the flow is soon below all rounding.
LOG_TIMES = tuple(float(log_t) for log_t in range(16, 36))
# Neurons that leave and come back by rounding do so for ever; iris, classes 1 and 2, takes two events a neuron.
_MOST_EVENTS = 50.0
# Error of θ that is accepted from the rounding of weights that cancel.
_ROUNDING = 1e-7
# Explicit steps behind an event keep alive what their tolerance leaves of fast components. Beside it a flow that hardly
# moves is nothing: at 1e-9 a neuron of iris went round the corner of two boundaries for ever.
_RTOL = 1e-11


class PastRounding:
    """The state of a run past where a stalled loss is known to 1e-9, and the work that was done to come there."""

    def __init__(self, whole: Solution) -> None:
        """Begin at the end of `whole`, where its loss stalls."""
        self.whole = whole
        self.leg = whole
        self.work, self.n_events = NO_WORK, 0
        self.most_events = max(1, int(_MOST_EVENTS * whole.final.width))

    @property
    def place(self) -> str:
        """Where the legs have come to, for messages."""
        return f"at log t = {self.leg.log_t_end:.4g}, by a state that is known to {_ROUNDING:g}"

    def start(self) -> Solution:
        """Return the solution to go on from."""
        leg = self.leg
        held = {**leg._raw["held"], "is_beyond": True, "rounding": _ROUNDING, "rtol": min(leg.settings.rtol, _RTOL)}
        return Solution(leg.data, leg.initial, leg.settings, {**leg._raw, "held": held})

    def take(self, leg: Solution) -> None:
        """Go on from the end of a leg."""
        self.leg = leg
        self.work = with_work(self.work, leg.stats)
        self.n_events += len(leg.events)

    def solution(self) -> Solution:
        """Return the whole run, with the state that its limit is polished from."""
        leg = self.leg
        state: dict[str, npt.NDArray[Any]] = {
            "beyond_W": np.array(leg.final.W),
            "beyond_a": np.array(leg.final.a),
            "beyond_pattern": leg._raw["final_pattern"],
        }
        return with_last_state(self.whole, state, math.log(leg.final.norm), self.work, self.n_events)
