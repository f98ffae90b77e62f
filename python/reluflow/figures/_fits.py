"""Pictures of a regression: the function in one dimension through time, the errors, the loss on held-out samples."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ._axes import Columns, begin, curve, dims, figure, look
from ._legend import add_legend
from ._style import BLACK, BLUE, GREY, LINES, VERMILION, time_axis, time_text

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr
    from matplotlib.axes import Axes

    from ..analysis import FitCurves

# A kink is drawn if the slope changes there by this part of the largest change at that time.
_SEEN = 1e-2
_LARGEST_KINK = 22.0  # points squared, the area of the marker


@figure
def fit(curves: FitCurves, ax: Axes | None = None, **keywords: Any) -> Axes:
    """Draw f(x) at each time, from pale to dark, with the samples and the kinks of f.

    The area of a dot is the change of the slope there, orange where the slope grows and blue where it falls. Several
    outputs have a colour each, for their samples and kinks too.

    Parameters
    ----------
    curves : FitCurves
        From `analysis.fit_curves`.
    ax : Axes, optional
        Where to draw; a new figure without it.
    **keywords
        Passed to `matplotlib.axes.Axes.plot` for every curve, in place of what the house draws.

    Examples
    --------
    >>> import numpy as np
    >>> import reluflow as rf
    >>> grid = np.linspace(-1, 1, 9)
    >>> data = rf.Dataset(grid[:, None], np.abs(grid), bias_input=1.0)
    >>> sol = rf.integrate(data, rf.Network.init(10, 2, scale=0.1, seed=1), until=100.0, loss="squared")
    >>> curves = rf.analysis.fit_curves(rf.analysis.snapshots(sol))
    >>> fig, ax = rf.figures.panels(1)
    >>> rf.figures.fit(curves, ax).get_ylabel()
    'output $f(x)$'
    """
    ax = begin(curves, ax, name="curves", source="analysis.fit_curves", fits=lambda value: hasattr(value, "kinks"))
    low, high = float(curves.x[0]), float(curves.x[-1])
    several = curves.f.ndim == 3
    for output in range(curves.f.shape[2] if several else 1):
        one = _Output(curves, output) if several else _Output(curves, None)
        _draw_output(one, ax, keywords)
    ax.set_xlim(low, high)
    ax.set_xlabel("input $x$")
    ax.set_ylabel("output $f(x)$")
    add_legend(ax)
    return ax


class _Output:
    """One output of the curves: all of them, or number `output` of several."""

    def __init__(self, curves: FitCurves, output: int | None) -> None:
        self.curves, self.output = curves, output
        pick = (Ellipsis,) if output is None else (Ellipsis, output)
        self.f, self.jumps, self.targets = curves.f[pick], curves.jumps[pick], curves.targets[pick]
        self.colour = BLACK if output is None else LINES[output % len(LINES)]

    def label(self, k: int) -> str:
        """Return what the legend says of the curve at time number k; of several outputs only the last has a line."""
        t, log_t = float(self.curves.t[k]), float(self.curves.log_t[k])
        when = time_text(t, log_t)
        if self.output is None:
            return when
        return f"output {self.output}, {when}" if k == len(self.f) - 1 else "_"


def _draw_output(one: _Output, ax: Axes, keywords: dict[str, Any]) -> None:
    """Draw the curves, kinks and samples of one output, from pale to dark."""
    ink = np.array([int(one.colour[start : start + 2], 16) for start in (1, 3, 5)]) / 255.0
    for k, f in enumerate(one.f):
        pale = 0.8 * (1.0 - (k + 1) / len(one.f))
        colour = tuple((1.0 - pale) * ink + pale)
        ax.plot(one.curves.x, f, **look(keywords, color=colour, label=one.label(k), zorder=2 + k))
        _kinks(one, k, ax, 1.0 - pale)
    samples: dict[str, Any] = {
        "linestyle": "none",
        "marker": "o",
        "markerfacecolor": "none",
        "color": GREY if one.output is None else one.colour,
        "markersize": 4.0,
        "label": "samples" if not one.output else "_",
    }
    ax.plot(one.curves.inputs, one.targets, **samples, zorder=1.5)


def _kinks(one: _Output, k: int, ax: Axes, alpha: float) -> None:
    """Mark the kinks of one curve that lie in view."""
    curves = one.curves
    x, jump = curves.kinks[k], one.jumps[k]
    size = np.abs(jump)
    seen = (x >= curves.x[0]) & (x <= curves.x[-1]) & (size > _SEEN * size.max(initial=0.0))
    if not seen.any():
        return
    y = np.interp(x[seen], curves.x, one.f[k])
    colours = np.where(jump[seen] > 0, VERMILION, BLUE) if one.output is None else one.colour
    area = _LARGEST_KINK * size[seen] / size.max()
    ax.scatter(x[seen], y, s=area, c=colours, alpha=alpha, linewidths=0.0, zorder=10 + k)


@figure
def errors(table: xr.DataArray, ax: Axes | None = None, *, clock: str = "log", **keywords: Any) -> Axes:
    """Draw the error f(x_i) - y_i of every sample against time; several outputs have a colour each.

    Parameters
    ----------
    table : xarray.DataArray
        From `analysis.errors`.
    ax : Axes, optional
        Where to draw; a new figure without it.
    clock : {"log", "linear"}, optional
    **keywords
        Passed to `matplotlib.axes.Axes.plot` for every curve, in place of what the house draws.

    Examples
    --------
    >>> import reluflow as rf
    >>> data = rf.Dataset([[1.0, 0.0], [0.0, 1.0]], [0.5, -2.0])
    >>> sol = rf.integrate(data, rf.Network.init(6, 2, scale=0.1, seed=1), until=50.0, loss="squared")
    >>> fig, ax = rf.figures.panels(1)
    >>> len(rf.figures.errors(rf.analysis.errors(sol), ax).lines)
    3
    """
    ax = begin(table, ax, name="table", source="analysis.errors", fits=_has_errors)
    x = time_axis(ax, table["time"].to_numpy(), table["log_t"].to_numpy(), clock=clock)
    values = table.to_numpy()
    # Few samples are seen one by one; many are a cloud.
    alpha = float(np.clip(12.0 / values.shape[1], 0.12, 1.0))
    if values.ndim == 2:
        curve(ax, x, values, keywords, color=BLACK, linewidth=0.8, alpha=alpha)
    else:
        for output in range(values.shape[2]):
            names = [f"output {output}", *["_"] * (values.shape[1] - 1)]
            colour = LINES[output % len(LINES)]
            curve(ax, x, values[..., output], keywords, color=colour, linewidth=0.8, alpha=alpha, label=names)
        add_legend(ax)
    ax.axhline(0.0, color=GREY, linewidth=0.5, zorder=1)
    ax.set_ylabel("error $f(x_i) - y_i$")
    return ax


def _has_errors(value: Any) -> bool:
    return dims("time", "sample")(value) or dims("time", "sample", "output")(value)


@figure
def held_out(table: pd.DataFrame, ax: Axes | None = None, *, clock: str = "log", **keywords: Any) -> Axes:
    """Draw the mean loss on the samples of the run and on held-out ones.

    Parameters
    ----------
    table : pandas.DataFrame
        From ``analysis.losses(sol, test=...)``.
    ax : Axes, optional
        Where to draw; a new figure without it.
    clock : {"log", "linear"}, optional
    **keywords
        Passed to `matplotlib.axes.Axes.plot` for every curve, in place of what the house draws.

    Examples
    --------
    >>> import reluflow as rf
    >>> data = rf.Dataset([[1.0, 0.0], [0.0, 1.0]], [0.5, -2.0])
    >>> sol = rf.integrate(data, rf.Network.init(6, 2, scale=0.1, seed=1), until=50.0, loss="squared")
    >>> fig, ax = rf.figures.panels(1)
    >>> table = rf.analysis.losses(sol, test=rf.Dataset([[0.9, 0.1]], [0.3]))
    >>> len(rf.figures.held_out(table, ax).lines)
    2
    """
    fits = Columns("t", "log_t", "loss", "test_loss")
    ax = begin(table, ax, name="table", source="analysis.losses", fits=fits, asked="with test=")
    x = time_axis(ax, table["t"].to_numpy(), table["log_t"].to_numpy(), clock=clock)
    curve(ax, x, table["loss"], keywords, color=BLACK, label="samples of the run")
    curve(ax, x, table["test_loss"], keywords, color=VERMILION, label="held-out samples")
    both = table[["loss", "test_loss"]].to_numpy()
    if both.min() > 0 and both.max() > 10.0 * both.min():  # below one decade a log axis has no labels to show
        ax.set_yscale("log")
    ax.set_ylabel("mean loss")
    add_legend(ax)
    return ax
