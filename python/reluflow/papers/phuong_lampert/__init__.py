"""The claims of [PL] Phuong & Lampert 2021."""

from __future__ import annotations

from .._claim import Claim
from . import _data

CLAIMS: tuple[Claim, ...] = (*_data.CLAIMS,)
