"""The orbit from one saddle to the next with several outputs: the exact flow, with every infinitesimal neuron in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from .._validation import FloatArray, IntArray
from ..flow import Stop, TwoLayerSolution
from ..limits import Limit
from ..limits._outputs import limit_of_outputs
from ._bodies import Body, network_of
from ._differences_carried import NotCarriedError, carried
from ._neurons import TINY_LOG2
from ._orbit import ARRIVED, ESCAPE_SIZE, FIRST_LEG, STOPPED
from ._several_flow import OutputFlow, run_of_units
from ._several_rest import pull_of, sector_map
from ._several_saddle import vanishing
from ._sides import least_cosine, side_kept
from ._units import log2_size, units_of

# Accuracy of the orbit of a cluster that comes apart: at its begin neurons differ by 1e-7 of their size.
_PARTING_RTOL = 1e-13
# Neurons that go so many times as far in a 256th of a leg have not arrived.
_UNDER_WAY, _SAVED = 100.0, 256
# A leg is planned for so many e-foldings of the fastest infinitesimal neuron, and taken again where they are more than
# twice as many. The products w·x_i of a neuron that stands far from all boundaries stay far above rounding for longer.
_ROOM, _ROOM_CLEAR, _CLEAR = 12.0, 25.0, 1e-3
# E-foldings in a leg of what rounding leaves beside grown neurons, in which it stays below what counts as arrived.
_ROOM_OWN, _LEAST_PULL = 15.0, 1e-9
# A norm that grows by this factor in the later half of the legs goes on to grow.
_STILL = 1.01
# A pre-activation that only tends to zero, as a part of |w_j||x_i|, and of what matters for a neuron that has grown.
_NEAR, _GROWN_NEAR = 1e-7, 1e-13
# After so many legs or steps without arrival the orbit is lost.
_MAX_LEGS, _MAX_STEPS = 300, 20_000
# The limit, which may take longer than a leg, is asked for again after so many times as many legs.
_ASK_AGAIN = 1.1
# A leg that ends where it cannot go on is taken again to half of its time, so often: at the critical point errors are
# rounding, and so are the events there. The half before may have arrived.
_MAX_TAKEN_BACK = 8
# A leg ends after so many: beyond its critical point a network has events that are rounding, one after the other.
_LEG_STEPS = 1000


@dataclass(frozen=True, eq=False)
class OutputOrbit:
    """A heteroclinic orbit.

    Attributes
    ----------
    legs : tuple of TwoLayerSolution
        One after the other, each from its own time 0; at the beginning of each, infinitesimal neurons are made small
        again.
    bodies : tuple of Body
        At the end of the last leg.
    limit : Limit
        Where the grown bodies go, one neuron for each body.
    outcome : {"arrived", "infinity", "lost", "interrupted", "stopped_by_callback"}
    message : str
    far : TwoLayerSolution or None
        Where all margins grow for ever, the run of the grown bodies alone to their limit.
    """

    legs: tuple[TwoLayerSolution, ...]
    bodies: tuple[Body, ...]
    limit: Limit
    outcome: str
    message: str = ""
    far: TwoLayerSolution | None = None

    @property
    def duration(self) -> float:
        """Time that all legs take."""
        return float(sum(leg.t_end for leg in self.legs))

    @property
    def rows(self) -> tuple[IntArray, ...]:
        """The first neuron of each body, once for each leg."""
        first = np.array([int(body.members[0]) for body in self.bodies])
        return tuple(first.copy() for _ in self.legs)


def follow(
    flow: OutputFlow, bodies: Sequence[Body], rate: float, fastest: float, *, is_parting: bool = False
) -> OutputOrbit:
    """Integrate from the linearised escape to the next critical point.

    `rate` is the least of those that wake, `fastest` the largest of all; `is_parting`: a cluster comes apart.
    """
    flow = replace(flow, rtol=min(flow.rtol, _PARTING_RTOL)) if is_parting else flow
    ride = _Ride(flow, bodies)
    escaped = (FIRST_LEG - np.log(ESCAPE_SIZE)) / rate
    length, longest = escaped, ride.room / fastest
    while len(ride.legs) < _MAX_LEGS and ride.steps < _MAX_STEPS:
        leg = flow.run([body.unit for body in ride.bodies], min(length, longest), _LEG_STEPS)
        growth = ride.growth(leg)
        if (leg.success and growth > 2 * ride.room) or ride.takes_back(leg):
            longest = leg.t_end / 2
            continue
        ride.take(leg)
        is_asked = flow.watch.took(leg.t_end, int(leg.stats["steps"]))
        if not leg.success:
            outcome = leg.status if leg.status in STOPPED else "lost"
            return ride.ended(outcome, f"the run of the orbit ended with the status {leg.status}: {leg.message}")
        if is_asked:
            return ride.ended("stopped_by_callback", "the callback stopped it")
        if ride.duration >= escaped and ride.is_worth_asking(leg):
            found = ride.arrived()
            if found is not None:
                return found
        length *= 2.0
        longest = min(ride.room * leg.t_end / growth if growth > 0 else np.inf, ride.own_room())
    what = f"{_MAX_LEGS} legs" if len(ride.legs) >= _MAX_LEGS else f"{_MAX_STEPS} steps"
    said = (
        "" if flow.loss == "squared" else " (some margins may grow for ever while others rest, which is not followed)"
    )
    if flow.loss == "squared" and ride.still_grows():
        said = " (the weights still grow: there may be none)"
    return ride.ended("lost", f"no critical point is certified after {what}{said}: {ride.limit().reason}")


class _Ride:
    """An orbit under way: the bodies at the beginning of the next leg, and what the legs so far have added."""

    def __init__(self, flow: OutputFlow, bodies: Sequence[Body]) -> None:
        self.flow = flow
        self.legs: list[TwoLayerSolution] = []
        self._limit: tuple[int, Limit] | None = None
        self._taken_back = 0
        self.duration, self.steps = 0.0, 0  # of the legs so far
        self._ask_at = 0.0
        self._set(bodies)

    def _set(self, bodies: Sequence[Body]) -> None:
        """Put bodies at the beginning of a leg: infinitesimal ones tiny, and all on their sides of the boundaries."""
        X, unit = self.flow.problem.X, float(np.exp(self.flow.log_unit))
        self.bodies: list[Body] = []
        self.room = _ROOM_CLEAR
        for body in bodies:
            if body.is_grown:
                size = 2.0 ** log2_size(body.unit.w)
                moved = side_kept(body.unit, X, _GROWN_NEAR * unit / size)[0]
            else:
                tiny = body.unit.scaled(TINY_LOG2 - round(log2_size(body.unit.w)))
                moved = side_kept(tiny, X, _NEAR)[0]
                if least_cosine(moved.w, moved.sides, X) < _CLEAR:
                    self.room = _ROOM
            self.bodies.append(replace(body, unit=moved))

    def _sizes(self, W: FloatArray) -> FloatArray:
        small = [not body.is_grown for body in self.bodies]
        return float(np.log(2.0)) * np.array([log2_size(w) for w in W[small]])

    def growth(self, leg: TwoLayerSolution) -> float:
        """Return by how many e-foldings an infinitesimal neuron has grown, the most."""
        return float((self._sizes(leg.W[-1]) - self._sizes(leg.W[0])).max(initial=0.0))

    def own_room(self) -> float:
        """Return the time in which rounding could part what stands for neurons that have grown, at the rate of now."""
        flow, rates = self.flow, [0.0]
        lam = flow.factor * flow.problem.duals(flow.outputs(network_of(self.bodies, flow.leak)))
        for sides in {body.unit.sides.tobytes(): body.unit.sides for body in self.bodies if body.is_grown}.values():
            rates.append(float(np.linalg.norm(sector_map(flow.problem.X, lam, sides, flow.leak), 2)))
        fastest = max(rates)
        return _ROOM_OWN / fastest if fastest > _LEAST_PULL * pull_of(flow.problem.X, lam) else np.inf

    def takes_back(self, leg: TwoLayerSolution) -> bool:
        """Tell whether a leg that did not end as it should is taken again, not so far."""
        if leg.success or leg.status in STOPPED or not leg.t_end > 0 or self._taken_back == _MAX_TAKEN_BACK:
            return False
        self._taken_back += 1
        return True

    def take(self, leg: TwoLayerSolution) -> None:
        """Add a leg."""
        self.legs.append(leg)
        self.duration, self.steps = self.duration + leg.t_end, self.steps + int(leg.stats["steps"])
        problem = self.flow.problem
        units = units_of(leg.layered._end, problem.X.shape[1], problem.targets.shape[1])
        ends = []
        for k, (body, unit) in enumerate(zip(self.bodies, units, strict=True)):
            if body.is_grown:
                ends.append(replace(self._with_rows(leg, k), unit=unit))
                continue
            gain = float(np.log(2.0)) * (log2_size(unit.w) - log2_size(body.unit.w))
            ends.append(replace(body, unit=unit, log_size=body.log_size + gain))
        self._set(ends)

    def _with_rows(self, leg: TwoLayerSolution, k: int) -> Body:
        """Carry what is left of the differences in a cluster along a leg."""
        body = self.bodies[k]
        try:
            return replace(body, rows=carried(self.flow, body.rows, leg, k, body.unit.sides))
        except NotCarriedError as error:
            return replace(body, rows=(), lost=f"on the way here {error} as they pass")

    def still_grows(self) -> bool:
        """Tell whether the norm of the grown bodies has grown in the later half of the legs."""
        half = self.legs[len(self.legs) // 2]
        rows = np.array([body.is_grown for body in self.bodies])
        before = np.hypot(np.linalg.norm(half.W[0, rows]), np.linalg.norm(half.a[0, rows]))
        return bool(network_of(self.bodies, self.flow.leak).norm > _STILL * before)

    def is_worth_asking(self, leg: TwoLayerSolution) -> bool:
        """Tell whether it is time to ask for the limit, and grown neurons do not move too fast to have arrived."""
        if len(self.legs) < self._ask_at or self._is_under_way(leg):
            return False
        self._ask_at = _ASK_AGAIN * len(self.legs)
        return True

    def _is_under_way(self, leg: TwoLayerSolution) -> bool:
        if len(leg.t) < 2 or self.flow.loss != "squared":
            return False
        rows = np.array([body.is_grown for body in self.bodies])
        W, a = leg.W[-2:, rows], leg.a[-2:, rows]
        way = np.hypot(np.linalg.norm(W[1] - W[0]), np.linalg.norm(a[1] - a[0]))
        size = np.hypot(np.linalg.norm(W[1]), np.linalg.norm(a[1]))
        return bool(way * leg.t_end > _UNDER_WAY * ARRIVED * size * _SAVED * (leg.t[-1] - leg.t[-2]))

    def limit(self) -> Limit:
        """Polish the critical point to which the grown bodies go, once for each leg."""
        if self._limit is None or self._limit[0] != len(self.legs):
            net = network_of(self.bodies, self.flow.leak)
            self._limit = len(self.legs), limit_of_outputs(self.flow.problem, net, goes_on=False)
        return self._limit[1]

    def arrived(self) -> OutputOrbit | None:
        """Return the orbit if it has come to a certified critical point, or goes to infinity for sure."""
        limit = self.limit()
        if limit.kind == "finite" and limit.certified and limit.turn <= ARRIVED:
            gone = vanishing(self.bodies, limit)
            if not gone:
                return self.ended("arrived")
            why = f"neuron {gone[0].members[0]} shrinks to the origin after it has grown, which is not followed"
            return self.ended("lost", why)
        if limit.kind == "direction" and self._is_separated():
            units = [body.unit for body in self.bodies if body.is_grown]
            flow = self.flow
            objective = flow.loss, flow.reduction
            far = run_of_units(flow.pair, units, Stop(limit=True), objective, flow.leak, 1e-9, flow.watch, flow.data)
            outcome = far.status if far.status in STOPPED else "infinity"
            return replace(self.ended(outcome, far.message), far=far)
        return None

    def _is_separated(self) -> bool:
        """Tell whether all margins stay positive for ever: below log 2 of the loss each class has its own half."""
        problem = self.flow.problem
        least = float(problem.counts[problem.counts > 0].min())
        return self.flow.loss_at(network_of(self.bodies, self.flow.leak)(problem.X)) < least * float(np.log(2.0))

    def ended(self, outcome: str, message: str = "") -> OutputOrbit:
        """Return the orbit."""
        bodies = tuple(
            body if body.is_grown else replace(body, unit=body.unit.scaled(-round(log2_size(body.unit.w))))
            for body in self.bodies
        )
        return OutputOrbit(tuple(self.legs), bodies, self.limit(), outcome, message)
