"""What all orbits of a path share: the data, the loss, the accuracy, and how a network is integrated."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .._validation import FloatArray
from ..datasets import Dataset
from ..flow import Solution, Stop, integrate
from ..flow._integrate import integrate_beside_rest
from ..losses import LossName, ReductionName, duals, is_of_margins, reduction_factor
from ..networks import Network
from ._horizon import alone
from ._saddle import fitted_along
from ._watch import Watch

# Binary digits of the distance of states that are kept at equal distances.
_DIGITS = 24
# Accuracy of a run of which such states are kept, for their λ(t). The end of an orbit is polished.
_PARTED_RTOL = 1e-8


@dataclass(frozen=True)
class Flow:
    """What all orbits of a path share."""

    data: Dataset
    loss: LossName
    reduction: ReductionName
    rtol: float
    watch: Watch

    def run(self, net: Network, time: float, n_saved: int | None = None) -> Solution:
        """Integrate a network for some time; with `n_saved`, keep so many states at equal distances instead of steps.

        The distance then has so few digits that all multiples are exact, and the time is rounded to that.
        """
        loss, reduction = self.loss, self.reduction
        save_at = None
        if n_saved is not None:
            exponent = int(np.frexp(time)[1]) - _DIGITS
            distance = np.ldexp(max(1.0, np.rint(np.ldexp(time / n_saved, -exponent))), exponent)
            save_at = distance * np.arange(n_saved + 1)
            time = float(save_at[-1])
        until = Stop(time=time)
        rtol = self.rtol if n_saved is None else max(self.rtol, _PARTED_RTOL)
        return integrate(
            self.data,
            net,
            until=until,
            loss=loss,
            reduction=reduction,
            rtol=rtol,
            save_at=save_at,
            callback=self.watch.hook,
            n_threads=1,
        )

    def to_limit(self, net: Network) -> Solution:
        """Integrate the grown neurons of a network until the direction in which they end is certified."""
        return self._far(alone(net), Stop(limit=True))

    def to_log_time(self, net: Network, log_time: float, rests: npt.NDArray[np.bool_]) -> Solution:
        """Integrate a network to a large log t, at which the margins of `rests` rest."""
        loss, reduction, hook = self.loss, self.reduction, self.watch.hook
        return integrate_beside_rest(self.data, net, log_time, rests, loss=loss, reduction=reduction, callback=hook)

    def _far(self, net: Network, until: Stop) -> Solution:
        loss, reduction, hook = self.loss, self.reduction, self.watch.hook
        return integrate(self.data, net, until=until, loss=loss, reduction=reduction, callback=hook, n_threads=1)

    @property
    def log_unit(self) -> float:
        """Logarithm of the size of a neuron whose outputs matter."""
        outputs = 1.0 if is_of_margins(self.loss) else float(np.abs(self.data.y).max())
        return 0.5 * float(np.log(outputs / np.linalg.norm(self.data.X, axis=1).max()))

    @property
    def factor(self) -> float:
        """What the sum of the losses is multiplied by."""
        return reduction_factor(self.reduction, self.data.total)

    def duals_along(self, run: Solution, times: FloatArray) -> FloatArray:
        """Return λ at some times of a run, in the reduction of the flow; zero where the error is rounding."""
        place = np.minimum(np.searchsorted(run.t, times), len(run.t) - 1)
        W, a = run.W[place], run.a[place]
        between = run.t[place] != times
        if between.any():  # which takes as long as the run itself
            W[between], a[between] = run.states(times[between])
        return self.factor * duals(self.data, fitted_along(self.data, W, a, run.leak, self.loss), self.loss)
