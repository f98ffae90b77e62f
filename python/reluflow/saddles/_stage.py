"""One stage of a path: a saddle, what the infinitesimal neurons do there, and the orbit that leaves it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .._validation import FloatArray, IntArray, PatternArray, ReadOnly
from ..flow import Solution, TwoLayerSolution
from ..flow._events import EventTable
from ..limits import Limit
from ..networks import Network

Run = Solution | TwoLayerSolution
# Status and message of the end of a path, and the run to infinity if it ends there.
Ending = tuple[str, str, Run | None]


@dataclass(frozen=True, eq=False, repr=False)
class Stage(ReadOnly):
    """A saddle of a path, from the end of one orbit to the beginning of the next. All arrays are read-only.

    Times are in units of L = log(1/ε), where ε is the size of the neurons at the start.

    Attributes
    ----------
    number : int
        0 is the rest at zero.
    begins, ends : float
        From when to when the network rests here; `ends` is infinite for the last stage.
    network : Network
        The saddle: all m neurons, infinitesimal ones at zero.
    duals : ndarray, shape (n,), or (n, K) with K outputs
        λ_i = -∂L/∂f(x_i), of the loss as a sum; 0 where a sample is fitted.
    loss : float
        The loss as a sum.
    kind : {"saddle", "global", "local minimum", "not decided"}
        What kind of critical point of all m neurons this is, as `Limit.point` says.
    index : int
        Number of infinitesimal neurons that grow here: the unstable directions that the flow can take. With K outputs
        also the differences of neurons that have grown together.
    freedom : int
        Dimension of the continuum of networks with these outputs in this sign pattern; 0 for an isolated one.
    limit : Limit or None
        The critical point with its certificate; None at zero.
    status : ndarray of str, shape (m,)
        ``grown``, or as in `EarlyAlignment.status` what becomes of an infinitesimal neuron here.
    direction : ndarray, shape (m, d)
        Unit vectors to which infinitesimal neurons turn; rows of grown neurons are those of ``network.W``.
    sector : ndarray, shape (m, n), int8
        Sign pattern once they have turned.
    rate : ndarray, shape (m,)
        d log |w_j| / dt, in the time of the flow. With K outputs, of neurons that have grown together, that of what is
        left of their differences, where it grows; and so for `power`.
    power : ndarray, shape (m,)
        log |w_j| / L at `begins`; 0 for grown neurons.
    events : EventTable
        Events of infinitesimal neurons while the network rests here, in the time of the flow.
    wakes : tuple of ndarray of int
        Neurons that grow at `ends`, one array for each direction: more than one is a tie. With K outputs also neurons
        that have grown together and part, as `notes` says.
    lead : float
        How much later the next other neuron would have grown, see `Prediction.separated`.
    offset : float
        The loss passes half its fall of the jump at t = ends L + offset + o(1); nan without a jump.
    departs : float
        The first leg of the orbit begins at t = ends L + departs + o(1); nan without an orbit.
    legs : tuple of Solution, or of TwoLayerSolution with K outputs
        The orbit that leaves the saddle, one leg after the other, each from its own time 0. Infinitesimal neurons
        have a size of 1e-144 at the beginning of each. Where the way to the next saddle is long, the last legs are
        runs of the grown neurons alone, with one neuron for those of one direction.
    rows : tuple of ndarray of int
        Which neurons the leg is a run of, one array for each leg. With K outputs one neuron stands for those of one
        direction in every leg.
    carried : EventTable
        Events of infinitesimal neurons on those last legs, in the time since the beginning of the first leg.
    notes : tuple of str
        What has to be said of the stage: ties, continua, branchings.
    at_infinity : bool
        Whether some margins have grown for ever, and the samples with `duals` rest: `network` has the former as they
        are at log t = 1000, which stands for log(1/ε). `limit` is the direction in which the network would end here;
        it is certified at the first such saddle, and maybe not at later ones, which are left long before.
    output : ndarray, shape (m, K), or None
        With K outputs, unit vectors to which a_j of infinitesimal neurons turns; rows of grown neurons are those of
        ``network.a``. None with one output.
    """

    number: int
    begins: float
    ends: float
    network: Network
    duals: FloatArray
    loss: float
    kind: str
    index: int
    freedom: int
    limit: Limit | None
    status: npt.NDArray[np.str_]
    direction: FloatArray
    sector: PatternArray
    rate: FloatArray
    power: FloatArray
    events: EventTable
    wakes: tuple[IntArray, ...]
    lead: float
    offset: float
    departs: float
    legs: tuple[Solution, ...] | tuple[TwoLayerSolution, ...]
    rows: tuple[IntArray, ...]
    carried: EventTable
    notes: tuple[str, ...]
    at_infinity: bool = False
    output: FloatArray | None = None

    @property
    def grown(self) -> IntArray:
        """Neurons that have grown."""
        return np.flatnonzero(self.status == "grown")

    def __repr__(self) -> str:
        """One line: times, loss, kind and who wakes."""
        waking = sum(len(part) for part in self.wakes)
        what = f"{waking} neurons wake in {len(self.wakes)} directions" if waking else "no neuron wakes"
        return (
            f"Stage({self.number}, from {self.begins:.6g} to {self.ends:.6g}, loss={self.loss:.10g}, {self.kind}, "
            f"index={self.index}, {len(self.grown)} grown, {what})"
        )
