"""Curves of the neurons against time: counts, alignment, clusters, singular values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .._validation import FloatArray, integer, invalid, place, real_array
from ..analysis import Timeline
from ._axes import Columns, begin, curve, dims, figure, log_values, look
from ._legend import add_legend
from ._style import BLACK, BLUE, LINES, NEGATIVE, POSITIVE, PURPLE, sign_colour, time_axis

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr
    from matplotlib.axes import Axes


_MAX_BINS = 10_000  # more than one a pixel


@figure
def counts(timeline: Timeline, ax: Axes | None = None, **keywords: Any) -> Axes:
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
    ax = begin(timeline, ax, name="timeline", source="analysis.timeline", fits=Timeline)
    x = time_axis(ax, np.exp(np.minimum(timeline.log_t, 700.0)), timeline.log_t)
    rows = ((timeline.n_sectors, BLUE, "sectors"), (timeline.n_held, BLACK, "held pairs"))
    for values, colour, text in (*rows, (timeline.n_dead, PURPLE, "dead neurons")):
        if values.any():
            curve(ax, x, values, keywords, color=colour, label=text, drawstyle="steps-post")
    ax.set_ylim(bottom=0)
    ax.set_ylabel("number")
    add_legend(ax)
    return ax


@figure
def alignment(table: xr.DataArray, ax: Axes | None = None, **keywords: Any) -> Axes:
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
    ax = begin(table, ax, name="table", source="analysis.alignment", fits=dims("time", "neuron"))
    x = time_axis(ax, table["time"].to_numpy(), table["log_t"].to_numpy())
    _by_sign(ax, x, table.to_numpy(), table["sign"].to_numpy(), keywords)
    ax.set_ylim(-1.05, 1.05)
    ax.set_ylabel(r"$\cos\angle(w_j,\,\pm X^\top\! D(w_j)\,y)$")
    return ax


@figure
def gathering(
    t: FloatArray,
    log_t: FloatArray,
    angles: FloatArray,
    sign: FloatArray,
    ax: Axes | None = None,
    **keywords: Any,
) -> Axes:
    """Draw the angle of each neuron to its last cluster, in degrees, from `analysis.angles_to_group`.

    Parameters
    ----------
    t, log_t : ndarray, shape (k,)
    angles : ndarray, shape (k, m)
        In radians; nan is left out.
    sign : ndarray, shape (m,)
        Of each neuron, +1 or -1.
    ax : Axes, optional
    **keywords
        Passed to `matplotlib.axes.Axes.plot`.

    Raises
    ------
    ValueError
        Numbers of another shape.

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
    ax = begin(angles, ax, name="angles", source="analysis.angles_to_group", fits=object)
    values = real_array(angles, "angles", "(k, m)", is_finite=False)
    times, log_times = (_one_each(v, name, len(values), "times") for v, name in ((t, "t"), (log_t, "log_t")))
    beyond = ~(log_times < np.inf)
    if beyond.any():
        raise invalid("log_t", "hold finite numbers, or -inf where t is 0", place(log_times, beyond))
    x = time_axis(ax, times, log_times)
    _by_sign(ax, x, np.degrees(values), _one_each(sign, "sign", values.shape[1], "neurons"), keywords)
    ax.set_ylim(bottom=0)
    ax.set_ylabel("angle to own cluster (degrees)")
    return ax


def _one_each(value: FloatArray, name: str, count: int, of: str) -> FloatArray:
    array = real_array(value, name, "(k,)", is_finite=False)
    if len(array) != count:
        raise invalid(name, f"have one entry for each of the {count} {of} of angles", f"{len(array)}")
    return array


def _by_sign(ax: Axes, x: FloatArray, values: FloatArray, sign: FloatArray, keywords: dict[str, Any]) -> None:
    alpha = float(np.clip(20.0 / max(len(sign), 1), 0.15, 1.0))
    for side, text in ((1.0, "$a_j>0$"), (-1.0, "$a_j<0$")):
        mine = values[:, sign == side]
        if mine.shape[1]:
            lines = curve(ax, x, mine, keywords, color=sign_colour(side), alpha=alpha, linewidth=0.8)
            lines[0].set_label(text)
    if ax.get_legend_handles_labels()[0]:
        for handle in add_legend(ax).get_lines():
            handle.set_alpha(1.0)


@figure
def singular_values(table: xr.DataArray, ax: Axes | None = None, *, n_values: int = 10, **keywords: Any) -> Axes:
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
    ax = begin(table, ax, name="table", source="analysis.singular_values", fits=dims("time", "rank"))
    values = table.to_numpy()[-1][: integer(n_values, "n_values")]
    rank = np.arange(1, len(values) + 1)
    (dots,) = ax.plot(rank, values, **look(keywords, linestyle="none", marker="o", color=BLUE, clip_on=False, zorder=3))
    ax.vlines(rank, 0.0, values, colors=dots.get_color(), linewidth=0.8)
    ax.set_xticks(rank)
    ax.set_xlim(0.5, len(values) + 0.5)
    ax.set_ylim(bottom=0)
    ax.set_xlabel("rank")
    ax.set_ylabel("singular value of $W$")
    return ax


@figure
def singular_value_paths(table: xr.DataArray, ax: Axes | None = None, *, n_values: int = 6, **keywords: Any) -> Axes:
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
    ax = begin(table, ax, name="table", source="analysis.singular_values", fits=dims("time", "rank"))
    x = time_axis(ax, table["time"].to_numpy(), table["log_t"].to_numpy())
    for k in range(min(integer(n_values, "n_values"), table.sizes["rank"])):
        curve(ax, x, table.to_numpy()[:, k], keywords, color=LINES[k % len(LINES)], label=f"{k + 1}")
    log_values(ax, table.to_numpy())
    ax.set_ylabel("singular value of $W$")
    add_legend(ax, title="rank")
    return ax


@figure
def correlation_histogram(table: pd.DataFrame, ax: Axes | None = None, *, n_bins: int = 40, **keywords: Any) -> Axes:
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
    ax = begin(table, ax, name="table", source="analysis.correlations", fits=Columns("own", "sign"))
    bins = np.linspace(-1.0, 1.0, integer(n_bins, "n_bins", most=_MAX_BINS) + 1).tolist()
    sides = [table.loc[table["sign"] == sign, "own"].dropna() for sign in (1, -1)]
    shown: dict[str, Any] = {"color": [POSITIVE, NEGATIVE], "label": ["$a_j>0$", "$a_j<0$"], **keywords}
    ax.hist(sides, bins=bins, stacked=True, **shown)
    ax.set_xlim(-1.02, 1.02)
    ax.set_xlabel(r"cosine with own $w_\pm$")
    ax.set_ylabel("neurons")
    add_legend(ax)
    return ax
