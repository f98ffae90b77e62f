"""The orbit from one saddle to the next: the exact flow, from the linearised escape, with everyone carried along."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._validation import FloatArray, IntArray
from ..datasets import Dataset
from ..flow import Solution, Stop, integrate
from ..limits import Limit
from ..limits._limit_of import limit_of
from ..losses import LossName, ReductionName, is_of_margins
from ..networks import Network
from ._neurons import Neurons
from ._rest import Rest
from ._sides import kept_off

# A neuron that leaves starts at this part of the size at which it matters: its outputs are 14 digits below the others.
_ESCAPE_SIZE = 1e-7
# The infinitesimal neurons start each leg at about 1e-144, and a leg in which one passes 1e-24 is taken again, shorter:
# their outputs stay far below rounding, and the smallest of them far above the smallest double.
_TINY_LOG2 = -480
_LARGEST_LOG2 = -80
# Part of the room between the two that a leg is planned to use.
_ROOM = 0.7 * (_LARGEST_LOG2 - _TINY_LOG2) * float(np.log(2.0))
# The same where an infinitesimal neuron approaches a boundary that it does not slide on: it is put on its side anew.
_ROOM_BESIDE = 10.0
# Time constants of the growth after the linearised escape before an arrival is looked for.
_FIRST_LEG = 12.0
# A state this near to its critical point, as a part of |θ|, has arrived: the polish is off by the square of it.
_ARRIVED = 1e-8
# After so many legs without arrival the orbit ends where it is; a margin that grows for ever shows in a few.
_MAX_LEGS = 60
_LEGS_TO_INFINITY = 6


@dataclass(frozen=True)
class Flow:
    """What all orbits of a path share."""

    data: Dataset
    loss: LossName
    reduction: ReductionName
    rtol: float

    def run(self, net: Network, time: float) -> Solution:
        """Integrate a network for some time."""
        until = Stop(time=time)
        loss, reduction = self.loss, self.reduction
        return integrate(self.data, net, until=until, loss=loss, reduction=reduction, rtol=self.rtol, n_threads=1)

    def to_limit(self, net: Network) -> Solution:
        """Integrate the grown neurons of a network until the direction in which they end is certified."""
        live = np.flatnonzero(net.a)
        pattern = None if net.pattern is None else net.pattern[live]
        alone = Network(net.W[live], net.a[live], leak=net.leak, pattern=pattern)
        loss, reduction = self.loss, self.reduction
        return integrate(self.data, alone, until=Stop(limit=True), loss=loss, reduction=reduction, n_threads=1)

    @property
    def log_unit(self) -> float:
        """Logarithm of the size of a neuron whose outputs matter."""
        outputs = 1.0 if is_of_margins(self.loss) else float(np.abs(self.data.y).max())
        return 0.5 * float(np.log(outputs / np.linalg.norm(self.data.X, axis=1).max()))


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
    outcome : {"arrived", "infinity", "lost"}
    message : str
    """

    legs: tuple[Solution, ...]
    end: Neurons
    limit: Limit
    outcome: str
    message: str

    @property
    def duration(self) -> float:
        """Time that all legs take."""
        return float(sum(leg.t_end for leg in self.legs))


def escape_time(flow: Flow, rest: Rest, waking: IntArray) -> float:
    """Time since `rest.log_size` at which the first of the neurons that leave has grown to the start of the orbit."""
    small = flow.log_unit + np.log(_ESCAPE_SIZE) - 0.5 * np.log(len(waking))
    return float(((small - rest.log_size[waking]) / rest.rate[waking]).min())


def follow(flow: Flow, neurons: Neurons, rest: Rest, waking: IntArray) -> Orbit:
    """Integrate from the linearised escape to the next critical point.

    `neurons` have the directions of `rest`; those that wake have the power 0 and the size at which they start.
    """
    ride = _Ride(flow, neurons, waking)
    escaped = (_FIRST_LEG - np.log(_ESCAPE_SIZE)) / float(rest.rate[waking].min())
    length, longest = escaped, ride.room / float(rest.rate.max())
    limit = None
    while len(ride.legs) < _MAX_LEGS:
        leg = flow.run(ride.net, min(length, longest))
        if leg.success and ride.is_outgrown(leg.final):
            longest = leg.t_end / 2
            continue
        fastest = ride.take(leg)
        limit = limit_of(flow.data, ride.end().network, flow.loss)
        if not leg.success:
            return ride.ended(limit, "lost", f"the run of the orbit ended with the status {leg.status}: {leg.message}")
        is_over = ride.duration >= escaped
        if is_over and limit.kind == "finite" and limit.certified and limit.turn <= _ARRIVED:
            return ride.ended(limit, "arrived")
        if is_over and limit.kind == "direction" and len(ride.legs) >= _LEGS_TO_INFINITY:
            return ride.ended(limit, "infinity")
        length, longest = 2 * length, ride.room / fastest if fastest > 0 else np.inf
    assert limit is not None  # for the type checker: there are legs
    if ride.duration >= escaped and limit.kind == "finite" and limit.certified:
        return ride.ended(limit, "arrived", f"the orbit ends {limit.turn:.1g} |θ| away from its critical point")
    return ride.ended(limit, "lost", f"no critical point is certified after {_MAX_LEGS} legs: {limit.reason}")


class _Ride:
    """An orbit under way: the network at the beginning of the next leg, and what the legs so far have added."""

    def __init__(self, flow: Flow, neurons: Neurons, waking: IntArray) -> None:
        self.flow = flow
        self.legs: list[Solution] = []
        self.grown = neurons.grown.copy()
        self.grown[waking] = True
        self.log_size = np.array(neurons.log_size)
        self.start = neurons
        W, a = np.array(neurons.w), np.array(neurons.a)
        size = np.where(neurons.grown, 1.0, np.ldexp(1.0, _TINY_LOG2))
        size[waking] = np.exp(neurons.log_size[waking])
        W, a = W * size[:, None], np.where(neurons.grown, a, np.sign(a) * size)
        self._set(Network(W, a, leak=neurons.leak, pattern=neurons.pattern))

    def _set(self, net: Network) -> None:
        """Put the neurons at the beginning of a leg, on their sides of the boundaries that they approach."""
        self.net, beside = kept_off(net, self.flow.data.X, self.grown, float(np.exp(self.flow.log_unit)))
        self.room = _ROOM_BESIDE if (beside & ~self.grown).any() else _ROOM

    def is_outgrown(self, net: Network) -> bool:
        """Whether an infinitesimal neuron has come near to sizes that count."""
        return bool((_log2_sizes(net)[~self.grown] > _LARGEST_LOG2).any())

    @property
    def duration(self) -> float:
        """Time of the legs so far."""
        return float(sum(leg.t_end for leg in self.legs))

    def take(self, leg: Solution) -> float:
        """Add a leg; return the largest rate at which an infinitesimal neuron has grown."""
        self.legs.append(leg)
        after = _log2_sizes(leg.final)
        growth = np.where(self.grown, 0.0, np.log(2.0) * (after - _log2_sizes(self.net)))
        self.log_size += growth
        gone = self.grown & leg.final.W.any(axis=1) & (after < _LARGEST_LOG2)
        self.grown &= ~gone
        self.log_size[gone] = np.log(2.0) * after[gone]
        exponent = np.where(self.grown, 0, np.rint(_TINY_LOG2 - after)).astype(np.int64)
        W, a = np.ldexp(leg.final.W, exponent[:, None]), np.ldexp(leg.final.a, exponent)
        self._set(Network(W, a, leak=leg.leak, pattern=leg.final.pattern))
        return float(growth.max()) / leg.t_end

    def end(self) -> Neurons:
        """Return the neurons at the end of the last leg."""
        W, a, start = self.net.W, self.net.a, self.start
        unit = W / np.linalg.norm(W, axis=1, keepdims=True)
        w, a = np.where(self.grown[:, None], W, unit), np.where(self.grown, a, np.sign(start.a))
        power = np.where(self.grown, 0.0, start.power)
        return Neurons(w, a, self.grown, self.net.pattern, power, self.log_size, start.leak)

    def ended(self, limit: Limit, outcome: str, message: str = "") -> Orbit:
        """Return the orbit; grown neurons that shrink to the origin are infinitesimal from here on."""
        end = self.end()
        if outcome == "arrived":
            gone = self.grown & end.w.any(axis=1) & ~limit.network.W.any(axis=1)
            sizes = np.linalg.norm(end.w, axis=1)
            w = np.where(gone[:, None], end.w / np.where(sizes > 0, sizes, 1.0)[:, None], end.w)
            a = np.where(gone, np.sign(end.a), end.a)
            log_size = np.where(gone, np.log(np.where(gone, sizes, 1.0)), end.log_size)
            end = Neurons(w, a, self.grown & ~gone, end.pattern, end.power, log_size, end.leak)
        return Orbit(tuple(self.legs), end, limit, outcome, message)


def _log2_sizes(net: Network) -> FloatArray:
    """log2 |w_j|, without underflow of squares; -inf for zero, shape (m,)."""
    largest = np.abs(net.W).max(axis=1)
    exponent = np.frexp(largest)[1]
    with np.errstate(divide="ignore"):
        return np.asarray(np.log2(np.linalg.norm(np.ldexp(net.W, -exponent[:, None]), axis=1)) + exponent)
