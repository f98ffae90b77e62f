"""The claims of [WP] Wang & Pilanci 2022, The Convex Geometry of Backpropagation, and of its poster."""

from __future__ import annotations

from .._claim import Claim
from . import alignment, early, sets, trajectories

CLAIMS: tuple[Claim, ...] = (*sets.CLAIMS, *trajectories.CLAIMS, *early.CLAIMS, *alignment.CLAIMS)
