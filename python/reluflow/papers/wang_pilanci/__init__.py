"""The claims of [WP] Wang & Pilanci 2022."""

from __future__ import annotations

from .._claim import Claim

CLAIMS: tuple[Claim, ...] = ()
