"""What the theorems of the papers ask of data and of the start of a flow: verdict, number and witness.

Papers are cited as [WP] Wang & Pilanci 2022, [PL] Phuong & Lampert 2021, [LLWA] Lyu, Li, Wang & Arora 2021, [VSS]
Vardi, Shamir & Srebro 2022.
"""

from __future__ import annotations

from .._renamed import renamed
from ._linear import linear_margin, linear_separability
from ._lyu import Direction, Means, larger_positive_mean, mean_dominance, mean_off_boundaries, principal_direction
from ._one_sign import OneSignMargin, one_sign_margin
from ._pairs import ExtremePairs, Pairing, orthogonal_separability, symmetry
from ._position import Subset, general_position
from ._report import MultiClassReport, Report, report
from ._spikes import SpikeFreeness, is_spike_free
from ._starts import Balance, Signs, balance, loss_below_threshold, sign_condition
from ._support import SupportSpan, support_span
from ._theorems import Theorem
from ._verdict import Verdict

__all__ = [
    "Balance",
    "Direction",
    "ExtremePairs",
    "Means",
    "MultiClassReport",
    "OneSignMargin",
    "Pairing",
    "Report",
    "Signs",
    "SpikeFreeness",
    "Subset",
    "SupportSpan",
    "Theorem",
    "Verdict",
    "balance",
    "general_position",
    "is_spike_free",
    "larger_positive_mean",
    "linear_margin",
    "linear_separability",
    "loss_below_threshold",
    "mean_dominance",
    "mean_off_boundaries",
    "one_sign_margin",
    "orthogonal_separability",
    "principal_direction",
    "report",
    "sign_condition",
    "support_span",
    "symmetry",
]

__getattr__ = renamed(__name__, {"Spikes": "conditions.SpikeFreeness", "max_margin": "conditions.linear_margin"})
