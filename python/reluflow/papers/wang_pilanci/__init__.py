"""The claims of [WP] Wang & Pilanci 2022, The Convex Geometry of Backpropagation, and of its poster."""

from __future__ import annotations

from .._claim import Claim
from . import alignment, certificates, early, endings, lemmas, misprints, poster, programs, sets, sliding, trajectories

CLAIMS: tuple[Claim, ...] = (
    *sets.CLAIMS,
    *trajectories.CLAIMS,
    *programs.CLAIMS,
    *certificates.CLAIMS,
    *early.CLAIMS,
    *alignment.CLAIMS,
    *sliding.CLAIMS,
    *endings.CLAIMS,
    *lemmas.CLAIMS,
    *misprints.CLAIMS,
    *poster.CLAIMS,
)
