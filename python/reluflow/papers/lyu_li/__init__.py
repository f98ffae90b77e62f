"""The claims of [LLWA] Lyu, Li, Wang & Arora 2021."""

from __future__ import annotations

from .._claim import Claim

CLAIMS: tuple[Claim, ...] = ()
