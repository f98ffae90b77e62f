"""Layers whose samples partly stay at finite margins: how a run to its limit goes on beside them.

Once samples at rest hold each other, what the others pull falls like 1/t and is soon below the rounding of those. Slow
as it is, the flow goes where the others pull, at a speed in proportion to their weights. So these are raised by what
the samples count, and what is left of the difference are margins at rest that are off by the share of the others. Held
smaller by 2^-k the network has the same direction, and in a leg margins grow by a larger part (docs/design/layered.md).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from .._validation import FloatArray
from ..kinks._boundaries import off
from ..layered import DeepSolution
from ..layered._balanced import Balanced, balanced_at, growing_samples
from ..layered._integrate import Hook, Layered
from ..layered._leaving import span_of
from ..losses import log_weights
from ._layers_beyond import NO_WEIGHT, LayersBeyond

# The limit is asked for as often, each time margins have grown by this factor.
MOST_ASKED, _GROWS = 40, 1.5
# The state is held smaller once the least margin that grows is 2^L times as large as this: margins of the support are
# equal to its inverse.
_LEAST = 16.0
# The share of the samples that grow at the begin of a leg, and the e-foldings that it falls by in one.
_SHARE, _FALLS = 1e-4, 5.0


class LayersBesideRest(LayersBeyond):
    """The state of a run beside samples at rest, and the work that was done to come there.

    All weights are those of the exponential loss: that of a margin that grows is so, and one at rest only has to stay.
    """

    def __init__(self, whole: DeepSolution, asked: Layered) -> None:
        """Begin at the end of the run."""
        super().__init__(whole, asked)
        self._loss = self.whole._problem.loss
        self._weights_of(self._log_weights(), 0)
        self._loss = "exponential"
        self._grows = self._growing()
        self._asked_at = self._least() if self._grows.any() else math.inf

    @property
    def is_possible(self) -> bool:
        """Whether some samples are at rest and others grow, the same as at the begin."""
        grows = self._growing()
        return self._degree > 0 and bool(grows.any() and (grows == self._grows).all())

    @property
    def is_settled(self) -> bool:
        """Whether this is possible, and the margins at rest are where they stay."""
        q, used = self._margins()
        rests, theta = np.flatnonzero(used & ~self._grows), np.asarray(self._state["theta"])
        if not len(rests) or not self.is_possible:
            return False
        problem, unit = self.whole._problem, theta / float(np.linalg.norm(theta))
        how = (self._frozen(), unit, problem.targets[:, 0], problem.counts, q[rests], rests, problem.loss)
        return isinstance(balanced_at(*how), Balanced)

    @property
    def has_grown(self) -> bool:
        """Whether margins have grown since it was last asked."""
        return self._least() >= _GROWS * self._asked_at

    def lower(self) -> None:
        """Hold the state smaller by a power of two where its margins are large, with the same weights."""
        by = max(0, math.floor(math.log2(self._least() / _LEAST) / self._degree))
        self._weights_of(self._log_weights(), by)
        self._hold_smaller(by)
        self._asked_at = self._least()

    def leg_beside(self, criteria: dict[str, float | int], hook: Hook | None, period: float) -> Any:
        """Raise the samples that grow, and integrate until their weights have fallen; return what the core tells."""
        log_p = self._log_weights()
        shares = [float(np.logaddexp.reduce(log_p[of])) for of in (self._grows, ~self._grows)]
        self._log_counts = self._log_counts + np.where(self._grows, math.log(_SHARE) + shares[1] - shares[0], 0.0)
        start = -self._log_speed()
        self._state |= {"log_t": start, "t": math.exp(start)}
        return self._run({**criteria, "log_time": start + _FALLS}, hook, period)

    def _least(self) -> float:
        return float(self._margins()[0][self._grows].min())

    def _log_speed(self) -> float:
        """Return the logarithm of the speed at which the margin of the largest weight that falls grows by itself."""
        frozen, theta, log_p = self._frozen(), np.asarray(self._state["theta"]), self._log_weights()
        rests = self._margins()[1] & ~self._grows
        kept = np.vstack((frozen.gradients(theta, np.flatnonzero(rests)), frozen.normals(theta)))
        first = np.flatnonzero(self._grows)[[np.argmax(log_p[self._grows])]]
        moved = off(frozen.gradients(theta, first), span_of(kept))
        return float(log_p[first[0]]) + 2.0 * math.log(float(np.linalg.norm(moved)))

    def _log_weights(self) -> FloatArray:
        q = self._margins()[0]
        return np.asarray(log_weights(q, self._loss) + self._log_counts)

    def _weights_of(self, log_weights: FloatArray, by: int) -> None:
        """Let the samples count what gives them these weights, with margins smaller by 2^(-L by)."""
        counts = np.isfinite(self._log_counts)
        seen = np.maximum(log_weights, log_weights[counts].max() - NO_WEIGHT)
        kept = np.minimum(seen + np.ldexp(self._margins()[0], -by * self._degree), NO_WEIGHT)
        self._log_counts = np.where(counts, kept, -np.inf)

    def _growing(self) -> npt.NDArray[np.bool_]:
        q, used = self._margins()
        targets = self.whole._problem.targets
        lam = targets * np.exp(self._log_weights())[:, None]
        found = growing_samples(self._frozen(), np.asarray(self._state["theta"]), targets, lam, used)
        if not len(found) and (q[used] > 0).all():  # those that were at rest are idle by now
            return used
        return np.isin(np.arange(len(q)), found)

    def solution(self) -> DeepSolution:
        """Return the whole run, with the state that its limit is polished from."""
        found = super().solution()
        found._raw["beyond"]["weights"] = np.exp(self._log_weights())
        return found
