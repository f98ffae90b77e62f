"""The page: one file with the pictures, the slider and plotly's program inside, which needs no network."""

from __future__ import annotations

import os
from dataclasses import dataclass
from html import escape
from typing import Any

from .._files import atomic_write
from .._validation import optional_module
from ._film import Film
from ._panels import HEIGHT, layout, moving, still

# Name of the element that holds the pictures.
DIV = "reluflow-explorer"

_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>body {{ margin: 0.5rem; font-family: system-ui, sans-serif; }} h1 {{ font-size: 1rem; margin: 0.2rem; }}</style>
</head>
<body>
<h1>{title}</h1>
{figure}
</body>
</html>
"""


@dataclass(frozen=True, eq=False, repr=False)
class Explorer:
    """A page with a run in it. A notebook shows it by itself.

    Attributes
    ----------
    html : str
        The whole page.
    title : str
    n_frames : int
        Number of times on the slider.
    """

    html: str
    title: str
    n_frames: int

    def __repr__(self) -> str:
        """One line: the title and the number of times."""
        return f"Explorer({self.title}, {self.n_frames} times)"

    def _repr_html_(self) -> str:
        """Show the page in a frame of its own, so that nothing of it meets the notebook's."""
        frame = f'<iframe srcdoc="{escape(self.html)}" title="{escape(self.title)}"'
        return f'{frame} style="width:100%;height:{HEIGHT + 60}px;border:0"></iframe>'


def explorer(film: Film, title: str, path: str | os.PathLike[str] | None = None) -> Explorer:
    """Return the page of a film, and write it unless `path` is None.

    Raises
    ------
    ImportError
        plotly is not installed (extra ``explore``).
    FileNotFoundError, PermissionError
        The folder does not exist or may not be written to; the message names the path.
    """
    graph = optional_module("plotly.graph_objects", "explore")
    traces = still(film)
    first = len(traces) - len(moving(film, 0))
    numbers = list(range(first, len(traces)))
    figure = graph.Figure(
        data=traces,
        layout={**layout(film), "sliders": [_slider(film)], "updatemenus": [_buttons()]},
        frames=[{"name": str(k), "data": moving(film, k), "traces": numbers} for k in range(len(film))],
    )
    drawn = figure.to_html(
        full_html=False,
        include_plotlyjs=True,
        auto_play=False,
        config={"responsive": True, "displayModeBar": False},
        div_id=DIV,
    )
    page = Explorer(_PAGE.format(title=escape(title), figure=drawn), title, len(film))
    if path is not None:
        with atomic_write(path) as file:
            file.write(page.html.encode())
    return page


def _slider(film: Film) -> dict[str, Any]:
    at_once = {"mode": "immediate", "frame": {"duration": 0, "redraw": True}, "transition": {"duration": 0}}
    steps = [{"method": "animate", "label": time_text(film, k), "args": [[str(k)], at_once]} for k in range(len(film))]
    return {
        "steps": steps,
        "currentvalue": {"prefix": "", "xanchor": "left", "font": {"size": 14, "color": "#000000"}},
        "x": 0.17,
        "len": 0.83,
        "y": -0.02,
        "pad": {"t": 8, "b": 4},
        "tickcolor": "rgba(0,0,0,0)",
        "font": {"color": "rgba(0,0,0,0)"},
    }


def time_text(film: Film, frame: int) -> str:
    """Return the time and the number of events so far, for the slider."""
    t = film.t[frame]
    when = f"t = {t:.4g}" if t < float("inf") else f"log t = {film.log_t[frame]:.6g}"
    return f"{when}, {int((film.last_frame <= frame).sum()):,} events so far"


def _buttons() -> dict[str, Any]:
    play = {"frame": {"duration": 90, "redraw": True}, "fromcurrent": True, "transition": {"duration": 0}}
    stop = {"mode": "immediate", "frame": {"duration": 0, "redraw": False}, "transition": {"duration": 0}}
    return {
        "type": "buttons",
        "direction": "left",
        "showactive": False,
        "x": 0.0,
        "xanchor": "left",
        "y": -0.03,
        "yanchor": "top",
        "pad": {"t": 8},
        "buttons": [
            {"method": "animate", "label": "▶", "args": [None, play]},
            {"method": "animate", "label": "❚❚", "args": [[None], stop]},
        ],
    }
