"""Pictures of [VSS]: vectors among the samples, and curves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ..._validation import FloatArray
from ...datasets import Dataset
from ...figures import panels, style
from ...figures._style import BLACK, BLUE, GREEN, GREY, LINES, PALE, VERMILION

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Vectors = Mapping[str, tuple[FloatArray, str]]  # label -> (vectors, shape (k, 2), colour)
FIRST, SECOND, THIRD = BLUE, VERMILION, GREEN


def arrows(groups: Vectors, data: Dataset | None = None, *, height: float = 3.7) -> Figure:
    """Draw vectors from the origin, one colour and one entry of the legend for each group; samples as dots."""
    reach = max(float(np.abs(vectors).max()) for vectors, _ in groups.values())
    if data is not None:
        reach = max(reach, float(np.abs(data.X).max()))
    figure, ax = panels(1, height=height)
    with style():
        ax.axhline(0, color=PALE, linewidth=0.6, zorder=0)
        ax.axvline(0, color=PALE, linewidth=0.6, zorder=0)
        handles: list[Any] = []
        for label, (vectors, colour) in groups.items():
            for end in vectors:
                ax.annotate("", end, (0, 0), arrowprops={**_ARROW, "color": colour})
            handles += ax.plot([], [], color=colour, label=label)
        if data is not None:
            handles.append(_samples(ax, data))
        ax.set_aspect("equal")
        ax.set_xlim(-1.18 * reach, 1.18 * reach)
        ax.set_ylim(-1.18 * reach, 1.18 * reach)
        ax.legend(handles=handles, loc="upper center", bbox_to_anchor=(0.5, -0.1), ncols=2, columnspacing=1.0)
    return figure


_ARROW = {"arrowstyle": "-|>", "lw": 1.5, "shrinkA": 0, "shrinkB": 0}


def _samples(ax: Axes, data: Dataset) -> Any:
    for i, point in enumerate(data.X):
        ax.annotate(f"$x_{i + 1}$", tuple(point), xytext=(4, 5), textcoords="offset points", fontsize=7)
    return ax.scatter(data.X[:, 0], data.X[:, 1], s=22, facecolors="white", edgecolors=BLACK, zorder=5, label="samples")


def curves(
    lines: Mapping[str, tuple[FloatArray, FloatArray]],
    *,
    labels: tuple[str, str],
    levels: tuple[float, ...] = (),
    **axes: Any,
) -> Figure:
    """Draw curves, with levels to compare with.

    Parameters
    ----------
    lines : mapping of label to (x, y)
        A label that ends in ``"*"`` is drawn as dots, without the star.
    labels : tuple of str
        Of the two axes.
    levels : tuple of float
    **axes
        Passed to `matplotlib.axes.Axes.set`.
    """
    figure, ax = panels(1)
    with style():
        for (label, (x, y)), colour, dashes in zip(lines.items(), LINES, _DASHES, strict=False):
            kind = {"linestyle": "none", "marker": "o"} if label.endswith("*") else {"linestyle": dashes}
            ax.plot(x, y, color=BLACK if label.endswith("*") else colour, label=label.rstrip("*"), **kind)
        for level in levels:
            ax.axhline(level, color=GREY, linewidth=0.8, linestyle="--", zorder=0)
        ax.set(xlabel=labels[0], ylabel=labels[1], **axes)
        ax.legend()
    return figure


_DASHES = ("-", (0, (6, 2)), (0, (1, 1)), (0, (4, 1, 1, 1)))
