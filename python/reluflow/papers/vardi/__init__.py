"""The claims of [VSS] Vardi, Shamir & Srebro 2022."""

from __future__ import annotations

from .._claim import Claim
from . import _convergence, _cross, _deep, _deep_linear, _frozen, _groups, _layered, _linear, _sparse, _tables

# In the order of the paper's sections, the tables first.
CLAIMS: tuple[Claim, ...] = (
    *_tables.CLAIMS[:2],
    *_convergence.CLAIMS,
    *_deep_linear.CLAIMS,
    *_frozen.CLAIMS,
    *_linear.CLAIMS,
    *_cross.CLAIMS,
    *_groups.CLAIMS,
    *_sparse.CLAIMS,
    *_deep.CLAIMS,
    *_tables.CLAIMS[2:],
    *_layered.CLAIMS,
)
