"""Curves of the network against time: loss, norms, margins."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .._palette import LINES
from .._validation import FloatArray, instance, real
from ..analysis import TailFit
from ..analysis._times import FAR
from ._axes import Columns, begin, curve, dims, figure, log_values, look
from ._legend import add_legend
from ._style import BLACK, BLUE, GREEN, GREY, NEGATIVE, ORANGE, POSITIVE, PURPLE, VERMILION, far_scale, time_axis

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr
    from matplotlib.axes import Axes


# The late part of a run starts at this share of its last log t.
_TAIL_SHARE = 0.02


@figure
def loss(
    table: pd.DataFrame, ax: Axes | None = None, *, label: str = "loss", clock: str = "log", **keywords: Any
) -> Axes:
    """Draw the loss on a log axis against time, on a log axis or a linear one.

    Parameters
    ----------
    table : pandas.DataFrame
        From `analysis.series`.
    ax : Axes, optional
        Where to draw; a new figure without it.
    label : str, optional
    clock : {"log", "linear"}, optional
    **keywords
        Passed to `matplotlib.axes.Axes.plot` for every curve, in place of what the house draws.

    Examples
    --------
    >>> import reluflow as rf
    >>> data = rf.datasets.wang_pilanci("obtuse")
    >>> sol = rf.integrate(data, rf.Network.init(10, 2, seed=1), until=1e4)
    >>> fig, ax = rf.figures.panels(1)
    >>> rf.figures.loss(rf.analysis.series(sol), ax).get_ylabel()
    'loss'
    """
    ax = begin(table, ax, name="table", source="analysis.series", fits=Columns("t", "log_t", "loss", "log_loss"))
    x = time_axis(ax, table["t"].to_numpy(), table["log_t"].to_numpy(), clock=clock)
    if float(table["log_loss"].min()) < -FAR:  # below the smallest double: show the exponent itself
        curve(ax, x, table["log_loss"] / np.log(10.0), keywords, color=BLACK)
        far_scale(ax, "y", float(table["log_loss"].min()) / np.log(10.0))
        ax.set_ylabel(f"$\\log_{{10}}$ {label}")
    else:
        curve(ax, x, table["loss"], keywords, color=BLACK)
        if float(np.ptp(table["log_loss"])) > np.log(10.0):  # below one decade a log axis has no labels to show
            ax.set_yscale("log")
        ax.set_ylabel(label)
    return ax


@figure
def norms(table: pd.DataFrame, ax: Axes | None = None, *, clock: str = "log", **keywords: Any) -> Axes:
    """Draw |θ|, |W| and |a|, or the norms of all layers, on a log axis against time, on a log axis or a linear one.

    Parameters
    ----------
    table : pandas.DataFrame
        From `analysis.series`.
    ax : Axes, optional
        Where to draw; a new figure without it.
    clock : {"log", "linear"}, optional
    **keywords
        Passed to `matplotlib.axes.Axes.plot` for every curve, in place of what the house draws.

    Examples
    --------
    >>> import reluflow as rf
    >>> data = rf.datasets.wang_pilanci("obtuse")
    >>> sol = rf.integrate(data, rf.Network.init(10, 2, seed=1), until=1e4)
    >>> fig, ax = rf.figures.panels(1)
    >>> len(rf.figures.norms(rf.analysis.series(sol), ax).lines)
    3
    """
    ax = begin(table, ax, name="table", source="analysis.series", fits=Columns("t", "log_t", "norm"))
    x = time_axis(ax, table["t"].to_numpy(), table["log_t"].to_numpy(), clock=clock)
    curve(ax, x, table["norm"], keywords, color=BLACK, label=r"$|\theta|$")
    if "norm_W" in table:
        curve(ax, x, table["norm_W"], keywords, color=BLUE, label=r"$|W|$")
        curve(ax, x, table["norm_a"], keywords, color=ORANGE, linestyle=(0, (4, 2)), label=r"$|a|$")
    for number in range(1, 1 + sum(str(name).removeprefix("norm_").isdigit() for name in table)):
        colour, text = LINES[(number - 1) % len(LINES)], f"layer {number}"
        curve(ax, x, table[f"norm_{number}"], keywords, color=colour, linestyle=(0, (4, 2)), label=text)
    log_values(ax, table["norm"].to_numpy())
    ax.set_ylabel("norm")
    add_legend(ax)
    return ax


@figure
def norm_growth(
    table: pd.DataFrame,
    ax: Axes | None = None,
    *,
    limit: float | None = None,
    fit: TailFit | None = None,
    **keywords: Any,
) -> Axes:
    """Draw the late part of |θ|²/log t against 1/log t, with the fit to its end and the predicted limit if given.

    Examples
    --------
    >>> import reluflow as rf
    >>> data = rf.datasets.wang_pilanci("obtuse")
    >>> sol = rf.integrate(data, rf.Network.init(10, 2, seed=1), until=1e4)
    >>> fig, ax = rf.figures.panels(1)
    >>> table = rf.analysis.series(sol)
    >>> fit = rf.analysis.tail_fit(table["log_t"], table["norm2_per_log_t"])
    >>> len(rf.figures.norm_growth(table, ax, limit=2.5649, fit=fit).lines)
    3
    """
    ax = begin(table, ax, name="table", source="analysis.series", fits=Columns("log_t", "norm2_per_log_t"))
    best = None if limit is None else real(limit, "limit")
    if fit is not None:
        instance(fit, "fit", TailFit, "what analysis.tail_fit returns")
    log_t = table["log_t"].to_numpy()
    late = log_t > max(_TAIL_SHARE * float(log_t.max()), 1.0)
    inverse = 1.0 / log_t[late]
    points = look(keywords, linestyle="none", marker=".", color=BLACK, label=r"$|\theta|^2/\log t$", zorder=3)
    ax.plot(inverse, table["norm2_per_log_t"].to_numpy()[late], **points)
    if fit is not None:
        ends = np.linspace(1e-2 * float(inverse.min()), float(inverse.max()), 300)
        ax.plot(ends, fit(1.0 / ends), color=VERMILION, label=f"fit, limit {fit.limit:.4g}")
    if best is not None:
        ax.axhline(best, color=GREEN, linestyle=(0, (4, 2)), linewidth=0.9, label=f"predicted {best:.4g}")
    ax.set_xlim(left=0.0)
    ax.set_xlabel(r"$1/\log t$")
    ax.set_ylabel(r"$|\theta|^2/\log t$")
    add_legend(ax)
    return ax


@figure
def margin(table: pd.DataFrame, ax: Axes | None = None, *, limit: float | None = None, **keywords: Any) -> Axes:
    """Draw the normalised and the smoothed margin; `limit` marks the best margin there is.

    Examples
    --------
    >>> import reluflow as rf
    >>> data = rf.datasets.wang_pilanci("obtuse")
    >>> sol = rf.integrate(data, rf.Network.init(10, 2, seed=1), until=1e4)
    >>> fig, ax = rf.figures.panels(1)
    >>> len(rf.figures.margin(rf.analysis.series(sol), ax, limit=0.389884).get_legend().get_texts())
    3
    """
    fits, asked = Columns("t", "log_t", "normalised_margin"), "of a run on labels (real targets have no margins)"
    ax = begin(table, ax, name="table", source="analysis.series", fits=fits, asked=asked)
    best = None if limit is None else real(limit, "limit")
    x = time_axis(ax, table["t"].to_numpy(), table["log_t"].to_numpy())
    floor = _focus(ax, table["normalised_margin"].to_numpy(), best)
    for name, colour, text in (("normalised_margin", BLACK, "normalised"), ("smoothed_margin", PURPLE, "smoothed")):
        if name in table and float(table[name].max()) > floor:
            curve(ax, x, table[name], keywords, color=colour, label=text)
    if best is not None:
        ax.axhline(best, color=GREEN, linestyle=(0, (4, 2)), linewidth=0.9, label="largest possible")
    ax.axhline(0.0, color=GREY, linewidth=0.5)
    ax.set_ylabel(rf"margin$\,/\,|\theta|^{table.attrs.get('degree', 2)}$")
    add_legend(ax)
    return ax


def _focus(ax: Axes, values: FloatArray, limit: float | None) -> float:
    """Keep the positive part of the normalised margin in view, or all of it if it has none; return the lower end.

    The smoothed margin sets no limits: over the |θ|² of tiny weights it is huge and negative.
    """
    known = np.append(values[np.isfinite(values)], () if limit is None else limit)
    top, bottom = float(known.max(initial=0.0)), float(known.min(initial=0.0))
    if top > 0:
        low, high = -0.15 * top, 1.1 * top
    elif bottom < 0:
        low, high = 1.1 * bottom, -0.15 * bottom
    else:
        return -np.inf
    ax.set_ylim(low, high)
    return low


@figure
def margins(table: xr.DataArray, ax: Axes | None = None, **keywords: Any) -> Axes:
    """Draw the margin of every sample, coloured by label; `table` comes from `analysis.margins`.

    Examples
    --------
    >>> import reluflow as rf
    >>> data = rf.datasets.wang_pilanci("obtuse")
    >>> sol = rf.integrate(data, rf.Network.init(10, 2, seed=1), until=1e4)
    >>> fig, ax = rf.figures.panels(1)
    >>> rf.figures.margins(rf.analysis.margins(sol), ax).get_ylabel()
    'margin $q_i$'
    """
    ax = begin(table, ax, name="table", source="analysis.margins", fits=dims("time", "sample"))
    x = time_axis(ax, table["time"].to_numpy(), table["log_t"].to_numpy())
    y = table["y"].to_numpy()
    # Few samples are seen one by one; many are a cloud.
    alpha = float(np.clip(12.0 / len(y), 0.12, 1.0))
    of_labels = bool((np.abs(y) == 1.0).all())
    groups = [(1.0, POSITIVE, "$y=+1$"), (-1.0, NEGATIVE, "$y=-1$")]
    if not of_labels:
        groups = [(k, LINES[int(k) % len(LINES)], f"class {k:g}") for k in np.unique(y)]
    for value, colour, text in groups:
        mine = table.to_numpy()[:, y == value]
        if mine.shape[1]:
            lines = curve(ax, x, mine, keywords, color=colour, alpha=alpha, linewidth=0.8)
            lines[0].set_label(text)
    ax.axhline(0.0, color=GREY, linewidth=0.5)
    power = table.attrs.get("degree", 2)
    ax.set_ylabel(rf"$q_i/|\theta|^{power}$" if table.name == "normalised_margin" else "margin $q_i$")
    for handle in add_legend(ax).get_lines():
        handle.set_alpha(1.0)
    return ax
