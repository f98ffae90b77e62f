"""The orbit from one saddle to the next: the exact flow, from the linearised escape, with everyone carried along."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from .._validation import IntArray
from ..early._alignment import events_of
from ..flow import Solution
from ..flow._events import EventTable
from ..limits import Limit
from ..limits._limit_of import limit_of
from ..losses import is_of_margins
from ..networks import Network
from ._carried import Carried, in_order, shifted
from ._flow import Flow
from ._horizon import is_on_its_way
from ._merged import Merged
from ._neurons import TINY_LOG2, Neurons, log2_sizes
from ._rays import put_on_rays
from ._rest import Rest
from ._saddle import is_vanishing
from ._sides import kept_off

# A neuron that leaves starts at this part of the size at which it matters: its outputs are 14 digits below the others.
ESCAPE_SIZE = 1e-7
# The infinitesimal neurons start each leg at `TINY_LOG2`, and a leg in which one passes 1e-24 is taken again, shorter.
_LARGEST_LOG2 = -80
# So is one in which a neuron shrinks by more than 1e-12: the rounding of its direction does not shrink with it.
_SHRINKS_LOG2 = 40
# Part of the room between the two that a leg is planned to use.
_ROOM = 0.7 * (_LARGEST_LOG2 - TINY_LOG2) * float(np.log(2.0))
# The same where an infinitesimal neuron approaches a boundary that it does not slide on: it is put on its side anew.
_ROOM_BESIDE = 10.0
# Time constants of the growth after the linearised escape before an arrival is looked for.
FIRST_LEG = 12.0
# A state this near to its critical point, as a part of |θ|, has arrived: the polish is off by the square of it.
ARRIVED = 1e-8
# Neurons that go so many times as far in a 256th of a leg have not.
_UNDER_WAY = 100.0
# After so many legs without arrival the orbit ends where it is; a margin that grows for ever shows in a few.
_MAX_LEGS = 100
# After so many legs or steps without arrival infinitesimal neurons are carried apart: the way to the critical point is
# long or stiff, legs of all neurons are as long as these may grow, and their growth allows no implicit steps.
_MANY_LEGS = 8
_MANY_STEPS = 600
# Whether margins grow for ever is asked after so many legs, and after twice as many each time that is not certified.
# After the larger number the orbit ends there, though some of these are not positive yet.
_LEGS_TO_INFINITY = 6
_MOST_LEGS_TO_INFINITY = 24
# Statuses of a leg that somebody has asked to end.
STOPPED = ("interrupted", "stopped_by_callback")
# States that are kept of a leg of the grown neurons alone, and pieces that infinitesimal ones are first carried on.
_SAVED = 256
_GUESS = 16
# Such a leg is so much longer than the one before.
_LONGER = 3.0


@dataclass(frozen=True, eq=False)
class Orbit:
    """A heteroclinic orbit.

    Attributes
    ----------
    legs : tuple of Solution
        One after the other, each from its own time 0; at the beginning of each, infinitesimal neurons are made small
        again.
    end : Neurons
        At the end of the last leg; grown neurons stand at `limit`.
    limit : Limit
        Where the grown neurons go.
    outcome : {"arrived", "infinity", "lost", "interrupted", "stopped_by_callback"}
    message : str
    rows : tuple of ndarray
        The neurons that each leg is a run of.
    events : EventTable
        Events of the infinitesimal neurons that are not in the runs, in the time since the beginning of the first leg.
    parted : bool
        Whether there are legs of grown neurons alone.
    error : float
        Bound of what the constants of log |w| miss of them.
    far : Solution or None
        Where margins grow for ever, the run of the grown neurons alone from `end` to their limit.
    """

    legs: tuple[Solution, ...]
    end: Neurons
    limit: Limit
    outcome: str
    message: str
    rows: tuple[IntArray, ...]
    events: EventTable
    parted: bool
    error: float
    far: Solution | None

    @property
    def duration(self) -> float:
        """Time that all legs take."""
        return float(sum(leg.t_end for leg in self.legs))


def escape_time(log_unit: float, rest: Rest, waking: IntArray) -> float:
    """Time since `rest.log_size` at which the first of the neurons that leave has grown to the start of the orbit."""
    small = log_unit + np.log(ESCAPE_SIZE) - 0.5 * np.log(len(waking))
    return float(((small - rest.log_size[waking]) / rest.rate[waking]).min())


def follow(flow: Flow, neurons: Neurons, rest: Rest, waking: IntArray, *, parted: bool = False) -> Orbit:
    """Integrate from the linearised escape to the next critical point.

    `neurons` have the directions of `rest`; those that wake have the power 0 and the size at which they start. With
    `parted` infinitesimal neurons are carried apart from the beginning.
    """
    ride = _Ride(flow, replace(neurons, pattern=rest.pattern), waking, parted)
    escaped = (FIRST_LEG - np.log(ESCAPE_SIZE)) / float(rest.rate[waking].min())
    length, longest = escaped, ride.room / float(rest.rate.max())
    while len(ride.legs) < _MAX_LEGS:
        leg = ride.run(min(length, longest))
        if leg.success and (ride.is_outgrown(leg.final) or ride.is_shrunk(leg.final)):
            longest = leg.t_end / 2
            continue
        fastest = ride.take(leg)
        is_asked = flow.watch.took(leg.t_end, int(leg.stats["steps"]))
        if not leg.success:
            outcome = leg.status if leg.status in STOPPED else "lost"
            return ride.ended(outcome, f"the run of the orbit ended with the status {leg.status}: {leg.message}")
        if is_asked:
            return ride.ended("stopped_by_callback", "the callback stopped it")
        is_over = ride.duration >= escaped
        if is_over and not ride.is_under_way(leg):
            limit = ride.limit()
            if limit.kind == "finite" and limit.certified and limit.turn <= ARRIVED:
                return ride.ended("arrived")
            if limit.kind == "direction" and ride.goes_to_infinity():
                assert ride.far is not None  # for the type checker
                stopped = ride.far.status in STOPPED
                return ride.ended(ride.far.status if stopped else "infinity", ride.far.message)
        if ride.reason:
            return ride.ended("lost", ride.reason)
        ride.after += is_over
        if not ride.parted and (ride.after >= _MANY_LEGS or ride.steps >= _MANY_STEPS):
            ride.part()
            length = leg.t_end
        length *= _LONGER if ride.parted else 2.0
        longest = ride.room / fastest if fastest > 0 else np.inf
    limit = ride.limit()
    if ride.duration >= escaped and limit.kind == "finite" and limit.certified:
        return ride.ended("arrived", f"the orbit ends {limit.turn:.1g} |θ| away from its critical point")
    return ride.ended("lost", f"no critical point is certified after {_MAX_LEGS} legs: {limit.reason}")


class _Ride:
    """An orbit under way: the network at the beginning of the next leg, and what the legs so far have added.

    At first all neurons are in one run. Once they part, the grown ones have runs of their own, and the infinitesimal
    ones are carried along the λ(t) of these.
    """

    def __init__(self, flow: Flow, neurons: Neurons, waking: IntArray, parted: bool) -> None:
        self.flow = flow
        self.legs: list[Solution] = []
        self.rows: list[IntArray] = []
        self.events: list[EventTable] = []
        self.after = 0  # legs since the linearised escape is over
        self.parted = parted
        self.error = 0.0  # of the constants of log |w|
        self.reason = ""  # why infinitesimal neurons cannot be carried further
        self._limit: tuple[int, Limit] | None = None
        self.far: Solution | None = None
        self._ask = _LEGS_TO_INFINITY  # legs after which the grown neurons are followed to their limit
        self.grown = neurons.grown.copy()
        self.grown[waking] = True
        self.log_size = np.array(neurons.log_size)
        self.start = neurons
        self.on_ray = np.zeros_like(self.grown)
        W, a = np.array(neurons.w), np.array(neurons.a)
        size = np.where(neurons.grown, 1.0, np.ldexp(1.0, TINY_LOG2))
        size[waking] = np.exp(neurons.log_size[waking])
        W, a = W * size[:, None], np.where(neurons.grown, a, np.sign(a) * size)
        self.state = Network(W, a, leak=neurons.leak, pattern=neurons.pattern)
        self._set(self.state)

    def _set(self, net: Network) -> None:
        """Put the neurons at the beginning of a leg, on their sides of the boundaries that they approach."""
        same = np.asarray(net.pattern) == np.asarray(self.state.pattern)
        stays = self.on_ray & same.all(axis=1)
        net, self.on_ray = put_on_rays(net, self.flow.data.X, stays)
        unit = float(np.exp(self.flow.log_unit))
        grown = self.grown if self.parted else np.ones_like(self.grown)
        alone = Network(
            np.where(grown[:, None], net.W, 0.0), np.where(grown, net.a, 0.0), leak=net.leak, pattern=net.pattern
        )
        moved, beside = kept_off(alone, self.flow.data.X, self.grown, unit)
        W, a = np.where(grown[:, None], moved.W, net.W), np.where(grown, moved.a, net.a)
        self.state = Network(W, a, leak=net.leak, pattern=net.pattern)
        self.room = _ROOM_BESIDE if (beside & ~self.grown).any() else _ROOM

    def part(self) -> None:
        """From here on the infinitesimal neurons are carried apart, and each cluster of grown ones is one neuron."""
        self.parted = True

    def run(self, time: float) -> Solution:
        """Integrate the next leg."""
        if not self.parted:
            return self.flow.run(self.state, time)
        self.merged = Merged(self.state, self.grown)
        return self.flow.run(self.merged.network, time, _SAVED)

    def is_outgrown(self, net: Network) -> bool:
        """Whether an infinitesimal neuron of a leg has come near to sizes that count."""
        return not self.parted and bool((log2_sizes(net)[~self.grown] > _LARGEST_LOG2).any())

    def is_shrunk(self, net: Network) -> bool:
        """Whether a neuron of a leg has become so small that rounding may have turned it."""
        begin = self.merged.network if self.parted else self.state
        live = begin.W.any(axis=1)
        return bool((log2_sizes(begin)[live] - log2_sizes(net)[live] > _SHRINKS_LOG2).any())

    @property
    def duration(self) -> float:
        """Time of the legs so far."""
        return float(sum(leg.t_end for leg in self.legs))

    @property
    def steps(self) -> int:
        """Number of steps of the legs so far."""
        return int(sum(leg.stats["steps"] for leg in self.legs))

    def take(self, leg: Solution) -> float:
        """Add a leg; return the largest rate at which an infinitesimal neuron has grown."""
        self.legs.append(leg)
        if self.parted:
            self.rows.append(self.merged.rows)
            self._carry(leg)
            return 0.0
        self.rows.append(np.arange(len(self.grown)))
        before, after = log2_sizes(self.state), log2_sizes(leg.final)
        growth = np.where(self.grown, 0.0, np.log(2.0) * (after - before))
        self.log_size += growth
        self._shrunk(leg.final)
        exponent = np.where(self.grown, 0, np.rint(TINY_LOG2 - after)).astype(np.int64)
        W, a = np.ldexp(leg.final.W, exponent[:, None]), np.ldexp(leg.final.a, exponent)
        self._set(Network(W, a, leak=leg.leak, pattern=leg.final.pattern))
        return float(growth.max()) / leg.t_end

    def _shrunk(self, net: Network) -> None:
        """Count the grown neurons that have shrunk to the origin as infinitesimal."""
        sizes = log2_sizes(net)
        gone = self.grown & net.W.any(axis=1) & (sizes < _LARGEST_LOG2)
        self.grown &= ~gone
        self.log_size[gone] = np.log(2.0) * sizes[gone]

    def is_under_way(self, leg: Solution) -> bool:
        """Tell whether grown neurons still move too fast to have arrived, for a loss of errors.

        Where the way of a 256th of a leg is far above the distance at which they arrive, so is what is left of it, and
        the limit, which takes longer than the leg, need not be asked for.
        """
        if is_of_margins(self.flow.loss):
            return False
        rows = self.grown[self.rows[-1]]
        last, before = leg.t[-1], leg.t[-2]
        W, a = leg.W[-2:, rows], leg.a[-2:, rows]
        way = np.hypot(np.linalg.norm(W[1] - W[0]), np.linalg.norm(a[1] - a[0]))
        size = np.hypot(np.linalg.norm(W[1]), np.linalg.norm(a[1]))
        return bool(way * leg.t_end > _UNDER_WAY * ARRIVED * size * _SAVED * (last - before))

    def goes_to_infinity(self) -> bool:
        """Tell whether margins are certified to grow for ever, and nothing else comes before they do.

        The limit that a leg shows is that of its last pattern, which may change: so grown neurons are followed to it.
        """
        if len(self.legs) < self._ask:
            return False
        data, end = self.flow.data, self.end()
        if self.far is None or not self.far.limit.certified:
            self.far = self.flow.to_limit(end.network)
            is_known = self.far.limit.certified or self._ask >= _MOST_LEGS_TO_INFINITY
            if self.far.status not in STOPPED and (self.far.limit.kind == "finite" or not is_known):
                self._ask *= 2
                return False
        is_asked = self.far.limit.certified and len(self.legs) < _MOST_LEGS_TO_INFINITY
        if is_asked and not is_on_its_way(data, end, self.far, self.flow.factor, self.duration):
            self.part()
            return False
        return True

    def limit(self) -> Limit:
        """Polish the critical point to which the grown neurons go, once for each leg."""
        if self._limit is None or self._limit[0] != len(self.legs):
            self._limit = len(self.legs), limit_of(self.flow.data, self.end().network, self.flow.loss)
        return self._limit[1]

    def _carry(self, leg: Solution) -> None:
        """Carry the infinitesimal neurons along the λ(t) of a leg of the grown ones."""
        rows = np.flatnonzero(~self.grown)
        first = self.flow.duals_along(leg, np.array([leg.t_start]))[0]
        small = Carried(self.flow.data, self.state, rows, first)
        if not small.follow(lambda times: self.flow.duals_along(leg, times), leg.t[:: _SAVED // _GUESS]):
            self.reason = "infinitesimal neurons cannot be carried along it in steps that are few enough"
        self.events.append(shifted(events_of(small.flow), rows, self.duration - leg.t_end))
        undecided = small.flow.reasons
        if undecided:
            j = min(undecided)
            self.reason = f"infinitesimal neuron {rows[j]} could go on in several ways: {undecided[j]}"
        self.error += small.error
        self.log_size[rows] += small.flow.log_norm
        W, a, pattern = self.merged.split(leg.final)
        W[rows], a[rows], pattern[rows] = small.flow.w, small.flow.sign, small.flow.pattern
        end = Network(W, a, leak=leg.leak, pattern=pattern)
        self._shrunk(end)
        self._set(end)

    def end(self) -> Neurons:
        """Return the neurons at the end of the last leg."""
        W, a, start = self.state.W, self.state.a, self.start
        unit = W / np.linalg.norm(W, axis=1, keepdims=True)
        w, a = np.where(self.grown[:, None], W, unit), np.where(self.grown, a, np.sign(start.a))
        power = np.where(self.grown, 0.0, start.power)
        return Neurons(w, a, self.grown, self.state.pattern, power, self.log_size, start.leak)

    def ended(self, outcome: str, message: str = "") -> Orbit:
        """Return the orbit; grown neurons that shrink to the origin are infinitesimal from here on."""
        end, limit = self.end(), self.limit()
        if outcome == "arrived":
            gone = self.grown & end.w.any(axis=1) & is_vanishing(limit.network)
            sizes = np.linalg.norm(end.w, axis=1)
            w = np.where(gone[:, None], end.w / np.where(sizes > 0, sizes, 1.0)[:, None], end.w)
            a = np.where(gone, np.sign(end.a), end.a)
            log_size = np.where(gone, np.log(np.where(gone, sizes, 1.0)), end.log_size)
            end = Neurons(w, a, self.grown & ~gone, end.pattern, end.power, log_size, end.leak)
        legs, rows = tuple(self.legs), tuple(self.rows)
        return Orbit(legs, end, limit, outcome, message, rows, in_order(self.events), self.parted, self.error, self.far)
