"""What a proof holds: events with enclosures of their times, states with radii, and where it ends."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from .._validation import FloatArray, IntArray, freeze, invalid, real
from ..kinks import EVENT_KINDS
from ._writing import write

MESSAGES = {
    "none": "everything up to the end is proved",
    "event_not_excluded": "the sign of a pre-activation may change where the solution has no event",
    "event_missing": "an event of the solution does not happen",
    "not_transversal": "the rate at which a pre-activation reaches zero has no certain sign",
    "order_in_neuron": "two events of one neuron are too close to be told apart",
    "tube": "the bounds grow too fast to be closed",
    "sign_of_output": "an output weight is not certainly away from zero at an event",
    "multiplier": "the multiplier of a boundary on which a neuron slides is not certainly within its bounds",
    "release_slope": "the rate at which a multiplier meets its bound has no certain sign",
    "dependent_boundaries": "boundaries on which a neuron slides, with those that it meets there, may be dependent",
    "precision": "numbers have no digits left: a margin beyond 700 (600 with 32 digits), or time that does not advance",
    "unsupported": "the next event is of a kind that is not proved: a branch, or one at the start",
    "start_on_boundary": "the solution does not say which pre-activations are zero at the start, or another sign there",
    "stopped": "interrupted",
}


# For the rounding of ends of enclosures to 32 digits.
_OUTWARD = 1.0 + 1e-9


@dataclass(frozen=True, eq=False)
class ProvedEvents:
    """Events that are proved to happen, in the order of the middles of their enclosures. Read-only columns.

    Attributes
    ----------
    t_lo, t_hi : ndarray, shape (k,)
        The time of the event is in [t_lo, t_hi].
    t, t_low, t_radius : ndarray, shape (k,)
        The same to all digits: it is within `t_radius` of t + t_low. `t_low` is zero in a proof of 16 digits.
    neuron, sample : ndarray of int, shape (k,)
    kind : ndarray of str, shape (k,)
        ``cross_up``, ``cross_down``, ``die``, ``slide``, ``leave_up`` or ``leave_down``.
    margin : ndarray, shape (k,)
        The rate of the pre-activation at the event, or of the multiplier where a neuron leaves by itself, over the
        bound of its error: above 1, or it would not be proved.
    """

    t_lo: FloatArray
    t_hi: FloatArray
    t: FloatArray
    t_low: FloatArray
    t_radius: FloatArray
    neuron: IntArray
    sample: IntArray
    kind: npt.NDArray[np.str_]
    margin: FloatArray

    def __post_init__(self) -> None:
        """Make the columns read-only."""
        for column in fields(self):
            freeze(getattr(self, column.name))

    def __len__(self) -> int:
        return len(self.t_lo)

    @property
    def width(self) -> FloatArray:
        """Widths of the enclosures, shape (k,)."""
        width: FloatArray = 2.0 * self.t_radius
        return width

    def _ends(self) -> tuple[list[tuple[float, float]], list[tuple[float, float]]]:
        """Return lower and upper ends as pairs of a double and the rest, which compare as their sums do."""
        if not self.t_low.any():
            return [(t, 0.0) for t in self.t_lo.tolist()], [(t, 0.0) for t in self.t_hi.tolist()]
        ends = []
        for rest in (self.t_low - self.t_radius * _OUTWARD, self.t_low + self.t_radius * _OUTWARD):
            high = self.t + rest
            ends.append(list(zip(high.tolist(), (rest - (high - self.t)).tolist(), strict=True)))
        return ends[0], ends[1]


@dataclass(frozen=True, eq=False)
class State:
    """An enclosure of the network at one time: the true (w_j, a_j) is within ``radius[j]`` of (W[j], a[j]).

    With 32 digits it is within that of W + W_low and a + a_low, sums that no double holds.

    Attributes
    ----------
    t : float
    W : ndarray, shape (m, d)
    a : ndarray, shape (m,)
    radius : ndarray, shape (m,)
        Euclidean, of the d + 1 numbers of a neuron together.
    W_low : ndarray, shape (m, d)
    a_low : ndarray, shape (m,)
        Zero in a proof of 16 digits.
    """

    t: float
    W: FloatArray
    a: FloatArray
    radius: FloatArray
    W_low: FloatArray
    a_low: FloatArray

    def __post_init__(self) -> None:
        """Make the arrays read-only."""
        for array in (self.W, self.a, self.radius, self.W_low, self.a_low):
            freeze(array)

    def holds(self, W: npt.ArrayLike, a: npt.ArrayLike) -> bool:
        """Tell whether weights of these shapes lie inside, up to rounding of the comparison."""
        of_W = np.asarray(W, np.float64) - self.W - self.W_low
        apart = np.square(of_W).sum(axis=1) + np.square(np.asarray(a) - self.a - self.a_low)
        return bool((np.sqrt(apart) <= self.radius).all())


@dataclass(frozen=True, eq=False, repr=False)
class Proof:
    """What `reluflow.prove` returns: what is proved of a run, and where and why it ends.

    Attributes
    ----------
    status : str
        ``"proved"`` or ``"not_proved"``.
    proved_until : float
        Up to this time the events below, and no others, happen.
    reason : str
        Why the proof ends before `until`, one word; ``"none"`` if it does not. `message` says it as a sentence.
    neuron, sample : int
        The pair at which it ends, -1 where there is none.
    t_reason : float
        The time of that, nan where there is none.
    events : ProvedEvents
    states : tuple of State
        Enclosures at the times `at` that are proved.
    bound : float
        Bound of the distance of all neurons together at the end.
    steps : int
    digits : int
        16 where states and times are doubles, 32 where they are sums of two.
    problem : dict
        What was proved: data, start, loss; the start of `sol`, bit for bit.
    claims : dict
        The events that the solution claims.
    """

    status: str
    proved_until: float
    reason: str
    neuron: int
    sample: int
    t_reason: float
    events: ProvedEvents
    states: tuple[State, ...]
    bound: float
    steps: int
    digits: int
    problem: dict[str, Any]
    claims: dict[str, Any]
    _again: Callable[[float], State] | None = field(default=None, compare=False)

    def __bool__(self) -> bool:
        """Tell whether everything up to `until` is proved."""
        return self.status == "proved"

    @property
    def message(self) -> str:
        """The outcome as a sentence."""
        text = f"proved until t = {self.proved_until!r}"
        if self.status == "proved":
            return text
        where = f", neuron {self.neuron}" if self.neuron >= 0 else ""
        where += f", sample {self.sample}" if self.sample >= 0 else ""
        return f"{text}, then {self.reason}{where}: {MESSAGES[self.reason]}"

    @cached_property
    def order_undecided(self) -> tuple[tuple[int, int], ...]:
        """Pairs of positions in `events` whose enclosures of time overlap: of two neurons, in either order.

        What one neuron does at one instant (it reaches a boundary and leaves others for that) is one event here.
        """
        neuron = self.events.neuron.tolist()
        low, high = self.events._ends()
        order = sorted(range(len(low)), key=low.__getitem__)
        pairs = []
        for place, k in enumerate(order):
            for other in order[place + 1 :]:
                if low[other] > high[k]:
                    break
                if neuron[k] != neuron[other]:
                    pairs.append((min(k, other), max(k, other)))
        return tuple(sorted(pairs))

    def __call__(self, t: float) -> State:
        """Return an enclosure of the network at time t; at a time that is not among `at` the proof is done again.

        Raises
        ------
        ValueError
            t is outside of what is proved.
        """
        when = real(t, "t")
        if not self.problem["t"] <= when <= self.proved_until:
            raise invalid("t", f"lie between {self.problem['t']!r} and {self.proved_until!r}", repr(when))
        for state in self.states:
            if state.t == when:
                return state
        if self._again is None:
            raise invalid("t", "be one of the times of the certificate", repr(when))
        return self._again(when)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a certificate: JSON with hexadecimal floats, whole or not at all; `reluflow.proof.load` reads it.

        Raises
        ------
        OSError
            The folder does not exist or may not be written to; the message names the path.
        """
        write(self, path)

    def __repr__(self) -> str:
        """One line: the outcome and the sizes."""
        events = f"{len(self.events)} events, {len(self.order_undecided)} pairs of them in undecided order"
        return f"Proof({self.message}; {events}, bound {self.bound:.3g}, {self.steps} steps)"


def kind_names(codes: npt.NDArray[np.int8]) -> npt.NDArray[np.str_]:
    """Names of the prover's kinds of events."""
    names: npt.NDArray[np.str_] = np.array(KINDS)[codes]
    return names


# The kinds a proof knows, in the order of the core; the number after them stands for every other kind, and those after
# it for what a run says of boundaries at its start, which is not among the events of a proof.
KINDS = ("cross_up", "cross_down", "die", "slide", "leave_up", "leave_down")
START_SIDES = {"start_up": 1, "start_down": -1, "start_slide": 0}
_NUMBERS = {name: k for k, name in enumerate((*KINDS, "other", *START_SIDES))}
KIND_OF_CODE = np.array([_NUMBERS.get(kind, len(KINDS)) for kind in EVENT_KINDS], dtype=np.int8)
