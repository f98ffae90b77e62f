"""The limit of a flow, polished to the rounding and certified: `Solution.limit` is this."""

from __future__ import annotations

from ._checks import Residuals
from ._limit import Limit
from ._point import Escape

__all__ = ["Escape", "Limit", "Residuals"]
