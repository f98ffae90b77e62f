"""The claims of [VSS] Vardi, Shamir & Srebro 2022."""

from __future__ import annotations

from .._claim import Claim

CLAIMS: tuple[Claim, ...] = ()
