"""What walks of one output and of several have in common: how they end, and how their stages are written down."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._validation import FloatArray, IntArray, PatternArray, freeze
from ..flow._events import EventTable
from ._orbit import STOPPED, Orbit
from ._passing import time_of_loss
from ._rest import Rest
from ._saddle import Saddle
from ._several_orbit import OutputOrbit
from ._stage import Ending, Run, Stage


@dataclass(frozen=True, eq=False)
class Told:
    """What a walk tells of a stage itself: the fields of `Stage` of these names."""

    wakes: tuple[IntArray, ...]
    kind: str
    index: int
    direction: FloatArray
    sector: PatternArray
    power: FloatArray
    carried: EventTable
    notes: tuple[str, ...]
    output: FloatArray | None = None


class Staged(ABC):
    """A path under way: what stands still is at t = time L + clock."""

    time: float
    clock: float
    stages: list[Stage]
    here: tuple[int, Saddle, Any] | None

    def run(self) -> Ending:
        """Follow all stages; return the status and the message of the end, and the run to infinity if it ends there."""
        try:
            return self._walk()
        except KeyboardInterrupt:
            if self.here is None:
                raise
            if len(self.stages) == self.here[0]:
                self._add(*self.here[1:], np.empty(0, dtype=np.int64))
            return "interrupted", f"interrupted at saddle {len(self.stages) - 1}; these are the stages so far", None

    @abstractmethod
    def _walk(self) -> Ending:
        """Follow all stages."""

    @abstractmethod
    def _add(self, saddle: Saddle, still: Any, waking: IntArray) -> None:
        """Write down a stage that nobody leaves."""

    def _not_arrived(self, orbit: Orbit | OutputOrbit) -> Ending:
        """Say why a path ends with an orbit that leads to no saddle."""
        last = len(self.stages) - 1
        if orbit.outcome in STOPPED:
            return orbit.outcome, f"on the orbit that leaves saddle {last}: {orbit.message}", None
        if orbit.outcome == "lost":
            return "lost", f"the orbit that leaves saddle {last} has no certified end: {orbit.message}", None
        run: Run | None = orbit.far
        assert run is not None  # for the type checker
        if not run.success:
            return "lost", f"after saddle {last} every margin grows, but no direction is certified: {run.message}", run
        return "infinity", f"after saddle {last} every margin grows for ever; the flow ends in a direction", run

    def _write(
        self,
        saddle: Saddle,
        still: Rest,
        orbit: Orbit | OutputOrbit | None,
        fall: tuple[float, float],
        waits: tuple[float, float],
        told: Told,
    ) -> None:
        """Write down a stage.

        `fall` is the loss of the next saddle, and the factor of sums in the flow; `waits` how long the network rests,
        and how much later the next other neuron would leave.
        """
        legs, rows = ((), ()) if orbit is None else (orbit.legs, orbit.rows)
        passed = time_of_loss(legs, 0.5 * (saddle.loss + fall[0]), fall[1])
        arrays = (saddle.duals, still.status, still.rate, told.direction, told.sector, told.power, told.output)
        for array in (*arrays, *told.wakes, *rows):
            if array is not None:
                freeze(array)
        self.stages.append(
            Stage(
                number=len(self.stages),
                begins=self.time,
                ends=self.time + waits[0],
                network=saddle.network,
                duals=saddle.duals,
                loss=saddle.loss,
                kind=told.kind,
                index=told.index,
                freedom=saddle.freedom,
                limit=saddle.limit,
                status=still.status,
                direction=told.direction,
                sector=told.sector,
                rate=still.rate,
                power=told.power,
                events=still.events,
                wakes=told.wakes,
                lead=waits[1],
                offset=self.clock + passed,
                departs=self.clock if legs else np.nan,
                legs=legs,
                rows=rows,
                carried=told.carried,
                notes=told.notes,
                at_infinity=saddle.at_infinity,
                output=told.output,
            )
        )
