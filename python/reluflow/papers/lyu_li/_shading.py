"""Outputs of a network on a plane as [LLWA] draws them: colours, the lighter the higher, and dots for the classes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...analysis import DecisionPlane

if TYPE_CHECKING:
    from matplotlib.axes import Axes

POSITIVE, NEGATIVE, LEVELS = "#D00000", "#1F4FD8", 15


def shaded(plane: DecisionPlane, ax: Axes, *, size: float = 12.0) -> None:
    """Draw the outputs with lighter colours where they are higher, the boundary in black, and the samples."""
    top = float(np.abs(plane.values).max()) or 1.0
    ax.contourf(plane.u, plane.v, plane.values, levels=np.linspace(-top, top, LEVELS), cmap="viridis")
    if plane.values.min() < 0 < plane.values.max():
        ax.contour(plane.u, plane.v, plane.values, levels=[0.0], colors="black", linewidths=1.3)
    for sign, colour in ((1.0, POSITIVE), (-1.0, NEGATIVE)):
        mine = plane.points[plane.y == sign]
        ax.scatter(mine[:, 0], mine[:, 1], s=size, c=colour, edgecolors="white", linewidths=0.5, zorder=5)
    ax.set_aspect("equal")
    ax.set_xlim(float(plane.u[0]), float(plane.u[-1]))
    ax.set_ylim(float(plane.v[0]), float(plane.v[-1]))
