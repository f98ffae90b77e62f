"""`saddle_to_saddle` with several outputs: the same limit process, with neurons that have a direction in R^d x R^K."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from .._validation import FloatArray, IntArray, PatternArray
from ..early._outputs import heads_of
from ..kinks._boundaries import names
from ..layered._several import pair_of
from ..losses import ReductionName
from ..networks import Network
from ._at_bounds import beside
from ._bodies import Body, clusters_of, index_of, leaving, powers_of, resting, small_of, what_hides, with_rows
from ._carried import in_order
from ._notes import end_of_rest, notes_of
from ._orbit import escape_time
from ._rest import TIE_TOL
from ._saddle import Saddle
from ._several_flow import OutputFlow, problem_of
from ._several_orbit import OutputOrbit, follow
from ._several_rest import OutputRest, rest_of_outputs
from ._several_saddle import polished, saddle_at_zero, saddle_of, what_parts
from ._stage import Ending, Stage
from ._staged import Staged, Told
from ._watch import Watch


def flow_of_outputs(
    data: Any, rows: FloatArray, signs: npt.ArrayLike, options: tuple[str, ReductionName, float, float], watch: Watch
) -> tuple[OutputFlow, FloatArray, FloatArray]:
    """Check data and starts against each other; return the flow, and directions of w_j and a_j of length one.

    `options` are the loss, the reduction, the leak and the tolerance.

    Raises
    ------
    ValueError
        What does not fit; the message names it.
    """
    loss, reduction, leak, rtol = options
    heads = heads_of(signs, len(rows))
    units = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    pair = pair_of(data, Network(units, heads, leak=leak), loss)
    problem = problem_of(pair, loss, heads.shape[1])
    kept = pair.data if isinstance(data, tuple) else data
    name: Literal["squared", "cross_entropy"] = "squared" if loss == "squared" else "cross_entropy"
    return OutputFlow(kept, pair, problem, name, reduction, leak, rtol, watch), units, heads


@dataclass
class OutputWalk(Staged):
    """A path under way: where the bodies stand, at t = time L + clock."""

    flow: OutputFlow
    bodies: tuple[Body, ...]
    max_stages: int
    time: float = 0.0
    clock: float = 0.0
    stages: list[Stage] = field(default_factory=list)
    here: tuple[int, Saddle, OutputRest] | None = None

    def _walk(self) -> Ending:
        flow, nobody = self.flow, np.empty(0, dtype=np.int64)
        saddle = saddle_at_zero(flow, self._zero())
        while True:
            lam = flow.factor * saddle.duals
            self.bodies = resting(self.bodies, lam, flow.problem.X, flow.leak)
            still = with_rows(self.bodies, rest_of_outputs(flow, small_of(self.bodies), lam))
            self.here = len(self.stages), saddle, still
            power = powers_of(self.bodies)
            waits = still.waits(power)
            wait = float(waits.min(initial=np.inf))
            is_last = len(self.stages) + 1 >= self.max_stages
            waking = np.flatnonzero(waits <= wait * (1 + TIE_TOL))
            parts = what_parts(flow, saddle, self.bodies) or what_hides(self.bodies, waking, wait)
            if parts or still.reasons or not np.isfinite(wait) or is_last:
                self._add(saddle, still, nobody)
                return ("undecided", parts, None) if parts else (*end_of_rest(still, wait, saddle), None)
            flow.watch.at(len(self.stages), self.time, saddle.loss)
            lead = float(waits[waits > wait * (1 + TIE_TOL)].min(initial=np.inf)) - wait
            clock = self.clock
            try:
                orbit = self._leave(still, waking, wait, lam)
            except KeyboardInterrupt:
                self.clock = clock
                raise
            if orbit.outcome != "arrived":
                self._add(saddle, still, waking, orbit, (wait, lead))
                return self._not_arrived(orbit)
            bodies = polished(orbit.bodies, orbit.limit)
            following = saddle_of(flow, bodies)
            self._add(saddle, still, waking, orbit, (wait, lead), following.loss)
            self.time, self.clock = self.time + wait, self.clock + orbit.duration
            self.bodies, saddle = bodies, following

    def _zero(self) -> Network:
        W, a = (np.array([getattr(body.unit, name) for body in self.bodies]) for name in ("w", "a"))
        return Network(np.zeros_like(W), np.zeros_like(a), leak=self.flow.leak)

    def _leave(self, still: OutputRest, waking: IntArray, wait: float, lam: FloatArray) -> OutputOrbit:
        """Let the neurons grow until the first of them leave, and follow these to the next critical point."""
        grows = escape_time(self.flow.log_unit, still, waking)
        bodies = leaving(beside(self.flow, lam, self.bodies), still, waking, wait, grows)
        self.clock += grows
        is_parting = bool((still.status[waking] == "grown").any())
        rates = float(still.rate[waking].min()), float(still.rate.max())
        return follow(self.flow, bodies, *rates, is_parting=is_parting)

    def _add(
        self,
        saddle: Saddle,
        still: OutputRest,
        waking: IntArray,
        orbit: OutputOrbit | None = None,
        waits: tuple[float, float] = (np.inf, np.inf),
        next_loss: float = np.nan,
    ) -> None:
        """Write down a stage."""
        wakes = clusters_of(waking, still)
        direction, output, sector = _with_grown(still, saddle.network)
        said = notes_of(saddle, still, wakes, () if orbit is None else orbit.legs)
        told = Told(
            wakes=wakes,
            kind=self._kind(saddle, still),
            index=index_of(self.bodies, still),
            direction=direction,
            sector=sector,
            power=powers_of(self.bodies),
            carried=in_order([]),
            notes=(*said, *_parting(still, wakes)),
            output=output,
        )
        self._write(saddle, still, orbit, (next_loss, self.flow.factor), waits, told)

    def _kind(self, saddle: Saddle, still: OutputRest) -> str:
        """Tell the kind of critical point, of all neurons: one that grows proves that it is a saddle."""
        if (still.rate > 0).any():
            return "saddle"
        if saddle.limit is not None:
            return saddle.limit.point
        return "not decided" if saddle.duals.any() else "global"


def _with_grown(still: OutputRest, net: Network) -> tuple[FloatArray, FloatArray, PatternArray]:
    """Return directions, outputs and sectors, of neurons that have grown those of the network."""
    grown, sector = still.status == "grown", still.pattern.copy()
    if net.pattern is not None:
        sector[grown] = net.pattern[grown]
    direction = np.where(grown[:, None], net.W, still.direction)
    return direction, np.where(grown[:, None], net.a, still.output), sector


def _parting(still: OutputRest, wakes: tuple[IntArray, ...]) -> tuple[str, ...]:
    """Say which neurons part that had grown together."""
    parts = [part for part in wakes if (still.status[part] == "grown").all()]
    return tuple(f"neurons {names(part)}, which have grown together, part" for part in parts)
