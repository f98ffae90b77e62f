"""Work and precision: seconds over error, a panel for each end time of a problem."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tables import Result

COLOURS = {
    "reluflow": "#0072B2", "Euler": "#D55E00", "scipy": "#009E73", "CVODE": "#CC79A7", "heyoka": "#56B4E9",
    "diffrax": "#E69F00", "torchdiffeq": "#7F7F7F",
}  # fmt: skip
MARKS = "osD^v"  # the methods of one tool, in order


def styles(labels: Sequence[str]) -> dict[str, dict[str, object]]:
    """A colour a tool, a marker a method of it; broken lines where events are located."""
    chosen: dict[str, dict[str, object]] = {}
    for label in labels:
        tool = label.split()[0]
        earlier = sum(other.split()[0] == tool for other in chosen)
        line = "--" if label.endswith("events") else "-"
        chosen[label] = {"color": COLOURS[tool], "marker": MARKS[earlier % len(MARKS)], "linestyle": line}
    return chosen


def panel(ax: Axes, result: Result, chosen: dict[str, dict[str, object]]) -> None:
    points = [*result.flow, *result.euler, *result.peers]
    for label, style in chosen.items():
        runs = [p for p in points if p.method == label and p.finished]
        width = {"lw": 2.2, "ms": 6, "zorder": 3} if label == "reluflow" else {"lw": 1.0, "ms": 4}
        if runs:
            ax.loglog([p.error for p in runs], [p.seconds for p in runs], label=label, **style, **width)
    ax.set(title=result.run, xlabel="relative error", ylabel="seconds")
    ax.grid(alpha=0.3)


def draw(results: Sequence[Result], path: Path) -> None:
    """The file appears whole."""
    labels = list(dict.fromkeys(p.method for r in results for p in [*r.flow, *r.euler, *r.peers] if p.finished))
    chosen = styles(labels)
    figure = Figure(figsize=(4.2 * len(results) + 2.4, 4.2), layout="constrained")
    panels = figure.subplots(1, len(results), squeeze=False)[0]
    for ax, result in zip(panels, results, strict=True):
        panel(ax, result, chosen)
    handles = {text: handle for ax in panels for handle, text in zip(*ax.get_legend_handles_labels(), strict=True)}
    figure.legend(handles.values(), handles.keys(), loc="outside right upper", frameon=False, fontsize=8)
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part.png")
    figure.savefig(part, dpi=130)
    part.replace(path)
