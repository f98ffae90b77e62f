"""The limit process of one output, stage by stage, until nothing grows."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from .._validation import IntArray
from ..datasets import Dataset
from ..flow import Solution
from ..limits._groups import groups
from ..limits._point import point_of
from ..losses import reduction_factor
from ..networks import Network
from ._carried import in_order
from ._flow import Flow
from ._horizon import FARTHER, LOG_TIME, ends_alike, n_alike, saddle_at_infinity
from ._neurons import Neurons
from ._notes import end_of_rest, notes_of
from ._orbit import STOPPED, Orbit, escape_time, follow
from ._rest import TIE_TOL, Rest, clusters, rest
from ._saddle import Saddle, is_separated, saddle_at_zero, saddle_of
from ._stage import Ending, Stage
from ._staged import Staged, Told

_DEPENDS = "what follows depends on the size of the margins that have grown"


@dataclass
class Walk(Staged):
    """A path under way: where the neurons stand, at t = time L + clock."""

    flow: Flow
    neurons: Neurons
    max_stages: int
    log_time: float = LOG_TIME
    time: float = 0.0
    clock: float = 0.0
    stages: list[Stage] = field(default_factory=list)
    parted: bool = False
    here: tuple[int, Saddle, Rest] | None = None
    first_far: tuple[int, float, float, Orbit] | None = None

    def _walk(self) -> Ending:
        data, loss = self.flow.data, self.flow.loss
        m, d = self.neurons.w.shape
        zero = Network(np.zeros((m, d)), np.zeros(m), leak=self.neurons.leak)
        return self._checked(self._from(saddle_at_zero(data, zero, loss)))

    def _from(self, saddle: Saddle, far: Solution | None = None) -> Ending:
        """Go on from a saddle; `far` is the run of what has grown to its limit, where margins grow for ever."""
        data = self.flow.data
        while True:
            still = rest(data, self.neurons, reduction_factor(self.flow.reduction, data.total) * saddle.duals)
            self.here = len(self.stages), saddle, still
            waits = still.waits(self.neurons.power)
            wait = float(waits.min(initial=np.inf))
            is_last = len(self.stages) + 1 >= self.max_stages
            if still.reasons or not np.isfinite(wait) or is_last:
                self._add(saddle, still, np.empty(0, dtype=np.int64))
                if saddle.at_infinity and not still.reasons and not np.isfinite(wait):
                    assert far is not None  # for the type checker
                    return _end_far(far)
                return *end_of_rest(still, wait, saddle), None
            waking = np.flatnonzero(waits <= wait * (1 + TIE_TOL))
            self.flow.watch.at(len(self.stages), self.time, saddle.loss)
            clock = self.clock
            try:
                orbit = self._leave(still, waking, wait)
            except KeyboardInterrupt:
                self.clock = clock
                raise
            lead = float(waits[waits > wait * (1 + TIE_TOL)].min(initial=np.inf)) - wait
            arrived = self._arrive(orbit)
            if isinstance(arrived, str):
                self._add(saddle, still, waking, orbit, (wait, lead))
                return self._stopped(orbit, arrived)
            following, neurons = arrived
            self._add(saddle, still, waking, orbit, (wait, lead), following.loss)
            self.time, self.clock = self.time + wait, self.clock + orbit.duration
            if following.at_infinity and self.first_far is None:
                self.first_far = len(self.stages), self.time, self.clock, orbit
            self.neurons, saddle, far = neurons, following, orbit.far
            self.parted = orbit.parted and not following.at_infinity

    def _leave(self, still: Rest, waking: IntArray, wait: float) -> Orbit:
        """Let the neurons grow until the first of them leave, and follow these to the next critical point."""
        grows = escape_time(self.flow.log_unit, still, waking)
        power = self.neurons.power + still.rate * wait
        power[waking] = 0.0
        log_size = still.log_size + still.rate * grows
        at = replace(self.neurons, w=still.direction, pattern=still.pattern, power=power, log_size=log_size)
        self.clock += grows
        return follow(self.flow, at, still, waking, parted=self.parted)

    def _arrive(self, orbit: Orbit) -> tuple[Saddle, Neurons] | str:
        """Describe the saddle to which an orbit leads and the neurons there; or say why that cannot be."""
        data, end = self.flow.data, orbit.end
        if orbit.outcome == "arrived":
            saddle = saddle_of(data, orbit.limit, self.flow.loss)
            net = saddle.network
            w, a = np.where(end.grown[:, None], net.W, end.w), np.where(end.grown, net.a, end.a)
            return saddle, replace(end, w=w, a=a)
        if orbit.far is None or orbit.outcome != "infinity" or is_separated(data, end.network, self.flow.loss):
            return orbit.message

        def late(net: Network, rests: npt.NDArray[np.bool_]) -> Solution:
            return self.flow.to_log_time(net, self.log_time, rests)

        return saddle_at_infinity(data, end, orbit.far, late, self.log_time, is_first=self.first_far is None)

    def _checked(self, end: Ending) -> Ending:
        """Follow what comes after the first saddle at infinity again, with margins ten times as large there.

        What is not the same is not that of the limit: the path ends before it.
        """
        if self.first_far is None or (len(self.stages) == self.first_far[0] + 1 and not self.stages[-1].legs):
            return end
        if end[0] in STOPPED:
            return end
        k, time, clock, orbit = self.first_far
        other = replace(self, log_time=FARTHER * self.log_time, time=time, clock=clock, stages=self.stages[:k])
        found = other._arrive(orbit)
        if isinstance(found, str):
            del self.stages[k:]
            return "saddle_at_infinity", f"{_DEPENDS}: {found}", None
        other.neurons = found[1]
        again = other._from(found[0], orbit.far)
        if again[0] in STOPPED:
            return again
        same = n_alike(self.stages, other.stages)
        if same < max(len(self.stages), len(other.stages)) or not ends_alike(end, again):
            del self.stages[max(same, k) :]
            return "saddle_at_infinity", f"{_DEPENDS} after saddle {len(self.stages) - 1}", None
        return end

    def _stopped(self, orbit: Orbit, why: str) -> Ending:
        """Say why a path ends with an orbit that does not arrive."""
        is_all = orbit.outcome in (*STOPPED, "lost") or is_separated(self.flow.data, orbit.end.network, self.flow.loss)
        if is_all:
            return self._not_arrived(orbit)
        where = f"on the orbit that leaves saddle {len(self.stages) - 1} some margins grow for ever and others rest"
        return "saddle_at_infinity", f"{where}, and the saddle there is not certified: {why}", None

    def _add(
        self,
        saddle: Saddle,
        still: Rest,
        waking: IntArray,
        orbit: Orbit | None = None,
        waits: tuple[float, float] = (np.inf, np.inf),
        next_loss: float = np.nan,
    ) -> None:
        """Write down a stage."""
        wakes = clusters(waking, still, self.neurons.a)
        told = Told(
            wakes=wakes,
            kind=_kind(self.flow.data, saddle, still),
            index=int(np.count_nonzero(still.rate > 0)),
            direction=still.direction,
            sector=still.pattern,
            power=np.where(still.status == "grown", 0.0, self.neurons.power),
            carried=in_order([]) if orbit is None else orbit.events,
            notes=_notes(saddle, still, wakes, orbit),
        )
        self._write(saddle, still, orbit, (next_loss, self.flow.factor), waits, told)


def _kind(data: Dataset, saddle: Saddle, still: Rest) -> str:
    """Tell the kind of critical point, of all neurons: one that grows proves that it is a saddle."""
    if (still.rate > 0).any():
        return "saddle"
    if saddle.limit is not None:
        return saddle.limit.point
    return point_of(groups(data, saddle.network), saddle.network, saddle.duals).kind


def _end_far(run: Solution) -> Ending:
    """Status and message of a path that ends at a saddle at infinity, with the run to the limit there."""
    if not run.limit.certified:
        return "lost", f"no neuron grows any more, but no direction is certified: {run.limit.reason}", run
    return "infinity", "some margins grow for ever, the others rest, and no infinitesimal neuron grows any more", run


def _notes(saddle: Saddle, still: Rest, wakes: tuple[IntArray, ...], orbit: Orbit | None) -> tuple[str, ...]:
    """Say what is special about a stage."""
    notes = list(notes_of(saddle, still, wakes, () if orbit is None else orbit.legs))
    if orbit is not None and orbit.message and orbit.outcome == "arrived":
        notes.append(orbit.message)
    if orbit is not None and orbit.parted:
        notes.append(
            f"the orbit takes the time {orbit.duration:.3g}: infinitesimal neurons were carried apart on most of it, "
            f"and the logarithms of their sizes are known to {orbit.error:.1g}"
        )
    return tuple(notes)
