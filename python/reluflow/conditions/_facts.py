"""Everything the theorems ask about one data set and one start, each decided at most once."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from .._validation import FloatArray
from ..datasets import Dataset, MaxMargin
from ..datasets._bias import about_columns, bare_inputs
from ..losses import LossName, is_of_margins
from ..networks import Network
from ._linear import linear_margin, linear_separability
from ._lyu import Direction, Means, larger_positive_mean, mean_dominance, mean_off_boundaries, principal_direction
from ._one_sign import OneSignMargin, one_sign_margin
from ._pairs import ExtremePairs, Pairing, orthogonal_separability, symmetry
from ._position import Subset, general_position
from ._spikes import SpikeFreeness, is_spike_free
from ._starts import Balance, Signs, balance, loss_below_threshold, sign_condition
from ._support import SupportSpan, support_span
from ._verdict import Verdict


class Facts:
    """The verdicts on data, start, leak and loss, computed when asked for."""

    def __init__(self, data: Dataset, net: Network | None, leak: float, loss: LossName) -> None:
        self.data, self.net, self.leak, self.loss = data, net, leak, loss

    @cached_property
    def separable(self) -> Verdict[MaxMargin]:
        """Linear separability."""
        return linear_separability(self.data)

    @cached_property
    def orthogonal(self) -> Verdict[ExtremePairs]:
        """Orthogonal separability."""
        return orthogonal_separability(self.data)

    @cached_property
    def symmetric(self) -> Verdict[Pairing]:
        """[LLWA] Assumption 4.1."""
        return symmetry(self.data)

    @cached_property
    def partners_alike(self) -> bool:
        """Whether the two samples of each pair count alike: only then are the parts of their losses opposite too."""
        partner = self.symmetric.witness.partner
        return bool((partner >= 0).all() and (self.data.counts[partner] == self.data.counts).all())

    @cached_property
    def position(self) -> Verdict[Subset]:
        """General position."""
        return general_position(self.data)

    @cached_property
    def spike_free(self) -> Verdict[SpikeFreeness]:
        """[WP] Definition 2."""
        return is_spike_free(self.data)

    @cached_property
    def span(self) -> Verdict[SupportSpan]:
        """[PL] support examples span the space."""
        return support_span(self.data)

    @cached_property
    def off_boundaries(self) -> Verdict[Means]:
        """[LLWA] Assumption 4.5."""
        return mean_off_boundaries(self.data)

    @cached_property
    def principal(self) -> Verdict[Direction]:
        """[LLWA] Assumption A.1."""
        return principal_direction(self.data, leak=self.leak)

    @cached_property
    def dominance(self) -> Verdict[Means]:
        """[LLWA] Assumption A.2."""
        return mean_dominance(self.data, leak=self.leak)

    @cached_property
    def larger_mean(self) -> Verdict[Means]:
        """[LLWA] Assumption A.3."""
        return larger_positive_mean(self.data, leak=self.leak)

    @cached_property
    def one_sign(self) -> Verdict[OneSignMargin]:
        """[LLWA] Assumption A.5."""
        return one_sign_margin(self.data, leak=self.leak)

    @cached_property
    def balanced(self) -> Verdict[Balance] | None:
        """Balance of the start; None without one."""
        return None if self.net is None else balance(self.net)

    @cached_property
    def signs(self) -> Verdict[Signs] | None:
        """[WP] (9) for the start; None without one."""
        return None if self.net is None else sign_condition(self.data, self.net)

    @cached_property
    def small_loss(self) -> Verdict[FloatArray] | None:
        """Loss of the start below the threshold; None without one."""
        return None if self.net is None else loss_below_threshold(self.data, self.net, loss=self.loss)

    @cached_property
    def class_norms(self) -> tuple[float, float]:
        """|w₊| and |w₋|; 0 for a class that does not occur or has no separator."""
        present = {"positive": (self.data.y > 0).any(), "negative": (self.data.y < 0).any()}
        sizes = [
            float(np.linalg.norm(linear_margin(self.data, samples=kind).w)) if there else 0.0
            for kind, there in present.items()
        ]
        return sizes[0], sizes[1]

    @cached_property
    def flipped(self) -> Facts:
        """The same with all labels, and the signs of all output weights, turned over."""
        about: dict[str, Any] = {"weights": self.data.weights, "name": self.data.name, **about_columns(self.data)}
        data = Dataset(bare_inputs(self.data), -self.data.y, **about)
        net = None if self.net is None else Network(self.net.W, -self.net.a, leak=self.leak)
        return Facts(data, net, self.leak, self.loss)

    def verdicts(self) -> tuple[Verdict[object], ...]:
        """All verdicts that do not depend on a missing start, nor on labels where the loss has none."""
        if not is_of_margins(self.loss):
            return () if self.balanced is None else (self.balanced,)
        found: list[Verdict[object] | None] = [
            self.separable,
            self.orthogonal,
            self.symmetric,
            self.position,
            self.spike_free,
            self.span,
            self.off_boundaries,
            self.principal,
            self.dominance,
            self.larger_mean,
            self.one_sign,
            self.balanced,
            self.signs,
            self.small_loss,
        ]
        return tuple(verdict for verdict in found if verdict is not None)
