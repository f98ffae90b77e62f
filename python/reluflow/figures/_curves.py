"""Curves against time: loss, norms, margins, counts, alignment, singular values."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .._validation import FloatArray
from ._style import (
    BLACK,
    BLUE,
    GREEN,
    GREY,
    LINES,
    NEGATIVE,
    ORANGE,
    POSITIVE,
    PURPLE,
    VERMILION,
    sign_colour,
    time_axis,
)

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr
    from matplotlib.axes import Axes

    from ..analysis import TailFit, Timeline


# The late part of a run starts at this share of its last log t.
_TAIL_SHARE = 0.02


def loss(table: pd.DataFrame, ax: Axes, *, label: str = "loss", clock: str = "log") -> Axes:
    """Draw the loss on a log axis against time, on a log axis or a linear one.

    Parameters
    ----------
    table : pandas.DataFrame
        From `analysis.series`.
    ax : Axes
    label : str, optional
    clock : {"log", "linear"}, optional

    Examples
    --------
    >>> import reluflow as rf
    >>> data = rf.datasets.wang_pilanci("obtuse")
    >>> sol = rf.integrate(data, rf.Network.init(10, 2, seed=1), until=1e4)
    >>> fig, ax = rf.figures.panels(1)
    >>> rf.figures.loss(rf.analysis.series(sol), ax).get_ylabel()
    'loss'
    """
    x = time_axis(ax, table["t"].to_numpy(), table["log_t"].to_numpy(), clock=clock)
    if float(table["log_loss"].min()) < -690.0:  # below the smallest double: show the exponent itself
        ax.plot(x, table["log_loss"] / np.log(10.0), color=BLACK)
        ax.set_ylabel(f"$\\log_{{10}}$ {label}")
    else:
        ax.plot(x, table["loss"], color=BLACK)
        if float(np.ptp(table["log_loss"])) > np.log(10.0):  # below one decade a log axis has no labels to show
            ax.set_yscale("log")
        ax.set_ylabel(label)
    return ax


def norms(table: pd.DataFrame, ax: Axes, *, clock: str = "log") -> Axes:
    """Draw |θ|, |W| and |a| on a log axis against time, on a log axis or a linear one.

    Parameters
    ----------
    table : pandas.DataFrame
        From `analysis.series`.
    ax : Axes
    clock : {"log", "linear"}, optional

    Examples
    --------
    >>> import reluflow as rf
    >>> data = rf.datasets.wang_pilanci("obtuse")
    >>> sol = rf.integrate(data, rf.Network.init(10, 2, seed=1), until=1e4)
    >>> fig, ax = rf.figures.panels(1)
    >>> len(rf.figures.norms(rf.analysis.series(sol), ax).lines)
    3
    """
    x = time_axis(ax, table["t"].to_numpy(), table["log_t"].to_numpy(), clock=clock)
    ax.plot(x, table["norm"], color=BLACK, label=r"$|\theta|$")
    ax.plot(x, table["norm_W"], color=BLUE, label=r"$|W|$")
    ax.plot(x, table["norm_a"], color=ORANGE, linestyle=(0, (4, 2)), label=r"$|a|$")
    ax.set_yscale("log")
    ax.set_ylabel("norm")
    ax.legend(loc="best")
    return ax


def norm_growth(table: pd.DataFrame, ax: Axes, *, limit: float | None = None, fit: TailFit | None = None) -> Axes:
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
    log_t = table["log_t"].to_numpy()
    late = log_t > max(_TAIL_SHARE * float(log_t.max()), 1.0)
    inverse = 1.0 / log_t[late]
    ax.plot(
        inverse, table["norm2_per_log_t"].to_numpy()[late], ".", color=BLACK, label=r"$|\theta|^2/\log t$", zorder=3
    )
    if fit is not None:
        ends = np.linspace(1e-2 * float(inverse.min()), float(inverse.max()), 300)
        ax.plot(ends, fit(1.0 / ends), color=VERMILION, label=f"fit, limit {fit.limit:.4g}")
    if limit is not None:
        ax.axhline(limit, color=GREEN, linestyle=(0, (4, 2)), linewidth=0.9, label=f"predicted {limit:.4g}")
    ax.set_xlim(left=0.0)
    ax.set_xlabel(r"$1/\log t$")
    ax.set_ylabel(r"$|\theta|^2/\log t$")
    ax.legend(loc="best")
    return ax


def margin(table: pd.DataFrame, ax: Axes, *, limit: float | None = None) -> Axes:
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
    x = time_axis(ax, table["t"].to_numpy(), table["log_t"].to_numpy())
    floor = _focus(ax, table["normalised_margin"].to_numpy(), limit)
    for name, colour, text in (("normalised_margin", BLACK, "normalised"), ("smoothed_margin", PURPLE, "smoothed")):
        if float(table[name].max()) > floor:
            ax.plot(x, table[name], color=colour, label=text)
    if limit is not None:
        ax.axhline(limit, color=GREEN, linestyle=(0, (4, 2)), linewidth=0.9, label="largest possible")
    ax.axhline(0.0, color=GREY, linewidth=0.5)
    ax.set_ylabel(r"margin$\,/\,|\theta|^2$")
    ax.legend(loc="best")
    return ax


def _focus(ax: Axes, values: FloatArray, limit: float | None) -> float:
    """Keep the positive part in view, for early on margins over |θ|² can be huge and negative; return the lower end."""
    top = float(np.nanmax(values)) if limit is None else max(limit, float(np.nanmax(values)))
    if top <= 0:
        return -np.inf
    ax.set_ylim(-0.15 * top, 1.1 * top)
    return -0.15 * top


def margins(table: xr.DataArray, ax: Axes) -> Axes:
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
    x = time_axis(ax, table["time"].to_numpy(), table["log_t"].to_numpy())
    y = table["y"].to_numpy()
    # Few samples are seen one by one; many are a cloud.
    alpha = float(np.clip(12.0 / len(y), 0.12, 1.0))
    for sign, colour in ((1.0, POSITIVE), (-1.0, NEGATIVE)):
        mine = table.to_numpy()[:, y == sign]
        if mine.shape[1]:
            lines = ax.plot(x, mine, color=colour, alpha=alpha, linewidth=0.8)
            lines[0].set_label(f"$y={'+' if sign > 0 else '-'}1$")
    ax.axhline(0.0, color=GREY, linewidth=0.5)
    ax.set_ylabel(r"$q_i/|\theta|^2$" if table.name == "normalised_margin" else "margin $q_i$")
    for handle in ax.legend(loc="best").get_lines():
        handle.set_alpha(1.0)
    return ax


def counts(timeline: Timeline, ax: Axes) -> Axes:
    """Draw the numbers of sectors, held pairs and dead neurons against time.

    Examples
    --------
    >>> import reluflow as rf
    >>> data = rf.datasets.wang_pilanci("obtuse")
    >>> sol = rf.integrate(data, rf.Network.init(10, 2, seed=1), until=1e4)
    >>> fig, ax = rf.figures.panels(1)
    >>> [text.get_text() for text in rf.figures.counts(rf.analysis.timeline(sol), ax).get_legend().get_texts()]
    ['sectors', 'held pairs', 'dead neurons']
    """
    x = time_axis(ax, np.exp(np.minimum(timeline.log_t, 700.0)), timeline.log_t)
    rows = ((timeline.n_sectors, BLUE, "sectors"), (timeline.n_held, BLACK, "held pairs"))
    for values, colour, text in (*rows, (timeline.n_dead, PURPLE, "dead neurons")):
        if values.any():
            ax.plot(x, values, color=colour, label=text, drawstyle="steps-post")
    ax.set_ylim(bottom=0)
    ax.set_ylabel("number")
    ax.legend(loc="best")
    return ax


def alignment(table: xr.DataArray, ax: Axes) -> Axes:
    """Draw the alignment of every neuron, coloured by the sign of a_j; `table` comes from `analysis.alignment`.

    Examples
    --------
    >>> import reluflow as rf
    >>> data = rf.datasets.wang_pilanci("obtuse")
    >>> sol = rf.integrate(data, rf.Network.init(10, 2, seed=1), until=1e4)
    >>> fig, ax = rf.figures.panels(1)
    >>> len(rf.figures.alignment(rf.analysis.alignment(sol), ax).lines)
    10
    """
    x = time_axis(ax, table["time"].to_numpy(), table["log_t"].to_numpy())
    _by_sign(ax, x, table.to_numpy(), table["sign"].to_numpy())
    ax.set_ylim(-1.05, 1.05)
    ax.set_ylabel(r"$\cos\angle(w_j,\,\pm X^\top\! D(w_j)\,y)$")
    return ax


def gathering(t: FloatArray, log_t: FloatArray, angles: FloatArray, sign: FloatArray, ax: Axes) -> Axes:
    """Draw the angle of each neuron to its last cluster, in degrees, from `analysis.angles_to_group`.

    Examples
    --------
    >>> import reluflow as rf
    >>> data = rf.datasets.wang_pilanci("obtuse")
    >>> sol = rf.integrate(data, rf.Network.init(10, 2, seed=1), until=1e4)
    >>> fig, ax = rf.figures.panels(1)
    >>> run = rf.analysis.sample(sol)
    >>> angles = rf.analysis.angles_to_group(run)
    >>> rf.figures.gathering(run.t, run.log_t, angles, run.signs, ax).get_ylabel()
    'angle to own cluster (degrees)'
    """
    x = time_axis(ax, t, log_t)
    _by_sign(ax, x, np.degrees(angles), sign)
    ax.set_ylim(bottom=0)
    ax.set_ylabel("angle to own cluster (degrees)")
    return ax


def _by_sign(ax: Axes, x: FloatArray, values: FloatArray, sign: FloatArray) -> None:
    alpha = float(np.clip(20.0 / max(len(sign), 1), 0.15, 1.0))
    for side, text in ((1.0, "$a_j>0$"), (-1.0, "$a_j<0$")):
        mine = values[:, sign == side]
        if mine.shape[1]:
            lines = ax.plot(x, mine, color=sign_colour(side), alpha=alpha, linewidth=0.8)
            lines[0].set_label(text)
    if ax.get_legend_handles_labels()[0]:
        for handle in ax.legend(loc="best").get_lines():
            handle.set_alpha(1.0)


def singular_values(table: xr.DataArray, ax: Axes, *, n_values: int = 10) -> Axes:
    """Draw the leading singular values of W at the last time, as in [PL] Figure 1a.

    Examples
    --------
    >>> import reluflow as rf
    >>> data = rf.datasets.wang_pilanci("obtuse")
    >>> sol = rf.integrate(data, rf.Network.init(10, 2, seed=1), until=1e4)
    >>> fig, ax = rf.figures.panels(1)
    >>> rf.figures.singular_values(rf.analysis.singular_values(sol), ax).get_xlabel()
    'rank'
    """
    values = table.to_numpy()[-1][:n_values]
    ax.plot(np.arange(1, len(values) + 1), values, "o", color=BLUE, clip_on=False, zorder=3)
    ax.vlines(np.arange(1, len(values) + 1), 0.0, values, color=BLUE, linewidth=0.8)
    ax.set_xticks(np.arange(1, len(values) + 1))
    ax.set_xlim(0.5, len(values) + 0.5)
    ax.set_ylim(bottom=0)
    ax.set_xlabel("rank")
    ax.set_ylabel("singular value of $W$")
    return ax


def singular_value_paths(table: xr.DataArray, ax: Axes, *, n_values: int = 6) -> Axes:
    """Draw the leading singular values of W against time on log axes.

    Examples
    --------
    >>> import reluflow as rf
    >>> data = rf.datasets.wang_pilanci("obtuse")
    >>> sol = rf.integrate(data, rf.Network.init(10, 2, seed=1), until=1e4)
    >>> fig, ax = rf.figures.panels(1)
    >>> len(rf.figures.singular_value_paths(rf.analysis.singular_values(sol), ax).lines)
    2
    """
    x = time_axis(ax, table["time"].to_numpy(), table["log_t"].to_numpy())
    for k in range(min(n_values, table.sizes["rank"])):
        ax.plot(x, table.to_numpy()[:, k], color=LINES[k % len(LINES)], label=f"{k + 1}")
    ax.set_yscale("log")
    ax.set_ylabel("singular value of $W$")
    ax.legend(loc="best", title="rank", ncols=2)
    return ax


def correlation_histogram(table: pd.DataFrame, ax: Axes, *, n_bins: int = 40) -> Axes:
    """Draw the histogram of each neuron's cosine with its max-margin direction, as in [PL] Figure 1c.

    Examples
    --------
    >>> import reluflow as rf
    >>> data = rf.datasets.wang_pilanci("obtuse")
    >>> sol = rf.integrate(data, rf.Network.init(10, 2, seed=1), until=1e4)
    >>> fig, ax = rf.figures.panels(1)
    >>> table = rf.analysis.correlations(sol, *data.X)
    >>> rf.figures.correlation_histogram(table, ax).get_ylabel()
    'neurons'
    """
    bins = np.linspace(-1.0, 1.0, n_bins + 1).tolist()
    sides = [table.loc[table["sign"] == sign, "own"].dropna() for sign in (1, -1)]
    ax.hist(sides, bins=bins, stacked=True, color=[POSITIVE, NEGATIVE], label=["$a_j>0$", "$a_j<0$"])
    ax.set_xlim(-1.02, 1.02)
    ax.set_xlabel(r"cosine with own $w_\pm$")
    ax.set_ylabel("neurons")
    ax.legend(loc="upper left")
    return ax
