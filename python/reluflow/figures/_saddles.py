"""From saddle to saddle: the staircase of the loss, and how many neurons have grown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .._validation import FloatArray
from ..saddles import SaddlePath
from ._axes import begin, figure, look
from ._style import BLACK, BLUE

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# The last stage is drawn for this part of the time of all others.
_LAST = 0.15


@figure
def staircase(path: SaddlePath, ax: Axes | None = None, **keywords: Any) -> Axes:
    """Draw the loss of each saddle against time in units of log(1/ε).

    Parameters
    ----------
    path : SaddlePath
        From `saddle_to_saddle`.
    ax : Axes, optional
        Where to draw; a new figure without it.
    **keywords
        Passed to `matplotlib.axes.Axes.step`, in place of what the house draws.

    Examples
    --------
    >>> import reluflow as rf
    >>> data = rf.Dataset([[1.0, 0.0], [0.0, 1.0]], [2.0, -1.0])
    >>> path = rf.saddle_to_saddle(data, [[1.0, 0.5], [0.5, 1.0]], [1, -1])
    >>> rf.figures.staircase(path).get_ylabel()
    'loss'
    """
    ax = begin(path, ax, name="path", source="saddle_to_saddle", fits=SaddlePath)
    _steps(ax, path, path.losses, look(keywords, color=BLACK))
    ax.set_ylabel("loss")
    ax.set_ylim(bottom=0.0)
    return ax


@figure
def grown(path: SaddlePath, ax: Axes | None = None, **keywords: Any) -> Axes:
    """Draw how many neurons have grown in each stage against time in units of log(1/ε).

    Parameters
    ----------
    path : SaddlePath
        From `saddle_to_saddle`.
    ax : Axes, optional
        Where to draw; a new figure without it.
    **keywords
        Passed to `matplotlib.axes.Axes.step`, in place of what the house draws.

    Examples
    --------
    >>> import reluflow as rf
    >>> data = rf.Dataset([[1.0, 0.0], [0.0, 1.0]], [2.0, -1.0])
    >>> path = rf.saddle_to_saddle(data, [[1.0, 0.5], [0.5, 1.0]], [1, -1])
    >>> rf.figures.grown(path).get_ylabel()
    'grown neurons'
    """
    ax = begin(path, ax, name="path", source="saddle_to_saddle", fits=SaddlePath)
    _steps(ax, path, np.array([float(row.grown) for row in path.table()]), look(keywords, color=BLUE))
    ax.set_ylabel("grown neurons")
    ax.locator_params(axis="y", integer=True)
    ax.set_ylim(bottom=0.0)
    return ax


def _steps(ax: Axes, path: SaddlePath, values: FloatArray, how: dict[str, Any]) -> None:
    """Draw one value a stage, the last one for a little while."""
    times = path.times
    end = times[-1] + _LAST * (times[-1] if times[-1] > 0 else 1.0)
    ax.step(np.append(times, end), np.append(values, values[-1]), where="post", **how)
    ax.set_xlabel(r"$t\,/\log(1/\varepsilon)$")
    ax.set_xlim(0.0, end)
