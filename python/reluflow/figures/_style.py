"""The look of every figure: colours, sizes that survive a paper column, the axis of time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from .._palette import (
    BLACK,
    BLUE,
    GREEN,
    GREY,
    LINES,
    NEGATIVE,
    ORANGE,
    PALE,
    POSITIVE,
    PURPLE,
    SKY,
    VERMILION,
    YELLOW,
    sign_colour,
)
from .._validation import FloatArray, integer, invalid, one_of, optional_module, positive
from ..analysis._times import FAR

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = [
    "BLACK",
    "BLUE",
    "COLUMN",
    "GREEN",
    "GREY",
    "LINES",
    "MAX_LOG_T",
    "NEGATIVE",
    "ORANGE",
    "PAGE",
    "PALE",
    "POSITIVE",
    "PURPLE",
    "RC",
    "SKY",
    "VERMILION",
    "YELLOW",
    "far_scale",
    "panels",
    "sign_colour",
    "square_frame",
    "style",
    "time_axis",
    "time_text",
]

_MAX_PANELS = 1000
COLUMN, PAGE = 3.35, 6.9  # inches: one column and two columns of a paper

# Where log t passes this, t no longer fits a double and the axis shows log10 t itself.
MAX_LOG_T = FAR
# Ticks of an axis of logarithms that go far out, at most, beside that at 0. It is linear up to 1 and then logarithmic:
# on a linear one most of what happens in a run to its limit, at log t = 1e37, stands at 0.
_FAR_TICKS = 5

RC: dict[str, Any] = {
    "font.size": 8.0,
    "axes.titlesize": 8.5,
    "axes.labelsize": 8.0,
    "xtick.labelsize": 7.0,
    "ytick.labelsize": 7.0,
    "legend.fontsize": 7.0,
    "legend.frameon": False,
    "legend.handlelength": 1.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.6,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "xtick.minor.width": 0.4,
    "ytick.minor.width": 0.4,
    "lines.linewidth": 1.3,
    "lines.markersize": 4.0,
    "patch.linewidth": 0.6,
    "savefig.dpi": 220,
    "figure.dpi": 110,
    "figure.constrained_layout.use": True,
    "pdf.fonttype": 42,
    "svg.fonttype": "none",
}


@contextmanager
def style() -> Iterator[None]:
    """Draw inside this block with the house style.

    Examples
    --------
    >>> import reluflow as rf
    >>> with rf.figures.style():
    ...     fig, ax = rf.figures.panels(1)
    """
    matplotlib = optional_module("matplotlib", "viz")
    with matplotlib.rc_context(RC):
        yield


def panels(
    n_columns: int = 1,
    n_rows: int = 1,
    *,
    width: float | None = None,
    height: float | None = None,
    **keywords: Any,
) -> tuple[Figure, Any]:
    """Make a figure with a grid of axes, one column wide for one panel and two columns wide otherwise.

    It has no window and is not kept by pyplot: nothing must be closed.

    Parameters
    ----------
    n_columns, n_rows : int, optional
    width, height : float, optional
        Inches.
    **keywords
        Passed to `matplotlib.figure.Figure.subplots`.

    Returns
    -------
    figure, axes

    Raises
    ------
    ValueError
        A number of columns or rows that is not from 1 to 1,000, or a size that is not above 0.

    Examples
    --------
    >>> import reluflow as rf
    >>> fig, (left, right) = rf.figures.panels(2)
    >>> fig.get_size_inches().tolist()
    [6.9, 2.6910000000000003]
    """
    figure_module = optional_module("matplotlib.figure", "viz")
    columns, rows = (integer(n, name, most=_MAX_PANELS) for n, name in ((n_columns, "n_columns"), (n_rows, "n_rows")))
    usual = COLUMN if columns == 1 else PAGE
    across = usual if width is None else positive(width, "width")
    tall = rows * 0.78 * across / columns if height is None else positive(height, "height")
    with style():
        figure: Figure = figure_module.Figure(figsize=(across, tall), layout="constrained")
        return figure, figure.subplots(rows, columns, **keywords)


def time_axis(ax: Axes, t: FloatArray, log_t: FloatArray, *, clock: str = "log") -> FloatArray:
    """Prepare the time axis and return the abscissae.

    Parameters
    ----------
    ax : Axes
    t, log_t : ndarray, shape (k,)
    clock : {"log", "linear"}, optional
        t on a log scale (where t overflows log10 t itself on a symlog scale), or t as it
        is. A log scale has no place for t = 0: where there is no other time, as in a run of no duration, the axis is
        linear.

    Raises
    ------
    ValueError
        Another clock, or a linear one for times that overflow.
    """
    one_of(clock, "clock", ("log", "linear"))
    if clock == "linear":
        if not np.isfinite(t).all():
            raise invalid("clock", "be 'log' for times that overflow", repr(clock))
        ax.set_xlabel("time $t$")
        return t
    if np.isfinite(log_t).any() and float(np.max(log_t)) > MAX_LOG_T:
        ax.set_xlabel(r"$\log_{10} t$")
        x = np.asarray(log_t / np.log(10.0))
        far_scale(ax, "x", float(np.max(x)))
        return np.where(np.isneginf(x), np.min(x[np.isfinite(x)]), x)  # t = 0 is not infinitely far to the left
    ax.set_xlabel("time $t$")
    if len(t) and not (t > 0).any():
        ax.set_xticks([0.0])
        return t
    ax.set_xscale("log")
    return np.where(t > 0, t, np.nan)


def time_text(t: float, log_t: float) -> str:
    """Return the title of a time, or of its logarithm where it overflows."""
    name, value = ("t", t) if np.isfinite(t) else (r"\log t", log_t)
    digits, _, power = f"{value:.3g}".partition("e")  # mathtext would set 1e+06 as a sum
    if not power:
        return f"${name} = {digits}$"
    if int(power) == 3:
        return f"${name} = {value:.0f}$"
    return f"${name} = " + (f"{digits}\\times " if digits != "1" else "") + f"10^{{{int(power)}}}$"


def far_scale(ax: Axes, name: Literal["x", "y"], end: float) -> None:
    """Make an axis of logarithms linear up to 1 and logarithmic from there to `end`, with a few ticks."""
    top = int(np.log10(abs(end)))
    powers = range(-(-top // _FAR_TICKS), top + 1, -(-top // _FAR_TICKS))
    sign = -1.0 if end < 0 else 1.0
    places = [0.0, *(sign * 10.0**power for power in powers)]
    labels = ["0", *(f"${'-' if end < 0 else ''}10^{{{power}}}$" for power in powers)]
    getattr(ax, f"set_{name}scale")("symlog", linthresh=1.0, linscale=0.5)
    getattr(ax, f"set_{name}ticks")(places, labels)
    getattr(ax, f"set_{name}ticks")([], minor=True)


def square_frame(ax: Axes, half: float) -> None:
    """Make the axes a square of the given half width around 0, without ticks."""
    ax.set_aspect("equal")
    ax.set_xlim(-half, half)
    ax.set_ylim(-half, half)
    ax.set_xticks([])
    ax.set_yticks([])
    for side in ax.spines.values():
        side.set_visible(False)
