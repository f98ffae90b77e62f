"""The claims of [PL] Phuong & Lampert 2021."""

from __future__ import annotations

from .._claim import Claim
from . import _appendix_d, _data, _dynamics, _early, _figure1, _figure2, _late, _survival

# In the order of the paper, as a reader goes through it.
_ORDER = [
    "PL-OS",
    "PL-W",
    "PL-D45",
    "PL-T1",
    "PL-P",
    "PL-C1",
    "PL-L1",
    "PL-L2",
    "PL-L3",
    "PL-16",
    "PL-19",
    "PL-F1",
    "PL-D46",
    "PL-F2",
    "PL-LA1",
    "PL-LA2",
    "PL-LA3",
    "PL-LA4",
    "PL-LA4x",
    "PL-LC1",
    "PL-F3",
    "PL-F4",
    "PL-Table1",
]
_MODULES = (_data, _early, _survival, _dynamics, _late, _figure1, _figure2, _appendix_d)

CLAIMS: tuple[Claim, ...] = tuple(
    sorted((claim for module in _MODULES for claim in module.CLAIMS), key=lambda claim: _ORDER.index(claim.id))
)
