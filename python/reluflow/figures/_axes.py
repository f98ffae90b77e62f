"""Where a figure is drawn and what it is given: the checks that every figure shares."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ParamSpec, TypeAlias

import numpy as np

from .._validation import FloatArray, integer, invalid, optional_module, shown
from ._style import COLUMN, style

if TYPE_CHECKING:
    import numpy.typing as npt
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

Fits: TypeAlias = "type | Callable[[Any], bool]"


def begin(
    result: Any,
    ax: Axes | None,
    *,
    name: str,
    source: str,
    fits: Fits,
    asked: str = "",
    projection: str | None = None,
) -> Axes:
    """Check the result and the axes of a figure, and return the axes, new ones in place of None.

    Parameters
    ----------
    result
        The first argument of the figure.
    ax : Axes or None
    name : str
        What the figure calls `result`.
    source : str
        The function that makes it, for the message.
    fits : type or callable
        The class of the result, or a function that tells whether a value will do.
    asked : str, optional
        What that function has to be given for the columns of `fits`, for the message.
    projection : str, optional
        The projection that the axes must have.

    Raises
    ------
    ValueError
        A result of another kind, the arguments in the wrong order, or axes that will not do.
    """
    axes_class = optional_module("matplotlib.axes", "viz").Axes
    if isinstance(result, axes_class):
        raise invalid(name, f"be what {source} returns", "an Axes: the result comes first, then the axes")
    if not (isinstance(result, fits) if isinstance(fits, type) else fits(result)):
        lacking = fits.lacking(result) if isinstance(fits, Columns) else ()
        if lacking:
            raise invalid(name, f"be what {source} returns {asked}".strip(), f"a table without {', '.join(lacking)}")
        raise invalid(name, f"be what {source} returns", f"a value of type {type(result).__name__}")
    if ax is None:
        return _new(projection)
    if not isinstance(ax, axes_class):
        raise invalid("ax", "be a matplotlib Axes or None", f"a value of type {type(ax).__name__}")
    if projection is not None and ax.name != projection:
        raise invalid("ax", f'have the projection "{projection}"', f"the projection {ax.name!r}")
    given: Axes = ax
    return given


def _new(projection: str | None) -> Axes:
    """One axes in a new figure of pyplot, which a notebook shows by itself and ``plt.show()`` opens."""
    pyplot = optional_module("matplotlib.pyplot", "viz")
    size = (COLUMN, 0.78 * COLUMN if projection is None else COLUMN)
    ax: Axes = pyplot.figure(figsize=size, layout="constrained").add_subplot(projection=projection)
    return ax


P = ParamSpec("P")


def figure(draw: Callable[P, Axes]) -> Callable[P, Axes]:
    """Let a function that is given no axes draw with the style of the house, which its new axes have."""

    @functools.wraps(draw)
    def drawn(*args: P.args, **keywords: P.kwargs) -> Axes:
        given = (*args, *keywords.values())
        if any(hasattr(value, "transAxes") for value in given):  # only axes have it
            return draw(*args, **keywords)
        with style():
            return draw(*args, **keywords)

    return drawn


class Columns:
    """Tells whether a value is a table with these columns, and which a table lacks."""

    def __init__(self, *names: str) -> None:
        self.names = names

    def __call__(self, value: Any) -> bool:
        return hasattr(value, "columns") and not self.lacking(value)

    def lacking(self, value: Any) -> tuple[str, ...]:
        """Return the columns that a table lacks; none of what is no table."""
        there = set(map(str, getattr(value, "columns", self.names)))
        return tuple(name for name in self.names if name not in there)


def dims(*names: str) -> Callable[[Any], bool]:
    """Tell whether a value is a labelled array with these dimensions."""
    return lambda value: getattr(value, "dims", None) == names


def position(value: int, name: str, count: int, what: str) -> int:
    """Return the position of one of `count` things, which a negative number counts from the end."""
    if not -count <= integer(value, name, least=-count) < count:
        raise invalid(name, f"number {what}, {-count} to {count - 1}", shown(value))
    return value % count


def log_values(ax: Axes, values: FloatArray) -> None:
    """Make the vertical axis logarithmic if it has anything to show, which a network of zeros has not."""
    if (values > 0).any():
        ax.set_yscale("log")


def curve(ax: Axes, x: FloatArray, y: npt.ArrayLike, keywords: dict[str, Any], **house: Any) -> list[Line2D]:
    """Draw lines, with a mark where only one place can be seen: a line through one point has no length."""
    alone = {"marker": "o"} if np.count_nonzero(np.isfinite(x)) == 1 else {}
    return ax.plot(x, np.asarray(y), **look(keywords, **alone, **house))


def look(keywords: dict[str, Any], **house: Any) -> dict[str, Any]:
    """Return the keywords for matplotlib: those of the house, and those of the caller, which win."""
    normalise = optional_module("matplotlib.cbook", "viz").normalize_kwargs
    lines = optional_module("matplotlib.lines", "viz").Line2D
    return {**house, **normalise(keywords, lines)}
