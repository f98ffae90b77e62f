"""Films of the directions: GIF, MP4, or a page with buttons."""

from __future__ import annotations

import re
import shutil
import tempfile
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from .._files import atomic_write, checked_path
from .._validation import instance, integer, invalid, optional_module
from ..analysis import Directions, EventMarks
from ._directions import draw_dots, draw_rim, marker_areas
from ._marks import KIND_LOOK, check_marks
from ._style import panels, square_frame, style, time_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_DOTS_PER_INCH = 120
_ENDINGS = (".gif", ".mp4", ".html")
# matplotlib's page fetches its icons from the network: these letters stand for them.
_ICONS = {
    "fa-minus": "\u2212",
    "fa-fast-backward": "\u23ee",
    "fa-step-backward": "\u23f4",
    "fa-play fa-flip-horizontal": "\u25c0",
    "fa-pause": "\u23f8",
    "fa-play": "\u25b6",
    "fa-step-forward": "\u23f5",
    "fa-fast-forward": "\u23ed",
    "fa-plus": "+",
}


def animate_directions(
    directions: Directions, path: str | Path, *, fps: int = 15, events: EventMarks | None = None
) -> Path:
    """Write a film of the directions, one frame a time.

    Parameters
    ----------
    directions : Directions
        From `analysis.directions`, 2-D, best of the states that `analysis.sample` gives.
    path : str or Path
        Ends in ``.gif``, in ``.html`` (one page with buttons that needs no network), or in ``.mp4``.
    fps : int, optional
        Frames a second.
    events : EventMarks, optional
        From `analysis.event_marks`: each event is marked in the frame in which it has just happened.

    Returns
    -------
    Path
        The file written. It is there whole or not at all.

    Raises
    ------
    ValueError
        Another ending, or MP4 with no ffmpeg: neither the command nor the package imageio-ffmpeg (extra ``film``).

    Examples
    --------
    >>> import reluflow as rf
    >>> data = rf.datasets.wang_pilanci("obtuse")
    >>> sol = rf.integrate(data, rf.Network.init(10, 2, seed=1), until=1e4)
    >>> film = rf.analysis.directions(rf.analysis.snapshots(sol, 3))
    >>> rf.figures.animate_directions(film, "film.gif").name
    'film.gif'
    """
    animation = optional_module("matplotlib.animation", "viz")
    instance(directions, "directions", Directions, "what analysis.directions returns")
    check_marks(events)
    target = checked_path(path)
    kind = target.suffix.lower()
    if kind not in _ENDINGS:
        raise invalid("path", "end in .gif, .mp4 or .html", repr(target.name))
    speed = integer(fps, "fps")
    rc = {} if kind != ".mp4" else {"animation.ffmpeg_path": _ffmpeg(target)}
    with style(), optional_module("matplotlib", "viz").rc_context({**rc, "animation.embed_limit": 1e3}):
        figure, ax = panels(1, width=3.0, height=3.2)
        draw = _drawing(directions, ax, events)
        film = animation.FuncAnimation(figure, draw, frames=len(directions.t))
        with atomic_write(target) as file:
            if kind == ".html":
                file.write(_offline(film.to_jshtml(fps=speed)).encode())
            else:
                _save(film, file, kind, speed)
    return target


def _drawing(directions: Directions, ax: Axes, events: EventMarks | None) -> Any:
    """Prepare the axes, and return the function that changes them to a frame."""
    draw_rim(ax)
    square_frame(ax, 1.12)
    dots = draw_dots(ax, directions.coords[0], directions.sign, marker_areas(directions.size[0]))
    rings: Any = ax.scatter([], [], s=70, facecolors="none", linewidths=1.2, zorder=5, clip_on=False)
    title = ax.set_title(" ")

    def draw(frame: int) -> tuple[Any, ...]:
        dots.set_offsets(directions.coords[frame])
        dots.set_sizes(marker_areas(directions.size[frame]))
        if events is not None:
            before = directions.log_t[frame - 1] if frame else -np.inf
            new = (events.log_t <= directions.log_t[frame]) & ((events.log_t > before) | (frame == 0))
            rings.set_offsets(events.coords[new, :2])
            rings.set_edgecolors([KIND_LOOK[events.kinds[code]][0] for code in events.kind[new]])
        title.set_text(time_text(float(directions.t[frame]), float(directions.log_t[frame])))
        return dots, rings, title

    return draw


def _ffmpeg(target: Path) -> str:
    """Return the program that writes MP4: the one of matplotlib's settings, or the one that imageio-ffmpeg brings."""
    named: str | None = shutil.which(optional_module("matplotlib", "viz").rcParams["animation.ffmpeg_path"])
    if named is not None:
        return named
    try:
        return str(optional_module("imageio_ffmpeg", "film").get_ffmpeg_exe())
    except (ImportError, RuntimeError):
        expected = 'end in .gif or .html where there is no ffmpeg (pip install "reluflow[film]" brings one)'
        raise invalid("path", expected, repr(target.name)) from None


def _save(film: Any, file: IO[bytes], kind: str, fps: int) -> None:
    """Let matplotlib write a file of its own, whose name has the ending it wants, and copy it into the open one."""
    with tempfile.TemporaryDirectory() as folder:
        written = Path(folder) / f"film{kind}"
        film.save(written, writer="pillow" if kind == ".gif" else "ffmpeg", fps=fps, dpi=_DOTS_PER_INCH)
        file.write(written.read_bytes())


def _offline(page: str) -> str:
    """Replace the icons that matplotlib's page fetches from the network by letters."""
    page = re.sub(r'<link rel="stylesheet"\s+href="http[^>]*>', "", page)
    return re.sub(r'<i class="fa ([^"]+)"></i>', lambda icon: _ICONS[icon[1]], page)
