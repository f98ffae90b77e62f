"""A run as one HTML page to drag through; `Solution.explore` is the door. Needs plotly (extra ``explore``)."""

from __future__ import annotations

from ._film import Film
from ._page import Explorer, explorer

__all__ = ["Explorer", "Film", "explorer"]
