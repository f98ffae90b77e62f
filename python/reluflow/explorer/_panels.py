"""The pictures of the page: what stands still, and what changes from time to time."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from .._palette import BLACK, GREY, KIND_COLOURS, LINES, NEGATIVE, PALE, POSITIVE, sign_colour
from .._validation import FloatArray
from ._film import Film

Trace: TypeAlias = dict[str, Any]

HEIGHT = 940  # pixels of the whole page
# Markers of the neurons in pixels: a neuron without weight is still seen.
_SMALL, _LARGE = 5.0, 14.0
_MANY_EVENTS = 20_000  # more marks than a browser draws quickly without its graphics processor
_MANY_SAMPLES = 40  # more margins than can be told apart: their range is drawn instead
_RAISED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
_COLOURS = [[0.0, NEGATIVE], [0.5, "#FFFFFF"], [1.0, POSITIVE]]


def still(film: Film) -> list[Trace]:
    """Return the traces that no time changes, and behind them those of `moving` at the first time."""
    return [*_frame_of_directions(film), *_window(film), *_curves(film), *_raster(film), *moving(film, 0)]


def moving(film: Film, frame: int) -> list[Trace]:
    """Return the traces that change, at one time: neurons, their events, outputs, and a mark on each clock."""
    now = float(film.clock[frame])
    marks = [_mark(now, film.log10_loss[frame], 3)]
    marks += [_cursor(now, *_span(film.shown), 4), _cursor(now, -0.5, film.n_rows - 0.5, 5)]
    return [_neurons(film, frame), _new_events(film, frame), *_outputs(film, frame), *marks]


def layout(film: Film) -> dict[str, Any]:
    """Return the places and axes of the pictures."""
    plain = {"zeroline": False, "showgrid": False, "ticks": "outside"}
    time = {**plain, "title": {"text": "log₁₀ t"}, "range": _padded(film.clock)}
    reach = [float(film.ticks[0]), float(film.ticks[-1])]
    found: dict[str, Any] = {
        "height": HEIGHT - 60,
        "template": "simple_white",
        "margin": {"l": 50, "r": 12, "t": 26, "b": 10},
        "showlegend": True,
        "legend": {"orientation": "h", "y": 0.245, "yanchor": "bottom", "x": 0.0},
        "hovermode": "closest",
        "xaxis2": {**plain, "domain": [0.56, 1.0], "anchor": "y2", "range": reach},
        "yaxis2": {**plain, "domain": [0.58, 1.0], "anchor": "x2"},
        "xaxis3": {**time, "domain": [0.0, 0.44], "anchor": "y3"},
        "yaxis3": {**plain, "domain": [0.34, 0.5], "anchor": "x3", "title": {"text": "log₁₀ loss"}},
        "xaxis4": {**time, "domain": [0.56, 1.0], "anchor": "y4"},
        "yaxis4": {**plain, "domain": [0.34, 0.5], "anchor": "x4", "title": {"text": _measure(film)}},
        "xaxis5": {**time, "domain": [0.0, 1.0], "anchor": "y5"},
        "yaxis5": {
            **plain,
            "domain": [0.03, 0.235],
            "anchor": "x5",
            "title": {"text": "neuron" if film.a is not None else "units"},
            "autorange": "reversed",
            **_ticks_of_layers(film),
        },
        "annotations": [_title(f"directions of the {_who(film)}", 0.22), _title(_window_title(film), 0.78)],
    }
    if len(film.axes) == 3:
        bare = {"visible": False, "range": [-1.1, 1.1]}
        found["scene"] = {
            "domain": {"x": [0.0, 0.46], "y": [0.56, 1.0]},
            **{f"{axis}axis": bare for axis in "xyz"},
            "aspectmode": "cube",
            "camera": {"eye": {"x": 1.0, "y": 0.8, "z": 0.6}},
        }
    else:
        side = {"visible": False, "range": [-1.12, 1.12]}
        found["xaxis"] = {**side, "domain": [0.0, 0.46], "anchor": "y"}
        found["yaxis"] = {**side, "domain": [0.56, 1.0], "anchor": "x", "scaleanchor": "x"}
    if len(film.window[0]) == 2:
        found["xaxis2"] |= {"constrain": "domain"}
        found["yaxis2"] |= {"range": reach, "scaleanchor": "x2", "constrain": "domain"}
    return found


def _ticks_of_layers(film: Film) -> dict[str, Any]:
    """Return ticks at the first row of each layer, where there are several."""
    names = [f"layer {number}" for number in range(1, len(film.first_rows) + 1)]
    return {"tickvals": list(film.first_rows), "ticktext": names} if names else {}


def _title(text: str, x: float) -> dict[str, Any]:
    place = {"x": x, "y": 1.0, "xref": "paper", "yref": "paper", "xanchor": "center", "yanchor": "bottom"}
    return {"text": text, "showarrow": False, "font": {"size": 13}, **place}


def _measure(film: Film) -> str:
    if not film.has_margins:
        return "|error|"
    return f"margin / |θ|{str(film.degree).translate(_RAISED)}" if film.degree else "margin"


def _who(film: Film) -> str:
    return "neurons" if film.a is not None else "units of layer 1"


def _window_title(film: Film) -> str:
    if len(film.window[0]) == 1:
        return "output f(x)" if film.K == 1 else "outputs f(x)"
    what = "outputs, black where f = 0" if film.K == 1 else "where each output is 0"
    what = what if film.classes is None else "the class of the largest output"
    return what + ("" if len(film.free) == 2 else ", on the singular plane")


def _padded(values: FloatArray) -> list[float]:
    room = 0.03 * max(float(np.ptp(values)), 0.1)
    return [float(values.min()) - room, float(values.max()) + room]


def _span(values: FloatArray) -> tuple[float, float]:
    return float(values.min()), float(values.max())


# --- directions ------------------------------------------------------------------------------------------------------


def _points(places: FloatArray, **rest: Any) -> Trace:
    """Return points or lines in the picture of directions, on a sphere if there are three coordinates."""
    names = "xyz"[: places.shape[-1]]
    kind = "scatter3d" if len(names) == 3 else "scatter"
    flat = places.reshape(-1, len(names))
    return {"type": kind, **{axis: flat[:, c] for c, axis in enumerate(names)}, "showlegend": False, **rest}


def _frame_of_directions(film: Film) -> list[Trace]:
    angle = np.linspace(0.0, 2.0 * np.pi, 121)
    circle = np.column_stack((np.cos(angle), np.sin(angle)))
    if len(film.axes) == 3:
        zero, gap = np.zeros((len(angle), 1)), np.full((1, 3), np.nan)
        rings = [np.insert(circle, place, zero.T, axis=1) for place in range(3)]
        circle = np.concatenate([part for ring in rings for part in (ring, gap)])
    length = np.linalg.norm(film.X, axis=1, keepdims=True)
    unit = film.X / np.where(length > 0, length, 1.0)
    paths = np.concatenate((film.directions, np.full((1, *film.directions.shape[1:]), np.nan)))
    return [
        _points(circle, mode="lines", line={"color": GREY, "width": 1}, hoverinfo="skip", name="rim"),
        _points(
            paths.transpose(1, 0, 2), mode="lines", line={"color": PALE, "width": 1}, hoverinfo="skip", name="paths"
        ),
        _points(unit @ film.axes.T, **_sample_look(film, 5 if len(film.axes) == 3 else 9)),
    ]


def _sample_look(film: Film, size: int) -> Trace:
    y = film.targets
    if film.classes is None:
        symbols = ["circle-open" if row[0] > 0 else "square-open" for row in y] if film.K == 1 else "circle-open"
        said = [f"sample {i}, y = {', '.join(f'{value:+g}' for value in row)}" for i, row in enumerate(y)]
    else:
        symbols = "circle-open"
        said = [f"sample {i}, class {k}" for i, k in enumerate(film.classes)]
    return {
        "mode": "markers",
        "marker": {
            "symbol": symbols,
            "color": sample_colours(film),
            "size": size if len(y) <= _MANY_SAMPLES else 4,
            "line": {"width": 2},
        },
        "text": said,
        "hovertemplate": "%{text}<extra></extra>",
        "name": "samples",
        "showlegend": False,
    }


def sample_colours(film: Film) -> list[str]:
    """Return a colour for each sample: of its class, of the sign of its only target, or grey."""
    if film.classes is not None:
        return [_colour(k) for k in film.classes]
    return [sign_colour(row[0]) if film.K == 1 else GREY for row in film.targets]


def _colour(output: int) -> str:
    return LINES[output % len(LINES)]


def _neurons(film: Film, frame: int) -> Trace:
    size = film.sizes[frame]
    largest = max(float(size.max()), np.finfo(float).tiny)
    return _points(
        film.directions[frame],
        mode="markers",
        marker={
            "color": _colours(film, frame),
            "size": _SMALL + (_LARGE - _SMALL) * size / largest,
            "opacity": 0.85,
        },
        text=_said(film, frame),
        hovertemplate="%{text}<extra></extra>",
        name="neurons",
    )


def _colours(film: Film, frame: int) -> list[str]:
    """Return a colour for each neuron: of the sign of its only output weight, or of the output it serves most."""
    if film.a is None:
        return [BLACK] * len(film.sizes[frame])
    a = film.a[frame]
    return [sign_colour(row[0]) for row in a] if film.K == 1 else [_colour(k) for k in a.argmax(axis=1)]


def _said(film: Film, frame: int) -> list[str]:
    """Return what is told of each neuron, or unit of the first layer."""
    sizes = [f"|w| = {size:.4g}" for size in film.sizes[frame]]
    if film.a is None:
        return [f"layer 1, unit {j}, {size}" for j, size in enumerate(sizes)]
    each = [", ".join(f"{value:.4g}" for value in row) for row in film.a[frame]]
    return [f"neuron {j}, a = {a}, {size}" for j, (a, size) in enumerate(zip(each, sizes, strict=True))]


def _new_events(film: Film, frame: int) -> Trace:
    """Return a ring around each neuron with an event since the time before."""
    new = np.flatnonzero((film.last_frame == frame) & (film.event_first >= 0)).tolist()
    colours = [KIND_COLOURS.get(film.event_kind[e], BLACK) for e in new]
    symbol = "circle-open"
    return _points(
        film.directions[frame][film.event_first[new]],
        mode="markers",
        marker={"symbol": symbol, "size": 22, "color": colours, "line": {"width": 2, "color": colours}},
        text=[_say(film, e) for e in new],
        hovertemplate="%{text}<extra></extra>",
        name="events now",
    )


def _say(film: Film, event: int) -> str:
    numbers = zip(film.places, film.event_place[event], strict=True)
    who = ", ".join(f"{name} {number}" for name, number in numbers)
    return f"{who}: {film.event_kind[event]} at log₁₀ t = {film.event_log_t[event] / np.log(10.0):.4f}"


# --- outputs ---------------------------------------------------------------------------------------------------------


def _window(film: Film) -> list[Trace]:
    coords = film.window[2]
    place = {"type": "scatter", "xaxis": "x2", "yaxis": "y2", **_sample_look(film, 9)}
    if coords.shape[1] == 2:
        return [{"x": coords[:, 0], "y": coords[:, 1], **place}]
    if film.classes is not None:
        return [{"x": coords[:, 0], "y": np.zeros(len(coords)), **place}]
    rows = []
    for k in range(film.K):
        look = place if film.K == 1 else {**place, "marker": {**place["marker"], "color": _colour(k)}}
        rows.append({"x": coords[:, 0], "y": film.targets[:, k], **look})
    return rows


def _outputs(film: Film, frame: int) -> list[Trace]:
    """Return curves over one input; over two the only output, the largest one of classes, or the zeros of each."""
    values = film.outputs(frame)
    place = {"xaxis": "x2", "yaxis": "y2", "name": "outputs", "showlegend": False}
    if values.ndim == 2:
        colours = [BLACK] if film.K == 1 else [_colour(k) for k in range(film.K)]
        line = {"type": "scatter", "x": film.ticks, "mode": "lines", **place}
        return [{**line, "y": row, "line": {"color": one}} for row, one in zip(values, colours, strict=True)]
    place |= {"x": film.ticks, "y": film.ticks, "hoverinfo": "skip"}  # or no sample could be pointed at
    if film.classes is not None:
        return [_largest(values, place)]
    largest = float(np.abs(values).max()) or 1.0
    if film.K == 1:
        return [_plane(values[0] / largest, place)]
    return [_zeros(row / largest, _colour(k), place) for k, row in enumerate(values)]


def _plane(values: FloatArray, place: Trace) -> Trace:
    return {
        "type": "contour",
        "z": values.astype(np.float32),
        "zmin": -1.0,
        "zmax": 1.0,
        "colorscale": _COLOURS,
        "showscale": False,
        "opacity": 0.75,
        "contours": {"coloring": "heatmap", "start": 0.0, "end": 0.0, "size": 1.0},
        "line": {"width": 2, "color": BLACK},
        **place,
    }


def _largest(values: FloatArray, place: Trace) -> Trace:
    """Return a map of the output that is largest, in the colours of the classes."""
    K = len(values)
    steps = [[edge / K, _colour(k)] for k in range(K) for edge in (k, k + 1)]
    z = values.argmax(axis=0).astype(np.int8)
    look = {"zmin": -0.5, "zmax": K - 0.5, "colorscale": steps, "showscale": False, "opacity": 0.35}
    return {"type": "heatmap", "z": z, **look, **place}


def _zeros(values: FloatArray, colour: str, place: Trace) -> Trace:
    return {
        "type": "contour",
        "z": values.astype(np.float32),
        "showscale": False,
        "contours": {"coloring": "none", "start": 0.0, "end": 0.0, "size": 1.0},
        "line": {"width": 2, "color": colour},
        **place,
    }


# --- loss, margins, events -------------------------------------------------------------------------------------------


def _curves(film: Film) -> list[Trace]:
    loss = _line(film.clock, film.log10_loss, BLACK, "loss", 3)
    shown, colours = film.shown, sample_colours(film)
    if len(colours) <= _MANY_SAMPLES:
        lines = [_line(film.clock, shown[:, i], colour, f"sample {i}", 4) for i, colour in enumerate(colours)]
    else:
        ranges = (("smallest", np.min), ("median", np.median), ("largest", np.max))
        what = "margin" if film.has_margins else "error"
        lines = [_line(film.clock, take(shown, axis=1), GREY, f"{name} {what}", 4) for name, take in ranges]
    return [loss, *lines]


def _line(x: FloatArray, y: FloatArray, colour: str, name: str, axis: int) -> Trace:
    place = {"xaxis": f"x{axis}", "yaxis": f"y{axis}", "name": name, "showlegend": False}
    return {"type": "scatter", "x": x, "y": y, "mode": "lines", "line": {"color": colour, "width": 1.5}, **place}


def _mark(x: float, y: float, axis: int) -> Trace:
    place = {"xaxis": f"x{axis}", "yaxis": f"y{axis}", "name": "now", "showlegend": False, "hoverinfo": "skip"}
    return {
        "type": "scatter",
        "x": [x],
        "y": [y],
        "mode": "markers",
        "marker": {"size": 10, "color": POSITIVE},
        **place,
    }


def _cursor(x: float, low: float, high: float, axis: int) -> Trace:
    return {**_line(np.full(2, x), np.array([low, high]), POSITIVE, "now", axis), "hoverinfo": "skip"}


def _raster(film: Film) -> list[Trace]:
    kinds = np.asarray(film.event_kind, dtype=np.str_)
    drawn = "scattergl" if len(kinds) > _MANY_EVENTS else "scatter"
    found: list[Trace] = []
    said = ", ".join(f"{name} %{{customdata[{c}]}}" for c, name in enumerate(film.places))
    for kind, colour in KIND_COLOURS.items():
        mine = np.flatnonzero(kinds == kind)
        if not len(mine):
            continue
        crossing = kind.startswith("cross")
        found.append(
            {
                "type": drawn,
                "x": film.event_clock[mine],
                "y": film.event_row[mine],
                "xaxis": "x5",
                "yaxis": "y5",
                "mode": "markers",
                "marker": {"color": colour, "size": 7, "symbol": "line-ns-open" if crossing else "circle"},
                "customdata": film.event_place[mine],
                "hovertemplate": f"{said}, log₁₀ t = %{{x:.4f}}",
                "name": f"{kind} ({len(mine):,})",
                "showlegend": True,
            }
        )
    return found
